"""How long a key press takes to a painted picture: our explorers, and `interact` drawing the same three panels.

Run it with ``python tests/benchmarks/explorer_latency.py``. A real JupyterLab in headless Chromium; each figure is the
time from the browser's keydown event to the animation frame that paints the changed picture, on one page, in turns.
Goals: the explorer's median under 50 ms, and `interact` at least 3 times slower.
"""

import statistics
import sys
import tempfile
import timeit
from pathlib import Path

import nbformat
import numpy as np
from playwright.sync_api import sync_playwright
from rows import Row

from labkit.attention import causal_mask, softmax
from labkit.draw import Panel, panels_svg

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser.jupyterlab import NoBrowserError, NotebookPage, launch, serving  # noqa: E402

ROUNDS, PRESSES = 5, 8  # in each round a slider goes up by half of the presses and down again
WARM_UP = 2
PAUSE_MS = 250  # between presses: all is quiet again, the notebook's own book-keeping included
GOAL_MS, GOAL_RATIO, GOAL_DRAWN_MS = 50, 3, 5

# The panels as one would draw them for the occasion: numbers in the cells, hidden cells left out.
INTERACT = """
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import interact
from labkit import attention as core
from labkit.explore._masking import K, Q

@interact(T=(4, 8))
def masked(T=4):
    raw, allowed = Q[:T] @ K[:T].T, core.causal_mask(T)
    scores = np.where(allowed, core.attention_scores(Q[:T], K[:T]), -np.inf)
    tables = {"Raw scores": raw, "Masked scores": scores, "Weights": core.softmax(scores)}
    figure, axes = plt.subplots(1, 3, figsize=(9, 3))
    for ax, (title, table) in zip(axes, tables.items()):
        ax.imshow(table, cmap="cividis")
        ax.set_title(title)
        ax.set_xticks(range(T), range(1, T + 1))
        ax.set_yticks(range(T), range(1, T + 1))
        for (i, j), value in np.ndenumerate(table):
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7)
"""
CELLS = {
    "explore.masking, T": "from labkit import explore\nexplore.masking()",
    "explore.softmax, score 1": "explore.softmax()",
    "interact + matplotlib, T": INTERACT,
}
OURS, *_, THEIRS = CELLS

# Note the key press and the next change of this cell's picture; a picture that is an image has to be decoded, too.
WATCH = """cell => {
    const output = cell.querySelector('.jp-Cell-outputArea');
    const isPicture = node => node.nodeType === 1 && (node.matches('img, svg') || node.querySelector('img, svg'));
    window.latency = new Promise(done => {
        let pressed = null;
        output.addEventListener('keydown', event => { pressed = event.timeStamp; }, {capture: true, once: true});
        const observer = new MutationObserver(async changes => {
            const added = changes.flatMap(change => [...change.addedNodes]).filter(isPicture);
            if (pressed === null || !added.length) return;
            observer.disconnect();
            const image = added[0].matches('img') ? added[0] : added[0].querySelector('img');
            if (image) await image.decode();
            requestAnimationFrame(() => done(performance.now() - pressed));
        });
        observer.observe(output, {childList: true, subtree: true});
    });
}"""


def press(notebook, cell, key):
    """Press a key on a cell's first slider and return the milliseconds until its picture is painted."""
    cell.evaluate(WATCH)
    cell.locator(".noUi-handle").first.press(key)
    latency = notebook.page.evaluate("window.latency")
    notebook.page.wait_for_timeout(PAUSE_MS)
    return latency


def measure(notebook):
    """Return the latencies of each cell, taken in turns."""
    times = {name: [] for name in CELLS}
    for n in range(ROUNDS + 1):
        for name, cell in zip(CELLS, notebook.cells.all(), strict=True):
            count = PRESSES if n else WARM_UP
            keys = ["ArrowRight"] * (count // 2) + ["ArrowLeft"] * (count // 2)
            taken = [press(notebook, cell, key) for key in keys]
            times[name] += taken if n else []
    return times


def open_notebook(page, server):
    cells = [nbformat.v4.new_code_cell(source.strip(), id=f"cell-{n}") for n, source in enumerate(CELLS.values())]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), server.root / "latency.ipynb")
    notebook = NotebookPage.open(page, server, "latency.ipynb")
    notebook.run_all()
    page.locator(".noUi-handle").nth(len(CELLS) - 1).wait_for()
    page.wait_for_timeout(1000)
    return notebook


def report(times):
    print(f"{'key press to painted picture, ms':34}{'median':>8}{'slowest tenth':>16}{'presses':>9}")
    for name, taken in times.items():
        print(f"{name:34}{statistics.median(taken):8.1f}{statistics.quantiles(taken, n=10)[-1]:16.1f}{len(taken):9}")
    ours, theirs = (statistics.median(times[name]) for name in (OURS, THEIRS))
    print(f"{OURS}: {ours:.1f} ms (goal: under {GOAL_MS}: {'met' if ours < GOAL_MS else 'missed'})")
    ratio = theirs / ours
    print(
        f"interact takes {ratio:.1f} times as long (goal: {GOAL_RATIO}: {'met' if ratio >= GOAL_RATIO else 'missed'})"
    )


def times():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, home = Path(folder, "labs"), Path(folder, "jupyter")
        root.mkdir()
        home.mkdir()
        with serving(root, home) as server, launch(playwright) as browser:
            page = browser.new_page(viewport={"width": 1200, "height": 1400})
            return measure(open_notebook(page, server))


def drawing():
    """Return the milliseconds that the explorer's three panels take to be drawn, without a browser."""
    allowed = causal_mask(8)
    scores = np.where(allowed, np.random.default_rng(0).standard_normal((8, 8)), -np.inf)
    weights = softmax(scores)

    def draw():
        panels_svg([Panel(scores, allowed, scores=True), Panel(weights, allowed), Panel(weights)])

    draw()  # the first makes the palettes
    return 1000 * statistics.median(timeit.repeat(draw, number=1, repeat=20))


def rows():
    yield Row("three panels of an explorer, drawn", drawing(), "ms", most=GOAL_DRAWN_MS)
    try:
        medians = {name: statistics.median(taken) for name, taken in times().items()}
    except NoBrowserError as error:
        print(error)
        return
    theirs = medians.pop(THEIRS)
    for name, ours in medians.items():
        what = f"{name}, key press to picture; interact"
        yield Row(what, ours, "ms", theirs, most=GOAL_MS, most_ratio=1 / GOAL_RATIO if name == OURS else None)


if __name__ == "__main__":
    report(times())
