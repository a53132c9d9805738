"""A platform's file with a column for grades: whose row is whose, and that column filled."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..csv_file import CsvFile
from ..wording import few, number


class ExportError(ValueError):
    """Why there is nothing to export, or nowhere to, in one line."""


@dataclass(frozen=True)
class Scored:
    """A student with a score: every id that may stand for them, the surest first."""

    ids: tuple[str, ...]
    email: str
    points: float
    max_points: float


@dataclass(frozen=True)
class GradeSheet:
    """What a platform gave, and where in it everything stands.

    Attributes
    ----------
    platform : str
    file : CsvFile
    column : int
        The grades'.
    keys : dict
        For each row that is a student's, the texts that may stand for the student, the surest first.
    maxima : tuple of str
        What the platform says that the lab is worth.
    refusal : callable(cells, score) -> str
        Why a row is left as it is, given its cells; empty where it is to be filled.
    """

    platform: str
    file: CsvFile
    column: int
    keys: Mapping[int, tuple[str, ...]]
    maxima: tuple[str, ...]
    refusal: Callable[[list[str], float], str]

    def filled(self, students: Collection[Scored]) -> tuple[bytes, tuple[str, ...]]:
        """Write scores into the column; every byte outside of it stays as it was.

        Returns
        -------
        bytes
            The file for the import.
        tuple of str
            What the instructor should know: who was left out and why, and whether the maxima differ.
        """
        keys = {row: key for row, key in self.keys.items() if any(key)}
        there = {text for key in keys.values() for text in key}
        scores = {next((id for id in one.ids if id in there), one.ids[0]): one.points for one in students}
        found = rows_of(scores, keys)
        kept: dict[str, list[str]] = {}
        cells = {}
        for student, row in found.items():
            if reason := self.refusal(self.file.rows[row], scores[student]):
                kept.setdefault(reason, []).append(student)
            else:
                cells[row, self.column] = self.file.number(scores[student])
        unknown = [student for student in scores if student not in found]
        without = [next(filter(None, key)) for row, key in keys.items() if row not in found.values()]
        most = max((one.max_points for one in students), default=0)
        return self.file.replaced(cells), (*notes(unknown, without, kept), *self.other_maximum(most))

    def other_maximum(self, most: float) -> Iterator[str]:
        """A note where the platform's maximum isn't the lab's: points are written as they are, and not scaled."""
        texts = {text.strip().replace(",", ".") for text in self.maxima}
        found = sorted({float(text) for text in texts if re.fullmatch(r"\d+(\.\d+)?", text)})
        if others := [maximum for maximum in map(number, found) if maximum != number(most)]:
            where, told = self.platform, " and ".join(others)
            yield f"The lab is worth {number(most)} points, the maximum in {where} is {told}: change that in {where}."


def rows_of(students: Iterable[str], keys: Mapping[int, tuple[str, ...]]) -> dict[str, int]:
    """Find each student's row by its keys.

    A text that stands in several rows finds none, and no row is found twice.
    """
    found: dict[str, int] = {}
    for level in zip(*keys.values(), strict=True):
        rows: dict[str, list[int]] = {}
        for row, key in zip(keys, level, strict=True):
            rows.setdefault(key, []).append(row)
        for student in students:
            at = rows.get(student, [])
            if student not in found and len(at) == 1 and at[0] not in found.values():
                found[student] = at[0]
    return found


def notes(unknown: list[str], without: list[str], kept: Mapping[str, list[str]]) -> Iterator[str]:
    if unknown:
        yield f"With a score, but not in the file, or not in one row alone: {listed(unknown)}."
    if without:
        yield f"In the file, but without a score, so left as they were: {listed(without)}."
    for reason, students in kept.items():
        yield f"Left as they were, {reason}: {listed(students)}."


def listed(students: Collection[str]) -> str:
    return few(list(map(repr, students)), 20)
