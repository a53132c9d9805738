"""Moodle: a file for its grade import, or its own grading worksheet."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ..records.csv_file import CsvFile
from ..wording import number
from . import ExportError
from .grade_sheet import Filled, GradeSheet, Student, intact, listed

EMAIL, GRADE = "Email address", "Grade"
IDENTIFIERS = ("ID number", EMAIL, "Username", "ID-Nummer", "E-Mail-Adresse", "Anmeldename")
MAXIMUM = "Maximum Grade"  # in whatever language, it stands beside the grade


def grade_import(students: Sequence[Student]) -> Filled:
    """Make a file for Moodle's grade import, which takes all of its rows or none.

    It has points by e-mail address, which Moodle knows letter by letter.

    Parameters
    ----------
    students : sequence of Student
        With and without a score.
    """
    times = Counter(one.email for one in students)
    scores = [(one, one.points) for one in students if one.points is not None]
    rows = [(one.email, number(points)) for one, points in scores if one.email and times[one.email] == 1]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([EMAIL, GRADE])
    writer.writerows(rows)
    unknown = [one.ids[0] for one, _ in scores if not one.email]
    shared = [one.ids[0] for one, _ in scores if one.email and times[one.email] > 1]
    without = [one.ids[0] for one in students if one.points is None]
    notes = [f"Left out, since the roster has no {EMAIL} for them: {listed(unknown)}."] if unknown else []
    notes += [f"Left out, since they share their {EMAIL}: {listed(shared)}."] if shared else []
    notes += [f"Left out, since they have no score: {listed(without)}."] if without else []
    return Filled(out.getvalue().encode("utf-8", "surrogateescape"), len(rows), len(students), tuple(notes))


def worksheet(data: bytes, column: str = GRADE) -> GradeSheet:
    """The grading worksheet that Moodle gives for an assignment.

    Students are known by the participant's number, the ID number, the e-mail address or the user name.

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
            f"export moodle: one column must be headed {column!r}; got {got}. Name the one for grades with --column."
        )
    at = headers.index(column)
    maximum = headers.index(MAXIMUM) if MAXIMUM in headers else min(at + 1, len(headers) - 1)
    rows = intact(file)
    numbers = participants([row[0] for row in rows.values()])
    others = [i for i, header in enumerate(headers) if i > 0 and header in IDENTIFIERS]
    return GradeSheet(
        "Moodle",
        file,
        at,
        keys={index: (numbers.get(row[0], ""), *(row[i] for i in others)) for index, row in rows.items()},
        maxima=tuple(row[maximum] for row in rows.values()),
        refusal=lambda row, score: refusal(dict(zip(headers, row, strict=True)) | {MAXIMUM: row[maximum]}, score),
    )


def participants(identifiers: Sequence[str]) -> dict[str, str]:
    """The number in each "Participant 1234", in any language; none where these are other texts, such as names."""
    found = {one: re.fullmatch(r"(\D*)(\d+)", one) for one in identifiers if one}
    words = {match[1] if match else None for match in found.values()}
    return {one: match[2] for one, match in found.items() if match} if len(words) == 1 else {}


def refusal(row: Mapping[str, str], score: float) -> str:
    """Why Moodle would not take a score in a row, or an empty text."""
    if row.get("Grade can be changed", "Yes") != "Yes":
        return "since Moodle says that the grade can't be changed"
    most = row[MAXIMUM].strip().replace(",", ".")
    if re.fullmatch(r"\d+(\.\d+)?", most) and score > float(most):
        return f"since their scores are above the maximum grade of {most}"
    return ""
