"""What a student's code has left, taken over once: to read, compare or show it later runs nobody's code."""

import math
import re
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import numpy as np

MOST_NUMBERS = 10_000  # ours have a few hundred at most
MOST_DEEP = 20  # lists within lists
LONGEST_TEXT = 300  # characters: more than anyone reads
DOTS = ("...", "…")


class TooMuch(Exception):
    """More numbers than anyone needs, or lists that go too deep, such as one that holds itself."""


def plain(value: Any) -> Any:
    """A copy made of None, booleans, numbers, texts, dots, lists, tuples and arrays of numbers alone.

    All else that may hold numbers (tensors, ranges, arrays of objects) becomes a list or an array; what can't hold any
    is replaced by something that has only its name, see ``foreign``, and so is what is too long or goes too deep. An
    array that is too large stays as it is.

    Parameters
    ----------
    value : anything
        Its own methods are asked what it holds: that may raise anything, and may never end (see ``asking.ask``).
    """
    try:
        return Taker().take(value)
    except TooMuch:
        return foreign(f"{type(value).__name__} that is too long or goes too deep")


class Taker:
    """Takes over a value, and counts how many more things it may hold."""

    left = MOST_NUMBERS

    def take(self, value: Any, deep: int = 0) -> Any:
        self.count(1)
        if deep > MOST_DEEP:
            raise TooMuch
        if value is None or value is Ellipsis or type(value) in (bool, float):
            return value
        if type(value) is int:
            return value if abs(value) < 2**63 else as_float(value)
        if isinstance(value, str):
            text = str.__str__(value)[:LONGEST_TEXT]  # NumPy has texts of a class of its own
            return ... if text.strip() in DOTS else text
        if isinstance(value, Coroutine):
            value.close()  # nobody is going to wait for it
        if isinstance(value, bytes | dict | set | frozenset | Iterator | Coroutine) or callable(value):
            return foreign(type(value).__name__)
        if isinstance(value, Sequence) and not isinstance(value, memoryview):
            if len(value) > self.left:
                raise TooMuch
            items = [self.take(item, deep + 1) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        return self.take_array(value, deep)

    def take_array(self, value: Any, deep: int) -> Any:
        """An array, or whatever says that it can be one."""
        kind = type(value).__name__
        if hasattr(value, "detach"):  # a torch tensor that is part of a graph has no array of its own
            value = value.detach()
        if isinstance(value, np.ma.MaskedArray):
            value = value.filled(0)  # what is masked out has no weight
        try:
            array = np.asarray(value)
            if array.dtype == object and not array.ndim:
                return float(array.item())  # a fraction or a decimal
        except Exception:  # a foreign object's own conversion may raise anything
            return foreign(kind)
        if array.dtype.kind in "OU":
            self.count(array.size)
            return self.take(array.tolist(), deep)  # there may be dots in it
        if array.dtype.kind not in "biufc":
            return foreign(f"{kind} of type {array.dtype.type.__name__}")
        if array.size > MOST_NUMBERS and not deep:
            return array
        self.count(array.size)
        return np.array(array, subok=False)

    def count(self, items: int) -> None:
        self.left -= items
        if self.left < 0:
            raise TooMuch


def as_float(value: int) -> float:
    """A whole number of more digits than arrays have room for."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def foreign(kind: str) -> Any:
    """Something that is no table of numbers, and of which only its name is known."""
    return type(re.sub(r"[^\w ().,\[\]]", "?", kind)[:80], (dict,), {})()


def same(a: Any, b: Any) -> bool:
    """Whether two values are of one kind and hold the same; nan is like nan. Only kinds that ``plain`` gives may be."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        alike = a.shape == b.shape and a.dtype == b.dtype
        return alike and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (a != a and b != b)
