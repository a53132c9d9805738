"""Wrong where weights and values are mixed."""

import math

import numpy as np
from wrong_answers import soft, wrong, wrong_head


def shares(Q, K, mask):
    s = Q @ K.T / np.sqrt(K.shape[-1])
    return soft(s if mask is None else np.where(mask, s, -np.inf))


def shares_by_lists(Q, K, mask):
    A = []
    for i, q in enumerate(Q):
        e = []
        for j, k in enumerate(K):
            hidden = mask is not None and not mask[i][j]
            e.append(0.0 if hidden else math.exp(float(np.dot(q, k)) / math.sqrt(len(k))))
        A.append([x / sum(e) if sum(e) else 0.0 for x in e])
    return np.array(A)


@wrong_head("mixes_keys")
def times_K(Q, K, V, mask=None):
    return shares(Q, K, mask) @ K


@wrong_head("mixes_keys")
def times_K_in_loops(Q, K, V, mask=None):
    A = shares_by_lists(Q, K, mask)
    return np.array([sum(a * k for a, k in zip(row, K, strict=True)) for row in A])


@wrong_head("mixes_queries")
def times_Q(Q, K, V, mask=None):
    return shares(Q, K, mask) @ Q


@wrong_head("mixes_queries")
def times_Q_einsum(Q, K, V, mask=None):
    return np.einsum("ij,jd->id", shares(Q, K, mask), Q)


@wrong("mixes_the_inputs", "cross_attention")
def times_X_kv(X, X_kv, W_Q, W_K, W_V):
    return shares(X @ W_Q, X_kv @ W_K, None) @ X_kv


@wrong("mixes_the_inputs", "cross_attention")
def V_is_the_source(X, X_kv, W_Q, W_K, W_V):
    V = X_kv
    A = shares_by_lists(X.dot(W_Q), X_kv.dot(W_K), None)
    return A.dot(V)


@wrong("mixes_the_inputs", "multi_head_attention")
def slices_of_X_are_the_values(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    w, v = W_Q.shape[1] // n_heads, X.shape[1] // n_heads
    Q, K, outs = X @ W_Q, X @ W_K, []
    for h in range(n_heads):
        A = shares(Q[:, h * w : h * w + w], K[:, h * w : h * w + w], mask)
        outs.append(A @ X[:, h * v : h * v + v])
    return np.hstack(outs) @ W_O


@wrong("mixes_the_inputs", "multi_head_attention")
def heads_of_X_are_the_values(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    def cut(Y):
        return Y.reshape(len(Y), n_heads, -1).transpose(1, 0, 2)

    q, k, v = cut(X @ W_Q), cut(X @ W_K), cut(X)
    return np.concatenate([shares(*qk, mask) @ x for *qk, x in zip(q, k, v, strict=True)], axis=1) @ W_O


@wrong_head("mixes_with_transposed_weights")
def A_transposed(Q, K, V, mask=None):
    return shares(Q, K, mask).T @ V


@wrong_head("mixes_with_transposed_weights")
def indices_swapped(Q, K, V, mask=None):
    A = shares(Q, K, mask)
    out = np.zeros((A.shape[0], V.shape[1]))
    for i in range(A.shape[0]):
        for j in range(V.shape[0]):
            out[i] += A[j, i] * V[j]
    return out


@wrong_head("mixes_with_transposed_weights")
def einsum_swapped(Q, K, V, mask=None):
    return np.einsum("kq,kv->qv", shares(Q, K, mask), V)


@wrong_head("weights_on_the_wrong_side")
def V_first(Q, K, V, mask=None):
    return V @ shares(Q, K, mask)


@wrong_head("weights_on_the_wrong_side")
def V_first_dot(Q, K, V, mask=None):
    return np.dot(V, shares_by_lists(Q, K, mask))


@wrong_head("picks_the_top_value", also=("picks_the_winner",))
def argmax_row(Q, K, V, mask=None):
    return V[shares(Q, K, mask).argmax(axis=1)]


@wrong_head("picks_the_top_value", also=("picks_the_winner",))
def argmax_row_in_loops(Q, K, V, mask=None):
    A = shares_by_lists(Q, K, mask)
    return np.array([V[list(row).index(max(row))] for row in A])


@wrong_head("averages_the_values")
def mean_for_everyone(Q, K, V, mask=None):
    return np.tile(V.mean(axis=0), (len(Q), 1))


@wrong_head("averages_the_values")
def uniform_weights(Q, K, V, mask=None):
    return np.ones((Q.shape[0], K.shape[0])) / K.shape[0] @ V


@wrong_head("adds_a_residual", without=("cross_attention",))
def plus_V(Q, K, V, mask=None):
    return shares(Q, K, mask) @ V + V


@wrong_head("adds_a_residual", without=("cross_attention",))
def V_plus(Q, K, V, mask=None):
    out = V.astype(float).copy()
    out += shares_by_lists(Q, K, mask) @ V
    return out


@wrong("adds_a_residual", "multi_head_attention")
def plus_X(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    w, v = W_Q.shape[1] // n_heads, W_V.shape[1] // n_heads
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    heads = [
        shares(Q[:, h * w : (h + 1) * w], K[:, h * w : (h + 1) * w], mask) @ V[:, h * v : (h + 1) * v]
        for h in range(n_heads)
    ]
    return X + np.hstack(heads) @ W_O


@wrong_head("mixes_with_raw_scores", also=("fills_with_zero",))
def scores_times_V(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    if mask is not None:
        s = s * mask
    return s @ V


@wrong_head("mixes_with_raw_scores")
def masked_scores_times_V(Q, K, V, mask=None):
    scores = Q @ K.T / np.sqrt(K.shape[1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = soft(scores)  # noqa: F841
    return scores @ V


@wrong_head("mixes_with_raw_scores")
def QKV(Q, K, V, mask=None):
    return (Q @ K.T) @ V


@wrong_head("multiplies_values_elementwise")
def star_V(Q, K, V, mask=None):
    return shares(Q, K, mask) * V


@wrong_head("multiplies_values_elementwise")
def np_multiply(Q, K, V, mask=None):
    A = shares_by_lists(Q, K, mask)
    return np.multiply(A, V)


@wrong_head("returns_the_weights", without=("multi_head_attention",))
def weights_returned(Q, K, V, mask=None):
    A = shares(Q, K, mask)
    A @ V
    return A


@wrong_head("returns_the_weights", without=("multi_head_attention",))
def weights_returned_by_lists(Q, K, V, mask=None):
    return shares_by_lists(Q, K, mask)
