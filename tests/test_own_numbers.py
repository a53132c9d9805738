"""Students' own numbers: who gets which, and whether each set of them tells all mistakes apart."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from labkit.exercise import mistake
from labkit.exercises import EXERCISES, draw_numbers
from labkit.exercises.hand import KINDS, SETS, read_set, sets
from labkit.exercises.own_numbers import COMMAND, far_or_same, is_good, readable, renewed
from labkit.mistakes import MISTAKES

# What the tables in solutions/*.py are about.
ADA = {
    "heads": "215314130032 444255223502 70723758",
    "layers": "1000121202221022 2112000001110200 0120012102222012 0112122022210100 0010100111101122",
}


def as_bytes(numbers, kind):
    return b"".join(numbers[name].tobytes() for name in KINDS[kind])


# ---- who gets which --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_ada_has_the_numbers_of_the_solved_labs(kind):
    assert as_bytes(draw_numbers("ada"), kind) == as_bytes(read_set(kind, ADA[kind]), kind), (
        "Ada's numbers are others now: fill in the tables in solutions/*.py anew, then ADA in this file."
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("ada", "Ada"), ("ada", " ada\n"), ("Jos\u00e9", "Jose\u0301"), ("STRASSE", "straße"), ("李明", " 李明")],
)
def test_a_name_may_be_written_in_several_ways(one, other):
    assert as_bytes(draw_numbers(one), "heads") == as_bytes(draw_numbers(other), "heads")
    assert as_bytes(draw_numbers(one), "layers") == as_bytes(draw_numbers(other), "layers")


def test_a_name_with_undecodable_bytes_has_numbers_too():
    assert draw_numbers("ad\udce9le")["Q"].any()


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_numbers_come_again_only_when_all_have_been_there(kind):
    count = len(sets()[kind])
    seen = [as_bytes(draw_numbers("grace", attempt), kind) for attempt in range(count + 1)]
    assert len(set(seen)) == count
    assert seen[count] == seen[0]


def test_a_class_is_spread_over_the_sets():
    people = [draw_numbers(f"student {i}") for i in range(1000)]
    heads, layers = ([as_bytes(numbers, kind) for numbers in people] for kind in KINDS)
    assert len(set(heads)) > 0.8 * len(sets()["heads"])
    assert len(set(zip(heads, layers, strict=True))) > 0.95 * len(people)


@pytest.mark.parametrize("kind", KINDS)
def test_a_set_is_made_of_small_whole_numbers(kind):
    for line in sets()[kind]:
        numbers = read_set(kind, line)
        for name, (rows, columns, lowest, highest) in KINDS[kind].items():
            assert numbers[name].shape == (rows, columns)
            assert set(numbers[name].ravel()) <= set(range(lowest, highest + 1))


# ---- which sets are good ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_set_tells_all_mistakes_apart(kind):
    bad = [place for place, line in enumerate(sets()[kind]) if not is_good(kind, line)]
    assert bad == [], f"{kind}: {len(bad)} sets don't tell all mistakes apart any more. To mend it: {COMMAND}"


@pytest.mark.parametrize(("kind", "divisor"), [("heads", 1.75), ("layers", 1.42)])
def test_a_mistake_that_is_hardly_off_is_seen(kind, divisor, monkeypatch):
    @mistake("scale")
    def scales_by_nearly_the_root(raw_scores):
        """Nearly. By how much?"""
        return raw_scores / divisor

    assert is_good(kind, ADA[kind])
    monkeypatch.setitem(MISTAKES, "scales_by_nearly_the_root", scales_by_nearly_the_root)
    assert not is_good(kind, ADA[kind])


@pytest.mark.parametrize(
    ("off", "exercise", "ids", "good"),
    [
        (0.04, "hand_weights", ("", "forgets_to_scale"), False),
        (0.05, "hand_weights", ("", "forgets_to_scale"), True),
        (0.00, "hand_weights", ("", "forgets_to_scale"), True),
        (0.04, "hand_weights", ("scales_by_d_k", "forgets_to_scale"), False),
        (0.005, "hand_weights", ("", "truncates_decimals"), False),
        (0.006, "hand_weights", ("", "truncates_decimals"), True),
        (0.006, "hand_weights", ("scales_by_d_k", "truncates_decimals"), True),
        (0.01, "head_outputs", ("", "forgets_to_scale"), False),
        (0.01, "head_outputs", ("scales_by_d_k", "forgets_to_scale"), True),
        (0.002, "head_outputs", ("scales_by_d_k", "forgets_to_scale"), False),
        (0.002, "head_outputs", ("", "truncates_decimals"), True),
        (np.nan, "hand_weights", ("", "forgets_to_scale"), True),
    ],
)
def test_two_tables_are_far_from_each_other_or_the_same(off, exercise, ids, good):
    tables = np.zeros((2, 4, 4))
    tables[1, 2, 1] = off
    assert far_or_same(EXERCISES[exercise], dict(zip(ids, tables, strict=True))) is good


CLEAR = {"Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 2]]}


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"Q": [[4, 0], [0, 1]]}, id="a row of weights is all but settled"),
        pytest.param({"K": [[1, 1], [1, 2]]}, id="two weights of a row are equal"),
        pytest.param({"Q": [[1, 0], [1, 0]]}, id="two rows are alike"),
        pytest.param({"K": [[1, -2], [0, 0]]}, id="a key is 0"),
        pytest.param({"K": [[1, 0], [-1, 2]]}, id="the scores of query 1 add to 0"),
    ],
)
def test_an_example_that_is_not_clear_is_refused(spoilt):
    assert readable(**{name: np.array(table, dtype=float) for name, table in CLEAR.items()})
    assert not readable(**{name: np.array(table, dtype=float) for name, table in {**CLEAR, **spoilt}.items()})


# ---- how they are found ----------------------------------------------------------------------------------------------


def test_good_sets_stay_where_they_are_and_the_others_are_replaced():
    one, other = sets()["heads"][:2]
    lines = [one, "0" * 12 + " " + "0" * 12 + " " + "0" * 8, other, one, "12 3", ""]
    new = renewed("heads", lines, np.random.default_rng(1))
    assert (new[0], new[2]) == (one, other)
    assert len(set(new)) == 6
    assert all(is_good("heads", line) for line in new)


def test_the_command_mends_the_file_and_says_what_is_new(tmp_path):
    shutil.copytree(SETS.parents[1], tmp_path / "labkit")
    file = tmp_path / SETS.relative_to(SETS.parents[2])
    heads, layers = (sets()[kind][:2] for kind in KINDS)
    file.write_text(json.dumps({"sets": {"heads": [heads[0], "0"], "layers": layers}}), encoding="ascii")
    command = [sys.executable, *COMMAND.split()[1:]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "heads: 1 of 2 sets are new, at 1\nlayers: 0 of 2 sets are new\n")
    mended = json.loads(file.read_text(encoding="ascii"))["sets"]
    assert (mended["heads"][0], mended["layers"]) == (heads[0], layers)
    assert is_good("heads", mended["heads"][1])
