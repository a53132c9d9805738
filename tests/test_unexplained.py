"""What is said of a function that no mistake explains: of the input that is named, and of a smaller one."""

import re

import numpy as np
import pytest

from labkit import check, hint, notebook, student
from labkit.answer import compare
from labkit.calculation import merge, softmax, split
from labkit.exercise import Answer
from labkit.exercises import EXERCISES
from labkit.feedback import outcome
from labkit.judge import cases_and_lineup, judge_function
from labkit.properties import Probe, apart, broken


def right(Q, K, V, mask=None):
    scores = Q @ K.T / np.sqrt(K.shape[1])
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V


def test_a_property_stands_beside_the_input_that_it_holds_for():
    one = check(lambda scores: np.full(scores.shape, 0.5), exercise="softmax")
    assert "All numbers of your answer are 0.5." in one.message
    assert one.smallest == (
        "The smallest input that shows it: scores = [[0]]. There, row 1 of your weights adds to 0.5. "
        "Work it out by hand and compare."
    )


def heads(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    scores = split(X @ W_Q, n_heads) @ split(X @ W_K, n_heads).swapaxes(1, 2) / np.sqrt(X.shape[1] / n_heads)
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return merge(weights @ split(X @ W_V, n_heads)) @ W_O


def heads_by_place(X, *more):
    return heads(X, *more) + 0.1 * np.arange(len(X))[:, None]


def heads_that_leak(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return heads(X, W_Q, W_K, W_V, W_O, n_heads, mask) + (0 if mask is None else 0.3 * X.sum())


@pytest.mark.parametrize(
    ("exercise", "wrong", "said"),
    [
        (
            "causal_mask",
            lambda n: np.where(np.tri(n), 0, -np.inf),
            "your mask holds -infinity, where each entry should",
        ),
        ("causal_mask", lambda n: np.where(np.tri(n), 0, -np.inf), "looks like a mask that is added to scores."),
        ("causal_mask", lambda n: np.eye(n)[::-1], "By your mask, row 1 may not use key 1: the entry is 0."),
        (
            "softmax",
            lambda scores: np.sort(softmax(scores)),
            "gives the most, 0.731, to key 2, whose score isn't the la",
        ),
        ("split_heads", lambda Y, n: split(Y, n)[:, ::-1], "All numbers are there, but not in their places: you have"),
        ("attention_scores", lambda Q, K: (Q @ K.T) ** 3, "Twice as long a query should score twice as much; at row"),
        ("multi_head_attention", heads_by_place, "Listing the tokens in the opposite order changed what a token gets:"),
        ("multi_head_attention", heads_that_leak, "changed the output of token 1, which may not see it: at entry 1 it"),
    ],
)
def test_a_property_that_an_answer_breaks_is_named(exercise, wrong, said):
    one = check(wrong, exercise=exercise)
    assert (one.status, one.mistakes) == ("failed", ()) and said in one.message + one.smallest


def test_scores_of_a_table_are_told_by_the_weights_that_they_would_come_to():
    one = check(practice_masked_scores=[[1, 0], [0, 1]])
    assert one.mistakes == ("fills_with_zero",)
    assert "Query 1 still gives 0.269 of its weight to hidden key 2." in one.message


@pytest.mark.parametrize("by", [0.1, 0.25, 0.7])
def test_what_is_said_of_an_input_is_true_of_the_answer_to_it(by):
    """The total that is spoken of is that of the table that was named."""
    verdict = judge_function(EXERCISES["softmax"], lambda args: Answer(value=softmax(args["scores"]) + by))
    assert verdict.said == f"row 1 of your weights adds to {verdict.shown.value[0].sum():.3g}"
    total = (softmax(verdict.smallest["scores"] * 1.0) + by).sum(axis=-1)[0]
    assert verdict.said_there == f"row 1 of your weights adds to {total:.3g}"


def test_an_input_that_was_never_made_smaller_is_not_called_the_smallest():
    one = check(lambda lengths, n_k: np.arange(n_k) < 3 + 0 * np.array(lengths)[:, None], exercise="padding_mask")
    assert one.smallest.startswith("The input: lengths = [3, 1, 4], n_k = 5.")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("attention_one_allowed_key", lambda Q, K, V, mask: softmax(np.where(mask, 0.0, -1.0)) @ V),
        ("attention_equal_keys", lambda Q, K, V: right(Q, K, V) * (1.1 if K.any() else 1)),
    ],
)
def test_a_special_case_stays_one_when_it_is_made_smaller(name, wrong):
    verdict = judge_function(EXERCISES[name], lambda args: Answer(value=wrong(*args.values())))
    small = verdict.smallest
    assert compare(Probe(EXERCISES[name], lambda args: Answer(), "values").right(small), right(*small.values())) is None


def test_a_smaller_input_has_the_same_kind_of_fault():
    """Over one key alone the spread is no number, which is another story."""

    def spread(args):
        scores, n_k = args["scores"], args["scores"].shape[1]
        with np.errstate(all="ignore"):
            spread = scores.std(axis=-1, keepdims=True) * np.sqrt(n_k / np.float64(n_k - 1))
            return Answer(value=softmax(scores / spread))

    verdict = judge_function(EXERCISES["softmax"], spread)
    assert np.isfinite(spread(verdict.smallest).value).all()


def test_how_long_a_function_takes_does_not_change_what_is_shown(monkeypatch):
    import time

    def ask(args):
        return Answer(value=softmax(args["scores"]) + 0.1)

    args = {"scores": np.array([[1.0, 2.0], [0.0, 4.0]])}
    quick = broken(EXERCISES["softmax"], ask, args, "values")
    monkeypatch.setattr(time, "monotonic", iter(range(10**6)).__next__)
    slow = broken(EXERCISES["softmax"], ask, args, "values")
    assert quick.smaller["scores"].tolist() == slow.smaller["scores"].tolist() and quick.said_there == slow.said_there


def test_where_inputs_stay_hidden_no_smaller_one_is_looked_for():
    asked = []

    def ask(args):
        asked.append(args)
        return Answer(value=softmax(args["scores"]) + 0.1)

    verdict = judge_function(EXERCISES["softmax"], ask, shrink=False)
    assert verdict.said and not outcome(verdict).smallest
    assert len(asked) <= len(verdict.tried) + 1


def test_numbers_that_differ_are_written_so_that_one_sees_it():
    assert apart(1.0004, 1.0) == ("1.0004", "1")
    assert apart(0.5, 0.25) == ("0.5", "0.25")
    assert "adds to 1.0004." in check(lambda scores: softmax(scores) * 1.0004, exercise="softmax").message


@pytest.mark.parametrize("error", [NameError, TypeError, IndexError, AttributeError])
def test_an_error_that_arose_by_accident_does_not_refuse_an_empty_row(error):
    def ask(args):
        if not args["mask"].any(axis=-1).all():
            return Answer(error="by accident", error_type=error.__name__, line="row = scores[keys]")
        return Answer(value=softmax(np.where(args["mask"], args["scores"], -np.inf)))

    one = outcome(judge_function(EXERCISES["masked_softmax"], ask))
    assert (one.status, one.points) == ("crashed", 2)
    assert one.message.endswith("An error is asked for here, but is this one raised because the row is empty?")


def test_shapes_that_do_not_fit_do_not_refuse_an_empty_row_either():
    def masked_softmax(scores, mask):
        kept = [row[seen] for row, seen in zip(scores, mask, strict=True)]
        if not all(map(len, kept)):
            return np.zeros(3) + np.zeros(2)
        return softmax(np.where(mask, scores, -np.inf))

    assert check(masked_softmax).points == 2


@pytest.mark.parametrize("line", ["raise IndexError('no key')", "if not row.any(): raise IndexError", ""])
def test_a_line_that_raises_or_is_not_known_gets_the_benefit_of_the_doubt(line):
    def ask(args):
        if not args["mask"].any(axis=-1).all():
            return Answer(error="no key", error_type="IndexError", line=line)
        return Answer(value=softmax(np.where(args["mask"], args["scores"], -np.inf)))

    assert outcome(judge_function(EXERCISES["masked_softmax"], ask)).passed


def test_a_function_that_takes_too_little_is_asked_what_it_is_given():
    message = check(lambda Q, K: Q @ K.T, exercise="attention").message
    assert message.endswith("Which arguments does that function take, in which order and under which names?")


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError, ZeroDivisionError])
def test_an_error_that_is_raised_on_purpose_refuses_it(error):
    def masked_softmax(scores, mask):
        if not mask.any(axis=-1).all():
            raise error("a query has no allowed key")
        return softmax(np.where(mask, scores, -np.inf))

    assert check(masked_softmax).passed


def test_an_error_for_a_mask_that_leaves_every_query_a_key_is_asked_which_masks_it_means():
    def masked_softmax(scores, mask):
        if not mask.all(axis=-1).any():
            raise ValueError("no key")
        return softmax(np.where(mask, scores, -np.inf))

    message = check(masked_softmax).message
    assert "With a 5 by 7 table with padding, your line `raise ValueError" in message
    assert message.endswith(
        "In this mask every query has a key that it may use. Which masks is that line meant to refuse?"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ValueError("no key"), "an error is asked for: it gave the error back instead of raising it."),
        (None, "it gave back nothing (None); for that row an error is asked for."),
    ],
)
def test_what_is_given_back_in_place_of_an_error_is_told_that_one_is_asked_for(given, said):
    def masked_softmax(scores, mask):
        if not mask.any(axis=-1).all():
            return given
        return softmax(np.where(mask, scores, -np.inf))

    message = check(masked_softmax).message
    assert message.startswith(f"With a query (row 2) without any allowed key, {said}") and message.endswith("?")
    assert ("was given an answer" in message) == (given is None)


def test_the_mistake_that_spoils_the_case_that_is_shown_comes_first():
    one = check(lambda scores, mask: softmax(np.where(mask, scores, 0)), exercise="masked_softmax")
    assert one.mistakes == ("fills_with_zero", "accepts_an_empty_row")


def heads_as_wide_as(width):
    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        def cut(Y):
            return Y.reshape(len(Y), n_heads, width(X, W_Q, n_heads)).swapaxes(0, 1)

        Q, K, V = cut(X @ W_Q), cut(X @ W_K), cut(X @ W_V)
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
        Z = softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V
        return Z.swapaxes(0, 1).reshape(len(X), -1) @ W_O

    return multi_head_attention


def test_heads_need_not_be_as_wide_together_as_the_model():
    assert check(heads_as_wide_as(lambda X, W_Q, h: W_Q.shape[1] // h)).passed
    assert check(heads_as_wide_as(lambda X, W_Q, h: X.shape[1] // h)).points == 0


def test_columns_dealt_out_and_collected_are_named_without_a_mask_too():
    def dealt(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        Q, K, V = ((X @ W).reshape(len(X), -1, n_heads).transpose(2, 0, 1) for W in (W_Q, W_K, W_V))
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
        Z = softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V
        return Z.transpose(1, 2, 0).reshape(len(X), -1) @ W_O

    for part in (None, "without a mask", "with a mask"):
        assert check(dealt, exercise="multi_head_attention", part=part).mistakes == ("interleaves_the_heads",)


@pytest.mark.parametrize("one", [lambda X, X_kv: X, lambda X, X_kv: X_kv], ids=["those who ask", "those who are asked"])
def test_a_sequence_that_asks_itself_is_named(one):
    def cross_attention(X, X_kv, W_Q, W_K, W_V):
        tokens = one(X, X_kv)
        return right(tokens @ W_Q, tokens @ W_K, tokens @ W_V)

    assert check(cross_attention).mistakes == ("stays_in_one_sequence",)


def test_a_root_of_half_the_width_is_a_matter_of_the_scale():
    outcome = check(
        lambda Q, K, V, mask=None: right(Q * np.sqrt(2), K, V, mask), exercise="attention", part="without a mask"
    )
    assert outcome.mistakes == ("halves_instead_of_rooting",)


def test_nan_under_a_mask_accuses_nobody_of_the_fill():
    def shifted_by_the_smallest(Q, K, V, mask=None):
        scores = Q @ K.T / np.sqrt(K.shape[1])
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        powers = np.exp(scores - scores.min(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True) @ V

    message = check(shifted_by_the_smallest, exercise="attention").message
    assert "is not a number" in message and "became the largest" not in message


@pytest.fixture
def new_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())


def nothing(Q, K, V, mask=None):
    right(Q, K, V, mask)


def without_a_mask_it_fails(Q, K, V, mask=None):
    return right(Q, K, V, mask.astype(bool))


def test_a_hint_after_nothing_came_back_is_about_what_the_function_hands_over(new_session):
    one = check(nothing, exercise="attention")
    assert one.message.endswith("What does the function hand over at its end, and what is asked for?")
    assert "what the function takes and gives back" in repr(hint())


def test_a_hint_after_a_crash_is_about_the_line(new_session):
    one = check(without_a_mask_it_fails, exercise="attention")
    assert "without a mask, your line" in one.message and one.message.endswith("?")
    assert "the line that raised the error" in repr(hint())


def test_a_forgotten_softmax_is_hinted_at_as_the_softmax(new_session):
    check(lambda Q, K, V: Q @ K.T / np.sqrt(K.shape[1]) @ V, exercise="attention", part="without a mask")
    assert "softmax" in repr(hint())


def no_mask_hides_all(Q, K, V, mask=None):
    scores = np.where(mask, Q @ K.T / np.sqrt(K.shape[1]), -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True) @ V


def a_mask_makes_it_odd(Q, K, V, mask=None):
    return right(Q, K, V) if mask is None else right(Q, K, V) + np.arange(len(Q))[:, None] * K.shape[1]


def test_where_only_the_case_without_a_mask_is_wrong_that_is_what_is_asked_about(new_session):
    one = check(no_mask_hides_all, exercise="attention")
    assert one.points == 2 and "values without a mask, you get nan" in one.message
    assert one.message.endswith(
        "With a mask all is right. What becomes of the mask in your function when none is given?"
    )
    assert "keeps hidden keys out" in repr(hint())


def test_where_only_the_case_with_a_mask_is_wrong_the_mask_is_what_is_asked_about(new_session):
    one = check(a_mask_makes_it_odd, exercise="attention")
    assert one.points == 2 and not one.mistakes
    assert one.message.endswith("which keys may its query use, and what becomes of the others?")
    assert "keeps hidden keys out" in repr(hint())


# ---- slips that students really made ---------------------------------------------------------------------------------


def test_a_function_that_uses_a_global_in_place_of_its_arguments_is_asked_for_them():
    table = np.arange(16.0).reshape(4, 4)
    message = check(lambda Q, K: table, exercise="attention_scores").message
    assert message.endswith("Your function gives back the same, whatever it is given. Where does it use its arguments?")


def transposed(Q, K):
    scores = K @ Q.T / np.sqrt(Q.shape[1])
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["attention_scores", "attention_identity_values"])
def test_sizes_are_those_of_the_input_whatever_came_back(name):
    one = check(transposed if "values" in name else lambda Q, K: K @ Q.T / np.sqrt(Q.shape[1]), exercise=name)
    n_q, n_k = re.search(r"(\d) by \d queries, (\d) by", one.message).groups()
    assert f"With {n_q} quer{'y' if n_q == '1' else 'ies'} and {n_k} keys" in one.message


def unknown_keyword(scores):
    return np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdim=True)


def unknown_attribute(scores):
    return scores.softmax()


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (unknown_keyword, "Which arguments does that function take, in which order and under which names?"),
        (unknown_attribute, "What stands in front of that point, and what can a thing of its kind do?"),
    ],
)
def test_a_misused_function_is_asked_about_by_the_error(function, asked):
    assert check(function, exercise="softmax").message.endswith(asked)


@pytest.mark.parametrize("taken_off", [np.min, np.mean])
def test_what_keeps_not_every_exponent_small_leaves_a_remark(taken_off):
    def softmax(scores):
        powers = np.exp(scores - taken_off(scores, axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    one = check(softmax)
    assert one.passed and one.remarks == ("overflows_on_large_scores",)


def test_of_one_maximum_for_the_whole_table_that_is_the_only_remark():
    def attention(Q, K, V, mask=None):
        scores = Q @ K.T / np.sqrt(K.shape[1])
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        powers = np.exp(scores - scores.max())
        return powers / powers.sum(axis=-1, keepdims=True) @ V

    assert check(attention).remarks == ("shifts_by_the_overall_maximum", "accepts_an_empty_row")


def test_hints_on_a_fact_are_about_its_question(new_session):
    check(order_of_tokens="invariant")
    assert "the words of the question" in repr(hint()) and "in this notebook" in repr(hint())
    check(cross_sources=[0, 1, 1])
    assert "which sequence each projection" in repr(hint())
    check(two_blocks=[1, 2])
    assert "what each power is counted from" in repr(hint())


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"cross_sources": [0, 1, 1]}, "counted from 1"),
        (
            {"cross_shapes": [[4, 3], [4, 5], [2, 5], [5, 3], [2, 3]]},
            "Rows and columns have changed places everywhere.",
        ),
        ({"other_weights": [0, -0.2, 1.2]}, "There is a negative weight, -0.2."),
        ({"cross_entries": [100, 200]}, "Your table has shape (2,); asked for is one number."),
        ({"table_megabytes": "400 MB"}, "Your table is text, '400 MB', and not numbers alone."),
    ],
)
def test_what_is_wrong_with_a_fact_is_said(table, said):
    message = check(**table).message
    assert said in message and "one row of scores" not in message and "each row of this table" not in message


@pytest.mark.parametrize("exercise", ["split_queries", "split_heads"])
def test_heads_in_the_middle_are_called_right_but_for_their_axes(exercise):
    if exercise == "split_heads":
        one = check(lambda Y, n_heads: Y.reshape(len(Y), n_heads, -1), exercise=exercise)
    else:
        me = student("ada")
        one = check(split_queries=(me.X @ me.W_Q).reshape(4, 2, 2).tolist())
    assert not one.mistakes and "All numbers are right, but the axes stand in another order." in one.message


def compares_with_an_array(scores, mask):
    if mask.any(axis=-1) == False:  # noqa: E712
        raise ValueError("no key")
    return softmax(np.where(mask, scores, -np.inf))


def test_a_comparison_with_many_answers_is_not_taken_for_a_refusal():
    message = check(compares_with_an_array, exercise="masked_softmax").message
    assert message.endswith("How many answers does that comparison give, and how many can an `if` use?")


def test_heads_that_were_added_up_are_not_only_called_stacked():
    def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        Q, K, V = ((X @ W).reshape(len(X), n_heads, -1).swapaxes(0, 1) for W in (W_Q, W_K, W_V))
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
        heads = softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V
        return heads.sum(axis=0) @ W_O

    one = check(multi_head_attention)
    assert "sums_the_heads" in one.mistakes and "The 3 heads were added up" in one.message


def test_an_output_is_not_blamed_on_weights_that_are_right(new_session):
    assert check(lesson_weights=[0.67, 0.33]).passed
    assert "Columns 1 and 2 have changed places." in check(lesson_output=[3.3, 6.7]).message
    assert "The values were added up as they are." in check(lesson_output=[10, 10]).message


def test_the_sign_is_told_by_a_row_that_has_a_choice(new_session):
    assert check(practice_masked_scores=[[1, -np.inf], [0, 1]]).passed
    one = check(practice_weights=[[1, 0], [0.73, 0.27]])
    assert one.mistakes == ("negates_the_scores",) and "the largest weight, 0.73," in one.message


def test_a_picture_of_a_table_shows_what_stands_there(new_session):
    student("ada")
    one = check(hand_causal_weights=[[0, 0, 0, 0], [1, 0, 0, 0], [0.15, 0.85, 0, 0], [0.14, 0.78, 0.08, 0]])
    assert "nan" not in one.html and not np.isnan(np.array(one.weights)).any()


def test_plus_infinity_is_told_from_minus():
    message = check(practice_masked_scores=[[1, np.inf], [0, 1]]).message
    assert message.endswith("At row 1, column 2 stands infinity. Is that the worst of all scores, or the best?")


def test_a_table_is_called_unfinished_once_some_of_it_is_right(new_session):
    me = student("ada")
    one = check(hand_raw_scores=[(me.Q @ me.K.T)[0].tolist(), *[[...] * 4] * 3])
    assert one.status == "unattempted" and "hand_raw_scores: unfinished</b>" in one.html


def test_decimal_commas_are_thought_of():
    assert "Decimals are written with a point" in check(lesson_weights=[0, 67, 0, 33]).message


def test_one_thing_is_not_called_by_its_plural():
    message = check(lambda Q, K, V: [[1.0, 2.0]] * len(Q), exercise="attention_one_key").message
    assert "over the 1 keys" not in message and "the 1 values" not in message
    message = outcome(judge_function(EXERCISES["merge_heads"], lambda args: Answer(value=only_one(args["Z"])))).message
    assert message.startswith("With 1 head, 3 tokens, width 2,")


def only_one(Z):
    """Right, but for a single head."""
    return Z[0] + 1 if len(Z) == 1 else Z.swapaxes(0, 1).reshape(Z.shape[1], -1)


def scaled(Q, K):
    return Q @ K.T / np.sqrt(K.shape[1])


@pytest.mark.parametrize(
    ("decimals", "words"), [(1, "one decimal"), (2, "two decimals"), (3, "three decimals")], ids=str
)
@pytest.mark.parametrize(
    ("exercise", "function"), [("softmax", softmax), ("attention", right), ("attention_scores", scaled)]
)
def test_numbers_that_were_rounded_in_the_function_are_told_so(exercise, function, decimals, words):
    one = check(lambda *args: np.round(function(*args), decimals), exercise=exercise)
    assert not one.passed and one.mistakes == ()
    assert one.message.endswith(f"No number of your answer has more than {words}. Where were they rounded?")
    assert one.smallest == ""


def test_wrong_numbers_with_few_decimals_are_not_put_down_to_rounding():
    one = check(lambda scores: np.round(softmax(scores) + 0.1, 2), exercise="softmax")
    assert "rounded" not in one.message and "adds to" in one.message


@pytest.mark.parametrize(
    ("scores", "total"),
    [(lambda Q, K: softmax(scaled(Q, K)), 1), (lambda Q, K: 2 * softmax(Q @ K.T), 2)],
    ids=["softmax last", "softmax first"],
)
def test_a_softmax_among_the_scores_is_asked_about_both_steps(scores, total):
    one = check(scores, exercise="attention_scores")
    assert f"Each row of your scores adds to {total}." in one.message
    assert one.message.endswith("which number comes of comparing just these two, and what becomes of it next?")
    assert "compares queries with keys, and at the one" in one.hints[0]


@pytest.mark.parametrize("product", [lambda Q, K: Q * K, lambda Q, K: Q * K.T], ids=["Q * K", "Q * K.T"])
def test_a_product_number_by_number_is_named_with_a_transpose_and_without(product):
    one = check(lambda Q, K: product(Q, K) / np.sqrt(Q.shape[1]), exercise="attention_scores")
    assert one.mistakes == ("multiplies_elementwise",)


def test_a_padding_mask_on_its_side_is_asked_about_sequences():
    one = check(lambda lengths, n_k: np.arange(n_k)[:, None] < np.array(lengths), exercise="padding_mask")
    assert one.mistakes == ("transposes_the_mask",)
    assert "sequence" in one.message and "query" not in one.message


def test_no_remark_answers_the_one_before_it():
    def unshifted(scores):
        powers = np.exp(scores)
        return powers / powers.sum(axis=1, keepdims=True)

    def shifted_by_one_number(scores):
        return unshifted(scores - scores.max())

    message = check(unshifted, exercise="softmax").message
    assert message.count("A remark:") == 1 and "left the range of numbers" in message
    assert "Whose maximum" in check(shifted_by_one_number, exercise="softmax").message


@pytest.mark.parametrize(
    ("exercise", "turned"),
    [
        ("split_heads", lambda Y, n_heads: Y.reshape(len(Y), n_heads, -1).transpose(1, 2, 0)),
        ("merge_heads", lambda Z: np.hstack(list(Z)).T),
    ],
)
def test_right_numbers_along_other_axes_are_called_right(exercise, turned):
    message = check(turned, exercise=exercise).message
    assert "the axes stand in another order" in message and message.endswith("?")


def test_other_shapes_are_not_called_right():
    message = check(lambda Z: np.hstack(list(Z)).T + 1, exercise="merge_heads").message
    assert "the axes stand in another order" not in message


@pytest.mark.parametrize(
    ("exercise", "function"),
    [
        ("merge_heads", lambda Z: np.hstack([Z[0]] * len(Z))),
        ("split_heads", lambda Y, n_heads: np.stack([Y[:, r : r + len(Y[0]) // n_heads] for r in range(n_heads)])),
    ],
)
def test_numbers_that_are_lost_are_not_said_to_be_there(exercise, function):
    message = check(function, exercise=exercise).message
    assert "All numbers are there" not in message and "and others are lost" in message


@pytest.mark.parametrize("divisor", [lambda d_k: d_k**0.25, lambda d_k: np.log(d_k + 1)], ids=["fourth root", "log"])
def test_scores_that_are_off_by_a_factor_are_said_to_be(divisor):
    one = check(lambda Q, K: Q @ K.T / divisor(Q.shape[1]), exercise="attention_scores")
    assert "Your scores are all too large, or all too small, by one and the same factor." in one.message
    assert one.message.endswith("?") and "?." not in one.smallest


def test_weights_of_scores_that_are_off_by_a_factor_are_said_to_be():
    def attention_weights(Q, K, mask=None):
        return right(Q * Q.shape[1] ** 0.25, K, np.eye(len(K)), mask)

    one = check(attention_weights)
    assert "Your weights are those of scores that are all too large, or all too small" in one.message
    assert "?." not in one.smallest


def test_wrong_scores_that_are_off_by_no_factor_are_not_said_to_be():
    for wrong in (lambda Q, K: np.abs(scaled(Q, K)), lambda Q, K: -scaled(Q, K), lambda Q, K: 0 * scaled(Q, K)):
        assert "factor" not in check(wrong, exercise="attention_scores").message


def test_means_of_allowed_values_are_not_called_the_same_for_every_query():
    def evenly(Q, K, V, mask=None):
        allowed = np.ones((len(Q), len(K))) if mask is None else mask
        return allowed / np.sum(allowed, axis=1, keepdims=True) @ V

    one = check(evenly, exercise="attention", part="with a mask")
    assert one.mistakes == ("averages_the_values",) and "same output" not in one.message


def test_two_mistakes_are_shown_where_each_makes_a_difference():
    """With one coordinate there is nothing to be scaled."""
    message = check(lambda Q, K: K @ Q.T / Q.shape[1], exercise="attention_scores").message
    assert "1 times smaller" not in message and "times smaller" in message


def test_with_a_single_head_nothing_is_said_to_have_been_averaged():
    def one_big_head(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        return right(X @ W_Q, X @ W_K, X @ W_V, mask)

    one = check(one_big_head, exercise="multi_head_attention")
    assert one.together and one.mistakes[:2] == ("uses_one_big_head", "forgets_the_output_projection")


def test_nothing_else_is_said_of_a_mask_that_is_ignored():
    for name in ("attention", "masked_softmax", "multi_head_attention"):
        pairs = cases_and_lineup(name, 0)[1].pairs
        with_others = [pair.ids for pair in pairs if is_about_the_mask_alone(pair) and "ignores_the_mask" in pair.ids]
        assert pairs and with_others == []


def is_about_the_mask_alone(pair):
    return {mistake.step for mistake in pair.mistakes} == {"mask"}


def test_a_mistake_that_special_cases_settle_is_not_looked_for():
    for name in ("attention_one_key", "attention_equal_keys", "attention_one_allowed_key"):
        assert "scales_by_d_k" not in {suspect.ids[0] for suspect in cases_and_lineup(name, 0)[1].singles}


def test_of_rows_that_vanished_nothing_is_said_about_the_others():
    def masked_softmax(scores, mask):
        if not mask.any(axis=1).all():
            raise ValueError("no key")
        return np.where(mask.all(axis=1, keepdims=True), softmax(np.where(mask, scores, -np.inf)), 0)

    one = check(masked_softmax)
    assert one.mistakes == ("masks_queries_instead_of_keys",) and "the others look" not in one.message


def test_decimals_are_said_to_be_cut_off_only_where_numbers_came_back():
    def in_place(scores, mask):
        if not mask.any(axis=1).all():
            raise ValueError("no key")
        masked = scores.copy()
        masked[~mask] = -np.inf
        return softmax(masked)

    raised = check(in_place, exercise="masked_softmax")
    assert raised.mistakes == ("truncates_to_integers",) and "Decimals were cut off" not in raised.message
    assert "Decimals were cut off" in check(lambda Q, K: scaled(Q, K).astype(int), exercise="attention_scores").message
