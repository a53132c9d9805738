"""How long nbval takes over all notebooks: solutions with their outputs compared, students' ones as handed out."""

import subprocess
import sys
import time
from pathlib import Path

from rows import Row

ROOT = Path(__file__).resolve().parents[2]
NBVAL = [sys.executable, "-m", "pytest", "-q", "--nbval-current-env", "--nbval-sanitize-with=tests/nbval_sanitize.cfg"]


def rows():
    for flag, folder in (("--nbval", "solutions"), ("--nbval-lax", "notebooks")):
        start = time.perf_counter()
        done = subprocess.run([*NBVAL, flag, folder], cwd=ROOT, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        number = len(list((ROOT / folder).glob("*.ipynb")))
        outcome = "all pass" if done.returncode == 0 else "SOME FAIL: make test says which"
        yield Row(f"nbval over the {number} notebooks in {folder}, {outcome}", seconds, "s")
