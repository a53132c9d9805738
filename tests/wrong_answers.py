"""A list of wrong answers, each with the id of its one mistake, and the rest of an answer in several hands.

Nothing here looks at labkit's own mistakes: these were written apart, to show whether naming them generalises.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import numpy as np

WRONG = []


@dataclass(frozen=True)
class Wrong:
    """A wrong function; `also` holds ids that are as good a name for it, being the same function there."""

    mistake: str
    exercise: str
    function: Callable
    also: tuple = ()

    @property
    def label(self):
        return f"{self.mistake}-{self.exercise}-{self.function.__name__}"


def wrong(mistake, *exercises, also=()):
    """Put the function below on the list."""

    def put(function):
        WRONG.extend(Wrong(mistake, exercise, function, also) for exercise in exercises)
        return function

    return put


def add(mistake, exercise, function, name, also=()):
    def renamed(*args, **kwargs):
        return function(*args, **kwargs)

    renamed.__name__ = name
    WRONG.append(Wrong(mistake, exercise, renamed, also))


# ---- the right remainder, in several hands ---------------------------------------------------------------------------


def soft(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def soft_by_lists(rows):
    out = []
    for row in rows:
        top = max(row)
        powers = [math.exp(x - top) for x in row]
        total = sum(powers)
        out.append([p / total for p in powers])
    return np.array(out)


def weights_with_where(scores):
    def attention_weights(Q, K, mask=None):
        s = np.asarray(scores(Q, K))
        if mask is not None:
            s = np.where(mask, s, -np.inf)
        return soft(s)

    return attention_weights


def weights_with_lists(scores):
    def attention_weights(Q, K, mask=None):
        table = [list(map(float, row)) for row in scores(Q, K)]
        for i, row in enumerate(table):
            for j in range(len(row)):
                if mask is not None and not mask[i][j]:
                    row[j] = float("-inf")
        return soft_by_lists(table)

    return attention_weights


def weights_with_big_negative(scores):
    def attention_weights(Q, K, mask=None):
        s = np.array(scores(Q, K), dtype=float)
        if mask is not None:
            s[~np.asarray(mask, dtype=bool)] = -1e30
        return soft(s)

    return attention_weights


def head_by_matmul(weights):
    def attention(Q, K, V, mask=None):
        return weights(Q, K, mask) @ V

    return attention


def head_by_sums(weights):
    def attention(Q, K, V, mask=None):
        A = weights(Q, K, mask)
        out = np.zeros((len(A), len(V[0])))
        for i in range(len(A)):
            for j in range(len(V)):
                out[i] += A[i][j] * V[j]
        return out

    return attention


def head_by_einsum(weights):
    def attention(Q, K, V, mask=None):
        return np.einsum("qk,kv->qv", weights(Q, K, mask), V)

    return attention


def heads_by_slices(head):
    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        Q, K, V = X @ W_Q, X @ W_K, X @ W_V
        d, v = Q.shape[1] // n_heads, V.shape[1] // n_heads
        outs = []
        for h in range(n_heads):
            cut, cut_v = slice(h * d, h * d + d), slice(h * v, h * v + v)
            outs.append(head(Q[:, cut], K[:, cut], V[:, cut_v], mask))
        return np.concatenate(outs, axis=-1) @ W_O

    return multi_head_attention


def heads_by_reshape(head):
    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        T = X.shape[0]
        Q, K, V = (np.dot(X, W).reshape(T, n_heads, -1).transpose(1, 0, 2) for W in (W_Q, W_K, W_V))
        Z = np.stack([head(q, k, v, mask) for q, k, v in zip(Q, K, V, strict=True)])
        return Z.transpose(1, 0, 2).reshape(T, -1).dot(W_O)

    return multi_head_attention


def across(head):
    def cross_attention(X, X_kv, W_Q, W_K, W_V):
        return head(X @ W_Q, X_kv @ W_K, X_kv @ W_V)

    return cross_attention


WEIGHTS_HANDS = cycle([weights_with_where, weights_with_lists, weights_with_big_negative])
HEAD_HANDS = cycle([head_by_matmul, head_by_sums, head_by_einsum, head_by_matmul])
HEADS_HANDS = cycle([heads_by_slices, heads_by_reshape])


def wrong_scores(mistake, also=(), without=(), same_in_self_attention=()):
    """The scores below are wrong; put them, and what follows from them, on the list."""

    def put(scores):
        name = scores.__name__
        weights = next(WEIGHTS_HANDS)(scores)
        made = {"attention_scores": scores, "attention_weights": weights} | further(weights)
        for exercise, function in made.items():
            if exercise not in without:
                twins = same_in_self_attention if exercise == "multi_head_attention" else ()
                add(mistake, exercise, function, name, (*also, *twins))
        return scores

    return put


def wrong_weights(mistake, also=(), without=()):
    """The weights below, of (Q, K, mask), are wrong."""

    def put(weights):
        for exercise, function in ({"attention_weights": weights} | further(weights)).items():
            if exercise not in without:
                add(mistake, exercise, function, weights.__name__, also)
        return weights

    return put


def wrong_head(mistake, also=(), without=()):
    """The one head below, of (Q, K, V, mask), is wrong."""

    def put(head):
        made = {"attention": head, "multi_head_attention": next(HEADS_HANDS)(head), "cross_attention": across(head)}
        for exercise, function in made.items():
            if exercise not in without:
                add(mistake, exercise, function, head.__name__, also)
        return head

    return put


def further(weights):
    head = next(HEAD_HANDS)(weights)
    return {
        "attention": head,
        "multi_head_attention": next(HEADS_HANDS)(head),
        "cross_attention": across(head),
    }
