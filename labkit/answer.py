"""A student's value, read as an array whatever form it has, and compared with the right one.

What may come back is not only the array that was asked for: lists, tensors, words, None. ``read`` makes an array of
it or says why not, ``compare`` says in what an array differs from the right one.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Numbers closer than this, relative to 1 + |right|, are equal. float32 noise is about 5e-7 at the
# sizes asked for, float16 noise 2e-3, and the nearest mistake is 0.1 away.
TOLERANCE = {"float16": 2e-2, "default": 1e-5}
MOST_WORDS = 300  # characters of an error's text
NUMBER = re.compile(r"\s*[-+]?(\d{1,20}([.,]\d{0,20})?|[.,]\d{1,20})\s*")  # as one may write it in quotation marks


@dataclass(frozen=True)
class Fault:
    """What is wrong with an answer at first sight.

    Attributes
    ----------
    kind : str
        One of nothing, type, shape, numbers (of the wrong kind), finite, values, raised.
    text : str
        The same in words, to go on from "your function" or "your table".
    place : tuple of int
        Where it shows, counted from 0, if it is about one number.
    """

    kind: str
    text: str
    place: tuple[int, ...] = ()


def read(value: Any) -> np.ndarray | Fault:
    """A plain array of numbers or booleans from a list, tuple, matrix, masked array, tensor or array.

    Parameters
    ----------
    value : anything
        What a student's function gave back, or what stands in a table.

    Returns
    -------
    array or Fault
        A copy of its own, of kind b, i, u or f; a fault of kind nothing or type if it can't be read as one.
    """
    if value is None:
        return Fault("nothing", "gave back nothing (None)")
    if value is Ellipsis:
        return Fault("type", "gave back the dots that stand for what is still to be written")
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return in_quotes(value)
    if isinstance(value, str | bytes | dict | set | Iterator) or callable(value):
        return Fault("type", f"gave back {a_or_an(type(value).__name__)}, and not a table of numbers")
    try:
        array = plain(value)
    except Exception as error:  # a foreign object's own conversion may raise anything
        uneven = "inhomogeneous" in words_of(error)
        reason = "its rows have different lengths" if uneven else words_of(error)
        return Fault("type", f"gave back {a_or_an(type(value).__name__)} that is no table: {reason}")
    if array.dtype.kind in "US":
        return in_quotes(str(array.flat[0]))
    if array.dtype.kind not in "biuf":
        return Fault("type", f"gave back {a_or_an(type(value).__name__)} of type {array.dtype}, and not real numbers")
    return array


def in_quotes(text: str) -> Fault:
    """Numbers in quotation marks, as from a spreadsheet: how are they to be written?"""
    point = f", and with a point: {text.strip().replace(',', '.')}" if "," in text and NUMBER.fullmatch(text) else ""
    return Fault("type", f"holds text, such as {text!r}: numbers stand without quotation marks{point}")


def plain(value: Any) -> np.ndarray:
    """An array of NumPy's own class that shares no memory with ``value``; what conversion raises goes through."""
    if hasattr(value, "detach"):  # a torch tensor that is part of a graph has no array of its own
        value = value.detach()
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(0)  # what is masked out has no weight
    elif isinstance(value, Sequence):
        value = in_one_go(value)
    array = np.asarray(value)
    return np.array(array.astype(float) if array.dtype == object else array, subok=False)


def in_one_go(value: Sequence) -> np.ndarray | list:
    """A list as NumPy reads it; number by number where it holds what NumPy can't read."""
    try:
        array = np.asarray(value)
    except Exception:
        return nested(value)
    return nested(value) if array.dtype == object else array


def nested(value: Any) -> Any:
    """Lists within lists, with arrays and tensors inside turned into lists, too."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [nested(item) for item in value]
    return plain(value).tolist() if hasattr(value, "__array__") and np.ndim(value) else value


def a_or_an(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def words_of(error: BaseException) -> str:
    """The first line of an error's text, in as many characters as anyone reads."""
    try:
        lines = str(error).splitlines()
    except Exception:  # an error of the student's own may fail to say what it is
        lines = []
    return (lines[0] if lines else "no message")[:MOST_WORDS]


def tolerance(array: np.ndarray) -> float:
    """How far from the right number an entry may be, relative to 1 + |right|: float16 has fewer digits."""
    return TOLERANCE.get(str(array.dtype), TOLERANCE["default"])


def without_leading_ones(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Leading axes of size 1 say nothing: they are taken off where the shape asked for is left."""
    extra = array.ndim - len(shape)
    return array.reshape(shape) if extra > 0 and array.shape == (1,) * extra + shape else array


def compare(array: np.ndarray, right: np.ndarray, within: float | np.ndarray | None = None) -> Fault | None:
    """Shape, then kind of numbers, then finiteness, then values; None if all is well.

    Parameters
    ----------
    array, right : arrays (...)
        The student's and the right one; ``array`` may have leading axes of size 1 more.
    within : float or array (...), optional
        Largest absolute difference; by default the tolerance of the answer's dtype.

    Returns
    -------
    Fault or None
        Of kind shape, numbers, finite or values; the last two with the place of the (worst) number.
    """
    array = without_leading_ones(array, right.shape)
    if array.shape != right.shape:
        return Fault("shape", f"has shape {array.shape}")
    odd = array[~np.isin(array, (0, 1))] if right.dtype == bool else array[:0]
    if odd.size:
        looks = " It looks like a mask that is added to scores." if np.isneginf(odd).all() else ""
        return Fault("numbers", f"holds {number(odd.flat[0])}, where each entry should say yes or no.{looks}")
    strange = np.isnan(array) | (np.isinf(array) & (array != right))
    if strange.any():
        place = tuple(int(i) for i in np.argwhere(strange)[0])
        return Fault("finite", f"{number(array[place])} {where(place)}", place)
    allowed = within if within is not None else tolerance(array) * (1 + np.abs(right))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        if near(array, right, allowed).all():
            return None
        distance = np.where(array == right, 0, np.abs(np.subtract(array, right, dtype=float)))
    place = tuple(int(i) for i in np.unravel_index(np.argmax(distance), distance.shape))
    return Fault("values", f"{number(array[place])} {where(place)}", place)


def near(a: np.ndarray, b: np.ndarray, within: np.ndarray | float) -> np.ndarray:
    """Where two arrays hold the same, be it infinite, or numbers no further apart than ``within``."""
    return (a == b) | (np.abs(np.subtract(a, b, dtype=float)) <= within)


def where(place: tuple[int, ...]) -> str:
    """A place in words, counted from 1."""
    names = {0: (), 1: ("entry",), 2: ("row", "column"), 3: ("head", "row", "column")}
    parts = zip(names.get(len(place), ("index",) * len(place)), place, strict=True)
    return "at " + ", ".join(f"{name} {i + 1}" for name, i in parts) if place else "as your number"


def number(x: Any) -> str:
    """A number as one would say it: few digits, a real minus, infinity and 'not a number' in words."""
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    x = float(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "infinity" if x > 0 else "-infinity"
    if x == round(x) and abs(x) < 1e6:
        return str(int(x))
    typed = abs(x) < 1e4 and abs(100 * x - round(100 * x)) < 1e-9  # two decimals, as one writes them by hand
    return f"{x:.6g}" if typed else f"{x:.3g}"
