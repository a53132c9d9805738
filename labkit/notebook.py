"""What students call in a notebook: check, hint, progress, student, fresh_numbers.

A check goes this way: the exercise is found by name, the function is asked (``asking``) or the table is kept, the
answers are judged (``judge``, ``table``), the verdict is put into words (``feedback``), and the outcome is recorded.
"""

import difflib
import html
import os
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .answer import a_or_an
from .asking import SECONDS, ask
from .exercise import Answer, Exercise, Outcome
from .exercises import EXERCISES, LABS, draw_numbers
from .exercises.guesses import GUESSES, told
from .feedback import as_table, outcome, progress_table, with_html, without_verdict
from .judge import Verdict, judge_function, parts_of
from .plain import foreign, same
from .table import judge_table

READY_MADE = ("labkit", "torch", "tensorflow", "jax", "scipy")
MOST_SHOWN = 60  # characters of what a function printed


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
        if name.startswith("_") or name == "numbers":  # as while it is copied: there are no numbers yet
            raise AttributeError(name)
        if name not in self.numbers:
            raise AttributeError(f"the numbers are {', '.join(self.numbers)}; there is no {name!r} among them")
        value = self.numbers[name]
        return value.copy() if isinstance(value, np.ndarray) else value

    @property
    def title(self) -> str:
        """Whose numbers, and which set of them."""
        return self.name + (f" (set {self.attempt + 1})" if self.attempt else "")

    def __repr__(self) -> str:
        tables = "\n".join(f"{key} =\n{value}" for key, value in self.numbers.items() if key in ("Q", "K", "V"))
        return f"Numbers of {self.title}\n{tables}"

    def _repr_html_(self) -> str:
        tables = "".join(as_table(key, self.numbers[key]) for key in ("Q", "K", "V"))
        return f"<div><b>Numbers of {html.escape(self.title)}</b><div style='display:flex;gap:2em'>{tables}</div></div>"


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
        The exercise or the guess that was checked last.
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
        raise ValueError(
            f"student: your name must be a text that isn't empty; got {name!r}. Write it between the quotes."
        )
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
    now = SESSION.student
    if now is None or (now.name.casefold(), now.attempt) != (name.casefold(), attempt):
        SESSION.tables, SESSION.former = {}, {}
        SESSION.outcomes = {name: one for name, one in SESSION.outcomes.items() if not EXERCISES[name].own}
    SESSION.student = me
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
    if part is not None and (table or find(name).is_table):
        raise ValueError(f"check: a part is one of a function's; got part={part!r} with {name}. Leave it out.")
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
    if len(table) == 1 and answer is None:
        ((name, value),) = table.items()
        if exercise is not None:
            raise ValueError(
                f"check: exercise= is for a function of another name; got it with the table {name}. Leave it out."
            )
        return name, value
    if answer is None or table:
        tables = f"{len(table) or 'no'} table{'s' * (len(table) != 1)}"
        raise ValueError(
            "check: it takes one function, check(softmax), or one table by its name, check(hand_weights=hand_weights); "
            f"got {'no' if answer is None else 'a'} function and {tables}. Give one in a call."
        )
    return exercise or name_of(answer), answer


def check_guess(name: str, value: Any) -> Outcome:
    """Answer a guess, which has no exercise and isn't recorded."""
    guess = GUESSES[name]
    numbers = whose_numbers(name).numbers if callable(guess.right) else {}
    SESSION.last = name
    if guess.any_order and isinstance(value, set | frozenset):
        value = list(value)
    made, said = told(guess, taken_over(value), numbers)
    return without_verdict(name, "guessed" if made else "unattempted", 0, said)


def name_of(answer: Any) -> str:
    """The name that a function was defined under."""
    name = text_of(answer, "__name__")
    if callable(answer) and name not in ("", "<lambda>"):
        return name
    if callable(answer):
        raise ValueError(
            "check: a function is known by its name; got one without. "
            'Say which exercise it is for: check(..., exercise="softmax").'
        )
    raise ValueError(
        f"check: a table needs its name, check(hand_weights=...); got {a_or_an(type(answer).__name__)} without one. "
        "Write the exercise's name in front of it, with an equals sign; a function stands alone, check(softmax)."
    )


def text_of(thing: Any, name: str) -> str:
    """An attribute that should be a text; "" if it isn't, or can't be had."""
    value = ask(lambda: getattr(thing, name, ""), {}, SECONDS).value  # an object of the student's own may do anything
    return value if isinstance(value, str) else ""


def find(name: str, where: str = "check") -> Exercise:
    """The exercise of that name, or a ``ValueError`` that says which one may have been meant."""
    if not isinstance(name, str):
        kind = a_or_an(type(name).__name__)
        raise ValueError(f'{where}: an exercise is named by a text, such as "softmax"; got {kind}. Write its name.')
    if name in EXERCISES:
        return EXERCISES[name]
    if name in GUESSES:
        raise ValueError(
            f"{where}: the name must be that of an exercise; got {name!r}, a guess. Write check({name}={name})."
        )
    near = difflib.get_close_matches(name, [*EXERCISES, *GUESSES], n=1, cutoff=0.6)
    advice = f"Did you mean {near[0]!r}?" if near else "Take it from the notebook, where the exercise stands."
    raise ValueError(f"{where}: the name must be that of an exercise; got {name[:MOST_SHOWN]!r}. {advice}")


def check_function(exercise: Exercise, function: Any, part: str | None) -> Outcome:
    """Ask a function and judge it, unless it is somebody else's."""
    if exercise.is_table or not callable(function):
        wanted = f"a table: check({exercise.name}=...)" if exercise.is_table else f"a function: check({exercise.name})"
        kind = a_or_an(type(function).__name__)
        raise ValueError(f"check: {exercise.name} is {wanted}; got {kind}. Give what it asks for.")
    origin = text_of(function, "__module__").partition(".")[0]
    if origin in READY_MADE:
        ready_made = f"This function comes ready-made from {origin}. Write one of your own and check that."
        return without_verdict(exercise.name, "failed", exercise.points, ready_made)
    if part is not None and part not in parts_of(exercise):
        parts = ", ".join(map(repr, parts_of(exercise)))
        raise ValueError(f"check: {exercise.name} has the parts {parts}; got part={part!r}. Use one of them.")
    asker = Asker(function)
    SESSION.asking = True
    try:
        one = judged(exercise, lambda: judge_function(exercise, asker, part=part))
    finally:
        SESSION.asking = False
    if not asker.printed or "prints_instead_of_returning" in one.mistakes:
        return one
    return with_html(replace(one, message=f"{one.message}\n{kept_back(asker.printed)}"))


class Asker:
    """Asks a function, for no longer than ``SECONDS`` in all, and keeps the first that it prints."""

    def __init__(self, function: Callable) -> None:
        self.function, self.until, self.printed = function, time.monotonic() + SECONDS, ""

    def __call__(self, args: Mapping[str, Any]) -> Answer:
        left = self.until - time.monotonic()
        answer = ask(self.function, args, left) if left > 0 else Answer(timed_out=True)
        self.printed = self.printed or answer.printed
        return answer


def kept_back(printed: str) -> str:
    """What is said of what a function printed, which doesn't show."""
    first, *more = printed.strip().splitlines() or [""]
    first = first.strip() if len(first) <= MOST_SHOWN else first[:MOST_SHOWN] + "…"
    lines = f" and {len(more)} more line{'s' * (len(more) > 1)}" if more else ""
    return f"What your function prints is kept back here; the first time it was “{first}”{lines}."


def check_table(exercise: Exercise, value: Any) -> Outcome:
    """Keep a table and judge it."""
    owner = whose_numbers(exercise.name) if exercise.own else None
    value = taken_over(value)
    keep(exercise.name, value)
    one = judged(exercise, lambda: judge_kept_table(exercise, value, owner))
    again = [name for name in to_check_again(exercise.name) if one.passed]
    return with_html(replace(one, message=f"{one.message} Now check {', '.join(again)} again.")) if again else one


def taken_over(value: Any) -> Any:
    """A copy of what stands in a table, which may be an object of the student's own and do anything when it is read."""
    answer = ask(lambda: value, {}, SECONDS)
    can_be_read = not (answer.error_type or answer.timed_out)
    return answer.value if can_be_read else foreign(f"{type(value).__name__} that cannot be read")


def whose_numbers(name: str) -> Student:
    """The student, for an exercise or a guess that can't do without."""
    if SESSION.student is None:
        raise ValueError(f"check: {name} is about your own numbers. Run me = student('your name') first.")
    return SESSION.student


def keep(name: str, table: Any) -> None:
    """Remember a table, and the one that it takes the place of; what was judged from that one no longer holds."""
    former = SESSION.tables.get(name, table)
    SESSION.tables[name] = table
    if not same(former, table):
        SESSION.former.setdefault(name, []).append(former)
        for follower in followers(name) & {e for e, one in SESSION.outcomes.items() if one.status != "unattempted"}:
            changed = f"{name} has changed since {follower} was judged from it. Check it again."
            SESSION.outcomes[follower] = without_verdict(follower, "check again", EXERCISES[follower].points, changed)


def to_check_again(name: str) -> list[str]:
    """The tables that were judged from one before it changed, in the order in which they are asked for."""
    outcomes, after = SESSION.outcomes, followers(name)
    return [e for e in EXERCISES if e in after and e in outcomes and outcomes[e].status == "check again"]


def followers(name: str) -> set[str]:
    """The tables that go on from one, and those that go on from these."""
    next_ones = {e.name for e in EXERCISES.values() if any(before == name for _, before in e.before)}
    return next_ones.union(*map(followers, next_ones))


def judge_kept_table(exercise: Exercise, value: Any, owner: Student | None) -> Verdict:
    """Judge a table; one that no mistake explains may be right for other numbers."""
    verdict = judge_table(exercise, value, owner.numbers if owner else {}, SESSION.tables, SESSION.former)
    if verdict.status != "failed" or verdict.mistakes or owner is None:
        return verdict
    if owner.attempt:
        before = judge_table(exercise, value, draw_numbers(owner.name, owner.attempt - 1), {})
        if before.status == "passed":
            said = "it fits the numbers that you had before. Work it out again from the fresh ones"
            return replace(verdict, said=said)
    most_are_wrong = isinstance(verdict.value, np.ndarray) and 2 * len(verdict.wrong_places) > verdict.value.size
    if most_are_wrong and not (exercise.exact or verdict.said or works_with_own_numbers(exercise)):
        said = f"it is judged by the numbers of {owner.title}. Are those the numbers that you worked with?"
        return replace(verdict, said=said)
    return verdict


def works_with_own_numbers(exercise: Exercise) -> bool:
    """Whether another table about the student's own numbers has been right."""
    others = (one for name, one in SESSION.outcomes.items() if EXERCISES[name].own and name != exercise.name)
    return any(one.passed for one in others)


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
    if part and one.passed and earlier and earlier.max_points > one.max_points and not asks_only(one.exercise, part):
        return one  # of all of it more is known than of this part
    if earlier is None or earlier.mistakes != one.mistakes:
        SESSION.hints_given[one.exercise] = 0
    SESSION.outcomes[one.exercise] = one
    return one


def asks_only(name: str, part: str) -> bool:
    """Whether the lab of this notebook asks for no more of an exercise than this part."""
    return EXERCISES[name].asks_only.get(this_lab()) == part


def this_lab() -> str:
    """The lab of this notebook, if JupyterLab says which file it is."""
    here = Path(os.environ.get("JPY_SESSION_NAME", "")).stem
    return here if here in LABS else ""


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
    name = SESSION.last if name is None else find(name, "hint").name
    if name in GUESSES:
        return Note(f"{name} is a guess, and there are no hints for guesses: go on, and see what comes of it.")
    one = SESSION.outcomes.get(name)
    if one is None:
        return Note("There is nothing to hint at yet: check an answer first.")
    if one.passed and not one.hints:
        return Note(f"{name} is right; there is nothing to hint at.")
    given = SESSION.hints_given.get(name, 0)
    SESSION.hints_given[name] = given + 1
    return Note(f"{name}: {one.hints[min(given, len(one.hints) - 1)]}" if one.hints else one.message)


def progress() -> Note:
    """Points by exercise, for the labs that have been begun."""
    if not SESSION.outcomes:
        return Note("Nothing has been checked yet.")
    begun, blank = labs_begun(), Outcome("", "not checked", 0, 0)
    shown = [e for e in EXERCISES.values() if e.name in SESSION.outcomes or begun & set(e.labs)]
    outcomes = [SESSION.outcomes.get(e.name, replace(blank, exercise=e.name, max_points=e.points)) for e in shown]
    return Note(*progress_table(outcomes))


def labs_begun() -> set[str]:
    """The lab of this notebook, if JupyterLab says which one it is; else those that alone ask for what was checked.

    If all of that is asked for in several labs, it is the last of those.
    """
    if here := this_lab():
        return {here}
    asked_in = [EXERCISES[name].labs for name in SESSION.outcomes]
    alone = {labs[0] for labs in asked_in if len(labs) == 1}
    return alone or {max(set(LABS).intersection(*asked_in), default="")}
