"""Sheets for people: the gradebook as CSV files, which spreadsheets open as they are, and marks taken back from one.

UTF-8 with a byte-order mark, commas and CRLF: Excel, LibreOffice and pandas all read that (in Python, ``utf-8-sig``).
No cell can run as a formula; imports of learning platforms need ids byte for byte and are written elsewhere.
The same records give the same bytes.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..files import write_file
from ..submission import SYSTEM_ERROR
from ..wording import number
from .csv_file import neutral
from .policy import Row

LONGEST = 30_000  # Excel's cells hold 32,767 characters
UNWANTED = dict.fromkeys([*range(9), *range(11, 32), 127], "\ufffd")  # controls but tab and line feed
# Read with another delimiter, or line by line, a cell may break in two: then the rest mustn't run either.
RUNS_AFTER_A_BREAK = re.compile(r'(?<=[;\t\n])(?="*[=+\-@])')


def write_all(folder: Path, rows: Sequence[Row]) -> None:
    """Write ``gradebook.csv``, ``submissions.csv`` and ``written.csv``.

    A row for each missing student has an empty score, since a platform's import would take a 0 for a grade.
    """
    write_file(folder / "gradebook.csv", gradebook_sheet(rows))
    write_file(folder / "submissions.csv", submissions_sheet(rows))
    write_file(folder / "written.csv", written_sheet(rows))


def gradebook_sheet(rows: Iterable[Row]) -> bytes:
    """A line for each student and lab; the points of exercises are as earned, the total is after the late rule."""
    rows = list(rows)
    exercises = list(dict.fromkeys(outcome.exercise for row in rows for outcome in row.graded.outcomes))
    head = ["student", "name", "batch", "lab", "file", "attempts", "status", "late", "points", "max_points"]
    lines = (gradebook_line(row, exercises) for row in rows)
    return csv_bytes([*head, *exercises, "written", "mistakes", "remarks", "reason"], lines)


def gradebook_line(row: Row, exercises: list[str]) -> list[str | float | None]:
    # What the grader itself failed at is no 0.
    points = {one.exercise: one.points for one in row.graded.outcomes if one.status != SYSTEM_ERROR}
    mistakes = listed((one.exercise, one.mistakes) for one in row.graded.outcomes)
    return [
        *(row.student, row.name, row.batch, row.lab, row.file, row.attempts, row.graded.status, row.late),
        *(row.points, row.max_points if row.points is not None else None),
        *(points.get(exercise) for exercise in exercises),
        *(row.written, mistakes, all_remarks(row), row.reason),
    ]


def submissions_sheet(rows: Iterable[Row]) -> bytes:
    """A line for each file that was handed in, with the points of its exercises as earned and after the late rule."""
    lines = []
    for row in rows:
        for one in row.tries:
            file, graded = one.record.submission, one.record.graded
            counts = "yes" if one is row.counted else "no"
            most = graded.max_points if one.points is not None else None
            who = (row.student, row.name, row.batch, row.lab, file.file, file.submitted_at)
            lines.append([*who, counts, graded.status, one.late, one.earned, one.points, most, graded.reason])
    head = ["student", "name", "batch", "lab", "file", "submitted_at", "counts", "status", "late"]
    return csv_bytes([*head, "earned", "points", "max_points", "reason"], lines)


def written_sheet(rows: Iterable[Row]) -> bytes:
    """A line for each written answer, all answers to one question together, to be marked under points and comment.

    A question can bring the same to everybody: what the first mark says, and one point where there is none yet.
    """
    rows, lines = list(rows), []
    given = {(row.batch, row.lab, one.question): mark for row in rows for one, mark, _ in row.answers if mark}
    for row in rows:
        for n, (answer, mark, earlier) in enumerate(row.answers):
            if not (answer.text or mark):
                continue  # nothing to mark: it earns nothing
            known = given.get((row.batch, row.lab, answer.question))
            most = known.max_points if known else 1
            points, comment = (None, "") if earlier or not mark else (mark.points, mark.comment)
            note = f"An earlier answer got {cell_text(mark.points)} of {cell_text(most)}." if earlier and mark else ""
            cells = [row.student, row.name, row.batch, row.lab, answer.question, answer.text]
            lines.append(((row.batch, row.lab, n, row.student), [*cells, points, most, comment, note, answer.key]))
    head = ["student", "name", "batch", "lab", "question", "answer", "points", "max_points", "comment", "note", "key"]
    return csv_bytes(head, (cells for _, cells in sorted(lines, key=lambda line: line[0])))


def listed(ids_of: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Such as ``attention: omits_the_scale, ignores_the_mask; softmax: wrong_axis``."""
    return "; ".join(f"{exercise}: {', '.join(ids)}" for exercise, ids in ids_of if ids)


def all_remarks(row: Row) -> str:
    """All that an instructor may want to look at, of exercises, notebook and answers."""
    ids = listed((one.exercise, one.remarks) for one in row.graded.outcomes)
    changed = [answer.question for answer, _, earlier in row.answers if earlier]
    sentences = [f"The answer to “{question}” changed after it was marked." for question in changed]
    return " ".join(filter(None, [ids, *row.graded.remarks, *sentences]))


def csv_bytes(head: Sequence[str], lines: Iterable[Sequence[str | float | None]]) -> bytes:
    """The bytes of a sheet."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([cell_text(cell) for cell in cells] for cells in lines)
    return text.getvalue().encode("utf-8-sig", "backslashreplace")


def cell_text(cell: str | float | None) -> str:
    """A cell's text: numbers with two decimals at most, words such that no spreadsheet runs them."""
    if cell is None:
        return ""
    return safe_text(cell) if isinstance(cell, str) else number(cell)


def safe_text(text: str) -> str:
    """Text that a spreadsheet can hold, and doesn't run."""
    lines = re.sub("\r\n?", "\n", text).translate(UNWANTED)
    cut = lines if len(lines) <= LONGEST else lines[:LONGEST] + " […]"
    return neutral(RUNS_AFTER_A_BREAK.sub(" ", cut))
