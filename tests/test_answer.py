"""What comes back: taken over whatever it is, read as numbers, and compared with what is right."""

import math
from collections import UserList, deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from labkit.answer import Fault, a_or_an, compare, number, read
from labkit.plain import MOST_NUMBERS, plain, same

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("value", "right", "kind"),
    [
        (0.0, -INF, "values"),
        (-1e9, -INF, "values"),
        (INF, -INF, "finite"),
        (NAN, -INF, "finite"),
        (-INF, -INF, None),
        (1e300, INF, "values"),
        (INF, INF, None),
        (-INF, 0.0, "finite"),
        (NAN, 0.0, "finite"),
        (1e-4, 0.0, "values"),
        (1e-6, 0.0, None),
        (-0.0, 0.0, None),
    ],
)
def test_a_number_is_right_if_it_is_near_and_an_infinite_one_if_it_is_the_same(value, right, kind):
    fault = compare(np.array([[1.0, value]]), np.array([[1.0, right]]))
    assert (fault.kind if fault else None) == kind
    assert fault is None or fault.place == (0, 1)


def test_no_tolerance_makes_a_number_right_where_minus_infinity_is():
    assert compare(np.array([7.0]), np.array([-INF]), within=np.array([INF])).kind == "values"


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (2.93964e-105, "2.94e-105"),
        (-1e9, "-1e9"),
        (1e6, "1e6"),
        (1.5e-7, "1.5e-7"),
        (123.45, "123.45"),
        (0.25, "0.25"),
        (0.001234, "0.00123"),
        (-0.0, "0"),
        (NAN, "nan"),
        (-INF, "-infinity"),
        (True, "True"),
    ],
)
def test_a_number_is_said_as_one_would_say_it(x, said):
    assert number(x) == said


@pytest.mark.parametrize(("name", "said"), [("list", "a list"), ("int", "an int"), ("ndarray", "an ndarray")])
def test_the_name_of_a_type_has_its_article(name, said):
    assert a_or_an(name) == said


class Holder:
    def __init__(self, held):
        self.held = held

    def __array__(self, dtype=None, copy=None):
        return self.held


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [3, 4]],
        ((1, 2), (3, 4)),
        np.array([[1, 2], [3, 4]]),
        np.ma.array([[1, 2], [3, 4]]),
        [np.array([1, 2]), np.array([3, 4])],
        [[np.float32(1), np.int8(2)], [np.array(3), 4.0]],
        [range(1, 3), range(3, 5)],
        UserList([deque([1, 2]), deque([3, 4])]),
        [[Decimal(1), Fraction(2)], [3, 4]],
        np.array([[1, 2], [3, Decimal(4)]], dtype=object),
        memoryview(np.array([[1, 2], [3, 4]])),
        Holder(np.array([[1, 2], [3, 4]])),
        [Holder(np.array([1, 2])), [3, 4]],
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_are_read_in_whatever_they_come(value):
    assert np.array_equal(read(plain(value)), [[1, 2], [3, 4]])


def test_what_was_taken_over_shares_nothing_with_what_it_was_taken_from():
    row, table = [1.0, 2.0], np.eye(2)
    taken = plain([row, table])
    row[0] = table[0, 0] = 9
    assert taken[0] == [1, 2] and taken[1][0, 0] == 1


LOOP = [1]
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (None, "nothing", "gave back nothing (None)"),
        (..., "type", "the dots that stand"),
        ("...", "type", "the dots that stand"),
        ("soon", "type", "a str, and not a table"),
        ({1: 2}, "type", "a dict, and not a table"),
        ({1, 2}, "type", "a set, and not a table"),
        ((i for i in ()), "type", "a generator, and not a table"),
        (len, "type", "a builtin_function_or_method, and not a table"),
        (b"1", "type", "a bytes, and not a table"),
        (LOOP, "type", "a list that is too long or goes too deep"),
        ([[1], [1, 2]], "type", "its rows have different lengths: row 1 has 1, row 2 has 2"),
        ([[1, 2, 3], [1, 2, 3], [1, 5, 2, 3]], "type", "its rows have different lengths: row 1 has 3, row 3 has 4"),
        ([[[1], [2]], [[1], [2, 3]]], "type", "its rows have different lengths"),
        ([[1, 2], 3], "type", "its rows have different lengths"),
        (range(10**12), "type", "a range that is too long"),
        ([[0.0] * 20_000] * 20_000, "type", "a list that is too long"),
        ([np.broadcast_to(0.0, (10**5, 10**5))] * 2, "type", "a list that is too long"),
        (np.broadcast_to(0.0, (10**5, 10**5)), "shape", "has shape (100000, 100000)"),
        (np.zeros(MOST_NUMBERS + 1), "shape", f"has shape ({MOST_NUMBERS + 1},)"),
        (np.array([1j]), "type", "an ndarray of type complex128, and not real"),
        (np.array(["2020"], "M8[D]"), "type", "an ndarray of type datetime64, and not a table"),
        ([[1, "a"], [2, "b"]], "type", "holds text at row 1, column 2, 'a': numbers stand without quotation marks"),
        (np.array([["1", "2,5"]])[:, 1:], "type", "at row 1, column 1, '2,5': numbers stand without"),
        (
            [0.0, "-inf"],
            "type",
            "at entry 2, '-inf': numbers stand without quotation marks, and minus infinity is -np.inf",
        ),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_what_is_no_table_of_numbers_is_said_to_be_none(value, kind, said):
    fault = read(plain(value))
    assert isinstance(fault, Fault) and fault.kind == kind and said in fault.text


def test_a_whole_number_of_any_length_is_a_number():
    assert plain(10**20) == 1e20 and plain(10**400) == INF and plain(-(10**400)) == -INF


def test_a_text_is_cut_before_anyone_reads_it():
    assert len(plain("x" * 10**6)) == 300


def test_values_are_the_same_if_they_are_of_one_kind_and_hold_the_same():
    value = [1.0, NAN, "a", None, ..., (True, np.array([1.0, NAN]))]
    assert same(value, plain(value))
    for other in ([1], (1.0,), [1.0, 2.0], [True], [np.array(1.0)], [math.inf]):
        assert not same([1.0], other)
    assert not same(np.zeros(2), np.zeros((1, 2))) and not same(np.zeros(2), np.zeros(2, int))
    assert not same([1, 2], [np.arange(2), 2])


@pytest.mark.parametrize("value", [(None, np.array(1j)), [None, 1j], [[None, np.complex128(2)]]])
def test_complex_numbers_among_open_cells_are_no_real_ones(value):
    assert "complex" in read(value).text
