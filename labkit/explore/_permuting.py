"""Reordering tokens: outputs follow, unless a causal mask ties them to their places."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import attention as core
from ..draw import Panel, Picture, picture
from .explorer import Explorer, Shown, choice, tick
from .picture import cells, numbers, side_by_side, titled

TOKENS = "ABCD"
ORDERS = ("A B C D", "B A C D", "D C B A", "C D A B", "B C D A")
Q = np.array([[2.0, 0], [1, -1], [0, 1], [-1, 2]])
K = np.array([[1.0, 1], [2, -1], [0, 2], [-1, 0]])
V = np.array([[4.0, 0], [0, 4], [-4, 2], [2, -2]])


def permuting(fn: Callable | None = None, *, predict: Any = False) -> Explorer:
    """Reorder tokens: the outputs follow, and under a causal mask they no longer do.

    Controls: "order" (of the tokens A, B, C and D), "causal".

    Parameters
    ----------
    fn : callable, optional
        Your attention(Q, K, V, mask), with Q, K, V (4, 2); without "causal" it gets no mask.
    """
    controls = {"order": choice("order", ORDERS[1], ORDERS), "causal": tick("causal")}
    return Explorer(controls, partial(show, fn=fn), predict)


def show(shown: Shown, fn: Callable | None, order: str, causal: bool) -> None:
    places = [TOKENS.index(token) for token in order.split()]
    outputs = [output_of(shown, fn, list(tokens), causal) for tokens in (range(4), places)]
    shown.loud = list(dict.fromkeys(shown.loud))  # the same may go wrong in both
    before, after = outputs
    if before is None or after is None:
        return
    shown.pictures += [output_picture(TOKENS, before), output_picture(order, after)]
    if fn is None:  # the weights of a student's function are not known
        weights = [weight_picture(list(tokens), causal) for tokens in (range(4), places)]
        shown.pictures = [side_by_side(pair) for pair in zip(weights, shown.pictures, strict=True)]
    moved = [
        token for n, token in enumerate(order.split()) if not np.allclose(before[places[n]], after[n], equal_nan=True)
    ]
    said = f"Order {order}, {'causal mask' if causal else 'no mask'}: "
    if moved:
        said += f"the output of {' and of '.join(moved)} is another one than in the order A B C D."
    else:
        said += "each token has the same output as in the order A B C D; the outputs follow their tokens."
    shown.lines.append(said)


def output_of(shown: Shown, fn: Callable | None, places: list[int], causal: bool) -> np.ndarray | None:
    """Return the output (4, 2) for tokens in this order, or None."""
    args = {"Q": Q[places], "K": K[places], "V": V[places]} | ({"mask": core.causal_mask(4)} if causal else {})
    return core.attention(*args.values()) if fn is None else shown.ask(fn, args, (4, 2))


def weight_picture(places: list[int], causal: bool) -> Picture:
    names, mask = [TOKENS[n] for n in places], core.causal_mask(4) if causal else None
    weights = core.attention_weights(Q[places], K[places], mask)
    return picture([Panel(weights, mask, f"Weights, {' '.join(names)}", queries=names, keys=names)])


def output_picture(order: str, output: np.ndarray) -> Picture:
    names = order.replace(" ", "")
    marks = cells(30, 70, output, rows=names, columns=("1", "2"), high=44)
    title = f"Outputs, {' '.join(names)}"
    words = "; ".join(f"{name}: {numbers(row)}" for name, row in zip(names, output, strict=True))
    return titled(title, 170, 278, marks, f"{title}: {words}.")
