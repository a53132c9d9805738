"""How long a check takes for every exercise: right, one mistake, two mistakes, nothing recognised.

Run it with ``python tests/benchmarks/check_latency.py``. Each figure is the time of the first check in
a fresh state (inputs and suspects have to be worked out) and, after the stroke, of a repeated one.
The table of all benchmarks has the slowest.
"""

import statistics
import time
from functools import partial

import numpy as np
from rows import Row

from labkit.calculation import run
from labkit.exercise import Answer
from labkit.exercises import EXERCISES, draw_numbers
from labkit.feedback import outcome
from labkit.judge import cases_and_lineup, judge_function
from labkit.lineup import Suspect, answer_of
from labkit.table import judge_table

ROUNDS = 5
MOST_MS = {"right": 50, "one mistake": 50, "two mistakes": 100, "nothing recognised": 100}  # of the first check


def answers(exercise, ways, spoil, args):
    """Answer as a student with these mistakes would; ``spoil`` adds what no mistake explains."""
    try:
        with np.errstate(all="ignore"):
            value = answer_of(exercise, run(exercise.quantities, exercise.given(args), ways, exercise.skips))
    except Exception as error:
        return Answer(error=str(error), error_type=type(error).__name__)
    return Answer(value=value * (1 + spoil * np.arange(value.size).reshape(value.shape)) if spoil else value)


def timed(exercise, ways=(), spoil=0.0, fresh=True):
    times = []
    for _ in range(ROUNDS):
        if fresh:
            cases_and_lineup.cache_clear()
        start = time.perf_counter()
        outcome(judge_function(exercise, partial(answers, exercise, ways, spoil)))
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def functions():
    """Name, and the milliseconds of a first and of a repeated check for each kind of answer."""
    for exercise in EXERCISES.values():
        if exercise.is_table:
            continue
        lineup = cases_and_lineup(exercise.name, 0)[1]
        single = lineup.singles[len(lineup.singles) // 2]
        pair = lineup.pairs[len(lineup.pairs) // 2] if lineup.pairs else Suspect((), ())
        kinds = dict(zip(MOST_MS, ((), (single.ways,), (pair.ways,), ((), 0.1)), strict=True))
        yield exercise.name, {kind: both(exercise, *given) for kind, given in kinds.items()}


def both(exercise, *given):
    return timed(exercise, *given), timed(exercise, *given, fresh=False)


def tables():
    """Name, and the milliseconds of a check when the table is right and when nothing is recognised."""
    numbers = draw_numbers("ada")
    for exercise in EXERCISES.values():
        if not exercise.is_table or not exercise.quantities:
            continue
        right = np.round(answer_of(exercise, run(exercise.quantities, exercise.given(numbers))), 2)
        figures = []
        for table in (right, right + 0.1 * np.arange(right.size).reshape(right.shape)):
            start = time.perf_counter()
            outcome(judge_table(exercise, table.tolist(), numbers, {}))
            figures.append(1000 * (time.perf_counter() - start))
        yield exercise.name, figures


def rows():
    all_functions, all_tables = dict(functions()), dict(tables())
    for kind, most in MOST_MS.items():
        slowest, name = max((figures[kind][0], name) for name, figures in all_functions.items())
        yield Row(f"first check of a function, {kind}; the slowest is {name}", slowest, "ms", most=most)
    for place, kind in enumerate(("right", "nothing recognised")):
        slowest, name = max((figures[place], name) for name, figures in all_tables.items())
        yield Row(f"check of a table, {kind}; the slowest is {name}", slowest, "ms", most=MOST_MS[kind])


def main():
    print(f"{'milliseconds, first / repeated':32}" + "".join(f"{kind:>20}" for kind in MOST_MS))
    for name, figures in functions():
        print(f"{name:32}" + "".join(f"{first:12.1f} /{again:6.1f}" for first, again in figures.values()))
    print(f"\n{'milliseconds':32}{'right':>20}{'nothing recognised':>20}")
    for name, (right, unknown) in tables():
        print(f"{name:32}{right:20.1f}{unknown:20.1f}")


if __name__ == "__main__":
    main()
