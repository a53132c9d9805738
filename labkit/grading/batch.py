"""Grade a batch: from what was handed in to gradebook and pages. Stopped at any moment, the same call goes on."""

import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from . import pool
from .cluster import workers_at
from .course_secret import secret_for
from .files import for_owner_only
from .handed_in.intake import Intake, collect
from .publish import publish
from .records import roster
from .records.course import remember_roster, remember_rules, rules_of
from .records.gradebook import Gradebook
from .records.policy import ALWAYS_IN_TIME, Rule
from .sandbox import confine
from .sandbox.host import Seconds
from .submission import SYSTEM_ERROR, Graded, Submission
from .summary import Summary, summary_of

Tell = Callable[[str, int, int], None]  # what was graded, how many of how many
NEVER = "never"  # takes back a due date, or the days after which nothing is earned


@dataclass(frozen=True)
class Options:
    """How to grade: each is a flag of ``labkit grade``, whose help says more.

    None stands for what is usual, or for what an earlier run was told.
    """

    lab: str | None = None
    roster: Path | None = None
    keep: str | None = None
    due: str | None = None
    late: float | None = None
    refuse_after: int | str | None = None
    jobs: int | None = None
    dask: str | None = None
    secret: Path | None = None
    cell_seconds: float = Seconds.cell
    call_seconds: float = Seconds.call
    basic: bool = False

    def said_of_rule(self) -> dict[str, Any]:
        """What was said of the rule, by the rule's own names; raises ValueError if it can't be."""
        given = {"keep": self.keep, "due": self.due, "percent_a_day": self.late, "refused_after": self.refuse_after}
        said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        said |= {name: getattr(ALWAYS_IN_TIME, name) for name, value in said.items() if value == NEVER}
        Rule(**said)
        return said


@for_owner_only()
def grade_batch(path: Path, out: Path, options: Options, tell: Tell) -> Summary:
    """Grade what is new in a batch and write everything anew.

    Parameters
    ----------
    path : Path
        What was handed in: a folder, an archive or a notebook.
    out : Path
        The folder for gradebook and pages.
    options : Options
    tell : callable(file, done, of)
        Called whenever a submission is graded.

    Raises
    ------
    IntakeError, CsvError, GradebookError, ValueError
        If what was given can't be used; says what to do.
    """
    if out.resolve() == path.resolve():
        raise ValueError(
            f"--out: must be another folder than what was handed in; got {out} for both. Name one beside it."
        )
    said, intake = options.said_of_rule(), collect(path, options.lab)
    students = roster.read(options.roster) if options.roster else None
    out.mkdir(parents=True, exist_ok=True)
    with Gradebook.open(out / "gradebook.db") as book:
        secret = secret_for(options.secret, out / "secret")
        rules_before = rules_of(book)
        remember(book, intake, students, said)
        job = pool.Job(secret, Seconds(options.cell_seconds, options.call_seconds), not options.basic, intake.preload)
        fingerprint = job.fingerprint()
        book.refresh(intake.submissions)
        todo = in_turns(one for one in intake.submissions if book.needs_grading(one, fingerprint))
        before = {record.submission.digest for record in book.latest() if record.fingerprint != fingerprint}
        done, stopped = 0, False
        try:
            with closing(graded_anywhere(todo, job, options)) as results:  # ends the workers, too
                for one, graded in results:
                    book.record(replace(one, cells=()), graded, fingerprint)
                    done += 1
                    tell(one.file, done, len(todo))
        except KeyboardInterrupt:
            stopped = True
        published = publish(out, book)
        failed = [one.submission.file for one in book.latest() if one.graded.status == SYSTEM_ERROR]
    again = min(sum(one.digest in before for one in todo), done)
    return summary_of(published, rules_before, stopped, len(intake.submissions), done, again, failed)


def remember(book: Gradebook, intake: Intake, students: roster.Roster | None, said: Mapping[str, Any]) -> None:
    """Keep what publishing needs to know, now and by later commands; of each lab's rule only what was said changes."""
    labs, rules = {one.lab for one in intake.submissions if one.lab}, rules_of(book)
    remember_rules(book, {lab: replace(rules.get(lab, ALWAYS_IN_TIME), **said) for lab in sorted(labs)})
    if students:
        remember_roster(book, students)
    book.remember("notes", sorted({*book.recall("notes", []), *intake.notes}))


def in_turns(submissions: Iterable[Submission]) -> list[Submission]:
    """One of each student, then a second one of each who has several, and so on: nobody waits for one who sent many."""
    by_student = defaultdict(list)
    for one in submissions:
        by_student[one.student].append(one)
    return [one for turn in zip_longest(*by_student.values()) for one in turn if one]


def graded_anywhere(
    todo: Sequence[Submission], job: pool.Job, options: Options
) -> Generator[tuple[Submission, Graded], None, None]:
    """Grade here, or on the workers of a Dask cluster."""
    if not todo:
        return
    if sys.platform == "linux":
        confine.stands(confine.unreadable_to_others)
    with ExitStack() as kept:
        kept.callback(pool.close_servers)
        executor, workers = None, min(pool.cores(options.jobs), len(todo))
        if options.dask:
            executor, workers = kept.enter_context(workers_at(options.dask, job))
        yield from pool.grade_all(todo, job, workers, executor)
