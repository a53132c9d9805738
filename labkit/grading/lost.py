"""What isn't there when it is asked for: cells that did not run to their end, and names that nobody defined."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..exercises import EXERCISES
from .handed_in.reading import definitions
from .sandbox.host import Ran
from .submission import Cell

MOST_LOST = 5  # cells that are told of
MOST_NAMES = 1000  # among which a similar one is looked for
TIME_UP = "TimeUp"  # our own error in the guest; its words say it all

Errors = Mapping[int, Mapping[str, Any]]  # of code cells, counted from 0, in their order


def lost_cells(errors: Errors) -> Iterator[str]:
    """The cells that did not run to their end, the first of which a line is known with it and a caret."""
    shown = next((cell for cell in errors if errors[cell].get("source", "").strip()), None)
    for cell in islice(errors, MOST_LOST):
        yield told(cell, errors[cell], with_line=cell == shown)
    if len(errors) > MOST_LOST:
        yield f"{len(errors) - MOST_LOST} more cells did not run to their end."


def told(cell: int, error: Mapping[str, Any], with_line: bool) -> str:
    """A sentence about a lost cell, and the line at which it ended."""
    kind = "" if error["type"] == TIME_UP else error["type"]
    text = f"Code cell {cell + 1} did not run to its end: {': '.join(filter(None, (kind, error['text'].rstrip('.'))))}."
    if not with_line:
        return text
    return f"{text} Line {error['line']}:\n{error['source']}\n{under(error['source'], error['caret'])}"


def under(source: str, caret: int) -> str:
    """A caret below the place, or carets below all of the line where no more is known."""
    if 0 < caret <= len(source) + 1:
        start, marks = caret - 1, "^"
    else:
        start, marks = len(source) - len(source.lstrip()), "^" * len(source.strip())
    return re.sub(r"[^\t]", " ", source[:start]) + marks


def is_begun(name: str, cells: Sequence[Cell]) -> bool:
    """Whether a notebook has any code, or at least this name in a text."""
    return any(cell.kind == "code" and cell.source.strip() for cell in cells) or bool(text_with(name, cells))


def where_it_went(name: str, is_table: bool, cells: Sequence[Cell], ran: Ran, errors: Errors) -> str:
    """What there is instead of a table or function, and what to do about it."""
    kind = "table" if is_table else "function"
    if name in (*ran.tables, *ran.functions):
        other = "is a function" if is_table else "is no function"
        return f"A {kind} is asked for, and in the end `{name}` {other} in this notebook. Was the name used twice?"
    if (cell := lost_with(name, cells, errors)) is not None:
        return f"Code cell {cell + 1}, which holds it, did not run to its end, so there is nothing to judge."
    if text := text_with(name, cells):
        return f"Only cell {text} holds it, which is text: turn it into a code cell, and run it."
    others = {other for _, _, other, _ in islice(definitions(cells), MOST_NAMES)} - EXERCISES.keys()
    if alike := difflib.get_close_matches(name, others, 1, 0.8):
        return f"The notebook has no {kind} of this name. Is `{alike[0]}` meant for it? Then give it this name."
    return f"The notebook has no {kind} of this name. Was its cell deleted, or is the name spelt otherwise?"


def lost_with(name: str, cells: Sequence[Cell], errors: Errors) -> int | None:
    """The first lost cell that defines or imports the name."""
    code = [cell.source for cell in cells if cell.kind == "code"]
    defines = re.compile(rf"^[ \t]*(def[ \t]+{name}\b|{name}\b[^=\n]*=|from[ \t].*[ \t,]{name}\b)", re.MULTILINE)
    return next((cell for cell in errors if defines.search(code[cell])), None)


def text_with(name: str, cells: Sequence[Cell]) -> int:
    """The number of the first text cell that defines the name; 0 if there is none."""
    texts = (number for number, cell, other, _ in definitions(cells) if other == name and cell.kind != "code")
    return next(texts, 0)
