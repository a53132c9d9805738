"""Compare answers with the right ones and find the mistake. Runs no student code: it asks for answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .answer import Fault, compare, read, tolerance, without_leading_ones
from .calculation import run
from .diagnosis import Lineup, Raised, Seen, Suspect, answer_of, diagnose
from .exercise import PRODUCT_OF_STEP, Answer, Case, Exercise
from .exercises import EXERCISES
from .mistakes import MISTAKES
from .properties import broken

Ask = Callable[[Mapping[str, Any]], Answer]

OVERFLOWS = ("OverflowError", "FloatingPointError", "ZeroDivisionError")
CASTS = ("UFuncTypeError", "_UFuncOutputCastingError", "UFuncOutputCastingError")
TWO_DECIMALS = 0.00501
EMPTY_ROW = "accepts_an_empty_row"


@dataclass(frozen=True)
class Tried:
    """One case and what came of it."""

    case: Case
    known: Mapping[str, Any]
    right: np.ndarray
    answer: Answer
    value: np.ndarray | Fault | None = None
    fault: Fault | None = None
    excused: str = ""

    @property
    def good(self) -> bool:
        return self.fault is None


@dataclass(frozen=True)
class Verdict:
    """All that is known about an answer, before it is put into words."""

    exercise: Exercise
    status: str
    share: float = 0.0
    weight: float = 1.0  # the share of the exercise that was asked about
    tried: tuple[Tried, ...] = ()
    shown: Tried | None = None
    suspects: tuple[Suspect, ...] = ()
    calculation: Mapping[str, Any] = field(default_factory=dict)
    mistakes: tuple[str, ...] = ()
    together: bool = False  # the first two mistakes explain the answer only together
    remarks: tuple[str, ...] = ()
    open_places: tuple[str, ...] = ()
    wrong_places: tuple[tuple[int, ...], ...] = ()
    value: Any = None
    fault: Fault | None = None
    broken: str = ""
    smallest: Mapping[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=64)
def cases_and_lineup(name: str, seed: int) -> tuple[list[Case], Lineup]:
    """The inputs of a function exercise and the suspects on them; the same for the same seed."""
    exercise = EXERCISES[name]
    cases = exercise.cases(np.random.default_rng(seed))
    return cases, Lineup(exercise, [exercise.given(case.args) for case in cases])


def judge_function(exercise: Exercise, ask: Ask, seed: int = 0, part: str | None = None) -> Verdict:
    """Ask a function with every case of an exercise and judge what comes back.

    Parameters
    ----------
    exercise : Exercise
    ask : callable(args) -> Answer
        Gets copies of a case's arguments.
    seed : int
        Draws the inputs.
    part : str, optional
        Judge only this part of the exercise.
    """
    with np.errstate(all="ignore"):
        cases, lineup = cases_and_lineup(exercise.name, seed)
        wanted = [i for i, case in enumerate(cases) if part in (None, case.part)]
        parts = dict.fromkeys(case.part for case in cases)
        if not wanted:
            raise ValueError(f"{exercise.name} has the parts {', '.join(map(repr, parts))}; got part={part!r}.")
        verdict = ask_all(exercise, cases, wanted, lineup, ask)
    return verdict if part is None else replace(verdict, weight=1 / len(parts))


def ask_all(exercise: Exercise, cases: list[Case], wanted: list[int], lineup: Lineup, ask: Ask) -> Verdict:
    tried: dict[int, Tried] = {}
    for i in wanted:
        tried[i] = try_case(cases[i], lineup, i, ask)
        answer = tried[i].answer
        if answer.unattempted and i == wanted[0]:
            return Verdict(exercise, "unattempted")
        if answer.timed_out:
            return Verdict(exercise, "timed_out", tried=tuple(tried.values()), shown=tried[i])
    tried = excuse(tried)
    bad = {i: one for i, one in tried.items() if not one.good and not one.case.remark}
    remarks = remarks_on(tried.values())
    if not bad:
        return Verdict(exercise, "passed", 1.0, tried=tuple(tried.values()), remarks=remarks)
    verdict = explain(exercise, lineup, tried, bad)
    if not verdict.mistakes and not verdict.shown.answer.error_type:
        sentence, args = broken(exercise, ask, verdict.shown.case.args)
        verdict = replace(verdict, broken=sentence, smallest=args)
    remarks = tuple(remark for remark in remarks if remark not in verdict.mistakes)
    return replace(verdict, share=share_of_parts(tried.values()), remarks=remarks)


def try_case(case: Case, lineup: Lineup, index: int, ask: Ask) -> Tried:
    answer = ask(case.args)
    known = lineup.inputs[index]
    right = lineup.right(index)
    if answer.error_type:
        fault = None if case.raises else Fault("raised", answer.error)
        return Tried(case, known, right, answer, None, fault)
    value = read(answer.value)
    if isinstance(value, Fault):
        return Tried(case, known, right, answer, value, value)
    value = without_leading_ones(value, right.shape)
    fault = Fault("values", "came back without an error") if case.raises else compare(value, right)
    return Tried(case, known, right, answer, value, fault)


def excuse(tried: dict[int, Tried]) -> dict[int, Tried]:
    """Turn into remarks what only shows on extreme numbers, or comes from writing into a whole-number argument."""
    writes = any(one.answer.altered for one in tried.values())

    def excused(one: Tried) -> Tried:
        if one.case.extreme and (one.answer.error_type in OVERFLOWS or only_overflows(one)):
            return replace(one, fault=None, excused="overflows_on_large_scores")
        if writes and one.fault and one.answer.error_type in CASTS:
            return replace(one, fault=None, excused="changes_its_input")
        return one

    return {i: excused(one) for i, one in tried.items()}


def only_overflows(one: Tried) -> bool:
    """Whether all that is wrong with an answer is that some of it is nan or infinite."""
    if one.fault is None or one.fault.kind != "finite":
        return False
    finite = np.isfinite(one.value)
    return compare(np.where(finite, one.value, 0), np.where(finite, one.right, 0)) is None


def share_of_parts(tried) -> float:
    """The share of the parts that hold on all their inputs."""
    parts: dict[str, bool] = {}
    for one in tried:
        if not one.case.remark:
            parts[one.case.part] = parts.get(one.case.part, True) and one.good
    return sum(parts.values()) / len(parts)


def remarks_on(tried) -> tuple[str, ...]:
    found = [one.case.remark for one in tried if one.case.remark and not one.good and finite_elsewhere(one)]
    found += [one.excused for one in tried if one.excused]
    found += ["changes_its_input" for one in tried if one.answer.altered]
    found += ["uses_half_precision" for one in tried if getattr(one.value, "dtype", None) == np.float16]
    return tuple(dict.fromkeys(found))


def finite_elsewhere(one: Tried) -> bool:
    """A remark about overflow needs an answer that overflowed; wrong numbers have their own reason."""
    if one.case.remark == EMPTY_ROW:
        return True
    return one.answer.error_type in OVERFLOWS or (one.fault is not None and one.fault.kind == "finite")


def explain(exercise: Exercise, lineup: Lineup, tried: dict[int, Tried], bad: dict[int, Tried]) -> Verdict:
    shown = most_telling(bad.values())
    status = "crashed" if all(one.answer.error_type for one in bad.values()) else "failed"
    verdict = Verdict(exercise, status, tried=tuple(tried.values()), shown=shown)
    known_at_sight = at_sight(bad.values())
    if known_at_sight:
        return replace(verdict, mistakes=(known_at_sight,))
    suspects = search(lineup, tried)
    return with_suspects(verdict, lineup, suspects, tried, bad) if suspects else verdict


def search(lineup: Lineup, tried: dict[int, Tried]) -> list[Suspect]:
    """Suspects that explain all that came back, or at least all but what came of extreme numbers."""
    counted = {i: one for i, one in tried.items() if not (one.case.remark or one.case.raises or one.excused)}
    counted = dict(sorted(counted.items(), key=lambda item: item[1].good))  # what is wrong contradicts soonest
    seen = {i: as_seen(one) for i, one in counted.items()}
    ordinary = {i: one for i, one in seen.items() if not counted[i].case.extreme}
    return diagnose(lineup, seen) or diagnose(lineup, ordinary)


def most_telling(bad) -> Tried:
    """The case to show: ordinary before extreme, numbers before shapes before errors, several rows before one, small.

    For an error the first input is shown, whose sizes all differ.
    """
    kinds = ("values", "finite", "shape", "numbers", "type", "nothing", "raised")

    def rank(one: Tried):
        odd = one.case.raises, one.case.extreme
        size = 0 if one.fault.kind == "raised" else one.right.size
        return *odd, kinds.index(one.fault.kind), size > 0 and 1 in one.right.shape, size

    return min(bad, key=rank)


def at_sight(bad) -> str:
    """Mistakes that need no search."""
    bad = list(bad)
    if all(one.fault.kind == "nothing" for one in bad) and any(one.answer.printed for one in bad):
        return "prints_instead_of_returning"
    if all(one.case.raises for one in bad):
        return EMPTY_ROW
    whole = [one for one in bad if one.answer.error_type in CASTS or "infinity to integer" in one.answer.error]
    return "truncates_to_integers" if len(whole) == len(bad) else ""


def as_seen(one: Tried) -> Seen:
    if one.answer.error_type:
        return Seen(one.known, Raised(one.answer.error_type, one.answer.error))
    if not isinstance(one.value, np.ndarray):
        return Seen(one.known, np.array(["nothing to compare"]))
    return Seen(one.known, one.value, 10 * tolerance(one.value) * (1 + np.abs(one.value)), not one.good)


def with_suspects(verdict: Verdict, lineup: Lineup, suspects: list[Suspect], tried, bad) -> Verdict:
    """Fill in who did it, and the quantities of a case on which it shows."""
    first = suspects[0]
    indices = sorted(bad, key=lambda i: (bad[i] is not verdict.shown, i))
    worked = [(i, lineup.calculation(first, i)) for i in indices]
    index, calculation = next(((i, c) for i, c in worked if "raised" not in c), worked[0])
    ids, together = ids_of(suspects), len(first.ids) == 2
    if any(one.case.raises for one in bad.values()):
        steps = list(PRODUCT_OF_STEP)
        ids = tuple(sorted((*first.ids, EMPTY_ROW), key=lambda id: steps.index(MISTAKES[id].step)))
        together = True
    found = {"suspects": tuple(suspects), "mistakes": ids, "together": together}
    return replace(verdict, shown=tried[index], calculation=calculation, **found)


def ids_of(suspects: list[Suspect]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for suspect in suspects for id in suspect.ids))


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
        status = "failed" if open_cells.any() else "passed"
        return Verdict(exercise, status, share, value=array, **places)
    verdict = replace(explain_table(exercise, starts, array, None, within, open_cells), share=share, **places)
    if wrong.sum() == 1 and wrong.size >= 4 and len(verdict.suspects[:1]) < 1:
        return replace(verdict, mistakes=("slips_in_one_cell",))
    return verdict


def as_places(cells: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(i) for i in place) for place in np.argwhere(cells))


def starting_points(exercise: Exercise, numbers: Mapping, tables: Mapping) -> list[tuple[tuple[str, ...], dict]]:
    """Steps and quantities to judge a table from: the given numbers, then the student's own table before it."""
    known = exercise.given(numbers)
    starts = [(exercise.steps, known)]
    for quantity, name in exercise.before:
        before, open_places = close_open_cells(tables.get(name, ...))
        before = read(before)
        right = np.asarray(run(exercise.steps, dict(known))[quantity])
        before = fit(before, right) if isinstance(before, np.ndarray) else None
        if not open_places and before is not None and before.shape == right.shape:
            rest = exercise.steps[exercise.steps.index(quantity) + 1 :]
            steps = tuple(s for s in exercise.steps if s in rest or s == "allowed")
            starts.append((steps, {**known, quantity: before.astype(float), **sizes_of(known)}))
    return starts


def sizes_of(known: Mapping) -> dict:
    """Sizes that a later step may need, once the arrays they follow from are not looked at any more."""
    return {"d_k": known["d_k"]} if "d_k" in known else {}


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
    """The mistake behind a wrong table, looked for from the student's own table before it first."""
    verdict = Verdict(exercise, "failed", value=array, fault=shape_fault)
    for steps, known in reversed(starts):
        lineup = Lineup(replace(exercise, steps=steps), [known])
        suspects = diagnose(lineup, {0: Seen(known, array, within, open_cells)})
        if suspects:
            calculation = lineup.calculation(suspects[0], 0)
            found = {"suspects": tuple(suspects), "mistakes": ids_of(suspects)}
            return replace(verdict, calculation=calculation, together=len(suspects[0].ids) == 2, **found)
    return verdict
