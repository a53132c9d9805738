"""Pictures of attention: tables of weights or scores as SVG text, as a matplotlib figure, and in words.

Rows ask, columns are asked. Weights are drawn in cividis from 0 to 1, scores on a scale of their own around 0.
Small tables show their numbers, hidden cells are hatched, and weight on a hidden key is drawn loudly.

A `Panel` is a table, checked. `picture` turns panels into rectangles and texts; `svg` and `_figure` only draw these.
The explorers make pictures of their own from the same marks. Nothing is loaded from anywhere, and matplotlib only for
a figure.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labkit.attention import mask_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Names = Iterable[object]

MOST_NUMBERS = 8  # tables up to this size show the number in each cell, and are read out in words
LEAST_LEAK = 1e-8  # less than this on a hidden key is rounding
LOUD = "#dc0032"
BLANK, NO_NUMBER = ("#d9d9d9", "#000000"), ("#f2f2f2", "#000000")  # fill and ink: hidden and nothing there; nan or open

# Steps of cividis, and from purple (below 0) over white to brown: no kind of colour blindness confuses either.
CIVIDIS = (
    "00224e 002a61 003171 1d396f 2d416d 3a496c 46506c 50586c 5b606e 646770 6e6f73 777777 "
    "817f78 8c8878 979077 a29975 ada272 b8ab6e c4b468 d0bd62 dcc759 e8d14f f5dc41 fee838"
)
AROUND_ZERO = "2d004b 542788 8073ac b2abd2 d8daeb f7f7f7 fee0b6 fdb863 e08214 b35806 7f3b08"


class Panel:
    """One table to be drawn, alone or beside others.

    Parameters
    ----------
    values : array (n_q, n_k)
        Weights, or scores of any kind; -inf is a masked score, and `...` a cell that is still open.
    mask : bool array (n_q, n_k), optional
        True where a query may attend to a key. Hidden cells are hatched, and weight on them is drawn loudly.
    title : str
    scores : bool
        Whether the values are scores, drawn on a scale of their own around 0, rather than weights from 0 to 1.
    queries, keys : sequences of str, optional
        Names of the rows and of the columns; numbers from 1 if not given.
    """

    def __init__(
        self,
        values: Any,
        mask: ArrayLike | None = None,
        title: str = "",
        scores: bool = False,
        queries: Names | None = None,
        keys: Names | None = None,
    ) -> None:
        self.title, self.scores = str(title), scores
        self.values, self.open = _read_table(values, "scores" if scores else "weights")  # nan where open
        self.hidden = _read_mask(mask, self.values.shape) | (np.isneginf(self.values) & scores)
        self.named = queries is not None or keys is not None
        self.queries = _read_names(queries, self.values.shape[0], "queries")
        self.keys = _read_names(keys, self.values.shape[1], "keys")
        self.small = max(self.values.shape) <= MOST_NUMBERS
        # Hidden scores may be there all the same: the softmax comes later.
        self.loud = self.hidden & ~self.open & ~(np.abs(self.values) <= LEAST_LEAK) & (not self.scores)
        self.sums, self.off = self._add_up()
        seen = np.abs(self.values[np.isfinite(self.values) & ~self.hidden])
        self.limit = (seen.max(initial=0) if self.scores else 0) or 1.0  # the end of the colour scale

    def _add_up(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what each row adds to, and where that should be 1 and is not, both (n_q,)."""
        with np.errstate(invalid="ignore"):  # inf - inf
            sums = self.values.sum(axis=1)
        # Each number of a table made by hand, with two decimals, may be off by half of the last one.
        rounded = self.small and np.array_equal(self.values, self.values.round(2), equal_nan=True)
        slack = 0.005 * (len(self.keys) if rounded else 1) + 1e-9
        return sums, ~(np.abs(sums - 1) <= slack) & ~self.open.any(axis=1) & (not self.scores)

    def number(self, query: int, key: int) -> str:
        if self.open[query, key]:
            return "…"
        return number(self.values[query, key], exact=True, small=self.loud[query, key])

    def total(self, query: int) -> str:
        return "…" if self.open[query].any() else number(self.sums[query]) + (" ≠ 1" if self.off[query] else "")

    @property
    def name(self) -> str:
        return self.title or ("Scores" if self.scores else "Attention weights")

    @property
    def faults(self) -> list[str]:
        """What must not be overlooked."""
        leak, off = number(self.values[self.loud].sum(), small=True), int(self.off.sum())
        lines = [f"Weight on hidden keys: {leak} in all."] if self.loud.any() else []
        return lines + (["1 row does not add to 1." if off == 1 else f"{off} rows do not add to 1."] if off else [])


def heatmap(
    weights: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    title: str = "",
    queries: Names | None = None,
    keys: Names | None = None,
) -> Figure:
    """Draw attention weights as a matplotlib figure; the arguments are those of `Panel`.

    As the last line of a cell it shows itself, and `describe` stands in for it where pictures do not show.
    """
    return panels([Panel(weights, mask, title, False, queries, keys)])


def heatmap_svg(
    weights: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    title: str = "",
    queries: Names | None = None,
    keys: Names | None = None,
) -> str:
    """Draw attention weights as SVG text; the arguments are those of `Panel`."""
    return panels_svg([Panel(weights, mask, title, False, queries, keys)])


def panels(tables: Sequence[Panel], *, title: str = "") -> Figure:
    """Draw several tables side by side as a matplotlib figure."""
    return _figure(picture(tables, title))


def panels_svg(tables: Sequence[Panel], *, title: str = "") -> str:
    """Draw several tables side by side as SVG text, with a rectangle for each cell: 50 KB at T = 8, 2 MB at 100."""
    return svg(picture(tables, title))


def describe(
    weights: ArrayLike, mask: ArrayLike | None = None, *, queries: Names | None = None, keys: Names | None = None
) -> str:
    """Say in words what `heatmap` shows; the arguments are those of `Panel`."""
    return "\n".join(_words(Panel(weights, mask, "", False, queries, keys)))


# ---- reading, numbers and words --------------------------------------------------------------------------------------


def _read_table(values: ArrayLike, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers, nan where a cell is open, and where that is, both (n_q, n_k)."""
    rule = f"heatmap: {what} must be a table (n_q, n_k)"
    try:
        cells = np.asarray(values, dtype=object)
    except RuntimeError as error:  # as of a tensor that keeps track of gradients
        raise TypeError(f"{rule}; got a {type(values).__name__} that says: {error}") from None
    if cells.ndim != 2 or not cells.size:
        got = f"shape {cells.shape}" if cells.ndim else repr(values)[:40]
        raise ValueError(f"{rule}; got {got}. Give rows of one length; of several heads pick one: {what}[0].")
    is_open = np.array([[cell is ... or cell is None for cell in row] for row in cells.tolist()])
    for cell in cells[~is_open]:
        if not hasattr(cell, "__float__"):
            raise TypeError(f"{rule} of real numbers; got a cell that holds {cell!r:.40}.")
    try:
        return np.where(is_open, np.nan, cells).astype(float), is_open
    except OverflowError:
        raise ValueError(
            f"{rule} of numbers that a float can hold; got a larger one. Look at how it came about."
        ) from None


def _read_mask(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what is hidden, (n_q, n_k)."""
    try:
        hidden = np.isneginf(mask_scores(np.zeros(shape), [True] if mask is None else mask))
    except (TypeError, ValueError) as error:
        got = str(error).partition("; got ")[2].split(". ")[0]
        fits = "fit" in str(error)
        raise type(error)(_mask_rule(shape, got if not fits else f"shape {np.shape(mask)}")) from None
    if hidden.shape != shape:
        raise ValueError(_mask_rule(shape, f"shape {np.shape(mask)}"))
    return hidden


def _mask_rule(shape: tuple[int, ...], got: str) -> str:
    return f"heatmap: mask must be a table like the one it hides, {shape}, of True (may attend) and False; got {got}."


def _read_names(names: Names | None, count: int, what: str) -> list[str]:
    if names is not None and not isinstance(names, Iterable):
        raise TypeError(f"heatmap: {what} must be a list of {count} names; got {names!r:.40}. Write a name for each.")
    read = [str(name) for name in (range(1, count + 1) if names is None else names)]
    if len(read) != count:
        raise ValueError(f"heatmap: {what} must be as many names as the table has {what}, {count}; got {len(read)}.")
    return read


def number(value: float, exact: bool = False, small: bool = False) -> str:
    """Return at most eight characters: an `exact` 0 as 0, nearly 0 as 0.00, or if `small` as 3e−5."""
    size = abs(value)
    if size < 1e5 and (size >= 1e4 or (exact and size % 1 == 0)):
        text = f"{value:z.0f}"
    elif size >= 1e5 or (small and size < 0.005):
        text = re.sub(r"e(-?)\+?0*", r"e\1", f"{value:.0e}").replace("inf", "∞")
    else:
        text = f"{value:z.2f}"
    return text.replace("-", "−")


def _words(panel: Panel) -> list[str]:
    """Return what a picture shows: one line for each row if it is small, and one for each thing to notice."""
    n_q, n_k = panel.values.shape
    asking = "1 query asks (row)" if n_q == 1 else f"{n_q} queries ask (rows)"
    asked = "1 key is asked (column)" if n_k == 1 else f"{n_k} keys are asked (columns)"
    lines = [f"{panel.name}: {asking}, {asked}."]
    if panel.named:
        lines.append(f"Queries: {', '.join(panel.queries)}. Keys: {', '.join(panel.keys)}.")
    for q in range(n_q if panel.small else 0):
        cells = [panel.number(q, k) + (" (hidden)" if panel.hidden[q, k] else "") for k in range(n_k)]
        lines.append(f"Query {q + 1}: {', '.join(cells)}{'' if panel.scores else f'; adds to {panel.total(q)}'}.")
    if not (panel.scores or panel.off.any() or panel.open.any()):
        lines.append("Every row adds to 1, give or take rounding.")
    return lines + panel.faults


# ---- colours ---------------------------------------------------------------------------------------------------------


@cache
def _palette(scale: str) -> list[tuple[str, str]]:
    """Return the 256 fills of a scale, each with the ink that can be read on it."""
    anchors = np.array([list(bytes.fromhex(anchor)) for anchor in scale.split()])
    places = np.linspace(0, 255, len(anchors))
    steps = np.stack([np.interp(range(256), places, channel) for channel in anchors.T], axis=1)
    dark = (steps / 255) ** 2.2 @ [0.2126, 0.7152, 0.0722] < 0.18  # black and white stand out equally at 0.18
    return [
        (f"#{bytes(fill).hex()}", "#ffffff" if is_dark else "#000000")
        for fill, is_dark in zip(steps.round().astype(np.uint8), dark.tolist(), strict=True)
    ]


def _colours(panel: Panel) -> list[list[tuple[str, str]]]:
    """Return fill and ink of each cell."""
    palette = [*_palette(AROUND_ZERO if panel.scores else CIVIDIS), BLANK, NO_NUMBER]
    share = (panel.values / panel.limit + 1) / 2 if panel.scores else panel.values
    steps = np.nan_to_num(255 * share.clip(0, 1)).round().astype(int)
    steps[panel.hidden & (np.isneginf(panel.values) if panel.scores else ~panel.loud)] = 256
    steps[np.isnan(panel.values)] = 257
    return [[palette[step] for step in row] for row in steps.tolist()]


# ---- from panels to marks --------------------------------------------------------------------------------------------

PAGE_INK = "currentColor"

# What there is to draw, in pixels. `y` of a text is its foot. Panels are made of the first two kinds alone.
Rect = namedtuple("Rect", "x y width height fill hatching outline thick opacity round", defaults=(None, None, 0, 1, 0))
Text = namedtuple("Text", "x y text anchor size ink halo bold italic", defaults=("start", 12, None, None, False, False))
Path = namedtuple("Path", "points ink thick fill opacity dash", defaults=(PAGE_INK, 1, "none", 1, ""))
Group = namedtuple("Group", "x marks")  # moved to the right
Mark = Rect | Text | Path | Group
Picture = namedtuple("Picture", "width height marks name words")


class _Grid:
    """Where a panel's cells stand: `x` and `y` are the corner of the first one."""

    def __init__(self, panel: Panel, left: float, top: float):
        n_q, n_k = panel.values.shape
        self.left, self.top = left, top
        self.high = 44 if panel.small else max(360 // max(n_q, n_k), 2)
        self.wide = max(self.high, _room(*panel.keys)) if panel.named else self.high
        self.x, self.y = left + max(_room(*panel.queries), _room("asks ↓")), top + 40 + 22 * bool(panel.title)
        self.right, self.bottom = self.x + n_k * self.wide, self.y + n_q * self.high
        self.beside = self.right + 8 + max(_room(panel.keys[-1]) - self.wide, 0) // 2


def picture(tables: Sequence[Panel], title: str = "") -> Picture:
    """Set the panels side by side."""
    marks: list[Mark] = [Text(8, 22, title, size=15, bold=True)] if title else []
    right = bottom = 0
    for panel in tables:
        grid = _Grid(panel, right + 8, 32 if title else 8)
        marks += [*_cells(panel, grid), *_labels(panel, grid), *_scale(panel, grid)]
        marks += [Text(grid.x, grid.bottom + 42 + 18 * n, line, bold=True) for n, line in enumerate(panel.faults)]
        ends = [t.x + _room(t.text) * t.size / 12 for t in marks if isinstance(t, Text) and t.anchor == "start"]
        right = 8 + max(grid.right, *ends)
        bottom = max(bottom, grid.bottom + 30 + 18 * len(panel.faults))
    words = [line for panel in tables for line in _words(panel)]
    return Picture(round(right), round(bottom), marks, title or " · ".join(panel.name for panel in tables), words)


def _room(*texts: str) -> int:
    """Return how wide the longest of some texts is, with a space around it."""
    return round(6 + 7.5 * max(map(len, texts)))


def _cells(panel: Panel, grid: _Grid) -> Iterator[Rect | Text]:
    gap = 1 if panel.small else 0
    for row, colours in enumerate(_colours(panel)):
        for column, (fill, ink) in enumerate(colours):
            x, y = grid.x + column * grid.wide, grid.y + row * grid.high
            hidden, loud = panel.hidden[row, column], panel.loud[row, column]
            thick = min(4, grid.high / 4) if loud else 0
            place = x + thick / 2, y + thick / 2, grid.wide - gap - thick, grid.high - gap - thick
            yield Rect(*place, fill, ink if hidden else None, LOUD if loud else None, thick)
            if panel.small or (loud and grid.high >= 22):
                text = panel.number(row, column)
                size = 16 if "∞" in text else min(13, 1.25 * grid.wide / len(text))
                foot = y + grid.high / 2 + 0.35 * size
                yield Text(x + grid.wide / 2, foot, text, "middle", size, ink, fill if hidden else None, bold=loud)


def _labels(panel: Panel, grid: _Grid) -> Iterator[Text]:
    """Name the axes, the rows and the columns, and write beside each row of weights what it adds to."""
    if panel.title:
        yield Text(grid.left, grid.top + 14, panel.title, size=14, bold=True)
    yield Text(grid.x - 6, grid.y - 7, "asks ↓", "end", italic=True)
    yield Text(grid.x, grid.y - 25, "is asked →", italic=True)
    for column in _labelled(len(panel.keys), (grid.right - grid.x) / _room(*panel.keys)):
        yield Text(grid.x + (column + 0.5) * grid.wide, grid.y - 7, panel.keys[column], "middle")
    for row in _labelled(len(panel.queries), (grid.bottom - grid.y) / 15):
        y = grid.y + (row + 0.5) * grid.high + 4
        yield Text(grid.x - 6, y, panel.queries[row], "end")
        if not panel.scores:
            yield Text(grid.beside, y, panel.total(row), bold=panel.off[row])
    if not panel.scores:
        yield Text(grid.beside, grid.y - 7, "adds to", italic=True)


def _labelled(count: int, room: float) -> range:
    """Return which of so many rows or columns get a label, where there is room for `room` labels."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, count) if count <= step * room or step >= count)
    return range(step - 1, count, step)


def _scale(panel: Panel, grid: _Grid) -> Iterator[Rect | Text]:
    """Draw the bar that says which colour is which number."""
    low, high = (number(end * panel.limit, exact=True) for end in (-1 if panel.scores else 0, 1))
    x, y, wide = grid.x + _room(low), grid.bottom + 12, 4
    for step, (fill, _) in enumerate(_palette(AROUND_ZERO if panel.scores else CIVIDIS)[::15]):
        yield Rect(x + step * wide, y, wide, 9, fill)
    yield Text(x - 5, y + 9, low, "end")
    yield Text(x + 18 * wide + 5, y + 9, high)


# ---- drawing the marks -----------------------------------------------------------------------------------------------


def _slanted(rect: Rect) -> list[tuple[float, float, float, float]]:
    """Return the lines, from (x, y) to (x, y), that hatch a cell: seven, or one where it is small."""
    x, y, w, h = rect[:4]
    shares = [n / 4 for n in range(1, 8)] if h > 20 else [1]
    return [(x + max(s - 1, 0) * w, y + min(s, 1) * h, x + min(s, 1) * w, y + max(s - 1, 0) * h) for s in shares]


def svg(picture: Picture) -> str:
    """Return the picture without ids and style sheet, so that many can stand in one page."""
    width, height = picture.width, picture.height
    # In JupyterLab its theme's colours, elsewhere the page's own: always a pair that can be read. Where styles are
    # stripped, as code-hosting pages do, black on white.
    style = "color:var(--jp-content-font-color1,CanvasText);color-scheme:light dark;max-width:100%;height:auto"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(" ".join(picture.words))}" color="#000" style="{style}" '
        f'font-family="sans-serif" font-size="12"><title>{escape(picture.name)}</title>'
        f'<rect width="{width}" height="{height}" fill="#fff" style="fill:var(--jp-layout-color0,Canvas)"/>'
        f"{''.join(map(_svg_mark, picture.marks))}</svg>"
    )


def _svg_mark(mark: Mark) -> str:
    if isinstance(mark, Group):
        return f'<g transform="translate({mark.x:g} 0)">{"".join(map(_svg_mark, mark.marks))}</g>'
    if isinstance(mark, Path):
        way = "M" + "L".join(f"{x:g} {y:g}" for x, y in mark.points) + ("Z" if mark.fill != "none" else "")
        line = f'stroke="{mark.ink}" stroke-width="{mark.thick:g}" stroke-dasharray="{mark.dash}"'
        return f'<path d="{way}" {line} fill="{mark.fill}" fill-opacity="{mark.opacity}"/>'
    if isinstance(mark, Text):
        looks = (' font-weight="bold"' if mark.bold else "") + (' font-style="italic"' if mark.italic else "")
        looks += f' stroke="{mark.halo}" stroke-width="4" paint-order="stroke"' if mark.halo else ""
        place = f'x="{mark.x:g}" y="{mark.y:g}" font-size="{mark.size:.3g}" text-anchor="{mark.anchor}"'
        return f'<text {place} fill="{mark.ink or PAGE_INK}"{looks}>{escape(mark.text)}</text>'
    looks = f' stroke="{mark.outline}" stroke-width="{mark.thick:g}"' if mark.outline else ""
    looks += f' fill-opacity="{mark.opacity}"' if mark.opacity < 1 else ""
    looks += f' rx="{mark.round}"' if mark.round else ""
    place = f'x="{mark.x:g}" y="{mark.y:g}" width="{mark.width:g}" height="{mark.height:g}"'
    rect = f'<rect {place} fill="{mark.fill}"{looks}/>'
    if not mark.hatching:
        return rect
    lines = "".join([f"M{x:g} {y:g}L{to_x:g} {to_y:g}" for x, y, to_x, to_y in _slanted(mark)])
    return f'{rect}<path d="{lines}" stroke="{mark.hatching}" stroke-opacity="0.4"/>'


def _figure(picture: Picture) -> Figure:
    """Return the picture as a matplotlib figure, a pixel of the layout being a 96th of an inch."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(picture.width / 96, picture.height / 96), dpi=192, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, picture.width), ylim=(picture.height, 0))
    axes.set_axis_off()
    rects = [mark for mark in picture.marks if isinstance(mark, Rect)]
    corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h, *_ in rects]
    fills, outlines = [r.fill for r in rects], [r.outline or "none" for r in rects]
    thick = [r.thick * 0.75 for r in rects]
    axes.add_collection(PolyCollection(corners, facecolors=fills, edgecolors=outlines, linewidths=thick))
    hatching = [([line[:2], line[2:]], r.hatching) for r in rects if r.hatching for line in _slanted(r)]
    lines, inks = zip(*hatching, strict=True) if hatching else ((), ())
    axes.add_collection(LineCollection(lines, colors=inks, linewidths=0.75, alpha=0.4))
    for t in (mark for mark in picture.marks if isinstance(mark, Text)):
        looks: dict[str, Any] = {"weight": "bold" if t.bold else "normal", "style": "italic" if t.italic else "normal"}
        looks |= {"color": t.ink or "black", "ha": {"start": "left", "middle": "center", "end": "right"}[t.anchor]}
        looks |= {"bbox": {"facecolor": t.halo, "edgecolor": "none", "pad": 1}} if t.halo else {}
        axes.text(t.x, t.y, t.text, fontsize=t.size * 0.75, parse_math=False, **looks)
    # Without pyplot only its name would show.
    figure._repr_mimebundle_ = partial(_mimebundle, figure, picture)  # type: ignore[attr-defined]
    return figure


def _mimebundle(figure: Figure, picture: Picture, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
    """Return the figure as a PNG, sharp on fine screens, and in words for whoever does not see it."""
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight", metadata={"Software": None})  # tight, as pyplot does it
    png = file.getvalue()
    width, height = (int.from_bytes(png[start : start + 4], "big") // 2 for start in (16, 20))
    data = {"image/png": b64encode(png).decode(), "text/plain": "\n".join(picture.words)}
    return data, {"image/png": {"width": width, "height": height}}
