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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from .answer import words_of
from .exercise import Answer
from .plain import plain, same

SECONDS = 10.0  # for one question, or all of a check: a right answer takes less than a thousandth of this
AGAIN = 0.05  # seconds until a function that went on is stopped once more
SOON, MOST_MOMENTS = 1e-5, 50  # seconds, and how many times as many in turn, until one that still goes on is
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


def ask(function: Callable, args: Mapping[str, Any], seconds: float = SECONDS, patience: float = 1) -> Answer:
    """Call ``function`` with copies of the arguments, in the order in which they stand.

    Parameters
    ----------
    function : callable
        A student's, which may do anything.
    args : dict
        By name, in the order of the signature; never altered.
    seconds : float
        Of computing, for all that is the student's: to read what came back, or an error's own words, counts, too.
        After that it is stopped, where the system can (see ``timed``).
    patience : float
        How many times as long it may take by the clock.

    Returns
    -------
    Answer
        Whatever the function raises is in it; ``KeyboardInterrupt`` alone goes through. Its value is ``plain``.
    """
    printed = Printed()
    try:
        with kept_in(printed), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return timed(lambda: answered(function, args, printed), seconds, patience)
    except TimeUp:
        return Answer(timed_out=True)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an error of a student's may raise another when it is asked what it is
        return Answer(error="no message", error_type=type(error).__name__, printed=printed.text)


@contextlib.contextmanager
def kept_in(printed: Printed) -> Iterator[None]:
    """Keep what is printed from showing, and in IPython what is displayed, too."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    with contextlib.redirect_stdout(printed):
        if shell is None:
            yield
            return
        from IPython.core.displaypub import CapturingDisplayPublisher

        earlier, publisher = shell.display_pub, CapturingDisplayPublisher()
        words = "text/plain"
        publisher.publish = lambda data, *_, **__: print(data.get(words, ""), file=printed)  # type: ignore[method-assign]
        shell.display_pub = publisher
        try:
            yield
        finally:
            shell.display_pub = earlier


def answered(function: Callable, args: Mapping[str, Any], printed: Printed) -> Answer:
    """Call a function and take over what came of it."""
    copies = {name: value.copy() if isinstance(value, np.ndarray | list) else value for name, value in args.items()}
    try:
        value = plain(function(*copies.values()))
    except (TimeUp, KeyboardInterrupt):
        raise
    except NotImplementedError as error:
        return unwritten(error, function, printed.text)
    except BaseException as error:  # a student's code may raise anything, SystemExit included
        return failed(error, printed.text)
    return Answer(
        value=value,
        printed=printed.text,
        altered=tuple(name for name, value in args.items() if not same(value, copies[name])),
        unattempted=value is Ellipsis or (value is None and is_empty(function)),
    )


def unwritten(error: NotImplementedError, function: Callable, printed: str) -> Answer:
    """A placeholder's error; if that stands in another function, with the line that calls it, and with its name."""
    told = replace(failed(error, printed), unattempted=True)
    own = students_lines(error)
    code = getattr(function, "__code__", None)
    calls = [(frame, number) for frame, number in own if frame.f_code is code]
    if not calls or own[-1][0].f_code is code:
        return told
    placeholder = own[-1][0].f_code
    return replace(told, error=f"it calls {placeholder.co_name}, which isn't written yet", line=line_at(*calls[-1]))


def is_empty(function: Callable) -> bool:
    """Whether a function's body is nothing but a docstring, ``...`` or ``pass``."""
    code = getattr(function, "__code__", None)
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return code is not None and all(step.opname in idle for step in dis.get_instructions(code))


def timed(call: Callable[[], Any], seconds: float, patience: float = 1) -> Any:
    """Call ``call``, and stop it if it takes too long, where the system can (main thread, with interval timers).

    Raises
    ------
    TimeUp
        After so many seconds of computing in this process, however busy the machine is with others, or ``patience``
        times as many by the clock, for who waits.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return call()
    done, stops = False, 0

    def stop(signum: int, frame: FrameType | None) -> None:
        """Raise ``TimeUp`` in the student's code, and once more at its next line."""
        nonlocal stops
        if done:  # an alarm that was on its way when the call ended
            return
        stops += 1
        if stops > 2:  # loops that swallow it by turns: at some moment it comes between them
            signal.setitimer(signal.ITIMER_REAL, SOON * (stops % MOST_MOMENTS + 1), AGAIN)
        # A bare except swallows the first TimeUp; the next line, which is the except's own, then raises another.
        while frame is not None and is_students(frame):
            frame.f_trace = stop_at_line
            frame = frame.f_back
        sys.settrace(stop_at_line)
        raise TimeUp

    limits = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, patience * seconds)}
    tracing, earlier = sys.gettrace(), {one: signal.signal(one, stop) for one in limits}
    try:
        for timer, limit in limits.values():
            signal.setitimer(timer, limit, AGAIN)
        return call()
    finally:
        done = True  # first of all: from now on no alarm interrupts what follows
        sys.settrace(tracing)
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        for one, handler in earlier.items():
            signal.signal(one, handler or signal.SIG_DFL)


def stop_at_line(frame: FrameType, event: str, arg: Any) -> Callable | None:
    """Trace student's code alone: what else may run in between, such as the garbage collector's callbacks, goes on."""
    if event == "line":
        raise TimeUp
    return stop_at_line if is_students(frame) else None


def failed(error: BaseException, printed: str) -> Answer:
    """The error with the last line that is the student's own, and the shapes that met there."""
    told = Answer(error=words_of(error), error_type=type(error).__name__, printed=printed)
    own = students_lines(error)
    if not own:
        return told
    frame, _ = own[-1]
    line = line_at(*own[-1])
    return replace(told, line=line, shapes="" if isinstance(error, NameError) else shapes_on(line, frame))


def students_lines(error: BaseException) -> list[tuple[FrameType, int]]:
    """Where an error came through student's code: frames and numbers of lines, the last where it arose."""
    return [(frame, number) for frame, number in traceback.walk_tb(error.__traceback__) if is_students(frame)]


def line_at(frame: FrameType, number: int) -> str:
    """A line of the code that a frame runs."""
    return linecache.getline(frame.f_code.co_filename, number).strip()


def is_students(frame: FrameType) -> bool:
    """Whether a frame runs neither our code, nor Python's own, nor an installed package's."""
    file = frame.f_code.co_filename
    return not (file.startswith((OURS, "<frozen", sys.base_prefix)) or "site-packages" in file)


def shapes_on(line: str, frame: FrameType) -> str:
    """Shapes of the arrays that a line names, such as "Q (5, 3), K (7, 3)"."""
    code, names = frame.f_code, dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    local = {*code.co_varnames, *code.co_cellvars}  # even if they have no value yet, and a global one has
    known = {name: value for name, value in frame.f_globals.items() if name not in local} | frame.f_locals
    shapes = [f"{name} {known[name].shape}" for name in names if isinstance(known.get(name), np.ndarray)]
    return ", ".join(shapes[:4])
