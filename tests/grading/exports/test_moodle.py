"""Moodle's grade import takes all or nothing; its worksheet comes back with the grades alone filled."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.exports import ExportError, moodle
from labkit.grading.exports.grade_sheet import Student

MAIL = {"17": "Ada@example.org", "18": "bob@example.org", "19": "eve@example.org"}
WORKSHEET = (
    b"\xef\xbb\xbfIdentifier,"
    b"Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Feedback comments\r\n"
    b'Participant 17,"Ada ""L""",ada@example.org,Submitted,,20.00,Yes,"two\r\nlines"\r\n'
    b"Participant 18,=Bob,bob@example.org,Submitted,3.00,20.00,Yes,\r\n"
    b"Participant 19,Eve,eve@example.org,Submitted,,20.00,No,\r\n"
    b"Participant 020,Nil,nil@example.org,No submission,-,20.00,Yes,\r\n"
)


def rows(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def students(points, most=20, mail=MAIL):
    return [Student((student,), mail.get(student, ""), score, most) for student, score in points.items()]


def fill(data, points, most=20, **others):
    filled = moodle.worksheet(data, **others).filled(students(points, most))
    return filled.data, filled.notes


def test_only_students_with_a_score_get_a_row_and_ids_are_as_moodle_has_them():
    made = moodle.grade_import(students({"17": 12.5, "18": 0, "19": None}))
    assert rows(made.data) == [["Email address", "Grade"], ["Ada@example.org", "12.5"], ["bob@example.org", "0"]]
    assert made.notes == ("Left out, since they have no score: '19'.",)
    assert (made.students, made.of) == (2, 3)


def test_students_whom_the_roster_does_not_know_are_left_out_since_one_stops_the_whole_import():
    made = moodle.grade_import(students({"17": 1, "77": 2, "07": 3}))
    assert rows(made.data)[1:] == [["Ada@example.org", "1"]]
    assert made.notes == ("Left out, since the roster has no Email address for them: '77', '07'.",)


def test_two_students_with_one_address_are_left_out():
    made = moodle.grade_import(students({"17": 1, "18": 2}, mail=MAIL | {"18": MAIL["17"]}))
    assert (rows(made.data)[1:], made.students) == ([], 0)
    assert made.notes == ("Left out, since they share their Email address: '17', '18'.",)


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 20), max_size=5))
def test_any_address_survives_the_import_file(scores):
    made = moodle.grade_import(students(scores, mail={student: student for student in scores}))
    assert {name: float(grade) for name, grade in rows(made.data)[1:]} == {s: round(x, 2) for s, x in scores.items()}


def test_the_worksheet_is_filled_by_participant_and_nothing_else_changes():
    filled, notes = fill(WORKSHEET, {"17": 12.5, "18": 20})
    expected = WORKSHEET.replace(b"Submitted,,20.00,Yes", b"Submitted,12.5,20.00,Yes").replace(b",3.00,", b",20,")
    assert filled == expected
    assert notes == ("In the file, but without a score, so left as they were: '19', '020'.",)


def test_participants_are_texts_and_addresses_serve_too():
    filled, notes = fill(WORKSHEET, {"20": 1, "bob@example.org": 2})
    assert filled == WORKSHEET.replace(b",3.00,", b",2,")
    assert notes[0] == "With a score, but not in the file: '20'."


def test_a_name_that_ends_in_a_number_is_no_participant():
    sheet = b"Full name,Grade\nRobot 17,\nAda,\n"
    filled, notes = fill(sheet, {"17": 1})
    assert filled == sheet and notes[0] == "With a score, but not in the file: '17'."


def test_what_moodle_would_refuse_is_left_and_said():
    filled, notes = fill(WORKSHEET, {"19": 1, "18": 21})
    assert filled == WORKSHEET
    assert notes[1:] == (
        "Left as they were, since Moodle says that the grade can't be changed: '19'.",
        "Left as they were, since their scores are above the maximum grade of 20.00: '18'.",
    )


@pytest.mark.parametrize("header", ["Maximum Grade", "Beste Bewertung"])
@pytest.mark.parametrize("maximum", ["100.00", "100,00"])
def test_a_maximum_that_is_not_what_the_lab_is_worth_is_noted(header, maximum):
    sheet = f'Identifier,Grade,{header}\nParticipant 17,,"{maximum}"\nParticipant 18,,"{maximum}"\n'.encode()
    filled, notes = fill(sheet, {"17": 28, "18": 3}, most=28)
    assert b'17,28,"' in filled
    assert notes == ("The lab is worth 28 points, the maximum in Moodle is 100: change that in Moodle.",)
    assert fill(sheet, {"17": 28, "18": 3}, most=100)[1] == ()


def test_a_worksheet_with_decimal_commas_gets_a_quoted_one():
    sheet = b'ID,Bewertung,Beste Bewertung\nTeilnehmer/in17,"3,50","20,00"\nTeilnehmer/in18,,"20,00"\n'
    filled, _ = fill(sheet, {"17": 4.25, "18": 2.5}, column="Bewertung")
    assert filled == sheet.replace(b"3,50", b"4,25").replace(b"in18,,", b'in18,"2,5",')


def test_a_worksheet_without_grades_is_an_error_that_lists_what_is_there():
    match = "headed 'Grade'; got 'Identifier', 'Full name'. Name the one for grades with --column."
    with pytest.raises(ExportError, match=match):
        fill(b"Identifier,Full name\n", {})
