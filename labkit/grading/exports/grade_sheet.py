"""A platform's file with a column for grades: whose row is whose, and that column filled."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ..records.csv_file import CsvFile
from ..wording import few, number


@dataclass(frozen=True)
class Student:
    """Every id that may stand for a student, ours first, and the points: None where there is no score."""

    ids: tuple[str, ...]
    email: str
    points: float | None
    max_points: float


@dataclass(frozen=True)
class Filled:
    """A file for the import, how many students it has points for, of how many, and what the instructor should know."""

    data: bytes
    students: int
    of: int
    notes: tuple[str, ...]


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
        For each row that is a student's, the texts that may stand for the student.
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

    def filled(self, students: Collection[Student]) -> Filled:
        """Write scores into the column; every byte outside of it stays as it was.

        Those without a score are needed, too: what may be their row is nobody else's.
        """
        keys = {row: key for row, key in self.keys.items() if any(key)}
        scores = {one.ids[0]: one.points for one in students if one.points is not None}
        fits = rows_of(students, keys)
        found = {student: row for student, row in sure(fits).items() if student in scores}
        kept: dict[str, list[str]] = {}
        cells = {}
        for student, row in found.items():
            if reason := self.refusal(self.file.rows[row], scores[student]):
                kept.setdefault(reason, []).append(student)
            else:
                cells[row, self.column] = self.file.number(scores[student])
        unclear = [student for student in scores if fits[student] and student not in found]
        doubted = set().union(*(fits[student] for student in unclear))
        unknown = [student for student in scores if not fits[student]]
        without = [next(filter(None, key)) for row, key in keys.items() if row not in {*found.values(), *doubted}]
        told = [*notes(unknown, unclear, without, kept), *self.damaged()]
        told += self.other_maximum(max((one.max_points for one in students), default=0))
        return Filled(self.file.replaced(cells), len(cells), len(keys), tuple(told))

    def damaged(self) -> Iterator[str]:
        """A note on the rows in which nobody can say what stands where."""
        rows = [(row, cells[0]) for row, cells in enumerate(self.file.rows) if row and row not in intact(self.file)]
        names = [f"row {row + 1} ({name[:40]!r})" for row, name in rows if name.strip()]
        if names:
            yield (
                "Left as they were, since they haven't as many cells as the first row, or a quotation mark too few: "
                f"{few(names, 20)}. Export the file again."
            )

    def other_maximum(self, most: float) -> Iterator[str]:
        """A note where the platform's maximum isn't the lab's: points are written as they are, and not scaled."""
        texts = {text.strip().replace(",", ".") for text in self.maxima}
        found = sorted({float(text) for text in texts if re.fullmatch(r"\d+(\.\d+)?", text)})
        if others := [maximum for maximum in map(number, found) if maximum != number(most)]:
            where, told = self.platform, " and ".join(others)
            yield f"The lab is worth {number(most)} points, the maximum in {where} is {told}: change that in {where}."


def intact(file: CsvFile) -> dict[int, list[str]]:
    """The rows below the first that have a cell under each header, by their place."""
    whole = len(file.headers)
    return {place: row for place, row in enumerate(file.rows) if place and len(row) == whole and place not in file.torn}


def rows_of(students: Collection[Student], keys: Mapping[int, tuple[str, ...]]) -> dict[str, set[int]]:
    """Every row that may be a student's: one of whose keys is one of the ids, letter by letter."""
    places: dict[str, set[int]] = {}
    for row, key in keys.items():
        for text in key:
            places.setdefault(text, set()).add(row)
    return {one.ids[0]: set().union(*(places.get(id, set()) for id in one.ids)) for one in students}


def sure(fits: Mapping[str, set[int]]) -> dict[str, int]:
    """The rows of those who fit one alone, which nobody else fits."""
    claims = Counter(row for rows in fits.values() for row in rows)
    return {student: row for student, rows in fits.items() if len(rows) == 1 for row in rows if claims[row] == 1}


def notes(unknown: list[str], unclear: list[str], without: list[str], kept: Mapping[str, list[str]]) -> Iterator[str]:
    if unknown:
        yield f"With a score, but not in the file: {listed(unknown)}."
    if unclear:
        why = "since their ids stand in several rows, or in one that may be another student's"
        yield f"With a score, but left out, {why}: {listed(unclear)}. Fill these in by hand."
    if without:
        yield f"In the file, but without a score, so left as they were: {listed(without)}."
    for reason, students in kept.items():
        yield f"Left as they were, {reason}: {listed(students)}."


def listed(students: Collection[str]) -> str:
    return few(list(map(repr, students)), 20)
