"""Marks by hand: which answer each is for, and how an instructor's spreadsheet gives them back."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..submission import Graded, Submission
from .csv_file import CsvError, CsvFile, restored

WITHDRAWN = ("-", "–", "—", "−")  # under points; office programs like to make dashes longer
WAY_OUT = "Correct written.csv, or delete it: `labkit report` writes it anew, with the marks taken in so far."
MOST_ERRORS = 5  # that are told of at a time
NUMBER = re.compile(r"\d+([.,]\d*)?|[.,]\d+", re.ASCII)


@dataclass(frozen=True)
class Answer:
    """A written answer; the part of ``key`` before the hyphen names the question, the rest the words of the answer."""

    key: str
    question: str
    text: str


@dataclass(frozen=True)
class Mark:
    """What an instructor gave for an answer; ``points`` is None for a comment alone.

    One that is ``withdrawn`` takes back whatever was given for the question before.
    """

    points: float | None
    max_points: float = 1
    comment: str = ""
    withdrawn: bool = False


def answers_of(submission: Submission, graded: Graded) -> tuple[Answer, ...]:
    """The written answers of one submission."""
    whose = [submission.sender or submission.student, submission.batch, submission.lab]
    return tuple(
        Answer(f"m{hashed([*whose, one.question])}-a{hashed(one.text.split())}", one.question, one.text)
        for one in graded.written
    )


def hashed(words: list[str]) -> str:
    """A text of fixed length that stands for the words."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:12]


def mark_for(answer: Answer, marks: Mapping[str, Mark]) -> tuple[Mark | None, bool]:
    """The mark of an answer, and whether it was given for an earlier answer to the same question."""
    mark = marks.get(answer.key)
    if mark is not None and mark.points is not None:
        return mark, False
    earlier = marks.get(answer.key.partition("-")[0])
    return (earlier, True) if earlier is not None else (mark, False)


def read_marks(path: Path) -> dict[str, Mark]:
    """The marks of a filled ``written.csv``, by the key of the answer.

    A row is known by its key alone, so that it doesn't matter what a spreadsheet made of the ids (``007`` → 7), the
    order of rows and columns, the delimiter, the encoding or the decimal sign. Empty points mean: not marked yet, or
    nothing new; ``-`` takes a mark and its comment back.

    Raises
    ------
    CsvError
        If it is no such file, or marks in it can't be used; it names the rows, a line for each.
    """
    file = CsvFile.read(path.read_bytes(), path.name)
    columns = [name.strip().lower() for name in file.headers]
    if not {"key", "points"} <= set(columns):
        got = ", ".join(columns) or "an empty file"
        raise CsvError(f"{path.name}: columns key and points must be there; got {got}. {WAY_OUT}")
    marks: dict[str, Mark] = {}
    errors = []
    for number, cells in enumerate(file.rows[1:], 2):
        row = dict(zip(columns, cells, strict=False))
        where = f"{path.name}, row {number} ({row.get('student') or 'no student'})"
        try:
            key, mark = mark_from(row, where)
            if key and marks.setdefault(key, mark) != mark:
                raise CsvError(f"{where}: an answer must have one mark; got two that differ. Delete one row.")
        except CsvError as error:
            errors.append(str(error))
    if len(errors) > MOST_ERRORS:
        errors[MOST_ERRORS:] = [f"and {len(errors) - MOST_ERRORS} more such rows"]
    if errors:
        raise CsvError("\n".join([*errors, WAY_OUT]))
    return marks


def one_maximum(marks: Mapping[str, Mark], questions: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    """What each question can bring, by batch, lab and question: what all rows of a file agree on.

    Parameters
    ----------
    marks : dict
        The rows by key; those whose key isn't among the questions are passed over.
    questions : dict
        Student, batch, lab and question by key.
    """
    worth: dict[tuple[str, ...], float] = {}
    for key, mark in marks.items():
        if key in questions:
            student, *question = questions[key]
            most = worth.setdefault(tuple(question), mark.max_points)
            if most != mark.max_points:
                got = f"{most:g} and {mark.max_points:g} ({student}) for “{question[-1]}” of {question[-2]}"
                raise CsvError(
                    f"written.csv: max_points must be the same in all rows of a question; got {got}. "
                    "Write one of them in each."
                )
    return worth


def mark_from(row: Mapping[str, str], where: str) -> tuple[str, Mark]:
    """The key and the mark in a row; which begins the words of an error with ``where``."""

    def cell(name: str) -> str:
        return row.get(name, "").strip()

    withdrawn = cell("points") in WITHDRAWN
    points = None if withdrawn else amount(cell("points"), f"{where}: points")
    of = amount(cell("max_points"), f"{where}: max_points")
    comment = "" if withdrawn else restored(row.get("comment", ""))
    mark = Mark(points, 1 if of is None else of, comment, withdrawn)
    if points is not None and points > mark.max_points:
        raise CsvError(
            f"{where}: points must be at most max_points; got {points:g} of {mark.max_points:g}. Change either."
        )
    if (points is not None or withdrawn) and not cell("key"):
        raise CsvError(f"{where}: a mark needs the row's key; got none. Copy it from written.csv.")
    return cell("key"), mark


def amount(text: str, where: str) -> float | None:
    """A number with a decimal point or comma; None for an empty text."""
    if text and not NUMBER.fullmatch(text):
        raise CsvError(f"{where} must be a number from 0 up; got {text!r}. Write it like 1.5 or 1,5, or - for none.")
    return float(text.replace(",", ".")) if text else None
