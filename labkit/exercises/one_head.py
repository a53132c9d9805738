"""One head: attention_scores, attention_weights, attention and cross_attention."""

import re
from dataclasses import replace

import numpy as np

from ..exercise import Case, Exercise

WITHOUT, WITH = "without a mask", "with a mask"
CHAIN = ("allowed", "raw_scores", "scores", "masked_scores", "weights", "output")


def tables(rng, n_q, n_k, d_k, d_v, whole=False):
    """Q, K and V; pairwise different sizes show what was mixed up."""
    shapes = {"Q": (n_q, d_k), "K": (n_k, d_k), "V": (n_k, d_v)}
    if whole:
        return {name: rng.integers(-2, 3, size=shape) for name, shape in shapes.items()}
    return {name: rng.normal(size=shape) * 1.2 for name, shape in shapes.items()}


def far_apart(rng, *shape):
    """Tables whose scores are several times as large as usual."""
    given = tables(rng, *shape)
    return {**given, "Q": 5 * given["Q"]}


def causal(n):
    return np.tri(n, dtype=bool)


def padded(n_q, n_k, hidden):
    """The last ``hidden`` keys are padding, and query 2 may not use key 1 either."""
    mask = np.tile(np.arange(n_k) < n_k - hidden, (n_q, 1))
    mask[1, 0] = False
    return mask


def with_holes(rng, n_q, n_k):
    """A mask without any pattern; each query keeps the key at its own place."""
    return (rng.random((n_q, n_k)) < 0.6) | np.eye(n_q, n_k, dtype=bool)


def plain_cases(rng):
    shapes = ((5, 7, 3, 2), (4, 4, 3, 2), (4, 4, 4, 4), (3, 1, 2, 4), (1, 4, 3, 2), (6, 9, 5, 3), (3, 4, 1, 1))
    yield from (Case(sizes(*shape), tables(rng, *shape), WITHOUT) for shape in shapes)
    yield Case("scores up to 20 in " + sizes(4, 5, 3, 2), far_apart(rng, 4, 5, 3, 2), WITHOUT)
    yield Case("whole numbers in " + sizes(4, 4, 4, 4), tables(rng, 4, 4, 4, 4, whole=True), WITHOUT)


def sizes(n_q, n_k, d_k, d_v):
    return f"{n_q} by {d_k} queries, {n_k} by {d_k} keys, {n_k} by {d_v} values"


def masked_cases(rng):
    for shape, mask in (
        ((4, 4, 3, 2), causal(4)),
        ((5, 7, 3, 2), padded(5, 7, 2)),
        ((4, 4, 4, 4), padded(4, 4, 1)),
        ((4, 4, 4, 4), causal(4)),
        ((6, 9, 5, 3), with_holes(rng, 6, 9)),
        ((2, 5, 3, 4), np.array([[True, True, False, True, True], [False, True, True, False, True]])),
        ((3, 4, 2, 2), np.ones((3, 4), dtype=bool)),
    ):
        yield Case(sizes(*shape) + " and a mask", {**tables(rng, *shape), "mask": mask}, WITH)
    whole = tables(rng, 4, 4, 4, 4, whole=True)
    yield Case("whole numbers in " + sizes(4, 4, 4, 4) + " and a mask", {**whole, "mask": causal(4)}, WITH)
    loud = {**tables(rng, 3, 4, 3, 2), "mask": padded(3, 4, 2)}
    loud["V"][2:] = 1e9
    yield Case("enormous values at hidden keys", loud, WITH, extreme=True)
    for d_k in (4, 16):  # two widths tell what was filled in before scaling from what was filled in after
        yield Case(f"allowed scores from -10 to -3000000 (d_k = {d_k})", low(d_k), WITH, extreme=True)


# Close enough together that one lies between any two usual numbers for a hidden score.
DEPTHS = np.append(-10 * 2 ** np.arange(0, 18, 0.25), -3e6)


def low(d_k):
    """Each query has two equal allowed keys, whose scaled score is one of the depths, and two hidden ones with a 0."""
    Q, K = np.zeros((len(DEPTHS), d_k)), np.zeros((4, d_k))
    Q[:, 0], K[:2, 0] = DEPTHS * np.sqrt(d_k), 1.0
    V = np.array([[1.0, 5.0], [2.0, 3.0], [7.0, 4.0], [9.0, 8.0]])
    return {"Q": Q, "K": K, "V": V, "mask": np.tile([True, True, False, False], (len(DEPTHS), 1))}


def remark_cases(rng):
    near = {"Q": np.full((2, 4), 25.0), "K": np.full((3, 4), 20.0) + rng.normal(size=(3, 4)) / 50, "V": np.eye(3)}
    yield Case("scores near 1000", near, WITHOUT, remark="overflows_on_large_scores")
    apart = {"Q": np.array([[0.0, 0, 0, 0], [-40.0, -40, -40, -40]]), "K": near["K"] + 5, "V": np.eye(3)}
    yield Case("rows 2000 apart", apart, WITHOUT, remark="shifts_by_the_overall_maximum")
    empty = {**tables(rng, 3, 4, 3, 2), "mask": np.array([[True] * 4, [False] * 4, [True] * 4])}
    yield Case("a query without any allowed key", empty, WITH, remark="accepts_an_empty_row", raises=True)


def cases(rng):
    return [*plain_cases(rng), *masked_cases(rng), *remark_cases(rng)]


def asked(names, make=cases):
    """The same cases with only those arguments that the function takes."""

    def narrowed(rng):
        return [
            replace(
                case,
                args={name: value for name, value in case.args.items() if name in names},
                label=re.sub(r", \d+ by \d+ values", "", case.label),
            )
            for case in make(rng)
        ]

    return narrowed


def given(args):
    return {"mask": None, **args}


def score_cases(rng):
    return [replace(case, part="values") for case in asked(("Q", "K"), plain_cases)(rng)]


ATTENTION_SCORES = Exercise(
    name="attention_scores",
    labs=("01_one_head",),
    steps=("raw_scores", "scores"),
    answer="scores",
    given=dict,
    points=2,
    cases=score_cases,
)
ATTENTION_WEIGHTS = Exercise(
    name="attention_weights",
    labs=("02_causal_mask",),
    steps=CHAIN[:-1],
    answer="weights",
    given=given,
    points=4,
    cases=asked(("Q", "K", "mask")),
)
ATTENTION = Exercise(
    name="attention",
    labs=("01_one_head", "02_causal_mask"),
    steps=CHAIN,
    answer="output",
    given=given,
    points=4,
    cases=cases,
    asks_only={"01_one_head": "without a mask"},
)


def stage(name, lab, cases, weights, *no_mistakes):
    """A special case in which the weights are known without a softmax, so that only the mix is left to get right."""

    def given(args):
        n_q, n_k = len(args["Q"]), len(args["K"])
        return {**args, "weights": weights(args, n_q, n_k)}

    return Exercise(name, (lab,), ("output",), "output", given, cases=cases, no_mistakes=no_mistakes)


def one_key_cases(rng):
    return [
        Case(sizes(*shape), tables(rng, *shape)) for shape in ((5, 1, 3, 2), (4, 1, 3, 3), (2, 1, 2, 4), (3, 1, 3, 1))
    ]


def equal_keys_cases(rng):
    def one(*shape):
        given = tables(rng, *shape)
        return Case(sizes(*shape) + ", all keys alike", {**given, "K": np.tile(given["K"][:1], (shape[1], 1))})

    return [one(5, 7, 3, 2), one(4, 4, 3, 3), one(2, 3, 4, 1), one(3, 1, 2, 2)]


def one_allowed_cases(rng):
    def one(n_q, n_k, d_k, d_v, chosen):
        mask = np.arange(n_k) == np.array(chosen)[:, None]
        label = (
            sizes(n_q, n_k, d_k, d_v)
            + f", allowed for the queries in turn: key {', '.join(str(k + 1) for k in chosen)}"
        )
        return Case(label, {**tables(rng, n_q, n_k, d_k, d_v), "mask": mask})

    return [
        one(5, 7, 3, 2, (6, 0, 3, 3, 1)),
        one(4, 4, 3, 3, (1, 2, 2, 0)),
        one(1, 3, 2, 4, (2,)),
        one(3, 1, 2, 2, (0,) * 3),
    ]


ATTENTION_ONE_KEY = stage(
    "attention_one_key",
    "01_one_head",
    one_key_cases,
    lambda args, n_q, n_k: np.ones((n_q, 1)),
    "picks_the_top_value",
    "averages_the_values",
    "multiplies_values_elementwise",
)
ATTENTION_EQUAL_KEYS = stage(
    "attention_equal_keys",
    "01_one_head",
    equal_keys_cases,
    lambda args, n_q, n_k: np.full((n_q, n_k), 1 / n_k),
    "averages_the_values",
)
ATTENTION_IDENTITY_VALUES = Exercise(
    name="attention_identity_values",
    labs=("01_one_head",),
    steps=CHAIN[1:-1],
    answer="weights",
    given=lambda args: {**args, "allowed": None},
    cases=score_cases,
)
ATTENTION_ONE_ALLOWED_KEY = stage(
    "attention_one_allowed_key",
    "02_causal_mask",
    one_allowed_cases,
    lambda args, n_q, n_k: args["mask"].astype(float),
    "picks_the_top_value",
)


def cross_cases(rng):
    def one(n_q, n_k, d, d_k, d_v):
        shapes = {"X": (n_q, d), "X_kv": (n_k, d), "W_Q": (d, d_k), "W_K": (d, d_k), "W_V": (d, d_v)}
        label = f"{n_q} tokens asking {n_k} others, d_model = {d}, d_k = {d_k}, d_v = {d_v}"
        return Case(label, {name: rng.normal(size=shape) * 0.8 for name, shape in shapes.items()})

    return [one(5, 7, 4, 3, 2), one(4, 4, 4, 4, 4), one(4, 4, 5, 3, 2), one(2, 3, 4, 3, 4)]


CROSS_ATTENTION = Exercise(
    name="cross_attention",
    labs=("04_beyond_one_sequence",),
    steps=("projected", "parts", "Q", "K", "V", *CHAIN),
    answer="output",
    given=lambda args: {**args, "mask": None},
    points=4,
    cases=cross_cases,
    skips=("parts",),
)
