"""A cell that runs in Jupyter runs while it is graded, whatever in it only Jupyter understands."""

import linecache
from types import ModuleType

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from labkit.grading.sandbox import guest

MARGINS = [
    "    x = 1\n    y = x",
    "\n\n\tx = 1\n\ty = x",
    "  # by hand\nx = 1",
    ">>> x = 1\n>>> for y in [x]:\n...     x = y",
    "In [3]: x = 1\n   ...: y = x",
]
MAGICS = [
    "%time x = 1",
    "# by hand\n%time x = 1",
    "for x in [1]:\n    %time y = x\n    !echo {y}",
    "!pip install a \\\n    b \\\n    c\nx = 1",
    "files = !ls \\\n  -l\nx = 1",
    "    %matplotlib inline\n    x = 1",
    '%matplotlib inline\ntext = """\n%d\n!ls\n""" % 3\nx = int(text == "\\n3\\n!ls\\n") or None % 1',
    "%matplotlib inline\nx = (8\n    % 7\n)",
    "!echo it's\n%config a = '\nx = 1\n?x\nx??",
    "%load_ext a\n" * (guest.MOST_STUMBLES + 5) + "x = 1",
]


def left_by(code):
    names = {}
    exec(code, names)
    return names.get("x")


@pytest.mark.parametrize("source", MARGINS + MAGICS)
def test_what_only_jupyter_understands_does_no_harm(source):
    assert left_by(guest.compiled(source, "<cell 1>")) == 1


@pytest.mark.parametrize("source", MARGINS)
def test_jupyter_takes_off_the_same_margins(source):
    assert left_by(TransformerManager().transform_cell(source)) == 1


@pytest.mark.parametrize("source", ["x = 1\n    y = 2", "%time x = (1\n", "%ls\nx = \n", "...\n>>> x = 1"])
def test_what_is_no_python_stays_an_error(source):
    with pytest.raises(SyntaxError):
        guest.compiled(source, "<cell 1>")


def test_lines_keep_their_numbers():
    guest.compiled("!pip install a \\\n    b\n%time y = 2\nx = 1", "<cell 7>")
    assert linecache.getline("<cell 7>", 4) == "x = 1" and linecache.getline("<cell 7>", 3) == "y = 2\n"


@pytest.mark.parametrize("source", ["x = 1\nreturn x", "    x = 1\n    return x"])
def test_an_error_of_which_python_knows_the_number_only_is_told_with_its_line(source):
    told = guest.run_cell(ModuleType("__main__"), 0, source, 1.0)
    assert (told["type"], told["line"], told["source"].strip()) == ("SyntaxError", 2, "return x")
