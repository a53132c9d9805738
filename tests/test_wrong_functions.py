"""Wrong answers written apart from the catalogue: none is accepted, and their mistakes are named."""

import math
import sys

import numpy as np
import pytest
import wrong_heads  # noqa: F401  importing puts the functions on the list
import wrong_mask  # noqa: F401
import wrong_mix  # noqa: F401
import wrong_pairs
import wrong_scores  # noqa: F401
import wrong_softmax  # noqa: F401
from wrong_answers import WRONG, soft
from wrong_tables import all_wrong, as_good

from labkit import check, notebook, student


def person(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "SESSION", notebook.Session())
        return student(name)


PEOPLE = [person("ada"), person("grace")]
TABLES = [(me, *one) for me in PEOPLE for one in all_wrong(me)]
PAIRS = wrong_pairs.chosen()


@pytest.mark.parametrize("answer", WRONG, ids=lambda answer: answer.label)
def test_a_wrong_function_is_refused_and_its_mistake_is_named_first(answer):
    outcome = check(answer.function, exercise=answer.exercise)
    assert not outcome.passed
    assert outcome.mistakes[:1] and outcome.mistakes[0] in (answer.mistake, *answer.also), outcome


@pytest.mark.parametrize(("exercise", "pair", "same"), PAIRS, ids=[f"{e}-{'-and-'.join(p)}" for e, p, _ in PAIRS])
def test_two_mistakes_at_once_are_both_named_the_earlier_step_first(exercise, pair, same):
    outcome = check(wrong_pairs.function_for(exercise, pair), exercise=exercise)
    assert not outcome.passed
    first_two = tuple("masks_after_softmax" if one == "zeroes_hidden_values" else one for one in outcome.mistakes[:2])
    assert set(first_two) in [set(one) for one in same], (outcome.mistakes, outcome)
    if not set(first_two) & set(wrong_pairs.NO_ORDER):
        assert first_two == tuple(sorted(first_two, key=wrong_pairs.ORDER.index))


def test_the_pairs_are_many_and_each_mistake_takes_part():
    taking_part = {one for _, _, same in PAIRS for pair in same for one in pair}
    assert len(PAIRS) >= 150
    assert taking_part >= {one for step in wrong_pairs.STEPS.values() for one in step}


@pytest.mark.parametrize(
    ("me", "exercise", "label", "table"), TABLES, ids=[f"{me.name}-{name}-{label}" for me, name, label, _ in TABLES]
)
def test_a_wrong_table_is_refused_and_its_mistake_is_named_first(me, exercise, label, table, monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session(me))
    outcome = check(**{exercise: table.tolist()})
    assert not outcome.passed
    assert outcome.mistakes[:1] and outcome.mistakes[0] in as_good(exercise, label, me), outcome


# ---- wrong, but no mistake of the table: refused all the same --------------------------------------------------------


def with_scores(scores):
    def attention(Q, K, V, mask=None):
        s = scores(Q, K)
        return soft(s if mask is None else np.where(mask, s, -np.inf)) @ V

    return attention


def weak_bias(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    return soft(s if mask is None else s + (1 - mask.astype(int)) * -10) @ V


def weak_bias_of_minus_5000(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    return soft(s if mask is None else s + np.where(mask, 0, -5000)) @ V


def own_causal_mask(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    return soft(s if mask is None else np.where(np.tri(*s.shape, dtype=bool), s, -np.inf)) @ V


def always_causal(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    seen = np.tri(*s.shape, dtype=bool)
    return soft(np.where(seen if mask is None else seen & mask, s, -np.inf)) @ V


def only_the_first_row_of_the_mask(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    return soft(s if mask is None else np.where(mask[0], s, -np.inf)) @ V


def mean_of_what_may_be_seen(Q, K, V, mask=None):
    mask = np.ones((len(Q), len(K))) if mask is None else mask
    return soft(np.where(mask, 0.0, -np.inf)) @ V


def rounded_to_one_decimal(Q, K, V, mask=None):
    return np.round(with_scores(lambda Q, K: Q @ K.T / np.sqrt(K.shape[1]))(Q, K, V, mask), 1)


def epsilon_in_the_total(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    e = np.exp(s) * (1 if mask is None else mask)
    return e / (e.sum(axis=1, keepdims=True) + 0.01) @ V


def stale_numbers(Q, K, V, mask=None):
    me = PEOPLE[0]
    return soft(me.Q @ me.K.T / 3**0.5) @ me.V


def zeros(Q, K, V, mask=None):
    return np.zeros((len(Q), V.shape[1]))


def ones(Q, K, V, mask=None):
    return np.ones((len(Q), V.shape[1]))


def transposed(Q, K, V, mask=None):
    return with_scores(lambda Q, K: Q @ K.T / np.sqrt(K.shape[1]))(Q, K, V, mask).T


UNLISTED = {
    "root of 3, whatever d_k": with_scores(lambda Q, K: Q @ K.T / np.sqrt(3)),
    "d_k halved": with_scores(lambda Q, K: Q @ K.T / (K.shape[1] ** 1 / 2)),
    "2.7 for e": lambda Q, K, V, mask=None: with_scores(lambda Q, K: Q @ K.T / np.sqrt(K.shape[1]) * np.log(2.7))(
        Q, K, V, mask
    ),
    "cube root": with_scores(lambda Q, K: Q @ K.T / K.shape[1] ** (1 / 3)),
    "log of d_k": with_scores(lambda Q, K: Q @ K.T / (1 + np.log(K.shape[1]))),
    "a bias of -10": weak_bias,
    "a bias of -5000": weak_bias_of_minus_5000,
    "a causal mask of its own": own_causal_mask,
    "causal even where nothing is asked": always_causal,
    "the first row of the mask for all": only_the_first_row_of_the_mask,
    "mean of what may be seen": mean_of_what_may_be_seen,
    "rounded to one decimal": rounded_to_one_decimal,
    "an epsilon in the total": epsilon_in_the_total,
    "the student's own numbers, not the arguments": stale_numbers,
    "zeros": zeros,
    "ones": ones,
    "the output transposed": transposed,
}


@pytest.mark.parametrize("name", UNLISTED)
def test_a_wrong_function_of_no_listed_kind_is_refused_with_a_number(name):
    outcome = check(UNLISTED[name], exercise="attention")
    assert not outcome.passed
    assert any(letter.isdigit() for letter in outcome.message)


# ---- answers that cannot be judged, or only just ---------------------------------------------------------------------


def right(Q, K, V, mask=None):
    return with_scores(lambda Q, K: Q @ K.T / math.sqrt(K.shape[1]))(Q, K, V, mask)


class NoArray:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array to be had")

    def __repr__(self):
        raise RuntimeError("no words to be had")


class NoWordsError(Exception):
    def __str__(self):
        raise RuntimeError("no words to be had")


class NoArrayNorWords(NoArray):
    def __array__(self, *args, **kwargs):
        raise NoWordsError


class NotAnException(BaseException):
    pass


def throws(error):
    def attention(Q, K, V, mask=None):
        raise error

    return attention


def misspelt(Q, K, V, mask=None):
    return sofftmax(Q @ K.T) @ V  # noqa: F821


def if_mask(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    if mask:
        s = np.where(mask, s, -np.inf)
    return soft(s) @ V


def itself(Q, K, V, mask=None):
    return itself(Q, K, V, mask)


def fixed_size(Q, K, V, mask=None):
    out = np.zeros((4, 2))
    for i in range(4):
        out[i] = right(Q, K, V, mask)[i]
    return out


CRASHING = {
    "misspelt name": (misspelt, "NameError"),
    "missing attribute": (lambda Q, K, V, mask=None: Q.matmul(K), "AttributeError"),
    "too few parameters": (lambda Q, K: Q @ K.T, "TypeError"),
    "no mask": (lambda Q, K, V: right(Q, K, V), "TypeError"),
    "mask without a default": (lambda Q, K, V, mask: right(Q, K, V, mask), "TypeError"),
    "no parameters": (lambda: 0, "TypeError"),
    "if mask": (if_mask, "ValueError"),
    "division by zero": (lambda Q, K, V, mask=None: 1 / 0, "ZeroDivisionError"),
    "missing key": (lambda Q, K, V, mask=None: {}["a"], "KeyError"),
    "recursion": (itself, "RecursionError"),
    "exit": (lambda Q, K, V, mask=None: sys.exit(1), "SystemExit"),
    "assertion": (throws(AssertionError()), "AssertionError"),
    "memory": (lambda Q, K, V, mask=None: np.zeros((10**8, 10**8)), "MemoryError"),
    "an error without words": (throws(NoWordsError()), "NoWordsError"),
    "an error that is no Exception": (throws(NotAnException()), "NotAnException"),
    "markup in an error": (throws(ValueError("<script>alert(1)</script>")), "ValueError"),
    "a long error": (throws(ValueError("y" * 1_000_000)), "ValueError"),
}


@pytest.mark.parametrize("name", CRASHING)
def test_an_answer_that_raises_crashes_by_name_in_few_words_and_no_traceback(name):
    function, error = CRASHING[name]
    outcome = check(function, exercise="attention")
    assert outcome.status == "crashed"
    assert error in outcome.message
    assert "Traceback" not in outcome.message
    assert len(outcome.message) < 1000
    assert "<script>" not in outcome._repr_html_()


NOT_A_TABLE = {
    "nothing": lambda *args: [None for _ in "x"][0],
    "text": lambda *args: str(right(*args)),
    "strings": lambda *args: right(*args).astype(str),
    "ragged": lambda *args: [[1, 2], [3]],
    "generator": lambda *args: (row for row in right(*args)),
    "dict": lambda *args: dict(enumerate(right(*args))),
    "set": lambda *args: set(right(*args).ravel().tolist()),
    "objects": lambda *args: np.full((len(args[0]), args[2].shape[1]), None),
    "complex": lambda *args: right(*args) + 1j,
    "dates": lambda *args: np.zeros((len(args[0]), args[2].shape[1]), dtype="datetime64[D]"),
    "a function": lambda *args: right,
    "no array": lambda *args: NoArray(),
    "no array, and no words for it": lambda *args: NoArrayNorWords(),
    "output and weights": lambda *args: (right(*args), np.eye(2)),
    "all nan": lambda *args: right(*args) * np.nan,
    "all infinite": lambda *args: np.full((len(args[0]), args[2].shape[1]), np.inf),
    "one number": lambda *args: 3.0,
    "flat": lambda *args: right(*args).ravel(),
    "one row": lambda *args: right(*args)[0],
    "one column too many": lambda *args: np.hstack([right(*args)] * 2),
    "nothing in it": lambda *args: [],
    "integers": lambda *args: right(*args).astype(int),
    "booleans": lambda *args: right(*args) > 0,
    "very large": lambda *args: np.zeros((500, 500)),
    "fixed size": fixed_size,
}


@pytest.mark.parametrize("name", NOT_A_TABLE)
def test_an_answer_that_is_no_fitting_table_fails_in_few_words(name):
    outcome = check(NOT_A_TABLE[name], exercise="attention")
    assert outcome.status in ("failed", "crashed")
    assert outcome.points == 0
    assert "Traceback" not in outcome.message
    assert 20 < len(outcome.message) < 1000


EXERCISES = (
    "softmax attention_scores attention_weights attention causal_mask padding_mask masked_softmax "
    "split_heads merge_heads multi_head_attention cross_attention"
).split()


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("value", [None, "text", [], [[1], [2, 3]], {}, 0, True, math.nan, [[None]]], ids=repr)
def test_nonsense_fails_in_every_exercise(exercise, value):
    outcome = check(lambda *args: [value][0], exercise=exercise)
    assert outcome.status == "failed"
    assert outcome.points == 0


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_crash_in_every_exercise_costs_all_points(exercise):
    def crash(*args):
        raise RuntimeError("boom")

    outcome = check(crash, exercise=exercise)
    assert "boom" in outcome.message
    assert (outcome.status, outcome.points) == ("crashed", 0)


def stub(*args):
    raise NotImplementedError


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("function", [stub, lambda *args: ...], ids=["NotImplementedError", "ellipsis"])
def test_a_stub_is_unattempted(exercise, function):
    assert check(function, exercise=exercise).status == "unattempted"


def endless(Q, K, V, mask=None):
    while True:
        pass


def endless_with_a_mask(Q, K, V, mask=None):
    while mask is not None:
        pass
    return right(Q, K, V)


@pytest.mark.parametrize("function", [endless, endless_with_a_mask])
def test_an_endless_loop_is_stopped(function, monkeypatch):
    monkeypatch.setattr(notebook, "SECONDS", 0.2)
    outcome = check(function, exercise="attention")
    assert outcome.status == "timed_out"
    assert "loop" in outcome.message


def endless_with_an_unscaled_start(Q, K, V, mask=None):
    return endless_with_a_mask(Q * np.sqrt(Q.shape[1]), K, V, mask)


def endless_without_a_mask(Q, K, V, mask=None):
    while mask is None:
        pass
    return right(Q, K, V, mask)


@pytest.mark.parametrize(
    ("function", "points"),
    [
        (endless, 0),
        (endless_with_a_mask, 2),
        (endless_with_an_unscaled_start, 0),
        (endless_without_a_mask, 0),  # nobody asks any further
    ],
)
def test_a_part_that_holds_before_the_time_is_up_earns_its_points(function, points, monkeypatch):
    monkeypatch.setattr(notebook, "SECONDS", 0.2)
    assert check(function, exercise="attention").points == points


BAD_TABLES = {
    "nothing": None,
    "text": "0.5",
    "one number": 0.5,
    "ragged": [[1, 2], [3]],
    "strings": [["0.1"] * 4] * 4,
    "too small": [[0.5, 0.5]],
    "nested too deep": [[[[0.25]]] * 4] * 4,
    "nan": [[math.nan] * 4] * 4,
    "complex": [[1j] * 4] * 4,
    "dict": {},
    "a function": len,
    "holes": [[None] * 4] * 4,
    "infinite": [[math.inf] * 4] * 4,
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_that_is_none_is_refused_without_a_traceback(name, monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session(PEOPLE[0]))
    outcome = check(hand_weights=BAD_TABLES[name])
    assert outcome.status in ("failed", "unattempted")
    assert outcome.points == 0
    assert "Traceback" not in outcome.message


def test_a_table_with_open_cells_is_unattempted_and_says_which(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session(PEOPLE[0]))
    table = np.round(soft(PEOPLE[0].Q @ PEOPLE[0].K.T / 3**0.5), 2).tolist()
    table[2][1] = ...
    outcome = check(hand_weights=table)
    assert outcome.status == "unattempted", outcome
    assert "row 3, column 2" in outcome.message


# ---- the same answer, the same words


@pytest.mark.parametrize("answer", WRONG[::12], ids=lambda answer: answer.label)
def test_the_same_wrong_function_gets_the_same_words_twice(answer):
    first, second = (check(answer.function, exercise=answer.exercise) for _ in range(2))
    assert repr(vars(first)) == repr(vars(second))  # in words, since nan is unlike itself
    assert first.message == second.message
    assert first._repr_html_() == second._repr_html_()


@pytest.mark.parametrize("name", ["nothing", "text", "ragged", "dict", "objects", "flat", "integers", "fixed size"])
def test_the_same_nonsense_gets_the_same_words_twice(name):
    first, second = (check(NOT_A_TABLE[name], exercise="attention") for _ in range(2))
    assert str(first) == str(second)
