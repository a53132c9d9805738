"""Tables filled in by hand from the student's own numbers, and how those numbers are chosen."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..calculation import chain
from ..exercise import Exercise
from .inputs import causal, with_mask
from .tables import after

T, D_K, D_V, D_MODEL, N_HEADS = 4, 3, 2, 4, 2
SETS = Path(__file__).with_name("own_numbers.json")
# The tables of a set, each with its rows, its columns, its smallest number and its largest.
KINDS = {
    "heads": {"Q": (T, D_K, -2, 3), "K": (T, D_K, -2, 3), "V": (T, D_V, 0, 9)},
    "layers": dict.fromkeys(("X", "W_Q", "W_K", "W_V", "W_O"), (D_MODEL, D_MODEL, -1, 1)),
}


def by_hand(
    name: str, lab: str, answer: str, before: tuple[tuple[str, str], ...] = (), masked: bool = False
) -> Exercise:
    """A table that leads from Q, K and V, or from the table before it, to one step's result."""

    def own_quantities(numbers: Mapping[str, Any]) -> dict[str, Any]:
        return with_mask({key: numbers[key] for key in ("Q", "K", "V")} | ({"mask": causal(T)} if masked else {}))

    steps = chain("allowed", answer)
    # A causal mask hides no key from all queries, so that a mask of queries would hide nothing.
    no_mistakes = ("masks_queries_instead_of_keys",) if masked else ()
    return Exercise(
        name, (lab,), steps, answer, own_quantities, points=2, before=before, own=True, no_mistakes=no_mistakes
    )


TABLES = (
    by_hand("hand_raw_scores", "01_one_head", "raw_scores"),
    by_hand("hand_scores", "01_one_head", "scores", after("raw_scores", "hand_raw_scores")),
    by_hand("hand_weights", "01_one_head", "weights", after("scores", "hand_scores")),
    by_hand("hand_output", "01_one_head", "output", after("weights", "hand_weights")),
    by_hand("hand_causal_weights", "02_causal_mask", "weights", after("scores", "hand_scores"), masked=True),
    by_hand("hand_causal_output", "02_causal_mask", "output", after("weights", "hand_causal_weights"), masked=True),
)


@cache
def sets() -> dict[str, list[str]]:
    """The sets that ``own_numbers`` has found, by kind: each a line of digits, a word a table."""
    return json.loads(SETS.read_text(encoding="ascii"))["sets"]


def read_set(kind: str, line: str) -> dict[str, np.ndarray]:
    """The tables that a line stands for; its digits count from the smallest number that a table may have.

    Raises
    ------
    ValueError
        If words or digits are too few or too many.
    """
    numbers = {}
    for word, (name, (rows, columns, lowest, _)) in zip(line.split(), KINDS[kind].items(), strict=True):
        numbers[name] = np.array(list(word), dtype=float).reshape(rows, columns) + lowest
        numbers[name].setflags(write=False)  # they are kept, and handed out as copies
    return numbers


def draw_numbers(name: str, attempt: int = 0) -> dict[str, Any]:
    """A student's own numbers: the same for the same name, and such that mistakes can be told apart.

    The name says at which sets to start, and each attempt goes on to the next ones.

    Returns
    -------
    dict
        Q, K (4, 3) and V (4, 2) for one head; X, W_Q, W_K, W_V, W_O (4, 4) and n_heads for two.
    """
    name = unicodedata.normalize("NFC", name.strip()).casefold()
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()
    numbers: dict[str, Any] = {}
    for kind, start in zip(KINDS, (digest[:16], digest[16:]), strict=True):
        lines = sets()[kind]
        numbers |= read_set(kind, lines[(int.from_bytes(start) + attempt) % len(lines)])
    return {**numbers, "n_heads": N_HEADS}
