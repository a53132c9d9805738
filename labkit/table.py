"""Judge a table that was filled in by hand, cell by cell, from the student's own table before it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .answer import Fault, read, tolerance
from .calculation import run
from .diagnosis import Seen, diagnose
from .exercise import Exercise
from .judge import Verdict, ids_of
from .lineup import Lineup, answer_of

TWO_DECIMALS = 0.00501
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
    array = fit(array.astype(float), rights[0])
    if array.shape != rights[0].shape:
        return explain_table(exercise, starts, array, Fault("shape", f"has shape {array.shape}"), TWO_DECIMALS)
    return judge_cells(exercise, starts, rights, array, opened(array.shape, open_places))


def judge_cells(exercise: Exercise, starts, rights, array: np.ndarray, open_cells: np.ndarray) -> Verdict:
    within = tolerance(array) * (1 + np.abs(rights[0])) if exercise.exact else TWO_DECIMALS
    wrong = ~open_cells & ~np.any([near(array, right, within) for right in rights], axis=0)
    share = float(1 - (wrong | open_cells).mean())
    places = {"open_places": as_places(open_cells), "wrong_places": as_places(wrong)}
    if not wrong.any():
        status = "unattempted" if open_cells.any() else "passed"
        return Verdict(exercise, status, share, value=array, **places)
    verdict = replace(explain_table(exercise, starts, array, None, within, open_cells), share=share, **places)
    if wrong.sum() == 1 and wrong.size >= 4 and len(verdict.suspects[:1]) < 1:
        return replace(verdict, mistakes=("slips_in_one_cell",))
    return verdict


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
    """The student's own table before this one, if it is there and whole."""
    filled, open_places = close_open_cells(value)
    table = read(filled)
    if open_places or not isinstance(table, np.ndarray):
        return None
    table = fit(table.astype(float), right)
    return table if table.shape == right.shape else None


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
    good = isinstance(value, str) and value.strip().lower() == right
    return Verdict(exercise, "passed" if good else "failed", float(good), value=value)


def explain_table(exercise, starts, array, shape_fault, within, open_cells=None) -> Verdict:
    """The mistake behind a wrong table, looked for from the likeliest start first."""
    verdict = Verdict(exercise, "failed", value=array, fault=shape_fault)
    for steps, known in starts:
        lineup = Lineup(replace(exercise, steps=steps), [known])
        suspects = diagnose(lineup, {0: Seen(array, within, open=open_cells, slack=SLACK)})
        if suspects:
            calculation = lineup.calculation(suspects[0].ways, 0)
            found = {"suspects": tuple(suspects), "mistakes": ids_of(suspects)}
            return replace(verdict, calculation=calculation, together=len(suspects[0].ids) == 2, **found)
    return verdict
