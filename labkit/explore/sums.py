"""A running softmax: one query reads its keys block by block, and keeps a maximum and two sums."""

import numpy as np

from .. import attention as core
from .explorer import Explorer, Shown, asked, choice, slider, tick
from .svg import BLUE, ORANGE, cells, number, numbers, svg, text

SCORES = np.log([2.0, 4, 8, 4, 2, 8, 32, 16])  # so that powers come out even
VALUES = np.array([9.0, 8, 4, 7, 3, 5, 1, 2])
GREY = "#808080"


def explorer(fn, predict):
    controls = {"block": choice("block", 2, (1, 2, 3, 4, 8)), "read": slider("blocks read", 2, 0, 8)}
    if fn is None:
        controls["forgets"] = tick("forget to rescale")
    return Explorer(controls, lambda block, read, forgets=False: show(fn, block, read, forgets), predict)


def show(fn, block, read, forgets) -> Shown:
    end = min(block * read, len(SCORES))
    begin = max(0, end - 1) // block * block
    before, after = (kept(block, stop, forgets) for stop in (begin, end))
    rows = {"kept before": before, "this block": kept(block, end, False, begin), "kept now": after}
    pictures = [row_picture(begin, end), sums_picture(rows)]
    if not end:
        return Shown(pictures, ["Nothing has been read: no sums, and a maximum below every score."])
    output, complaints = (after[2] / after[1], []) if fn is None else output_of(fn, block, end)
    if output is None:
        return Shown(pictures, [], complaints)
    right = core.softmax(SCORES[:end]) @ VALUES[:end]
    lines = [f"{end} of {len(SCORES)} keys read. {'o / s' if fn is None else 'Your output'} = {number(output)}."]
    same = abs(output - right) < 1e-5
    said = f"The softmax of these {end} scores in one go gives {number(right)}"
    lines += [f"{said}: the same."] if same else []
    return Shown(pictures, lines, complaints if same else [*complaints, f"{said}: not the same."])


def kept(block, end, forgets, begin=0):
    """Return maximum, sum and mixed sum after the keys from begin to end, or with sums carried over as they stand.

    Returns
    -------
    tuple of three numbers
    """
    m, s, o = -np.inf, 0.0, 0.0
    for first in range(begin, end, block):
        part = slice(first, min(first + block, end))
        new = max(m, SCORES[part].max())
        powers, factor = np.exp(SCORES[part] - new), 1.0 if forgets else np.exp(m - new)
        m, s, o = new, factor * s + powers.sum(), factor * o + powers @ VALUES[part]
    return m, s, o


def output_of(fn, block, end):
    """Return what a student's function gives for the keys read so far, or None, and what to say about it."""
    args = {"Q": np.ones((1, 1)), "K": SCORES[:end, None], "V": VALUES[:end, None], "block": block}
    output, complaints = asked(fn, args, (1, 1))
    return (None if output is None else output[0, 0]), complaints


def row_picture(begin, end):
    """Draw scores and values: what has been read in blue, the block that is being read in orange."""
    names = [f"key {n}" for n in range(1, len(SCORES) + 1)]
    tints = [ORANGE if begin <= n < end else BLUE if n < begin else GREY for n in range(len(SCORES))]
    marks = [text(8, 20, "One query's row", size=14, bold=True)]
    marks += cells(60, 54, [SCORES, VALUES], rows=("score", "value"), columns=names, tints=tints)
    reading = f"Keys {begin + 1} to {end} are being read." if end else "None has been read."
    words = f"One query's row. Scores: {numbers(SCORES)}. Values: {numbers(VALUES)}. {reading}"
    return svg(marks, 520, 115, words)


def sums_picture(rows):
    marks = [text(8, 20, "What is kept", size=14, bold=True)]
    columns = ("maximum m", "sum s", "mixed sum o")
    marks += cells(100, 54, list(rows.values()), rows=list(rows), columns=columns, wide=90)
    said = "; ".join(f"{name}: {numbers(row)}" for name, row in rows.items())
    return svg(marks, 390, 145, f"What is kept, maximum m, sum s, mixed sum o. {said}.")
