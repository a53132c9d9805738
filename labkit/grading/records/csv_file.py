"""CSV files as spreadsheets and learning platforms save them: read in one way, and filled cell by cell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..handed_in.encoding import decode
from ..wording import number

QUOTED = r'"((?:[^"]|"")*+)"?+'  # the closing quote may be missing at the end of a file
WHOLE = re.compile(r'"(?:[^"]|"")*+"\s*')
SEPARATOR = re.compile(r'"?sep=([^\w"\r\n])"?(?:\r\n?|\n)', re.IGNORECASE)  # Excel's own first line
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .xlsx and .xls begin
# What a spreadsheet would run as a formula when a cell begins with it, full-width signs included.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")


class CsvError(ValueError):
    """A CSV file that can't be used; the message says where, and what to do."""


@dataclass(frozen=True)
class CsvFile:
    """A file's text, of which any cell can be read, and be replaced while all around it stays as it is."""

    text: str
    encoding: str
    delimiter: str
    start: int = 0  # where in the text the first row begins

    @classmethod
    def read(cls, data: bytes, where: str) -> "CsvFile":
        """Read a file in any of the usual encodings, cut by what gives its first row most cells, and others as many.

        Raises
        ------
        CsvError
            If it is no text; it begins with ``where``.
        """
        if data.startswith(WORKBOOKS):
            raise CsvError(f"{where}: the file must be a CSV file; got an Excel workbook. Save it as CSV.")
        text, encoding = decode(data)
        if "\0" in text:
            raise CsvError(f"{where}: the file must be a CSV file; got zero bytes in it. Save it as CSV again.")
        if said := SEPARATOR.match(text):
            return cls(text, encoding, said[1], said.end())
        files = [cls(text, encoding, delimiter) for delimiter in ",;\t"]
        return max(files, key=lambda file: (len(file.headers), [*map(len, file.spans)].count(len(file.headers))))

    @cached_property
    def spans(self) -> list[list[tuple[int, int]]]:
        """Where in the text each cell of each row begins and ends, quotes included, as the csv module finds them."""
        delimiter = re.escape(self.delimiter)
        cell = re.compile(rf"((?:{QUOTED})?+[^{delimiter}\r\n]*)({delimiter}|\r\n?|\n|\Z)")
        rows: list[list[tuple[int, int]]] = []
        row: list[tuple[int, int]] = []
        for match in cell.finditer(self.text, self.start):
            if match.start() == len(self.text) and not row:
                break  # nothing follows the end of the last line
            row.append(match.span(1))
            if match[3] != self.delimiter:
                rows.append(row)
                row = []
        return rows

    @cached_property
    def rows(self) -> list[list[str]]:
        """The cells' texts."""
        return [[unquoted(self.text[start:end]) for start, end in row] for row in self.spans]

    @cached_property
    def torn(self) -> frozenset[int]:
        """The rows with a cell that begins with a quotation mark and doesn't end with one: they may be several rows."""
        cells = ((row, self.text[start:end]) for row, spans in enumerate(self.spans) for start, end in spans)
        return frozenset(row for row, cell in cells if cell.startswith('"') and not WHOLE.fullmatch(cell))

    @property
    def headers(self) -> list[str]:
        """The first row; empty in an empty file."""
        return self.rows[0] if self.spans else []

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
        return number(value).replace(".", ",") if self.has_decimal_commas else number(value)

    def replaced(self, cells: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other texts in some cells, which are given by row and column; every other byte stays.

        UTF-16 gets the order of bytes that this machine writes.
        """
        parts, at = [], 0
        for (row, column), text in sorted(cells.items()):
            start, end = self.spans[row][column]
            if self.text.startswith('"', start, end) or re.search(f'[{re.escape(self.delimiter)}"\r\n]', text):
                text = '"' + text.replace('"', '""') + '"'
            parts += [self.text[at:start], text]
            at = end
        return "".join([*parts, self.text[at:]]).encode(self.encoding)


def unquoted(cell: str) -> str:
    """The text of a cell as it stands in the file; what follows a closing quote belongs to it."""
    quoted = re.match(QUOTED, cell)
    return quoted[1].replace('""', '"') + cell[quoted.end() :] if quoted else cell


def neutral(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would run it; ``restored`` undoes it exactly."""
    runs = text.startswith(FORMULA) or is_marked(text)
    return "'" + text if runs else text


def restored(text: str) -> str:
    return text[1:] if is_marked(text) else text


def is_marked(text: str) -> bool:
    """Whether an apostrophe stands before what would run, or before such an apostrophe."""
    return text.startswith("'") and text.startswith((*FORMULA, "'"), 1)
