"""Compare answers with the right ones and find the mistake. Runs no student code: it asks for answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .answer import Fault, compare, read, tolerance, without_leading_ones
from .diagnosis import Seen, diagnose
from .exercise import PRODUCT_OF_STEP, Answer, Case, Exercise
from .exercises import EXERCISES
from .lineup import Lineup, Raised, Suspect
from .mistakes import MISTAKES
from .properties import broken

Ask = Callable[[Mapping[str, Any]], Answer]

OVERFLOWS = ("OverflowError", "FloatingPointError", "ZeroDivisionError")
CASTS = ("UFuncTypeError", "_UFuncOutputCastingError", "UFuncOutputCastingError")
LOOSELY = 1e-2  # where scores are so large that even right answers lose digits
LARGEST_ANSWER = 10_000  # numbers; ours have a few hundred at most
EMPTY_ROW = "accepts_an_empty_row"


@dataclass(frozen=True)
class Tried:
    """One case and what came of it."""

    case: Case
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
    open_places: tuple[tuple[int, ...], ...] = ()
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
    lineup = Lineup(exercise, [exercise.given(case.args) for case in cases])
    with np.errstate(all="ignore"):
        for index in range(len(cases)):
            lineup.right(index)  # before any code of a student's runs, which may do anything to NumPy
    return cases, lineup


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
        verdict = ask_all(exercise, cases, wanted, lineup, ask)
    return verdict if part is None else replace(verdict, weight=1 / len(parts_of(exercise)))


def parts_of(exercise: Exercise) -> tuple[str, ...]:
    return tuple(dict.fromkeys(case.part for case in cases_and_lineup(exercise.name, 0)[0]))


def ask_all(exercise: Exercise, cases: list[Case], wanted: list[int], lineup: Lineup, ask: Ask) -> Verdict:
    tried: dict[int, Tried] = {}
    for i in wanted:
        tried[i] = try_case(cases[i], lineup, i, ask)
        answer = tried[i].answer
        if answer.unattempted and i == wanted[0]:
            return Verdict(exercise, "unattempted")
        if answer.timed_out:
            return Verdict(exercise, "timed_out", tried=tuple(tried.values()), shown=tried[i])
    tried = no_lucky_error(excuse(tried))
    bad = {i: one for i, one in tried.items() if not (one.good or is_remark(one))}
    remarks = remarks_on(tried.values())
    if not bad:
        return Verdict(exercise, "passed", 1.0, tried=tuple(tried.values()), remarks=remarks)
    verdict = explain(exercise, lineup, tried, bad)
    if not verdict.mistakes and verdict.shown.fault.kind in ("values", "finite"):
        sentence, args = broken(exercise, ask, verdict.shown.case.args)
        verdict = replace(verdict, broken=sentence, smallest=args)
    remarks = tuple(remark for remark in remarks if remark not in verdict.mistakes)
    return replace(verdict, share=share_of_parts(tried.values()), remarks=remarks)


def try_case(case: Case, lineup: Lineup, index: int, ask: Ask) -> Tried:
    answer = ask(case.args)
    right = lineup.right(index)
    if answer.error_type:
        fault = None if case.raises else Fault("raised", answer.error)
        return Tried(case, right, answer, None, fault)
    value = several_things(answer.value, right) or read(answer.value)
    if isinstance(value, Fault):
        return Tried(case, right, answer, None, value)
    value = without_leading_ones(value, right.shape)
    large = LOOSELY * (1 + np.abs(right)) if case.remark else None
    fault = Fault("values", "came back without an error") if case.raises else compare(value, right, large)
    if fault and fault.kind == "shape" and value.size > LARGEST_ANSWER:
        value = None  # nothing of this size was asked for
    return Tried(case, right, answer, value, fault)


def several_things(value: Any, right: np.ndarray) -> Fault | None:
    """A tuple such as (output, weights), where one array was asked for."""
    if not isinstance(value, tuple) or len(value) < 2 or right.ndim < 2:
        return None
    shapes = [np.shape(item) for item in value if hasattr(item, "shape")]
    if len(shapes) < len(value) or any(len(shape) < right.ndim for shape in shapes):
        return None
    return Fault("type", f"gave back {len(value)} things, of shapes {' and '.join(map(str, shapes))}")


def no_lucky_error(tried: dict[int, Tried]) -> dict[int, Tried]:
    """An error where one is asked for counts only if the function gave back numbers for ordinary ones."""
    ordinary = [one for one in tried.values() if not (one.case.raises or one.case.extreme or one.case.remark)]
    if any(isinstance(one.value, np.ndarray) for one in ordinary):
        return tried
    lucky = Fault("raised", "raises always")
    return {i: replace(one, fault=one.fault or (lucky if one.case.raises else None)) for i, one in tried.items()}


def excuse(tried: dict[int, Tried]) -> dict[int, Tried]:
    """Turn into remarks what only shows on extreme numbers, or comes from writing into a whole-number argument."""
    writes = any(one.answer.altered for one in tried.values())

    def excused(one: Tried) -> Tried:
        if one.case.extreme and (one.answer.error_type in OVERFLOWS or only_overflows(one)):
            return replace(one, fault=None, excused="overflows_on_large_scores")
        if writes and one.fault and one.answer.error_type in CASTS and takes_whole_numbers(one.case):
            return replace(one, fault=None, excused="changes_its_input")
        return one

    return {i: excused(one) for i, one in tried.items()}


def takes_whole_numbers(case: Case) -> bool:
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in case.args.values())


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
        if not is_remark(one):
            parts[one.case.part] = parts.get(one.case.part, True) and one.good
    return sum(parts.values()) / len(parts)


def remarks_on(tried) -> tuple[str, ...]:
    tried = list(tried)
    found = [one.case.remark for one in tried if not one.good and is_remark(one) and not one.answer.error_type]
    found += [one.excused for one in tried if one.excused]
    found += ["changes_its_input" for one in tried if one.answer.altered]
    found += ["uses_half_precision" for one in tried if getattr(one.value, "dtype", None) == np.float16]
    return tuple(dict.fromkeys(found))


def is_remark(one: Tried) -> bool:
    """Whether what came of a case costs nothing: overflow, half precision, or a row that isn't asked about here."""
    if one.case.remark in ("", EMPTY_ROW):
        return bool(one.case.remark)
    overflowed = one.answer.error_type in OVERFLOWS or (one.fault is not None and one.fault.kind == "finite")
    return overflowed or getattr(one.value, "dtype", None) == np.float16


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
    kinds = ("shape", "numbers", "values", "finite", "type", "nothing", "raised")

    def rank(one: Tried):
        odd = bool(one.case.remark), one.case.raises, one.case.extreme
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
        return Seen(Raised(one.answer.error_type, one.answer.error))
    if not isinstance(one.value, np.ndarray):
        return Seen(Raised("nothing to compare", ""))
    value, extreme = one.value, one.case.extreme
    overflowed = np.broadcast_to(~np.isfinite(value).all(axis=-1, keepdims=True), value.shape) if extreme else None
    within = 10 * tolerance(value) * (1 + np.abs(np.nan_to_num(value)))
    return Seen(value, within, not one.good, open=overflowed, extreme=extreme)


def with_suspects(verdict: Verdict, lineup: Lineup, suspects: list[Suspect], tried, bad) -> Verdict:
    """Fill in who did it, and the quantities of a case on which it shows."""
    first = suspects[0]
    masked = any(mistake.step == "mask" for mistake in first.mistakes)
    indices = sorted(bad, key=lambda i: (masked and "mask" not in bad[i].case.args, bad[i] is not verdict.shown, i))
    worked = [(i, lineup.calculation(first.ways, i)) for i in indices]
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
