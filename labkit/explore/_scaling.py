"""Why √d_k: the spread of scores and the top weight, with no scale, ÷ d_k and ÷ √d_k."""

from functools import cache
from typing import Any

import numpy as np

from .. import attention as core
from ..draw import Mark, Picture, Text, number
from .explorer import Explorer, Shown, slider, stops
from .picture import cells, numbers, titled

N_QUERIES, N_KEYS = 64, 8
WIDTHS = [2**n for n in range(11)]
SCALES = {"no scale": 0, "÷ d_k": 1, "÷ √d_k": 0.5}


def scaling(*, predict: Any = False) -> Explorer:
    """Divide scores by nothing, by d_k and by √d_k: how far they spread, and how much the top key gets.

    Controls: "d_k" (1 to 1024, doubling), "draw" (1 to 20: other random numbers).
    """
    return Explorer({"d_k": stops("d_k", 64, WIDTHS), "draw": slider("draw", 1, 1, 20)}, show, predict)


def show(shown: Shown, d_k: int, draw: int) -> None:
    raw = raw_scores(draw)[WIDTHS.index(d_k)]
    found = {name: measure(raw / d_k**power) for name, power in SCALES.items()}
    shown.pictures += [picture(name, *measured) for name, measured in found.items()]
    spread = "; ".join(f"{number(std)} with {name}" for name, (std, _, _) in found.items())
    top = "; ".join(f"{number(mean)} with {name}" for name, (_, mean, _) in found.items())
    shown.lines += [
        f"d_k = {d_k}; {N_QUERIES} random queries with {N_KEYS} random keys each.",
        f"Spread of the scores (standard deviation): {spread}.",
        f"Weight of the top key, on average: {top}. An even share is {1 / N_KEYS}.",
    ]


@cache
def raw_scores(draw: int) -> np.ndarray:
    """Return q·k for each width, (n_widths, N_QUERIES, N_KEYS): the first d_k entries of the same random vectors."""
    rng = np.random.default_rng(draw)
    q, k = rng.standard_normal((N_QUERIES, 1, WIDTHS[-1])), rng.standard_normal((N_QUERIES, N_KEYS, WIDTHS[-1]))
    return np.stack([np.sum(q[..., :d_k] * k[..., :d_k], axis=-1) for d_k in WIDTHS])


def measure(scores: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the standard deviation of scores, the mean top weight, and the weights of a middling query."""
    weights = core.softmax(scores)
    top = weights.max(axis=-1)
    return scores.std(), top.mean(), weights[np.argsort(top)[len(top) // 2]]


def picture(name: str, std: float, top: float, weights: np.ndarray) -> Picture:
    said, typical = f"spread {number(std)}, top weight {number(top)}", "weights of a typical query:"
    marks: list[Mark] = [Text(8, 40, said), Text(8, 60, typical)]
    names = [f"key {n + 1}" for n in range(N_KEYS)]
    marks += cells(60, 68, weights[:, None], rows=names, wide=180, high=22, bars=True)
    return titled(name, 260, 254, marks, f"{name}: {said}; {typical} {numbers(weights)}.")
