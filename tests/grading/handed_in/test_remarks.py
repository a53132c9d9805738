"""What is odd about a notebook is said in sentences; an ordinary notebook gets none."""

import pytest
from notebook_files import LABS as NOTEBOOKS

from labkit.exercises import LABS
from labkit.grading.handed_in.reading import read
from labkit.grading.handed_in.remarks import remarks_on
from labkit.grading.submission import Cell

LAB = "01_one_head"


def said(*sources, lab=LAB):
    return remarks_on([Cell("code", source) for source in sources], lab)


@pytest.mark.parametrize("name", LABS)
@pytest.mark.parametrize("folder", ["notebooks", "solutions"])
def test_a_lab_as_it_is_handed_out_or_solved_gets_no_remark(folder, name):
    cells, _ = read((NOTEBOOKS.parent / folder / f"{name}.ipynb").read_bytes())
    assert remarks_on(cells, name) == ()


def test_an_exercise_in_a_text_cell_is_shown_to_whoever_marks():
    cells = [
        Cell("markdown", "# Lab"),
        Cell("markdown", "Mine:\n\ndef softmax(scores):\n    return 1\n\ndef attention(Q, K, V):\n    return V"),
        Cell("raw", "hand_scores = [1]"),
    ]
    assert remarks_on(cells, LAB) == (
        "Cell 2 is Markdown and holds `def softmax`, `def attention`: it didn't run. Was it meant as code?\n"
        + cells[1].source,
        "Cell 3 is raw text and holds `hand_scores =`: it didn't run. Was it meant as code?\nhand_scores = [1]",
    )
    assert remarks_on(cells[:1] + cells[2:], "02_causal_mask") == ()


def test_a_long_text_cell_is_cut():
    (remark,) = remarks_on([Cell("markdown", "def softmax(scores):\n" + "x" * 10_000)], LAB)
    assert len(remark) < 2_200 and remark.endswith(" […]")


def test_two_definitions_of_a_function_are_remarked_on_however_they_are_written():
    twice = "softmax is defined 2 times; the last that compiles counts."
    assert said("def softmax(s): ...\ndef other(x): ...", "def softmax(s): ...\ndef other(x): ...") == (twice,)
    assert said("def softmax(s): ...", "softmax = lambda s: s") == (twice,)


def test_a_table_that_is_filled_in_steps_is_not_remarked_on():
    assert said("hand_scores = []", "hand_scores = [[1]]") == ()


def test_what_is_meant_for_a_shell_is_named_and_what_only_jupyter_needs_is_not():
    assert said("!rm -rf x", "%%bash\nls", "  %pip install torch", "files = !ls", "!rm -rf x") == (
        "Nothing is installed and no shell runs while grading, so this was left out: "
        "`!rm -rf x`, `%%bash`, `%pip install torch` and 1 more.",
    )
    assert said("%matplotlib inline\n%time softmax(1)", "a != b", "softmax?") == ()


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import numpy as np\nnp.allclose = lambda *a: True", "`np.allclose`"),
        ("numpy.testing.assert_allclose = print", "`numpy.testing.assert_allclose`"),
        ("sys.addaudithook(print); x = gc.get_objects()", "`sys.addaudithook`, `gc.get_objects`"),
        ("open('/proc/self/mem')", "`/proc/self/mem`"),
        ("path.write_text('28')  # results.json", "`results.json`"),
        ("os.kill(os.getppid(), 9)", "`os.kill`"),
        ("class Same:\n    def __array__(self): ...", "`__array__`"),
        ("import ctypes", "`ctypes`"),
    ],
)
def test_what_no_exercise_needs_is_named_with_its_cell(source, named):
    assert said("import numpy as np", source) == (
        f"Code cell 2 uses {named}, which no exercise needs, and gained nothing by it. Worth a look.",
    )


@pytest.mark.parametrize("source", ["np.pi == 3", "y = np.exp(x)", "np.set_printoptions(precision=2)", "import os"])
def test_ordinary_code_is_not_worth_a_look(source):
    assert said(source) == ()


def test_of_very_many_remarks_of_a_kind_the_rest_is_counted_and_no_other_kind_is_hidden():
    text, code = Cell("markdown", "def softmax(s): ..."), Cell("code", "import ctypes")
    remarks = remarks_on([text] * 60 + [code] * 50, LAB)
    assert (
        len(remarks) == 22 and remarks[10] == "And 50 more of this kind." and remarks[-1] == "And 40 more of this kind."
    )
    assert remarks[9].startswith("Cell 10 is Markdown") and remarks[20].startswith("Code cell 10 uses `ctypes`")


def test_a_line_without_end_is_read_in_no_time():
    assert said(" " * 10**6 + "\n" + "np" + ".a" * 10**6 + "\n" + "a, " * 10**6 + "\n" + "!" * 10**6)
