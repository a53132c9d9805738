"""Canvas: one column of the gradebook that the instructor exported."""

import re
from collections.abc import Sequence

from ..records.csv_file import CsvFile
from . import ExportError
from .grade_sheet import GradeSheet, intact

IDENTIFIERS = ("ID", "SIS User ID", "SIS Login ID")
LAST_OF_STUDENT = "Section"  # what follows it are assignments
COMPUTED = re.compile(r"\b(Current|Final|Override) (Score|Points|Grade|Status)\b")
POSSIBLE = "Points Possible"  # in the name of the row that says what assignments are worth
NOT_A_GRADE = {"EX": "excused (EX)", "N/A": "the assignment isn't theirs (N/A)"}


def gradebook(data: bytes, column: str) -> GradeSheet:
    """A gradebook as Canvas exports it, with one assignment's column to be filled.

    Students are known by the Canvas ID, the SIS user ID or the login ID, letter by letter.

    Parameters
    ----------
    data : bytes
    column : str
        The header of the column, such as ``"Lab 3 (1234)"``.

    Raises
    ------
    CsvError, ExportError
        If it is no gradebook of Canvas, or has no such column.
    """
    file = CsvFile.read(data, "export canvas")
    at = find_column(file.headers, column)
    rows = intact(file)
    identifiers = [file.headers.index(name) for name in IDENTIFIERS if name in file.headers]
    return GradeSheet(
        "Canvas",
        file,
        at,
        keys={index: tuple(row[i] for i in identifiers) for index, row in rows.items() if is_student(row)},
        maxima=tuple(row[at] for row in rows.values() if POSSIBLE in row[0]),
        refusal=lambda row, score: NOT_A_GRADE.get(row[at].strip().upper(), ""),
    )


def find_column(headers: Sequence[str], column: str) -> int:
    """Where an assignment's column is."""
    if not {"ID", LAST_OF_STUDENT} <= set(headers):
        got = ", ".join(map(repr, headers[:6])) or "an empty file"
        raise ExportError(
            f"export canvas: the first row must have the headers of a Canvas gradebook, ID and Section among them; "
            f"got {got}. Export the gradebook from Canvas again."
        )
    first = headers.index(LAST_OF_STUDENT) + 1
    assignments = [header for header in headers[first:] if not COMPUTED.search(header)]
    if assignments.count(column) != 1:
        there = ", ".join(map(repr, assignments)) or "none"
        raise ExportError(
            f"export canvas: one column must be headed {column!r}; got {assignments.count(column)} of them. "
            f"The assignments are: {there}."
        )
    return headers.index(column, first)


def is_student(row: Sequence[str]) -> bool:
    """Whether a row is about a student: not the points possible, nor the test student that every course has."""
    names = row[0].strip(), " ".join(row[:2])
    return POSSIBLE not in row[0] and "Student, Test" not in names and "Student Test" not in names
