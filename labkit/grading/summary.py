"""What came of a batch, in words and for machines."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .publish import Published
from .records.policy import MISSING, Rule
from .submission import UNGRADABLE
from .wording import few


@dataclass(frozen=True)
class Summary:
    """What came of a batch; as JSON it is what machines are told."""

    ok: bool
    stopped: bool  # it was interrupted
    submissions: int
    graded_now: int  # of these; the others were graded before
    students: Mapping[str, int]  # by status
    graded_again: int  # of those now: graded before, but not by this labkit, with this secret and these limits
    rules: Mapping[str, str]  # by lab, in words
    rules_before: Mapping[str, str]  # of those labs for which it was another one until now
    system_errors: Sequence[str]  # files
    ungradable: Mapping[str, str]  # reasons by file
    isolation: Sequence[str]
    missing: Mapping[str, Sequence[str]]  # on the roster, and nothing handed in, by lab
    unknown: Sequence[str]  # not on the roster
    names: Mapping[str, str]  # of the missing and unknown, where they are known
    notes: Sequence[str]
    marks: str  # how many written answers have one, in words; empty where there is none
    gradebook: str  # where it is, as a sheet
    report: str

    @property
    def lines(self) -> list[str]:
        """What people are told."""
        why = "since labkit, its limits or its secret changed"
        again = f", {self.graded_again} of them again, {why}" if self.graded_again else ""
        rest = "" if self.graded_now == self.submissions else "; the others were up to date"
        done = f"Graded {self.graded_now} of {self.submissions} submissions now{again}{rest}."
        stopped = f"Stopped. {self.graded_now} submissions were graded and are kept; the same command goes on."
        told = [stopped if self.stopped else done]
        told += ["Notebooks: " + ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in self.students.items())]
        for lab, rule in self.rules.items():
            before = f" (until now: {self.rules_before[lab]})" if lab in self.rules_before else ""
            told.append(f"{lab}: {rule}{before}")
        told += [self.marks] if self.marks else []
        told += [f"Isolation: {one}" for one in self.isolation]
        told += [f"Ungradable: {file}: {reason}" for file, reason in self.ungradable.items()]
        for lab, students in self.missing.items():
            told.append(f"Missing at {lab}: {few([self.named(student) for student in students], 5)}")
        told += [f"Not on the roster: {self.named(student)}" for student in self.unknown]
        told += [f"Note: {note}" for note in self.notes]
        tried = "it has no score. The same command tries again."
        told += [f"The grader failed at {file}; {tried}" for file in self.system_errors]
        return [*told, f"Look at {self.report}"]

    def named(self, student: str) -> str:
        return f"{self.names[student]} ({student})" if student in self.names else student


def summary_of(
    published: Published,
    rules_before: Mapping[str, Rule],
    stopped: bool,
    submissions: int,
    graded: int,
    again: int,
    system_errors: Sequence[str],
) -> Summary:
    """The summary of a batch of so many submissions, of which so many were graded now, some of them again."""
    rows, missing = published.rows, defaultdict(list)
    for row in rows:
        if row.graded.status == MISSING:
            missing[row.lab].append(row.student)
    told_of = {student for students in (*missing.values(), published.unknown) for student in students}
    changed = {lab: rule for lab, rule in rules_before.items() if published.rules.get(lab, rule) != rule}
    return Summary(
        ok=not system_errors and not stopped,
        stopped=stopped,
        submissions=submissions,
        graded_now=graded,
        graded_again=again,
        students=dict(sorted(Counter(row.graded.status for row in rows).items())),
        rules={lab: str(rule) for lab, rule in published.rules.items()},
        rules_before={lab: str(rule) for lab, rule in changed.items()},
        marks=str(published.marks) if published.marks.answers else "",
        isolation=sorted({row.graded.isolation for row in rows} - {""}),
        system_errors=system_errors,
        ungradable={row.file: row.reason for row in rows if row.graded.status == UNGRADABLE},
        missing=dict(missing),
        unknown=published.unknown,
        names={row.student: row.name for row in rows if row.student in told_of and row.name},
        notes=published.notes,
        gradebook=str(published.gradebook),
        report=str(published.report),
    )
