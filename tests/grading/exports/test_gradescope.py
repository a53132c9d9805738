"""The archive for Gradescope, and what comes of it in folders laid out as Gradescope's."""

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from peers import LAB, ROOT, WRONG, filled_in
from test_import_order import packages_loaded_by

from labkit.__main__ import main
from labkit.exercise import Outcome
from labkit.exercises import exercises_of
from labkit.grading.exports import gradescope
from labkit.grading.handed_in import intake
from labkit.grading.pool import Job, close_servers, grade_here
from labkit.grading.submission import Graded

SECRET = b"planted secret"

FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
TEST = {
    "score": {"type": "number", "minimum": 0},
    "max_score": {"type": "number", "minimum": 0},
    "status": {"enum": ["passed", "failed"]},
    "name": {"type": "string"},
    "name_format": FORMAT,
    "number": {"type": "string"},
    "output": {"type": "string"},
    "output_format": FORMAT,
    "tags": {"type": "array", "items": {"type": "string"}},
    "visibility": VISIBILITY,
    "extra_data": {"type": "object"},
}
RESULTS = {
    "score": {"type": "number", "minimum": 0},
    "execution_time": {"type": "number"},
    "output": {"type": "string"},
    "output_format": FORMAT,
    "test_output_format": FORMAT,
    "test_name_format": FORMAT,
    "visibility": VISIBILITY,
    "stdout_visibility": VISIBILITY,
    "extra_data": {"type": "object"},
    "tests": {"type": "array", "items": {"type": "object", "properties": TEST, "additionalProperties": False}},
    "leaderboard": {"type": "array"},
}
SCHEMA = Draft202012Validator(
    {
        "type": "object",
        "properties": RESULTS,
        "additionalProperties": False,
        "anyOf": [{"required": ["score"]}, {"required": ["tests"]}],
    }
)


def valid(results):
    """The results, as they are read back from the file."""
    read = json.loads(json.dumps(results))
    SCHEMA.validate(read)
    return read


# ---- results ---------------------------------------------------------------------------------------------------------


def test_an_exercise_is_a_test_with_its_mistakes_as_tags():
    found = {"mistakes": ("softmax_over_columns",), "remarks": ("overflow",)}
    wrong = Outcome("softmax", "failed", 1.5, 3, message="Row 1 < row 2.\nUse `axis`?", **found)
    right = Outcome("attention", "passed", 4, 4, message="Right.")
    read = valid(gradescope.results(Graded("graded", outcomes=(wrong, right), remarks=("Code cell 2 did not run.",))))
    assert read["tests"][0] == {
        "number": "1",
        "name": "softmax",
        "score": 1.5,
        "max_score": 3,
        "status": "failed",
        "output": "<p>Row 1 &lt; row 2.</p><p>Use <code>axis</code>?</p>",
        "output_format": "html",
        "tags": ["softmax_over_columns"],
        "extra_data": {"status": "failed", "remarks": ["overflow"]},
    }
    assert read["tests"][1]["status"] == "passed" and "score" not in read
    assert read["output"] == "Code cell 2 did not run."


def test_what_cannot_be_graded_has_no_points_and_says_why():
    read = valid(gradescope.results(Graded("ungradable", "line 3 is no JSON.")))
    assert read["score"] == 0 and "could not be graded" in read["output"] and "line 3 is no JSON." in read["output"]


@pytest.mark.parametrize(
    "graded",
    [Graded("system_error", "out of memory."), Graded("graded", outcomes=(Outcome("softmax", "system_error", 0, 3),))],
    ids=["all of it", "one exercise"],
)
def test_a_failure_of_the_grader_is_no_result(graded):
    with pytest.raises(gradescope.ExportError, match="the grader must not fail"):
        gradescope.results(graded)


@pytest.mark.parametrize("wrong", [{"score": "3"}, {"tests": [{"visible": True}]}, {}, {"output": "x"}])
def test_the_schema_refuses_what_gradescope_does(wrong):
    assert not SCHEMA.is_valid(wrong)


# ---- the archive -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "autograder.zip"
    gradescope.export(path, LAB, SECRET)
    return path


def test_the_same_files_make_the_same_bytes(archive, tmp_path):
    gradescope.export(tmp_path / "again.zip", LAB, SECRET)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_the_command_takes_a_secret_or_makes_one(archive, tmp_path, capsys):
    (tmp_path / "secret").write_bytes(SECRET)
    for name, more in (("given", ["--secret", str(tmp_path / "secret")]), ("made", []), ("again", [])):
        assert main(["export", "gradescope", str(tmp_path / f"{name}.zip"), "--lab", LAB, *more]) == 0
        assert f"Upload {tmp_path / name}.zip as the autograder" in capsys.readouterr().out
    assert (tmp_path / "given.zip").read_bytes() == archive.read_bytes()
    secrets = {zipfile.ZipFile(tmp_path / f"{name}.zip").read("secret") for name in ("given", "made", "again")}
    assert len(secrets) == 3 and all(len(one) >= len(SECRET) for one in secrets)


def test_an_archive_is_for_one_of_the_labs(tmp_path):
    with pytest.raises(gradescope.ExportError, match="one lab must be chosen; got 'lab 2'. There are: '00_warm_up', "):
        gradescope.export(tmp_path / "autograder.zip", "lab 2", SECRET)
    assert not (tmp_path / "autograder.zip").exists()


def test_a_lab_may_be_named_by_its_beginning(archive, tmp_path):
    gradescope.export(tmp_path / "autograder.zip", LAB[:2], SECRET)
    assert (tmp_path / "autograder.zip").read_bytes() == archive.read_bytes()


def test_only_an_earlier_autograder_is_replaced_and_it_is_for_its_owner_alone(archive, tmp_path):
    path = tmp_path / "autograder.zip"
    path.write_bytes(archive.read_bytes())
    gradescope.export(path, LAB, b"another secret")
    with zipfile.ZipFile(path) as opened:
        assert opened.read("secret") == b"another secret"
    assert stat.filemode(path.stat().st_mode) == "-rw-------"
    assert [one.name for one in tmp_path.iterdir()] == ["autograder.zip"]


@pytest.mark.parametrize("name", ["submissions.zip", "gradebook.db", "folder"])
def test_what_students_handed_in_and_other_files_are_not_replaced(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as handed_in:
        handed_in.writestr("ada/lab.ipynb", "precious")
    (tmp_path / "gradebook.db").write_bytes(b"SQLite format 3")
    (tmp_path / "folder").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(gradescope.ExportError, match=f"{name} must be new, or an autograder that labkit made; it is"):
        gradescope.export(tmp_path / name, LAB, SECRET)
    assert before == {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}


def test_the_scripts_are_at_the_root_and_can_be_run_and_the_secret_is_nobody_elses(archive):
    with zipfile.ZipFile(archive) as opened:
        modes = {entry.filename: stat.filemode(entry.external_attr >> 16) for entry in opened.infolist()}
    assert {name: mode for name, mode in modes.items() if "/" not in name} == {
        "setup.sh": "-rwxr-xr-x",
        "run_autograder": "-rwxr-xr-x",
        "requirements.txt": "-rw-r--r--",
        "lab": "-rw-r--r--",
        "secret": "-rw-------",
    }
    assert "labkit/grading/sandbox/server.py" in modes and not [name for name in modes if "__pycache__" in name]


def test_what_grades_there_needs_only_what_is_installed_there():
    loaded = packages_loaded_by("import labkit.grading.exports.gradescope")
    assert "numpy" in loaded and not loaded & {"IPython", "distributed", "jinja2", "nbformat", "tqdm"}


# ---- as Gradescope runs it -------------------------------------------------------------------------------------------

# An empty root with the machine's own programs in it, without the checkout; whatever is mounted goes with the process.
NEW_ROOT = """
set -e
root=$1 laid_out=$2 checkout=$3
shift 3
mount -t tmpfs none "$root"
for part in /*; do
    if [ -L "$part" ]; then cp -P "$part" "$root$part"
    elif [ -d "$part" ] && [ "$part" != /tmp ]; then mkdir "$root$part"; mount --rbind "$part" "$root$part"; fi
done
mkdir "$root/tmp" "$root/autograder"
if [ -d "$root$checkout" ]; then mount -t tmpfs none "$root$checkout"; fi
mount --bind "$laid_out" "$root/autograder"
exec chroot "$root" /bin/sh -c 'cd /autograder; exec "$@"' sh "$@"
"""
NAMESPACE = ["unshare", "--mount", *(["--map-root-user"] if hasattr(os, "geteuid") and os.geteuid() else [])]


class Machine:
    """A machine of Gradescope's, which has only /autograder for itself."""

    def __init__(self, folder: Path):
        self.root, self.autograder = folder / "root", folder / "autograder"
        for path in (self.root, self.autograder, self.autograder / "results", self.autograder / "source"):
            path.mkdir()

    def run(self, *command: str) -> subprocess.CompletedProcess:
        inside = ["sh", "-c", NEW_ROOT, "sh", str(self.root), str(self.autograder), str(ROOT), *command]
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        kept["PATH"] = os.pathsep.join([f"{sys.base_prefix}/bin", *os.environ["PATH"].split(os.pathsep)])
        return subprocess.run([*NAMESPACE, *inside], env=kept, capture_output=True, text=True, cwd="/")

    def results(self) -> Path:
        return self.autograder / "results" / "results.json"

    def hand_in(self, files: dict[str, str]) -> subprocess.CompletedProcess:
        """Lay out a submission and run the autograder on it, as Gradescope does."""
        folder = self.autograder / "submission"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        user = {"id": 1, "name": "Ada Lovelace", "email": "ada@example.org"}
        metadata = {"id": 7, "created_at": "2026-11-29T10:00:00.000000-08:00", "users": [user]}
        (self.autograder / "submission_metadata.json").write_text(json.dumps(metadata))
        self.results().write_text("left over")
        return self.run("/autograder/run_autograder")


@pytest.fixture(scope="module")
def machine(archive, tmp_path_factory):
    made = Machine(tmp_path_factory.mktemp("gradescope"))
    if made.run("true").returncode:
        pytest.skip("a root of one's own needs Linux, and may be refused to ordinary users")
    subprocess.run(["unzip", "-q", archive, "-d", made.autograder / "source"], check=True)
    shutil.copy(made.autograder / "source" / "run_autograder", made.autograder)
    done = made.run("/autograder/source/setup.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def student(**answers):
    made = json.loads((ROOT / "notebooks" / f"{LAB}.ipynb").read_text())
    return json.dumps(filled_in(made, LAB, **answers))


@pytest.mark.peers
def test_the_autograder_gives_the_same_marks_as_labkit_here(machine, tmp_path):
    made = student(answers=WRONG["no_mask"])
    done = machine.hand_in({"my lab (1).ipynb": made})
    assert done.returncode == 0, done.stdout + done.stderr
    read = valid(json.loads(machine.results().read_text()))
    (tmp_path / "lab.ipynb").write_text(made)
    (one,) = intake.collect(tmp_path).submissions
    here = grade_here(one, Job(SECRET)).outcomes
    close_servers()
    assert [(test["name"], test["score"], test["max_score"], tuple(test["tags"])) for test in read["tests"]] == [
        (outcome.exercise, outcome.points, outcome.max_points, outcome.mistakes) for outcome in here
    ]
    assert [test["name"] for test in read["tests"]] == [exercise.name for exercise in exercises_of(LAB)]
    assert [test["name"] for test in read["tests"] if test["status"] == "failed"] == ["attention"]


@pytest.mark.peers
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"lab.ipynb": "{"}, "line 1"),
        ({"notes.txt": "I have nothing."}, "notes.txt"),
        ({}, "There is no notebook"),
        ({"lab.ipynb": (ROOT / "notebooks" / "03_multi_head.ipynb").read_text()}, "03_multi_head"),
        ({"a.ipynb": student(), "b.ipynb": student()}, "several notebooks"),
    ],
    ids=["no JSON", "no notebook", "nothing", "another lab", "two"],
)
def test_what_cannot_be_graded_is_told_so(machine, files, words):
    done = machine.hand_in(files)
    assert done.returncode == 0, done.stdout + done.stderr
    read = valid(json.loads(machine.results().read_text()))
    assert read["score"] == 0 and words in read["output"]


LOOKS = """
found = {}
for path in ("source/secret", "source/labkit/attention.py", "results/results.json", "submission_metadata.json"):
    for mode in ("r", "a"):
        try:
            with open(f"/autograder/{path}", mode) as file:
                found[path, mode] = file.read() if mode == "r" else file.write("spoilt")
        except OSError:
            pass
assert not found, found
"""


@pytest.mark.peers
def test_a_notebook_finds_neither_secret_nor_results(machine):
    made = json.loads(student())
    made["cells"].append({"cell_type": "code", "source": LOOKS, "metadata": {}, "outputs": [], "execution_count": None})
    machine.hand_in({"lab.ipynb": json.dumps(made)})
    read = valid(json.loads(machine.results().read_text()))
    assert "did not run" not in read["output"] and {test["status"] for test in read["tests"]} == {"passed"}


@pytest.mark.peers
def test_where_the_grader_fails_there_are_no_results(machine):
    lab = machine.autograder / "source" / "lab"
    lab.rename(lab.with_name("away"))
    try:
        done = machine.hand_in({"lab.ipynb": student()})
    finally:
        lab.with_name("away").rename(lab)
    assert done.returncode != 0 and not machine.results().exists()
