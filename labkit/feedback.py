"""Words for students: from a verdict to an outcome with its message, its hints and its HTML.

All that students read is here, but for the mistakes' own sentences (``mistakes``), those about frequent wrong answers
(``exercises``), about guesses (``exercises.guesses``) and the properties that an answer breaks (``properties``).
"""

import html
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .answer import OTHER_ORDER, Fault, is_turned, number, where
from .calculation import ORDER, QUANTITIES, SIZES, look_up, softmax
from .draw import heatmap_svg
from .exercise import REFUSES, Exercise, Mistake, Outcome
from .exercises.inputs import WITH, WITHOUT
from .judge import Tried, Verdict, gives_an_error_back, parts_that_hold
from .mistakes import MISTAKES
from .table import A_HUNDREDTH, ONE_NUMBER


@dataclass(frozen=True)
class Help:
    """What helps at one step of the calculation.

    Attributes
    ----------
    look_at : str
        The first hint.
    read : str
        The second one: where it is written.
    question : str
        What is asked where no mistake is recognised.
    """

    look_at: str
    read: str
    question: str


HELP = {
    "scores": Help(
        "Look at the step that compares queries with keys and makes the raw scores.",
        "Note 3.2, sections 1 and 3; the definition of the score matrix in the definitions.",
        "Take one query and one key: what comes of comparing just these two?",
    ),
    "scale": Help(
        "Look at the step that makes the raw scores moderate, before the softmax.",
        "Note 3.2, section 2, on the root of d_k, and the worked example in section 8.",
        "Take one raw score: what is it made smaller by, and why by that?",
    ),
    "scores and scale": Help(
        "Look at the step that compares queries with keys, and at the one that makes the raw scores moderate.",
        "Note 3.2, sections 1 to 3, and the worked example in section 8.",
        "Take one query and one key: which number comes of comparing just these two, and what becomes of it next?",
    ),
    "mask": Help(
        "Look at the step that keeps hidden keys out, between scores and softmax.",
        "Note 3.2, sections 3 and 4; the definitions of the attention mask and of the causal mask.",
        "Take one row: which keys may its query use, and what becomes of the others?",
    ),
    "padding": Help(
        "Look at which keys of a sequence are real, and which only fill it up.",
        "The definition of the attention mask, and the text above the exercise.",
        "Take one sequence: where do its real keys stand, and what does its row say of each key?",
    ),
    "softmax": Help(
        "Look at the softmax, the step from scores to weights.",
        "Note 3.2, section 4, and the definition of the attention weights.",
        "Take one row of scores by hand: which powers does it give, and what is each of them divided by?",
    ),
    "block sums": Help(
        "Look at what each power is counted from, and at what is added up.",
        "The text above the exercise, on the three numbers that are kept of a block.",
        "Take one key: from which score is its power counted, and to what does it add?",
    ),
    "mix": Help(
        "Look at the last step of a head, where the weights meet another matrix.",
        "Note 3.2, sections 1 and 4, last step; the convex combination in the definition of the weights.",
        "Take one query: how much of each value does it get?",
    ),
    "heads": Help(
        "Look at how the heads are made, cut apart, laid together and projected.",
        "Note 3.2, section 3, on several heads, and the definition of multi-head attention.",
        "Follow one token, which is a row: what becomes of its numbers, step by step?",
    ),
    "cross": Help(
        "Look at which sequence each projection is applied to.",
        "Note 3.2, section 1, self versus cross; the definition of queries, keys and values.",
        "Follow one query: which sequence does it come from, and which one does it ask?",
    ),
    "hand": Help(
        "Look at how the numbers are written down: rounding, order, unit.",
        "Note 3.2, section 8: the worked example shows how many decimals are carried.",
        "Which numbers of the question did you use, and which one not yet?",
    ),
    "fact": Help(
        "Look at the words of the question: what exactly is asked for, and of what is it made?",
        "The text above the table, in this notebook.",
        "Take one number of your answer: what is it made of, and is that what the question asks for?",
    ),
    "conduct": Help(
        "Look at what the function takes and gives back, not at its numbers.",
        "The text above the exercise says what goes in and what comes out.",
        "What does the function hand over at its end, and what is asked for?",
    ),
}
MISCALLED = re.compile(r"unexpected keyword|positional argument|multiple values for|required keyword")
NAMELESS = ("NameError", "UnboundLocalError")  # nothing has that name where it is needed
LOOK_AT_THE_LINE = "Look at the line that raised the error, and at what meets there."

# Sentences that stand in place of a mistake's own, by its id and the exercise or the quantity that is asked for.
IN_ITS_PLACE = {
    ("slips_in_one_cell", "weights"): "All is well but for one cell, {where}: {entry}. "
    "Its row adds to {its_total}: what should it add to?",
    ("slips_in_one_cell", "scores"): "All is well but for one cell, {where}: {entry}. "
    "Which raw score stands there, and what becomes of it?",
    ("slips_in_one_cell", "masked_scores"): "All is well but for one cell, {where}: {entry}. "
    "May the query of this row use the key of this column?",
    (
        "fills_with_plus_infinity",
        "masked_scores",
    ): "At {where} stands {entry}. Is that the worst of all scores, or the best?",
    ("transposes_the_mask", "padding_mask"): "The table is on its side. "
    "What does one row of this mask stand for, a sequence or a key?",
}

REMARKS = {
    "uses_half_precision": "The numbers came back as float16, which keeps about three digits. Is that enough for you?",
}

MOST_BY_HAND = 30  # numbers
LARGEST_PICTURE = 8  # tokens: more numbers than that nobody reads in a message

# JupyterLab's own colours, which go with its themes, and others for elsewhere.
COLOURS = {"passed": "var(--jp-success-color1,#2e7d32)"}
COLOURS |= dict.fromkeys(("unattempted", "guessed"), "var(--jp-ui-font-color2,#757575)")
WRONG = "var(--jp-error-color1,#c62828)"
MARKS = {"passed": "✓", "unattempted": "○", "guessed": "→"}


@np.errstate(all="ignore")  # a wrong answer may hold infinities and nan
def outcome(verdict: Verdict) -> Outcome:
    """Put a verdict into words."""
    full = verdict.exercise.points * verdict.weight
    weights, mask = weights_behind(verdict)
    plain = Outcome(
        exercise=verdict.exercise.name,
        status=verdict.status,
        points=round(full * verdict.share, 4),
        max_points=full,
        mistakes=verdict.mistakes,
        together=verdict.together,
        remarks=verdict.remarks,
        message=in_singular("\n".join(sentences(verdict))),
        smallest=in_singular(smallest_input(verdict)),
        hints=hints(verdict),
        weights=weights,
        mask=mask,
    )
    return with_html(plain)


def without_verdict(name: str, status: str, full: float, message: str) -> Outcome:
    """An outcome that nothing was judged for, and that earns nothing."""
    return with_html(Outcome(name, status, 0, full, message=message))


def with_html(one: Outcome) -> Outcome:
    return replace(one, html=as_html(one))


def sentences(verdict: Verdict) -> list[str]:
    """The paragraphs of the message."""
    if verdict.status == "passed":
        return [right(verdict), *remark_sentences(verdict)]
    if verdict.status == "unattempted":
        return [unattempted(verdict)]
    if verdict.status == "timed_out":
        came_back = len(verdict.tried) - 1
        if came_back > 0:
            before = f"{came_back} call{'s' * (came_back > 1)} before had come back"
            asked = "Is there a loop that doesn't always end, or does each call take its time?"
            return [f"It was stopped because it took too long; {before}. {asked}"]
        return ["It was stopped because it took too long. Is there a loop that never ends?"]
    return [*seen(verdict), *named(verdict)]


def right(verdict: Verdict) -> str:
    """What is said of an answer that passed."""
    if verdict.first_wrong and verdict.first_wrong == verdict.right_for:
        return f"Right for your {verdict.right_for}, which don't fit yet."
    if verdict.first_wrong:
        return f"Right for your own tables; the first that doesn't fit yet is {verdict.first_wrong}."
    return "Right on every input that was tried." if verdict.tried else "Right."


def in_singular(text: str) -> str:
    """The same with one key, and not with 1 keys."""
    counted = "querie|key|value|head|token|row|column|number|coordinate|time"
    return re.sub(rf"(?<!by )\b1 ({counted})s\b", r"1 \1", text).replace("1 querie ", "1 query ")


def unattempted(verdict: Verdict) -> str:
    """What is still to be filled in."""
    if verdict.said:
        return sentence(verdict.said)
    if not verdict.open_places or verdict.open_places == ((),):
        return "Not attempted yet: replace the placeholder with your own."
    return ("What is filled in fits. " if verdict.value is not None else "") + open_cells(verdict)


def open_cells(verdict: Verdict) -> str:
    """Which cells of a table are still open."""
    places = verdict.open_places
    listed = "; ".join(place_name(place) for place in places[:6]) + ("; …" if len(places) > 6 else "")
    return f"{count(len(places), 'cell is', 'cells are')} still open: {listed}."


def place_name(place: tuple[int, ...]) -> str:
    return where(place).removeprefix("at ")


def count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def seen(verdict: Verdict) -> list[str]:
    """What came back, with a number of the student's own."""
    if verdict.exercise.is_table:
        return seen_in_table(verdict)
    shown = verdict.shown
    if shown is None or shown.fault is None:
        return []
    by_error = shown.kind == "raised" and shown.case.part == WITHOUT
    unmasked = f" {WITHOUT}" if by_error or wrong_part(verdict) == WITHOUT else ""
    return [f"With {shown.case.label}{unmasked}, {seen_from_function(verdict.exercise, shown, shown.fault)}"]


def seen_in_table(verdict: Verdict) -> list[str]:
    """What a table can't be judged for, or which of its cells don't fit."""
    said = [open_cells(verdict)] if verdict.open_places else []
    if verdict.fault:
        return [*said, f"Your table {verdict.fault.text}."]
    if not isinstance(verdict.value, np.ndarray):
        return [f"“{verdict.value}” is not it."]
    wrong = verdict.wrong_places
    if wrong == ((),):
        said.append(f"{number(verdict.value)} is not it.")
    else:
        cells = "; ".join(f"{place_name(p)} is {number(verdict.value[p])}" for p in wrong[:3])
        more = "" if len(wrong) <= 3 else ", and so on"
        said.append(f"{count(len(wrong), 'cell does', 'cells do')} not fit: {cells}{more}.")
    return said


def seen_from_function(exercise: Exercise, shown: Tried, fault: Fault) -> str:
    """What came of the case that is shown, to go on from naming it."""
    if shown.answer.error_type:
        return raised(shown)
    if fault.kind == "numbers":
        return f"your {QUANTITIES[exercise.answer].words} {fault.text}"
    if gives_an_error_back(shown):
        return "an error is asked for: it gave the error back instead of raising it."
    if shown.case.raises and fault.kind in ("type", "nothing"):
        return f"it {fault.text}; for that row an error is asked for."
    if fault.kind in ("type", "nothing"):
        return f"it {fault.text}; an array of shape {shown.right.shape} is asked for."
    if fault.kind == "shape":
        return f"the answer {fault.text}; {shown.right.shape} is asked for."
    if shown.case.raises and shown.value is not None:
        return f"you get {number(shown.value.flat[-1])} and no error."
    return f"you get {fault.text} of your {QUANTITIES[exercise.answer].words}."


def raised(shown: Tried) -> str:
    """The error, and the student's line that it came from."""
    answer = shown.answer
    line = f"your line `{answer.line}` raised" if answer.line else "it raised"
    met = f" The shapes there: {answer.shapes}." if answer.shapes else ""
    return f"{line} {answer.error_type}: {answer.error.rstrip('. ')}.{met}"


def named(verdict: Verdict) -> list[str]:
    """The sentences of the mistakes that were found, or the property that broke."""
    if verdict.mistakes:
        fields = fields_of(verdict)
        told = [tell(words(MISTAKES[id], verdict, fields), fields) for id in verdict.mistakes]
        if verdict.together:
            return ["Two things come together here.", "First: " + told[0], "Then: " + told[1]]
        others = (more for more in told[1:2] if last_sentence(more) != last_sentence(told[0]))
        return [told[0], *("It may as well be this: " + more for more in others)]
    return property_or_place(verdict)


def last_sentence(text: str) -> str:
    """The question in a mistake's words."""
    return text.rpartition(". ")[2]


def property_or_place(verdict: Verdict) -> list[str]:
    """What else there is to say of an answer that no mistake explains, and what to do next."""
    said = sentence(verdict.said)
    if verdict.exercise.is_table and not isinstance(verdict.value, np.ndarray):  # what to write has been said
        return [said] if said else []
    if said.endswith("?") or ". " in said:  # it asks, or says what to do
        return [said]
    return [text for text in (said, question(verdict)) if text]


def sentence(said: str) -> str:
    return said and said[0].upper() + with_stop(said[1:])


def with_stop(said: str) -> str:
    return said.removesuffix(".") + ("" if said.endswith("?") else ".")


def question(verdict: Verdict) -> str:
    """What is asked where no mistake is recognised."""
    shown = verdict.shown
    if verdict.fault is not None:
        is_table = ONE_NUMBER not in verdict.fault.text
        return "What does each row of this table stand for, and what each column?" if is_table else ""
    if shown is not None and shown.case.raises and shown.answer.error_type:
        return "An error is asked for here, but is this one raised because the row is empty?"
    if shown is not None and shown.answer.error_type in NAMELESS:
        return "Is it spelt as where it was defined, and has that cell been run since the kernel started?"
    if shown is not None and MISCALLED.search(shown.answer.error):
        return "Which arguments does that function take, in which order and under which names?"
    if shown is not None and "is ambiguous" in shown.answer.error:
        return "How many answers does that comparison give, and how many can an `if` use?"
    if shown is not None and shown.answer.error_type == "AttributeError":
        return "What stands in front of that point, and what can a thing of its kind do?"
    if shown is not None and refuses_a_good_mask(verdict, shown):
        return "In this mask every query has a key that it may use. Which masks is that line meant to refuse?"
    if shown is not None and shown.kind == "raised" and shown.answer.line:
        return "What stands in that line when it fails, and of which shape or type is it?"
    if shown is not None and shown.kind == "raised":
        return "What is the function given, in which order, and what does it take?"
    if shown is not None and shown.kind == "shape" and shown.value is not None and is_turned(shown.value, shown.right):
        return OTHER_ORDER
    if shown is not None and shown.kind == "shape" and shown.right.ndim == 2 and "Q" in shown.case.args:
        n_q = len(shown.right)
        if shown.value is None or shown.value.ndim < 2 or len(shown.value) != n_q:
            return f"{count(n_q, 'query asks', 'queries ask')} here. How many answers does each of them get?"
    if shown is not None and shown.kind == "shape":
        return "Which axis is too long, too short or missing, and what does it count?"
    if verdict.exercise.answer == "fact":
        return HELP["fact"].question
    if wrong_part(verdict) == WITHOUT:
        return "With a mask all is right. What becomes of the mask in your function when none is given?"
    return HELP[step_of(verdict)].question


def refuses_a_good_mask(verdict: Verdict, shown: Tried) -> bool:
    """Whether a line raises an error on purpose for a mask that has none of the rows that an error is asked for."""
    if "mask" not in shown.case.args or not REFUSES.search(shown.answer.line):
        return False
    return any(one.case.raises for one in verdict.tried) and bool(shown.case.args["mask"].any(axis=-1).all())


def wrong_part(verdict: Verdict) -> str:
    """The one part that doesn't hold, where another does; else ""."""
    parts = parts_that_hold(verdict.tried)
    wrong = [part for part, holds in parts.items() if not holds]
    return wrong[0] if len(wrong) == 1 and len(parts) > 1 else ""


def smallest_input(verdict: Verdict) -> str:
    """An input to be worked out by hand, if there is one that is small enough for that, and what is seen there."""
    args, shown = verdict.smallest, verdict.shown
    if shown is None or not args or sum(np.size(value) for value in args.values()) > MOST_BY_HAND:
        return ""
    inputs = ", ".join(f"{name} = {short(value)}" for name, value in args.items())
    if args is shown.case.args:
        return f"The input: {inputs}. Work it out by hand and compare."
    there = f" There, {with_stop(verdict.said_there)}" if verdict.said_there else ""
    return f"The smallest input that shows it: {inputs}.{there} Work it out by hand and compare."


def short(value: Any) -> str:
    """An input as one would type it."""
    if np.ndim(value):
        return f"[{', '.join(short(item) for item in np.asarray(value))}]"
    return number(value)


def words(mistake: Mistake, verdict: Verdict, fields: Mapping[str, Any]) -> str:
    """A mistake's own sentence, or the one that stands in its place for this exercise or quantity."""
    for kind in (verdict.exercise.name, verdict.exercise.answer):
        other = IN_ITS_PLACE.get((mistake.id, kind), "")
        if other and ("its_total" in fields or "{its_total}" not in other):
            return other
    return mistake.sentence


def tell(sentence: str, fields: Mapping[str, Any]) -> str:
    """A sentence with the student's numbers; parts whose numbers aren't known are left out."""
    told = []
    for part in re.split(r"(?<=[.?]) ", sentence):
        with suppress(KeyError):
            told.append(part.format_map(fields))
    return " ".join(told)


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """The numbers that a mistake's sentence may name, from the student's answer and the calculation behind it."""
    known = verdict.calculation
    if verdict.exercise.is_table and verdict.exercise.answer == "weights":
        known = {**known, "weights": verdict.value}  # as they stand there, in two decimals
    fields = weight_fields(known)
    for name in (*SIZES, "n_heads"):  # rather than those of a table that may be on its side
        with suppress(KeyError):
            fields[name] = look_up(known, name)
    fields |= answer_fields(verdict)
    return {name: number(value) if isinstance(value, float | np.floating) else value for name, value in fields.items()}


def weight_fields(known: Mapping[str, Any]) -> dict[str, Any]:
    """Row totals, the largest weight, and the largest weight on a hidden key."""
    weights = known.get("weights")
    if weights is None and "masked_scores" in known:
        weights = softmax(known["masked_scores"])  # what they would come to
    if weights is None or np.ndim(weights) == 0:
        return {}
    heads = np.array(weights, dtype=float, ndmin=3)
    heads = heads.reshape(-1, *heads.shape[-2:])
    totals = np.nan_to_num(heads.sum(axis=-1).ravel(), nan=1.0)
    row = int(np.argmax(np.abs(totals - 1)))
    fields = {
        "n_q": heads.shape[-2],
        "n_k": heads.shape[-1],
        "row": row % heads.shape[-2] + 1,
        "row_total": totals[row],
        "column": 1,
        "first_column_total": heads[0, :, 0].sum(),
        "top": np.nanmax(heads[:, rows_with_a_choice(known.get("mask"), heads)], initial=0.0),
        "bottom": np.nanmin(heads, initial=1.0),
    }
    return fields | leak_fields(heads, known.get("mask"))


def rows_with_a_choice(mask: Any, heads: np.ndarray) -> np.ndarray:
    """Which queries may use more than one key, bool (n_q,); all if none may, or the mask is of another shape."""
    everybody = np.ones(heads.shape[-2], dtype=bool)
    some = np.sum(mask, axis=-1) > 1 if mask is not None and np.shape(mask) == heads.shape[1:] else everybody
    return some if np.any(some) else everybody


def leak_fields(heads: np.ndarray, mask: Any) -> dict[str, Any]:
    """The largest weight on a hidden key; ``heads`` are weights (n_heads, n_q, n_k)."""
    if mask is None or np.shape(mask) != heads.shape[1:]:
        return {}
    leaks = np.where(mask, 0.0, np.nan_to_num(np.abs(heads)))
    _, query, key = np.unravel_index(np.argmax(leaks), leaks.shape)
    return {"leak": leaks.max(), "leak_query": int(query) + 1, "leak_key": int(key) + 1} if leaks.any() else {}


def answer_fields(verdict: Verdict) -> dict[str, Any]:
    """A number of the student's own and its place."""
    value, places, shown = verdict.value, verdict.wrong_places, verdict.shown
    if shown is not None:
        value, places = shown.value, (shown.fault.place,) if shown.fault else ()
    fields: dict[str, Any] = {}
    if isinstance(value, np.ndarray):
        bad = np.argwhere(~np.isfinite(value))
        if len(bad) and value.ndim >= 2:
            fields["bad_row"] = int(bad[0][-2]) + 1
        if len(places) and value.ndim == len(places[0]):
            fields |= {"entry": number(value[places[0]]), "where": place_name(places[0])}
            total = float(value[places[0][:-1]].sum())
            fields |= {"its_total": total} if abs(total - 1) > A_HUNDREDTH else {}
    if verdict.tried:
        fields["altered"] = ", ".join(dict.fromkeys(name for one in verdict.tried for name in one.answer.altered))
        fields["printed"] = max(len(one.answer.printed) for one in verdict.tried)
    return fields


def remark_sentences(verdict: Verdict) -> list[str]:
    """What is worth knowing about a right answer."""

    def sentence(id: str) -> str:
        case = next((one for one in verdict.tried if id in (one.case.remark, one.excused)), None)
        fields = fields_of(replace(verdict, shown=case))
        return "A remark: " + (REMARKS[id] if id in REMARKS else tell(MISTAKES[id].sentence, fields))

    answered = "shifts_by_the_overall_maximum" if "overflows_on_large_scores" in verdict.remarks else ""
    return [sentence(id) for id in verdict.remarks if id != answered]  # one would answer the other's question


def hints(verdict: Verdict) -> tuple[str, ...]:
    """The step to look at, and what to read; none where the message has said all there is.

    A right answer has one only if a table before it doesn't fit yet.
    """
    if verdict.status == "passed":
        return (f"Look at {verdict.first_wrong}, the first that doesn't fit yet.",) if verdict.first_wrong else ()
    if verdict.status == "unattempted" and verdict.said:
        return ()
    helps = HELP[step_of(verdict)]
    raised = not verdict.mistakes and verdict.shown is not None and verdict.shown.answer.line
    return LOOK_AT_THE_LINE if raised else helps.look_at, helps.read


def step_of(verdict: Verdict) -> str:
    """The step to look at."""
    if verdict.mistakes and verdict.mistakes[0] != "slips_in_one_cell":  # that one is made at any step
        mistake = MISTAKES[verdict.mistakes[0]]
        return mistake.look_at or mistake.step
    if verdict.shown is not None and verdict.shown.kind in ("raised", "type", "nothing"):
        return "conduct"
    if wrong_part(verdict) in (WITH, WITHOUT):
        return "mask"
    return verdict.exercise.step or QUANTITIES[verdict.exercise.answer].step


def weights_behind(verdict: Verdict) -> tuple[tuple, tuple]:
    """The table of weights behind a wrong answer, where the mistake was made on the way to it, and its mask."""
    weights, mask = (verdict.calculation.get(name, ()) for name in ("weights", "mask"))
    if verdict.exercise.is_table and verdict.exercise.answer == "weights":
        weights = verdict.value  # as they stand there
    ways = verdict.suspects[0].ways if verdict.suspects else ()
    on_the_way = any(ORDER[way.makes] <= ORDER["weights"] for way in ways)
    if not on_the_way or np.ndim(weights) != 2 or max(np.shape(weights)) > LARGEST_PICTURE:
        return (), ()
    if verdict.exercise.is_table and not np.isfinite(np.asarray(weights, dtype=float)).all():
        return (), ()
    return as_rows(weights, float), as_rows(mask, bool) if np.shape(mask) == np.shape(weights) else ()


def as_rows(table: Any, kind: type) -> tuple:
    """A table (n, m) as a tuple of tuples of Python's own numbers."""
    return tuple(map(tuple, np.asarray(table, dtype=kind).tolist()))


@lru_cache(maxsize=256)  # in a class, many make the same mistake with the same numbers
def picture(weights: tuple[tuple[float, ...], ...], mask: tuple[tuple[bool, ...], ...]) -> str:
    """The weights behind an answer and their mask, as an outcome has them, drawn as SVG text."""
    return heatmap_svg(weights, mask or None, title="The weights behind your answer") if weights else ""


def as_html(one: Outcome) -> str:
    """A card that reads well in light and dark themes; colour is never the only sign."""
    colour = COLOURS.get(one.status, WRONG)
    points = f"{number(one.points)} of {number(one.max_points)} points" if one.max_points else "no points at stake"
    status = "unfinished" if one.status == "unattempted" and one.points else one.status.replace("_", " ")
    paragraphs = "".join(f"<p style='margin:.3em 0'>{code(html.escape(s))}</p>" for s in one.paragraphs)
    return (
        f"<div role='status' style='border-left:4px solid {colour};padding:.4em .8em;margin:.3em 0;"
        "background:var(--jp-layout-color2,rgba(127,127,127,.1));color:var(--jp-ui-font-color1,inherit)'>"
        f"<b>{MARKS.get(one.status, '✗')} {html.escape(one.exercise)}: {status}</b>"
        f"<span style='opacity:.8'> · {points}</span>"
        f"{paragraphs}{picture(one.weights, one.mask)}</div>"
    )


def code(escaped: str) -> str:
    """Text between backticks as HTML code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped)


def as_table(name: str, table: np.ndarray) -> str:
    """A small HTML table with its name, rows and columns counted from 1."""
    head = "".join(f"<th scope='col'>{j + 1}</th>" for j in range(table.shape[1]))
    rows = "".join(
        f"<tr><th scope='row'>{i + 1}</th>{''.join(f'<td>{number(x)}</td>' for x in row)}</tr>"
        for i, row in enumerate(table)
    )
    return f"<table><caption>{html.escape(name)}</caption><tr><th></th>{head}</tr>{rows}</table>"


def progress_table(outcomes: list[Outcome]) -> tuple[str, str]:
    """Points by exercise, as text and as HTML."""
    rows = [(o.exercise, o.status.replace("_", " "), f"{number(o.points)} of {number(o.max_points)}") for o in outcomes]
    total = f"{number(sum(o.points for o in outcomes))} of {number(sum(o.max_points for o in outcomes))}"
    rows.append(("in all", "", total))
    text = "\n".join(f"{name:28}{status:14}{points}" for name, status, points in rows)
    left = "<td style='text-align:left'>"
    cells = "".join(f"<tr>{left}{name}</td>{left}{status}</td><td>{points}</td></tr>" for name, status, points in rows)
    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("exercise", "status", "points"))
    return text, f"<table><tr>{head}</tr>{cells}</table>"
