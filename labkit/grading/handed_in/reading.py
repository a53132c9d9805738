"""Bytes of a notebook file → its cells, and which lab they are.

Outputs are dropped, and of a cell's metadata only its tags are kept: nothing else of a student's file is used.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...exercises import LABS, exercises_of
from ..submission import Cell
from .encoding import decode
from .found import megabytes
from .outputs import without_outputs

KINDS = {"code": "code", "markdown": "markdown", "raw": "raw", "heading": "markdown", "html": "markdown"}
LOOKS_LIKE = {
    "%PDF": "a PDF",
    "PK\x03\x04": "a zip archive or an office document",
    "<": "a web page",
    "\x1f": "a packed file (.gz)",
    "Rar!": "a packed file (.rar)",
    "7z": "a packed file (.7z)",
    "[InternetShortcut]": "a link to the notebook",
}
MOST_BYTES = 20 * 2**20  # that are read; of what is larger the outputs are dropped before
MOST_BRACKETS, MOST_CELLS = 1_000_000, 10_000  # a bracket may take 200 bytes of memory; a lab has a hundred cells
CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
ASKED_IN = {exercise.name: exercise.labs for lab in LABS for exercise in exercises_of(lab)}
TABLES = {exercise.name: lab for lab in LABS for exercise in exercises_of(lab) if exercise.is_table}
# What stands at a line's beginning: inside a function a name means nothing.
DEFINITION = re.compile(r"^(?:(?:async +)?(def)[ \t]+(\w+)[ \t]*\(|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE)


class Ungradable(Exception):
    """Why a file can't be graded, in a sentence for student and instructor."""


def read(data: bytes) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """Read a notebook of whatever format and encoding.

    Returns
    -------
    cells : tuple of Cell
    remarks : tuple of str
        What had to be put right, in sentences.

    Raises
    ------
    Ungradable
        If it is no notebook, or none of its cells can be read.
    """
    if len(data) > MOST_BYTES:
        data = without_outputs(data)
    if len(data) > MOST_BYTES:
        most = f"the most is {megabytes(MOST_BYTES)}"
        raise Ungradable(f"The file is too large: without outputs it has {megabytes(len(data))}; {most}.")
    if data.count(b"[") + data.count(b"{") > MOST_BRACKETS:
        raise Ungradable(f"The file is too large: there are more than {MOST_BRACKETS:,} brackets in it.")
    text, encoding = decode(data)
    remarks = [] if encoding.startswith("utf-8") else [f"The file isn't UTF-8; it was read as {encoding}."]
    listed, is_old = _listed(_parse(text))
    if len(listed) > MOST_CELLS:
        raise Ungradable(f"The file is too large: it has {len(listed):,} cells; the most is {MOST_CELLS:,}.")
    if is_old:
        remarks.append("The notebook has an old format (3 or before); it was upgraded.")
    cells = [_cell(raw) for raw in listed]
    bad = [number for number, cell in enumerate(cells, 1) if cell is None]
    if bad and len(bad) == len(cells):
        raise Ungradable(f"The file is no notebook: none of its {len(cells)} cells has a kind and a text.")
    if bad:
        remarks.append(f"{_numbered(bad)} without a kind or a text: left out.")
    return tuple(cell for cell in cells if cell), tuple(remarks)


def _parse(text: str) -> Any:
    text = text.rstrip(" \t\r\n\0")  # zero bytes are what a disk that was full leaves at a file's end
    if not text:
        raise Ungradable("The file is empty.")
    try:
        return json.loads(text, parse_int=len)  # no number is of use here, and int refuses those of thousands of digits
    except json.JSONDecodeError as error:
        raise Ungradable(_complaint(text, error)) from None
    except RecursionError:
        raise Ungradable("The file is no notebook: its brackets are nested too deeply.") from None


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    where = f"at line {error.lineno}, column {error.colno}"
    for beginning, what in LOOKS_LIKE.items():
        if text.lstrip(" \t\r\n").startswith(beginning):
            return f"The file is no notebook: {where} it looks like {what}."
    if conflict := CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        what = f"git left conflict markers in it, from line {line} on. Merge the two versions first."
        return f"The file is damaged {where}: {what}"
    said = re.sub(" starting at$| at$", "", error.msg[:1].lower() + error.msg[1:])
    what, cut = "damaged", ""
    if text.lstrip().startswith("{") and not text.endswith("}") and error.msg != "Extra data":
        what, cut = "cut off or damaged", " It ends in the middle: was it cut off while it was saved or sent?"
    return f"The file is {what} {where}, where it isn't valid JSON ({said}).{cut} Save it and hand it in again."


def _listed(notebook: Any) -> tuple[list, bool]:
    """The cells as they stand in the file, and whether it has the old format, where they lie in worksheets."""
    notebook = notebook if isinstance(notebook, dict) else {}
    if isinstance(notebook.get("cells"), list):
        return notebook["cells"], False
    if not isinstance(notebook.get("worksheets"), list):
        raise Ungradable("The file is JSON, but no notebook: it has no list of cells.")
    sheets = [sheet.get("cells") for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
    return [cell for cells in sheets if isinstance(cells, list) for cell in cells], True


def _cell(raw: Any) -> Cell | None:
    """A cell, or None if it lacks a kind or a text."""
    if not isinstance(raw, dict):
        return None
    kind, source = raw.get("cell_type"), raw.get("source", raw.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(source, str):
        return None
    if kind == "heading":
        source = "# " + source
    metadata, id = raw.get("metadata"), raw.get("id")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    tags = tuple(clean(tag) for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
    return Cell(KINDS[kind], clean(source), tags, clean(id) if isinstance(id, str) else "")


def clean(text: str) -> str:
    """With Python's line ends, and such that it can be encoded: half a surrogate pair becomes a question mark."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _numbered(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    return f"Cell {shown} is" if len(numbers) == 1 else f"Cells {shown} are"


# ---- which lab it is -------------------------------------------------------------------------------------------------


def definitions(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell, str, bool]]:
    """Every name that a cell defines: the cell's number from 1, the cell, the name, whether by ``def``."""
    for number, cell in enumerate(cells, 1):
        for found in DEFINITION.finditer(cell.source):
            yield number, cell, found[2] or found[3], found[1] is not None


def likely_labs(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The labs that the definitions fit best: none, one, or several that they fit equally well.

    Tables tell most, since nobody takes them along to another lab. Functions are taken along to later labs,
    so that among them the latest lab's own one tells.
    """
    found = [one for one in definitions(cells) if one[2] in ASKED_IN]
    names = {name for _, cell, name, _ in found if cell.kind == "code"}
    names = names or {name for _, _, name, _ in found}  # the cells may have been turned into text
    fits = {lab: _fit(lab, names) for name in names for lab in ASKED_IN[name]}
    return tuple(sorted(lab for lab, fit in fits.items() if fit == max(fits.values())))


def _fit(lab: str, names: set[str]) -> tuple[float, int]:
    own_functions = any(ASKED_IN[name] == (lab,) for name in names - TABLES.keys())
    tables = [name for name in names if TABLES.get(name) == lab]
    return len(tables) ** 2 / [*TABLES.values(), lab].count(lab), LABS.index(lab) if own_functions else -1


def is_of_the_course(cells: Sequence[Cell]) -> bool:
    """Whether a notebook without any exercise may have been a lab: it uses labkit, or holds no code at all."""
    code = [cell.source for cell in cells if cell.kind == "code" and cell.source.strip()]
    return not code or any(re.search(r"\blabkit\b", source) for source in code)
