"""Answers in words are found with their question, whatever has become of their tags."""

from dataclasses import replace

import pytest
from notebook_files import lab

from labkit.exercises import LABS
from labkit.grading.questions import readable, written
from labkit.grading.reading import read
from labkit.grading.submission import Cell, Written


def text(source, *tags):
    return Cell("markdown", source, tags)


@pytest.mark.parametrize("name", LABS)
def test_every_written_answer_of_the_labs_is_found_without_its_tag(name):
    cells, _ = read(lab(name))
    found = list(written(cells))
    assert len(found) == sum("written" in cell.tags for cell in cells) > 0
    assert all(one.text == "" and one.question.endswith("?") for one in found)
    assert not any(sign in one.question for one in found for sign in ("*", "$", "#", "\n"))
    assert list(written([replace(cell, tags=()) for cell in cells])) == found


def test_an_answer_stands_with_the_last_paragraph_before_it():
    cells = [text("## Why?\n\nA long story.\n\n**A.** Is $d_k$ the\n`width`, or *not*?"), text(" No. ", "written")]
    assert list(written(cells)) == [Written("A. Is d_k the width, or not?", "No.")]


def test_an_answer_that_was_split_is_one_again():
    cells = [
        text("**A.** Why?"),
        text("One.", "written"),
        text("Two.", "written"),
        text("**B.** And?"),
        text("", "written"),
    ]
    assert list(written(cells)) == [Written("A. Why?", "One.\n\nTwo."), Written("B. And?", "")]


def test_an_answer_in_a_code_cell_is_an_answer():
    cells = [text("**A.** Why?"), Cell("code", "because it is causal", ("written",))]
    assert list(written(cells)) == [Written("A. Why?", "because it is causal")]


def test_a_question_whose_answer_was_deleted_has_none():
    cells = [text("**A.** Why?"), text("**B.** And?"), text("So."), text("## To remember"), text("All.")]
    assert list(written(cells)) == [Written("B. And?", "So.")]


def test_with_tags_a_text_below_a_question_is_no_answer():
    assert list(written([text("**A.** Why?"), text("(Think.)"), text("So.", "written")])) == [
        Written("(Think.)", "So.")
    ]


def test_of_a_long_question_the_last_sentences_are_kept():
    asked = readable(" ".join(f"This is sentence {n} of many." for n in range(100)) + " So what?")
    assert asked.endswith("sentence 99 of many. So what?") and asked.startswith("This is") and len(asked) <= 400


def test_at_the_very_beginning_there_is_no_question():
    assert list(written([text("So.", "written")])) == [Written("", "So.")]
