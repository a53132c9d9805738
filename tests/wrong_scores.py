"""Wrong at the scores and their scale."""

import math

import numpy as np
from wrong_answers import heads_by_reshape, heads_by_slices, soft, wrong, wrong_head, wrong_scores, wrong_weights

# ---- forgets_to_scale


@wrong_scores("forgets_to_scale")
def plain_product(Q, K):
    return Q @ K.T


@wrong_scores("forgets_to_scale")
def dot_products_in_loops(Q, K):
    table = []
    for q in Q:
        row = []
        for k in K:
            row.append(sum(a * b for a, b in zip(q, k, strict=True)))
        table.append(row)
    return np.array(table)


@wrong_scores("forgets_to_scale")
def scale_worked_out_but_unused(Q, K):
    d_k = Q.shape[-1]
    scale = 1 / np.sqrt(d_k)  # noqa: F841
    return np.einsum("id,jd->ij", Q, K)


@wrong_scores("forgets_to_scale")
def inner(Q, K):
    return np.inner(Q, K)


@wrong("forgets_to_scale", "attention")
def one_line(Q, K, V, mask=None):
    S = Q.dot(K.transpose())
    S = S if mask is None else np.where(mask, S, -1e20)
    return (np.exp(S - S.max(1)[:, None]) / np.exp(S - S.max(1)[:, None]).sum(1)[:, None]).dot(V)


# ---- scales_by_d_k


@wrong_scores("scales_by_d_k")
def over_the_width(Q, K):
    return Q @ K.T / Q.shape[1]


@wrong_scores("scales_by_d_k")
def both_by_the_root(Q, K):
    d = K.shape[-1]
    q = Q / np.sqrt(d)
    k = K / np.sqrt(d)
    return q @ k.T


@wrong_scores("scales_by_d_k")
def mean_of_products(Q, K):
    return (np.asarray(Q)[:, None, :] * np.asarray(K)[None, :, :]).mean(axis=-1)


@wrong_scores("scales_by_d_k")
def loops_over_len(Q, K):
    return [[float(np.dot(q, k)) / len(k) for k in K] for q in Q]


# ---- multiplies_by_root_d_k


@wrong_scores("multiplies_by_root_d_k")
def times_root(Q, K):
    return np.matmul(Q, K.T) * np.sqrt(Q.shape[-1])


@wrong_scores("multiplies_by_root_d_k")
def over_negative_power(Q, K):
    d_k = K.shape[1]
    return Q @ K.T / d_k**-0.5


@wrong_scores("multiplies_by_root_d_k")
def loops_times_root(Q, K):
    n, m, d = len(Q), len(K), len(Q[0])
    S = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            S[i, j] = math.sqrt(d) * float(sum(Q[i] * K[j]))
    return S


@wrong_scores("multiplies_by_root_d_k")
def over_one_over_root(Q, K):
    return (Q @ K.T) / (1 / K.shape[-1] ** 0.5)


# ---- halves_instead_of_rooting


@wrong_scores("halves_instead_of_rooting")
def precedence(Q, K):
    return Q @ K.T / Q.shape[-1] ** 1 / 2


@wrong_scores("halves_instead_of_rooting")
def precedence_in_loops(Q, K):
    d_k = len(K[0])
    return np.array([[np.dot(q, k) / d_k**1 / 2 for k in K] for q in Q])


# ---- scales_by_number_of_keys, scales_by_number_of_queries


@wrong_scores("scales_by_number_of_keys", same_in_self_attention=("scales_by_number_of_queries",))
def root_of_rows_of_K(Q, K):
    return Q @ K.T / np.sqrt(K.shape[0])


@wrong_scores("scales_by_number_of_keys", same_in_self_attention=("scales_by_number_of_queries",))
def root_of_len_K(Q, K):
    return np.einsum("ac,bc->ab", Q, K) * len(K) ** -0.5


@wrong_scores("scales_by_number_of_keys", same_in_self_attention=("scales_by_number_of_queries",))
def root_of_the_tables_width(Q, K):
    s = Q @ K.T
    return s / math.sqrt(s.shape[1])


@wrong_scores("scales_by_number_of_queries", same_in_self_attention=("scales_by_number_of_keys",))
def root_of_rows_of_Q(Q, K):
    return Q @ K.T / np.sqrt(Q.shape[0])


@wrong_scores("scales_by_number_of_queries", same_in_self_attention=("scales_by_number_of_keys",))
def root_of_len_Q(Q, K):
    return [[float(q @ k) / math.sqrt(len(Q)) for k in K] for q in Q]


# ---- scales_by_value_width, scales_by_model_width


@wrong_head("scales_by_value_width", without=("multi_head_attention",))
def root_of_V(Q, K, V, mask=None):
    S = Q @ K.T / np.sqrt(V.shape[1])
    if mask is not None:
        S = np.where(mask, S, -np.inf)
    return soft(S) @ V


@wrong_head("scales_by_value_width", without=("multi_head_attention",))
def root_of_len_of_a_value(Q, K, V, mask=None):
    out = []
    for i, q in enumerate(Q):
        seen = [j for j in range(len(K)) if mask is None or mask[i][j]]
        s = [np.dot(q, K[j]) * len(V[0]) ** -0.5 for j in seen]
        e = [math.exp(x - max(s)) for x in s]
        out.append(sum(a * V[j] for a, j in zip(e, seen, strict=True)) / sum(e))
    return np.array(out)


@wrong("scales_by_model_width", "multi_head_attention")
def root_of_X(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    d_model = X.shape[-1]

    def head(q, k, v, m):
        s = q @ k.T / np.sqrt(d_model)
        return soft(s if m is None else np.where(m, s, -np.inf)) @ v

    return heads_by_slices(head)(X, W_Q, W_K, W_V, W_O, n_heads, mask)


@wrong("scales_by_model_width", "multi_head_attention")
def root_of_the_whole_projection(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q = X @ W_Q / np.sqrt(W_Q.shape[1])
    K, V = X @ W_K, X @ W_V
    T = len(X)
    q, k, v = (M.reshape(T, n_heads, -1).swapaxes(0, 1) for M in (Q, K, V))
    s = q @ k.transpose(0, 2, 1)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return (soft(s) @ v).swapaxes(0, 1).reshape(T, -1) @ W_O


@wrong("scales_by_model_width", "multi_head_attention")
def root_of_heads_times_width(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    def head(q, k, v, m):
        s = np.einsum("id,jd->ij", q, k) / (q.shape[1] * n_heads) ** 0.5
        if m is not None:
            s[np.logical_not(m)] = -1e30
        return soft(s) @ v

    return heads_by_reshape(head)(X, W_Q, W_K, W_V, W_O, n_heads, mask)


# ---- truncates_the_root, hard_codes_the_root


@wrong_scores("truncates_the_root")
def int_of_sqrt(Q, K):
    return Q @ K.T / int(np.sqrt(K.shape[1]))


@wrong_scores("truncates_the_root")
def isqrt(Q, K):
    return [[sum(map(float.__mul__, map(float, q), map(float, k))) / math.isqrt(len(q)) for k in K] for q in Q]


@wrong_scores("truncates_the_root")
def floor_power(Q, K):
    return np.inner(Q, K) / (Q.shape[-1] ** 0.5 // 1)


@wrong_scores("hard_codes_the_root")
def sqrt_two(Q, K):
    return Q @ K.T / np.sqrt(2)


@wrong_scores("hard_codes_the_root")
def typed_digits(Q, K):
    return np.dot(Q, K.T) / 1.414


@wrong_scores("hard_codes_the_root")
def times_half_root(Q, K):
    return np.dot(Q, K.T) * 2**-0.5


# ---- scales_the_weights, scales_the_output


@wrong_weights("scales_the_weights", also=("scales_the_output",))
def root_after_softmax(Q, K, mask=None):
    s = Q @ K.T
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return soft(s / np.sqrt(Q.shape[-1])) / np.sqrt(Q.shape[-1])


@wrong_weights("scales_the_weights", also=("scales_the_output",))
def root_in_the_total(Q, K, mask=None):
    d = len(K[0])
    A = np.zeros((len(Q), len(K)))
    for i, q in enumerate(Q):
        s = np.array([q @ k for k in K]) / d**0.5
        if mask is not None:
            s[~np.array(mask[i], bool)] = -np.inf
        e = np.exp(s - max(s))
        A[i] = e / (sum(e) * math.sqrt(d))
    return A


@wrong_head("scales_the_output", also=("scales_the_weights",))
def root_again_at_the_end(Q, K, V, mask=None):
    d_k = K.shape[1]
    s = Q @ K.T / np.sqrt(d_k)
    if mask is not None:
        s[~np.asarray(mask, bool)] = -np.inf
    return soft(s) @ V / np.sqrt(d_k)


@wrong_head("scales_the_output", also=("scales_the_weights",))
def shrunken_values(Q, K, V, mask=None):
    root = np.sqrt(Q.shape[-1])
    s = (Q / root) @ K.T
    s = np.where(mask, s, -np.inf) if mask is not None else s
    return np.einsum("qk,kd->qd", soft(s), V / root)


# ---- compares_directions_only


@wrong_scores("compares_directions_only")
def cosine(Q, K):
    q = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    k = K / np.linalg.norm(K, axis=1, keepdims=True)
    return q @ k.T


@wrong_scores("compares_directions_only")
def cosine_in_loops(Q, K):
    return np.array([[np.dot(q, k) / (np.linalg.norm(q) * np.linalg.norm(k) + 1e-12) for k in K] for q in Q])


# ---- scores_keys_against_queries


@wrong_scores("scores_keys_against_queries", same_in_self_attention=("swaps_queries_and_keys",))
def K_first(Q, K):
    return K @ Q.T / np.sqrt(K.shape[-1])


@wrong_scores("scores_keys_against_queries", same_in_self_attention=("swaps_queries_and_keys",))
def loops_the_wrong_way_round(Q, K):
    S = np.zeros((len(K), len(Q)))
    for i in range(len(K)):
        for j in range(len(Q)):
            S[i, j] = np.dot(K[i], Q[j]) / math.sqrt(len(K[i]))
    return S


@wrong_scores("scores_keys_against_queries", same_in_self_attention=("swaps_queries_and_keys",))
def transposed_at_the_end(Q, K):
    return (Q @ K.T / Q.shape[1] ** 0.5).T


# ---- forgets_the_transpose


@wrong_scores("forgets_the_transpose")
def no_T(Q, K):
    return Q @ K / np.sqrt(K.shape[-1])


@wrong_scores("forgets_the_transpose")
def no_T_dot(Q, K):
    d_k = Q.shape[1]
    scores = np.dot(Q, K)
    return scores / d_k**0.5


@wrong_scores("forgets_the_transpose")
def einsum_of_the_wrong_axis(Q, K):
    return np.einsum("ij,jk->ik", Q, K) / math.sqrt(len(K[0]))


# ---- multiplies_elementwise


@wrong_scores("multiplies_elementwise", without=("multi_head_attention", "cross_attention"))
def star(Q, K):
    return Q * K / np.sqrt(K.shape[-1])


@wrong_scores("multiplies_elementwise", without=("multi_head_attention", "cross_attention"))
def star_in_loops(Q, K):
    return np.array([[a * b / len(q) ** 0.5 for a, b in zip(q, k, strict=True)] for q, k in zip(Q, K, strict=True)])


# ---- reshapes_instead_of_transposing


@wrong_scores("reshapes_instead_of_transposing")
def reshape(Q, K):
    return Q @ K.reshape(K.shape[1], K.shape[0]) / np.sqrt(K.shape[1])


@wrong_scores("reshapes_instead_of_transposing")
def reshape_minus_one(Q, K):
    d = Q.shape[-1]
    return np.matmul(Q, np.reshape(K, (d, -1))) / d**0.5


# ---- scores_queries_against_queries, scores_keys_against_keys


@wrong_scores("scores_queries_against_queries")
def Q_twice(Q, K):
    return Q @ Q.T / np.sqrt(K.shape[-1])


@wrong_scores("scores_queries_against_queries")
def Q_twice_in_loops(Q, K):
    return np.array([[np.dot(a, b) for b in Q] for a in Q]) / math.sqrt(len(Q[0]))


@wrong_scores("scores_keys_against_keys")
def K_twice(Q, K):
    return K @ K.T / np.sqrt(Q.shape[-1])


@wrong_scores("scores_keys_against_keys")
def K_twice_einsum(Q, K):
    return np.einsum("id,jd->ij", K, K) / K.shape[1] ** 0.5


# ---- scores_by_distance


@wrong_scores("scores_by_distance")
def minus_half_distance(Q, K):
    gaps = Q[:, None, :] - K[None, :, :]
    return -0.5 * (gaps**2).sum(-1) / np.sqrt(Q.shape[-1])


@wrong_scores("scores_by_distance")
def minus_half_distance_in_loops(Q, K):
    return np.array([[-sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / 2 / len(q) ** 0.5 for k in K] for q in Q])


# ---- scores_against_values


@wrong_head("scores_against_values")
def Q_with_V(Q, K, V, mask=None):
    s = Q @ V.T / np.sqrt(K.shape[1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return soft(s) @ V


@wrong_head("scores_against_values")
def Q_with_V_in_loops(Q, K, V, mask=None):
    s = np.array([[np.dot(q, v) for v in V] for q in Q]) / math.sqrt(len(Q[0]))
    if mask is not None:
        s[~np.asarray(mask, bool)] = -1e30
    return soft(s) @ V


@wrong("truncates_to_integers", "attention_scores")
def scores_in_an_int_table(Q, K):
    table = np.zeros((len(Q), len(K)), dtype=int)
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            table[i, j] = q @ k / np.sqrt(len(q))
    return table


@wrong("truncates_to_integers", "attention_scores")
def dot_products_in_an_int_table(Q, K):
    table = np.zeros((len(Q), len(K)), dtype=int)
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            table[i, j] = q @ k
    return table / np.sqrt(K.shape[1])
