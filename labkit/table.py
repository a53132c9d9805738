"""Judge a table that was filled in by hand, cell by cell, from the student's own table before it.

A number or a word that is asked for is a table, too: one without axes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .answer import OTHER_ORDER, Fault, is_turned, near, number, read, tolerance
from .calculation import run, steps_from
from .diagnosis import ENOUGH_NUMBERS, Numbers, Seen, diagnose
from .exercise import Exercise
from .exercises import EXERCISES
from .exercises.guesses import word as word_of
from .judge import Verdict
from .lineup import Lineup, answer_of
from .slips import slips

ONE_NUMBER = "one number"  # where no shape is asked for
TWO_DECIMALS = 0.00501
SLIP = 0.0075  # how near a slip on paper has to come: nearer than a hundredth
ONE_DECIMAL = 0.0551  # 0.45 may become 0.4 or 0.5, and may have been 0.446 or 0.454 before
A_HUNDREDTH = 0.021  # or two, which may come of rounding on the way
LARGE_ENOUGH = 8  # cells: in fewer, any two mistakes may come to the same
A_SLIP = 0.006  # how near a frequent wrong answer has to come
ROOT = 0.0012  # of the score: 1.73 for the root of 3
LOW = -50  # scores: no score of a table comes near
LONGEST_WORD = 80  # characters: none that is right has as many
SLACK = 3.0  # numbers that were rounded on the way may be off by more than the last decimal

Place = tuple[int, ...]


@dataclass(frozen=True)
class Start:
    """Where a table may have started.

    Attributes
    ----------
    quantities : tuple of str
        Those that are left to be made.
    known : dict
        Those that they are made of.
    own : str
        The exercise of the student's own table that it starts from, "" if it starts from none.
    first_wrong : str
        The first that doesn't fit yet of that table and those before it, "" if all do.
    """

    quantities: tuple[str, ...]
    known: dict[str, Any]
    own: str = ""
    first_wrong: str = ""


def judge_table(
    exercise: Exercise,
    value: Any,
    numbers: Mapping[str, Any],
    tables: Mapping[str, Any],
    former: Mapping[str, Any] = {},
) -> Verdict:
    """Judge a table filled in by hand.

    Parameters
    ----------
    exercise : Exercise
    value : nested lists, array, number or word
        ``...`` stands in cells that are still open.
    numbers : dict
        The student's own numbers.
    tables : dict
        What the student has filled in so far, by exercise: each table is judged from the one before it, if that is
        mostly right or its mistake is known.
    former : dict of sequences, optional
        What stood in them before they were changed: a wrong table may fit that.

    Returns
    -------
    Verdict
        It earns the share of the cells that are right; numbers count as right within what two decimals show.
    """
    with np.errstate(all="ignore"):
        return judge_filled(exercise, value, numbers, tables, former)


def judge_filled(
    exercise: Exercise, value: Any, numbers: Mapping[str, Any], tables: Mapping[str, Any], former: Mapping[str, Any]
) -> Verdict:
    """Judge a word, or read a table and see whether there is anything in it to be judged cell by cell.

    The parameters are those of ``judge_table``.
    """
    filled, open_places = close_open_cells(value)
    starts = starting_points(exercise, numbers, tables)
    rights = [answer_of(exercise, run(start.quantities, dict(start.known))) for start in starts]
    if rights[0].dtype.kind == "U":
        return judge_word(exercise, value, str(rights[0]))
    array = read(filled, "is")
    if isinstance(array, Fault):
        return Verdict(exercise, "failed", fault=array)
    if open_places and np.isnan(array.astype(float)).all():
        return Verdict(exercise, "unattempted", open_places=open_places)
    open_cells = opened(array.shape, open_places)  # before it may change its shape
    array = fit(array.astype(float), rights[0])
    if array.shape != rights[0].shape:
        commas = ". Decimals are written with a point" if array.size == 2 * rights[0].size else ""
        fault = Fault("shape", f"has shape {array.shape}; asked for is {rights[0].shape or ONE_NUMBER}{commas}")
        turned = any(is_turned(array, right, TWO_DECIMALS) for right in rights) and array.ndim > 2
        said = OTHER_ORDER if turned else ""
        return explain_table(
            Verdict(exercise, "failed", value=array, fault=fault), starts, as_filled(exercise, array), own_slip=said
        )
    verdict = judge_cells(exercise, starts, rights, array, open_cells.reshape(array.shape))
    if verdict.status != "failed":
        return verdict
    earlier = former_starts(exercise, exercise.given(numbers), former)
    return explain_cells(verdict, starts, earlier, rights)


def judge_cells(
    exercise: Exercise, starts: list[Start], rights: list[np.ndarray], array: np.ndarray, open_cells: np.ndarray
) -> Verdict:
    """Compare a table of the right shape, in which a cell may fit any one of the ``rights``.

    Parameters
    ----------
    exercise : Exercise
    starts : list of Start
        The likeliest first.
    rights : list of arrays (...)
        What comes of each start.
    array : array (...)
        The table; nan where it is open.
    open_cells : bool array (...)
    """
    within = TWO_DECIMALS + (ROOT * np.abs(rights[0]) if exercise.answer == "scores" else 0)
    if exercise.answer == "fact" and rights[0].dtype.kind in "biu":  # counts, sizes, and what is either or
        within = tolerance(array)
    wrong = ~open_cells & ~np.any([near(array, right, within) for right in rights], axis=0)
    status = "failed" if wrong.any() else "unattempted" if open_cells.any() else "passed"
    right_anyway = starts[0].first_wrong and near(array, rights[1], within).all()
    return Verdict(
        exercise,
        status,
        share=float(1 - (wrong | open_cells).mean()),
        value=array,
        open_places=as_places(open_cells),
        wrong_places=as_places(wrong),
        within=within,
        right_for=starts[0].own if status == "passed" else "",
        first_wrong="" if right_anyway else starts[0].first_wrong,
    )


def explain_cells(verdict: Verdict, starts: list[Start], earlier: list[Start], rights: list[np.ndarray]) -> Verdict:
    """Find the words for wrong cells: a mistake, or what else there is to say; see ``judge_cells``."""
    exercise, array = verdict.exercise, np.asarray(verdict.value)
    wrong, open_cells = (opened(array.shape, places) for places in (verdict.wrong_places, verdict.open_places))
    slip = said_of_slip(exercise, array) or said_of_finite_fill(verdict, rights[0])
    slip = slip or said_of_one_decimal(array, rights)
    if slip:
        return replace(verdict, said=slip)
    if wrong.sum() >= ENOUGH_NUMBERS or not open_cells.any():  # few numbers that many mistakes explain tell nothing
        numbers = as_filled(exercise, array, verdict.within, open_cells)
        own_slip = said_of_own_slip(verdict, starts, rights, open_cells)
        verdict = explain_table(verdict, starts, numbers, earlier, own_slip)
    if verdict.suspects or verdict.said:
        return verdict
    in_a_table = exercise.answer != "fact" or rights[0].dtype == bool  # and not in a list of sizes
    if wrong.sum() == 1 and wrong.size >= 4 and in_a_table and not open_cells.any():
        return replace(verdict, mistakes=("slips_in_one_cell",))
    return replace(verdict, said=property_of_table(exercise, array, wrong, rights))


def said_of_slip(exercise: Exercise, answer: np.ndarray) -> str:
    """What is to be said of a wrong answer that comes up often and that no step explains."""
    alike = (
        said for slip, said in exercise.slips if np.shape(slip) == answer.shape and near(answer, slip, A_SLIP).all()
    )
    return next(alike, "")


def said_of_own_slip(verdict: Verdict, starts: list[Start], rights: list[np.ndarray], open_cells: np.ndarray) -> str:
    """What is to be said of a table in which another one stands than was asked for."""
    exercise, array = verdict.exercise, np.asarray(verdict.value)
    few = (~open_cells).sum() < ENOUGH_NUMBERS and (open_cells.any() or open_cells.size < 2)
    if exercise.answer == "fact" or exercise.exact or few:
        return ""
    for start, right in zip(starts, rights, strict=True):
        known = run(start.quantities, dict(start.known))
        for slip, said in slips(exercise.answer, known, right):
            if slip.shape == array.shape and (open_cells | near(array, slip, SLIP)).all():
                return said
    return ""


def said_of_finite_fill(verdict: Verdict, right: np.ndarray) -> str:
    """What is to be said of masked scores in which very low numbers stand for what no number can stand for."""
    array, wrong = np.asarray(verdict.value), verdict.wrong_places
    if verdict.exercise.answer != "masked_scores" or any(right[p] > LOW or not -np.inf < array[p] < LOW for p in wrong):
        return ""
    place = wrong[0]
    return f"the place is right, but {number(array[place])} is a number. Is there a score that lies below it?"


def said_of_one_decimal(array: np.ndarray, rights: list[np.ndarray]) -> str:
    """What is to be said of a table in which all numbers were rounded or cut to one decimal."""
    filled = array[np.isfinite(array)]
    if filled.size < 2 or (filled != filled.round(1)).any() or (filled == filled.round()).all():
        return ""

    def fits(right: np.ndarray) -> bool:
        """Rounded, or cut off."""
        cut = [near(array, np.trunc(10 * exact) / 10, TWO_DECIMALS) for exact in (right, right.round(2))]
        return bool((np.isnan(array) | near(array, right, ONE_DECIMAL) | np.any(cut, axis=0)).all())

    if not any(map(fits, rights)):
        return ""
    return "all numbers stand here with one decimal at most. How many decimals are asked for?"


def as_places(cells: np.ndarray) -> tuple[Place, ...]:
    """Where a table of booleans is True."""
    return tuple(tuple(int(i) for i in place) for place in np.argwhere(cells))


def starting_points(exercise: Exercise, numbers: Mapping[str, Any], tables: Mapping[str, Any]) -> list[Start]:
    """Where the table may have started, the likeliest first: the student's table before, or the numbers themselves.

    Without a table before that may be followed, the numbers may also have been rounded on the way.
    """
    known = exercise.given(numbers)
    starts = [Start(exercise.quantities, known)]
    for quantity, name in exercise.before:
        steps = steps_from([quantity], exercise.answer)
        rounded = rounded_on_the_way(exercise, known, quantity)
        known = {**known, **scores_on_paper(exercise, known, quantity)}
        own = table_before(tables.get(name, ...), rounded[0])
        judged = judge_table(EXERCISES[name], tables.get(name, ...), numbers, tables)
        if own is not None and may_be_followed(judged):
            first_wrong = judged.first_wrong or (name if judged.status == "failed" else "")
            return [Start(steps, {**known, quantity: own}, name, first_wrong), *starts]
        starts += [Start(steps, {**known, quantity: table}) for table in rounded]
    return starts


def may_be_followed(verdict: Verdict) -> bool:
    """Whether a table is good enough to go on from: one slip costs one step, but what takes no work earns nothing."""
    if verdict.mistakes and not verdict.together:
        return True
    table = np.asarray(verdict.value)
    mostly_right = 2 * len(verdict.wrong_places) < table.size - len(verdict.open_places)
    return mostly_right or bool(said_of_slip(verdict.exercise, table)) or asks_for_work(table)


def asks_for_work(table: np.ndarray) -> bool:
    """Whether most rows that are filled in hold two different numbers beside 0: what follows has to be calculated."""
    rows = [row[np.isfinite(row)] for row in np.atleast_2d(table)]
    filled = [row for row in rows if row.size]
    return 2 * sum(len(set(row[row != 0].tolist())) > 1 for row in filled) > len(filled)


def former_starts(exercise: Exercise, known: dict[str, Any], former: Mapping[str, Any]) -> list[Start]:
    """Where the table may have started from a table before it that has been changed since."""
    starts = []
    for quantity, name in exercise.before:
        steps, (right, _) = steps_from([quantity], exercise.answer), rounded_on_the_way(exercise, known, quantity)
        tables = (table_before(value, right) for value in former.get(name, ()))
        starts += [Start(steps, {**known, quantity: table}, name) for table in tables if table is not None]
    return starts


def rounded_on_the_way(exercise: Exercise, known: Mapping[str, Any], quantity: str) -> list[np.ndarray]:
    """The right table before, rounded to two decimals once, and rounded at each step that leads to it."""
    once, always = run(exercise.quantities, dict(known)), rounded_always(exercise, known, quantity)
    return [np.round(once[quantity], 2), always[quantity]]


def rounded_always(exercise: Exercise, known: Mapping[str, Any], quantity: str) -> dict[str, Any]:
    """All quantities up to the one that is named, each rounded to two decimals before the next is made."""
    always = dict(known)
    for step in exercise.quantities[: exercise.quantities.index(quantity) + 1]:
        run((step,), always)
        if step != "allowed":
            always[step] = np.round(always[step], 2)
    return always


def scores_on_paper(exercise: Exercise, known: Mapping[str, Any], quantity: str) -> dict[str, np.ndarray]:
    """The scores in two decimals, if they come before the quantity that is named: they may be mixed for weights."""
    if quantity != "weights" or "scores" not in exercise.quantities:
        return {}
    return {"scores": rounded_always(exercise, known, quantity)["scores"]}


def table_before(value: Any, right: np.ndarray) -> np.ndarray | None:
    """The student's own table before this one, as far as it is filled in; the right cells stand where it is open."""
    filled, _ = close_open_cells(value)
    table = read(filled, "is")
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
    return close(with_open_rows(value), ()), tuple(places)


def with_open_rows(table: Any) -> Any:
    """The table with dots in each place of a row for which one pair of dots stands, as long as another row is."""
    if not isinstance(table, list | tuple):
        return table
    rows = [with_open_rows(row) for row in table]
    filled = next((row for row in rows if isinstance(row, list) and not is_dots(row)), None)
    return rows if filled is None else [dotted(filled) if is_dots(row) else row for row in rows]


def is_dots(row: Any) -> bool:
    """Whether a row is nothing but one pair of dots."""
    return row is ... or (isinstance(row, list) and len(row) == 1 and row[0] is ...)


def dotted(table: Any) -> Any:
    """A table of the same form that is open everywhere."""
    return [dotted(row) for row in table] if isinstance(table, list) else ...


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
    if isinstance(value, list | tuple) and len(value) == 1:
        return judge_word(exercise, value[0], right)
    if value is Ellipsis or value is None or (isinstance(value, str) and not value.strip()):
        return Verdict(exercise, "unattempted", open_places=((),))
    word = str(value)[:LONGEST_WORD].strip() if isinstance(value, str | int | float | np.ndarray) else ""
    said_of = dict(exercise.slips)
    choices = (right, *said_of)
    meant = word_of(word, choices)
    if any(other in word.lower().split() for other in choices if other != meant):  # it is one or the other
        meant = None
    if meant == right:
        return Verdict(exercise, "passed", 1.0, value=word)
    choose = f"the words to choose from are {', '.join(sorted(choices))}" if said_of else ""
    said = said_of.get(meant, choose)
    return Verdict(exercise, "failed", value=word or type(value).__name__, said=said)


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


def explain_table(
    verdict: Verdict, starts: list[Start], numbers: Numbers, earlier: Sequence[Start] = (), own_slip: str = ""
) -> Verdict:
    """Name the mistake behind a wrong table, looked for from the likeliest start first.

    A frequent mistake on the way from there is likelier than a table before that was changed ``earlier``, and that
    likelier than any other mistake or start; then comes ``own_slip``, what is to be said of a slip if it is one. Two
    mistakes are looked for last, and only in a table of some size.
    """
    exercise = verdict.exercise
    if starts[0].own and not starts[0].first_wrong:  # it came of that, and nothing before went wrong
        starts = starts[:1]
    lineups = [Lineup(replace(exercise, quantities=start.quantities), [start.known]) for start in starts]
    pairs = [(lineups[0], True)] if numbers.value.size >= LARGE_ENOUGH and not own_slip else []
    for lineup, in_pairs in [*((lineup, False) for lineup in lineups), *pairs]:
        suspects = diagnose(lineup, {0: Seen(numbers)}, in_pairs)
        is_first = lineup is lineups[0] and not in_pairs
        is_likely = bool(suspects) and suspects[0].is_frequent
        if is_first and not is_likely and any(fits(exercise, start, verdict) for start in earlier):
            name = earlier[0].own
            said = f"it fits your {name} as they were before you changed them. Work it out again from the new ones"
            return replace(verdict, said=said)
        if suspects:
            return verdict.accusing(suspects, lineup.calculation(suspects[0].ways, 0))
    return replace(verdict, said=own_slip)


def fits(exercise: Exercise, start: Start, verdict: Verdict) -> bool:
    """Whether all of a table is what comes of a start."""
    right = answer_of(exercise, run(start.quantities, dict(start.known)))
    return bool(near(np.asarray(verdict.value), right, verdict.within).all())


def property_of_table(exercise: Exercise, array: np.ndarray, wrong: np.ndarray, rights: list[np.ndarray]) -> str:
    """What is to be seen of a table that no mistake explains, or "" for nothing in particular."""
    off = np.min([np.abs(np.nan_to_num(array - right, nan=9, posinf=9, neginf=9)) for right in rights], axis=0)
    if exercise.answer == "fact" and rights[0].dtype.kind in "iu" and (array != array.round()).any():
        return f"whole numbers are asked for here. Is {array[array != array.round()].flat[0]:g} one?"
    if off[wrong].max() <= A_HUNDREDTH:
        return (
            "it is a matter of rounding: no cell is off by more than a hundredth or two. Carry more decimals on the way"
        )
    if exercise.answer == "weights":
        if (array < 0).any():
            return f"there is a negative weight, {number(array.min())}. Can a key get less than nothing?"
        for i, total in enumerate(np.atleast_2d(array).sum(axis=-1)):
            if abs(total - 1) > 0.03:
                return f"row {i + 1} of your weights adds to {number(round(total, 2))}"
    return ""
