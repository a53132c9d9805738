"""blocked_attention and its hand-filled tables: right ones pass in any form, wrong ones are named.

The functions were written apart from labkit's own mistakes, as students write them.
"""

import math

import numpy as np
import pytest

from labkit import check, hint, notebook
from labkit.exercises import EXERCISES
from labkit.exercises.long import LAB
from labkit.judge import cases_and_lineup


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())


def scores_of(Q, K):
    return Q @ K.T / math.sqrt(Q.shape[1])


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# ---- right -----------------------------------------------------------------------------------------------------------


def by_the_book(Q, K, V, block):
    m, s, o = np.full((len(Q), 1), -np.inf), np.zeros((len(Q), 1)), np.zeros((len(Q), V.shape[1]))
    for i in range(0, len(K), block):
        S = scores_of(Q, K[i : i + block])
        new = np.maximum(m, S.max(axis=1, keepdims=True))
        P = np.exp(S - new)
        f = np.exp(m - new)
        s = f * s + P.sum(axis=1, keepdims=True)
        o = f * o + P @ V[i : i + block]
        m = new
    return o / s


def all_at_once(Q, K, V, block):
    return softmax(scores_of(Q, K)) @ V


def number_by_number(Q, K, V, block):
    rows = []
    for q in Q:
        m, s, o = -math.inf, 0.0, [0.0] * V.shape[1]
        for i in range(0, len(K), block):
            S = [sum(float(a) * float(b) for a, b in zip(q, k, strict=True)) / len(q) ** 0.5 for k in K[i : i + block]]
            new = max([m, *S])
            f = math.exp(m - new)
            s, o = s * f, [x * f for x in o]
            for score, value in zip(S, V[i : i + block], strict=True):
                p = math.exp(score - new)
                s, o = s + p, [x + p * float(v) for x, v in zip(o, value, strict=True)]
            m = new
        rows.append([x / s for x in o])
    return rows


def always_divided(Q, K, V, block):
    """The output is a mix at every moment: what is kept is weighed against what is new."""
    m = s = o = None
    for i in range(0, len(K), block):
        S = scores_of(Q, K[i : i + block])
        top = S.max(axis=1, keepdims=True)
        P = np.exp(S - top)
        total, mix = P.sum(axis=1, keepdims=True), softmax(S) @ V[i : i + block]
        if m is None:
            m, s, o = top, total, mix
            continue
        new = np.maximum(m, top)
        old, more = s * np.exp(m - new), total * np.exp(top - new)
        m, s, o = new, old + more, (old * o + more * mix) / (old + more)
    return o


def by_logarithms(Q, K, V, block):
    parts = [(scores_of(Q, K[i : i + block]), V[i : i + block]) for i in range(0, len(K), block)]
    logs = [np.logaddexp.reduce(S, axis=1) for S, _ in parts]
    total = np.logaddexp.reduce(logs)
    return sum(np.exp(S - total[:, None]) @ v for S, v in parts)


def from_the_last_block(Q, K, V, block):
    cuts = range(0, len(K), block)
    order = np.concatenate([np.arange(i, min(i + block, len(K))) for i in reversed(cuts)])
    return by_the_book(Q, K[order], V[order], block)


def in_single_precision(Q, K, V, block):
    return by_the_book(Q.astype(np.float32), K.astype(np.float32), V.astype(np.float32), block)


@pytest.mark.parametrize(
    "function",
    [by_the_book, all_at_once, number_by_number, always_divided, by_logarithms, from_the_last_block]
    + [in_single_precision],
    ids=lambda function: function.__name__,
)
def test_a_right_function_passes_however_it_goes_about_it(function):
    outcome = check(function, exercise="blocked_attention")
    assert (outcome.status, outcome.points, outcome.mistakes, outcome.remarks) == ("passed", 4, (), ()), outcome


# ---- wrong -----------------------------------------------------------------------------------------------------------


def running(step, start=-np.inf, last=lambda s, o: o / s):
    """A student's loop around the step that goes wrong."""

    def blocked_attention(Q, K, V, block):
        m, s, o = np.ones((len(Q), 1)) * start, np.zeros((len(Q), 1)), np.zeros((len(Q), V.shape[1]))
        for i in range(0, len(K), block):
            m, s, o = step(m, s, o, scores_of(Q, K[i : i + block]), V[i : i + block])
        return last(s, o)

    return blocked_attention


def top(S):
    return S.max(axis=1, keepdims=True)


def total(P):
    return P.sum(axis=1, keepdims=True)


def old_sum(m, s, o, S, v):
    new = np.maximum(m, top(S))
    P = np.exp(S - new)
    return new, s + total(P), o * np.exp(m - new) + P @ v


def old_output(m, s, o, S, v):
    new = np.maximum(m, top(S))
    P = np.exp(S - new)
    return new, s * np.exp(m - new) + total(P), o + P @ v


def never_rescaled(m, s, o, S, v):
    new = np.maximum(m, top(S))
    P = np.exp(S - new)
    return new, s + total(P), o + P @ v


def own_maximum(m, s, o, S, v):
    P = np.exp(S - top(S))
    new = np.maximum(m, top(S))
    return new, s * np.exp(m - new) + total(P), o * np.exp(m - new) + P @ v


def own_maximum_kept(m, s, o, S, v):
    new = top(S)
    P = np.exp(S - new)
    return new, s * np.exp(m - new) + total(P), o * np.exp(m - new) + P @ v


def own_maximum_added(m, s, o, S, v):
    P = np.exp(S - top(S))
    return m, s + total(P), o + P @ v


def upside_down(m, s, o, S, v):
    new = np.maximum(m, top(S))
    P = np.exp(S - new)
    f = np.where(s > 0, np.exp(np.where(s > 0, new - m, 0)), 1)
    return new, s * f + total(P), o * f + P @ v


def right_step(m, s, o, S, v):
    new = np.maximum(m, top(S))
    P = np.exp(S - new)
    f = np.exp(m - new)
    return new, s * f + total(P), o * f + P @ v


def divided_each_time(m, s, o, S, v):
    new, s, o = right_step(m, s, o, S, v)
    return new, s, o / s


def share_divided(m, s, o, S, v):
    new, more, _ = right_step(m, s, o, S, v)
    P = np.exp(S - new)
    return new, more, o * np.exp(m - new) + P @ v / more


def from_zero(m, s, o, S, v):
    P = np.exp(S)
    return m, s + total(P), o + P @ v


def block_by_block(combine):
    def blocked_attention(Q, K, V, block):
        cuts = range(0, len(K), block)
        return combine([softmax(scores_of(Q, K[i : i + block])) @ V[i : i + block] for i in cuts])

    return blocked_attention


def whole_blocks_only(Q, K, V, block):
    n = len(K) // block
    return by_the_book(Q, K[: n * block], V[: n * block], block) if n else np.full((len(Q), V.shape[1]), np.nan)


def never_shifted(Q, K, V, block):
    P = np.exp(scores_of(Q, K))
    return P @ V / total(P)


def unscaled(Q, K, V, block):
    return by_the_book(Q * math.sqrt(Q.shape[1]), K, V, block)


def over_queries(Q, K, V, block):
    powers = np.exp(scores_of(Q, K) - scores_of(Q, K).max(axis=0))
    return powers / powers.sum(axis=0) @ V


WRONG = (
    ("keeps_the_old_sum", "old sum", running(old_sum)),
    ("keeps_the_old_output", "old output", running(old_output)),
    ("joins_without_rescaling", "never rescaled", running(never_rescaled)),
    ("takes_the_blocks_own_maximum", "own maximum", running(own_maximum)),
    ("takes_the_blocks_own_maximum", "own maximum kept", running(own_maximum_kept)),
    ("takes_the_blocks_own_maximum", "own maximum, all added up", running(own_maximum_added)),
    ("rescales_upside_down", "upside down", running(upside_down)),
    ("averages_the_blocks", "mean of the blocks", block_by_block(lambda outs: np.mean(outs, axis=0))),
    ("averages_the_blocks", "sum of the blocks", block_by_block(sum)),
    ("drops_the_last_keys", "whole blocks only", whole_blocks_only),
    ("forgets_to_divide", "not divided", running(right_step, last=lambda s, o: o)),
    ("divides_in_every_block", "divided each time", running(divided_each_time, last=lambda s, o: o)),
    ("divides_in_every_block", "divided each time and in the end", running(divided_each_time)),
    ("divides_in_every_block", "each share divided", running(share_divided, last=lambda s, o: o)),
    ("starts_the_maximum_at_zero", "zeros for the maximum", running(right_step, start=0)),
    ("counts_powers_from_zero", "no maximum", running(from_zero)),
    ("counts_powers_from_zero", "no maximum, all at once", never_shifted),
    ("forgets_to_scale", "unscaled", unscaled),
    ("normalises_over_queries", "over queries", over_queries),
    ("mixes_keys", "keys mixed", lambda Q, K, V, block: by_the_book(Q, K, K, block)),
)


@pytest.mark.parametrize(
    ("mistake", "function"), [pytest.param(id, function, id=label) for id, label, function in WRONG]
)
def test_a_wrong_function_is_refused_and_its_mistake_is_named_first(mistake, function):
    outcome = check(function, exercise="blocked_attention")
    assert not outcome.passed
    assert outcome.mistakes[:1] == (mistake,), outcome


def test_a_function_whose_shapes_only_fit_when_square_earns_nothing():
    def blocked_attention(Q, K, V, block):
        S = scores_of(Q, K[:block])
        return np.exp(S - S.max(axis=1)) @ V[:block]

    assert check(blocked_attention).points == 0


def test_of_two_wrong_answers_the_one_to_ordinary_scores_is_shown():
    message = check(running(old_sum), exercise="blocked_attention").message
    assert "keys in blocks of" in message and "million" not in message


@pytest.mark.parametrize("name", ["no maximum", "zeros for the maximum", "own maximum kept"])
def test_what_only_fails_on_enormous_scores_earns_half(name):
    (function,) = (function for _, label, function in WRONG if label == name)
    assert check(function, exercise="blocked_attention").points == 2


def test_two_mistakes_of_which_one_is_in_the_scores_are_both_named():
    def blocked_attention(Q, K, V, block):
        return running(old_output)(Q * math.sqrt(Q.shape[1]), K, V, block)

    assert set(check(blocked_attention).mistakes[:2]) == {"forgets_to_scale", "keeps_the_old_output"}


def test_nan_from_the_very_first_block_is_shown_on_the_smallest_input():
    """Minus infinity less minus infinity."""
    step = lambda m, s, o, S, v: right_step(m, s * np.exp(m - m), o, S, v)  # noqa: E731
    outcome = check(running(step), exercise="blocked_attention")
    assert outcome.mistakes == ()
    assert "nan at row 1, column 1" in outcome.message
    assert "block = " in outcome.smallest


def test_enormous_scores_are_exact_in_single_precision():
    for case in cases_and_lineup("blocked_attention", 0)[0]:
        if case.part == "enormous scores":
            exact = scores_of(case.args["Q"], case.args["K"])
            assert (exact == scores_of(case.args["Q"].astype(np.float32), case.args["K"].astype(np.float32))).all()


# ---- tables ----------------------------------------------------------------------------------------------------------

RIGHT_TABLES = {
    "table_megabytes": 400,
    "first_block": [1.5, 8],
    "second_block": [1.25, 6.5],
    "two_blocks": [2, 10.5],
    "three_blocks": [2.75, 16],
    "three_blocks_output": 5.82,
    "block_megabytes": 4,
    "top_left_keys": [1, 2, 3],
    "bottom_right_keys": [3, 4, 5],
}


def test_each_right_table_passes():
    assert [name for name, table in RIGHT_TABLES.items() if not check(**{name: table}).passed] == []


def test_these_are_all_exercises_of_the_lab():
    asked = {name for name, exercise in EXERCISES.items() if exercise.labs == (LAB,)}
    assert asked == {*RIGHT_TABLES, "blocked_attention"}


@pytest.mark.parametrize(
    ("name", "table", "mistake"),
    [
        ("first_block", [12, 64], "counts_powers_from_zero"),
        ("first_block", [1, 5.33], "divides_in_every_block"),
        ("two_blocks", [2.75, 10.5], "keeps_the_old_sum"),
        ("two_blocks", [2, 14.5], "keeps_the_old_output"),
        ("two_blocks", [2.75, 14.5], "joins_without_rescaling"),
        ("two_blocks", [4.25, 22.5], "rescales_upside_down"),
        ("two_blocks", [1, 5.25], "divides_in_every_block"),
        ("three_blocks", [3.5, 21.5], "takes_the_blocks_own_maximum"),
        ("three_blocks", [5, 32.5], "rescales_upside_down"),
    ],
)
def test_a_wrong_table_is_refused_and_its_mistake_is_named_first(name, table, mistake):
    outcome = check(**{name: table})
    assert not outcome.passed
    assert outcome.mistakes[:1] == (mistake,), outcome
    assert "what each power is counted from" in hint().text


# ---- what is no answer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "text", [], {}, 0, math.nan, [[None]]], ids=repr)
def test_nonsense_fails(value):
    outcome = check(lambda *args: [value][0], exercise="blocked_attention")
    assert (outcome.status, outcome.points) == ("failed", 0)


def test_an_answer_still_to_be_written_is_unattempted():
    def blocked_attention(Q, K, V, block):
        raise NotImplementedError

    assert check(blocked_attention).status == "unattempted"
    assert check(two_blocks=[..., ...]).status == "unattempted"
