"""A student's page: what was right, what was seen, the mistake and its question. Never the answer, nor an input."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from html import unescape

from ..draw import Panel, panels_svg
from ..exercise import Outcome
from ..exercises import EXERCISES
from ..mistakes import MISTAKES
from .page import Html, breakable, count, each, join, listed, number, page, put, said
from .statistics import Row, named, place
from .submission import GRADED, SYSTEM_ERROR, UNGRADABLE

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
WORDS = {
    "passed": ("✓", "right"),
    "failed": ("✗", "not right yet"),
    "unattempted": ("○", "still open"),
    "crashed": ("!", "stopped by an error"),
    "timed_out": ("∞", "took too long"),
    "missing": ("–", "not found"),
    "system_error": ("‼", "our fault"),
    "guessed": ("→", "guessed"),
}
WRONG = ("failed", "crashed", "timed_out", "missing")
INSTEAD = {  # of a message, where there is none
    "missing": "There is nothing of this name in the notebook. Was the cell deleted, or is the name spelt otherwise?",
    "unattempted": "Not attempted yet.",
}
OUR_FAULT = (
    "The grader itself failed here. This is not your fault, and it costs you no points. Your instructor is told."
)
# What helps, by how the reason begins why a file could not be graded; the last one fits any.
MEND = {
    "The notebook looks like": "Hand in the notebook of the lab that was asked for. If it is meant to be that one, "
    "start from a fresh copy of the lab and bring your cells over: functions and tables are known by their names.",
    "The notebook holds none": "Start from a fresh copy of the lab and bring your cells over: functions and tables are "
    "known by their names, so keep those as they are.",
    "Only |The file is no notebook: at .* it looks like": "Hand in the notebook itself, the file whose name ends in "
    "`.ipynb`; what is printed or made from it can't be run. In JupyterLab, choose File, then Download.",
    "The file is damaged at .*: git left": "Open the file in a text editor. Between `<<<<<<<` and `>>>>>>>` stand two "
    "versions: keep one of each, delete the three lines of signs, save it and hand it in again.",
    "The file is too large": "In JupyterLab, choose Edit, then Clear Outputs of All Cells. Save it, and hand in the "
    "smaller file.",
    "The file (?:is encrypted|is packed|is a symbolic|is no ordinary|has a path)": "Hand in the `.ipynb` file itself, "
    "and neither a link to it nor an archive made in an unusual way.",
    "": "Open the file that you handed in with JupyterLab. If it looks well, save it and hand it in again; it may have "
    "been cut off on its way. If it won't open, start from a fresh copy of the lab and bring your cells over.",
}
ASK = "If that doesn't help, write to your instructor and name the reason above."
HOW_TO_READ = (
    "Each box below says what was seen and asks a question; its answer leads to what can be mended. Functions were "
    "asked with fresh numbers, so what they gave back here isn't what you saw in your notebook."
)
SHARED = (
    "This notebook asked for numbers that somebody else's notebook asked for, too. Does `student(...)` at its top hold "
    "your own name? If two of you have the same name, tell your instructor."
)
HIDDEN_INPUT = "The smallest input that shows it:"  # fine in a notebook; here it may be an input that is kept back
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


def feedback_page(rows: Sequence[Row], *, shared_numbers: bool = False) -> str:
    """One student's page, as a file of its own.

    Parameters
    ----------
    rows : sequence of Row
        What counts for this student, one row for each lab.
    shared_numbers : bool
        Whether the notebook asked for numbers that concern another student, too.
    """
    note = put('<div class="card"><p>{}</p></div>', said(SHARED)) if shared_numbers else ""
    boxes = any(worth_a_card(one) for row in rows for one in row.graded.outcomes)
    reading = put("<p>{}</p>", HOW_TO_READ) if boxes else ""
    sections = [section(row, f"lab-{n}") for n, row in enumerate(rows, 1)]
    return page(f"Feedback for {rows[0].name or rows[0].student}", join([note, reading, *sections]))


def section(row: Row, id: str) -> Html:
    title = put("<h2>{}</h2>", place(row))
    if row.graded.status != GRADED:
        return join([title, which_attempt(row), not_graded(row), remarks(row)])
    cards = [card(one, f"{id}-{one.exercise}") for one in row.graded.outcomes if worth_a_card(one)]
    return join([title, summary(row), which_attempt(row), overview(row, id), remarks(row), *cards, written(row)])


def not_graded(row: Row) -> Html:
    if row.graded.status == SYSTEM_ERROR:
        return put('<div class="card"><p class="big">No score yet</p><p>{}</p></div>', OUR_FAULT)
    if row.graded.status != UNGRADABLE:
        return put('<div class="card"><p class="big">Nothing to read yet</p><p>{}</p></div>', row.reason)
    told = "So there is no score for it, which is not the same as zero points. What helps:"
    frame = '<div class="card failed"><h3>This file could not be graded</h3><p>{}</p><p>{}</p><ul>{}</ul></div>'
    helps = next(helps for beginning, helps in MEND.items() if re.match(beginning, row.graded.reason, re.DOTALL))
    return put(frame, said(row.reason), told, each("<li>{}</li>", map(said, (helps, ASK))))


def summary(row: Row) -> Html:
    outcomes = row.graded.outcomes
    right, opened = (sum(one.status == status for one in outcomes) for status in ("passed", "unattempted"))
    words = f"{right} of {count(len(outcomes), 'exercise')} right" + f", {opened} still open" * bool(opened) + "."
    words += " Well done!" * (0 < right == len(outcomes))
    return put('<p class="big">{} of {} points</p><p>{}</p>', number(row.points), number(row.max_points), words)


def which_attempt(row: Row) -> Html:
    words = [put("The file: <code>{}</code>.", row.file)] if row.file else []
    words += [f"You handed in {row.attempts} times; this is the attempt that counts."] * (row.attempts > 1)
    words += [f"It came late ({row.late})."] * bool(row.late)
    earned = (row.graded.points or 0) + (row.written or 0)
    if row.points is not None and row.points < earned - 0.005:
        words.append(f"It earned {number(earned)} points, of which {number(row.points)} count.")
    words += [row.reason] * (row.graded.status == GRADED)
    return put('<p class="soft">{}</p>', join(words, " "))


def overview(row: Row, id: str) -> Html:
    head = '<tr><th scope="col">exercise</th><th scope="col">how it went</th><th scope="col" class="n">points</th></tr>'
    body = join(
        put(
            '<tr><th scope="row">{}</th><td class="{}">{} {}</td><td class="n">{}</td></tr>',
            linked(one, f"{id}-{one.exercise}"),
            "good" if one.passed else "bad" if one.status in WRONG else "",
            *WORDS[one.status],
            points(one),
        )
        for one in row.graded.outcomes
    )
    frame = "<table><caption>All exercises of this lab</caption><thead>{}</thead><tbody>{}</tbody></table>"
    return put(frame, Html(head), body)


def linked(one: Outcome, id: str) -> Html:
    name = breakable(one.exercise)
    return put('<a href="#{}">{}</a>', id, name) if worth_a_card(one) else name


def worth_a_card(one: Outcome) -> bool:
    """Whether there is more to say than that it is right, or that it wasn't begun."""
    if one.status == "unattempted":
        return one.points > 0
    return not one.passed or bool(one.remarks)


def points(one: Outcome) -> str:
    return "no points lost" if one.status == "system_error" else f"{number(one.points)} of {number(one.max_points)}"


def card(one: Outcome, id: str) -> Html:
    sign, word = WORDS[one.status]
    head = put('<h3 id="{}">{} {}: {} <small>({})</small></h3>', id, sign, breakable(one.exercise), word, points(one))
    body = [head, each("<p>{}</p>", map(said, lines(one))), beside(theirs(one), steps(one)), hint(one)]
    return put('<section class="card {}">{}</section>', one.status, join(body))


def lines(one: Outcome) -> list[str]:
    """What is said about an answer, without any input that it was asked with."""
    if one.status == "system_error":
        return [OUR_FAULT]
    message = one.message or INSTEAD.get(one.status, "")
    return [line for line in message.split("\n") if not line.startswith(HIDDEN_INPUT)]


def steps(one: Outcome) -> list[str]:
    """The steps at which it went wrong; where a mask is asked for, that is all there is."""
    found = list(dict.fromkeys(MISTAKES[id].step for id in named(one) if id in MISTAKES))
    exercise = EXERCISES.get(one.exercise)
    return ["allowed"] if found and exercise and exercise.answer == "allowed" else found


def theirs(one: Outcome) -> str:
    """The picture in an outcome's card; in its text nothing can look like one, for that is escaped."""
    found = re.search(r"<svg.*</svg>", one.html, re.DOTALL)
    return found[0] if found else ""


def beside(picture: str, steps: Sequence[str]) -> Html:
    """The student's table and what is asked of any, side by side; in words where there is nothing to draw."""
    asked = each(
        "<p><b>What holds for every right answer:</b> {}</p>", (ASKED[step] for step in steps if step in ASKED)
    )
    drawn = [picture, wanted(picture)] if picture and set(steps) & set(DRAWN) else [picture] if picture else []
    figures = each('<figure class="scroll" tabindex="0">{}</figure>', map(Html, filter(None, drawn)))
    return join([put('<div class="sides">{}</div>', figures) if figures else "", asked])


def wanted(picture: str) -> str:
    """A table like the one in a picture, with only what the property says; which cells are hidden is in the words."""
    queries = re.findall(r"Query \d+: ([^;]*);", unescape(picture))
    seen = [[not cell.endswith("(hidden)") for cell in query.split(", ")] for query in queries]
    if not seen or not all(map(any, seen)):
        return ""
    cells = [[... if visible else 0 for visible in row] for row in seen]
    return panels_svg([Wanted(cells, seen, title="What is asked of every such table")])


def hint(one: Outcome) -> Html:
    if one.status in ("passed", "unattempted", "missing", "system_error") or not one.hints:
        return Html()
    return put("<details><summary>A hint</summary>{}</details>", each("<p>{}</p>", one.hints))


def written(row: Row) -> Html:
    frame = '<div class="card"><p><b>{}</b></p><pre class="text">{}</pre><p>{}</p></div>'
    answers = [(one.question.lstrip("# "), one.text or "(no answer)", marked(*how)) for one, *how in row.answers]
    title = "Written answers, which are marked by hand"
    return put("<h3>{}</h3>{}", title, each(frame, answers)) if answers else Html()


def marked(mark, earlier: bool) -> str:
    if mark is None or (mark.points is None and not mark.comment):
        return "Not marked yet."
    points = "" if mark.points is None else f"{number(mark.points)} of {number(mark.max_points)} points."
    return f"{points} {mark.comment} {'(Given for an earlier version of this answer.)' * earlier}".strip()


def remarks(row: Row) -> Html:
    return listed("Remarks on the notebook", map(said, row.graded.remarks))
