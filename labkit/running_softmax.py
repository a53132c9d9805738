"""Attention at speed: a running softmax over blocks of keys, so that no table of scores is ever held whole.

What is kept of the keys read so far is, for each query, the sum of values times powers, the sum of powers, and the
score that both are counted from: (..., n_q, d_v), (..., n_q, 1), (..., n_q, 1). It is tested against the plain steps.
"""

from collections.abc import Iterator
from functools import reduce

import numpy as np

KEYS_AT_ONCE = 1024
LOWEST = -3e38  # where looking for the largest score starts: finite, since some keys may all be hidden

Kept = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # without a shift there is no score to count from


def mix(
    Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None, first: int | None, factor: float, shift: bool
) -> tuple[np.ndarray, np.ndarray]:
    """All five steps in as little time as NumPy allows: the output, and the sums of powers that were divided by.

    Parameters
    ----------
    Q, K, V : array (..., n_q, d_k), (..., n_k, d_k), (..., n_k, d_v)
    mask : bool array (..., n_q, n_k), optional
    first : int, optional
        The mask is causal, too, and Q begins with this query.
    factor : float
        Multiplies Q Kᵀ.
    shift : bool
        Whether powers are counted from each query's largest score. Else they are those of the scores as they stand.
    """
    Q = Q * factor
    if K.shape[-2] <= KEYS_AT_ONCE:
        output, total, _ = _read(Q, K, V, mask, first, shift)
    else:
        output, total, _ = reduce(_join, (_read(Q, *keys, shift) for keys in _blocks_of_keys(K, V, mask, first)))
    output /= total
    return output, total


def _read(Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None, first: int | None, shift: bool) -> Kept:
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


def _blocks_of_keys(
    K: np.ndarray, V: np.ndarray, mask: np.ndarray | None, first: int | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None, int | None]]:
    for keys in slices(K.shape[-2], KEYS_AT_ONCE):
        allowed = None if mask is None else mask[..., keys]
        yield K[..., keys, :], V[..., keys, :], allowed, None if first is None else first - keys.start


def _join(kept: Kept, read: Kept) -> Kept:
    """What reading both blocks at once would give: powers shrink when a larger score is counted from."""
    (output, total, origin), (more_output, more_total, more_origin) = kept, read
    if origin is None or more_origin is None:
        return output + more_output, total + more_total, None
    largest = np.maximum(origin, more_origin)
    shrink, shrink_more = np.exp(origin - largest), np.exp(more_origin - largest)
    return output * shrink + more_output * shrink_more, total * shrink + more_total * shrink_more, largest


def slices(n: int, size: int) -> list[slice]:
    """Slices of so many, but at least of 1, that cover 0 to n."""
    size = max(1, size)
    return [slice(start, min(start + size, n)) for start in range(0, n or 1, size)]
