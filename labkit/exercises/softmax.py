"""softmax(scores): the step from scores to weights on its own (Note 3.2, section 4)."""

import numpy as np

from ..exercise import Case, Exercise
from .inputs import whole_scores


def cases(rng: np.random.Generator) -> list[Case]:
    apart = np.array([[0.0, 1.0, 2.0], [-2000.0, -2001.0, -1999.0]])
    spread = np.array([[0.0, 1.0, 2000.0, 2001.0, 3.0, 2.0]])
    return [
        Case("a 3 by 5 table", {"scores": rng.normal(size=(3, 5))}),
        Case("a 4 by 4 table", {"scores": rng.normal(size=(4, 4)) * 1.5}),
        Case("a 4 by 4 table of whole numbers", {"scores": whole_scores(rng, 4, 4)}),
        Case("a 3 by 3 table with ties", {"scores": np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]])}),
        Case("a 12 by 11 table with scores up to 20", {"scores": rng.normal(size=(12, 11)) * 8}),
        Case("one query and 4 keys", {"scores": rng.normal(size=(1, 4))}),
        Case("3 queries and one key", {"scores": rng.normal(size=(3, 1))}),
        Case("scores near 1000", {"scores": 1000 + rng.normal(size=(2, 3))}, remark="overflows_on_large_scores"),
        Case("a row from 0 to 2001", {"scores": spread}, remark="overflows_on_large_scores"),
        Case("rows 2000 apart", {"scores": apart}, remark="shifts_by_the_overall_maximum"),
    ]


EXERCISE = Exercise(
    name="softmax",
    labs=("01_one_head",),
    quantities=("weights",),
    answer="weights",
    given=lambda args: {"masked_scores": args["scores"]},
    points=3,
    cases=cases,
)
