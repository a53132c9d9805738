"""Grade one submission: run it in the sandbox, ask its functions, judge what comes back here."""

import hashlib
import re
import time
import unicodedata
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..asking import MOST_PRINTED
from ..exercise import Answer, Exercise, Outcome
from ..exercises import draw_numbers, exercises_of
from ..feedback import outcome, without_verdict
from ..judge import Verdict, cases_and_lineup, judge_function, parts_of
from ..table import judge_table
from .handed_in.questions import answers_in_words
from .lost import is_begun, lost_cells, where_it_went
from .sandbox.host import Gone, Guest, OutOfTime, Ran, Seconds, Server
from .submission import GRADED, SYSTEM_ERROR, UNGRADABLE, Graded, Submission

SHEETS = 8  # sets of inputs for each exercise: a sheet that is used again is quicker to judge with
STUDENT = re.compile(r"""\bstudent\(\s*(["'])([^"'\n]{1,200})\1""")
STOPPED = "it took too long"


@dataclass
class Sitting:
    """All that is known of a submission while it is graded."""

    submission: Submission
    server: Server
    secret: bytes
    exercises: tuple[Exercise, ...]
    seconds: Seconds
    until: float  # when it has taken too long in all
    lost: dict[int, str] = field(default_factory=dict)  # cells that ended a guest, and how
    remarks: list[str] = field(default_factory=list)
    ran: Ran | None = None

    @property
    def code(self) -> list[str]:
        """The sources of the code cells."""
        return [cell.source for cell in self.submission.cells if cell.kind == "code"]

    @property
    def errors(self) -> dict[int, Mapping[str, Any]]:
        """What is known of each code cell that did not run to its end."""
        found = {cell: {"type": "", "text": how} for cell, how in self.lost.items()}
        found |= {error["cell"]: error for error in (self.ran.errors if self.ran else ())}
        return {cell: error for cell, error in sorted(found.items()) if 0 <= cell < len(self.code)}


def grade(submission: Submission, server: Server, secret: bytes, seconds: Seconds) -> Graded:
    """Grade one submission; whatever happens, something comes back.

    The course's secret decides the inputs, with the submission and the exercise.
    """
    if submission.problem:
        return Graded(UNGRADABLE, submission.problem, remarks=submission.remarks)
    try:
        until = time.monotonic() + seconds.submission
        return sit(Sitting(submission, server, secret, exercises_of(submission.lab), seconds, until))
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        reason = f"The grader itself failed ({what}). That is not the student's fault."
        return Graded(SYSTEM_ERROR, reason, remarks=submission.remarks)


def sit(one: Sitting) -> Graded:
    """Run a submission and judge each of its exercises.

    Whatever ends a guest costs one cell or one exercise: a new guest begins without it, until each exercise has an
    outcome or the time is up.
    """
    outcomes: dict[str, Outcome] = {}
    while len(outcomes) < len(one.exercises) and time.monotonic() < one.until:
        with one.server.guest(one.seconds, one.until) as guest:
            try:
                ask_all(one, guest, start(one, guest), outcomes)
            except Gone as gone:
                note_end(one, guest, gone)
    for exercise in one.exercises:
        if exercise.name not in outcomes:
            outcomes[exercise.name] = out_of_time(exercise, one)
    ran = one.ran
    written, beside_them = answers_in_words(one.submission.lab, one.submission.cells)
    return Graded(
        GRADED,
        outcomes=tuple(outcomes[exercise.name] for exercise in one.exercises),
        remarks=(*one.submission.remarks, *lost_cells(one.errors), *one.remarks, *beside_them),
        numbers_of=ran.numbers_of if ran else (),
        written=written,
        isolation=", ".join(ran.layers) or "basic" if ran else "",
    )


def start(one: Sitting, guest: Guest) -> Ran:
    """Run the cells but those that ended an earlier guest."""
    names = [exercise.name for exercise in one.exercises]
    wanted = dict.fromkeys([*names, *(name for exercise in one.exercises for _, name in exercise.before)])
    one.ran = ran = guest.run(one.code, list(wanted), one.lost, own_numbers)
    one.lost |= dict.fromkeys(guest.stopped, STOPPED)
    return ran


def note_end(one: Sitting, guest: Guest, gone: Gone) -> None:
    """Remember the cell that ended the guest, so that the next one passes over it."""
    if guest.cell < 0:
        if time.monotonic() > one.until:
            return  # there was no time left to begin once more
        raise RuntimeError("the sandbox ended before the notebook began")
    one.lost |= dict.fromkeys(guest.stopped, STOPPED) or {guest.cell: str(gone)}


def own_numbers(name: str, attempt: int) -> Mapping[str, Any]:
    """What ``student`` and ``fresh_numbers`` give in a notebook."""
    return draw_numbers(unicodedata.normalize("NFC", name.strip()[:200]), min(max(attempt, 0), 1000))


# ---- exercises -------------------------------------------------------------------------------------------------------


def ask_all(one: Sitting, guest: Guest, ran: Ran, outcomes: dict[str, Outcome]) -> None:
    """Judge every exercise that has no outcome yet; an exercise that ends the guest has one by then."""
    for exercise in one.exercises:
        if exercise.name in outcomes:
            continue
        if exercise.is_table:
            outcomes[exercise.name] = judge_own_table(one, exercise, ran)
        elif exercise.name not in ran.functions:
            outcomes[exercise.name] = not_there(one, exercise, ran)
        else:
            try:
                outcomes[exercise.name] = ask(one, guest, exercise)
            except OutOfTime:
                outcomes[exercise.name] = out_of_time(exercise, one)
                return
            except Gone as gone:
                outcomes[exercise.name] = without_answer(exercise, one, "crashed", f"There was no answer: {gone}.")
                return


def ask(one: Sitting, guest: Guest, exercise: Exercise) -> Outcome:
    """Ask a function, with inputs that nobody has seen."""
    seed, part = seed_of(one, exercise), exercise.asks_only.get(one.submission.lab)
    inputs = [case.args for case in cases_and_lineup(exercise.name, seed)[0] if part in (None, case.part)]
    answers = deque(guest.ask(exercise.name, inputs))  # all in one go, which saves the time of asking one by one

    def answer_to(args: Mapping[str, Any]) -> Answer:
        """The judge begins with the cases in their order; what it asks then depends on the answers."""
        return answers.popleft() if answers else next(guest.ask(exercise.name, [args]))

    verdict = judge_function(exercise, answer_to, seed, part, shrink=False)  # what it is asked with stays hidden
    if any(len(tried.answer.printed) >= MOST_PRINTED for tried in verdict.tried):
        one.remarks.append(f"{exercise.name} printed more than {MOST_PRINTED:,} characters; the rest was cut off.")
    return outcome(verdict)


def seed_of(one: Sitting, exercise: Exercise) -> int:
    """The same for the same secret, submission and exercise."""

    def drawn(*parts: object) -> int:
        text = "\n".join(map(str, (one.secret.hex(), exercise.name, *parts)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])

    return drawn(drawn(one.submission.digest) % SHEETS)


def most_points(exercise: Exercise, lab: str) -> float:
    """What an exercise can earn in a lab, which may ask for one part of it only."""
    return exercise.points / len(parts_of(exercise)) if lab in exercise.asks_only else exercise.points


def judge_own_table(one: Sitting, exercise: Exercise, ran: Ran) -> Outcome:
    """Judge a table from the student's own numbers and the student's own table before it."""
    if exercise.name not in ran.tables:
        return not_there(one, exercise, ran)
    sets = [own_numbers(*of) for of in sets_of(one, ran)] if exercise.own else [own_numbers("nobody", 0)]
    verdicts = [judge_table(exercise, ran.tables[exercise.name], numbers, ran.tables) for numbers in sets]
    return outcome(max(verdicts, key=lambda verdict: verdict.share))  # a last round of practice costs nothing


def sets_of(one: Sitting, ran: Ran) -> tuple[tuple[str, int], ...]:
    """Whose numbers a table may be about: those asked for, else those that a lost cell names, else the student's."""
    if ran.numbers:
        return ran.numbers
    named = [found[2] for source in one.code for found in STUDENT.finditer(source)]
    name = named[-1] if named else one.submission.name or one.submission.student or "nobody"
    remark = f"No cell came to ask for own numbers, so the tables were judged with those of {name}."
    if remark not in one.remarks:
        one.remarks.append(remark)
    return ((name, 0),)


def not_there(one: Sitting, exercise: Exercise, ran: Ran) -> Outcome:
    """No function or table of that name: say where it may have gone, or that nothing was begun at all."""
    if is_begun(exercise.name, one.submission.cells):
        words = where_it_went(exercise.name, exercise.is_table, one.submission.cells, ran, one.errors)
        return without_answer(exercise, one, "missing", words)
    return without_answer(exercise, one, "unattempted", "Not attempted yet: the notebook holds no code.")


def out_of_time(exercise: Exercise, one: Sitting) -> Outcome:
    return outcome(Verdict(exercise, "timed_out", weight=most_points(exercise, one.submission.lab) / exercise.points))


def without_answer(exercise: Exercise, one: Sitting, status: str, words: str) -> Outcome:
    return without_verdict(exercise.name, status, most_points(exercise, one.submission.lab), words)
