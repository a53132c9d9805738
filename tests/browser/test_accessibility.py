"""What axe-core and a look at the contrast say about our part of the page, in both themes."""

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.jupyterlab import NotebookPage

NOTEBOOK = [
    "import numpy as np\n\nfrom labkit import check, explore, heatmap, progress, student",
    "me = student('ada')\nme",
    "hand_scores = me.Q @ me.K.T / 3\n\ncheck(hand_scores=hand_scores)",
    "check(hand_raw_scores=me.Q @ me.K.T)",
    "check(hand_weights=...)",
    "heatmap([[0.5, 0.5], [0.3, 0.7]], [[True, False], [True, True]])",
    "progress()",
    *(f"explore.{name}()" for name in "softmax scaling mixing masking heads permuting cost bug running".split()),
    "explore.masking(lambda scores, mask: np.full(scores.shape, 1 / len(scores)))",
    "explore.mixing(predict=...)",
]
OURS = ".jp-OutputArea-output"
# What Jupyter draws and a notebook cannot change: the sliders of ipywidgets carry no name of their own (each stands
# beside its label), and JupyterLab gives the pictures of matplotlib no alternative text (`heatmap` has one as text).
NOT_OURS = {"aria-input-field-name": ".noUi-handle", "image-alt": ".jp-RenderedImage"}

# For each piece of text in a picture, its contrast with what lies under its middle, painted from the page upwards.
CONTRASTS = """() => {
    const colour = text => {
        const [r, g, b, a] = text.match(/[\\d.]+/g).map(Number);
        return {rgb: [r, g, b], opacity: a === undefined ? 1 : a};
    };
    const over = (under, paint, opacity) => under.map((c, n) => opacity * paint[n] + (1 - opacity) * c);
    const luminance = rgb => {
        const [r, g, b] = rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const under = (text, x, y) => {
        const painted = [...text.ownerSVGElement.querySelectorAll('rect, path, circle')].filter(mark => {
            const follows = mark.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
            return follows && mark.isPointInFill(new DOMPoint(x, y).matrixTransform(mark.getScreenCTM().inverse()));
        });
        let seen = colour(getComputedStyle(document.body).getPropertyValue('background-color')).rgb;
        for (const mark of painted) {
            const style = getComputedStyle(mark);
            if (style.fill === 'none') continue;
            const fill = colour(style.fill);
            seen = over(seen, fill.rgb, fill.opacity * style.fillOpacity * style.opacity);
        }
        return seen;
    };
    return [...document.querySelectorAll('.jp-OutputArea-output svg text')].map(text => {
        const box = text.getBoundingClientRect();
        const ground = under(text, box.left + box.width / 2, box.top + box.height / 2);
        const style = getComputedStyle(text);
        const ink = over(ground, colour(style.fill).rgb, style.fillOpacity * style.opacity);
        const [low, high] = [luminance(ground), luminance(ink)].sort((a, b) => a - b);
        return [text.textContent, Math.round((high + 0.05) / (low + 0.05) * 100) / 100];
    });
}"""


@pytest.fixture(scope="module")
def notebook(context, server):
    """A notebook with each kind of thing that labkit shows, run once."""
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(NOTEBOOK)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), server.root / "everything.ipynb")
    page = context.new_page()
    opened = NotebookPage.open(page, server, "everything.ipynb")
    opened.run_all()
    assert opened.errors() == []
    page.locator(f"{OURS} .noUi-handle").last.wait_for()
    yield opened
    page.close()
    server.shut_down_kernel("everything.ipynb")


@pytest.fixture(params=["light", "dark"])
def themed(notebook, request):
    notebook.prefer(request.param)
    return notebook


def findings(page, include):
    """What axe finds serious or critical: rule, element and advice."""
    found = Axe().run(page, context={"include": [[include]]}).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], node["target"][-1], node["failureSummary"]) for one in grave for node in one["nodes"]]


def is_ours(page, rule, target):
    theirs = NOT_OURS.get(rule)
    return theirs is None or not page.locator(target).first.evaluate("(e, theirs) => !!e.closest(theirs)", theirs)


def test_axe_finds_nothing_serious_in_our_outputs(themed):
    found = findings(themed.page, OURS)
    assert [one for one in found if is_ours(themed.page, one[0], one[1])] == []


def test_axe_would_find_a_picture_without_words(notebook):
    notebook.page.locator(OURS).first.evaluate("e => e.insertAdjacentHTML('beforeend', '<svg role=img id=bare></svg>')")
    found = findings(notebook.page, OURS)
    notebook.page.evaluate("document.getElementById('bare').remove()")
    assert ("svg-img-alt", "#bare") in [(rule, target) for rule, target, _ in found]


def test_all_text_in_pictures_has_enough_contrast(themed):
    contrasts = themed.page.evaluate(CONTRASTS)
    assert len(contrasts) > 300
    assert [one for one in contrasts if one[1] < 4.5] == []


def test_text_without_contrast_would_be_found(notebook):
    notebook.prefer("light")
    text = notebook.page.locator(f"{OURS} svg text").first
    text.evaluate("e => e.style.fill = 'rgb(119, 119, 119)'")
    words, contrast = notebook.page.evaluate(CONTRASTS)[0]
    text.evaluate("e => e.style.fill = ''")
    assert (words, contrast) == (text.text_content(), pytest.approx(4.48, abs=0.02))


def test_every_picture_of_ours_has_a_sentence_for_screen_readers(notebook):
    labels = notebook.page.locator(f"{OURS} svg[role=img]").evaluate_all("all => all.map(e => e.ariaLabel || '')")
    assert len(labels) >= 15
    assert [label for label in labels if len(label) < 20] == []
    assert notebook.page.locator(f"{OURS} .widget-html-content svg:not([role=img])").count() == 0


def test_at_twice_the_size_nothing_of_ours_is_cut_off(notebook):
    """A page at 200 % has half as many points across: a window of 1280 becomes one of 640."""
    page = notebook.page
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 640, "height": 800})
    page.wait_for_timeout(300)
    wide = page.locator(f"{OURS} .widget-html-content").evaluate_all(
        "all => all.map(e => e.scrollWidth - e.clientWidth)"
    )
    page.set_viewport_size({"width": 1200, "height": 900})
    assert len(wide) >= 8
    assert [over for over in wide if over > 1] == []
