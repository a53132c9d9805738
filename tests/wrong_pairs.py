"""Two mistakes at once, at different steps, composed in a calculation of their own.

Pairs that are the same function share a picture: any of their names will do. Pairs that look like the right answer or
like a single mistake are left out.
"""

import warnings
from functools import partial
from itertools import combinations, product

import numpy as np


def soft(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


SCORES = {
    "scores_keys_against_queries": lambda Q, K, V: K @ Q.T,
    "forgets_the_transpose": lambda Q, K, V: Q @ K,
    "reshapes_instead_of_transposing": lambda Q, K, V: Q @ K.reshape(K.shape[1], K.shape[0]),
    "scores_queries_against_queries": lambda Q, K, V: Q @ Q.T,
    "scores_keys_against_keys": lambda Q, K, V: K @ K.T,
    "scores_by_distance": lambda Q, K, V: -((Q[:, None] - K[None]) ** 2).sum(axis=2) / 2,
    "scores_against_values": lambda Q, K, V: Q @ V.T,
}
SCALE = {  # what the raw scores are divided by
    "forgets_to_scale": lambda Q, K, V: 1,
    "scales_by_d_k": lambda Q, K, V: K.shape[1],
    "multiplies_by_root_d_k": lambda Q, K, V: K.shape[1] ** -0.5,
    "halves_instead_of_rooting": lambda Q, K, V: 2 * K.shape[1],
    "scales_by_number_of_keys": lambda Q, K, V: len(K) ** 0.5,
    "scales_by_number_of_queries": lambda Q, K, V: len(Q) ** 0.5,
    "scales_by_value_width": lambda Q, K, V: V.shape[1] ** 0.5,
    "truncates_the_root": lambda Q, K, V: int(K.shape[1] ** 0.5),
    "hard_codes_the_root": lambda Q, K, V: 2**0.5,
}
LATE_SCALE = ("scales_the_weights", "scales_the_output")
MASK = {
    "fills_with_zero": lambda s, m: np.where(m, s, 0),
    "fills_with_a_modest_number": lambda s, m: np.where(m, s, -2),
    "fills_with_plus_infinity": lambda s, m: np.where(m, s, np.inf),
    "adds_the_mask": lambda s, m: s + m,
    "inverts_the_mask": lambda s, m: np.where(m, -np.inf, s),
    "transposes_the_mask": lambda s, m: np.where(m.T, s, -np.inf),
    "hides_the_diagonal": lambda s, m: np.where(m & ~np.eye(*m.shape, dtype=bool), s, -np.inf),
    "ignores_the_mask": lambda s, m: s,
}
SOFTMAX = {
    "normalises_over_queries": lambda s: soft(s.T).T,
    "normalises_over_everything": lambda s: np.exp(s) / np.exp(s).sum(),
    "forgets_the_exponential": lambda s: s / s.sum(axis=1, keepdims=True),
    "applies_softmax_twice": lambda s: soft(soft(s)),
    "uses_another_base": lambda s: soft(s * np.log(2)),
    "uses_the_sigmoid": lambda s: 1 / (1 + np.exp(-s)),
    "picks_the_winner": lambda s: np.eye(s.shape[1])[s.argmax(axis=1)],
    "negates_the_scores": lambda s: soft(-s),
    "normalises_by_length": lambda s: np.exp(s) / np.sqrt((np.exp(s) ** 2).sum(axis=1, keepdims=True)),
    "truncates_to_integers": lambda s: soft(s).astype(int),
}
MIX = {
    "mixes_keys": lambda A, Q, K, V: A @ K,
    "mixes_queries": lambda A, Q, K, V: A @ Q,
    "mixes_with_transposed_weights": lambda A, Q, K, V: A.T @ V,
    "weights_on_the_wrong_side": lambda A, Q, K, V: V @ A,
    "picks_the_top_value": lambda A, Q, K, V: V[A.argmax(axis=1)],
    "adds_a_residual": lambda A, Q, K, V: A @ V + V,
    "returns_the_weights": lambda A, Q, K, V: A,
}
HEADS = (
    "transposes_the_projections",
    "splits_without_transposing",
    "repeats_one_head",
    "asks_with_one_head",
    "swaps_keys_and_values",
    "masks_only_the_first_head",
    "merges_without_transposing",
    "averages_the_heads",
    "sums_the_heads",
    "reverses_the_heads",
    "forgets_the_output_projection",
    "projects_on_the_wrong_side",
    "transposes_the_output_projection",
)
CROSS = ("exchanges_the_sequences", "keys_and_values_from_different_sequences", "masks_across_causally")
STEPS = {
    "scores": tuple(SCORES),
    "scale": (*SCALE, "compares_directions_only", *LATE_SCALE),
    "mask": (*MASK, "masks_after_softmax"),
    "softmax": tuple(SOFTMAX),
    "mix": tuple(MIX),
}
ORDER = [
    *CROSS[:2],
    *HEADS[:5],
    *STEPS["scores"],
    *STEPS["scale"][:-2],
    HEADS[5],
    *STEPS["mask"],
    *STEPS["softmax"],
    *STEPS["mix"],
    *HEADS[6:],
]
NO_ORDER = (*LATE_SCALE, "masks_after_softmax", "masks_across_causally")  # their step comes early, they happen late


def one_of(table, wrongs, right):
    for name in wrongs:
        if name in table:
            return table[name]
    return right


def weigh(Q, K, V, mask, wrongs):
    if "compares_directions_only" in wrongs:
        Q, K = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (Q, K))
        V = V / np.linalg.norm(V, axis=1, keepdims=True) if "scores_against_values" in wrongs else V
        s = one_of(SCORES, wrongs, lambda Q, K, V: Q @ K.T)(Q, K, V)
    else:
        s = one_of(SCORES, wrongs, lambda Q, K, V: Q @ K.T)(Q, K, V)
        s = s / one_of(SCALE, wrongs, lambda Q, K, V: K.shape[1] ** 0.5)(Q, K, V)
    if mask is not None and "masks_after_softmax" not in wrongs:
        s = one_of(MASK, wrongs, lambda s, m: np.where(m, s, -np.inf))(s, mask)
    A = one_of(SOFTMAX, wrongs, soft)(s)
    if mask is not None and "masks_after_softmax" in wrongs:
        A = A * mask
    return A / K.shape[1] ** 0.5 if "scales_the_weights" in wrongs else A


def attend(wrongs, Q, K, V, mask=None):
    mask = None if mask is None else np.asarray(mask, dtype=bool)
    A = weigh(Q, K, V, mask, wrongs)
    out = one_of(MIX, wrongs, lambda A, Q, K, V: A @ V)(A, Q, K, V)
    return out / K.shape[1] ** 0.5 if "scales_the_output" in wrongs else out


def attend_with_heads(wrongs, X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    if "swaps_keys_and_values" in wrongs:
        W_K, W_V = W_V, W_K
    projected = [X @ (W.T if "transposes_the_projections" in wrongs else W) for W in (W_Q, W_K, W_V)]
    if "splits_without_transposing" in wrongs:
        cut = [list(Y.reshape(n_heads, len(X), -1)) for Y in projected]
    else:
        cut = [np.split(Y, n_heads, axis=1) for Y in projected]
    if "repeats_one_head" in wrongs:
        cut = [[parts[0]] * n_heads for parts in cut]
    if "asks_with_one_head" in wrongs:
        cut[0] = [cut[0][0]] * n_heads
    masks = [mask] + [None if "masks_only_the_first_head" in wrongs else mask] * (n_heads - 1)
    heads = [attend(wrongs, *qkv) for qkv in zip(*cut, masks, strict=True)]
    return put_together(wrongs, heads, W_O)


def put_together(wrongs, heads, W_O):
    if "averages_the_heads" in wrongs:
        return sum(heads) / len(heads)
    if "sums_the_heads" in wrongs:
        return sum(heads)
    if "reverses_the_heads" in wrongs:
        heads = heads[::-1]
    merged_wrongly = "merges_without_transposing" in wrongs
    C = np.array(heads).reshape(heads[0].shape[0], -1) if merged_wrongly else np.hstack(heads)
    if "forgets_the_output_projection" in wrongs:
        return C
    if "projects_on_the_wrong_side" in wrongs:
        return W_O @ C
    return C @ (W_O.T if "transposes_the_output_projection" in wrongs else W_O)


def attend_across(wrongs, X, X_kv, W_Q, W_K, W_V):
    if "exchanges_the_sequences" in wrongs:
        X, X_kv = X_kv, X
    source = X if "keys_and_values_from_different_sequences" in wrongs else X_kv
    mask = np.tril(np.ones((len(X), len(X_kv)), bool)) if "masks_across_causally" in wrongs else None
    return attend(wrongs, X @ W_Q, X_kv @ W_K, source @ W_V, mask)


# ---- pictures --------------------------------------------------------------------------------------------------------

rng = np.random.default_rng(20)


def whole(*shape):
    return rng.integers(-3, 4, shape).astype(float)


def holes(n_q, n_k):
    mask = rng.random((n_q, n_k)) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    return mask


CAUSAL = np.tril(np.ones((4, 4), dtype=bool))
HEAD_INPUTS = [
    (rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 2))),
    (rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 2)), CAUSAL),
    (rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), holes(5, 7)),
    (whole(4, 4), whole(4, 4), whole(4, 4)),
    (whole(4, 4), whole(4, 4), whole(4, 4), CAUSAL),
]
HEADS_INPUTS = [
    (rng.normal(size=(4, 6)), *(rng.normal(size=(6, 6)) for _ in range(4)), 3, *mask)
    for mask in ((), (CAUSAL,), (holes(4, 4),))
] + [(rng.normal(size=(4, 4)), *(rng.normal(size=(4, 4)) for _ in range(4)), 2, *mask) for mask in ((), (CAUSAL,))]
CROSS_INPUTS = [
    (rng.normal(size=(4, 5)), rng.normal(size=(6, 5)), *(rng.normal(size=(5, w)) for w in (3, 3, 2))),
    *[tuple(rng.normal(size=(4, 4)) for _ in range(5)) for _ in range(2)],
]


def picture(function, inputs):
    parts = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for one in inputs:
            try:
                out = np.asarray(function(*one), dtype=float)
                parts.append((out.shape, *np.nan_to_num(out, nan=77, posinf=78, neginf=79).ravel().round(6) + 0.0))
            except (ValueError, IndexError):
                parts.append("raises")
    return tuple(parts)


def classes(calculation, inputs, ids, pairs):
    """Pairs by picture, without those that look like a single mistake, nothing wrong, or an error everywhere."""
    plain = {picture(partial(calculation, (one,)), inputs) for one in ids} | {picture(partial(calculation, ()), inputs)}
    by_picture = {}
    for pair in pairs:
        seen = picture(partial(calculation, pair), inputs)
        if seen not in plain and set(seen) != {"raises"}:
            by_picture.setdefault(seen, []).append(pair)
    return list(by_picture.values())


def pairs_of(*groups):
    return [pair for a, b in combinations(groups, 2) for pair in product(a, b)]


FIVE = [STEPS[step] for step in ("scores", "scale", "mask", "softmax", "mix")]
FAMILIES = {
    "attention": (attend, HEAD_INPUTS, pairs_of(*FIVE), 7),
    "attention_weights": (
        lambda wrongs, Q, K, V, mask=None: attend(("returns_the_weights", *wrongs), Q, K, V, mask),
        HEAD_INPUTS,
        pairs_of([one for one in FIVE[0] if one != "scores_against_values"],
                 [one for one in FIVE[1] if one not in ("scales_by_value_width", "scales_the_output")],
                 *FIVE[2:4]),
        12,
    ),
    "multi_head_attention": (
        attend_with_heads,
        HEADS_INPUTS,
        list(product([one for one in HEADS if one != "masks_only_the_first_head"], sum(FIVE, ())))
        + list(product(["masks_only_the_first_head"], FIVE[0] + FIVE[1] + FIVE[3] + FIVE[4])),
        11,
    ),
    "cross_attention": (attend_across, CROSS_INPUTS, list(product(CROSS, FIVE[0] + FIVE[1] + FIVE[3] + FIVE[4])), 5),
}  # fmt: skip


def function_for(exercise, wrongs):
    calculation = FAMILIES[exercise][0]
    if exercise == "attention_weights":
        return lambda Q, K, mask=None: calculation(wrongs, Q, K, np.ones((len(K), 1)), mask)
    return partial(calculation, wrongs)


def chosen():
    """(exercise, pair, all pairs with the same picture): every so many, so that each mistake has its turns."""
    out = []
    for exercise, (calculation, inputs, pairs, stride) in FAMILIES.items():
        ids = {one for pair in pairs for one in pair}
        for together in classes(calculation, inputs, ids, pairs)[::stride]:
            out.append((exercise, together[0], tuple(together)))
    return out
