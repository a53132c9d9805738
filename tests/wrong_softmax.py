"""Wrong at the softmax: each is used for `softmax`, and in the exercises that contain one."""

import math

import numpy as np
from wrong_answers import add, further, soft, soft_by_lists, wrong


def wrong_softmax(mistake, also=(), without=()):
    """The softmax below is wrong, of rows that may hold -inf."""

    def put(function):
        def masked_softmax(scores, mask):
            mask = np.asarray(mask, dtype=bool)
            if not mask.any(axis=-1).all():
                raise ValueError("a query may see no key")
            return function(np.where(mask, scores, -np.inf))

        def attention_weights(Q, K, mask=None):
            s = Q @ K.T / np.sqrt(Q.shape[-1])
            return function(s if mask is None else np.where(mask, s, -np.inf))

        made = {"softmax": function, "masked_softmax": masked_softmax, "attention_weights": attention_weights}
        for exercise, made_function in (made | further(attention_weights)).items():
            if exercise not in without:
                add(mistake, exercise, made_function, function.__name__, also)
        return function

    return put


BY_MASKS = ("masked_softmax", "attention_weights", "attention", "multi_head_attention", "cross_attention")


@wrong_softmax("normalises_over_queries")
def axis_zero(scores):
    e = np.exp(scores - scores.max(axis=0))
    return e / e.sum(axis=0)


@wrong_softmax("normalises_over_queries")
def axis_zero_unshifted(s):
    return np.exp(s) / np.sum(np.exp(s), axis=0)


@wrong_softmax("normalises_over_queries")
def column_by_column(scores):
    scores = np.array(scores, dtype=float)
    out = np.zeros_like(scores)
    for j in range(scores.shape[1]):
        powers = [math.exp(x) for x in scores[:, j]]
        out[:, j] = [p / sum(powers) for p in powers]
    return out


@wrong_softmax("normalises_over_queries")
def transposed_before_and_after(scores):
    return soft(np.transpose(scores)).T


@wrong_softmax("normalises_over_everything")
def grand_total(scores):
    e = np.exp(scores)
    return e / e.sum()


@wrong_softmax("normalises_over_everything")
def grand_total_shifted(scores):
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e)


@wrong_softmax("normalises_over_everything")
def total_in_loops(scores):
    total = 0.0
    for row in scores:
        for x in row:
            total += math.exp(x)
    return [[math.exp(x) / total for x in row] for row in scores]


@wrong_softmax("normalises_over_queries")
def shifted_by_rows_summed_by_columns(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=0)


@wrong_softmax("normalises_over_everything")
def shifted_by_rows_summed_over_all(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum()


@wrong_softmax("totals_without_keepdims")
def sum_without_keepdims(scores):
    e = np.exp(scores)
    return e / e.sum(axis=1)


@wrong_softmax("totals_without_keepdims")
def sum_without_keepdims_shifted(scores):
    e = np.exp(scores - scores.max())
    return e / np.sum(e, axis=-1)


@wrong_softmax("totals_without_keepdims")
def sum_without_keepdims_shifted_by_rows(scores):
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1)


@wrong_softmax("maxima_without_keepdims")
def max_without_keepdims(scores):
    e = np.exp(scores - scores.max(axis=1))
    return e / e.sum(axis=1, keepdims=True)


@wrong_softmax("maxima_without_keepdims")
def max_without_keepdims_then_reshape(x):
    m = np.max(x, axis=-1)
    num = np.exp(x - m)
    return num / num.sum(-1).reshape(-1, 1)


@wrong_softmax("maxima_without_keepdims", also=("totals_without_keepdims",))
def neither_with_keepdims(x):
    e = np.exp(x - np.max(x, axis=-1))
    return e / np.sum(e, axis=-1)


@wrong_softmax("forgets_the_exponential")
def share_of_the_sum(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


@wrong_softmax("forgets_the_exponential")
def share_of_the_sum_in_loops(scores):
    out = np.zeros(np.shape(scores))
    for i in range(len(scores)):
        for j in range(len(scores[i])):
            out[i, j] = scores[i][j] / sum(scores[i])
    return out


@wrong_softmax("exponentiates_the_ratio")
def ratio_inside(scores):
    return np.exp(scores / scores.sum(axis=1, keepdims=True))


@wrong_softmax("exponentiates_the_ratio", without=BY_MASKS)
def ratio_inside_in_loops(scores):
    return [[math.exp(x / sum(row)) for x in row] for row in scores]


@wrong_softmax("exponentiates_the_ratio")
def exp_around_everything(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.exp(e / e.sum(-1, keepdims=True))


@wrong_softmax("applies_softmax_twice")
def twice(scores):
    return soft(soft(scores))


@wrong_softmax("applies_softmax_twice")
def twice_by_lists(scores):
    return soft_by_lists(soft_by_lists(scores))


@wrong_softmax("uses_another_base")
def powers_of_two(scores):
    p = 2.0**scores
    return p / p.sum(axis=1, keepdims=True)


@wrong_softmax("uses_another_base")
def powers_of_ten(scores):
    p = np.power(10.0, scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


@wrong_softmax("uses_another_base")
def exp2_by_lists(scores):
    rows = []
    for row in scores:
        p = [2.0 ** float(x - max(row)) for x in row]
        rows.append([a / sum(p) for a in p])
    return np.array(rows)


@wrong_softmax("uses_the_sigmoid")
def logistic(scores):
    return 1 / (1 + np.exp(-scores))


@wrong_softmax("uses_the_sigmoid")
def logistic_in_loops(scores):
    return np.array([[math.exp(x) / (1 + math.exp(x)) for x in row] for row in scores])


@wrong_softmax("picks_the_winner")
def rows_of_eye(scores):
    scores = np.asarray(scores)
    return np.eye(scores.shape[1])[scores.argmax(axis=1)]


@wrong_softmax("picks_the_winner")
def equal_to_the_top(scores):
    return (scores == scores.max(axis=-1, keepdims=True)) * 1.0


@wrong_softmax("picks_the_winner")
def one_at_the_top(scores):
    A = np.zeros_like(scores, dtype=float)
    for i, row in enumerate(scores):
        A[i, list(row).index(max(row))] = 1
    return A


@wrong_softmax("negates_the_scores")
def exp_of_minus(scores):
    e = np.exp(-scores)
    return e / e.sum(axis=-1, keepdims=True)


@wrong_softmax("negates_the_scores")
def top_minus_score(scores):
    e = np.exp(scores.max(axis=1, keepdims=True) - scores)
    return e / e.sum(axis=1, keepdims=True)


@wrong_softmax("negates_the_scores", without=BY_MASKS)
def one_over_exp(scores):
    rows = [[1 / math.exp(x) for x in row] for row in scores]
    return [[x / sum(row) for x in row] for row in rows]


@wrong_softmax("normalises_by_length")
def euclidean(scores):
    e = np.exp(scores)
    return e / np.linalg.norm(e, axis=-1, keepdims=True)


@wrong_softmax("normalises_by_length")
def root_of_squares(scores):
    e = np.exp(scores - np.max(scores, axis=1)[:, None])
    return e / np.sqrt((e**2).sum(axis=1))[:, None]


@wrong_softmax("truncates_to_integers")
def astype_int(scores):
    return soft(scores).astype(int)


@wrong_softmax("truncates_to_integers")
def filled_an_int_table(scores):
    out = np.zeros(scores.shape, dtype=int)
    for i in range(scores.shape[0]):
        e = np.exp(scores[i] - max(scores[i]))
        out[i] = e / e.sum()
    return out


@wrong("truncates_to_integers", "softmax")
def zeros_like_the_scores(scores):
    out = np.zeros_like(scores)
    for i, row in enumerate(scores):
        e = np.exp(row - row.max())
        out[i, :] = e / e.sum()
    return out


@wrong("normalises_over_queries", "attention")
def in_line(Q, K, V, mask=None):
    S = Q @ K.T / np.sqrt(K.shape[1])
    if mask is not None:
        S[~np.array(mask, dtype=bool)] = -np.inf
    return np.exp(S) / np.exp(S).sum(axis=0, keepdims=True) @ V


@wrong("truncates_to_integers", "softmax")
def powers_like_the_scores(scores):
    powers = np.zeros_like(scores)
    for i, row in enumerate(scores):
        powers[i] = np.exp(row - row.max())
    return powers / powers.sum(axis=1, keepdims=True)


@wrong("truncates_to_integers", "softmax")
def powers_like_the_scores_in_loops(scores):
    powers = np.empty_like(scores)
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            powers[i, j] = np.exp(scores[i, j])
    return powers / powers.sum(axis=1)[:, None]


@wrong("truncates_to_integers", "softmax")
def powers_as_integers(scores):
    powers = np.exp(scores).astype(int)
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("exponentiates_the_ratio", "softmax")
def ratio_of_shifted_scores(scores):
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.exp(shifted / shifted.sum(axis=1, keepdims=True))
