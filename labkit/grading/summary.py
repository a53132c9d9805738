"""What came of a batch, in words and for machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .policy import marked
from .publish import Published
from .submission import UNGRADABLE


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
    system_errors: Sequence[str]  # files
    ungradable: Mapping[str, str]  # reasons by file
    isolation: Sequence[str]
    unknown: Sequence[str]  # not on the roster
    notes: Sequence[str]
    marks: str  # how many written answers have one, in words; empty where there is none
    gradebook: str  # where it is, as a sheet
    report: str

    def __str__(self) -> str:
        why = "since labkit, its limits or its secret changed"
        again = f", {self.graded_again} of them again, {why}" if self.graded_again else ""
        rest = "" if self.graded_now == self.submissions else "; the others were up to date"
        done = f"Graded {self.graded_now} of {self.submissions} submissions now{again}{rest}."
        stopped = f"Stopped. {self.graded_now} submissions were graded and are kept; the same command goes on."
        told = [stopped if self.stopped else done]
        told += ["Notebooks: " + ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in self.students.items())]
        told += [f"{lab}: {rule}" for lab, rule in self.rules.items()]
        told += [self.marks] if self.marks else []
        told += [f"Isolation: {one}" for one in self.isolation]
        told += [f"Ungradable: {file}: {reason}" for file, reason in self.ungradable.items()]
        told += [f"Not on the roster: {student}" for student in self.unknown]
        told += [f"Note: {note}" for note in self.notes]
        tried = "it has no score. The same command tries again."
        told += [f"The grader failed at {file}; {tried}" for file in self.system_errors]
        return "\n".join([*told, f"Look at {self.report}"])


def summary_of(
    published: Published, stopped: bool, submissions: int, graded: int, again: int, system_errors: Sequence[str]
) -> Summary:
    """The summary of a batch of so many submissions, of which so many were graded now, some of them again."""
    rows = published.rows
    return Summary(
        ok=not system_errors and not stopped,
        stopped=stopped,
        submissions=submissions,
        graded_now=graded,
        graded_again=again,
        students=dict(sorted(Counter(row.graded.status for row in rows).items())),
        rules={lab: str(rule) for lab, rule in published.rules.items()},
        marks=published.marks_in_words if marked(rows)[1] else "",
        isolation=sorted({row.graded.isolation for row in rows} - {""}),
        system_errors=system_errors,
        ungradable={row.file: row.reason for row in rows if row.graded.status == UNGRADABLE},
        unknown=published.unknown,
        notes=published.notes,
        gradebook=str(published.gradebook),
        report=str(published.report),
    )
