"""A CSV file is taken apart as the csv module does it, in the encodings that are usual, and put together as it was."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit.grading.records.csv_file import CsvError, CsvFile

TEXTS = st.text(alphabet=',;"\r\n =7aé€', max_size=60)


def as_csv_reads(text, delimiter):
    return [row or [""] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]


@given(TEXTS, st.sampled_from(",;\t"))
@example('"a""', ",")
@example('"a" "b,c",d', ",")
@example('a"b,"c\r\nd",', ",")
@example("a\r\r\n\n,", ",")
def test_the_cells_are_those_of_the_csv_module(text, delimiter):
    assert CsvFile(text, "utf-8", delimiter).rows == as_csv_reads(text, delimiter)


@given(TEXTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
def test_a_file_in_which_nothing_is_replaced_keeps_its_bytes(text, encoding):
    data = text.encode(encoding)
    assert CsvFile.read(data, "here").replaced({}) == data


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_cell_is_replaced_in_the_files_own_encoding(encoding):
    file = CsvFile.read("Größe;ID\n5;7\n".encode(encoding), "here")
    assert file.rows == [["Größe", "ID"], ["5", "7"]]
    assert file.replaced({(1, 1): "é"}) == "Größe;ID\n5;é\n".encode(encoding)


@given(st.lists(st.lists(TEXTS, min_size=1), min_size=1), TEXTS, st.data())
def test_a_replaced_cell_reads_as_what_was_written_and_the_others_as_before(rows, new, data):
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[row]) - 1))
    after = CsvFile(out.getvalue(), "utf-8", ",").replaced({(row, column): new})
    rows[row][column] = new
    assert as_csv_reads(after.decode(), ",") == rows


def test_a_file_with_more_semicolons_than_commas_in_its_first_row_has_semicolons():
    assert CsvFile.read(b'"Doe, Jane";ID;1,5\r\n', "here").delimiter == ";"
    assert CsvFile.read(b'ID;"first, last"\r\n7;Ada\r\n', "here").headers == ["ID", "first, last"]


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (b"ID,Name\n1,\x00\n", "got zero bytes in it. Save it as CSV again."),
        (b"PK\x03\x04\x14\x00\x06\x00", "got an Excel workbook. Save it as CSV."),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "got an Excel workbook. Save it as CSV."),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(data, got):
    with pytest.raises(CsvError) as refusal:
        CsvFile.read(data, "here")
    assert str(refusal.value) == f"here: the file must be a CSV file; {got}"


def test_excels_line_that_names_the_separator_is_no_row_and_stays():
    file = CsvFile.read(b"\xef\xbb\xbfsep=|\r\nid|name, first\r\n7|Ada\r\n", "here")
    assert file.rows == [["id", "name, first"], ["7", "Ada"]]
    assert file.replaced({(1, 1): "A|B"}) == b'\xef\xbb\xbfsep=|\r\nid|name, first\r\n7|"A|B"\r\n'


def test_rows_with_a_quotation_mark_that_is_never_closed_are_told():
    file = CsvFile.read(b'a,b\n"x, y","said ""no"""\n"Ada,1\n"Bob",2\nc"d,3\n"e,4\n', "here")
    assert [row[0] for row in file.rows] == ["a", "x, y", 'Ada,1\nBob"', 'c"d', "e,4\n"]
    assert file.torn == {2, 4}


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_headers(data):
    assert CsvFile.read(data, "here").headers == CsvFile.read(data, "here").rows == []


def test_a_file_that_has_decimal_commas_gets_more_of_them():
    assert CsvFile.read(b"3,5;ID;x", "here").number(2.5) == "2,5"
    assert CsvFile.read(b"3,5;1.5;x", "here").number(2.5) == "2.5"


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
    assert CsvFile.read(text.encode(), "here").number(19.8) == written
