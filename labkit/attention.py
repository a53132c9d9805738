"""Scaled dot-product attention with a function for each step: scores, mask, softmax, mix, heads.

Rows are queries, columns are keys; text counts from 1 ("query 3"), code from 0. Leading axes (batch, heads) broadcast.
Floats keep their precision, integers and booleans become float64, lists will do, and no input is ever altered.

What a mask hides may hold anything, nan and infinity included, and changes nothing. What it does not hide is never
lost: nan or +inf among a query's scores makes its weights nan, and nan among its values makes its output nan there.

In docstrings "AQKV" is the course text "Attention, Queries, Keys, and Values". What does not fit is a ValueError with
the sizes in it, what is of the wrong kind a TypeError; each begins with the name of the step that found it.
"""

import math
import operator
from functools import reduce
from itertools import product

import numpy as np

QUERIES_AT_ONCE = 256  # fewer make for slow matrix products; more scores than these times those leave the cache
KEYS_AT_ONCE = 1024
TOO_SMALL = 1e-19  # for a sum of powers in float32: some that count in it may lie below the smallest number, 1e-38
LOWEST = -3e38  # where looking for the largest score starts: finite, since some keys may all be hidden


def attention_scores(Q, K, scale=None):
    """Compare every query with every key: Q Kᵀ / sqrt(d_k). (Note 3.2, section 3.)

    Parameters
    ----------
    Q : array (..., n_q, d_k)
    K : array (..., n_k, d_k)
        n_k and d_k must be at least 1.
    scale : number, optional
        Multiplies Q Kᵀ in place of 1 / sqrt(d_k). Any finite number: 0 makes all keys equal.

    Returns
    -------
    scores : array (..., n_q, n_k)
    """
    Q, K = _real("attention_scores", "Q", Q, 2), _real("attention_scores", "K", K, 2)
    _scores_shape(Q, K)
    factor = _factor(scale, d_k=Q.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # a key that is hidden later may hold anything
        return Q @ np.swapaxes(K, -1, -2) * factor


def mask_scores(scores, mask):
    """Set hidden scores to -inf, whose exponential is 0. (Note 3.2, section 3; AQKV: masked attention.)

    Parameters
    ----------
    scores : array (..., n_q, n_k), or one row (n_k,)
    mask : bool array (..., n_q, n_k), or one of 0 and 1
        True where a query may attend to a key. Its axes may be fewer or 1, and its leading axes may add to the scores'.
        Other numbers are refused: they look additive.

    Returns
    -------
    masked_scores : array (..., n_q, n_k)
        It is for `softmax` to judge a row that is now empty.
    """
    scores = _real("mask_scores", "scores", scores)
    return np.where(_boolean(mask, scores.shape), scores, -np.inf)


def softmax(scores, axis=-1, *, empty_rows="error"):
    """Turn each row of scores, of whatever size, into weights that add to 1. (Note 3.2, section 4; AQKV: weights.)

    Parameters
    ----------
    scores : array of one axis or more
        -inf hides a key.
    axis : int
        The axis along which keys compete.
    empty_rows : {"error", "zeros"}
        A row of nothing but -inf, wherever these come from, has no weights: an error that names it, or zeros.

    Returns
    -------
    weights : array of the shape of `scores`
    """
    scores = _real("softmax", "scores", scores)
    axis = _axis(axis, scores.shape)
    largest = scores.max(axis=axis, keepdims=True)
    empty = largest == -np.inf
    _check_empty(empty.squeeze(axis), empty_rows, kind="query" if axis == scores.ndim - 1 else "slice")
    with np.errstate(all="ignore"):  # a gap that overflows has weight 0 as it should, and inf - inf is nan
        weights = np.exp(scores - np.where(empty, 0, largest))
        wide = np.result_type(weights, np.float32)  # float16 cannot count more than 65504 keys
        weights /= np.where(empty, 1, weights.sum(axis=axis, keepdims=True, dtype=wide))
    return weights


def attention_weights(Q, K, mask=None, *, is_causal=False, scale=None, empty_rows="error"):
    """Share out each query's attention over the keys that it may see. (Note 3.2, section 4; AQKV: weights.)

    Parameters
    ----------
    Q, K, scale
        As for `attention_scores`.
    mask : bool array (..., n_q, n_k), optional
        As for `mask_scores`.
    is_causal : bool
        Hide key j from query i where j > i, as `causal_mask` does, besides what the mask hides.
    empty_rows : {"error", "zeros"}
        What becomes of a query that may see no key.

    Returns
    -------
    weights : array (..., n_q, n_k)
        Each row adds to 1; a hidden key has exactly 0.
    """
    scores = attention_scores(Q, K, scale)
    if is_causal:
        scores = mask_scores(scores, causal_mask(*scores.shape[-2:]))
    if mask is not None:
        scores = mask_scores(scores, mask)
    return softmax(scores, empty_rows=empty_rows)


def attention(Q, K, V, mask=None, *, is_causal=False, scale=None, empty_rows="error", return_weights=False):
    """Mix the values: softmax(Q Kᵀ / sqrt(d_k)) V. (Note 3.2, section 5; lesson 05; AQKV.)

    Parameters
    ----------
    Q, K, mask, is_causal, scale, empty_rows
        As for `attention_weights`.
    V : array (..., n_k, d_v)
    return_weights : bool
        Without the weights a large score table is never held whole: memory grows as n_q + n_k. Every core then works.

    Returns
    -------
    output : array (..., n_q, d_v)
        Row i lies among the values that query i may see.
    weights : array (..., n_q, n_k), only if asked for
    """
    Q, K, V = _real("attention", "Q", Q, 2), _real("attention", "K", K, 2), _real("attention", "V", V, 2)
    shape = _scores_shape(Q, K)
    if mask is not None:
        mask = _boolean(mask, shape)
        shape = np.broadcast_shapes(shape, mask.shape)
    _check_values(K, V, shape)
    if return_weights:
        weights = attention_weights(Q, K, mask, is_causal=is_causal, scale=scale, empty_rows=empty_rows)
        return _mix(weights, V, mask, is_causal), weights
    output, empty = _attention_by_blocks(Q, K, V, mask, is_causal, _factor(scale, Q.shape[-1]), shape)
    _check_empty(empty, empty_rows)
    return output


def causal_mask(n_q, n_k=None):
    """Let query i see keys 1 to i. (Note 3.2, section 5; AQKV: the causal mask.)

    Parameters
    ----------
    n_q : int
    n_k : int, optional
        As many as queries if not given; queries and keys are both counted from their first.

    Returns
    -------
    mask : bool array (n_q, n_k)
        True on and below the diagonal.
    """
    n_q = _whole("causal_mask", "n_q", n_q, least=0)
    n_k = n_q if n_k is None else _whole("causal_mask", "n_k", n_k, least=0)
    return np.arange(n_k) <= np.arange(n_q)[:, None]


def padding_mask(lengths, n_k):
    """Hide the padding behind each sequence of a batch. (AQKV: masked attention.)

    Parameters
    ----------
    lengths : int array (batch,), or any shape
        From 0, which leaves no key to see, to n_k.
    n_k : int

    Returns
    -------
    mask : bool array (batch, n_k)
        True at the first `lengths` keys. For scores (batch, n_q, n_k) write `mask[:, None, :]`.
    """
    n_k = _whole("padding_mask", "n_k", n_k, least=0)
    lengths = _array("padding_mask", "lengths", lengths)
    advice = "Count the tokens of each sequence."
    if lengths.size and lengths.dtype.kind not in "iu":
        raise TypeError(_words("padding_mask", "lengths must be integers", _kind(lengths), advice))
    outside = lengths[(lengths < 0) | (lengths > n_k)]
    if outside.size:
        raise ValueError(_words("padding_mask", f"lengths must be from 0 to n_k = {n_k}", outside[0], advice))
    return np.arange(n_k) < lengths[..., None]


def split_heads(Y, n_heads):
    """Cut a projected matrix into heads: head r owns columns r·w to (r + 1)·w. (Note 3.2, section 3.)

    Parameters
    ----------
    Y : array (..., T, n_heads * w)
    n_heads : int

    Returns
    -------
    heads : array (..., n_heads, T, w)
    """
    Y, n_heads = _real("split_heads", "Y", Y, 2), _whole("split_heads", "n_heads", n_heads, least=1)
    *lead, length, width = Y.shape
    if width % n_heads:
        rule, got = "n_heads must divide the width of Y", f"Y {Y.shape} and n_heads {n_heads}"
        raise ValueError(_words("split_heads", rule, got, "Give every head the same number of columns."))
    return Y.reshape(*lead, length, n_heads, width // n_heads).swapaxes(-2, -3).copy()


def merge_heads(Z):
    """Put the heads of each token side by side again. (Note 3.2, section 3.)

    Parameters
    ----------
    Z : array (..., n_heads, T, w)

    Returns
    -------
    merged : array (..., T, n_heads * w)
    """
    Z = _real("merge_heads", "Z", Z, 3)
    *lead, n_heads, length, width = Z.shape
    return Z.swapaxes(-2, -3).copy().reshape(*lead, length, n_heads * width)


def multi_head_attention(
    X, W_Q, W_K, W_V, W_O, n_heads, mask=None, *, is_causal=False, X_kv=None, return_weights=False
):
    """Project, split, attend, merge, project. (Note 3.2, sections 3 and 5; AQKV: multi-head attention.)

    Parameters
    ----------
    X : array (..., n_q, d_model)
    W_Q, W_K : array (d_model, n_heads * d_k)
    W_V : array (d_model, n_heads * d_v)
    W_O : array (n_heads * d_v, d_out)
    n_heads : int
    mask : bool array (..., n_heads, n_q, n_k), optional
        Axes may be fewer or 1. One mask for each sequence, (batch, n_q, n_k), goes in as `mask[:, None]`.
    is_causal : bool
    X_kv : array (..., n_k, d_model), optional
        The sequence that gives keys and values in cross-attention; X itself if not given.
    return_weights : bool

    Returns
    -------
    output : array (..., n_q, d_out)
    weights : array (..., n_heads, n_q, n_k), only if asked for
    """
    source, X_kv = ("X", X) if X_kv is None else ("X_kv", X_kv)
    Q = split_heads(_project("X", X, "W_Q", W_Q), n_heads)
    K = split_heads(_project(source, X_kv, "W_K", W_K), n_heads)
    V = split_heads(_project(source, X_kv, "W_V", W_V), n_heads)
    mixed = attention(Q, K, V, mask, is_causal=is_causal, return_weights=return_weights)
    heads, weights = mixed if return_weights else (mixed, None)
    output = _project("the merged heads", merge_heads(heads), "W_O", W_O)
    return (output, weights) if return_weights else output


# ---- the mix, and the same in less time and memory -------------------------------------------------------------------


def _mix(weights, V, mask=None, is_causal=False):
    """`weights @ V`, in which a hidden value counts for nothing even where it is nan or infinite."""
    if np.isfinite(V).all():
        return weights @ V
    allowed = causal_mask(*weights.shape[-2:]) if is_causal else np.ones((1, weights.shape[-1]), dtype=bool)
    allowed = (allowed if mask is None else allowed & mask).astype(weights.dtype)  # products of floats are quicker
    output = weights @ np.where(np.isfinite(V), V, 0)  # 0 · nan is nan: first without, then for those who see them
    with np.errstate(invalid="ignore"):  # inf - inf is nan, as it should be
        for value, where in ((np.inf, np.isposinf(V)), (-np.inf, np.isneginf(V)), (np.nan, np.isnan(V))):
            output = np.where(allowed @ where > 0, output + value, output)
    return output


def _in_place(Q, K, V, mask, first, factor, shift):
    """All five steps in as little time as NumPy allows, and the sums of powers that were divided by.

    If `first` is given, the mask is causal, too, and Q begins with that query. Without `shift` the powers are those of
    the scores as they stand, and not of their distance from the largest.
    """
    Q = Q * factor
    if K.shape[-2] <= KEYS_AT_ONCE:
        output, total, _ = _over_keys(Q, K, V, mask, first, shift)
    else:
        output, total, _ = reduce(_joined, (_over_keys(Q, *some, shift) for some in _some_keys(K, V, mask, first)))
    output /= total
    return output, total


def _over_keys(Q, K, V, mask, first, shift):
    """For each query: the sum of values times powers, the sum of powers, and the score that has power 1."""
    scores = K @ Q.mT  # keys are the rows here: a narrow table is quicker to fill
    if mask is not None:
        scores.mT[~mask] = -np.inf
    if first is not None:
        n_k, n_q = scores.shape[-2:]
        seen_by_all = max(first, 0)
        hidden = np.arange(seen_by_all, n_k)[:, None] > np.arange(first, first + n_q)
        np.copyto(scores[..., seen_by_all:, :], -np.inf, where=hidden)
    origin = None
    if shift:
        origin = scores.max(axis=-2, keepdims=True, initial=LOWEST)
        scores -= origin
    powers = np.exp(scores, out=scores)
    wide = np.float32 if powers.itemsize == 2 else None  # float16 cannot count more than 65504 keys
    total = powers.sum(axis=-2, keepdims=True, dtype=wide)
    return powers.mT @ V, total.mT, origin if origin is None else origin.mT


def _some_keys(K, V, mask, first):
    """K, V, mask and first for some keys after the other."""
    for keys in _slices(K.shape[-2], KEYS_AT_ONCE):
        allowed = None if mask is None else mask[..., keys]
        yield K[..., keys, :], V[..., keys, :], allowed, None if first is None else first - keys.start


def _joined(some, more):
    """What `_over_keys` would give for both lots of keys at once: powers shrink when a larger score gets power 1."""
    (output, total, origin), (more_output, more_total, more_origin) = some, more
    if origin is None:
        return output + more_output, total + more_total, None
    largest = np.maximum(origin, more_origin)
    shrink, shrink_more = np.exp(origin - largest), np.exp(more_origin - largest)
    return output * shrink + more_output * shrink_more, total * shrink + more_total * shrink_more, largest


@np.errstate(all="ignore")
def _block(Q, K, V, mask, first, factor):
    """The output of a block of queries, and which of them may see no key."""
    for shift in (False, True) if Q.itemsize > 2 else (True,):  # at first in the hope that all powers are in range
        output, total = _in_place(Q, K, V, mask, first, factor, shift)
        if output.size and total.min() > TOO_SMALL and math.isfinite(output.sum() + total.sum()):
            return output, False
    n_q, n_k = Q.shape[-2], K.shape[-2]
    if first is not None:
        causal = np.arange(n_k) <= np.arange(first, first + n_q)[:, None]
        mask = causal if mask is None else causal & mask
    outputs, empty = [], []
    for rows in _slices(n_q, QUERIES_AT_ONCE * KEYS_AT_ONCE // n_k):
        allowed = None if mask is None else mask[..., rows, :]
        weights = attention_weights(Q[..., rows, :], K, allowed, scale=factor, empty_rows="zeros")
        outputs.append(_mix(weights, V, allowed))
        empty.append(~weights.any(axis=-1))
    return np.concatenate(outputs, axis=-2), np.concatenate(empty, axis=-1)


def _attention_by_blocks(Q, K, V, mask, is_causal, factor, shape):
    """The output of every query, and which of them may see no key; `shape` is that of the scores."""
    n_q, n_k = shape[-2:]
    lead = _broadcast(shape[:-2], V.shape[:-2])
    if mask is not None:
        Q, mask = np.broadcast_to(Q, (*shape[:-2], *Q.shape[-2:])), np.broadcast_to(mask, shape)
    if math.prod(lead) * n_q <= QUERIES_AT_ONCE:
        return _block(Q, K, V, mask, 0 if is_causal else None, factor)
    from . import cores  # loads more than NumPy

    Q, K, V = (np.broadcast_to(array, (*lead, *array.shape[-2:])) for array in (Q, K, V))
    mask = None if mask is None else np.broadcast_to(mask, (*lead, n_q, n_k))
    output = np.empty((*lead, n_q, V.shape[-1]), np.result_type(Q, K, V))
    empty = np.zeros((*lead, n_q), dtype=bool)

    def work(block):
        *table, queries = block
        seen = (*table, slice(queries.stop if is_causal else None))  # later keys are hidden from the whole block
        allowed = None if mask is None else mask[block][..., seen[-1]]
        first = queries.start if is_causal else None
        output[block], empty[block] = _block(Q[block], K[seen], V[seen], allowed, first, factor)

    cores.share_out(work, _blocks(lead, n_q))
    axes_of_V_alone = (0,) * (len(lead) + 2 - len(shape))
    return output, empty[axes_of_V_alone][tuple(map(slice, shape[:-1]))]


def _blocks(lead, n_q):
    """Indices (*lead, queries) of some queries of one table, or of all queries of several short tables."""
    tables = product(*map(range, lead[:-1]), *(_slices(n, QUERIES_AT_ONCE // n_q) for n in lead[-1:]))
    return [(*table, queries) for table in tables for queries in _slices(n_q, QUERIES_AT_ONCE)]


def _slices(n, size):
    """Slices of so many, but at least of 1, that cover 0 to n."""
    size = max(1, size)
    return [slice(start, min(start + size, n)) for start in range(0, n or 1, size)]


# ---- what must hold --------------------------------------------------------------------------------------------------


def _words(where, rule, got, advice):
    return f"{where}: {rule}; got {got}. {advice}"


def _array(where, name, value):
    if hasattr(value, "filled") and np.any(value.mask):  # a masked array, whose hidden numbers asarray would show
        rule, advice = f"{name} must be a plain array", "Fill it, and pass its mask by itself."
        raise TypeError(_words(where, rule, "a masked one", advice))
    try:
        return np.asarray(value)
    except ValueError:
        rule = f"{name} must have rows of one length"
        raise ValueError(_words(where, rule, "a ragged list", "Fill up the short ones.")) from None


def _kind(array):
    if array.dtype.kind == "O":
        return "objects ({})".format(", ".join(sorted({type(item).__name__ for item in array.flat})))
    return {"U": "text", "S": "bytes", "c": "complex numbers"}.get(array.dtype.kind, f"dtype {array.dtype}")


FORMS = {
    1: ("at least one row of numbers", "Put brackets around it."),
    2: ("a table with a row for each position", "Write a single row as [[...]]."),
    3: ("(..., n_heads, T, width)", "Give the heads an axis of their own."),
}


def _real(where, name, value, axes=1):
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


def _boolean(mask, shape):
    """`mask` as booleans that fit scores of `shape`."""
    mask = _array("mask_scores", "mask", mask)
    rule = "mask must hold True (may attend) and False, or 1 and 0"
    if mask.dtype.kind not in "fiub":
        raise TypeError(_words("mask_scores", rule, _kind(mask), "Compare something to get booleans."))
    if mask.dtype.kind != "b":
        other, advice = mask[(mask != 0) & (mask != 1)], "It looks additive: add it to the scores, or pass mask == 0."
        if other.size:
            raise ValueError(_words("mask_scores", rule, other[0], advice))
    table_fits = mask.ndim > 0 and all(m in (1, n) for m, n in zip(mask.shape[::-1][:2], shape[::-1][:2], strict=False))
    if not table_fits or _broadcast(mask.shape, shape) is None:
        rule, got = "mask must fit the scores (..., n_q, n_k)", f"mask {mask.shape} and scores {shape}"
        advice = "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :]."
        raise ValueError(_words("mask_scores", rule, got, advice))
    return mask.astype(bool, copy=False)


def _broadcast(shape, other):
    """The shape that these broadcast to, or None."""
    if shape == other:  # as a rule, and broadcast_shapes takes its time
        return shape
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        return None


def _scores_shape(Q, K):
    """The shape (..., n_q, n_k) of the scores of Q and K, if they fit."""
    lead, (n_q, d_Q), (n_k, d_K) = _broadcast(Q.shape[:-2], K.shape[:-2]), Q.shape[-2:], K.shape[-2:]
    if d_Q != d_K:
        rule, advice = "Q and K must have the same width d_k", "Check which projection made each."
    elif n_k == 0 or d_K == 0:
        rule, advice = "n_k and d_k must be at least 1", "Check what was cut away."
    elif lead is None:
        rule, advice = "leading axes of Q and K must be equal or 1", "Repeat or add an axis."
    else:
        return (*lead, n_q, n_k)
    raise ValueError(_words("attention_scores", rule, f"Q {Q.shape} and K {K.shape}", advice))


def _check_values(K, V, shape):
    if K.shape[-2] != V.shape[-2]:
        rule, got = "K and V must have the same number of rows n_k", f"K {K.shape} and V {V.shape}"
        raise ValueError(_words("attention", rule, got, "Take both from the same sequence."))
    if _broadcast(shape[:-2], V.shape[:-2]) is None:
        rule, got = "leading axes of V and the weights must be equal or 1", f"V {V.shape} and weights {shape}"
        raise ValueError(_words("attention", rule, got, "Repeat or add an axis."))


def _check_empty(empty, empty_rows, kind="query"):
    """Refuse rows without weights, where `empty` is True, by the name of the first; a plain False is quick."""
    if empty_rows not in ("error", "zeros"):
        raise ValueError(_words("softmax", 'empty_rows must be "error" or "zeros"', repr(empty_rows), "Choose one."))
    if empty_rows == "error" and empty is not False and empty.any():
        places = np.argwhere(np.atleast_1d(empty)) + 1
        *lead, row = min(places.tolist(), key=lambda place: (place[-1], place))
        entry = f" of entry {tuple(lead) if len(lead) > 1 else lead[0]}" if lead else ""
        rule, got = f"each {kind} must have a key with a score above -inf", f"none for {kind} {row}{entry}"
        raise ValueError(_words("softmax", rule, got, 'Allow one, or ask for empty_rows="zeros".'))


def _axis(axis, shape):
    """`axis` counted from 0."""
    axes, axis = len(shape), _whole("softmax", "axis", axis)
    if not -axes <= axis < axes:
        raise ValueError(_words("softmax", f"axis must be from {-axes} to {axes - 1}", axis, "Keys are along axis -1."))
    if not shape[axis]:
        rule, got = "a row must have at least one score", f"shape {shape}"
        raise ValueError(_words("softmax", rule, got, "Check what was cut away."))
    return axis % axes


def _factor(scale, d_k):
    if scale is None:
        return d_k**-0.5
    factor = _array("attention_scores", "scale", scale)
    rule, advice = "scale must be one finite number", "Leave it out for 1 / sqrt(d_k)."
    if factor.ndim or factor.dtype.kind not in "fiu":
        raise TypeError(_words("attention_scores", rule, type(scale).__name__, advice))
    if not np.isfinite(factor):
        raise ValueError(_words("attention_scores", rule, scale, advice))
    return float(factor)


def _whole(where, name, value, least=None):
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


def _project(name, X, weight_name, W):
    """X W, one row a position."""
    where = "multi_head_attention"
    X, W = _real(where, name, X, 2), _real(where, weight_name, W, 2)
    if W.ndim != 2 or W.shape[0] != X.shape[-1]:
        rule = f"{weight_name} must be a matrix with a row for each column of {name}"
        got = f"{weight_name} {W.shape} and {name} {X.shape}"
        raise ValueError(_words(where, rule, got, "Tokens are the rows of X, so X is on the left."))
    with np.errstate(over="ignore", invalid="ignore"):  # a token that is hidden may hold anything
        return X @ W
