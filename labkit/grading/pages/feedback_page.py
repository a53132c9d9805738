"""A student's page: what was right, what was seen, the mistake and its question. Never the answer, nor an input."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from ...draw import Panel, panels_svg
from ...exercise import Outcome
from ...exercises import EXERCISES
from ...feedback import picture
from ...mistakes import MISTAKES
from ..records.policy import Row
from .class_numbers import likeliest_mistakes, place
from .page import page

ORDINARY = re.compile(r"[a-z0-9_][a-z0-9._@+-]{0,63}")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # what Windows keeps for devices

# What holds for every right answer, by the step at which the mistake was made.
ASKED = {
    "scores": "Each row of the scores belongs to one query and each column to one key; where they meet stands what "
    "comes of comparing just these two.",
    "scale": "The typical size of a score is the same whatever the width of queries and keys, and the weights still "
    "add to 1 in every row.",
    "mask": "Every row of the weights adds to 1; hidden cells (hatched) hold 0.",
    "softmax": "No weight is below 0, and every row of the weights adds to 1.",
    "mix": "Each row of the output is a mix of the rows of V in the shares of one query: none of its numbers lies "
    "outside the range of V's column.",
    "heads": "Each head sees something of every token; the heads end up side by side, one row for each token, before "
    "the last projection.",
    "cross": "One row of output for each token that asks, and in it one weight for each token that is asked.",
    "hand": "Rows ask, columns are asked; weights lie between 0 and 1, and numbers are rounded to two decimals.",
    "conduct": "The function gives back what is asked for, and leaves what it was given as it was.",
    "allowed": "Row i of a mask is about query i, and column j about key j: True where the one may look at the other.",
}
# What helps, by how the reason begins why a file could not be graded; the last one fits any.
MEND = {
    "The notebook looks like": "Hand in the notebook of the lab that was asked for. If it is meant to be that one, "
    "start from a fresh copy of the lab and bring your cells over: functions and tables are known by their names.",
    "The notebook holds none": "Start from a fresh copy of the lab and bring your cells over: functions and tables are "
    "known by their names, so keep those as they are.",
    "Only .*: of archives only|The file is no notebook: at .* it looks like a packed file": "Hand in the `.ipynb` file "
    "itself, or an ordinary .zip with the notebook in it, and no other archive around it.",
    "Only |The file is no notebook: at .* it looks like": "Hand in the notebook itself, the file whose name ends in "
    "`.ipynb`; what is printed or made from it can't be run. In JupyterLab, choose File, then Download.",
    "The file is damaged at .*: git left": "Open the file in a text editor. Between `<<<<<<<` and `>>>>>>>` stand two "
    "versions: keep one of each, delete the three lines of signs, save it and hand it in again.",
    "The file is too large: ": "Start from a fresh copy of the lab and bring your cells over, and nothing else.",
    "The file is too large": "In JupyterLab, choose Edit, then Clear Outputs of All Cells. Save it, and hand in the "
    "smaller file.",
    "The file (?:is encrypted|is packed|is a symbolic|is no ordinary|has a path)": "Hand in the `.ipynb` file itself, "
    "and neither a link to it nor an archive made in an unusual way.",
    "": "Open the file that you handed in with JupyterLab. If it looks well, save it and hand it in again; it may have "
    "been cut off on its way. If it won't open, start from a fresh copy of the lab and bring your cells over.",
}
MARK = '<meta name="generator" content="labkit feedback">'  # by which our own pages are known
DRAWN = ("mask", "softmax")  # the steps whose property is to be seen in a table of weights


class Wanted(Panel):
    """A table of weights as the property asks for it: nothing in hidden cells, each row adding to 1, all else open."""

    def total(self, query: int) -> str:
        return "1"


def feedback_name(student: str) -> str:
    """A file name for a student's page, safe anywhere and another one for each id, in small letters alone.

    Ordinary ids stay as they are; others are shortened and end in ``~`` and a digest, which no ordinary one does.
    """
    if ORDINARY.fullmatch(student) and not RESERVED.fullmatch(student):
        return f"{student}.html"
    letters = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode().lower()
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"{re.sub(r'[^a-z0-9]+', '-', letters).strip('-')[:40] or 'student'}~{digest}.html"


def is_feedback_page(path: Path) -> bool:
    """Whether a file is a page that was made here, and not one that somebody else has put beside it."""
    with path.open("rb") as file:
        return MARK.encode() in file.read(4096)


def feedback_page(rows: Sequence[Row], *, shared_numbers: bool = False) -> str:
    """One student's page, as a file of its own.

    Parameters
    ----------
    rows : sequence of Row
        What counts for this student, one row for each lab.
    shared_numbers : bool
        Whether the notebook asked for numbers that may be another student's.
    """
    return page(
        "feedback.html",
        rows=rows,
        mark=Markup(MARK),
        shared_numbers=shared_numbers,
        any_box=any(needs_box(one) for row in rows for one in row.graded.outcomes),
        needs_box=needs_box,
        pictures=pictures,
        place=place,
        steps=steps,
        what_helps=what_helps,
        ASKED=ASKED,
    )


def needs_box(one: Outcome) -> bool:
    """Whether there is more to say than that it is right, or that it wasn't begun."""
    if one.status == "unattempted":
        return one.points > 0
    return not one.passed or bool(one.remarks)


def steps(one: Outcome) -> list[str]:
    """The steps at which it went wrong; where a mask is asked for, that is all there is."""
    found = list(dict.fromkeys(MISTAKES[id].step for id in likeliest_mistakes(one) if id in MISTAKES))
    exercise = EXERCISES.get(one.exercise)
    return ["allowed"] if found and exercise and exercise.answer == "allowed" else found


def what_helps(reason: str) -> str:
    """What to do about a file that could not be graded."""
    return next(helps for beginning, helps in MEND.items() if re.match(beginning, reason, re.DOTALL))


def pictures(one: Outcome) -> list[Markup]:
    """The student's weights as SVG, and beside them what is asked of any where it can be drawn."""
    seen = one.mask or tuple((True,) * len(row) for row in one.weights)
    asked = bool(set(steps(one)) & set(DRAWN)) and all(map(any, seen))
    return [Markup(picture(one.weights, one.mask)), *([Markup(wanted(seen))] if asked else [])]


@lru_cache(maxsize=64)
def wanted(seen: tuple[tuple[bool, ...], ...]) -> str:
    """A table with only what the property says of it, by which keys a query may see."""
    cells = [[... if visible else 0 for visible in row] for row in seen]
    return panels_svg([Wanted(cells, seen, title="What is asked of every such table")])
