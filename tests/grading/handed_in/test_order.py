"""Which file is a copy of which, and what comes after what; how attempts are ordered by it is tried in test_policy."""

import pytest

from labkit.grading.handed_in.order import family, natural


@pytest.mark.parametrize(
    ("path", "root", "numbers"),
    [
        ("lovelaceada_101_5001_mask.ipynb", "lovelaceada_101_mask", [()]),
        ("lovelaceada_101_5001_mask-10.ipynb", "lovelaceada_101_mask", [(10,)]),
        ("lovelaceada_101_5001_work-2.zip/lab.ipynb", "lovelaceada_101_work", [(2,), ()]),
        ("ada-7/x (2).ipynb", "x", [(2,)]),
        ("ada/lab_02.ipynb", "lab", [(2,)]),
        ("w.zip/x (1).ipynb", "w", [(), (1,)]),
        ("ada/lab_02_1.IPYNB", "lab", [(2, 1)]),
        ("ada/lab_02-1 (3).ipynb.txt", "lab", [(2, 1, 3)]),
        ("ada/02.ipynb", "02", [()]),
        ("ada/x2.ipynb", "x2", [()]),
    ],
)
def test_a_copy_has_the_name_of_what_it_is_a_copy_of_and_numbers_behind_it(path, root, numbers):
    assert family(path, 5001) == (root, tuple(numbers))


@pytest.mark.parametrize("part", ["_1", "-", " (1", "1", " (12) "])
def test_the_length_of_a_name_is_no_matter(part):
    name = part * 10**6 + "x.ipynb"
    assert family(name, 0) == (name.removesuffix(".ipynb"), ((),)) and natural(name)


def test_numbers_behind_a_name_are_read_however_many_there_are():
    assert family("x" + "_1" * 10**5 + ".ipynb", 0) == ("x", ((1,) * 10**5,))


def test_in_natural_order_10_comes_after_9():
    names = ["x", "x-9", "x-1", "x-09", "x-10", "x-10b", "x-" + "1" * 5000, "y"]
    assert sorted(names, key=natural) == ["x", "x-1", "x-09", "x-9", *names[4:]]
