"""Frames between host and guest: a length, JSON, and the raw bytes of arrays. Nothing is unpickled."""

import json
import math
import re
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...plain import foreign

HEAD = struct.Struct("!II")
LARGEST_FRAME = 4_000_000  # bytes of JSON, and of arrays, in what a guest says
LARGEST_ARRAY = 1_000_000  # bytes: answers have a few hundred numbers
LONGEST_TEXT, LONGEST_WORDS = 10_000, 300  # characters: of what is printed, and of anything inside a list or dict
MOST_ITEMS = 50_000
MOST_DEEP = 30  # lists within lists
MOST_AXES = 8
OUT_OF_MEMORY = 111  # a guest's exit status
PATIENCE = 5  # times as long as code may compute, by the clock: the machine may be busy with others
DTYPES = {f"<{kind}{size}" for kind, sizes in {"f": "248", "i": "248", "u": "248", "c": "8"}.items() for size in sizes}
DTYPES |= {"|b1", "|i1", "|u1", "<c16"}
NO_TEXT = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what no page, terminal or file should get


class Unreadable(Exception):
    """What came is no frame of ours."""


class Ended(Exception):
    """The other side is gone."""


class TooSlow(Exception):
    """Nothing came in time."""


def send(to: socket.socket, message: Mapping[str, Any], seconds: float | None = None) -> None:
    """Send a message, see ``frame``.

    Raises
    ------
    Ended, TooSlow
    """
    send_frames(to, frame(message), seconds)


def send_frames(to: socket.socket, frames: bytes, seconds: float | None = None) -> None:
    to.settimeout(seconds)
    try:
        to.sendall(frames)
    except TimeoutError:
        raise TooSlow from None
    except OSError:
        raise Ended from None


def frame(message: Mapping[str, Any]) -> bytes:
    """A message whose values are made of what ``Packer`` can hold.

    Raises
    ------
    ValueError
        If it has too many items, or goes too deep.
    """
    packer = Packer()
    text = json.dumps(packer.pack(message)).encode("ascii")
    raw = b"".join(packer.arrays)
    return HEAD.pack(len(text), len(raw)) + text + raw


def receive(source: socket.socket, seconds: float | None = None, *, doubted: bool = False) -> dict[str, Any]:
    """The next message; a ``doubted`` one may only have the size of an answer, and its texts are made fit to be shown.

    Raises
    ------
    Unreadable, Ended, TooSlow
    """
    until = None if seconds is None else time.monotonic() + seconds
    size, raw_size = HEAD.unpack(exactly(source, HEAD.size, until))
    if doubted and max(size, raw_size) > LARGEST_FRAME:
        raise Unreadable
    both = exactly(source, size + raw_size, until)
    try:
        message = Unpacker(both[size:], doubted).unpack(json.loads(both[:size]))
    except (ValueError, TypeError, IndexError, OverflowError, RecursionError, MemoryError):
        raise Unreadable from None
    if not isinstance(message, dict):
        raise Unreadable
    return message


def exactly(source: socket.socket, size: int, until: float | None) -> bytes:
    parts, left = [], size
    while left:
        source.settimeout(None if until is None else max(until - time.monotonic(), 1e-6))
        try:
            part = source.recv(min(left, 1 << 20))
        except TimeoutError:
            raise TooSlow from None
        except OSError:
            raise Ended from None
        if not part:
            raise Ended
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


# ---- values --------------------------------------------------------------------------------------------------------
# Plain JSON stands for itself; whatever else there is becomes a list whose first item names its kind. Arrays lie in the
# raw bytes in the order in which they are named, so that nobody can name more of them than came.


class Counted:
    """How many items there have been so far, and how deep they may still go."""

    items = 0

    def count(self, deep: int) -> None:
        self.items += 1
        if self.items > MOST_ITEMS or deep > MOST_DEEP:
            most = f"{MOST_ITEMS} items, {MOST_DEEP} deep"
            raise ValueError(f"wire: a message has at most {most}; got more, or deeper. Send less.")


class Packer(Counted):
    """Makes JSON of a value; the bytes of its arrays are kept in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []

    def pack(self, value: Any, deep: int = 0) -> Any:
        self.count(deep)
        if value is None or type(value) in (bool, float):
            return value
        if isinstance(value, str):
            return str.__str__(value)  # NumPy has texts of a class of its own
        if type(value) is int:
            return value if abs(value) < 2**63 else ["other", "int"]
        if value is Ellipsis:
            return ["dots"]
        if type(value) is dict and all(type(key) is str for key in value):
            return {key: self.pack(item, deep + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return [kind, [self.pack(item, deep + 1) for item in value]]
        kind = type(value).__name__
        if isinstance(value, np.ndarray | np.generic):
            return self.pack_array(np.asarray(value), kind)
        return ["other", kind]

    def pack_array(self, array: np.ndarray, kind: str) -> Any:
        if not fits(array.shape, array.itemsize):
            return ["other", f"{kind} of shape {array.shape}"]
        if array.dtype.kind in "fc" and array.dtype.newbyteorder("<").str not in DTYPES:
            array = array.astype(float if array.dtype.kind == "f" else complex)  # longer than any that is expected
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            return ["other", f"{kind} of type {array.dtype.type.__name__}"]
        self.arrays.append(array.astype(dtype, copy=False).tobytes())
        return ["array", dtype, list(array.shape)]


class Unpacker(Counted):
    """Makes the value that JSON stands for: writable arrays of the few dtypes that are allowed."""

    def __init__(self, raw: bytes, doubted: bool = False):
        self.raw, self.at, self.doubted = raw, 0, doubted

    def unpack(self, tree: Any, deep: int = 0) -> Any:
        self.count(deep)
        if isinstance(tree, dict):
            return {self.text(key, deep): self.unpack(item, deep + 1) for key, item in tree.items()}
        if isinstance(tree, str):
            return self.text(tree, deep)
        if isinstance(tree, list):
            return self.unpack_kind(*tree, deep=deep)
        if type(tree) is int and abs(tree) >= 2**63:
            raise ValueError(tree)
        return tree

    def unpack_kind(self, kind: str, *rest: Any, deep: int) -> Any:
        if kind == "dots":
            return ...
        if kind in ("list", "tuple"):
            items = [self.unpack(item, deep + 1) for item in rest[0]]
            return tuple(items) if kind == "tuple" else items
        if kind == "array":
            return self.unpack_array(*rest)
        if kind == "other":
            return foreign(str(rest[0]))
        raise ValueError(kind)

    def unpack_array(self, name: str, shape: list[int]) -> np.ndarray:
        if name not in DTYPES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(name)
        dtype, count = np.dtype(name), math.prod(shape)
        if not fits(shape, dtype.itemsize):
            raise ValueError(shape)
        flat = np.frombuffer(self.raw, dtype, count, self.at) if count else np.empty(0, dtype)
        self.at += flat.nbytes
        return flat.reshape(shape).astype(dtype.newbyteorder("="))

    def text(self, text: str, deep: int) -> str:
        most = LONGEST_TEXT if deep < 2 else LONGEST_WORDS
        return NO_TEXT.sub("\ufffd", text[:most]) if self.doubted else text


def fits(shape: Sequence[int], itemsize: int) -> bool:
    """Whether an array is no larger than anyone needs; one that holds nothing may still have long sides."""
    return len(shape) <= MOST_AXES and math.prod(n or 1 for n in shape) * itemsize <= LARGEST_ARRAY
