"""In the guest: run the notebook's cells once, then answer what the host asks of its functions.

All that stands here may be overwritten by the student's code, and may be read by it. It decides nothing.
"""

import ast
import asyncio
import builtins
import inspect
import linecache
import os
import random
import re
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ...answer import words_of
from ...asking import TimeUp, ask, is_students, timed
from ...exercise import Answer
from ...plain import foreign
from . import standin
from .wire import LARGEST_FRAME, OUT_OF_MEMORY, PATIENCE, frame, receive, send, send_frames

MAGIC = re.compile(r"(\s*)(?:([\w\s,]+=)\s*[%!].*|[%!?].*|[\w.]+\s*\?+\s*$)")
TIMED = re.compile(r"(\s*(?:[\w\s,]+=\s*)?)%time\s+(.*)")  # what it times is Python, and counts
PROMPT = re.compile(r">>>(?: |$)|In \[\d+\]: ")  # copied along with code from a console
PROMPTS = re.compile(r"(?m)^(?:(?:>>>|\.\.\.)(?: |$)|In \[\d+\]: | +\.\.\.: ?)")
MOST_WAITED_FOR, LEAST_SHARE = 2, 0.1  # endless cells; each one more halves the time of the next, down to this share
MOST_STUMBLES = 20  # over magics, one by one; then all that look like one are left out
LARGEST_TABLE = 20_000  # bytes; a table has some dozens of cells
TABLE_SECONDS = 0.5  # for an object of a class of one's own to say what it holds
SOON = 0.02  # seconds: many small answers go together
UNSAID = vars(Answer())
ME: list[int] = []
BASH = re.compile(r"\s*%%(?!time|capture|prun)")  # a cell that holds no Python


def forget_labkit() -> None:
    """Leave no way to labkit itself: what the guest needs of it is at hand already."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "labkit"]:
        del sys.modules[name]


def serve(host: socket.socket, layers: Iterable[str]) -> None:
    """Run the cells that the host sends, then ask functions as long as the host wants."""
    ME[:] = [os.getpid()]
    send(host, {"layers": list(layers)})  # before there is anybody else's code that might say something else
    message = receive(host)
    given: dict[tuple[str, int], dict] = {}
    cells_run = True

    def numbers(name: str, attempt: int) -> dict[str, Any]:
        if not isinstance(name, str) or not name.strip():
            raise ValueError("student: your name must be a text that isn't empty. Write student('ada').")
        if cells_run:
            send(host, {"numbers": [name, attempt]})
            given[name, attempt] = receive(host)["numbers"]
        elif (name, attempt) not in given:  # the host waits for an answer now, and for no question
            raise RuntimeError("student: a cell must ask for numbers; got a call in a function. Move it to a cell.")
        return given[name, attempt]

    labkit = standin.install(numbers)
    main = new_main()
    errors = run_cells(host, main, message)
    cells_run = False
    send(host, {"ran": found(main, labkit, message["wanted"]) | {"errors": errors}})
    functions = labkit.aliases | {name: value for name, value in main.__dict__.items() if callable(value)}
    answer_all(host, functions)


def new_main() -> ModuleType:
    """The module in which the cells run, and what Jupyter puts at hand there."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(display=print, get_ipython=standin.Idle())
    builtins.input = nobody_to_answer
    random.seed(0)
    np.random.seed(0)
    warnings.simplefilter("ignore")
    return main


def only_the_guest() -> None:
    """Here a process ends that the student's code has forked: one is to go on, not two."""
    if os.getpid() != ME[0]:
        os._exit(0)


def nobody_to_answer(prompt: object = "") -> str:
    raise EOFError("input() was called, and there is nobody to answer while grading")


# ---- cells -----------------------------------------------------------------------------------------------------------


def run_cells(host: socket.socket, main: ModuleType, message: Mapping[str, Any]) -> list[dict]:
    """Run each cell, whatever came of those before it; a dict for each that was lost."""
    errors, stopped = [], 0
    for number, source in enumerate(message["cells"]):
        if number in message["skip"]:
            continue
        send(host, {"began": number})
        share = max(0.5 ** max(0, stopped - MOST_WAITED_FOR), LEAST_SHARE)
        error = run_cell(main, number, source, share * message["seconds"])
        only_the_guest()
        if error.get("type") == "MemoryError":
            os._exit(OUT_OF_MEMORY)  # what it holds may stay; the next guest passes over this cell
        if error.get("type") == "TimeUp":
            stopped += 1
            send(host, {"stopped": number})
        if error:
            errors.append({"cell": number, **error})
    return errors


def run_cell(main: ModuleType, number: int, source: str, seconds: float) -> dict[str, Any]:
    """Run one cell; what went wrong, if something did."""
    file = f"<cell {number + 1}>"
    try:
        code = compiled(source, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return not_python(error, source)
    try:
        timed(lambda: execute(code, main), seconds, PATIENCE)
    except TimeUp:
        return {
            "type": "TimeUp",
            "text": f"it was stopped after {seconds:g} second{'s' * (seconds != 1)}",
            "line": 0,
            "source": "",
            "caret": 0,
        }
    except BaseException as error:  # a student's code may raise anything, SystemExit included
        line = line_of(error, file)
        return told(error, line, linecache.getline(file, line))
    return {}


def not_python(error: BaseException, source: str) -> dict[str, Any]:
    """What is wrong with a cell that can't be compiled; of some errors Python knows the line's number only."""
    line, text = getattr(error, "lineno", 0) or 0, getattr(error, "text", None)
    if text is None:
        return told(error, line, "".join(source.split("\n")[line - 1 : line]))
    return told(error, line, text, getattr(error, "offset", 0))


def execute(code: Any, main: ModuleType) -> None:
    result = eval(code, main.__dict__)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(result)


def told(error: BaseException, line: int | None, source: str, caret: int | None = 0) -> dict[str, Any]:
    words = error.msg if isinstance(error, SyntaxError) and error.msg else words_of(error)
    return {
        "type": type(error).__name__,
        "text": words,
        "line": line or 0,
        "source": source.rstrip("\n")[:200],
        "caret": caret or 0,
    }


def line_of(error: BaseException, file: str) -> int:
    line, step = 0, error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == file and is_students(step.tb_frame):
            line = step.tb_lineno
        step = step.tb_next
    return line


def compiled(source: str, file: str) -> Any:
    """The cell as Python, without what only IPython understands; no shell ever runs."""
    source = without_margin("" if BASH.match(source) else source)
    source, code = without_magics(source.split("\n"), file)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return code


def without_margin(source: str) -> str:
    """Without what Jupyter takes off each line, too: the first line's indentation, and a console's prompts."""
    first = next(filter(str.strip, source.split("\n")), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    source = "\n".join(line.removeprefix(indent) for line in source.split("\n"))
    return PROMPTS.sub("", source) if PROMPT.match(first.removeprefix(indent)) else source


def without_magics(lines: list[str], file: str) -> tuple[str, Any]:
    """The source and its code; a magic is left out where Python stumbles over it, since texts have such lines, too."""
    for _ in range(MOST_STUMBLES):
        try:
            return python(lines, file)
        except SyntaxError as error:
            if not left_out(lines, (error.lineno or 0) - 1):
                break
    for number in range(len(lines)):
        left_out(lines, number)
    return python(lines, file)


def python(lines: list[str], file: str) -> tuple[str, Any]:
    source = "\n".join(lines)
    return source, compile(source, file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def left_out(lines: list[str], number: int) -> bool:
    """Put Python in place of a line and what continues it, if it is a magic."""
    magic = MAGIC.fullmatch(lines[number]) if 0 <= number < len(lines) else None
    if not magic:
        return False
    if timed := TIMED.fullmatch(lines[number]):
        lines[number] = timed[1] + timed[2]
        return True
    goes_on = lines[number].endswith("\\")
    lines[number] = f"{magic[1]}{f'{magic[2]} []' if magic[2] else 'pass'}"
    while goes_on and (number := number + 1) < len(lines):
        goes_on, lines[number] = lines[number].endswith("\\"), ""
    return True


def found(main: ModuleType, labkit: ModuleType, wanted: Iterable[str]) -> dict[str, Any]:
    """Which of the wanted names there are: functions by name, tables by value."""
    there = {name: main.__dict__[name] for name in wanted if name in main.__dict__}
    functions = [name for name, value in there.items() if callable(value)]
    functions += [name for name in labkit.aliases if name in wanted and name not in functions]
    tables = {name: value for name, value in there.items() if not callable(value)}
    return {"functions": functions, "tables": {name: sendable(value) for name, value in tables.items()}}


def sendable(value: Any) -> Any:
    """What a table holds, or something that says that it is none."""
    try:
        read = ask(lambda: value, {}, TABLE_SECONDS, PATIENCE)
    except KeyboardInterrupt:  # nobody is there who might interrupt: it is the student's own
        return too_much(value)
    if read.error_type or read.timed_out or len(frame({"value": read.value})) > LARGEST_TABLE:
        return too_much(value)
    return read.value


# ---- exercises -------------------------------------------------------------------------------------------------------


def answer_all(host: socket.socket, functions: Mapping[str, Callable]) -> None:
    """Answer what the host asks, function by function, as long as it wants."""
    while True:
        message = receive(host)
        function, seconds = functions[message["exercise"]], message["seconds"]
        frames, sent = b"", time.monotonic()
        for args in message["ask"]:
            answer = ask(function, args, seconds, PATIENCE)
            only_the_guest()
            frames += framed({name: value for name, value in vars(answer).items() if value is not UNSAID[name]})
            if time.monotonic() - sent > SOON:
                send_frames(host, frames)
                frames, sent = b"", time.monotonic()
            if answer.timed_out:
                break
        send_frames(host, frames)
        end_the_rest()


def end_the_rest() -> None:
    """End what the function before has started: in a world of processes of its own, where nobody else is."""
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
            while os.waitpid(-1, 0)[0]:
                pass
        except OSError:  # there are none, or there is no need to ask since none can be started
            pass


def framed(message: dict[str, Any]) -> bytes:
    """An answer to be sent; a value that is too large is replaced by something that says so."""
    framed = frame(message)
    return framed if len(framed) <= LARGEST_FRAME else frame(message | {"value": too_much(message.get("value"))})


def too_much(value: Any) -> Any:
    return foreign(f"{type(value).__name__} that is too long or goes too deep")
