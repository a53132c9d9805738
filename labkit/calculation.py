"""The calculation as a chain of named quantities, run with any of its steps gone wrong.

Each quantity is made by a function whose parameters name the quantities that it needs, so that a
right step and a mistaken one are written alike::

    def weights(masked_scores): ...

All functions work on leading axes too: one head and many are the same chain (Note 3.2, sections 1 to 4).
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .exercise import Way


@dataclass(frozen=True)
class Quantity:
    """What the calculation makes at one place.

    Attributes
    ----------
    make : callable
        The right way; its parameters name the quantities that it needs.
    words : str
        What a student reads, to go on from "your".
    step : str
        The step to look at when it is wrong and no mistake is recognised (see ``exercise.PRODUCT_OF_STEP``).
    """

    make: Callable
    words: str
    step: str


# The order is the order of the calculation.
QUANTITIES: dict[str, Quantity] = {
    "projected": Quantity(
        lambda X, X_kv, W_Q, W_K, W_V: (X @ W_Q, X_kv @ W_K, X_kv @ W_V), "projected queries", "heads"
    ),
    "parts": Quantity(lambda projected, n_heads: tuple(split(Y, n_heads) for Y in projected), "heads", "heads"),
    "Q": Quantity(lambda parts: parts[0], "queries", "heads"),
    "K": Quantity(lambda parts: parts[1], "keys", "heads"),
    "V": Quantity(lambda parts: parts[2], "values", "heads"),
    "allowed": Quantity(lambda mask: mask, "mask", "mask"),
    "raw_scores": Quantity(lambda Q, K: Q @ K.swapaxes(-1, -2), "raw scores", "scores"),
    "scores": Quantity(lambda raw_scores, d_k: raw_scores / d_k**0.5, "scores", "scale"),
    "masked_scores": Quantity(
        lambda scores, allowed: scores if allowed is None else np.where(allowed, scores, -np.inf),
        "masked scores",
        "mask",
    ),
    "weights": Quantity(lambda masked_scores: softmax(masked_scores), "weights", "softmax"),
    "output": Quantity(lambda weights, V: weights @ V, "output", "mix"),
    "merged": Quantity(lambda output: merge(output), "merged heads", "heads"),
    "final": Quantity(lambda merged, W_O: merged @ W_O, "output", "heads"),
    "fact": Quantity(lambda fact: fact, "answer", "fact"),  # no chain makes it
}
ORDER = {quantity: place for place, quantity in enumerate(QUANTITIES)}

# A skipped step hands on what it was given.
PASSES_ON = {"parts": "projected", "scores": "raw_scores", "masked_scores": "scores", "final": "merged"}

# A size, the quantity that it is read off, and the axis.
SIZES = {"d_k": ("Q", -1), "d_v": ("V", -1), "n_q": ("Q", -2), "n_k": ("K", -2), "d_model": ("X", -1)}


def chain(first: str, last: str) -> tuple[str, ...]:
    """The steps from one quantity to another, both included, in the order of the calculation."""
    return tuple(QUANTITIES)[ORDER[first] : ORDER[last] + 1]


def steps_from(given: Iterable[str], answer: str) -> tuple[str, ...]:
    """The part of one head's chain that leads from given quantities to the answer; the mask is always part of it."""
    start = max((ORDER[name] for name in given if name in ORDER), default=0)
    return tuple(step for step in chain("allowed", answer) if ORDER[step] > start or step == "allowed")


# The core's own functions raise where students' code gives nan, and their checks would take most of the
# time when thousands of suspects are tried: hence these three in their barest form.


def softmax(scores: np.ndarray, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Softmax of an array (...) along an axis, in which a slice that is empty or infinite turns to nan."""
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def split(Y: np.ndarray, n_heads: int) -> np.ndarray:
    """(T, n_heads * width) -> (n_heads, T, width)"""
    return Y.reshape(Y.shape[0], n_heads, -1).swapaxes(0, 1)


def merge(Z: np.ndarray) -> np.ndarray:
    """(..., n_heads, T, width) -> (..., T, n_heads * width)"""
    *lead, h, T, width = Z.shape
    return Z.swapaxes(-3, -2).reshape(*lead, T, h * width)


@cache
def parameters(function: Callable) -> tuple[str, ...]:
    """Names of the quantities that a step asks for."""
    kinds = inspect.Parameter
    return tuple(p.name for p in inspect.signature(function).parameters.values() if p.kind is not kinds.KEYWORD_ONLY)


def look_up(known: Mapping[str, Any], name: str) -> Any:
    """A quantity that is known, or a size that follows from one; else a ``KeyError``."""
    if name in known:
        return known[name]
    quantity, axis = SIZES[name]
    return known[quantity].shape[axis]


def apply(function: Callable, known: Mapping[str, Any], options: Mapping[str, Any] = {}) -> Any:
    """Call a step with the quantities that its parameters name."""
    return function(*[look_up(known, name) for name in parameters(function)], **options)


def applies(way: Way, known: Mapping[str, Any]) -> bool:
    """Whether a mistake comes up at all: with no mask (None), nobody gets the mask wrong."""
    return all(known.get(name, ...) is not None for name in parameters(way.function))


def run(
    steps: Iterable[str], known: dict[str, Any], ways: Iterable[Way] = (), skips: Iterable[str] = ()
) -> dict[str, Any]:
    """Make the quantities of ``steps`` one after the other and add them to ``known``.

    Parameters
    ----------
    steps : names of quantities, in order
    known : dict
        The quantities given at the start; a ``mask`` of None hides nothing. It is filled as far as
        the calculation gets.
    ways : iterable of Way
        Ways of going wrong: each takes the place of a step, or spoils its result.
    skips : names of steps that hand on what they were given

    Returns
    -------
    dict
        ``known``. What a step raises goes through.
    """
    instead = {way.makes: way for way in ways if not way.spoils}
    skipped = {*skips, *(name for way in ways for name in way.skips)}
    spoils = [way for way in ways if way.spoils]
    for step in steps:
        if step in instead and applies(instead[step], known):
            known[step] = apply(instead[step].function, known, instead[step].options)
        elif step in skipped:
            known[step] = known[PASSES_ON[step]]
        else:
            known[step] = apply(QUANTITIES[step].make, known)
        for way in spoils:
            if way.makes == step and applies(way, known):
                known["answer"] = known[step]
                known[step] = apply(way.function, known, way.options)
    return known
