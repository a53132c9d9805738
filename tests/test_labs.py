"""From one percent script to two notebooks: what each holds, when one is stale, and that building again is idle.

The fixture `course` is built with a real kernel, once; the tests that change something work on copies of it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jupytext
import nbformat
import pytest
from interrupts import heed_interrupts

from labkit import labs
from labkit.labs import KNOWN_CELLS, TEXT_STUB, build, check, digest, read_script

SCRIPT = '''\
# %% [markdown]
# # A lab

# %%
import os
import sys

import ipywidgets
import matplotlib.pyplot as plt


def double(
    x,
):
    """Return twice x."""
    # BEGIN SOLUTION
    # twice
    twice = 2 * x
    return twice
    # END SOLUTION


def table():
    # BEGIN SOLUTION
    # STUB: rows = [
    # STUB:     [..., ...],
    # STUB: ]
    rows = [[1, 2]]
    # END SOLUTION
    return rows


# %% tags=["nbval-ignore-output"] editable=true
# BEGIN SOLUTION
answer = double(21)
# END SOLUTION
# BEGIN SOLUTION
# STUB: other = ...  # a number
other = 1
# END SOLUTION

# %%
for turn in range(2):
    print("turn", turn)
    print("warning", file=sys.stderr)

# %% [markdown] tags=["written"]
# Why?
#
# <!-- BEGIN SOLUTION -->
# Because.
#
# Therefore.
# <!-- END SOLUTION -->

# %%
ipywidgets.IntSlider(description="moves")

# %%
_ = plt.plot([1, 2])

# %%

# %%
print(sys.executable, os.path.basename(os.getcwd()))
'''


def write_script(root, text, name="01_first"):
    path = root / "solutions" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("built")
    write_script(root, SCRIPT)
    assert [report.status for report in build(root)] == ["executed", "written"]
    return root


@pytest.fixture
def course(built, tmp_path):
    """A copy of the built course, to be changed."""
    return Path(shutil.copytree(built, tmp_path / "course"))


@pytest.fixture
def answers(built):
    return nbformat.read(built / "solutions" / "01_first.ipynb", as_version=4)


@pytest.fixture
def questions(built):
    return nbformat.read(built / "notebooks" / "01_first.ipynb", as_version=4)


def source_of(notebook, number):
    return notebook.cells[number - 1].source


def made(root, text, is_solved):
    """The cells' sources of a notebook made from a script."""
    cells = labs.notebook(read_script(write_script(root, text)), is_solved)["cells"]
    return ["".join(cell["source"]) for cell in cells]


def files(root):
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def stale(root):
    return {report.path: report.message for report in check(root) if not report.ok}


def edit(path, change):
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


# ---- what the two notebooks hold -------------------------------------------------------------------------------------


def test_no_marker_is_left_in_either_notebook(built):
    for path in built.rglob("*.ipynb"):
        assert not re.search("SOLUTION|STUB", path.read_text(encoding="utf-8"))


def test_a_solution_in_a_function_becomes_an_error_that_says_what_to_do(questions):
    assert source_of(questions, 2).startswith(
        "import os\nimport sys\n\nimport ipywidgets\nimport matplotlib.pyplot as plt\n\n\n"
        'def double(\n    x,\n):\n    """Return twice x."""\n'
        '    raise NotImplementedError("replace this line with your own")\n\n\n'
    )


def test_a_stub_that_the_author_wrote_takes_the_place_of_the_solution(questions):
    assert source_of(questions, 2).endswith("def table():\n    rows = [\n        [..., ...],\n    ]\n    return rows")


def test_a_solution_at_the_top_level_becomes_dots(questions):
    assert source_of(questions, 3) == "...\nother = ...  # a number"


def test_a_written_solution_becomes_a_place_to_write(questions):
    assert source_of(questions, 5) == "Why?\n\n*Your answer here.*"


def test_the_solved_notebook_holds_the_solutions_without_stubs(answers):
    assert "    # twice\n    twice = 2 * x\n    return twice\n\n\n" in source_of(answers, 2)
    assert source_of(answers, 2).endswith("def table():\n    rows = [[1, 2]]\n    return rows")
    assert source_of(answers, 3) == "answer = double(21)\nother = 1"
    assert source_of(answers, 5) == "Why?\n\nBecause.\n\nTherefore."


def test_both_are_valid_notebooks_with_numbered_cells(answers, questions):
    for notebook in (answers, questions):
        nbformat.validate(notebook)
        assert [cell.id for cell in notebook.cells] == [f"cell-{number:03d}" for number in range(1, 10)]


def test_of_a_cells_metadata_its_tags_are_kept(answers, questions):
    for notebook in (answers, questions):
        kept = {cell.id: cell.metadata for cell in notebook.cells if cell.metadata}
        assert kept == {"cell-003": {"tags": ["nbval-ignore-output"]}, "cell-005": {"tags": ["written"]}}


def test_nothing_tells_of_the_python_that_built_them(answers, questions):
    assert answers.metadata == questions.metadata == labs.METADATA
    assert "version" not in json.dumps(questions.metadata)


def test_the_students_notebook_has_not_been_run(questions):
    code = [cell for cell in questions.cells if cell.cell_type == "code"]
    assert [(cell.execution_count, cell.outputs) for cell in code] == [(None, [])] * 7


def test_the_solved_notebook_has_been_run_from_top_to_bottom(answers):
    code = [cell for cell in answers.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4, 5, None, 6]  # one cell is empty


def test_what_a_cell_writes_is_one_output_however_it_came(answers):
    assert [(output.name, output.text) for output in answers.cells[3].outputs] == [
        ("stdout", "turn 0\nturn 1\n"),
        ("stderr", "warning\nwarning\n"),
    ]


def test_a_widget_leaves_its_text_and_no_random_id(answers):
    (output,) = answers.cells[5].outputs
    assert set(output.data) == {"text/plain"}
    assert "widgets" not in answers.metadata


def test_pictures_are_kept(answers):
    (output,) = answers.cells[6].outputs
    assert "image/png" in output.data


def test_the_kernel_is_this_python_in_the_notebooks_folder(answers):
    assert answers.cells[8].outputs[0].text == f"{sys.executable} solutions\n"


# ---- building twice --------------------------------------------------------------------------------------------------


def test_building_twice_gives_the_same_bytes_and_executes_nothing(course):
    before = files(course)
    assert [report.status for report in build(course)] == ["current", "current"]
    assert files(course) == before


def test_executing_again_gives_the_same_bytes(course):
    before = files(course)
    assert [report.status for report in build(course, force=True)] == ["executed", "current"]
    assert files(course) == before


def test_files_end_with_one_newline_and_are_indented_by_one_with_sorted_keys(built):
    for path in built.rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        assert text == json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


# ---- stale files -----------------------------------------------------------------------------------------------------


def test_what_has_just_been_built_is_current(built):
    assert stale(built) == {}


def test_a_changed_script_makes_both_notebooks_stale_and_says_what_mends_them(course):
    write_script(course, SCRIPT.replace("# # A lab", "# # The lab"))
    mend = f"cell-001 differs from the script's. To mend it: python -m labkit build --root {course}"
    assert stale(course) == {"solutions/01_first.ipynb": mend, "notebooks/01_first.ipynb": mend}


def test_a_changed_solution_leaves_the_students_notebook_current(course):
    write_script(course, SCRIPT.replace("# twice", "# two times"))
    assert set(stale(course)) == {"solutions/01_first.ipynb"}


def test_a_changed_stub_leaves_the_solved_notebook_current(course):
    write_script(course, SCRIPT.replace("a number", "one number"))
    assert set(stale(course)) == {"notebooks/01_first.ipynb"}
    assert [report.status for report in build(course)] == ["current", "written"]


def test_the_root_is_not_named_where_one_stands_in_it(course, monkeypatch):
    monkeypatch.chdir(course)
    Path("notebooks/01_first.ipynb").unlink()
    assert stale(".") == {"notebooks/01_first.ipynb": "it is missing. To mend it: python -m labkit build"}


# ---- what graders know of the labs -----------------------------------------------------------------------------------

ASKED = """# %% [markdown]
# **A.** Why?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# Because.
# <!-- END SOLUTION -->
"""


def test_where_labkit_lies_beside_the_labs_the_list_for_graders_is_derived_too(tmp_path):
    write_script(tmp_path, ASKED)
    path = tmp_path / KNOWN_CELLS
    path.parent.mkdir(parents=True)
    assert stale(tmp_path)[KNOWN_CELLS.as_posix()].startswith(
        "it differs from the scripts. To mend it: python -m labkit"
    )
    assert [report.status for report in build(tmp_path)] == ["executed", "written", "written"]
    assert [report.status for report in build(tmp_path)] == ["current", "current", "current"]
    (known,) = json.loads(path.read_text(encoding="utf-8")).values()
    assert known["questions"] == {"cell-002": "**A.** Why?"}
    assert known["cells"] == f"{digest('markdown', '**A.**  Why?')} {digest('markdown', TEXT_STUB)}"
    write_script(tmp_path, ASKED.replace("Because", "Therefore"))
    assert set(stale(tmp_path)) == {"solutions/01_first.ipynb"}


def test_a_bad_script_is_told_of_once_where_labkit_lies_beside_the_labs(tmp_path):
    write_script(tmp_path, "# %%\n# END SOLUTION\n")
    (tmp_path / KNOWN_CELLS).parent.mkdir(parents=True)
    assert [(report.path, report.status) for report in build(tmp_path)] == [("solutions/01_first.py", "failed")]
    assert not (tmp_path / KNOWN_CELLS).exists()


def test_labs_apart_from_labkit_need_no_list(built):
    assert not (built / KNOWN_CELLS).exists() and len(list(build(built))) == 2


def remove_a_count(notebook):
    notebook.cells[3].execution_count = None


def remove_a_cell(notebook):
    del notebook.cells[-1]


def add_a_version(notebook):
    notebook.metadata.language_info.version = "3.11.7"


def rename_a_cell(notebook):
    notebook.cells[0].id = "renamed"


def leave_an_output(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="left over")]


@pytest.mark.parametrize(
    ("folder", "change", "reason"),
    [
        ("solutions", remove_a_count, "it has not been executed from top to bottom"),
        ("solutions", remove_a_cell, "cell-009 differs from the script's"),
        ("solutions", add_a_version, "its metadata or layout differs"),
        ("notebooks", rename_a_cell, "cell-001 differs from the script's"),
        ("notebooks", leave_an_output, "cell-002 differs from the script's"),
    ],
)
def test_a_notebook_changed_by_hand_is_stale(course, folder, change, reason):
    edit(course / folder / "01_first.ipynb", change)
    (message,) = stale(course).values()
    assert message.startswith(f"{reason}. To mend it")


def test_other_outputs_do_not_make_a_solved_notebook_stale(course):
    path = course / "solutions" / "01_first.ipynb"
    edit(path, lambda notebook: notebook.cells[6].outputs[0].data.update({"image/png": "iVBORw0KGgo="}))
    before = path.read_bytes()
    assert stale(course) == {}
    assert [report.status for report in build(course)] == ["current", "current"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"cells": [3], "nbformat": 4}', '{"nbformat": 4}'])
def test_what_is_not_a_notebook_is_stale(course, text):
    for folder in ("solutions", "notebooks"):
        (course / folder / "01_first.ipynb").write_text(text, encoding="utf-8")
    assert [message.split(".")[0] for message in stale(course).values()] == ["it is not a notebook"] * 2


def test_a_students_notebook_in_another_layout_is_stale_since_build_would_change_it(course):
    path = course / "notebooks" / "01_first.ipynb"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert stale(course)["notebooks/01_first.ipynb"].startswith("its metadata or layout differs")


def test_a_notebook_without_a_script_is_named(course):
    shutil.copy(course / "notebooks" / "01_first.ipynb", course / "notebooks" / "09_old.ipynb")
    left_over = "no solutions/09_old.py stands behind it. Delete it, or bring the script back."
    assert stale(course) == {"notebooks/09_old.ipynb": left_over}
    assert [report.path for report in build(course) if not report.ok] == ["notebooks/09_old.ipynb"]


def test_checking_executes_nothing_even_if_all_is_stale(course, monkeypatch):
    monkeypatch.delattr(labs, "execute")
    write_script(course, SCRIPT.replace("double", "twice"))
    assert len(stale(course)) == 2


# ---- labs that fail --------------------------------------------------------------------------------------------------


def test_a_cell_that_raises_is_named_and_the_other_labs_are_built(tmp_path):
    write_script(tmp_path, "# %%\nx = 1\n\n# %%\nfor turn in range(2):\n    print(turns)\n")
    write_script(tmp_path, "# %% [markdown]\n# # Another", "02_second")
    failed, *others = build(tmp_path)
    assert (failed.path, failed.status) == ("solutions/01_first.py", "failed")
    assert failed.message == "cell-002 (`for turn in range(2):`): NameError: name 'turns' is not defined"
    assert [report.status for report in others] == ["executed", "written"]


def test_a_lab_that_fails_leaves_its_earlier_notebooks(course):
    write_script(course, "# %%\n1 / 0\n")
    before = files(course)
    assert [report.status for report in build(course)] == ["failed"]
    assert files(course) == before


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "while True:\n    pass",
            "cell-001 (`while True:`): A cell timed out while it was being executed, after 1 seconds.",
        ),
        ("import os\nos._exit(1)", "cell-001 (`import os`): Kernel died"),
    ],
)
def test_a_cell_that_does_not_come_back_is_named(tmp_path, monkeypatch, code, message):
    monkeypatch.setattr(labs, "SECONDS_PER_CELL", 1)
    write_script(tmp_path, f"# %%\n{code}\n")
    (report,) = build(tmp_path)
    assert (report.status, report.message) == ("failed", message)
    assert [path.name for path in files(tmp_path)] == ["01_first.py"]


def test_interrupted_it_says_so_in_a_line_and_leaves_what_there_was(tmp_path):
    begun = tmp_path / "begun"
    write_script(tmp_path, f"# %%\nopen({str(begun)!r}, 'w')\nwhile True:\n    pass\n")
    command = [sys.executable, "-m", "labkit", "build", "--root", str(tmp_path)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    while not begun.exists():
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=30)[1]
    assert (running.returncode, said) == (130, "Stopped. The same command goes on, or begins anew.\n")
    assert [path.name for path in files(tmp_path)] == ["begun", "01_first.py"]


CODE_FORM = "In a code cell write `# BEGIN SOLUTION` or `# END SOLUTION` alone on a line, or `# STUB: text`."
TEXT_FORM = "In a Markdown cell write `<!-- BEGIN SOLUTION -->` or `<!-- END SOLUTION -->` alone on a line."
BAD_MARKERS = {
    "never closed": (
        "# %%\n# BEGIN SOLUTION\nx = 1\n",
        "line 2: this BEGIN SOLUTION has no END SOLUTION in its cell.",
    ),
    "closed in the next cell": (
        "# %%\n# BEGIN SOLUTION\nx = 1\n\n# %%\n# END SOLUTION\n",
        "line 2: this BEGIN SOLUTION has no END SOLUTION in its cell.",
    ),
    "never opened": (
        "# %%\nx = 1\n# END SOLUTION\n",
        "line 3: END stands outside a block; no BEGIN SOLUTION comes before it.",
    ),
    "nested": (
        "# %%\n# BEGIN SOLUTION\nx = 1\n# BEGIN SOLUTION\n# END SOLUTION\n# END SOLUTION\n",
        "line 4: BEGIN SOLUTION inside the block of line 2; blocks don't nest.",
    ),
    "a stub outside": (
        "# %%\n# STUB: x = ...\n",
        "line 2: STUB stands outside a block; no BEGIN SOLUTION comes before it.",
    ),
    "behind code": (
        "# %%\nx = 1  # BEGIN SOLUTION\n",
        f"line 2: 'x = 1  # BEGIN SOLUTION' looks like a marker but isn't one. {CODE_FORM}",
    ),
    "in another tool's form": (
        "# %%\n### begin solution\n",
        f"line 2: '### begin solution' looks like a marker but isn't one. {CODE_FORM}",
    ),
    "a code marker in Markdown": (
        "# %% [markdown]\n# # BEGIN SOLUTION\n",
        f"line 2: '# BEGIN SOLUTION' looks like a marker but isn't one. {TEXT_FORM}",
    ),
    "a Markdown marker in code": (
        "# %%\n# <!-- END SOLUTION -->\n",
        f"line 2: '# <!-- END SOLUTION -->' looks like a marker but isn't one. {CODE_FORM}",
    ),
    "a stub without its colon": (
        "# %%\n# BEGIN SOLUTION\n# STUB x = ...\n# END SOLUTION\n",
        f"line 3: '# STUB x = ...' looks like a marker but isn't one. {CODE_FORM}",
    ),
}


HEAD_FORM = 'a cell begins with `# %%` or `# %% [markdown]`, and `tags=["one", "two"]` may follow'
BAD_SCRIPTS = BAD_MARKERS | {
    "text before the first cell": (
        "import numpy\n# %%\n",
        "line 1: what stands before the first `# %%` belongs to no cell.",
    ),
    "another kind of cell": (
        "# %%\n# %% [markdwon]\n",
        f"line 2: {HEAD_FORM}; got '# %% [markdwon]'.",
    ),
    "tags in another form": ("# %% tags=[written]\n", f"line 1: {HEAD_FORM}; got '# %% tags=[written]'."),
    "a block without code": (
        "# %%\n# BEGIN SOLUTION\n# only words\n# END SOLUTION",
        "line 2: the solution block holds no code. Write it, or what the student gets as `# STUB: text`.",
    ),
    "a stub that breaks the cell": (
        "# %%\nx = [\n    # BEGIN SOLUTION\n    # STUB: 1 +\n    1,\n    # END SOLUTION\n]",
        "line 1: the student's cell is not valid Python at ']': invalid syntax",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_SCRIPTS.values(), ids=BAD_SCRIPTS)
def test_a_script_that_makes_no_lab_is_refused_with_file_and_line(tmp_path, text, message):
    write_script(tmp_path, text)
    for report in [*build(tmp_path), *check(tmp_path)]:
        assert (report.path, report.status, report.message) == ("solutions/01_first.py", "failed", message)


def test_magics_do_no_harm_beside_a_solution(tmp_path):
    text = "# %%\n# %precision 3\n# BEGIN SOLUTION\nx = 1\n# END SOLUTION\n"
    assert [made(tmp_path, text, True), made(tmp_path, text, False)] == [["%precision 3\nx = 1"], ["%precision 3\n..."]]


def test_without_labs_the_error_says_where_to_run(tmp_path):
    for run in (build, check):
        with pytest.raises(FileNotFoundError, match=r"^build: there must be labs in solutions/\*\.py; found none in"):
            list(run(tmp_path))


# ---- the percent format ----------------------------------------------------------------------------------------------

FORMS = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# A list:
#
# - one
#   - two
#no space

#%%
def f():
    return "# no cell %%"

f()

# %% tags=["a", "b"]


# %% [markdown] tags=["written"]
# %% editable=true slideshow={"slide_type": ""}
# %timeit f()
"""
LABS = sorted((Path(__file__).parents[1] / "solutions").glob("*.py"))


@pytest.mark.parametrize("text", [SCRIPT, FORMS, *(lab.read_text(encoding="utf-8") for lab in LABS)])
def test_what_is_read_is_what_jupytext_reads(tmp_path, text):
    text = re.sub(r"(?:# )?<!-- (BEGIN|END) SOLUTION -->|# (BEGIN|END) SOLUTION|# STUB:.*", "# (a marker)", text)
    ours = labs.notebook(read_script(write_script(tmp_path, text)), True)["cells"]
    theirs = jupytext.reads(text, fmt="py:percent").cells
    assert [(cell["cell_type"], cell["metadata"].get("tags"), "".join(cell["source"])) for cell in ours] == [
        (cell.cell_type, cell.metadata.get("tags"), cell.source.strip("\n")) for cell in theirs
    ]


def test_checking_loads_nothing_but_the_standard_library():
    code = "import sys; from labkit.labs import check; list(check()); print(*sys.modules)"
    root = Path(__file__).parents[1]
    loaded = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "nbformat", "jupytext", "jupyter_client"} & set(loaded.split())


def test_a_kernel_that_does_not_come_up_is_told_of_in_a_line(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(labs, "_environment", lambda: os.environ | {"PYTHONPATH": str(tmp_path)})
    empty = json.dumps(labs.notebook([labs.Cell("cell-001", "code", [], ["1"], ["1"])], solved=True))
    with pytest.raises(labs.LabError, match="no kernel came up to run the notebook: .*Run the same command again"):
        labs.execute(empty, tmp_path)
