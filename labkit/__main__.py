"""The command line: ``python -m labkit``, installed as ``labkit`` too."""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import __version__

if TYPE_CHECKING:
    from .grading.exports.grade_sheet import Filled

    Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"

GOOD, FINDINGS, MISUSE = 0, 1, 2
STOPPED, UNREAD = 130, 141  # what a shell reports of a command that was interrupted, or whose reader has gone


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 good, 1 findings, 2 misuse, 130 interrupted."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name may stop a command, whatever can be shown here
    arguments = _parser().parse_args(argv)
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()  # now and not at the exit, where it would be too late to catch an error
        return status
    except BrokenPipeError:  # as of `labkit build | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed at the exit
        return UNREAD
    except KeyboardInterrupt:
        return _failed(arguments, "Stopped. The same command goes on, or begins anew.", STOPPED)
    except (ValueError, OSError) as error:
        return _failed(arguments, _words(error), MISUSE)


def _failed(arguments: argparse.Namespace, words: str, status: int) -> int:
    if getattr(arguments, "json", False):
        print(json.dumps({"ok": False, "error": words}))
    else:
        _say(*words.split("\n"), file=sys.stderr)
    return status


def _words(error: Exception) -> str:
    """The system's own errors without their number, and with something to do."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename}: {error.strerror}. Give another path." if error.filename else error.strerror or str(error)


def _say(*lines: str, file: Any = None) -> None:
    """Print lines in which students' names may stand, so that none of them does anything to the terminal."""
    from labkit.grading.wording import one_line

    print("\n".join(map(one_line, lines)), file=file)


class _Parser(argparse.ArgumentParser):
    """Takes options in full only, and names one that isn't there before anything else."""

    def __init__(self, **more: Any):
        super().__init__(allow_abbrev=False, **more)

    def parse_known_args(  # type: ignore[override]  # typeshed's overloads can't be overridden by one function
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        given = list(sys.argv[1:] if args is None else args)
        if not self._subparsers:
            options = [one.partition("=")[0] for one in given[: given.index("--") if "--" in given else None]]
            for unknown in (one for one in options if one.startswith("--") and one not in self._option_string_actions):
                near = difflib.get_close_matches(unknown, self._option_string_actions, 1)
                self.error(f"there is no option {unknown}." + (f" Did you mean {near[0]}?" if near else ""))
        return super().parse_known_args(given, namespace)


def path(text: str) -> Path:
    """For argparse: a path that was meant, and not an empty text, which would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("a path must be given; got an empty text. Write . for the current folder.")
    return Path(text)


def named(text: str) -> str:
    """For argparse: a text that was meant, and not an empty one, as of a variable of the shell that isn't set."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty; got an empty text. Write it, or leave the option out.")
    return text


def file(text: str) -> Path:
    """For argparse: a path at which no device stands, which may never end; a pipe is another program's output."""
    found = path(text)
    if found.is_char_device() or found.is_block_device():
        raise argparse.ArgumentTypeError(f"must be a file; {text} is a device. Give another path.")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="labkit", description="Attention labs that name the mistake.")
    parser.add_argument("--version", action="version", version=f"labkit {__version__}")
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
    add("submissions", type=path, metavar="SUBMISSIONS", help=words)
    add("--out", required=True, type=path, metavar="DIR", help="where gradebook and pages go; the same one next time")
    add("--json", action="store_true", help="print one JSON object, for machines")
    add = parser.add_argument_group("how to grade", argument_default=argparse.SUPPRESS).add_argument
    add("--lab", type=named, metavar="LAB", help="the lab that was asked for (default: what most of the notebooks are)")
    add("--roster", type=file, metavar="CSV", help="who is in the course: with an id, a name or an e-mail address")
    add("--keep", choices=["best", "last"], help="which attempt counts (default: best)")
    words = "such as 2026-12-01 (its end) or 2026-12-01T18:00+01:00, or never; later is late"
    add("--due", type=named, metavar="TIME", help=words)
    words = "percent that each begun day late costs of what was earned (default: 0)"
    add("--late", type=_percent, metavar="PERCENT", help=words)
    words = "days late after which nothing is earned, or never"
    add("--refuse-after", type=_days, metavar="DAYS", help=words)
    add("--jobs", type=_number(int, 1, 1000), metavar="N", help="processes (default: as many as there are cores)")
    add("--dask", type=named, metavar="ADDRESS", help="grade on the workers of a Dask cluster")
    words = "the course's secret, from which inputs are drawn (default: DIR/secret)"
    add("--secret", type=file, metavar="FILE", help=words)
    add("--cell-seconds", type=_number(float, 0.1, 3600), metavar="S", help="how long a cell may run (default: 5)")
    add("--call-seconds", type=_number(float, 0.1, 3600), metavar="S", help="how long a call may run (default: 2)")
    add("--basic", action="store_true", help="limits only, none of the layers of isolation")


def _number(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float]:
    """A type of arguments: a number of this kind in this range."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"must be {what} from {least:g} to {most:g}; got {text!r}. Give another.")
        return value

    return read


def _percent(text: str) -> float:
    return _number(float, 0, 100)(text.strip().removesuffix("%"))


def _days(text: str) -> float | str:
    return text if text == "never" else _number(int, 0, 1000)(text)


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
    if arguments.json:
        print(json.dumps(asdict(summary), indent=1))
    else:
        _say(*summary.lines)
    return STOPPED if summary.stopped else GOOD if summary.ok else FINDINGS


def _add_report(commands: Commands) -> None:
    parser = commands.add_parser("report", help="write sheets and pages anew, with the marks given in written.csv")
    parser.add_argument("out", type=path, metavar="DIR", help="the folder that `labkit grade` has filled")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from labkit.grading.publish import report

    published = report(arguments.out)
    _say(str(published.marks), f"Look at {published.report}")
    return GOOD


def _add_export(commands: Commands) -> None:
    places = commands.add_parser("export", help="take grades or labs to where the course is run")
    kinds = places.add_subparsers(title="places", required=True, metavar="PLACE")

    canvas = kinds.add_parser("canvas", help="fill one column of the gradebook that Canvas exported")
    canvas.add_argument("exported", type=file, metavar="EXPORTED.csv")
    canvas.add_argument("--column", required=True, help='the header of the assignment, such as "Lab 3 (1234)"')
    canvas.set_defaults(run=_export_canvas)

    moodle = kinds.add_parser("moodle", help="a file for the grade import, or Moodle's grading worksheet filled")
    words = "the grading worksheet, if there is one"
    moodle.add_argument("exported", type=file, nargs="?", metavar="WORKSHEET.csv", help=words)
    words = "the header above the grades, where Moodle speaks another language (default: Grade)"
    moodle.add_argument("--column", default="Grade", help=words)
    moodle.set_defaults(run=_export_moodle)

    for parser in (canvas, moodle):
        add = parser.add_argument
        add("--graded", type=path, default=Path("graded"), metavar="DIR", help="what `labkit grade` filled (graded)")
        add("--lab", metavar="LAB", help="which lab, where several were graded")
        add("--batch", metavar="BATCH", help="which of nbgrader's assignments, where several are the same lab")
        add("--to", type=path, metavar="FILE", help="where to write (default: beside it, with -filled in the name)")

    gradescope = kinds.add_parser("gradescope", help="the archive of an autograder")
    gradescope.add_argument("archive", type=path, metavar="FILE.zip")
    gradescope.add_argument("--lab", required=True, metavar="LAB", help="the lab that is handed in")
    gradescope.add_argument("--secret", type=file, metavar="FILE", help="the course's secret (default: a new one)")
    gradescope.set_defaults(run=_export_gradescope)

    nbgrader = kinds.add_parser("nbgrader", help="a course folder with all labs as assignments")
    nbgrader.add_argument("folder", type=path, metavar="DIR")
    words = "where solutions/ is (default: the current folder)"
    nbgrader.add_argument("--root", type=path, default=Path("."), metavar="DIR", help=words)
    nbgrader.add_argument("--force", action="store_true", help="replace labs that are there and differ")
    nbgrader.set_defaults(run=_export_nbgrader)


def _export_canvas(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import canvas, points

    gradebook = canvas.gradebook(arguments.exported.read_bytes(), arguments.column)
    students = points.students_of(arguments.graded, arguments.lab, arguments.batch)
    return _write(arguments, gradebook.filled(students))


def _export_moodle(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import moodle, points

    data = arguments.exported.read_bytes() if arguments.exported else None
    students = points.students_of(arguments.graded, arguments.lab, arguments.batch)
    if data is None:
        return _write(arguments, moodle.grade_import(students))
    return _write(arguments, moodle.worksheet(data, arguments.column).filled(students))


def _write(arguments: argparse.Namespace, filled: Filled) -> int:
    from labkit.grading.exports import ExportError, write
    from labkit.grading.wording import count

    exported = arguments.exported
    to = arguments.to or (exported.with_stem(f"{exported.stem}-filled") if exported else Path("moodle.csv"))
    if to.exists() and to.suffix.lower() != ".csv":
        raise ExportError(f"export: a file that is replaced must be a .csv; got {to}. Choose another name.")
    notes = [f"Note: {note}" for note in filled.notes]
    if not filled.students:
        mend = "Where ids differ, run `labkit grade` with a --roster that has those of the platform, too."
        _say(*notes, f"Nothing was written, since nobody's points could be filled in. {mend}")
        return FINDINGS
    write(to, filled.data)
    _say(*notes, f"Filled in: {filled.students} of {count(filled.of, 'student')}.", f"Import {to}")
    return GOOD


def _export_gradescope(arguments: argparse.Namespace) -> int:
    from labkit.grading.course_secret import read_secret
    from labkit.grading.exports import gradescope

    secret = read_secret(arguments.secret) if arguments.secret else secrets.token_hex(32).encode()
    gradescope.export(arguments.archive, arguments.lab, secret)
    _say(f"Upload {arguments.archive} as the autograder of a programming assignment")
    return GOOD


def _export_nbgrader(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import nbgrader

    _say(*map(str, nbgrader.export(arguments.folder, arguments.root, arguments.force)))
    return GOOD


if __name__ == "__main__":
    sys.exit(main())
