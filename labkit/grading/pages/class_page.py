"""The instructor's page: what to see to, what the class misunderstands, how hard each exercise was, who did what."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean, median
from types import MappingProxyType
from typing import Any

from ...feedback import REMARKS
from ...mistakes import MISTAKES
from ..records.policy import MISSING, Row
from ..submission import SYSTEM_ERROR
from .class_numbers import (
    FEWEST,
    ExerciseNumbers,
    by_exercise,
    exercise_numbers,
    histogram,
    mistakes_seen,
    pairs_of_steps,
    place,
    shared_numbers,
)
from .page import WORDS, page, spaced

MOST_REMARKS = 30  # of a lab that are listed
# How telling a correlation is, from which value on.
TELLING = ((0.4, "well"), (0.2, "somewhat"), (-0.1, "hardly"), (-1.0, "the wrong way round"))


def class_page(
    rows: Iterable[Row],
    *,
    unknown: Collection[str] = (),
    notes: Sequence[str] = (),
    links: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page about a class, as a file of its own.

    Parameters
    ----------
    rows : iterable of Row
        What counts, a row for each student and lab, in any order; whoever handed in nothing may have one, too.
    unknown : collection of str
        The ids of those who handed in and are not on the roster.
    notes : sequence of str
        What there is to say about files that belong to no submission.
    links : dict
        The address of a student's page, from where this one lies, by student; not all need have one.
    """
    rows = sorted(rows, key=lambda row: (place(row), as_in_a_list(row.name or row.student), row.student, row.file))
    by_status = defaultdict(list)
    for row in rows:
        by_status[row.graded.status].append(row)
    labs = [numbers_of_lab(where, list(of_lab)) for where, of_lab in groupby(rows, place)]
    return page(
        "class.html",
        rows=rows,
        labs=[one for one in labs if one["points"]],
        by_status=by_status,
        handed_in={row.student for row in rows if row.graded.status != MISSING},
        untouched=sum(map(is_untouched, rows)),
        late=[row for row in rows if row.late],
        unknown={row.student: row for row in rows if row.student in unknown},
        notes=notes,
        links=links,
        failures=failures(rows),
        shared=shared_numbers(rows),
        isolation=Counter(row.graded.isolation for row in rows if row.graded.isolation),
        by_exercise=by_exercise,
        general=general,
        how_telling=how_telling,
        is_untouched=is_untouched,
        place=place,
        seen_once=seen_once,
        MISTAKES=MISTAKES,
    )


def as_in_a_list(name: str) -> str:
    """A name as it is sorted: without capitals and marks on letters, so that Çelik stands before Dupont."""
    return "".join(one for one in unicodedata.normalize("NFKD", name).casefold() if not unicodedata.combining(one))


def failures(rows: Iterable[Row]) -> list[tuple[Row, str, str]]:
    """Where the grader itself failed: whose work, at which exercise ("" for all of the file), and how."""
    files = [(row, "", row.graded.reason) for row in rows if row.graded.status == SYSTEM_ERROR]
    outcomes = ((row, one) for row in rows for one in row.graded.outcomes)
    return files + [(row, one.exercise, one.message) for row, one in outcomes if one.status == SYSTEM_ERROR]


def numbers_of_lab(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    """What the section of a lab shows; without points it has none."""
    seen, exercises = mistakes_seen(rows), exercise_numbers(rows)
    points = [row.points for row in rows if row.points is not None]
    return {
        "name": name,
        "rows": rows,
        "points": points,
        "max_points": max(row.max_points for row in rows),
        "mean": fmean(points or [0]),
        "median": median(points or [0]),
        "tenths": histogram(row.points / row.max_points for row in rows if row.points is not None and row.max_points),
        "mistakes": seen,
        "pairs": pairs_of_steps(seen),
        "exercises": exercises,
        "signs": [words for status, words in WORDS.items() if any(status in one.statuses for one in exercises)],
        "remarks": remarks(rows),
    }


def general(id: str) -> str:
    """A mistake's sentence without any student's numbers."""
    sentence = re.sub(r"\{\w+\}", "…", MISTAKES[id].sentence if id in MISTAKES else REMARKS.get(id, ""))
    return re.sub(r" \([^()]*…[^()]*\)", "", sentence).replace("….", "…")


def seen_once(message: str) -> str:
    """What was seen, without the question."""
    sentences = re.split(r"(?<=[.?]) ", " ".join(message.split("\n")[:2]))
    return " ".join(sentence for sentence in sentences if not sentence.endswith("?"))


def how_telling(one: ExerciseNumbers) -> str:
    if one.telling is not None:
        return next(word for least, word in TELLING if one.telling >= least or least == -1)
    return f"fewer than {FEWEST} students" if sum(one.statuses.values()) < FEWEST else "all alike: nothing to compare"


def is_untouched(row: Row) -> bool:
    """Whether no exercise was begun; points it has all the same: none."""
    outcomes = row.graded.outcomes
    return bool(outcomes) and all(one.status == "unattempted" and not one.points for one in outcomes)


def remarks(rows: Iterable[Row]) -> list[str]:
    """What was remarked on, by how many notebooks it was said of."""
    notebooks: Counter[str] = Counter()
    for row in rows:
        ids = {id for one in row.graded.outcomes for id in one.remarks}
        notebooks.update(f"{spaced(id)}: {general(id)}" for id in ids)
        notebooks.update({kind(remark) for remark in row.graded.remarks})
    lines = [f"{text} ({n})" for text, n in sorted(notebooks.items(), key=lambda one: (-one[1], one[0]))]
    others = [f"and {len(lines) - MOST_REMARKS} others"] if len(lines) > MOST_REMARKS else []
    return lines[:MOST_REMARKS] + others


def kind(remark: str) -> str:
    """A remark without what is one student's: the line that it shows, numbers, code, and an error's own words."""
    text = re.sub(r" Line \d+:$", "", remark.split("\n")[0])
    text = re.sub(r"(did not run to its end: \w+): .*", r"\1.", text)
    text = re.sub(r"`[^`]*`(?:, `[^`]*`)*(?: and \d+ more)?", "…", text)
    return re.sub(r"(?<![\w(-])\d[\d,]*(?: \d+,?)*(?: …)?", "…", text)
