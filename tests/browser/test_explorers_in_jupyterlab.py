"""Every explorer in a real JupyterLab: each control moved by keyboard, and the right numbers read from the page."""

import re
import time

import nbformat
import numpy as np
import pytest
from browser.jupyterlab import NotebookPage

from labkit import attention as core
from labkit.exercises.bugs import TWO_SEQUENCES
from labkit.explore import _heads, _masking, _mixing, _permuting, _running, _scaling, _softmax

EXPLORERS = "softmax scaling mixing masking heads permuting cost bug running".split()

# Five ways to get a mask wrong, as functions of (scores, mask), (Q, K, mask) and (Q, K, V, mask).
BUGS = {
    "fills_with_zero": """
def fills_with_zero(scores, mask):
    powers = np.exp(np.where(mask, scores, 0))
    return powers / powers.sum(axis=-1, keepdims=True)
""",
    "masks_after_the_softmax": """
def masks_after_the_softmax(scores, mask):
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True) * mask
""",
    "turns_the_mask_over": """
def turns_the_mask_over(Q, K, mask):
    powers = np.exp(np.where(mask.T, Q @ K.T / np.sqrt(Q.shape[-1]), -np.inf))
    return powers / powers.sum(axis=-1, keepdims=True)
""",
    "normalises_columns": """
def normalises_columns(Q, K, mask):
    powers = np.exp(np.where(mask, Q @ K.T / np.sqrt(Q.shape[-1]), -np.inf))
    return powers / powers.sum(axis=0)
""",
    "forgets_the_mask": """
def forgets_the_mask(Q, K, V, mask):
    powers = np.exp(Q @ K.T / np.sqrt(Q.shape[-1]))
    return powers / powers.sum(axis=-1, keepdims=True) @ V
""",
}
RAISES_AT_FIVE = """
def raises_at_five(scores, mask):
    if len(scores) == 5:
        raise ValueError("five is too many")
    powers = np.where(mask, np.exp(scores), 0)
    return powers / powers.sum(axis=-1, keepdims=True)
"""
NOTEBOOK = [
    "import numpy as np\n\nfrom labkit import explore",
    *(f"explore.{name}()" for name in EXPLORERS),
    *(f"{source}\n\nexplore.masking({name})" for name, source in BUGS.items()),
    f"{RAISES_AT_FIVE}\n\nexplore.masking(raises_at_five)",
    "explore.mixing(predict=...)",
]


@pytest.fixture(scope="module")
def notebook(context, server):
    """One notebook with all of them, run once."""
    cells = [nbformat.v4.new_code_cell(source.strip(), id=f"cell-{n}") for n, source in enumerate(NOTEBOOK)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), server.root / "explorers.ipynb")
    page = context.new_page()
    opened = NotebookPage.open(page, server, "explorers.ipynb")
    opened.run_all()
    assert opened.errors() == []
    yield opened
    page.close()
    server.shut_down_kernel("explorers.ipynb")


@pytest.fixture
def explorer(notebook):
    """Find an explorer by the call that is its cell's last line."""
    return lambda call: Explorer(notebook, notebook.cell(f"explore.{call}"))


class Explorer:
    """An explorer in the page: its controls by their labels, and what it shows."""

    def __init__(self, notebook, cell):
        self.page, self.cell = notebook.page, cell
        self.output = cell.locator(".jp-OutputArea-output")

    def labels(self):
        """The names of all controls in sight."""
        groups = self.output.locator(".widget-slider, .widget-toggle-buttons").locator(".widget-label")
        return [*groups.all_inner_texts(), *self.output.locator(".widget-checkbox:visible").all_inner_texts()]

    def control(self, label):
        named = self.page.get_by_text(label, exact=True)
        return self.output.locator(".widget-slider, .widget-toggle-buttons, .widget-checkbox").filter(has=named)

    def press(self, label, key):
        """Press a key on a slider's handle; Space on the button that is named, or on a tick."""
        control = self.control(label)
        handle = control.locator(".noUi-handle")
        if handle.count():
            handle.press(key)
        else:
            control.locator("input").or_(control.get_by_role("button", name=key, exact=True)).press("Space")

    def state(self):
        """What each control stands at."""
        return {label: self.stands_at(self.control(label)) for label in self.labels()}

    def stands_at(self, control):
        if control.locator("input").count():
            return control.locator("input").is_checked()
        said = control.locator(".widget-readout, .mod-active").inner_text().strip().replace("−", "-")
        return float(said) if re.fullmatch(r"-?[\d.]+", said) else said

    def text(self):
        """All that can be read below the controls, each piece of a picture a line, spaces alike."""
        pieces = self.output.locator("svg text, .widget-html-content :not(svg *):not(:has(*))").all_text_contents()
        return "\n".join(re.sub(r"\s", " ", piece) for piece in pieces)

    def panel(self, title):
        """The pieces of text of the last picture whose title begins like this."""
        named = self.page.locator("text", has_text=re.compile("^" + re.escape(title)))
        drawn = self.output.locator("svg").filter(has=named).last
        return drawn.locator("text").all_text_contents()

    def shows(self, title, table):
        """Whether a picture has these numbers, one after the other, as exactly as it writes them."""
        written = [as_number(piece) for piece in self.panel(title)]
        wanted = np.ravel(table)
        starts = range(len(written) - len(wanted) + 1)
        return any(np.allclose(written[n : n + len(wanted)], wanted, atol=0.00501, equal_nan=True) for n in starts)


def as_number(piece):
    """A number as it is written, and something unlike any for other words."""
    try:
        return float(piece.replace("−", "-").replace("∞", "inf"))
    except ValueError:
        return 1e99


def within_seconds(true, seconds=5.0):
    """Wait until this is so; False if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
    return False


# ---- what is right, by the controls' labels: pictures by title, and pieces of text -----------------------------------


def right_softmax(state):
    moved = np.array([[state[f"score {n}"] for n in (1, 2, 3, 4)], *_softmax.OTHER_ROWS], dtype=float)
    moved[0] += state["add to row 1"]
    moved /= state["temperature"]
    weights = core.softmax(moved.ravel()).reshape(3, 4)
    if state["axis"] != "all":
        weights = core.softmax(moved, axis={"rows": -1, "columns": 0}[state["axis"]])
    return {"Weights": weights}, []


def right_scaling(state):
    d_k = int(state["d_k"])
    raw = _scaling.raw_scores(int(state["draw"]))[_scaling.WIDTHS.index(d_k)]
    said, tables = [], {}
    for name, divisor in (("no scale", 1), ("÷ d_k", d_k), ("÷ √d_k", np.sqrt(d_k))):
        weights = core.softmax(raw / divisor)
        tables[name] = sorted(weights, key=np.max)[len(weights) // 2]
        said.append(f"spread {np.std(raw / divisor):.2f}, top weight {weights.max(axis=-1).mean():.2f}")
    return tables, said


def right_mixing(state):
    n, angle = int(state["keys"]), np.deg2rad(state["angle of q"])
    q = state["length of q"] * np.array([[np.cos(angle), np.sin(angle)]])
    K, V = _mixing.on_circle(_mixing.ANGLES[n]), np.array(_mixing.VALUES[n], dtype=float)
    x, y = core.attention(q, K, K if state["mix keys instead"] else V)[0]
    return {"Weights": core.attention_weights(q, K)}, [f"({x:z.2f}, {y:z.2f})".replace("-", "−")]


def allowed_by(name, T):
    keys = np.arange(T)
    return {
        "causal": keys <= keys[:, None],
        "padding": np.broadcast_to(keys < T - 2, (T, T)),
        "first key only": np.broadcast_to(keys < 1, (T, T)),
    }[name]


def right_masking(state):
    T = int(state["T"])
    allowed = allowed_by(state["mask"], T)
    fill = {0.0: 0.0, -1.0: -1.0, "-10⁹": -1e9, "-∞": -np.inf}[state["fill"]]
    masked = np.where(allowed, core.attention_scores(_masking.Q[:T], _masking.K[:T]), fill)
    weights = core.softmax(masked)
    leak = weights[~allowed].sum()
    said = [f"Weight on hidden keys: {leak:.2f}"] if leak > 0 else ["No weight on hidden keys"]
    return {"Raw scores": _masking.Q[:T] @ _masking.K[:T].T, "Weights": weights}, said


def right_heads(state):
    matrices, n_heads, token = _heads.numbers_of_ours(), int(state["heads"]), int(state["token"])
    allowed = core.causal_mask(len(matrices[0])) if state["causal"] else None
    output, weights = core.multi_head_attention(*matrices, n_heads, allowed, return_weights=True)
    heads = {f"Head {r}": table for r, table in enumerate(weights, 1)}
    return heads | {f"Token {token}, from": output[token - 1]}, []


def right_permuting(state):
    places = ["ABCD".index(token) for token in state["order"].split()]
    allowed = core.causal_mask(4) if state["causal"] else None
    outputs = core.attention(_permuting.Q[places], _permuting.K[places], _permuting.V[places], allowed)
    return {f"Outputs, {state['order']}": outputs}, []


def right_cost(state):
    T = int(state["T"])
    return {}, [f"T = {T}: {T * T:,} entries".replace(",", " ")]


def right_bug(state):
    beside = {"As it should be": TWO_SEQUENCES.weights()} if state["show what is right"] else {}
    return {"Function 1": TWO_SEQUENCES.weights("normalises_over_queries"), **beside}, ["One of: swapped, unscaled, "]


def right_running(state):
    block = int(state["block"])
    end = min(block * int(state["blocks read"]), len(_running.SCORES))
    known = [min(n // block * block + block, end) if state["forget to rescale"] else end for n in range(end)]
    powers = np.exp(_running.SCORES[:end] - [_running.SCORES[:n].max() for n in known])
    kept = [_running.SCORES[:end].max(), powers.sum(), powers @ _running.VALUES[:end]]
    return {"What is kept": kept}, [f"{end} of 8 keys read. o / s = {kept[2] / kept[1]:.2f}."]


def follows(explorer, name):
    """Whether all that an explorer shows is right for what its controls stand at."""
    tables, said = globals()[f"right_{name}"](explorer.state())
    text = explorer.text()
    return all(piece in text for piece in said) and all(explorer.shows(*panel) for panel in tables.items())


# ---- the tests -------------------------------------------------------------------------------------------------------

MOVES = [
    ("softmax", "score 1", "ArrowRight"),
    ("softmax", "score 2", "PageUp"),
    ("softmax", "score 3", "ArrowLeft"),
    ("softmax", "score 4", "Home"),
    ("softmax", "add to row 1", "ArrowUp"),
    ("softmax", "temperature", "ArrowRight"),
    ("softmax", "axis", "columns"),
    ("softmax", "axis", "all"),
    ("scaling", "d_k", "ArrowRight"),
    ("scaling", "d_k", "End"),
    ("scaling", "draw", "ArrowRight"),
    ("mixing", "angle of q", "ArrowRight"),
    ("mixing", "length of q", "PageUp"),
    ("mixing", "keys", "3"),
    ("mixing", "keys", "5"),
    ("mixing", "mix keys instead", "Space"),
    ("masking", "T", "ArrowRight"),
    ("masking", "T", "End"),
    ("masking", "fill", "0"),
    ("masking", "fill", "−1"),
    ("masking", "fill", "−10⁹"),
    ("masking", "mask", "padding"),
    ("masking", "mask", "first key only"),
    ("heads", "token", "ArrowRight"),
    ("heads", "heads", "3"),
    ("heads", "heads", "1"),
    ("heads", "causal", "Space"),
    ("permuting", "order", "D C B A"),
    ("permuting", "causal", "Space"),
    ("cost", "T", "PageUp"),
    ("bug", "show what is right", "Space"),
    ("running", "blocks read", "ArrowRight"),
    ("running", "block", "1"),
    ("running", "forget to rescale", "Space"),
]


@pytest.mark.parametrize("name", EXPLORERS)
def test_an_explorer_begins_with_the_right_numbers(name, explorer):
    shown = explorer(f"{name}()")
    assert within_seconds(lambda: follows(shown, name)), shown.text()


@pytest.mark.parametrize(("name", "label", "key"), MOVES)
def test_a_control_moves_by_keyboard_and_the_picture_follows(name, label, key, explorer):
    shown = explorer(f"{name}()")
    before, stood = shown.text(), shown.state()
    shown.press(label, key)
    assert within_seconds(lambda: shown.text() != before and follows(shown, name)), (shown.state(), shown.text())
    changed = {one for one, at in shown.state().items() if at != stood[one]}
    assert changed == {label}


@pytest.mark.parametrize("name", EXPLORERS)
def test_no_control_is_left_out_above(name, explorer):
    assert set(explorer(f"{name}()").labels()) == {label for one, label, _ in MOVES if one == name}


@pytest.mark.parametrize("name", EXPLORERS)
def test_sliders_have_a_track_to_take_hold_of(name, explorer):
    tracks = explorer(f"{name}()").output.locator(".noUi-base")
    assert [track.bounding_box()["width"] for track in tracks.all() if track.bounding_box()["width"] < 60] == []


def test_tab_goes_through_all_controls_in_order(explorer):
    shown = explorer("masking()")
    shown.output.locator(".noUi-handle").first.focus()
    passed = []
    for _ in range(12):
        passed.append(shown.page.evaluate("document.activeElement.textContent.trim()"))
        shown.page.keyboard.press("Tab")
    buttons = [name for name in passed if name in ("causal", "padding", "first key only", "paint", "0", "−1", "−∞")]
    assert buttons == ["causal", "padding", "first key only", "paint", "0", "−1", "−∞"]


def test_a_mask_is_painted_by_keyboard_and_an_empty_row_is_an_error_in_words(explorer):
    shown = explorer("masking()")
    for label, key in (("T", "Home"), ("mask", "causal"), ("fill", "−∞"), ("mask", "paint"), ("1 sees 3", "Space")):
        shown.press(label, key)
    allowed = allowed_by("causal", 4).copy()
    allowed[0, 2] = True
    assert within_seconds(
        lambda: shown.shows("Weights", core.attention_weights(_masking.Q[:4], _masking.K[:4], allowed))
    )
    for label in ("1 sees 3", "1 sees 1"):
        shown.press(label, "Space")
    assert within_seconds(lambda: "Query 1 may see no key" in shown.text()), shown.text()


@pytest.mark.parametrize("name", BUGS)
def test_a_students_bug_shows_under_the_mask(name, explorer):
    functions = {"np": np}
    exec(BUGS[name], functions)
    allowed, Q, K = allowed_by("causal", 4), _masking.Q[:4], _masking.K[:4]
    given = {2: (core.attention_scores(Q, K), allowed), 3: (Q, K, allowed), 4: (Q, K, np.eye(4), allowed)}
    weights = functions[name](*given[functions[name].__code__.co_argcount])
    shown = explorer(f"masking({name})")
    assert within_seconds(lambda: shown.shows("Weights", weights))
    leak, off = weights[~allowed].sum(), np.flatnonzero(np.abs(weights.sum(axis=-1) - 1) > 0.005)
    assert leak > 0.005 or len(off)
    if leak > 0:
        assert f"Weight on hidden keys: {leak:.2f} in all" in shown.text()
        assert shown.output.locator("svg [fill='#dc0032'], svg [stroke='#dc0032']").count() > 0
    for row in off:
        assert f"query {row + 1} adds to {weights[row].sum():.2f}" in shown.text()


def test_a_students_exception_is_shown_and_nothing_dies(explorer, notebook):
    shown = explorer("masking(raises_at_five)")
    assert "No weight on hidden keys" in shown.text()
    shown.press("T", "ArrowRight")
    assert within_seconds(lambda: "ValueError: five is too many" in shown.text()), shown.text()
    assert 'raise ValueError("five is too many")' in shown.text()
    shown.press("T", "ArrowRight")
    right = core.attention_weights(_masking.Q[:6], _masking.K[:6], core.causal_mask(6))
    assert within_seconds(lambda: shown.shows("Weights", right)), shown.text()
    assert notebook.errors() == []


def test_a_picture_stays_covered_until_a_prediction_is_written(explorer, notebook):
    covered = explorer("mixing(predict=...)")
    assert "Covered until you predict" in covered.text()
    assert covered.output.locator("svg").count() == 0
    notebook.write(covered.cell, 'explore.mixing(predict="nearer to v1")')
    written = explorer('mixing(predict="nearer to v1")')
    notebook.run(written.cell)
    assert within_seconds(lambda: "You predicted: nearer to v1" in written.text()), written.text()
    assert written.output.locator("svg").count() > 0


def test_explorers_are_pictured_in_both_themes(notebook, results):
    for theme in ("dark", "light"):
        notebook.prefer(theme)
        notebook.screenshot(results / f"explorers-{theme}.png")
    assert (results / "explorers-dark.png").read_bytes() != (results / "explorers-light.png").read_bytes()
