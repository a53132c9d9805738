"""From our gradebook to those of learning platforms: whose points go where, under the ids that those know."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..gradebook import Gradebook
from ..policy import Row
from ..publish import rows_of
from . import canvas, moodle
from .sheet import ExportError, Sheet


@dataclass(frozen=True)
class Scored:
    """A student with a score: every id that may stand for them, the surest first."""

    ids: tuple[str, ...]
    email: str
    points: float
    max_points: float


def scored(graded: Path, lab: str | None) -> list[Scored]:
    """Who has a score at a lab, in a folder that ``labkit grade`` has filled."""
    with Gradebook.open(graded / "gradebook.db", create=False) as book:
        rows, entries = rows_of(book), {one["id"]: one for one in book.recall("roster", [])}
    labs = sorted({row.lab for row in rows if row.points is not None})
    if lab is None and len(labs) != 1:
        raise ExportError(f"export: one lab must be chosen; got {', '.join(labs) or 'none'}. Say which with --lab.")
    if lab is not None and lab not in labs:
        raise ExportError(
            f"export: the lab must have been graded; got {lab!r}. There are: {', '.join(labs) or 'none'}."
        )
    return [
        one_of(row, entries.get(row.student, {}))
        for row in rows
        if row.lab == (lab or labs[0]) and row.counted and row.points is not None
    ]


def one_of(row: Row, entry: dict) -> Scored:
    senders = [attempt.record.submission.sender for attempt in row.tries]
    email = entry.get("email", "")
    ids = dict.fromkeys(filter(None, [row.student, *senders, email, *entry.get("others", ())]))
    return Scored(tuple(ids), email, row.points, row.max_points)


def under_ids_of(data: bytes, students: Collection[Scored], where: str) -> dict[str, float]:
    """Points by that id of each student which is in a file; by the student's own where none is."""
    there = {cell.removeprefix("Participant ") for row in Sheet.read(data, where).rows for cell in row}
    return {next((id for id in one.ids if id in there), one.ids[0]): one.points for one in students}


def for_canvas(graded: Path, lab: str | None, exported: Path, column: str) -> tuple[bytes, tuple[str, ...]]:
    data, students = exported.read_bytes(), scored(graded, lab)
    return canvas.fill(data, column, under_ids_of(data, students, "export canvas"), most_of(students))


def for_moodle(graded: Path, lab: str | None, worksheet: Path | None) -> tuple[bytes, tuple[str, ...]]:
    """Moodle's own grading worksheet filled, or a file for its grade import by e-mail addresses."""
    students = scored(graded, lab)
    if worksheet:
        data = worksheet.read_bytes()
        return moodle.fill(data, under_ids_of(data, students, "export moodle"), most=most_of(students))
    points = {one.ids[0]: one.points for one in students}
    return moodle.export(points, {one.ids[0]: one.email for one in students}, most_of(students))


def most_of(students: Collection[Scored]) -> float:
    """What the lab is worth."""
    return max((one.max_points for one in students), default=0)
