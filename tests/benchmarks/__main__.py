"""All benchmarks in one table: what we take, what others take for the same in the same run, and what the goal is.

    make bench
    python tests/benchmarks [--peers] [core] [imports] [checks] [explorers] [notebooks]

Without names all of them are run, which takes some minutes. `--peers` also grades beside nbgrader and Otter.
"""

import argparse
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from rows import HEADER

PARTS = {
    "core": "core_speed",
    "imports": "import_time",
    "checks": "check_latency",
    "explorers": "explorer_latency",
    "notebooks": "notebook_runs",
}
TUNING = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}  # would make NumPy's matrix product another than it is elsewhere


def main():
    parser = argparse.ArgumentParser(prog="tests/benchmarks", description="Time labkit beside what others use.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"any of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--peers", action="store_true", help="grade beside nbgrader and Otter, too")
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(HEADER, flush=True)
    rows = []
    for part in asked.parts or PARTS:
        for row in import_module(PARTS[part]).rows():
            rows.append(row)
            print(row, flush=True)
    missed = [row for row in rows if not row.is_met]
    print(f"{len(rows)} rows, {len(missed)} of them miss their goal; {os.cpu_count()} cores")
    if asked.peers:  # has two environments of its own, and makes them if they are not there
        print("\nGrading the same notebooks:", flush=True)
        subprocess.run([sys.executable, Path(__file__).with_name("grading_peers.py")])
    elif not asked.parts:
        print("Grading beside nbgrader and Otter: python tests/benchmarks --peers (makes two environments, once)")


if __name__ == "__main__":
    if TUNING & set(os.environ):
        clean = {name: value for name, value in os.environ.items() if name not in TUNING}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=clean).returncode)
    main()
