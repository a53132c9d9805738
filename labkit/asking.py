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

from .exercise import Answer

SECONDS = 10.0  # for one question; a right answer takes less than a thousandth of this
AGAIN = 0.05
MOST_PRINTED = 10_000
MOST_WORDS = 300
OURS = str(Path(__file__).parent)


class TimeUp(BaseException):
    """Not an Exception, so that a student's ``except Exception`` doesn't swallow it."""


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, and counts the rest: a function may print more than fits into memory."""

    def __init__(self):
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
    """Call ``function`` with copies of the arguments, in the order in which they stand."""
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


def stop(signum: int, frame: FrameType | None):
    # A bare except swallows the first TimeUp; the next line, which is the except's own, then raises another.
    while frame is not None and is_students(frame):
        frame.f_trace = stop_at_line
        frame = frame.f_back
    sys.settrace(stop_at_line)
    raise TimeUp


def stop_at_line(frame: FrameType, event: str, arg: Any):
    if event == "line":
        raise TimeUp
    return stop_at_line


def failed(error: BaseException, printed: str) -> Answer:
    """The error with the last line that is the student's own, and the shapes that met there."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if is_students(frame)]
    numbers = [line for frame, line in traceback.walk_tb(error.__traceback__) if is_students(frame)]
    line = linecache.getline(frames[-1].f_code.co_filename, numbers[-1]).strip() if frames else ""
    return Answer(
        error=words_of(error),
        error_type=type(error).__name__,
        line=line,
        shapes=shapes_on(line, frames[-1]) if frames else "",
        printed=printed,
    )


def words_of(error: BaseException) -> str:
    """The first line of an error's text, in as many characters as anyone reads."""
    try:
        lines = str(error).splitlines()
    except Exception:  # an error of the student's own may fail to say what it is
        lines = []
    return (lines[0] if lines else "no message")[:MOST_WORDS]


def is_students(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not (file.startswith((OURS, "<frozen", sys.base_prefix)) or "site-packages" in file)


def shapes_on(line: str, frame: FrameType) -> str:
    """Shapes of the arrays that a line names, such as "Q (5, 3), K (7, 3)"."""
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    known = {**frame.f_globals, **frame.f_locals}
    shapes = [f"{name} {known[name].shape}" for name in names if isinstance(known.get(name), np.ndarray)]
    return ", ".join(shapes[:4])
