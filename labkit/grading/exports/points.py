"""From our gradebook to what platforms take: everybody's points, under every id that a platform may know."""

from pathlib import Path

from ..records.course import roster_of, rows_of
from ..records.gradebook import Gradebook
from ..records.roster import Entry
from . import chosen
from .grade_sheet import Student


def students_of(graded: Path, lab: str | None, batch: str | None = None) -> list[Student]:
    """All students at a lab, with and without a score, in a folder that ``labkit grade`` has filled.

    Raises
    ------
    ExportError
        If there are several labs, or several batches of the lab, and it wasn't said which.
    """
    with Gradebook.open(graded / "gradebook.db", create=False) as book:
        rows, entries = rows_of(book), {entry.id: entry for entry in roster_of(book).entries}
    scored = [row for row in rows if row.points is not None]
    lab = chosen("lab", lab, sorted({row.lab for row in scored}))
    batch = chosen("batch", batch, sorted({row.batch for row in scored if row.lab == lab}))
    students = []
    for row in rows:
        if (row.lab, row.batch) == (lab, batch):
            entry = entries.get(row.student, Entry(row.student))
            senders = [attempt.record.submission.sender for attempt in row.tries]
            ids = dict.fromkeys(filter(None, [row.student, *senders, entry.email, *entry.others]))
            students.append(Student(tuple(ids), entry.email, row.points, row.max_points))
    return students
