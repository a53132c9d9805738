"""The host's side: start the fork server, receive guests, run their cells, ask their functions."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ...exercise import Answer
from .server import READY
from .wire import OUT_OF_MEMORY, Ended, TooSlow, Unreadable, receive, send

START_SECONDS = 60.0
MOST_ERRORS = 1000
SLACK = 1.5  # seconds that a guest has beyond its own clock, before it is ended
PACKAGE_HOME = Path(__file__).resolve().parents[3]
KEPT = ("OPENBLAS_", "LD_LIBRARY_PATH", "DYLD_")  # variables without which NumPy may not load
START = "import sys; sys.path.insert(0, sys.argv[1]); from labkit.grading.sandbox.server import main; sys.path.pop(0)"

Numbers = Callable[[str, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Seconds:
    """How long a student's code may run: one cell, one call of a function, all of a submission."""

    cell: float = 5.0
    call: float = 2.0
    submission: float = 60.0


class Gone(Exception):
    """The guest has ended, or was ended; ``str`` says how, in words for a student."""


class OutOfTime(Gone):
    """It took too long and was ended."""


@dataclass(frozen=True)
class Ran:
    """What the notebook's cells left.

    ``errors`` has a dict for each cell that was lost: cell, type, text, line, caret. ``functions`` are the wanted
    names that can be called, ``aliases`` the other functions that were checked as an exercise, ``tables`` the wanted
    values. ``numbers`` is (name, attempt) of the student whose own numbers were asked for last.
    """

    errors: tuple[dict, ...]
    functions: tuple[str, ...]
    tables: dict[str, Any]
    numbers: tuple[str, int] | None
    numbers_of: tuple[str, ...]
    layers: tuple[str, ...]


class Server:
    """A clean process that forks guests. It may be shared: any process that was forked from this one may ask."""

    def __init__(self, layered: bool = True, preload: Iterable[str] = ()):
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        descriptor = theirs.fileno()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-c",
                f"{START}; main({descriptor}, {bool(layered)}, {list(preload)!r})",
                str(PACKAGE_HOME),
            ],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            start_new_session=True,
        )
        theirs.close()
        self.is_ready = False

    def wait(self) -> None:
        """Wait until it has imported what it needs."""
        if not self.is_ready:
            self.requests.settimeout(START_SECONDS)
            if self.requests.recv(16) != READY:
                raise RuntimeError("sandbox: the fork server must start; it ended. See its words above.")
            self.requests.settimeout(None)
            self.is_ready = True

    def guest(self, seconds: Seconds) -> "Guest":
        ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
        socket.send_fds(self.requests, [b"guest"], [one.fileno() for one in theirs])
        for one in theirs:
            one.close()
        return Guest(*ours, seconds)

    def close(self) -> None:
        self.requests.close()
        self.process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return kept | one_thread | {"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}


class Guest:
    """A process with a student's notebook in it. Whatever it says is taken for no more than an answer."""

    def __init__(self, control: socket.socket, data: socket.socket, seconds: Seconds):
        self.control, self.data, self.seconds = control, data, seconds
        self.cell, self.stopped = -1, set()

    def run(self, cells: Sequence[str], wanted: Sequence[str], skip: Iterable[int], numbers: Numbers) -> Ran:
        """Run the cells in their order.

        Parameters
        ----------
        cells : list of str
        wanted : list of str
            Names of functions and tables.
        skip : set of int
            Cells that ended an earlier guest.
        numbers : callable(name, attempt) -> dict
            A student's own numbers.

        Raises
        ------
        Gone
            ``self.cell`` is then the cell that it was at.
        """
        self.tell({"cells": list(cells), "wanted": list(wanted), "skip": sorted(skip), "seconds": self.seconds.cell})
        until, asked = time.monotonic() + self.seconds.submission, []
        while True:
            message = self.hear(min(self.seconds.cell + SLACK, max(until - time.monotonic(), 0)))
            if "began" in message:
                self.cell = int(message["began"])
            elif "stopped" in message:
                self.stopped.add(int(message["stopped"]))
            elif "numbers" in message:
                name, attempt = message["numbers"]
                asked.append((str(name), int(attempt)))
                self.tell({"numbers": dict(numbers(*asked[-1]))})
            elif "ran" in message:
                return ran(message, asked)

    def ask(self, function: str, inputs: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
        """Ask a function; the answers come as they are given, and end with one that took too long.

        Raises
        ------
        Gone
        """
        self.tell({"exercise": function, "ask": [dict(args) for args in inputs], "seconds": self.seconds.call})
        for _ in inputs:
            said = answer(self.hear(self.seconds.call + SLACK))
            yield said
            if said.timed_out:
                return

    def tell(self, message: Mapping[str, Any]) -> None:
        try:
            send(self.data, message, SLACK)
        except (Ended, TooSlow):
            raise self.gone() from None

    def hear(self, seconds: float) -> dict[str, Any]:
        """The guest's next words; a guest that is gone, speaks too late or can't be understood is ended."""
        try:
            return receive(self.data, seconds)
        except Ended:
            raise self.gone() from None
        except TooSlow:
            self.leave()
            raise OutOfTime("it took too long") from None
        except Unreadable:
            self.leave()
            raise Gone("it answered with something that can't be read") from None

    def gone(self) -> Gone:
        """How the guest ended."""
        try:
            status = receive(self.control, SLACK)["ended"]
        except (Ended, TooSlow, Unreadable, KeyError):
            status = None
        self.leave()
        return Gone(how_ended(status))

    def leave(self) -> None:
        """End the guest, and wait until all that it has started is gone."""
        self.data.close()
        with self.control:
            try:
                self.control.shutdown(socket.SHUT_WR)
                self.control.settimeout(START_SECONDS)
                while self.control.recv(4096):
                    pass
            except OSError:
                pass

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_) -> None:
        self.leave()


def how_ended(status: int | None) -> str:
    """A process's end in words for a student."""
    if status in (-signal.SIGKILL, -signal.SIGXCPU, OUT_OF_MEMORY):
        return "it used up its time or its memory"
    return "it ended the whole process" if status is None or status >= 0 else "it crashed the interpreter"


def ran(message: Mapping[str, Any], asked: list[tuple[str, int]]) -> Ran:
    """Take from the guest's words what is of the form that is expected."""
    said = message["ran"] if isinstance(message["ran"], dict) else {}
    return Ran(
        errors=tuple(lost_cell(one) for one in as_list(said.get("errors"))[:MOST_ERRORS]),
        functions=tuple(map(str, as_list(said.get("functions")))),
        tables=said.get("tables") if isinstance(said.get("tables"), dict) else {},
        numbers=asked[-1] if asked else None,
        numbers_of=tuple(dict.fromkeys(name for name, _ in asked)),
        layers=tuple(map(str, as_list(said.get("layers")))),
    )


def lost_cell(said: Any) -> dict[str, Any]:
    """What is told of a cell that didn't run, each field of its own kind whatever the guest said."""
    said = said if isinstance(said, dict) else {}
    numbers = {name: said[name] if type(said.get(name)) is int else 0 for name in ("cell", "line", "caret")}
    return numbers | {name: str(said.get(name, ""))[:300] for name in ("type", "text", "source")}


def as_list(value: Any) -> list:
    return value if isinstance(value, list) else []


def answer(message: Mapping[str, Any]) -> Answer:
    """An answer, each of whose fields is of its own kind whatever the guest said."""
    kinds = {one.name: type(one.default) for one in fields(Answer) if one.name != "value"}
    said = {name: value for name, value in message.items() if name in kinds and isinstance(value, kinds[name])}
    if "altered" in said:
        said["altered"] = tuple(str(one) for one in said["altered"])
    texts = {name: value[:10_000] for name, value in said.items() if isinstance(value, str)}
    return Answer(**{**said, **texts, "value": message.get("value")})
