"""The answers in words that a notebook holds. The lab says which questions there are; the student only answers them."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

from ...exercises import EXERCISES
from ...labs import KNOWN_CELLS, TEXT_STUB, WRITTEN, digest
from ..submission import Cell, Written
from ..wording import count, few
from .reading import definitions

MOST_CHARACTERS = 30_000  # of an answer; a spreadsheet's cell holds little more
FIRST = 5  # words of a question by which it is known
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
UNSAID = re.compile(r"^#.*$|<[^<>]*>|\[[^\[\]]*\]\([^()]*\)", re.MULTILINE)
PLAIN = re.compile(r"\w+")


@dataclass(frozen=True)
class Lab:
    """A lab as it is handed out."""

    cells: Mapping[str, str]  # the digest of each by its id
    questions: Mapping[str, str]  # the words of each by the id of the cell for its answer

    @cached_property
    def asking(self) -> dict[str, str]:
        """By the id of each question's own cell, the id of the cell for its answer."""
        return {cell: answer for cell, answer in pairwise(self.cells) if answer in self.questions}


@cache
def known_labs() -> Mapping[str, Lab]:
    """Every lab by its name, as `labkit build` wrote it down."""
    path = Path(__file__).with_name(KNOWN_CELLS.name)
    labs = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Lab({f"cell-{n:03d}": one for n, one in enumerate(lab["cells"].split(), 1)}, lab["questions"])
        for name, lab in labs.items()
    }


def answers_in_words(name: str, cells: Sequence[Cell]) -> tuple[tuple[Written, ...], tuple[str, ...]]:
    """What a student has written to each question of a lab, and a remark on words that may have been meant for one.

    An answer is all that the student wrote between the question and the lab's next cell, and in the cell that the lab
    has for it, wherever that lies now.
    """
    lab = known_labs()[name]
    parts: dict[str, list[str]] = {answer: [] for answer in lab.questions}
    asked, elsewhere = "", []  # the question below which a cell stands; texts that stand below none
    for number, (cell, id) in enumerate(zip(cells, recognised(lab, cells), strict=True), 1):
        if id:
            asked = id if id in parts else lab.asking.get(id, "")
        if id and digest(cell.kind, cell.source) == lab.cells[id]:
            continue
        own = added(lab.questions[asked] if id in lab.asking else TEXT_STUB, cell.source)
        if asked:
            parts[asked].append(own)
        elif is_text(cell) and lab.cells.get(id, "m").startswith("m") and says_something(own):
            elsewhere.append(number)
    texts = {answer: shortened("\n\n".join(filter(None, texts))) for answer, texts in parts.items()}
    written = tuple(Written(readable(lab.questions[answer]), text) for answer, text in texts.items())
    return written, remarks_on_texts(elsewhere, sum(not text for text in texts.values()))


def recognised(lab: Lab, cells: Sequence[Cell]) -> list[str]:
    """Of each cell the id that it has in the lab; empty for the student's own.

    It is known by its words; else by its id, unless the ids are those of another version of the lab; else, if it is
    tagged as an answer, by its place among those.
    """
    same: dict[str, set[str]] = {}
    for id, words in lab.cells.items():
        same.setdefault(words, set()).add(id)
    unchanged = [same.get(digest(cell.kind, cell.source), set()) for cell in cells]
    known = [(cell.id in ids) for cell, ids in zip(cells, unchanged, strict=True) if ids]
    has_ids = 2 * sum(known) >= len(known)
    by_place = places(lab, cells)
    found = []
    for cell, ids, place in zip(cells, unchanged, by_place, strict=True):
        if has_ids and cell.id in (ids or lab.cells):
            found.append(cell.id)
        elif ids and not ids & lab.questions.keys():  # what all answers begin with doesn't say which of them it is
            found.append(min(ids))
        else:
            found.append(place or begun(lab, cell))
    return found


def places(lab: Lab, cells: Sequence[Cell]) -> list[str]:
    """Of each tagged cell which answer it is, where there are as many as the lab has; one that was split is one."""
    tagged = [WRITTEN in cell.tags for cell in cells]
    number, numbers = -1, []
    for before, here in pairwise([False, *tagged]):
        number += here and not before
        numbers.append(number)
    answers = list(lab.questions)
    if number + 1 != len(answers):
        return [""] * len(cells)
    return [answers[n] if here else "" for n, here in zip(numbers, tagged, strict=True)]


def begun(lab: Lab, cell: Cell) -> str:
    """The id of the question that a cell begins like; empty for none."""
    first = cell.source.split(None, FIRST)[:FIRST]
    return next((id for id, answer in lab.asking.items() if lab.questions[answer].split()[:FIRST] == first), "")


def added(ours: str, theirs: str) -> str:
    """What a student put into a text of the lab: all from the first word that is another one to the last such.

    Nothing, where it begins alike and words have only been left out.
    """
    words, kept = re.findall(r"\S+\s*", theirs), ours.split()
    start = len(os.path.commonprefix([kept, [word.strip() for word in words]]))
    is_part = len(words) <= len(kept) and set(PLAIN.findall(theirs)) <= set(PLAIN.findall(ours))
    if is_part and start >= min(FIRST, len(kept)):
        return ""
    words, kept = words[start:], kept[start:]
    end = len(os.path.commonprefix([kept[::-1], [word.strip() for word in reversed(words)]]))
    return "".join(words[: len(words) - end]).strip()


def is_text(cell: Cell) -> bool:
    """Whether a cell is no code, and nothing that was meant as code, of which students are told elsewhere."""
    return cell.kind != "code" and not any(name in EXERCISES for _, _, name, _ in definitions([cell]))


def says_something(text: str) -> bool:
    """Whether a text holds a few words besides headings, links and pictures."""
    return len(UNSAID.sub("", text[:MOST_CHARACTERS]).split(None, 3)) >= 3


def shortened(text: str) -> str:
    """The text, or its beginning with a word about the rest."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n\n[… {len(text) - MOST_CHARACTERS:,} more characters are in the notebook.]"


def remarks_on_texts(cells: Sequence[int], unanswered: int) -> tuple[str, ...]:
    """A remark on the cells that hold a student's words below no question, if there is a question without any."""
    if not (cells and unanswered):
        return ()
    where = f"{'Cell' if len(cells) == 1 else 'Cells'} {few([str(number) for number in cells], 10)}"
    holds = "holds" if len(cells) == 1 else "hold"
    return (
        f"{where} {holds} text that isn't the lab's, below none of its questions; {count(unanswered, 'question')} "
        f"{'has' if unanswered == 1 else 'have'} no answer in words. Was it meant as one?",
    )


@cache
def readable(source: str) -> str:
    """A question of a lab without its heading and Markdown's signs: its last paragraph."""
    *_, asked = HEADING.sub("", source).strip().split("\n\n")
    plain = re.sub(r"\\text\{([^}]*)\}", r"\1", asked)
    return " ".join(re.sub(r"[*$`]|\\[,;!]", "", plain).split())
