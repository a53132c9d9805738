"""A query turned in the plane, and the output as a point among the values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import attention as core
from ..draw import LOUD, PAGE_INK, Mark, Path, Picture, Rect, Text
from .explorer import Explorer, Shown, choice, slider, tick
from .picture import BLUE, ORANGE, cells, numbers, titled

# Keys on the circle. The first two, their values and q at 0° are those of lesson 05.
ANGLES = {2: (0, 90), 3: (0, 90, 225), 5: (0, 72, 144, 216, 288)}
VALUES = {2: ((10, 0), (0, 10)), 3: ((10, 0), (0, 10), (1, 1)), 5: ((10, 0), (10, 6), (7, 10), (2, 10), (0, 6))}
FORMS = {2: "the segment between the values", 3: "the triangle of the values", 5: "the hull of the values"}


def mixing(fn: Callable | None = None, *, predict: Any = False) -> Explorer:
    """Turn a query in the plane: weights, and the output as a point among the values.

    Controls: "angle of q", "length of q"; "keys": 2, 3, 5; "mix keys instead".

    Parameters
    ----------
    fn : callable, optional
        Your attention(Q, K, V), with Q (1, 2), K and V (n, 2).
    """
    controls = {
        "angle": slider("angle of q", 0, -180, 180, 5),
        "length": slider("length of q", 1.0, 0, 8, 0.5),
        "n": choice("keys", 2, list(ANGLES)),
        "mix_keys": tick("mix keys instead"),
    }
    return Explorer(controls, partial(show, fn=fn), predict)


def show(shown: Shown, fn: Callable | None, angle: int, length: float, n: int, mix_keys: bool) -> None:
    q = length * on_circle([angle])
    K, V = on_circle(ANGLES[n]), np.array(VALUES[n], dtype=float)
    weights = core.attention_weights(q, K)[0]
    shown.pictures += [query_picture(q[0], K), weights_picture(weights)]
    mixed = K if mix_keys else V
    output = core.attention(q, K, mixed) if fn is None else shown.ask(fn, {"Q": q, "K": K, "V": mixed}, (1, 2))
    if output is None:
        return
    if not np.isfinite(output).all():
        shown.loud.append(f"The output is ({numbers(output)}): not a point.")
        return
    inside = within(output[0], V)
    where = f"{'within' if inside else 'outside'} {FORMS[n]}"
    what = "Keys mixed instead of values" if mix_keys else "Output"
    shown.lines += [f"q = ({numbers(q)}). Weights: {numbers(weights)}.", f"{what}: ({numbers(output)}), {where}."]
    shown.loud += [] if inside else [f"The output lies outside {FORMS[n]}. Is it values that are mixed?"]
    shown.pictures.append(values_picture(output[0], V, where))


def on_circle(degrees: Sequence[float]) -> np.ndarray:
    radians = np.deg2rad(np.array(degrees, dtype=float))
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def within(point: np.ndarray, corners: np.ndarray) -> bool:
    """Say whether a point lies in a convex polygon, or on a segment, whose corners (n, 2) go round to the left."""
    edges, to_point = np.roll(corners, -1, axis=0) - corners, point - corners
    left_of = edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= -1e-6
    between = (point >= corners.min(axis=0) - 1e-6) & (point <= corners.max(axis=0) + 1e-6)
    return bool(left_of.all() and between.all())


# ---- pictures --------------------------------------------------------------------------------------------------------


def plane(least: float, most: float, size: int = 250) -> tuple[list[Mark], Callable[[ArrayLike], Any]]:
    """Return the marks of empty axes, and what turns points (..., 2) into places on the picture."""

    def at(points: ArrayLike) -> Any:
        share = (np.asarray(points, dtype=float) - least) / (most - least)
        return np.stack([20 + size * share[..., 0], 30 + size * (1 - share[..., 1])], axis=-1).tolist()

    marks: list[Mark] = [Rect(20, 30, size, size, "none", outline=PAGE_INK, thick=1)]
    marks += [Path(at([(least, 0), (most, 0)]), dash="2 3"), Path(at([(0, least), (0, most)]), dash="2 3")]
    for x, end in ((20, least), (20 + size, most)):
        marks.append(Text(x, size + 45, f"{end:.3g}".replace("-", "−"), "middle"))
    return marks, at


def label(place: tuple[float, float], text: str, anchor: str = "start", size: int = 12) -> Text:
    return Text(*place, text, anchor, size, None, None, True)


def dot(place: tuple[float, float], radius: float, fill: str) -> Rect:
    x, y = place
    return Rect(x - radius, y - radius, 2 * radius, 2 * radius, fill, outline=PAGE_INK, thick=1, round=radius)


def query_picture(q: np.ndarray, K: np.ndarray) -> Picture:
    marks, at = plane(-2, 2)
    for n, key in enumerate(K, 1):
        marks += [Path(at([(0, 0), key]), BLUE, 6), label(at(key * 1.2), f"k{n}", "middle")]
    tip = q * min(1, 1.9 / max(float(np.linalg.norm(q)), 1e-9))  # a long one is cut off at the edge
    marks += [Path(at([(0, 0), (*tip,)]), ORANGE, 3), dot(at(tip), 5, ORANGE)]
    marks.append(label(at(tip * 0.8 + np.array([0.05, 0.1])), "q", size=15))
    keys = "; ".join(f"k{n} = ({numbers(key)})" for n, key in enumerate(K, 1))
    words = f"Query and keys in the plane: q = ({numbers(q)}); {keys}."
    return titled("Query and keys", 290, 300, marks, words)


def weights_picture(weights: np.ndarray) -> Picture:
    names = [f"k{n + 1}" for n in range(len(weights))]
    marks = cells(36, 30, weights[:, None], rows=names, wide=130, high=30, bars=True)
    return titled("Weights", 180, 300, marks, f"Weights: {numbers(weights)}.")


def values_picture(output: np.ndarray, V: np.ndarray, where: str) -> Picture:
    reach = max(12.0, 1.2 * np.abs(output).max())
    marks, at = plane(-reach if output.min() < -1.5 else -2, reach)
    marks.append(Path(at(V), BLUE, 2, fill=BLUE, opacity=0.2))
    for n, (x, y) in enumerate(at(V), 1):
        square = Rect(x - 4, y - 4, 8, 8, BLUE, outline=PAGE_INK, thick=1)
        marks += [square, Text(x + 7, y - 7, f"v{n}", bold=True)]
    (x, y), ink = at(output), ORANGE if where.startswith("within") else LOUD
    marks += [dot((x, y), 7, ink), Path([(x - 7, y), (x + 7, y)]), Path([(x, y - 7), (x, y + 7)])]
    marks.append(Text(x + 10, y + 14, "output", bold=True))
    values = "; ".join(f"v{n} = ({numbers(value)})" for n, value in enumerate(V, 1))
    return titled("Output among the values", 300, 300, marks, f"Output ({numbers(output)}), {where}; {values}.")
