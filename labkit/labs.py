"""Labs: one percent script each, and the two notebooks made from it.

``solutions/NN_slug.py`` is the source, and nothing else is edited by hand. From it come

- ``solutions/NN_slug.ipynb``: complete and executed, outputs kept, for reading;
- ``notebooks/NN_slug.ipynb``: the student's, where each solution is a stub and nothing has been run.

In a code cell the lines between ``# BEGIN SOLUTION`` and ``# END SOLUTION`` are the solution. The student gets

- the block's lines that begin with ``# STUB: ``, without that beginning, if there are any;
- otherwise ``raise NotImplementedError(...)`` if the block is indented, as in a function, and ``...`` if it is not.

In a Markdown cell the markers are ``<!-- BEGIN SOLUTION -->`` and ``<!-- END SOLUTION -->``.
Each marker stands alone on its line, and neither notebook shows one. Of a cell's metadata its tags are kept.

Where labkit itself lies beside ``solutions/``, its list of the students' cells is derived, too: by it graders know a
question that is answered in words, whatever a student has made of the cells around it.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # checking needs the standard library alone
    from nbclient import NotebookClient
    from nbformat import NotebookNode

FUNCTION_STUB = 'raise NotImplementedError("replace this line with your own")'
TOP_LEVEL_STUB = "..."
TEXT_STUB = "*Your answer here.*"
WRITTEN = "written"  # the tag of a cell for an answer in words, to the question in the cell above
KNOWN_CELLS = Path("labkit/grading/handed_in/lab_cells.json")
SECONDS_PER_CELL = 120

# The same on every machine: Jupyter would write the version of the Python at hand.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NOT_RUN: dict[str, Any] = {"execution_count": None, "outputs": []}

_HEAD = re.compile(r"#\s*%%(?:\s+|$)(?:\[(\w+)\])?(?:.*\btags=(\[.*?\]))?")
_MARKERS = {
    "code": re.compile(r"\s*# (?:(BEGIN|END) SOLUTION\s*$|(STUB):)"),
    "markdown": re.compile(r"<!-- (BEGIN|END) SOLUTION -->\s*$"),
}
_FORMS = {
    "code": "In a code cell write `# BEGIN SOLUTION` or `# END SOLUTION` alone on a line, or `# STUB: text`.",
    "markdown": "In a Markdown cell write `<!-- BEGIN SOLUTION -->` or `<!-- END SOLUTION -->` alone on a line.",
}
_LOOKS_LIKE_MARKER = re.compile(r"(?i:\b(begin|end)[\s_-]*solution\b)|#\s*STUB\b")


class LabError(ValueError):
    """What is wrong with a lab's script, in one line for its author."""


@dataclass(frozen=True)
class Report:
    """What happened to a file, or was found in it: `status` is current, written, executed, stale or failed."""

    path: str
    status: str
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.status not in ("stale", "failed")


class Cell(NamedTuple):
    """A cell of a script, of the kind "code" or "markdown", with the lines that are in either notebook."""

    id: str
    kind: str
    tags: list[str]
    solved: list[str]
    unsolved: list[str]


# ---- from the script to two notebooks --------------------------------------------------------------------------------


def read_script(path: str | Path) -> list[Cell]:
    """Read a percent script.

    jupytext, against which it is tested, reads more forms but forgets line numbers, and takes a slip for a title.

    Raises
    ------
    LabError
        If its markers are not in pairs, each alone on its line, or leave the student no working cell; names the line.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines) if _HEAD.match(line)] + [len(lines)]
    before = "\n".join(lines[: heads[0]])
    if re.sub(r"\A# ---\n.*\n# ---", "", before, flags=re.DOTALL).strip():  # the header that jupytext may write
        raise LabError("line 1: what stands before the first `# %%` belongs to no cell.")
    return [_read_cell(f"cell-{n:03d}", lines[i:j], i + 1) for n, (i, j) in enumerate(pairwise(heads), 1)]


def _read_cell(name: str, lines: list[str], first: int) -> Cell:
    """Read a cell whose head is on line `first`."""
    kind, tags = _HEAD.findall(lines[0])[0]
    if kind not in ("", "markdown") or not re.fullmatch(r'(\["[^"]*"(, *"[^"]*")*\])?', tags):
        form = '`# %%` or `# %% [markdown]`, and `tags=["one", "two"]` may follow'
        raise LabError(f"line {first}: a cell begins with {form}; got {lines[0]!r}.")
    if kind:
        lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
    solved, unsolved = _versions(kind or "code", lines[1:], first + 1)
    if not kind and solved != unsolved:
        _check_python(unsolved, first)
    return Cell(name, kind or "code", json.loads(tags or "[]"), solved, unsolved)


def _versions(kind: str, lines: list[str], first: int) -> tuple[list[str], list[str]]:
    """Return the lines of the cell with its solutions, and those with the stubs in place of them."""
    solved: list[str] = []
    unsolved: list[str] = []
    stub: list[str] = []
    begun = start = 0  # where the block begins: its line, and what of `solved` comes before it
    for number, line in enumerate(lines, first):
        word = _marker(kind, line, number)
        if word == "BEGIN" and begun:
            raise LabError(f"line {number}: BEGIN SOLUTION inside the block of line {begun}; blocks don't nest.")
        if word in ("END", "STUB") and not begun:
            raise LabError(f"line {number}: {word} stands outside a block; no BEGIN SOLUTION comes before it.")
        if word == "BEGIN":
            begun, start, stub = number, len(solved), []
        elif word == "STUB":
            stub.append(re.sub(r"# STUB: ?", "", line, count=1).rstrip())
        elif word == "END":
            unsolved += stub or [_stub(kind, solved[start:], begun)]
            begun = 0
        else:
            solved.append(line)
            unsolved += [] if begun else [line]
    if begun:
        raise LabError(f"line {begun}: this BEGIN SOLUTION has no END SOLUTION in its cell.")
    return solved, unsolved


def _marker(kind: str, line: str, number: int) -> str | None:
    """Return BEGIN, END or STUB if the line is a marker."""
    match = _MARKERS[kind].match(line)
    if not match and _LOOKS_LIKE_MARKER.search(line):
        raise LabError(f"line {number}: {line.strip()!r} looks like a marker but isn't one. {_FORMS[kind]}")
    return next(filter(None, match.groups())) if match else None


def _stub(kind: str, solution: list[str], begun: int) -> str:
    """Return the line that stands for a solution where none is written."""
    if kind == "markdown":
        return TEXT_STUB
    for line in solution:
        code = line.lstrip()
        if code and not code.startswith("#"):
            return line.removesuffix(code) + (TOP_LEVEL_STUB if code == line else FUNCTION_STUB)
    advice = "Write it, or what the student gets as `# STUB: text`."
    raise LabError(f"line {begun}: the solution block holds no code. {advice}")


def _check_python(lines: list[str], first: int) -> None:
    """Raise if the student's cell can't be run."""
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        at = lines[(error.lineno or 1) - 1].strip()
        raise LabError(f"line {first}: the student's cell is not valid Python at {at!r}: {error.msg}") from None


def notebook(cells: list[Cell], solved: bool) -> dict:
    """Return the complete notebook, not yet executed, or the student's."""
    made = []
    for cell in cells:
        source = "\n".join(cell.solved if solved else cell.unsolved).strip("\n")
        if cell.kind == "code":  # in which a script keeps magics as comments
            source = re.sub(r"^# (?=%%?[a-zA-Z])", "", source, flags=re.MULTILINE)
        metadata = {"tags": cell.tags} if cell.tags else {}
        whole = {"id": cell.id, "cell_type": cell.kind, "metadata": metadata, "source": source.splitlines(True)}
        made.append(whole | (NOT_RUN if cell.kind == "code" else {}))
    return {"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def known_cells(scripts: list[Path]) -> str:
    """Return what graders must know of the students' notebooks, as JSON.

    Of each lab the cells, the n-th being the one whose id is ``cell-00n``, and the words of each question by the id of
    the cell for its answer.
    """
    known = {}
    for script in scripts:
        cells = notebook(read_script(script), solved=False)["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        answers = [n for n, cell in enumerate(cells) if WRITTEN in cell["metadata"].get("tags", [])]
        digests = [digest(cell["cell_type"], text) for cell, text in zip(cells, texts, strict=True)]
        questions = {cells[n]["id"]: texts[n - 1] for n in answers}
        known[script.stem] = {"cells": " ".join(digests), "questions": questions}
    return json.dumps(known, indent=1, ensure_ascii=False) + "\n"


def digest(kind: str, source: str) -> str:
    """Return a letter for a cell's kind, and digits that stand for its words, however they are spaced."""
    return f"{kind[:1]}{zlib.crc32(''.join(source.split()).encode()):08x}"


# ---- build and check -------------------------------------------------------------------------------------------------


def build(root: str | Path = ".", force: bool = False) -> Iterator[Report]:
    """Bring all notebooks up to date, and report on each as soon as it is done.

    A solved notebook is executed again only if its cells differ from the script's, or with `force`: otherwise it is
    kept byte for byte. A lab that fails leaves its earlier notebooks as they were.
    """

    def write(path: Path, wanted: dict, solved: bool) -> tuple[str, ...]:
        if not why_stale(path, wanted, solved) and not (force and solved):
            return ("current",)
        text = execute(_text(wanted), path.parent) if solved else _text(wanted)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return ("executed" if solved else "written",)

    yield from _each_notebook(Path(root), write)
    yield from _update_known_cells(Path(root))


def check(root: str | Path = ".") -> Iterator[Report]:
    """Report on all notebooks whether they are what `build` would make, without executing anything.

    Outputs are not compared: whether they are true is what running the notebooks tells.
    """
    mend = "python -m labkit build" + ("" if Path(root) == Path(".") else f" --root {shlex.quote(str(root))}")

    def look(path: Path, wanted: dict, solved: bool) -> tuple[str, ...]:
        reason = why_stale(path, wanted, solved)
        return ("stale", f"{reason}. To mend it: {mend}") if reason else ("current",)

    yield from _each_notebook(Path(root), look)
    yield from _update_known_cells(Path(root), mend)


def _each_notebook(root: Path, treat: Callable[[Path, dict, bool], tuple[str, ...]]) -> Iterator[Report]:
    """Treat the two notebooks of each lab, and report what comes of it."""
    scripts = sorted((root / "solutions").glob("*.py"))
    if not scripts:
        raise FileNotFoundError(
            f"build: there must be labs in solutions/*.py; found none in {root.resolve()}. "
            "Run it where the folder solutions/ is, or name that place with --root."
        )
    for script in scripts:
        try:
            cells = read_script(script)
            for folder, solved in [("solutions", True), ("notebooks", False)]:
                path = root / folder / f"{script.stem}.ipynb"
                yield Report(f"{folder}/{path.name}", *treat(path, notebook(cells, solved), solved))
        except LabError as error:
            yield Report(f"solutions/{script.name}", "failed", str(error))
    for path in [*sorted(root.glob("solutions/*.ipynb")), *sorted(root.glob("notebooks/*.ipynb"))]:
        if path.stem not in {script.stem for script in scripts}:
            reason = f"no solutions/{path.stem}.py stands behind it. Delete it, or bring the script back."
            yield Report(path.relative_to(root).as_posix(), "stale", reason)


def _update_known_cells(root: Path, mend: str = "") -> Iterator[Report]:
    """Bring the graders' list up to date, or only say what mends it."""
    path = root / KNOWN_CELLS
    if not path.parent.is_dir():  # labs apart from labkit
        return
    try:
        wanted = known_cells(sorted((root / "solutions").glob("*.py")))
    except LabError:  # which has been reported
        return
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        yield Report(KNOWN_CELLS.as_posix(), "current")
    elif mend:
        yield Report(KNOWN_CELLS.as_posix(), "stale", f"it differs from the scripts. To mend it: {mend}")
    else:
        path.write_text(wanted, encoding="utf-8", newline="\n")
        yield Report(KNOWN_CELLS.as_posix(), "written")


def why_stale(path: Path, wanted: dict, solved: bool) -> str:
    """Return in what the notebook in `path` is not the `wanted` one, outputs aside, or an empty string."""
    if not path.exists():
        return "it is missing"
    text = path.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
        code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
        counts = [cell["execution_count"] for cell in code if cell["source"]]
        for cell in code if solved else []:
            cell |= NOT_RUN
    except (ValueError, TypeError, LookupError):  # no JSON, or not of a notebook's shape
        return "it is not a notebook"
    for ours, theirs in zip_longest(wanted["cells"], found["cells"]):
        if ours != theirs:
            return f"{(ours or theirs).get('id', 'a cell')} differs from the script's"
    if solved and counts != list(range(1, len(counts) + 1)):
        return "it has not been executed from top to bottom"
    same = found == wanted if solved else text == _text(wanted)
    return "" if same else "its metadata or layout differs"


def _text(notebook: dict) -> str:
    """Return the notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def execute(text: str, folder: Path) -> str:
    """Return a notebook with its outputs, run from top to bottom in `folder` by this very Python.

    Raises
    ------
    LabError
        If a cell raises, takes too long or ends the kernel, or there is no kernel.
    """
    import nbformat
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    started = []
    client = _client(nbformat.reads(text, as_version=4), folder)
    client.on_cell_start = lambda cell, cell_index: started.append(cell)
    try:
        executed = _run(client)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        where = f"{started[-1].id} (`{started[-1].source.splitlines()[0]}`)"
        said = str(error).splitlines()[0]
        what = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else said
        raise LabError(f"{where}: {what}") from None
    except RuntimeError as error:
        atexit.unregister(client._cleanup_kernel)  # it has run, and would raise at the end
        raise LabError(f"no kernel came up to run the notebook: {error}. Run the same command again.") from None
    executed.metadata = nbformat.from_dict(METADATA)
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)  # the widget is gone
    return nbformat.writes(executed) + "\n"


def _client(notebook: NotebookNode, folder: Path) -> NotebookClient:
    """Return what runs a notebook in `folder`."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    # Where no folder is searched, this Python's own kernel is the only one.
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    if hasattr(manager, "transport_encryption"):  # newer kernels warn when they are asked to do without
        manager.transport_encryption = "auto"
    return NotebookClient(
        notebook,
        km=manager,
        resources={"metadata": {"path": str(folder)}},
        timeout=SECONDS_PER_CELL,
        shutdown_kernel="immediate",  # there is nothing to save, and a polite end takes up to three seconds
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )


def _run(client: NotebookClient) -> NotebookNode:
    """Run a notebook; Ctrl-C, by which nbclient and its event loop end the kernel and then themselves, is one again."""
    from asyncio import CancelledError

    try:
        return client.execute(cleanup_kc=True, env=_environment())
    except BaseException as error:
        if isinstance(error, CancelledError) or hasattr(client, "_async_cleanup_kernel_future"):
            raise KeyboardInterrupt from None
        raise


def _environment() -> dict[str, str]:
    """Return this process's environment, in which the kernel finds this very labkit and draws as Jupyter does."""
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    here = str(Path(__file__).resolve().parent.parent)
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, [here, kept.get("PYTHONPATH")]))}
