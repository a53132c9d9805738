"""What a guest may not ask of the kernel (seccomp). Namespaces and landlock leave all of this open, or may be missing.

The filter is a small program in the kernel's own language (BPF), made here, which looks at each call's number.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator, Mapping

from . import confine

# Each call's number on x86-64 and on ARM; None where there is no such call.
REFUSED = {
    # Programs and processes. The limit on a process's memory is a limit on a guest's only while it is a single one.
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    # Others' memory, descriptors, signals, priority and processors: within one user, those are free for all.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    # The network: a namespace has none of its own, but a virtual machine's host (AF_VSOCK) is reached past it.
    "socket": (41, 198),
    # What other guests find, now or later: keys, and shared memory, semaphores and messages that outlive a process.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # Memory that no limit counts, and large parts of the kernel that nobody needs here.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "unshare": (272, 97),
    "setns": (308, 268),
}
# Of files, landlock guards what they hold, an older one not even that; but not who may use them, nor their dates.
REFUSED_OUTSIDE = {
    "truncate": (76, 45),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
# These depend on an argument. With the last two, one has the kernel send a signal to another process, or types into
# somebody's terminal.
CLONE3, CLONE, KILL, TGKILL, PRLIMIT = (435, 435), (56, 220), (62, 129), (234, 131), (302, 261)
FCNTL, IOCTL = (72, 25), (16, 29)
CLONE_THREAD = 0x10000
OWN = 0xFFFFFFFF  # stands for the guest's own process, whose number isn't known beforehand
F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX = 8, 15, 0x8901, 0x8902, 0x5412, 0x541C

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the column above, and the kernel's own name
OLD_NUMBERS = 0x40000000  # from here on, x86-64 has the calls of another convention
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST, SECOND = 0, 4, 16, 24  # where they stand in what the filter sees; an argument's lower half
ALLOW, ERROR = 0x7FFF0000, 0x00050000
SET_SECCOMP, FILTER = 22, 2


def program(outside: bool) -> bytes:
    """The filter; a guest that sees the machine's own files (``outside``) may not mark them.

    Raises
    ------
    OSError
        For a machine whose numbers aren't known here.
    """
    machine = platform.machine()
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"calls: no numbers are known for {machine}")
    return b"".join(steps(*MACHINES[machine], {**REFUSED, **(REFUSED_OUTSIDE if outside else {})}))


def refuse(program: bytes) -> None:
    """Refuse these calls from now on, and signals to any process but this one."""
    program = program.replace(step(EQUAL, OWN, 1), step(EQUAL, os.getpid(), 1))
    kept = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
    confine.call("prctl", SET_SECCOMP, FILTER, head, 0, 0)


def steps(column: int, machine: int, refused: Mapping[str, tuple]) -> Iterator[bytes]:
    """The filter's steps, each of eight bytes."""
    yield step(LOAD, MACHINE)
    yield from unless(EQUAL, machine, errno.EPERM)
    yield step(LOAD, NUMBER)
    yield from when(AT_LEAST, OLD_NUMBERS, errno.EPERM)
    yield from when(EQUAL, CLONE3[column], errno.ENOSYS)  # the C library then takes clone, which can be looked into
    for numbers in refused.values():
        if numbers[column] is not None:
            yield from when(EQUAL, numbers[column], errno.EPERM)
    own = EQUAL, OWN
    for call, first in {CLONE: (ANY_BIT, CLONE_THREAD), KILL: own, TGKILL: own, PRLIMIT: (EQUAL, 0)}.items():
        yield from of(call[column], FIRST, [*unless(*first, errno.EPERM)])
    for call, second in {FCNTL: (F_SETOWN, F_SETOWN_EX), IOCTL: (FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX)}.items():
        yield from of(call[column], SECOND, [one for value in second for one in when(EQUAL, value, errno.EPERM)])
    yield step(RETURN, ALLOW)


def of(number: int, argument: int, tests: list[bytes]) -> Iterator[bytes]:
    """Tests of an argument of one call, which is allowed if none of them says otherwise."""
    yield step(EQUAL, number, 0, len(tests) + 2)
    yield step(LOAD, argument)
    yield from tests
    yield step(RETURN, ALLOW)


def when(test: int, value: int, error: int) -> Iterator[bytes]:
    yield step(test, value, 0, 1)
    yield step(RETURN, ERROR | error)


def unless(test: int, value: int, error: int) -> Iterator[bytes]:
    yield step(test, value, 1, 0)
    yield step(RETURN, ERROR | error)


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: what to do, how many to pass over if a test holds or doesn't, and with which value."""
    return struct.pack("HBBI", code, yes, no, value)
