"""Layers between a guest and the machine. Each is used where the system has it; each says whether it stands.

Linux's system calls are made through ctypes: Python has no names of its own for most of them.
"""

import contextlib
import ctypes
import os
import resource
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

LIMITS = {
    "RLIMIT_AS": 1 << 30,  # bytes of memory, each process
    "RLIMIT_FSIZE": 10 << 20,  # bytes, each file
    "RLIMIT_NOFILE": 64,
    "RLIMIT_NPROC": 64,  # does nothing for root, whom a process namespace cleans up after
    "RLIMIT_CPU": 60,  # seconds
    "RLIMIT_CORE": 0,
}
NOBODY = 65534
ROOM = "/tmp"  # an empty folder of the guest's own is seen here
ROOM_SIZE = b"size=32m,nr_inodes=1000,mode=777"

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
NOSUID, NODEV, RDONLY, REMOUNT, BIND, REC, PRIVATE = 2, 4, 1, 32, 4096, 16384, 1 << 18
SET_DUMPABLE, SET_NO_NEW_PRIVS, SET_CHILD_SUBREAPER = 4, 38, 36

# What Python itself may have to load later on. Its folder in "site-packages" is given name by name, without labkit.
SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom")
WRITABLE = ("/dev/null",)
LABKIT = Path(__file__).resolve().parents[2]

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args) -> int:
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


# ---- limits and privileges -------------------------------------------------------------------------------------------


def limit() -> None:
    for name, most in LIMITS.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS doesn't let one limit memory
                resource.setrlimit(kind, (most, most))


def no_new_privileges() -> None:
    call("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def unreadable_to_others() -> None:
    """No other process of this user may look into this one's memory, environment or descriptors."""
    call("prctl", SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    call("prctl", SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def become_nobody() -> None:
    """Give up root, if what Python has to read can be read without it."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def drop_capabilities() -> None:
    head, data = struct.pack("Ii", 0x20080522, 0), bytes(24)
    call("capset", head, data)


# ---- namespaces ------------------------------------------------------------------------------------------------------


def own_view() -> None:
    """See only what Python needs, read-only, and no network. For the server, once, before it forks."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        call("unshare", NEWNS | NEWNET | NEWUTS)
    else:
        call("unshare", NEWUSER | NEWNS | NEWNET | NEWUTS)
        for file, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1")):
            Path("/proc/self", file).write_text(text)
    mount(None, "/", None, REC | PRIVATE)
    found = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in needed() if os.path.exists(path)]
    mount("none", ROOM, "tmpfs", NOSUID | NODEV, b"mode=755")
    for path, descriptor in found:
        bind(f"/proc/self/fd/{descriptor}", Path(ROOM + path))
        os.close(descriptor)
    cover(Path(ROOM + str(LABKIT)))
    os.makedirs(ROOM + ROOM, exist_ok=True)
    os.chroot(ROOM)
    os.chdir("/")


def needed() -> Iterator[str]:
    """Paths to read: the outermost ones only, which stand before what they contain."""
    yield from SYSTEM
    places = {sys.base_prefix, sys.prefix, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))}
    libraries = {os.path.join(place, "lib") if place in (sys.base_prefix, sys.prefix) else place for place in places}
    for path in sorted(libraries):
        if not any(path.startswith(other + "/") for other in (*SYSTEM, *libraries)):
            yield path


def bind(source: str, target: Path) -> None:
    """Show a file or folder at another place, read-only."""
    if target.exists():
        return  # shown already, as a part of another folder
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.isdir(source):
        target.mkdir()
    else:
        target.touch()
    mount(source, str(target), None, BIND | REC)
    kept = os.statvfs(target).f_flag & ~RDONLY  # flags that a user's namespace may not take away
    mount(None, str(target), None, REMOUNT | BIND | RDONLY | kept)


def cover(folder: Path) -> None:
    """Hide labkit itself, if it lies where packages lie."""
    if folder.exists():
        mount("none", str(folder), "tmpfs", NOSUID | NODEV | RDONLY, b"size=4k")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: bytes | None = None) -> None:
    texts = (None if text is None else os.fsencode(text) for text in (source, target, kind))
    call("mount", *texts, ctypes.c_ulong(flags), options)


def own_processes() -> None:
    """What is forked next is the first process of its own small world, and ends all of it with itself."""
    call("unshare", NEWPID | NEWNS | NEWIPC)


def own_room() -> None:
    """An empty folder in memory, of limited size, that is gone when the guest is."""
    mount("none", ROOM, "tmpfs", NOSUID | NODEV, ROOM_SIZE)
    os.chdir(ROOM)


# ---- landlock --------------------------------------------------------------------------------------------------------

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def landlock(room: str) -> None:
    """Read what Python needs, write in one folder, run no program, reach no port and no other process."""
    version = call("syscall", CREATE_RULESET, None, 0, 1)
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = struct.pack("QQQ", handled, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = call("syscall", CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable():
            allow(ruleset, path, (READ_FILE | READ_DIR) & handled)
        for path in WRITABLE:
            allow(ruleset, path, (READ_FILE | WRITE_FILE) & handled)
        allow(ruleset, room, handled & ~(EXECUTE | IOCTL_DEV))
        no_new_privileges()
        call("syscall", RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def readable() -> Iterator[str]:
    """The needed paths; of a folder that holds labkit, what else it holds."""
    for path in map(Path, needed()):
        if path == LABKIT or path in LABKIT.parents:
            yield from (str(part) for part in around(path, LABKIT))
        else:
            yield str(path)


def around(folder: Path, hidden: Path) -> Iterator[Path]:
    """All that a folder holds but one part, however deep that lies."""
    for part in folder.iterdir():
        if part in hidden.parents:
            yield from around(part, hidden)
        elif part != hidden:
            yield part


def allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):  # not everything that may be there is
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights &= -1 if os.path.isdir(path) else OF_FILES
            call("syscall", ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)
