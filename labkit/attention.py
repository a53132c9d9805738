"""Scaled dot-product attention with a function for each step: scores, mask, softmax, mix, heads.

Rows are queries, columns are keys; text counts from 1 ("query 3"), code from 0. Leading axes (batch, heads) broadcast.
Floats keep their precision, integers and booleans become float64, lists will do, and no input is ever altered.

What a mask hides may hold anything, nan and infinity included, and changes nothing. What it does not hide is never
lost: nan or +inf among a query's scores makes its weights nan, and nan among its values makes its output nan there.

In docstrings "AQKV" is the course text "Attention, Queries, Keys, and Values". What does not fit is a ValueError with
the sizes in it, what is of the wrong kind a TypeError (see `arguments`).
"""

import math
from collections.abc import Iterable
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import arguments, running_softmax
from .arguments import Shape
from .running_softmax import slices

QUERIES_AT_ONCE = 256  # fewer make for slow matrix products; more scores than these times those leave the cache
TOO_SMALL = 1e-19  # for a sum of powers in float32: some that count in it may lie below the smallest number, 1e-38

EmptyRows = Literal["error", "zeros"]


def attention_scores(Q: ArrayLike, K: ArrayLike, scale: float | None = None) -> np.ndarray:
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

    Examples
    --------
    >>> attention_scores([[1, 0, 0, 0]], [[4, 0, 0, 0], [0, 4, 0, 0]])
    array([[2., 0.]])
    """
    Q, K = arguments.real("attention_scores", "Q", Q, 2), arguments.real("attention_scores", "K", K, 2)
    arguments.scores_shape(Q, K)
    factor = arguments.scale_factor(scale, d_k=Q.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # a key that is hidden later may hold anything
        return Q @ np.swapaxes(K, -1, -2) * factor


def mask_scores(scores: ArrayLike, mask: ArrayLike) -> np.ndarray:
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

    Examples
    --------
    >>> mask_scores([[1.5, 2.5]], [[True, False]])
    array([[ 1.5, -inf]])
    """
    scores = arguments.real("mask_scores", "scores", scores)
    return np.where(arguments.boolean(mask, scores.shape), scores, -np.inf)


def softmax(scores: ArrayLike, axis: int = -1, *, empty_rows: EmptyRows = "error") -> np.ndarray:
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

    Examples
    --------
    >>> softmax([2, 0, -np.inf]).round(2)
    array([0.88, 0.12, 0.  ])
    """
    scores = arguments.real("softmax", "scores", scores)
    axis = arguments.axis_from_0(axis, scores.shape)
    largest = scores.max(axis=axis, keepdims=True)
    empty = largest == -np.inf
    arguments.no_empty_rows(empty.squeeze(axis), empty_rows, kind="query" if axis == scores.ndim - 1 else "slice")
    with np.errstate(all="ignore"):  # a gap that overflows has weight 0 as it should, and inf - inf is nan
        weights = np.exp(scores - np.where(empty, 0, largest))
        wide = np.result_type(weights, np.float32)  # float16 cannot count more than 65504 keys
        weights /= np.where(empty, 1, weights.sum(axis=axis, keepdims=True, dtype=wide))
    return weights


def attention_weights(
    Q: ArrayLike,
    K: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    empty_rows: EmptyRows = "error",
) -> np.ndarray:
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

    Examples
    --------
    >>> attention_weights(np.eye(2), np.eye(2), is_causal=True).round(2)
    array([[1.  , 0.  ],
           [0.33, 0.67]])
    """
    scores = attention_scores(Q, K, scale)
    if is_causal:
        scores = mask_scores(scores, causal_mask(*scores.shape[-2:]))
    if mask is not None:
        scores = mask_scores(scores, mask)
    return softmax(scores, empty_rows=empty_rows)


def attention(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    empty_rows: EmptyRows = "error",
    return_weights: bool = False,
) -> np.ndarray | Any:  # a tuple, if weights are asked for
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

    Examples
    --------
    >>> attention([[1, 0]], [[1, 0], [1, 0]], [[0, 6], [8, 2]])
    array([[4., 4.]])
    """
    Q = arguments.real("attention", "Q", Q, 2)
    K = arguments.real("attention", "K", K, 2)
    V = arguments.real("attention", "V", V, 2)
    shape = arguments.scores_shape(Q, K)
    if mask is not None:
        mask = arguments.boolean(mask, shape)
        shape = np.broadcast_shapes(shape, mask.shape)
    lead = arguments.output_lead(K, V, shape)
    if return_weights:
        weights = attention_weights(Q, K, mask, is_causal=is_causal, scale=scale, empty_rows=empty_rows)
        return _mix(weights, V, mask, is_causal), weights
    output, empty = _attention_by_blocks(
        Q, K, V, mask, is_causal, arguments.scale_factor(scale, Q.shape[-1]), shape, lead
    )
    arguments.no_empty_rows(empty, empty_rows)
    return output


def causal_mask(n_q: int, n_k: int | None = None) -> np.ndarray:
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

    Examples
    --------
    >>> causal_mask(2, 3)
    array([[ True, False, False],
           [ True,  True, False]])
    """
    n_q = arguments.whole("causal_mask", "n_q", n_q, least=0)
    n_k = n_q if n_k is None else arguments.whole("causal_mask", "n_k", n_k, least=0)
    return np.arange(n_k) <= np.arange(n_q)[:, None]


def padding_mask(lengths: ArrayLike, n_k: int) -> np.ndarray:
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

    Examples
    --------
    >>> padding_mask([1, 3], 3)
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    n_k = arguments.whole("padding_mask", "n_k", n_k, least=0)
    return np.arange(n_k) < arguments.lengths(lengths, n_k)[..., None]


def split_heads(Y: ArrayLike, n_heads: int) -> np.ndarray:
    """Cut a projected matrix into heads: head r owns columns r·w to (r + 1)·w. (Note 3.2, section 3.)

    Parameters
    ----------
    Y : array (..., T, n_heads * w)
    n_heads : int

    Returns
    -------
    heads : array (..., n_heads, T, w)

    Examples
    --------
    >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
    array([[[1., 2.],
            [5., 6.]],
    <BLANKLINE>
           [[3., 4.],
            [7., 8.]]])
    """
    Y, n_heads = arguments.real("split_heads", "Y", Y, 2), arguments.whole("split_heads", "n_heads", n_heads, least=1)
    arguments.heads_fit(Y, n_heads)
    *lead, length, width = Y.shape
    return Y.reshape(*lead, length, n_heads, width // n_heads).swapaxes(-2, -3).copy()


def merge_heads(Z: ArrayLike) -> np.ndarray:
    """Put the heads of each token side by side again. (Note 3.2, section 3.)

    Parameters
    ----------
    Z : array (..., n_heads, T, w)

    Returns
    -------
    merged : array (..., T, n_heads * w)

    Examples
    --------
    >>> merge_heads([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
    array([[1., 2., 3., 4.],
           [5., 6., 7., 8.]])
    """
    Z = arguments.real("merge_heads", "Z", Z, 3)
    *lead, n_heads, length, width = Z.shape
    return Z.swapaxes(-2, -3).copy().reshape(*lead, length, n_heads * width)


def multi_head_attention(
    X: ArrayLike,
    W_Q: ArrayLike,
    W_K: ArrayLike,
    W_V: ArrayLike,
    W_O: ArrayLike,
    n_heads: int,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    X_kv: ArrayLike | None = None,
    return_weights: bool = False,
) -> np.ndarray | Any:  # a tuple, if weights are asked for
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

    Examples
    --------
    >>> X, W = np.ones((3, 4)), np.eye(4)
    >>> multi_head_attention(X, W, W, W, W, n_heads=2).shape
    (3, 4)
    """
    source, X_kv = ("X", X) if X_kv is None else ("X_kv", X_kv)
    Q = split_heads(_project("X", X, "W_Q", W_Q), n_heads)
    K = split_heads(_project(source, X_kv, "W_K", W_K), n_heads)
    V = split_heads(_project(source, X_kv, "W_V", W_V), n_heads)
    if return_weights:
        heads, weights = attention(Q, K, V, mask, is_causal=is_causal, return_weights=True)
        return _project("the merged heads", merge_heads(heads), "W_O", W_O), weights
    heads = attention(Q, K, V, mask, is_causal=is_causal)
    return _project("the merged heads", merge_heads(heads), "W_O", W_O)


# ---- the mix, and the same in less time and memory -------------------------------------------------------------------


def _mix(weights: np.ndarray, V: np.ndarray, mask: np.ndarray | None = None, is_causal: bool = False) -> np.ndarray:
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


@np.errstate(all="ignore")
def _block(
    Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None, first: int | None, factor: float
) -> tuple[np.ndarray, np.ndarray | bool]:
    """The output of a block of queries, and which of them may see no key."""
    for shift in (False, True) if Q.itemsize > 2 else (True,):  # at first in the hope that all powers are in range
        output, total = running_softmax.mix(Q, K, V, mask, first, factor, shift)
        if output.size and total.min() > TOO_SMALL and math.isfinite(output.sum() + total.sum()):
            return output, False
    n_q, n_k = Q.shape[-2], K.shape[-2]
    if first is not None:
        causal = np.arange(n_k) <= np.arange(first, first + n_q)[:, None]
        mask = causal if mask is None else causal & mask
    outputs, empty = [], []
    for rows in slices(n_q, QUERIES_AT_ONCE * running_softmax.KEYS_AT_ONCE // n_k):
        allowed = None if mask is None else mask[..., rows, :]
        weights = attention_weights(Q[..., rows, :], K, allowed, scale=factor, empty_rows="zeros")
        outputs.append(_mix(weights, V, allowed))
        empty.append(~weights.any(axis=-1))
    return np.concatenate(outputs, axis=-2), np.concatenate(empty, axis=-1)


def _attention_by_blocks(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    mask: np.ndarray | None,
    is_causal: bool,
    factor: float,
    shape: Shape,
    lead: Shape,
) -> tuple[np.ndarray, np.ndarray | bool]:
    """The output (*lead, n_q, d_v), and which queries may see no key; `shape` is that of the scores."""
    n_q, n_k = shape[-2:]
    if mask is not None:
        Q, mask = np.broadcast_to(Q, (*shape[:-2], *Q.shape[-2:])), np.broadcast_to(mask, shape)
    if math.prod(lead) * n_q <= QUERIES_AT_ONCE:
        return _block(Q, K, V, mask, 0 if is_causal else None, factor)
    from . import cores

    Q, K, V = (np.broadcast_to(array, (*lead, *array.shape[-2:])) for array in (Q, K, V))
    mask = None if mask is None else np.broadcast_to(mask, (*lead, n_q, n_k))
    output = np.empty((*lead, n_q, V.shape[-1]), np.result_type(Q, K, V))
    empty: np.ndarray = np.zeros((*lead, n_q), dtype=bool)

    def work(block: tuple[Any, ...]) -> None:
        *table, queries = block
        seen = (*table, slice(queries.stop if is_causal else None))  # later keys are hidden from the whole block
        allowed = None if mask is None else mask[block][..., seen[-1]]
        first = queries.start if is_causal else None
        output[block], empty[block] = _block(Q[block], K[seen], V[seen], allowed, first, factor)

    cores.share_out(work, _blocks(lead, n_q))
    axes_of_V_alone = (0,) * (len(lead) + 2 - len(shape))
    return output, empty[axes_of_V_alone][tuple(map(slice, shape[:-1]))]


def _blocks(lead: Shape, n_q: int) -> list[tuple[Any, ...]]:
    """Indices (*lead, queries) of some queries of one table, or of all queries of several short tables."""
    tables: Iterable[tuple[Any, ...]] = product(
        *map(range, lead[:-1]), *(slices(n, QUERIES_AT_ONCE // n_q) for n in lead[-1:])
    )
    return [(*table, queries) for table in tables for queries in slices(n_q, QUERIES_AT_ONCE)]


def _project(name: str, X: ArrayLike, weight_name: str, W: ArrayLike) -> np.ndarray:
    X, W = arguments.projection(name, X, weight_name, W)
    with np.errstate(over="ignore", invalid="ignore"):  # a token that is hidden may hold anything
        return X @ W
