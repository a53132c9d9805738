"""Scores on sliders, and the weights that softmax makes of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import attention as core
from ..draw import Picture, number
from .explorer import Explorer, Shown, choice, slider, stops
from .picture import cells, numbers, titled

OTHER_ROWS = ((1, 0, 2, -1), (0, 0, 1, 1))
AXES = {
    "rows": "Keys compete for each query, as in attention.",
    "columns": "Queries compete for each key: not what attention does.",
    "all": "All compete with all: not what attention does.",
}


def softmax(fn: Callable | None = None, *, predict: Any = False) -> Explorer:
    """Turn scores into weights: what differences, ties, temperature and the choice of axis do.

    Controls: "score 1" to "score 4" (of row 1), "add to row 1", "temperature"; without `fn` also "axis": rows,
    columns, all.

    Parameters
    ----------
    fn : callable, optional
        Your softmax(scores), with scores (3, 4). It decides by itself along which axis keys compete.
    """
    controls = {f"s{n}": slider(f"score {n}", score, -4, 4, 0.5) for n, score in enumerate((2.0, 1.0, 1.0, 0.0), 1)}
    controls["shift"] = slider("add to row 1", 0, -1000, 1000, 100)
    controls["temperature"] = stops("temperature", 1, [0.1, 0.2, 0.5, 1, 2, 5, 10])
    if fn is None:
        controls["axis"] = choice("axis", "rows", list(AXES))
    return Explorer(controls, partial(show, fn=fn), predict)


def show(
    shown: Shown,
    fn: Callable | None,
    s1: float,
    s2: float,
    s3: float,
    s4: float,
    shift: int,
    temperature: float,
    axis: str = "",
) -> None:
    unmoved = np.array([(s1, s2, s3, s4), *OTHER_ROWS], dtype=float) / temperature
    scores = unmoved + np.array([[shift], [0], [0]]) / temperature
    shown.pictures.append(picture("Scores ÷ temperature", scores))
    weights = weights_of(shown, fn, scores, axis)
    if weights is None:
        return
    shown.pictures.append(picture("Weights", weights, sums=True))
    shown.lines += [sums(weights), AXES.get(axis, "Your function decides who competes with whom.")]
    shown.lines += ties(scores[0], weights[0])
    if shift:
        shown.lines.append(effect(shift, weights, weights_of(Shown(), fn, unmoved, axis)))


def weights_of(shown: Shown, fn: Callable | None, scores: np.ndarray, axis: str) -> np.ndarray | None:
    """Return the weights (3, 4), or None."""
    if fn is not None:
        return shown.ask(fn, {"scores": scores}, scores.shape)
    if axis == "all":
        return core.softmax(scores.ravel()).reshape(scores.shape)
    return core.softmax(scores, axis=0 if axis == "columns" else -1)


def sums(weights: np.ndarray) -> str:
    rows, columns, total = numbers(weights.sum(axis=1)), numbers(weights.sum(axis=0)), number(weights.sum())
    return f"Rows add to {rows}; columns to {columns}; all to {total}."


def ties(scores: np.ndarray, weights: np.ndarray) -> list[str]:
    """Say what became of the first two equal scores of row 1."""
    pairs = [[i, j] for i in range(4) for j in range(i + 1, 4) if scores[i] == scores[j]]
    return [f"Scores {i + 1} and {j + 1} of row 1 tie: weights {numbers(weights[[i, j]])}." for i, j in pairs[:1]]


def effect(shift: int, weights: np.ndarray, before: np.ndarray | None) -> str:
    same = before is not None and np.allclose(weights, before)
    does = "changes nothing: only differences count" if same else "changes the weights"
    return f"Adding {shift} to all of row 1 {does}.".replace("-", "−")


def picture(title: str, table: np.ndarray, sums: bool = False) -> Picture:
    x, y = 58, 54
    marks = cells(x, y, table, rows=("query 1", "2", "3"), columns=("key 1", "2", "3", "4"), bars=sums)
    if sums:
        marks += cells(x + 4 * 56, y, table.sum(axis=1)[:, None], columns=["adds to"], frame=None)
        marks += cells(x, y + 78, table.sum(axis=0)[None], rows=["adds to"], frame=None)
        marks += cells(x + 4 * 56, y + 78, [[table.sum()]], frame=None)
    words = " ".join(f"Query {q}: {numbers(row)}." for q, row in enumerate(table, 1))
    return titled(title, 350 if sums else 290, 160, marks, f"{title}. {words}")
