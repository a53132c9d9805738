"""A query turned in the plane, and the output as a point among the values."""

import numpy as np

from .. import attention as core
from .explorer import Explorer, Shown, asked, choice, slider, tick
from .svg import BLUE, LOUD, ORANGE, cells, dot, number, numbers, path, rect, svg, text

# Keys on the circle. The first two, their values and q at 0° are those of lesson 05.
ANGLES = {2: (0, 90), 3: (0, 90, 225), 5: (0, 72, 144, 216, 288)}
VALUES = {2: ((10, 0), (0, 10)), 3: ((10, 0), (0, 10), (1, 1)), 5: ((10, 0), (10, 6), (7, 10), (2, 10), (0, 6))}
FORMS = {2: "the segment between the values", 3: "the triangle of the values", 5: "the hull of the values"}


def explorer(fn, predict):
    controls = {
        "angle": slider("angle of q", 0, -180, 180, 5),
        "length": slider("length of q", 1.0, 0, 8, 0.5),
        "n": choice("keys", 2, list(ANGLES)),
        "mix_keys": tick("mix keys instead"),
    }

    def show(angle, length, n, mix_keys):
        q = length * on_circle([angle])
        K, V = on_circle(ANGLES[n]), np.array(VALUES[n], dtype=float)
        weights = core.attention_weights(q, K)[0]
        pictures = [query_picture(q[0], K), weights_picture(weights)]
        output, complaints = output_of(fn, q, K, K if mix_keys else V)
        if output is None:
            return Shown(pictures, [], complaints)
        inside = within(output, V)
        where = f"{'within' if inside else 'outside'} {FORMS[n]}"
        what = "Keys mixed instead of values" if mix_keys else "Output"
        lines = [f"q = ({numbers(q)}). Weights: {numbers(weights)}.", f"{what}: ({numbers(output)}), {where}."]
        complaints += [] if inside else [f"The output lies outside {FORMS[n]}. Is it values that are mixed?"]
        return Shown([*pictures, values_picture(output, V, where)], lines, complaints)

    return Explorer(controls, show, predict)


def on_circle(degrees):
    radians = np.deg2rad(np.array(degrees, dtype=float))
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def output_of(fn, q, K, V):
    """Return the output (2,), or None, and what to say about a student's function."""
    if fn is None:
        return core.attention(q, K, V)[0], []
    output, complaints = asked(fn, {"Q": q, "K": K, "V": V}, (1, 2))
    if output is not None and not np.isfinite(output).all():
        return None, [*complaints, f"The output is ({numbers(output)}): not a point."]
    return (None if output is None else output[0]), complaints


def within(point, corners) -> bool:
    """Say whether a point lies in a convex polygon, or on a segment, whose corners (n, 2) go round to the left."""
    edges, to_point = np.roll(corners, -1, axis=0) - corners, point - corners
    left_of = edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= -1e-6
    between = (point >= corners.min(axis=0) - 1e-6) & (point <= corners.max(axis=0) + 1e-6)
    return bool(left_of.all() and between.all())


# ---- pictures --------------------------------------------------------------------------------------------------------


def plane(title, least, most, size=250):
    """Return the marks of empty axes, and what turns points (..., 2) into places on the picture."""

    def at(points):
        share = (np.asarray(points, dtype=float) - least) / (most - least)
        return np.stack([20 + size * share[..., 0], 30 + size * (1 - share[..., 1])], axis=-1).tolist()

    marks = [text(8, 20, title, size=14, bold=True), rect(20, 30, size, size)]
    marks += [path(at([(least, 0), (most, 0)]), dash="2 3"), path(at([(0, least), (0, most)]), dash="2 3")]
    for x, end in ((20, least), (20 + size, most)):
        marks.append(text(x, size + 45, f"{end:.3g}".replace("-", "−"), anchor="middle"))
    return marks, at


def query_picture(q, K):
    marks, at = plane("Query and keys", -2, 2)
    for n, key in enumerate(K, 1):
        name = text(*at(key * 1.2), f"k{n}", anchor="middle", bold=True)
        marks += [path(at([(0, 0), key]), line=BLUE, thick=6), name]
    shown = q * min(1, 1.9 / max(np.linalg.norm(q), 1e-9))  # a long one is cut off at the edge
    marks += [path(at([(0, 0), shown]), line=ORANGE, thick=3), dot(*at(shown), 5, ORANGE)]
    marks.append(text(*at(shown * 0.8 + (0.05, 0.1)), "q", bold=True, size=15))
    keys = "; ".join(f"k{n} = ({numbers(key)})" for n, key in enumerate(K, 1))
    return svg(marks, 290, 300, f"Query and keys in the plane: q = ({numbers(q)}); {keys}.")


def weights_picture(weights):
    marks = [text(8, 20, "Weights", size=14, bold=True)]
    names = [f"k{n + 1}" for n in range(len(weights))]
    marks += cells(36, 30, weights[:, None], rows=names, wide=130, high=30, bars=True)
    return svg(marks, 180, 300, f"Weights: {numbers(weights)}.")


def values_picture(output, V, where):
    reach = max(12.0, 1.2 * np.abs(output).max())
    marks, at = plane("Output among the values", -reach if output.min() < -1.5 else -2, reach)
    marks.append(path(at(V), line=BLUE, thick=2, fill=BLUE, opacity=0.2))
    for n, value in enumerate(V, 1):
        x, y = at(value)
        marks += [rect(x - 4, y - 4, 8, 8, BLUE), text(x + 7, y - 7, f"v{n}", bold=True)]
    (x, y), ink = at(output), ORANGE if where.startswith("within") else LOUD
    marks += [dot(x, y, 7, ink), path([(x - 7, y), (x + 7, y)]), path([(x, y - 7), (x, y + 7)])]
    marks.append(text(x + 10, y + 14, "output", bold=True))
    values = "; ".join(f"v{n} = ({numbers(value)})" for n, value in enumerate(V, 1))
    return svg(marks, 300, 300, f"Output ({number(output[0])}, {number(output[1])}), {where}; {values}.")
