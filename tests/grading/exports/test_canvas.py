"""Canvas's gradebook comes back with one column filled and every other byte as it was."""

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.exports import ExportError, canvas
from labkit.grading.exports.grade_sheet import Student

COLUMN = "Lab 3 (1234)"
EXPORTED = (
    b"Student,ID,SIS User ID,SIS Login ID,Section,Lab 2 (1233),Lab 3 (1234),Final Score\n"
    b",,,,,,Manual Posting,\n"
    b"    Points Possible,,,,,10,20,(read only)\n"
    b'"Lovelace, Ada",17,007,ada@example.org,"A and ""B""",9.5,,1\n'
    b'"=HYPERLINK(""x"")",18,7,bob@example.org,A,,3,1\n'
    b'"Two\nlines",19,8,eve@example.org,A,,EX,\n'
    b"Nobody,20,9,no@example.org,A,,-,\n"
    b"Moved,21,10,moved@example.org,A,,N/A,\n"
    b'"Student, Test",22,,x,A,,,\n'
)


def fill(data, column, points, most=20):
    """Fill in points by id."""
    students = [Student((student,), "", score, most) for student, score in points.items()]
    filled = canvas.gradebook(data, column).filled(students)
    return filled.data, filled.notes


def lines_that_differ(before, after):
    return [(a, b) for a, b in zip(before.split(b"\n"), after.split(b"\n"), strict=True) if a != b]


def test_scores_are_written_by_canvas_id_and_nothing_else_changes():
    filled, notes = fill(EXPORTED, COLUMN, {"17": 12.5, "18": 20})
    assert lines_that_differ(EXPORTED, filled) == [
        (
            b'"Lovelace, Ada",17,007,ada@example.org,"A and ""B""",9.5,,1',
            b'"Lovelace, Ada",17,007,ada@example.org,"A and ""B""",9.5,12.5,1',
        ),
        (b'"=HYPERLINK(""x"")",18,7,bob@example.org,A,,3,1', b'"=HYPERLINK(""x"")",18,7,bob@example.org,A,,20,1'),
    ]
    assert notes == ("In the file, but without a score, so left as they were: '19', '20', '21'.",)


@pytest.mark.parametrize("student", ["007", "ada@example.org"])
def test_students_are_found_by_their_other_ids_too(student):
    filled, notes = fill(EXPORTED, COLUMN, {student: 1})
    assert b"9.5,1,1\n" in filled and len(notes) == 1


def test_ids_are_texts():
    filled, notes = fill(EXPORTED, COLUMN, {"07": 1, "017": 1, "17.0": 1, "ADA@example.org": 1})
    assert filled == EXPORTED
    expected = "With a score, but not in the file: '07', '017', '17.0', 'ADA@example.org'."
    assert notes[0] == expected


def test_excused_students_and_those_whom_the_assignment_is_not_for_are_left_and_named():
    filled, notes = fill(EXPORTED, COLUMN, {"19": 4, "21": 5, "20": 6})
    assert lines_that_differ(EXPORTED, filled) == [
        (b"Nobody,20,9,no@example.org,A,,-,", b"Nobody,20,9,no@example.org,A,,6,")
    ]
    assert notes[1:] == (
        "Left as they were, excused (EX): '19'.",
        "Left as they were, the assignment isn't theirs (N/A): '21'.",
    )


@pytest.mark.parametrize("student", ["22", "x", "", "Student, Test"])
def test_the_test_student_and_the_points_possible_stay(student):
    filled, notes = fill(EXPORTED, COLUMN, {student: 4})
    assert filled == EXPORTED and repr(student) in notes[0]


def test_with_semicolons_and_decimal_commas_a_decimal_comma_is_written():
    exported = "Student;ID;Section;Übung (5)\r\nPoints Possible;;;10,00\r\nMeier;1;A;8,00\r\nRoth;2;A;\r\n"
    filled, _ = fill(exported.encode(), "Übung (5)", {"1": 7.5, "2": 3})
    assert filled == exported.replace("8,00", "7,5").replace("Roth;2;A;", "Roth;2;A;3").encode()


@pytest.mark.parametrize("possible", ["20", "20.0", "20,00"])
def test_points_possible_that_are_not_what_the_lab_is_worth_are_noted(possible):
    exported = EXPORTED.replace(b"10,20,(read", b'10,"' + possible.encode() + b'",(read')
    _, notes = fill(exported, COLUMN, {"17": 12}, 28)
    assert notes[-1] == "The lab is worth 28 points, the maximum in Canvas is 20: change that in Canvas."
    _, notes = fill(exported, COLUMN, {"17": 12}, 20.0)
    assert "maximum" not in notes[-1]


def test_a_column_that_is_missing_is_an_error_which_lists_the_assignments():
    message = (
        "export canvas: one column must be headed 'Lab 3'; got 0 of them. "
        "The assignments are: 'Lab 2 (1233)', 'Lab 3 (1234)'."
    )
    with pytest.raises(ExportError, match=f"^{re.escape(message)}$"):
        fill(EXPORTED, "Lab 3", {})


@pytest.mark.parametrize("column", ["ID", "Student", "Final Score"])
def test_a_column_that_is_no_assignment_is_not_filled(column):
    with pytest.raises(ExportError, match="got 0 of them"):
        fill(EXPORTED, column, {"17": 1})


def test_a_column_that_is_there_twice_is_an_error():
    with pytest.raises(ExportError, match="got 2 of them"):
        fill(EXPORTED.replace(b"Lab 2 (1233)", b"Lab 3 (1234)"), COLUMN, {})


def filled_in(*students, exported=EXPORTED, column=COLUMN):
    return canvas.gradebook(exported, column).filled([Student(ids, "", points, 20) for ids, points in students])


def test_of_a_students_ids_the_one_in_the_file_counts():
    filled = filled_in((("ada", "17"), 5), (("no", "one"), 1))
    assert b"9.5,5,1\n" in filled.data and (filled.students, filled.of) == (1, 5)
    assert "'no'" in filled.notes[0] and "'17'" not in "".join(filled.notes)


SHORT = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (1),Quiz (2)\n"
    '"Lovelace, Ada",101,s1,ada,S,,5\n"Bob, Bob",202,s2,bob,S,,4\n'
)
LEFT_OUT = (
    "With a score, but left out, since their ids stand in several rows, or in one that may be another student's: "
)


@pytest.mark.parametrize("bob", [None, 3])
@pytest.mark.parametrize("exported", [SHORT, SHORT.replace('"Lovelace, Ada",101,s1,ada,S,,5\n', "")])
def test_an_id_that_may_be_somebody_elses_fills_in_nothing(exported, bob):
    """Ada's own number is the one by which Canvas knows Bob, whether she is in the file or not."""
    filled = filled_in((("202", "101"), 28), (("303", "202"), bob), exported=exported.encode(), column="Lab 3 (1)")
    assert (filled.data, filled.students) == (exported.encode(), 0)
    assert f"{LEFT_OUT}'202'{', ' + repr('303') if bob else ''}. Fill these in by hand." in filled.notes


def test_a_student_who_is_in_two_rows_is_left_out():
    exported = SHORT.replace("S,,4\n", "S,,4\n" + '"Lovelace, Ada",101,s1,ada,S2,,5\n').encode()
    filled = filled_in((("101",), 5), (("202",), 6), exported=exported, column="Lab 3 (1)")
    assert filled.data == exported.replace(b"bob,S,,4", b"bob,S,6,4")
    assert filled.notes == (f"{LEFT_OUT}'101'. Fill these in by hand.",)


def test_ids_are_looked_for_under_ids_alone():
    filled = filled_in((("5",), 28), exported=SHORT.encode(), column="Lab 3 (1)")
    assert filled.data == SHORT.encode() and filled.notes[0] == "With a score, but not in the file: '5'."


@pytest.mark.parametrize(
    ("torn", "name"),
    [
        ('"Lovelace, Ada,101,s1,ada,S,,5\n"Bob, Bob",202,s2,bob,S,,4\n', r"'Lovelace, Ada,101,s1,ada,S,,5\nBob'"),
        ('"Lovelace, Ada",101\n', "'Lovelace, Ada'"),
        ('"Lovelace Ada,101,s1,ada,S,,5\n"Bob",202,s2,bob,S,,4\n', "'Lovelace Ada,101,s1,ada,S,,5\\nBob\"'"),
    ],
)
def test_a_damaged_row_is_left_alone_and_named(torn, name):
    exported = (SHORT.partition("\n")[0] + "\n" + torn + "Cyd,303,s3,cyd,S,,\n").encode()
    points = ((("101",), 5), (("202",), 6), (("303",), 7))
    filled = filled_in(*points, exported=exported, column="Lab 3 (1)")
    assert filled.data == exported.replace(b"cyd,S,,", b"cyd,S,7,")
    assert filled.notes[1].endswith(f"or a quotation mark too few: row 2 ({name}). Export the file again.")


def test_a_file_that_is_no_gradebook_is_an_error():
    with pytest.raises(ExportError, match="must have the headers of a Canvas gradebook.*got 'Name', 'Mark'"):
        fill(b"Name,Mark\nada,3\n", "Mark", {"ada": 1})
    with pytest.raises(ExportError, match="headers of a Canvas gradebook.*got an empty file"):
        fill(b"", "Mark", {})


def test_names_in_two_columns_do_no_harm():
    exported = b"LastName,FirstName,ID,SIS Login ID,Section,L (1)\nStudent,Test,9,t,A,\nLovelace,Ada,17,ada,A,\n"
    filled, notes = fill(exported, "L (1)", {"17": 1, "9": 1})
    assert filled == exported.replace(b"ada,A,", b"ada,A,1") and "'9'" in notes[0]


def test_a_file_in_an_old_encoding_keeps_it():
    exported = "Student,ID,Section,Über (1)\nMüller,1,A,\n".encode("cp1252")
    assert fill(exported, "Über (1)", {"1": 2})[0] == exported[:-1] + b"2\n"


# A file in pieces: what stands before the cell, in it and after it. The test puts together what must come out.
NAMES = st.text(alphabet='=a,;"\n\r ünß', max_size=8)
ROWS = st.lists(st.tuples(NAMES, st.sampled_from(["", "-", "3", '"4"', "5.25"]), NAMES), max_size=6)


@given(ROWS, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([",", ";"]), st.booleans(), st.data())
def test_every_byte_outside_of_the_column_stays(rows, end, delimiter, bom, data):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    header = delimiter.join(["Student", "ID", "Section", "Lab (1)", "Other (2)"]) + end
    before = after = (codecs.BOM_UTF8 if bom else b"") + header.encode()
    scores, decimal_commas = {}, delimiter == ";" and not any(cell == "5.25" for _, cell, _ in rows)
    for number, (name, cell, rest) in enumerate(rows):
        head, tail = [quoted(name), f"{number}", "A", ""], ["", quoted(rest) + end]
        before += (delimiter.join(head) + cell + delimiter.join(tail)).encode()
        if data.draw(st.booleans()):
            scores[str(number)] = data.draw(st.integers(0, 80)) / 4
            text = f"{scores[str(number)]:g}"
            if decimal_commas:
                text = text.replace(".", ",")
            cell = quoted(text) if cell.startswith('"') else text
        after += (delimiter.join(head) + cell + delimiter.join(tail)).encode()
    filled, notes = fill(before, "Lab (1)", scores)
    assert filled == after
    assert fill(filled, "Lab (1)", scores) == (filled, notes)
