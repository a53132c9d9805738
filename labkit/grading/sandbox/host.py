"""The host's side: start the fork server, receive guests, run their cells, ask their functions."""

import builtins
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...exercise import Answer
from ...judge import CASTS
from ...plain import foreign
from .server import END, GUEST, KEEPER, READY, STATUS
from .wire import (
    LONGEST_TEXT,
    LONGEST_WORDS,
    OUT_OF_MEMORY,
    PATIENCE,
    Ended,
    TooSlow,
    Unreadable,
    exactly,
    receive,
    send,
)

START_SECONDS = 60.0
MOST_ERRORS = 1000
MOST_SETS = 3  # of numbers, of which a table may be about any: the first, and the last
MOST_ASKED, MOST_NAMES = 1000, 20  # times that a notebook may ask for numbers, and people of whom that is told
LONGEST_NAME, LONGEST_KIND = 200, 60  # characters
LONGEST_CELL, MOST_CELLS, LONGEST_NOTEBOOK = 1_000_000, 2_000, 8_000_000
TOO_LONG = "raise ValueError('this is too long to be run, the cell by itself or with all that stands before it')"
SLACK = 1.5  # seconds that a guest has beyond its own clock, before it is ended
PACKAGE_HOME = Path(__file__).resolve().parents[3]
PACKAGES = Path(np.__file__).parents[1]  # not among the usual folders, if NumPy is installed for one user only
KEPT = ("OPENBLAS_", "LD_LIBRARY_PATH", "DYLD_", "TMPDIR")  # variables without which NumPy or a room may be missing
START = (
    "import sys; sys.path[:] = [sys.argv[1], *sys.path, *{sys.argv[2]}.difference(sys.path)]; "
    "from labkit.grading.sandbox.server import main; sys.path.pop(0)"
)
NUMBERS_IN_WORDS = re.compile(r"\[[^]]*\]?|([-+]?\.?\w*\d[\w.]*)+")  # of an input that is kept back, for all we know
SHAPES = re.compile(r"(\w{1,80} \((\d{1,3}(, |,?(?=\))))*\)(, |$)){1,4}")
KNOWN = {*vars(builtins), *vars(np), *vars(np.linalg), *CASTS}  # names of Python's and NumPy's own
KNOWN |= {kind.__name__ for kind in vars(types).values() if isinstance(kind, type)}
OF_OURS = {"of", "shape", "type", "that", "is", "too", "long", "or", "goes", "deep"}  # see ``plain``

Numbers = Callable[[str, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Seconds:
    """How long a student's code may run.

    Attributes
    ----------
    cell, call : float
        Of computing, for one cell and for one call of a function. By the clock it may be ``PATIENCE`` times as many.
    submission : float
        By the clock, for all of a submission: many times what a right one takes, on a busy machine, too.
    """

    cell: float = 5.0
    call: float = 2.0
    submission: float = 300.0


class Gone(Exception):
    """The guest has ended, or was ended; ``str`` says how, in words for a student."""


class OutOfTime(Gone):
    """It took too long and was ended."""


@dataclass(frozen=True)
class Ran:
    """What the notebook's cells left.

    ``errors`` has a dict for each cell that was lost: cell, type, text, line, source, caret. ``functions`` are the
    wanted names that can be called, ``tables`` the wanted values. ``numbers`` are (name, attempt) of whose
    own numbers were asked for, the last first.
    """

    errors: tuple[dict, ...]
    functions: tuple[str, ...]
    tables: dict[str, Any]
    numbers: tuple[tuple[str, int], ...]
    numbers_of: tuple[str, ...]
    layers: tuple[str, ...]


class Server:
    """A clean process that forks guests. It may be shared: any process that was forked from this one may ask."""

    def __init__(self, layered: bool = True, preload: Iterable[str] = ()):
        self.requests, theirs = socket.socketpair()
        main = f"main({theirs.fileno()}, {bool(layered)}, {list(preload)!r})"
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", f"{START}; {main}", str(PACKAGE_HOME), str(PACKAGES)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=environment(),
                start_new_session=True,
            )
        self.is_ready = False
        self.idle: list[socket.socket] = []  # lanes to keepers that look after nobody
        self.owner = os.getpid()

    def wait(self) -> None:
        """Wait until it has imported what it needs."""
        if not self.is_ready:
            self.requests.settimeout(START_SECONDS)
            if self.requests.recv(1) != READY:
                raise RuntimeError("sandbox: the fork server must start; it ended. See its words above.")
            self.requests.settimeout(None)
            self.is_ready = True

    @property
    def is_running(self) -> bool:
        return is_there(self.requests)

    def guest(self, seconds: Seconds, until: float | None = None) -> "Guest":
        """Ask for a guest, whose time is up at some moment of the monotonic clock whatever it is at."""
        lane = self.lane()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(lane, [GUEST], [theirs.fileno()])
        return Guest(self, lane, ours, seconds, time.monotonic() + seconds.submission if until is None else until)

    def lane(self) -> socket.socket:
        """A socket to a keeper that looks after nobody, an earlier one if possible."""
        if self.owner != os.getpid():  # what was copied by a fork belongs to whom it was forked from
            self.idle, self.owner = [], os.getpid()
        while self.idle:
            if is_there(lane := self.idle.pop()):
                return lane
            lane.close()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.requests, [KEEPER], [theirs.fileno()])
        return ours

    def close(self) -> None:
        for one in (self.requests, *self.idle):
            one.close()
        self.process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_there(peer: socket.socket) -> bool:
    """Whether the other side of a socket, which has nothing to say, is still there."""
    peer.settimeout(None)
    try:
        return bool(peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError as error:
        return isinstance(error, BlockingIOError)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return kept | one_thread | {"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}


class Guest:
    """A process with a student's notebook in it. Whatever it says is taken for no more than an answer."""

    def __init__(self, server: Server, lane: socket.socket, data: socket.socket, seconds: Seconds, until: float):
        self.server, self.lane, self.data, self.seconds, self.until = server, lane, data, seconds, until
        self.cells: list[str] = []
        self.cell = -1  # that it is at
        self.stopped: set[int] = set()
        self.status: int | None = None
        self.is_left = False

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
        layers = texts(self.hear(START_SECONDS).get("layers"))  # this is said before any code of a student's runs
        self.cells = list(fitting(cells))
        asked: list[tuple[str, int]] = []
        left = sorted(set(range(len(self.cells))).difference(skip))
        self.tell({"cells": self.cells, "wanted": list(wanted), "skip": sorted(skip), "seconds": self.seconds.cell})
        due = time.monotonic() + PATIENCE * self.seconds.cell + SLACK
        while True:
            match self.hear(due - time.monotonic()):
                case {"began": int(cell)} if cell in left[:1]:
                    self.cell = left.pop(0)
                    due = time.monotonic() + PATIENCE * self.seconds.cell + SLACK
                case {"stopped": int(cell)} if cell == self.cell:
                    self.stopped.add(self.cell)
                case {"numbers": [str(name), int(attempt)]} if len(asked) < MOST_ASKED:
                    asked.append((name[:LONGEST_NAME], attempt))
                    self.tell({"numbers": dict(numbers(*asked[-1]))})
                case {"ran": dict(said)}:
                    return ran(said, wanted, len(self.cells), asked, layers)
                case _:
                    raise self.unreadable()

    def ask(self, function: str, inputs: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
        """Ask a function; the answers come as they are given, and end with one that took too long.

        Raises
        ------
        Gone
        """
        self.tell({"exercise": function, "ask": [dict(args) for args in inputs], "seconds": self.seconds.call})
        for args in inputs:
            said = answer(self.hear(PATIENCE * self.seconds.call + SLACK), args, self.cells)
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
            return receive(self.data, min(seconds, self.until - time.monotonic()), doubted=True)
        except Ended:
            raise self.gone() from None
        except TooSlow:
            self.leave()
            raise OutOfTime("it took too long") from None
        except Unreadable:
            raise self.unreadable() from None

    def unreadable(self) -> Gone:
        self.leave()
        return Gone("it answered with something that can't be read")

    def gone(self) -> Gone:
        """How the guest ended."""
        self.hear_status(SLACK)
        status = self.status
        self.leave()
        return Gone(how_ended(status))

    def hear_status(self, seconds: float) -> None:
        try:
            (self.status,) = STATUS.unpack(exactly(self.lane, STATUS.size, time.monotonic() + seconds))
        except (Ended, TooSlow):
            self.status = None

    def leave(self) -> None:
        """End the guest, and wait until all that it has started is gone."""
        self.data.close()
        if self.is_left:
            return
        self.is_left = True
        if self.status is None:
            with contextlib.suppress(OSError):
                self.lane.send(END)
            self.hear_status(START_SECONDS)
        if self.status is None:
            self.lane.close()
        else:
            self.server.idle.append(self.lane)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def how_ended(status: int | None) -> str:
    """A process's end in words for a student."""
    if status in (-signal.SIGKILL, -signal.SIGXCPU, OUT_OF_MEMORY):
        return "it used up its time or its memory"
    return "it ended the whole process" if status is None or status >= 0 else "it crashed the interpreter"


# ---- what a guest says -----------------------------------------------------------------------------------------------


def fitting(cells: Sequence[str]) -> Iterator[str]:
    """The cells as far as anybody reads them, and an error in place of what is too long to be run."""
    left = LONGEST_NOTEBOOK
    for source in cells[:MOST_CELLS]:
        left -= len(source)
        yield source if len(source) <= LONGEST_CELL and left >= 0 else TOO_LONG
    if len(cells) > MOST_CELLS:
        yield TOO_LONG


def ran(said: Mapping[str, Any], wanted: Sequence[str], cells: int, asked: list, layers: Sequence[str]) -> Ran:
    """Take from the guest's words what is of the form that is expected."""
    errors = [lost_cell(one) for one in as_list(said.get("errors"))[:MOST_ERRORS] if isinstance(one, dict)]
    tables, sets = said.get("tables"), tuple(dict.fromkeys(reversed(asked)))
    return Ran(
        errors=tuple(error for error in errors if 0 <= error["cell"] < cells),
        functions=tuple(name for name in texts(said.get("functions")) if name in wanted),
        tables={name: tables[name] for name in wanted if name in tables} if isinstance(tables, dict) else {},
        numbers=sets[: MOST_SETS - 1] + sets[MOST_SETS - 1 :][-1:],
        numbers_of=tuple(dict.fromkeys(name for name, _ in asked))[:MOST_NAMES],
        layers=tuple(layers),
    )


def lost_cell(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a cell that didn't run, each field of its own kind whatever the guest said."""
    words = {name: words_in(said, name) for name in ("type", "text", "source")}
    numbers = {name: said[name] if type(said.get(name)) is int else 0 for name in ("cell", "line", "caret")}
    return numbers | words


def answer(message: Mapping[str, Any], args: Mapping[str, Any], cells: Sequence[str]) -> Answer:
    """An answer, each of whose fields is of its own kind whatever the guest said.

    What a function is asked with is kept back: no text may pass on its numbers. So a line or a name is shown only if
    it stands in the notebook or in NumPy, and any other text without its digits or not at all.
    """
    line, shapes = words_in(message, "line"), words_in(message, "shapes")
    line = line if any(line in cell for cell in cells) else ""
    names = set(re.findall(r"\w+(?= \()", shapes))
    said = Answer(
        line=line,
        shapes=shapes if SHAPES.fullmatch(shapes) and names.issubset(re.findall(r"\w+", line)) else "",
        printed=words_in(message, "printed", LONGEST_TEXT),
        unattempted=message.get("unattempted") is True,
        timed_out=message.get("timed_out") is True,
    )
    if kind := words_in(message, "error_type"):
        words = NUMBERS_IN_WORDS.sub(lambda said: said[0] if said[0] in KNOWN else "…", words_in(message, "error"))
        known = is_known(kind, cells)
        return replace(said, error=words, error_type=kind[:LONGEST_KIND] if known else "an error of its own")
    altered = texts(message.get("altered"))
    value = without_texts(message.get("value"), cells)
    return replace(said, value=value, altered=tuple(name for name in args if name in altered))


def without_texts(value: Any, cells: Sequence[str]) -> Any:
    """The same value with a stand-in for each text, and for each name of a type that nobody knows."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        items = [without_texts(item, cells) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        kind, *more = re.findall(r"\w+", type(value).__name__) or [""]
        is_ours = is_known(kind, cells) and all(word in OF_OURS or word in KNOWN or word.isdigit() for word in more)
        return foreign(type(value).__name__ if is_ours else "object of its own")
    return value


def is_known(name: str, cells: Sequence[str]) -> bool:
    """Whether a name is Python's or NumPy's, or stands in the notebook."""
    return name in KNOWN or (name.isidentifier() and any(re.search(rf"\b{name}\b", cell) for cell in cells))


def words_in(said: Mapping[str, Any], name: str, most: int = LONGEST_WORDS) -> str:
    return said[name][:most] if isinstance(said.get(name), str) else ""


def texts(value: Any) -> list[str]:
    return [one for one in as_list(value) if isinstance(one, str)]


def as_list(value: Any) -> list:
    return list(value) if isinstance(value, list | tuple) else []
