"""Mistakes when the queries come from one sequence and the keys and values from another."""

import numpy as np

from ..exercise import mistake


@mistake("cross")
def exchanges_the_sequences(X, X_kv, W_Q, W_K, W_V):
    """There is an output row for each token of the other sequence, {n_q} of them in all.
    Which sequence asks, and which one is asked?"""
    return X_kv @ W_Q, X @ W_K, X @ W_V


@mistake("cross")
def keys_and_values_from_different_sequences(X, X_kv, W_Q, W_K, W_V):
    """A key was found in one sequence and its value was taken from the other ({n_k} keys).
    Which two of the three matrices describe the same tokens?"""
    return X @ W_Q, X_kv @ W_K, X @ W_V


keys_and_values_from_different_sequences.also(lambda X, X_kv, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X_kv @ W_V))


@mistake("cross")
def stays_in_one_sequence(X, X_kv, W_Q, W_K, W_V):
    """Queries, keys and values all came from one sequence ({n_k} tokens), and the other was never used.
    Who wants to know something here, and who is asked?"""
    return X @ W_Q, X @ W_K, X @ W_V


stays_in_one_sequence.also(lambda X, X_kv, W_Q, W_K, W_V: (X_kv @ W_Q, X_kv @ W_K, X_kv @ W_V))


@mistake("cross", makes="allowed")
def masks_across_causally(n_q, n_k):
    """Query 1 could use only the first of {n_k} keys.
    Who decides here which keys a query may use?"""
    return np.tri(n_q, n_k, dtype=bool)
