"""How long `import labkit` takes beside `import numpy`, each in fresh processes, in turns."""

import statistics
import subprocess
import sys

from rows import Row

ROUNDS = 21
CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def once(module):
    command = [sys.executable, "-c", CODE.format(module)]
    return 1000 * float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rows():
    times = {module: [] for module in ("numpy", "labkit", "labkit.attention", "labkit.notebook")}
    for _ in range(ROUNDS):
        for module, taken in times.items():
            taken.append(once(module))
    medians = {module: statistics.median(taken) for module, taken in times.items()}
    theirs = medians.pop("numpy")
    for module, ours in medians.items():
        goal = None if module == "labkit.notebook" else 1.15  # what `from labkit import check` loads
        yield Row(f"import {module}; import numpy", ours, "ms", theirs, most_ratio=goal)
