"""Wrong at the heads, across two sequences, and in conduct."""

import math

import numpy as np
from wrong_answers import add, soft, wrong


def head(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(Q.shape[-1])
    return soft(s if mask is None else np.where(mask, s, -np.inf)) @ V


def cut(Y, h):
    """By slices: a list of heads."""
    w = Y.shape[1] // h
    return [Y[:, r * w : (r + 1) * w] for r in range(h)]


def outputs(X, W_Q, W_K, W_V, h, mask):
    return [head(q, k, v, mask) for q, k, v in zip(cut(X @ W_Q, h), cut(X @ W_K, h), cut(X @ W_V, h), strict=True)]


def many_at_once(Q, K, V, mask=None):
    """(h, T, w) each."""
    s = np.einsum("hid,hjd->hij", Q, K) / math.sqrt(Q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return np.einsum("hij,hjd->hid", soft(s), V)


# ---- split_heads


@wrong("splits_without_transposing", "split_heads")
def reshape_only(Y, n_heads):
    T, d = Y.shape
    return Y.reshape(n_heads, T, d // n_heads)


@wrong("splits_without_transposing", "split_heads")
def reshape_ravel(Y, n_heads):
    return np.ravel(Y).reshape((n_heads, len(Y), -1))


@wrong("interleaves_the_heads", "split_heads")
def every_hth_column(Y, n_heads):
    return np.stack([Y[:, r::n_heads] for r in range(n_heads)])


@wrong("interleaves_the_heads", "split_heads")
def reshape_width_first(Y, n_heads):
    return Y.reshape(Y.shape[0], -1, n_heads).transpose(2, 0, 1)


@wrong("reverses_the_heads", "split_heads")
def last_first(Y, n_heads):
    return np.array(cut(Y, n_heads)[::-1])


@wrong("reverses_the_heads", "split_heads")
def inserted_in_front(Y, n_heads):
    heads = []
    for part in np.split(Y, n_heads, axis=1):
        heads.insert(0, part)
    return np.array(heads)


@wrong("repeats_one_head", "split_heads")
def index_forgotten(Y, n_heads):
    w = Y.shape[1] // n_heads
    return np.array([Y[:, 0:w] for r in range(n_heads)])


@wrong("repeats_one_head", "split_heads")
def tiled(Y, n_heads):
    return np.repeat(Y[None, :, : Y.shape[1] // n_heads], n_heads, axis=0)


@wrong("uses_one_big_head", "split_heads")
def only_an_axis(Y, n_heads):
    return Y[None]


# ---- merge_heads


@wrong("merges_without_transposing", "merge_heads")
def merge_reshape_only(Z):
    h, T, w = Z.shape
    return Z.reshape(T, h * w)


@wrong("merges_without_transposing", "merge_heads")
def merge_reshape_minus_one(Z):
    return np.reshape(Z, (np.shape(Z)[1], -1))


@wrong("interleaves_the_heads", "merge_heads")
def merge_interleaved(Z):
    return Z.transpose(1, 2, 0).reshape(Z.shape[1], -1)


@wrong("interleaves_the_heads", "merge_heads")
def merge_interleaved_in_loops(Z):
    h, T, w = Z.shape
    out = np.zeros((T, h * w))
    for r in range(h):
        for c in range(w):
            out[:, c * h + r] = Z[r, :, c]
    return out


@wrong("averages_the_heads", "merge_heads")
def merge_mean(Z):
    return Z.mean(axis=0)


@wrong("averages_the_heads", "merge_heads")
def merge_sum_over_h(Z):
    return sum(Z) / len(Z)


@wrong("sums_the_heads", "merge_heads")
def merge_sum(Z):
    return Z.sum(axis=0)


@wrong("sums_the_heads", "merge_heads")
def merge_add_up(Z):
    out = np.zeros(Z[0].shape)
    for z in Z:
        out += z
    return out


@wrong("concatenates_positions", "merge_heads")
def merge_vstack(Z):
    return np.vstack(list(Z))


@wrong("concatenates_positions", "merge_heads")
def merge_rows(Z):
    return Z.reshape(-1, Z.shape[-1])


@wrong("reverses_the_heads", "merge_heads")
def merge_last_first(Z):
    return np.hstack(list(Z[::-1]))


@wrong("reverses_the_heads", "merge_heads")
def merge_in_front(Z):
    out = Z[0]
    for z in Z[1:]:
        out = np.concatenate([z, out], axis=1)
    return out


# ---- multi_head_attention


@wrong("splits_without_transposing", "multi_head_attention")
def split_by_reshape(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = X.shape[0]
    Q, K, V = ((X @ W).reshape(n_heads, T, -1) for W in (W_Q, W_K, W_V))
    return np.concatenate([head(q, k, v, mask) for q, k, v in zip(Q, K, V, strict=True)], axis=1) @ W_O


@wrong("splits_without_transposing", "multi_head_attention")
def split_by_reshape_einsum(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = len(X)
    Z = many_at_once(*(np.dot(X, W).reshape(n_heads, T, W.shape[1] // n_heads) for W in (W_Q, W_K, W_V)), mask)
    return Z.swapaxes(0, 1).reshape(T, -1) @ W_O


@wrong("merges_without_transposing", "multi_head_attention")
def merge_by_reshape(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = X.shape[0]
    Q, K, V = ((X @ W).reshape(T, n_heads, -1).transpose(1, 0, 2) for W in (W_Q, W_K, W_V))
    return many_at_once(Q, K, V, mask).reshape(T, -1) @ W_O


@wrong("merges_without_transposing", "multi_head_attention")
def stacked_and_reshaped(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Z = np.array(outputs(X, W_Q, W_K, W_V, n_heads, mask))
    return Z.reshape(X.shape[0], W_O.shape[0]).dot(W_O)


@wrong("interleaves_the_heads", "multi_head_attention")
def strided_columns(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    outs = [head(Q[:, r::n_heads], K[:, r::n_heads], V[:, r::n_heads], mask) for r in range(n_heads)]
    return np.hstack(outs) @ W_O


@wrong("interleaves_the_heads", "multi_head_attention")
def head_axis_last(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = X.shape[0]
    Q, K, V = ((X @ W).reshape(T, -1, n_heads).transpose(2, 0, 1) for W in (W_Q, W_K, W_V))
    return np.concatenate(list(many_at_once(Q, K, V, mask)), axis=-1) @ W_O


@wrong("interleaves_the_heads", "multi_head_attention")
def merged_interleaved(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Z = np.stack(outputs(X, W_Q, W_K, W_V, n_heads, mask), axis=-1)
    return Z.reshape(len(X), -1) @ W_O


@wrong("averages_the_heads", "multi_head_attention")
def mean_of_heads(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.mean(outputs(X, W_Q, W_K, W_V, n_heads, mask), axis=0)


@wrong("averages_the_heads", "multi_head_attention")
def sum_over_h(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    total = 0
    for o in outputs(X, W_Q, W_K, W_V, n_heads, mask):
        total = total + o
    return total / n_heads


@wrong("sums_the_heads", "multi_head_attention")
def sum_of_heads(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return sum(outputs(X, W_Q, W_K, W_V, n_heads, mask))


@wrong("sums_the_heads", "multi_head_attention")
def einsum_over_heads(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.einsum("htd->td", np.array(outputs(X, W_Q, W_K, W_V, n_heads, mask)))


@wrong("forgets_the_output_projection", "multi_head_attention")
def concatenation_only(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_Q, W_K, W_V, n_heads, mask))


@wrong("forgets_the_output_projection", "multi_head_attention")
def projection_not_assigned(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = len(X)
    Q, K, V = (np.einsum("td,dhw->htw", X, W.reshape(len(W), n_heads, -1)) for W in (W_Q, W_K, W_V))
    C = many_at_once(Q, K, V, mask).transpose(1, 0, 2).reshape(T, -1)
    return C


@wrong("projects_on_the_wrong_side", "multi_head_attention")
def W_O_first(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return W_O @ np.hstack(outputs(X, W_Q, W_K, W_V, n_heads, mask))


@wrong("projects_on_the_wrong_side", "multi_head_attention")
def W_O_first_dot(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    C = np.concatenate(outputs(X, W_Q, W_K, W_V, n_heads, mask), axis=1)
    return np.dot(W_O, C)


@wrong("transposes_the_output_projection", "multi_head_attention")
def W_O_T(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_Q, W_K, W_V, n_heads, mask)) @ W_O.T


@wrong("transposes_the_output_projection", "multi_head_attention")
def einsum_W_O_T(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    C = np.concatenate(outputs(X, W_Q, W_K, W_V, n_heads, mask), axis=-1)
    return np.einsum("tc,oc->to", C, W_O)


@wrong("transposes_the_projections", "multi_head_attention")
def W_T(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_Q.T, W_K.T, W_V.T, n_heads, mask)) @ W_O


@wrong("transposes_the_projections", "multi_head_attention")
def W_times_each_token(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q = np.array([W_Q @ x for x in X])
    K = np.array([W_K @ x for x in X])
    V = np.array([W_V @ x for x in X])
    outs = [head(q, k, v, mask) for q, k, v in zip(*(np.split(M, n_heads, 1) for M in (Q, K, V)), strict=True)]
    return np.hstack(outs) @ W_O


@wrong("transposes_the_projections", "cross_attention")
def W_T_across(X, X_kv, W_Q, W_K, W_V):
    return head(X @ W_Q.T, X_kv @ W_K.T, X_kv @ W_V.T)


@wrong("transposes_the_projections", "cross_attention")
def W_times_each_token_across(X, X_kv, W_Q, W_K, W_V):
    return head((W_Q @ X.T).T, (W_K @ X_kv.T).T, (W_V @ X_kv.T).T)


@wrong("repeats_one_head", "multi_head_attention")
def always_the_first_slice(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    d, v = W_Q.shape[1] // n_heads, W_V.shape[1] // n_heads
    outs = []
    for _ in range(n_heads):
        outs.append(head((X @ W_Q)[:, :d], (X @ W_K)[:, :d], (X @ W_V)[:, :v], mask))
    return np.hstack(outs) @ W_O


@wrong("repeats_one_head", "multi_head_attention")
def tiled_first_head(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.tile(outputs(X, W_Q, W_K, W_V, n_heads, mask)[0], (1, n_heads)) @ W_O


@wrong("slices_before_projecting", "multi_head_attention")
def sliced_inputs_and_rows(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    outs = []
    for x, a, b, c in zip(*[np.split(X, n_heads, axis=1)] + [blocks(W, n_heads) for W in (W_Q, W_K, W_V)], strict=True):
        outs.append(head(x @ a, x @ b, x @ c, mask))
    return np.hstack(outs) @ W_O


def blocks(W, h):
    """Block r of the diagonal."""
    r, c = W.shape[0] // h, W.shape[1] // h
    return [W[i * r : (i + 1) * r, i * c : (i + 1) * c] for i in range(h)]


@wrong("slices_before_projecting", "multi_head_attention")
def rest_of_the_token_zeroed(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    part, outs = X.shape[1] // n_heads, []
    for r in range(n_heads):
        x = np.zeros(X.shape)
        x[:, r * part : (r + 1) * part] = X[:, r * part : (r + 1) * part]
        outs.append(outputs(x, W_Q, W_K, W_V, n_heads, mask)[r])
    return np.concatenate(outs, axis=1) @ W_O


def stacked(X, W_Q, W_K, h):
    q, k = np.array(cut(X @ W_Q, h)), np.array(cut(X @ W_K, h))
    return q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])


@wrong("softmax_over_heads", "multi_head_attention")
def axis_zero_is_the_head(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    s = stacked(X, W_Q, W_K, n_heads)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    e = np.exp(s)
    return np.hstack(list(e / e.sum(axis=0) @ np.array(cut(X @ W_V, n_heads)))) @ W_O


@wrong("softmax_over_heads", "multi_head_attention")
def heads_and_keys_compete(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    s = stacked(X, W_Q, W_K, n_heads)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    e = np.exp(s - s.max())
    A = e / e.sum(axis=(0, 2), keepdims=True)
    return np.hstack(list(A @ np.array(cut(X @ W_V, n_heads)))) @ W_O


@wrong("concatenates_positions", "multi_head_attention")
def stacked_as_rows(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.concatenate(outputs(X, W_Q, W_K, W_V, n_heads, mask))


@wrong("concatenates_positions", "multi_head_attention")
def vstack_then_project(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.vstack(outputs(X, W_Q, W_K, W_V, n_heads, mask)) @ W_O


@wrong("reverses_the_heads", "multi_head_attention")
def concatenated_backwards(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_Q, W_K, W_V, n_heads, mask)[::-1]) @ W_O


@wrong("reverses_the_heads", "multi_head_attention")
def counted_down(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, K, V = (cut(X @ W, n_heads) for W in (W_Q, W_K, W_V))
    outs = []
    for r in range(n_heads - 1, -1, -1):
        outs.append(head(Q[r], K[r], V[r], mask))
    return np.concatenate(outs, axis=1) @ W_O


@wrong("uses_one_big_head", "multi_head_attention")
def never_split(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return head(X @ W_Q, X @ W_K, X @ W_V, mask) @ W_O


@wrong("uses_one_big_head", "multi_head_attention")
def never_split_by_hand(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, K, V = X.dot(W_Q), X.dot(W_K), X.dot(W_V)
    S = np.inner(Q, K) / Q.shape[1] ** 0.5
    if mask is not None:
        S[~np.asarray(mask, bool)] = -1e30
    return soft(S).dot(V).dot(W_O)


@wrong("shares_averaged_weights", "multi_head_attention")
def mean_of_tables(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    s = stacked(X, W_Q, W_K, n_heads)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    A = soft(s).mean(axis=0)
    return A @ (X @ W_V) @ W_O


@wrong("shares_averaged_weights", "multi_head_attention")
def mean_of_tables_in_loops(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    A = 0
    for q, k in zip(cut(X @ W_Q, n_heads), cut(X @ W_K, n_heads), strict=True):
        A = A + head(q, k, np.eye(len(X)), mask) / n_heads
    return np.concatenate([A @ v for v in cut(X @ W_V, n_heads)], axis=1) @ W_O


@wrong("masks_only_the_first_head", "multi_head_attention")
def mask_used_up(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    outs = []
    for q, k, v in zip(*(cut(X @ W, n_heads) for W in (W_Q, W_K, W_V)), strict=True):
        outs.append(head(q, k, v, mask))
        mask = None
    return np.hstack(outs) @ W_O


@wrong("masks_only_the_first_head", "multi_head_attention")
def mask_at_index_zero(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    s = stacked(X, W_Q, W_K, n_heads)
    if mask is not None:
        s[0] = np.where(mask, s[0], -np.inf)
    Z = soft(s) @ np.array(cut(X @ W_V, n_heads))
    return Z.transpose(1, 0, 2).reshape(len(X), -1) @ W_O


@wrong("asks_with_one_head", "multi_head_attention")
def first_queries_for_all(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    q = cut(X @ W_Q, n_heads)[0]
    outs = [head(q, k, v, mask) for k, v in zip(cut(X @ W_K, n_heads), cut(X @ W_V, n_heads), strict=True)]
    return np.hstack(outs) @ W_O


@wrong("asks_with_one_head", "multi_head_attention")
def index_left_at_zero(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    T = len(X)
    Q, K, V = ((X @ W).reshape(T, n_heads, -1) for W in (W_Q, W_K, W_V))
    outs = [head(Q[:, 0], K[:, r], V[:, r], mask) for r in range(n_heads)]
    return np.concatenate(outs, axis=1) @ W_O


@wrong("swaps_keys_and_values", "multi_head_attention")
def K_and_V_exchanged(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_Q, W_V, W_K, n_heads, mask)) @ W_O


@wrong("swaps_keys_and_values", "multi_head_attention")
def unpacked_in_another_order(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, V, K = (np.array(np.split(X @ W, n_heads, axis=1)) for W in (W_Q, W_K, W_V))
    return np.hstack(list(many_at_once(Q, K, V, mask))) @ W_O


@wrong("swaps_keys_and_values", "cross_attention")
def K_and_V_exchanged_across(X, X_kv, W_Q, W_K, W_V):
    return head(X @ W_Q, X_kv @ W_V, X_kv @ W_K)


@wrong("swaps_keys_and_values", "cross_attention")
def arguments_in_another_order(X, X_kv, W_Q, W_K, W_V):
    Q, V, K = X @ W_Q, X_kv @ W_K, X_kv @ W_V
    return soft(np.einsum("id,jd->ij", Q, K) / Q.shape[1] ** 0.5) @ V


@wrong("swaps_queries_and_keys", "multi_head_attention", also=("scores_keys_against_queries",))
def Q_and_K_exchanged(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return np.hstack(outputs(X, W_K, W_Q, W_V, n_heads, mask)) @ W_O


@wrong("swaps_queries_and_keys", "multi_head_attention", also=("scores_keys_against_queries",))
def K_asks(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    K, Q, V = (np.array(cut(X @ W, n_heads)) for W in (W_Q, W_K, W_V))
    return np.concatenate(list(many_at_once(Q, K, V, mask)), 1) @ W_O


@wrong("swaps_queries_and_keys", "cross_attention")
def Q_and_K_exchanged_across(X, X_kv, W_Q, W_K, W_V):
    return head(X @ W_K, X_kv @ W_Q, X_kv @ W_V)


# ---- cross_attention


@wrong("exchanges_the_sequences", "cross_attention")
def source_asks(X, X_kv, W_Q, W_K, W_V):
    return head(X_kv @ W_Q, X @ W_K, X @ W_V)


@wrong("exchanges_the_sequences", "cross_attention")
def named_the_wrong_way_round(X_kv, X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X_kv @ W_K, X_kv @ W_V
    s = Q @ K.T / math.sqrt(K.shape[1])
    return soft(s) @ V


@wrong("keys_and_values_from_different_sequences", "cross_attention")
def values_from_the_target(X, X_kv, W_Q, W_K, W_V):
    return head(X @ W_Q, X_kv @ W_K, X @ W_V)


@wrong("keys_and_values_from_different_sequences", "cross_attention")
def keys_from_the_target(X, X_kv, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X_kv @ W_V
    return soft(np.dot(Q, K.T) / np.sqrt(K.shape[1])) @ V


@wrong("masks_across_causally", "cross_attention")
def tril_across(X, X_kv, W_Q, W_K, W_V):
    return head(X @ W_Q, X_kv @ W_K, X_kv @ W_V, np.tril(np.ones((len(X), len(X_kv)), bool)))


@wrong("masks_across_causally", "cross_attention")
def loops_up_to_i(X, X_kv, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X_kv @ W_K, X_kv @ W_V
    out = []
    for i, q in enumerate(Q):
        seen = slice(0, i + 1)
        s = K[seen] @ q / len(q) ** 0.5
        e = np.exp(s - s.max())
        out.append(e @ V[seen] / e.sum())
    return np.array(out)


# ---- conduct


@wrong("prints_instead_of_returning", "softmax")
def prints_softmax(scores):
    print(soft(scores))


@wrong("prints_instead_of_returning", "attention_scores")
def prints_scores(Q, K):
    print("scores:", Q @ K.T / np.sqrt(K.shape[1]))


@wrong("prints_instead_of_returning", "attention_weights")
def prints_weights(Q, K, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    for row in soft(s if mask is None else np.where(mask, s, -np.inf)):
        print(*row)


@wrong("prints_instead_of_returning", "attention")
def prints_output(Q, K, V, mask=None):
    out = head(Q, K, V, mask)
    print(out)


@wrong("prints_instead_of_returning", "attention")
def prints_each_row(Q, K, V, mask=None):
    for row in head(Q, K, V, mask):
        print("output", row)


@wrong("prints_instead_of_returning", "causal_mask")
def prints_mask(n):
    for i in range(n):
        print([j <= i for j in range(n)])


@wrong("prints_instead_of_returning", "padding_mask")
def prints_padding(lengths, n_k):
    print(np.arange(n_k) < np.asarray(lengths)[:, None])


@wrong("prints_instead_of_returning", "split_heads")
def prints_split(Y, n_heads):
    print(np.array(cut(Y, n_heads)))


@wrong("prints_instead_of_returning", "merge_heads")
def prints_merged(Z):
    print(np.hstack(list(Z)))


@wrong("prints_instead_of_returning", "multi_head_attention")
def prints_many(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    print(np.hstack(outputs(X, W_Q, W_K, W_V, n_heads, mask)) @ W_O)


@wrong("prints_instead_of_returning", "cross_attention")
def prints_across(X, X_kv, W_Q, W_K, W_V):
    print(head(X @ W_Q, X_kv @ W_K, X_kv @ W_V))


@wrong("prints_instead_of_returning", "masked_softmax")
def prints_masked(scores, mask):
    print(soft(np.where(mask, scores, -np.inf)))


@wrong("splits_without_transposing", "multi_head_attention")
def heads_in_the_middle_all_along(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, K, V = ((X @ W).reshape(len(X), n_heads, -1) for W in (W_Q, W_K, W_V))
    return many_at_once(Q, K, V, mask).reshape(len(X), -1) @ W_O


@wrong("splits_without_transposing", "multi_head_attention")
def heads_in_the_middle_and_no_mask(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    Q, K, V = ((X @ W).reshape(len(X), n_heads, -1) for W in (W_Q, W_K, W_V))
    return many_at_once(Q, K, V).reshape(len(X), -1) @ W_O


def heads_sharing_out_along(axis, fill):
    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        Q, K, V = (np.stack(cut(X @ W, n_heads)) for W in (W_Q, W_K, W_V))
        s = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
        s = s if mask is None else np.where(mask, s, fill)
        powers = np.exp(s - s.max(axis=axis, keepdims=True))
        return np.hstack(list(powers / powers.sum(axis=axis, keepdims=True) @ V)) @ W_O

    return multi_head_attention


add("softmax_over_heads", "multi_head_attention", heads_sharing_out_along(0, -1e9), "over_heads_after_a_large_fill")
add("normalises_over_queries", "multi_head_attention", heads_sharing_out_along(1, -1e9), "columns_after_a_large_fill")
add("normalises_over_everything", "multi_head_attention", heads_sharing_out_along(None, -1e9), "all_heads_together")


@wrong("keeps_one_maximum_for_all", "blocked_attention")
def one_maximum(Q, K, V, block):
    m, s, o = -np.inf, np.zeros((len(Q), 1)), np.zeros((len(Q), V.shape[1]))
    for a in range(0, len(K), block):
        scores = Q @ K[a : a + block].T / np.sqrt(K.shape[1])
        top = max(m, scores.max())
        powers = np.exp(scores - top)
        s = s * np.exp(m - top) + powers.sum(axis=1, keepdims=True)
        o = o * np.exp(m - top) + powers @ V[a : a + block]
        m = top
    return o / s
