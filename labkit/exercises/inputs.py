"""Inputs that functions are asked with: matrices drawn at random, masks, and scores that tell mistakes apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np

WITHOUT, WITH = "without a mask", "with a mask"

# Scaled scores of allowed keys, against which hidden ones are held: close enough together that one lies between any
# two usual numbers for a hidden score.
DEPTHS = np.append(-10 * 2 ** np.arange(0, 18, 0.25), -3e6)


def with_mask(args: Mapping[str, Any]) -> dict[str, Any]:
    """What the calculation starts from: the arguments, and a mask of None, which hides nothing, if none is given."""
    return {"mask": None, **args}


def matrices(
    rng: np.random.Generator, n_q: int, n_k: int, d_k: int, d_v: int, whole: bool = False
) -> dict[str, np.ndarray]:
    """Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v); pairwise different sizes show what was mixed up."""
    shapes = {"Q": (n_q, d_k), "K": (n_k, d_k), "V": (n_k, d_v)}
    if whole:
        return {name: rng.integers(-2, 3, size=shape) for name, shape in shapes.items()}
    return {name: rng.normal(size=shape) * 1.2 for name, shape in shapes.items()}


def whole_scores(rng: np.random.Generator, n_q: int, n_k: int) -> np.ndarray:
    """Scores (n_q, n_k): small integers with one largest in each row, so that no tie hides which key wins."""
    return np.stack([rng.permutation(np.arange(-2, n_k - 2) + rng.integers(0, 2)) for _ in range(n_q)])


def causal(n: int) -> np.ndarray:
    """The causal mask (n, n)."""
    return np.tri(n, dtype=bool)


def padded(n_q: int, n_k: int, hidden: int) -> np.ndarray:
    """A mask (n_q, n_k): the last ``hidden`` keys are padding, and query 2 may not use key 1 either."""
    mask = np.tile(np.arange(n_k) < n_k - hidden, (n_q, 1))
    mask[1, 0] = False
    return mask


def with_holes(rng: np.random.Generator, n_q: int, n_k: int) -> np.ndarray:
    """A mask (n_q, n_k) without any pattern; each query keeps the key at its own place."""
    return (rng.random((n_q, n_k)) < 0.6) | np.eye(n_q, n_k, dtype=bool)
