"""What must hold of the core's arguments: arrays of numbers that fit each other, or an error that says what came.

What does not fit is a ValueError with the sizes in it, what is of the wrong kind a TypeError; each begins with the name
of the step that found it.
"""

import operator
from typing import Any

import numpy as np

Shape = tuple[int, ...]

FORMS = {
    1: ("at least one row of numbers", "Put brackets around it."),
    2: ("a table with a row for each position", "Write a single row as [[...]]."),
    3: ("(..., n_heads, T, width)", "Give the heads an axis of their own."),
}


def real(where: str, name: str, value: Any, axes: int = 1) -> np.ndarray:
    """`value` as floats with at least so many axes."""
    if type(value) is np.ndarray and value.dtype.kind == "f" and value.ndim >= axes:  # as a rule
        return value
    array = _array(where, name, value)
    if array.dtype.kind not in "fiub":
        rule, advice = f"{name} must hold real numbers", "Give integers or floats only."
        raise TypeError(_words(where, rule, _kind(array), advice))
    if array.ndim < axes:
        form, advice = FORMS[axes]
        raise ValueError(_words(where, f"{name} must be {form}", f"shape {array.shape}", advice))
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def boolean(value: Any, shape: Shape) -> np.ndarray:
    """A mask as booleans that fit scores of `shape`."""
    mask = _array("mask_scores", "mask", value)
    rule = "mask must hold True (may attend) and False, or 1 and 0"
    if mask.dtype.kind not in "fiub":
        raise TypeError(_words("mask_scores", rule, _kind(mask), "Compare something to get booleans."))
    if mask.dtype.kind != "b":
        other, advice = mask[(mask != 0) & (mask != 1)], "It looks additive: add it to the scores, or pass mask == 0."
        if other.size:
            raise ValueError(_words("mask_scores", rule, other[0], advice))
    table_fits = mask.ndim > 0 and all(m in (1, n) for m, n in zip(mask.shape[::-1][:2], shape[::-1][:2], strict=False))
    if not table_fits or broadcast(mask.shape, shape) is None:
        rule, got = "mask must fit the scores (..., n_q, n_k)", f"mask {mask.shape} and scores {shape}"
        advice = "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :]."
        raise ValueError(_words("mask_scores", rule, got, advice))
    return mask.astype(bool, copy=False)


def lengths(value: Any, n_k: int) -> np.ndarray:
    """The lengths of padded sequences, each from 0 to `n_k`."""
    array, advice = _array("padding_mask", "lengths", value), "Count the tokens of each sequence."
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(_words("padding_mask", "lengths must be integers", _kind(array), advice))
    outside = array[(array < 0) | (array > n_k)]
    if outside.size:
        raise ValueError(_words("padding_mask", f"lengths must be from 0 to n_k = {n_k}", outside[0], advice))
    return array


def whole(where: str, name: str, value: Any, least: int | None = None) -> int:
    """`value` as an int, of at least so much."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(_words(where, f"{name} must be an integer", type(value).__name__, "Count with an int."))
    if least is not None and number < least:
        raise ValueError(_words(where, f"{name} must be at least {least}", number, "Check its sign."))
    return number


def axis_from_0(value: Any, shape: Shape) -> int:
    """An axis of `shape` along which to take a softmax, counted from 0."""
    axes, axis = len(shape), whole("softmax", "axis", value)
    if not -axes <= axis < axes:
        raise ValueError(_words("softmax", f"axis must be from {-axes} to {axes - 1}", axis, "Keys are along axis -1."))
    if not shape[axis]:
        rule, got = "a row must have at least one score", f"shape {shape}"
        raise ValueError(_words("softmax", rule, got, "Check what was cut away."))
    return axis % axes


def scale_factor(value: Any, d_k: int) -> float:
    """What Q Kᵀ is multiplied by: 1 / sqrt(d_k) unless something else is asked for."""
    if value is None:
        return d_k**-0.5
    factor = _array("attention_scores", "scale", value)
    rule, advice = "scale must be one finite number", "Leave it out for 1 / sqrt(d_k)."
    if factor.ndim or factor.dtype.kind not in "fiu":
        raise TypeError(_words("attention_scores", rule, type(value).__name__, advice))
    if not np.isfinite(factor):
        raise ValueError(_words("attention_scores", rule, value, advice))
    return float(factor)


# ---- what must fit together ------------------------------------------------------------------------------------------


def broadcast(shape: Shape, other: Shape) -> Shape | None:
    """The shape that these broadcast to, or None."""
    if shape == other:  # as a rule, and broadcast_shapes takes its time
        return shape
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        return None


def scores_shape(Q: np.ndarray, K: np.ndarray) -> Shape:
    """The shape (..., n_q, n_k) of the scores of Q and K, if they fit."""
    lead, (n_q, d_Q), (n_k, d_K) = broadcast(Q.shape[:-2], K.shape[:-2]), Q.shape[-2:], K.shape[-2:]
    if d_Q != d_K:
        rule, advice = "Q and K must have the same width d_k", "Check which projection made each."
    elif n_k == 0 or d_K == 0:
        rule, advice = "n_k and d_k must be at least 1", "Check what was cut away."
    elif lead is None:
        rule, advice = "leading axes of Q and K must be equal or 1", "Repeat or add an axis."
    else:
        return (*lead, n_q, n_k)
    raise ValueError(_words("attention_scores", rule, f"Q {Q.shape} and K {K.shape}", advice))


def output_lead(K: np.ndarray, V: np.ndarray, shape: Shape) -> Shape:
    """The leading axes of the output, if there is a value for each key, and V fits weights of `shape`."""
    if K.shape[-2] != V.shape[-2]:
        rule, got = "K and V must have the same number of rows n_k", f"K {K.shape} and V {V.shape}"
        raise ValueError(_words("attention", rule, got, "Take both from the same sequence."))
    lead = broadcast(shape[:-2], V.shape[:-2])
    if lead is None:
        rule, got = "leading axes of V and the weights must be equal or 1", f"V {V.shape} and weights {shape}"
        raise ValueError(_words("attention", rule, got, "Repeat or add an axis."))
    return lead


def heads_fit(Y: np.ndarray, n_heads: int) -> None:
    """Whether the columns of Y can be cut into heads of one width."""
    if Y.shape[-1] % n_heads:
        rule, got = "n_heads must divide the width of Y", f"Y {Y.shape} and n_heads {n_heads}"
        raise ValueError(_words("split_heads", rule, got, "Give every head the same number of columns."))


def projection(name: str, X: Any, weight_name: str, W: Any) -> tuple[np.ndarray, np.ndarray]:
    """X and W, such that X W has one row a position."""
    where = "multi_head_attention"
    X, W = real(where, name, X, 2), real(where, weight_name, W, 2)
    if W.ndim != 2 or W.shape[0] != X.shape[-1]:
        rule = f"{weight_name} must be a matrix with a row for each column of {name}"
        got = f"{weight_name} {W.shape} and {name} {X.shape}"
        raise ValueError(_words(where, rule, got, "Tokens are the rows of X, so X is on the left."))
    return X, W


def no_empty_rows(empty: np.ndarray | bool, empty_rows: str, kind: str = "query") -> None:
    """Refuse rows without weights, where `empty` is True, by the name of the first; a plain False is quick."""
    if not isinstance(empty_rows, str) or empty_rows not in ("error", "zeros"):
        raise ValueError(_words("softmax", 'empty_rows must be "error" or "zeros"', repr(empty_rows), "Choose one."))
    if empty_rows == "error" and empty is not False and np.any(empty):
        places = np.argwhere(np.atleast_1d(empty)) + 1
        *lead, row = min(places.tolist(), key=lambda place: (place[-1], place))
        entry = f" of entry {tuple(lead) if len(lead) > 1 else lead[0]}" if lead else ""
        rule, got = f"each {kind} must have a key with a score above -inf", f"none for {kind} {row}{entry}"
        raise ValueError(_words("softmax", rule, got, 'Allow one, or ask for empty_rows="zeros".'))


# ---- words -----------------------------------------------------------------------------------------------------------


def _words(where: str, rule: str, got: object, advice: str) -> str:
    return f"{where}: {rule}; got {got}. {advice}"


def _array(where: str, name: str, value: Any) -> np.ndarray:
    if hasattr(value, "filled") and np.any(value.mask):  # a masked array, whose hidden numbers asarray would show
        rule, advice = f"{name} must be a plain array", "Fill it, and pass its mask by itself."
        raise TypeError(_words(where, rule, "a masked one", advice))
    try:
        return np.asarray(value)
    except ValueError:
        rule = f"{name} must have rows of one length"
        raise ValueError(_words(where, rule, "a ragged list", "Fill up the short ones.")) from None
    except RuntimeError as error:  # as of a tensor that keeps track of gradients
        got = f"a {type(value).__name__} that says: {str(error).splitlines()[0].rstrip('.')}"
        raise TypeError(_words(where, f"{name} must be an array", got, "Make an array of it first.")) from None


def _kind(array: np.ndarray) -> str:
    if array.dtype.kind == "O":
        return "objects ({})".format(", ".join(sorted({type(item).__name__ for item in array.flat})))
    return {"U": "text", "S": "bytes", "c": "complex numbers"}.get(array.dtype.kind, f"dtype {array.dtype}")
