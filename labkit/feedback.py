"""Words for students: from a verdict to an outcome with its message, its hints and its HTML.

All that students read is here, but for the mistakes' own sentences (``mistakes``), those about frequent wrong answers
(``exercises``) and the properties that an answer breaks (``properties``).
"""

import html
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from .answer import Fault, number, where
from .calculation import ORDER, SIZES, look_up
from .draw import heatmap_svg
from .exercise import PRODUCT_OF_STEP, Exercise, Mistake, Outcome
from .exercises.guesses import Guess, fits
from .judge import Tried, Verdict
from .mistakes import MISTAKES

WHAT = {
    "projected": "projected queries",
    "parts": "heads",
    "allowed": "mask",
    "raw_scores": "raw scores",
    "scores": "scores",
    "masked_scores": "masked scores",
    "weights": "weights",
    "output": "output",
    "merged": "merged heads",
    "final": "output",
    "fact": "answer",
}

LOOK_AT = {
    "scores": "Look at the step that compares queries with keys and makes the raw scores.",
    "scale": "Look at the step that makes the raw scores moderate, before the softmax.",
    "mask": "Look at the step that keeps hidden keys out, between scores and softmax.",
    "softmax": "Look at the softmax, the step from scores to weights.",
    "mix": "Look at the last step of a head, where the weights meet another matrix.",
    "heads": "Look at how the heads are made, cut apart, laid together and projected.",
    "cross": "Look at which sequence each projection is applied to.",
    "hand": "Look at how the numbers are written down: rounding, order, unit.",
    "conduct": "Look at what the function takes and gives back, not at its numbers.",
}

READ = {
    "scores": "Note 3.2, sections 1 and 3; the definition of the score matrix in the definitions.",
    "scale": "Note 3.2, section 2, on the root of d_k, and the worked example in section 8.",
    "mask": "Note 3.2, sections 3 and 4; the definitions of the attention mask and of the causal mask.",
    "softmax": "Note 3.2, section 4, and the definition of the attention weights.",
    "mix": "Note 3.2, sections 1 and 4, last step; the convex combination in the definition of the weights.",
    "heads": "Note 3.2, section 3, on several heads, and the definition of multi-head attention.",
    "cross": "Note 3.2, section 1, self versus cross; the definition of queries, keys and values.",
    "hand": "Note 3.2, section 8: the worked example shows how many decimals are carried.",
    "conduct": "The text above the exercise says what goes in and what comes out.",
}

# The step to look at when this quantity is wrong and no mistake is recognised.
STEP_OF = {product: step for step, product in PRODUCT_OF_STEP.items()}
STEP_OF |= {"allowed": "mask", "fact": "hand", **dict.fromkeys(("projected", "merged", "final"), "heads")}

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
        message="\n".join(sentences(verdict)),
        smallest=smallest_input(verdict.smallest),
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
        return ["Right on every input that was tried." if verdict.tried else "Right.", *remark_sentences(verdict)]
    if verdict.status == "unattempted":
        return [unattempted(verdict)]
    if verdict.status == "timed_out":
        return ["It was stopped because it took too long. Is there a loop that never ends?"]
    return [*seen(verdict), *named(verdict)]


def guessed(name: str, value: Any, guess: Guess, numbers: Mapping[str, Any]) -> Outcome:
    """What is said to a guess: nothing is at stake, and nothing is told before it was made."""
    right = guess.answer(numbers)
    if value is None or "Ellipsis" in repr(value):
        dots = "No guess yet: write one in place of the dots, and run this cell again."
        return without_verdict(name, "unattempted", 0, dots)
    verdict = ", and so it is" if fits(value, right) else f"; it is {say(right)}"
    return without_verdict(name, "guessed", 0, f"You guessed {say(value)}{verdict}.\n{guess.words}")


def say(value: Any) -> str:
    """A number, a word, or several of them, as one would say it."""
    if isinstance(value, list | tuple | set | np.ndarray):
        return ", ".join(map(say, value)) or "none"
    return number(value) if isinstance(value, int | float | np.number) else str(value)


def unattempted(verdict: Verdict) -> str:
    """What is still to be filled in."""
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
    return [f"With {shown.case.label}, {seen_from_function(verdict.exercise, shown, shown.fault)}"]


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
    elif wrong:
        cells = "; ".join(f"{place_name(p)} is {number(verdict.value[p])}" for p in wrong[:3])
        more = "" if len(wrong) <= 3 else ", and so on"
        said.append(f"{count(len(wrong), 'cell does', 'cells do')} not fit: {cells}{more}.")
    return said


def seen_from_function(exercise: Exercise, shown: Tried, fault: Fault) -> str:
    """What came of the case that is shown, to go on from naming it."""
    if shown.answer.error_type:
        return raised(shown)
    if fault.kind == "numbers":
        return f"your {WHAT[exercise.answer]} {fault.text}"
    if fault.kind in ("type", "nothing"):
        return f"it {fault.text}; an array of shape {shown.right.shape} is asked for."
    if fault.kind == "shape":
        return f"the answer {fault.text}; {shown.right.shape} is asked for."
    if shown.case.raises and shown.value is not None:
        return f"you get {number(shown.value.flat[-1])} and no error."
    return f"you get {fault.text} of your {WHAT[exercise.answer]}."


def raised(shown: Tried) -> str:
    """The error, and the student's line that it came from."""
    answer = shown.answer
    line = f"your line `{answer.line}` raised" if answer.line else "it raised"
    met = f" The shapes there: {answer.shapes}." if answer.shapes else ""
    return f"{line} {answer.error_type}: {answer.error.rstrip('.')}.{met}"


def named(verdict: Verdict) -> list[str]:
    """The sentences of the mistakes that were found, or the property that broke."""
    if verdict.mistakes:
        fields = fields_of(verdict)
        told = [tell(MISTAKES[id], fields) for id in verdict.mistakes]
        if verdict.together:
            return ["Two things come together here.", "First: " + told[0], "Then: " + told[1]]
        return [told[0], *("It may as well be this: " + more for more in told[1:2])]
    return property_or_place(verdict)


def property_or_place(verdict: Verdict) -> list[str]:
    """What else there is to say of an answer that no mistake explains."""
    said = [verdict.broken[0].upper() + verdict.broken[1:].removesuffix(".")] if verdict.broken else []
    return [one if one.endswith("?") else one + "." for one in said] + question_of_rows(verdict.shown)


def smallest_input(args: Mapping[str, Any]) -> str:
    """An input to be worked out by hand, if there is one that is small enough for that."""
    if not args or sum(np.size(value) for value in args.values()) > MOST_BY_HAND:
        return ""
    inputs = ", ".join(f"{name} = {short(value)}" for name, value in args.items())
    return f"The smallest input that shows it: {inputs}. Work it out by hand: where do you part?"


def question_of_rows(shown: Tried | None) -> list[str]:
    """What to ask where the rows of an answer are too few or too many."""
    if shown is None or shown.kind != "shape" or shown.right.ndim != 2 or "Q" not in shown.case.args:
        return []
    rows = None if shown.value is None or shown.value.ndim < 2 else len(shown.value)
    n_q = len(shown.right)
    return [] if rows == n_q else [f"{n_q} queries ask here. How many answers does each of them get?"]


def short(value: Any) -> str:
    """An input as one would type it."""
    if np.ndim(value):
        return f"[{', '.join(short(item) for item in np.asarray(value))}]"
    return number(value)


def tell(mistake: Mistake, fields: Mapping[str, Any]) -> str:
    """A mistake's own words, with the student's numbers; parts whose numbers aren't known are left out."""
    told = []
    for part in re.split(r"(?<=[.?]) ", mistake.sentence):
        with suppress(KeyError):
            told.append(part.format_map(fields))
    return " ".join(told)


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """The numbers that a mistake's sentence may name, from the student's answer and the calculation behind it."""
    known = verdict.calculation
    fields: dict[str, Any] = {}
    for name in (*SIZES, "n_heads"):
        with suppress(KeyError):
            fields[name] = look_up(known, name)
    fields |= weight_fields(known) | answer_fields(verdict)
    return {name: number(value) if isinstance(value, float | np.floating) else value for name, value in fields.items()}


def weight_fields(known: Mapping[str, Any]) -> dict[str, Any]:
    """Row totals, the largest weight, and the largest weight on a hidden key."""
    weights = known.get("weights")
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
        "top": np.nanmax(heads, initial=0.0),
        "bottom": np.nanmin(heads, initial=1.0),
    }
    return fields | leak_fields(heads, known.get("mask"))


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
    if verdict.tried:
        fields["altered"] = ", ".join(dict.fromkeys(name for one in verdict.tried for name in one.answer.altered))
        fields["printed"] = max(len(one.answer.printed) for one in verdict.tried)
    return fields


def remark_sentences(verdict: Verdict) -> list[str]:
    """What is worth knowing about a right answer."""

    def sentence(id: str) -> str:
        case = next((one for one in verdict.tried if id in (one.case.remark, one.excused)), None)
        fields = fields_of(replace(verdict, shown=case))
        return "A remark: " + (REMARKS[id] if id in REMARKS else tell(MISTAKES[id], fields))

    return [sentence(id) for id in verdict.remarks]


def hints(verdict: Verdict) -> tuple[str, str]:
    """The step to look at, and what to read."""
    steps = [MISTAKES[id].step for id in verdict.mistakes]
    step = steps[0] if steps else verdict.exercise.step or STEP_OF[verdict.exercise.answer]
    return LOOK_AT[step], READ[step]


def weights_behind(verdict: Verdict) -> tuple[tuple, tuple]:
    """The table of weights behind a wrong answer, where the mistake was made on the way to it, and its mask."""
    weights, mask = (verdict.calculation.get(name, ()) for name in ("weights", "mask"))
    ways = verdict.suspects[0].ways if verdict.suspects else ()
    on_the_way = any(ORDER[way.makes] <= ORDER["weights"] for way in ways)
    if not on_the_way or np.ndim(weights) != 2 or max(np.shape(weights)) > LARGEST_PICTURE:
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
    paragraphs = "".join(f"<p style='margin:.3em 0'>{code(html.escape(s))}</p>" for s in one.paragraphs)
    return (
        f"<div role='status' style='border-left:4px solid {colour};padding:.4em .8em;margin:.3em 0;"
        "background:var(--jp-layout-color2,rgba(127,127,127,.1));color:var(--jp-ui-font-color1,inherit)'>"
        f"<b>{MARKS.get(one.status, '✗')} {html.escape(one.exercise)}: {one.status.replace('_', ' ')}</b>"
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
