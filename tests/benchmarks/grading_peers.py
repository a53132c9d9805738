"""Grade the same notebooks with labkit, with nbgrader and with Otter: how long each takes, and whether the marks agree.

    python tests/benchmarks/grading_peers.py [--notebooks 50]

Each of the others has an environment of its own, which is made the first time and takes minutes. All three ask the same
questions: a cell of nbgrader's and a test of Otter's give what labkit's check gives. Otter knows only tests that pass
or fail, so each exercise is a flight of steps there, and the points say how many of them were climbed.
"""

import argparse
import csv
import json
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import LAB, ROOT, WRONG, environment, filled_in, run

from labkit.exercises import exercises_of
from labkit.grading.exports import nbgrader
from labkit.grading.grader import most_points

STEPS = 48  # every share that a mark can be: halves and thirds of functions, and cells of tables
OTTER_TEST = """
from otter.test_files import test_case
from labkit.grading.exports import nbgrader

OK_FORMAT = False
name = {name!r}
earned = []


def step(number):
    @test_case(points={most} / {steps})
    def climb(env):
        earned[:] = earned or [nbgrader.points(name, {part!r}, env)]
        assert earned[0] > {most} * (number - 1) / {steps} + 1e-6
    return climb


globals().update({{f"step_{{n}}": step(n) for n in range(1, {steps} + 1)}})
"""

Marks = dict[tuple[str, str], float]  # by student and exercise


def main() -> int:
    parser = argparse.ArgumentParser(description="Time labkit, nbgrader and Otter on the same notebooks.")
    parser.add_argument("--notebooks", type=int, default=50)
    number = parser.parse_args().notebooks
    with tempfile.TemporaryDirectory() as folder:
        course, home = Path(folder, "course"), Path(folder, "home")
        hand_in(course, home, number)
        seconds, marks = {}, {}
        for grader in (with_labkit, with_nbgrader, with_otter):
            seconds[grader], given = grader(course, home)
            marks[grader] = {key: round(mark, 4) for key, mark in given.items()}
    print(f"{number} notebooks of {LAB}, {os.cpu_count()} cores (labkit uses all of them, the others one)")
    print(f"{'':12}{'seconds':>9}{'ms each':>9}{'ratio':>8}{'goal':>8}   marks")
    for grader, name in ((with_labkit, "labkit"), (with_nbgrader, "nbgrader"), (with_otter, "otter run")):
        ratio, goal = seconds[grader] / seconds[with_labkit], "" if grader is with_labkit else "≥ 50"
        each = 1000 * seconds[grader] / number
        print(f"{name:12}{seconds[grader]:9.2f}{each:9.0f}{ratio:8.1f}{goal:>8}   {compared(marks, grader)}")
    return 0 if all(one == marks[with_labkit] for one in marks.values()) else 1


def compared(marks: dict, grader) -> str:
    ours, theirs = marks[with_labkit], marks[grader]
    differ = [key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)]
    first = "; ".join(f"{' '.join(key)} {theirs.get(key)}, labkit {ours.get(key)}" for key in differ[:3])
    return f"{len(differ)} of {len(ours)} differ: {first}" if differ else f"all {len(ours)} as labkit's"


def hand_in(course: Path, home: Path, number: int) -> None:
    """A course of nbgrader's in which two of five have solved the lab, two have a mistake, and one has done nothing."""
    course.mkdir()
    nbgrader.export(course, ROOT)
    run([environment("nbgrader") / "nbgrader", "generate_assignment", LAB], course, home)
    released = json.loads((course / "release" / LAB / f"{LAB}.ipynb").read_text())
    wrong = list(WRONG.values())
    for n in range(number):
        work = [{}, wrong[n // 5 % len(wrong)], {}, wrong[(n // 5 + 4) % len(wrong)], None][n % 5]
        name = f"student{n:03d}"
        made = released if work is None else filled_in(released, LAB, work | {'student("ada")': f'student("{name}")'})
        path = course / "submitted" / name / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(made))


def timed(command, folder: Path, home: Path) -> float:
    start = time.perf_counter()
    run(command, folder, home)
    return time.perf_counter() - start


def with_labkit(course: Path, home: Path) -> tuple[float, Marks]:
    command = [sys.executable, "-m", "labkit", "grade", course / "submitted", "--out", course / "graded"]
    seconds = timed(command, ROOT, home)
    with open(course / "graded" / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    return seconds, {(row["student"], e.name): float(row[e.name]) for row in rows for e in exercises_of(LAB)}


def with_nbgrader(course: Path, home: Path) -> tuple[float, Marks]:
    seconds = timed([environment("nbgrader") / "nbgrader", "autograde", LAB], course, home)
    asked = """
        SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score FROM grade
        JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
        JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
        JOIN base_cell ON grade.cell_id = base_cell.id
    """
    names = {exercise.name for exercise in exercises_of(LAB)}
    connection = sqlite3.connect(course / "gradebook.db")
    rows = connection.execute(asked).fetchall()
    connection.close()
    return seconds, {(student, cell): score for student, cell, score in rows if cell in names}


def with_otter(course: Path, home: Path) -> tuple[float, Marks]:
    otter, tests = environment("otter") / "otter", course / "otter_tests"
    tests.mkdir()
    for exercise in exercises_of(LAB):
        part, most = exercise.asks_only.get(LAB), most_points(exercise, LAB)
        text = OTTER_TEST.format(name=exercise.name, part=part, most=most, steps=STEPS)
        (tests / f"{exercise.name}.py").write_text(text)
    run([otter, "generate", "-t", tests, "-o", "autograder.zip", "--no-environment"], course, home)
    seconds, marks = 0.0, {}
    for notebook in sorted(course.glob("submitted/*/*/*.ipynb")):
        out, student = course / "otter" / notebook.parts[-3], notebook.parts[-3]
        out.mkdir(parents=True)
        seconds += timed([otter, "run", notebook, "-a", "autograder.zip", "-o", out, "--no-logo"], course, home)
        for test in json.loads((out / "results.json").read_text())["tests"]:
            if "Public" not in test["name"]:
                marks[student, test["name"]] = test["score"]
    return seconds, marks


if __name__ == "__main__":
    sys.exit(main())
