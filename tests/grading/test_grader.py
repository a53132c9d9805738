"""Grading honest notebooks: what is scored, from which numbers, on which inputs."""

from dataclasses import replace

import pytest

from labkit.exercises import LABS, draw_numbers
from labkit.grading.grader import grade
from labkit.grading.sandbox.host import Seconds, Server
from labkit.grading.submission import GRADED, SYSTEM_ERROR, UNGRADABLE, Cell, Submission

LAB = "02_causal_mask"
PATIENT = Seconds()


@pytest.mark.parametrize("lab", LABS)
def test_a_solved_lab_earns_all_and_an_untouched_one_nothing(layered, graded, solved, untouched, lab):
    done, undone = graded(layered, lab, solved(lab), PATIENT), graded(layered, lab, untouched(lab), PATIENT)
    assert done.points == done.max_points, [one for one in done.outcomes if not one.passed]
    assert undone.points == 0 and {one.status for one in undone.outcomes} == {"unattempted"}
    assert [one.exercise for one in done.outcomes] == [one.exercise for one in undone.outcomes]


def test_a_function_that_calls_one_that_is_not_written_yet_is_told_which(layered, graded):
    cells = [
        "def softmax(scores):\n    raise NotImplementedError('later')",
        "def attention(Q, K, V):\n    return softmax(Q) @ V",
    ]
    result = graded(layered, "01_one_head", [Cell("code", source) for source in cells], PATIENT)
    outcome = next(one for one in result.outcomes if one.exercise == "attention")
    assert (outcome.status, outcome.message) == ("unattempted", "It calls softmax, which isn't written yet.")


def test_a_notebook_without_code_is_not_attempted_and_no_time_is_no_failure_of_the_grader(layered, graded, solved):
    empty = graded(layered, LAB, [Cell("markdown", "No code.")], PATIENT)
    assert {one.status for one in empty.outcomes} == {"unattempted"} and empty.status == GRADED
    hurried = graded(layered, LAB, solved(LAB), Seconds(submission=0.001))
    assert {one.status for one in hurried.outcomes} == {"timed_out"} and hurried.status == GRADED


def test_what_cannot_be_graded_has_no_score_and_neither_has_what_the_grader_fails_at(layered):
    handed_in = Submission("ada", "", "ada.ipynb", "digest", lab=LAB, remarks=("It is odd.",))
    bad = grade(replace(handed_in, problem="The file is empty."), layered, b"secret", PATIENT)
    assert (bad.status, bad.reason, bad.points) == (UNGRADABLE, "The file is empty.", None)
    assert bad.remarks == ("It is odd.",)
    with Server() as ended:
        ended.wait()
        ended.process.kill()
        ended.process.wait()
        failed = grade(replace(handed_in, cells=(Cell("code", "x = 1"),)), ended, b"secret", PATIENT)
    assert (failed.status, failed.remarks, failed.points) == (SYSTEM_ERROR, ("It is odd.",), None)
    assert "The grader itself failed" in failed.reason and "not the student's fault" in failed.reason


def test_where_a_function_went_is_said(layered, graded):
    cells = [
        Cell("code", "1 / 0\ndef causal_mask(n):\n    return n"),
        Cell("markdown", "def padding_mask(lengths, n_k):\n    return n_k"),
        Cell("code", "def masked_softmaxx(scores, mask):\n    return scores"),
    ]
    told = {one.exercise: one.message for one in graded(layered, LAB, cells, PATIENT).outcomes}
    assert told["causal_mask"].startswith("Code cell 1, which holds it, did not run to its end")
    assert told["padding_mask"].startswith("Only cell 2 holds it, which is text")
    assert "Is `masked_softmaxx` meant for it?" in told["masked_softmax"]


@pytest.mark.parametrize("times", [1, 5])
def test_tables_are_about_any_numbers_that_were_asked_for_first_or_lately(layered, graded, solved, times):
    lab = "01_one_head"
    again = Cell("code", "from labkit import fresh_numbers\nme = fresh_numbers()")
    result = graded(layered, lab, (*solved(lab), *[again] * times), PATIENT)
    assert result.points == result.max_points


@pytest.mark.parametrize(
    ("asks", "is_right", "named"),
    [
        ('import pandas\nfrom labkit import student\nme = student("bob")', True, "bob"),
        ("me = None", False, "ada"),  # which is whose submission it is
    ],
)
def test_without_own_numbers_tables_are_about_those_of_the_name_in_a_lost_cell(layered, graded, asks, is_right, named):
    bobs = draw_numbers("bob", 0)
    table = f"hand_raw_scores = {(bobs['Q'] @ bobs['K'].T).tolist()}"
    result = graded(layered, "01_one_head", [Cell("code", asks), Cell("code", table)], PATIENT)
    outcome = next(one for one in result.outcomes if one.exercise == "hand_raw_scores")
    assert outcome.passed == is_right
    assert [one for one in result.remarks if f"judged with those of {named}" in one]


def test_a_regrade_is_the_same_and_another_secret_asks_otherwise(layered, graded, solved):
    lab = "02_causal_mask"
    seen = Cell(
        "code", "asked = []\ndef softmax(scores): return scores\ndef masked_softmax(scores, mask): return mask * scores"
    )
    first, again, other = (graded(layered, lab, (*solved(lab), seen), PATIENT, secret) for secret in (b"a", b"a", b"b"))
    assert first == again
    assert first.outcomes != other.outcomes  # its message holds a number that came of other inputs


def test_inputs_learnt_by_heart_are_of_no_use(layered, graded):
    """A function that answers what the notebook asks, and nothing else."""
    from labkit.exercises import EXERCISES
    from labkit.judge import cases_and_lineup

    cases, lineup = cases_and_lineup("softmax", 0)
    known = {repr(case.args["scores"].tolist()): lineup.right(i).tolist() for i, case in enumerate(cases)}
    answer = "def softmax(scores):\n    return np.array(known.get(repr(scores.tolist()), 0))"
    source = f"import numpy as np\nknown = {known!r}\n{answer}"
    result = graded(layered, "01_one_head", [Cell("code", source)], PATIENT)
    outcome = next(one for one in result.outcomes if one.exercise == "softmax")
    assert EXERCISES["softmax"].points and outcome.points == 0
