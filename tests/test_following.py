"""Tables that go on from the student's own: which of them are followed, and what is said where one doesn't fit yet."""

import time

import numpy as np
import pytest

from labkit import check, fresh_numbers, notebook, student
from labkit.calculation import softmax


@pytest.fixture(autouse=True)
def me(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())
    return student("ada")


def raw_scores(me):
    return me.Q @ me.K.T


def in_two_decimals(table):
    return np.round(table, 2).tolist()


def test_a_slip_costs_one_step_and_what_follows_from_it_is_right_for_it(me):
    raw = raw_scores(me)
    raw[0, 0] += 2
    assert check(hand_raw_scores=raw.tolist()).points == 2 * 15 / 16
    scores = check(hand_scores=in_two_decimals(raw / 3**0.5))
    assert (scores.points, scores.message) == (2, "Right for your hand_raw_scores, which don't fit yet.")
    weights = check(hand_weights=in_two_decimals(softmax(raw / 3**0.5)))
    assert (weights.points, weights.message) == (2, "Right.")


def test_a_table_whose_mistake_is_known_is_followed_though_none_of_its_cells_is_right():
    assert check(lesson_weights=[1, 0]).mistakes[0] == "picks_the_winner"
    assert check(lesson_output=[10, 0]).message == "Right for your lesson_weights, which don't fit yet."


def test_a_right_table_after_a_wrong_one_is_plainly_right(me):
    assert not check(hand_scores=np.ones((4, 4)).tolist()).passed
    assert check(hand_weights=in_two_decimals(softmax(raw_scores(me) / 3**0.5))).message == "Right."


def test_zeros_earn_nothing_by_following_zeros(me):
    for name, table in {
        "hand_raw_scores": np.zeros((4, 4)),
        "hand_scores": np.zeros((4, 4)),
        "hand_weights": np.full((4, 4), 0.25),
        "hand_output": np.tile(me.V.mean(axis=0), (4, 1)),
        "lesson_weights": np.zeros((1, 2)),
        "lesson_output": np.zeros((1, 2)),
    }.items():
        assert check(**{name: table.tolist()}).points <= 0.25


def test_a_mistake_in_the_table_as_it_is_comes_before_a_table_that_was_changed():
    check(twin_scores=[[1.41, 2.12], [0, 1.41]])
    check(twin_scores=[[1.41, 0], [2.12, 1.41]])
    assert check(twin_weights=[[0.33, 0.20], [0.67, 0.80]]).mistakes[:1] == ("normalises_over_queries",)


def test_a_table_that_fits_the_one_before_it_as_it_was_is_to_be_worked_out_again(me):
    raw = raw_scores(me)
    wrong = raw.copy()
    wrong[0, 0] += 2
    check(hand_raw_scores=wrong.tolist())
    check(hand_raw_scores=raw.tolist())
    outcome = check(hand_scores=in_two_decimals(wrong / 3**0.5))
    assert not outcome.passed and outcome.mistakes == ()
    assert outcome.message.endswith("as they were before you changed them. Work it out again from the new ones.")


def test_a_table_of_the_former_numbers_is_known_as_that(me):
    fresh_numbers()
    for name, table in {"hand_raw_scores": raw_scores(me), "projected_queries": me.X @ me.W_Q}.items():
        outcome = check(**{name: table.tolist()})
        assert outcome.message.endswith(
            "It fits the numbers that you had before. Work it out again from the fresh ones."
        )


def one_cell(name, shape, place, value):
    table = np.full(shape, ..., dtype=object)
    table[place] = value
    return check(**{name: table.tolist()})


@pytest.mark.parametrize("name", ["hand_raw_scores", "hand_scores", "hand_weights", "hand_causal_weights"])
@pytest.mark.parametrize("value", [0.07, 0.31, 0.62, 7])
def test_one_filled_cell_is_not_enough_for_an_accusation(name, value):
    for place in np.ndindex(4, 4):
        outcome = one_cell(name, (4, 4), place, value)
        assert outcome.mistakes == (), (place, outcome)
        by_rounding = "a matter of rounding" in outcome.message
        assert outcome.status == "unattempted" or outcome.message.endswith("?") or by_rounding


def test_three_wrong_cells_are_enough_though_the_others_are_open(me):
    table = np.full((4, 4), ..., dtype=object)
    table[:3] = np.round(softmax(raw_scores(me)), 2)[:3]
    assert check(hand_weights=table.tolist()).mistakes[:1] == ("forgets_to_scale",)


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("notes_unscaled_row", [0.8, 0.2], "scores that have been scaled"),
        ("row_0_2_weights", [0.2, 0.8], "scores that have been scaled"),
        ("practice_masked_scores", [[1, -1e9], [0, 1]], "The place is right, but -1e9 is a number."),
        ("practice_masked_scores", [[1, -9999], [0, 1]], "The place is right, but -9999 is a number."),
        ("cross_shapes", [[3, 4], [5, 4], [5, 2], [3, 3], [3, 2]], "one sequence would ask itself"),
        ("other_weights", [0.3, 0.5, 0.2], "as they were"),
        ("lesson_output", [0.67, 0.33], "This is the table of weights"),
        ("first_key_output", [1, 0], "This is the table of weights"),
        ("turned_query_output", [0, 10], "The best key of a row"),
        ("lesson_weights", [[0, 0]], "Row 1 of your weights adds to 0."),
        ("practice_weights", [[0.12, 0], [0.27, 0.73]], "Row 1 of the weights adds to 0.12:"),
    ],
)
def test_a_frequent_wrong_table_is_told_what_it_is(name, table, said):
    *_, first = [line for line in check(**{name: table}).message.split("\n") if said in line]
    assert first


def test_an_output_that_is_the_table_of_values_is_told_so(me):
    check(hand_causal_weights=in_two_decimals(softmax(np.where(np.tri(4), raw_scores(me) / 3**0.5, -np.inf))))
    assert check(hand_causal_output=me.V.tolist()).mistakes == ("returns_the_values",)


def test_a_star_for_a_product_of_matrices_is_named(me):
    assert check(projected_queries=(me.X * me.W_Q).tolist()).mistakes == ("projects_elementwise",)


@pytest.mark.parametrize("name", ["hand_weights", "hand_causal_weights"])
def test_a_hundredth_off_everywhere_is_a_matter_of_rounding(name, me):
    scores = raw_scores(me) / 3**0.5
    right = softmax(scores if name == "hand_weights" else np.where(np.tri(4), scores, -np.inf))
    outcome = check(**{name: (right + 0.008).tolist()})
    assert outcome.mistakes == () and "a matter of rounding" in outcome.message


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("equal_keys_weights", [0.33, 0.33, 0.33]),
        ("twin_weights", [[0.8, 0.2], [0.8, 0.2]]),
        ("scaled_score_spread", [1, 8, 32]),
        ("notes_output", [[10, 0], [0, 10]]),
        ("output_width", 3),
    ],
)
def test_a_table_that_nothing_explains_gets_a_question(name, table):
    assert check(**{name: table}).message.endswith("?")


def test_a_table_that_nothing_explains_is_judged_without_a_wait():
    """Two mistakes at once are looked for where the table most likely started, and nowhere else."""
    table = np.random.default_rng(0).dirichlet(np.ones(4), size=4).round(2).tolist()
    start = time.process_time()
    check(hand_causal_weights=table)
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize("name", ["hand_weights", "lesson_weights", "twin_scores"])
def test_a_table_of_another_shape_is_asked_what_its_rows_stand_for(name):
    message = check(**{name: [[0.25] * 3] * 3}).message
    assert message.endswith("What does each row of this table stand for, and what each column?")


@pytest.mark.parametrize("value", ["text", [["a", 1]], {}])
def test_what_is_no_table_is_told_so_and_asked_nothing_about_its_numbers(value):
    message = check(twin_weights=value).message
    assert message and "?" not in message
