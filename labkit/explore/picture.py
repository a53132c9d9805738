"""Pictures of explorers, from the marks of `labkit.draw`."""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from numpy.typing import ArrayLike

from ..draw import PAGE_INK, Group, Mark, Picture, Rect, Text, number

BLUE, ORANGE = "#4a7ebb", "#c2641a"  # each can be seen on white and on black


def numbers(values: ArrayLike) -> str:
    return ", ".join(map(number, np.ravel(values)))


def titled(title: str, width: int, height: int, marks: Sequence[Mark], words: str) -> Picture:
    """Return a picture with a title, and with a sentence for whoever does not see it."""
    return Picture(width, height, [Text(8, 22, title, size=14, bold=True), *marks], title, [words])


def cells(
    x: float,
    y: float,
    table: ArrayLike,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    wide: int = 56,
    high: int = 26,
    tints: Sequence[str] | None = None,
    bars: bool = False,
    frame: str | None = PAGE_INK,
) -> list[Mark]:
    """Return a table of numbers with its names; with bars, each cell is filled as far as its number goes from 0 to 1.

    Parameters
    ----------
    x, y : float
        The corner of the first cell; names stand left of it and above it.
    table : array (n_rows, n_columns)
    tints : sequence of str, optional
        A colour for each column.
    """
    marks: list[Mark] = [Text(x - 6, y + (r + 0.65) * high, name, "end") for r, name in enumerate(rows)]
    marks += [Text(x + (c + 0.5) * wide, y - 6, name, "middle") for c, name in enumerate(columns)]
    for (r, c), value in np.ndenumerate(np.asarray(table, dtype=float)):
        left, top = x + c * wide, y + r * high
        if bars or tints:
            full = wide * float(np.clip(np.nan_to_num(value), 0, 1)) if bars else wide
            marks.append(Rect(left, top, full, high, tints[c] if tints else BLUE, opacity=0.35))
        marks.append(Rect(left, top, wide, high, "none", outline=frame, thick=1))
        marks.append(Text(left + wide / 2, top + 0.65 * high, number(value), "middle"))
    return marks


def side_by_side(pictures: Sequence[Picture], lines: Sequence[str] = ()) -> Picture:
    """Return one picture of several, with lines of text below."""
    starts = np.cumsum([0, *(picture.width for picture in pictures)]).tolist()
    width, bottom = max(starts[-1], 480 if lines else 0), max((picture.height for picture in pictures), default=0)
    marks: list[Mark] = [Group(x, picture.marks) for x, picture in zip(starts, pictures, strict=False)]
    folded = [part for line in lines for part in wrap(line, width // 7)]
    marks += [Text(8, bottom + 18 * n, part) for n, part in enumerate(folded, 1)]
    words = [*lines, *(said for picture in pictures for said in picture.words)]
    return Picture(width, bottom + 18 * len(folded) + 10, marks, " · ".join(p.name for p in pictures), words)
