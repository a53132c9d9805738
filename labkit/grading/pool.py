"""Grade many submissions at once: on the cores of this machine, or on a Dask cluster."""

import ctypes
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

from .grader import grade
from .sandbox import confine
from .sandbox.host import Seconds, Server
from .submission import SYSTEM_ERROR, Graded, Submission

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


SERVERS: dict[tuple, Server] = {}  # of this process: one for each kind of job, started when it is first needed
STARTING = threading.Lock()  # a cluster's worker may have several threads


def grade_here(submission: Submission, job: Job) -> Graded:
    """Grade a submission in this process."""
    return grade(submission, server_for(job), job.secret, job.seconds)


def server_for(job: Job) -> Server:
    key = (job.layered, job.preload)
    with STARTING:
        return started(key)


def started(key: tuple) -> Server:
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
        with suppress(BrokenProcessPool), pool(job, workers) as processes:
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
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # a cluster gives up on what has ended several of its workers
        return Graded(SYSTEM_ERROR, f"{BROKE} ({type(error).__name__})", remarks=one.remarks)


def pool(job: Job, workers: int) -> ProcessPoolExecutor:
    """Processes that share one fork server where they can be forked."""
    if sys.platform == "linux":
        server_for(job)
        context = multiprocessing.get_context("fork")
    else:
        context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, begin)


def begin() -> None:
    """Leave interrupts to the parent, end with it, and let nobody look in."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PDEATHSIG, signal.SIGKILL)
        confine.stands(confine.unreadable_to_others)


def close_servers() -> None:
    while SERVERS:
        SERVERS.popitem()[1].close()


def cores(wanted: int | None) -> int:
    if wanted:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
