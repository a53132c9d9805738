"""A whole batch: graded in one run, killed and gone on with, interrupted, and graded again."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interrupts import heed_interrupts

from .made_class import make_class

SIZE = 1000
QUICK = ("--cell-seconds", "0.3", "--call-seconds", "0.2")


def command(folder: Path, out: Path, secret: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "labkit",
        "grade",
        *map(str, (folder, "--out", out, "--secret", secret)),
        *QUICK,
        *more,
    ]


def run(*arguments, **options) -> dict:
    done = subprocess.run(command(*arguments, "--json"), capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(out: Path, sheet: str = "gradebook.csv") -> list[dict]:
    with (out / sheet).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def what_people_read(out: Path) -> dict[str, bytes]:
    files = [out / "report.html", *out.glob("*.csv"), *(out / "feedback").iterdir()]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def parents() -> dict[int, int]:
    """The parent of each process that is alive."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(path.name)] = int(parent)
    return found


def alive() -> set[int]:
    return set(parents())


def descendants(pid: int) -> set[int]:
    """A process's children, and theirs, and so on."""
    of, found = parents(), set()
    while more := {child for child, parent in of.items() if parent in {pid, *found}} - found:
        found |= more
    return found


def soon(holds, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


@pytest.fixture(scope="module")
def big_class(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "handed in"
    make_class(folder, SIZE)
    return folder


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.write_text("of the course")
    return path


@pytest.fixture(scope="module")
def undisturbed(big_class, secret, tmp_path_factory):
    out, start = tmp_path_factory.mktemp("undisturbed"), time.monotonic()
    said = run(big_class, out, secret)
    return out, said, time.monotonic() - start


def test_a_thousand_submissions_are_graded_in_one_run(undisturbed):
    out, said, _ = undisturbed
    assert said["graded_now"] == said["submissions"] == SIZE
    assert said["students"] == {"graded": SIZE}
    of = rows(out)
    assert [row["student"] for row in of] == [f"student{number:04d}" for number in range(SIZE)]
    assert all(0 <= float(row["points"]) <= float(row["max_points"]) for row in of)
    assert len({row["points"] for row in of}) > 10
    assert not Path("/tmp/pwned").exists()
    assert len(list((out / "feedback").iterdir())) == SIZE


def test_killed_three_times_it_ends_with_the_same_bytes(big_class, secret, undisturbed, tmp_path):
    right, _, seconds = undisturbed
    chance = random.Random()
    for _ in range(3):
        process = subprocess.Popen(command(big_class, tmp_path, secret, "--json"), stdout=subprocess.DEVNULL)
        time.sleep(1 + chance.uniform(0.05, 0.3) * seconds)
        family = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert soon(lambda family=family: not family & alive()), "workers or guests outlive the grader"
    said = run(big_class, tmp_path, secret)
    assert said["graded_now"] < SIZE
    assert what_people_read(tmp_path) == what_people_read(right)


def test_a_second_run_grades_nothing(big_class, secret, undisturbed):
    out, _, _ = undisturbed
    before = what_people_read(out)
    assert run(big_class, out, secret)["graded_now"] == 0
    assert what_people_read(out) == before


def test_interrupted_it_keeps_what_it_has_and_says_so(big_class, secret, tmp_path):
    process = subprocess.Popen(
        command(big_class, tmp_path, secret),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert soon(lambda: len(descendants(process.pid)) > 3)  # workers, server, guests
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and said.startswith("Stopped."), (said, errors)
    assert "Traceback" not in errors
    of = [row["status"] for row in rows(tmp_path)]
    assert len(of) == SIZE and 0 < of.count("graded") == SIZE - of.count("not_graded_yet") < SIZE


def test_a_worker_that_is_killed_costs_no_submission(secret, tmp_path):
    make_class(tmp_path / "in", 60, hostile=0)
    process = subprocess.Popen(
        command(tmp_path / "in", tmp_path / "out", secret, "--jobs", "2", "--json"), stdout=subprocess.PIPE, text=True
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def workers() -> list[int]:
        found = []
        for child in children.read_text().split():
            if b"labkit.grading.sandbox" not in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
        return found

    assert soon(lambda: len(workers()) == 2)  # a single one may be the fork server, not yet itself
    os.kill(workers()[0], signal.SIGKILL)
    said = json.loads(process.communicate(timeout=120)[0])
    assert said["students"] == {"graded": 60} and not said["system_errors"]


def test_points_do_not_depend_on_the_number_of_processes(secret, tmp_path):
    make_class(tmp_path / "in", 30)
    for jobs in ("1", "3"):
        run(tmp_path / "in", tmp_path / jobs, secret, "--jobs", jobs)
    assert what_people_read(tmp_path / "1") == what_people_read(tmp_path / "3")
