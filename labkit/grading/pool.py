"""Grade many submissions at once: on the cores of this machine, or on a Dask cluster."""

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path

from .grader import grade
from .sandbox import confine
from .sandbox.host import Seconds, Server
from .submission import SYSTEM_ERROR, Graded, Submission

PACKAGE = Path(__file__).resolve().parents[1]
MOST_TRIES = 3
SLACK = 60.0  # seconds that a worker may be at a submission beyond the time that its code has, before it is ended
BROKE = "The process that graded it ended, or had to be ended, each time. That is not the student's fault."

if sys.platform == "linux":
    CONTEXT = multiprocessing.get_context("fork")
else:
    CONTEXT = multiprocessing.get_context("spawn")


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

    A worker that dies, or is at one submission for too long, takes nothing with it: what it was at is tried again after
    the others, and is a system error after three tries. The workers end with this iterator, whatever they are at.
    """
    if executor:
        yield from on_cluster(executor, submissions, job, workers)
        return
    waiting, tries = deque(submissions), Counter[Submission]()
    crew: list[Worker] = []
    try:
        while waiting and len(crew) < workers:
            crew.append(Worker(job, waiting.popleft()))
        while crew:
            for worker in done(crew):
                one, graded = worker.one, worker.result()
                tries[one] += 1
                if graded is None and tries[one] < MOST_TRIES:
                    waiting.append(one)
                if waiting:
                    worker.give(waiting.popleft())  # before the result is stored, which takes its time
                else:
                    crew.remove(worker)
                    worker.end()
                if graded or tries[one] == MOST_TRIES:
                    yield one, graded or Graded(SYSTEM_ERROR, BROKE, remarks=one.remarks)
    finally:
        for worker in crew:
            worker.end()


class Worker:
    """A process that grades one submission at a time."""

    def __init__(self, job: Job, one: Submission):
        self.job = job
        self.start()
        self.give(one)

    def start(self) -> None:
        if sys.platform == "linux":
            server_for(self.job)  # which all of them share
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=work, args=(theirs, self.job), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, one: Submission) -> None:
        """Let it begin with a submission, in a new process if it has none."""
        if not self.process.is_alive():
            self.end()
            self.start()
        self.one, self.due = one, time.monotonic() + self.job.seconds.submission + SLACK
        with suppress(OSError):  # it has just died, as `result` will find
            self.pipe.send(one)

    def result(self) -> Graded | None:
        """What came of its submission; None if it has died of it or isn't done, and then it is ended."""
        with suppress(EOFError, OSError):
            if self.pipe.poll():
                return self.pipe.recv()
        self.end()
        return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def done(crew: Sequence[Worker]) -> list[Worker]:
    """Wait for those that have a result, have died, or are at one submission for too long."""
    soonest = min(worker.due for worker in crew)
    ready = connection.wait([worker.pipe for worker in crew], max(0, soonest - time.monotonic()))
    return [worker for worker in crew if worker.pipe in ready or worker.due < time.monotonic()]


def work(pipe: connection.Connection, job: Job) -> None:
    """What a worker does: leave interrupts to its parent, end with it, let nobody look in, and grade."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        confine.stands(confine.end_with_parent)
        confine.stands(confine.unreadable_to_others)
    with suppress(EOFError):
        while True:
            pipe.send(grade_here(pipe.recv(), job))


def on_cluster(
    executor: Executor, submissions: Sequence[Submission], job: Job, workers: int
) -> Iterator[tuple[Submission, Graded]]:
    """Keep a cluster's workers busy; what it gives up on is a system error."""
    waiting = deque(submissions)
    under_way: dict[Future, Submission] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < 2 * workers:
                one = waiting.popleft()
                under_way[executor.submit(grade_here, one, job)] = one
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                one = under_way.pop(future)
                try:
                    graded = future.result()
                except Exception as error:  # after it has ended several of the workers
                    graded = Graded(SYSTEM_ERROR, f"{BROKE} ({type(error).__name__})", remarks=one.remarks)
                yield one, graded
    finally:
        for future in under_way:
            future.cancel()


def close_servers() -> None:
    """End the fork servers of this process."""
    while SERVERS:
        SERVERS.popitem()[1].close()


def cores(wanted: int | None) -> int:
    """How many processes to use: as many as wanted, or as there are cores for this one."""
    if wanted:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
