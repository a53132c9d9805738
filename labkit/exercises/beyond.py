"""cross_attention, and tables and facts about fixed numbers: the order of tokens, cost, and what weights do not say."""

import numpy as np

from ..calculation import chain
from ..exercise import Case, Exercise
from .inputs import with_mask
from .tables import asked_in, fact, table

LAB = "04_beyond_one_sequence"

# Value 3 lies halfway between the other two.
HALFWAY = {"weights": [[0.3, 0.5, 0.2]], "V": [[0.0, 6.0], [8.0, 2.0], [4.0, 4.0]]}
# The weights of token 3 in a second layer, on what the first layer made of the inputs.
SECOND_LAYER = {"weights": [[0.0, 0.8, 0.2]], "V": [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]}

# What comes of sharing out token 1's weight in some way, and the way back.
TOO_FAR = tuple(
    (weights, f"this gives {output}, which is too near to value 2. Where between values 2 and 3 does your output lie?")
    for weights, output in (
        ([0, 0.5, 0.5], "(6, 3)"),
        ([0, 0.8, 0.2], "(7.2, 2.4)"),
        ([0, 0.65, 0.35], "(6.6, 2.7)"),
        ([0, 0.71, 0.29], "(6.84, 2.58)"),
    )
)
AS_BEFORE = ([0.3, 0.5, 0.2], "these are the weights as they were. Which of them is to be given away, and to whom?")
ONE_SEQUENCE = "then one sequence would talk to itself. Which of the three has to come from those who are asked?"
SPLIT_PAIR = "a key and a value with the same number belong to one token. Do they here?"
NAMES = "one of these two words is for outputs that go where their tokens go, the other for outputs that stay. Which?"

BEFORE_CROSS_ATTENTION = asked_in(
    LAB,
    cross_sources=fact(
        [1, 2, 2],
        ([2, 1, 1], "here the patches would ask and the words be asked. Who wants to know something?"),
        ([1, 1, 1], ONE_SEQUENCE),
        ([2, 2, 2], ONE_SEQUENCE),
        ([1, 2, 1], SPLIT_PAIR),
        ([1, 1, 2], SPLIT_PAIR),
        ([0, 1, 1], "sequences are counted from 1 here. Which of them is sequence 1?"),
        step="cross",
    ),
    cross_shapes=fact(
        [[3, 4], [5, 4], [5, 2], [3, 5], [3, 2]],
        ([[5, 4], [3, 4], [3, 2], [5, 3], [5, 2]], "here the patches would ask. Whose rows are the queries?"),
        (
            [[3, 6], [5, 6], [5, 6], [3, 5], [3, 6]],
            "these are the tokens as they come in. How many columns has the product of 3 × 6 with 6 × 4?",
        ),
        ([[3, 4], [5, 4], [5, 2], [5, 3], [3, 2]], "all is well but for the weights. Do queries stand in their rows?"),
        (
            [[3, 4], [5, 4], [5, 2], [3, 3], [3, 2]],
            "all is well but for the weights: here one sequence would ask itself. Over whom is a query's choice?",
        ),
        (
            [[3, 4], [5, 4], [5, 2], [3, 5], [5, 2]],
            "all is well but for the output. Who gets an output, who was asked?",
        ),
        (
            [[4, 3], [4, 5], [2, 5], [5, 3], [2, 3]],
            "rows and columns have changed places everywhere. Which of a shape's two numbers counts rows?",
        ),
        step="cross",
    ),
)


def cross_cases(rng: np.random.Generator) -> list[Case]:
    def one(n_q: int, n_k: int, d: int, d_k: int, d_v: int) -> Case:
        shapes = {"X": (n_q, d), "X_kv": (n_k, d), "W_Q": (d, d_k), "W_K": (d, d_k), "W_V": (d, d_v)}
        label = f"{n_q} tokens asking {n_k} others, d_model = {d}, d_k = {d_k}, d_v = {d_v}"
        return Case(label, {name: rng.normal(size=shape) * 0.8 for name, shape in shapes.items()})

    return [one(5, 7, 4, 3, 2), one(4, 4, 4, 4, 4), one(4, 4, 5, 3, 2), one(2, 3, 4, 3, 4)]


CROSS_ATTENTION = Exercise(
    name="cross_attention",
    labs=(LAB,),
    quantities=chain("projected", "output"),
    answer="output",
    given=with_mask,
    points=4,
    cases=cross_cases,
    skips=("parts",),
    step="cross",
)
AFTER_CROSS_ATTENTION = asked_in(
    LAB,
    order_of_tokens=fact(
        "equivariant",
        ("invariant", NAMES),
        ("neither", "which outputs did the explorer find changed without a mask?"),
    ),
    order_of_source=fact("invariant", ("equivariant", NAMES), ("neither", "does a sum care for the order?")),
    order_under_mask=fact(
        "neither",
        ("equivariant", "tick `causal` in the explorer and swap A and B. What becomes of B's output?"),
        ("invariant", "tick `causal` in the explorer and swap A and B. What becomes of B's output?"),
    ),
    score_entries=fact(
        [10_000, 40_000],
        ([100, 200], "these are the rows. How many entries does each of them have?"),
        ([10_000, 20_000], "twice as many queries ask. And how many keys does each of them meet?"),
        (
            [4_950, 19_900],
            "a query meets its own key, too, and `1 asks 2` is another entry than `2 asks 1`. How many pairs?",
        ),
        ([5_050, 20_100], "this is what a causal mask leaves. How many cells does the whole table have?"),
    ),
    cross_entries=fact(
        20_000,
        (90_000, "this is the table of one sequence of 300 tokens. Do the tokens of one sequence ask each other here?"),
        (300, "these are tokens. How many pairs of one who asks and one who is asked can be made?"),
        (40_000, "this is the table of 200 tokens among themselves. How many ask here?"),
    ),
    halfway_output=table("output", HALFWAY),
    other_weights=Exercise(
        "", (), (), "weights", lambda numbers: {"weights": [0, 0.2, 0.8]}, slips=(*TOO_FAR, AS_BEFORE), step="mix"
    ),
    removal_outputs=fact(
        [[5], [44 / 7], [4]],
        ([[2], [4.4], [3.6]], "here the weights that are left add to 0.4, 0.7 and 0.9. What does a softmax see to?"),
        ([[8], [9.5], [3.5]], "these are plain means of the two values that are left. Do the two weigh the same?"),
        ([[5], [5], [5]], "this is the output with all three tokens. Which key is hidden in which row?"),
        ([[5], [4], [44 / 7]], "two rows have changed places. Which one is without token 2?"),
    ),
    traced_shares=table("output", SECOND_LAYER),
)
EXERCISES = (*BEFORE_CROSS_ATTENTION, CROSS_ATTENTION, *AFTER_CROSS_ATTENTION)
