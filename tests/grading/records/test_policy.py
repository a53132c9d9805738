"""Policy: which attempt counts, what is late, and what that costs."""

import json
import time
from dataclasses import asdict, replace

import pytest
from handed_in import LAB, graded, gradings, record, submission, submissions, ungradable
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.records.gradebook import Record, key_of
from labkit.grading.records.marks import Mark, answers_of
from labkit.grading.records.policy import Rule, counted
from labkit.grading.submission import SYSTEM_ERROR, Graded

EARLY, LATER, LAST = (f"2026-11-0{day}T10:00:00+00:00" for day in (1, 2, 3))
FAILED = Graded(SYSTEM_ERROR, "The grader itself failed.")

some_marks = st.builds(lambda share, most: Mark(share * most, most), st.floats(0, 1), st.floats(0, 10))
some_rules = st.builds(
    Rule,
    st.sampled_from(["best", "last"]),
    st.sampled_from(["", "2000-01-01", "2026-12-01T23:59+01:00"]),
    st.floats(0, 100),
    st.none() | st.integers(0, 5),
)


@st.composite
def classes(draw):
    """Records of few students, so that there are several attempts, with marks for some of the answers."""
    records = draw(st.lists(st.builds(Record, submissions, gradings, st.just("f")), max_size=6))
    records = [Record(draw(few_students(one.submission)), one.graded, "f") for one in records]
    records = list({key_of(one.submission): one for one in records}.values())  # as a gradebook has them
    answers = [answer for one in records for answer in answers_of(one.submission, one.graded)]
    keys = {key for answer in answers for key in (answer.key, answer.key.partition("-")[0])}
    return records, {key: draw(some_marks) for key in sorted(keys) if draw(st.booleans())}


def few_students(one):
    facts = asdict(one) | {"remarks": one.remarks, "cells": ()}
    student, batch, problem = (st.sampled_from(some) for some in (("007", "7"), ("", "lab3"), ("", "It isn't JSON.")))
    return st.builds(lambda **changed: type(one)(**(facts | changed)), student=student, batch=batch, problem=problem)


def one_row(*records, rule=Rule(), **others):  # noqa: B008
    (row,) = counted(records, rule, **others)
    return row


@given(classes(), some_rules)
def test_points_lie_between_zero_and_the_most(class_, rule):
    records, marks = class_
    for row in counted(records, rule, marks=marks, roster={"1": ""}):
        assert row.points is None or 0 <= row.points <= row.max_points
        assert all(one.points is None or 0 <= one.points <= one.earned for one in row.tries)


@given(classes(), some_rules, st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_the_order_of_records(class_, rule, random):
    records, marks = class_
    rows = counted(records, rule, marks=marks, roster={"7": "Ada", "1": ""})
    random.shuffle(records)
    assert repr(counted(records, rule, marks=marks, roster={"1": "", "7": "Ada"})) == repr(rows)


@given(classes(), some_rules)
def test_every_submission_is_in_one_row_and_a_scored_one_counts_if_there_is_any(class_, rule):
    rows = counted(class_[0], rule)
    assert sorted(map(id, class_[0])) == sorted(id(one.record) for row in rows for one in row.tries)
    for row in rows:
        assert row.counted in row.tries
        assert (row.points is None) == all(one.points is None for one in row.tries)


ATTEMPTS = {
    "first": record(2, file="first", digest="1", submitted_at=EARLY),
    "better": record(3, file="better", digest="2", submitted_at=LATER),
    "as good": record(3, file="as good", digest="3", submitted_at=LAST),
    "worse": record(1, file="worse", digest="4", submitted_at=LAST),
    "ungradable": record(result=ungradable(), file="ungradable", digest="5", submitted_at=LAST),
    "failed": record(result=FAILED, file="failed", digest="6", submitted_at=LAST),
}


@pytest.mark.parametrize(
    ("handed_in", "best", "last"),
    [
        ("first, better, worse", "better", "worse"),
        ("better, as good", "as good", "as good"),
        ("better, ungradable", "better", "better"),
        ("first, better, failed", "better", "better"),
        ("ungradable, worse", "worse", "worse"),
        ("ungradable", "ungradable", "ungradable"),
    ],
)
def test_which_attempt_counts(handed_in, best, last):
    records = [ATTEMPTS[name] for name in handed_in.split(", ")]
    files = [one_row(*records, rule=Rule(keep)).counted.record.submission.file for keep in ("best", "last")]
    assert files == [best, last]


def test_a_last_attempt_without_a_score_is_told_of():
    row = one_row(ATTEMPTS["better"], ATTEMPTS["ungradable"])
    assert (row.graded.status, row.points) == ("graded", 3)
    assert row.reason == "The last attempt, ungradable, has no score: It isn't JSON."


def test_a_file_that_was_taken_for_another_lab_by_mistake_is_no_attempt_without_a_score():
    first, mistaken = record(3), record(result=ungradable(), lab="01_one_head", problem="looks like 02_causal_mask")
    row = one_row(first, replace(mistaken, run=2))
    assert (row.lab, row.points, row.attempts, row.reason) == (LAB, 3, 1, "")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"submitted_at": "2026-11-01T10:00:00+02:00"}, {"submitted_at": "2026-11-01T09:00:00+00:00"}),
        ({"number": 1, "file": "z"}, {"number": 2, "file": "a"}),
        ({"file": "a"}, {"file": "b"}),
        ({"file": "lab 9"}, {"file": "lab 10"}),
        ({"submitted_at": ""}, {"submitted_at": EARLY}),
        ({"submitted_at": EARLY, "file": "x (1).ipynb"}, {"submitted_at": LATER, "file": "x.ipynb"}),
    ],
    ids=["moment, not text", "number", "file", "10 after 9", "an unknown time comes first", "time before copies"],
)
def test_the_order_of_attempts(first, second):
    records = [record(1, digest="1", **first), record(2, digest="2", **second)]
    assert one_row(*records, rule=Rule("last")).points == one_row(*records[::-1], rule=Rule("last")).points == 2


ada = "lovelaceada_101_5001_mask{}.ipynb"


def number_in(file):
    return next((number for number in (5001, 4999) if str(number) in file), 0)


@pytest.mark.parametrize(
    "files",
    [
        [ada.format(""), *(ada.format(f"-{n}") for n in range(1, 12))],
        [ada.format(""), ada.format("-1").replace("5001", "4999")],
        ["ada/lab_02.ipynb", "ada/lab_02-1.ipynb", "ada/lab_02-1 (1).ipynb", "ada/lab_02-2.ipynb"],
        ["ada/x.ipynb", "ada/x (2).ipynb", "ada/x (10).ipynb"],
        ["a_1_2_work.zip/z.ipynb", "a_1_2_work-1.zip/a.ipynb", "a_1_2_work-1.zip/a (1).ipynb"],
        ["Ada_7_assignsubmission_file_/x.ipynb", "Ada_7_assignsubmission_file_/x_1.ipynb"],
    ],
    ids=["Canvas", "whatever the platform's number", "a name that ends in a number", "a browser", "zip", "Moodle"],
)
@pytest.mark.parametrize("later", [False, True], ids=["one archive", "the last came to hand first"])
def test_a_number_behind_the_name_orders_the_attempts(files, later):
    tries = [
        replace(record(1, file=file, digest=file, number=number_in(file)), run=len(files) - n if later else 1)
        for n, file in enumerate(files)
    ]
    for rule in (Rule("last"), Rule("best")):
        assert [one.record.submission.file for one in one_row(*tries[::-1], rule=rule).tries] == files
        assert one_row(*tries[::-1], rule=rule).file == files[-1]


def test_among_files_of_other_names_the_one_that_was_found_by_a_later_run_is_later():
    runs = {"lab_02.ipynb": 1, "lab_02-1.ipynb": 1, "final.ipynb": 2, "lab_02-2.ipynb": 3, "a.ipynb": 3}
    tries = [replace(record(1, file=file, digest=file), run=run) for file, run in runs.items()]
    expected = ["lab_02.ipynb", "lab_02-1.ipynb", "final.ipynb", "a.ipynb", "lab_02-2.ipynb"]
    assert [one.record.submission.file for one in one_row(*tries).tries] == expected


def test_of_equals_under_best_one_in_time_stays_and_else_the_last_counts():
    rule = Rule(due="2026-11-02T12:00+00:00")
    tries = [record(3, digest=at, submitted_at=at) for at in (EARLY, LATER, LAST)]
    assert one_row(*tries, rule=rule).counted.record is tries[1]


def test_the_same_bytes_in_another_folder_are_no_further_attempt():
    again = record(file="unpacked/ada.ipynb", submitted_at=EARLY)
    assert one_row(record(submitted_at=EARLY), again).attempts == 1
    assert one_row(record(submitted_at=EARLY), record(file="b", submitted_at=LAST)).attempts == 2


@pytest.mark.parametrize(
    ("submitted_at", "late"),
    [
        ("2026-12-01T23:59:59+01:00", ""),
        ("2026-12-02T00:00:00+01:00", "1 day"),
        ("2026-12-01T22:59:00+00:00", ""),
        ("2026-12-02T23:59:30+01:00", "1 day"),
        ("2026-12-03T00:00:00+01:00", "2 days"),
        ("", ""),
        ("some day", ""),
    ],
)
def test_late_is_what_comes_after_the_minute_that_is_due(submitted_at, late):
    assert one_row(record(submitted_at=submitted_at), rule=Rule(due="2026-12-01T23:59+01:00")).late == late


@pytest.mark.parametrize(
    ("due", "submitted_at", "late"),
    [
        ("", "", "1 day"),
        ("", EARLY, "1 day"),
        ("2026-11-30", "", "1 day"),
        ("2026-11-30", EARLY, ""),
    ],
    ids=["nothing known", "no due date", "no time", "the instructor's date goes before the platform's"],
)
def test_what_the_platform_marked_late_is_late_by_one_day_unless_more_is_known(due, submitted_at, late):
    assert one_row(record(submitted_at=submitted_at, marked_late=True), rule=Rule(due=due)).late == late


def test_a_due_day_lasts_until_its_end():
    assert Rule(due="2026-12-01") == Rule(due="2026-12-01T23:59") == Rule(due="2026-12-01 23:59")


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone can't be set")
def test_without_an_offset_the_local_time_is_meant_and_written_down(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    rule = Rule(due="2026-12-01T23:59")
    monkeypatch.undo()
    time.tzset()
    assert rule.due == "2026-12-01T23:59:00-05:00"
    assert Rule(**json.loads(json.dumps(asdict(rule)))) == rule


@pytest.mark.parametrize(
    ("rule", "points"),
    [
        (Rule(due="2026-10-31T12:00+00:00"), 3),
        (Rule(due="2026-10-31T12:00+00:00", percent_a_day=10), 2.7),
        (Rule(due="2026-10-30T12:00+00:00", percent_a_day=10), 2.4),
        (Rule(due="2026-10-01", percent_a_day=10), 0),
        (Rule(due="2026-10-31T12:00+00:00", refused_after=1), 3),
        (Rule(due="2026-10-30T09:00+00:00", refused_after=2), 0),
    ],
)
def test_what_lateness_costs(rule, points):
    assert one_row(record(3, submitted_at=EARLY), rule=rule).points == pytest.approx(points)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_an_attempt_refused_as_too_late_does_not_displace_one_in_time(keep):
    rule = Rule(keep, due="2026-11-01T12:00+00:00", refused_after=0)
    assert one_row(ATTEMPTS["first"], ATTEMPTS["as good"], rule=rule).points == 2
    assert one_row(ATTEMPTS["as good"], rule=rule).reason == "Handed in 2 days late, which is too late for points."


def test_best_is_best_after_the_late_rule():
    rule = Rule(due="2026-11-01T12:00+00:00", percent_a_day=50)
    assert one_row(ATTEMPTS["first"], ATTEMPTS["better"], rule=rule).points == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keep": "first"}, "keep: must be best or last; got 'first'"),
        ({"due": "tomorrow"}, "due: must be a date .* got 'tomorrow'"),
        ({"percent_a_day": 101}, "from 0 to 100; got 101"),
        ({"refused_after": -1}, "0 or more; got -1"),
    ],
    ids=str,
)
def test_a_rule_that_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Rule(**wrong)


def test_each_lab_has_its_rule():
    records = [record(lab=lab, submitted_at=EARLY) for lab in (LAB, "01_one_head")]
    assert [row.late for row in counted(records, {LAB: Rule(due="2026-10-31T12:00+00:00")})] == ["", "1 day"]


def test_who_handed_in_nothing_has_a_row_at_each_lab():
    rows = counted([record(), record(lab="01_one_head")], roster={"ada": "Ada L.", "007": "Bond"})
    assert [(row.lab, row.student, row.name, row.graded.status, row.points, row.attempts) for row in rows] == [
        ("01_one_head", "007", "Bond", "missing", None, 0),
        ("01_one_head", "ada", "Ada L.", "graded", 3, 1),
        (LAB, "007", "Bond", "missing", None, 0),
        (LAB, "ada", "Ada L.", "graded", 3, 1),
    ]


@pytest.mark.parametrize("lab", ["", "01_one_head"], ids=["not recognised", "another lab"])
def test_a_file_that_cannot_be_graded_is_an_attempt_at_the_lab_that_the_others_handed_in(lab):
    wrong = record(result=ungradable("no"), lab=lab, problem="no", student="bob")
    rows = counted([record(), wrong], roster={"ada": "", "bob": ""})
    assert [(row.lab, row.student, row.graded.status) for row in rows] == [
        (LAB, "ada", "graded"),
        (LAB, "bob", "ungradable"),
    ]


def marks_for(one, *points, of=2):
    return {answer.key: Mark(n, of) for answer, n in zip(answers_of(one.submission, one.graded), points, strict=True)}


def test_marks_by_hand_are_in_the_total_and_a_marked_question_counts_for_all():
    ada, bob = (record(3, student=student, written=[("Why?", "Because."), ("And?", "")]) for student in ("ada", "bob"))
    rows = counted([ada, bob], marks=marks_for(ada, 1.5, None))
    assert [(row.points, row.max_points, row.written) for row in rows] == [(4.5, 6, 1.5), (3, 6, None)]


def test_lateness_costs_of_what_is_marked_by_hand_too():
    one = record(3, written=[("Why?", "Because.")], marked_late=True)
    assert one_row(one, rule=Rule(percent_a_day=10), marks=marks_for(one, 2)).points == pytest.approx(4.5)


def test_a_mark_stays_when_the_answer_changes_later():
    old, new = (record(written=[("Why?", text)], digest=text, submitted_at=text) for text in (EARLY, LATER))
    (key,) = marks = marks_for(old, 2)
    row = one_row(new, marks=marks | {key.partition("-")[0]: marks[key]})
    assert row.points == 5 and [earlier for *_, earlier in row.answers] == [True]


def test_an_earlier_grading_of_nothing_has_no_score_but_zero_points_are_one():
    row = one_row(Record(submission(), graded(0), "f"), ATTEMPTS["failed"])
    assert row.points == 0
