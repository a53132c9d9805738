"""Guesses: asked before something is shown. They earn no points, and what is said to them stays out of the notebook."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answer import number

NOT_YET = "No guess yet: write one in place of the dots, and run this cell again."
LONGEST = 80  # characters of a guess that are said again
NEAR = {"rel_tol": 0.05, "abs_tol": 0.005}  # how good a guess of a fraction has to be
YES_OR_NO = ("yes", "no")


@dataclass(frozen=True)
class Guess:
    """What is asked before it is shown.

    Attributes
    ----------
    right : number, word, or list of them
        What is the case, or a function of the student's own numbers that says so. Whole numbers are counts.
    words : str
        What is worth seeing in it.
    choices : tuple of str
        The words that there are to choose from; none if numbers are asked for.
    any_order : bool
        The items of a list may stand in any order.
    from_1 : bool
        They are numbers of rows, queries or keys.
    """

    right: Any
    words: str
    choices: tuple[str, ...] = ()
    any_order: bool = False
    from_1: bool = False

    def answer(self, numbers: Mapping[str, Any]) -> Any:
        return self.right(numbers) if callable(self.right) else self.right


def told(guess: Guess, value: Any, numbers: Mapping[str, Any]) -> tuple[bool, str]:
    """Answer a guess.

    Parameters
    ----------
    guess : Guess
    value : anything that ``plain`` gives
    numbers : dict
        The student's own.

    Returns
    -------
    made : bool
        Whether it was one; if not, nothing is given away.
    said : str
    """
    right = guess.answer(numbers)
    items = list(flat(value))
    if ... in items or None in items:
        return False, NOT_YET
    read = [word(item, guess.choices) if guess.choices else a_number(item) for item in items]
    if None in read or (len(read) != 1 and not isinstance(right, list)):
        strange = items[read.index(None)] if None in read and len(read) > 1 else None
        return False, asked(guess, isinstance(right, list), strange)
    rights = right if isinstance(right, list) else [right]
    if isinstance(right, list) and not guess.any_order and len(read) != len(right) > 1:
        return False, f"That is no guess that can be answered: {len(right)} of them are asked for, in order."
    if guess.from_1 and 0 in read:
        return False, "There is no 0 among them: they are counted from 1. Guess once more."
    ordered = sorted if guess.any_order else list
    verdict = ", and so it is" if fits(ordered(read), ordered(rights)) else f"; it is {say(rights)}"
    return True, f"You guessed {say(items)}{verdict}.\n{guess.words}"


def flat(value: Any) -> Iterator[Any]:
    """The items of lists within lists and of arrays; of anything else, itself."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def a_number(item: Any) -> float | None:
    """A number, be it in quotation marks; None for what is none."""
    if isinstance(item, str):
        item = item.strip().removeprefix("np.").replace("-np.", "-").replace(",", ".")
    try:
        return None if isinstance(item, bool | dict) or math.isnan(number := float(item)) else number
    except (TypeError, ValueError):
        return None


def word(item: Any, choices: tuple[str, ...]) -> str | None:
    """Which of the choices is meant, if need be with reasons after it; None for none of them."""
    if isinstance(item, int | float) and not isinstance(item, bool):
        item = f"{item:g}".replace("e+0", "e")
    text = " ".join(item.lower().split()) if isinstance(item, str) else ""
    text = re.sub(r"(\^|\.)t\b", "ᵀ", text)  # as one may write K turned over
    said = (one for one in choices if re.match(rf"{re.escape(one.lower())}(?![\w^])", text))
    return next(said, None) or next((one for one in choices if text and one == f"the {text}"), None)


def asked(guess: Guess, is_list: bool, strange: Any) -> str:
    """What a guess should be, to somebody whose isn't: by the one of several items that isn't understood, if any."""
    what = f"{strange!r} is none of them" if isinstance(strange, str) else "That is no guess that can be answered"
    if guess.choices:
        choose = "make a list of some of these words" if is_list else "choose one of these words"
        return f"{what}: {choose}, {', '.join(guess.choices)}."
    return f"{what}: {'a list of numbers' if is_list else 'a number'} is asked for."


def fits(read: Sequence[Any], rights: Sequence[Any]) -> bool:
    """Whether a guess is good enough: words and whole numbers exactly, other numbers within a twentieth."""
    return len(read) == len(rights) and all(
        math.isclose(one, right, **NEAR) if isinstance(right, float) else one == right
        for one, right in zip(read, rights, strict=True)
    )


def say(items: Sequence[Any]) -> str:
    """Numbers and words, as one would say them."""
    said = ", ".join(item.rstrip(" .") if isinstance(item, str) else number(item) for item in items)
    return (said if len(said) <= LONGEST else said[:LONGEST] + "…") or "none"


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
    "my_direction": Guess(
        "larger", "Undivided, the two scores lie further apart, and so do their weights.", choices=("larger", "smaller")
    ),
    "my_step": Guess(
        "softmax",
        "The margin gives it away: the rows don't add to 1, but the columns do. The softmax ran down the columns.",
        choices=("scale", "softmax", "mix"),
    ),
    # 01_one_head
    "my_products": Guess(
        ["Q Kᵀ", "K Qᵀ", "A V", "A K"],
        "Only Q Kᵀ and A V are part of attention. NumPy doesn't know that: it takes every product that fits, and with "
        "square matrices everything fits. So let the shapes catch what they can, and know what each table stands for.",
        choices=("Q K", "Q Kᵀ", "K Qᵀ", "Q Vᵀ", "A V", "A K", "V A"),
        any_order=True,
    ),
    "my_top_keys": Guess(
        top_keys,
        "The largest score of a row takes the largest weight, always. What softmax adds is how much more it gets.",
        from_1=True,
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
        choices=("0", "-1", "-1e9", "-inf"),
        any_order=True,
    ),
    "my_rows": Guess(
        [1, 4], "Query 1 has a single key and no choice. Query 4 may see all four, as without a mask.", from_1=True
    ),
    "my_empty_rows": Guess(
        ["halves", "nan"],
        "With -1e9 the two hidden keys tie, and forbidden keys get plausible weights: nobody notices. With -inf it is "
        "0 divided by 0, and nan eats its way through everything that is calculated from it.",
        choices=("zeros", "halves", "nan", "unmasked"),
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
        choices=YES_OR_NO,
    ),
    "my_first_block": Guess(
        ["t1c1", "t1c2", "t1c3", "t1c4"],
        "The shape is as ordered, but “head 1” is token 1 in two pieces, and nothing of token 2: heads made of tokens "
        "instead of columns.",
        choices=tuple(f"t{token}c{column}" for token in (1, 2) for column in (1, 2, 3, 4)),
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
        choices=YES_OR_NO,
    ),
    "my_entries_in_all": Guess(
        12 * 8 * 100**2,
        "That is 12 times 8 times 10 000, for less than a page of text. At 200 tokens it is four times that.",
    ),
    "my_other_table": Guess(
        "yes",
        "Three equations tie down the weights of a query: the two coordinates of its output, and the total of 1. There "
        "are four weights, so one of them is free.",
        choices=YES_OR_NO,
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
        choices=("kept", "new", "both"),
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
        choices=("fewer", "the same", "more"),
    ),
    "my_survivor": Guess(
        2,
        "e to a million is infinity for NumPy, and e to minus a million is 0. Neither infinity over infinity nor 0 "
        "over 0 is a number.",
    ),
    "my_empty_queries": Guess(
        [1, 2],
        "Query 5 sees all three keys, query 4 two and query 3 one. For queries 1 and 2 nothing is left.",
        any_order=True,
        from_1=True,
    ),
}
