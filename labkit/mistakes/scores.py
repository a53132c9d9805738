"""Mistakes at the first step: comparing queries with keys."""

import numpy as np

from ..exercise import mistake


def transposed(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2)


@mistake("scores", frequent=True)
def forgets_the_transpose(Q, K):
    """These numbers come from rows of Q meeting columns of K.
    One such column holds one coordinate of all {n_k} keys. Which part of K describes a single key?"""
    return Q @ K


@mistake("scores")
def scores_keys_against_queries(Q, K):
    """The table has the keys asking: its row 1 is about key 1.
    With {n_q} queries and {n_k} keys, whose choice should one row be?"""
    return K @ transposed(Q)


@mistake("scores")
def reshapes_instead_of_transposing(Q, K):
    """The keys were poured into the other shape number by number, so coordinates of different keys ended up together.
    After that step, where is coordinate 1 of key 2 out of {n_k}?"""
    return Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])


@mistake("scores")
def multiplies_elementwise(Q, K):
    """The numbers of queries and keys were multiplied one by one, and nothing was added up.
    How many numbers should be left when one query has been compared with each of {n_k} keys?"""
    return Q * K


multiplies_elementwise.also(lambda Q, K: Q * transposed(K))


@mistake("scores")
def scores_queries_against_queries(Q):
    """The queries were compared with each other: query 1 against query 2 scores the same as query 2 against query 1.
    Which of the three matrices says what a token looks like to be found (d_k = {d_k})?"""
    return Q @ transposed(Q)


@mistake("scores")
def scores_keys_against_keys(K):
    """The keys were compared with each other, and nobody asked.
    Which of the three matrices says what a token is looking for (d_k = {d_k})?"""
    return K @ transposed(K)


@mistake("scores")
def scores_against_values(Q, V):
    """The queries were compared with the values (width {d_v}).
    At which step of the calculation do the values come in for the first time?"""
    return Q @ transposed(V)


@mistake("scores")
def scores_by_distance(Q, K, *, power=(2, 1), factor=(-0.5, -1.0)):
    """Keys near the query score high here, whatever their length.
    What does the course's comparison make of a key ({d_k} numbers) that points the same way but is twice as long?"""
    distance = np.linalg.norm(Q[..., :, None, :] - K[..., None, :, :], axis=-1)
    return factor * distance**power
