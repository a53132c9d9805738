"""The student's page: what it says, what it keeps to itself, and that nothing of a student's runs in it."""

import re
import zipfile
from dataclasses import replace
from io import BytesIO

import pytest
from grading.rows import HOSTILE, Tags, everything, got, judged, row, ungraded
from handed_in import submission
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from notebook_files import notebook

from labkit.exercise import PRODUCT_OF_STEP, STATUSES
from labkit.grading.handed_in.intake import collect
from labkit.grading.pages.feedback_page import ASKED, feedback_name, feedback_page, pictures
from labkit.grading.pages.page import WORDS, cleaned, page
from labkit.grading.records.gradebook import WAITING, Gradebook
from labkit.grading.records.marks import Answer, Mark
from labkit.grading.submission import SYSTEM_ERROR, UNGRADABLE

PAGES = [feedback_page([one], shared_numbers=True) for one in everything()]
ids = st.text(st.characters(), min_size=1) | st.from_regex(r"[aA]da[.~ -]?\d?", fullmatch=True)


def text_of(*rows, **more):
    return Tags(feedback_page(rows, **more)).text


# ---- its name


@pytest.mark.parametrize("student", ["ada", "007", "7", "ada.lovelace@example.org", "u-12_b"])
def test_an_ordinary_id_is_the_name_of_its_page(student):
    assert feedback_name(student) == f"{student}.html"


@pytest.mark.parametrize(
    "student", ["a/b", "..", ".", "", "CON", "con.x", "🙂", "x" * 300, "a\\b", "a:b", " a", "-a", "\ud800"]
)
def test_an_odd_id_gets_a_name_that_any_file_system_takes(student):
    name = feedback_name(student)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*~[0-9a-f]{20}\.html", name)
    assert len(name) < 80


@given(ids, ids)
def test_different_ids_get_different_names_even_where_capitals_do_not_count(one, other):
    assert (feedback_name(one).lower() == feedback_name(other).lower()) == (one == other)


# ---- nothing of a student's runs


@pytest.mark.parametrize("page", PAGES)
def test_texts_of_students_bring_no_tag_into_the_page(page):
    tags = Tags(page)
    assert not {"script", "img", "iframe", "link", "object", "base"} & {tag for tag, _ in tags.tags}
    assert not [name for _, attrs in tags.tags for name in attrs if name.startswith("on")]
    assert all(attrs["href"].startswith("#") for attrs in tags.of("a"))
    assert page.encode("utf-8") and "\x00" not in page and "\u202e" not in page


def test_a_students_text_is_shown_as_it_was_written():
    assert cleaned("<script>alert(1)</script>") in Tags(feedback_page([row(name=HOSTILE)])).text


@pytest.mark.parametrize("page", PAGES)
def test_the_page_forbids_all_that_would_run_or_be_fetched(page):
    policy = Tags(page).of("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "url(" not in page and "@import" not in page


# ---- what it says


def test_what_was_seen_the_question_and_a_hint_are_there():
    one = judged("zero")
    said = text_of(row("ada", one))
    for line in (*one.message.split("\n"), *one.hints):
        assert line in said


def test_beside_the_students_table_stands_what_is_asked_of_every_such_table():
    tags = Tags(feedback_page([row("ada", judged("zero"))]))
    drawn, asked = (attrs["aria-label"] for attrs in tags.of("svg"))
    assert "0.29 (hidden)" in drawn
    assert "Query 1: …, 0 (hidden), 0 (hidden), 0 (hidden); adds to 1." in asked
    assert not re.search(r"\d\.\d", asked)


def test_a_mistake_that_does_not_show_in_the_weights_is_answered_in_words():
    one = got(0, "attention_scores", mistakes=("forgets_to_scale",), message="Seen.")
    assert ASKED["scale"] in text_of(row("ada", one))


def test_a_table_with_a_query_that_sees_nothing_has_no_counterpart():
    one = judged("zero")
    assert len(pictures(one)) == 2
    assert len(pictures(replace(one, mask=((False,) * len(one.mask[0]), *one.mask[1:])))) == 1


def test_a_page_from_the_gradebook_is_the_page_of_what_was_graded(tmp_path):
    rows = [row("ada", judged("zero"), judged("unscaled and zero"))]
    with Gradebook.open(tmp_path / "gradebook.db") as book:
        book.record(submission(), rows[0].graded, "f")
        (kept,) = book.latest()
    assert kept.graded == rows[0].graded
    assert feedback_page([replace(rows[0], graded=kept.graded)]) == feedback_page(rows)


def test_there_are_words_for_every_step_and_every_status():
    assert ASKED.keys() == {*PRODUCT_OF_STEP, "allowed"}
    assert WORDS.keys() == {*STATUSES}


def test_what_a_function_was_asked_with_is_not_shown():
    assert "smallest input" in judged("squared").smallest
    said = text_of(row("ada", judged("squared")))
    assert "smallest input" not in said and "Q = [[" not in said


def test_each_exercise_is_listed_with_its_points_and_only_what_needs_words_gets_a_box():
    rows = [row("ada", got(4), got(2.5, "softmax"), got(0, "merge_heads", status="unattempted"))]
    said, boxes = text_of(*rows), Tags(feedback_page(rows)).of("section")
    for line in ("attention ✓ right 4 of 4", "softmax ✗ not right yet 2.5 of 4", "merge_heads ○ still open 0 of 4"):
        assert line in said
    assert len(boxes) == 1
    assert "6.5 of 12 points" in said and "1 of 3 exercises right, 1 still open." in said


def test_an_answer_that_is_not_there_is_said_to_be_missing_even_without_a_message():
    assert "There is nothing of this name in the notebook." in text_of(row("ada", got(0, status="missing")))


def test_the_attempt_that_counts_and_lateness_are_told():
    late = row("ada", got(4), attempts=3, late="2 days", points=3, file="b.ipynb", reason="The last attempt is none.")
    said = text_of(late)
    assert "b.ipynb" in said and "You handed in 3 times; this is the attempt that counts." in said
    assert "It came late (2 days). It earned 4 points, of which 3 count. The last attempt is none." in said


def test_points_given_by_hand_are_no_loss():
    assert "of which" not in text_of(row("ada", got(4), written=2, points=6, max_points=7))


def test_a_file_that_cannot_be_graded_is_told_why_and_what_helps():
    said = text_of(ungraded("ada", UNGRADABLE, "It isn't JSON: line 3, column 7."))
    assert "It isn't JSON: line 3, column 7." in said and "write to your instructor" in said
    assert "0 of" not in said


def zipped(name, data):
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


ZIP_IN_ZIP = zipped("inner.zip", zipped("a.ipynb", notebook("x = 1")))
REFUSED = {
    "wrong lab": ({"a.ipynb": notebook("def causal_mask(n): ...")}, "of the lab that was asked for"),
    "no exercises": ({"a.ipynb": notebook("x = 1")}, "keep those as they are"),
    "pdf": ({"a.pdf": b"%PDF"}, "File, then Download"),
    "a pdf called a notebook": ({"a.ipynb": b"%PDF"}, "File, then Download"),
    "packed": ({"a.rar": b"Rar!"}, "an ordinary .zip with the notebook in it"),
    "packed twice": ({"a.zip": ZIP_IN_ZIP}, "an ordinary .zip with the notebook in it"),
    "a packed file called a notebook": ({"a.ipynb": b"\x1f\x8b"}, "an ordinary .zip with the notebook in it"),
    "conflict": ({"a.ipynb": b'{\n<<<<<<< HEAD\n"a": 1\n=======\n>>>>>>> x\n}'}, "keep one of each"),
    "cut off": ({"a.ipynb": notebook("x")[:-30]}, "cut off on its way"),
    "empty": ({"a.ipynb": b""}, "cut off on its way"),
}


@pytest.mark.parametrize(("files", "helps"), REFUSED.values(), ids=REFUSED)
def test_what_helps_fits_the_reason(tmp_path, files, helps):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (one,) = collect(tmp_path, "01_one_head").submissions
    said = text_of(ungraded("ada", UNGRADABLE, one.problem))
    assert cleaned(one.problem.split("\n")[0]) in said and helps in said


def test_what_waits_to_be_graded_is_not_said_to_be_missing():
    said = text_of(ungraded("ada", WAITING.status, WAITING.reason))
    assert "It was handed in, and it hasn't been graded yet." in said and "0 of" not in said


def test_a_mark_without_points_or_comment_is_none():
    answer = (Answer("k", "Why?", "Because."), Mark(None, 2), False)
    assert "Not marked yet." in text_of(row("ada", got(3), answers=(answer,)))


def test_a_failure_of_the_grader_is_not_the_students_and_keeps_its_details_to_itself():
    said = text_of(ungraded("ada", SYSTEM_ERROR, "BrokenProcessPool"))
    assert "not your fault" in said and "no points" in said
    assert "BrokenProcessPool" not in said and "0 of" not in said


def test_shared_numbers_are_told_without_a_name():
    rows = [row("ada", numbers_of=("bob",))]
    assert "somebody else" in text_of(*rows, shared_numbers=True)
    assert "somebody else" not in text_of(*rows)
    assert "bob" not in feedback_page(rows, shared_numbers=True)


def test_the_caret_stays_below_its_place():
    lost = "Code cell 4 did not run: SyntaxError. Line 2:\n    def softmax(scores:\n               ^"
    assert ">    def softmax(scores:\n               ^</pre>" in feedback_page([row("ada", remarks=(lost,))])


def test_written_answers_stand_with_their_marks():
    answers = (
        (Answer("a", "Why?", "Because."), Mark(1.5, 3, "Nearly."), True),
        (Answer("b", "How?", ""), None, False),
    )
    said = text_of(row("ada", answers=answers))
    assert "Why? Because. 1.5 of 3 points. Nearly. (Given for an earlier version of this answer.)" in said
    assert "How? (no answer) Not marked yet." in said


def test_each_lab_has_its_section_and_no_anchor_is_there_twice():
    page = feedback_page([row("ada", got(0)), row("ada", got(0), lab="01_one_head"), row("ada", got(0), batch="again")])
    tags = Tags(page)
    anchors = [attrs["id"] for _, attrs in tags.tags if "id" in attrs]
    assert len(tags.of("h2")) == 3 and len(anchors) == len({*anchors}) == 3
    assert {attrs["href"] for attrs in tags.of("a")} == {f"#{anchor}" for anchor in anchors}


def test_a_value_that_a_page_lacks_is_an_error_and_no_gap():
    with pytest.raises(UndefinedError, match="'mark' is undefined"):
        page("feedback.html")


def test_the_same_rows_give_the_same_page():
    assert [feedback_page([one], shared_numbers=True) for one in everything()] == PAGES
