"""A CSV file as its bytes: cells can be read and replaced, and every other byte stays as it is."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

BOM = b"\xef\xbb\xbf"
QUOTED = r'"((?:[^"]|"")*+)"?+'  # the closing quote may be missing at the end of a file


class ExportError(ValueError):
    """Why a file can't be made or filled, in one line."""


@dataclass(frozen=True)
class Sheet:
    """Where each cell of a CSV file begins and ends.

    Attributes
    ----------
    data : bytes
    delimiter : str
    spans : list of rows
        Each a list of (start, end) in ``data``, quotes included.
    """

    data: bytes
    delimiter: str
    spans: list[list[tuple[int, int]]]

    @classmethod
    def read(cls, data: bytes, where: str) -> "Sheet":
        """Find the cells of a file whose first row has the more cells of the two: with commas, or with semicolons."""
        if b"\0" in data:
            raise ExportError(f"{where}: the file must be text in UTF-8; got zero bytes in it. Export it as CSV again.")
        sheets = [cls(data, delimiter, scan(data, delimiter)) for delimiter in ",;"]
        best = max(sheets, key=lambda sheet: len(sheet.spans[0]) if sheet.spans else 0)
        if not best.spans:
            raise ExportError(f"{where}: the file must have a row of headers; got an empty file. Export it again.")
        return best

    @cached_property
    def encoding(self) -> str:
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8"

    @cached_property
    def rows(self) -> list[list[str]]:
        """The cells' texts, as the csv module reads them."""
        return [[self._text(*span) for span in row] for row in self.spans]

    def _text(self, start: int, end: int) -> str:
        raw = self.data[start:end].decode(self.encoding, "replace")
        quoted = re.match(QUOTED, raw)
        return quoted[1].replace('""', '"') + raw[quoted.end() :] if quoted else raw

    @cached_property
    def has_decimal_commas(self) -> bool:
        """Whether most numbers have them; where none has decimals, a file with semicolons is taken for one that has."""
        cells = {cell.strip() for row in self.rows for cell in row}
        # Three digits may be thousands.
        commas, points = (
            sum(bool(re.fullmatch(rf"-?\d+{mark}(\d\d?|\d{{4,}})", cell)) for cell in cells) for mark in (",", r"\.")
        )
        return commas > points or (commas == points == 0 and self.delimiter == ";")

    def number(self, value: float) -> str:
        """A number as this file writes them, with two decimals at most."""
        return plain(value).replace(".", ",") if self.has_decimal_commas else plain(value)

    def replaced(self, cells: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other texts in some cells, which are given by row and column."""
        parts, at = [], 0
        for (row, column), text in sorted(cells.items()):
            start, end = self.spans[row][column]
            if self.data[start:end].startswith(b'"') or re.search(f'[{self.delimiter}"\r\n]', text):
                text = '"' + text.replace('"', '""') + '"'
            parts += [self.data[at:start], text.encode(self.encoding)]
            at = end
        return b"".join([*parts, self.data[at:]])


def plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def scan(data: bytes, delimiter: str) -> list[list[tuple[int, int]]]:
    """The spans of the cells, in the way in which the csv module takes a file apart."""
    text = data.decode("latin-1")  # one character a byte
    cell = re.compile(rf"((?:{QUOTED})?+[^{delimiter}\r\n]*)({delimiter}|\r\n?|\n|\Z)")
    rows, row = [], []
    for match in cell.finditer(text, len(BOM) if data.startswith(BOM) else 0):
        if match.start() == len(text) and not row:
            break  # nothing follows the end of the last line
        row.append(match.span(1))
        if match[3] != delimiter:
            rows.append(row)
            row = []
    return rows


def match(keys: Mapping[int, tuple[str, ...]], students: Iterable[str]) -> dict[str, int]:
    """Find each student's row by the texts that may stand for a student there, the surest first.

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


def write_scores(
    sheet: Sheet,
    column: int,
    keys: Mapping[int, tuple[str, ...]],
    scores: Mapping[str, float],
    keep: Callable[[int, float], str],
) -> tuple[bytes, tuple[str, ...]]:
    """Write scores into a column.

    Parameters
    ----------
    sheet : Sheet
    column : int
    keys : dict
        For each row that is a student's, the texts that may stand for the student, the surest first.
    scores : dict
        Points by student.
    keep : callable(row, score) -> str
        Why a row is left as it is, or an empty text.

    Returns
    -------
    bytes
        The file.
    tuple of str
        What the instructor should know: who was left out, and why.
    """
    keys = {row: key for row, key in keys.items() if any(key)}
    found = match(keys, scores)
    kept: dict[str, list[str]] = {}
    cells = {}
    for student, row in found.items():
        reason = keep(row, scores[student])
        if reason:
            kept.setdefault(reason, []).append(student)
        else:
            cells[row, column] = sheet.number(scores[student])
    unknown = [student for student in scores if student not in found]
    without = [next(filter(None, key)) for row, key in keys.items() if row not in found.values()]
    return sheet.replaced(cells), tuple(notes(unknown, without, kept))


def other_maximum(there: Iterable[str], most: float | None, where: str) -> tuple[str, ...]:
    """A note where a platform has another maximum than the lab: points are written as they are, and not scaled."""
    texts = {text.strip().replace(",", ".") for text in there}
    numbers = sorted({float(text) for text in texts if re.fullmatch(r"\d+(\.\d+)?", text)})
    others = [number for number in numbers if most is not None and plain(number) != plain(most)]
    if not others:
        return ()
    told = " and ".join(map(plain, others))
    return (f"The lab is worth {plain(most)} points, the maximum in {where} is {told}: change that in {where}.",)


def notes(unknown: list[str], without: list[str], kept: Mapping[str, list[str]]) -> Iterator[str]:
    if unknown:
        yield f"With a score, but not in the file, or not in one row alone: {listed(unknown)}."
    if without:
        yield f"In the file, but without a score, so left as they were: {listed(without)}."
    for reason, students in kept.items():
        yield f"Left as they were, {reason}: {listed(students)}."


def listed(students: list[str]) -> str:
    return ", ".join(map(repr, students[:20])) + (f" and {len(students) - 20} more" if len(students) > 20 else "")
