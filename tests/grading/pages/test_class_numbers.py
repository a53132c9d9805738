"""The numbers of the class page, held against ones worked out by hand."""

import pytest
from grading.rows import got, judged, row, ungraded

from labkit.exercise import Outcome
from labkit.grading.pages.class_numbers import (
    FEWEST,
    exercise_numbers,
    histogram,
    likeliest_mistakes,
    mistakes_seen,
    pairs_of_steps,
    shared_numbers,
    telling,
    to_be_asked_for_a_name,
)


@pytest.mark.parametrize(
    ("item", "rest", "expected"),
    [
        ((0, 1, 2), (3, 4, 5), 1),
        ((0, 1, 2), (5, 4, 3), -1),
        ((1, 0, 1, 0), (3, 1, 1, 3), 0),
        ((0, 1, 1, 2), (1, 1, 3, 3), 2 / 8**0.5),  # deviations -1 0 0 1 and -1 -1 1 1: products 2, squares 2 and 4
    ],
)
def test_an_exercise_is_correlated_with_the_rest_of_the_score(item, rest, expected):
    assert telling(list(zip(item, rest, strict=True)), 0) == pytest.approx(expected)


def test_the_rest_is_the_sum_of_all_other_exercises():
    assert telling([(0, 1, 2), (1, 2, 2), (2, 0, 5)], 0) == pytest.approx(telling([(0, 3), (1, 4), (2, 5)], 0))


@pytest.mark.parametrize(
    "points",
    [
        [(1, 0), (1, 3), (1, 2)],
        [(0, 2), (1, 2)],
        [(1, 2)],
        [],
        [(1,), (0,)],
        [(0, 0.1, 0.2), (1, 0.3, 0), (2, 0.2, 0.1)],
    ],
    ids=["exercise alike", "rest alike", "one student", "nobody", "one exercise", "alike but for rounding"],
)
def test_where_nothing_varies_there_is_no_correlation(points):
    assert telling(points, 0) is None


def test_the_share_of_an_exercise_is_the_mean_over_those_with_a_score():
    rows = [row("a", got(4)), row("b", got(2)), row("c", got(0)), ungraded("d", "ungradable", "It isn't JSON.")]
    (one,) = exercise_numbers(rows)
    assert (one.name, one.max_points, one.share) == ("attention", 4, 0.5)
    assert one.statuses == {"passed": 1, "failed": 2}


def test_an_exercise_that_a_notebook_lacks_counts_as_nothing():
    first, second = exercise_numbers([row("a", got(4), got(2, "softmax", 2)), row("b", got(4))])
    assert (first.share, second.name, second.share) == (1, "softmax", 0.5)


@pytest.mark.parametrize(("n", "known"), [(FEWEST - 1, False), (FEWEST, True)])
def test_with_few_students_how_telling_an_exercise_is_is_not_said(n, known):
    rows = [row(str(i), got(i % 3), got(i % 3, "softmax")) for i in range(n)]
    assert (exercise_numbers(rows)[0].telling is not None) == known


def test_a_mistake_counts_once_a_student_and_those_of_most_students_come_first():
    zero, percent = got(0, mistakes=("fills_with_zero",)), got(0, "softmax", mistakes=("gives_percent",))
    seen = mistakes_seen([row("a", zero, zero), row("b", percent, zero), row("b", zero, lab="01_one_head")])
    assert [(one.id, sorted(one.students), one.answers) for one in seen] == [
        ("fills_with_zero", ["a", "b"], 4),
        ("gives_percent", ["b"], 1),
    ]
    assert seen[1].example is percent


def test_of_two_mistakes_that_come_together_both_count():
    assert likeliest_mistakes(judged("unscaled and zero")) == ("forgets_to_scale", "fills_with_zero")


def test_of_several_names_for_one_mistake_the_likeliest_counts():
    assert likeliest_mistakes(
        Outcome("softmax", "failed", 0, 3, ("gives_percent", "uses_another_base"), message="Seen.")
    ) == ("gives_percent",)


def test_the_example_of_a_mistake_shows_it_alone_where_it_can():
    rows = [row("a", judged("unscaled and zero")), row("b", judged("zero"))]
    examples = {one.id: one.example for one in mistakes_seen(rows)}
    assert examples == {"fills_with_zero": judged("zero"), "forgets_to_scale": judged("unscaled and zero")}


def test_pairs_of_steps_count_students_and_name_the_commonest_two_mistakes():
    def student(name, *ids):
        return row(name, *(got(0, f"e{n}", mistakes=(id,)) for n, id in enumerate(ids)))

    rows = [
        student("a", "fills_with_zero", "forgets_to_scale"),
        student("b", "ignores_the_mask", "forgets_to_scale", "fills_with_zero"),
        student("c", "ignores_the_mask", "gives_percent"),
        student("d", "ignores_the_mask", "fills_with_zero"),  # both at one step: no pair
    ]
    assert pairs_of_steps(mistakes_seen(rows)) == [
        (("scale", "mask"), 2, ("forgets_to_scale", "fills_with_zero"), 2),
        (("mask", "hand"), 1, ("ignores_the_mask", "gives_percent"), 1),
    ]


def test_numbers_are_shared_by_those_who_ask_for_them_and_whoever_is_called_so():
    rows = [
        row("7", numbers_of=("bob", "7")),
        row("8", numbers_of=("bob",)),
        row("9", numbers_of=("Ada",)),
        row("10", name="ada"),
        row("11", numbers_of=("eve",)),
        row("11", lab="01_one_head", numbers_of=("eve",)),
    ]
    assert shared_numbers(rows) == {"Ada": ["10", "9"], "bob": ["7", "8"]}


def test_a_name_may_be_some_of_the_words_of_a_students_name():
    rows = [row("1", name="Ada Lovelace"), row("2", name="Eve Ade", numbers_of=("Ada", "Eve"))]
    assert shared_numbers(rows) == {"Ada": ["1", "2"]}


@pytest.mark.parametrize(
    ("of_ada", "of_eve", "asked"),
    [
        (("Ada",), ("Ada",), {"eve"}),
        ((), ("Ada", "Eve"), {"eve"}),
        (("Max",), ("Max",), {"ada", "eve"}),
        (("Max",), ("Eve",), set()),
        (("Ada",), ("ada lovelace",), {"eve"}),
    ],
    ids=["one name", "a name that nobody used", "nobody's name", "names of their own", "the whole name"],
)
def test_whoever_used_a_name_that_is_not_theirs_is_asked_for_it(of_ada, of_eve, asked):
    rows = [row("ada", name="Ada Lovelace", numbers_of=of_ada), row("eve", name="Eve", numbers_of=of_eve)]
    assert to_be_asked_for_a_name(rows) == asked


def test_two_of_one_name_are_both_asked_where_both_used_it():
    rows = [row(n, name=f"Ada {n}", numbers_of=("Ada",)) for n in ("1", "2")]
    assert to_be_asked_for_a_name(rows) == {"1", "2"}
    assert to_be_asked_for_a_name([rows[0], row("2", name="Ada 2")]) == set()


def test_a_histogram_puts_full_marks_into_its_last_bin():
    assert histogram([0, 0.09, 0.1, 0.1 + 0.2, 0.999, 1, 1]) == [2, 1, 0, 1, 0, 0, 0, 0, 0, 3]


def test_the_example_name_that_every_notebook_comes_with_is_nobodys():
    rows = [row("10", numbers_of=("ada",)), row("11", numbers_of=("ada",))]
    assert shared_numbers(rows) == {}
