"""What is public says what goes in and what comes out, and its examples hold."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import labkit
from labkit import attention, draw, explore
from labkit.grading import batch, publish
from labkit.grading.exports import canvas, gradescope, moodle, nbgrader
from labkit.grading.handed_in.intake import collect


def is_its_own(value):
    return inspect.isfunction(value) and value.__module__ == attention.__name__


PUBLIC = [
    *(getattr(labkit, name) for name in labkit.__all__ if name != "explore"),
    *(getattr(explore, name) for name in explore.__all__),
    *(value for name, value in vars(attention).items() if is_its_own(value) and not name.startswith("_")),
    *(draw.heatmap_svg, draw.panels, draw.panels_svg, draw.describe),
    *(collect, batch.grade_batch, publish.publish, publish.report),
    *(canvas.gradebook, moodle.worksheet, moodle.grade_import, gradescope.export, nbgrader.export, nbgrader.points),
]
# What is said once for all of them, in the text above the explorers or in that of `Panel`.
SAID_ELSEWHERE = {"predict", "fn", "weights", "mask", "title", "queries", "keys", "tables"}
MODULES = [
    found.name for found in pkgutil.walk_packages(labkit.__path__, "labkit.") if not found.name.endswith("main__")
]


def unsaid(function):
    """The parameters that a docstring has no word for."""
    return [name for name in inspect.signature(function).parameters if name not in function.__doc__]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_every_parameter_of_a_public_function_is_explained(function):
    assert set(unsaid(function)) <= SAID_ELSEWHERE


def test_a_parameter_without_a_word_is_noticed():
    def scale(scores, d_k):
        """Divide scores by the root of their width."""

    assert unsaid(scale) == ["d_k"]


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is_for(module):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("module", MODULES)
def test_examples_hold(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_examples():
    assert doctest.testmod(attention).attempted >= 10
