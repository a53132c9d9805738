"""The gradebook: what is in it stays in it, whatever happens to the process; one process at a time has it."""

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from handed_in import graded, gradings, record, submission, submissions, ungradable
from hypothesis import given, settings

from labkit.grading.records.course import roster_of, rules_of
from labkit.grading.records.gradebook import Gradebook, GradebookError, Record
from labkit.grading.records.marks import Mark, answers_of
from labkit.grading.submission import NOT_GRADED_YET, SYSTEM_ERROR, Cell, Graded

RECORDING = """
import sys
from labkit.exercise import Outcome
from labkit.grading.records.gradebook import Gradebook
from labkit.grading.submission import Graded, Submission

done = Graded("graded", outcomes=(Outcome("attention", "passed", 4, 4, html="<svg>" * 2000),))
with Gradebook.open(sys.argv[1]) as book:
    for n in range(int(sys.argv[2])):
        book.record(Submission(f"s{n}", "", f"{n}.ipynb", f"{n}"), done, "f")
        print(n, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def book(tmp_path):
    with Gradebook.open(tmp_path / "gradebook.db") as book:
        yield book


def rows(path, sql):
    """What any SQLite tool reads."""
    database = sqlite3.connect(path)
    found = database.execute(sql).fetchall()
    database.close()
    return found


@contextmanager
def another_process_recording(path, times):
    command = [sys.executable, "-c", RECORDING, str(path), str(times)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@settings(max_examples=30)
@given(submissions, gradings)
def test_what_is_recorded_is_read_back_unchanged(one, result):
    with tempfile.TemporaryDirectory() as folder, Gradebook.open(Path(folder) / "gradebook.db") as book:
        book.record(one, result, "f\udcff")
        assert book.latest() == [Record(one, result, "f\udcff")]
        assert book.needs_grading(one, "f\udcff") == (result.status == SYSTEM_ERROR)


def test_what_we_do_wrong_with_a_gradebook_is_not_put_down_to_the_file(tmp_path):
    with Gradebook.open(tmp_path / "gradebook.db") as book:
        pass
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        book.latest()


def test_cells_are_not_kept(book):
    book.record(submission(cells=(Cell("code", "x = 1"),)), graded(), "f")
    assert book.latest()[0].submission == submission()


@pytest.mark.parametrize(
    "change", ["student", "file", "digest", "batch", "lab", "problem"], ids=lambda name: f"another {name}"
)
def test_another_submission_needs_grading(book, change):
    book.record(submission(), graded(), "f")
    assert not book.needs_grading(submission(), "f")
    assert book.needs_grading(replace(submission(), **{change: "another"}), "f")


def test_a_grading_under_another_fingerprint_is_done_again(book):
    book.record(submission(), graded(), "labkit 1")
    assert book.needs_grading(submission(), "labkit 2")


def test_what_the_grader_failed_at_is_tried_again(book):
    book.record(submission(), Graded(SYSTEM_ERROR, "no memory"), "f")
    assert book.needs_grading(submission(), "f")


def test_the_latest_grading_counts_and_the_earlier_stays_readable(tmp_path):
    with Gradebook.open(tmp_path / "g.db") as book:
        book.record(submission(), graded(1), "old")
        book.record(submission("bob"), graded(2), "old")
        book.record(submission(), graded(3), "new")
        assert [(one.graded.points, one.fingerprint) for one in book.latest()] == [(3, "new"), (2, "old")]
    assert rows(tmp_path / "g.db", "SELECT points FROM gradings ORDER BY id") == [(1,), (2,), (3,)]


def test_a_file_judged_as_another_lab_leaves_what_it_got_at_the_first(book):
    book.record(submission(lab="01_one_head"), graded(3), "f")
    book.record(submission(problem="looks like 01_one_head"), ungradable(), "f")
    assert [(one.submission.lab, one.graded.points) for one in book.latest()] == [
        ("01_one_head", 3),
        (submission().lab, None),
    ]


def test_that_a_file_is_no_notebook_of_a_lab_holds_until_it_is_judged_as_another(book):
    right, mistaken = submission(), submission(lab="01_one_head", problem="looks like 02_causal_mask")
    book.record(mistaken, ungradable(), "f")
    book.record(right, graded(3), "f")
    assert [one.submission.lab for one in book.latest()] == [right.lab]
    book.record(mistaken, ungradable(), "f")  # the same mistake once more
    assert [one.submission.lab for one in book.latest()] == [mistaken.lab, right.lab]
    assert book.needs_grading(right, "f")
    book.record(right, graded(3), "f")
    assert [one.submission.lab for one in book.latest()] == [right.lab]
    assert not book.needs_grading(right, "f")


def test_what_a_stopped_run_did_not_come_to_is_waiting_until_its_bytes_are_judged(book):
    ada, bob = submission(), submission("bob")
    book.refresh([ada, replace(ada, lab="01_one_head"), bob])
    assert {(one.submission.student, one.graded.status) for one in book.waiting()} == {
        ("ada", NOT_GRADED_YET),
        ("bob", NOT_GRADED_YET),
    }
    book.record(ada, graded(), "f")
    assert [one.submission for one in book.waiting()] == [bob]
    assert [one.submission for one in book.latest()] == [ada]


def test_a_file_judged_as_a_lab_is_no_longer_one_of_no_lab(book):
    book.record(submission(lab="", problem="holds no exercises"), ungradable(), "f")
    book.record(submission("bob", lab="", problem="holds no exercises"), ungradable(), "f")
    book.record(submission(), graded(), "f")
    assert [(one.submission.student, one.submission.lab) for one in book.latest()] == [
        ("bob", ""),
        ("ada", submission().lab),
    ]


def test_a_run_is_counted_where_it_first_found_a_file(tmp_path):
    for n in range(1, 4):
        with Gradebook.open(tmp_path / "g.db") as book:
            book.refresh(submission(digest=str(known)) for known in range(n))
            book.record(submission(digest=str(n - 1)), graded(), "f")
    with Gradebook.open(tmp_path / "g.db") as book:
        assert {one.submission.digest: one.run for one in book.latest()} == {"0": 1, "1": 2, "2": 3}


def test_a_changed_file_under_the_same_path_is_another_submission(book):
    for digest in ("d1", "d2"):
        book.record(submission(digest=digest), graded(), "f")
    assert [one.submission.digest for one in book.latest()] == ["d1", "d2"]


def test_007_is_not_7(book):
    book.record(submission("007"), graded(1), "f")
    book.record(submission("7"), graded(2), "f")
    assert {one.submission.student: one.graded.points for one in book.latest()} == {"007": 1, "7": 2}


def test_a_roster_that_comes_later_names_what_was_graded_before(book):
    book.record(submission(name=""), graded(), "f")
    book.refresh([submission(name="Ada Lovelace"), submission("bob")])
    assert [one.submission.name for one in book.latest()] == ["Ada Lovelace"]


def test_the_order_does_not_depend_on_when_each_was_graded(tmp_path):
    ones = [submission(student, f"{n}.ipynb", lab=lab) for student in "ab" for n in range(3) for lab in ("01", "02")]
    orders = []
    for n in range(2):
        random.Random(n).shuffle(ones)
        with Gradebook.open(tmp_path / f"{n}.db") as book:
            for one in ones:
                book.record(replace(one, digest=one.file + one.lab), graded(), "f")
            orders.append(book.latest())
    assert orders[0] == orders[1]


def test_values_are_kept_for_later_commands(tmp_path):
    with Gradebook.open(tmp_path / "g.db") as book:
        book.remember("roster", {"007": "Ada"})
        book.remember("roster", {"007": "Ada", "7": "Bob\udcff"})
    with Gradebook.open(tmp_path / "g.db", create=False) as book:
        assert (book.recall("roster"), book.recall("rules", 5)) == ({"007": "Ada", "7": "Bob\udcff"}, 5)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
@pytest.mark.parametrize("at", [0, 7, 60])
def test_killed_at_any_moment_it_has_all_that_was_reported(tmp_path, at):
    path = tmp_path / "gradebook.db"
    with another_process_recording(path, 1_000_000) as process:
        reported = [int(process.stdout.readline()) for _ in range(at + 1)]
        os.kill(process.pid, signal.SIGKILL)
        reported += map(int, process.stdout.read().splitlines())
    with Gradebook.open(path) as book:
        found = {int(one.submission.digest) for one in book.latest()}
        assert set(reported) <= found and len(found) <= len(reported) + 1
        assert all(one.graded.points == 4 for one in book.latest())


def test_a_second_process_says_that_it_is_busy_until_the_first_is_gone(tmp_path):
    path = tmp_path / "gradebook.db"
    with another_process_recording(path, 1) as process:  # and then it has it open, and is idle
        process.stdout.readline()
        with pytest.raises(GradebookError, match="another one has it open. Wait until it is done"):
            Gradebook.open(path, wait=0.1)
    Gradebook.open(path, wait=0.1).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_workers_forked_while_it_is_open_do_it_no_harm(tmp_path):
    path = tmp_path / "gradebook.db"
    with Gradebook.open(path) as book:
        book.record(submission("ada"), graded(), "f")
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as workers:
            assert list(workers.map(abs, [-1, -2])) == [1, 2]
        book.record(submission("bob"), graded(), "f")
        busy = f"from labkit.grading.records.gradebook import Gradebook; Gradebook.open({str(path)!r}, wait=0)"
        assert (
            "another one has it open"
            in subprocess.run([sys.executable, "-c", busy], capture_output=True, text=True).stderr
        )
    with Gradebook.open(path) as book:
        assert [one.submission.student for one in book.latest()] == ["ada", "bob"]


def other_database(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE other (x)")
    database.close()


def newer_gradebook(path):
    Gradebook.open(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()


def damaged_gradebook(path):
    with Gradebook.open(path) as book:
        for n in range(20):
            book.record(submission(f"s{n}"), graded(html="x" * 5000), "f")
    data = bytearray(path.read_bytes())
    data[30_000:60_000] = random.Random(0).randbytes(30_000)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text("student,points\n"), "file is not a database"),
        (other_database, "got some other program's file"),
        (newer_gradebook, "version 3; got version 99"),
        (damaged_gradebook, "must be intact"),
    ],
    ids=["text", "foreign", "newer", "damaged"],
)
def test_a_file_that_is_no_sound_gradebook_is_refused_and_left_alone(tmp_path, make, words):
    path = tmp_path / "gradebook.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(GradebookError, match=words):
        Gradebook.open(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["gradebook.db"]


def test_an_empty_file_becomes_a_gradebook(tmp_path):
    (tmp_path / "g.db").touch()  # a process was killed as soon as it had begun
    with Gradebook.open(tmp_path / "g.db") as book:
        assert book.latest() == []


def test_where_a_gradebook_is_needed_none_is_begun(tmp_path):
    with pytest.raises(GradebookError, match="got nothing"):
        Gradebook.open(tmp_path / "g.db", create=False)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_where_a_gradebook_is_needed_is_refused_and_left_alone(tmp_path):
    (tmp_path / "g.db").touch()
    with pytest.raises(GradebookError, match="got an empty file. Put a sound copy in its place"):
        Gradebook.open(tmp_path / "g.db", create=False)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b""]


@pytest.mark.parametrize(
    ("damage", "read", "what"),
    [
        ("UPDATE submissions SET facts = 'x'", Gradebook.latest, "a submission"),
        ("UPDATE submissions SET facts = '{}'", Gradebook.latest, "a submission"),
        ("UPDATE gradings SET details = 'null'", Gradebook.latest, "a grading of ada.ipynb"),
        ('UPDATE gradings SET details = \'{"outcomes": [5], "written": []}\'', Gradebook.latest, "a grading of"),
        ("UPDATE gradings SET judged = '[]'", Gradebook.latest, "a grading of ada.ipynb"),
        ("UPDATE gradings SET judged = replace(judged, '02_', '03_')", Gradebook.latest, "a grading of ada.ipynb"),
        ("UPDATE gradings SET details = replace(details, '1', '7')", Gradebook.latest, "a grading of ada.ipynb"),
        ("UPDATE submissions SET facts = replace(facts, 'ada', 'bob')", Gradebook.latest, "a submission"),
        ("DELETE FROM gradings; UPDATE submissions SET facts = '[]'", Gradebook.waiting, "a submission"),
        ("INSERT INTO kept VALUES ('rules', '{\"02\": {\"due\": 5}}')", rules_of, "rules"),
        ("INSERT INTO kept VALUES ('roster', '[{}]')", roster_of, "roster"),
        ("INSERT INTO kept VALUES ('known', '[')", Gradebook.latest, "known"),
    ],
)
def test_damage_inside_is_told_of_in_words(tmp_path, damage, read, what):
    with Gradebook.open(tmp_path / "g.db") as book:
        book.record(submission(), graded(), "f")
    with sqlite3.connect(tmp_path / "g.db") as database:
        database.executescript(damage)
    database.close()
    with (
        Gradebook.open(tmp_path / "g.db") as book,
        pytest.raises(GradebookError, match=f"got something else under {what}.*Put a sound copy in its place"),
    ):
        read(book)


def test_any_sqlite_tool_reads_the_latest_gradings(tmp_path):
    with Gradebook.open(tmp_path / "g.db") as book:
        book.record(submission("007", "x\udcff.ipynb"), graded(1), "old")
        book.record(submission("007", "x\udcff.ipynb"), graded(3.5), "new")
    latest = rows(tmp_path / "g.db", "SELECT student, file, status, points, max_points FROM latest")
    assert latest == [("007", "x\\udcff.ipynb", "graded", 3.5, 4)]


def test_marks_are_kept_and_empty_ones_erase_nothing(book):
    one = record(written=[("Why?", "Because.")])
    book.record(one.submission, one.graded, "f")
    (answer,) = answers_of(one.submission, one.graded)
    for mark in (Mark(2, 3, "good"), Mark(None, 3), Mark(1.5, 3), Mark(None, 3, "really good")):
        book.mark({answer.key: mark})
    assert book.marks()[answer.key] == Mark(1.5, 3, "really good")


def test_marks_for_answers_of_another_course_are_refused(book):
    with pytest.raises(GradebookError, match="got 1 for others, the first with key 'm1-a2'"):
        book.mark({"m1-a2": Mark(1), "m3-a4": Mark(None)})
    assert book.marks() == {}
