"""The fork server: started by exec, so that it has never seen a reference, a seed or a score; forks a guest when asked.

Between server and guest stands a *keeper*, which runs no code of a student's: it waits until the guest ends, or the
host says so or is gone, and then ends whatever the guest has left behind.
"""

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

from . import confine, guest
from .wire import send

READY = b"ready"
OFTEN = ("numpy.linalg", "numpy.ma", "numpy.random")  # NumPy imports these when they are first used


def main(descriptor: int, layered: bool, preload: list[str]) -> None:
    """Fork a guest for each pair of sockets that comes, until nobody is left who might send one.

    Parameters
    ----------
    descriptor : int
        A socket of packets; each brings two sockets: to the keeper, and to the guest.
    layered : bool
        Whether to use what layers there are, or none but limits.
    preload : list of str
        Modules that the notebooks are going to import.
    """
    requests = socket.socket(fileno=descriptor)
    for name in (*OFTEN, *preload):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    layers = ("namespaces",) if layered and sys.platform == "linux" and sees_little() else ()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides what an interrupt means
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    guest.forget_labkit()
    gc.freeze()
    with contextlib.suppress(OSError):
        requests.send(READY)
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, 16, 2)
        if not data:
            return
        if len(descriptors) == 2 and os.fork() == 0:
            try:
                requests.close()
                keep(*descriptors, layers, layered)
            finally:
                os._exit(1)
        for one in descriptors:
            os.close(one)


def sees_little() -> bool:
    """Enter the namespaces, after a try in a child: half of them would be worse than none."""
    child = os.fork()
    if child == 0:
        os._exit(0 if confine.stands(confine.own_view) and confine.stands(confine.own_processes) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and confine.stands(confine.own_view)


def keep(control_descriptor: int, guest_descriptor: int, layers: tuple[str, ...], layered: bool) -> None:
    """Fork the guest and end it, and what it left, when it is time. Never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control = socket.socket(fileno=control_descriptor)
    if layers:
        confine.own_processes()
    elif sys.platform == "linux":
        confine.stands(confine.adopt_orphans)
    room = confine.ROOM if layers else tempfile.mkdtemp(prefix="labkit-")
    child = os.fork()
    if child == 0:
        control.close()
        with contextlib.suppress(BaseException):
            stay(socket.socket(fileno=guest_descriptor), room, layers, layered)
        os._exit(0)
    os.close(guest_descriptor)
    with contextlib.suppress(BaseException):
        until_over(control, child)
    if not layers:
        end_all()
        shutil.rmtree(room, ignore_errors=True)
    os._exit(0)


def until_over(control: socket.socket, child: int) -> None:
    """Wait for the guest's end, or the host's word, and tell the host how it ended."""
    ends = watch(child)
    select.select([control, ends], [], [])
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(Exception):
        send(control, {"ended": status}, 1.0)


def watch(child: int) -> int:
    """A descriptor that can be read when the child has ended."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(child)
    ends, told = os.pipe()
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.set_blocking(told, False)
    if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        os.write(told, b"\0")
    return ends


def end_all() -> None:
    """End what an unconfined guest has forked: orphans come to the keeper, one after the other."""
    me = os.getpid()
    while children := list(children_of(me)):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def children_of(me: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    return []


def stay(to_host: socket.socket, room: str, layers: tuple[str, ...], layered: bool) -> None:
    """Become the guest: confined, and then the notebook's."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    if layers:
        confine.own_room()
    else:
        os.chdir(room)
    at = os.dup2(to_host.detach(), 3)
    os.closerange(4, 65536)
    confine.limit()
    more = {"no new privileges": confine.no_new_privileges, "not root": confine.become_nobody}
    more |= {"landlock": lambda: confine.landlock(room), "no capabilities": confine.drop_capabilities}
    if layered and sys.platform == "linux":
        layers += confine.standing(more)
    guest.serve(socket.socket(fileno=at), layers)
