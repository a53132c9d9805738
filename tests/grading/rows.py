"""Rows as the policy gives them, with what the real checks say of real functions."""

from dataclasses import dataclass, replace
from functools import cache, partial
from html.parser import HTMLParser

import numpy as np
from wrong_answers import soft

from labkit.asking import ask
from labkit.exercise import Outcome
from labkit.exercises import EXERCISES
from labkit.feedback import outcome
from labkit.grading.submission import GRADED, SYSTEM_ERROR, UNGRADABLE, Graded
from labkit.judge import judge_function

HOSTILE = "<script>alert(1)</script>\"'<img src=x onerror=alert(2)>&amp;\x00\ud800\u202e`"


@dataclass(frozen=True)
class Row:
    student: str = "ada"
    graded: Graded = Graded(GRADED)
    name: str = ""
    batch: str = ""
    lab: str = "02_causal_mask"
    file: str = "ada/lab.ipynb"
    late: str = ""
    attempts: int = 1
    points: float | None = None
    max_points: float = 0
    written: float | None = None
    reason: str = ""
    answers: tuple = ()


def row(student="ada", *outcomes, remarks=(), numbers_of=(), **more):
    """A graded row; its points are those of the outcomes."""
    graded = Graded(GRADED, outcomes=outcomes, remarks=remarks, numbers_of=numbers_of, isolation="basic")
    return Row(student, graded, **{"points": graded.points, "max_points": graded.max_points, **more})


def ungraded(student, status, reason, **more):
    return Row(student, Graded(status, reason), reason=reason, **more)


def got(points, exercise="attention", of=4, status="failed", **more):
    """A made-up outcome, for numbers worked out by hand."""
    return Outcome(exercise, "passed" if points == of else status, points, of, **more)


def with_scores(fill, divide=True):
    """Attention with some number for hidden scores."""

    def attention(Q, K, V, mask=None):
        s = Q @ K.T / (np.sqrt(K.shape[1]) if divide else 1)
        return soft(s if mask is None else np.where(mask, s, fill)) @ V

    return attention


def crash(Q, K, V, mask=None):
    raise RuntimeError(HOSTILE)


def stub(Q, K, V, mask=None):
    raise NotImplementedError


FUNCTIONS = {
    "zero": with_scores(0),
    "unscaled and zero": with_scores(0, divide=False),
    "squared": lambda *args: with_scores(-np.inf)(*args) ** 2,
    "crash": crash,
    "stub": stub,
}


@cache
def judged(name):
    """What the check of `attention` says of one of these functions."""
    return outcome(judge_function(EXERCISES["attention"], partial(ask, FUNCTIONS[name])))


def everything():
    """A class in which all happens that pages must show, hostile texts included."""
    passed = got(2, "causal_mask", 2)
    rows = [
        row(f"s{n}", judged(name), passed if n % 2 else got(1, "causal_mask", 2, mistakes=("leaks_one_step",)))
        for n, name in enumerate(FUNCTIONS)
    ]
    lost = "Code cell 4 did not run: SyntaxError: invalid syntax. Line 2:\n    def softmax(scores:\n               ^"
    bad = row("bad", judged("zero"), name=HOSTILE, file=HOSTILE, remarks=(HOSTILE, lost), numbers_of=("s1", HOSTILE))
    other = row("s1", judged("zero"), lab="01_one_head", numbers_of=("s1",), late="2 days", attempts=3)
    return [
        *rows,
        replace(bad, late=HOSTILE, reason=HOSTILE),
        other,
        ungraded("u1", UNGRADABLE, f"It isn't JSON: {HOSTILE}", file=HOSTILE),
        ungraded("u2", SYSTEM_ERROR, f"The grader itself failed ({HOSTILE})."),
        ungraded("u3", "missing", "Nothing was handed in.", file="", attempts=0),
    ]


class Tags(HTMLParser):
    """All tags of a page with their attributes, and its texts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.texts.append("" if tag in ("a", "b", "code", "wbr") else " ")

    def handle_data(self, data):
        self.texts.append(data)

    def of(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]

    @property
    def text(self):
        return " ".join("".join(self.texts).split())
