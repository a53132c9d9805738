"""What a mask hides, with what fill, and who gets the weight: raw scores, masked scores, weights."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from ipywidgets import Checkbox, GridBox, Layout
from traitlets import Tuple

from .. import attention as core
from ..draw import Panel, number, picture
from .explorer import Explorer, Shown, arity, choice, slider, tick

# Eight tokens, d_k = 4. Some queries have only low scores before them: there a fill of 0 or −1 leaks much.
Q, K = (
    np.array([row.split() for row in rows.split(";")], dtype=float)
    for rows in (
        "0 0 2 2; 2 -1 2 0; -1 -1 1 1; -1 2 0 -2; -1 -2 -1 -1; -2 -2 -2 2; 2 0 2 0; 1 2 1 2",
        "-1 0 -2 1; -1 0 -2 2; -1 -2 0 -2; -2 -1 1 0; 1 -1 -2 -1; -2 -2 -1 -2; 0 0 1 -2; 2 -2 2 2",
    )
)
MASKS = {
    "causal": core.causal_mask,
    "padding": lambda T: np.tile(core.padding_mask(T - 2, T), (T, 1)),
    "first key only": lambda T: np.tile(core.padding_mask(1, T), (T, 1)),
}
FILLS = {"0": 0.0, "−1": -1.0, "−10⁹": -1e9, "−∞": -np.inf}
ARGUMENTS = {"masked_softmax": 2, "attention_weights": 3, "attention": 4}


class Grid(GridBox):
    """A tick for each query and key, T × T, and all that is ticked as `value`."""

    value = Tuple()

    def __init__(self) -> None:
        self.ticks: dict[tuple[int, int], Checkbox] = {}
        super().__init__(layout=Layout(display="none"))

    def lay_out(self, T: int) -> None:
        """Show the ticks of the first T tokens; new ones are causal."""
        places = [(q, k) for q in range(T) for k in range(T)]
        for q, k in places:
            if (q, k) not in self.ticks:
                self.ticks[q, k] = tick(f"{q + 1} sees {k + 1}", k <= q)
                self.ticks[q, k].observe(self.read, "value")
        self.children = [self.ticks[place] for place in places]
        self.layout = Layout(display="grid", grid_template_columns=f"repeat({T}, max-content)")
        self.read()

    def read(self, change: object = None) -> None:
        T = round(len(self.children) ** 0.5)
        self.value = tuple(tuple(self.ticks[q, k].value for k in range(T)) for q in range(T))


def masking(fn: Callable | None = None, *, predict: Any = False) -> Explorer:
    """Hide keys: raw scores, masked scores and weights side by side, and the weight that hidden keys still get.

    Controls: "T" (4 to 8); "mask": causal, padding, first key only, paint; "fill": 0, −1, −10⁹, −∞ (without `fn`).
    When painting: a tick "2 sees 3" for query 2 and key 3, and so on.

    Parameters
    ----------
    fn : callable, optional
        Your masked_softmax(scores, mask), attention_weights(Q, K, mask) or attention(Q, K, V, mask): told by this name,
        else by whether it takes 2, 3 or more arguments. V is the identity, so that an output is a row of weights.
    """
    controls = {"T": slider("T", 4, 4, len(Q)), "mask": choice("mask", "causal", [*MASKS, "paint"])}
    if fn is None:
        controls["fill"] = choice("fill", "−∞", list(FILLS))
    controls["painted"] = grid = Grid()

    def paint(change: object) -> None:
        if controls["mask"].value == "paint":
            grid.lay_out(controls["T"].value)
        else:
            grid.layout.display = "none"

    for name in ("T", "mask"):
        controls[name].observe(paint, "value")  # before the picture is redrawn
    return Explorer(controls, partial(show, fn=fn), predict)


def show(
    shown: Shown, fn: Callable | None, T: int, mask: str, painted: tuple[tuple[bool, ...], ...], fill: str = "−∞"
) -> None:
    allowed = np.array(painted) if mask == "paint" else MASKS[mask](T)
    scores = core.attention_scores(Q[:T], K[:T])
    masked = np.where(allowed, scores, FILLS[fill])
    shown.pictures.append(picture([Panel(Q[:T] @ K[:T].T, title="Raw scores QKᵀ", scores=True)]))
    shown.pictures.append(picture([Panel(masked, allowed, "Masked scores, after ÷ √d_k", scores=True)]))
    shown.lines.append(f"Mask: {mask}." + (f" Fill: {fill}." if fn is None else ""))
    empty = 1 + np.flatnonzero(~allowed.any(axis=1))
    shown.lines += [f"Query {q} may see no key: an error in this course." for q in empty]
    weights = our_weights(shown, masked) if fn is None else own_weights(shown, fn, scores, allowed)
    if weights is None:
        return
    shown.pictures.append(picture([Panel(weights, allowed, "Weights")]))
    faults = [*leaks(weights, allowed), *not_one(weights)] or astray(weights, masked)
    shown.loud += faults
    shown.lines += [] if faults else ["No weight on hidden keys; every row adds to 1."]


def our_weights(shown: Shown, masked: np.ndarray) -> np.ndarray | None:
    try:
        return core.softmax(masked)
    except ValueError as error:
        shown.loud.append(str(error))
        return None


def own_weights(shown: Shown, fn: Callable, scores: np.ndarray, allowed: np.ndarray) -> np.ndarray | None:
    asked, T = Shown(), len(scores)
    weights = asked.ask(fn, arguments(fn, scores, allowed), (T, T))
    refuses = weights is None and not allowed.any(axis=1).all() and "stopped with ValueError" in asked.loud[0]
    (shown.lines if refuses else shown.loud).extend(asked.loud)
    shown.lines += ["It refuses such a query, as it should."] if refuses else []
    return weights


def arguments(fn: Callable, scores: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a student's function is to be given, by its name or by how much it takes."""
    T, count = len(scores), ARGUMENTS.get(getattr(fn, "__name__", ""), arity(fn))
    if count <= 2:
        return {"scores": scores, "mask": mask}
    return {"Q": Q[:T], "K": K[:T], **({"V": np.eye(T)} if count > 3 else {}), "mask": mask}


def leaks(weights: np.ndarray, allowed: np.ndarray) -> list[str]:
    """Say how much weight hidden keys get in all, and where it is most."""
    hidden = np.where(allowed | np.isnan(weights), 0, weights)
    q, k = np.unravel_index(np.abs(hidden).argmax(), hidden.shape)
    where = f"the largest, {number(hidden[q, k])}, from query {q + 1} to key {k + 1}"
    leaking = np.abs(hidden).max() > 1e-8  # less is rounding
    return [f"Weight on hidden keys: {number(float(hidden.sum()))} in all, {where}."] if leaking else []


def not_one(weights: np.ndarray) -> list[str]:
    sums = weights.sum(axis=1)
    off = [f"query {q} adds to {number(total)}" for q, total in enumerate(sums, 1) if not abs(total - 1) <= 0.005]
    return [f"Rows that do not add to 1: {'; '.join(off)}."] if off else []


def astray(weights: np.ndarray, masked: np.ndarray) -> list[str]:
    """Say where weights are not what softmax makes of the masked scores (the right number is not said)."""
    distance = np.abs(weights - core.softmax(masked))
    q, k = map(int, np.unravel_index(distance.argmax(), distance.shape))
    where = f"query {q + 1}, key {k + 1}: {number(weights[q, k])}"
    return [f"Not the softmax of the masked scores beside it, most at {where}."] if distance[q, k] > 1e-3 else []
