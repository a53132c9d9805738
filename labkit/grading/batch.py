"""Grade a batch: from what was handed in to gradebook and pages. Stopped at any moment, the same call goes on."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import pool, roster
from .cluster import workers_at
from .course import remember_roster, remember_rule
from .gradebook import Gradebook
from .intake import collect
from .policy import Rule
from .publish import publish
from .sandbox import confine
from .sandbox.host import Seconds
from .submission import SYSTEM_ERROR, Graded, Submission
from .summary import Summary, summary_of

Tell = Callable[[str, int, int], None]  # what was graded, how many of how many


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
    refuse_after: int | None = None
    jobs: int | None = None
    dask: str | None = None
    secret: Path | None = None
    cell_seconds: float = Seconds.cell
    call_seconds: float = Seconds.call
    basic: bool = False

    def rule(self) -> Rule | None:
        """The rule, if anything was said of one; raises ValueError if it can't be one."""
        given = {"keep": self.keep, "due": self.due, "percent_a_day": self.late, "refused_after": self.refuse_after}
        said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return Rule(**said) if said else None


def grade_batch(path: Path, out: Path, options: Options, tell: Tell) -> Summary:
    """Grade what is new in a batch and write everything anew.

    Raises
    ------
    IntakeError, CsvError, GradebookError, ValueError
        If what was given can't be used; says what to do.
    """
    rule, intake = options.rule(), collect(path, options.lab)
    out.mkdir(parents=True, exist_ok=True)
    with Gradebook.open(out / "gradebook.db") as book:
        remember_rule(book, sorted({one.lab for one in intake.submissions if one.lab}), rule)
        if options.roster:
            remember_roster(book, roster.read(options.roster))
        book.remember("notes", sorted({*book.recall("notes", []), *intake.notes}))
        secret = secret_in(options.secret or out / "secret")
        job = pool.Job(secret, Seconds(options.cell_seconds, options.call_seconds), not options.basic, intake.preload)
        fingerprint = job.fingerprint()
        book.refresh(intake.submissions)
        todo = [one for one in intake.submissions if book.needs_grading(one, fingerprint)]
        before = {record.submission.digest for record in book.latest() if record.fingerprint != fingerprint}
        done, stopped = 0, False
        try:
            for done, (one, graded) in enumerate(graded_anywhere(todo, job, options), 1):  # noqa: B007
                book.record(replace(one, cells=()), graded, fingerprint)
                tell(one.file, done, len(todo))
        except KeyboardInterrupt:
            stopped = True
        published = publish(out, book)
        failed = [one.submission.file for one in book.latest() if one.graded.status == SYSTEM_ERROR]
    again = min(sum(one.digest in before for one in todo), done)
    return summary_of(published, stopped, len(intake.submissions), done, again, failed)


def secret_in(path: Path) -> bytes:
    """The course's secret, which only its owner may read; made if there is none."""
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    secret = path.read_bytes().strip()
    if not secret:
        raise ValueError(
            f"secret: {path} must hold a text that nobody guesses; it is empty. Delete it, and one is made."
        )
    return secret


def graded_anywhere(todo: Sequence[Submission], job: pool.Job, options: Options) -> Iterator[tuple[Submission, Graded]]:
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
