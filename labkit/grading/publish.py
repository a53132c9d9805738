"""From the gradebook to what people read: CSV files, a page for each student, a page about the class."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .files import for_owner_only, write_file
from .pages.class_numbers import to_be_asked_for_a_name
from .pages.class_page import class_page
from .pages.feedback_page import feedback_name, feedback_page, is_feedback_page
from .records import sheets
from .records.course import match_roster, rows_of, rules_of
from .records.gradebook import Gradebook
from .records.marks import read_marks
from .records.policy import MarksGiven, Row, Rule, marks_given


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
    def marks(self) -> MarksGiven:
        return marks_given(self.rows)


@for_owner_only()
def report(out: Path) -> Published:
    """Take in the marks given in ``written.csv`` and write all anew, from the gradebook in a folder.

    Parameters
    ----------
    out : Path
        The folder that ``labkit grade`` has filled.
    """
    with Gradebook.open(out / "gradebook.db", create=False) as book:
        return publish(out, book)


def publish(out: Path, book: Gradebook) -> Published:
    """Take the marks in ``written.csv`` into the gradebook, then write all that follows from it.

    The same gradebook gives the same bytes.

    Parameters
    ----------
    out : Path
        The folder for it, where ``written.csv`` lies if there is one.
    book : Gradebook

    Raises
    ------
    CsvError, GradebookError
        If marks that were given by hand can't be read back; nothing has been written then.
    WriteError
        If there is no room for a file; those before it are whole.
    """
    found = match_roster(book)
    by_hand = out / "written.csv"
    if by_hand.exists():
        book.mark(read_marks(by_hand))
    rows, rules = rows_of(book), rules_of(book)
    notes = (*book.recall("notes", []), *found.notes, *lateness_unknown(rows, rules))
    sheets.write_all(out, rows)
    pages = write_feedback(out / "feedback", rows)
    links = {student: f"feedback/{name}" for student, name in pages.items()}
    page = class_page(rows, unknown=found.unknown, notes=notes, links=links)
    write_file(out / "report.html", encoded(page))
    return Published(rows, rules, found.unknown, notes, out / "gradebook.csv", out / "report.html")


def write_feedback(folder: Path, rows: Sequence[Row]) -> dict[str, str]:
    """Write a page for each student who handed in something, and remove those that are nobody's any more.

    Returns
    -------
    dict
        The pages' names by student. Only those that have changed are written.
    """
    folder.mkdir(exist_ok=True)
    to_be_asked = to_be_asked_for_a_name(rows)
    by_student = defaultdict(list)
    for row in rows:
        by_student[row.student].append(row)
    pages = {student: feedback_name(student) for student, own in by_student.items() if any(row.tries for row in own)}
    for student, name in pages.items():
        path = folder / name
        data = encoded(feedback_page(by_student[student], shared_numbers=student in to_be_asked))
        if not path.exists() or path.read_bytes() != data:
            write_file(path, data, sync=False)
    kept = set(pages.values())
    for path in folder.glob("*.html"):
        if path.name not in kept and is_feedback_page(path):
            path.unlink()
    return pages


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
