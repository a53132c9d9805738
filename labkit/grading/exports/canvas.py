"""Canvas: fill one column of the gradebook that the instructor exported."""

import re
from collections.abc import Mapping

from .sheet import ExportError, Sheet, other_maximum, write_scores

IDENTIFIERS = ("ID", "SIS User ID", "SIS Login ID")
LAST_OF_STUDENT = "Section"  # what follows it are assignments
COMPUTED = re.compile(r"\b(Current|Final|Override) (Score|Points|Grade|Status)\b")
NOT_A_GRADE = {"EX": "excused (EX)", "N/A": "the assignment isn't theirs (N/A)"}


def fill(
    data: bytes, column: str, scores: Mapping[str, float], most: float | None = None
) -> tuple[bytes, tuple[str, ...]]:
    """Fill one assignment's column; every byte outside of it stays as it was.

    Parameters
    ----------
    data : bytes
        A gradebook as Canvas exports it.
    column : str
        The header of the column, such as ``"Lab 3 (1234)"``.
    scores : dict
        Points by student: the Canvas ID, or else the SIS user ID or login ID, letter by letter.
    most : float, optional
        What the lab is worth: if Canvas has another maximum, that is noted.

    Returns
    -------
    bytes
        The file for the import.
    tuple of str
        Who was left out, and why.

    Raises
    ------
    ExportError
        If it is no gradebook of Canvas, or has no such column.
    """
    sheet = Sheet.read(data, "export canvas")
    at = find_column(sheet, column)
    identifiers = [sheet.rows[0].index(name) for name in IDENTIFIERS if name in sheet.rows[0]]
    keys = {
        index: tuple(row[i] for i in identifiers)
        for index, row in enumerate(sheet.rows[1:], 1)
        if at < len(row) and is_student(row)
    }

    def keep(row: int, score: float) -> str:
        return NOT_A_GRADE.get(sheet.rows[row][at].strip().upper(), "")

    filled, notes = write_scores(sheet, at, keys, scores, keep)
    return filled, notes + other_maximum(points_possible(sheet, at), most, "Canvas")


def find_column(sheet: Sheet, column: str) -> int:
    """Where an assignment's column is."""
    headers = sheet.rows[0]
    if not {"ID", LAST_OF_STUDENT} <= set(headers):
        got = ", ".join(map(repr, headers[:6]))
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


def is_student(row: list[str]) -> bool:
    """Whether a row is about a student: not the points possible, nor the test student that every course has."""
    names = row[0].strip(), " ".join(row[:2])
    return "Points Possible" not in row[0] and "Student, Test" not in names and "Student Test" not in names


def points_possible(sheet: Sheet, at: int) -> list[str]:
    return [row[at] for row in sheet.rows[1:] if "Points Possible" in row[0] and at < len(row)]
