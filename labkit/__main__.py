"""The command line: ``python -m labkit``, installed as ``labkit`` too."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

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


def _add_build(commands) -> None:
    parser = commands.add_parser("build", help="make both notebooks of each lab from solutions/*.py")
    parser.add_argument("--check", action="store_true", help="only say which files are stale; execute nothing")
    parser.add_argument("--force", action="store_true", help="execute the solved notebooks even if they are current")
    parser.add_argument("--root", default=".", metavar="DIR", help="where solutions/ is (default: the current folder)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for machines")
    parser.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    from labkit import labs

    reports = labs.check(arguments.root) if arguments.check else labs.build(arguments.root, arguments.force)
    return _show(reports, arguments.json)


def _add_grade(commands) -> None:
    parser = commands.add_parser("grade", help="grade a folder or archive of notebooks that were handed in")
    add = parser.add_argument
    add("submissions", metavar="SUBMISSIONS", help="a folder, a .zip as the learning platform gives it, or a notebook")
    add("--out", required=True, metavar="DIR", help="where gradebook and pages go; the same one next time")
    add("--lab", metavar="LAB", help="the lab that was asked for (default: what most of the notebooks are)")
    add("--roster", metavar="CSV", help="who is in the course: with an id, a name or an e-mail address")
    add("--keep", choices=["best", "last"], help="which attempt counts (default: best)")
    add("--due", metavar="TIME", help="such as 2026-12-01 (its end) or 2026-12-01T18:00+01:00; later is late")
    add("--late", metavar="PERCENT", help="what each begun day late costs of what was earned (default: 0)")
    add("--refuse-after", type=int, metavar="DAYS", help="days late after which nothing is earned")
    add("--jobs", type=int, metavar="N", help="processes (default: as many as there are cores)")
    add("--dask", metavar="ADDRESS", help="grade on the workers of a Dask cluster")
    add("--secret", metavar="FILE", help="the course's secret, from which inputs are drawn (default: DIR/secret)")
    add("--cell-seconds", type=float, default=5, metavar="S", help="how long a cell may run (default: 5)")
    add("--call-seconds", type=float, default=2, metavar="S", help="how long a function may run (default: 2)")
    add("--basic", action="store_true", help="limits only, none of the layers of isolation")
    add("--json", action="store_true", help="print one JSON object, for machines")
    parser.set_defaults(run=_grade)


def _grade(arguments: argparse.Namespace) -> int:
    if sys.platform == "win32":
        raise ValueError("grade: it needs Linux or macOS to run students' code apart; got Windows. Use WSL.")

    from tqdm import tqdm

    from labkit.grading import batch

    out = Path(arguments.out)
    with tqdm(unit=" notebooks", disable=arguments.json or None, leave=False) as bar:

        def tell(file: str, done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        summary = batch.grade_batch(Path(arguments.submissions), out, batch.options(vars(arguments)), tell)
    print(json.dumps(summary.facts(out), indent=1) if arguments.json else f"{summary}\nLook at {out / batch.REPORT}")
    return GOOD if summary.ok else FINDINGS


def _add_report(commands) -> None:
    parser = commands.add_parser("report", help="write sheets and pages anew, with the marks given in written.csv")
    parser.add_argument("out", metavar="DIR", help="the folder that `labkit grade` has filled")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from labkit.grading import publish

    published = publish.report(Path(arguments.out))
    print(publish.marked_in_words(published.rows))
    print(f"Look at {Path(arguments.out) / publish.REPORT}")
    return GOOD


def _add_export(commands) -> None:
    places = commands.add_parser("export", help="take grades or labs to where the course is run")
    kinds = places.add_subparsers(title="places", required=True, metavar="PLACE")

    canvas = kinds.add_parser("canvas", help="fill one column of the gradebook that Canvas exported")
    canvas.add_argument("exported", metavar="EXPORTED.csv")
    canvas.add_argument("--column", required=True, help='the header of the assignment, such as "Lab 3 (1234)"')
    moodle = kinds.add_parser("moodle", help="a file for the grade import, or Moodle's grading worksheet filled")
    moodle.add_argument("exported", nargs="?", metavar="WORKSHEET.csv", help="the grading worksheet, if there is one")
    for parser in (canvas, moodle):
        parser.add_argument("--graded", default="graded", metavar="DIR", help="what `labkit grade` filled (graded)")
        parser.add_argument("--lab", metavar="LAB", help="which lab, where several were graded")
        parser.add_argument(
            "--to", metavar="FILE", help="where to write (default: beside it, with -filled in the name)"
        )
        parser.set_defaults(run=_export_points, place=parser.prog.split()[-1], column=None)

    gradescope = kinds.add_parser("gradescope", help="the archive of an autograder")
    gradescope.add_argument("archive", metavar="FILE.zip")
    gradescope.add_argument("--lab", required=True, metavar="LAB", help="the lab that is handed in")
    gradescope.add_argument("--secret", metavar="FILE", help="the course's secret (default: a new one)")
    gradescope.set_defaults(run=_export_gradescope)

    nbgrader = kinds.add_parser("nbgrader", help="a course folder with all labs as assignments")
    nbgrader.add_argument("folder", metavar="DIR")
    nbgrader.add_argument(
        "--root", default=".", metavar="DIR", help="where solutions/ is (default: the current folder)"
    )
    nbgrader.set_defaults(run=_export_nbgrader)


def _export_points(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import points

    exported = Path(arguments.exported) if arguments.exported else None
    to = Path(arguments.to) if arguments.to else filled_name(exported)
    if arguments.place == "canvas":
        data, notes = points.for_canvas(Path(arguments.graded), arguments.lab, exported, arguments.column)
    else:
        data, notes = points.for_moodle(Path(arguments.graded), arguments.lab, exported)
    to.write_bytes(data)
    print("\n".join([*(f"Note: {note}" for note in notes), f"Import {to}"]))
    return GOOD


def filled_name(exported: Path | None) -> Path:
    return exported.with_stem(f"{exported.stem}-filled") if exported else Path("moodle.csv")


def _export_gradescope(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import gradescope

    gradescope.export(Path(arguments.archive), arguments.lab, secret_from(arguments.secret))
    print(f"Upload {arguments.archive} as the autograder of a programming assignment")
    return GOOD


def secret_from(file: str | None) -> bytes:
    return Path(file).read_bytes().strip() if file else secrets.token_hex(32).encode()


def _export_nbgrader(arguments: argparse.Namespace) -> int:
    from labkit.grading.exports import nbgrader

    files = nbgrader.export(Path(arguments.folder), Path(arguments.root))
    print("\n".join(map(str, files)))
    return GOOD


def _show(reports, as_json: bool) -> int:
    """Print each report as it comes, or all at once as JSON."""
    seen = []
    for report in reports:
        seen.append(report)
        if not as_json:
            print(f"{report.status:<9} {report.path}" + (f": {report.message}" if report.message else ""), flush=True)
    good = all(report.ok for report in seen)
    if as_json:
        print(json.dumps({"ok": good, "notebooks": [asdict(report) for report in seen]}, indent=1))
    return GOOD if good else FINDINGS


if __name__ == "__main__":
    sys.exit(main())
