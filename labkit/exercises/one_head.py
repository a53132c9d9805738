"""One head: attention_scores, attention_weights, attention, and attention's special cases (Note 3.2, sections 1-4)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..calculation import chain
from ..exercise import Case, Exercise
from .inputs import DEPTHS, WITH, WITHOUT, causal, matrices, padded, with_holes, with_mask


def sizes(n_q: int, n_k: int, d_k: int, d_v: int) -> str:
    return f"{n_q} by {d_k} queries, {n_k} by {d_k} keys, {n_k} by {d_v} values"


def plain_cases(rng: np.random.Generator) -> Iterator[Case]:
    shapes = ((5, 7, 3, 2), (4, 4, 3, 2), (4, 4, 4, 4), (3, 1, 2, 4), (1, 4, 3, 2), (6, 9, 5, 3), (3, 4, 1, 1))
    yield from (Case(sizes(*shape), matrices(rng, *shape), WITHOUT) for shape in shapes)
    apart = matrices(rng, 4, 5, 3, 2)
    yield Case("scores up to 20 in " + sizes(4, 5, 3, 2), {**apart, "Q": 5 * apart["Q"]}, WITHOUT)
    yield Case("whole numbers in " + sizes(4, 4, 4, 4), matrices(rng, 4, 4, 4, 4, whole=True), WITHOUT)


def masked_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape, mask in (
        ((4, 4, 3, 2), causal(4)),
        ((5, 7, 3, 2), padded(5, 7, 2)),
        ((4, 4, 4, 4), padded(4, 4, 1)),
        ((4, 4, 4, 4), causal(4)),
        ((6, 9, 5, 3), with_holes(rng, 6, 9)),
        ((2, 5, 3, 4), np.array([[True, True, False, True, True], [False, True, True, False, True]])),
        ((3, 4, 2, 2), np.ones((3, 4), dtype=bool)),
    ):
        yield Case(sizes(*shape) + " and a mask", {**matrices(rng, *shape), "mask": mask}, WITH)
    whole = matrices(rng, 4, 4, 4, 4, whole=True)
    yield Case("whole numbers in " + sizes(4, 4, 4, 4) + " and a mask", {**whole, "mask": causal(4)}, WITH)
    loud = {**matrices(rng, 3, 4, 3, 2), "mask": padded(3, 4, 2)}
    loud["V"][2:] = 1e9
    yield Case("enormous values at hidden keys", loud, WITH, extreme=True)
    for d_k in (4, 16):  # two widths tell what was filled in before scaling from what was filled in after
        yield Case(f"allowed scores from -10 to -3000000 (d_k = {d_k})", low(d_k), WITH, extreme=True)


def low(d_k: int) -> dict[str, np.ndarray]:
    """Each query has two equal allowed keys, whose scaled score is one of the depths, and two hidden ones with a 0."""
    Q, K = np.zeros((len(DEPTHS), d_k)), np.zeros((4, d_k))
    Q[:, 0], K[:2, 0] = DEPTHS * np.sqrt(d_k), 1.0
    V = np.array([[1.0, 5.0], [2.0, 3.0], [7.0, 4.0], [9.0, 8.0]])
    return {"Q": Q, "K": K, "V": V, "mask": np.tile([True, True, False, False], (len(DEPTHS), 1))}


def remark_cases(rng: np.random.Generator) -> Iterator[Case]:
    near = {"Q": np.full((2, 4), 25.0), "K": np.full((3, 4), 20.0) + rng.normal(size=(3, 4)) / 50, "V": np.eye(3)}
    yield Case("scores near 1000", near, WITHOUT, remark="overflows_on_large_scores")
    spread = {"Q": np.full((1, 4), 40.0), "K": np.array([[25.0], [0.0], [0.02], [24.98]]) + np.zeros(4), "V": np.eye(4)}
    yield Case("a row from 0 to 2000", spread, WITHOUT, remark="overflows_on_large_scores")
    apart = {"Q": np.array([[0.0, 0, 0, 0], [-40.0, -40, -40, -40]]), "K": near["K"] + 5, "V": np.eye(3)}
    yield Case("rows 2000 apart", apart, WITHOUT, remark="shifts_by_the_overall_maximum")
    empty = {**matrices(rng, 3, 4, 3, 2), "mask": np.array([[True] * 4, [False] * 4, [True] * 4])}
    yield Case("a query without any allowed key", empty, WITH, remark="accepts_an_empty_row", raises=True)


def attention_cases(rng: np.random.Generator) -> list[Case]:
    return [*plain_cases(rng), *masked_cases(rng), *remark_cases(rng)]


def without_values(cases: Iterable[Case]) -> list[Case]:
    """The same cases for a function that takes no V."""
    return [
        replace(
            case,
            args={name: value for name, value in case.args.items() if name != "V"},
            label=re.sub(r", \d+ by \d+ values", "", case.label),
        )
        for case in cases
    ]


def weights_cases(rng: np.random.Generator) -> list[Case]:
    return without_values(attention_cases(rng))


def score_cases(rng: np.random.Generator) -> list[Case]:
    return [replace(case, part="values") for case in without_values(plain_cases(rng))]


ATTENTION_SCORES = Exercise(
    name="attention_scores",
    labs=("01_one_head",),
    quantities=("raw_scores", "scores"),
    answer="scores",
    given=dict,
    points=2,
    cases=score_cases,
    step="scores and scale",
)
ATTENTION_WEIGHTS = Exercise(
    name="attention_weights",
    labs=("02_causal_mask",),
    quantities=chain("allowed", "weights"),
    answer="weights",
    given=with_mask,
    points=4,
    cases=weights_cases,
)
ATTENTION = Exercise(
    name="attention",
    labs=("01_one_head", "02_causal_mask"),
    quantities=chain("allowed", "output"),
    answer="output",
    given=with_mask,
    points=4,
    cases=attention_cases,
    asks_only={"01_one_head": "without a mask"},
)


def special(
    name: str,
    lab: str,
    cases: Callable[[np.random.Generator], list[Case]],
    weights: Callable[[Mapping[str, Any]], np.ndarray],
    *no_mistakes: str,
    settled: tuple[str, ...] = chain("allowed", "weights"),
) -> Exercise:
    """A special case in which the weights are known without a softmax, so that what comes before hardly matters."""

    def given(args: Mapping[str, Any]) -> dict[str, Any]:
        return with_mask({**args, "weights": weights(args)})

    steps = chain("allowed", "output")
    return Exercise(name, (lab,), steps, "output", given, cases=cases, no_mistakes=no_mistakes, settled=settled)


def even_weights(args: Mapping[str, Any]) -> np.ndarray:
    n_q, n_k = len(args["Q"]), len(args["K"])
    return np.full((n_q, n_k), 1 / n_k)


def one_key_cases(rng: np.random.Generator) -> list[Case]:
    shapes = ((5, 1, 3, 2), (4, 1, 3, 3), (2, 1, 2, 4), (3, 1, 3, 1))
    return [Case(sizes(*shape), matrices(rng, *shape)) for shape in shapes]


def equal_keys_cases(rng: np.random.Generator) -> list[Case]:
    def one(n_q: int, n_k: int, d_k: int, d_v: int) -> Case:
        args = matrices(rng, n_q, n_k, d_k, d_v)
        return Case(sizes(n_q, n_k, d_k, d_v) + ", all keys alike", {**args, "K": np.tile(args["K"][:1], (n_k, 1))})

    return [one(5, 7, 3, 2), one(4, 4, 3, 3), one(2, 3, 4, 1), one(3, 1, 2, 2)]


def one_allowed_cases(rng: np.random.Generator) -> list[Case]:
    def one(n_q: int, n_k: int, d_k: int, d_v: int, chosen: tuple[int, ...]) -> Case:
        mask = np.arange(n_k) == np.array(chosen)[:, None]
        keys = ", ".join(str(k + 1) for k in chosen)
        label = f"{sizes(n_q, n_k, d_k, d_v)}, allowed for the queries in turn: key {keys}"
        return Case(label, {**matrices(rng, n_q, n_k, d_k, d_v), "mask": mask})

    return [
        one(5, 7, 3, 2, (6, 0, 3, 3, 1)),
        one(4, 4, 3, 3, (1, 2, 2, 0)),
        one(1, 3, 2, 4, (2,)),
        one(3, 1, 2, 2, (0,) * 3),
    ]


ATTENTION_ONE_KEY = special(
    "attention_one_key",
    "01_one_head",
    one_key_cases,
    even_weights,
    "picks_the_top_value",
    "averages_the_values",
    "multiplies_values_elementwise",
    "returns_the_values",
)
ATTENTION_EQUAL_KEYS = special(
    "attention_equal_keys", "01_one_head", equal_keys_cases, even_weights, "averages_the_values"
)
ATTENTION_IDENTITY_VALUES = Exercise(
    name="attention_identity_values",
    labs=("01_one_head",),
    quantities=chain("raw_scores", "weights"),
    answer="weights",
    given=lambda args: {**args, "allowed": None},
    cases=score_cases,
)
ATTENTION_ONE_ALLOWED_KEY = special(
    "attention_one_allowed_key",
    "02_causal_mask",
    one_allowed_cases,
    lambda args: args["mask"].astype(float),
    "picks_the_top_value",
    "fills_with_a_modest_number",
    "fills_before_scaling",
    "hides_the_diagonal",
    "leaks_one_step",
    settled=("raw_scores", "scores", "weights"),
)
