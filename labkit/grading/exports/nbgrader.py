"""nbgrader: a course folder with the labs in it, on which nbgrader's own commands work.

A cell of a lab that holds a solution becomes an answer: first what the student gets, then the whole cell once more, as
it is solved, between nbgrader's markers. So the source runs, and the release has our own stubs and nothing else.
After the cell that checks an exercise for the last time comes a cell that is worth the exercise's points. What counts
in it is a hidden test, which nbgrader puts back in when it grades; students see the outcome of `check` as ever.
"""

import ast
import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ... import labs, notebook
from ...exercise import Exercise, Outcome
from ...exercises import EXERCISES, exercises_of
from ...feedback import without_verdict
from ..grader import most_points
from ..wording import few
from . import ExportError

WRITTEN_POINTS = 1  # for an answer in words, which the instructor marks
MARKERS = {
    "code": ("### BEGIN SOLUTION", "### END SOLUTION"),
    "markdown": ("<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"),
}
TEST = """\
# nbgrader counts here what {name} has earned, {points:g} at the most. `check` tells you how far you are.
### BEGIN HIDDEN TESTS
from labkit.grading.exports.nbgrader import points

points({name!r}, {part!r}, globals())
### END HIDDEN TESTS"""
CONFIG = """\
# What an instructor may want to change is in nbgrader's documentation. labkit has to be installed where this runs.
c = get_config()  # noqa: F821

# The labs have stubs of their own; nothing comes in place of a solution.
c.ClearSolutions.code_stub = {"python": ""}
c.ClearSolutions.text_stub = ""

# Seconds for one cell.
c.Execute.timeout = 120
"""


def export(folder: Path, root: Path, replace: bool = False) -> list[Path]:
    """Write a course folder, and return the files in it.

    Parameters
    ----------
    folder : Path
        What else is in it stays, a configuration of the instructor's own too.
    root : Path
        Where the labs' folder ``solutions/`` is.
    replace : bool
        Whether a lab that is in the folder already, and isn't the same, is replaced.

    Raises
    ------
    ExportError
        If there are no labs, the instructor's configuration lets nbgrader put stubs in place of ours, or a lab that
        somebody may have edited would have to be replaced; nothing is written then.
    labkit.labs.LabError
        If there is something wrong with a lab.
    """
    scripts = sorted((root / "solutions").glob("*.py"))
    if not scripts:
        raise ExportError(
            f"export nbgrader: there must be labs in solutions/*.py; found none in {root.resolve()}. "
            "Run it where the folder solutions/ is."
        )
    made = {folder / "nbgrader_config.py": configuration(folder / "nbgrader_config.py")}
    for script in scripts:
        source = json.dumps(for_nbgrader(script.stem, labs.read_script(script)), indent=1, ensure_ascii=False)
        made[folder / "source" / script.stem / f"{script.stem}.ipynb"] = source + "\n"
    others = [str(path) for path, text in made.items() if path.exists() and differs(path, text)]
    if others and not replace:
        raise ExportError(
            f"export nbgrader: nothing may be lost that somebody has edited; other than what would be written are "
            f"{few(others)}. Move them away to keep them, or replace them with --force."
        )
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(made)


def differs(path: Path, text: str) -> bool:
    return path.read_bytes().replace(b"\r\n", b"\n") != text.encode()


def configuration(path: Path) -> str:
    """What is in the configuration already, if it says all that ours must; else ours."""
    text = path.read_text(encoding="utf-8") if path.exists() else CONFIG
    missing = [line for line in CONFIG.splitlines() if "stub" in line and line.startswith("c.") and line not in text]
    if missing:
        raise ExportError(
            f"export nbgrader: {path} must say {'; '.join(missing)}; it was there before, and doesn't. Add that to it."
        )
    return text


def for_nbgrader(lab: str, cells: list[labs.Cell]) -> dict[str, Any]:
    """The notebook from which nbgrader makes the students' one."""
    last = {name: number for number, cell in enumerate(cells) for name in checked(cell)}
    asked = exercises_of(lab)
    unchecked = [exercise.name for exercise in asked if exercise.name not in last]
    if unchecked:
        raise labs.LabError(f"{lab}: each exercise must be checked somewhere; found no check of {unchecked}.")
    made, metadata = [], {}
    for number, cell in enumerate(cells):
        made.append(with_both_versions(cell))
        if cell.solved != cell.unsolved:
            metadata[cell.id] = answer_metadata(cell)
        for exercise in asked:
            if last[exercise.name] == number:
                made.append(counting_cell(lab, exercise))
                metadata[made[-1].id] = describe(
                    exercise.name, grade=True, locked=True, points=most_points(exercise, lab)
                )
    source = labs.notebook(made, solved=True)
    for cell in source["cells"]:
        if cell["id"] in metadata:
            cell["metadata"]["nbgrader"] = metadata[cell["id"]]
    return source


def checked(cell: labs.Cell) -> Iterator[str]:
    """The exercises that stand alone on a line of a cell in a call of ``check``."""
    if cell.kind != "code":
        return
    for line in ast.parse("\n".join(cell.unsolved)).body:
        match line:
            case ast.Expr(ast.Call(ast.Name("check"), args, keywords)):
                named = {str(keyword.arg): keyword.value for keyword in keywords}
                if "exercise" in named:
                    yield ast.literal_eval(named["exercise"])
                else:
                    yield ast.unparse(args[0]) if args else next(iter(named))


def with_both_versions(cell: labs.Cell) -> labs.Cell:
    """A cell with a solution: the student's version, and between nbgrader's markers the solved one."""
    if cell.solved == cell.unsolved:
        return cell
    begin, end = MARKERS[cell.kind]
    unsolved = "\n".join(cell.unsolved).rstrip("\n").split("\n")
    return cell._replace(solved=[*unsolved, begin, *cell.solved, end])


def counting_cell(lab: str, exercise: Exercise) -> labs.Cell:
    """The cell that is worth an exercise's points."""
    part, most = exercise.asks_only.get(lab), most_points(exercise, lab)
    lines = TEST.format(name=exercise.name, part=part, points=most).split("\n")
    return labs.Cell(f"points-{exercise.name}", "code", [], lines, lines)


def answer_metadata(cell: labs.Cell) -> dict[str, Any]:
    """What makes a cell an answer: code is graded by its counting cell, words by the instructor."""
    if cell.kind == "markdown":
        return describe(cell.id, grade=True, solution=True, points=WRITTEN_POINTS)
    return describe(cell.id, solution=True)


def describe(
    name: str, grade: bool = False, locked: bool = False, solution: bool = False, **points: float
) -> dict[str, Any]:
    """A cell's metadata; nbgrader allows these fields and no others."""
    kind = {"grade": grade, "locked": locked, "solution": solution, "task": False}
    return {"schema_version": 3, "grade_id": name, **kind, **points}


def points(name: str, part: str | None, names: Mapping[str, Any]) -> float:
    """What an answer has earned, the number that nbgrader reads off the cell; says why in the cell's output.

    Parameters
    ----------
    name : str
        The exercise.
    part : str or None
        The part of it that the lab asks for, if it doesn't ask for all.
    names : dict
        Everything that the notebook has defined. What has another name there counts as it was checked last.
    """
    with contextlib.redirect_stderr(io.StringIO()):  # whose every word would cost all points
        if name in names:
            outcome = check(name, part, names[name])
        else:
            outcome = notebook.SESSION.outcomes.get(name) or missing(name, "The notebook has nothing of this name.")
    if outcome.status == "system_error":
        raise RuntimeError(f"{outcome.message} Please mark this cell by hand.")
    print(outcome)
    return float(outcome.points)


def check(name: str, part: str | None, answer: Any) -> Outcome:
    """The outcome of a check, also where the call of it is refused."""
    try:
        if EXERCISES[name].is_table:
            return notebook.check(**{name: answer})
        return notebook.check(answer, exercise=name, part=part)
    except ValueError as error:
        return missing(name, str(error))


def missing(name: str, why: str) -> Outcome:
    return without_verdict(name, "missing", EXERCISES[name].points, why)
