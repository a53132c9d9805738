"""Moodle: a file for its grade import, or its own grading worksheet filled."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping

from .sheet import ExportError, Sheet, listed, other_maximum, plain, write_scores

IDENTIFIERS = ("Identifier", "ID number", "Email address", "Username")
MAXIMUM = "Maximum Grade"  # in whatever language, it stands beside the grade


def export(
    scores: Mapping[str, float],
    identify: Mapping[str, str],
    maximum: float,
    by: str = "Email address",
    item: str = "Grade",
    feedback: Mapping[str, str] | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Make a file for Moodle's grade import, which takes all of its rows or none.

    Parameters
    ----------
    scores : dict
        Points by student; who has none gets no row.
    identify : dict
        What Moodle knows a student by, letter by letter: e-mail address, ID number or user name.
    maximum : float
        The most that Moodle's grade item allows.
    by : str
        The header of the column with that.
    item : str
        The header of the column with the grades.
    feedback : dict, optional
        A text for each student who is to get one with the grade.

    Returns
    -------
    bytes
        The file.
    tuple of str
        Who was left out, and why.
    """
    above = [student for student, score in scores.items() if not 0 <= score <= maximum]
    if above:
        raise ExportError(
            f"export moodle: every score must lie between 0 and {maximum:g}; got others for {listed(above)}. "
            "Give the item's maximum grade in Moodle."
        )
    known = {student: identify[student] for student in scores if identify.get(student)}
    times = Counter(known.values())
    shared = [student for student, name in known.items() if times[name] > 1]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([by, item, *(["Feedback"] if feedback else [])])
    for student, name in known.items():
        if times[name] == 1:
            writer.writerow([name, plain(scores[student]), *([feedback.get(student, "")] if feedback else [])])
    unknown = [student for student in scores if student not in known]
    return out.getvalue().encode("utf-8", "surrogateescape"), left_out(by, unknown, shared)


def left_out(by: str, unknown: list[str], shared: list[str]) -> tuple[str, ...]:
    notes = [f"Left out, since the roster has no {by} for them: {listed(unknown)}."] if unknown else []
    return (*notes, *([f"Left out, since they share their {by}: {listed(shared)}."] if shared else []))


def fill(
    data: bytes, scores: Mapping[str, float], column: str = "Grade", most: float | None = None
) -> tuple[bytes, tuple[str, ...]]:
    """Fill the grading worksheet that Moodle gives for an assignment; every byte outside of the grades stays.

    Parameters
    ----------
    data : bytes
    scores : dict
        Points by student: the participant's number, or else what another column knows them by.
    column : str
        The header above the grades, where Moodle speaks another language.
    most : float, optional
        What the lab is worth: if Moodle has another maximum, that is noted.

    Returns
    -------
    bytes
        The worksheet for the upload.
    tuple of str
        Who was left out, and why.
    """
    sheet = Sheet.read(data, "export moodle")
    headers = sheet.rows[0]
    if headers.count(column) != 1:
        got = ", ".join(map(repr, headers))
        raise ExportError(
            f"export moodle: one column must be headed {column!r}; got {got}. Download the grading worksheet again."
        )
    at = headers.index(column)
    maximum = headers.index(MAXIMUM) if MAXIMUM in headers else min(at + 1, len(headers) - 1)
    identifiers = [i for i, header in enumerate(headers) if i == 0 or header in IDENTIFIERS]
    keys = {
        index: tuple(participant(row[i]) if i == 0 else row[i] for i in identifiers)
        for index, row in enumerate(sheet.rows[1:], 1)
        if len(row) == len(headers)
    }

    def keep(row: int, score: float) -> str:
        cells = sheet.rows[row]
        return refusal(dict(zip(headers, cells, strict=True)) | {MAXIMUM: cells[maximum]}, score)

    filled, notes = write_scores(sheet, at, keys, scores, keep)
    return filled, notes + other_maximum((sheet.rows[row][maximum] for row in keys), most, "Moodle")


def participant(identifier: str) -> str:
    """The number in "Participant 1234", in any language."""
    return re.search(r"\d*\Z", identifier)[0]


def refusal(row: Mapping[str, str], score: float) -> str:
    """Why Moodle would not take a score in a row, or an empty text."""
    if row.get("Grade can be changed", "Yes") != "Yes":
        return "since Moodle says that the grade can't be changed"
    most = row.get(MAXIMUM, "").strip().replace(",", ".")
    if re.fullmatch(r"\d+(\.\d+)?", most) and score > float(most):
        return f"since their scores are above the maximum grade of {most}"
    return ""
