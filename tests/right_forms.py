"""Right answers in many forms. Each is on a list, with the remarks that it may get."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

RIGHT = []
LARGE = ("overflows_on_large_scores", "shifts_by_the_overall_maximum")  # may go wrong at numbers that nobody asks for
EMPTY = ("accepts_an_empty_row",)


@dataclass(frozen=True)
class Right:
    exercise: str
    function: Callable
    remarks: tuple = ()

    @property
    def label(self):
        return f"{self.exercise}-{self.function.__name__}"


def right(*exercises, remarks=EMPTY):
    def put(function):
        RIGHT.extend(Right(exercise, function, remarks) for exercise in exercises)
        return function

    return put


def add(exercise, function, name, remarks=EMPTY):
    @functools.wraps(function)
    def renamed(*args, **kwargs):
        return function(*args, **kwargs)

    renamed.__name__ = name
    RIGHT.append(Right(exercise, renamed, remarks))


def soft(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# ---- softmax ---------------------------------------------------------------------------------------------------------


def right_softmax(remarks=EMPTY):
    """The softmax below is right, -inf included; put it on the list with what is built from it."""

    def put(function):
        def attention_weights(Q, K, mask=None):
            S = Q @ K.T / np.sqrt(K.shape[1])
            if mask is not None:
                S = np.where(mask, S, -np.inf)
            return function(S)

        def masked_softmax(scores, mask):
            if (~mask).all(axis=1).any():
                raise ValueError("a query without a key")
            return function(np.where(mask, scores, -np.inf))

        add("softmax", function, function.__name__, tuple(set(remarks) - set(EMPTY)))
        add("masked_softmax", masked_softmax, function.__name__, tuple(set(remarks) - set(EMPTY)))
        add("attention_weights", attention_weights, function.__name__, remarks)
        add(
            "attention",
            lambda Q, K, V, mask=None: np.asarray(attention_weights(Q, K, mask)) @ V,
            function.__name__,
            remarks,
        )
        return function

    return put


@right_softmax()
def shifted(scores):
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@right_softmax()
def with_new_axis(x):
    x = x - x.max(1)[:, None]
    return (np.exp(x).T / np.exp(x).sum(1)).T


@right_softmax()
def lists_and_math_exp(scores):
    out = []
    for row in scores:
        top = max(row)
        powers = [math.exp(x - top) for x in row]
        out.append([p / sum(powers) for p in powers])
    return out


@right_softmax(remarks=LARGE + EMPTY)
def unshifted(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


@right_softmax(remarks=LARGE + EMPTY)
def unshifted_lists_and_math_exp(scores):
    rows = [[math.exp(x) for x in row] for row in scores]
    return [[x / sum(row) for x in row] for row in rows]


@right_softmax(remarks=LARGE + EMPTY)
def unshifted_power_of_e(scores):
    p = np.e**scores
    return p / p.sum(-1).reshape(-1, 1)


@right_softmax(remarks=LARGE + EMPTY)
def shifted_by_the_overall_maximum(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum(axis=1, keepdims=True)


@right_softmax()
def log_sum_exp(scores):
    top = scores.max(axis=1, keepdims=True)
    return np.exp(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


@right_softmax()
def logaddexp_reduce(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[..., None])


@right_softmax()
def base_two(scores):
    t = scores * np.log2(np.e)
    p = np.exp2(t - t.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


@right_softmax()
def row_by_row(scores):
    out = np.zeros(scores.shape)
    for i in range(scores.shape[0]):
        row = scores[i] - max(scores[i])
        out[i] = np.exp(row) / sum(np.exp(row))
    return out


@right_softmax()
def apply_along_axis(scores):
    return np.apply_along_axis(lambda r: np.exp(r - r.max()) / np.exp(r - r.max()).sum(), -1, scores)


@right_softmax()
def transposed_twice(scores):
    e = np.exp(scores.T - scores.T.max(axis=0))
    return (e / e.sum(axis=0)).T


@right("softmax", remarks=())
def one_over_sum_of_differences(scores):
    with np.errstate(over="ignore"):
        return 1 / np.exp(scores[:, None, :] - scores[:, :, None]).sum(axis=-1)


@right_softmax()
def running_total(scores):
    out = np.empty(scores.shape)
    for i, row in enumerate(scores):
        top, total = -np.inf, 0.0
        for x in row:
            new = max(top, x)
            if new == -np.inf:
                continue
            total = total * np.exp(top - new) + np.exp(x - new)
            top = new
        out[i] = np.exp(row - top) / total
    return out


@right_softmax()
def in_float32(scores):
    s = np.asarray(scores, dtype=np.float32)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@right_softmax()
def einsum_totals(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.einsum("ij,i->ij", e, 1 / np.einsum("ij->i", e))


@right_softmax()
def as_matrix(scores):
    M = np.matrix(scores)
    E = np.exp(M - M.max(axis=1))
    return E / E.sum(axis=1)


@right_softmax()
def tuple_of_rows(scores):
    return tuple(soft(row) for row in np.asarray(scores))


@right_softmax()
def leading_axis(scores):
    return soft(scores)[None]


@right_softmax()
def no_negative_scores_left(scores):
    shifted = scores - np.amax(scores, 1).reshape((-1, 1))
    numerators = np.exp(shifted)
    denominators = numerators @ np.ones((numerators.shape[1], 1))
    return numerators / denominators


@right_softmax()
def in_longdouble(scores):
    return soft(np.asarray(scores, dtype=np.longdouble))


@right_softmax()
def fractions_of_a_whole(scores):
    rows = soft(np.asarray(scores, float)).tolist()
    return np.array(rows, dtype=object)


@right("softmax", remarks=("uses_half_precision", *LARGE))
def rounded_to_float16(scores):
    return soft(scores).astype(np.float16)


# ---- the scores ------------------------------------------------------------------------------------------------------


def right_scores(remarks=EMPTY):
    def put(scores):
        def attention_weights(Q, K, mask=None):
            s = np.array(scores(Q, K), dtype=float)
            if mask is not None:
                s[~mask] = -np.inf
            return soft(s)

        add("attention_scores", scores, scores.__name__, ())
        add("attention_weights", attention_weights, scores.__name__, remarks)
        add("attention", lambda Q, K, V, mask=None: attention_weights(Q, K, mask) @ V, scores.__name__, remarks)
        add(
            "cross_attention",
            lambda X, X_kv, W_Q, W_K, W_V: attention_weights(X @ W_Q, X_kv @ W_K) @ (X_kv @ W_V),
            scores.__name__,
            (),
        )
        return scores

    return put


@right_scores()
def matmul(Q, K):
    return Q @ K.T / np.sqrt(K.shape[1])


@right_scores()
def scaled_Q(Q, K):
    return (Q / np.sqrt(Q.shape[-1])).dot(K.T)


@right_scores()
def fourth_root_each(Q, K):
    return (Q / Q.shape[1] ** 0.25) @ (K / K.shape[1] ** 0.25).T


@right_scores()
def loops(Q, K):
    table = []
    for q in Q:
        table.append([sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)) for k in K])
    return table


@right_scores()
def three_loops(Q, K):
    S = np.zeros((len(Q), len(K)))
    for i in range(len(Q)):
        for j in range(len(K)):
            for c in range(Q.shape[1]):
                S[i, j] += Q[i, c] * K[j, c]
            S[i, j] *= len(K[j]) ** -0.5
    return S


@right_scores()
def einsum(Q, K):
    return np.einsum("qd,kd->qk", Q, K) / math.sqrt(Q.shape[1])


@right_scores()
def keys_first_then_transposed(Q, K):
    return (K @ Q.T).T * K.shape[1] ** -0.5


@right_scores()
def broadcast_and_sum(Q, K):
    return (Q[:, None, :] * K[None, :, :]).sum(axis=2) / np.sqrt(Q.shape[-1])


@right_scores()
def tensordot(Q, K):
    return np.tensordot(Q, K, axes=[[1], [1]]) / np.sqrt(K.shape[-1])


@right_scores()
def inner_in_float32(Q, K):
    return np.inner(Q.astype("float32"), K.astype("float32")) / np.float32(np.sqrt(K.shape[1]))


@right_scores()
def as_matrices(Q, K):
    return np.matrix(Q) * np.matrix(K).T / np.sqrt(K.shape[1])


@right_scores()
def by_distance_and_lengths(Q, K):
    squares = (Q**2).sum(1)[:, None] + (K**2).sum(1)[None, :] - ((Q[:, None] - K[None]) ** 2).sum(-1)
    return squares / 2 / np.sqrt(Q.shape[1])


@right_scores()
def swapaxes_and_power(Q, K):
    return np.matmul(Q, np.swapaxes(K, 0, 1)) / np.power(Q.shape[-1], 0.5)


@right_scores()
def lists_from_the_start(Q, K):
    Q, K = Q.tolist(), K.tolist()
    return [[math.fsum(map(lambda a, b: a * b, q, k)) / len(q) ** 0.5 for k in K] for q in Q]


# ---- the mask --------------------------------------------------------------------------------------------------------


def right_hiding(remarks=EMPTY):
    """The masked softmax below, of (scores, mask), is right but for an empty row."""

    def put(function):
        def masked_softmax(scores, mask):
            for i, row in enumerate(mask):
                if not any(row):
                    raise ValueError(f"query {i + 1} may see no key")
            return function(scores, mask)

        def attention_weights(Q, K, mask=None):
            s = Q @ K.T / np.sqrt(Q.shape[1])
            return soft(s) if mask is None else function(s, mask)

        def attention(Q, K, V, mask=None):
            return attention_weights(Q, K, mask) @ V

        def attention_that_refuses(Q, K, V, mask=None):
            s = Q @ K.T / np.sqrt(Q.shape[1])
            return (soft(s) if mask is None else masked_softmax(s, mask)) @ V

        def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
            cut = [np.split(X @ W, n_heads, axis=1) for W in (W_Q, W_K, W_V)]
            return np.hstack([attention(*qkv, mask) for qkv in zip(*cut, strict=True)]) @ W_O

        name = function.__name__
        without_empty = tuple(set(remarks) - set(EMPTY))
        add("masked_softmax", masked_softmax, name, without_empty)
        add("attention_weights", attention_weights, name, remarks)
        add("attention", attention, name, remarks)
        add("attention", attention_that_refuses, f"{name}_that_refuses", without_empty)
        add("multi_head_attention", multi_head_attention, name, remarks)
        return function

    return put


@right_hiding()
def where_minus_inf(scores, mask):
    return soft(np.where(mask, scores, -np.inf))


@right_hiding()
def minus_inf_in_place_of_a_copy(scores, mask):
    s = scores.copy().astype(float)
    s[~mask] = -np.inf
    return soft(s)


@right_hiding()
def mask_equal_to_zero(scores, mask):
    s = np.array(scores, dtype=np.float64)
    s[mask == 0] = float("-inf")
    return soft(s)


@right_hiding()
def fill_minus_1e9(scores, mask):
    return soft(np.where(mask, scores, -1e9))


@right_hiding()
def fill_minus_1e30(scores, mask):
    return soft(np.where(mask, scores, -1e30))


@right_hiding()
def fill_finfo_float32_min(scores, mask):
    return soft(np.where(mask, scores, np.finfo(np.float32).min))


@right_hiding()
def fill_finfo_min(scores, mask):
    return soft(np.where(mask, scores, np.finfo(scores.dtype if scores.dtype.kind == "f" else float).min))


@right_hiding()
def add_minus_1e9(scores, mask):
    return soft(scores + (1.0 - mask) * -1e9)


@right_hiding()
def add_where(scores, mask):
    return soft(scores + np.where(mask, 0, -1e9))


@right_hiding()
def add_where_minus_inf(scores, mask):
    return soft(scores + np.where(mask, 0.0, -np.inf))


@right_hiding()
def add_the_log_of_the_mask(scores, mask):
    with np.errstate(divide="ignore"):
        return soft(scores + np.log(mask.astype(float)))


@right_hiding()
def subtract_from_hidden(scores, mask):
    s = np.array(scores, float)
    s[np.logical_not(mask)] -= 1e12
    return soft(s)


@right_hiding()
def exp_where(scores, mask):
    s = np.asarray(scores, dtype=float)
    top = np.max(s, axis=1, keepdims=True, where=mask, initial=-1e300)
    e = np.exp(s - top, where=mask, out=np.zeros_like(s))
    return e / e.sum(axis=1, keepdims=True)


@right_hiding()
def masked_array_filled(scores, mask):
    s = np.ma.array(scores, mask=~mask)
    e = np.ma.exp(s - s.max(axis=1)[:, None])
    return (e / e.sum(axis=1)[:, None]).filled(0)


@right_hiding()
def putmask(scores, mask):
    s = np.array(scores, dtype=float)
    np.putmask(s, np.invert(mask), -np.inf)
    return soft(s)


@right_hiding()
def loops_over_cells(scores, mask):
    rows = []
    for i in range(len(scores)):
        top = max(scores[i][j] for j in range(len(scores[i])) if mask[i][j])
        powers = [math.exp(scores[i][j] - top) if mask[i][j] else 0.0 for j in range(len(scores[i]))]
        rows.append([p / sum(powers) for p in powers])
    return np.array(rows)


@right_hiding()
def only_the_allowed_cells(scores, mask):
    A = np.zeros(np.shape(scores))
    for i in range(len(A)):
        A[i, mask[i]] = soft(scores[i, mask[i]])
    return A


@right_hiding(remarks=LARGE + EMPTY)
def masked_after_and_renormalised(scores, mask):
    A = soft(scores) * mask
    return A / A.sum(axis=1, keepdims=True)


@right_hiding(remarks=LARGE + EMPTY)
def exponentials_times_mask(scores, mask):
    e = np.exp(scores - scores.max(axis=1, keepdims=True)) * mask
    return e / e.sum(axis=1, keepdims=True)


@right_hiding(remarks=LARGE + EMPTY)
def exponentials_times_mask_unshifted(scores, mask):
    e = np.exp(scores) * mask
    return e / e.sum(axis=1)[:, None]


@right_hiding()
def select(scores, mask):
    return soft(np.select([mask], [scores], default=-np.inf))


@right_hiding(remarks=LARGE + EMPTY)
def float16_mask_bias(scores, mask):
    return soft(scores + np.where(mask, 0, -np.inf)).astype(np.float32)


@right("masked_softmax", remarks=())
def nan_becomes_an_error(scores, mask):
    A = soft(np.where(mask, scores, -np.inf))
    if np.isnan(A).any():
        raise ValueError("nan: an empty row")
    return A


@right("masked_softmax", remarks=())
def zero_total_is_an_error(scores, mask):
    top = np.where(mask, scores, -1e300).max(axis=1, keepdims=True)
    e = np.where(mask, np.exp(np.minimum(scores - top, 0)), 0)
    total = e.sum(axis=1, keepdims=True)
    if (total == 0).any():
        raise ValueError
    return e / total


@right("masked_softmax", remarks=())
def max_of_nothing_is_an_error(scores, mask):
    return np.array([
        [math.exp(x - max(s for s, n in zip(row, seen, strict=True) if n)) / sum(
            math.exp(s - max(t for t, m in zip(row, seen, strict=True) if m))
            for s, n in zip(row, seen, strict=True) if n
        ) if m else 0.0 for x, m in zip(row, seen, strict=True)]
        if max(s for s, n in zip(row, seen, strict=True) if n) is not None else None
        for row, seen in zip(np.asarray(scores).tolist(), np.asarray(mask).tolist(), strict=True)
    ])  # fmt: skip


# ---- one head --------------------------------------------------------------------------------------------------------


def right_head(remarks=EMPTY):
    def put(head):
        def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
            cut = [np.split(X @ W, n_heads, axis=1) for W in (W_Q, W_K, W_V)]
            outs = [np.asarray(head(*qkv, mask)) for qkv in zip(*cut, strict=True)]
            return np.concatenate([out.reshape(out.shape[-2:]) for out in outs], axis=1) @ W_O

        add("attention", head, head.__name__, remarks)
        add("multi_head_attention", multi_head_attention, head.__name__, remarks)
        add(
            "cross_attention",
            lambda X, X_kv, W_Q, W_K, W_V: head(X @ W_Q, X_kv @ W_K, X_kv @ W_V),
            head.__name__,
            tuple(set(remarks) - set(EMPTY)),
        )
        return head

    return put


def masked(Q, K, mask):
    s = Q @ K.T / np.sqrt(K.shape[1])
    return s if mask is None else np.where(mask, s, -np.inf)


@right_head()
def normalised_after_mixing(Q, K, V, mask=None):
    s = masked(Q, K, mask)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e @ V) / e.sum(axis=1, keepdims=True)


@right_head()
def total_as_one_more_column(Q, K, V, mask=None):
    s = masked(Q, K, mask)
    mixed = np.exp(s - s.max(axis=1, keepdims=True)) @ np.hstack([V, np.ones((len(V), 1))])
    return mixed[:, :-1] / mixed[:, -1:]


@right_head()
def column_layout(Q, K, V, mask=None):
    q, k, v = Q.T, K.T, V.T
    s = k.T @ q / np.sqrt(k.shape[0])
    if mask is not None:
        s = np.where(mask.T, s, -np.inf)
    e = np.exp(s - s.max(axis=0))
    return (v @ (e / e.sum(axis=0))).T


@right_head()
def blocks_of_two_keys(Q, K, V, mask=None):
    n_q = len(Q)
    top, total, out = np.full((n_q, 1), -np.inf), np.zeros((n_q, 1)), np.zeros((n_q, V.shape[1]))
    for start in range(0, len(K), 2):
        part = slice(start, start + 2)
        s = Q @ K[part].T / Q.shape[1] ** 0.5
        if mask is not None:
            s = np.where(mask[:, part], s, -np.inf)
        new = np.maximum(top, s.max(axis=1, keepdims=True))
        base = np.where(new == -np.inf, 0, new)
        shrink = np.exp(top - base)
        e = np.exp(s - base)
        total = total * shrink + e.sum(axis=1, keepdims=True)
        out = out * shrink + e @ V[part]
        top = new
    return out / total


@right_head()
def keys_permuted(Q, K, V, mask=None):
    order = np.random.default_rng(5).permutation(len(K))
    return soft(masked(Q, K[order], None if mask is None else mask[:, order])) @ V[order]


@right_head()
def query_by_query(Q, K, V, mask=None):
    out = []
    for i in range(Q.shape[0]):
        s = K @ Q[i] / np.sqrt(Q.shape[1])
        if mask is not None:
            s = np.where(mask[i], s, -np.inf)
        e = np.exp(s - s.max())
        out.append((e / e.sum()) @ V)
    return out


@right_head()
def lists_of_lists(Q, K, V, mask=None):
    A = soft(masked(Q, K, mask)).tolist()
    return [[sum(a * v[c] for a, v in zip(row, V, strict=True)) for c in range(len(V[0]))] for row in A]


@right_head()
def batch_of_one(Q, K, V, mask=None):
    return (soft(masked(Q, K, mask)) @ V)[np.newaxis]


@right_head()
def einsum_throughout(Q, K, V, mask=None):
    s = np.einsum("qd,kd->qk", Q, K) * Q.shape[-1] ** -0.5
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return np.einsum("qk,kd->qd", soft(s), V)


@right_head()
def np_matrix(Q, K, V, mask=None):
    S = np.matrix(Q) * np.matrix(K).T / np.sqrt(Q.shape[1])
    if mask is not None:
        S[~mask] = -np.inf
    E = np.exp(S - S.max(axis=1))
    return (E / E.sum(axis=1)) * np.matrix(V)


@right_head()
def float32_throughout(Q, K, V, mask=None):
    Q, K, V = (np.asarray(M, dtype=np.float32) for M in (Q, K, V))
    s = Q @ K.T / np.sqrt(np.float32(K.shape[1]))
    if mask is not None:
        s = np.where(mask, s, np.float32(-1e30))
    return soft(s) @ V


@right("attention_scores", remarks=("uses_half_precision", *LARGE))
def scores_in_float16(Q, K):
    return (Q @ K.T / np.sqrt(K.shape[1])).astype(np.float16)


@right("multi_head_attention", remarks=("uses_half_precision", *LARGE, *EMPTY))
def heads_in_float16(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    cut = [np.split(X @ W, n_heads, axis=1) for W in (W_Q, W_K, W_V)]
    outs = [soft(masked(q, k, mask)) @ v for q, k, v in zip(*cut, strict=True)]
    return (np.hstack(outs) @ W_O).astype(np.float16)


@right("attention", remarks=("uses_half_precision", *LARGE, *EMPTY))
def float16_at_the_end(Q, K, V, mask=None):
    return (soft(masked(Q, K, mask)) @ V).astype(np.float16)


@right_head()
def other_names_for_the_arguments(q, k, values, visible=None):
    return soft(masked(q, k, visible)) @ values


@right_head()
def everything_collected(*args):
    Q, K, V, *rest = args
    return soft(masked(Q, K, rest[0] if rest else None)) @ V


@right_head()
def mask_of_ones_by_default(Q, K, V, mask=None):
    if mask is None:
        mask = np.ones((len(Q), len(K)), dtype=bool)
    return soft(masked(Q, K, mask)) @ V


@right_head()
def chatty(Q, K, V, mask=None):
    print("shapes:", Q.shape, K.shape, V.shape)
    return soft(masked(Q, K, mask)) @ V


@right_head()
def masked_array_dot(Q, K, V, mask=None):
    s = np.ma.array(Q @ K.T / np.sqrt(Q.shape[1]), mask=False if mask is None else ~mask)
    e = np.ma.exp(s - s.max(axis=1).reshape(-1, 1))
    A = e / e.sum(axis=1).reshape(-1, 1)
    return np.ma.dot(A, V)


@right_head()
def helper_functions_inside(Q, K, V, mask=None):
    def softmax(row):
        row = row - row.max()
        return np.exp(row) / np.exp(row).sum()

    def score(q):
        return np.array([q.dot(k) for k in K]) / np.sqrt(K.shape[1])

    def hide(row, i):
        return row if mask is None else np.where(mask[i], row, -np.inf)

    return np.vstack([softmax(hide(score(q), i)) @ V for i, q in enumerate(Q)])


@right_head()
def differences_of_scores(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    with np.errstate(over="ignore"):
        ratio = np.exp(s[:, None, :] - s[:, :, None])
    if mask is not None:
        ratio = np.where(mask[:, None, :], ratio, 0)
    A = 1 / ratio.sum(axis=-1)
    A = A if mask is None else np.where(mask, A, 0)
    return A @ V


@right("attention_weights")
def masked_array_as_it_is(Q, K, mask=None):
    s = np.ma.array(Q @ K.T / np.sqrt(Q.shape[1]), mask=False if mask is None else ~mask)
    e = np.ma.exp(s - s.max(axis=1).reshape(-1, 1))
    return e / e.sum(axis=1).reshape(-1, 1)


class Attend:
    """A callable that is no function."""

    __name__ = "callable_object"

    def __call__(self, Q, K, V, mask=None):
        return soft(masked(Q, K, mask)) @ V


right("attention")(Attend())


# ---- torch -----------------------------------------------------------------------------------------------------------


def torch_head(dtype):
    import torch

    def head(Q, K, V, mask=None):
        q, k, v = (torch.tensor(np.asarray(M), dtype=dtype) for M in (Q, K, V))
        s = q @ k.T / k.shape[1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~torch.tensor(np.asarray(mask, dtype=bool)), float("-inf"))
        return torch.softmax(s, dim=-1) @ v

    return head


def torch_ready_made(Q, K, V, mask=None):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (torch.tensor(np.asarray(M, dtype=float)) for M in (Q, K, V))
    return scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else torch.tensor(mask))


def torch_heads(dtype):
    import torch

    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        X, W_Q, W_K, W_V, W_O = (torch.tensor(M, dtype=dtype) for M in (X, W_Q, W_K, W_V, W_O))
        q, k, v = ((X @ W).view(len(X), n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
        s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~torch.tensor(mask), -torch.inf)
        return (s.softmax(-1) @ v).transpose(0, 1).reshape(len(X), -1) @ W_O

    return multi_head_attention


def torch_forms():
    """(exercise, function) by label."""
    import torch

    forms = {}
    for dtype in (torch.float64, torch.float32):
        name = str(dtype).removeprefix("torch.")
        forms[f"attention in {name}"] = ("attention", torch_head(dtype))
        forms[f"heads in {name}"] = ("multi_head_attention", torch_heads(dtype))
        forms[f"softmax in {name}"] = ("softmax", lambda s, d=dtype: torch.tensor(s, dtype=d).softmax(dim=1))
        forms[f"scores in {name}"] = (
            "attention_scores",
            lambda Q, K, d=dtype: torch.tensor(Q, dtype=d) @ torch.tensor(K, dtype=d).T / K.shape[1] ** 0.5,
        )
    forms["ready-made within"] = ("attention", torch_ready_made)
    forms["tril"] = ("causal_mask", lambda n: torch.ones(n, n, dtype=torch.bool).tril())
    forms["split"] = (
        "split_heads",
        lambda Y, n_heads: torch.from_numpy(np.array(Y)).reshape(len(Y), n_heads, -1).permute(1, 0, 2),
    )
    forms["merge"] = ("merge_heads", lambda Z: torch.cat(list(torch.from_numpy(np.array(Z))), dim=-1))
    return forms


# ---- masks -----------------------------------------------------------------------------------------------------------

for name, function in {
    "tril_of_bools": lambda n: np.tril(np.ones((n, n), dtype=bool)),
    "tril_of_floats": lambda n: np.tril(np.ones((n, n))),
    "tri": lambda n: np.tri(n, dtype=bool),
    "ints": lambda n: np.tri(n).astype(int),
    "arange": lambda n: np.arange(n)[:, None] >= np.arange(n),
    "not_triu": lambda n: ~np.triu(np.ones((n, n), dtype=bool), k=1),
    "lists": lambda n: [[j <= i for j in range(n)] for i in range(n)],
    "lists_of_ints": lambda n: [[1] * (i + 1) + [0] * (n - i - 1) for i in range(n)],
    "fromfunction": lambda n: np.fromfunction(lambda i, j: j <= i, (n, n)),
    "outer": lambda n: np.greater_equal.outer(np.arange(n), np.arange(n)),
    "indices": lambda n: np.subtract(*np.indices((n, n))) >= 0,
    "cumsum": lambda n: np.eye(n).cumsum(axis=0) > 0,
    "tuples": lambda n: tuple(tuple(j < i + 1 for j in range(n)) for i in range(n)),
    "matrix": lambda n: np.matrix(np.tri(n, dtype=bool)),
    "objects": lambda n: np.tri(n, dtype=bool).astype(object),
}.items():
    add("causal_mask", function, name, ())

for name, function in {
    "compared": lambda lengths, n_k: np.arange(n_k) < np.asarray(lengths)[:, None],
    "compared_from_one": lambda lengths, n_k: np.arange(1, n_k + 1)[None] <= np.array(lengths).reshape(-1, 1),
    "lists": lambda lengths, n_k: [[j < n for j in range(n_k)] for n in lengths],
    "lists_of_ints": lambda lengths, n_k: [[1] * n + [0] * (n_k - n) for n in lengths],
    "sliced": lambda lengths, n_k: slices(lengths, n_k),
    "outer": lambda lengths, n_k: np.greater.outer(lengths, np.arange(n_k)),
    "floats": lambda lengths, n_k: np.array([np.arange(n_k) < n for n in lengths]).astype(float),
}.items():
    add("padding_mask", function, name, ())


def slices(lengths, n_k):
    mask = np.zeros((len(lengths), n_k), dtype=bool)
    for row, n in zip(mask, lengths, strict=True):
        row[:n] = True
    return mask


# ---- heads -----------------------------------------------------------------------------------------------------------

for name, function in {
    "reshape_transpose": lambda Y, n_heads: Y.reshape(Y.shape[0], n_heads, -1).transpose(1, 0, 2),
    "np_split": lambda Y, n_heads: np.stack(np.split(Y, n_heads, axis=1)),
    "list_of_hsplit": lambda Y, n_heads: np.hsplit(Y, n_heads),
    "slices": lambda Y, n_heads: [
        Y[:, r * (Y.shape[1] // n_heads) : (r + 1) * (Y.shape[1] // n_heads)] for r in range(n_heads)
    ],
    "moveaxis": lambda Y, n_heads: np.moveaxis(Y.reshape(len(Y), n_heads, -1), 1, 0),
    "einsum": lambda Y, n_heads: np.einsum("thw->htw", Y.reshape(len(Y), n_heads, -1)),
    "transpose_first": lambda Y, n_heads: Y.T.reshape(n_heads, -1, len(Y)).swapaxes(1, 2),
    "lists": lambda Y, n_heads: [
        [list(row[r * len(row) // n_heads : (r + 1) * len(row) // n_heads]) for row in Y.tolist()]
        for r in range(n_heads)
    ],
    "leading_axis": lambda Y, n_heads: Y.reshape(1, len(Y), n_heads, -1).transpose(0, 2, 1, 3),
    "float32": lambda Y, n_heads: np.array(np.array_split(Y, n_heads, axis=-1), dtype=np.float32),
}.items():
    add("split_heads", function, name, ())

for name, function in {
    "transpose_reshape": lambda Z: Z.transpose(1, 0, 2).reshape(Z.shape[1], -1),
    "hstack": lambda Z: np.hstack(list(Z)),
    "hstack_of_the_array": lambda Z: np.hstack(Z),
    "concatenate": lambda Z: np.concatenate([Z[r] for r in range(len(Z))], axis=-1),
    "token_by_token": lambda Z: np.array([Z[:, t].ravel() for t in range(Z.shape[1])]),
    "lists": lambda Z: [[x for head in Z for x in head[t]] for t in range(len(Z[0]))],
    "einsum": lambda Z: np.einsum("hsw->shw", Z).reshape(Z.shape[1], Z.shape[0] * Z.shape[2]),
    "c_underscore": lambda Z: np.c_[tuple(Z)],
    "filled_in": lambda Z: filled_in(Z),
    "leading_axis": lambda Z: np.hstack(list(Z))[None],
    "matrix": lambda Z: np.matrix(np.hstack(list(Z))),
}.items():
    add("merge_heads", function, name, ())


def filled_in(Z):
    h, T, w = Z.shape
    out = np.empty((T, h * w))
    for r in range(h):
        out[:, r * w : (r + 1) * w] = Z[r]
    return out


def cut(Y, n_heads):
    return Y.reshape(len(Y), n_heads, -1).transpose(1, 0, 2)


def stacked_scores(X, W_Q, W_K, n_heads, mask):
    q, k = cut(X @ W_Q, n_heads), cut(X @ W_K, n_heads)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return s if mask is None else np.where(mask, s, -np.inf)


@right("multi_head_attention")
def blocks_of_W_O(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    heads = soft(stacked_scores(X, W_Q, W_K, n_heads, mask)) @ cut(X @ W_V, n_heads)
    return sum(head @ W for head, W in zip(heads, np.split(W_O, n_heads, axis=0), strict=True))


@right("multi_head_attention")
def columns_of_each_W(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    d, outs = W_Q.shape[1] // n_heads, []
    for r in range(n_heads):
        cols = slice(r * d, (r + 1) * d)
        q, k, v = X @ W_Q[:, cols], X @ W_K[:, cols], X @ W_V[:, cols]
        s = q @ k.T / np.sqrt(d)
        if mask is not None:
            s = np.where(mask, s, -np.inf)
        outs.append(soft(s) @ v)
    return np.hstack(outs) @ W_O


@right("multi_head_attention")
def one_einsum_each(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    q, k, v = (np.einsum("td,dhw->htw", X, W.reshape(W.shape[0], n_heads, -1)) for W in (W_Q, W_K, W_V))
    s = np.einsum("hiw,hjw->hij", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return np.einsum("hij,hjw,hwo->io", soft(s), v, W_O.reshape(n_heads, -1, W_O.shape[1]))


@right("multi_head_attention")
def values_through_W_O_first(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    A = soft(stacked_scores(X, W_Q, W_K, n_heads, mask))
    blocks = W_O.reshape(n_heads, -1, W_O.shape[1])
    return sum(A[r] @ (v @ blocks[r]) for r, v in enumerate(np.split(X @ W_V, n_heads, axis=1)))


@right("multi_head_attention")
def one_product_of_W_Q_and_W_K(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    outs = []
    for a, b, c in zip(*(np.split(W, n_heads, axis=1) for W in (W_Q, W_K, W_V)), strict=True):
        s = X @ (a @ b.T) @ X.T / np.sqrt(a.shape[1])
        outs.append(soft(s if mask is None else np.where(mask, s, -np.inf)) @ (X @ c))
    return np.concatenate(outs, -1) @ W_O


@right("multi_head_attention")
def loops_and_lists(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    def times(A, B):
        return [[sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*B, strict=True)] for row in A]

    Q, K, V = (times(X.tolist(), W.tolist()) for W in (W_Q, W_K, W_V))
    w, together = len(Q[0]) // n_heads, []
    for t in range(len(X)):
        token = []
        for h in range(n_heads):
            s = [sum(Q[t][c] * K[j][c] for c in range(h * w, h * w + w)) / w**0.5 for j in range(len(X))]
            seen = [mask is None or bool(mask[t][j]) for j in range(len(X))]
            top = max(x for x, m in zip(s, seen, strict=True) if m)
            e = [math.exp(x - top) if m else 0.0 for x, m in zip(s, seen, strict=True)]
            token += [sum(a * v[c] for a, v in zip(e, V, strict=True)) / sum(e) for c in range(h * w, h * w + w)]
        together.append(token)
    return times(together, W_O.tolist())


@right("multi_head_attention")
def heads_in_float32(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    X, W_Q, W_K, W_V, W_O = (M.astype(np.float32) for M in (X, W_Q, W_K, W_V, W_O))
    heads = soft(stacked_scores(X, W_Q, W_K, n_heads, mask)) @ cut(X @ W_V, n_heads)
    return heads.swapaxes(0, 1).reshape(len(X), -1) @ W_O


@right("multi_head_attention")
def heads_backwards_with_W_O_to_match(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    heads = soft(stacked_scores(X, W_Q, W_K, n_heads, mask)) @ cut(X @ W_V, n_heads)
    return np.hstack(list(heads[::-1])) @ np.vstack(np.split(W_O, n_heads)[::-1])


@right("multi_head_attention")
def batch_of_one_with_heads(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    heads = soft(stacked_scores(X, W_Q, W_K, n_heads, mask)) @ cut(X @ W_V, n_heads)
    return (np.hstack(list(heads)) @ W_O)[None, ...]


# ---- two sequences


@right("cross_attention", remarks=())
def in_one_line(X, X_kv, W_Q, W_K, W_V):
    return soft((X @ W_Q) @ (X_kv @ W_K).T / np.sqrt(W_K.shape[1])) @ (X_kv @ W_V)


@right("cross_attention", remarks=())
def token_by_token_with_lists(X, X_kv, W_Q, W_K, W_V):
    out = []
    for x in X:
        q = x @ W_Q
        s = [float(q @ (y @ W_K)) / len(q) ** 0.5 for y in X_kv]
        e = [math.exp(v - max(s)) for v in s]
        out.append(sum(a * (y @ W_V) for a, y in zip(e, X_kv, strict=True)) / sum(e))
    return out


@right("cross_attention", remarks=())
def values_mixed_before_projecting(X, X_kv, W_Q, W_K, W_V):
    return soft((X @ W_Q) @ (X_kv @ W_K).T / np.sqrt(W_K.shape[1])) @ X_kv @ W_V


# ---- tables filled in by hand: a table of floats in another form

TABLE_FORMS = {
    "lists": lambda table: table.tolist(),
    "tuples": lambda table: tuple(map(tuple, table.tolist())),
    "array": lambda table: table,
    "float32": lambda table: table.astype(np.float32),
    "matrix": lambda table: np.asmatrix(table),
    "fractions": lambda table: [[Fraction(x).limit_denominator(100) for x in row] for row in table.tolist()],
    "list of arrays": list,
    "numpy numbers in lists": lambda table: [list(row) for row in table],
    "ints where whole": lambda table: [[int(x) if x == int(x) else x for x in row] for row in table.tolist()],
    "one more axis": lambda table: table[None],
    "objects": lambda table: table.astype(object),
}
