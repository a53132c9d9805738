"""Layers between a guest and the machine. Each is used where the system has it; each says whether it stands.

Linux's system calls are made through ctypes: Python has no names of its own for most of them.
"""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import struct
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .standin import THERE

LIMITS = {
    "RLIMIT_AS": 1 << 30,  # bytes of memory, each process
    "RLIMIT_FSIZE": 10 << 20,  # bytes, each file
    "RLIMIT_NOFILE": 64,
    "RLIMIT_NPROC": 64,  # threads count; does nothing for root
    "RLIMIT_CPU": 60,  # seconds
    "RLIMIT_CORE": 1,  # with 0, a crash handler that the system may have would still be started
}
SOMEBODY, SOMEBODIES = 60600, 500  # user numbers that no system gives to anybody
ROOT = "/tmp"  # covered, in the server's own view of the files, by the root of what a guest sees
ROOM = "/room/tmp"  # an empty folder of the guest's own is seen here
ROOM_SIZE = b"size=32m,nr_inodes=1000,mode=777"

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
NOSUID, NODEV, RDONLY, REMOUNT, BIND, REC, PRIVATE = 2, 4, 1, 32, 4096, 16384, 1 << 18
SET_PDEATHSIG, SET_DUMPABLE, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 1, 4, 36, 38

# What Python itself may have to load later on. Of installed packages, only those that the stand-in allows are there.
SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom")
WRITABLE = ("/dev/null",)
ALLOWED = {name.lower() for name in THERE} | {"pillow"}  # whose libraries don't bear the name it is imported by

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: Any) -> int:
    """Call a function of the C library; raise OSError if it fails."""
    result = getattr(libc, name)(*args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def standing(layers: dict[str, Callable[[], None]]) -> tuple[str, ...]:
    """Put up each layer, in order, and give the names of those that stand."""
    return tuple(name for name, put_up in layers.items() if stands(put_up))


def stands(put_up: Callable[[], None]) -> bool:
    try:
        put_up()
    except (OSError, AttributeError, ValueError):  # this system hasn't got it, or doesn't let us
        return False
    return True


def stands_in_a_child(put_up: Callable[[], None]) -> bool:
    """Whether it would stand, without putting it up here."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os._exit(0 if stands(put_up) else 1)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- limits and privileges -------------------------------------------------------------------------------------------


def limit() -> None:
    for name, most in LIMITS.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS doesn't let one limit memory
                resource.setrlimit(kind, (most, most))


def first_to_go() -> None:
    """Where memory runs out all the same, the system is to end guests, and not the grader."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def no_new_privileges() -> None:
    call("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def unreadable_to_others() -> None:
    """No other process of this user may look into this one's memory, environment or descriptors."""
    call("prctl", SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    call("prctl", SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    call("prctl", SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def somebody() -> int:
    """A user whom nothing on the machine belongs to, nor hardly ever another guest."""
    return SOMEBODY + int.from_bytes(os.urandom(4), "big") % SOMEBODIES


def become(user: int) -> None:
    """Give up root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def read_as_somebody() -> None:
    """Try whether Python's own files can still be read as somebody else: they may lie in root's own folder."""
    become(somebody())
    for path in (os.__file__, np.__file__, shutil.__file__):
        with open(path, "rb"):
            pass


def drop_capabilities() -> None:
    head, data = struct.pack("Ii", 0x20080522, 0), bytes(24)
    call("capset", head, data)


# ---- namespaces ------------------------------------------------------------------------------------------------------


def own_world() -> int:
    """Go on in a world of users and processes of one's own, where all ends with its first process.

    Returns
    -------
    int
        A descriptor of this world's processes.
    """
    uid, gid = os.getuid(), os.getgid()
    call("unshare", NEWNS | NEWNET | NEWUTS | NEWPID | (NEWUSER if uid else 0))
    if uid:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{SOMEBODY} {uid} 1"),
            ("gid_map", f"{SOMEBODY} {gid} 1"),
        ):
            Path("/proc/self", file).write_text(text)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    end_with_parent()
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def own_view() -> None:
    """See only what Python needs, read-only."""
    mount(None, "/", None, REC | PRIVATE)
    shown = {folder: allowed(folder) for folder in packages()}
    paths = [path for path in (*needed(), *chain(*shown.values())) if os.path.exists(path)]
    found = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths}
    mount("none", ROOT, "tmpfs", NOSUID | NODEV, b"mode=755")
    os.umask(0o022)
    for path in needed():
        bind(found, path)
    for folder, inside in shown.items():
        os.makedirs(ROOT + folder, exist_ok=True)
        mount("none", ROOT + folder, "tmpfs", NOSUID | NODEV, b"mode=755")
        for path in inside:
            bind(found, path)
        read_only(ROOT + folder)
    os.makedirs(ROOT + ROOM)
    with contextlib.suppress(FileExistsError):  # Python itself may live there
        os.symlink(ROOM, ROOT + "/tmp")
    read_only(ROOT)
    for descriptor in found.values():
        os.close(descriptor)
    os.chroot(ROOT)
    os.chdir("/")


def needed() -> list[str]:
    """Paths to read: the outermost ones only, which stand before what they contain."""
    libraries = {f"{sys.base_prefix}/lib", f"{sys.prefix}/lib", sysconfig.get_path("stdlib")}
    inside = tuple(f"{path}/" for path in (*SYSTEM, *libraries))
    return [*SYSTEM, *(path for path in sorted(libraries.difference(SYSTEM)) if not path.startswith(inside))]


def packages() -> list[str]:
    """Folders of installed packages, in which nobody shall find attention ready-made, ours or another's."""
    known = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(Path(np.__file__).parents[1])}
    return sorted(known | {str(folder) for path in needed() for folder in Path(path).glob("python*/*-packages")})


def allowed(folder: str) -> list[str]:
    """The packages in a folder that a notebook may import."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else ()
    return [f"{folder}/{name}" for name in names if name.lower().partition(".")[0] in ALLOWED]


def bind(found: Mapping[str, int], path: str) -> None:
    """Show a file or folder in the view, read-only."""
    target = Path(ROOT + path)
    if path not in found or target.exists():
        return  # not on this machine, or shown already as a part of another folder
    target.parent.mkdir(parents=True, exist_ok=True)
    source = f"/proc/self/fd/{found[path]}"
    if os.path.isdir(source):
        target.mkdir()
    else:
        target.touch()
    mount(source, str(target), None, BIND | REC)
    read_only(str(target))


def read_only(target: str) -> None:
    kept = os.statvfs(target).f_flag & ~RDONLY  # flags that a user's namespace may not take away
    mount(None, target, None, REMOUNT | BIND | RDONLY | kept)


def mount(source: str | None, target: str, kind: str | None, flags: int, options: bytes | None = None) -> None:
    texts = (None if text is None else os.fsencode(text) for text in (source, target, kind))
    call("mount", *texts, ctypes.c_ulong(flags), options)


def fork_first_process(world: int) -> int:
    """Fork a child that is the first process of a world inside this one, and ends all of it with itself."""
    call("unshare", NEWPID)
    child = os.fork()
    if child:
        call("setns", world, NEWPID)
    return child


def own_room() -> None:
    """An empty folder in memory, of limited size, that is gone when the guest is."""
    call("unshare", NEWNS | NEWIPC)
    mount("none", ROOM, "tmpfs", NOSUID | NODEV, ROOM_SIZE)


# ---- landlock --------------------------------------------------------------------------------------------------------

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def rules(paths: Iterable[str], room: str) -> int:
    """Read what Python needs, write in one folder, run no program, reach no port and no other process.

    Returns
    -------
    int
        The rules' descriptor.
    """
    version = call("syscall", CREATE_RULESET, None, 0, 1)
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = struct.pack("QQQ", handled, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = call("syscall", CREATE_RULESET, attributes, len(attributes), 0)
    for path in paths:
        allow(ruleset, path, (READ_FILE | READ_DIR) & handled)
    for path in WRITABLE:
        allow(ruleset, path, (READ_FILE | WRITE_FILE) & handled)
    allow(ruleset, room, handled & ~(EXECUTE | IOCTL_DEV))
    return ruleset


def allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):  # not everything that may be there is
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights &= -1 if os.path.isdir(path) else OF_FILES
            call("syscall", ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)


def obey(ruleset: int) -> None:
    no_new_privileges()
    call("syscall", RESTRICT_SELF, ruleset, 0)


def readable() -> Iterator[str]:
    """The needed paths where no view hides what else is in them: of folders of packages, only what is allowed."""
    folders = packages()
    for path in needed():
        yield from around(path, folders)
    for folder in folders:
        yield from allowed(folder)


def around(path: str, hidden: Collection[str]) -> Iterator[str]:
    """All that a folder holds but some of its parts, however deep they lie."""
    if path in hidden:
        return
    if any(other.startswith(f"{path}/") for other in hidden):
        for name in os.listdir(path):
            yield from around(f"{path}/{name}", hidden)
    else:
        yield path
