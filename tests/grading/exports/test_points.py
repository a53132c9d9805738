"""From a gradebook of ours to those of Canvas and Moodle, through the command line."""

import csv
import io
from dataclasses import replace

import pytest
from grading.rows import got

from labkit.__main__ import main
from labkit.grading.publish import publish
from labkit.grading.records.gradebook import Gradebook
from labkit.grading.submission import GRADED, UNGRADABLE, Graded, Submission

CANVAS = (
    "\ufeffStudent;ID;SIS User ID;SIS Login ID;Section;Lab 3 (1234);Lab 4 (99)\r\n"
    "    Points Possible;;;;;4,0;5\r\n"
    '"Lovelace; Ada";901;007;ada;A;;3,5\r\n'
    "=Bob;902;7;bob;A;EX;\r\n"
    "Carol;903;8;carol;A;2;\r\n"
    '"Student, Test";904;;;A;;\r\n'
)
ROSTER = [
    {"id": "007", "name": "Ada Lovelace", "email": "Ada@x.org", "others": ["901"]},
    {"id": "7", "name": "=Bob", "email": "bob@x.org", "others": ["902"]},
]


def submission(student, lab="02_causal_mask"):
    return Submission(student, "", f"{student}.ipynb", f"digest of {student}", lab=lab)


@pytest.fixture
def graded(tmp_path):
    folder = tmp_path / "graded"
    folder.mkdir()
    with Gradebook.open(folder / "gradebook.db") as book:
        book.remember("roster", ROSTER)
        book.record(submission("901"), Graded(GRADED, outcomes=(got(3.25, "softmax"),)), "f")
        book.record(submission("902"), Graded(GRADED, outcomes=(got(1, "softmax"),)), "f")
        book.record(submission("903"), Graded(UNGRADABLE, "It is empty."), "f")
        publish(folder, book)
    return folder


def test_one_column_of_canvas_is_filled_and_nothing_else_is_touched(graded, tmp_path, capsys):
    exported = tmp_path / "Grades.csv"
    exported.write_bytes(CANVAS.encode())
    assert main(["export", "canvas", str(exported), "--column", "Lab 3 (1234)", "--graded", str(graded)]) == 0
    wanted = CANVAS.replace("ada;A;;", "ada;A;3,25;")
    assert (tmp_path / "Grades-filled.csv").read_bytes() == wanted.encode()
    said = capsys.readouterr().out
    assert "excused (EX)" in said and "'903'" in said
    assert "Filled in: 1 of 3 students." in said


def test_moodle_gets_a_line_for_each_score_by_the_address_that_it_knows(graded, tmp_path, capsys):
    to = tmp_path / "moodle.csv"
    assert main(["export", "moodle", "--graded", str(graded), "--to", str(to), "--lab", "02"]) == 0
    assert capsys.readouterr().out == (
        f"Note: Left out, since they have no score: '903'.\nFilled in: 2 of 3 students.\nImport {to}\n"
    )
    assert to.stat().st_mode & 0o777 == 0o600
    rows = list(csv.reader(io.StringIO(to.read_text(encoding="utf-8"), newline="")))
    assert rows == [["Email address", "Grade"], ["Ada@x.org", "3.25"], ["bob@x.org", "1"]]


def test_moodles_own_worksheet_is_filled(graded, tmp_path):
    worksheet, to = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    text = "Identifier,Full name,Grade,Maximum Grade\nParticipant 901,Ada,,4.00\nParticipant 903,Carol,2.00,4.00\n"
    worksheet.write_text(text)
    assert main(["export", "moodle", str(worksheet), "--graded", str(graded), "--to", str(to)]) == 0
    assert to.read_text() == text.replace("Ada,,", "Ada,3.25,")


def test_a_worksheet_in_another_language_is_filled_under_the_header_that_is_named(graded, tmp_path):
    worksheet = tmp_path / "Bewertung.csv"
    text = "ID,Bewertung,Beste Bewertung\nTeilnehmer/in901,,4\n"
    worksheet.write_text(text)
    assert main(["export", "moodle", str(worksheet), "--column", "Bewertung", "--graded", str(graded)]) == 0
    assert (tmp_path / "Bewertung-filled.csv").read_text() == text.replace(",,", ",3.25,")


def test_where_nobody_fits_nothing_is_written_and_it_is_said_what_to_do(graded, tmp_path, capsys):
    worksheet = tmp_path / "sheet.csv"
    worksheet.write_text("Identifier,Grade\nParticipant 5,\n")
    assert main(["export", "moodle", str(worksheet), "--graded", str(graded)]) == 1
    assert "Nothing was written, since nobody's points could be filled in. Where ids differ" in capsys.readouterr().out
    assert not (tmp_path / "sheet-filled.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["export", "canvas", "{}/missing.csv", "--column", "x", "--graded", "{}/graded"], "missing.csv"),
        (["export", "canvas", "{}/Grades.csv", "--column", "Lab 9", "--graded", "{}/graded"], "'Lab 3 (1234)'"),
        (["export", "canvas", "{}/Grades.csv", "--column", "Lab 3 (1234)", "--graded", "{}/none"], "labkit grade"),
        (["export", "moodle", "--graded", "{}/graded", "--lab", "05_long_sequences"], "02_causal_mask"),
        (["export", "moodle", "--graded", "{}/graded", "--to", "{}/graded/gradebook.db"], "must be a .csv"),
        (
            ["export", "moodle", "--graded", "{}/graded", "--to", "{}/none/m.csv"],
            "none/m.csv: No such file or directory.",
        ),
        (["export", "moodle", "--graded", "{}/graded", "--to", "/dev/null"], "must be a .csv"),
        (["export", "moodle", "--graded", "{}/graded", "--to", "{}/folder.csv"], "folder.csv must be a file"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_line(graded, tmp_path, capsys, arguments, complaint):
    (tmp_path / "Grades.csv").write_bytes(CANVAS.encode())
    (tmp_path / "folder.csv").mkdir()
    assert main([one.format(tmp_path) for one in arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1


def test_several_labs_have_to_be_told_apart(graded, tmp_path, capsys):
    with Gradebook.open(graded / "gradebook.db") as book:
        book.record(submission("901", "01_one_head"), Graded(GRADED, outcomes=(got(1),)), "f")
    assert main(["export", "moodle", "--graded", str(graded), "--to", str(tmp_path / "m.csv")]) == 2
    assert capsys.readouterr().err == (
        "export: one lab must be chosen; got no --lab. There are: '01_one_head', '02_causal_mask'. "
        "Name one with --lab.\n"
    )


def test_two_assignments_of_one_lab_have_to_be_told_apart(graded, tmp_path, capsys):
    with Gradebook.open(graded / "gradebook.db") as book:
        again = replace(submission("901"), batch="ps2")
        book.record(again, Graded(GRADED, outcomes=(got(4, "softmax"),)), "f")
    export = ["export", "moodle", "--graded", str(graded), "--to", str(tmp_path / "m.csv")]
    assert main(export) == 2
    assert "one batch must be chosen; got no --batch. There are: '', 'ps2'." in capsys.readouterr().err
    assert main([*export, "--batch", "ps2"]) == 0
    assert (tmp_path / "m.csv").read_text().splitlines() == ["Email address,Grade", "Ada@x.org,4"]
