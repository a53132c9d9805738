"""The command line: ``python -m labkit``, installed as ``labkit`` too."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GOOD, FINDINGS, MISUSE = 0, 1, 2
UNREAD = 141  # what a shell reports of a command whose reader has gone


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 good, 1 findings, 2 misuse."""
    arguments = _parser().parse_args(argv)
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()  # now and not at the exit, where it would be too late to catch an error
        return status
    except BrokenPipeError:  # as of `labkit build | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed at the exit
        return UNREAD
    except (ValueError, OSError) as error:
        print(_words(error), file=sys.stderr)
        return MISUSE


def _words(error: Exception) -> str:
    """The system's own errors without their number, and with something to do."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}. Give another path."
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="labkit", description="Attention labs that name the mistake.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_build(commands)
    _add_grade(commands)
    _add_report(commands)
    _add_export(commands)
    return parser


def _add_build(commands: Commands) -> None:
    parser = commands.add_parser("build", help="make both notebooks of each lab from solutions/*.py")
    parser.add_argument("--check", action="store_true", help="only say which files are stale; execute nothing")
    parser.add_argument("--force", action="store_true", help="execute the solved notebooks even if they are current")
    parser.add_argument("--root", default=".", metavar="DIR", help="where solutions/ is (default: the current folder)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for machines")
    parser.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    from labkit import labs

    seen = []
    for report in labs.check(arguments.root) if arguments.check else labs.build(arguments.root, arguments.force):
        seen.append(report)
        if not arguments.json:
            print(f"{report.status:<9} {report.path}" + (f": {report.message}" if report.message else ""), flush=True)
    good = all(report.ok for report in seen)
    if arguments.json:
        print(json.dumps({"ok": good, "notebooks": [asdict(report) for report in seen]}, indent=1))
    return GOOD if good else FINDINGS


def _add_grade(commands: Commands) -> None:
    parser = commands.add_parser("grade", help="grade a folder or archive of notebooks that were handed in")
    parser.set_defaults(run=_grade)
    add = parser.add_argument
    words = "a folder, a .zip as the learning platform gives it, or a notebook"
    add("submissions", type=Path, metavar="SUBMISSIONS", help=words)
    add("--out", required=True, type=Path, metavar="DIR", help="where gradebook and pages go; the same one next time")
    add("--json", action="store_true", help="print one JSON object, for machines")
    add = parser.add_argument_group("how to grade", argument_default=argparse.SUPPRESS).add_argument
    add("--lab", metavar="LAB", help="the lab that was asked for (default: what most of the notebooks are)")
    add("--roster", type=Path, metavar="CSV", help="who is in the course: with an id, a name or an e-mail address")
    add("--keep", choices=["best", "last"], help="which attempt counts (default: best)")
    add("--due", metavar="TIME", help="such as 2026-12-01 (its end) or 2026-12-01T18:00+01:00; later is late")
    words = "what each begun day late costs of what was earned (default: 0)"
    add("--late", type=_percent, metavar="PERCENT", help=words)
    add("--refuse-after", type=int, metavar="DAYS", help="days late after which nothing is earned")
    add("--jobs", type=_above_0(int), metavar="N", help="processes (default: as many as there are cores)")
    add("--dask", metavar="ADDRESS", help="grade on the workers of a Dask cluster")
    words = "the course's secret, from which inputs are drawn (default: DIR/secret)"
    add("--secret", type=Path, metavar="FILE", help=words)
    add("--cell-seconds", type=_above_0(float), metavar="S", help="how long a cell may run (default: 5)")
    add("--call-seconds", type=_above_0(float), metavar="S", help="how long a function may run (default: 2)")
    add("--basic", action="store_true", help="limits only, none of the layers of isolation")


def _above_0(kind: Callable[[str], float]) -> Callable[[str], float]:
    """A type of arguments: a number of this kind that is more than 0."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0:
            raise argparse.ArgumentTypeError(f"must be more than 0; got {text}. Give more, or leave it out.")
        return value

    return read


def _percent(text: str) -> float:
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        words = f"must be a number of percent, such as 10; got {text!r}. Write one."
        raise argparse.ArgumentTypeError(words) from None


def _grade(arguments: argparse.Namespace) -> int:
    if sys.platform == "win32":
        raise ValueError("grade: it needs Linux or macOS to run students' code apart; got Windows. Use WSL.")

    from tqdm import tqdm

    from labkit.grading.batch import Options, grade_batch

    given = {one.name for one in fields(Options)} & vars(arguments).keys()
    options = Options(**{name: getattr(arguments, name) for name in given})
    with tqdm(unit=" notebooks", disable=arguments.json or None, leave=False) as bar:

        def tell(file: str, done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        summary = grade_batch(arguments.submissions, arguments.out, options, tell)
    print(json.dumps(asdict(summary), indent=1) if arguments.json else summary)
    return GOOD if summary.ok else FINDINGS


def _add_report(commands: Commands) -> None:
    parser = commands.add_parser("report", help="write sheets and pages anew, with the marks given in written.csv")
    parser.add_argument("out", type=Path, metavar="DIR", help="the folder that `labkit grade` has filled")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from labkit.grading.publish import report

    published = report(arguments.out)
    print(f"{published.marks_in_words}\nLook at {published.report}")
    return GOOD


def _add_export(commands: Commands) -> None:
    places = commands.add_parser("export", help="take grades or labs to where the course is run")
    kinds = places.add_subparsers(title="places", required=True, metavar="PLACE")

    canvas = kinds.add_parser("canvas", help="fill one column of the gradebook that Canvas exported")
    canvas.add_argument("exported", type=Path, metavar="EXPORTED.csv")
    canvas.add_argument("--column", required=True, help='the header of the assignment, such as "Lab 3 (1234)"')
    canvas.set_defaults(run=_export_canvas)

    moodle = kinds.add_parser("moodle", help="a file for the grade import, or Moodle's grading worksheet filled")
    words = "the grading worksheet, if there is one"
    moodle.add_argument("exported", type=Path, nargs="?", metavar="WORKSHEET.csv", help=words)
    words = "the header above the grades, where Moodle speaks another language (default: Grade)"
    moodle.add_argument("--column", default="Grade", help=words)
    moodle.set_defaults(run=_export_moodle)

    for parser in (canvas, moodle):
        add = parser.add_argument
        add("--graded", type=Path, default=Path("graded"), metavar="DIR", help="what `labkit grade` filled (graded)")
        add("--lab", metavar="LAB", help="which lab, where several were graded")
        add("--to", type=Path, metavar="FILE", help="where to write (default: beside it, with -filled in the name)")

    gradescope = kinds.add_parser("gradescope", help="the archive of an autograder")
    gradescope.add_argument("archive", type=Path, metavar="FILE.zip")
    gradescope.add_argument("--lab", required=True, metavar="LAB", help="the lab that is handed in")
    gradescope.add_argument("--secret", type=Path, metavar="FILE", help="the course's secret (default: a new one)")
    gradescope.set_defaults(run=_export_gradescope)

    nbgrader = kinds.add_parser("nbgrader", help="a course folder with all labs as assignments")
    nbgrader.add_argument("folder", type=Path, metavar="DIR")
    words = "where solutions/ is (default: the current folder)"
    nbgrader.add_argument("--root", type=Path, default=Path("."), metavar="DIR", help=words)
    nbgrader.set_defaults(run=_export_nbgrader)


def _export_canvas(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import canvas, points

    gradebook = canvas.gradebook(arguments.exported.read_bytes(), arguments.column)
    return _write(arguments, *gradebook.filled(points.scored(arguments.graded, arguments.lab)))


def _export_moodle(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import moodle, points

    data = arguments.exported.read_bytes() if arguments.exported else None
    students = points.scored(arguments.graded, arguments.lab)
    if data is None:
        return _write(arguments, *moodle.grade_import(students))
    return _write(arguments, *moodle.worksheet(data, arguments.column).filled(students))


def _write(arguments: argparse.Namespace, data: bytes, notes: Iterable[str]) -> int:
    exported = arguments.exported
    to = arguments.to or (exported.with_stem(f"{exported.stem}-filled") if exported else Path("moodle.csv"))
    to.write_bytes(data)
    print("\n".join([*(f"Note: {note}" for note in notes), f"Import {to}"]))
    return GOOD


def _export_gradescope(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import gradescope

    secret = arguments.secret.read_bytes().strip() if arguments.secret else secrets.token_hex(32).encode()
    gradescope.export(arguments.archive, arguments.lab, secret)
    print(f"Upload {arguments.archive} as the autograder of a programming assignment")
    return GOOD


def _export_nbgrader(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import nbgrader

    print("\n".join(map(str, nbgrader.export(arguments.folder, arguments.root))))
    return GOOD


if __name__ == "__main__":
    sys.exit(main())
