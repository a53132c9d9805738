"""Find the answers in words that a notebook holds, and the question that each of them answers."""

import re
from collections.abc import Iterator, Sequence

from .submission import Cell, Written

TAG = "written"
OPEN = ("", "*Your answer here.*")
MOST_CHARACTERS = 400
# How the labs begin a question: a heading over it, or "**A question.**" or "**B.**" before it.
ASKS = re.compile(r"^(?:#+ .*\bquestions?\b|\*\*(?:A question|[A-Z])\.\*\*)", re.IGNORECASE | re.MULTILINE)
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)


def written(cells: Sequence[Cell]) -> Iterator[Written]:
    """The answers to be marked by hand; an answer that was split into several cells is one again.

    They are known by their tag. Where every tag was lost on the way, as some editors do it, they are what stands
    right below a question.
    """
    tagged = [TAG in cell.tags for cell in cells] if any(TAG in cell.tags for cell in cells) else below_questions(cells)
    asked, parts = "", []
    for cell, is_answer in [*zip(cells, tagged, strict=True), (Cell("markdown", ""), False)]:
        if is_answer:
            parts.append(cell.source.strip())
            continue
        if parts:
            yield Written(readable(asked), "\n\n".join(part for part in parts if part not in OPEN))
        asked, parts = cell.source, []


def below_questions(cells: Sequence[Cell]) -> list[bool]:
    """Of each cell whether it is a text, but no question, right below a question."""
    texts = [cell.source if cell.kind == "markdown" else None for cell in cells]
    asks = [text is not None and bool(ASKS.search(text)) for text in texts]
    return [
        before and not here and text is not None
        for before, here, text in zip([False, *asks], asks, texts, strict=False)
    ]


def readable(source: str) -> str:
    """A question without its heading and Markdown's signs: its last paragraph, or as many sentences as are read."""
    *_, asked = HEADING.sub("", source).strip().split("\n\n")
    plain = re.sub(r"\\text\{([^}]*)\}", r"\1", asked)
    sentences = re.split(r"(?<=[.?!]) ", " ".join(re.sub(r"[*$`]|\\[,;!]", "", plain).split()))
    while len(sentences) > 1 and len(" ".join(sentences)) > MOST_CHARACTERS:
        del sentences[0]
    return " ".join(sentences)[:MOST_CHARACTERS]
