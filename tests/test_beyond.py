"""The answers of lab 4 about fixed numbers, worked out apart from labkit, and what is said to frequent wrong ones."""

import numpy as np
import pytest

from labkit import check
from labkit.exercises import EXERCISES
from labkit.exercises.beyond import AFTER_CROSS_ATTENTION, BEFORE_CROSS_ATTENTION

ALL = (*BEFORE_CROSS_ATTENTION, *AFTER_CROSS_ATTENTION)
SLIPS = [
    pytest.param(exercise.name, *slip, id=f"{exercise.name}-{slip[0]}") for exercise in ALL for slip in exercise.slips
]


def attend(Q, K, V, mask=True):
    powers = np.where(mask, np.exp(Q @ K.T / np.sqrt(K.shape[1])), 0)
    return powers / powers.sum(axis=1, keepdims=True) @ V


def shapes():
    X, X_kv, W_QK, W_V = np.ones((3, 6)), np.ones((5, 6)), np.ones((6, 4)), np.ones((6, 2))
    Q, K, V = X @ W_QK, X_kv @ W_QK, X_kv @ W_V
    return [list(table.shape) for table in (Q, K, V, Q @ K.T, attend(Q, K, V))]


def kind(before, after, order):
    """What an output is under reordering, told by numbers."""
    if np.allclose(after, before):
        return "invariant"
    return "equivariant" if np.allclose(after, before[order]) else "neither"


def orders():
    rng = np.random.default_rng(1)
    Q, K, V = (rng.normal(size=(4, n)) for n in (3, 3, 2))
    order, causal = [2, 0, 3, 1], np.tri(4, dtype=bool)
    moved = Q[order], K[order], V[order]
    return {
        "order_of_tokens": kind(attend(Q, K, V), attend(*moved), order),
        "order_of_source": kind(attend(Q, K, V), attend(Q, K[order], V[order]), order),
        "order_under_mask": kind(attend(Q, K, V, causal), attend(*moved, causal), order),
    }


WEIGHTS, VALUES = np.array([0.6, 0.3, 0.1]), np.array([5.0, 2.0, 14.0])
RIGHT = {
    "cross_sources": [1, 2, 2],
    "cross_shapes": shapes(),
    **orders(),
    "score_entries": [np.ones((n, n)).size for n in (100, 200)],
    "cross_entries": np.ones((100, 200)).size,
    "halfway_output": (np.array([0.3, 0.5, 0.2]) @ [[0, 6], [8, 2], [4, 4]]).tolist(),
    "other_weights": [0, *np.linalg.solve([[8, 4], [1, 1]], [4.8, 1])],
    "removal_outputs": [[np.average(np.delete(VALUES, n), weights=np.delete(WEIGHTS, n))] for n in range(3)],
    "traced_shares": (0.8 * np.array([0.9, 0.1, 0]) + 0.2 * np.array([0.2, 0.3, 0.5])).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_answer_that_a_calculation_of_its_own_gives_is_right(name):
    assert check(**{name: RIGHT[name]}).passed


def test_each_table_and_fact_of_the_lab_is_worked_out_here():
    asked = {e.name for e in EXERCISES.values() if "04_beyond_one_sequence" in e.labs and e.is_table}
    assert {name for name in asked if not name.startswith("bug_")} == set(RIGHT) == {exercise.name for exercise in ALL}


@pytest.mark.parametrize(("name", "slip", "said"), SLIPS)
def test_a_frequent_wrong_answer_is_told_apart_with_one_question(name, slip, said):
    outcome = check(**{name: slip})
    assert not outcome.passed
    assert said[1:] in outcome.message and outcome.message.count("?") == 1


def test_weights_that_do_not_add_to_1_are_told_their_total():
    assert "row 1 of your weights adds to 0.7" in check(other_weights=[0, 0.5, 0.2]).message.lower()


def test_the_plain_mean_of_the_values_is_not_taken_for_the_output():
    assert check(halfway_output=[4, 4]).mistakes == ("averages_the_values",)


def test_the_weights_of_the_second_layer_alone_are_no_trace():
    assert check(traced_shares=[0, 0.8, 0.2]).mistakes == ("returns_the_weights",)
