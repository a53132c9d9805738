"""The instructor's page: everything that an instructor must see is there, in the right place, and safe."""

import random
import re

import pytest
from grading.rows import Tags, everything, got, judged, row, ungraded

from labkit.grading.pages.class_numbers import exercise_numbers
from labkit.grading.pages.class_page import class_page, general, how_telling, seen_once
from labkit.grading.records.gradebook import WAITING
from labkit.grading.submission import SYSTEM_ERROR, UNGRADABLE
from labkit.mistakes import MISTAKES

PAGE = class_page(everything(), unknown={"s1"}, notes=["`../x.ipynb` was refused."], links={"s1": "feedback/s1"})


def text_of(*rows, **more):
    return Tags(class_page(rows, **more)).text


def test_the_order_of_the_rows_does_not_matter():
    rows = everything()
    random.Random(0).shuffle(rows)
    again = class_page(rows, unknown={"s1"}, notes=["`../x.ipynb` was refused."], links={"s1": "feedback/s1"})
    assert again == PAGE


def test_texts_of_students_bring_no_tag_into_the_page():
    tags = Tags(PAGE)
    assert not {"script", "img", "iframe", "link", "object", "base"} & {tag for tag, _ in tags.tags}
    assert not [name for _, attrs in tags.tags for name in attrs if name.startswith("on")]
    assert "default-src 'none'" in tags.of("meta")[1]["content"]
    assert PAGE.encode("utf-8") and "\x00" not in PAGE


def test_failures_of_the_grader_come_before_all_else():
    said = text_of(
        row("ada", got(4)), ungraded("bob", SYSTEM_ERROR, "A worker died."), row("eve", got(0, status="system_error"))
    )
    assert said.index("The grader itself failed 2 times") < said.index("2 notebooks graded")
    assert "bob, ada/lab.ipynb: A worker died." in said and "eve, attention" in said


def test_without_failures_nothing_is_said_of_them():
    assert "grader" not in text_of(row("ada", got(4)))


def test_every_kind_of_trouble_has_its_list():
    said = text_of(
        row("ada", got(4), late="2 days", numbers_of=("eve",)),
        row("eve", got(4), numbers_of=("eve",), name="Eve"),
        ungraded("bob", UNGRADABLE, "It isn't JSON."),
        ungraded("zoe", "missing", "Nothing was handed in.", name="Zoë"),
        ungraded("kim", WAITING.status, WAITING.reason),
        unknown={"eve"},
        notes=["`../x` was refused."],
    )
    for line in (
        "4 students handed in, 2 notebooks graded, 1 could not be graded, 1 not graded yet, 1 late, 1 not handed in",
        "not graded yet: run the same command again kim, ada/lab.ipynb",
        "bob, ada/lab.ipynb: It isn't JSON.",
        "Came late ada, 02_causal_mask: 2 days",
        "handed in nothing Zoë (zoe), 02_causal_mask",
        "not on the roster Eve (eve)",
        "Numbers of “eve”: ada, eve",
        "What else there is to say ../x was refused.",
        "basic (2 submissions)",
    ):
        assert line in said


def test_mistakes_stand_in_general_words_with_an_example():
    said = text_of(row("ada", judged("zero")), row("bob", judged("zero")))
    assert "fills with zero mask Query … still gives … of its weight to hidden key … What does the exponential" in said
    assert "attention: With 4 by 3 queries" in said
    assert "Query 1 still gives 0.286 of its weight to hidden key 2." in said


@pytest.mark.parametrize("id", MISTAKES)
def test_the_general_words_of_a_mistake_hold_no_blank_form(id):
    assert not re.search(r"[{}]|\(.*=.*…", general(id))
    assert len(general(id)) > 40


def test_an_example_leaves_the_question_out():
    assert seen_once("You get 2.5 at row 1. \nIt is so. Is it?\nFurther.") == "You get 2.5 at row 1.  It is so."


def test_the_steps_of_mistakes_that_go_together_are_told():
    assert "scale and mask 1 forgets to scale and fills with zero (1)" in text_of(
        row("ada", judged("unscaled and zero"))
    )


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], "well"),
        ([(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)], "the wrong way round"),
        ([(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)], "all alike: nothing to compare"),
        ([(1, 1), (2, 2)], "fewer than 5 students"),
    ],
)
def test_how_telling_an_exercise_is_is_said_in_words(points, words):
    rows = [row(str(n), got(a), got(b, "softmax")) for n, (a, b) in enumerate(points)]
    assert how_telling(exercise_numbers(rows)[0]) == words
    assert words in Tags(class_page(rows)).text


def test_a_cell_shows_points_by_sign_colour_and_words():
    page = class_page(
        [row("ada", got(2, mistakes=("fills_with_zero",)), got(4, "softmax"), got(0, "f", status="crashed"))]
    )
    assert '<td class="s2" title="not right yet, fills with zero">◐ 2</td>' in page
    assert '<td class="s4" title="right">✓ 4</td>' in page
    assert '<td class="s0" title="stopped by an error">! 0</td>' in page


def test_totals_are_summed_up_and_drawn():
    rows = [row("a", got(4)), row("b", got(2)), row("c", got(0))]
    tags = Tags(class_page(rows))
    assert "Mean 2, median 2, from 0 to 4 of 4 points." in tags.text
    label = next(attrs["aria-label"] for attrs in tags.of("svg") if "aria-label" in attrs)
    assert "0 to 10 %: 1; 10 to 20 %: 0" in label and label.endswith("90 to 100 %: 1.")


def test_remarks_are_counted_by_notebooks():
    twice = got(4, remarks=("changes_its_input",))
    lost = "Cell 2 did not run: SyntaxError. Line {}:\nx = = {}"
    said = text_of(row("a", twice, twice, remarks=(lost.format(1, 1),)), row("b", remarks=(lost.format(2, 2),)))
    assert "Cell … did not run: SyntaxError. (2)" in said and "into? (1)" in said


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (
            "Code cell 3 did not run to its end: NameError: name 'x' is not defined. Line 2:\n  x\n  ^",
            "Code cell 14 did not run to its end: NameError: name 'softmax' is not defined.",
            "Code cell … did not run to its end: NameError.",
        ),
        (
            "Code cell 3 did not run to its end: it took too long.",
            "Code cell 4 did not run to its end: it took too long.",
            "Code cell … did not run to its end: it took too long.",
        ),
        ("Cells 1, 2, 13, … are left out.", "Cells 5, 6 are left out.", "Cells … are left out."),
        (
            "Nothing is installed, so this was left out: `!ls`, `%pip install x` and 3 more.",
            "Nothing is installed, so this was left out: `!rm -rf x`.",
            "Nothing is installed, so this was left out: ….",
        ),
        ("It was read as cp1252, not UTF-8 (3 or before).",) * 2 + ("It was read as cp1252, not UTF-8 (3 or before).",),
    ],
)
def test_remarks_of_a_kind_are_one_line(one, other, kind):
    said = text_of(row("a", got(4), remarks=(one,)), row("b", got(4), remarks=(other,)))
    assert f"{kind} (2)" in said


def test_a_notebook_in_which_nothing_was_begun_is_told_from_one_that_earned_nothing():
    opened = row("a", got(0, status="unattempted"), got(0, "softmax", status="unattempted"))
    begun = row("b", got(0, status="unattempted"), got(0, "softmax"))
    said = text_of(opened, begun)
    assert "2 notebooks graded, 1 of them with nothing done yet" in said and said.count("nothing done yet") == 2


def test_each_lab_has_a_section_of_its_own():
    page = class_page([row("a", got(1)), row("a", got(1), lab="01_one_head")])
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == ["01_one_head", "02_causal_mask"]


def test_students_are_linked_to_their_pages_where_there_are_any():
    assert 'href="feedback/s1"' in PAGE
    assert not Tags(class_page(everything())).of("a")


def test_every_header_cell_has_a_scope_and_every_picture_words():
    tags = Tags(PAGE)
    assert tags.of("th") and all(attrs["scope"] in ("row", "col") for attrs in tags.of("th"))
    assert all("aria-label" in attrs or attrs.get("aria-hidden") == "true" for attrs in tags.of("svg"))


def test_names_are_sorted_without_regard_to_marks_and_capitals():
    names = ["Zoe", "çelik", "Dupont", "Özdemir", "Peters"]
    page = class_page([row(str(n), got(4), name=name) for n, name in enumerate(names)])
    listed = re.findall(r'<th scope="row">(\w+)', page)
    assert [name for name in listed if name in names] == ["çelik", "Dupont", "Özdemir", "Peters", "Zoe"]


def test_a_lab_in_which_no_points_can_be_had_is_drawn_too():
    assert "from 0 to 0 of 0 points." in text_of(row("a", got(0, of=0)))


def test_a_class_of_nobody_has_a_page_too():
    assert "0 students handed in" in text_of()
