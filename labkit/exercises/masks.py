"""Masks: causal_mask, padding_mask, and masked_softmax (the definitions of the attention mask and the causal mask)."""

from typing import Any

import numpy as np

from ..exercise import Case, Exercise
from .inputs import DEPTHS, causal, padded, whole_scores, with_holes

KEYS, NO_KEYS = "every query has a key", "a query without a key"


def masked_cases(rng: np.random.Generator) -> list[Case]:
    empty = np.array([[True, True, False], [False, False, False]])
    low = np.outer(DEPTHS, [1.0, 1.0, 0.0, 0.0])
    visible = np.tile([True, True, False, False], (len(DEPTHS), 1))

    def case(label: str, scores: np.ndarray, mask: np.ndarray, part: str = KEYS, **more: Any) -> Case:
        return Case(label, {"scores": scores, "mask": mask}, part, **more)

    return [
        case("a causal 4 by 4 table", rng.normal(size=(4, 4)), causal(4)),
        case("a 5 by 7 table with padding", rng.normal(size=(5, 7)), padded(5, 7, 2)),
        case("a 4 by 4 table with padding", rng.normal(size=(4, 4)), padded(4, 4, 1)),
        case("whole numbers", whole_scores(rng, 4, 4), causal(4)),
        case("a 6 by 9 table with holes", rng.normal(size=(6, 9)) * 3, with_holes(rng, 6, 9)),
        case("nothing hidden", rng.normal(size=(2, 3)), np.ones((2, 3), dtype=bool)),
        case("allowed scores from -10 to -3000000", low, visible, extreme=True),
        case("a query (row 2) without any allowed key", rng.normal(size=(2, 3)), empty, NO_KEYS, raises=True),
        case("scores near 1000", 1000 + rng.normal(size=(3, 3)), causal(3), remark="overflows_on_large_scores"),
    ]


MASKED_SOFTMAX = Exercise(
    name="masked_softmax",
    labs=("02_causal_mask",),
    quantities=("allowed", "masked_scores", "weights"),
    answer="weights",
    given=dict,
    points=4,
    cases=masked_cases,
)


def causal_cases(rng: np.random.Generator) -> list[Case]:
    few = [Case(f"n = {n}", {"n": n}) for n in (4, 7, 1)]
    return [*few, Case("a larger n", {"n": int(rng.integers(9, 20))})]  # which nobody can have written down


CAUSAL_MASK = Exercise(
    name="causal_mask",
    labs=("02_causal_mask",),
    quantities=("allowed",),
    answer="allowed",
    given=lambda args: {"mask": causal(args["n"])},
    points=2,
    cases=causal_cases,
)


def padding_cases(rng: np.random.Generator) -> list[Case]:
    pairs = (([3, 1, 4], 5), ([2, 4, 1, 3], 4), ([2], 3), ([6, 2, 5], 6))
    few = [Case(f"lengths {lengths}, n_k = {n_k}", {"lengths": lengths, "n_k": n_k}) for lengths, n_k in pairs]
    more = [int(n) for n in rng.integers(1, 12, size=5)]
    return [*few, Case("5 other lengths", {"lengths": more, "n_k": 12})]


PADDING_MASK = Exercise(
    name="padding_mask",
    labs=("02_causal_mask",),
    quantities=("allowed",),
    answer="allowed",
    given=lambda args: {**args, "mask": np.arange(args["n_k"]) < np.array(args["lengths"])[:, None]},
    points=2,
    cases=padding_cases,
    step="padding",
    no_mistakes=("leaks_one_step",),
)
