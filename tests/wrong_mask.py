"""Wrong at the mask."""

import math

import numpy as np
from wrong_answers import add, further, soft, wrong, wrong_weights


def scaled(Q, K):
    return Q @ K.T / np.sqrt(Q.shape[-1])


def wrong_hiding(mistake, also=(), without=()):
    """The masked softmax below, of (scores, mask), is wrong; it serves the weights and heads that are built on it."""

    def put(function):
        def attention_weights(Q, K, mask=None):
            return soft(scaled(Q, K)) if mask is None else function(scaled(Q, K), mask)

        made = {"masked_softmax": function, "attention_weights": attention_weights} | further(attention_weights)
        made.pop("cross_attention")
        for exercise, made_function in made.items():
            if exercise not in without:
                add(mistake, exercise, made_function, function.__name__, also)
        return function

    return put


# ---- fills_with_zero


@wrong_hiding("fills_with_zero")
def where_zero(scores, mask):
    return soft(np.where(mask, scores, 0))


@wrong_hiding("fills_with_zero")
def times_the_mask(scores, mask):
    return soft(scores * mask)


@wrong_hiding("fills_with_zero")
def zero_in_loops(scores, mask):
    s = np.array(scores, dtype=float)
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            if mask[i][j] == 0:
                s[i, j] = 0
    return soft(s)


@wrong_weights("fills_with_zero", without=("cross_attention",))
def zeroed_the_hidden_keys(Q, K, mask=None):
    rows = []
    for i, q in enumerate(Q):
        seen = K if mask is None else K * np.asarray(mask[i])[:, None]
        rows.append(soft(seen @ q / np.sqrt(len(q))))
    return np.array(rows)


@wrong_weights("fills_with_zero", without=("cross_attention",))
def raw_scores_zeroed(Q, K, mask=None):
    s = Q @ K.T
    if mask is not None:
        s[~mask.astype(bool)] = 0.0
    return soft(s / K.shape[1] ** 0.5)


# ---- fills_with_a_modest_number


def modest(fill):
    def weights(Q, K, mask=None):
        s = scaled(Q, K)
        if mask is not None:
            s = np.where(mask, s, fill)
        return soft(s)

    return weights


def modest_in_place(fill):
    def weights(Q, K, mask=None):
        s = scaled(Q, K)
        if mask is not None:
            s[np.logical_not(mask)] = fill
        e = np.exp(s)
        return e / e.sum(axis=1, keepdims=True)

    return weights


def modest_in_loops(fill):
    def weights(Q, K, mask=None):
        A = []
        for i, q in enumerate(Q):
            s = [float(q @ k) / math.sqrt(len(q)) for k in K]
            if mask is not None:
                s = [x if seen else fill for x, seen in zip(s, mask[i], strict=True)]
            e = [math.exp(x - max(s)) for x in s]
            A.append([x / sum(e) for x in e])
        return np.array(A)

    return weights


for number, hand in {
    -1: modest,
    -2: modest_in_place,
    -5: modest_in_loops,
    -10: modest,
    -42: modest_in_loops,
    -50: modest_in_place,
    -100: modest,
    -999: modest_in_loops,
    -1000: modest_in_loops,
    -1e4: modest,
    -3.5: modest_in_loops,
    -64: modest,
    -300: modest_in_loops,
    -2000: modest,
}.items():
    made = {"attention_weights": hand(number)} | further(hand(number))
    made.pop("cross_attention")
    for which, one in made.items():
        add("fills_with_a_modest_number", which, one, f"fill_{-number:g}_{hand.__name__}")

for number in (-1, -9, -20, -64, -100, -999, -1e4):
    add(
        "fills_with_a_modest_number",
        "masked_softmax",
        lambda scores, mask, number=number: soft(np.where(mask, scores, number)),
        f"fill_{-number:g}",
    )


# ---- fills_before_scaling


def before_scaling(fill, also=()):
    def weights(Q, K, mask=None):
        s = Q @ K.T
        if mask is not None:
            s = np.where(mask, s, fill)
        return soft(s / np.sqrt(K.shape[-1]))

    return weights


def before_scaling_in_loops(fill):
    def weights(Q, K, mask=None):
        S = []
        for i, q in enumerate(Q):
            row = []
            for j, k in enumerate(K):
                row.append(float(np.dot(q, k)) if mask is None or mask[i, j] else fill)
            S.append(row)
        return soft(np.array(S) / math.sqrt(len(K[0])))

    return weights


for number, hand in {
    -1: before_scaling,
    -10: before_scaling_in_loops,
    -42: before_scaling,
    -100: before_scaling,
    -300: before_scaling_in_loops,
    -999: before_scaling_in_loops,
    -1e4: before_scaling,
}.items():
    made = {"attention_weights": hand(number)} | further(hand(number))
    made.pop("cross_attention")
    for which, one in made.items():
        add("fills_before_scaling", which, one, f"fill_{-number:g}_{hand.__name__}")


# ---- fills_with_plus_infinity, multiplies_by_minus_infinity, adds_the_mask


@wrong_hiding("fills_with_plus_infinity")
def where_plus_inf(scores, mask):
    return soft(np.where(mask, scores, np.inf))


@wrong_hiding("fills_with_plus_infinity")
def plus_inf_in_loops(scores, mask):
    s = np.array(scores, dtype=float)
    for i, j in zip(*np.nonzero(np.asarray(mask) == 0), strict=True):
        s[i, j] = float("inf")
    e = np.exp(s)
    return e / e.sum(axis=1, keepdims=True)


@wrong_hiding("multiplies_by_minus_infinity")
def times_minus_inf(scores, mask):
    m = mask.astype(float)
    return soft(scores * m + (1 - m) * -np.inf)


@wrong_hiding("multiplies_by_minus_infinity")
def plus_not_mask_times_minus_inf(scores, mask):
    return soft(scores + (~mask.astype(bool)) * float("-inf"))


@wrong_hiding("adds_the_mask")
def plus_mask(scores, mask):
    return soft(scores + mask)


@wrong_hiding("adds_the_mask")
def plus_mask_in_loops(scores, mask):
    return soft(np.array([[x + int(m) for x, m in zip(*pair, strict=True)] for pair in zip(scores, mask, strict=True)]))


# ---- masks_after_softmax


@wrong_hiding("masks_after_softmax", also=("zeroes_hidden_values",))
def weights_times_mask(scores, mask):
    return soft(scores) * mask


@wrong_hiding("masks_after_softmax", also=("zeroes_hidden_values",))
def weights_set_to_zero(scores, mask):
    A = soft(scores)
    A[~np.array(mask, bool)] = 0
    return A


@wrong_hiding("masks_after_softmax", also=("zeroes_hidden_values",))
def only_the_numerator(scores, mask):
    scores = np.asarray(scores, float)
    total = np.exp(scores - scores.max()).sum(-1, keepdims=True)
    return np.where(mask, np.exp(scores - scores.max()), 0) / total


# ---- inverts_the_mask


@wrong_hiding("inverts_the_mask")
def where_the_wrong_way_round(scores, mask):
    return soft(np.where(mask, -np.inf, scores))


@wrong_hiding("inverts_the_mask")
def indexed_by_the_mask(scores, mask):
    s = scores.astype(float)
    s[mask.astype(bool)] = -1e30
    return soft(s)


@wrong_hiding("inverts_the_mask")
def if_mask_hide(scores, mask):
    s = [[-math.inf if m else float(x) for x, m in zip(*r, strict=True)] for r in zip(scores, mask, strict=True)]
    return soft(np.array(s))


@wrong_hiding("inverts_the_mask")
def added_mask_times_big(scores, mask):
    return soft(scores + mask * -1e9)


# ---- transposes_the_mask


@wrong_hiding("transposes_the_mask")
def mask_T(scores, mask):
    return soft(np.where(mask.T, scores, -np.inf))


@wrong_hiding("transposes_the_mask")
def mask_j_i(scores, mask):
    s = np.array(scores, float)
    for i in range(len(s)):
        for j in range(len(s[0])):
            if not mask[j, i]:
                s[i, j] = -np.inf
    return soft(s)


# ---- hides_the_diagonal, leaks_one_step


@wrong_hiding("hides_the_diagonal")
def fill_diagonal(scores, mask):
    s = np.where(mask, scores, -np.inf)
    np.fill_diagonal(s, -np.inf)
    return soft(s)


@wrong_hiding("hides_the_diagonal")
def and_not_eye(scores, mask):
    allowed = mask.astype(bool) & ~np.eye(*scores.shape, dtype=bool)
    return soft(np.where(allowed, scores, -1e30))


@wrong_hiding("leaks_one_step")
def or_eye_above(scores, mask):
    allowed = mask.astype(bool) | np.eye(*scores.shape, k=1, dtype=bool)
    return soft(np.where(allowed, scores, -np.inf))


@wrong_hiding("leaks_one_step")
def one_step_ahead_in_loops(scores, mask):
    s = np.array(scores, dtype=float)
    for i in range(len(s)):
        for j in range(len(s[i])):
            if not mask[i][j] and j != i + 1:
                s[i][j] = -np.inf
    return soft(s)


# ---- ignores_the_mask


@wrong_hiding("ignores_the_mask")
def masked_but_not_used(scores, mask):
    masked_scores = np.where(mask, scores, -np.inf)  # noqa: F841
    return soft(scores)


@wrong_hiding("ignores_the_mask")
def result_not_assigned(scores, mask):
    np.where(mask, scores, -np.inf)
    e = np.exp(scores - np.max(scores, axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


@wrong_hiding("ignores_the_mask")
def masked_a_copy(scores, mask):
    scores.astype(float).copy()[~mask.astype(bool)] = -np.inf
    return soft(scores)


# ---- zeroes_hidden_values


@wrong("zeroes_hidden_values", "attention", also=("masks_after_softmax",))
def values_zeroed_for_each_query(Q, K, V, mask=None):
    A = soft(scaled(Q, K))
    if mask is None:
        return A @ V
    return np.array([a @ (V * np.asarray(m)[:, None]) for a, m in zip(A, mask, strict=True)])


@wrong("zeroes_hidden_values", "attention", also=("masks_after_softmax",))
def values_skipped(Q, K, V, mask=None):
    A = soft(scaled(Q, K))
    out = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        for j in range(len(K)):
            if mask is None or mask[i, j]:
                out[i] = out[i] + A[i, j] * V[j]
    return out


# ---- masks_queries_instead_of_keys


@wrong("masks_queries_instead_of_keys", "attention")
def emptied_rows_of_hidden_keys(Q, K, V, mask=None):
    s = scaled(Q, K)
    if mask is not None:
        hidden = ~np.asarray(mask, bool).any(axis=0)
        s[hidden, :] = -np.inf
    return soft(s) @ V


@wrong("masks_queries_instead_of_keys", "attention_weights")
def zeroed_rows_of_hidden_keys(Q, K, mask=None):
    A = soft(scaled(Q, K))
    if mask is not None:
        A = A * np.asarray(mask, bool).any(axis=0)[:, None]
    return A


# ---- hides_what_either_allows


@wrong("hides_what_either_allows", "attention", "multi_head_attention")
def or_with_causal(*args, **kwargs):
    names = ["Q", "K", "V", "mask"] if len(args) + len(kwargs) < 6 else ["X", "W_Q", "W_K", "W_V", "W_O", "h", "mask"]
    given = dict(zip(names, args, strict=False)) | kwargs
    mask = given.get("mask")

    def head(Q, K, V):
        s = scaled(Q, K)
        if mask is not None:
            allowed = np.asarray(mask, bool) | np.tril(np.ones(s.shape, bool))
            s = np.where(allowed, s, -np.inf)
        return soft(s) @ V

    if "Q" in given:
        return head(given["Q"], given["K"], given["V"])
    cut = [np.split(given["X"] @ given[W], given.get("n_heads", given.get("h")), axis=1) for W in ("W_Q", "W_K", "W_V")]
    return np.hstack([head(*qkv) for qkv in zip(*cut, strict=True)]) @ given["W_O"]


# ---- accepts_an_empty_row


@wrong("accepts_an_empty_row", "masked_softmax")
def empty_row_nan(scores, mask):
    return soft(np.where(mask, scores, -np.inf))


@wrong("accepts_an_empty_row", "masked_softmax")
def empty_row_zeros(scores, mask):
    s = np.where(mask, scores, -np.inf)
    top = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(top == -np.inf, 0, top))
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@wrong("accepts_an_empty_row", "masked_softmax")
def empty_row_uniform(scores, mask):
    return soft(np.where(mask, scores, -1e30))


@wrong("accepts_an_empty_row", "masked_softmax")
def empty_row_unmasked(scores, mask):
    mask = np.asarray(mask, bool)
    mask = mask | ~mask.any(axis=1, keepdims=True)
    return soft(np.where(mask, scores, -np.inf))


@wrong("accepts_an_empty_row", "masked_softmax")
def empty_row_nan_by_lists(scores, mask):
    rows = []
    for row, allowed in zip(scores, mask, strict=True):
        e = [math.exp(x) if m else 0.0 for x, m in zip(row, allowed, strict=True)]
        rows.append([x / sum(e) if sum(e) else float("nan") for x in e])
    return np.array(rows)


# ---- the masks themselves


@wrong("transposes_the_mask", "causal_mask")
def triu(n):
    return np.triu(np.ones((n, n), dtype=bool))


@wrong("transposes_the_mask", "causal_mask")
def i_up_to_j(n):
    return np.array([[i <= j for j in range(n)] for i in range(n)])


@wrong("inverts_the_mask", "causal_mask")
def not_tril(n):
    return ~np.tril(np.ones((n, n), dtype=bool))


@wrong("inverts_the_mask", "causal_mask")
def j_after_i(n):
    M = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i + 1, n):
            M[i, j] = True
    return M


@wrong("hides_the_diagonal", "causal_mask")
def tril_minus_one(n):
    return np.tril(np.ones((n, n)), k=-1) == 1


@wrong("hides_the_diagonal", "causal_mask")
def range_of_i(n):
    M = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i):
            M[i][j] = True
    return M


@wrong("leaks_one_step", "causal_mask")
def tril_one(n):
    return np.tril(np.ones((n, n), dtype=bool), 1)


@wrong("leaks_one_step", "causal_mask")
def off_by_one(n):
    return [[j <= i + 1 for j in range(n)] for i in range(n)]


@wrong("inverts_the_mask", "padding_mask")
def behind_the_length(lengths, n_k):
    return np.arange(n_k)[None, :] >= np.asarray(lengths)[:, None]


@wrong("inverts_the_mask", "padding_mask")
def true_for_padding(lengths, n_k):
    return np.array([[False] * n + [True] * (n_k - n) for n in lengths])


@wrong("allows_one_key_too_many", "padding_mask")
def up_to_and_with(lengths, n_k):
    return np.arange(n_k) <= np.array(lengths)[:, None]


@wrong("allows_one_key_too_many", "padding_mask")
def counted_from_one(lengths, n_k):
    M = np.zeros((len(lengths), n_k), dtype=bool)
    for b, n in enumerate(lengths):
        M[b, : n + 1] = True
    return M


@wrong("transposes_the_mask", "padding_mask")
def keys_by_sequences(lengths, n_k):
    return np.arange(n_k)[:, None] < np.asarray(lengths)[None, :]


@wrong("transposes_the_mask", "padding_mask")
def keys_by_sequences_in_loops(lengths, n_k):
    return [[j < n for n in lengths] for j in range(n_k)]


@wrong_hiding("masks_queries_instead_of_keys")
def rows_that_hide_anything_emptied(scores, mask):
    return soft(scores) * np.asarray(mask, dtype=bool).all(axis=1)[:, None]


@wrong("applies_softmax_twice", "masked_softmax")
def shared_out_again_after_the_mask(scores, mask):
    return soft(np.where(mask, soft(scores), -np.inf))


@wrong("applies_softmax_twice", "masked_softmax")
def shared_out_again_after_zeros(scores, mask):
    return soft(np.where(mask, soft(scores), 0))


@wrong_weights("normalises_over_queries", without=("cross_attention",))
def down_the_columns_after_a_large_fill(Q, K, mask=None):
    s = scaled(Q, K) if mask is None else np.where(mask, scaled(Q, K), -1e9)
    powers = np.exp(s - s.max(axis=0))
    return powers / powers.sum(axis=0)


@wrong("fills_with_zero", "attention_one_allowed_key")
def one_key_and_zeros(Q, K, V, mask):
    return soft(scaled(Q, K) * mask) @ V


@wrong("ignores_the_mask", "attention_one_allowed_key")
def one_key_and_no_mask(Q, K, V, mask):
    return soft(scaled(Q, K)) @ V


@wrong("masks_after_softmax", "attention_one_allowed_key")
def one_key_masked_at_last(Q, K, V, mask):
    return (soft(scaled(Q, K)) * mask) @ V


@wrong("inverts_the_mask", "attention_one_allowed_key")
def every_other_key(Q, K, V, mask):
    return soft(np.where(mask, -1e9, scaled(Q, K))) @ V


@wrong("mixes_with_raw_scores", "attention_one_key", "attention_equal_keys")
def scores_for_weights(Q, K, V):
    return scaled(Q, K) @ V
