"""The labs: solved ones earn full marks and can be read anywhere; each asks for what it should and says what it is."""

import json
import re
from pathlib import Path

import pytest

from labkit.exercises import LABS, exercises_of
from labkit.exercises.guesses import GUESSES

ROOT = Path(__file__).parents[1]
SOLVED = sorted((ROOT / "solutions").glob("*.ipynb"))
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "solutions").glob("*.py"))}
POINTS = re.compile(r"(\w+): (\w+), ([\d.]+) of ([\d.]+) points")
CHECKED = re.compile(r"^check\((\w+)", re.M)


def outputs(path):
    """The source of each cell, with each of its outputs that is more than a printed line."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(cell["source"]), o["data"]) for cell in cells for o in cell.get("outputs", []) if "data" in o]


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_every_check_in_a_solved_notebook_passes_with_full_marks(path):
    texts = ["".join(data.get("text/plain", [])) for _, data in outputs(path)]
    checks = [match.groups() for match in map(POINTS.match, texts) if match]
    assert checks
    assert [one for one in checks if one[1] not in ("passed", "guessed") or one[2] != one[3]] == []


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_an_explorer_leaves_a_picture_where_widgets_and_html_do_not_show(path):
    explorers = [data for source, data in outputs(path) if source.splitlines()[-1].startswith("explore.")]
    assert [data.keys() for data in explorers if not {"image/svg+xml", "image/png"} & data.keys()] == []


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_no_output_is_a_mere_name_where_html_does_not_show(path):
    bare = [source for source, data in outputs(path) if not any(kind.startswith("image/") for kind in data)]
    texts = ["".join(data.get("text/plain", "")) for source, data in outputs(path) if source in bare]
    assert [text for text in texts if not text or re.match(r"<\S+ .*>$", text)] == []


@pytest.mark.parametrize("lab", LABS)
def test_a_lab_asks_for_all_its_exercises_and_for_no_others_but_guesses(lab):
    asked = CHECKED.findall(SCRIPTS[lab])
    assert [one.name for one in exercises_of(lab) if one.name not in asked] == []
    assert set(asked) <= {one.name for one in exercises_of(lab)} | GUESSES.keys() | {"attention"}


def test_each_guess_is_asked_for_once():
    asked = [name for script in SCRIPTS.values() for name in CHECKED.findall(script) if name.startswith("my_")]
    assert sorted(asked) == sorted(GUESSES)


@pytest.mark.parametrize("lab", SCRIPTS)
def test_a_lab_says_how_long_it_takes_what_one_will_be_able_to_do_and_what_to_remember(lab):
    first, last = SCRIPTS[lab].split("# %%")[1], SCRIPTS[lab].split("# %%")[-1]
    assert re.search(r"About (\d+ minutes|an hour)", first) and "By the end you" in first
    assert "## To remember" in last and re.search(r"\*\*(Where to go n|N)ext:\*\*", last)


def test_the_labs_of_one_sequence_take_three_hours_by_their_own_account():
    minutes = [int(re.search(r"\*\*About (\d+) minutes", SCRIPTS[lab])[1]) for lab in LABS[:4]]
    assert sum(minutes) <= 180
