"""Attention from its definition, in plain loops over lists: slow, obvious, and sharing nothing with `labkit`.

A table is a list of rows. `allowed[i][j]` says whether query i may attend to key j; None allows all.
"""

import math


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def matrix_product(A, B):
    return [[dot(row, [b[j] for b in B]) for j in range(len(B[0]))] for row in A]


def scores(Q, K, scale=None):
    factor = 1 / math.sqrt(len(K[0])) if scale is None else scale
    return [[dot(q, k) * factor for k in K] for q in Q]


def weights_of_row(row, allowed=None):
    """A_j = 1 / Σ_k exp(s_k - s_j) over the allowed keys, which needs no shift by a maximum; 0 for all if none is."""
    keys = [j for j in range(len(row)) if (allowed is None or allowed[j]) and row[j] != -math.inf]
    weights = [0.0] * len(row)
    for j in keys:
        weights[j] = 1 / math.fsum(exponential(row[k] - row[j]) for k in keys)
    return weights


def exponential(x):
    return math.exp(x) if x < 700 else math.inf


def weights(Q, K, allowed=None, scale=None):
    table = scores(Q, K, scale)
    return [weights_of_row(row, None if allowed is None else allowed[i]) for i, row in enumerate(table)]


def attention(Q, K, V, allowed=None, scale=None):
    return mix(weights(Q, K, allowed, scale), V, allowed)


def mix(table, V, allowed=None):
    """Each output is the sum of weight times value over the allowed keys only."""
    output = []
    for i, row in enumerate(table):
        keys = [j for j in range(len(row)) if allowed is None or allowed[i][j]]
        output.append([math.fsum(row[j] * V[j][c] for j in keys) for c in range(len(V[0]))])
    return output


def causal(n_q, n_k):
    return [[j <= i for j in range(n_k)] for i in range(n_q)]


def columns(A, first, stop):
    return [row[first:stop] for row in A]


def multi_head_attention(X, X_kv, W_Q, W_K, W_V, W_O, n_heads, allowed=None):
    Q, K, V = matrix_product(X, W_Q), matrix_product(X_kv, W_K), matrix_product(X_kv, W_V)
    d_k, d_v = len(Q[0]) // n_heads, len(V[0]) // n_heads
    concatenated = [[] for _ in X]
    for r in range(n_heads):
        head = attention(
            columns(Q, r * d_k, (r + 1) * d_k),
            columns(K, r * d_k, (r + 1) * d_k),
            columns(V, r * d_v, (r + 1) * d_v),
            allowed,
        )
        for row, part in zip(concatenated, head, strict=True):
            row.extend(part)
    return matrix_product(concatenated, W_O)


def attention_operator(Q, K, V, *, past_key=None, past_value=None, **options):
    """The wider operator of other libraries: Q [batch][head][i][d], K and V with as many heads or fewer.

    Cached keys and values come before the new ones, and queries count on from them. Options are those of `_score`.
    """
    output = []
    for b in range(len(Q)):
        output.append([])
        for h in range(len(Q[b])):
            shared = h // (len(Q[b]) // len(K[b]))
            past = past_key[b][shared] if past_key else []
            keys = past + K[b][shared]
            values = (past_value[b][shared] if past_value else []) + V[b][shared]
            head = []
            for i, q in enumerate(Q[b][h]):
                row = [_score(q, k, (b, h, i, j), len(past) + i, **options) for j, k in enumerate(keys)]
                head.extend(mix([weights_of_row(row)], values))
            output[b].append(head)
    return output


def _score(
    q, k, place, position, allowed=None, bias=None, scale=None, softcap=0, is_causal=False, window=None, lengths=None
):
    """The score at `place` (b, h, i, j), -inf if hidden.

    `allowed(b, h, i, j)` is a rule, `bias(b, h, i, j)` is added after the cap, `window` = (left, right) limits how far
    a query at `position` sees, and `lengths[b]` is the number of keys that are real.
    """
    b, _, _, j = place
    hidden = (
        (allowed and not allowed(*place))
        or (is_causal and j > position)
        or (window and not position - window[0] <= j <= position + window[1])
        or (lengths and j >= lengths[b])
    )
    if hidden:
        return -math.inf
    score = scores([q], [k], scale)[0][0]
    score = softcap * math.tanh(score / softcap) if softcap else score
    return score + (bias(*place) if bias else 0)
