"""What is odd about a notebook, in sentences that cost nothing: for the student to mend, for the instructor to see."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from ...exercises import exercises_of
from ..submission import Cell
from ..wording import few
from .reading import definitions

MOST_TEXT = 2_000  # characters of a text cell that are shown
MOST_REMARKS = 10  # of a kind
SHELL = re.compile(r"!.+|[\w, ]+= *!.+|%%(?:bash|sh|script|system|cmd)\b.*|%(?:pip|conda|system|sx)\b.*")
# What no exercise needs, and what those try who want to see or to change what they are graded with.
ODD = re.compile(
    r"^[ \t]*((?:np|numpy)(?:\.\w+)+)[ \t]*=(?!=)"
    r"|\b((?:sys\.(?:_getframe|_current_frames|addaudithook|setprofile|settrace|meta_path|modules)"
    r"|gc\.get_\w+|inspect\.(?:stack|currentframe|getouterframes)|ast\.NodeTransformer"
    r"|os\.(?:_exit|abort|fork|kill|killpg|system|popen|exec\w+)|subprocess|ctypes|socket|__reduce__|__array__)\b)"
    r"|((?:/proc/|/autograder\b|\bresults\.json|\bgradebook\.(?:db|csv))[\w/.]*)",
    re.MULTILINE,
)


def remarks_on(cells: Sequence[Cell], lab: str) -> tuple[str, ...]:
    """All that is to be said of a notebook before it runs."""
    kinds = (not_code(cells, lab), defined_again(cells, lab), for_a_shell(cells), odd(cells))
    return tuple(remark for kind in kinds for remark in first(kind))


def first(remarks: Iterator[str]) -> Iterator[str]:
    """The first of a kind, and how many more there are, so that no kind hides another."""
    yield from islice(remarks, MOST_REMARKS)
    if more := sum(1 for _ in remarks):
        yield f"And {more:,} more of this kind."


def not_code(cells: Sequence[Cell], lab: str) -> Iterator[str]:
    """Text cells that hold an exercise, with what they hold: an instructor may want to mark it by hand."""
    wanted, held = {exercise.name for exercise in exercises_of(lab)}, defaultdict(list)
    for number, cell, name, by_def in definitions(cells):
        if cell.kind != "code" and name in wanted:
            held[number].append(f"`def {name}`" if by_def else f"`{name} =`")
    for number, names in held.items():
        cell = cells[number - 1]
        kind = "Markdown" if cell.kind == "markdown" else "raw text"
        named = ", ".join(dict.fromkeys(names))
        yield f"Cell {number} is {kind} and holds {named}: it didn't run. Was it meant as code?\n{shown(cell.source)}"


def shown(source: str) -> str:
    """A cell's text, cut where it is long."""
    return source if len(source) <= MOST_TEXT else source[:MOST_TEXT] + " […]"


def defined_again(cells: Sequence[Cell], lab: str) -> Iterator[str]:
    """Functions of which there are two. A table is often filled in several steps."""
    functions = {exercise.name for exercise in exercises_of(lab) if not exercise.is_table}
    names = [name for _, cell, name, _ in definitions(cells) if cell.kind == "code" and name in functions]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"{name} is defined {names.count(name)} times; the last that compiles counts."


def for_a_shell(cells: Sequence[Cell]) -> Iterator[str]:
    """Lines that were meant for a shell or an installer."""
    lines = (line.strip()[:200] for cell in cells if cell.kind == "code" for line in cell.source.split("\n"))
    found = list(dict.fromkeys(filter(SHELL.match, lines)))
    if found:
        yield f"Nothing is installed and no shell runs while grading, so this was left out: {named(found)}."


def odd(cells: Sequence[Cell]) -> Iterator[str]:
    """Code cells with what is listed in ``ODD``."""
    code = [cell.source for cell in cells if cell.kind == "code"]
    for number, source in enumerate(code, 1):
        found = list(dict.fromkeys(next(filter(None, hit.groups())) for hit in ODD.finditer(source)))
        if found:
            what = f"Code cell {number} uses {named(found)}"
            yield f"{what}, which no exercise needs, and gained nothing by it. Worth a look."


def named(code: Sequence[str], most: int = 3) -> str:
    """Code or names in backticks, each cut where it is long, and how many more there are."""
    return few([f"`{one[:80]}`" for one in code], most)
