"""Tables about fixed numbers: the worked examples and the practice questions of the notes."""

import numpy as np

from ..exercise import Exercise
from .one_head import CHAIN, causal

WARM_UP, CAUSAL, HEADS = ("00_warm_up",), ("02_causal_mask",), ("03_multi_head",)


def steps_from(given, answer):
    """The part of one head's chain that leads from the given quantities to the answer."""
    start = max((CHAIN.index(name) for name in given if name in CHAIN), default=-1)
    return tuple(s for s in CHAIN[: CHAIN.index(answer) + 1] if CHAIN.index(s) > start or s == "allowed")


def known(given):
    """Given quantities as arrays; no mask where none is given."""
    return {"mask": None, **{name: value if name == "d_k" else np.asarray(value) for name, value in given.items()}}


def table(name, labs, answer, before=(), **given):
    return Exercise(name, labs, steps_from(given, answer), answer, lambda numbers: known(given), before=before)


def after(quantity, name):
    """The table goes on from an earlier one."""
    return ((quantity, name),)


def fact(name, labs, value):
    """An answer that no chain makes: a size, a count, a word."""
    return Exercise(name, labs, (), "fact", lambda numbers: {"fact": value})


NOTES = {"raw_scores": [[2.0, 0.0], [0.0, 2.0]], "d_k": 2}
TWIN = {"raw_scores": [[2.0, 0.0], [3.0, 2.0]], "d_k": 2}
TENS = [[10.0, 0.0], [0.0, 10.0]]
LESSON = {"Q": [[1.0, 0.0]], "K": np.eye(2), "V": TENS}
IDENTITY = {"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2)}
PRACTICE = {"scores": [[1.0, 3.0], [0.0, 1.0]], "mask": causal(2)}
FIRST_KEY = {**LESSON, "mask": [[True, False]]}

TABLES = (
    table("one_row_weights", WARM_UP, "weights", masked_scores=[2.0, 1.0, 0.0]),
    table("notes_scores", WARM_UP, "scores", **NOTES),
    table("notes_weights", WARM_UP, "weights", after("scores", "notes_scores"), **NOTES),
    table("notes_output", WARM_UP, "output", after("weights", "notes_weights"), **NOTES, V=np.eye(2)),
    table("notes_unscaled_row", WARM_UP, "weights", masked_scores=[2.0, 0.0]),
    table("twin_scores", WARM_UP, "scores", **TWIN),
    table("twin_weights", WARM_UP, "weights", after("scores", "twin_scores"), **TWIN),
    table("twin_output", WARM_UP, "output", after("weights", "twin_weights"), **TWIN, V=TENS),
    table("lesson_weights", WARM_UP, "weights", **LESSON),
    table("lesson_output", WARM_UP, "output", after("weights", "lesson_weights"), **LESSON),
    table("turned_query_output", WARM_UP, "output", **{**LESSON, "Q": [[0.0, 1.0]]}),
    table("equal_keys_weights", WARM_UP, "weights", masked_scores=[1.0, 1.0, 0.0]),
    fact("raw_score_spread", WARM_UP, [2.0, 8.0, 32.0]),
    fact("scaled_score_spread", WARM_UP, [1.0, 1.0, 1.0]),
    table("identity_weights", WARM_UP, "weights", **IDENTITY),
    table("identity_output", WARM_UP, "output", after("weights", "identity_weights"), **IDENTITY),
    table("row_0_2_weights", WARM_UP, "weights", masked_scores=[0.0, 2.0]),
    table("scaled_row_0_2_weights", WARM_UP, "weights", raw_scores=[0.0, 2.0], d_k=2),
    fact("larger_entry", WARM_UP, "lost"),
    table("zero_fill_weights", CAUSAL, "weights", masked_scores=[1.0, 0.0]),
    table("first_key_weights", CAUSAL, "weights", **FIRST_KEY),
    table("first_key_output", CAUSAL, "output", after("weights", "first_key_weights"), **FIRST_KEY),
    table("practice_masked_scores", CAUSAL, "masked_scores", **PRACTICE),
    table("practice_weights", CAUSAL, "weights", after("masked_scores", "practice_masked_scores"), **PRACTICE),
    fact("output_width", HEADS, 4),
    fact("three_heads_W_O_shape", HEADS, [6, 5]),
    fact("three_heads_W_O_parameters", HEADS, 30),
)
