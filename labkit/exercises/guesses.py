"""Guesses: asked before something is shown. They earn no points, and what is said to them stays out of the notebook."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Guess:
    """What is the case, or a function of the student's own numbers that says so, and what is worth seeing in it."""

    right: Any
    words: str

    def answer(self, numbers: Mapping[str, Any]) -> Any:
        return self.right(numbers) if callable(self.right) else self.right


def fits(guess: Any, right: Any) -> bool:
    """Whether a guess is good enough: numbers within a twentieth, several words in any order, reasons after a word."""
    if isinstance(right, str):
        return str(guess).strip().lower().startswith(right)
    if isinstance(right, list) and isinstance(right[0], str):
        return isinstance(guess, list | tuple | set) and sorted(map(str, guess)) == sorted(right)
    try:
        return np.size(guess) == np.size(right) and np.allclose(np.ravel(guess), np.ravel(right), rtol=0.05, atol=0.005)
    except (TypeError, ValueError):  # words where numbers are
        return False


def top_keys(numbers: Mapping[str, Any]) -> list[int]:
    """The key with the largest score, for each query; scaling doesn't change which one it is."""
    return (1 + (numbers["Q"] @ numbers["K"].T).argmax(axis=-1)).tolist()


def first_coordinates(numbers: Mapping[str, Any]) -> list[float]:
    """Between which two numbers the first coordinate of an output lies."""
    column = numbers["V"][:, 0]
    return [float(column.min()), float(column.max())]


GUESSES: dict[str, Guess] = {
    # 00_warm_up
    "my_ratio": Guess(
        2.72,
        "That is e. The ratio of two weights is e to the difference of their scores, however large they both are.",
    ),
    "my_direction": Guess("larger", "Undivided, the two scores lie further apart, and so do their weights."),
    "my_step": Guess(
        "softmax",
        "The margin gives it away: the rows don't add to 1, but the columns do. The softmax ran down the columns.",
    ),
    # 01_one_head
    "my_products": Guess(
        ["Q Kᵀ", "K Qᵀ", "A V", "A K"],
        "Only Q Kᵀ and A V are part of attention. NumPy doesn't know that: it takes every product that fits, and with "
        "square matrices everything fits. So let the shapes catch what they can, and know what each table stands for.",
    ),
    "my_top_keys": Guess(
        top_keys,
        "The largest score of a row takes the largest weight, always. What softmax adds is how much more it gets.",
    ),
    "my_range": Guess(
        first_coordinates,
        "They are the smallest and the largest first coordinate among your values. A convex combination of numbers "
        "can't get below the smallest or above the largest of them.",
    ),
    "my_large_row": Guess(
        [0.67, 0.24, 0.09],
        "It is the same as for [2, 1, 0]: each score is 998 more, and a softmax sees only differences.",
    ),
    "my_totals_shape": Guess([2], "Two totals, lying down as a row: where they came from can't be seen any more."),
    # 02_causal_mask
    "my_leak": Guess(0.95, "To softmax, 0 is a score like any other, and against -3 it is a very good one."),
    "my_safe_fills": Guess(
        ["-1e9", "-inf"],
        "0 and -1 leak everywhere, most of all against low scores: below any modest number there is room for a score.",
    ),
    "my_rows": Guess([1, 4], "Query 1 has a single key and no choice. Query 4 may see all four, as without a mask."),
    "my_empty_rows": Guess(
        ["halves", "nan"],
        "With -1e9 the two hidden keys tie, and forbidden keys get plausible weights: nobody notices. With -inf it is "
        "0 divided by 0, and nan eats its way through everything that is calculated from it.",
    ),
    "my_mean": Guess(
        5,
        "The zero of query 2 stands for “nothing there”. Who averages all four rows gets 3.75 and never learns why: "
        "zeros are safe only where everybody downstream looks at the flag.",
    ),
    # 03_multi_head
    "my_slice": Guess(
        "no",
        "Its queries are sums of both features, and the first never arrives. A projected column mixes all features of "
        "a token; a slice of X has lost some.",
    ),
    "my_first_block": Guess(
        ["t1c1", "t1c2", "t1c3", "t1c4"],
        "The shape is as ordered, but “head 1” is token 1 in two pieces, and nothing of token 2: heads made of tokens "
        "instead of columns.",
    ),
    "my_root": Guess(2, "It goes by the width of what is multiplied: the head's own queries and keys."),
    # 04_beyond_one_sequence
    "my_odd_test": Guess(
        3,
        "All scores are 0 then, so all five weights are 1/5, and what comes out is the plain mean of the values. With "
        "the other two there is only one value to mix.",
    ),
    "my_last_patch": Guess(
        "yes",
        "The picture was there before the first word: nothing in it is the future. Patches that are mere padding would "
        "be hidden, as ever.",
    ),
    "my_entries_in_all": Guess(
        12 * 8 * 100**2,
        "That is 12 times 8 times 10 000, for less than a page of text. At 200 tokens it is four times that.",
    ),
    "my_other_table": Guess(
        "yes",
        "Three equations tie down the weights of a query: the two coordinates of its output, and the total of 1. There "
        "are four weights, so one of them is free.",
    ),
    "my_least": Guess(1, "The one with the most weight, of all tokens. The next cell shows why."),
    # 05_long_sequences
    "my_factor": Guess(
        0.5,
        "Counted from log 8, key 1 has the power 8/8, and counted from log 16 it has 8/16: everything is halved. In "
        "general it is e to the old maximum less the new one.",
    ),
    "my_rescaled": Guess(
        "new",
        "The maximum of all six scores is still log 16, and what was kept is counted from there. The new sums are "
        "counted from log 8: it is they that are halved.",
    ),
    "my_kept_numbers": Guess(
        66,
        "A maximum, a sum of powers, and the 64 coordinates of the mixed sum. That there may have been a million keys "
        "doesn't show in it.",
    ),
    "my_start": Guess(
        -np.inf,
        "It is below every score there can be, so the first block raises it, whatever its scores are. What is then "
        "multiplied by e to minus infinity, which is 0, are sums that are 0 anyway.",
    ),
    "my_growth": Guess(
        [4, 2],
        "The whole table has n rows and n columns; a block of it has n rows, but 100 columns always.",
    ),
    "my_work": Guess(
        "the same",
        "Each query still meets each key once. What is saved is room: no score is kept once it has been used.",
    ),
    "my_survivor": Guess(
        2,
        "e to a million is infinity for NumPy, and e to minus a million is 0. Neither infinity over infinity nor 0 "
        "over 0 is a number.",
    ),
    "my_empty_queries": Guess(
        [1, 2],
        "Query 5 sees all three keys, query 4 two and query 3 one. For queries 1 and 2 nothing is left.",
    ),
}
