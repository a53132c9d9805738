"""Scaled dot-product attention with a function for each step: scores, mask, softmax, mix, heads.

Rows are queries, columns are keys; text counts from 1 ("query 3"), code from 0. Leading axes (batch, heads) broadcast.
Floats keep their precision, integers and booleans become float64, lists will do, and no input is ever altered.

What a mask hides may hold anything, nan and infinity included, and changes nothing. What it does not hide is never
lost: nan or +inf among a query's scores makes its weights nan, and nan among its values makes its output nan there.

In docstrings "AQKV" is the course text "Attention, Queries, Keys, and Values". What does not fit is a ValueError with
the sizes in it, what is of the wrong kind a TypeError; each begins with the name of the step that found it.
"""

import operator

import numpy as np

SCORES_AT_ONCE = 2**19  # `attention` holds no more scores than this at a time, unless the weights are asked for


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
        Without the weights a large score table is never held whole: memory grows as n_q + n_k.

    Returns
    -------
    output : array (..., n_q, d_v)
        Row i lies among the values that query i may see.
    weights : array (..., n_q, n_k), only if asked for
    """
    Q, K, V = (_real("attention", name, array, 2) for name, array in (("Q", Q), ("K", K), ("V", V)))
    shape = _scores_shape(Q, K)
    if mask is not None:
        mask = _boolean(mask, shape)
        shape = np.broadcast_shapes(shape, mask.shape)
    _check_values(K, V, shape)
    if not return_weights and np.prod(shape, dtype=float) > SCORES_AT_ONCE:
        return _attention_by_blocks(Q, K, V, mask, is_causal, scale, empty_rows, _rows_at_once(shape))
    weights = attention_weights(Q, K, mask, is_causal=is_causal, scale=scale, empty_rows=empty_rows)
    output = _mix(weights, V, mask, is_causal)
    return (output, weights) if return_weights else output


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
    is_whole, advice = lengths.dtype.kind in "iu" or not lengths.size, "Count the tokens of each sequence."
    _need(is_whole, "padding_mask", "lengths must be integers", _kind(lengths), advice, TypeError)
    outside = lengths[(lengths < 0) | (lengths > n_k)]
    rule, got = f"lengths must be from 0 to n_k = {n_k}", next(iter(outside), None)
    _need(not outside.size, "padding_mask", rule, got, advice)
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
    rule, got = "n_heads must divide the width of Y", f"Y {Y.shape} and n_heads {n_heads}"
    _need(width % n_heads == 0, "split_heads", rule, got, "Give every head the same number of columns.")
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


# ---- the mix, and the same in less memory ----------------------------------------------------------------------------


def _mix(weights, V, mask=None, is_causal=False):
    """`weights @ V`, in which a hidden value counts for nothing even where it is nan or infinite."""
    if np.isfinite(V).all():
        return weights @ V
    allowed = causal_mask(*weights.shape[-2:]) if is_causal else np.ones((1, weights.shape[-1]), dtype=bool)
    allowed = allowed if mask is None else allowed & mask
    output = weights @ np.where(np.isfinite(V), V, 0)  # 0 · nan is nan: first without, then for those who see them
    with np.errstate(invalid="ignore"):  # inf - inf is nan, as it should be
        for value, where in ((np.inf, np.isposinf(V)), (-np.inf, np.isneginf(V)), (np.nan, np.isnan(V))):
            output = np.where(allowed @ where, output + value, output)
    return output


def _attention_by_blocks(Q, K, V, mask, is_causal, scale, empty_rows, rows):
    """`attention` from so many rows of the score table at a time, which works since no row depends on another."""
    n_q, n_k = Q.shape[-2], K.shape[-2]
    if mask is not None:
        mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, (n_q, n_k)))
    outputs = []
    for start in range(0, n_q, rows):
        stop = min(start + rows, n_q)
        seen = min(stop, n_k) if is_causal else n_k  # later keys are hidden from the whole block
        allowed = None if mask is None else mask[..., start:stop, :seen]
        if is_causal:
            causal = np.arange(seen) <= np.arange(start, stop)[:, None]
            allowed = causal if mask is None else causal & allowed
        weights = attention_weights(Q[..., start:stop, :], K[..., :seen, :], allowed, scale=scale, empty_rows="zeros")
        _check_empty(~weights.any(axis=-1), empty_rows, first=start)
        outputs.append(_mix(weights, V[..., :seen, :], allowed))
    return np.concatenate(outputs, axis=-2)


def _rows_at_once(shape):
    *lead, _, n_k = shape
    return max(1, SCORES_AT_ONCE // int(np.prod([*lead, n_k])))


# ---- what must hold --------------------------------------------------------------------------------------------------


def _need(holds, where, rule, got, advice, error=ValueError):
    if not holds:
        raise error(f"{where}: {rule}; got {got}. {advice}")


def _array(where, name, value):
    hides = hasattr(value, "filled") and np.any(value.mask)  # a masked array, whose hidden numbers asarray would show
    advice = "Fill it, and pass its mask by itself."
    _need(not hides, where, f"{name} must be a plain array", "a masked one", advice, TypeError)
    try:
        return np.asarray(value)
    except ValueError:
        rule = f"{name} must have rows of one length"
        raise ValueError(f"{where}: {rule}; got a ragged list. Fill up the short ones.") from None


def _kind(array):
    if array.dtype.kind == "O":
        return "objects ({})".format(", ".join(sorted({type(item).__name__ for item in array.flat})))
    return {"U": "text", "S": "bytes", "c": "complex numbers"}.get(array.dtype.kind, f"dtype {array.dtype}")


def _real(where, name, value, axes=1):
    """`value` as floats with at least so many axes."""
    array = _array(where, name, value)
    rule, advice = f"{name} must hold real numbers", "Give integers or floats only."
    _need(array.dtype.kind in "fiub", where, rule, _kind(array), advice, TypeError)
    form = (
        ("at least one row of numbers", "Put brackets around it."),
        ("a table with a row for each position", "Write a single row as [[...]]."),
        ("(..., n_heads, T, width)", "Give the heads an axis of their own."),
    )[axes - 1]
    _need(array.ndim >= axes, where, f"{name} must be {form[0]}", f"shape {array.shape}", form[1])
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _boolean(mask, shape):
    """`mask` as booleans that fit scores of `shape`."""
    mask = _array("mask_scores", "mask", mask)
    rule, advice = "mask must hold True (may attend) and False, or 1 and 0", "Compare something to get booleans."
    _need(mask.dtype.kind in "fiub", "mask_scores", rule, _kind(mask), advice, TypeError)
    if mask.dtype.kind != "b":
        other = mask[(mask != 0) & (mask != 1)]
        advice = "It looks additive: add it to the scores, or pass mask == 0."
        _need(not other.size, "mask_scores", rule, next(iter(other), None), advice)
    table_fits = mask.ndim > 0 and all(m in (1, n) for m, n in zip(mask.shape[::-1][:2], shape[::-1][:2], strict=False))
    fits = table_fits and _broadcast(mask.shape, shape) is not None
    rule, got = "mask must fit the scores (..., n_q, n_k)", f"mask {mask.shape} and scores {shape}"
    _need(fits, "mask_scores", rule, got, "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :].")
    return mask.astype(bool, copy=False)


def _broadcast(*shapes):
    """The shape that these broadcast to, or None."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _scores_shape(Q, K):
    """The shape (..., n_q, n_k) of the scores of Q and K, if they fit."""
    where, got = "attention_scores", f"Q {Q.shape} and K {K.shape}"
    lead = _broadcast(Q.shape[:-2], K.shape[:-2])
    same_width = Q.shape[-1] == K.shape[-1]
    _need(same_width, where, "Q and K must have the same width d_k", got, "Check which projection made each.")
    _need(0 not in K.shape[-2:], where, "n_k and d_k must be at least 1", got, "Check what was cut away.")
    _need(lead is not None, where, "leading axes of Q and K must be equal or 1", got, "Repeat or add an axis.")
    return (*lead, Q.shape[-2], K.shape[-2])


def _check_values(K, V, shape):
    rule, got = "K and V must have the same number of rows n_k", f"K {K.shape} and V {V.shape}"
    _need(K.shape[-2] == V.shape[-2], "attention", rule, got, "Take both from the same sequence.")
    rule, got = "leading axes of V and the weights must be equal or 1", f"V {V.shape} and weights {shape}"
    _need(_broadcast(shape[:-2], V.shape[:-2]) is not None, "attention", rule, got, "Repeat or add an axis.")


def _check_empty(empty, empty_rows, kind="query", first=0):
    """Refuse rows without weights, where `empty` is True, by the name of the first."""
    choices, got = ("error", "zeros"), repr(empty_rows)
    _need(empty_rows in choices, "softmax", 'empty_rows must be "error" or "zeros"', got, "Choose one.")
    if empty_rows == "error" and empty.any():
        places = np.argwhere(np.atleast_1d(empty)) + 1
        *lead, row = min(places.tolist(), key=lambda place: (place[-1], place))
        entry = f" of entry {tuple(lead) if len(lead) > 1 else lead[0]}" if lead else ""
        rule, got = f"each {kind} must have a key with a score above -inf", f"none for {kind} {row + first}{entry}"
        raise ValueError(f'softmax: {rule}; got {got}. Allow one, or ask for empty_rows="zeros".')


def _axis(axis, shape):
    """`axis` counted from 0."""
    axes = len(shape)
    axis, advice = _whole("softmax", "axis", axis), "Keys are along axis -1."
    _need(-axes <= axis < axes, "softmax", f"axis must be from {-axes} to {axes - 1}", axis, advice)
    _need(shape[axis], "softmax", "a row must have at least one score", f"shape {shape}", "Check what was cut away.")
    return axis % axes


def _factor(scale, d_k):
    if scale is None:
        return d_k**-0.5
    factor = _array("attention_scores", "scale", scale)
    number = factor.ndim == 0 and factor.dtype.kind in "fiu"
    rule, advice = "scale must be one finite number", "Leave it out for 1 / sqrt(d_k)."
    _need(number, "attention_scores", rule, type(scale).__name__, advice, TypeError)
    _need(np.isfinite(factor), "attention_scores", rule, scale, advice)
    return float(factor)


def _whole(where, name, value, least=None):
    """`value` as an int, of at least so much."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    got, advice = type(value).__name__, "Count with an int."
    _need(number is not None, where, f"{name} must be an integer", got, advice, TypeError)
    _need(least is None or number >= least, where, f"{name} must be at least {least}", number, "Check its sign.")
    return number


def _project(name, X, weight_name, W):
    """X W, one row a position."""
    where = "multi_head_attention"
    X, W = _real(where, name, X, 2), _real(where, weight_name, W, 2)
    rule = f"{weight_name} must be a matrix with a row for each column of {name}"
    got = f"{weight_name} {W.shape} and {name} {X.shape}"
    _need(W.ndim == 2 and W.shape[0] == X.shape[-1], where, rule, got, "Tokens are the rows of X, so X is on the left.")
    with np.errstate(over="ignore", invalid="ignore"):  # a token that is hidden may hold anything
        return X @ W
