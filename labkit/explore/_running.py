"""A running softmax: one query reads its keys block by block, and keeps a maximum and two sums."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .. import attention as core
from ..draw import Picture, number
from .explorer import Explorer, Shown, choice, slider, tick
from .picture import BLUE, ORANGE, cells, numbers, titled

SCORES = np.log([2.0, 4, 8, 4, 2, 8, 32, 16])  # so that powers come out even
VALUES = np.array([9.0, 8, 4, 7, 3, 5, 1, 2])
GREY = "#808080"


def running(fn: Callable | None = None, *, predict: Any = False) -> Explorer:
    """Read a query's keys block by block: what is kept of them, and the output at any time.

    Controls: "block" (1, 2, 3, 4, 8 keys), "blocks read"; without `fn` also "forget to rescale".

    Parameters
    ----------
    fn : callable, optional
        Your blocked_attention(Q, K, V, block), with Q (1, 1), K and V (n, 1).
    """
    controls = {"block": choice("block", 2, (1, 2, 3, 4, 8)), "read": slider("blocks read", 2, 0, 4)}

    def as_many_as_there_are(change: Mapping[str, Any]) -> None:
        controls["read"].max = -(-len(SCORES) // change["new"])

    controls["block"].observe(as_many_as_there_are, "value")
    if fn is None:
        controls["forgets"] = tick("forget to rescale")
    return Explorer(controls, partial(show, fn=fn), predict)


def show(shown: Shown, fn: Callable | None, block: int, read: int, forgets: bool = False) -> None:
    end = min(block * read, len(SCORES))
    begin = max(0, end - 1) // block * block
    before, after = (kept(block, stop, forgets) for stop in (begin, end))
    rows = {"kept before": before, "this block": kept(block, end, False, begin), "kept now": after}
    shown.pictures += [row_picture(begin, end), sums_picture(rows)]
    if not end:
        shown.lines.append("Nothing has been read: no sums, and a maximum below every score.")
        return
    args = {"Q": np.ones((1, 1)), "K": SCORES[:end, None], "V": VALUES[:end, None], "block": block}
    output = np.array([[after[2] / after[1]]]) if fn is None else shown.ask(fn, args, (1, 1))
    if output is None:
        return
    right = core.softmax(SCORES[:end]) @ VALUES[:end]
    said = f"The softmax of these {end} scores in one go gives {number(right)}"
    shown.lines.append(f"{end} of 8 keys read. {'o / s' if fn is None else 'Your output'} = {number(output[0, 0])}.")
    if abs(output[0, 0] - right) < 1e-5:
        shown.lines.append(f"{said}: the same.")
    else:
        shown.loud.append(f"{said}: not the same.")


def kept(block: int, end: int, forgets: bool, begin: int = 0) -> tuple[float, float, float]:
    """Return maximum, sum and mixed sum after the keys from begin to end, or with sums carried over as they stand."""
    m, s, o = -np.inf, 0.0, 0.0
    for first in range(begin, end, block):
        part = slice(first, min(first + block, end))
        new = max(m, SCORES[part].max())
        powers, factor = np.exp(SCORES[part] - new), 1.0 if forgets else np.exp(m - new)
        m, s, o = new, factor * s + powers.sum(), factor * o + powers @ VALUES[part]
    return m, s, o


def row_picture(begin: int, end: int) -> Picture:
    """Draw scores and values: what has been read in blue, the block that is being read in orange."""
    names = [f"key {n}" for n in range(1, len(SCORES) + 1)]
    tints = [ORANGE if begin <= n < end else BLUE if n < begin else GREY for n in range(len(SCORES))]
    marks = cells(60, 54, [SCORES, VALUES], rows=("score", "value"), columns=names, tints=tints)
    reading = f"Keys {begin + 1} to {end} are being read." if end else "None has been read."
    words = f"One query's row. Scores: {numbers(SCORES)}. Values: {numbers(VALUES)}. {reading}"
    return titled("One query's row", 520, 115, marks, words)


def sums_picture(rows: Mapping[str, tuple[float, float, float]]) -> Picture:
    columns = ("maximum m", "sum s", "mixed sum o")
    marks = cells(100, 54, list(rows.values()), rows=list(rows), columns=columns, wide=90)
    said = "; ".join(f"{name}: {numbers(row)}" for name, row in rows.items())
    return titled("What is kept", 390, 145, marks, f"What is kept, maximum m, sum s, mixed sum o. {said}.")
