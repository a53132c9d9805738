"""Policy: which attempt counts, what is late, and what lateness costs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..handed_in.order import in_order, moment
from ..submission import Graded, Submission
from ..wording import count
from .gradebook import Record
from .marks import Answer, Mark, answers_of, mark_for

MISSING = "missing"


@dataclass(frozen=True)
class Rule:
    """Which attempt counts at a lab, and what lateness costs.

    A graded attempt always beats one without a score, and one that is accepted beats one refused as too late. Among
    those, ``best`` takes the most points after the late rule (of equals the least late, and of these the last, since
    its written answers are the newest), ``last`` the last handed in.

    Attempts are in the order of time. Where that says nothing, a file with a number behind its name (``lab-1``,
    ``lab (1)``, ``lab_1``) comes after the file without it, and a higher number after a lower one; else the platform's
    number decides, then the run that found the file first, then the name, in which 10 comes after 9. The same bytes at
    the same time are one attempt, wherever they lie.

    Late is what comes after the minute that is due. Lateness is counted in begun days of 24 hours: each costs
    ``percent_a_day`` percent of what was earned, and after ``refused_after`` days an attempt is worth 0 points.
    Where due date or time of handing in isn't known, what the platform marked late is late by one begun day, and
    nothing else is late.

    Attributes
    ----------
    keep : str
        ``best`` or ``last``.
    due : str
        ISO 8601; in local time without an offset from UTC; the end of the day without a time; empty for never.
    percent_a_day : float
        0 only notes what is late.
    refused_after : int, optional
        Days; None refuses nothing.
    """

    keep: str = "best"
    due: str = ""
    percent_a_day: float = 0
    refused_after: int | None = None

    def __post_init__(self) -> None:
        if self.keep not in ("best", "last"):
            raise ValueError(f"keep: must be best or last; got {self.keep!r}. Choose one.")
        if not 0 <= self.percent_a_day <= 100:
            raise ValueError(f"late: percent a day must be from 0 to 100; got {self.percent_a_day}. Choose less.")
        if self.refused_after is not None and self.refused_after < 0:
            raise ValueError(
                f"late: days must be 0 or more; got {self.refused_after}. Choose 0 to refuse all that is late."
            )
        if self.due:
            # The offset is written down, so that the rule means the same wherever it is read again.
            object.__setattr__(self, "due", due_moment(self.due).isoformat())

    def __str__(self) -> str:
        due = f"due {self.due}" if self.due else "no due date"
        off = f"{self.percent_a_day:g} % off each begun day late" if self.percent_a_day else "nothing off for lateness"
        refused = "" if self.refused_after is None else f", no points after {self.refused_after} days"
        return f"the {self.keep} attempt counts, {due}, {off}{refused}"


ALWAYS_IN_TIME = Rule()


@dataclass(frozen=True)
class Attempt:
    """A submission under a rule."""

    record: Record
    days_late: int = 0
    refused: bool = False
    factor: float = 1.0  # what is left of what was earned

    @property
    def earned(self) -> float | None:
        """The points of its exercises; None where there is no score."""
        graded = self.record.graded
        return None if graded.points is None else min(max(graded.points, 0), graded.max_points)

    @property
    def points(self) -> float | None:
        return None if self.earned is None else self.earned * self.factor

    @property
    def late(self) -> str:
        """Such as ``2 days``; empty for what came in time."""
        return count(self.days_late, "day") if self.days_late else ""


@dataclass(frozen=True)
class Row:
    """A student at a lab: every attempt in order, and the one that counts (None for who handed in nothing).

    Attributes
    ----------
    answers : tuple of (Answer, Mark or None, bool)
        The written answers of the attempt that counts, each with its mark, and whether the mark was given for an
        earlier answer to the same question.
    worth : dict
        The most that each question of the lab can bring, by question: of those that were marked for anyone.
    """

    student: str
    name: str
    batch: str
    lab: str
    tries: tuple[Attempt, ...] = ()
    counted: Attempt | None = None
    answers: tuple[tuple[Answer, Mark | None, bool], ...] = ()
    worth: Mapping[str, float] = field(default_factory=dict)

    @property
    def graded(self) -> Graded:
        """What came of the attempt that counts."""
        return self.counted.record.graded if self.counted else Graded(MISSING, "Nothing was handed in.")

    @property
    def file(self) -> str:
        return self.counted.record.submission.file if self.counted else ""

    @property
    def late(self) -> str:
        return self.counted.late if self.counted else ""

    @property
    def attempts(self) -> int:
        """How many times something was handed in; copies of the same bytes count once."""
        handed_in = (attempt.record.submission for attempt in self.tries)
        return len({(one.digest, one.submitted_at, one.number) for one in handed_in})

    @property
    def written(self) -> float | None:
        """The points given by hand; None where none were given yet."""
        given = [mark.points for _, mark, _ in self.answers if mark and mark.points is not None]
        return math.fsum(given) if given else None

    @property
    def points(self) -> float | None:
        """Exercises and written answers after the late rule; None where there is no score."""
        if not self.counted or self.counted.earned is None:
            return None
        return min((self.counted.earned + (self.written or 0)) * self.counted.factor, self.max_points)

    @property
    def max_points(self) -> float:
        return self.graded.max_points + math.fsum(self.worth.values())

    @property
    def reason(self) -> str:
        """Why there is no score, or not a better one."""
        reasons = [self.graded.reason]
        if self.counted and self.counted.refused:
            reasons.append(f"Handed in {self.late} late, which is too late for points.")
        if self.counted and self.points is not None:
            last = self.tries[-1].record
            # The same bytes may have been taken for another lab, too: that is no further attempt.
            is_other = last.submission.digest != self.counted.record.submission.digest
            if is_other and last.graded.points is None:
                reasons.append(f"The last attempt, {last.submission.file}, has no score: {last.graded.reason}")
        return " ".join(filter(None, reasons))


def counted(
    records: Iterable[Record],
    rules: Rule | Mapping[str, Rule] = ALWAYS_IN_TIME,
    *,
    roster: Mapping[str, str] | None = None,
    marks: Mapping[str, Mark] | None = None,
) -> list[Row]:
    """One row for each student at each lab of each batch, in a fixed order.

    Parameters
    ----------
    records : iterable of Record
        In any order.
    rules : Rule or dict
        One for all, or one for each lab by its name (``Rule()`` for a lab that has none).
    roster : dict, optional
        Names by student, as the submissions write them: whoever has no row at a lab gets one as missing.
    marks : dict, optional
        As the gradebook gives them.
    """
    roster, marks, groups = roster or {}, marks or {}, grouped(records)
    for batch, lab in {(batch, lab) for batch, lab, _ in groups}:
        for student in roster:
            groups.setdefault((batch, lab, student), [])
    rows = []
    for (batch, lab, student), group in sorted(groups.items()):
        rule = rules if isinstance(rules, Rule) else rules.get(lab, ALWAYS_IN_TIME)
        row = Row(student, roster.get(student, ""), batch, lab)
        rows.append(filled(row, [attempt(record, rule) for record in group], rule, marks) if group else row)
    return with_worth(rows)


def grouped(records: Iterable[Record]) -> dict[tuple[str, str, str], list[Record]]:
    """Records by batch, lab and student, in the order of the attempts."""
    records = list(records)
    labs: dict[str, set[str]] = {}
    for one in (record.submission for record in records):
        if one.lab and not one.problem:
            labs.setdefault(one.batch, set()).add(one.lab)
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        one = record.submission
        groups.setdefault((one.batch, home(one, labs.get(one.batch, set())), one.student), []).append(record)
    return {key: in_order(group) for key, group in groups.items()}


def home(submission: Submission, labs: set[str]) -> str:
    """The lab of the row: a file that can't be graded is an attempt at the only lab that the others handed in."""
    return next(iter(labs)) if submission.problem and len(labs) == 1 else submission.lab


def filled(row: Row, attempts: list[Attempt], rule: Rule, marks: Mapping[str, Mark]) -> Row:
    """The row of a student who handed in, with the attempt that counts under the rule and the marks for its answers."""

    def rank(n: int) -> tuple[bool, bool, float, int, int]:
        one = attempts[n]
        merit = (one.points, -one.days_late) if rule.keep == "best" and one.points is not None else (0, 0)
        return one.points is not None, not one.refused, *merit, n

    counts = attempts[max(range(len(attempts)), key=rank)]
    one, graded = counts.record.submission, counts.record.graded
    answers = tuple((answer, *mark_for(answer, marks)) for answer in answers_of(one, graded))
    return replace(row, name=row.name or one.name, tries=tuple(attempts), counted=counts, answers=answers)


def with_worth(rows: list[Row]) -> list[Row]:
    """The rows with what each marked question can bring: once a question is marked, it counts for the whole class."""
    worth: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        for answer, mark, _ in row.answers:
            if mark and mark.points is not None:
                most = worth.setdefault((row.batch, row.lab), {})
                most[answer.question] = max(mark.max_points, most.get(answer.question, 0))
    return [replace(row, worth=worth.get((row.batch, row.lab), {})) for row in rows]


@dataclass(frozen=True)
class MarksGiven:
    """How many written answers there are, how many have a mark, and how many count by the mark of an earlier one."""

    answers: int
    marked: int
    by_earlier: int

    def __str__(self) -> str:
        earlier = f" ({self.by_earlier} more count from an earlier answer)" if self.by_earlier else ""
        return f"Written answers: {self.marked} of {self.answers} marked{earlier}"


def marks_given(rows: Iterable[Row]) -> MarksGiven:
    """Count the written answers and their marks; an answer that changed after it was marked has none of its own."""
    answers = [(mark, earlier) for row in rows for answer, mark, earlier in row.answers if answer.text]
    earlier = [is_earlier for mark, is_earlier in answers if mark and mark.points is not None]
    return MarksGiven(len(answers), earlier.count(False), earlier.count(True))


def attempt(record: Record, rule: Rule) -> Attempt:
    """A submission held against the rule."""
    late = days_late(record.submission, rule.due)
    refused = rule.refused_after is not None and late > rule.refused_after
    return Attempt(record, late, refused, 0 if refused else max(0, 1 - late * rule.percent_a_day / 100))


def days_late(submission: Submission, due: str) -> int:
    """Begun days, as ``Rule`` counts them."""
    at, until = moment(submission.submitted_at), moment(due)
    if at is None or until is None:
        return int(submission.marked_late)
    return max(0, math.ceil((at.replace(second=0, microsecond=0) - until) / timedelta(days=1)))


def due_moment(text: str) -> datetime:
    """When something is due; a day lasts until its end."""
    at = moment(f"{text}T23:59") or moment(text)
    if at is None:
        raise ValueError(f"due: must be a date such as 2026-12-01 or 2026-12-01T23:59; got {text!r}. Correct it.")
    return at
