"""Reordering tokens: outputs follow, unless a causal mask ties them to their places."""

import numpy as np

from .. import attention as core
from ..draw import Panel, panels_svg
from .explorer import Explorer, Shown, asked, choice, tick
from .svg import cells, numbers, side_by_side, svg, text

TOKENS = "ABCD"
ORDERS = ("A B C D", "B A C D", "D C B A", "C D A B", "B C D A")
Q = np.array([[2.0, 0], [1, -1], [0, 1], [-1, 2]])
K = np.array([[1.0, 1], [2, -1], [0, 2], [-1, 0]])
V = np.array([[4.0, 0], [0, 4], [-4, 2], [2, -2]])


def explorer(fn, predict):
    controls = {"order": choice("order", ORDERS[1], ORDERS), "causal": tick("causal")}

    def show(order, causal):
        places = [TOKENS.index(token) for token in order.split()]
        before, complaints = output_of(fn, range(4), causal)
        after, more = output_of(fn, places, causal)
        if before is None or after is None:
            return Shown([], [], list(dict.fromkeys([*complaints, *more])))
        pictures = [output_picture(TOKENS, before), output_picture(order, after)]
        if fn is None:  # the weights of a student's function are not known
            weights = [weight_picture(range(4), causal), weight_picture(places, causal)]
            pictures = [side_by_side(pair, []) for pair in zip(weights, pictures, strict=True)]
        same = [bool(np.allclose(before[token], after[n])) for n, token in enumerate(places)]
        return Shown(pictures, [sentence(order, same, causal)], complaints)

    return Explorer(controls, show, predict)


def output_of(fn, places, causal):
    """Return the output (4, 2) for tokens in this order, or None, and what to say about a student's function."""
    args = {name: array[list(places)] for name, array in (("Q", Q), ("K", K), ("V", V))}
    if causal:
        args["mask"] = core.causal_mask(4)
    return (core.attention(*args.values()), []) if fn is None else asked(fn, args, (4, 2))


def sentence(order, same, causal):
    moved = [token for token, is_same in zip(order.split(), same, strict=True) if not is_same]
    said = f"Order {order}, {'causal mask' if causal else 'no mask'}: "
    if not moved:
        return said + "each token has the same output as in the order A B C D; the outputs follow their tokens."
    return said + f"the output of {', '.join(moved)} is not what it is in the order A B C D."


def weight_picture(places, causal):
    names, mask = [TOKENS[n] for n in places], core.causal_mask(4) if causal else None
    weights = core.attention_weights(Q[list(places)], K[list(places)], mask)
    return panels_svg([Panel(weights, mask, f"Weights, {' '.join(names)}", queries=names, keys=names)])


def output_picture(order, output):
    names = order.replace(" ", "")
    marks = [text(8, 22, f"Outputs, {' '.join(names)}", size=14, bold=True)]
    marks += cells(30, 70, output, rows=names, columns=("1", "2"), high=44)
    words = "; ".join(f"{name}: {numbers(row)}" for name, row in zip(names, output, strict=True))
    return svg(marks, 170, 278, f"Outputs, {' '.join(names)}: {words}.")
