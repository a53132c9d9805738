"""The golden folder: what real students hand in, graded once through the command line, each story as it is written.

``tests/submissions/README.md`` lists what may come and where it is tried.
"""

import csv
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from html import unescape
from pathlib import Path

import pytest
from submissions import made

from labkit.exercises import exercises_of
from labkit.grading.pages.feedback_page import feedback_name
from labkit.grading.records.gradebook import Gradebook
from labkit.grading.submission import GRADED, UNGRADABLE

FOLDER = Path(made.__file__).parent
STORIES = sorted(path.parent.name for path in FOLDER.glob("*/expected.toml"))
QUICK = ("--cell-seconds", "1", "--call-seconds", "0.5")


def expected(story: str) -> dict:
    told = tomllib.loads((FOLDER / story / "expected.toml").read_text(encoding="utf-8"))
    known = {
        "story",
        "lab",
        "students",
        "status",
        "reason",
        "remarks",
        "others",
        "exercises",
        "written",
        "file",
        "made",
    }
    assert not told.keys() - known, f"{story}: {told.keys() - known}"
    return {"lab": "02_causal_mask", "students": [story], "status": GRADED, "others": "missing"} | told


def files_of(story: str, told: dict) -> dict:
    """Names and bytes of what a story's student hands in."""
    files = {path.name: path.read_bytes() for path in (FOLDER / story).iterdir() if path.name != "expected.toml"}
    return files | (getattr(made, told["made"])() if "made" in told else {})


def handed_in(path: Path) -> Path:
    """All stories in an archive, in folders by student and assignment."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for story in STORIES:
            told = expected(story)
            for student in told["students"]:
                for name, data in files_of(story, told).items():
                    entry = made.entry(f"submitted/{student}/{told['lab']}/{name}", link=data is made.LINK)
                    archive.writestr(entry, data)
    return path


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """What the one command said and left behind."""
    folder = tmp_path_factory.mktemp("golden")
    archive, out = handed_in(folder / "class.zip"), folder / "out"
    command = [sys.executable, "-m", "labkit", "grade", archive, "--out", out, "--json", *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with Gradebook.open(out / "gradebook.db", create=False) as book:
        records = book.latest()
    return {"out": out, "said": json.loads(done.stdout), "records": records, "rows": rows(out / "gradebook.csv")}


def rows(path: Path) -> dict[str, dict]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def all_said(parts: list[str], text: str) -> list[str]:
    """Which of the parts a text lacks."""
    return [part for part in parts if part not in text]


def counting(batch, student: str, told: dict):
    found = [one for one in batch["records"] if one.submission.student == student]
    if "file" in told:
        found = [one for one in found if one.submission.file.endswith("/" + told["file"])]
    assert len(found) == 1, [one.submission.file for one in found]
    return found[0]


@pytest.mark.parametrize("story", STORIES)
def test_each_story_ends_as_it_is_written(batch, story):
    told = expected(story)
    for student in told["students"]:
        record = counting(batch, student, told)
        graded = record.graded
        assert (graded.status, record.submission.lab) == (told["status"], told["lab"]), graded.reason
        assert not all_said(told.get("reason", []), graded.reason), graded.reason
        assert bool(graded.reason) == (told["status"] == UNGRADABLE)
        assert len(graded.remarks) == len(told.get("remarks", [])), graded.remarks
        for parts, remark in zip(told.get("remarks", []), graded.remarks, strict=True):
            assert not all_said([parts] if isinstance(parts, str) else parts, remark), remark
        assert [(one.question, one.text) for one in graded.written if one.text] == [
            tuple(pair) for pair in told.get("written", [])
        ]
        if graded.status == GRADED:
            check_exercises(graded, told)


def check_exercises(graded, told: dict) -> None:
    outcomes = {one.exercise: one for one in graded.outcomes}
    wanted = {one.name: told["others"] for one in exercises_of(told["lab"])}
    assert not told.get("exercises", {}).keys() - wanted.keys()
    for name, want in (wanted | told.get("exercises", {})).items():
        want, one = {"status": want} if isinstance(want, str) else want, outcomes.pop(name)
        points = one.max_points if want["status"] == "passed" else want.get("points", 0)
        assert (one.status, one.points) == (want["status"], pytest.approx(points, abs=0.005)), one
        assert list(one.mistakes) == want.get("mistakes", []), one
        assert list(one.remarks) == want.get("remarks", []), one
        assert not all_said(want.get("says", []), one.message), one
    assert not outcomes


@pytest.mark.parametrize("story", STORIES)
def test_each_student_has_a_row_and_a_page_that_say_the_same(batch, story):
    told = expected(story)
    for student in told["students"]:
        graded = counting(batch, student, told).graded
        row = batch["rows"]["'" + student if student[0] in "=+-@" else student]
        assert row["status"] == graded.status
        assert row["points"] == ("" if graded.points is None else f"{graded.points:.2f}".rstrip("0").rstrip("."))
        page = text_of(batch["out"] / "feedback" / feedback_name(student))
        wrong = [one.message for one in graded.outcomes if one.status not in ("passed", "unattempted")]
        for sentence in (*graded.remarks, graded.reason, *wrong):
            assert all(line.replace("`", "") in page for line in sentence.split("\n")), sentence


def text_of(page: Path) -> str:
    """What a reader of a page sees."""
    return unescape(re.sub("<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_one_story_is_no_harm_to_another_and_none_is_lost(batch):
    assert batch["said"]["ok"] and not batch["said"]["system_errors"]
    students = {student for story in STORIES for student in expected(story)["students"]}
    assert {one.submission.student for one in batch["records"]} == students == {*map(unmarked, batch["rows"])}


def unmarked(student: str) -> str:
    """A cell of a sheet without the apostrophe that keeps spreadsheets from running it."""
    return student.removeprefix("'")


def test_every_ungradable_file_is_on_the_class_page_with_its_reason(batch):
    report = text_of(batch["out"] / "report.html")
    ungradable = [one for one in batch["records"] if one.graded.status == UNGRADABLE]
    assert len(ungradable) > 5
    for one in ungradable:
        assert one.graded.reason in report


def test_nothing_is_written_outside(batch):
    folders = ("/etc", "/usr", "/var/tmp", "/tmp", "/")
    targets = ["/etc/cron.d/lab.ipynb", *(f"{folder}/labkit-was-here" for folder in folders)]
    assert not [path for path in targets if Path(path).exists()]
    assert {path.name for path in batch["out"].parent.iterdir()} == {"class.zip", "out"}


def test_numbers_in_several_notebooks_are_noted_for_the_instructor(batch):
    report = text_of(batch["out"] / "report.html")
    assert "Numbers of “mira”: by-hand, somebody-elses-numbers" in report


# ---- the list of kinds -----------------------------------------------------------------------------------------------


def kinds() -> list[tuple[str, list[str]]]:
    """The table's lines: what comes, and the names between backticks that try it."""
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [(kind, re.findall(r"`([^`]+)`", tried)) for kind, _, tried in cells if kind != "what comes"]


@pytest.mark.parametrize(("kind", "names"), kinds())
def test_every_kind_is_tried_by_a_story_or_a_test_that_exists(kind, names):
    assert names, kind
    for name in names:
        file, _, test = name.partition("::")
        there = name in STORIES or (test and f"def {test}(" in (FOLDER.parent / file).read_text(encoding="utf-8"))
        assert there, f"{kind}: {name}"


def test_every_story_is_in_the_list():
    assert set(STORIES) <= {name for _, names in kinds() for name in names}
