"""A few marks as SVG text, and pictures made of them, in the manner of `labkit.draw`."""

import re
from html import escape, unescape
from textwrap import wrap

import numpy as np

BLUE, ORANGE, LOUD = "#4a7ebb", "#c2641a", "#dc0032"  # each can be seen on white and on black
STYLE = "color:var(--jp-content-font-color1,CanvasText);color-scheme:light dark;max-width:100%;height:auto"


def number(x: float) -> str:
    """Return two decimals with a real minus, or fewer digits of what is large."""
    text = f"{x:z.2f}" if abs(x) < 1e4 or x != x else f"{x:.1e}".replace("inf", "∞")
    return text.replace("-", "−")


def numbers(values) -> str:
    return ", ".join(map(number, np.ravel(values)))


def text(x, y, words, *, anchor="start", size=12, bold=False, ink="currentColor") -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{ink}"{weight}>{escape(words)}</text>'


def rect(x, y, width, height, fill="none", *, opacity=1.0, line="currentColor", thick=1) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}" fill-opacity="{opacity}" stroke="{line}" stroke-width="{thick}"/>'


def path(points, *, line="currentColor", thick=1, fill="none", opacity=1.0, dash="") -> str:
    """Return straight lines from point to point, closed if filled."""
    way = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if fill != "none" else "")
    looks = f'stroke="{line}" stroke-width="{thick}" fill="{fill}" fill-opacity="{opacity}"'
    return f'<path d="{way}" {looks} stroke-dasharray="{dash}"/>'


def dot(x, y, radius, fill) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="currentColor"/>'


def cells(x, y, table, *, rows=(), columns=(), wide=56, high=26, tints=None, bars=False, frame="currentColor"):
    """Return a table of numbers with its names; with bars, each cell is filled as far as its number goes from 0 to 1.

    Parameters
    ----------
    x, y : float
        The corner of the first cell; names stand left of it and above it.
    table : array (n_rows, n_columns)
    tints : sequence of str, optional
        A colour for each column.
    """
    marks = [text(x - 6, y + (r + 0.65) * high, name, anchor="end") for r, name in enumerate(rows)]
    marks += [text(x + (c + 0.5) * wide, y - 6, name, anchor="middle") for c, name in enumerate(columns)]
    for (r, c), value in np.ndenumerate(np.asarray(table, dtype=float)):
        left, top = x + c * wide, y + r * high
        full = wide * float(np.clip(np.nan_to_num(value), 0, 1)) if bars else wide
        if bars or tints:
            marks.append(rect(left, top, full, high, tints[c] if tints else BLUE, opacity=0.35, line="none"))
        marks.append(rect(left, top, wide, high, line=frame))
        marks.append(text(left + wide / 2, top + 0.65 * high, number(value), anchor="middle"))
    return marks


def svg(marks, width, height, words: str) -> str:
    """Return a picture, with its sentence for whoever does not see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    page = f'<rect width="{width}" height="{height}" fill="#fff" style="fill:var(--jp-layout-color0,Canvas)"/>'
    label = f'role="img" aria-label="{escape(words)}" style="{STYLE}" font-family="sans-serif" font-size="12"'
    # Ink and page for where styles are stripped, as code-hosting pages do.
    return f'{head} color="#000" {label}>{page}{"".join(marks)}</svg>'


def words_of(picture: str) -> str:
    return unescape(re.search(r'aria-label="([^"]*)"', picture)[1])


def size_of(picture: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.search(r'width="(\d+)" height="(\d+)"', picture).groups())


def side_by_side(pictures, lines) -> str:
    """Return one picture of several, with lines of text below."""
    marks, x, bottom = [], 0, 0
    for picture in pictures:
        width, height = size_of(picture)
        marks.append(picture.replace("<svg ", f'<svg x="{x}" ', 1))
        x, bottom = x + width, max(bottom, height)
    width = max(x, 480 if lines else 0)
    folded = [part for line in lines for part in wrap(line, width // 7)]
    marks += [text(8, bottom + 18 * n, part) for n, part in enumerate(folded, 1)]
    words = " ".join([*lines, *map(words_of, pictures)])
    return svg(marks, width, bottom + 18 * len(folded) + 10, words)
