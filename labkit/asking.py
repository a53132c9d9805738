"""Ask a function with arguments and keep all that came of it: the value, or the error and where it arose."""

import contextlib
import dis
import io
import linecache
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from .answer import words_of
from .exercise import Answer

SECONDS = 10.0  # for one question; a right answer takes less than a thousandth of this
AGAIN = 0.05  # seconds until a function that went on is stopped once more
MOST_PRINTED = 10_000  # characters
OURS = str(Path(__file__).parent)


class TimeUp(BaseException):
    """Not an Exception, so that a student's ``except Exception`` doesn't swallow it."""


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, and counts the rest: a function may print more than fits into memory."""

    def __init__(self) -> None:
        self.kept, self.left_out = "", 0

    def write(self, text: str) -> int:
        kept = text[: MOST_PRINTED - len(self.kept)]
        self.kept += kept
        self.left_out += len(text) - len(kept)
        return len(text)

    @property
    def text(self) -> str:
        return self.kept + (f"… and {self.left_out} more characters" if self.left_out else "")


def ask(function: Callable, args: Mapping[str, Any], seconds: float = SECONDS) -> Answer:
    """Call ``function`` with copies of the arguments, in the order in which they stand.

    Parameters
    ----------
    function : callable
        A student's, which may do anything.
    args : dict
        By name, in the order of the signature; never altered.
    seconds : float
        After that it is stopped, where the system can (see ``timed``).

    Returns
    -------
    Answer
        Whatever the function raises is in it; ``KeyboardInterrupt`` alone goes through.
    """
    copies = {name: copied(value) for name, value in args.items()}
    printed = Printed()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = timed(function, copies.values(), seconds)
    except TimeUp:
        return Answer(timed_out=True)
    except NotImplementedError as error:
        return replace(failed(error, printed.text), unattempted=True)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a student's code may raise anything, SystemExit included
        return failed(error, printed.text)
    return Answer(
        value=value,
        printed=printed.text,
        altered=tuple(name for name, value in args.items() if not unchanged(value, copies[name])),
        unattempted=value is Ellipsis or (value is None and is_empty(function)),
    )


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray | list) else value


def unchanged(before: Any, after: Any) -> bool:
    """Whether an argument is still what it was."""
    if isinstance(before, np.ndarray):
        return before.shape == after.shape and np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
    return before == after


def is_empty(function: Callable) -> bool:
    """Whether a function's body is nothing but a docstring, ``...`` or ``pass``."""
    code = getattr(function, "__code__", None)
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return code is not None and all(step.opname in idle for step in dis.get_instructions(code))


def timed(function: Callable, args: Iterable[Any], seconds: float) -> Any:
    """Call a function, and stop it if it takes too long, where the system can (main thread, with interval timers)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return function(*args)
    tracing, earlier = sys.gettrace(), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        return function(*args)
    finally:
        sys.settrace(tracing)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def stop(signum: int, frame: FrameType | None) -> None:
    """Raise ``TimeUp`` in the student's code, and once more at its next line."""
    # A bare except swallows the first TimeUp; the next line, which is the except's own, then raises another.
    while frame is not None and is_students(frame):
        frame.f_trace = stop_at_line
        frame = frame.f_back
    sys.settrace(stop_at_line)
    raise TimeUp


def stop_at_line(frame: FrameType, event: str, arg: Any) -> Callable:
    if event == "line":
        raise TimeUp
    return stop_at_line


def failed(error: BaseException, printed: str) -> Answer:
    """The error with the last line that is the student's own, and the shapes that met there."""
    told = Answer(error=words_of(error), error_type=type(error).__name__, printed=printed)
    own = [(frame, number) for frame, number in traceback.walk_tb(error.__traceback__) if is_students(frame)]
    if not own:
        return told
    frame, number = own[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    return replace(told, line=line, shapes=shapes_on(line, frame))


def is_students(frame: FrameType) -> bool:
    """Whether a frame runs neither our code, nor Python's own, nor an installed package's."""
    file = frame.f_code.co_filename
    return not (file.startswith((OURS, "<frozen", sys.base_prefix)) or "site-packages" in file)


def shapes_on(line: str, frame: FrameType) -> str:
    """Shapes of the arrays that a line names, such as "Q (5, 3), K (7, 3)"."""
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    known = {**frame.f_globals, **frame.f_locals}
    shapes = [f"{name} {known[name].shape}" for name in names if isinstance(known.get(name), np.ndarray)]
    return ", ".join(shapes[:4])
