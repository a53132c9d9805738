"""Judge a table that was filled in by hand, cell by cell, from the student's own table before it.

A number or a word that is asked for is a table, too: one without axes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .answer import Fault, near, number, read, tolerance
from .calculation import run, steps_from
from .diagnosis import Numbers, Seen, diagnose
from .exercise import Exercise
from .judge import Verdict
from .lineup import Lineup, answer_of

TWO_DECIMALS = 0.00501
LARGE_ENOUGH = 8  # cells: in fewer, any two mistakes may come to the same
A_HUNDREDTH = 0.021  # or two, which may come of rounding on the way
A_SLIP = 0.006  # how near a frequent wrong answer has to come
ROOT = 0.0012  # of the score: 1.73 for the root of 3
LONGEST_WORD = 80  # characters: none that is right has as many
SLACK = 3.0  # numbers that were rounded on the way may be off by more than the last decimal

Place = tuple[int, ...]
Start = tuple[tuple[str, ...], dict[str, Any]]  # steps that are left, and the quantities to take them from


def judge_table(exercise: Exercise, value: Any, numbers: Mapping[str, Any], tables: Mapping[str, Any]) -> Verdict:
    """Judge a table filled in by hand.

    Parameters
    ----------
    exercise : Exercise
    value : nested lists, array, number or word
        ``...`` stands in cells that are still open.
    numbers : dict
        The student's own numbers.
    tables : dict
        What the student has filled in so far, by exercise: each table is judged from the one before it.

    Returns
    -------
    Verdict
        It earns the share of the cells that are right; numbers count as right within what two decimals show.
    """
    with np.errstate(all="ignore"):
        return judge_filled(exercise, value, numbers, tables)


def judge_filled(exercise: Exercise, value: Any, numbers: Mapping[str, Any], tables: Mapping[str, Any]) -> Verdict:
    """Judge a word, or read a table and see whether there is anything in it to be judged cell by cell."""
    filled, open_places = close_open_cells(value)
    starts = starting_points(exercise, numbers, tables)
    rights = [answer_of(exercise, run(steps, dict(known))) for steps, known in starts]
    if rights[0].dtype.kind == "U":
        return judge_word(exercise, value, str(rights[0]))
    array = read(filled)
    if isinstance(array, Fault):
        return Verdict(exercise, "failed", fault=array)
    if open_places and np.isnan(array.astype(float)).all():
        return Verdict(exercise, "unattempted", open_places=open_places)
    open_cells = opened(array.shape, open_places)  # before it may change its shape
    array = fit(array.astype(float), rights[0])
    if array.shape != rights[0].shape:
        fault = Fault("shape", f"has shape {array.shape}; asked for is {rights[0].shape}")
        return explain_table(Verdict(exercise, "failed", value=array, fault=fault), starts, as_filled(exercise, array))
    return judge_cells(exercise, starts, rights, array, open_cells.reshape(array.shape))


def judge_cells(
    exercise: Exercise, starts: list[Start], rights: list[np.ndarray], array: np.ndarray, open_cells: np.ndarray
) -> Verdict:
    """Judge a table of the right shape, in which a cell may fit any one of the ``rights``."""
    within = TWO_DECIMALS + (ROOT * np.abs(rights[0]) if exercise.answer == "scores" else 0)
    wrong = ~open_cells & ~np.any([near(array, right, within) for right in rights], axis=0)
    status = "failed" if wrong.any() else "unattempted" if open_cells.any() else "passed"
    verdict = Verdict(
        exercise,
        status,
        share=float(1 - (wrong | open_cells).mean()),
        value=array,
        open_places=as_places(open_cells),
        wrong_places=as_places(wrong),
    )
    if not wrong.any():
        return verdict
    slip = said_of_slip(exercise, array)
    if slip:
        return replace(verdict, broken=slip)
    verdict = explain_table(verdict, starts, as_filled(exercise, array, within, open_cells))
    if verdict.suspects:
        return verdict
    if wrong.sum() == 1 and wrong.size >= 4:
        return replace(verdict, mistakes=("slips_in_one_cell",))
    return replace(verdict, broken=property_of_table(exercise, array, wrong, rights))


def said_of_slip(exercise: Exercise, answer: np.ndarray) -> str:
    """What is to be said of a wrong answer that comes up often and that no step explains."""
    alike = (
        said for slip, said in exercise.slips if np.shape(slip) == answer.shape and near(answer, slip, A_SLIP).all()
    )
    return next(alike, "")


def as_places(cells: np.ndarray) -> tuple[Place, ...]:
    """Where a table of booleans is True."""
    return tuple(tuple(int(i) for i in place) for place in np.argwhere(cells))


def starting_points(exercise: Exercise, numbers: Mapping[str, Any], tables: Mapping[str, Any]) -> list[Start]:
    """Where the table may have started, the likeliest first: the student's table before, or the numbers themselves.

    Without a table before, the numbers may also have been rounded on the way.
    """
    known = exercise.given(numbers)
    starts = [(exercise.steps, known)]
    for quantity, name in exercise.before:
        steps = steps_from([quantity], exercise.answer)
        rounded = rounded_on_the_way(exercise, known, quantity)
        own = table_before(tables.get(name, ...), rounded[0])
        if own is not None:
            return [(steps, {**known, quantity: own}), *starts]
        starts += [(steps, {**known, quantity: table}) for table in rounded]
    return starts


def rounded_on_the_way(exercise: Exercise, known: Mapping[str, Any], quantity: str) -> list[np.ndarray]:
    """The right table before, rounded to two decimals once, and rounded at each step that leads to it."""
    once, always = run(exercise.steps, dict(known)), dict(known)
    for step in exercise.steps[: exercise.steps.index(quantity) + 1]:
        run((step,), always)
        if step != "allowed":
            always[step] = np.round(always[step], 2)
    return [np.round(once[quantity], 2), always[quantity]]


def table_before(value: Any, right: np.ndarray) -> np.ndarray | None:
    """The student's own table before this one, as far as it is filled in; the right cells stand where it is open."""
    filled, _ = close_open_cells(value)
    table = read(filled)
    if not isinstance(table, np.ndarray) or np.isnan(table := table.astype(float)).all():
        return None
    table = fit(table, right)
    return np.where(np.isnan(table), right, table) if table.shape == right.shape else None


def close_open_cells(value: Any) -> tuple[Any, tuple[Place, ...]]:
    """Replace each ``...`` by nan and say where they were."""
    places: list[Place] = []

    def close(item: Any, place: Place) -> Any:
        if item is Ellipsis or item is None:
            places.append(place)
            return float("nan")
        if isinstance(item, list | tuple):
            return [close(inner, (*place, i)) for i, inner in enumerate(item)]
        return item

    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    return close(value, ()), tuple(places)


def fit(array: np.ndarray, right: np.ndarray) -> np.ndarray:
    """One row may be given as a plain list or as a table of one row."""
    if array.size == right.size and [n for n in array.shape if n > 1] == [n for n in right.shape if n > 1]:
        return array.reshape(right.shape)
    return array


def opened(shape: tuple[int, ...], places: Iterable[Place]) -> np.ndarray:
    """True where a cell is open."""
    cells = np.zeros(shape, dtype=bool)
    for place in places:
        cells[place] = True
    return cells


def judge_word(exercise: Exercise, value: Any, right: str) -> Verdict:
    """Judge a word; of those with a sentence of their own it is said which there are to choose from."""
    if value is Ellipsis or value is None:
        return Verdict(exercise, "unattempted", open_places=((),))
    word = str(value)[:LONGEST_WORD] if isinstance(value, str | np.ndarray | np.str_) else ""
    plain = word.strip(" .!").lower()
    if plain == right:
        return Verdict(exercise, "passed", 1.0, value=word)
    slips = dict(exercise.slips)
    words = f"the words to choose from are {', '.join(sorted([right, *slips]))}" if slips else ""
    said = slips.get(plain, words)
    return Verdict(exercise, "failed", value=word or type(value).__name__, broken=said)


def as_filled(
    exercise: Exercise,
    array: np.ndarray,
    within: np.ndarray | float = TWO_DECIMALS,
    open_cells: np.ndarray | None = None,
) -> Numbers:
    """A table's numbers, to be compared with suspects': closely if they were computed, loosely if written by hand."""
    if exercise.exact and not np.array_equal(array, array.round(2), equal_nan=True):
        return Numbers(array, tolerance(array) * (1 + np.abs(np.nan_to_num(array))), open_cells)
    return Numbers(array, within, open_cells, SLACK)


def explain_table(verdict: Verdict, starts: list[Start], numbers: Numbers) -> Verdict:
    """Name the mistake behind a wrong table, looked for from the likeliest start first.

    Two mistakes are looked for only in a table of some size.
    """
    lineups = [Lineup(replace(verdict.exercise, steps=steps), [known]) for steps, known in starts]
    for pairs in (False, True) if numbers.value.size >= LARGE_ENOUGH else (False,):
        for lineup in lineups:
            suspects = diagnose(lineup, {0: Seen(numbers)}, pairs)
            if suspects:
                return verdict.accusing(suspects, lineup.calculation(suspects[0].ways, 0))
    return verdict


def property_of_table(exercise: Exercise, array: np.ndarray, wrong: np.ndarray, rights: list[np.ndarray]) -> str:
    """What is to be seen of a table that no mistake explains, or "" for nothing in particular."""
    off = np.min([np.abs(np.nan_to_num(array - right, nan=9, posinf=9, neginf=9)) for right in rights], axis=0)
    if off[wrong].max() <= A_HUNDREDTH:
        return "it is a matter of rounding: no cell is off by more than a hundredth or two"
    if exercise.answer == "weights":
        for i, total in enumerate(np.atleast_2d(array).sum(axis=-1)):
            if abs(total - 1) > 0.03:
                return f"row {i + 1} of your weights adds to {number(round(total, 2))}"
    return ""
