"""The vocabulary: what an exercise asks, what a mistake is, what an answer was, what came of it."""

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

STATUSES = ("passed", "failed", "unattempted", "crashed", "timed_out", "missing", "system_error", "guessed")

REFUSES = re.compile(r"\b(raise|assert)\b")  # a line that raises an error on purpose

# The steps at which mistakes are made: what each makes when a mistake doesn't say otherwise.
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
    raises : bool
        An error is the right answer, such as for a query without any allowed key.
    """

    label: str
    args: Mapping[str, Any]
    part: str = "values"
    extreme: bool = False
    remark: str = ""
    raises: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back when a student's function was asked: a value, or an error, never both.

    Attributes
    ----------
    value : anything
    error, error_type : str
        What was raised, in its own words; a value came back where ``error_type`` is empty.
    line : str
        The student's own line where it was raised, if there is one.
    shapes : str
        Of the arrays that this line names, such as ``"Q (5, 3), K (7, 3)"``.
    printed : str
        What was printed meanwhile, or the beginning of it.
    altered : tuple of str
        Arguments that were written into.
    unattempted : bool
        There is nothing but a placeholder yet.
    timed_out : bool
        It was stopped before anything came back.
    """

    value: Any = None
    error: str = ""
    error_type: str = ""
    line: str = ""
    shapes: str = ""
    printed: str = ""
    altered: tuple[str, ...] = ()
    unattempted: bool = False
    timed_out: bool = False

    @property
    def unwritten(self) -> str:
        """What is said where it calls another function that isn't written yet; "" if it is a placeholder itself."""
        calls = self.unattempted and self.line and not REFUSES.search(self.line)  # a placeholder says so on purpose
        return self.error if calls else ""


@dataclass(frozen=True)
class AnyNumber:
    """A parameter that may have any value in a range: the ``usual`` ones are tried, any other is solved for."""

    low: float
    high: float
    usual: tuple[float, ...]

    def __iter__(self) -> Iterator[float]:
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
    unknown : dict
        The one keyword-only parameter whose value has to be solved for, and its ``AnyNumber``; empty if there is none.
    """

    makes: str
    function: Callable
    spoils: bool = False
    skips: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, AnyNumber] = field(default_factory=dict)


@dataclass(eq=False)
class Mistake:
    """A wrong version of one step: a name, what the student reads, and the ways it is made.

    Attributes
    ----------
    id, step : str
        The step is one of ``PRODUCT_OF_STEP``.
    sentence : str
        What was seen and one question; names in braces stand for numbers (see ``feedback.fields_of``).
    remark : bool
        It is said but costs nothing.
    frequent : bool
        It is named before others that come to the same.
    in_code : bool
        Nobody makes it on paper.
    look_at : str
        The step that hints are about, where it isn't the one at which the mistake shows.
    coarser : float
        In a table, numbers may be off by so many times what rounding allows.
    ways : list of Way

    Raises
    ------
    ValueError
        For a step that there isn't.
    """

    id: str
    step: str
    sentence: str
    remark: bool = False
    frequent: bool = False
    in_code: bool = False
    look_at: str = ""
    coarser: float = 1.0
    ways: list[Way] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.step not in PRODUCT_OF_STEP:
            raise ValueError(
                f"mistake: the step of {self.id} must be one of {', '.join(PRODUCT_OF_STEP)}; got {self.step!r}. "
                "Choose where it is made."
            )

    def also(self, function: Callable, makes: str = "", *, spoils: str = "", skips: str = "") -> "Mistake":
        """Record one more way of making the same mistake (the function's own name doesn't matter); see ``mistake``."""
        choices = {
            p.name: p.default for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
        }
        way = Way(spoils or makes or PRODUCT_OF_STEP[self.step], function, bool(spoils), tuple(skips.split()))
        for values in itertools.product(*choices.values()):
            self.ways.append(replace(way, options=dict(zip(choices, values, strict=True))))
        for name, choice in choices.items():
            if isinstance(choice, AnyNumber):
                self.ways.append(replace(way, unknown={name: choice}))
        return self


def mistake(
    step: str, makes: str = "", *, spoils: str = "", skips: str = "", **kind: Any
) -> Callable[[Callable], Mistake]:
    """Declare a mistake: its id is the function's name, what the student reads is the docstring.

    A keyword-only parameter whose default is a tuple stands for each of those values in turn; one whose
    default is an ``AnyNumber`` stands for every number of its range.

    Parameters
    ----------
    step : str
        Where in the calculation it is made.
    makes : str, optional
        The quantity that the function gives, where it isn't the step's own.
    spoils : str, optional
        A quantity that is made as usual and then passed through the function, instead of ``makes``.
    skips : str, optional
        Steps that hand on what they were given, separated by spaces.
    **kind
        ``remark``, ``frequent``, ``in_code``, ``look_at``, ``coarser``: see ``Mistake``.
    """

    def record(function: Callable) -> Mistake:
        declared = Mistake(function.__name__, step, " ".join((function.__doc__ or "").split()), **kind)
        return declared.also(function, makes, spoils=spoils, skips=skips)

    return record


@dataclass(frozen=True)
class Exercise:
    """A question whose right answer a chain of quantities computes.

    Attributes
    ----------
    name : str
        The function's name, or the keyword of a table.
    labs : tuple of str
        Where it is asked.
    quantities : tuple of str
        Those of the chain, in the order in which they are made (see ``calculation``).
    answer : str
        The quantity that is asked for.
    given : callable
        From a case's arguments (a function) or the student's own numbers (a table) to the
        quantities that the chain starts from.
    points : float
        For all its parts together.
    cases : callable(rng) -> list of Case, optional
        The inputs of a function; a table has none.
    skips : tuple of str
        Those of the quantities that are what the one before was.
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
    settled : tuple of str
        Those of the quantities that hardly matter in this special case, so that nobody is suspected of getting them
        wrong.
    """

    name: str
    labs: tuple[str, ...]
    quantities: tuple[str, ...]
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
    settled: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        return self.cases is None


@dataclass(frozen=True, repr=False)
class Outcome:
    """What came of a check.

    Attributes
    ----------
    exercise : str
        Its name.
    status : str
        One of ``STATUSES``.
    points, max_points : float
    mistakes : tuple of str
        Ids, the most likely first; of two that come together, the first in the calculation first.
    together : bool
        Whether the first two mistakes come together; else all but the first are other names for it.
    remarks : tuple of str
        Ids of what is worth knowing and costs nothing.
    message : str
        Plain text for the student, a paragraph a line.
    smallest : str
        The last paragraph: the smallest input that shows what is wrong, for those who may see inputs.
    hints : tuple of str
        The step to look at, and what to read about it.
    weights : tuple of rows of float (n_q, n_k)
        The weights behind a wrong answer, for a picture; empty where there is nothing to draw.
    mask : tuple of rows of bool (n_q, n_k)
        True where a query may attend to a key; empty where all may.
    html : str
        The card that a notebook shows.
    """

    exercise: str
    status: str
    points: float
    max_points: float
    mistakes: tuple[str, ...] = ()
    together: bool = False
    remarks: tuple[str, ...] = ()
    message: str = ""
    smallest: str = ""
    hints: tuple[str, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()
    mask: tuple[tuple[bool, ...], ...] = ()
    html: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def paragraphs(self) -> list[str]:
        """What the student reads, with the smallest input last."""
        return [*self.message.split("\n"), *filter(None, [self.smallest])]

    def __repr__(self) -> str:
        words = "\n".join(self.paragraphs)
        return f"{self.exercise}: {self.status}, {self.points:g} of {self.max_points:g} points\n{words}"

    def _repr_html_(self) -> str:
        return self.html
