"""The labs in the real nbgrader: released, handed in, graded there and by labkit, with the same marks."""

import ast
import json
import sqlite3
import sys
from pathlib import Path

import pytest
from peers import LAB, ROOT, WRONG, cells, environment, filled_in, run

from labkit import labs, notebook, student
from labkit.__main__ import main
from labkit.exercises import exercises_of
from labkit.grading.exports import nbgrader
from labkit.grading.grader import most_points
from labkit.grading.handed_in import intake
from labkit.grading.pool import Job, close_servers, grade_here

ALL_LABS = sorted(path.stem for path in (ROOT / "solutions").glob("*.py"))

# Three who are wrong somewhere, and one whose function talks on standard error.
ODD_ONES = {name: WRONG[name] for name in ("no_mask", "two_cells", "empty_row")}
ODD_ONES["loud"] = {"return np.tril(": 'import sys\n    print("!", file=sys.stderr)\n    return np.tril('}

# nbgrader's own commands, many in one process, since it takes seconds to start.
COMMANDS = """
import sys
from nbgrader.apps import NbGraderAPI, NbGraderApp

app = NbGraderApp()
app.load_config_file()
api, (command, *all_arguments) = NbGraderAPI(config=app.config), sys.argv[1:]
for arguments in all_arguments:
    done = getattr(api, command)(*arguments.split())
    if not done["success"]:
        sys.exit(done["log"])
"""


@pytest.fixture(autouse=True)
def own_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    nbgrader.export(folder, ROOT)
    return folder


def source(folder, lab, stage="source"):
    return json.loads((folder / stage / lab / f"{lab}.ipynb").read_text())


def nbgrader_cells(made):
    return {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in made["cells"] if "nbgrader" in cell["metadata"]}


# ---- the folder, without nbgrader ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", ALL_LABS)
def test_each_exercise_has_one_cell_that_counts_with_its_points(exported, lab):
    counting = {
        name: cell["metadata"]["nbgrader"]["points"]
        for name, cell in nbgrader_cells(source(exported, lab)).items()
        if cell["cell_type"] == "code" and cell["metadata"]["nbgrader"]["grade"]
    }
    assert counting == {exercise.name: most_points(exercise, lab) for exercise in exercises_of(lab)}


@pytest.mark.parametrize("lab", ALL_LABS)
def test_a_cell_that_counts_comes_after_the_last_check_of_its_exercise(exported, lab):
    made = source(exported, lab)["cells"]
    for exercise in exercises_of(lab):
        ids = [cell["id"] for cell in made]
        at = ids.index(f"points-{exercise.name}")
        calls = [i for i, cell in enumerate(made) if checks(cell, exercise.name)]
        assert calls and max(calls) < at


def checks(cell, name):
    """Whether a cell has a line that is nothing but a check of an exercise."""
    starts = (f"check({name})", f"check({name}=", f"check({name},")
    return any(line.startswith(starts) for line in "".join(cell["source"]).splitlines())


def test_the_folder_may_be_made_again_and_an_instructors_configuration_stays(exported, tmp_path):
    own = (exported / "nbgrader_config.py").read_text() + "c.Execute.timeout = 300\n"
    (tmp_path / "nbgrader_config.py").write_text(own)
    made = [nbgrader.export(tmp_path, ROOT) for _ in range(2)][1]
    assert (tmp_path / "nbgrader_config.py").read_text() == own
    assert sorted(tmp_path.rglob("*.*")) == sorted(made)
    for path in made[1:]:
        assert path.read_bytes() == (exported / path.relative_to(tmp_path)).read_bytes()


def test_a_lab_that_an_instructor_has_edited_is_replaced_only_if_that_was_said(exported, tmp_path):
    nbgrader.export(tmp_path, ROOT)
    path = tmp_path / "source" / LAB / f"{LAB}.ipynb"
    right, gone = path.read_text(), tmp_path / "source" / ALL_LABS[0] / f"{ALL_LABS[0]}.ipynb"
    path.write_text(right.replace("mask", "MASK"))
    gone.unlink()
    with pytest.raises(nbgrader.ExportError, match=f"would be written are .*{LAB}.ipynb. Move them away .* --force"):
        nbgrader.export(tmp_path, ROOT)
    assert path.read_text() == right.replace("mask", "MASK") and not gone.exists()
    nbgrader.export(tmp_path, ROOT, replace=True)
    assert path.read_text() == right and gone.exists()


def test_the_command_names_what_it_wrote_and_replaces_only_with_force(tmp_path, capsys):
    command = ["export", "nbgrader", str(tmp_path), "--root", str(ROOT)]
    assert main(command) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == [str(path) for path in nbgrader.export(tmp_path, ROOT)]
    path = tmp_path / "source" / LAB / f"{LAB}.ipynb"
    right = path.read_text()
    path.write_text("edited")
    assert main(command) == 2 and path.read_text() == "edited"
    assert main([*command, "--force"]) == 0 and path.read_text() == right


def test_a_configuration_with_which_nbgrader_would_spoil_the_labs_is_refused(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    with pytest.raises(nbgrader.ExportError, match="must say c.ClearSolutions.code_stub = .*; it was there before"):
        nbgrader.export(tmp_path, ROOT)
    assert [path.name for path in tmp_path.iterdir()] == ["nbgrader_config.py"]


def test_an_exercise_that_a_lab_never_checks_is_an_error():
    without = [cell for cell in cells(LAB) if "check(padding_mask)" not in cell.solved]
    with pytest.raises(labs.LabError, match=r"found no check of \['padding_mask'\]"):
        nbgrader.for_nbgrader(LAB, without)


def test_a_check_of_a_function_by_another_name_counts_for_its_exercise():
    check = [f'check(mine, exercise="{exercise.name}")' for exercise in exercises_of(LAB)]
    made = nbgrader.for_nbgrader(LAB, [labs.Cell("cell-001", "code", [], check, check)])
    assert [cell["id"] for cell in made["cells"][1:]] == [f"points-{exercise.name}" for exercise in exercises_of(LAB)]


def test_what_the_lab_itself_fails_at_gets_no_points_but_an_error(monkeypatch):
    def fails(*args, **more):
        raise ZeroDivisionError

    monkeypatch.setattr(notebook, "judge_function", fails)
    with pytest.raises(RuntimeError, match=r"failed here \(ZeroDivisionError\).* Please mark this cell by hand"):
        nbgrader.points("causal_mask", None, {"causal_mask": lambda n: n})


def test_where_no_labs_are_it_says_so(tmp_path):
    with pytest.raises(nbgrader.ExportError, match="there must be labs in solutions"):
        nbgrader.export(tmp_path / "course", tmp_path)


def test_points_of_a_right_function_and_of_one_that_is_not_there(capsys):
    def causal_mask(n):
        print("!", file=sys.stderr)
        return [[j <= i for j in range(n)] for i in range(n)]

    points = nbgrader.points("causal_mask", None, {"causal_mask": causal_mask})
    assert repr(points) == "2.0"
    assert nbgrader.points("padding_mask", None, {}) == 0.0
    out, err = capsys.readouterr()
    assert err == "" and "causal_mask: passed" in out and "The notebook has nothing of this name." in out


def test_what_has_another_name_counts_as_it_was_checked():
    notebook.check(lambda n: [[j <= i for j in range(n)] for i in range(n)], exercise="causal_mask")
    assert nbgrader.points("causal_mask", None, {}) == 2.0


def test_a_table_about_own_numbers_earns_nothing_as_long_as_nobody_said_whose(capsys):
    assert nbgrader.points("hand_weights", None, {"hand_weights": [[1]]}) == 0.0
    assert "Run me = student('your name') first." in capsys.readouterr().out
    student("ada")
    nbgrader.points("hand_weights", None, {"hand_weights": [[1]]})
    assert "hand_weights: failed" in capsys.readouterr().out


# ---- the same with nbgrader itself -----------------------------------------------------------------------------------


class Course:
    """A course folder, and nbgrader's commands on it."""

    def __init__(self, folder: Path, home: Path):
        self.folder, self.home = folder, home

    def nbgrader(self, command: str, *arguments: str) -> None:
        run([environment("nbgrader") / "python", "-c", COMMANDS, command, *arguments], self.folder, self.home)

    def released(self, lab: str) -> dict:
        return source(self.folder, lab, "release")

    def hand_in(self, who: str, lab: str, made: dict) -> None:
        path = self.folder / "submitted" / who / lab / f"{lab}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(made))

    def scores(self, lab: str) -> dict[str, dict[str, float]]:
        """What nbgrader gave by itself, by student and cell; answers in words wait for a mark."""
        question = """
            SELECT student.id, base_cell.name, grade.auto_score FROM grade
            JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
            JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
            JOIN student ON submitted_assignment.student_id = student.id
            JOIN assignment ON submitted_assignment.assignment_id = assignment.id
            JOIN base_cell ON grade.cell_id = base_cell.id WHERE assignment.name = ?
        """
        with sqlite3.connect(self.folder / "gradebook.db") as connection:
            rows = connection.execute(question, [lab]).fetchall()
        connection.close()
        found: dict[str, dict[str, float]] = {}
        for who, cell, score in rows:
            found.setdefault(who, {})[cell] = score
        return found


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Every lab released, and handed in solved and untouched; one lab with some odd ones besides; all of it graded."""
    made = Course(tmp_path_factory.mktemp("nbgrader"), tmp_path_factory.mktemp("home"))
    nbgrader.export(made.folder, ROOT)
    made.nbgrader("generate_assignment", *ALL_LABS)
    for lab in ALL_LABS:
        released = made.released(lab)
        made.hand_in("solved", lab, filled_in(released, lab))
        made.hand_in("untouched", lab, released)
        for who, answers in ODD_ONES.items() if lab == LAB else ():
            made.hand_in(who, lab, filled_in(released, lab, answers))
    handed_in = [path.parts[-3:-1] for path in made.folder.glob("submitted/*/*/*.ipynb")]
    made.nbgrader("autograde", *(f"{lab} {who}" for who, lab in sorted(handed_in)))
    return made


@pytest.fixture(scope="module")
def ours(course):
    """The same files graded by labkit: points by lab, student and exercise."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in intake.collect(course.folder).submissions:
        outcomes = grade_here(one, Job(b"secret")).outcomes
        found.setdefault(one.lab, {})[one.student] = {outcome.exercise: outcome.points for outcome in outcomes}
    yield found
    close_servers()


def by_hand(lab):
    return {cell.id for cell in cells(lab) if cell.kind == "markdown" and cell.solved != cell.unsolved}


def by_itself(scores, lab):
    return {name: score for name, score in scores.items() if name not in by_hand(lab)}


@pytest.mark.peers
@pytest.mark.parametrize("lab", ALL_LABS)
def test_what_is_released_is_the_students_notebook_and_the_cells_that_count(course, lab):
    ours = labs.notebook(cells(lab), solved=False)["cells"]
    theirs = [cell for cell in course.released(lab)["cells"] if not cell["id"].startswith("points-")]
    assert [cell["id"] for cell in theirs] == [cell["id"] for cell in ours]
    for one, other in zip(theirs, ours, strict=True):
        texts = ["".join(cell["source"]) for cell in (one, other)]
        if one["cell_type"] == "code" and "%" not in texts[0]:
            texts = [ast.dump(ast.parse(text)) for text in texts]  # blank lines don't matter
        assert texts[0].strip() == texts[1].strip()


@pytest.mark.peers
@pytest.mark.parametrize("lab", ALL_LABS)
def test_nothing_of_solution_or_test_is_released(course, lab):
    text = json.dumps(course.released(lab))
    assert "SOLUTION" not in text and "HIDDEN" not in text and "labkit.grading" not in text


@pytest.mark.peers
@pytest.mark.parametrize("lab", ALL_LABS)
def test_solved_earns_all_points_and_untouched_none(course, lab):
    scores = course.scores(lab)
    assert by_itself(scores["solved"], lab) == {e.name: most_points(e, lab) for e in exercises_of(lab)}
    assert {scores["solved"][cell] for cell in by_hand(lab)} <= {None}  # waiting for a mark
    assert set(scores["untouched"].values()) == {0}


@pytest.mark.peers
@pytest.mark.parametrize(
    ("who", "exercise", "points"),
    [
        ("loud", "causal_mask", 2),
        ("no_mask", "attention", 2),
        ("two_cells", "hand_causal_weights", 1.75),
        ("empty_row", "masked_softmax", 2),
    ],
)
def test_who_is_partly_right_earns_a_part(course, who, exercise, points):
    scores = course.scores(LAB)
    assert by_itself(scores[who], LAB) == by_itself(scores["solved"], LAB) | {exercise: points}


@pytest.mark.peers
@pytest.mark.parametrize("lab", ALL_LABS)
def test_labkit_gives_the_same_points_for_the_same_files(course, ours, lab):
    assert ours[lab] == {who: by_itself(scores, lab) for who, scores in course.scores(lab).items()}


@pytest.mark.peers
def test_nbgraders_feedback_names_the_mistake(course):
    course.nbgrader("generate_feedback", f"{LAB} no_mask")
    page = (course.folder / "feedback" / "no_mask" / LAB / f"{LAB}.html").read_text()
    assert "attention: failed, 2 of 4 points" in page
