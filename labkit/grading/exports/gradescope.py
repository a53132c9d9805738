"""Gradescope: an archive that grades there as `labkit grade` does here, and results in the form that it reads."""

import html
import io
import json
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...exercise import Outcome
from ...exercises import LABS
from ...feedback import code
from ..handed_in.intake import IntakeError, collect
from ..pool import Job, close_servers, grade_here
from ..sandbox.host import Seconds
from ..submission import SYSTEM_ERROR, UNGRADABLE, Graded, Submission
from . import ExportError, chosen, write

PACKAGE = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).resolve().parent / "autograder"
MODES = {"setup.sh": 0o755, "run_autograder": 0o755, "secret": 0o600}
NEEDED = ("numpy", "matplotlib")
SECONDS = Seconds(cell=10, call=4, submission=120)  # twice the usual: the machines there are slow
BEGINNING = (1980, 1, 1, 0, 0, 0)  # of time, for archives; so the same files make the same bytes


# ---- the archive -----------------------------------------------------------------------------------------------------


def export(path: Path, lab: str, secret: bytes) -> None:
    """Write the archive that is uploaded as a programming assignment's autograder.

    Parameters
    ----------
    path : Path
        The .zip file; one that is there is replaced if it is an autograder of ours.
    lab : str
        The lab that is handed in, such as ``"02_causal_mask"``, or as much of that as names one.
    secret : bytes
        The course's secret, which decides the inputs.
    """
    lab = chosen("lab", lab, LABS)
    if path.exists() and not is_ours(path):
        raise ExportError(
            f"export gradescope: {path} must be new, or an autograder that labkit made; it is another file. "
            "Choose another name."
        )
    needed = "".join(f"{name}<={version(name)}\n" for name in NEEDED)  # older ones only for an older Python there
    files = {path.name: path.read_bytes() for path in sorted(SCRIPTS.iterdir())}
    files |= {"requirements.txt": needed.encode(), "lab": lab.encode(), "secret": secret}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in (files | dict(sorted(own_files()))).items():
            entry = zipfile.ZipInfo(name, BEGINNING)
            entry.create_system = 3  # Unix, whose permissions follow
            entry.external_attr = (stat.S_IFREG | MODES.get(name, 0o644)) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    write(path, made.getvalue())


def is_ours(path: Path) -> bool:
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    with zipfile.ZipFile(path) as archive:
        return {*MODES, "lab", "labkit/__init__.py"} <= {*archive.namelist()}


def own_files() -> Iterator[tuple[str, bytes]]:
    """All of labkit, by path."""
    for path in PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(PACKAGE.parent).as_posix(), path.read_bytes()


# ---- the results -----------------------------------------------------------------------------------------------------


def results(graded: Graded) -> dict[str, Any]:
    """What Gradescope reads: one test an exercise; who can't be graded has no points, and reads why.

    Raises
    ------
    ExportError
        If the grader itself failed: then there must be no results at all, since 0 points would be a lie.
    """
    if graded.status == SYSTEM_ERROR or any(one.status == "system_error" for one in graded.outcomes):
        reason = graded.reason or "it failed at an exercise"
        raise ExportError(f"export gradescope: the grader must not fail; got this: {reason} Run the autograder again.")
    extra = {"status": graded.status, "numbers_of": graded.numbers_of, "isolation": graded.isolation}
    said = {"output_format": "text", "visibility": "visible", "stdout_visibility": "hidden", "extra_data": extra}
    if graded.status == UNGRADABLE:
        why = f"This could not be graded, and so has no points of its own: {graded.reason}\nPlease hand in again."
        return {**said, "score": 0, "output": "\n".join([why, *graded.remarks])}
    tests = [as_test(number, outcome) for number, outcome in enumerate(graded.outcomes, 1)]
    return {**said, "output": "\n".join(graded.remarks), "tests": tests}


def as_test(number: int, outcome: Outcome) -> dict[str, Any]:
    """An exercise in the form of a test, with its mistakes as tags."""
    paragraphs = "".join(f"<p>{code(html.escape(line))}</p>" for line in outcome.message.split("\n"))
    return {
        "number": str(number),
        "name": outcome.exercise,
        "score": outcome.points,
        "max_score": outcome.max_points,
        "status": "passed" if outcome.passed else "failed",
        "output": paragraphs,
        "output_format": "html",
        "tags": list(outcome.mistakes),
        "extra_data": {"status": outcome.status, "remarks": outcome.remarks},
    }


# ---- on Gradescope's machine -----------------------------------------------------------------------------------------


def main(root: Path = Path("/autograder")) -> int:
    """Grade what was handed in and write the results; without results Gradescope says that the autograder failed."""
    target, source = root / "results" / "results.json", root / "source"
    target.unlink(missing_ok=True)
    graded = grade(root, (source / "lab").read_text(), (source / "secret").read_bytes())
    try:
        text = json.dumps(results(graded), indent=1)
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    unfinished = target.with_name("unfinished")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, target)
    return 0


def grade(root: Path, lab: str, secret: bytes) -> Graded:
    """Grade the one notebook of the lab that was handed in."""
    try:
        intake = collect(root / "submission", lab)
    except IntakeError:
        return Graded(UNGRADABLE, "There is no notebook in it.")
    fitting = [one for one in intake.submissions if not one.problem] or list(intake.submissions[:1])
    if len(fitting) > 1:
        names = ", ".join(one.file for one in fitting)
        return Graded(UNGRADABLE, f"It holds several notebooks of this lab, {names}, and one is asked for.")
    try:
        return grade_here(with_sender(fitting[0], root), Job(secret, SECONDS, preload=intake.preload))
    finally:
        close_servers()


def with_sender(submission: Submission, root: Path) -> Submission:
    """The submission with who handed it in, as far as Gradescope says so."""
    try:
        user = json.loads((root / "submission_metadata.json").read_text(encoding="utf-8"))["users"][0]
        return replace(submission, student=str(user["email"]), name=str(user["name"]))
    except (OSError, ValueError, LookupError, TypeError):
        return submission


if __name__ == "__main__":
    sys.exit(main())
