"""Answers in words are found, whatever students and editors have made of the cells; the questions are the lab's."""

import time
from dataclasses import replace

import pytest
from notebook_files import lab

from labkit.exercises import LABS
from labkit.grading.handed_in.questions import MOST_CHARACTERS, answers_in_words, known_labs
from labkit.grading.handed_in.reading import read
from labkit.grading.submission import Cell
from labkit.labs import TEXT_STUB

NAME = "02_causal_mask"
CELLS, _ = read(lab(NAME))
IDS = [cell.id for cell in CELLS]
ASK_A, ANSWER_A, ASK_B, ANSWER_B = (IDS.index(f"cell-0{n}") for n in (63, 64, 65, 66))
QUESTIONS = [one.question for one in answers_in_words(NAME, CELLS)[0]]


def text(source, *tags, kind="markdown", id="own"):
    return Cell(kind, source, tags, id)


def answered(a=TEXT_STUB, b="To B."):
    """The lab with its two answers."""
    cells = list(CELLS)
    cells[ANSWER_A], cells[ANSWER_B] = replace(cells[ANSWER_A], source=a), replace(cells[ANSWER_B], source=b)
    return cells


def answers(cells, name=NAME):
    written, remarks = answers_in_words(name, cells)
    assert [one.question for one in written] == [one.question for one in answers_in_words(name, CELLS)[0]]
    return [one.text for one in written], remarks


def without_ids(cells):
    return [replace(cell, id="") for cell in cells]


def without_tags(cells):
    return [replace(cell, tags=()) for cell in cells]


def with_other_ids(cells):
    """Those of a version of the lab that had three cells less before them."""
    return [replace(cell, id=f"cell-{n:03d}") for n, cell in enumerate(cells, -2)]


LOST = {
    "nothing": list,
    "ids": without_ids,
    "tags": without_tags,
    "ids and tags": lambda cells: without_ids(without_tags(cells)),
    "ids of another version": with_other_ids,
    "ids of another version, and tags": lambda cells: with_other_ids(without_tags(cells)),
}


@pytest.mark.parametrize("name", LABS)
def test_the_questions_are_those_of_the_lab_each_in_words_of_its_own(name):
    cells, _ = read(lab(name))
    written, remarks = answers_in_words(name, cells)
    questions = [one.question for one in written]
    assert len(questions) == sum("written" in cell.tags for cell in cells) > 0
    assert len({*questions}) == len(questions)
    assert all(question.endswith("?") and len(question) < 500 for question in questions)
    assert not any(sign in question for question in questions for sign in ("*", "$", "#", "\n"))
    assert not any(one.text for one in written) and remarks == ()


def test_a_question_is_read_without_its_heading_and_signs():
    assert QUESTIONS[0].startswith("A. A causal mask alone never leaves a query without a key. Why? And what")


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_answers_are_found_by_what_is_left_of_the_cells(lose):
    assert answers(lose(answered("To\nA."))) == (["To\nA.", "To B."], ())


def with_cell_between(cells):
    cells.insert(ANSWER_A, text("x = 1", kind="code"))


def with_reworded_question(cells):
    cells[ASK_B] = replace(cells[ASK_B], source=cells[ASK_B].source.replace("In what way", "How"))


def with_code_for_text(cells):
    cells[ANSWER_A] = replace(cells[ANSWER_A], kind="code")


def with_answer_split(cells):
    cells[ANSWER_A : ANSWER_A + 1] = [replace(cells[ANSWER_A], source=half, id=half) for half in ("To", "A.")]


CHANGES = (
    with_cell_between,
    with_reworded_question,
    with_code_for_text,
    with_answer_split,
)


@pytest.mark.parametrize("lose", [list, without_ids], ids=["", "ids lost"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_change_around_an_answer_takes_it_from_its_question(change, lose):
    cells = answered("To A.")
    change(cells)
    (a, b), remarks = answers(lose(cells))
    assert "To" in a and "A." in a and "To B." not in a
    assert "To B." in b and "A." not in b
    assert remarks == ()


def below(cells):
    cells.insert(ANSWER_A + 1, text("To A."))


def untagged_in_its_place(cells):
    cells[ANSWER_A] = text("To A.")


def under_the_question(cells):
    cells[ASK_A] = replace(cells[ASK_A], source=cells[ASK_A].source + "\n\nTo A.")


def in_a_raw_cell(cells):
    cells.insert(ANSWER_A + 1, text("To A.", kind="raw"))


def in_a_code_cell(cells):
    cells.insert(ANSWER_A + 1, text("To A.", kind="code"))


def below_the_placeholder(cells):
    cells[ANSWER_A] = replace(cells[ANSWER_A], source=f"{TEXT_STUB}\n\nTo A.")


def above_the_answer(cells):
    cells.insert(ANSWER_A, text("To A."))


PLACES = (
    below,
    untagged_in_its_place,
    under_the_question,
    in_a_raw_cell,
    in_a_code_cell,
    below_the_placeholder,
    above_the_answer,
)


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
@pytest.mark.parametrize("put", PLACES, ids=lambda put: put.__name__)
def test_an_answer_outside_its_cell_is_found(put, lose):
    cells = answered()
    put(cells)
    assert answers(lose(cells)) == (["To A.", "To B."], ())


def test_where_the_question_between_two_answers_was_deleted_ids_still_tell_them_apart():
    cells = answered("To A.")
    del cells[ASK_B]
    assert answers(cells)[0] == ["To A.", "To B."]
    assert answers(without_ids(cells))[0] == ["To A.\n\nTo B.", ""]  # as if one were split; no word is lost


def test_two_halves_of_an_answer_are_one():
    cells = answered("One half.")
    cells.insert(ANSWER_A + 1, text("The other."))
    assert answers(cells)[0] == ["One half.\n\nThe other.", "To B."]


def test_of_a_question_that_was_typed_into_only_the_students_words_are_kept():
    cells = answered()
    cells[ASK_A] = replace(cells[ASK_A], source=cells[ASK_A].source.replace("Why?", "Why? Each has\nitself."))
    assert answers(cells)[0][0] == "Each has\nitself."


def test_an_answer_is_known_by_its_id_wherever_it_lies():
    cells = answered("To A.")
    cells.insert(0, cells.pop(ANSWER_B))
    assert answers(cells) == (["To A.", "To B."], ())


def test_notes_elsewhere_are_no_answer():
    cells = answered("To A.")
    cells.insert(3, text("A note."))
    assert answers(cells) == (["To A.", "To B."], ())


def test_where_a_question_has_no_answer_words_elsewhere_are_told_of():
    cells = answered()
    cells.insert(3, text("To A: each query has itself."))
    cells[0] = replace(cells[0], source="Written over the title.")
    (a, _), (remark,) = answers(cells)
    assert a == "" and remark == (
        "Cells 1, 4 hold text that isn't the lab's, below none of its questions; 1 question has no answer in words. "
        "Was it meant as one?"
    )


def test_there_are_as_many_answers_as_the_lab_has_questions():
    cells = [*answered("To A."), *(text(f"Spam {n}.", "written") for n in range(10_000))]
    assert answers(cells)[0] == ["To A.", "To B."]


@pytest.mark.parametrize("filler", ["Why? ", "\\text{", "a\n\n", "*Your answer here.* "])
def test_a_very_long_answer_takes_no_time_and_is_cut_with_a_word_about_it(filler):
    begun, long = time.monotonic(), filler * 200_000
    cells = answered(long, long)
    cells[ASK_A] = replace(cells[ASK_A], source=cells[ASK_A].source + long)
    texts, _ = answers(cells)
    assert time.monotonic() - begun < 5
    assert all(MOST_CHARACTERS < len(one) < MOST_CHARACTERS + 100 for one in texts)
    assert all(one.endswith("more characters are in the notebook.]") for one in texts)


def test_every_lab_is_known():
    assert set(known_labs()) == set(LABS)


@pytest.mark.parametrize(
    "text",
    [
        "## My notes",
        "[Open in Colab](https://colab.example/lab2)",
        '<a href="x"><img src="y" alt="Open In Colab"/></a>',
    ],
)
def test_headings_and_links_elsewhere_are_no_words(text):
    cells = answered()
    cells.insert(0, Cell("markdown", text))
    assert answers(cells)[1] == ()


def test_a_question_of_which_only_words_were_left_out_is_no_answer():
    cells = without_ids(without_tags(answered("To A.")))
    cells[ASK_B] = replace(
        cells[ASK_B], source='**B.** BERT is trained with "masked" tokens. In what way is that different?'
    )
    assert answers(cells)[0] == ["To A.", "To B."]


@pytest.mark.parametrize("answer", ["→", "no key", "-", "here"])
def test_the_shortest_answers_are_answers(answer):
    (a, _), _ = answers(answered(answer))
    assert a == answer
    cells = answered()
    cells[ASK_A] = replace(cells[ASK_A], source=answer)
    assert answers(cells)[0][0] == answer


def test_code_that_became_a_text_is_no_answer_elsewhere():
    cells = [replace(cell, kind="markdown") if cell.id == "cell-034" else cell for cell in answered()]
    assert answers(cells)[1] == ()
