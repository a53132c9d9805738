"""Tables that go on from the student's own: which of them are followed, and what is said where one doesn't fit yet."""

import time

import numpy as np
import pytest

from labkit import check, fresh_numbers, hint, notebook, student
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
    said = "Right for your own tables; the first that doesn't fit yet is hand_raw_scores."
    assert (weights.points, weights.message) == (2, said)
    assert repr(hint()) == "hand_weights: Look at hand_raw_scores, the first that doesn't fit yet."


def test_a_table_that_is_mended_names_those_to_check_again(me):
    raw = raw_scores(me)
    weights = in_two_decimals(softmax(raw / 3**0.5))
    check(hand_raw_scores=(raw + np.eye(4)).tolist())
    check(hand_weights=weights)
    check(hand_scores=in_two_decimals(raw / 3**0.5))
    mended = check(hand_raw_scores=raw.tolist())
    assert mended.message == "Right. Now check hand_scores, hand_weights again." and mended.message in mended.html
    assert check(hand_scores=in_two_decimals(raw / 3**0.5)).message == "Right. Now check hand_weights again."
    assert check(hand_weights=weights).message == check(hand_raw_scores=raw.tolist()).message == "Right."
    assert repr(hint()) == "hand_raw_scores is right; there is nothing to hint at."


def test_a_table_whose_mistake_is_known_is_followed_though_none_of_its_cells_is_right():
    assert check(lesson_weights=[1, 0]).mistakes[0] == "picks_the_winner"
    assert check(lesson_output=[10, 0]).message == "Right for your lesson_weights, which don't fit yet."


def test_a_right_table_after_a_wrong_one_is_plainly_right(me):
    assert not check(hand_scores=np.ones((4, 4)).tolist()).passed
    assert check(hand_weights=in_two_decimals(softmax(raw_scores(me) / 3**0.5))).message == "Right."


@pytest.mark.parametrize(
    "weights",
    [
        np.eye(4)[[0] * 4],
        np.eye(4),
        (np.tri(4) / np.tri(4).sum(axis=1, keepdims=True)).round(2),
        np.full((4, 4), 0.25),
    ],
)
def test_weights_that_nothing_was_calculated_for_earn_nothing_further_on(me, weights):
    check(hand_causal_weights=weights.tolist())
    assert check(hand_causal_output=(weights @ me.V).round(2).tolist()).points < 2


def test_powers_that_were_not_divided_cost_one_step(me):
    check(hand_raw_scores=(me.Q @ me.K.T).tolist())
    scores = (me.Q @ me.K.T / np.sqrt(3)).round(2)
    check(hand_scores=scores.tolist())
    powers = np.exp(scores).round(2)
    assert check(hand_weights=powers.tolist()).points == 0
    assert check(hand_output=(powers @ me.V).round(2).tolist()).passed


def test_a_slip_in_the_only_row_that_was_worked_out_costs_one_step(me):
    row = np.array([0.22, 0.69, 0.12, 0.08])
    check(hand_weights=[row.tolist(), *[[...] * 4] * 3])
    mixed = check(hand_output=[(row @ me.V).round(2).tolist(), *[[...] * 2] * 3])
    assert mixed.points == 0.5


@pytest.mark.parametrize("weights", [[0.7, 0.3], [0.6, 0.4]])
def test_an_arithmetic_slip_in_two_cells_costs_one_step(weights):
    assert not check(lesson_weights=weights).passed
    assert check(lesson_output=[10 * weights[0], 10 * weights[1]]).passed


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


@pytest.mark.parametrize(
    ("before", "was", "now", "name", "table"),
    [
        ("notes_scores", [[1, 0], [0, 1]], [[1.41, 0], [0, 1.41]], "notes_weights", [[0.73, 0.27], [0.27, 0.73]]),
        ("twin_scores", [[1, 0], [1.5, 1]], [[1.41, 0], [2.12, 1.41]], "twin_weights", [[0.73, 0.27], [0.62, 0.38]]),
    ],
)
def test_a_table_that_fits_the_one_before_it_as_it_was_is_not_blamed_on_a_rare_mistake(before, was, now, name, table):
    check(**{before: was})
    check(**{before: now})
    outcome = check(**{name: table})
    assert outcome.mistakes == ()
    assert f"It fits your {before} as they were before you changed them." in outcome.message


def test_without_such_a_table_before_another_base_is_still_named():
    check(notes_scores=[[1.41, 0], [0, 1.41]])
    assert check(notes_weights=[[0.73, 0.27], [0.27, 0.73]]).mistakes[0] == "uses_another_base"


def test_no_rows_are_said_to_have_vanished_where_none_has(me):
    table = in_two_decimals(softmax(raw_scores(me) / 3**0.5))
    outcome = check(hand_causal_weights=table)
    assert outcome.mistakes == ("ignores_the_mask",) and "vanished" not in outcome.message


@pytest.mark.parametrize("name", ["hand_scores", "hand_weights", "hand_output"])
def test_a_table_in_one_decimal_is_asked_about_its_decimals(name, me):
    scores = raw_scores(me) / 3**0.5
    right = {"hand_scores": scores, "hand_weights": softmax(scores), "hand_output": softmax(scores) @ me.V}[name]
    for table in (right.round(1), right.round(2).round(1), np.trunc(right * 10) / 10):
        outcome = check(**{name: table.tolist()})
        assert not outcome.passed
        asked = "All numbers stand here with one decimal at most. How many decimals are asked for?"
        assert outcome.message.endswith(asked)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("lesson_weights", [1, 0]),  # whole numbers: the winner was picked
        ("notes_weights", [[0.9, 0.1], [0.2, 0.8]]),  # one is further off than rounding goes
        ("lesson_weights", [0.7, 0.34]),
    ],
)
def test_other_tables_are_not_asked_about_their_decimals(name, table):
    assert "decimal" not in check(**{name: table}).message


def with_a_slip(table):
    table = np.round(table, 2)
    table[2, 1] += 2
    return table.tolist()


def test_one_wrong_cell_is_asked_about_what_its_own_table_is_about(me):
    raw = raw_scores(me)
    weights = softmax(raw / 3**0.5)
    asked = {
        "hand_raw_scores": (raw, "Which row and which column meet there?", "makes the raw scores"),
        "hand_scores": (raw / 3**0.5, "Which raw score stands there, and what becomes of it?", "moderate"),
        "hand_weights": (weights, "Its row adds to 3: what should it add to?", "the softmax"),
        "hand_output": (weights @ me.V, "Which row and which column meet there?", "the last step"),
    }
    for name, (table, question, step) in asked.items():
        outcome = check(**{name: with_a_slip(table)})
        assert outcome.mistakes == ("slips_in_one_cell",), outcome
        assert outcome.message.endswith(question)
        assert step in outcome.hints[0]
        check(**{name: in_two_decimals(table)})


@pytest.mark.parametrize(
    ("name", "table"),
    [("first_block", [1.5, 6]), ("second_block", [1.25, 7]), ("two_blocks", [4, 21]), ("three_blocks", [5.5, 32])],
)
def test_sums_of_blocks_are_not_asked_for_a_division(name, table):
    message = check(**{name: table}).message
    assert message.endswith("Take one key: from which score is its power counted, and to what does it add?")


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("second_block", [2.5, 13], "still counted from log 8"),
        ("first_block", [1.5, 5.33], "divided by the first already"),
        ("second_block", [1.25, 5.2], "divided by the first already"),
        ("two_blocks", [2, 5.25], "divided by the first already"),
        ("three_blocks", [2.75, 5.82], "divided by the first already"),
    ],
)
def test_a_usual_slip_in_sums_of_blocks_is_told_what_it_is(name, table, said):
    assert said in check(**{name: table}).message


def test_scores_in_two_decimals_that_are_mixed_for_weights_are_named(me):
    scores = np.round(raw_scores(me) / 3**0.5, 2)
    check(hand_weights=in_two_decimals(softmax(scores)))
    assert check(hand_output=in_two_decimals(scores @ me.V)).mistakes == ("mixes_with_raw_scores",)
