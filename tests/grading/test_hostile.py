"""Hostile notebooks gain nothing, cost nobody else anything, and leave nothing behind."""

import os
import resource
import socket
import sys
import time
from pathlib import Path

import pytest

from labkit.grading.sandbox.host import Seconds
from labkit.grading.submission import GRADED, Cell

from .hostile import BOMBS, BYSTANDERS, FORGERS, FUNCTIONS, LIAR, LIES, PROBES, TABLES

LAB = "02_causal_mask"
LONG = Seconds(cell=30.0, submission=60.0)


def code(source: str) -> Cell:
    return Cell("code", source)


MARK = f"OPENBLAS_TESTED_BY={os.getpid()}"  # a name that the server keeps in its environment, and all its forks with it
os.environ.update([MARK.split("=")])


def guests() -> list[int]:
    """Processes that a server of these tests has forked and that are still there, wherever they have gone since.

    Servers and keepers, which stay, are in a session that a child of ours leads.
    """
    stats = {pid: stat for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if (stat := stat_of(pid))}
    servers = {pid for pid, (_, parent, *_) in stats.items() if int(parent) in {os.getpid(), os.getppid()}}
    return [
        pid for pid, (state, _, _, session, *_) in stats.items() if state not in "ZX" and int(session) not in servers
    ]


def stat_of(pid: int) -> list[str]:
    """What the system says of a process that a server of these tests has forked; nothing of any other."""
    try:
        ours = MARK.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if ours and b"labkit.grading.sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes():  # no browser of these tests
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended just now
        pass
    return []


def points(graded) -> dict[str, float]:
    return {one.exercise: one.points for one in graded.outcomes}


NEEDS_LAYERS = {"labkit by another way", "torch's own, past the guard"}  # else, what this user may read can be read


@pytest.mark.parametrize("attack", FORGERS)
def test_no_point_is_forged(server, graded, untouched, attack):
    if attack in NEEDS_LAYERS and graded(server, LAB, untouched(LAB)).isolation == "basic":
        return
    for cells in ((code(FORGERS[attack]), *untouched(LAB)), (*untouched(LAB), code(FORGERS[attack]))):
        result = graded(server, LAB, cells)
        assert result.status == GRADED, result.reason
        assert result.points == 0, points(result)


@pytest.mark.parametrize("lie", LIES)
def test_whatever_the_runner_seems_to_say_gains_nothing_and_breaks_nothing(layered, graded, untouched, lie):
    start, most = time.monotonic(), memory()
    result = graded(layered, LAB, (code(LIAR + LIES[lie]), *untouched(LAB)))
    assert result.status == GRADED, result.reason
    assert result.points == 0
    assert "system calls" in result.isolation and len(result.isolation) < 200
    told = [result.isolation, *result.remarks, *result.numbers_of, *(one.message + one.html for one in result.outcomes)]
    assert max(map(len, told)) < 5000
    assert "<script" not in "".join(one.html for one in result.outcomes)
    assert "\x1b" not in "".join(told).encode("utf-8").decode()
    assert time.monotonic() - start < 15 and memory() - most < 300


def memory() -> float:
    """The most that this process has ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("reading", TABLES)
def test_a_table_that_misbehaves_when_it_is_read_costs_its_own_points_only(layered, graded, solved, reading):
    bad = f"class Bad:\n    def __array__(self, *a, **k):\n        {TABLES[reading]}\nhand_causal_output = Bad()"
    result = graded(layered, LAB, (*solved(LAB), code(bad)))
    lost = [one.exercise for one in result.outcomes if not one.passed]
    assert lost in (["hand_causal_output"], [])  # where the guest ends of it, the cell that made it counts as lost


@pytest.mark.parametrize("deed", [*BYSTANDERS, *BOMBS])
def test_what_a_cell_does_costs_no_exercise_anything(layered, graded, solved, tmp_path, deed):
    source = {**BYSTANDERS, **BOMBS}[deed].replace("{outside}", str(tmp_path))
    (tmp_path / "kept").write_text("kept")
    result = graded(layered, LAB, (code(source), *solved(LAB)))
    assert result.status == GRADED, result.reason
    assert result.points == result.max_points, [one for one in result.outcomes if not one.passed]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert not guests()


HARMLESS_WITHOUT_LAYERS = {
    "a shell",
    "a cell of bash",
    "endless",
    "exit",
    "the process ends",
    "the interpreter crashes",
}


@pytest.mark.parametrize("deed", sorted(HARMLESS_WITHOUT_LAYERS | {"endless, without a clock", "a process that stays"}))
def test_without_layers_too_a_bad_cell_costs_nobody_anything(graded, solved, server, tmp_path, deed):
    source = BYSTANDERS[deed].replace("{outside}", str(tmp_path)).partition("\nimport os\nos.system")[0]
    result = graded(server, LAB, (code(source), *solved(LAB)))
    assert result.points == result.max_points
    assert not list(tmp_path.iterdir())
    assert not guests()


@pytest.mark.parametrize("body", FUNCTIONS)
def test_a_bad_function_costs_its_own_exercise_only(layered, graded, solved, body):
    source, status = FUNCTIONS[body]
    bad = code(f"import numpy as np\ndef causal_mask(n):\n    {source}")
    result = graded(layered, LAB, (*solved(LAB), bad))
    outcomes = {one.exercise: one for one in result.outcomes}
    own = outcomes.pop("causal_mask")
    assert own.status == status or status is None, own
    assert own.points == (own.max_points if status == "passed" else 0)
    assert all(one.passed for one in outcomes.values()), [one for one in outcomes.values() if not one.passed]
    assert not guests()


def test_an_endless_cell_is_waited_for_once(layered, graded, solved):
    start = time.monotonic()
    graded(layered, LAB, (code("while True: pass"), *solved(LAB)))
    once = time.monotonic() - start
    start = time.monotonic()
    bad = code(
        "def causal_mask(n):\n    import os; os._exit(1)\ndef padding_mask(lengths, n_k):\n    import os; os._exit(1)"
    )
    result = graded(layered, LAB, (code("while True: pass"), *solved(LAB), bad))
    assert sum(one.status == "crashed" for one in result.outcomes) == 2
    assert time.monotonic() - start < once + 0.9


def test_many_endless_cells_leave_time_for_the_rest(layered, graded, solved):
    """At a second each they would take all of it."""
    result = graded(layered, LAB, (*[code("while True: pass")] * 20, *solved(LAB)), Seconds(1.0, 2.0, 15.0))
    assert {one.status for one in result.outcomes} == {"passed"}


SEARCH = """
import gc, glob, os, sys, types
loot = []
def seek(where, what):
    text = what if isinstance(what, bytes) else str(what).encode("utf-8", "replace")
    if MARK.encode() in text:
        loot.append(where)
MARK = "".join(["plan", "ted-", "secret"])
for one in gc.get_objects():
    if isinstance(one, dict):
        for key, value in list(one.items()):
            if isinstance(value, (str, bytes)) and key != "MARK" and value != MARK: seek("gc", value)
frame = sys._getframe()
while frame:
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, (str, bytes)) and name not in ("MARK", "source", "text"): seek("frame " + name, value)
    frame = frame.f_back
seek("environment", os.environ)
seek("arguments", sys.argv)
for fd in range(0, 256):
    try:
        os.set_blocking(fd, False)
        os.lseek(fd, 0, 0)
        seek(f"descriptor {fd}", os.read(fd, 1 << 20))
    except OSError:
        pass
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/fd/*"):
    try:
        if "/self/" not in path and os.path.isfile(path):
            with open(path, "rb") as file: seek(path, file.read(1 << 20))
    except OSError:
        pass
for path in glob.glob("/proc/[0-9]*/mem"):
    try:
        if int(path.split("/")[2]) != os.getpid():
            maps = open(path.replace("mem", "maps")).read().splitlines()
            with open(path, "rb") as memory:
                for line in maps:
                    low, high = (int(x, 16) for x in line.split()[0].split("-"))
                    if " rw-p " in line and high - low < 1 << 26:
                        memory.seek(low); seek(path, memory.read(high - low))
    except (OSError, ValueError, OverflowError):
        pass
for folder in FOLDERS:
    for path, folders, files in os.walk(folder):
        for name in files:
            try:
                with open(os.path.join(path, name), "rb") as file: seek(os.path.join(path, name), file.read(1 << 20))
            except OSError:
                pass
del MARK
"""


def test_a_planted_secret_is_nowhere_to_be_found(layered, tmp_path, monkeypatch):
    secret = "planted-" + "secret"
    monkeypatch.setenv("PLANTED", secret)
    (tmp_path / "secret").write_text(secret)
    kept = open(tmp_path / "secret")  # noqa: SIM115 (it has to be open)
    os.set_inheritable(kept.fileno(), True)
    folders = repr([str(tmp_path), "/tmp", os.path.expanduser("~"), "/etc", "/var", "/run", "/dev/shm"])
    with kept, layered.guest(seconds=LONG) as guest:
        ran = guest.run([SEARCH.replace("FOLDERS", folders)], ["loot", "secret"], (), lambda name, attempt: {})
    assert not ran.errors
    assert ran.tables["loot"] == []


def test_the_search_itself_finds_a_secret_where_there_is_one(layered):
    planted = "import os\nos.environ['PLANTED'] = 'planted-' + 'secret'\nopen('note', 'w').write('planted-' + 'secret')"
    with layered.guest(seconds=LONG) as guest:
        ran = guest.run([planted, SEARCH.replace("FOLDERS", "['.']")], ["loot"], (), lambda name, attempt: {})
    assert {"environment", "./note"} <= set(ran.tables["loot"])


def test_the_layers_that_stand_are_said(server):
    with server.guest(seconds=LONG) as guest:
        ran = guest.run([PROBES], ["stand"], (), lambda name, attempt: {})
    assert not ran.errors and set(ran.layers) <= set(ran.tables["stand"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is nothing to refuse it with")
def test_the_network_is_out_of_reach(layered):
    with socket.create_server(("127.0.0.1", 0)) as there, layered.guest(seconds=LONG) as guest:
        port = there.getsockname()[1]
        source = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    met = "there"
except OSError:
    met = "nobody"
"""
        ran = guest.run([source], ["met"], (), lambda name, attempt: {})
    assert ran.tables["met"] == "nobody"
