"""Whatever comes over the wire is a small message of few kinds, or refused."""

import json
import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from labkit.answer import read
from labkit.exercise import Answer
from labkit.grading.sandbox import wire
from labkit.grading.sandbox.host import answer, ran
from labkit.grading.sandbox.wire import Ended, Packer, TooSlow, Unpacker, Unreadable, frame, receive, send
from labkit.plain import foreign

CELLS = ["def f(x):\n    return x / 0"]
tables = arrays(st.sampled_from(sorted(wire.DTYPES)), array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
plain = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats() | st.text() | st.just(...)
values = st.recursive(
    plain | tables, lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner), max_leaves=12
)
texts = st.text() | st.sampled_from(["\ud800", "\x1b[31m", "list", "tuple", "array", "other", "dots", *wire.DTYPES])
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)
fields = st.dictionaries(st.sampled_from([*vars(Answer()), "cell", "errors", "functions", "tables"]), trees, max_size=6)


def alike(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    return a is b or (type(a) is type(b) and a == b) or (a != a and b != b)


def came_over(message, **how):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(message)
        theirs.shutdown(socket.SHUT_WR)
        return receive(ours, 5.0, **how)


@given(values)
def test_what_is_sent_arrives_as_it_was(value):
    assert alike(value, came_over(frame({"value": value}))["value"])


def test_what_is_no_number_arrives_as_its_name_and_longer_floats_as_usual_ones():
    came = came_over(frame({"value": [foreign("Tensor"), np.array([0.5, np.nan], np.longdouble)]}))["value"]
    assert type(came[0]).__name__ == "Tensor" and came[0] == {}
    assert came[1].dtype == float and alike(came[1], np.array([0.5, np.nan]))


@pytest.mark.parametrize("array", [["<O8", [1]], ["<f8", [-1]], ["<f8", [0.5]], ["<f8", [True]]])
def test_arrays_of_other_kinds_and_odd_sizes_are_refused(array):
    with pytest.raises(ValueError):
        Unpacker(bytes(8)).unpack(["array", *array])


def test_nobody_waits_for_a_side_that_does_not_listen():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TooSlow):
        send(ours, {"text": "x" * 10_000_000}, 0.05)


@given(arrays(scalar_dtypes(), array_shapes(max_side=3)))
def test_arrays_of_every_kind_arrive_as_numbers_or_as_a_name(array):
    came = came_over(frame({"value": array}), doubted=True)["value"]
    assert isinstance(came, np.ndarray | dict | list)
    assert array.dtype.kind not in "biufc" or isinstance(came, np.ndarray)


@given(trees, st.binary(max_size=64))
def test_any_json_is_a_value_of_few_kinds_or_refused(tree, raw):
    unpacker = Unpacker(raw, doubted=True)
    try:
        value = unpacker.unpack(tree)
    except (ValueError, TypeError, IndexError, OverflowError):
        return
    assert unpacker.at <= len(raw)
    kinds = (type(None), bool, int, float, str, type(...), list, tuple, dict, np.ndarray)
    todo = [value]
    while todo:
        assert isinstance(one := todo.pop(), kinds)
        assert not isinstance(one, str) or one.encode().isascii() is one.isascii()
        todo += one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()


@given(st.binary(max_size=40) | st.builds(lambda tree: json.dumps(tree).encode(), trees), st.integers(0, 60))
def test_any_bytes_are_a_message_or_refused(text, size):
    try:
        message = came_over(wire.HEAD.pack(min(size, len(text)), 0) + text, doubted=True)
    except (Unreadable, Ended, TooSlow):
        return
    assert isinstance(message, dict)


@given(fields)
def test_whatever_an_answer_says_each_of_its_fields_is_of_its_own_kind(message):
    try:
        said = answer(Unpacker(b"", doubted=True).unpack(message), {"Q": 1, "K": 2}, CELLS)
    except (ValueError, TypeError, IndexError, OverflowError):  # no message: the unpacker has refused it
        return
    for name, default in vars(Answer()).items():
        assert name == "value" or type(getattr(said, name)) is type(default)
    assert set(said.altered) <= {"Q", "K"}
    assert not said.line or said.line in CELLS[0]
    assert not said.error_type or (said.value is None and not said.altered)


@given(fields)
def test_whatever_a_notebook_is_said_to_have_left_it_has_only_what_was_asked_for(said):
    left = ran(said, ["softmax"], 2, [], ["landlock"])
    assert {error["cell"] for error in left.errors} <= {0, 1}
    assert set(left.functions) <= {"softmax"} and set(left.tables) <= {"softmax"}


@pytest.mark.parametrize(
    "value",
    [[0.0] * wire.MOST_ITEMS, [[[[[]] * 10] * 10] * 10] * 60, json.loads("[" * 40 + "]" * 40), [[..., 1.0]] * 30_000],
)
def test_what_is_too_long_or_too_deep_is_refused_on_both_sides(value):
    with pytest.raises(ValueError, match="at most"):
        Packer().pack(value)
    with pytest.raises(ValueError, match="at most"):
        Unpacker(b"").unpack(as_lists(value))


def as_lists(value):
    return ["list", [as_lists(one) for one in value]] if isinstance(value, list) else None


def test_nobody_gets_more_arrays_than_came():
    ten = np.arange(10.0)
    tree = ["list", [["array", "<f8", [10]]] * 2]
    assert alike(Unpacker(ten.tobytes() * 2).unpack(tree), [ten, ten])
    with pytest.raises(ValueError, match="buffer"):
        Unpacker(ten.tobytes()).unpack(tree)


@pytest.mark.parametrize("shape", [(10**6,), (0, 10**12), (10**6, 0, 10**6), (1,) * 9])
def test_no_array_is_larger_than_anyone_needs_or_has_longer_sides(shape):
    packed = Packer().pack(np.zeros(shape) if np.prod(shape) < 10**7 else np.broadcast_to(0.0, shape))
    assert packed[0] == "other" and str(shape) in packed[1]
    with pytest.raises(ValueError, match=r"\d"):
        Unpacker(bytes(8 * 10**6)).unpack(["array", "<f8", list(shape)])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("[[0.25 -1.5]", "…"),
        ("3.25e-7 of -.5, in (4, 5) and 7", "… of …, in (…, …) and …"),
        ("309/1000 -144/1000", "…/… …/…"),
        ("Q_90_1321", "…"),
        ("Cannot cast from dtype('float64') to dtype('int64')", "Cannot cast from dtype('float64') to dtype('int64')"),
    ],
)
def test_an_errors_words_do_not_pass_on_the_numbers_that_a_function_was_asked_with(words, told):
    assert answer({"error": words, "error_type": "ValueError"}, {}, CELLS).error == told


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("ValueError", "ValueError"),
        ("LinAlgError", "LinAlgError"),
        ("UFuncTypeError", "UFuncTypeError"),
        ("OwnError", "OwnError"),
        ("Q_90_1321", "an error of its own"),
        ("<b>", "an error of its own"),
    ],
)
def test_the_name_of_an_error_is_told_if_somebody_else_knows_it(kind, told):
    assert answer({"error_type": kind}, {}, ["class OwnError(Exception): pass"]).error_type == told


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ("Q (2, 2), v (3,)", "Q (2, 2), v (3,)"),
        ("Q ()", "Q ()"),
        ("Q (90, 1321)", ""),
        ("Q_90 (2, 2)", ""),
        ("secret", ""),
    ],
)
def test_shapes_are_told_of_names_on_the_line_that_is_shown(shapes, told):
    message = {"error_type": "ValueError", "line": "Q @ v", "shapes": shapes}
    assert answer(message, {}, ["def f(Q, v):\n    Q @ v"]).shapes == told
    assert answer(message, {}, ["def f(Q, v):\n    Q + v"]).shapes == ""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("90, 1321", "a str, and not"),
        ([["90", 1321.0]], "text at row 1, column 1, 'text': numbers"),
        (foreign("Q_90_1321"), "an object of its own, and not"),
        (foreign("ndarray of type Q_90"), "an object of its own, and not"),
        (foreign("list that is too long or goes too deep"), "a list that is too long or goes too deep, and not"),
        (foreign("ndarray of type datetime64"), "an ndarray of type datetime64, and not"),
        (foreign("generator"), "a generator, and not"),
        (foreign("Own"), "an Own, and not"),
    ],
)
def test_no_text_in_a_value_passes_on_the_numbers_that_a_function_was_asked_with(value, said):
    assert said in read(answer({"value": value}, {}, ["class Own: pass"]).value).text
