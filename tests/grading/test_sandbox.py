"""The sandbox stands where it is put up, says what stands, and leaves nothing from one guest to the next."""

import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.exercise import Answer
from labkit.exercises import EXERCISES, draw_numbers
from labkit.feedback import outcome
from labkit.grading import pool
from labkit.grading.sandbox import calls, confine
from labkit.grading.sandbox.host import Gone, Seconds, Server, is_there
from labkit.grading.sandbox.server import empty
from labkit.judge import judge_function
from labkit.table import judge_table

from .hostile import BOMBS, BYSTANDERS, PROBES
from .test_hostile import LAB, LONG, code, guests, stat_of
from .test_wire import values

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these layers are Linux's")


def run(guest, source, *wanted):
    ran = guest.run([source], wanted, (), lambda name, attempt: {})
    assert not ran.errors, ran.errors
    return ran


def soon(happens) -> bool:
    until = time.monotonic() + 10
    while not (happened := happens()) and time.monotonic() < until:
        time.sleep(0.02)
    return happened


# ---- layers ----------------------------------------------------------------------------------------------------------

NUMBERS = {"x86_64": 0, "aarch64": 1}
PRCTL, SECCOMP = (157, 167), 22
UNSHARE, SETNS, MOUNT, LANDLOCK, SETRESUID, CAPSET, PIDFD, FILTERS = (
    calls.REFUSED["unshare"],
    calls.REFUSED["setns"],
    (165, 40),
    (444, 444),
    (117, 147),
    (126, 91),
    (434, 434),
    "filters",
)
DENIED = {  # and which layers can't stand without
    "nothing": ([], set()),
    "namespaces": ([UNSHARE], {"namespaces"}),
    "returning to a namespace": ([SETNS], {"namespaces"}),
    "mounts": ([MOUNT], {"namespaces"}),
    "rules for files": ([LANDLOCK], {"landlock"}),
    "another user": ([SETRESUID], set() if os.getuid() else {"not root"}),
    "fewer capabilities": ([CAPSET], {"no capabilities"}),
    "filters of calls": ([FILTERS], {"system calls"}),
    "watching a process": ([PIDFD], set()),
    "all of them": (
        [UNSHARE, LANDLOCK, SETRESUID, CAPSET, PIDFD, FILTERS],
        {"namespaces", "landlock", "no capabilities", "system calls"},
    ),
}


def deny(denied) -> None:
    """Have the kernel refuse these calls from now on, as another system would."""
    column = NUMBERS[platform.machine()]
    steps = [calls.step(calls.LOAD, calls.NUMBER)]
    for one in denied:
        if one == FILTERS:
            steps += [calls.step(calls.EQUAL, PRCTL[column], 0, 4), calls.step(calls.LOAD, calls.FIRST)]
            steps += [*calls.when(calls.EQUAL, SECCOMP, 22), calls.step(calls.LOAD, calls.NUMBER)]
        else:
            steps += calls.when(calls.EQUAL, one[column], 38)
    confine.no_new_privileges()
    calls.refuse(b"".join([*steps, calls.step(calls.RETURN, calls.ALLOW)]))


def in_a_child(do) -> dict:
    """What a function gives in a process of its own."""
    source, target = os.pipe()
    if child := os.fork():
        os.close(target)
        with open(source, "rb") as file:
            said = file.read()
        os.waitpid(child, 0)
        return json.loads(said)
    try:
        os.write(target, json.dumps(do()).encode())
    except BaseException:
        traceback.print_exc()
    os._exit(0)


@linux
@pytest.mark.skipif(platform.machine() not in NUMBERS, reason="calls have other numbers here")
@pytest.mark.parametrize("missing", DENIED)
def test_grading_goes_on_without_a_layer_and_says_what_stands(graded, solved, missing):
    denied, lost = DENIED[missing]

    def tried():
        deny(denied)
        with Server() as server:
            server.wait()
            result = graded(server, LAB, solved(LAB), LONG)
            with server.guest(LONG) as guest:
                ran = run(guest, PROBES, "stand")
        return {"points": result.points, "most": result.max_points, "said": result.isolation, **vars(ran)["tables"]}

    came = in_a_child(tried)
    assert came["points"] == came["most"] > 0
    said, stand = set(came["said"].split(", ")), set(came["stand"])
    assert said <= stand and stand - said <= {"no capabilities"}  # which root gives up with being root, too
    assert not said & lost


SIGNALS = """
import ctypes, fcntl, os, resource, signal
def by_a_file():
    ours, theirs = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETOWN, VICTIM)
    fcntl.fcntl(ours, 10, signal.SIGKILL)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(theirs, b"x")
ways = [
    by_a_file,
    lambda: os.kill(VICTIM, signal.SIGKILL),
    lambda: ctypes.CDLL(None).tgkill(VICTIM, VICTIM, signal.SIGKILL),
    lambda: resource.prlimit(VICTIM, resource.RLIMIT_CPU, (0, 0)),
    lambda: os.setpriority(os.PRIO_PROCESS, VICTIM, 19),
]
for way in ways:
    try:
        way()
    except OSError:
        pass
"""


@linux
def test_no_other_process_is_reached_even_without_namespaces_and_rules():
    def tried():
        deny([UNSHARE, LANDLOCK])
        with subprocess.Popen(["sleep", "100"]) as victim, Server() as server:
            server.wait()
            with server.guest(LONG) as guest:
                ran = run(guest, SIGNALS.replace("VICTIM", str(victim.pid)))
            time.sleep(0.1)
            alive, nice = victim.poll() is None, os.getpriority(os.PRIO_PROCESS, victim.pid)
            victim.kill()
        return [alive, nice == os.getpriority(os.PRIO_PROCESS, 0), "system calls" in ran.layers]

    assert in_a_child(tried) == [True, True, True]


@linux
@pytest.mark.parametrize(
    ("denied", "deed"),
    [
        ([FILTERS], BOMBS["a fork bomb"]),
        ([FILTERS], BYSTANDERS["a process that stays"]),
        ([FILTERS, UNSHARE], BYSTANDERS["a process that stays"]),
    ],
)
def test_what_a_guest_has_forked_ends_with_it_where_forks_cannot_be_refused(graded, solved, denied, deed):
    def tried():
        deny(denied)
        with Server() as server:
            server.wait()
            result = graded(server, LAB, (code(deed), *solved(LAB)))
            return [result.points == result.max_points, len(guests()), "system calls" in result.isolation]

    assert in_a_child(tried) == [True, 0, False]


def test_without_layers_none_is_said_to_stand(graded, solved):
    with Server(layered=False) as server:
        assert graded(server, LAB, solved(LAB)).isolation == "basic"


@linux
@pytest.mark.parametrize("machine", NUMBERS)
def test_the_filter_of_calls_is_of_the_form_that_the_kernel_asks_for(machine):
    steps = list(calls.steps(*calls.MACHINES[machine], {**calls.REFUSED, **calls.REFUSED_OUTSIDE}))
    for here, (kind, yes, no, _) in enumerate(struct.unpack("HBBI", one) for one in steps):
        assert here + 1 + max(yes, no) < len(steps) or kind == calls.RETURN
    assert steps[-1] == calls.step(calls.RETURN, calls.ALLOW)


@linux
def test_a_guest_finds_the_packages_that_it_may_import_and_no_others(layered):
    look = """
import os, sys
names = "numpy", "matplotlib", "labkit", "pytest", "hypothesis"
found = [name for name in names if any(os.path.exists(os.path.join(place, name)) for place in sys.path)]
import decimal, matplotlib.pyplot, sqlite3, tempfile
matplotlib.pyplot.savefig("figure.png")
tempfile.NamedTemporaryFile().close()
"""
    with layered.guest(LONG) as guest:
        ran = run(guest, look, "found")
    if "namespaces" in ran.layers:
        assert ran.tables["found"] == ["numpy", "matplotlib"]


# ---- one guest after the other ---------------------------------------------------------------------------------------


def test_nothing_is_left_from_one_guest_to_the_next(server):
    leave = "import os\nopen('left', 'w').write('x')\nos.makedirs('a/b/c', mode=0o000, exist_ok=True)"
    look = "import os\nfound = os.listdir('.')\nhome = os.getcwd()\nopen('mine', 'w').close()"
    with server.guest(LONG) as guest:
        guest.run([leave], (), (), lambda name, attempt: {})
    with server.guest(LONG) as guest:
        ran = run(guest, look, "found", "home")
    assert ran.tables["found"] == []
    assert not os.path.exists(os.path.join(ran.tables["home"], "mine"))


def test_a_folder_is_emptied_however_deep_it_is_and_whatever_it_links_to(tmp_path):
    kept, room, here = tmp_path / "kept", tmp_path / "room", os.getcwd()
    kept.mkdir()
    room.mkdir()
    (kept / "file").write_text("x")
    os.symlink(kept, room / "link")
    try:
        os.chdir(room)
        for _ in range(1100):
            os.mkdir("d")
            os.chdir("d")
        os.mkdir("closed", 0)
    finally:
        os.chdir(here)
    empty(str(room))
    assert not os.listdir(room) and os.listdir(kept) == ["file"]


def test_guests_side_by_side_do_not_meet(layered, graded, solved):
    came = []
    threads = [threading.Thread(target=lambda: came.append(graded(layered, LAB, solved(LAB), LONG))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one.points for one in came] == [came[0].max_points] * 4
    assert not guests()


def test_a_forked_process_shares_the_server_and_no_lane_to_a_keeper(layered, graded, solved):
    assert graded(layered, LAB, solved(LAB)).points  # from now on there is a lane
    came = in_a_child(lambda: [layered.is_running, graded(layered, LAB, solved(LAB)).points])
    assert came[0] and came[1] == graded(layered, LAB, solved(LAB)).points


def test_a_server_that_has_ended_is_replaced():
    job = pool.Job(b"secret")
    first = pool.server_for(job)
    assert pool.server_for(job) is first
    first.process.kill()
    first.process.wait()
    assert soon(lambda: not first.is_running)  # whoever else had its end of the socket goes with it
    assert pool.server_for(job) is not first
    pool.close_servers()


def test_a_server_that_ends_before_it_is_ready_is_said_not_to_have_started():
    with Server() as server:
        server.process.kill()
        with pytest.raises(RuntimeError, match="the fork server must start; it ended"):
            server.wait()


def test_a_guest_ends_with_the_grader_that_asked_for_it(layered):
    def abandon():
        guest = layered.guest(LONG)
        guest.run(["x = 1"], (), (), lambda name, attempt: {})
        os.kill(os.getpid(), signal.SIGKILL)

    if not (child := os.fork()):
        abandon()
    os.waitpid(child, 0)
    assert soon(lambda: not guests())


@linux
@pytest.mark.parametrize("layered", [True, False])
def test_a_guest_ends_with_its_keeper_and_another_keeper_takes_the_next(monkeypatch, tmp_path, layered):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a keeper that is killed leaves its room
    with Server(layered=layered) as server:
        with server.guest(LONG) as guest:
            guest.run(["x = 1"], (), (), lambda name, attempt: {})
            (pid,) = guests()
            os.kill(int(stat_of(pid)[1]), signal.SIGKILL)
            assert soon(lambda: not guests())
            with pytest.raises(Gone):
                list(guest.ask("x", [{}]))
        with server.guest(LONG) as guest:
            assert run(guest, "x = 1", "x").tables == {"x": 1}


@linux
def test_a_keeper_that_ends_while_it_looks_after_nobody_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # as above
    with Server() as server:
        with server.guest(LONG) as guest:
            run(guest, "x = 1")
            (pid,) = guests()
            keeper = int(stat_of(pid)[1])
        os.kill(keeper, signal.SIGKILL)
        assert soon(lambda: not is_there(server.idle[0]))
        with server.guest(LONG) as guest:
            assert run(guest, "x = 1", "x").tables == {"x": 1}


# ---- time, and what is shown -----------------------------------------------------------------------------------------


def test_no_submission_takes_longer_than_it_may_however_it_spends_its_time(layered, graded, solved):
    slow = """
import time
def slowly(function):
    def slow(*args):
        time.sleep(0.4)
        return function(*args)
    return slow
attention, causal_mask, padding_mask = map(slowly, (attention, causal_mask, padding_mask))
"""
    start = time.monotonic()
    result = graded(layered, LAB, (*solved(LAB), code(slow)), Seconds(cell=1.0, call=0.5, submission=2.0))
    assert time.monotonic() - start < 3
    assert {one.status for one in result.outcomes} == {"passed", "timed_out"}


def test_a_notebook_that_is_cut_short_is_told_so(layered, graded, solved):
    cells = [code("x = 1")] * 2500
    result = graded(layered, LAB, (*solved(LAB), *cells))
    assert result.points == result.max_points
    assert "too long" in "".join(result.remarks)


def test_a_notebook_that_waits_for_a_busy_machine_loses_no_points(layered, graded, solved):
    slow = """
import time
def slowly(function):
    def slow(*args):
        time.sleep(0.15)
        return function(*args)
    return slow
time.sleep(0.4)
causal_mask, padding_mask = map(slowly, (causal_mask, padding_mask))
"""
    result = graded(layered, LAB, (*solved(LAB), code(slow)), Seconds(cell=0.3, call=0.1))
    assert result.points == result.max_points, result.remarks


TELLING = {
    "the words of an error": ("raise ValueError(f'{scores.tolist()} {scores[0, 0]}')", "raised ValueError: …"),
    "the words of an error in fractions": (
        "raise ValueError(f'{round(1000 * scores[0, 0])}/1000')",
        "raised ValueError: …/…",
    ),
    "the name of an error": (
        "raise type(f'Q_{abs(round(1000 * scores[0, 0]))}', (Exception,), {})",
        "raised an error of its own: no message",
    ),
    "a text": ("return str(scores.tolist())", "gave back a str, and not a table of numbers"),
    "a text in a table": ("return [[str(scores.tolist())]]", "holds text at row 1, column 1, 'text': numbers"),
    "the name of a type": (
        "return type(f'Q_{abs(round(1000 * scores[0, 0]))}', (), {})()",
        "gave back an object of its own, and not",
    ),
    "the names of columns": (
        "return np.zeros(3, dtype=[(f'Q_{abs(round(1000 * scores[0, 0]))}', int)])",
        "gave back an ndarray of type void, and not",
    ),
}


@pytest.mark.parametrize("telling", TELLING)
def test_what_a_function_was_asked_with_is_not_shown(layered, graded, solved, telling):
    body, said = TELLING[telling]
    tells = f"import numpy as np\ndef masked_softmax(scores, mask):\n    {body}"
    result = graded(layered, LAB, (*solved(LAB), code(tells)))
    (own,) = (one for one in result.outcomes if one.exercise == "masked_softmax")
    assert said in own.message
    first_line = own.message.split("\n")[0]
    assert not re.search(r"\d{3}", first_line.replace("1000", "").replace("np.zeros(3", ""))


def test_a_student_may_have_any_name(layered):
    names = ["ada", " Ada ", "Zoë", "王", "👩‍💻", "O'Neil; DROP", "x" * 5000, "a\nb", "<b>", "007"]
    source = f"from labkit import student\nfor name in {names!r}:\n    me = student(name)\nname = me.name"
    asked = []
    with layered.guest(LONG) as guest:
        ran = guest.run([source], ["name"], (), lambda name, attempt: asked.append((name, attempt)) or {})
    assert not ran.errors and ran.numbers[0] == ("007", 0)
    assert asked == [(name[:200], 0) for name in names]


@pytest.mark.parametrize("name", ["''", "'  '", "None", "7", "b'ada'", "['ada']"])
def test_what_is_no_name_is_refused_in_the_cell(layered, name):
    with layered.guest(LONG) as guest:
        ran = guest.run([f"from labkit import student\nstudent({name})"], (), (), lambda name, attempt: {})
    assert "your name must be a text" in ran.errors[0]["text"] and not ran.numbers


def test_a_guest_that_says_nothing_we_know_is_ended(layered):
    with layered.guest(LONG) as guest, pytest.raises(Gone, match="can't be read"):
        guest.run(["import os\nos.write(3, bytes(4) + bytes([0, 0, 0, 0]) + b'{}')"], (), (), lambda *_: {})


# ---- judging ---------------------------------------------------------------------------------------------------------


@given(st.sampled_from([one for one in EXERCISES.values() if one.is_table]), values, values)
@settings(max_examples=150)
def test_any_table_can_be_judged(exercise, table, before):
    tables = dict.fromkeys((name for _, name in exercise.before), before) | {exercise.name: table}
    came = outcome(judge_table(exercise, table, draw_numbers("ada") if exercise.own else {}, tables))
    assert 0 <= came.points <= came.max_points and len(came.message) < 5000


@given(
    st.sampled_from([one for one in EXERCISES.values() if not one.is_table]), st.lists(values, min_size=1), st.data()
)
@settings(max_examples=60)
def test_any_answers_can_be_judged(exercise, answers, data):
    kinds = st.sampled_from(["", "ValueError", "OverflowError", "UFuncTypeError"])

    def ask(args):
        value, kind = answers[len(str(args)) % len(answers)], data.draw(kinds)
        return Answer(error="x", error_type=kind) if kind else Answer(value=value, altered=tuple(args))

    came = outcome(judge_function(exercise, ask))
    assert 0 <= came.points < came.max_points


@pytest.mark.parametrize("table", [[[..., 2, 3]], [[[..., 2, 3]]], [..., 2, 3], np.array([[..., 2, 3]], dtype=object)])
def test_open_cells_of_one_row_may_stand_in_a_table_of_one_row(table):
    came = outcome(judge_table(EXERCISES["top_left_keys"], table, {}, {}))
    assert came.message == "What is filled in fits. 1 cell is still open: entry 1."
