"""Several heads: which columns of the projections each owns, its weights, and where its output goes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import attention as core
from ..arguments import real
from ..draw import Mark, Panel, Picture, Text, number, picture
from .explorer import Explorer, Shown, arity, choice, slider, tick
from .picture import cells, numbers, titled

TINTS = ("#4a7ebb", "#c2641a", "#4f9d4f", "#a05aa5")  # the heads are labelled, too
MOST_TOKENS, MOST_COLUMNS = 8, 16
NAMES = ("X", "W_Q", "W_K", "W_V", "W_O")


def heads(
    X: ArrayLike | None = None,
    W_Q: ArrayLike | None = None,
    W_K: ArrayLike | None = None,
    W_V: ArrayLike | None = None,
    W_O: ArrayLike | None = None,
    n_heads: int = 2,
    *,
    fn: Callable | None = None,
    predict: Any = False,
) -> Explorer:
    """Follow a token through several heads: columns of the projections, weights, heads joined, W_O.

    Controls: "token"; "heads" (how many); "causal".

    Parameters
    ----------
    X, W_Q, W_K, W_V, W_O : arrays, optional
        As for `multi_head_attention`, with up to 8 tokens and 16 columns; small numbers of ours if X is not given.
    n_heads : int
        Up to 4.
    fn : callable, optional
        Your split_heads(Y, n_heads), which then does the cutting, or
        multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask), whose output stands below the right one.
        Told by whether it takes 2 arguments; without "causal" there is no mask among them.
    """
    matrices = numbers_of_ours() if X is None else read([X, W_Q, W_K, W_V, W_O])
    X, W_Q, W_K, W_V, W_O = matrices
    widths = [W.shape[1] for W in matrices[1:4]]
    counts = [n for n in range(1, len(TINTS) + 1) if not any(width % n for width in widths)]
    if type(n_heads) is not int or n_heads not in counts:
        raise ValueError(
            f"heads: n_heads must be among {counts}, for widths {widths}; got {n_heads!r}. Choose one of them."
        )
    core.multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads)  # says what doesn't fit
    controls = {
        "token": slider("token", 1, 1, len(matrices[0])),
        "n_heads": choice("heads", n_heads, counts),
        "causal": tick("causal"),
    }
    return Explorer(controls, partial(show, fn=fn, matrices=matrices), predict)


def numbers_of_ours() -> list[np.ndarray]:
    rng = np.random.default_rng(6)
    return [rng.integers(-2, 3, shape) / 2 for shape in ((4, 6), (6, 6), (6, 6), (6, 6), (6, 6))]


def read(given: Sequence[ArrayLike | None]) -> list[np.ndarray]:
    """Return the matrices as arrays of a size that can be shown."""
    left_out = [name for name, matrix in zip(NAMES, given, strict=True) if matrix is None]
    if left_out:
        raise ValueError(
            f"heads: all of {', '.join(NAMES)} must be given, or none; got no {left_out[0]}. Give all five."
        )
    matrices = [real("heads", name, matrix, 2).astype(float) for name, matrix in zip(NAMES, given, strict=True)]
    if any(m.ndim != 2 or m.shape[1] > MOST_COLUMNS for m in matrices) or len(matrices[0]) > MOST_TOKENS:
        got = ", ".join(f"{name} {matrix.shape}" for name, matrix in zip(NAMES, matrices, strict=True))
        rule = f"X must have at most {MOST_TOKENS} rows, and X, W_Q, W_K, W_V, W_O at most {MOST_COLUMNS} columns"
        raise ValueError(f"heads: {rule}; got {got}. Cut them down.")
    for name, matrix in zip(NAMES, matrices, strict=True):
        if not np.isfinite(matrix).all():
            raise ValueError(f"heads: {name} must hold finite numbers; got nan or infinity. Look at how it came about.")
    return matrices


def show(shown: Shown, fn: Callable | None, matrices: list[np.ndarray], token: int, n_heads: int, causal: bool) -> None:
    X, W_Q, W_K, W_V, W_O = matrices
    token, mask = token - 1, core.causal_mask(len(X)) if causal else None
    projected = {"X W_Q": X @ W_Q, "X W_K": X @ W_K, "X W_V": X @ W_V}
    splits = fn is not None and arity(fn) == 2
    parts = cut(shown, fn if splits else None, projected.values(), n_heads)
    if parts is None:
        shown.pictures.append(row_picture(token, n_heads, projected, []))
        return
    Q, K, V = parts
    heads, weights = core.attention(Q, K, V, mask, return_weights=True)
    merged = core.merge_heads(heads)
    shares = zip(np.split(merged, n_heads, axis=1), np.split(W_O, n_heads), strict=True)
    ends = [*(block @ rows for block, rows in shares), merged @ W_O]
    if fn is not None and not splits:
        args = {**dict(zip(NAMES, matrices, strict=True)), "n_heads": n_heads} | ({"mask": mask} if causal else {})
        own = shown.ask(fn, args, ends[-1].shape)
        shown.loud += [] if own is None else compare(own, ends[-1])
        ends += [] if own is None else [own]
    shown.pictures += weight_pictures(weights, token, mask)
    shown.pictures.append(row_picture(token, n_heads, {**projected, "heads joined": merged}, ends))
    most = [f"head {r} to {tops(row)} ({number(row.max())})" for r, row in enumerate(weights[:, token], 1)]
    shown.lines.append(f"Token {token + 1} gives most weight, in {'; in '.join(most)}.")


def tops(row: np.ndarray) -> str:
    """Return which tokens have the largest weight of a row, all of them if they are several."""
    tokens = np.flatnonzero(row >= row.max() - 1e-9) + 1
    return f"token {tokens[0]}" if len(tokens) == 1 else f"tokens {', '.join(map(str, tokens))} alike"


def cut(
    shown: Shown, split: Callable | None, projected: Collection[np.ndarray], n_heads: int
) -> list[np.ndarray] | None:
    """Return Q, K and V cut into heads, each (n_heads, T, w), or None where a student's split gives none."""
    right = [core.split_heads(Y, n_heads) for Y in projected]
    if split is None:
        return right
    asked = Shown()
    own = [asked.ask(split, {"Y": Y, "n_heads": n_heads}, part.shape) for Y, part in zip(projected, right, strict=True)]
    shown.loud += asked.loud[-1:]  # the same goes wrong in all three
    parts = [part for part in own if part is not None]
    if len(parts) < len(own):
        return None
    for r, t, _ in np.argwhere(parts[-1] != right[-1])[:1]:
        held = f"Head {r + 1} of your split holds {numbers(parts[-1][r, t])} for token {t + 1} of X W_V"
        shown.loud.append(f"{held}: these are not its columns.")
    return parts


def compare(own: np.ndarray, right: np.ndarray) -> list[str]:
    distance = np.abs(own - right)
    if (distance <= 1e-5).all():
        return []
    t, c = np.unravel_index(np.nan_to_num(distance, nan=np.inf).argmax(), distance.shape)
    return [f"Your output is not the sum of the heads' shares, most at token {t + 1}, column {c + 1}."]


# ---- pictures --------------------------------------------------------------------------------------------------------


def weight_pictures(weights: np.ndarray, token: int, mask: np.ndarray | None) -> list[Picture]:
    names = [f"→ {n + 1}" if n == token else str(n + 1) for n in range(weights.shape[1])]
    keys = range(1, weights.shape[2] + 1)
    return [picture([Panel(w, mask, f"Head {r}", queries=names, keys=keys)]) for r, w in enumerate(weights, 1)]


def row_picture(token: int, n_heads: int, tables: Mapping[str, np.ndarray], ends: Sequence[np.ndarray]) -> Picture:
    """Draw the token's row of each table, cut into heads, and below what W_O makes of each head's block."""
    left, y, wide = 150, 62, 50
    marks: list[Mark] = []
    said = []
    for name, table in tables.items():
        width = table.shape[1] // n_heads
        for r, block in enumerate(np.split(table[token], n_heads)):
            marks.append(Text(left + r * width * wide + 2, y - 5, f"head {r + 1}", bold=True))
            said.append(f"{name}, head {r + 1}: {numbers(block)}")
        tints = [TINTS[c // width] for c in range(table.shape[1])]
        marks += cells(left, y, table[token : token + 1], rows=[name], wide=wide, tints=tints)
        y += 50
    names = [*(f"head {r + 1} · its rows of W_O" for r in range(n_heads)), "output: their sum", "your output"]
    for n, (name, end) in enumerate(zip(names, ends, strict=False)):
        tint = [TINTS[n]] * end.shape[1] if n < n_heads else None
        marks += cells(left, y - 10, end[token : token + 1], rows=[name], wide=wide, tints=tint)
        said.append(f"{name}: {numbers(end[token])}")
        y += 30
    columns = max(table.shape[1] for table in [*tables.values(), *ends])
    title, words = f"Token {token + 1}, from the projections to the output", f"Token {token + 1}. {'; '.join(said)}."
    return titled(title, left + columns * wide + 10, y, marks, words)
