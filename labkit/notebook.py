"""What students call in a notebook: check, hint, progress, student, fresh_numbers.

A check goes this way: the exercise is found by name, the function is asked (``asking``) or the table is kept, the
answers are judged (``judge``, ``table``), the verdict is put into words (``feedback``), and the outcome is recorded.
"""

import difflib
import html
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .asking import ask
from .exercise import Exercise, Outcome
from .exercises import EXERCISES, draw_numbers
from .exercises.guesses import GUESSES
from .feedback import as_table, guessed, outcome, progress_table, without_verdict
from .judge import Verdict, judge_function, parts_of
from .table import judge_table

READY_MADE = ("labkit", "torch", "tensorflow", "jax", "scipy")


@dataclass(frozen=True, repr=False)
class Student:
    """A student's own numbers, each an attribute of its name.

    Q, K (4, 3) and V (4, 2) for one head; X, W_Q, W_K, W_V, W_O (4, 4) and n_heads for two. ``attempt`` counts the
    sets of numbers that were asked for, from 0.
    """

    name: str
    attempt: int
    numbers: dict[str, Any] = field(compare=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "numbers" or name not in self.numbers:
            raise AttributeError(f"the numbers are {', '.join(self.numbers)}; there is no {name!r} among them")
        value = self.numbers[name]
        return value.copy() if isinstance(value, np.ndarray) else value

    def __repr__(self) -> str:
        tables = "\n".join(f"{key} =\n{value}" for key, value in self.numbers.items() if key in ("Q", "K", "V"))
        return f"Numbers of {self.name}" + (f" (set {self.attempt + 1})" if self.attempt else "") + f"\n{tables}"

    def _repr_html_(self) -> str:
        tables = "".join(as_table(key, self.numbers[key]) for key in ("Q", "K", "V"))
        return f"<div><b>Numbers of {html.escape(self.name)}</b><div style='display:flex;gap:2em'>{tables}</div></div>"


@dataclass
class Session:
    """What this kernel knows of the student: whose numbers, which tables, what came of each check.

    Attributes
    ----------
    student : Student, optional
    tables : dict
        The student's tables, by exercise.
    former : dict of lists
        What stood in a table before it was changed.
    outcomes : dict
        Of the last check of each exercise.
    hints_given : dict
        How many hints there have been since.
    last : str
        The exercise that was checked last.
    asking : bool
        Whether a student's function is running.
    """

    student: Student | None = None
    tables: dict[str, Any] = field(default_factory=dict)
    former: dict[str, list] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    hints_given: dict[str, int] = field(default_factory=dict)
    last: str = ""
    asking: bool = False


SESSION = Session()


@dataclass(frozen=True, repr=False)
class Note:
    """A few words, plain and as HTML."""

    text: str
    html: str = ""

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html or f"<p>{html.escape(self.text)}</p>"


def student(name: str) -> Student:
    """Your own numbers: the same name always gets the same ones.

    Parameters
    ----------
    name : str
        Upper case and lower case are the same.

    Returns
    -------
    Student
        ``me.Q``, ``me.K``, ``me.V`` and so on.

    Raises
    ------
    ValueError
        For a name that is no text, or an empty one.
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"student: your name must be a text that isn't empty; got {name!r}. Write student('ada').")
    return new_numbers(unicodedata.normalize("NFC", name.strip()), 0)


def fresh_numbers() -> Student:
    """Another set of numbers for the same student; the tables start anew.

    Raises
    ------
    ValueError
        If ``student`` hasn't been called yet.
    """
    if SESSION.student is None:
        raise ValueError("fresh_numbers: whose numbers? Run me = student('your name') first.")
    return new_numbers(SESSION.student.name, SESSION.student.attempt + 1)


def new_numbers(name: str, attempt: int) -> Student:
    """Numbers for this session; tables that were filled in from others are forgotten."""
    me = Student(name, attempt, draw_numbers(name, attempt))
    if me != SESSION.student:
        SESSION.student, SESSION.tables, SESSION.former = me, {}, {}
    return me


def check(
    answer: Callable | None = None, *, exercise: str | None = None, part: str | None = None, **table: Any
) -> Outcome:
    """Check a function, or one table that is given by its name.

    Parameters
    ----------
    answer : function, optional
        Its name is the exercise.
    exercise : str, optional
        The exercise, where the function has another name.
    part : str, optional
        Check only this part of the exercise, such as ``"without a mask"``.
    **table
        ``hand_weights=my_table``: the keyword is the exercise. So is that of a guess, ``my_ratio=my_ratio``,
        which earns no points.

    Returns
    -------
    Outcome
        It shows itself as the last expression of a cell.

    Raises
    ------
    ValueError
        For an exercise that doesn't exist, or a call that names none or several.
    RuntimeError
        Inside the function that is being checked.
    """
    name, value = one_thing(answer, exercise, table)
    if table and name in GUESSES:
        return check_guess(name, value)
    found = find(name)
    return record(check_table(found, value) if table and found.is_table else check_function(found, value, part), part)


def one_thing(answer: Any, exercise: str | None, table: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of what is to be checked, and the function or the table itself."""
    if SESSION.asking:
        raise RuntimeError(
            "check: it was called inside the function that it checks. Move the call out of the function."
        )
    if len(table) + (answer is not None) != 1 or (table and exercise):
        raise ValueError(
            "check: one function, check(softmax), or one table by its name, check(hand_weights=hand_weights); "
            f"got {'a function and ' if answer is not None else ''}{len(table)} tables. Use one call for each."
        )
    ((name, value),) = table.items() or [(exercise or name_of(answer), answer)]
    return name, value


def check_guess(name: str, value: Any) -> Outcome:
    """Answer a guess, which has no exercise and isn't recorded."""
    guess = GUESSES[name]
    return guessed(name, value, guess, whose_numbers(name).numbers if callable(guess.right) else {})


def name_of(answer: Any) -> str:
    """The name that a function was defined under."""
    name = getattr(answer, "__name__", "")
    if callable(answer) and name:
        return name
    raise ValueError(
        f"check: a table needs its name, check(hand_weights=...); got {type(answer).__name__} without one. "
        "Write the exercise's name in front of it, with an equals sign."
    )


def find(name: str) -> Exercise:
    """The exercise of that name, or a ``ValueError`` that says which one may have been meant."""
    if not isinstance(name, str):
        raise ValueError(f"check: an exercise is named by a text; got {name!r}. There are: {', '.join(EXERCISES)}.")
    if name in EXERCISES:
        return EXERCISES[name]
    near = difflib.get_close_matches(name, [*EXERCISES, *GUESSES], n=1, cutoff=0.5)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(EXERCISES)}."
    raise ValueError(f"check: the name must be that of an exercise; got {name!r}. {advice}")


def check_function(exercise: Exercise, function: Any, part: str | None) -> Outcome:
    """Ask a function and judge it, unless it is somebody else's."""
    if exercise.is_table or not callable(function):
        wanted = f"a table: check({exercise.name}=...)" if exercise.is_table else f"a function: check({exercise.name})"
        raise ValueError(f"check: {exercise.name} is {wanted}; got {type(function).__name__}. Give what it asks for.")
    origin = (getattr(function, "__module__", "") or "").split(".")[0]
    if origin in READY_MADE:
        ready_made = f"This function comes ready-made from {origin}. Write one of your own and check that."
        return without_verdict(exercise.name, "failed", exercise.points, ready_made)
    if part is not None and part not in parts_of(exercise):
        parts = ", ".join(map(repr, parts_of(exercise)))
        raise ValueError(f"check: {exercise.name} has the parts {parts}; got part={part!r}. Use one of them.")
    SESSION.asking = True
    try:
        return judged(exercise, lambda: judge_function(exercise, partial(ask, function), part=part))
    finally:
        SESSION.asking = False


def check_table(exercise: Exercise, value: Any) -> Outcome:
    """Keep a table and judge it."""
    owner = whose_numbers(exercise.name) if exercise.own else None
    keep(exercise.name, value)
    return judged(exercise, lambda: judge_kept_table(exercise, value, owner))


def whose_numbers(name: str) -> Student:
    """The student, for an exercise or a guess that can't do without."""
    if SESSION.student is None:
        raise ValueError(f"check: {name} is about your own numbers. Run me = student('your name') first.")
    return SESSION.student


def keep(name: str, table: Any) -> None:
    """Remember a table, and the one that it takes the place of."""
    former = SESSION.tables.get(name, table)
    if repr(former) != repr(table):
        SESSION.former.setdefault(name, []).append(former)
    SESSION.tables[name] = table


def judge_kept_table(exercise: Exercise, value: Any, owner: Student | None) -> Verdict:
    """Judge a table; a wrong one may be right for what stood in the table before it, or for other numbers."""
    numbers = owner.numbers if owner else {}
    verdict = judge_table(exercise, value, numbers, SESSION.tables)
    if verdict.status != "failed":
        return verdict
    for _, name in exercise.before:
        for former in SESSION.former.get(name, ()):
            if judge_table(exercise, value, numbers, {**SESSION.tables, name: former}).status == "passed":
                broken = (
                    f"it fits your {name} as they were before you changed them. Work it out again from the new ones"
                )
                return replace(verdict, mistakes=(), suspects=(), together=False, broken=broken)
    explained = verdict.mistakes or verdict.broken
    most_are_wrong = isinstance(verdict.value, np.ndarray) and 2 * len(verdict.wrong_places) > verdict.value.size
    if owner and not exercise.exact and not explained and most_are_wrong:
        broken = f"it is judged by the numbers of {owner.name}. Are those the numbers that you worked with?"
        return replace(verdict, broken=broken)
    return verdict


def judged(exercise: Exercise, judge: Callable[[], Verdict]) -> Outcome:
    """The outcome of judging; if the lab itself fails at it, that is said and costs nothing."""
    try:
        return outcome(judge())
    except Exception as error:
        message = f"The lab itself failed here ({type(error).__name__}), which is not your fault and costs nothing."
        return without_verdict(exercise.name, "system_error", exercise.points, message)


def record(one: Outcome, part: str | None) -> Outcome:
    """Remember an outcome for hints and progress, unless a part of the exercise adds nothing to it."""
    earlier = SESSION.outcomes.get(one.exercise)
    SESSION.last = one.exercise
    if part and earlier and earlier.points >= one.max_points:
        return one  # more has been shown before than this part asks for
    if earlier is None or earlier.mistakes != one.mistakes:
        SESSION.hints_given[one.exercise] = 0
    SESSION.outcomes[one.exercise] = one
    return one


def hint(name: str | None = None) -> Note:
    """The step to look at; called again, what to read about it.

    Parameters
    ----------
    name : str, optional
        The exercise; by default the one that was checked last.

    Raises
    ------
    ValueError
        For an exercise that doesn't exist.
    """
    name = find(name).name if name else SESSION.last
    one = SESSION.outcomes.get(name)
    if one is None:
        return Note("There is nothing to hint at yet: check an answer first.")
    if one.passed:
        return Note(f"{name} is right; there is nothing to hint at.")
    given = SESSION.hints_given.get(name, 0)
    SESSION.hints_given[name] = given + 1
    return Note(f"{name}: {one.hints[min(given, len(one.hints) - 1)]}" if one.hints else one.message)


def progress() -> Note:
    """Points by exercise, for the labs that have been begun."""
    begun = {labs[0] for labs in (EXERCISES[name].labs for name in SESSION.outcomes) if len(labs) == 1}
    shown = [e for e in EXERCISES.values() if e.name in SESSION.outcomes or begun & set(e.labs)]
    if not shown:
        return Note("Nothing has been checked yet.")
    blank = Outcome("", "not checked", 0, 0)
    outcomes = [SESSION.outcomes.get(e.name, replace(blank, exercise=e.name, max_points=e.points)) for e in shown]
    return Note(*progress_table(outcomes))
