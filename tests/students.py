"""Pretend students: answers computed by labkit's own chain with given mistakes in it."""

import numpy as np

from labkit.calculation import run
from labkit.exercise import Answer
from labkit.lineup import answer_of


def who_does(exercise, ways):
    """A student whose function is right but for these ways of going wrong."""

    def ask(args):
        try:
            with np.errstate(all="ignore"):
                known = run(exercise.quantities, exercise.given(args), ways, exercise.skips)
                return Answer(value=answer_of(exercise, known))
        except Exception as error:
            return Answer(error=str(error), error_type=type(error).__name__)

    return ask


def table_of(exercise, numbers, ways=()):
    """A table as a student with these mistakes fills it in."""
    with np.errstate(all="ignore"):
        return answer_of(exercise, run(exercise.quantities, exercise.given(numbers), ways, exercise.skips))
