"""What students call: check, hint, progress, student, fresh_numbers, as in a notebook."""

import copy
import pickle
import re
import time
from functools import partial

import numpy as np
import pytest

import labkit
from labkit import check, fresh_numbers, hint, notebook, progress, student
from labkit.attention import attention as core_attention
from labkit.attention import attention_weights, softmax
from labkit.exercises.guesses import GUESSES
from labkit.notebook import Session


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", Session())


def right_weights(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_own_numbers_show_themselves_and_name_those_there_are():
    me = student("<b>Ada</b>")
    assert repr(me) == f"Numbers of <b>Ada</b>\nQ =\n{me.Q}\nK =\n{me.K}\nV =\n{me.V}"
    assert repr(fresh_numbers()).startswith("Numbers of <b>Ada</b> (set 2)\n")
    shown = me._repr_html_()
    assert "&lt;b&gt;Ada&lt;/b&gt;" in shown and "<b>Ada" not in shown
    assert re.findall("<caption>(.)</caption>", shown) == ["Q", "K", "V"]
    cells = re.findall("<td>([^<]*)</td>", shown)
    assert [float(cell) for cell in cells] == [*me.Q.flat, *me.K.flat, *me.V.flat]
    with pytest.raises(AttributeError, match="the numbers are .*; there is no 'W' among them"):
        me.W  # noqa: B018


def test_ctrl_c_ends_a_check_and_the_next_one_works():
    def softmax(scores):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(softmax)
    assert check(right_weights, exercise="softmax").passed


def test_what_the_lab_itself_fails_at_costs_nothing(monkeypatch):
    def fails(*args, **more):
        raise ZeroDivisionError

    monkeypatch.setattr(notebook, "judge_function", fails)
    one = check(right_weights, exercise="softmax")
    assert one.status == "system_error" and "failed here (ZeroDivisionError), which is not your fault" in one.message


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
    with pytest.raises(ValueError, match=r"check\(hand_weights=...\); got a list"):
        check([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("answer", "more", "said"),
    [
        (None, {}, "got no function and no tables"),
        (None, {"exercise": "softmax"}, "got no function and no tables"),
        (right_weights, {"hand_weights": [[1]]}, "got a function and 1 table"),
        (None, {"hand_weights": [[1]], "exercise": "hand_weights"}, "exercise= is for a function of another name"),
        (None, {"hand_weights": [[1]], "part": "with a mask"}, "a part is one of a function's"),
        (None, {"my_ratio": 2, "part": "with a mask"}, "a part is one of a function's"),
        (lambda s: s, {}, 'Say which exercise it is for: check(..., exercise="softmax")'),
        (partial(right_weights), {}, "Say which exercise it is for"),
        (right_weights, {"exercise": "my_ratio"}, "'my_ratio', a guess. Write check(my_ratio=my_ratio)"),
        (right_weights, {"exercise": 5}, "an exercise is named by a text"),
        (None, {"xyz": 3}, "got 'xyz'. Take it from the notebook"),
        (None, {"table": [[1]]}, "got 'table'. Take it from the notebook"),
        (None, {"softmax": [[1]]}, "softmax is a function: check(softmax); got a list"),
    ],
)
def test_a_call_that_names_no_exercise_or_two_says_what_to_write(answer, more, said):
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        check(answer, **more)
    assert str(raised.value).startswith("check: ") and len(str(raised.value)) < 220


@pytest.mark.parametrize("name", [3, right_weights, "atention", "my_ratio"])
def test_a_hint_for_what_is_no_exercise_says_so_in_its_own_name(name):
    with pytest.raises(ValueError, match="^hint: ") as raised:
        hint(name)
    assert "0x" not in str(raised.value)


def test_two_tables_in_one_call_are_refused():
    student("ada")
    with pytest.raises(ValueError, match="Give one in a call"):
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


def not_written_yet(scores):
    raise NotImplementedError("replace this line with your own")


def test_a_function_that_calls_one_that_is_not_written_yet_is_told_which():
    def attention(Q, K, V, mask=None):
        weights = not_written_yet(Q @ K.T)
        return weights @ V

    outcome = check(attention)
    said = "It calls not_written_yet, which isn't written yet."
    assert (outcome.status, outcome.points, outcome.message) == ("unattempted", 0, said)
    assert repr(hint()) == said


def test_a_part_that_calls_what_is_not_written_yet_says_in_which_line():
    def attention(Q, K, V, mask=None):
        if mask is not None:
            return not_written_yet(Q)
        return core_attention(Q, K, V)

    outcome = check(attention)
    assert (outcome.status, outcome.points) == ("crashed", 2)
    line = "your line `return not_written_yet(Q)` raised NotImplementedError: "
    assert line + "it calls not_written_yet, which isn't written yet." in outcome.message


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


def test_what_a_function_prints_is_said_to_be_kept_back():
    def softmax(scores):
        print("shape", scores.shape)
        print(scores)
        return right_weights(scores)

    outcome = check(softmax)
    said = "What your function prints is kept back here; the first time it was “shape (3, 5)” and 3 more lines."
    assert outcome.passed and outcome.message.endswith(said) and said in outcome._repr_html_()
    assert check(softmax).message == outcome.message


def test_an_answer_that_raises_shows_the_students_own_line_and_the_shapes():
    def attention_scores(Q, K):
        return np.dot(Q, K) + undefined_name  # noqa: F821

    outcome = check(attention_scores)
    assert outcome.status == "crashed"
    assert "return np.dot(Q, K) + undefined_name" in outcome.message
    assert "Q (5, 3), K (7, 3)" in outcome.message
    assert "asking.py" not in outcome.message


totals = np.ones((5, 2))


def test_a_name_that_is_not_known_is_asked_about_and_no_shapes():
    def softmax(scores):
        return scores / forgotten  # noqa: F821

    def without_a_value(scores):
        scores = scores / totals  # noqa: F823
        totals = scores.sum()
        return scores, totals

    for function, error in ((softmax, "NameError"), (without_a_value, "UnboundLocalError")):
        message = check(function, exercise="softmax").message
        assert f"raised {error}: " in message and "shapes" not in message
        assert message.endswith(
            "Is it spelt as where it was defined, and has that cell been run since the kernel started?"
        )


def test_a_local_name_without_a_value_is_not_taken_for_a_global_one():
    def softmax(scores):
        totals = scores @ np.ones(99)
        return scores / totals

    message = check(softmax).message
    assert (
        "your line `totals = scores @ np.ones(99)` raised" in message and "The shapes there: scores (3, 5)." in message
    )


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
    monkeypatch.setattr(notebook, "SECONDS", 0.3)

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


class LeavesWhenLookedAt:
    def __getattribute__(self, name):
        raise SystemExit


def test_what_leaves_when_it_is_looked_at_is_only_no_function():
    for call in (lambda: check(LeavesWhenLookedAt()), lambda: check(LeavesWhenLookedAt(), exercise="softmax")):
        with pytest.raises(ValueError, match="got a LeavesWhenLookedAt"):
            call()


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


def test_a_student_can_be_copied():
    me = student("ada")
    for other in (copy.copy(me), copy.deepcopy(me), pickle.loads(pickle.dumps(me))):
        assert other == me and (other.W_O == me.W_O).all()


def test_a_name_in_capital_letters_keeps_the_tables():
    me = student("ada")
    check(hand_raw_scores=me.Q @ me.K.T)
    student("Ada")
    assert notebook.SESSION.tables
    student("grace")
    assert not notebook.SESSION.tables


def test_own_tables_need_own_numbers():
    with pytest.raises(ValueError, match="Run me = student"):
        check(hand_weights=[[1]])


# ---- guesses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dots", [..., None, [..., 3]])
def test_a_guess_that_was_not_made_is_told_nothing(dots):
    outcome = check(my_ratio=dots)
    assert outcome.status == "unattempted" and "No guess yet" in outcome.message
    assert "2.72" not in outcome.message and GUESSES["my_ratio"].words not in outcome.message


def test_a_guess_is_told_what_is_the_case_and_nothing_is_at_stake():
    outcome = check(my_ratio=2)
    assert (outcome.status, outcome.points, outcome.max_points) == ("guessed", 0, 0)
    assert outcome.message.startswith("You guessed 2; it is 2.72.\nThat is e.")
    assert "no points at stake" in outcome._repr_html_() and "✗" not in outcome._repr_html_()


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("my_ratio", np.e),
        ("my_direction", "Larger, I think"),
        ("my_products", ("A K", "A V", "K Qᵀ", "Q Kᵀ")),
        ("my_large_row", np.array([0.665, 0.245, 0.09])),
        ("my_totals_shape", 2),
    ],
)
def test_a_guess_is_right_in_many_forms(name, guess):
    assert ", and so it is." in check(**{name: guess}).message


LONG_LINE = "x" * 100_000


class Unreadable:
    def __array__(self, *_, **__):
        raise SystemExit

    __float__ = __str__ = __repr__ = __array__


ITSELF = [1]
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("name", "guess", "asked"),
    [
        ("my_ratio", "twice", "a number is asked for"),
        ("my_ratio", 2j, "a number is asked for"),
        ("my_ratio", [1, 2], "a number is asked for"),
        ("my_ratio", {"a": 1}, "a number is asked for"),
        ("my_ratio", Unreadable(), "a number is asked for"),
        ("my_ratio", ITSELF, "a number is asked for"),
        ("my_ratio", range(10**12), "a number is asked for"),
        ("my_ratio", lambda: 2, "a number is asked for"),
        ("my_direction", "bigger", "choose one of these words, larger, smaller"),
        ("my_direction", LONG_LINE, "choose one of these words, larger, smaller"),
        ("my_slice", "not sure", "choose one of these words, yes, no"),
        ("my_other_table", "yesterday", "choose one of these words, yes, no"),
        ("my_rescaled", "newer", "choose one of these words, kept, new, both"),
        ("my_rescaled", "", "choose one of these words, kept, new, both"),
        ("my_empty_rows", ["zero", "x"], "some of these words, zeros, halves, nan, unmasked"),
        ("my_rows", {1, 4}, "a list of numbers is asked for"),
        ("my_rows", [0, 3], "they are counted from 1"),
    ],
)
def test_what_is_no_guess_is_told_what_is_asked_and_nothing_else(name, guess, asked):
    outcome = check(**{name: guess})
    assert outcome.status == "unattempted" and asked in outcome.message and len(outcome.message) < 150
    assert GUESSES[name].words not in outcome.message and "it is" not in outcome.message


@pytest.mark.parametrize(
    ("name", "guess", "said"),
    [
        ("my_kept_numbers", 65, "You guessed 65; it is 66."),
        ("my_kept_numbers", 66.0, "You guessed 66, and so it is."),
        ("my_ratio", "2,72", "You guessed 2,72, and so it is."),
        ("my_leak", 0.91, "You guessed 0.91, and so it is."),
        ("my_leak", 0.9, "You guessed 0.9; it is 0.95."),
        ("my_empty_rows", ["nan", "halves"], "You guessed nan, halves; it is halves, nan."),
        ("my_empty_rows", ["halves", np.nan], "You guessed halves, nan, and so it is."),
        ("my_first_block", ["t1c2", "t1c1", "t1c3", "t1c4"], "; it is t1c1, t1c2, t1c3, t1c4."),
        ("my_safe_fills", [-1e9, -np.inf], "You guessed -1e9, -infinity, and so it is."),
        ("my_safe_fills", {"-inf", "-1e9"}, ", and so it is."),
        ("my_safe_fills", ["-1"], "You guessed -1; it is -1e9, -inf."),
        ("my_start", "-inf", "You guessed -inf, and so it is."),
        ("my_start", -1e9, "You guessed -1e9; it is -infinity."),
        ("my_empty_queries", [2, 1], ", and so it is."),
        ("my_empty_queries", [], "You guessed none; it is 1, 2."),
        ("my_slice", "No: it needs both.", "You guessed No: it needs both, and so it is."),
        ("my_work", "the same, I think", ", and so it is."),
        ("my_growth", [4, 0], "You guessed 4, 0; it is 4, 2."),
    ],
)
def test_a_guess_is_read_as_it_is_meant(name, guess, said):
    outcome = check(**{name: guess})
    assert outcome.status == "guessed" and said in outcome.message.split("\n")[0]


def test_every_guess_is_right_with_its_own_answer_and_none_is_told_before():
    numbers = student("ada").numbers
    for name, guess in GUESSES.items():
        assert ", and so it is." in check(**{name: guess.answer(numbers)}).message
        assert check(**{name: object()}).status == "unattempted"


def test_a_guess_about_own_numbers_is_judged_by_them():
    with pytest.raises(ValueError, match="Run me = student"):
        check(my_top_keys=[1, 1, 1, 1])
    me = student("grace")
    tops = [1 + int(np.argmax(row)) for row in me.Q @ me.K.T]
    assert ", and so it is." in check(my_top_keys=tops).message
    assert "; it is" in check(my_top_keys=[5 - top for top in tops]).message


def test_a_misspelt_guess_suggests_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'my_ratio'?"):
        check(my_raito=2)


def test_guesses_leave_no_trace_in_progress_and_hints():
    check(my_ratio=2)
    assert "Nothing has been checked" in repr(progress())
    assert repr(hint()).startswith("my_ratio is a guess, and there are no hints for guesses")


def test_several_words_of_which_one_is_not_understood_are_told_which():
    assert check(my_products=["Q Kᵀ", "A V", "Q KT"]).message.startswith("'Q KT' is none of them: make a list of")
    assert "That is no guess that can be answered" in check(my_work="equal").message
    assert ", and so it is." in check(my_work="same").message


def test_a_guess_of_too_few_is_no_guess():
    student("ada")
    said = check(my_top_keys=[2, 2, 2])
    assert said.status == "unattempted" and "4 of them are asked for" in said.message


def test_a_word_with_others_around_it_is_understood():
    assert check(larger_entry="lost weight").passed
    assert check(larger_entry="gained some").message.endswith("Which of your rows has the larger second weight?")
    assert check(order_under_mask="Neither of them").passed
    for unclear in ("lost or gained", "not lost", "nobody knows"):
        one = check(larger_entry=unclear)
        assert not one.passed and one.message.endswith("The words to choose from are gained, lost.")
    assert not check(order_of_tokens="not equivariant").passed


def test_whose_numbers_is_asked_only_while_nothing_has_been_right():
    me = student("ada")
    far_off = (me.Q @ me.K.T + np.arange(16).reshape(4, 4) ** 2 + 7).tolist()
    assert "judged by the numbers of" in check(hand_raw_scores=far_off).message
    assert check(hand_raw_scores=(me.Q @ me.K.T).tolist()).passed
    message = check(hand_scores=far_off).message
    assert "judged by the numbers of" not in message and message.endswith("?")


def test_tables_of_dots_are_not_to_be_checked_again():
    me = student("ada")
    right = (me.Q @ me.K.T).tolist()
    check(hand_raw_scores=[[9] * 4] * 4)
    check(hand_scores=[[...] * 4] * 4)
    assert check(hand_raw_scores=right).message == "Right."


def test_the_part_that_a_lab_asks_for_counts_after_all_was_tried(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/01_one_head.ipynb")

    def attention(Q, K, V, mask=None):
        assert mask is None
        return core_attention(Q, K, V)

    assert check(attention).points == 2
    assert check(attention, part="without a mask").passed
    assert "attention                   passed        2 of 2" in repr(progress())


def unmasked(Q, K, V, mask=None):
    return core_attention(Q, K, V)


def masked_only(Q, K, V, mask=None):
    return core_attention(Q, K, V, mask) if mask is not None else Q


def test_a_part_that_passes_hides_nothing_that_is_known_of_the_whole():
    assert check(unmasked, exercise="attention").points == 2
    assert check(unmasked, exercise="attention", part="without a mask").passed
    assert "attention                   failed        2 of 4" in repr(progress())
    assert "there is nothing to hint at" not in repr(hint())


def test_a_part_that_fails_is_known_of_the_whole_too():
    assert check(core_attention_of_mine, exercise="attention").passed
    assert not check(masked_only, exercise="attention", part="without a mask").passed
    assert "nothing to hint at" not in repr(hint()) and "passed" not in repr(progress())


def core_attention_of_mine(Q, K, V, mask=None):
    return core_attention(Q, K, V, mask)


@pytest.mark.parametrize("other", [lambda: student("bob"), fresh_numbers], ids=["another student", "fresh numbers"])
def test_other_numbers_take_points_and_hints_along(other):
    me = student("ada")
    check(core_attention_of_mine, exercise="attention")
    check(hand_raw_scores=(me.Q @ me.K.T).tolist())
    other()
    assert "hand_raw_scores             passed" not in repr(progress())
    assert "attention                   passed" in repr(progress())
    assert "check an answer first" in repr(hint("hand_raw_scores"))


def test_the_same_table_gets_the_same_words_twice_also_after_a_right_one():
    me = student("ada")
    check(hand_raw_scores=(me.Q @ me.K.T).tolist())
    bad = [[0] * 4] * 4
    assert check(hand_raw_scores=bad).message == check(hand_raw_scores=bad).message
    student("bob")
    assert "judged by the numbers of bob" in check(hand_raw_scores=(me.Q @ me.K.T).tolist()).message


@pytest.mark.parametrize("dots", [..., [...]])
def test_one_pair_of_dots_stands_for_an_open_row(dots):
    me = student("ada")
    first = (me.Q @ me.K.T)[0].tolist()
    for table in ([first, dots, dots, dots], np.array([first, *[[...] * 4] * 3], dtype=object)):
        one = check(hand_raw_scores=table)
        assert (one.status, one.points) == ("unattempted", 0.5) and "12 cells are still open" in one.message
    heads = (me.X @ me.W_Q).reshape(4, 2, 2).swapaxes(0, 1).tolist()
    assert check(split_queries=[[heads[0][0], dots, dots, dots], dots]).points == 0.125


def test_counts_have_to_be_right_to_the_last():
    for name, near in (("output_width", 4.0), ("padded_loss", 0.804)):
        assert check(**{name: near}).passed
    assert check(output_width=4.004).message.endswith("Whole numbers are asked for here. Is 4.004 one?")
    assert not check(cross_entries=20_000.005).passed


@pytest.mark.parametrize("word", [["lost"], ("lost",), "lost\n", "lost, because the other grew", np.array("lost")])
def test_a_word_is_read_in_whatever_it_comes(word):
    assert check(larger_entry=word).passed


@pytest.mark.parametrize("written", ["Q K^T", "Q K.T", "q kᵀ"])
def test_a_matrix_turned_over_may_be_written_as_code(written):
    assert ", and so it is." in check(my_products=[written, "K Q^T", "A V", "A K"]).message


# ---- a table that follows from one that was changed ------------------------------------------------------------------


def tables_with_a_slip(me):
    """Raw scores with one wrong, the right ones, and for each the scores that follow."""
    right = me.Q @ me.K.T
    slipped = right.copy()
    slipped[0, 1] += 2
    return [(raw.tolist(), np.round(raw / np.sqrt(3), 2).tolist()) for raw in (slipped, right)]


def test_a_table_that_fits_the_one_before_it_as_it_was_is_told_so():
    (wrong, from_wrong), (right, from_right) = tables_with_a_slip(student("ada"))
    check(hand_raw_scores=wrong)
    assert check(hand_scores=from_wrong).passed
    assert check(hand_raw_scores=right).passed
    outcome = check(hand_scores=from_wrong)
    assert (outcome.status, outcome.mistakes) == ("failed", ())
    assert outcome.message.endswith(
        "It fits your hand_raw_scores as they were before you changed them. Work it out again from the new ones."
    )
    assert check(hand_scores=from_right).passed


def test_a_mistake_is_named_whatever_stood_in_the_table_before_it_earlier():
    (wrong, _), (right, _) = tables_with_a_slip(student("ada"))
    for raw in (wrong, right):
        check(hand_raw_scores=raw)
    assert check(hand_scores=(np.array(right) / 3).round(2).tolist()).mistakes == ("scales_by_d_k",)


def test_fresh_numbers_forget_what_stood_in_tables_before():
    student("ada")
    check(hand_raw_scores=[[1] * 4] * 4)
    check(hand_raw_scores=[[2] * 4] * 4)
    assert notebook.SESSION.former
    fresh_numbers()
    assert not notebook.SESSION.former


def test_a_table_is_kept_as_it_was_when_it_was_checked():
    me = student("ada")
    table = (me.Q @ me.K.T).tolist()
    assert check(hand_raw_scores=table).passed
    table[0][0] += 1
    assert notebook.SESSION.tables["hand_raw_scores"][0][0] == table[0][0] - 1
    check(hand_raw_scores=table)
    assert len(notebook.SESSION.former["hand_raw_scores"]) == 1


def test_a_table_has_changed_only_if_its_numbers_have():
    me = student("ada")
    for form in (np.array, list, tuple):
        check(hand_raw_scores=form((me.Q @ me.K.T).tolist()))
    assert not any(np.any(np.subtract(one, me.Q @ me.K.T)) for one in notebook.SESSION.former["hand_raw_scores"])


def row_of(name):
    return next(line.split()[1:] for line in repr(progress()).splitlines() if line.split()[0] == name)


def test_progress_asks_for_tables_again_that_were_judged_from_one_that_has_changed():
    (wrong, from_wrong), (right, from_right) = tables_with_a_slip(student("ada"))
    check(hand_raw_scores=wrong)
    assert check(hand_scores=from_wrong).passed
    check(hand_raw_scores=wrong)
    assert row_of("hand_scores")[0] == "passed"
    check(hand_raw_scores=right)
    assert row_of("hand_raw_scores")[0] == "passed"
    assert row_of("hand_scores") == ["check", "again", "0", "of", "2"]
    assert repr(hint("hand_scores")).endswith(
        "hand_raw_scores has changed since hand_scores was judged from it. Check it again."
    )
    assert check(hand_scores=from_right).passed
    assert row_of("hand_scores")[0] == "passed"


def test_a_table_about_somebody_elses_numbers_is_asked_whose_they_are():
    grace = student("grace")
    student("ada")
    message = check(hand_raw_scores=(grace.Q @ grace.K.T).tolist()).message
    assert message.endswith("It is judged by the numbers of ada. Are those the numbers that you worked with?")


def test_too_few_rows_are_asked_who_asks():
    outcome = check(lambda Q, K, V: V, exercise="attention_one_key")
    assert outcome.mistakes == () and outcome.message.endswith("How many answers does each of them get?")


def test_what_is_right_in_a_special_case_is_not_called_a_mistake_there():
    assert check(lambda Q, K, V: V.mean(axis=0), exercise="attention_equal_keys").mistakes == ()
    assert check(lambda Q, K, V: K.mean(axis=0), exercise="attention_equal_keys").status == "failed"


def test_what_is_filled_in_of_an_open_table_is_judged():
    me = student("ada")
    first, *_ = (me.Q @ me.K.T).tolist()
    outcome = check(hand_raw_scores=[first] + [[...] * 4] * 3)
    assert (outcome.status, outcome.points) == ("unattempted", 0.5)
    assert outcome.message.startswith("What is filled in fits. 12 cells are still open")
    first[2] += 1
    assert check(hand_raw_scores=[first] + [[...] * 4] * 3).status == "failed"


def test_progress_lists_the_lab_that_was_begun():
    assert "Nothing has been checked" in repr(progress())

    def softmax(scores):
        return right_weights(scores)

    check(softmax)
    lines = repr(progress()).splitlines()
    assert any(line.split() == ["softmax", "passed", "3", "of", "3"] for line in lines)
    assert any(line.startswith("hand_weights") and "not checked" in line for line in lines)
    assert not any("causal_mask" in line for line in lines)


def test_progress_lists_the_lab_of_the_notebook_where_it_is_known(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/02_causal_mask.ipynb")
    check(lambda Q, K, V, mask=None: V, exercise="attention")
    assert row_of("causal_mask") == ["not", "checked", "0", "of", "2"]
    with pytest.raises(StopIteration):
        row_of("hand_weights")


def test_progress_lists_a_lab_even_if_all_that_was_checked_is_asked_for_in_several():
    check(lambda Q, K, V, mask=None: V, exercise="attention")
    assert len(repr(progress()).splitlines()) > 5


def test_a_public_name_that_is_not_there_says_which_are():
    with pytest.raises(AttributeError, match="it has check, explore, fresh_numbers"):
        _ = labkit.chek


def test_the_public_names_are_listed():
    assert {"check", "hint", "progress", "student", "fresh_numbers", "heatmap"} <= set(dir(labkit))
