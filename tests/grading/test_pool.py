"""Workers: what ends or hangs one of them costs nobody else anything, and none outlives what it works for."""

import os
import sys
import time

import pytest

from labkit.grading import pool
from labkit.grading.batch import in_turns
from labkit.grading.sandbox.host import Seconds
from labkit.grading.submission import GRADED, SYSTEM_ERROR, Graded, Submission

from .test_batch import descendants, soon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is patched here is only there after a fork")
JOB = pool.Job(b"secret", Seconds(submission=0.5))


def submission(student, file="lab.ipynb"):
    return Submission(student, "", f"{student}/{file}", f"digest of {file}")


@pytest.fixture
def slack(monkeypatch):
    monkeypatch.setattr(pool, "SLACK", 0.5)
    yield
    pool.close_servers()


@pytest.fixture
def grading(monkeypatch, slack):
    """Grade with the worker's own code doing something to eve's submissions."""

    def graded(does, *students, workers=2):
        def grade_here(one, job):
            if one.student == "eve":
                does()
            return Graded(GRADED)

        monkeypatch.setattr(pool, "grade_here", grade_here)
        return pool.grade_all([submission(student) for student in students], JOB, workers)

    return graded


@pytest.mark.parametrize("does", [lambda: time.sleep(600), lambda: os._exit(1)], ids=["hangs", "dies"])
@pytest.mark.parametrize("workers", [1, 3])
def test_what_a_worker_hangs_at_or_dies_of_is_a_system_error_and_the_others_are_graded(grading, does, workers):
    found = [(one.student, graded.status) for one, graded in grading(does, "eve", "ada", "bob", "cem", workers=workers)]
    assert found[-1] == ("eve", SYSTEM_ERROR)
    assert sorted(found[:-1]) == [("ada", GRADED), ("bob", GRADED), ("cem", GRADED)]


def test_workers_end_with_what_they_work_for_whatever_they_are_at(grading):
    before = descendants(os.getpid())
    results = grading(lambda: time.sleep(600), "ada", "eve")
    assert next(results)[0].student == "ada"
    start = time.monotonic()
    results.close()
    pool.close_servers()
    assert soon(lambda: descendants(os.getpid()) <= before) and time.monotonic() - start < 5


def test_nobody_waits_for_one_who_sent_many():
    eves = [submission("eve", f"{n}.ipynb") for n in range(3)]
    ada, bob = submission("ada"), submission("bob")
    assert in_turns([*eves, ada, bob]) == [eves[0], ada, bob, *eves[1:]]
