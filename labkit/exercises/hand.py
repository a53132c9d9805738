"""Tables filled in by hand from the student's own numbers, and how those numbers are drawn."""

import hashlib
import itertools
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import attention as core
from ..exercise import Exercise
from ..lineup import Lineup, Raised
from .fixed_tables import known, steps_from
from .heads import COMPUTED
from .one_head import causal

T, D_K, D_V, D_MODEL, N_HEADS = 4, 3, 2, 4, 2
APART = 0.05  # how far a mistake stays from the right table and from every other mistake
LAYER = ("X", "W_Q", "W_K", "W_V", "W_O")
COMPUTED_OFF = 0.02  # how far a mistake stays from a right computed table
COMPUTED_APART = 0.003  # the same for tables that are computed and not rounded
# Mistakes of rounding cannot be that far off; these are as far as two decimals show.
ROUNDING = {"truncates_decimals": 0.0055, "rounds_too_early": 0.011}


def hand(name, lab, answer, before=(), masked=False):
    """A table that leads from Q, K and V, or from the table before it, to one step's result."""

    def given(numbers):
        own = {key: numbers[key] for key in ("Q", "K", "V")}
        return known({**own, "mask": causal(T)} if masked else own)

    return Exercise(name, (lab,), steps_from({}, answer), answer, given, points=2, before=before, own=True)


TABLES = (
    hand("hand_raw_scores", "01_one_head", "raw_scores"),
    hand("hand_scores", "01_one_head", "scores", (("raw_scores", "hand_raw_scores"),)),
    hand("hand_weights", "01_one_head", "weights", (("scores", "hand_scores"),)),
    hand("hand_output", "01_one_head", "output", (("weights", "hand_weights"),)),
    hand("hand_causal_weights", "02_causal_mask", "weights", (("scores", "hand_scores"),), masked=True),
    hand("hand_causal_output", "02_causal_mask", "output", (("weights", "hand_causal_weights"),), masked=True),
)


def from_the_table_before(exercise: Exercise, quantities: dict, table: np.ndarray | None = None):
    """The quantities and steps that are left once the table before is there."""
    ((quantity, _),) = exercise.before
    steps = steps_from({quantity: None}, exercise.answer)
    return steps, {**quantities, "d_k": D_K, quantity: table}


@lru_cache(maxsize=8)
def draw_numbers(name: str, attempt: int = 0) -> dict:
    """A student's own numbers: the same for the same name, and such that mistakes can be told apart.

    Returns
    -------
    dict
        Q, K (4, 3) and V (4, 2) for one head; X, W_Q, W_K, W_V, W_O (4, 4) and n_heads for two.
    """
    seed = hashlib.sha256(f"{name.casefold()}\n{attempt}".encode()).digest()
    rng = np.random.default_rng(list(seed))
    while True:
        numbers = {
            "Q": rng.integers(-2, 4, size=(T, D_K)).astype(float),
            "K": rng.integers(-2, 4, size=(T, D_K)).astype(float),
            "V": rng.integers(0, 10, size=(T, D_V)).astype(float),
        }
        if telling(numbers):
            break
    while True:
        layer = {key: rng.integers(-1, 2, size=(D_MODEL, D_MODEL)).astype(float) for key in LAYER}
        layer["n_heads"] = N_HEADS
        if all(told_apart(exercise, layer, {}) for exercise in COMPUTED):
            for table in (numbers := numbers | layer).values():
                np.asarray(table).setflags(write=False)  # they are kept, and handed out as copies
            return numbers


def telling(numbers: dict) -> bool:
    """Whether no mistake looks right, or like another one, in any of the tables."""
    if not readable(core.attention_weights(numbers["Q"], numbers["K"])):  # the cheap look first
        return False
    right = {exercise.name: np.round(right_table(exercise, numbers), 2) for exercise in TABLES}
    return all(told_apart(exercise, numbers, right) for exercise in TABLES)


def right_table(exercise: Exercise, numbers: dict) -> np.ndarray:
    return Lineup(exercise, [exercise.given(numbers)]).right(0)


def readable(weights: np.ndarray) -> bool:
    """No row is all but settled, no two of its weights are equal, and no two rows are alike."""
    far = np.abs(weights[:, None] - weights[None]).max(axis=-1) + np.eye(len(weights))
    return weights.max() <= 0.92 and np.diff(np.sort(weights, axis=-1), axis=-1).min() >= 0.01 and far.min() >= 0.05


def told_apart(exercise: Exercise, numbers: dict, right: dict) -> bool:
    quantities, steps = exercise.given(numbers), exercise.steps
    if exercise.before:
        steps, quantities = from_the_table_before(exercise, quantities, right[exercise.before[0][1]])
    lineup = Lineup(replace(exercise, steps=steps), [quantities])
    firsts = {suspect.ids: suspect for suspect in reversed(lineup.singles)}
    with np.errstate(all="ignore"):
        right, guesses = lineup.right(0), [(lineup.predicts(s, 0), s.ids[0]) for s in firsts.values()]
    off = all(far_or_same(right, guess, distance(exercise, id, COMPUTED_OFF)) for guess, id in guesses)
    return off and all(
        far_or_same(a, b, min(distance(exercise, id, COMPUTED_APART) for id in ids))
        for (a, *ids_a), (b, *ids_b) in itertools.combinations(guesses, 2)
        for ids in [ids_a + ids_b]
    )


def distance(exercise: Exercise, id: str, computed: float) -> float:
    """How far off a mistake has to be in this table."""
    if exercise.exact:
        return 0.0 if id in ROUNDING else computed
    return ROUNDING.get(id, APART)


def far_or_same(a, b, apart: float) -> bool:
    if isinstance(a, Raised) or isinstance(b, Raised) or a.shape != b.shape:
        return True
    a, b = (np.nan_to_num(table, nan=99, posinf=98, neginf=-98) for table in (a, b))
    return np.abs(a - b).max() < 1e-9 or np.abs(a - b).max() >= apart
