"""Whatever the course texts define, state, warn of, ask and set as a task is covered by a cell of a lab.

The table stands beside this file, course_coverage.tsv. Its last column says which cell: the name of an exercise or of a
guess stands for the cell where the student is asked for it; anything else is a piece of text that only that cell has.
"""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from labkit.labs import read_script

HERE = Path(__file__).parent
KINDS = ("definition", "statement", "warning", "example", "question", "task")
TO_ANSWER = ("question", "task")
AT_LEAST = {"definitions": 50, "note 3.2": 75, "lesson 05": 20}  # rows for each text


class Row(NamedTuple):
    """An item of a course text, and the cell that covers it."""

    text: str
    section: str
    kind: str
    says: str
    lab: str
    cell: str


class Cell(NamedTuple):
    """All words of a cell in either notebook, whether the student writes in it, and the names that are asked for."""

    words: str
    is_open: bool
    asked: frozenset


def read_table():
    lines = (HERE / "course_coverage.tsv").read_text(encoding="utf-8").splitlines()
    return [Row(*line) for line in csv.reader(lines[1:], delimiter="\t", quoting=csv.QUOTE_NONE)]


def read_labs():
    """The cells of each lab, by its two digits."""
    scripts = (HERE.parent / "solutions").glob("[0-9][0-9]_*.py")
    return {script.name[:2]: [as_seen(cell) for cell in read_script(script)] for script in scripts}


def as_seen(cell):
    words = flat("\n".join([*cell.unsolved, *cell.solved]))
    return Cell(words, cell.solved != cell.unsolved, asked_in(cell.unsolved) if cell.kind == "code" else frozenset())


def flat(text):
    return " ".join(text.split())


def asked_in(lines):
    """Names that are left to be written: a variable that holds dots, or a function that isn't there yet."""
    code = "\n".join(lines)
    is_left = "..." in code or "NotImplementedError" in code
    names = re.findall(r"^(?:def (\w+)\(|(\w+) = )", code, re.M) if is_left else ()
    return frozenset(function or variable for function, variable in names)


def complaint(row, labs):
    """What is wrong with a row, or an empty string."""
    if not all(part.strip() for part in row):
        return f"every column must be filled in, the cell too: {row}"
    if row.kind not in KINDS:
        return f"the kind must be one of {', '.join(KINDS)}: {row}"
    cells = labs.get(row.lab, [])
    found = [cell for cell in cells if row.cell in cell.asked] or [one for one in cells if flat(row.cell) in one.words]
    if len(found) != 1:
        return f"lab {row.lab} must have one cell with {row.cell!r}, and has {len(found)}: {row.says}"
    if row.kind in TO_ANSWER and not found[0].is_open:
        return f"a {row.kind} is for the student to answer, and in this cell there is nothing to write: {row.says}"
    return ""


TABLE, LABS = read_table(), read_labs()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.text}-{row.section}-{row.cell}"[:80])
def test_each_item_of_the_course_texts_is_covered_by_one_cell(row):
    assert not complaint(row, LABS)


def test_the_table_has_as_many_items_of_each_text_as_were_found_there():
    counts = Counter(row.text for row in TABLE)
    assert set(counts) == set(AT_LEAST)
    assert [text for text, least in AT_LEAST.items() if counts[text] < least] == []


def test_all_seven_practice_questions_and_all_three_student_tasks_are_among_them():
    asked = {(row.text, row.says[0]) for row in TABLE if row.section in ("11 practice", "student tasks")}
    assert asked == {*(("note 3.2", n) for n in "1234567"), *(("lesson 05", n) for n in "123")}


ASKS = Cell("my_mask = ... # yours my_mask = 1", True, frozenset(["my_mask"]))
TELLS = Cell("The mask hides.", False, frozenset())
HIDE = Row("definitions", "masks", "task", "hide a key", "02", "my_mask")


@pytest.mark.parametrize(
    ("row", "cells", "said"),
    [
        (HIDE, [TELLS], "has 0"),
        (HIDE, [ASKS, ASKS], "has 2"),
        (HIDE._replace(lab="01"), [ASKS], "has 0"),
        (HIDE._replace(cell=""), [ASKS], "every column must be filled in"),
        (HIDE._replace(kind="rumour"), [ASKS], "the kind must be one of"),
        (HIDE._replace(cell="mask hides"), [TELLS], "nothing to write"),
    ],
)
def test_a_row_without_its_cell_is_complained_about(row, cells, said):
    assert said in complaint(row, {"02": cells})


def test_a_row_with_its_cell_is_not():
    assert complaint(HIDE, {"02": [TELLS, ASKS]}) == ""
    assert complaint(HIDE._replace(kind="warning", cell="mask  hides"), {"02": [TELLS, ASKS]}) == ""


def test_what_is_asked_for_is_read_off_the_students_version():
    assert asked_in(["my_mask = ...", "", "check(my_mask=my_mask)"]) == {"my_mask"}
    assert asked_in(["def mask(n):", "    raise NotImplementedError"]) == {"mask"}
    assert asked_in(["ready = check(mask).passed"]) == frozenset()
