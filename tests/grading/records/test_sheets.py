"""Sheets: what spreadsheets are given, and what they give back."""

import csv
import io
import random
import re

import pytest
from handed_in import any_text, graded, gradings, record, submissions, ungradable
from hypothesis import given
from hypothesis import strategies as st

from labkit.exercise import Outcome
from labkit.grading.publish import publish as everything
from labkit.grading.records import sheets
from labkit.grading.records.csv_file import FORMULA, CsvError, neutral, restored
from labkit.grading.records.gradebook import Gradebook, GradebookError, Record
from labkit.grading.records.marks import Mark, read_marks
from labkit.grading.records.policy import MarksGiven, Rule, counted, marks_given
from labkit.grading.submission import GRADED, Graded


def read(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


@pytest.fixture
def book(tmp_path):
    with Gradebook.open(tmp_path / "gradebook.db") as book:
        yield book


def publish(folder, book, *records, roster=None):
    for one in records:
        book.record(one.submission, one.graded, one.fingerprint)
    book.remember(
        "roster", [{"id": id, "name": name, "email": "", "others": []} for id, name in (roster or {}).items()]
    )
    folder.mkdir(exist_ok=True)
    return list(everything(folder, book).rows)


def given_back(folder, change, text=lambda text: text, **form):
    """Change the rows of written.csv as an instructor does with a spreadsheet."""
    path = folder / "written.csv"
    rows = read(path.read_bytes())
    rows = change(rows) or rows
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), **form)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text(out.getvalue()).encode("utf-8"))
    return path


def test_the_gradebook_has_a_row_for_each_student():
    outcomes = (
        Outcome("softmax", "passed", 3.0, 3.0, remarks=("overflows",)),
        Outcome("attention", "failed", 4 / 3, 4.0, mistakes=("omits_the_scale", "ignores_the_mask")),
        Outcome("causal_mask", "system_error", 0, 1),
    )
    ada = record(result=Graded(GRADED, outcomes=outcomes, remarks=("Cell 3 did not run.",)))
    bob = record(result=ungradable(), student="bob", name="Bob, B.", file="b.ipynb")
    rows = read(sheets.gradebook_sheet(counted([bob, ada], roster={"007": "Bond"})))
    assert [" | ".join(row.values()) for row in rows] == [
        "007 | Bond |  | 02_causal_mask |  | 0 | missing |  |  |  |  |  |  |  |  |  | Nothing was handed in.",
        "ada | Ada |  | 02_causal_mask | ada.ipynb | 1 | graded |  | 4.33 | 8 | 3 | 1.33 |  |  | "
        "attention: omits_the_scale, ignores_the_mask | softmax: overflows Cell 3 did not run. | ",
        "bob | Bob, B. |  | 02_causal_mask | b.ipynb | 1 | ungradable |  |  |  |  |  |  |  |  |  | It isn't JSON.",
    ]
    assert ",".join(rows[0]) == (
        "student,name,batch,lab,file,attempts,status,late,points,max_points,softmax,attention,causal_mask,"
        "written,mistakes,remarks,reason"
    )


def test_every_file_has_a_line_that_says_whether_it_counts():
    late = record(4, file="late.ipynb", digest="d2", marked_late=True)
    rows = read(sheets.submissions_sheet(counted([record(3), late], Rule(percent_a_day=50))))
    assert [(row["file"], row["counts"], row["late"], row["earned"], row["points"]) for row in rows] == [
        ("ada.ipynb", "yes", "", "3", "3"),
        ("late.ipynb", "no", "1 day", "4", "2"),
    ]


@given(st.lists(st.builds(Record, submissions, gradings, st.just("f")), max_size=4))
def test_no_cell_runs_as_a_formula(records):
    rows = counted(records)
    for data in (sheets.gradebook_sheet(rows), sheets.submissions_sheet(rows), sheets.written_sheet(rows)):
        for line in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")):
            assert not any(cell.startswith(FORMULA) for cell in line)


@pytest.mark.parametrize("text", ["x;=cmd()", 'x;"=cmd()"', "x\n=cmd()", "x\r+1", "- one\n- two", "x\t@cmd"])
@pytest.mark.parametrize("delimiter", ";\t")
def test_no_part_of_a_cell_runs_where_a_file_is_read_with_another_delimiter(text, delimiter):
    data = sheets.written_sheet(counted([record(name=text, written=[(text, text)])]))
    for line in csv.reader(data.decode("utf-8-sig").splitlines(), delimiter=delimiter):
        assert not any(cell.startswith(FORMULA) for cell in line)


@given(st.text(st.sampled_from("'=+-@\t\r\n＝ a")) | any_text)
def test_what_is_neutralised_is_restored(text):
    assert restored(neutral(text)) == text and not neutral(text).startswith(FORMULA)


@pytest.mark.parametrize(
    ("number", "text"),
    [(7.0, "7"), (0, "0"), (0.1 + 0.2, "0.3"), (1 / 3, "0.33"), (12345.678, "12345.68"), (100, "100")],
)
def test_numbers_have_two_decimals_at_most(number, text):
    assert sheets.cell_text(number) == text


def test_a_name_with_half_a_character_is_spelt_out():
    (row,) = read(sheets.gradebook_sheet(counted([record(file="x\udce9.ipynb")])))
    assert row["file"] == "x\\udce9.ipynb"


def test_the_files_open_in_a_spreadsheet_as_they_are(tmp_path, book):
    publish(tmp_path, book, record(name="Zoë"))
    for name in ("gradebook", "submissions", "written"):
        data = (tmp_path / f"{name}.csv").read_bytes()
        assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\r\n") == data.count(b"\n")


def test_the_same_records_give_the_same_bytes_in_whatever_order_they_were_graded(tmp_path):
    records = [record(n % 4, student=f"s{n % 5}", file=f"{n}.ipynb", written=[("Why?", str(n))]) for n in range(12)]
    written = []
    for n in range(3):
        random.Random(n).shuffle(records)
        (tmp_path / str(n)).mkdir()
        with Gradebook.open(tmp_path / str(n) / "gradebook.db") as book:
            publish(tmp_path / str(n), book, *records)
        written.append([path.read_bytes() for path in sorted((tmp_path / str(n)).glob("*.csv"))])
    assert written[0] == written[1] == written[2] and len(written[0]) == 3


def set_points(*points):
    def change(rows):
        for row, number in zip(rows, points, strict=True):
            row["points"] = number

    return change


TWO = [("Why?", "=1+1"), ("And then?", "- one\n- two")]


def marked_rows(rows):
    return [(row["question"], row["points"], row["max_points"], row["comment"]) for row in rows]


def test_marks_come_back_and_are_in_the_total(tmp_path, book):
    publish(tmp_path, book, record(3, of=4, written=TWO))
    given_back(tmp_path, set_points("1", ""))
    (row,) = publish(tmp_path, book)
    assert (row.points, row.max_points, row.written) == (4, 5, 1)
    assert marked_rows(read((tmp_path / "written.csv").read_bytes())) == [
        ("Why?", "1", "1", ""),
        ("And then?", "", "1", ""),
    ]


def as_excel_in_german(rows):
    rows = [dict(reversed(list(row.items()))) | {"Notiz": "a;b, c"} for row in reversed(rows)]
    for row in rows:
        row |= {"student": "7", "points": "1,5", "max_points": "2", "comment": "'=gut", "answer": "###"}
    return rows


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"delimiter": ";"}, lambda text: "\ufeff" + text),
        ({"delimiter": ";", "lineterminator": "\n"}, lambda text: text),
        ({"delimiter": "\t", "quoting": csv.QUOTE_ALL}, lambda text: text),
        ({"delimiter": ","}, lambda text: text + "\r\n\r\n"),
    ],
    ids=["semicolons and a mark", "line feeds", "tabs", "empty lines at the end"],
)
def test_a_spreadsheet_may_change_ids_order_columns_delimiter_and_decimal_sign(tmp_path, book, form, text):
    publish(tmp_path, book, record(3, student="007", written=TWO), record(2, student="7", written=TWO))
    given_back(tmp_path, as_excel_in_german, text, **form)
    rows = publish(tmp_path, book)
    assert [(row.student, row.points, row.max_points) for row in rows] == [("007", 6, 8), ("7", 5, 8)]
    assert {mark.comment for row in rows for _, mark, _ in row.answers} == {"=gut"}


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_spreadsheet_may_save_in_its_own_encoding(tmp_path, book, encoding):
    publish(tmp_path, book, record(written=[("Why?", "É")]))
    path = given_back(tmp_path, set_points("1"))
    path.write_bytes(path.read_bytes().decode("utf-8").encode(encoding))
    assert [mark.points for mark in read_marks(path).values()] == [1]


@given(st.text(st.sampled_from("'=+-@\t＝ a;") | st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_a_comment_survives_being_written_and_read(comment):
    (row,) = counted([record(written=[("Why?", "Because.")])])
    marks = {row.answers[0][0].key: Mark(1, 1, comment)}
    (line,) = read(sheets.written_sheet(counted([row.counted.record], marks=marks)))
    assert restored(line["comment"]) == re.sub(r'(?<=[;\t\n])(?="*[=+\-@])', " ", comment)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ("-1", r"row 2 \(ada\): points must be a number from 0 up; got '-1'"),
        ("two", "points must be a number from 0 up; got 'two'"),
        ("nan", "got 'nan'"),
        ("1,000.5", "got '1,000.5'"),
        ("01. Mai", "got '01. Mai'"),
        ("1.5", r"row 2 \(ada\): points must be at most max_points; got 1.5 of 1. Change either."),
    ],
)
def test_a_wrong_mark_names_its_row_and_nothing_is_overwritten(tmp_path, book, points, words):
    publish(tmp_path, book, record(written=TWO))
    before = given_back(tmp_path, set_points(points, "1")).read_bytes()
    with pytest.raises(CsvError, match=words):
        publish(tmp_path, book)
    assert (tmp_path / "written.csv").read_bytes() == before and book.marks() == {}


def test_all_wrong_marks_are_told_of_at_once_but_for_the_many(tmp_path, book):
    publish(tmp_path, book, *(record(student=f"s{n}", written=TWO) for n in range(4)))
    with pytest.raises(CsvError) as caught:
        read_marks(given_back(tmp_path, set_points("2", "1", "x", "y", "1", "z", "-1", "-2")))
    lines = str(caught.value).split("\n")
    assert [line.partition(":")[0] for line in lines[:5]] == [
        f"written.csv, row {row} ({student})"
        for row, student in ((2, "s0"), (4, "s2"), (5, "s3"), (7, "s1"), (8, "s2"))
    ]
    assert lines[5] == "and 1 more such rows"
    assert lines[6:] == [
        "Correct written.csv, or delete it: `labkit report` writes it anew, with the marks taken in so far."
    ]


@pytest.mark.parametrize("dash", ["-", "–", " − "])
def test_a_dash_takes_a_mark_and_its_comment_back(tmp_path, book, dash):
    publish(tmp_path, book, record(3, written=TWO))
    given_back(tmp_path, lambda rows: [row | {"points": "1", "comment": "good"} for row in rows])
    assert publish(tmp_path, book)[0].points == 5
    given_back(tmp_path, set_points(dash, ""))  # an empty cell takes nothing back
    (row,) = publish(tmp_path, book)
    assert (row.points, row.max_points, marks_given([row])) == (4, 5, MarksGiven(2, 1, 0))
    rows = read((tmp_path / "written.csv").read_bytes())
    assert marked_rows(rows) == [("Why?", "", "1", ""), ("And then?", "1", "1", "good")]
    given_back(tmp_path, set_points("0.5", ""))
    assert publish(tmp_path, book)[0].points == 4.5


def test_a_dash_takes_back_what_was_given_for_an_earlier_answer_too(tmp_path, book):
    publish(tmp_path, book, record(written=[("Why?", "Because.")], submitted_at="2026-11-01T10:00+00:00"))
    given_back(tmp_path, set_points("1"))
    later = record(3, digest="d2", written=[("Why?", "No idea.")], submitted_at="2026-11-02T10:00+00:00")
    (row,) = publish(tmp_path, book, later)
    assert row.points == 4 and marks_given([row]) == MarksGiven(1, 0, 1)
    given_back(tmp_path, set_points("-"))
    (row,) = publish(tmp_path, book)
    assert (row.points, row.max_points) == (3, 4)


def most(*points):
    return lambda rows: [row | {"max_points": most} for row, most in zip(rows, points, strict=True)]


def test_what_a_question_can_bring_is_the_same_for_all(tmp_path, book):
    ada, bob = (record(3, student=student, written=TWO[:1]) for student in ("ada", "bob"))
    publish(tmp_path, book, ada, bob)
    given_back(tmp_path, set_points("1", "0.5"))
    publish(tmp_path, book)
    given_back(tmp_path, most("1", "2"))
    words = r"same in all rows of a question; got 1 and 2 \(bob\) for “Why\?” of 02_causal_mask"
    with pytest.raises(CsvError, match=words):
        publish(tmp_path, book)
    given_back(tmp_path, most("2", "2"))
    rows = publish(tmp_path, book, record(3, student="cem", written=TWO[:1]))
    assert [(row.points, row.max_points) for row in rows] == [(4, 6), (3.5, 6), (3, 6)]
    assert [row["max_points"] for row in read((tmp_path / "written.csv").read_bytes())] == ["2"] * 3


def test_what_a_question_can_bring_may_be_written_before_there_is_any_mark(tmp_path, book):
    publish(tmp_path, book, record(3, student="ada", written=TWO[:1]))
    for points in ("3", "1"):
        given_back(tmp_path, most(points))
        (row,) = publish(tmp_path, book)
        assert (row.max_points, marks_given([row])) == (4, MarksGiven(1, 0, 0))
        assert marked_rows(read((tmp_path / "written.csv").read_bytes())) == [("Why?", "", points, "")]


def without_key(rows):
    return [{name: cell for name, cell in row.items() if name != "key"} for row in rows]


def twice(rows):
    return [rows[0] | {"points": "1"}, rows[0] | {"points": "0"}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_key, "columns key and points must be there; got student, name"),
        (twice, "an answer must have one mark; got two that differ"),
        (lambda rows: [rows[0] | {"points": "1", "key": ""}], "a mark needs the row's key"),
    ],
    ids=["no keys", "two marks", "a key deleted"],
)
def test_marks_that_belong_nowhere_are_refused(tmp_path, book, change, words):
    publish(tmp_path, book, record(written=TWO))
    with pytest.raises(CsvError, match=words):
        read_marks(given_back(tmp_path, change))


def test_the_file_of_another_gradebook_is_refused(tmp_path, book):
    publish(tmp_path, book, record(written=TWO))
    given_back(tmp_path, lambda rows: [row | {"key": "m0-a0", "points": "1"} for row in rows[:1]])
    with pytest.raises(GradebookError, match="must be for answers in this gradebook"):
        publish(tmp_path, book)


def test_an_answer_that_changed_after_it_was_marked_is_noted_and_keeps_its_mark(tmp_path, book):
    publish(tmp_path, book, record(written=[("Why?", "Because.")], submitted_at="2026-11-01T10:00+00:00"))
    given_back(tmp_path, set_points("1"))
    later = record(4, digest="d2", written=[("Why?", "No idea.")], submitted_at="2026-11-02T10:00+00:00")
    (row,) = publish(tmp_path, book, later)
    assert row.points == 5
    (line,) = read((tmp_path / "written.csv").read_bytes())
    assert (line["answer"], line["points"], line["note"]) == ("No idea.", "", "An earlier answer got 1 of 1.")
    (line,) = read((tmp_path / "gradebook.csv").read_bytes())
    assert line["remarks"] == "The answer to “Why?” changed after it was marked."
    given_back(tmp_path, set_points("0"))
    assert [row.points for row in publish(tmp_path, book)] == [4]


def test_answers_that_count_by_an_earlier_mark_are_told_of():
    assert str(MarksGiven(12, 8, 2)) == "Written answers: 8 of 12 marked (2 more count from an earlier answer)"
    assert str(MarksGiven(12, 8, 0)) == "Written answers: 8 of 12 marked"


def test_an_answer_with_other_spaces_is_the_same_answer(tmp_path, book):
    publish(tmp_path, book, record(3, written=[("Why?", "Because it\nis.")]))
    given_back(tmp_path, set_points("1"))
    (row,) = publish(tmp_path, book, record(4, digest="d2", written=[("Why?", "Because  it is.\n")]))
    assert [earlier for *_, earlier in row.answers] == [False]


def test_an_answer_that_nobody_wrote_is_not_to_be_marked(tmp_path, book):
    publish(tmp_path, book, record(written=[("Why?", ""), ("And then?", "Well.")]))
    assert [row["question"] for row in read((tmp_path / "written.csv").read_bytes())] == ["And then?"]


def test_a_very_long_answer_is_cut_to_what_a_spreadsheet_holds():
    (row,) = read(sheets.written_sheet(counted([record(result=graded(written=[("Why?", "x" * 10**6)]))])))
    assert len(row["answer"]) < 32_767 and row["answer"].endswith("x […]")
