"""From the gradebook to what people read: CSV files, a page for each student, a page about the class."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import sheets
from .class_page import class_page
from .feedback_page import feedback_name, feedback_page
from .gradebook import Gradebook
from .policy import Row, Rule
from .statistics import shared_numbers

REPORT, FEEDBACK = "report.html", "feedback"


def publish(out: Path, book: Gradebook) -> list[Row]:
    """Write all that follows from a gradebook; the same gradebook gives the same bytes.

    Raises
    ------
    MarksError, GradebookError
        If marks that were given by hand can't be read back; nothing has been written then.
    """
    rules = {lab: Rule(**rule) for lab, rule in book.recall("rules", {}).items()}
    rows = sheets.publish(out, book, rules, book.recall("roster", {}))
    write_feedback(out / FEEDBACK, rows)
    page = class_page(
        rows,
        unknown=book.recall("unknown", []),
        notes=book.recall("notes", []),
        link=lambda student: f"{FEEDBACK}/{feedback_name(student)}",
    )
    sheets.write(out / REPORT, encoded(page))
    return rows


def report(out: Path) -> None:
    """Write all anew from a gradebook that is there."""
    with Gradebook.open(out / "gradebook.db", create=False) as book:
        publish(out, book)


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


def remember_rule(book: Gradebook, labs: Sequence[str], rule: Rule) -> None:
    """Keep the rule for these labs; others keep their own."""
    book.remember("rules", book.recall("rules", {}) | {lab: asdict(rule) for lab in labs})
