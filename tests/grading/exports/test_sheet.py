"""A CSV file is taken apart as the csv module does it, and put together byte by byte."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit.grading.exports.sheet import BOM, ExportError, Sheet, match, scan

TEXTS = st.text(alphabet=',;"\r\n =7aé€', max_size=60)


def as_csv_reads(text, delimiter):
    return [row or [""] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]


@given(TEXTS, st.sampled_from(",;"), st.booleans())
@example('"a""', ",", False)
@example('"a" "b,c",d', ",", False)
@example('a"b,"c\r\nd",', ",", True)
@example("a\r\r\n\n,", ",", False)
def test_the_cells_are_those_of_the_csv_module(text, delimiter, bom):
    data = (BOM if bom else b"") + text.encode()
    assert Sheet(data, delimiter, scan(data, delimiter)).rows == as_csv_reads(text, delimiter)


@given(TEXTS.filter(bool), st.booleans())
def test_a_file_in_which_nothing_is_replaced_keeps_its_bytes(text, bom):
    data = (BOM if bom else b"") + text.encode()
    assert Sheet.read(data, "here").replaced({}) == data


@given(st.lists(st.lists(TEXTS, min_size=1), min_size=1), TEXTS, st.data())
def test_a_replaced_cell_reads_as_what_was_written_and_the_others_as_before(rows, new, data):
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[row]) - 1))
    written = out.getvalue().encode()
    after = Sheet(written, ",", scan(written, ",")).replaced({(row, column): new})
    rows[row][column] = new
    assert as_csv_reads(after.decode(), ",") == rows


def test_a_file_with_more_semicolons_than_commas_in_its_first_row_has_semicolons():
    assert Sheet.read(b'"Doe, Jane";ID;1,5\r\n', "here").delimiter == ";"


@pytest.mark.parametrize("data", ["ID,Name".encode("utf-16"), b"", BOM])
def test_what_is_no_csv_file_is_refused_in_one_line(data):
    with pytest.raises(ExportError, match="^here: the file must .*; got .*again.$"):
        Sheet.read(data, "here")


@pytest.mark.parametrize(("number", "text"), [(7, "7"), (7.0, "7"), (7.125, "7.12"), (0.1 + 0.2, "0.3"), (10, "10")])
def test_numbers_have_two_decimals_at_most(number, text):
    assert Sheet.read(b"1.5", "here").number(number) == text


def test_a_file_that_has_decimal_commas_gets_more_of_them():
    assert Sheet.read(b"3,5;ID;x", "here").number(2.5) == "2,5"
    assert Sheet.read(b"3,5;1.5;x", "here").number(2.5) == "2.5"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Student;ID;Lab\nAda;17;\n", "19,8"),
        ("Student;ID;Lab\nAda;17;20\n", "19,8"),
        ("Student;ID;Lab\nAda;1.234;20\n", "19,8"),
        ("Student;ID;Lab\nAda;30.11;20,0\nBob;18;7,5\n", "19,8"),
        ("Student;ID;Lab\nAda;17;100.0\n", "19.8"),
        ("Student,ID,Lab\nAda,17,\n", "19.8"),
        ('Student,ID,Lab\nAda,17,"7,12345"\n', "19,8"),
    ],
)
def test_the_decimal_sign_is_that_of_most_numbers_and_else_goes_with_the_delimiter(text, written):
    assert Sheet.read(text.encode(), "here").number(19.8) == written


def test_each_row_is_one_students_and_the_surest_text_wins():
    keys = {1: ("17", "ada"), 2: ("18", "17"), 3: ("19", "twin"), 4: ("20", "twin")}
    assert match(keys, ["17", "ada", "18", "twin", "007"]) == {"17": 1, "18": 2}
