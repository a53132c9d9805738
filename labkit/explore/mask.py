"""What a mask hides, with what fill, and who gets the weight: raw scores, masked scores, weights."""

import numpy as np
from ipywidgets import GridBox, Layout
from traitlets import Tuple

from .. import attention as core
from ..draw import Panel, panels_svg
from .explorer import Explorer, Shown, arity, asked, choice, slider, tick
from .svg import number

# Eight tokens, d_k = 4. Some queries have only low scores before them: there a fill of 0 or −1 leaks much.
Q = "0 0 2 2; 2 -1 2 0; -1 -1 1 1; -1 2 0 -2; -1 -2 -1 -1; -2 -2 -2 2; 2 0 2 0; 1 2 1 2"
K = "-1 0 -2 1; -1 0 -2 2; -1 -2 0 -2; -2 -1 1 0; 1 -1 -2 -1; -2 -2 -1 -2; 0 0 1 -2; 2 -2 2 2"
Q, K = (np.array([row.split() for row in rows.split(";")], dtype=float) for rows in (Q, K))
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

    def __init__(self):
        self.ticks = {}
        super().__init__(layout=Layout(display="none"))

    def lay_out(self, T: int):
        """Show the ticks of the first T tokens; new ones are causal."""
        places = [(q, k) for q in range(T) for k in range(T)]
        for q, k in places:
            if (q, k) not in self.ticks:
                self.ticks[q, k] = tick(f"{q + 1} sees {k + 1}", k <= q)
                self.ticks[q, k].observe(self.read, "value")
        self.children = [self.ticks[place] for place in places]
        self.layout = Layout(display="grid", grid_template_columns=f"repeat({T}, max-content)")
        self.read()

    def read(self, change=None):
        T = round(len(self.children) ** 0.5)
        self.value = tuple(tuple(self.ticks[q, k].value for k in range(T)) for q in range(T))


def explorer(fn, predict):
    controls = {"T": slider("T", 4, 4, len(Q)), "mask": choice("mask", "causal", [*MASKS, "paint"])}
    if fn is None:
        controls["fill"] = choice("fill", "−∞", list(FILLS))
    controls["painted"] = grid = Grid()

    def paint(change):
        if controls["mask"].value == "paint":
            grid.lay_out(controls["T"].value)
        else:
            grid.layout.display = "none"

    def show(T, mask, painted, fill="−∞"):
        allowed = np.array(painted) if mask == "paint" else MASKS[mask](T)
        said = f"Mask: {mask}." + (f" Fill: {fill}." if fn is None else "")
        return look(fn, Q[:T], K[:T], allowed, FILLS[fill], said)

    for name in ("T", "mask"):
        controls[name].observe(paint, "value")  # before the picture is redrawn
    return Explorer(controls, show, predict)


def look(fn, Q, K, allowed, fill, said) -> Shown:
    """Draw the three tables, each (T, T), or two where there are no weights."""
    masked = np.where(allowed, core.attention_scores(Q, K), fill)
    tables = [Panel(Q @ K.T, title="Raw scores QKᵀ", scores=True)]
    tables.append(Panel(masked, allowed, "Masked scores, after ÷ √d_k", scores=True))
    lines = [said, *(f"Query {q} may see no key: an error in this course." for q in 1 + empty_rows(allowed))]
    weights, loud = weights_of(fn, Q, K, masked, allowed)
    if weights is not None:
        tables.append(Panel(weights, allowed, "Weights"))
        faults = [*leaks(weights, allowed), *not_one(weights)] or astray(weights, masked)
        loud += faults
        lines += [] if faults else ["No weight on hidden keys; every row adds to 1."]
    return Shown([panels_svg([table]) for table in tables], lines, loud)


def empty_rows(allowed):
    return np.flatnonzero(~allowed.any(axis=1))


def weights_of(fn, Q, K, masked, allowed):
    """Return the weights (T, T), or None, and what to say about it."""
    if fn is not None:
        return asked(fn, arguments(fn, Q, K, allowed), allowed.shape)
    try:
        return core.softmax(masked), []
    except ValueError as error:
        return None, [str(error)]


def arguments(fn, Q, K, mask) -> dict:
    """Return what a student's function is to be given, by its name or by how much it takes."""
    count = ARGUMENTS.get(getattr(fn, "__name__", ""), arity(fn))
    if count <= 2:
        return {"scores": core.attention_scores(Q, K), "mask": mask}
    return {"Q": Q, "K": K, **({"V": np.eye(len(K))} if count > 3 else {}), "mask": mask}


def leaks(weights, allowed) -> list[str]:
    """Say how much weight hidden keys get in all, and where it is most."""
    hidden = np.where(allowed, 0, np.nan_to_num(weights))
    q, k = np.unravel_index(np.abs(hidden).argmax(), hidden.shape)
    where = f"most of it from query {q + 1} to key {k + 1} ({number(hidden[q, k])})"
    leaking = np.abs(hidden).max() > 1e-8  # less is rounding
    return [f"Weight on hidden keys: {number(hidden.sum())} in all, {where}."] if leaking else []


def not_one(weights) -> list[str]:
    sums = weights.sum(axis=1)
    off = [f"query {q} adds to {number(total)}" for q, total in enumerate(sums, 1) if not abs(total - 1) <= 0.005]
    return [f"Rows that do not add to 1: {'; '.join(off)}."] if off else []


def astray(weights, masked) -> list[str]:
    """Say where weights are not what softmax makes of the masked scores (the right number is not said)."""
    distance = np.abs(weights - core.softmax(masked))
    q, k = np.unravel_index(distance.argmax(), distance.shape)
    where = f"query {q + 1}, key {k + 1}: {number(weights[q, k])}"
    return [f"Not the softmax of the masked scores beside it, most at {where}."] if distance[q, k] > 1e-3 else []
