"""The fork server: started by exec, so that it has never seen a reference, a seed or a score.

It forks a *keeper* for each place where guests are asked for, one after the other. A keeper runs no code of a
student's: it forks a guest, waits until it ends, or the host says so or is gone, and ends whatever it has left behind.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import calls, confine, guest

READY = KEEPER = GUEST = b"g"
END = b"e"
STATUS = struct.Struct("!i")
OFTEN = ("numpy.linalg", "numpy.ma", "numpy.random")  # NumPy imports these when they are first used
A_MOMENT = 0.02  # seconds between two looks, where the system doesn't tell when a process ends


@dataclass(frozen=True)
class House:
    """What every keeper knows.

    Attributes
    ----------
    layered : bool
        Whether to use what layers there are, or none but limits.
    world : int, optional
        A descriptor of the server's own namespace of processes; None where there are no namespaces.
    readable : tuple of str
        What a guest may read.
    unrooted : bool
        Whether a guest can do without root.
    """

    layered: bool
    world: int | None = None
    readable: tuple[str, ...] = ()
    unrooted: bool = False


def main(descriptor: int, layered: bool, preload: list[str]) -> None:
    """Fork a keeper for each socket that comes, until nobody is left who might send one.

    Parameters
    ----------
    descriptor : int
        A socket; each of its bytes brings another socket: to a keeper.
    layered : bool
        Whether to use what layers there are, or none but limits.
    preload : list of str
        Modules that the notebooks are going to import.
    """
    requests = socket.socket(fileno=descriptor)
    for name in (*OFTEN, *preload):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides what an interrupt means
    house = built() if layered and sys.platform == "linux" else House(layered=False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    guest.forget_labkit()
    gc.freeze()
    with contextlib.suppress(OSError):
        requests.send(READY)
    while True:
        word, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not word:
            return
        if descriptors and os.fork() == 0:
            with contextlib.suppress(BaseException):
                requests.close()
                keep(socket.socket(fileno=descriptors[0]), house)
            os._exit(0)
        for one in descriptors:
            os.close(one)


def built() -> House:
    """Enter the namespaces, after a try in a child: half of them would be worse than none."""
    confine.stands(confine.first_to_go)
    world = None
    if confine.stands_in_a_child(try_namespaces):
        world = confine.own_world()
        confine.own_view()
    readable = confine.readable() if world is None else confine.needed()
    return House(True, world, tuple(readable), confine.stands_in_a_child(confine.read_as_somebody))


def try_namespaces() -> None:
    world = confine.own_world()
    confine.own_view()
    child = confine.fork_first_process(world)
    if child == 0:
        confine.own_room()
    elif os.waitpid(child, 0)[1]:
        raise OSError("namespaces: a guest must be able to have a room; it is not")


# ---- keepers ---------------------------------------------------------------------------------------------------------


def keep(lane: socket.socket, house: House) -> None:
    """Fork guests, one after the other, as the host asks for them."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    user, room = confine.somebody(), confine.ROOM
    if house.world is None:
        room = tempfile.mkdtemp(prefix="labkit-")
        if house.unrooted and os.getuid() == 0:
            os.chown(room, user, user)
        confine.stands(confine.adopt_orphans)
    layers = layers_for(house, room, user)
    try:
        while True:
            word, descriptors, _, _ = socket.recv_fds(lane, 1, 1)
            if not word:
                return
            if word == GUEST:
                lane.sendall(STATUS.pack(look_after(lane, descriptors, house, room, layers)))
    finally:
        if house.world is None:
            empty(room)
            os.rmdir(room)


def layers_for(house: House, room: str, user: int) -> dict[str, Callable[[], None]]:
    """What a guest is to put up, in this order: the later ones need nothing that the earlier ones forbid."""
    if not house.layered:
        return {}
    layers = {"namespaces": confine.own_room} if house.world is not None else {}
    layers["no new privileges"] = confine.no_new_privileges
    if house.unrooted:
        layers["not root"] = lambda: confine.become(user)
    with contextlib.suppress(OSError):
        rules = confine.rules(house.readable, room if house.world is None else os.path.dirname(room))
        layers["landlock"] = lambda: confine.obey(rules)
    layers["no capabilities"] = confine.drop_capabilities
    with contextlib.suppress(OSError):
        program = calls.program(outside=house.world is None)
        layers["system calls"] = lambda: calls.refuse(program)
    return layers


def look_after(lane: socket.socket, descriptors: list[int], house: House, room: str, layers: dict) -> int:
    """Fork a guest and end it, and what it left, when it is time; its exit status."""
    child = os.fork() if house.world is None else confine.fork_first_process(house.world)
    if child == 0:
        with contextlib.suppress(BaseException):
            lane.close()
            stay(socket.socket(fileno=descriptors[0]), room, layers)
        os._exit(0)
    for one in descriptors:
        os.close(one)
    status = until_over(lane, child)
    if house.world is None:
        end_all()
        empty(room)
    return status


def until_over(lane: socket.socket, child: int) -> int:
    """Wait for the guest's end, or the host's word, or the host's end; the guest's exit status."""
    watched: list[Any] = []
    with contextlib.suppress(AttributeError, OSError):  # a new Python on an old system, or no Linux at all
        watched = [os.pidfd_open(child)]
    over = status = 0
    while not (over or select.select([lane, *watched], [], [], None if watched else A_MOMENT)[0]):
        over, status = os.waitpid(child, os.WNOHANG)
    for one in watched:
        os.close(one)
    if not over:
        for end in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                end(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


def end_all() -> None:
    """End what an unconfined guest has forked: orphans come to the keeper, one after the other."""
    me = os.getpid()
    while children := children_of(me):
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


def empty(room: str) -> None:
    """Remove all that a folder holds, however deep, and whoever may read it: what lies deeper is brought up first."""
    while entries := list(os.scandir(room)):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                bring_up(entry.path, room)
                os.rmdir(entry)
            else:
                os.unlink(entry)


def bring_up(folder: str, room: str) -> None:
    os.chmod(folder, 0o700)
    for part in os.scandir(folder):
        if part.is_dir(follow_symlinks=False):
            os.chmod(part, 0o700)
        os.rename(part, os.path.join(room, os.urandom(16).hex()))


def stay(to_host: socket.socket, room: str, layers: dict[str, Callable[[], None]]) -> None:
    """Become the guest: confined, and then the notebook's."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    confine.limit()
    standing = confine.standing(layers)
    confine.stands(confine.end_with_parent)  # not before: whoever becomes somebody else has to say so again
    os.chdir(room)
    os.environ["HOME"] = tempfile.tempdir = room
    at = os.dup2(to_host.detach(), 3)
    os.closerange(4, 65536)
    guest.serve(socket.socket(fileno=at), standing)
