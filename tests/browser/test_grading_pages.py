"""The pages that grading writes, opened from a file as students and instructors do: readable, safe, and accessible."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from grading.rows import HOSTILE, everything, judged, row, ungraded

from labkit.grading.pages.class_page import class_page
from labkit.grading.pages.feedback_page import feedback_name, feedback_page
from labkit.grading.records.marks import Answer, Mark
from labkit.grading.submission import SYSTEM_ERROR, UNGRADABLE

WRITTEN = ((Answer("a", "Why?", HOSTILE), Mark(1, 3, "Nearly."), False),)
TROUBLE = [ungraded("ada", UNGRADABLE, "It isn't JSON."), ungraded("ada", SYSTEM_ERROR, "A worker died.")]
MANY = [row(f"s{n:02}", judged("zero"), judged("squared"), numbers_of=("s00",)) for n in range(40)]


def pages():
    everyones = [*everything(), *MANY]
    links = {row.student: feedback_name(row.student) for row in everyones}
    yield "report", class_page(everyones, unknown={"s1"}, notes=["`../x` was refused."], links=links)
    yield "feedback", feedback_page([*everything()[:7], row(answers=WRITTEN), *TROUBLE], shared_numbers=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, page in pages():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(params=["report", "feedback"])
def opened(context, files, request):
    """A page, and what it said to the console and asked for on its way."""
    page = context.new_page()
    noise = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("dialog", lambda dialog: noise.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda asked: noise.append(asked.url))
    page.goto((files / f"{request.param}.html").as_uri())
    yield page, noise
    page.close()


def test_nothing_runs_and_nothing_is_fetched(opened):
    page, noise = opened
    assert noise == [page.url]
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=https://example.org/x onerror=alert(1)>')")
    page.wait_for_timeout(100)
    assert "Content Security Policy" in " ".join(noise) and "1" not in noise


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened, scheme):
    page, _ = opened
    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], node["target"]) for one in found for node in one["nodes"]] == []


def test_a_phone_shows_the_page_without_scrolling_sideways(opened):
    page, _ = opened
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.set_viewport_size({"width": 1200, "height": 900})


@pytest.mark.parametrize("opened", ["report"], indirect=True)
def test_names_and_exercises_stay_in_sight_in_a_long_table(opened):
    page, _ = opened
    page.set_viewport_size({"width": 360, "height": 700})
    head, name, box = page.locator(".tall").last.evaluate("""box => {
        box.scrollTo(100, 1000);
        const corner = e => { const r = e.getBoundingClientRect(); return [r.left, r.top]; };
        const rows = [...box.querySelectorAll('tbody th')];
        return [box.querySelector('thead th'), rows.at(-1), box].map(corner);
    }""")
    page.set_viewport_size({"width": 1200, "height": 900})
    assert head == pytest.approx(box, abs=2)
    assert name[0] == pytest.approx(box[0], abs=2)


@pytest.mark.parametrize("opened", ["feedback"], indirect=True)
def test_the_numbers_of_a_heatmap_keep_their_own_colours(opened):
    page, _ = opened
    inks = page.locator("figure svg text").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert {"rgb(255, 255, 255)", "rgb(0, 0, 0)"} <= {*inks}
