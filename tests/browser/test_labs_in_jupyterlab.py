"""Every lab in a real JupyterLab, as a student sees it: handed out, solved, and on the way between."""

import re
from urllib.parse import urlsplit

import nbformat
import numpy as np
import pytest
from browser.jupyterlab import CHECKOUT

from labkit.exercises import draw_numbers
from labkit.mistakes import MISTAKES

LABS = sorted(path.stem for path in (CHECKOUT / "solutions").glob("[0-9][0-9]_*.py"))
SHOWN_CHECK = re.compile(r"^check\((\w+)[^\n]*\)\Z", re.M)


def shown_checks(labs, path):
    """The exercises whose check is a cell's last line, in order."""
    cells = nbformat.read(labs / path, as_version=4).cells
    ends = [SHOWN_CHECK.search(cell.source.strip()) for cell in cells if cell.cell_type == "code"]
    return [end[1] for end in ends if end]


@pytest.fixture
def elsewhere(context):
    """What the page asks of any machine but this one."""
    asked = []

    def note(request):
        if urlsplit(request.url).scheme in ("http", "https", "ws", "wss"):
            asked.extend([request.url] if urlsplit(request.url).hostname != "127.0.0.1" else [])

    context.on("request", note)
    yield asked
    context.remove_listener("request", note)


@pytest.mark.parametrize("lab", LABS)
def test_a_lab_as_handed_out_runs_through_and_says_kindly_what_is_open(lab, open_notebook, labs, elsewhere):
    with open_notebook(f"notebooks/{lab}.ipynb") as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        assert "Traceback" not in notebook.output_text()
        cards = notebook.cards()
    assert [card.exercise for card in cards] == shown_checks(labs, f"notebooks/{lab}.ipynb")
    for card in cards:
        assert card.status == "unattempted"
        assert re.search("Not attempted yet|still open|No guess yet", card.message)
    assert elsewhere == []


@pytest.mark.parametrize("lab", LABS)
def test_a_solved_lab_earns_full_marks_in_both_themes(lab, open_notebook, labs, results):
    with open_notebook(f"solutions/{lab}.ipynb") as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        cards = notebook.cards()
        for theme in ("light", "dark"):
            notebook.prefer(theme)
            notebook.screenshot(results / f"{lab}-{theme}.png")
    assert [card.exercise for card in cards] == shown_checks(labs, f"solutions/{lab}.ipynb")
    assert {card.status for card in cards} <= {"passed", "guessed"}
    assert [card for card in cards if card.points != card.max_points] == []


# ---- a student's walk ------------------------------------------------------------------------------------------------


def question_of(mistake):
    """The question that ends a mistake's words, up to the first number in it."""
    question = re.split(r"(?<=[.:]) ", MISTAKES[mistake].sentence)[-1]
    return question.split("{")[0].strip()


def softmax(scores, axis):
    powers = np.exp(scores)
    return powers / powers.sum(axis=axis, keepdims=True)


def ada_s_tables():
    """Ada's tables for lab 1, worked out without labkit's core: name, mistake, the table with it, the right one."""
    numbers = draw_numbers("ada")
    raw = numbers["Q"] @ numbers["K"].T
    scores = np.round(raw / np.sqrt(3), 2)
    weights = np.round(softmax(scores, axis=1), 2)
    return (
        ("hand_raw_scores", "scores_keys_against_queries", raw.T, raw),
        ("hand_scores", "scales_by_d_k", raw / 3, scores),
        ("hand_weights", "normalises_over_queries", softmax(scores, axis=0), weights),
        ("hand_output", "mixes_keys", weights @ numbers["K"], weights @ numbers["V"]),
    )


def filled_in(name, table):
    """The cell of a table as a student fills it in, with two decimals."""
    rows = "".join(f"    {row},\n" for row in np.round(table, 2).tolist())
    return f"{name} = [\n{rows}]\n\ncheck({name}={name})"


SHIFTED = "powers = np.exp(scores - scores.max(axis=-1, keepdims=True))"
FUNCTIONS = (
    (
        "softmax(scores)",
        "normalises_over_everything",
        "powers = np.exp(scores - scores.max())\n    return powers / powers.sum()",
        f"{SHIFTED}\n    return powers / powers.sum(axis=-1, keepdims=True)",
    ),
    (
        "attention_scores(Q, K)",
        "forgets_to_scale",
        "return Q @ K.T",
        "return Q @ K.T / np.sqrt(Q.shape[-1])",
    ),
    (
        "attention_one_key(Q, K, V)",
        "mixes_keys",
        "return np.repeat(K, len(Q), axis=0)",
        "return np.repeat(V, len(Q), axis=0)",
    ),
    (
        "attention_equal_keys(Q, K, V)",
        "picks_the_top_value",
        "return np.repeat(V[:1], len(Q), axis=0)",
        "return np.tile(V.mean(axis=0), (len(Q), 1))",
    ),
    (
        "attention_identity_values(Q, K)",
        "applies_softmax_twice",
        "return softmax(softmax(attention_scores(Q, K)))",
        "return softmax(attention_scores(Q, K))",
    ),
    (
        "attention(Q, K, V)",
        "mixes_keys",
        "return softmax(attention_scores(Q, K)) @ K",
        "return softmax(attention_scores(Q, K)) @ V",
    ),
)


def written(head, body):
    """The cell of a function as a student writes it."""
    name = head.split("(")[0]
    part = ', part="without a mask"' if name == "attention" else ""
    return f"def {head}:\n    {body}\n\n\ncheck({name}{part})"


@pytest.fixture(scope="module")
def lab_1(open_notebook):
    """Lab 1 as handed out, run once; each test below writes into cells of it."""
    with open_notebook("notebooks/01_one_head.ipynb") as notebook:
        notebook.prefer("light")
        notebook.run_all()
        yield notebook


def test_a_function_that_raises_is_answered_with_the_students_own_line(lab_1, results):
    told = lab_1.answer(lab_1.cell("def softmax(scores):"), written("softmax(scores)", "return scores / totals"))
    assert told.status == "crashed"
    assert "return scores / totals" in told.message and "NameError" in told.message
    assert "labkit" not in lab_1.output_text()
    assert lab_1.errors() == []
    lab_1.screenshot(results / "crashed-light.png")


def test_a_hint_names_the_step_and_the_next_one_what_to_read(lab_1):
    lab_1.answer(lab_1.cell("def attention_scores(Q, K):"), written("attention_scores(Q, K)", "return Q @ K.T"))
    asking = lab_1.cells.last
    said = asking.locator(".jp-OutputArea-output")
    lab_1.write(asking, "hint()")
    lab_1.run(asking)
    assert "makes the raw scores moderate" in said.inner_text()
    lab_1.run(asking)
    assert "Note 3.2" in said.inner_text()


@pytest.mark.parametrize(
    ("name", "mistake", "wrong", "right"), [pytest.param(*one, id=one[1]) for one in ada_s_tables()]
)
def test_a_table_is_told_its_mistake_then_passes(name, mistake, wrong, right, lab_1):
    cell = lab_1.cell(f"check({name}={name})").first
    told = lab_1.answer(cell, filled_in(name, wrong))
    assert (told.status, told.points < told.max_points) == ("failed", True)
    assert question_of(mistake) in told.message
    assert lab_1.answer(cell, filled_in(name, right)).status == "passed"


@pytest.mark.parametrize(("head", "mistake", "wrong", "right"), [pytest.param(*one, id=one[1]) for one in FUNCTIONS])
def test_a_function_is_told_its_mistake_then_passes(head, mistake, wrong, right, lab_1, results):
    cell = lab_1.cell(f"def {head}:")
    told = lab_1.answer(cell, written(head, wrong))
    assert told.status == "failed"
    assert question_of(mistake) in told.message
    for theme in ("dark", "light"):
        lab_1.prefer(theme)
        cell.screenshot(path=results / f"{mistake}-{theme}.png")
    assert lab_1.answer(cell, written(head, right)).status == "passed"


def test_a_guess_is_told_what_is_the_case_without_a_verdict(lab_1):
    told = lab_1.answer(
        lab_1.cell("check(my_large_row"), "my_large_row = [1, 0, 0]\n\ncheck(my_large_row=my_large_row)"
    )
    assert (told.status, told.max_points) == ("guessed", 0)
    assert "You guessed 1, 0, 0; it is 0.67, 0.24, 0.09." in told.message


def test_a_table_that_was_right_before_the_one_before_it_was_mended_is_told_so(lab_1):
    (raw_name, _, _, raw), (name, _, _, scores) = ada_s_tables()[:2]
    before, cell = (lab_1.cell(f"check({one}={one})").first for one in (raw_name, name))
    slip = np.eye(4)[[0]].T * [0, 2, 0, 0]
    lab_1.answer(before, filled_in(raw_name, raw + slip))
    assert lab_1.answer(cell, filled_in(name, scores + slip / np.sqrt(3))).status == "passed"
    lab_1.answer(before, filled_in(raw_name, raw))
    told = lab_1.answer(cell, filled_in(name, scores + slip / np.sqrt(3)))
    assert "It fits your hand_raw_scores as they were before you changed them." in told.message
    assert lab_1.answer(cell, filled_in(name, scores)).status == "passed"


def test_after_all_that_the_whole_lab_passes_from_top_to_bottom(lab_1):
    for name, _, _, right in ada_s_tables():
        lab_1.write(lab_1.cell(f"check({name}={name})").first, filled_in(name, right))
    for head, _, _, right in FUNCTIONS:
        lab_1.write(lab_1.cell(f"def {head}:"), written(head, right))
    lab_1.run_all()
    cards = [card for card in lab_1.cards() if not card.exercise.startswith("my_")]
    assert [(card.exercise, card.status) for card in cards if card.status != "passed"] == []
    assert lab_1.errors() == []
