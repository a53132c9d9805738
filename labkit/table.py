"""Judge a table that was filled in by hand, cell by cell, from the student's own table before it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .answer import Fault, number, read, tolerance
from .calculation import run
from .diagnosis import Seen, diagnose
from .exercise import Exercise
from .judge import Verdict, ids_of
from .lineup import Lineup, answer_of

TWO_DECIMALS = 0.00501
LARGE_ENOUGH = 8  # cells: in fewer, any two mistakes may come to the same
A_HUNDREDTH = 0.021
A_SLIP = 0.006  # how near a frequent wrong answer has to come
ROOT = 0.0012  # of the score: 1.73 for the root of 3
LONGEST_WORD = 80  # characters: none that is right has as many
SLACK = 3.0  # numbers that were rounded on the way may be off by more than the last decimal

Start = tuple[tuple[str, ...], dict]  # steps that are left, and the quantities to take them from


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
    """
    with np.errstate(all="ignore"):
        return judge_filled(exercise, value, numbers, tables)


def judge_filled(exercise: Exercise, value: Any, numbers: Mapping, tables: Mapping) -> Verdict:
    filled, open_places = close_open_cells(value)
    starts = starting_points(exercise, numbers, tables)
    rights = [answer_of(exercise, run(steps, dict(known))) for steps, known in starts]
    if rights[0].dtype.kind == "U":
        return judge_word(exercise, value, str(rights[0]))
    array = read(filled)
    if isinstance(array, Fault):
        return Verdict(exercise, "failed", value=value, fault=array)
    if open_places and np.isnan(array.astype(float)).all():
        return Verdict(exercise, "unattempted", open_places=open_places)
    open_cells = opened(array.shape, open_places)  # before it may change its shape
    array = fit(array.astype(float), rights[0])
    if array.shape != rights[0].shape:
        return explain_table(
            exercise,
            starts,
            array,
            Fault("shape", f"has shape {array.shape}; asked for is {rights[0].shape}"),
            TWO_DECIMALS,
        )
    return judge_cells(exercise, starts, rights, array, open_cells.reshape(array.shape))


def judge_cells(exercise: Exercise, starts, rights, array: np.ndarray, open_cells: np.ndarray) -> Verdict:
    within = TWO_DECIMALS + (ROOT * np.abs(rights[0]) if exercise.answer == "scores" else 0)
    wrong = ~open_cells & ~np.any([near(array, right, within) for right in rights], axis=0)
    share = float(1 - (wrong | open_cells).mean())
    places = {"open_places": as_places(open_cells), "wrong_places": as_places(wrong)}
    if not wrong.any():
        status = "unattempted" if open_cells.any() else "passed"
        return Verdict(exercise, status, share, value=array, **places)
    slip = said_of_slip(exercise, array)
    if slip:
        return Verdict(exercise, "failed", share, value=array, broken=slip, **places)
    verdict = replace(explain_table(exercise, starts, array, None, within, open_cells), share=share, **places)
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


def as_places(cells: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(i) for i in place) for place in np.argwhere(cells))


def starting_points(exercise: Exercise, numbers: Mapping, tables: Mapping) -> list[Start]:
    """Where the table may have started, the likeliest first: the student's table before, or the numbers themselves.

    Without a table before, the numbers may also have been rounded on the way.
    """
    known = exercise.given(numbers)
    starts = [(exercise.steps, known)]
    for quantity, name in exercise.before:
        rest = exercise.steps[exercise.steps.index(quantity) + 1 :]
        steps = tuple(s for s in exercise.steps if s in rest or s == "allowed")
        rounded = rounded_on_the_way(exercise, known, quantity)
        own = table_before(tables.get(name, ...), rounded[0])
        if own is not None:
            return [(steps, {**known, quantity: own}), *starts]
        starts += [(steps, {**known, quantity: table}) for table in rounded]
    return starts


def rounded_on_the_way(exercise: Exercise, known: Mapping, quantity: str) -> list[np.ndarray]:
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


def close_open_cells(value: Any) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Replace each ``...`` by nan and say where they were."""
    places = []

    def close(item, place):
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


def near(array: np.ndarray, right: np.ndarray, within) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (array == right) | (np.abs(array - right) <= within)


def opened(shape: tuple[int, ...], places) -> np.ndarray:
    cells = np.zeros(shape, dtype=bool)
    for place in places:
        cells[place] = True
    return cells


def judge_word(exercise: Exercise, value: Any, right: str) -> Verdict:
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


def explain_table(exercise, starts, array, shape_fault, within, open_cells=None) -> Verdict:
    """The mistake behind a wrong table, looked for from the likeliest start first; two only in a table of some size."""
    verdict = Verdict(exercise, "failed", value=array, fault=shape_fault)
    lineups = [Lineup(replace(exercise, steps=steps), [known]) for steps, known in starts]
    computed = exercise.exact and not np.array_equal(array, array.round(2), equal_nan=True)
    measure = (tolerance(array) * (1 + np.abs(np.nan_to_num(array))), 1.0) if computed else (within, SLACK)
    seen = {0: Seen(array, measure[0], open=open_cells, slack=measure[1])}
    for pairs in (False, True) if array.size >= LARGE_ENOUGH else (False,):
        for lineup in lineups:
            suspects = diagnose(lineup, seen, pairs)
            if suspects:
                calculation = lineup.calculation(suspects[0].ways, 0)
                found = {"suspects": tuple(suspects), "mistakes": ids_of(suspects)}
                return replace(verdict, calculation=calculation, together=len(suspects[0].ids) == 2, **found)
    return verdict


def property_of_table(exercise: Exercise, array: np.ndarray, wrong: np.ndarray, rights) -> str:
    """What is to be seen of a table that no mistake explains, or "" for nothing in particular."""
    off = np.min([np.abs(np.nan_to_num(array - right, nan=9, posinf=9, neginf=9)) for right in rights], axis=0)
    if off[wrong].max() <= A_HUNDREDTH:
        return "it is a matter of rounding: no cell is off by more than a hundredth or two"
    if exercise.answer == "weights":
        for i, total in enumerate(np.atleast_2d(array).sum(axis=-1)):
            if abs(total - 1) > 0.03:
                return f"row {i + 1} of your weights adds to {number(round(total, 2))}"
    return ""
