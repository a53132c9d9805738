"""``labkit grade`` and ``labkit report``: exit statuses, words for people, JSON for machines, and what a run leaves."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from interrupts import heed_interrupts
from notebook_files import cell, in_folder, notebook

from labkit.__main__ import main
from labkit.grading.handed_in.questions import known_labs, readable
from labkit.grading.records.gradebook import Gradebook

LAB = "02_causal_mask"
RIGHT = "import numpy as np\ndef causal_mask(n):\n    return np.tri(n, dtype=bool)"  # 2 points
WRONG = "import numpy as np\ndef causal_mask(n):\n    return ~np.tri(n, dtype=bool)"
TABLE = "zero_fill_weights = [0.73, 0.27]"  # 1 point
DAMAGED = b'{"cells": ['


def labkit(*arguments, begin="from labkit.__main__ import main", env=None):
    """Run a command in a process of its own."""
    code = f"import sys\n{begin}\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env)


def grade(root, *more, status=0, **options) -> dict:
    """Grade what lies in ``root/in`` into ``root/out``; what the command says to machines."""
    done = labkit("grade", root / "in", "--out", root / "out", "--json", *more, **options)
    assert (done.returncode, done.stderr) == (status, ""), done
    return json.loads(done.stdout)


def rows(root, sheet="gradebook.csv") -> dict[str, dict]:
    with (root / "out" / sheet).open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def handed_in(root, files):
    in_folder(root / "in", files)
    return root


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of three, one with a damaged file."""
    root = tmp_path_factory.mktemp("graded")
    handed_in(root, {"ada.ipynb": notebook(RIGHT, TABLE), "bob.ipynb": notebook(WRONG), "cem.ipynb": DAMAGED})
    return root, labkit("grade", root / "in", "--out", root / "out")


def test_a_batch_is_graded_and_told_in_words(graded):
    root, done = graded
    assert (done.returncode, done.stderr) == (0, "")
    first, notebooks, rule, isolation, ungradable, look = done.stdout.splitlines()
    assert first == "Graded 3 of 3 submissions now."
    assert notebooks == "Notebooks: 2 graded, 1 ungradable"
    assert rule.endswith("the best attempt counts, no due date, nothing off for lateness")
    assert isolation.startswith("Isolation: ")
    assert ungradable.startswith("Ungradable: cem.ipynb: The file is cut off or damaged at line 1, column 12")
    assert look == f"Look at {root / 'out' / 'report.html'}"
    assert [row["points"] for row in rows(root).values()] == ["3", "0", ""]
    assert {path.stem for path in (root / "out" / "feedback").iterdir()} == {"ada", "bob", "cem"}


def test_machines_get_one_json_object_and_a_second_run_grades_nothing(graded):
    root, _ = graded
    before = {path: path.read_bytes() for path in (root / "out").rglob("*.*") if path.suffix in (".csv", ".html")}
    said = grade(root)
    assert (said["ok"], said["stopped"], said["submissions"], said["graded_now"]) == (True, False, 3, 0)
    assert said["students"] == {"graded": 2, "ungradable": 1} and said["system_errors"] == []
    assert list(said["ungradable"]) == ["cem.ipynb"]
    assert said["report"] == str(root / "out" / "report.html")
    assert before == {path: path.read_bytes() for path in before}


# ---- misuse ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path):
    """A notebook that was handed in, and files that are of no use."""
    in_folder(
        tmp_path, {"in/ada.ipynb": notebook(RIGHT), "empty/notes.csv": "", "file": "x", "no-roster.csv": "a,b\n1,2"}
    )
    in_folder(tmp_path, {"old/gradebook.db": b"SQLite format 3?", "open/secret": " \n", "broken.zip": b"PK\3\4"})
    with sqlite3.connect(tmp_path / "gradebook.db") as other:
        other.execute("CREATE TABLE grades (student)")
    other.close()
    return tmp_path


MISUSE = {
    "no such path": (["nothing"], "nothing: there is no such file or folder. Look at the spelling."),
    "an empty folder": (["empty"], "must hold what students handed in; nothing was found. Give another path."),
    "a broken archive": (["broken.zip"], "must be a folder, a .zip or an .ipynb file, and whole"),
    "a lab that isn't there": (["in", "--lab", "lab2"], "lab: must be one of 00_warm_up, "),
    "no such roster": (["in", "--roster", "nothing.csv"], "nothing.csv: there is no such file"),
    "a roster without names": (["in", "--roster", "no-roster.csv"], "must have a column id, name or e-mail; got a, b."),
    "no date": (
        ["in", "--due", "tomorrow"],
        "due: must be a date such as 2026-12-01 or 2026-12-01T23:59; got 'tomorrow'",
    ),
    "no such secret": (["in", "--secret", "secrte"], "secret: secrte must hold the course's secret; there is no such"),
    "an empty file for a secret": (
        ["in", "--secret", "empty/notes.csv"],
        "must hold a text that nobody guesses; it is",
    ),
    "a folder for a secret": (["in", "--secret", "empty"], "empty: Is a directory. Give another path."),
    "a folder for a roster": (["in", "--roster", "empty"], "empty: Is a directory. Give another path."),
    "a file for results": (["in", "--out", "file"], "file: File exists. Give another path."),
    "the gradebook of others": (
        ["in", "--out", "."],
        "must be a gradebook of version 3; got some other program's file.",
    ),
    "no database": (["in", "--out", "old"], "gradebook.db: a gradebook must be an intact SQLite file"),
    "an empty secret": (["in", "--out", "open"], "must hold a text that nobody guesses; it is empty."),
}


@pytest.mark.parametrize("kind", MISUSE)
def test_misuse_is_one_line_that_says_what_to_do(course, monkeypatch, capsys, kind):
    monkeypatch.chdir(course)
    arguments, words = MISUSE[kind]
    status = main(["grade", *arguments, *([] if "--out" in arguments else ["--out", "out"])])
    said = capsys.readouterr()
    assert (status, said.out) == (2, "")
    assert words in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--jobs", "0", "must be a whole number from 1 to 1000; got '0'. Give another."),
        ("--jobs", "1.5", "must be a whole number from 1 to 1000; got '1.5'."),
        ("--cell-seconds", "-1", "must be a number from 0.1 to 3600; got '-1'."),
        ("--call-seconds", "nan", "must be a number from 0.1 to 3600; got 'nan'."),
        ("--call-seconds", "inf", "must be a number from 0.1 to 3600; got 'inf'."),
        ("--late", "ten", "must be a number from 0 to 100; got 'ten'. Give another."),
        ("--late", "101%", "must be a number from 0 to 100; got '101'."),
        ("--late", "nan", "must be a number from 0 to 100; got 'nan'."),
        ("--late", "-1", "must be a number from 0 to 100; got '-1'."),
        ("--refuse-after", "-1", "must be a whole number from 0 to 1000; got '-1'."),
    ],
)
def test_a_number_that_is_none_is_misuse_of_its_flag(capsys, flag, value, words):
    with pytest.raises(SystemExit) as stop:
        main(["grade", "in", "--out", "out", flag, value])
    assert stop.value.code == 2
    assert f"error: argument {flag}: {words}" in capsys.readouterr().err


def test_interrupted_before_it_grades_it_says_so_and_nothing_else(course):
    os.mkfifo(course / "roster.csv")
    files = (course / "in", "--out", course / "out", "--roster", course / "roster.csv")
    command = [sys.executable, "-m", "labkit", "grade", *files]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    with running, (course / "roster.csv").open("wb"):  # once it is being read
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=30)[1]
    assert (running.returncode, said) == (130, "Stopped. The same command goes on, or begins anew.\n")


def test_machines_are_told_of_misuse_too(tmp_path, capsys):
    assert main(["grade", str(tmp_path / "nothing"), "--out", str(tmp_path / "out"), "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "ok": False,
        "error": f"{tmp_path / 'nothing'}: there is no such file or folder. Look at the spelling.",
    }
    assert said.err == ""


def test_a_gradebook_in_use_is_misuse_in_one_line(course, monkeypatch, capsys):
    monkeypatch.setitem(Gradebook.open.__func__.__kwdefaults__, "wait", 0.1)
    (course / "out").mkdir()
    with Gradebook.open(course / "out" / "gradebook.db"):
        assert main(["grade", str(course / "in"), "--out", str(course / "out")]) == 2
        assert main(["report", str(course / "out")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and all("another one has it open. Wait until it is done" in line for line in said)


def test_a_report_of_nothing_is_misuse(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("got nothing. Run `labkit grade` first.\n")


# ---- findings --------------------------------------------------------------------------------------------------------

FAILING = """
from labkit.__main__ import main
from labkit.grading import grader
sit = grader.sit
def fails(one):
    if one.submission.student == "bob":
        raise RuntimeError("no room left")
    return sit(one)
grader.sit = fails
"""


def test_a_failure_of_the_grader_is_a_finding_and_is_tried_again(tmp_path):
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT), "bob.ipynb": notebook(RIGHT)})
    said = grade(tmp_path, status=1, begin=FAILING)
    assert (said["ok"], said["system_errors"]) == (False, ["bob.ipynb"])
    ada, bob = rows(tmp_path).values()
    assert (ada["points"], bob["points"], bob["status"]) == ("2", "", "system_error")
    assert "no room left" in bob["reason"] and "not the student's fault" in bob["reason"]
    page = (tmp_path / "out" / "feedback" / "bob.html").read_text(encoding="utf-8")
    assert "This is not your fault" in page and "no room left" not in page
    again = grade(tmp_path)
    assert (again["ok"], again["graded_now"], rows(tmp_path)["bob"]["points"]) == (True, 1, "2")


# ---- who and when ----------------------------------------------------------------------------------------------------


def test_ids_that_look_alike_are_two_students_and_noted(tmp_path):
    handed_in(tmp_path, {"007.ipynb": notebook(RIGHT), "7.ipynb": notebook(WRONG), "eve.ipynb": notebook(RIGHT)})
    in_folder(tmp_path, {"roster.csv": "id,name\n007,James\n7,Ann\n8,Max\n"})
    said = grade(tmp_path, "--roster", tmp_path / "roster.csv")
    assert (said["students"], said["unknown"]) == ({"graded": 3, "missing": 1}, ["eve"])
    assert (said["missing"], said["names"]) == ({LAB: ["8"]}, {"8": "Max"})
    told = labkit("grade", tmp_path / "in", "--out", tmp_path / "out").stdout.splitlines()
    assert f"Missing at {LAB}: Max (8)" in told and "Not on the roster: eve" in told
    assert [note for note in said["notes"] if "'007' and '7' differ only in zeros" in note]
    of = rows(tmp_path)
    assert {student: (row["name"], row["points"], row["status"]) for student, row in of.items()} == {
        "007": ("James", "2", "graded"),
        "7": ("Ann", "0", "graded"),
        "8": ("Max", "", "missing"),
        "eve": ("", "2", "graded"),
    }


def test_lateness_costs_what_was_said_and_a_later_run_may_say_something_else(tmp_path):
    handed_in(tmp_path, {})
    for student, time in {
        "ada": "2026-12-01 22:00:00",
        "bob": "2026-12-02 01:00:00",
        "cem": "2026-12-09 01:00:00",
    }.items():
        files = {"lab.ipynb": notebook(RIGHT), "timestamp.txt": f"{time} UTC\n"}
        in_folder(tmp_path / "in" / "submitted" / student / LAB, files)
    due = ("--due", "2026-12-01T23:59+00:00")
    grade(tmp_path, *due, "--late", "10", "--refuse-after", "5")
    assert [(row["late"], row["points"]) for row in rows(tmp_path).values()] == [
        ("", "2"),
        ("1 day", "1.8"),
        ("8 days", "0"),
    ]
    assert "too late for points" in rows(tmp_path)["cem"]["reason"]
    assert grade(tmp_path, "--late", "0", "--refuse-after", "never")["graded_now"] == 0
    assert [(row["late"], row["points"]) for row in rows(tmp_path).values()] == [
        ("", "2"),
        ("1 day", "2"),
        ("8 days", "2"),
    ]


HOSTILE = "b\x1b]0;mine\x07\nGraded 9 of 9 submissions now.\u202e"


@pytest.mark.parametrize("encoding", ["utf-8:strict", "latin-1"])
def test_names_do_nothing_to_the_terminal_whatever_it_can_show(tmp_path, encoding):
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT), f"{HOSTILE}/x.pdf": b"x", "Žofie/x.pdf": b"x"})
    in_folder(tmp_path / "in" / os.fsdecode(b"\xff"), {"x.pdf": b"x"})
    done = labkit("grade", tmp_path / "in", "--out", tmp_path / "out", env=os.environ | {"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("Graded")] == ["Graded 4 of 4 submissions now."]
    assert r"Ungradable: b\x1b]0;mine\x07\nGraded 9 of 9 submissions now.\u202e/x.pdf: " in done.stdout
    assert r"Ungradable: \udcff/x.pdf: " in done.stdout
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout


# ---- attempts --------------------------------------------------------------------------------------------------------


def test_the_best_attempt_counts_unless_the_last_is_asked_for(tmp_path):
    handed_in(tmp_path, {"ada/lab (1).ipynb": notebook(RIGHT), "ada/lab (2).ipynb": notebook(WRONG)})
    grade(tmp_path)
    assert (rows(tmp_path)["ada"]["points"], rows(tmp_path)["ada"]["attempts"]) == ("2", "2")
    grade(tmp_path, "--keep", "last")
    assert (rows(tmp_path)["ada"]["points"], rows(tmp_path)["ada"]["file"]) == ("0", "ada/lab (2).ipynb")


def test_only_a_changed_file_is_graded_again_and_the_better_attempt_stays(tmp_path):
    handed_in(tmp_path, {"ada/lab.ipynb": notebook(WRONG), "bob/lab (1).ipynb": notebook(RIGHT)})
    grade(tmp_path)
    handed_in(tmp_path, {"ada/lab.ipynb": notebook(RIGHT), "bob/lab (2).ipynb": DAMAGED})
    assert grade(tmp_path)["graded_now"] == 2
    ada, bob = rows(tmp_path).values()
    assert (ada["points"], ada["attempts"]) == ("2", "2")
    assert (bob["points"], bob["status"], bob["attempts"]) == ("2", "graded", "2")
    assert bob["reason"].startswith("The last attempt, bob/lab (2).ipynb, has no score: The file is cut off or damaged")
    with Gradebook.open(tmp_path / "out" / "gradebook.db", create=False) as book:
        adas = [record for record in book.latest() if record.submission.student == "ada"]
    assert sorted(record.graded.points for record in adas) == [0, 2]


def test_of_a_file_that_was_replaced_the_later_run_has_the_last_attempt(tmp_path):
    versions = [notebook(WRONG), *(notebook(RIGHT, f"# {n}") for n in range(5))]  # digests in any order
    for version in versions:
        handed_in(tmp_path, {"ada.ipynb": version})
        grade(tmp_path, "--keep", "last")
        assert rows(tmp_path)["ada"]["points"] == ("0" if version is versions[0] else "2")


# ---- marks -----------------------------------------------------------------------------------------------------------


def test_marks_given_by_hand_come_into_the_total(tmp_path, capsys):
    question, *_ = known_labs()[LAB].questions.values()
    answered = [cell(question, "markdown"), cell("Because.", "markdown", metadata={"tags": ["written"]})]
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT, *answered), "bob.ipynb": notebook(RIGHT)})
    grade(tmp_path)
    path = tmp_path / "out" / "written.csv"
    asked = rows(tmp_path, "written.csv")["ada"]
    assert (asked["question"], asked["answer"], asked["points"]) == (readable(question), "Because.", "")
    path.write_text(f"key;points;max_points;comment\n{asked['key']};1,5;2;Say more.\n")
    assert main(["report", str(tmp_path / "out")]) == 0
    ada, bob = rows(tmp_path).values()
    assert (ada["points"], ada["written"], bob["points"]) == ("3.5", "1.5", "2")
    assert float(ada["max_points"]) == float(bob["max_points"])
    page = (tmp_path / "out" / "feedback" / "ada.html").read_text(encoding="utf-8")
    assert "A. A causal mask alone" in page and "1.5 of 2 points. Say more." in page
    path.write_text(path.read_text(encoding="utf-8-sig").replace("1.5", "three"))
    assert main(["report", str(tmp_path / "out")]) == 2
    assert "written.csv, row 2 (ada): points must be a number from 0 up; got 'three'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["grade", "report"])
def test_help_is_there_for_each_command(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: labkit {command}" in capsys.readouterr().out


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_a_call_that_is_misuse_changes_no_rule(tmp_path):
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT)})
    said = grade(tmp_path, "--late", "10")
    for more in (["--roster", tmp_path / "none.csv"], ["--secret", tmp_path / "none"]):
        assert "there is no such file" in grade(tmp_path, "--late", "20", *more, status=2)["error"]
    assert grade(tmp_path)["rules"] == said["rules"]


def test_what_was_said_of_lateness_holds_until_something_else_is_said(tmp_path):
    handed_in(tmp_path, {"submitted/ada/lab/02.ipynb": notebook(RIGHT)})
    (tmp_path / "in" / "submitted" / "ada" / "lab" / "timestamp.txt").write_text("2026-12-02 12:00:00 UTC")
    said = grade(tmp_path, "--due", "2026-12-01T12:00+00:00", "--late", "10%")
    assert rows(tmp_path)["ada"]["points"] == "1.8" and "10 % off" in str(said["rules"])
    assert grade(tmp_path)["rules"] == said["rules"]
    assert rows(tmp_path)["ada"]["points"] == "1.8"
    assert said["rules_before"] == {}
    changed = grade(tmp_path, "--late", "20")
    assert changed["rules_before"] == said["rules"]
    assert changed["rules"] == {LAB: said["rules"][LAB].replace("10 % off", "20 % off")}
    assert (rows(tmp_path)["ada"]["late"], rows(tmp_path)["ada"]["points"]) == ("1 day", "1.6")
    told = labkit("grade", tmp_path / "in", "--out", tmp_path / "out", "--due", "never").stdout
    assert f"{LAB}: the best attempt counts, no due date, 20 % off each begun day late (until now: " in told
    assert (rows(tmp_path)["ada"]["late"], rows(tmp_path)["ada"]["points"]) == ("", "2")


def test_a_due_date_that_no_file_can_be_held_against_is_said(tmp_path):
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT)})
    notes = grade(tmp_path, "--due", "2026-12-01")["notes"]
    assert any("don't say when they were handed in" in note for note in notes)
    notes = grade(tmp_path, "--due", "never", "--late", "10")["notes"]
    assert any("without --due" in note for note in notes)


def test_a_lab_may_be_named_by_its_beginning(tmp_path):
    handed_in(tmp_path, {"ada.ipynb": notebook(RIGHT)})
    assert list(grade(tmp_path, "--lab", "02")["rules"]) == ["02_causal_mask"]


@pytest.mark.parametrize("arguments", [["", "--out", "graded"], ["in", "--out", ""]])
def test_an_empty_path_is_misuse(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["grade", *arguments])
    assert stop.value.code == 2
    assert "a path must be given; got an empty text" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--due", "--lab", "--dask"])
def test_an_empty_option_is_misuse_and_takes_back_nothing(option, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["grade", "in", "--out", "graded", option, ""])
    assert stop.value.code == 2
    assert f"argument {option}: must not be empty; got an empty text" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["grade", "in", "--out", "o", "--secret"], ["grade", "in", "--out", "o", "--roster"]]
)
def test_what_may_never_end_is_no_file(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "/dev/zero"])
    assert stop.value.code == 2
    assert "must be a file; /dev/zero is a device" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_who_listens_to_nothing_is_told_by_the_status_alone(closed):
    command = f"{sys.executable} -m labkit grade there-is-none --out graded {closed}"
    assert subprocess.run(command, shell=True, capture_output=True).returncode == 2


def test_the_folder_of_what_was_handed_in_is_none_for_what_comes_of_it(course, capsys):
    assert main(["grade", str(course / "in"), "--out", str(course / "in" / ".." / "in")]) == 2
    assert "--out: must be another folder than what was handed in" in capsys.readouterr().err
