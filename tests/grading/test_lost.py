"""Cells that did not run and names that nobody defined are told in words, whatever the sandbox says of them."""

import pytest

from labkit.grading.lost import lost_cells, lost_with, under
from labkit.grading.submission import GRADED, Cell


def error(**said):
    return {"type": "NameError", "text": "name 'x' is not defined", "line": 1, "source": "  x + 1", "caret": 0} | said


def test_a_caret_stands_below_its_place_in_whatever_is_indented():
    assert under("\tif x = 1:", 5) == "\t   ^"
    assert under("  x + 1", 3) == "  ^"


@pytest.mark.parametrize("caret", [0, -5, 99, 2**62])
def test_without_a_place_all_of_the_line_is_meant(caret):
    assert under("  x + 1", caret) == "  ^^^^^"


def test_the_first_line_that_is_known_is_shown_and_only_the_first():
    stopped = {"type": "TimeUp", "text": "it was stopped after 5 seconds", "line": 0, "source": "", "caret": 0}
    assert list(lost_cells({1: stopped, 4: error(), 5: error()})) == [
        "Code cell 2 did not run to its end: it was stopped after 5 seconds.",
        "Code cell 5 did not run to its end: NameError: name 'x' is not defined. Line 1:\n  x + 1\n  ^^^^^",
        "Code cell 6 did not run to its end: NameError: name 'x' is not defined.",
    ]


def test_of_many_lost_cells_the_rest_is_counted():
    *_, last = lost_cells({number: error() for number in range(30)})
    assert last == "25 more cells did not run to their end."


@pytest.mark.parametrize("line", ["from scipy.special import softmax", "from a import (b, softmax)", "softmax = a.b"])
def test_a_name_that_a_lost_cell_imports_or_sets_is_said_to_be_in_it(line):
    cells = [Cell("code", "x = softmax(1)"), Cell("code", f"import numpy\n{line}")]
    assert lost_with("softmax", cells, {0: error(), 1: error()}) == 1
    assert lost_with("soft", cells, {0: error(), 1: error()}) is None


FORGED = """
import json, os, struct
error = {"cell": CELL, "type": "x", "text": "y", "line": -1, "source": "z", "caret": 2 ** 62}
text = json.dumps({"ran": {"functions": ["list", []], "tables": {}, "errors": ["list", [error]]}}).encode()
os.write(3, struct.pack("!II", len(text), 0) + text)
os._exit(0)
"""


@pytest.mark.parametrize("cell", [-1, 0, 10**9, 2**62])
def test_a_forged_place_is_no_failure_of_the_grader(layered, graded, cell):
    result = graded(layered, "02_causal_mask", [Cell("code", FORGED.replace("CELL", str(cell)))])
    assert (result.status, result.points) == (GRADED, 0), result.reason
    assert [one for one in result.remarks if "x: y" in one] == (
        ["Code cell 1 did not run to its end: x: y. Line -1:\nz\n^"] if cell == 0 else []
    )
