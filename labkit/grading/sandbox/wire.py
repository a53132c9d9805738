"""Frames between host and guest: a length, JSON, and the raw bytes of arrays. Nothing is unpickled."""

import json
import math
import re
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...answer import plain

HEAD = struct.Struct("!II")
LARGEST_FRAME = 16_000_000  # bytes
LARGEST_ARRAY = 1_000_000  # bytes: answers have a few hundred numbers
MOST_ITEMS = 200_000
MOST_AXES = 8
OUT_OF_MEMORY = 111  # a guest's exit status
DTYPES = {f"<{kind}{size}" for kind, sizes in {"f": "248", "i": "248", "u": "248", "c": "8"}.items() for size in sizes}
DTYPES |= {"|b1", "|i1", "|u1", "<c16"}


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
    """A message whose values are made of what ``pack`` can hold.

    Raises
    ------
    ValueError, RecursionError
        If it is too large, or too deep.
    """
    blobs = Blobs()
    text = json.dumps(pack(message, blobs)).encode("ascii")
    raw = b"".join(blobs)
    if len(text) + len(raw) > LARGEST_FRAME:
        raise ValueError(f"wire: a message has at most {LARGEST_FRAME} bytes; got {len(text) + len(raw)}. Send less.")
    return HEAD.pack(len(text), len(raw)) + text + raw


def receive(source: socket.socket, seconds: float | None = None) -> dict[str, Any]:
    """The next message.

    Raises
    ------
    Unreadable, Ended, TooSlow
    """
    until = None if seconds is None else time.monotonic() + seconds
    size, raw_size = HEAD.unpack(exactly(source, HEAD.size, until))
    if size + raw_size > LARGEST_FRAME:
        raise Unreadable
    both = exactly(source, size + raw_size, until)
    try:
        message = unpack(json.loads(both[:size]), both[size:])
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError, MemoryError):
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
# Plain JSON stands for itself; whatever else there is becomes a list whose first item names its kind.


class Blobs(list):
    """The bytes of arrays, and how many items lists have had so far."""

    items = 0

    def count(self, more: int) -> None:
        self.items += more
        if self.items > MOST_ITEMS:
            raise ValueError(f"wire: lists have at most {MOST_ITEMS} items in all; got more. Send less.")


def pack(value: Any, blobs: Blobs) -> Any:
    """JSON for a value; the bytes of its arrays are added to ``blobs``."""
    if value is None or type(value) in (bool, float, str):
        return value
    if type(value) is int:
        return value if abs(value) < 2**63 else ["other", "int"]
    if value is Ellipsis:
        return ["dots"]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: pack(item, blobs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        blobs.count(len(value))
        return ["tuple" if isinstance(value, tuple) else "list", [pack(item, blobs) for item in value]]
    return pack_foreign(value, blobs)


def pack_foreign(value: Any, blobs: Blobs) -> Any:
    """An array, whatever says that it can be one, or the name of its type."""
    kind = type(value).__name__
    if isinstance(value, str | bytes | dict | set | Iterator) or callable(value):
        return ["other", kind]
    if isinstance(value, np.ndarray) and value.nbytes > LARGEST_ARRAY:
        return ["other", f"{kind} of shape {value.shape}"]
    try:
        array = plain(value)
    except Exception:  # a foreign object's own conversion may raise anything
        return ["other", kind]
    if array.dtype.kind in "US":
        return pack(array.tolist(), blobs)
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in DTYPES:
        return ["other", f"{kind} of type {array.dtype}"]
    if array.nbytes > LARGEST_ARRAY or array.ndim > MOST_AXES:
        return ["other", f"{kind} of shape {array.shape}"]
    start = sum(map(len, blobs))
    blobs.append(array.astype(dtype, copy=False).tobytes())
    return ["array", dtype, list(array.shape), start]


def unpack(tree: Any, raw: bytes) -> Any:
    """The value that JSON stands for: writable arrays of the few dtypes that are allowed."""
    if isinstance(tree, dict):
        return {key: unpack(item, raw) for key, item in tree.items()}
    if not isinstance(tree, list):
        return tree
    kind, *rest = tree
    if kind == "dots":
        return ...
    if kind in ("list", "tuple"):
        items = [unpack(item, raw) for item in rest[0]]
        return tuple(items) if kind == "tuple" else items
    if kind == "array":
        return unpack_array(*rest, raw)
    if kind == "other":
        return foreign(str(rest[0]))
    raise ValueError(kind)


def unpack_array(name: str, shape: list[int], start: int, raw: bytes) -> np.ndarray:
    if name not in DTYPES or len(shape) > MOST_AXES or not all(type(n) is int and n >= 0 for n in (*shape, start)):
        raise ValueError(name)
    dtype, count = np.dtype(name), math.prod(shape)
    if count * dtype.itemsize > LARGEST_ARRAY:
        raise ValueError(shape)
    flat = np.frombuffer(raw, dtype, count, start) if count else np.empty(0, dtype)
    return flat.reshape(shape).astype(dtype.newbyteorder("="))


def foreign(kind: str) -> Any:
    """Something that is no table of numbers, and of which only its name is known."""
    return type(re.sub(r"[^\w ().,\[\]]", "?", kind)[:80], (dict,), {})()
