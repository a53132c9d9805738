"""Mistakes at the last step of a head: mixing the values."""

import numpy as np

from ..calculation import split
from ..exercise import mistake
from .softmax import shared


@mistake("mix", frequent=True)
def returns_the_weights(weights):
    """This is the table of weights, {n_q} by {n_k}; row {row} adds to {row_total}.
    What is the last thing to be done with the weights?"""
    return weights


@mistake("mix", frequent=True)
def mixes_keys(weights, K):
    """The output is a mix of the keys: it lies among their rows, {d_k} numbers wide.
    A key is what a token is found by. Which matrix holds what it hands over?"""
    return weights @ K


mixes_keys.also(lambda weights, K, d_v: weights @ K[..., :d_v])


@mistake("mix")
def mixes_queries(weights, Q):
    """The output is a mix of the queries: it lies among their rows, {d_k} numbers wide.
    A query is what a token looks for. Which matrix holds what a token hands over?"""
    return weights @ Q


mixes_queries.also(lambda weights, Q, d_v: weights @ Q[..., :d_v])


@mistake("mix")
def mixes_the_inputs(weights, X_kv):
    """The output is a mix of the tokens as they came in (d_model = {d_model}).
    Which of the three projections has not been used?"""
    return weights @ X_kv


mixes_the_inputs.also(lambda weights, X_kv, n_heads: weights @ split(X_kv, n_heads))


@mistake("mix")
def mixes_with_transposed_weights(weights, V):
    """Output 1 was mixed with column 1 of the weights, which adds to {first_column_total}.
    Which of the two, row 1 or column 1, is what query 1 chose?"""
    return np.swapaxes(weights, -1, -2) @ V


@mistake("mix")
def weights_on_the_wrong_side(weights, V):
    """The weights mixed the columns of V (there are {d_v}), not its rows.
    In a matrix product, does the left or the right factor say how rows are combined?"""
    return V @ weights


@mistake("mix")
def picks_the_top_value(weights, V):
    """Every output is a copy of one of the {n_k} rows of V.
    What became of the values of the other keys?"""
    return np.take_along_axis(V, np.argmax(weights, axis=-1)[..., None], axis=-2)


@mistake("mix")
def averages_the_values(weights, V):
    """Each output is the plain mean of the values that its query may use ({n_k} keys in all).
    Where do the weights of the different queries come in?"""
    return np.broadcast_to(V.mean(axis=-2, keepdims=True), (*weights.shape[:-1], V.shape[-1]))


averages_the_values.also(lambda weights, V, allowed: shared(np.broadcast_to(allowed, weights.shape)) @ V)
averages_the_values.also(lambda weights, V: V.mean(axis=-2))


@mistake("mix")
def adds_a_residual(weights, V):
    """The output lies outside the range of the {n_k} values: something was added to the mix.
    Which sum belongs to this calculation, and which to the layer around it?"""
    return weights @ V + V


adds_a_residual.also(lambda weights, V, Q: weights @ V + Q)
adds_a_residual.also(lambda weights, V, X: weights @ V + X)
adds_a_residual.also(lambda merged, X: merged + X, spoils="merged")
adds_a_residual.also(lambda final, X: final + X, spoils="final")


@mistake("mix", look_at="softmax")
def mixes_with_raw_scores(V, scores):
    """The output is not bounded by the values: the scores of a row ({n_k} of them) were used as they are.
    Which step turns scores into something that adds to 1?"""
    return scores @ V


mixes_with_raw_scores.also(lambda V, masked_scores: masked_scores @ V)
mixes_with_raw_scores.also(lambda V, raw_scores: raw_scores @ V)


@mistake("mix")
def multiplies_values_elementwise(weights, V):
    """Weights and values were multiplied place by place; nothing was added up over the {n_k} keys.
    How many rows of V take part in a single output?"""
    return weights * V


multiplies_values_elementwise.also(lambda weights, V: weights[..., None] * V[..., None, :, :])  # not summed


@mistake("mix")
def returns_the_values(V):
    """This is the table of values itself: row 1 is value 1 ({n_k} of them), whoever asks.
    How much of it do the weights of query 1 give, and how much of the others?"""
    return V
