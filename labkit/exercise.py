"""The vocabulary: what an exercise asks, what a mistake is, what an answer was, what came of it."""

import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

STATUSES = ("passed", "failed", "unattempted", "crashed", "timed_out", "missing", "system_error", "guessed")

# What a step makes when a mistake at it doesn't say otherwise.
PRODUCT_OF_STEP = {
    "scores": "raw_scores",
    "scale": "scores",
    "mask": "masked_scores",
    "softmax": "weights",
    "mix": "output",
    "heads": "parts",
    "cross": "projected",
    "hand": "answer",
    "conduct": "answer",
}


@dataclass(frozen=True)
class Case:
    """One input that a function is asked with.

    Attributes
    ----------
    label : str
        What the student reads, such as ``"5 queries, 7 keys, d_k = 3"``.
    args : dict
        The arguments by name, in the order of the signature.
    part : str
        The part of the exercise whose points depend on it.
    extreme : bool
        The numbers are so large that a formula which is right on paper may overflow: an answer
        that isn't finite is then a remark and not a fault.
    remark : str
        When set, a wrong answer costs nothing and leaves this remark.
    """

    label: str
    args: Mapping[str, Any]
    part: str = "values"
    extreme: bool = False
    remark: str = ""
    raises: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back when a student's function was asked: a value, or an error, never both."""

    value: Any = None
    error: str = ""
    error_type: str = ""
    line: str = ""
    shapes: str = ""
    printed: str = ""
    altered: tuple[str, ...] = ()
    unattempted: bool = False
    timed_out: bool = False


@dataclass(frozen=True)
class AnyNumber:
    """A parameter that may have any value in a range: the usual ones are tried, any other is solved for."""

    low: float
    high: float
    usual: tuple[float, ...]

    def __iter__(self):
        return iter(self.usual)


@dataclass(frozen=True, eq=False)
class Way:
    """One way in which a mistake is made.

    Attributes
    ----------
    makes : str
        The quantity that ``function`` gives.
    function : callable
        Its parameters name the quantities that it needs.
    spoils : bool
        The quantity is made as usual and then passed through ``function``.
    skips : tuple of str
        Steps that hand on what they were given.
    options : dict
        The values of the keyword-only parameters.
    unknown : (name, AnyNumber), optional
        A keyword-only parameter whose value has to be solved for.
    """

    makes: str
    function: Callable
    spoils: bool = False
    skips: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, AnyNumber] | None = None


class Mistake:
    """A wrong version of one step: a name, a sentence for the student, and the ways it is made."""

    def __init__(self, id: str, step: str, sentence: str, *, remark=False, frequent=False, coarser=1.0):
        if step not in PRODUCT_OF_STEP:
            steps = ", ".join(PRODUCT_OF_STEP)
            raise ValueError(
                f"mistake: the step of {id} must be one of {steps}; got {step!r}. Choose where it is made."
            )
        self.id, self.step, self.sentence = id, step, sentence
        self.remark, self.frequent, self.coarser = remark, frequent, coarser
        self.ways: list[Way] = []

    def __repr__(self) -> str:
        return f"<mistake {self.id}, step {self.step}, {len(self.ways)} ways>"

    def also(self, function: Callable, makes: str = "", *, spoils: str = "", skips: str = "") -> "Mistake":
        """Record one more way of making the same mistake (the function's own name doesn't matter)."""
        choices = {
            p.name: p.default for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
        }
        way = Way(spoils or makes or PRODUCT_OF_STEP[self.step], function, bool(spoils), tuple(skips.split()))
        for values in itertools.product(*choices.values()):
            self.ways.append(replace(way, options=dict(zip(choices, values, strict=True))))
        for name, choice in choices.items():
            if isinstance(choice, AnyNumber):
                self.ways.append(replace(way, unknown=(name, choice)))
        return self


def mistake(step: str, makes: str = "", *, spoils: str = "", skips: str = "", **kind: Any) -> Callable:
    """Declare a mistake: its id is the function's name, what the student reads is the docstring.

    A keyword-only parameter whose default is a tuple stands for each of those values in turn; one whose
    default is an ``AnyNumber`` stands for every number of its range.
    Of its kind, a ``remark`` is said but costs nothing; a ``frequent`` mistake is named before others that come
    to the same; with ``coarser``, numbers may be off by so many times what rounding allows.
    """

    def record(function: Callable) -> Mistake:
        declared = Mistake(function.__name__, step, " ".join((function.__doc__ or "").split()), **kind)
        return declared.also(function, makes, spoils=spoils, skips=skips)

    return record


@dataclass(frozen=True)
class Exercise:
    """A question whose right answer a chain of steps computes.

    Attributes
    ----------
    name : str
        The function's name, or the keyword of a table.
    labs : tuple of str
        Where it is asked.
    steps : tuple of str
        The quantities of the chain in the order in which they are made (see ``calculation``).
    answer : str
        The quantity that is asked for.
    given : callable
        From a case's arguments (a function) or the student's own numbers (a table) to the
        quantities that the chain starts from.
    points : float
    cases : callable(rng) -> list of Case, optional
        The inputs of a function; a table has none.
    skips : tuple of str
        Steps of the chain that hand on what they were given.
    before : tuple of (quantity, exercise) pairs
        Earlier tables that this one goes on from.
    own : bool
        A table about the student's own numbers.
    exact : bool
        A table of computed numbers, where rounding to two decimals is not allowed for.
    asks_only : dict
        The one part that a lab asks for, by lab, where it doesn't ask for all of the function.
    step : str
        The step that hints are about where no mistake is found; by default the one that makes the answer.
    slips : tuple of (answer, sentence) pairs
        Frequent wrong answers that no step explains, and what the student reads about each.
    no_mistakes : tuple of str
        Ids of what is a mistake elsewhere and right in this special case.
    """

    name: str
    labs: tuple[str, ...]
    steps: tuple[str, ...]
    answer: str
    given: Callable[[Mapping[str, Any]], dict]
    points: float = 1
    cases: Callable[[np.random.Generator], list[Case]] | None = None
    skips: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    own: bool = False
    exact: bool = False
    asks_only: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    slips: tuple[tuple[Any, str], ...] = ()
    no_mistakes: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        return self.cases is None


@dataclass(frozen=True, repr=False)
class Outcome:
    """What came of a check.

    Attributes
    ----------
    status : str
        One of ``STATUSES``.
    points, max_points : float
    mistakes : tuple of str
        Ids, the most likely first; of two that come together, the first in the calculation first.
    remarks : tuple of str
        Ids of what is worth knowing and costs nothing.
    message : str
        Plain text for the student, a paragraph a line.
    hints : tuple of str
        The step to look at, and what to read about it.
    """

    exercise: str
    status: str
    points: float
    max_points: float
    mistakes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    message: str = ""
    hints: tuple[str, ...] = ()
    html: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.status}, {self.points:g} of {self.max_points:g} points\n{self.message}"

    def _repr_html_(self) -> str:
        return self.html
