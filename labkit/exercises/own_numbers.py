"""The search for students' own numbers: ``python -m labkit.exercises.own_numbers``.

It tries each set of numbers in ``own_numbers.json`` with all the mistakes that there are and puts another one in place
of each that no longer tells them apart. The others stay where they are, so that nobody's numbers change without need.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import attention as core
from ..calculation import steps_from
from ..exercise import Exercise
from ..lineup import Lineup, Raised
from .hand import D_K, KINDS, N_HEADS, SETS, TABLES, read_set, sets
from .heads import COMPUTED

COMMAND = "python -m labkit.exercises.own_numbers"
APART = 0.05  # how far a mistake stays from the right table and from every other mistake
COMPUTED_OFF = 0.02  # how far a mistake stays from a right computed table
COMPUTED_APART = 0.003  # the same for tables that are computed and not rounded
SAME = 1e-9  # less than this is a matter of how a machine adds
# Mistakes of rounding cannot be that far off; these are as far as two decimals show.
ROUNDING = {"truncates_decimals": 0.0055, "rounds_too_early": 0.011}


def is_good(kind: str, line: str) -> bool:
    """Whether a line is a set of this kind, and no mistake looks right in it, or like another mistake."""
    try:
        numbers = read_set(kind, line)
    except ValueError:  # too few digits, or none
        return False
    if kind == "heads":
        return telling(numbers)
    return all(told_apart(exercise, {**numbers, "n_heads": N_HEADS}) for exercise in COMPUTED)


def telling(numbers: dict[str, np.ndarray]) -> bool:
    """Whether the numbers of one head are fit for every table that is filled in by hand."""
    if not readable(numbers["Q"], numbers["K"]):  # the cheap look first
        return False
    tables = {exercise.name: np.round(right_table(exercise, numbers), 2) for exercise in TABLES}
    return all(told_apart(exercise, numbers, tables) for exercise in TABLES)


def readable(Q: np.ndarray, K: np.ndarray) -> bool:
    """No row of weights is all but settled, no two weights of a row are equal, and no two rows are alike.

    No row of scores adds to 0 either, and no key is 0: dividing by such a total or length gives nothing to write down.
    """
    weights = core.attention_weights(Q, K)
    far = np.abs(weights[:, None] - weights[None]).max(axis=-1) + np.eye(len(weights))
    clear = weights.max() <= 0.92 and np.diff(np.sort(weights, axis=-1), axis=-1).min() >= 0.01 and far.min() >= 0.05
    return bool(clear and (Q @ K.sum(axis=0)).all() and K.any(axis=-1).all())


def right_table(exercise: Exercise, numbers: dict[str, Any]) -> np.ndarray:
    return Lineup(exercise, [exercise.given(numbers)]).right(0)


def told_apart(exercise: Exercise, numbers: dict[str, Any], tables: Mapping[str, np.ndarray] = {}) -> bool:
    """Whether all mistakes in one table are far from the right one and from each other, or come to the very same.

    Parameters
    ----------
    exercise : Exercise
    numbers : dict
    tables : dict, optional
        The right tables by exercise, as they are filled in, for one that goes on from the table before it.
    """
    lineup = lineup_of(exercise, numbers, tables)
    first_ways = {suspect.ids: suspect for suspect in reversed(lineup.singles)}.values()
    with np.errstate(all="ignore"):
        answers = [("", lineup.right(0)), *((suspect.ids[0], lineup.predicts(suspect, 0)) for suspect in first_ways)]
    alike: dict[tuple[int, ...], dict[str, np.ndarray]] = {}
    for id, table in answers:
        if not isinstance(table, Raised):
            alike.setdefault(table.shape, {})[id] = table
    return all(far_or_same(exercise, by_id) for by_id in alike.values())


def lineup_of(exercise: Exercise, numbers: dict[str, Any], tables: Mapping[str, np.ndarray]) -> Lineup:
    quantities = exercise.given(numbers)
    if exercise.before:
        ((quantity, before),) = exercise.before
        exercise = replace(exercise, quantities=steps_from([quantity], exercise.answer))
        quantities = {**quantities, "d_k": D_K, quantity: tables[before]}
    return Lineup(exercise, [quantities])


def far_or_same(exercise: Exercise, by_id: dict[str, np.ndarray]) -> bool:
    """Whether of tables of one shape each two are the same or as far apart as they have to be."""
    cells = np.nan_to_num(np.array([*by_id.values()], dtype=float), nan=99, posinf=98, neginf=-98)
    cells = cells.reshape(len(cells), -1)
    off = np.abs(cells[:, None] - cells).max(axis=-1)
    wanted = np.array([distance(exercise, id, COMPUTED_APART) for id in by_id])
    wanted = np.minimum.outer(wanted, wanted)
    if "" in by_id:  # the right table
        wanted[0] = [distance(exercise, id, COMPUTED_OFF) for id in by_id]
    return bool(np.all((off < SAME) | (off > wanted - SAME)))


def distance(exercise: Exercise, id: str, computed: float) -> float:
    """How far off a mistake has to be in this table."""
    if exercise.exact:
        return 0.0 if id in ROUNDING else computed
    return ROUNDING.get(id, APART)


def search(kind: str, rng: np.random.Generator) -> Iterator[str]:
    """Good sets, one after the other, without end."""
    while True:
        sizes = KINDS[kind].values()
        digits = (rng.integers(0, high - low + 1, size=rows * columns) for rows, columns, low, high in sizes)
        line = " ".join("".join(map(str, word)) for word in digits)
        if is_good(kind, line):
            yield line


def renewed(kind: str, lines: list[str], rng: np.random.Generator) -> list[str]:
    """The same lines, with another one in place of each that isn't good or stands there a second time."""
    good = [is_good(kind, line) and line not in lines[:place] for place, line in enumerate(lines)]
    others = (line for line in search(kind, rng) if line not in lines)
    return [line if fine else next(others) for line, fine in zip(lines, good, strict=True)]


def main() -> None:
    """Mend the file of sets, and say which ones are new."""
    rng = np.random.default_rng(0)
    new = {kind: renewed(kind, lines, rng) for kind, lines in sets().items()}
    about = f"Students' own numbers: a set a line, a word of digits a table. Made by {COMMAND}"
    SETS.write_text(json.dumps({"about": about, "sets": new}, indent=0) + "\n", encoding="ascii")
    for kind, lines in new.items():
        places = [str(place) for place, old in enumerate(sets()[kind]) if lines[place] != old]
        print(f"{kind}: {len(places)} of {len(lines)} sets are new" + (f", at {', '.join(places)}" if places else ""))


if __name__ == "__main__":
    main()
