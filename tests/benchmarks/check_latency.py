"""How long a check takes for every exercise: right, one mistake, two mistakes, nothing recognised.

Run it with ``python tests/benchmarks/check_latency.py``. Each figure is the time of the first check in
a fresh state (inputs and suspects have to be worked out) and, after the stroke, of a repeated one.
Goals: under 50 ms with a single mistake, under 100 ms with pairs tried.
"""

import statistics
import time
from functools import partial

import numpy as np

from labkit.calculation import run
from labkit.exercise import Answer
from labkit.exercises import EXERCISES, draw_numbers
from labkit.feedback import outcome
from labkit.judge import cases_and_lineup, judge_function
from labkit.lineup import Suspect, answer_of
from labkit.table import judge_table

ROUNDS = 5


def answers(exercise, ways, spoil, args):
    """Answer as a student with these mistakes would; ``spoil`` adds what no mistake explains."""
    try:
        with np.errstate(all="ignore"):
            value = answer_of(exercise, run(exercise.steps, exercise.given(args), ways, exercise.skips))
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


def both(exercise, *args):
    return f"{timed(exercise, *args):7.1f} /{timed(exercise, *args, fresh=False):6.1f}"


def functions():
    print(f"{'milliseconds, first / repeated':32}{'right':>15}{'one mistake':>17}{'two':>15}{'unknown':>16}")
    for exercise in EXERCISES.values():
        if exercise.is_table:
            continue
        lineup = cases_and_lineup(exercise.name, 0)[1]
        single = lineup.singles[len(lineup.singles) // 2]
        pair = lineup.pairs[len(lineup.pairs) // 2] if lineup.pairs else Suspect((), ())
        columns = [both(exercise), both(exercise, single.ways), both(exercise, pair.ways), both(exercise, (), 0.1)]
        print(f"{exercise.name:32}" + "  ".join(columns))


def tables():
    print(f"{'milliseconds':32}{'right':>15}{'unknown':>17}")
    numbers = draw_numbers("ada")
    for exercise in EXERCISES.values():
        if not exercise.is_table or not exercise.steps:
            continue
        right = np.round(answer_of(exercise, run(exercise.steps, exercise.given(numbers))), 2)
        figures = []
        for table in (right, right + 0.1 * np.arange(right.size).reshape(right.shape)):
            start = time.perf_counter()
            outcome(judge_table(exercise, table.tolist(), numbers, {}))
            figures.append(1000 * (time.perf_counter() - start))
        print(f"{exercise.name:32}{figures[0]:15.1f}{figures[1]:17.1f}")


if __name__ == "__main__":
    functions()
    print()
    tables()
