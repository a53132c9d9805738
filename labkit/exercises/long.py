"""Long sequences: a running softmax, by hand on one row and as blocked_attention; what it saves; causal alignments."""

from collections.abc import Sequence

import numpy as np

from ..calculation import chain
from ..exercise import Case, Exercise
from .inputs import matrices, with_mask
from .tables import Slip, asked_in, fact, table

LAB = "05_long_sequences"
ORDINARY, ENORMOUS = "ordinary scores", "enormous scores"

# One query, three blocks of two keys each.
POWERS = np.array([[8.0, 4.0], [16.0, 4.0], [4.0, 8.0]])
VALUES = np.array([[4.0, 8.0], [6.0, 2.0], [10.0, 6.0]])


def counted(blocks: list[int]) -> tuple[float, np.ndarray, np.ndarray]:
    """The largest score of some blocks, their powers counted from it (n,), and ones beside their values (n, 2).

    The product of powers and ones beside values is what is kept: the sum of powers and the mixed sum of values.
    """
    powers, values = POWERS[blocks].ravel(), VALUES[blocks].ravel()
    return np.log(powers.max()), powers / powers.max(), np.stack([np.ones_like(values), values], axis=1)


def block_sums(*blocks: int, slips: tuple[Slip, ...] = ()) -> Exercise:
    """Sum of powers and mixed sum of values, when the last of these blocks has been read after the others."""
    parts = [counted(list(part)) for part in (blocks[:-1], blocks[-1:]) if part]
    summaries = [[largest, *(powers @ values)] for largest, powers, values in parts]
    _, powers, values = counted(list(blocks))
    given = {"weights": powers, "V": values, "summaries": summaries}
    return table("output", given, slips=(*slips, divided(powers, values)), step="block sums")


def divided(powers: np.ndarray, values: np.ndarray) -> Slip:
    """The slip of dividing the mixed sum by the sum of powers before the last block has been read."""
    total, mixed = powers @ values
    said = "the second number has been divided by the first already. Which division does the text ask for so far?"
    return [total, mixed / total], said


ALL_ALIKE = "the second number adds up the values as they are. How much does each of the two keys count?"
FROM_BLOCK_1 = "these powers are still counted from log 8. Which is the largest score of this block?"

BY_HAND = asked_in(
    LAB,
    table_megabytes=fact(
        400.0,
        (100, "this is how many millions of weights there are. How many bytes does each of them take?"),
        (800, "this would be with 8 bytes a number. How many are there in single precision?"),
        (0.4, "these are thousands of megabytes. How many bytes make one?"),
        (0.04, "this is a single row of the table. How many rows are there?"),
        (4e8, "these are bytes. How many of them make a megabyte?"),
        (381.47, "this counts 1024 times 1024 bytes as one. How many millions of bytes are there?"),
        (200, "this is what a causal mask leaves. Is the table itself any smaller for it?"),
    ),
    first_block=block_sums(0, slips=(([1.5, 12], ALL_ALIKE),)),
    second_block=block_sums(1, slips=(([1.25, 8], ALL_ALIKE), ([2.5, 13], FROM_BLOCK_1))),
    two_blocks=block_sums(0, 1),
    three_blocks=block_sums(0, 1, 2),
    three_blocks_output=table(
        "output",
        {"weights": POWERS.ravel() / POWERS.sum(), "V": VALUES.reshape(-1, 1)},
        slips=(
            ([16], "this is the mixed sum as it stands. By how much do the powers in it exceed 1 in all?"),
            ([0.17], "here the two sums have changed places. Which of them is divided by the other?"),
            ([5.25], "this is what was the output after two blocks. What has become of the two sums since?"),
        ),
        step="block sums",
    ),
)
AFTER_THE_CODE = asked_in(
    LAB,
    block_megabytes=fact(
        4.0,
        (0.04, "this is for 100 queries and 100 keys. How many queries meet the block?"),
        (1, "this is how many millions of scores there are. How many bytes does each of them take?"),
        (8, "this would be with 8 bytes a number. How many are there in single precision?"),
        (400, "this is the whole table. How many of its columns are there at a time?"),
        (4e6, "these are bytes. How many of them make a megabyte?"),
    ),
    top_left_keys=fact(
        [1, 2, 3],
        ([3, 4, 5], "this is the other way. From where are queries and keys counted here?"),
        ([5, 5, 5], "this is without any mask. Up to which key may query 1 look?"),
        ([0, 1, 2], "this hides each query's own key. Was the diagonal of a causal mask allowed or not?"),
        step="mask",
    ),
    bottom_right_keys=fact(
        [3, 4, 5],
        ([1, 2, 3], "this is the other way. From where are queries and keys counted here?"),
        ([5, 4, 3], "the last query has come last. Does it know more than the others, or less?"),
        ([5, 5, 5], "this is without any mask. How many keys does the first of the three new tokens know of?"),
        ([2, 3, 4], "this hides each query's own key. Was the diagonal of a causal mask allowed or not?"),
        step="mask",
    ),
)


def cases(rng: np.random.Generator) -> list[Case]:
    def ordinary(n_q: int, n_k: int, d_k: int, d_v: int, block: int, stretch: int = 1) -> Case:
        args = matrices(rng, n_q, n_k, d_k, d_v)
        label = f"{n_q} queries and {n_k} keys in blocks of {block}, d_k = {d_k}, d_v = {d_v}"
        return Case(label, {**args, "Q": stretch * args["Q"], "block": block}, ORDINARY)

    whole = {**matrices(rng, 4, 6, 4, 4, whole=True), "block": 2}
    return [
        ordinary(5, 9, 3, 2, 3),
        ordinary(4, 8, 3, 2, 4, stretch=2),
        ordinary(3, 7, 5, 4, 2),
        ordinary(4, 4, 4, 4, 2),
        ordinary(2, 5, 3, 4, 1),
        ordinary(3, 4, 3, 2, 10),
        ordinary(1, 6, 2, 3, 4),
        Case("whole numbers in 4 by 4 queries, 6 by 4 keys, 6 by 4 values and blocks of 2", whole, ORDINARY),
        enormous("scores that rise to a million", [-1e6, -1e6 + 1, 0, 1, 1e6, 1e6 - 1]),
        enormous("scores that fall from a million", [1e6, 1e6 - 1, 0, 1, -1e6, -1e6 + 1]),
        enormous("queries whose scores lie a million apart", [1e6, 1e6 - 1, 0, 1, 2, 3], [1, 0, -1, 0.5, 1]),
        enormous("scores near minus a million", [-1e6, -1e6 + 1, -1e6 - 1, -1e6 + 2, -1e6, -1e6 + 1]),
    ]


def enormous(label: str, scores: list[float], times: Sequence[float] = (1,) * 5) -> Case:
    """Five queries whose scores are so many times these, which float32 holds exactly; d_k = 4, so that the root is 2.

    The output is larger than an ordinary one: an ordinary one is shown if both are wrong.
    """
    Q, K = np.zeros((5, 4)), np.zeros((6, 4))
    Q[:, 0], K[:, 0] = 2.0 * np.array(times), scores
    V = np.arange(24).reshape(6, 4) * 5.0 % 7
    return Case(label, {"Q": Q, "K": K, "V": V, "block": 2}, ENORMOUS)


BLOCKED_ATTENTION = Exercise(
    name="blocked_attention",
    labs=(LAB,),
    quantities=chain("allowed", "output"),
    answer="output",
    given=with_mask,
    points=4,
    cases=cases,
    step="block sums",
)
EXERCISES = (*BY_HAND, BLOCKED_ATTENTION, *AFTER_THE_CODE)
