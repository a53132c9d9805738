"""From our gradebook to what platforms take: who has a score, under every id that a platform may know."""

from pathlib import Path

from ..course import roster_of, rows_of
from ..gradebook import Gradebook
from ..roster import Entry
from .grade_sheet import ExportError, Scored


def scored(graded: Path, lab: str | None) -> list[Scored]:
    """Who has a score at a lab, in a folder that ``labkit grade`` has filled."""
    with Gradebook.open(graded / "gradebook.db", create=False) as book:
        rows, entries = rows_of(book), {entry.id: entry for entry in roster_of(book).entries}
    labs = sorted({row.lab for row in rows if row.points is not None})
    if lab is None and len(labs) != 1:
        raise ExportError(f"export: one lab must be chosen; got {', '.join(labs) or 'none'}. Say which with --lab.")
    if lab is not None and lab not in labs:
        raise ExportError(
            f"export: the lab must have been graded; got {lab!r}. There are: {', '.join(labs) or 'none'}."
        )
    students = []
    for row in rows:
        if row.lab == (lab or labs[0]) and row.points is not None:
            entry = entries.get(row.student, Entry(row.student))
            senders = [attempt.record.submission.sender for attempt in row.tries]
            ids = dict.fromkeys(filter(None, [row.student, *senders, entry.email, *entry.others]))
            students.append(Scored(tuple(ids), entry.email, row.points, row.max_points))
    return students
