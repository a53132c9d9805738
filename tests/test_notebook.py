"""What students call: check, hint, progress, student, fresh_numbers, as in a notebook."""

import time

import numpy as np
import pytest

import labkit
from labkit import check, fresh_numbers, hint, notebook, progress, student
from labkit.attention import attention as core_attention
from labkit.attention import attention_weights, softmax
from labkit.notebook import Session


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", Session())


def right_weights(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_a_function_is_checked_by_its_name():
    def softmax(scores):
        return right_weights(scores)

    outcome = check(softmax)
    assert outcome.passed and outcome.exercise == "softmax" and outcome.points == outcome.max_points == 3


def test_a_function_of_another_name_is_checked_as_the_exercise_it_is_given_for():
    assert check(lambda scores: right_weights(scores), exercise="softmax").passed


def test_half_of_attention_earns_half_of_its_points():
    def attention(Q, K, V, mask=None):
        return right_weights(Q @ K.T / np.sqrt(Q.shape[1])) @ V

    outcome = check(attention)
    assert (outcome.status, outcome.points, outcome.max_points) == ("failed", 2, 4)
    assert outcome.mistakes == ("ignores_the_mask",)


def test_a_part_can_be_checked_alone():
    def attention(Q, K, V):
        return right_weights(Q @ K.T / np.sqrt(Q.shape[1])) @ V

    outcome = check(attention, part="without a mask")
    assert (outcome.status, outcome.points, outcome.max_points) == ("passed", 2, 2)


def test_an_unknown_part_is_refused_with_the_parts_there_are():
    with pytest.raises(ValueError, match="'without a mask', 'with a mask'; got part='masked'"):
        check(lambda Q, K, V: V, exercise="attention", part="masked")


@pytest.mark.parametrize(
    ("misspelt", "meant"), [("atention", "attention"), ("hand_weight", "hand_weights"), ("soft_max", "softmax")]
)
def test_a_misspelt_exercise_suggests_the_nearest(misspelt, meant):
    with pytest.raises(ValueError, match=f"got '{misspelt}'. Did you mean '{meant}'?"):
        check(lambda x: x, exercise=misspelt)


def test_a_table_without_its_name_is_refused_with_the_way_to_give_it():
    with pytest.raises(ValueError, match=r"check\(hand_weights=...\); got list"):
        check([[1, 2], [3, 4]])


def test_two_tables_in_one_call_are_refused():
    student("ada")
    with pytest.raises(ValueError, match="Use one call for each"):
        check(hand_weights=[[1]], hand_scores=[[1]])


@pytest.mark.parametrize("function", [core_attention, softmax, attention_weights])
def test_a_function_of_labkits_own_is_refused_kindly(function):
    outcome = check(function)
    assert not outcome.passed and outcome.points == 0
    assert "ready-made from labkit" in outcome.message


def test_a_stub_counts_as_not_attempted():
    def softmax(scores):
        raise NotImplementedError("replace this line with your own")

    def merge_heads(Z): ...

    for function in (softmax, merge_heads):
        outcome = check(function)
        assert (outcome.status, outcome.points) == ("unattempted", 0)
        assert "replace the placeholder" in outcome.message


def test_a_function_that_returns_nothing_is_told_from_an_empty_one():
    def softmax(scores):
        right_weights(scores)

    outcome = check(softmax)
    assert outcome.status == "failed" and "gave back nothing" in outcome.message


def test_printing_in_place_of_returning_is_named():
    def softmax(scores):
        print(right_weights(scores))

    outcome = check(softmax)
    assert outcome.mistakes == ("prints_instead_of_returning",)
    assert not outcome.passed


def test_an_answer_that_raises_shows_the_students_own_line_and_the_shapes():
    def attention_scores(Q, K):
        return np.dot(Q, K) + undefined_name  # noqa: F821

    outcome = check(attention_scores)
    assert outcome.status == "crashed"
    assert "return np.dot(Q, K) + undefined_name" in outcome.message
    assert "Q (5, 3), K (7, 3)" in outcome.message
    assert "asking.py" not in outcome.message


def test_a_transpose_forgotten_on_oblong_input_is_named_although_it_raises():
    def attention_scores(Q, K):
        return Q @ K / np.sqrt(Q.shape[-1])

    assert check(attention_scores).mistakes[0] == "forgets_the_transpose"


def test_keepdims_forgotten_is_named_although_it_raises():
    def softmax(scores):
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1)

    assert check(softmax).mistakes[0] == "totals_without_keepdims"


def test_minus_infinity_in_a_whole_number_array_is_named():
    def masked_softmax(scores, mask):
        if not mask.any(axis=1).all():
            raise ValueError("a query has no key")
        hidden = scores.copy()
        hidden[~mask] = -np.inf
        return right_weights(hidden)

    outcome = check(masked_softmax)
    assert outcome.mistakes == ("truncates_to_integers",)
    assert "hidden[~mask] = -np.inf" in outcome.message


def test_dividing_whole_numbers_in_place_is_named():
    def attention_scores(Q, K):
        scores = Q @ K.T
        scores /= np.sqrt(Q.shape[1])
        return scores

    assert check(attention_scores).mistakes == ("truncates_to_integers",)


def test_altering_the_input_is_a_remark_even_where_whole_numbers_refuse_it():
    def attention_scores(Q, K):
        Q /= np.sqrt(Q.shape[1])
        return Q @ K.T

    outcome = check(attention_scores)
    assert outcome.passed and outcome.remarks == ("changes_its_input",)
    assert "altered an array that it was given (Q)" in outcome.message


def test_a_loop_that_never_ends_is_stopped(monkeypatch):
    from functools import partial

    monkeypatch.setattr(notebook, "ask", partial(notebook.ask, seconds=0.3))

    def softmax(scores):
        while True:
            pass

    start = time.perf_counter()
    outcome = check(softmax)
    assert outcome.status == "timed_out" and time.perf_counter() - start < 5


def test_leaving_through_sys_exit_is_only_a_wrong_answer():
    def softmax(scores):
        raise SystemExit(0)

    assert check(softmax).status == "crashed"


def test_an_outcome_reads_well_as_text_and_as_html():
    def softmax(scores):
        return scores

    outcome = check(softmax)
    assert repr(outcome).startswith("softmax: failed, 0 of 3 points\n")
    html = outcome._repr_html_()
    assert "softmax" in html and "0 of 3 points" in html and "var(--jp" in html


def test_what_a_student_wrote_is_escaped_in_html():
    def softmax(scores):
        raise ValueError("<script>alert(1)</script>")

    assert "<script>" not in check(softmax)._repr_html_()


def test_hints_come_in_two_levels_and_start_anew_with_a_new_mistake():
    def softmax(scores):
        return right_weights(scores.T).T

    check(softmax)
    assert repr(hint()).startswith("softmax: Look at the softmax")
    assert "Note 3.2" in repr(hint()) and "Note 3.2" in repr(hint("softmax"))

    def softmax(scores):
        return scores / scores.sum(axis=-1, keepdims=True)

    check(softmax)
    assert repr(hint()).startswith("softmax: Look at")


def test_there_is_nothing_to_hint_at_before_a_check_and_after_a_right_answer():
    assert "check an answer first" in repr(hint())
    check(lambda scores: right_weights(scores), exercise="softmax")
    assert "is right" in repr(hint())


def test_the_same_name_gets_the_same_numbers_and_another_name_others():
    ada, grace = student("ada"), student("grace")
    assert (student("ada").Q == ada.Q).all()
    assert (ada.Q != grace.Q).any()


def test_fresh_numbers_are_others_for_the_same_student():
    me = student("ada")
    fresh = fresh_numbers()
    assert (fresh.Q != me.Q).any() and fresh.name == "ada"


def test_fresh_numbers_need_to_know_whose():
    with pytest.raises(ValueError, match="whose numbers"):
        fresh_numbers()


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_a_student_needs_a_name(name):
    with pytest.raises(ValueError, match="your name must be a text"):
        student(name)


def test_numbers_cannot_be_spoilt_by_writing_into_them():
    me = student("ada")
    me.Q[:] = 0
    assert me.Q.any() and student("ada").Q.any()


def test_own_tables_need_own_numbers():
    with pytest.raises(ValueError, match="Run me = student"):
        check(hand_weights=[[1]])


def test_progress_lists_the_lab_that_was_begun():
    assert "Nothing has been checked" in repr(progress())

    def softmax(scores):
        return right_weights(scores)

    check(softmax)
    lines = repr(progress()).splitlines()
    assert any(line.split() == ["softmax", "passed", "3", "of", "3"] for line in lines)
    assert any(line.startswith("hand_weights") and "not checked" in line for line in lines)
    assert not any("causal_mask" in line for line in lines)


def test_a_public_name_that_is_not_there_says_which_are():
    with pytest.raises(AttributeError, match="it has check, explore, fresh_numbers"):
        _ = labkit.chek


def test_the_public_names_are_listed():
    assert {"check", "hint", "progress", "student", "fresh_numbers", "heatmap"} <= set(dir(labkit))
