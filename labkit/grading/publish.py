"""From the gradebook to what people read: CSV files, a page for each student, a page about the class."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import sheets
from .class_page import class_page
from .course import rows_of, rules_of, who_is_who
from .feedback_page import feedback_name, feedback_page
from .gradebook import Gradebook
from .policy import Row, Rule, marked
from .statistics import shared_numbers
from .written import read_marks


@dataclass(frozen=True)
class Published:
    """What people can read by now, and where; ``unknown`` handed in and aren't on the roster."""

    rows: Sequence[Row]
    rules: Mapping[str, Rule]
    unknown: Sequence[str]
    notes: Sequence[str]
    gradebook: Path
    report: Path

    @property
    def marks_in_words(self) -> str:
        return "Written answers: {} of {} marked".format(*marked(self.rows))


def report(out: Path) -> Published:
    """Write all anew from a gradebook that is there."""
    with Gradebook.open(out / "gradebook.db", create=False) as book:
        return publish(out, book)


def publish(out: Path, book: Gradebook) -> Published:
    """Write all that follows from a gradebook; the same gradebook gives the same bytes.

    Raises
    ------
    CsvError, GradebookError
        If marks that were given by hand can't be read back; nothing has been written then.
    """
    found = who_is_who(book)
    by_hand = out / "written.csv"
    if by_hand.exists():
        book.mark(read_marks(by_hand))
    rows, rules = rows_of(book), rules_of(book)
    notes = (*book.recall("notes", []), *found.notes, *lateness_unknown(rows, rules))
    sheets.write_all(out, rows)
    write_feedback(out / "feedback", rows)
    page = class_page(
        rows, unknown=found.unknown, notes=notes, link=lambda student: f"feedback/{feedback_name(student)}"
    )
    sheets.write(out / "report.html", encoded(page))
    return Published(rows, rules, found.unknown, notes, out / "gradebook.csv", out / "report.html")


def write_feedback(folder: Path, rows: Sequence[Row]) -> None:
    """A page for each student; only those that have changed are written."""
    folder.mkdir(exist_ok=True)
    shared = {student for students in shared_numbers(rows).values() for student in students}
    by_student = defaultdict(list)
    for row in rows:
        by_student[row.student].append(row)
    for student, own in by_student.items():
        path, data = folder / feedback_name(student), encoded(feedback_page(own, shared_numbers=student in shared))
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def encoded(page: str) -> bytes:
    return page.encode("utf-8", "replace")  # a name may hold half a character


def lateness_unknown(rows: Sequence[Row], rules: Mapping[str, Rule]) -> list[str]:
    """What nobody would notice: a rule about lateness that has nothing to go by."""
    notes = []
    for lab, rule in rules.items():
        sent = [attempt.record.submission for row in rows if row.lab == lab for attempt in row.tries]
        if rule.due and sent and not any(one.submitted_at for one in sent):
            notes.append(f"{lab}: these files don't say when they were handed in; only what is marked late is late.")
        if not rule.due and (rule.percent_a_day or rule.refused_after is not None):
            notes.append(f"{lab}: without --due only what the platform marked late is late.")
    return notes
