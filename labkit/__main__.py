"""The command line: ``python -m labkit``, installed as ``labkit`` too."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

GOOD, FINDINGS, MISUSE = 0, 1, 2


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 good, 1 findings, 2 misuse."""
    arguments = _parser().parse_args(argv)
    return arguments.run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="labkit", description="Attention labs that name the mistake.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_build(commands)
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

    try:
        reports = labs.check(arguments.root) if arguments.check else labs.build(arguments.root, arguments.force)
        return _show(reports, arguments.json)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return MISUSE


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
