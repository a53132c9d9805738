"""Compare answers with the right ones and find the mistake. Runs no student code: it asks for answers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .answer import Fault, compare, read, tolerance, without_leading_ones
from .diagnosis import Numbers, Seen, diagnose
from .exercise import REFUSES, Answer, Case, Exercise
from .exercises import EXERCISES
from .lineup import Lineup, Raised, Suspect
from .properties import Ask, broken

ACCIDENTS = (
    "NameError",
    "UnboundLocalError",
    "AttributeError",
    "TypeError",
    "IndexError",
)  # few raise these on purpose
MISFIT = re.compile("broadcast|not aligned|mismatch in its core dimension")  # NumPy's words for shapes
OVERFLOWS = ("OverflowError", "FloatingPointError", "ZeroDivisionError")
CASTS = ("UFuncTypeError", "_UFuncOutputCastingError", "UFuncOutputCastingError")
LOOSELY = 1e-2  # where scores are so large that even right answers lose digits
EMPTY_ROW, OVERFLOW = "accepts_an_empty_row", "overflows_on_large_scores"
OVERALL = "shifts_by_the_overall_maximum"


@dataclass(frozen=True)
class Tried:
    """One case and what came of it.

    Attributes
    ----------
    case : Case
    right : array
        The right answer.
    answer : Answer
        What came back, as it came.
    value : array, optional
        The numbers that came back, if they did and aren't far too many.
    fault : Fault, optional
        What is wrong with it.
    excused : str
        The remark that stands in place of a fault.
    """

    case: Case
    right: np.ndarray
    answer: Answer
    value: np.ndarray | None = None
    fault: Fault | None = None
    excused: str = ""

    @property
    def good(self) -> bool:
        return self.fault is None

    @property
    def kind(self) -> str:
        """The kind of the fault; "" if there is none."""
        return self.fault.kind if self.fault else ""

    @property
    def is_half_precision(self) -> bool:
        return self.value is not None and self.value.dtype == np.float16


@dataclass(frozen=True)
class Verdict:
    """All that is known about an answer, before it is put into words.

    Attributes
    ----------
    exercise : Exercise
    status : str
        See ``Outcome``.
    share : float
        The share of the points that is earned.
    weight : float
        The share of the exercise that was asked about.
    mistakes : tuple of str
        Ids; ``together`` if the first two explain the answer only together.
    remarks : tuple of str
    suspects : tuple of Suspect
        Who may have made the mistakes, and what the first one's ``calculation`` gives, by quantity.
    said : str
        What else there is to say of an answer that no mistake explains; in lower case and without a stop.
    tried : tuple of Tried
        Of a function: all its cases. ``shown`` is the one to be told of, ``smallest`` a smaller input that is answered
        as wrongly, and ``said_there`` what there is to say of that.
    value : array or str, optional
        Of a table: its numbers, or the word that stands there; ``fault`` says why it can't be judged.
    open_places, wrong_places : tuples of places
        Cells of a table, counted from 0.
    within : float or array (...)
        How far off a cell may be.
    right_for : str
        Of a table that passed: the student's own table before, from which it was judged.
    first_wrong : str
        The first that doesn't fit yet of the tables before, unless this one is right whatever they hold.
    """

    exercise: Exercise
    status: str
    share: float = 0.0
    weight: float = 1.0
    mistakes: tuple[str, ...] = ()
    together: bool = False
    remarks: tuple[str, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    calculation: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    tried: tuple[Tried, ...] = ()
    shown: Tried | None = None
    smallest: Mapping[str, Any] = field(default_factory=dict)
    said_there: str = ""
    value: np.ndarray | str | None = None
    fault: Fault | None = None
    open_places: tuple[tuple[int, ...], ...] = ()
    wrong_places: tuple[tuple[int, ...], ...] = ()
    within: float | np.ndarray = 0.0
    right_for: str = ""
    first_wrong: str = ""

    def accusing(self, suspects: list[Suspect], calculation: Mapping[str, Any]) -> "Verdict":
        """The same with suspects found, the most likely first, and what the first one's calculation gives."""
        ids = dict.fromkeys(id for suspect in suspects for id in suspect.ids)
        together = len(suspects[0].ids) == 2
        return replace(self, mistakes=tuple(ids), together=together, suspects=tuple(suspects), calculation=calculation)


@lru_cache(maxsize=64)
def cases_and_lineup(name: str, seed: int) -> tuple[list[Case], Lineup]:
    """The inputs of a function exercise and the suspects on them; the same for the same seed."""
    exercise = EXERCISES[name]
    cases = exercise.cases(np.random.default_rng(seed)) if exercise.cases else []
    lineup = Lineup(exercise, [exercise.given(case.args) for case in cases])
    with np.errstate(all="ignore"):
        for index in range(len(cases)):
            lineup.right(index)  # before any code of a student's runs, which may do anything to NumPy
    return cases, lineup


def judge_function(
    exercise: Exercise, ask: Ask, seed: int = 0, part: str | None = None, *, shrink: bool = True
) -> Verdict:
    """Ask a function with every case of an exercise and judge what comes back.

    Parameters
    ----------
    exercise : Exercise
    ask : callable(args) -> Answer
        Puts the question to the student's function; ``args`` must come out of it unaltered.
    seed : int
        Draws the inputs.
    part : str, optional
        Judge only this part of the exercise.
    shrink : bool
        Look for a smaller input to show, where no mistake is recognised.
    """
    with np.errstate(all="ignore"):
        cases, lineup = cases_and_lineup(exercise.name, seed)
        wanted = [i for i, case in enumerate(cases) if part in (None, case.part)]
        verdict = ask_all(exercise, cases, wanted, lineup, ask)
        shown = verdict.shown
        if shown is not None and shown.kind in ("values", "finite") and not (verdict.mistakes or verdict.said):
            found = broken(exercise, ask, shown.case.args, shown.kind, shrink)
            verdict = replace(verdict, said=found.said, smallest=found.smaller, said_there=found.said_there)
    return verdict if part is None else replace(verdict, weight=1 / len(parts_of(exercise)))


def parts_of(exercise: Exercise) -> tuple[str, ...]:
    """The parts of a function exercise whose points are earned one by one."""
    return tuple(dict.fromkeys(case.part for case in cases_and_lineup(exercise.name, 0)[0]))


def ask_all(exercise: Exercise, cases: list[Case], wanted: list[int], lineup: Lineup, ask: Ask) -> Verdict:
    """Ask with some of the cases; the first that isn't attempted or takes too long is the last.

    Parameters
    ----------
    exercise : Exercise
    cases : list of Case
    wanted : list of int
        Places of the cases to ask with.
    lineup : Lineup
        The suspects on these cases.
    ask : callable(args) -> Answer
    """
    tried: dict[int, Tried] = {}
    for i in wanted:
        tried[i] = try_case(cases[i], lineup, i, ask)
        answer = tried[i].answer
        if answer.unattempted and i == wanted[0]:
            return Verdict(exercise, "unattempted", said=answer.unwritten)
        if answer.timed_out:
            share = share_of_parts(tried.values(), (cases[j] for j in wanted if j not in tried))
            return Verdict(exercise, "timed_out", share, tried=tuple(tried.values()), shown=tried[i])
    tried = no_lucky_error(excuse(tried))
    bad = {i: one for i, one in tried.items() if not (one.good or is_remark(one))}
    remarks = remarks_on(tried.values())
    if not bad:
        return Verdict(exercise, "passed", 1.0, tried=tuple(tried.values()), remarks=remarks)
    shown = most_telling(bad.values())
    status = "crashed" if all(one.answer.error_type for one in bad.values()) else "failed"
    verdict = Verdict(exercise, status, share_of_parts(tried.values()), tried=tuple(tried.values()), shown=shown)
    verdict = explain(verdict, lineup, tried, bad)
    return replace(verdict, remarks=tuple(remark for remark in remarks if remark not in verdict.mistakes))


def try_case(case: Case, lineup: Lineup, index: int, ask: Ask) -> Tried:
    """Ask with one case and compare.

    Parameters
    ----------
    case : Case
    lineup : Lineup
    index : int
        The case's place among the lineup's inputs.
    ask : callable(args) -> Answer
    """
    answer = ask(case.args)
    right = lineup.right(index)
    if answer.error_type:
        fault = None if case.raises and not by_accident(answer) else Fault("raised", answer.error)
        return Tried(case, right, answer, fault=fault)
    value = several_things(answer.value, right) or read(answer.value)
    if isinstance(value, Fault):
        return Tried(case, right, answer, fault=value)
    value = without_leading_ones(value, right.shape)
    large = LOOSELY * (1 + np.abs(right)) if case.remark else None
    fault = Fault("values", "came back without an error") if case.raises else compare(value, right, large)
    return Tried(case, right, answer, value, fault)


def by_accident(answer: Answer) -> bool:
    """Whether an error arose from a slip of the code's and not from refusing an argument.

    A line that raises on purpose, or one that isn't known, is none.
    """
    if not answer.line or REFUSES.search(answer.line):
        return False
    return answer.error_type in ACCIDENTS or bool(MISFIT.search(answer.error))


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
    if any(one.value is not None for one in ordinary):
        return tried
    lucky = Fault("raised", "raises always")
    return {i: replace(one, fault=one.fault or (lucky if one.case.raises else None)) for i, one in tried.items()}


def excuse(tried: dict[int, Tried]) -> dict[int, Tried]:
    """Turn into remarks what only shows on extreme numbers, or comes from writing into a whole-number argument."""
    writes = any(one.answer.altered for one in tried.values())

    def excused(one: Tried) -> Tried:
        if one.case.extreme and (one.answer.error_type in OVERFLOWS or only_overflows(one)):
            return replace(one, fault=None, excused=OVERFLOW)
        if writes and one.fault and one.answer.error_type in CASTS and takes_whole_numbers(one.case):
            return replace(one, fault=None, excused="changes_its_input")
        return one

    return {i: excused(one) for i, one in tried.items()}


def takes_whole_numbers(case: Case) -> bool:
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in case.args.values())


def only_overflows(one: Tried) -> bool:
    """Whether all that is wrong with an answer is that some of it is nan or infinite."""
    if one.value is None or one.kind != "finite":
        return False
    finite = np.isfinite(one.value)
    return compare(np.where(finite, one.value, 0), np.where(finite, one.right, 0)) is None


def share_of_parts(tried: Iterable[Tried], never: Iterable[Case] = ()) -> float:
    """The share of the parts that hold on all their inputs; of those that it was never asked with, it holds on none."""
    parts = parts_that_hold(tried) | {case.part: False for case in never if not case.remark}
    return sum(parts.values()) / len(parts)


def parts_that_hold(tried: Iterable[Tried]) -> dict[str, bool]:
    """Of each part that was asked for, whether it holds on all its inputs."""
    parts: dict[str, bool] = {}
    for one in tried:
        if not is_remark(one):
            parts[one.case.part] = parts.get(one.case.part, True) and one.good
    return parts


def remarks_on(tried: Iterable[Tried]) -> tuple[str, ...]:
    """Ids of what is worth knowing and costs nothing."""
    tried = list(tried)
    found = [one.case.remark for one in tried if not one.good and is_remark(one) and not one.answer.error_type]
    # With the maximum of the whole table, rows of extreme scores turn to nan, too: that has been said then.
    said = {"", OVERFLOW} if OVERALL in found and OVERFLOW not in found else {""}
    found += [one.excused for one in tried if one.excused not in said]
    found += ["changes_its_input" for one in tried if one.answer.altered]
    found += ["uses_half_precision" for one in tried if one.is_half_precision]
    return tuple(dict.fromkeys(found))


def is_remark(one: Tried) -> bool:
    """Whether what came of a case costs nothing: overflow, half precision, or a row that isn't asked about here."""
    if one.case.remark in ("", EMPTY_ROW):
        return bool(one.case.remark)
    return one.answer.error_type in OVERFLOWS or one.kind == "finite" or one.is_half_precision


def explain(verdict: Verdict, lineup: Lineup, tried: dict[int, Tried], bad: dict[int, Tried]) -> Verdict:
    """Name the mistakes, if there are any that explain what came back.

    Parameters
    ----------
    verdict : Verdict
        Without mistakes so far.
    lineup : Lineup
    tried, bad : dicts
        Index of the input -> what came of it: of all inputs, and of those that cost points.
    """
    known_at_sight = at_sight(bad.values())
    if known_at_sight:
        return replace(verdict, mistakes=(known_at_sight,))
    if ignores_its_input(tried.values()):
        return replace(
            verdict, said="your function gives back the same, whatever it is given. Where does it use its arguments?"
        )
    suspects = search(lineup, tried)
    return with_suspects(verdict, lineup, suspects, bad) if suspects else verdict


def ignores_its_input(tried: Iterable[Tried]) -> bool:
    """Whether the same came back for all inputs, although it should differ in shape."""
    answers = [(one.value, one.right.shape) for one in tried if one.value is not None]
    differ = len({shape for _, shape in answers}) > 1
    return differ and all(np.array_equal(value, answers[0][0]) for value, _ in answers)


def search(lineup: Lineup, tried: dict[int, Tried]) -> list[Suspect]:
    """Suspects that explain all that came back, or at least all but what came of extreme numbers."""
    counted = {i: one for i, one in tried.items() if not (one.case.remark or one.case.raises or one.excused)}
    seen = {i: as_seen(one) for i, one in counted.items()}
    ordinary = {i: one for i, one in seen.items() if not counted[i].case.extreme}
    found = diagnose(lineup, seen)
    return found if found or len(ordinary) == len(seen) else diagnose(lineup, ordinary)


def most_telling(bad: Iterable[Tried]) -> Tried:
    """The case to show: ordinary before extreme, numbers before shapes before errors, several rows before one, small.

    For an error the first input is shown, whose sizes all differ.
    """
    kinds = ("shape", "numbers", "values", "finite", "type", "nothing", "raised")

    def rank(one: Tried) -> tuple:
        odd = bool(one.case.remark), one.case.raises, one.case.extreme
        size = 0 if one.kind == "raised" else one.right.size
        return *odd, kinds.index(one.kind), size > 0 and 1 in one.right.shape, size

    return min(bad, key=rank)


def at_sight(bad: Iterable[Tried]) -> str:
    """The id of a mistake that needs no search, or ""."""
    bad = list(bad)
    if all(one.kind == "nothing" for one in bad) and any(one.answer.printed for one in bad):
        return "prints_instead_of_returning"
    if all(accepts_an_empty_row(one) for one in bad):
        return EMPTY_ROW
    whole = [one for one in bad if one.answer.error_type in CASTS or "infinity to integer" in one.answer.error]
    return "truncates_to_integers" if len(whole) == len(bad) else ""


def accepts_an_empty_row(one: Tried) -> bool:
    """Whether an answer was given where an error is asked for."""
    return one.case.raises and not (one.answer.error_type or gives_an_error_back(one))


def gives_an_error_back(one: Tried) -> bool:
    """Whether an error was made where one is asked for, and returned."""
    return one.case.raises and type(one.answer.value).__name__.endswith(("Error", "Exception"))


def as_seen(one: Tried) -> Seen:
    """What came of a case as the diagnosis sees it; of rows that overflow on extreme numbers nothing is concluded."""
    if one.answer.error_type:
        return Seen(Raised(one.answer.error_type, one.answer.error))
    if one.value is None:
        return Seen(Raised("nothing to compare", ""))
    value, extreme = one.value, one.case.extreme
    overflowed = np.broadcast_to(~np.isfinite(value).all(axis=-1, keepdims=True), value.shape) if extreme else None
    within = 10 * tolerance(value) * (1 + np.abs(np.nan_to_num(value)))
    return Seen(Numbers(value, within, open=overflowed), not one.good, extreme)


def each_shows(lineup: Lineup, suspect: Suspect, index: int) -> bool:
    """Whether each of two mistakes makes a difference to the answer to one input; of a single one it is clear."""
    if len(suspect.ways) < 2:
        return True
    alone = [Suspect((one,), (way,)) for one, way in zip(suspect.mistakes, suspect.ways, strict=True)]
    answers = [lineup.predicts(one, index) for one in (suspect, *alone)]
    arrays = [answer for answer in answers if isinstance(answer, np.ndarray)]
    return len(arrays) == 3 and not any(np.array_equal(arrays[0], other, equal_nan=True) for other in arrays[1:])


def with_suspects(verdict: Verdict, lineup: Lineup, suspects: list[Suspect], bad: dict[int, Tried]) -> Verdict:
    """Fill in who did it, and the quantities of a case on which it shows."""
    first = suspects[0]
    masked = any(mistake.step == "mask" for mistake in first.mistakes)

    def rank(i: int) -> tuple:
        unmasked = masked and "mask" not in bad[i].case.args
        return unmasked, not each_shows(lineup, first, i), bad[i] is not verdict.shown, i

    indices = sorted(bad, key=rank)
    worked = [(i, lineup.calculation(first.ways, i)) for i in indices]
    index, calculation = next(((i, c) for i, c in worked if "raised" not in c), worked[0])
    verdict = replace(verdict, shown=bad[index]).accusing(suspects, calculation)
    if any(map(accepts_an_empty_row, bad.values())):  # what spoils the case that is shown comes first
        return replace(verdict, mistakes=(*first.ids, EMPTY_ROW), together=True)
    return verdict
