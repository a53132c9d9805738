"""Mistakes with several heads: projecting, splitting, merging and projecting back.

Shapes: projected Y (T, n_heads * width), parts (n_heads, T, width), merged (T, n_heads * width).
"""

from collections.abc import Callable, Iterable

import numpy as np

from ..calculation import merge, softmax, split
from ..exercise import mistake
from .softmax import softmax_of_finite


def each(change: Callable[[np.ndarray], np.ndarray], arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(change(Y) for Y in arrays)


def dealt_out(projected: Iterable[np.ndarray], n_heads: int) -> tuple[np.ndarray, ...]:
    """The columns go to the heads in turn."""
    return each(lambda Y: Y.reshape(len(Y), -1, n_heads).transpose(2, 0, 1), projected)


def token_by_token(Y: np.ndarray, n_heads: int) -> np.ndarray:
    """(T, n_heads * width) -> (T, n_heads, width), with the heads not yet brought to the front."""
    return Y.reshape(len(Y), n_heads, -1)


def collected(Z: np.ndarray) -> np.ndarray:
    """One column of each head in turn."""
    return Z.transpose(1, 2, 0).reshape(Z.shape[1], -1)


def widened(rows: np.ndarray, W_O: np.ndarray) -> np.ndarray:
    """Zeros on the right, so that W_O can be applied: only its first rows count then."""
    return np.pad(rows, [(0, 0), (0, len(W_O) - rows.shape[-1])])


def narrow(
    X: np.ndarray, X_kv: np.ndarray, projections: Iterable[np.ndarray], blocks: list[int]
) -> tuple[np.ndarray, ...]:
    """Slice r of the tokens, projected by the block that stands at place blocks[r] of a matrix's diagonal."""
    h = len(blocks)
    pairs = zip((X, X_kv, X_kv), projections, strict=True)
    return tuple(split(Y, h) @ W.reshape(h, -1, h, W.shape[1] // h)[blocks, :, blocks] for Y, W in pairs)


@mistake("heads")
def splits_without_transposing(projected, n_heads):
    """The numbers were dealt out in reading order, so a head holds some tokens whole and others not at all.
    Each of the {n_heads} heads needs a slice of every token: which axis has to move, and to where?"""
    return each(lambda Y: Y.reshape(n_heads, Y.shape[0], -1), projected)


def among_the_heads(projected, n_heads, masked_scores, W_O, *, masked=(True, False)):
    """Neither cutting nor merging moves an axis, so that the heads of one token attend to each other."""
    Q, K, V = each(lambda Y: token_by_token(Y, n_heads), projected)
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    hidden = np.isneginf(masked_scores[0])
    if masked and hidden.any():
        scores = np.where(hidden, -np.inf, scores)  # the two shapes go together only by chance
    return (softmax(scores) @ V).reshape(len(Q), -1) @ W_O


splits_without_transposing.also(among_the_heads, "final")


@mistake("heads", makes="merged")
def merges_without_transposing(output):
    """Row 1 of the merged table holds numbers of several tokens.
    Before the {n_heads} heads are laid side by side, which axis should come first?"""
    return output.reshape(output.shape[1], -1)


@mistake("heads")
def interleaves_the_heads(projected, n_heads):
    """The columns were dealt out like cards, one to each of the {n_heads} heads in turn.
    Which columns of the projected matrix lie next to each other in one head?"""
    return dealt_out(projected, n_heads)


def there_and_back(projected, n_heads, masked_scores, W_O):
    Q, K, V = dealt_out(projected, n_heads)
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    return collected(softmax(np.where(np.isneginf(masked_scores), -np.inf, scores)) @ V) @ W_O


interleaves_the_heads.also(lambda output: collected(output), "merged")
interleaves_the_heads.also(there_and_back, "final")


@mistake("heads", makes="merged", skips="final")
def averages_the_heads(output):
    """The {n_heads} heads were averaged, so what only one of them saw is blurred.
    How wide is the row when every head keeps its own columns?"""
    return output.mean(axis=-3)


averages_the_heads.also(lambda output, W_O: widened(output.mean(axis=-3), W_O), "merged")
averages_the_heads.also(lambda output: np.tile(output.mean(axis=-3), output.shape[-3]), "merged")


@mistake("heads", makes="merged", skips="final")
def sums_the_heads(output):
    """The {n_heads} heads were added up, so nothing can be told apart any more.
    How wide is the row when every head keeps its own columns?"""
    return output.sum(axis=-3)


sums_the_heads.also(lambda output, W_O: widened(output.sum(axis=-3), W_O), "merged")
sums_the_heads.also(lambda output: output.sum(axis=-3), "merged")


@mistake("heads", makes="final", frequent=True)
def forgets_the_output_projection(merged):
    """The heads lie side by side ({n_heads} of them), and that is where it ends.
    Which learned matrix has not been used?"""
    return merged


@mistake("heads", makes="final")
def projects_on_the_wrong_side(merged, W_O):
    """A projection mixed tokens with each other, not the columns of each token.
    A token is a row: on which side does a matrix act on rows?"""
    return W_O @ merged


projects_on_the_wrong_side.also(lambda X, X_kv, W_Q, W_K, W_V: (W_Q @ X, W_K @ X_kv, W_V @ X_kv), "projected")


@mistake("heads", makes="final")
def transposes_the_output_projection(merged, W_O):
    """The last projection was used turned over ({n_heads} heads).
    Which axis of that matrix counts the columns that come out of the heads?"""
    return merged @ W_O.T


@mistake("heads", makes="projected")
def transposes_the_projections(X, X_kv, W_Q, W_K, W_V):
    """The projections were used turned over, which nobody notices when they are {d_model} by {d_model}.
    Which axis of such a matrix counts the columns of X?"""
    return X @ W_Q.T, X_kv @ W_K.T, X_kv @ W_V.T


@mistake("heads", makes="projected")
def projects_elementwise(X, X_kv, W_Q, W_K, W_V):
    """Tokens and projections were multiplied place by place, and nothing was added up (d_model = {d_model}).
    How many numbers of a token take part in one number of its query?"""
    return X * W_Q, X_kv * W_K, X_kv * W_V


@mistake("heads")
def repeats_one_head(projected, n_heads):
    """The {n_heads} heads are twins: each does what head 1 does.
    Which columns belong to head 2?"""
    return each(lambda Y: np.repeat(split(Y, n_heads)[:1], n_heads, axis=0), projected)


@mistake("heads")
def slices_before_projecting(X, X_kv, W_Q, W_K, W_V, n_heads):
    """X was cut before it was projected: each of {n_heads} heads sees only its slice of a token of width {d_model}.
    What has to be done to the whole of a token before anything is cut?"""
    return narrow(X, X_kv, (W_Q, W_K, W_V), list(range(n_heads)))


slices_before_projecting.also(lambda X, X_kv, W_Q, W_K, W_V, n_heads: narrow(X, X_kv, (W_Q, W_K, W_V), [0] * n_heads))


@mistake("heads", makes="weights")
def softmax_over_heads(masked_scores):
    """The {n_heads} heads compete with each other for one pair of tokens.
    Among what should a query's weights be shared out, inside one head?"""
    return softmax(masked_scores, axis=-3)


softmax_over_heads.also(lambda masked_scores: softmax(masked_scores, axis=(-3, -1)), "weights")
softmax_over_heads.also(lambda masked_scores: softmax_of_finite(masked_scores, axis=-3), "weights")


@mistake("heads", makes="merged", skips="final")
def concatenates_positions(output):
    """The heads were stacked as rows: there are {n_heads} times as many rows as tokens.
    Along which axis does one token's row grow?"""
    return output.reshape(-1, output.shape[-1])


concatenates_positions.also(lambda output: output.reshape(-1, output.shape[-1]), "merged")  # and projects


@mistake("heads", makes="merged")
def reverses_the_heads(output):
    """The pieces are right, but they lie in another order ({n_heads} heads).
    Which columns of the merged table are head 1's?"""
    return merge(output[::-1])


reverses_the_heads.also(lambda output, *, by=(1, -1): merge(np.roll(output, by, axis=0)), "merged")
reverses_the_heads.also(lambda projected, n_heads: each(lambda Y: split(Y, n_heads)[::-1], projected))


@mistake("heads")
def uses_one_big_head(projected):
    """There is only one table of weights where {n_heads} were asked for.
    What has to happen to the projected matrices before they are compared?"""
    return each(lambda Y: Y[None], projected)


@uses_one_big_head.also
def with_the_root_of_a_small_one(projected, n_heads):
    Q, K, V = projected
    return Q[None] * np.sqrt(n_heads), K[None], V[None]


@mistake("heads", spoils="weights")
def shares_averaged_weights(weights):
    """The {n_heads} heads use one and the same table of weights, the mean of theirs.
    What may different heads do for the same query that they can't do here?"""
    return np.broadcast_to(weights.mean(axis=-3, keepdims=True), weights.shape)


@mistake("heads", makes="masked_scores")
def masks_only_the_first_head(scores, allowed, n_heads):
    """Head 1 keeps to the mask, head 2 of {n_heads} looks at hidden keys.
    To which of the tables of scores does the mask belong?"""
    first = np.arange(n_heads)[:, None, None] == 0
    return np.where(allowed | ~first, scores, -np.inf)


@mistake("heads", makes="Q")
def asks_with_one_head(parts):
    """The {n_heads} heads ask with the queries of head 1, each with keys of its own.
    Which columns of the projected queries belong to head 2?"""
    return np.repeat(parts[0][:1], len(parts[0]), axis=0)


@mistake("heads", makes="projected")
def swaps_keys_and_values(X, X_kv, W_Q, W_K, W_V):
    """What a token hands over was used to find it, and the other way round (d_model = {d_model}).
    Which projection makes the keys?"""
    return X @ W_Q, X_kv @ W_V, X_kv @ W_K


@mistake("heads", makes="projected")
def swaps_queries_and_keys(X, X_kv, W_Q, W_K, W_V):
    """The tokens ask with what they should be found by (d_model = {d_model}).
    Which projection makes the queries?"""
    return X @ W_K, X_kv @ W_Q, X_kv @ W_V
