"""Grade a batch: from what was handed in to gradebook and pages. Stopped at any moment, the same call goes on."""

import contextlib
import hashlib
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..exercises import LABS
from . import pool, roster
from .gradebook import Gradebook
from .intake import Intake, collect
from .policy import Row, Rule, marked
from .publish import REPORT, Published, in_words, marked_in_words, publish, remember_rule
from .sandbox import confine
from .sandbox.host import Seconds
from .submission import SYSTEM_ERROR, UNGRADABLE, Graded, Submission

PLOTS = "matplotlib"
PACKAGE = Path(__file__).resolve().parents[1]

Tell = Callable[[str, int, int], None]  # what was graded, how many of how many


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes
    ----------
    lab : str, optional
        The lab that was asked for.
    roster : path, optional
        A CSV that says who is in the course.
    rule : Rule, optional
        Which attempt counts, and what lateness costs; without one, what the gradebook remembers holds.
    workers : int, optional
        Processes; as many as there are cores by default.
    dask : str, optional
        The address of a Dask scheduler, on whose workers to grade.
    secret : path, optional
        The course's secret; a file beside the gradebook by default, which is made when it is first needed.
    seconds : Seconds
    layered : bool
        Whether to use what layers of isolation there are.
    """

    lab: str | None = None
    roster: Path | None = None
    rule: Rule | None = None
    workers: int | None = None
    dask: str | None = None
    secret: Path | None = None
    seconds: Seconds = Seconds()
    layered: bool = True


def options(given: Mapping[str, Any]) -> Options:
    """Options from what the command line was given."""
    for name in ("cell_seconds", "call_seconds", "jobs"):
        if given[name] is not None and given[name] <= 0:
            flag = "--" + name.replace("_", "-")
            raise ValueError(f"{flag}: must be more than 0; got {given[name]}. Give more, or leave it out.")
    return Options(
        lab=whole_name(given["lab"]),
        roster=Path(given["roster"]) if given["roster"] else None,
        rule=rule_from(given),
        workers=given["jobs"],
        dask=given["dask"],
        secret=Path(given["secret"]) if given["secret"] else None,
        seconds=Seconds(given["cell_seconds"], given["call_seconds"]),
        layered=not given["basic"],
    )


def whole_name(lab: str | None) -> str | None:
    """The lab that a beginning such as 02 stands for, if it is only one."""
    meant = [one for one in LABS if lab and one.startswith(lab)]
    return meant[0] if len(meant) == 1 else lab


def rule_from(given: Mapping[str, Any]) -> Rule | None:
    """A rule, if anything was said of one."""
    named = {"keep": given["keep"], "due": given["due"], "percent_a_day": percent(given["late"])}
    said = {name: value for name, value in named.items() if value is not None}
    said |= {} if given["refuse_after"] is None else {"refused_after": given["refuse_after"]}
    return Rule(**said) if said else None


def percent(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"--late: must be a number of percent, such as 10; got {text!r}. Write one.") from None


@dataclass(frozen=True)
class Summary:
    """What came of a batch."""

    published: Published
    graded: int  # now; the others were graded before
    again: int  # of these: graded before, but not by this labkit, with this secret and these limits
    submissions: int
    system_errors: tuple[str, ...]  # files
    stopped: bool = False

    @property
    def ok(self) -> bool:
        return not self.system_errors and not self.stopped

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.published.rows

    @property
    def statuses(self) -> dict[str, int]:
        return dict(sorted(Counter(row.graded.status for row in self.rows).items()))

    @property
    def isolation(self) -> list[str]:
        return sorted({row.graded.isolation for row in self.rows} - {""})

    @property
    def ungradable(self) -> dict[str, str]:
        return {row.file: row.reason for row in self.rows if row.graded.status == UNGRADABLE}

    def facts(self, out: Path) -> dict[str, Any]:
        """What a machine wants to know."""
        return {
            "ok": self.ok,
            "stopped": self.stopped,
            "submissions": self.submissions,
            "graded_now": self.graded,
            "students": self.statuses,
            "graded_again": self.again,
            "rules": {lab: in_words(rule) for lab, rule in self.published.rules.items()},
            "system_errors": list(self.system_errors),
            "ungradable": self.ungradable,
            "isolation": self.isolation,
            "unknown": list(self.published.unknown),
            "notes": list(self.published.notes),
            "gradebook": str(out / "gradebook.csv"),
            "report": str(out / REPORT),
        }

    def __str__(self) -> str:
        """The same for people."""
        again = f", {self.again} of them again, since labkit, its limits or its secret changed" if self.again else ""
        rest = "" if self.graded == self.submissions else "; the others were up to date"
        done = f"Graded {self.graded} of {self.submissions} submissions now{again}{rest}."
        stopped = f"Stopped. {self.graded} submissions were graded and are kept; the same command goes on."
        told = [stopped if self.stopped else done]
        told += ["Notebooks: " + ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in self.statuses.items())]
        told += [f"{lab}: {in_words(rule)}" for lab, rule in self.published.rules.items()]
        told += [marked_in_words(self.rows)] if marked(self.rows)[1] else []
        told += [f"Isolation: {one}" for one in self.isolation]
        told += [f"Ungradable: {file}: {reason}" for file, reason in self.ungradable.items()]
        told += [f"Not on the roster: {student}" for student in self.published.unknown]
        told += [f"Note: {note}" for note in self.published.notes]
        failed = "The grader failed at {}; it has no score. The same command tries again."
        return "\n".join([*told, *map(failed.format, self.system_errors)])


def grade_batch(path: Path, out: Path, options: Options, tell: Tell) -> Summary:
    """Grade what is new in a batch and write everything anew.

    Raises
    ------
    IntakeError, RosterError, GradebookError, MarksError, ValueError
        If what was given can't be used; says what to do.
    """
    intake = collect(path, options.lab)
    out.mkdir(parents=True, exist_ok=True)
    with Gradebook.open(out / "gradebook.db") as book:
        remember(book, intake, options)
        job = pool.Job(secret_of(options.secret or out / "secret"), options.seconds, options.layered, preload(intake))
        mark = fingerprint(job)
        book.refresh(intake.submissions)
        todo = [one for one in intake.submissions if book.needs_grading(one, mark)]
        before = {record.submission.digest for record in book.latest() if record.fingerprint != mark}
        again = sum(one.digest in before for one in todo)
        done, stopped = 0, False
        try:
            for done, (one, graded) in enumerate(graded_anywhere(todo, job, options), 1):  # noqa: B007
                book.record(replace(one, cells=()), graded, mark)
                tell(one.file, done, len(todo))
        except KeyboardInterrupt:
            stopped = True
        published = publish(out, book)
        failed = [one.submission.file for one in book.latest() if one.graded.status == SYSTEM_ERROR]
    return Summary(published, done, min(again, done), len(intake.submissions), tuple(failed), stopped)


def remember(book: Gradebook, intake: Intake, options: Options) -> None:
    """Keep what publishing needs to know, now and by later commands."""
    labs = sorted({one.lab for one in intake.submissions if one.lab})
    remember_rule(book, labs, options.rule)
    if options.roster:
        read = roster.read(options.roster)
        book.remember("roster", [asdict(entry) for entry in read.entries])
        book.remember("notes of roster", read.notes)
    book.remember("notes", sorted({*book.recall("notes", []), *intake.notes}))


def preload(intake: Intake) -> tuple[str, ...]:
    """What the notebooks are going to import, and what takes long."""
    plots = any(PLOTS in cell.source for one in intake.submissions for cell in one.cells if cell.kind == "code")
    return ("matplotlib.pyplot",) if plots else ()


def secret_of(path: Path) -> bytes:
    """The course's secret, which only its owner may read."""
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    secret = path.read_bytes().strip()
    if not secret:
        raise ValueError(
            f"secret: {path} must hold a text that nobody guesses; it is empty. Delete it, and one is made."
        )
    return secret


def fingerprint(job: pool.Job) -> str:
    """Changes when anything changes that a grade depends on: labkit, its exercises, the secret, the limits."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json"))
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    text = repr((hashes, job.secret, job.seconds, job.layered))
    return hashlib.sha256(text.encode()).hexdigest()


def graded_anywhere(todo: list[Submission], job: pool.Job, options: Options) -> Iterator[tuple[Submission, Graded]]:
    """Grade here, or on the workers of a Dask cluster."""
    if not todo:
        return
    if sys.platform == "linux":
        confine.stands(confine.unreadable_to_others)
    with contextlib.ExitStack() as kept:
        kept.callback(pool.close_servers)
        executor, workers = None, min(pool.cores(options.workers), len(todo))
        if options.dask:
            executor, workers = kept.enter_context(on_cluster(options.dask, fingerprint(job), job))
        yield from pool.grade_all(todo, job, workers, executor)


@contextlib.contextmanager
def on_cluster(address: str, mark: str, job: pool.Job) -> Iterator[tuple[Executor, int]]:
    """The workers of a Dask cluster, each of which must have this very labkit."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "dask: the package distributed must be there; it isn't. Run pip install distributed."
        ) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"dask: a scheduler must answer at {address}; got {error}. Start `dask scheduler`.") from None
    with client:
        marks = client.run(fingerprint, job)
        if not marks:
            raise ValueError(f"dask: {address} must have workers; it has none. Start `dask worker {address}`.")
        if others := [where for where, theirs in marks.items() if theirs != mark]:
            raise ValueError(
                f"dask: every worker must have this very labkit; {others[0]} has another. Install it there."
            )
        yield client.get_executor(), sum(client.nthreads().values())
