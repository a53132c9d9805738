"""Answers in words: which one a mark is for, and marks by hand as an instructor's spreadsheet gives them back."""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .submission import Graded, Submission

WITHDRAWN = ("-", "–", "—", "−")  # under points; office programs like to make dashes longer
MOST_ERRORS = 5  # that are told of at a time
NUMBER = re.compile(r"\d+([.,]\d*)?|[.,]\d+", re.ASCII)
# What a spreadsheet would run as a formula when a cell begins with it, full-width signs included.
FORMULA = "=+-@\t\r\n＝＋－＠"


class MarksError(ValueError):
    """A file of marks that can't be used; the message names the rows, a line for each."""


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
    """The written answers of one submission. A question asked twice in the same words is numbered the second time."""
    seen, answers = Counter(), []
    for one in graded.written:
        seen[one.question] += 1
        question = one.question if seen[one.question] == 1 else f"{one.question} ({seen[one.question]})"
        asked = shortened([submission.sender or submission.student, submission.batch, submission.lab, question])
        answers.append(Answer(f"m{asked}-a{shortened(one.text.split())}", question, one.text))
    return tuple(answers)


def shortened(words: list[str]) -> str:
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:12]


def mark_for(answer: Answer, marks: Mapping[str, Mark]) -> tuple[Mark | None, bool]:
    """The mark of an answer, and whether it was given for an earlier answer to the same question."""
    mark = marks.get(answer.key)
    if mark is not None and mark.points is not None:
        return mark, False
    earlier = marks.get(answer.key.partition("-")[0])
    return (earlier, True) if earlier is not None else (mark, False)


def neutral(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would run it; ``restored`` undoes it exactly."""
    runs = text[:1] in tuple(FORMULA) or (text[:1] == "'" and text[1:2] in tuple(FORMULA + "'"))
    return "'" + text if runs else text


def restored(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:2] in tuple(FORMULA + "'") else text


def read_marks(path: Path | str) -> dict[str, Mark]:
    """The marks of a filled ``written.csv``, by the key of the answer.

    A row is known by its key alone, so that it doesn't matter what a spreadsheet made of the ids (``007`` → 7), the
    order of rows and columns, the delimiter, the encoding or the decimal sign. Empty points mean: not marked yet, or
    nothing new; ``-`` takes a mark and its comment back.
    """
    path, marks, errors = Path(path), {}, []
    text = decoded(path.read_bytes())
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        table.fieldnames = columns = [name.strip().lower() for name in table.fieldnames or []]
        if not {"key", "points"} <= set(columns):
            got = ", ".join(columns) or "an empty file"
            raise MarksError(f"{path.name}: columns key and points must be there; got {got}. Fill in written.csv.")
        for number, row in enumerate(table, 2):
            where = f"{path.name}, row {number} ({row.get('student') or 'no student'})"
            try:
                key, mark = marked(row, where)
                if key and marks.setdefault(key, mark) != mark:
                    raise MarksError(f"{where}: an answer must have one mark; got two that differ. Delete one row.")
            except MarksError as error:
                errors.append(str(error))
    except csv.Error as error:
        raise MarksError(f"{path.name}: must be a CSV file; got one with a {error}. Save it as CSV again.") from None
    if errors:
        more = [f"and {len(errors) - MOST_ERRORS} more such rows"] * (len(errors) > MOST_ERRORS)
        raise MarksError("\n".join(errors[:MOST_ERRORS] + more))
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
    worth = {}
    for key, mark in marks.items():
        if key in questions:
            student, *question = questions[key]
            most = worth.setdefault(tuple(question), mark.max_points)
            if most != mark.max_points:
                got = f"{most:g} and {mark.max_points:g} ({student}) for “{question[-1]}” of {question[-2]}"
                raise MarksError(
                    f"written.csv: max_points must be the same in all rows of a question; got {got}. "
                    "Write one of them in each."
                )
    return worth


def decoded(data: bytes) -> str:
    """A spreadsheet's text: UTF-16 or UTF-8 with a byte-order mark, plain UTF-8, else what Windows uses."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def marked(row: Mapping[str, str | None], where: str) -> tuple[str, Mark]:
    def cell(name: str) -> str:
        return (row.get(name) or "").strip()

    withdrawn = cell("points") in WITHDRAWN
    points = None if withdrawn else amount(cell("points"), f"{where}: points")
    of = amount(cell("max_points"), f"{where}: max_points")
    comment = "" if withdrawn else restored(row.get("comment") or "")
    mark = Mark(points, 1 if of is None else of, comment, withdrawn)
    if points is not None and points > mark.max_points:
        raise MarksError(
            f"{where}: points must be at most max_points; got {points:g} of {mark.max_points:g}. Change either."
        )
    if (points is not None or withdrawn) and not cell("key"):
        raise MarksError(f"{where}: a mark needs the row's key; got none. Copy it from written.csv.")
    return cell("key"), mark


def amount(text: str, where: str) -> float | None:
    if text and not NUMBER.fullmatch(text):
        raise MarksError(f"{where} must be a number from 0 up; got {text!r}. Write it like 1.5 or 1,5, or - for none.")
    return float(text.replace(",", ".")) if text else None
