"""A table or a fact in a line: what an exercise without a function is made with."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..calculation import steps_from
from ..exercise import Exercise
from .inputs import with_mask

Slip = tuple[Any, str]  # a frequent wrong answer, and what is said of it


def table(
    answer: str,
    given: Mapping[str, Any],
    before: tuple[tuple[str, str], ...] = (),
    slips: tuple[Slip, ...] = (),
    step: str = "",
) -> Exercise:
    """A table that the chain makes of what is given, still without a name.

    Parameters
    ----------
    answer : str
        The quantity that is asked for.
    given : dict
        Quantities as numbers, nested lists or arrays.
    before, slips, step
        See ``Exercise``, and ``after``.
    """

    def quantities(numbers: object) -> dict[str, Any]:
        return with_mask({name: np.asarray(value) for name, value in given.items()})

    return Exercise("", (), steps_from(given, answer), answer, quantities, before=before, slips=slips, step=step)


def after(quantity: str, name: str) -> tuple[tuple[str, str], ...]:
    """The table before, by its quantity and its name."""
    return ((quantity, name),)


def fact(value: Any, *slips: Slip, step: str = "") -> Exercise:
    """An answer that no chain makes: a size, a count, a word; with what is said of the commonest wrong ones."""
    return Exercise("", (), (), "fact", lambda numbers: {"fact": value}, slips=slips, step=step)


def asked_in(lab: str, **exercises: Exercise) -> tuple[Exercise, ...]:
    """Give the exercises of a lab their names."""
    return tuple(replace(exercise, name=name, labs=(lab,)) for name, exercise in exercises.items())
