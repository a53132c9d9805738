"""Moodle: a file for its grade import, or its own grading worksheet."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ..csv_file import CsvFile
from ..wording import number
from .grade_sheet import ExportError, GradeSheet, Scored, listed

EMAIL, GRADE = "Email address", "Grade"
IDENTIFIERS = ("Identifier", "ID number", EMAIL, "Username")
MAXIMUM = "Maximum Grade"  # in whatever language, it stands beside the grade


def grade_import(students: Sequence[Scored]) -> tuple[bytes, tuple[str, ...]]:
    """Make a file for Moodle's grade import, which takes all of its rows or none.

    Returns
    -------
    bytes
        Points by e-mail address, which Moodle knows letter by letter.
    tuple of str
        Who was left out, and why.
    """
    times = Counter(one.email for one in students)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([EMAIL, GRADE])
    writer.writerows([one.email, number(one.points)] for one in students if one.email and times[one.email] == 1)
    unknown = [one.ids[0] for one in students if not one.email]
    shared = [one.ids[0] for one in students if one.email and times[one.email] > 1]
    notes = [f"Left out, since the roster has no {EMAIL} for them: {listed(unknown)}."] if unknown else []
    notes += [f"Left out, since they share their {EMAIL}: {listed(shared)}."] if shared else []
    return out.getvalue().encode("utf-8", "surrogateescape"), tuple(notes)


def worksheet(data: bytes, column: str = GRADE) -> GradeSheet:
    """The grading worksheet that Moodle gives for an assignment.

    Students are known by the participant's number, or else by ID number, e-mail address or user name.

    Parameters
    ----------
    data : bytes
    column : str
        The header above the grades, where Moodle speaks another language.

    Raises
    ------
    CsvError, ExportError
        If it is no text, or has no such column.
    """
    file = CsvFile.read(data, "export moodle")
    headers = file.headers
    if headers.count(column) != 1:
        got = ", ".join(map(repr, headers)) or "an empty file"
        raise ExportError(
            f"export moodle: one column must be headed {column!r}; got {got}. Download the grading worksheet again."
        )
    at = headers.index(column)
    maximum = headers.index(MAXIMUM) if MAXIMUM in headers else min(at + 1, len(headers) - 1)
    rows = {index: row for index, row in enumerate(file.rows) if index > 0 and len(row) == len(headers)}
    others = [i for i, header in enumerate(headers) if i > 0 and header in IDENTIFIERS]
    return GradeSheet(
        "Moodle",
        file,
        at,
        keys={index: (participant(row[0]), *(row[i] for i in others)) for index, row in rows.items()},
        maxima=tuple(row[maximum] for row in rows.values()),
        refusal=lambda row, score: refusal(dict(zip(headers, row, strict=True)) | {MAXIMUM: row[maximum]}, score),
    )


def participant(identifier: str) -> str:
    """The number in "Participant 1234", in any language."""
    return re.findall(r"\d*\Z", identifier)[0]


def refusal(row: Mapping[str, str], score: float) -> str:
    """Why Moodle would not take a score in a row, or an empty text."""
    if row.get("Grade can be changed", "Yes") != "Yes":
        return "since Moodle says that the grade can't be changed"
    most = row[MAXIMUM].strip().replace(",", ".")
    if re.fullmatch(r"\d+(\.\d+)?", most) and score > float(most):
        return f"since their scores are above the maximum grade of {most}"
    return ""
