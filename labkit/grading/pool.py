"""Grade many submissions at once: on the cores of this machine, or on a Dask cluster."""

import ctypes
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .grader import grade
from .sandbox import confine
from .sandbox.host import Seconds, Server
from .submission import SYSTEM_ERROR, Graded, Submission

PACKAGE = Path(__file__).resolve().parents[1]
SET_PDEATHSIG = 1
MOST_TRIES = 3
BROKE = "The process that graded it ended each time it was tried. That is not the student's fault."


@dataclass(frozen=True)
class Job:
    """What every worker has to know."""

    secret: bytes
    seconds: Seconds = Seconds()
    layered: bool = True
    preload: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Changes when anything changes that a grade depends on: labkit, its exercises, the secret, the limits."""
        files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json"))
        hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        text = repr((hashes, self.secret, self.seconds, self.layered))
        return hashlib.sha256(text.encode()).hexdigest()


SERVERS: dict[tuple, Server] = {}  # of this process: one for each kind of job, started when it is first needed
STARTING = threading.Lock()  # a cluster's worker may have several threads


def grade_here(submission: Submission, job: Job) -> Graded:
    """Grade a submission in this process."""
    return grade(submission, server_for(job), job.secret, job.seconds)


def server_for(job: Job) -> Server:
    """The server of this process that is fit for a job, started if there is none."""
    key = (job.layered, job.preload)
    with STARTING:
        if key in SERVERS and not SERVERS[key].is_running:
            SERVERS.pop(key).close()
        if key not in SERVERS:
            SERVERS[key] = Server(*key)
            SERVERS[key].wait()
        return SERVERS[key]


def grade_all(
    submissions: Sequence[Submission], job: Job, workers: int, executor: Executor | None = None
) -> Iterator[tuple[Submission, Graded]]:
    """Grade submissions, and give each with what came of it as soon as it is done.

    A worker that dies takes nothing with it: what it was at is tried again, and is a system error after three tries.
    """
    waiting, tries = deque(submissions), dict.fromkeys(submissions, 0)
    if executor is not None:
        yield from run(executor, waiting, job, workers)
    while executor is None and waiting:
        with suppress(BrokenProcessPool), processes_for(job, workers) as processes:
            yield from run(processes, waiting, job, workers)
        for one in list(waiting)[:workers]:
            tries[one] += 1
            if tries[one] == MOST_TRIES:
                waiting.remove(one)
                yield one, Graded(SYSTEM_ERROR, BROKE, remarks=one.remarks)


def run(executor: Executor, waiting: deque, job: Job, workers: int) -> Iterator[tuple[Submission, Graded]]:
    """Keep all workers busy; what isn't done yet stays in ``waiting``."""
    under_way: dict[Future, Submission] = {}
    try:
        while waiting:
            for one in waiting:
                if len(under_way) == 2 * workers:
                    break
                if one not in under_way.values():
                    under_way[executor.submit(grade_here, one, job)] = one
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                one = under_way.pop(future)
                graded = result_of(future, one)
                waiting.remove(one)
                yield one, graded
    finally:
        for future in under_way:
            future.cancel()


def result_of(future: Future, one: Submission) -> Graded:
    """What a worker gave; a system error where it gave up."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # a cluster gives up on what has ended several of its workers
        return Graded(SYSTEM_ERROR, f"{BROKE} ({type(error).__name__})", remarks=one.remarks)


def processes_for(job: Job, workers: int) -> ProcessPoolExecutor:
    """Processes that share one fork server where they can be forked."""
    if sys.platform == "linux":
        server_for(job)
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    return ProcessPoolExecutor(workers, context, begin)


def begin() -> None:
    """Leave interrupts to the parent, end with it, and let nobody look in."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PDEATHSIG, signal.SIGKILL)
        confine.stands(confine.unreadable_to_others)


def close_servers() -> None:
    """End the fork servers of this process."""
    while SERVERS:
        SERVERS.popitem()[1].close()


def cores(wanted: int | None) -> int:
    """How many processes to use: as many as wanted, or as there are cores for this one."""
    if wanted:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
