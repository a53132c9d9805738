"""A student's value, read as an array whatever form it has, and compared with the right one.

What may come back is not only the array that was asked for: lists, words, None. ``read`` makes an array of it or says
why not, ``compare`` says in what an array differs from the right one.
"""

import itertools
import math
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from .plain import MOST_NUMBERS

# Numbers closer than this, relative to 1 + |right|, are equal. float32 noise is about 5e-7 at the
# sizes asked for, float16 noise 2e-3, and the nearest mistake is 0.1 away.
TOLERANCE = {"float16": 2e-2, "default": 1e-5}
OTHER_ORDER = "All numbers are right, but the axes stand in another order. Which does yours have first, and which last?"
MOST_WORDS = 300  # characters of an error's text
MOST_SHOWN = 40  # characters of a text where numbers are asked for
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


def read(value: Any, verb: str = "gave back") -> np.ndarray | Fault:
    """An array of numbers or booleans from what ``plain`` gives.

    Parameters
    ----------
    value : None, number, text, dots, lists, tuples, array
    verb : str
        What is said before the name of what is no table of numbers: a function gave it back, a table is it.

    Returns
    -------
    array or Fault
        Of kind b, i, u or f; a fault of kind nothing or type if it can't be read as one, of kind shape if it has far
        too many numbers.
    """
    if value is None:
        return Fault("nothing", f"{verb} nothing (None)")
    if value is Ellipsis:
        return Fault("type", f"{verb} the dots that stand for what is still to be written")
    is_text = isinstance(value, str) and not NUMBER.fullmatch(value)
    if is_text and verb == "is":  # what a function gives back may hold what it was asked with, which stays hidden
        return Fault("type", f"is text, {value[:MOST_SHOWN]!r}, and not numbers alone")
    if is_text or isinstance(value, dict):
        return Fault("type", f"{verb} {a_or_an(type(value).__name__)}, and not a table of numbers")
    if text := first_text(value):
        return in_quotes(*text)
    try:
        array = np.asarray(value)
        array = as_floats(array) if array.dtype == object else array
    except ComplexWarning:
        return Fault("type", f"{verb} {a_or_an(type(value).__name__)} of complex numbers, and not of real ones")
    except (ValueError, TypeError) as error:
        reason = uneven_rows(value) if "inhomogeneous" in words_of(error) else words_of(error)
        return Fault("type", f"{verb} {a_or_an(type(value).__name__)} that is no table: {reason}")
    if array.dtype.kind not in "biuf":
        return Fault("type", f"{verb} {a_or_an(type(value).__name__)} of type {array.dtype}, and not real numbers")
    return array if array.size <= MOST_NUMBERS else Fault("shape", f"has shape {array.shape}")


def uneven_rows(rows: list | tuple) -> str:
    """Which of a table's rows has another length than the first, if that is what differs."""
    said, lengths = "its rows have different lengths", [len(row) for row in rows if isinstance(row, list | tuple)]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
    if not odd or len(lengths) < len(rows):
        return said
    return f"{said}: row 1 has {lengths[0]}, row {odd + 1} has {lengths[odd]}"


def as_floats(objects: np.ndarray) -> np.ndarray:
    """Objects as floats, if they are no less than that: NumPy would drop the imaginary part of a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ComplexWarning)
        return objects.astype(float)


def first_text(value: Any, place: tuple[int, ...] = ()) -> tuple[str, tuple[int, ...]] | None:
    """The first text among lists within lists, and its place."""
    if isinstance(value, str):
        return value, place
    inner = enumerate(value) if isinstance(value, list | tuple) else ()
    return next(filter(None, (first_text(item, (*place, i)) for i, item in inner)), None)


def in_quotes(text: str, place: tuple[int, ...]) -> Fault:
    """Numbers in quotation marks, as from a spreadsheet: how are they to be written?"""
    point = f", and with a point: {text.strip().replace(',', '.')}" if "," in text and NUMBER.fullmatch(text) else ""
    infinite = ", and minus infinity is -np.inf" if "inf" in text.lower() else ""
    there = f" {where(place)}" if place else ""
    return Fault("type", f"holds text{there}, {text!r}: numbers stand without quotation marks{point}{infinite}", place)


def a_or_an(name: str) -> str:
    return f"{'an' if name.lower().startswith((*'aeiou', 'nd')) else 'a'} {name}"


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


def is_turned(array: np.ndarray, right: np.ndarray, within: float | None = None) -> bool:
    """Whether an array is the right one but for the order of its axes."""
    if sorted(array.shape) != sorted(right.shape):
        return False
    orders = itertools.permutations(range(array.ndim))
    return any(compare(array.transpose(order), right, within) is None for order in orders)


def near(a: np.ndarray, b: np.ndarray, within: np.ndarray | float) -> np.ndarray:
    """Where two arrays hold the same, be it infinite, or numbers no further apart than ``within``."""
    distance = np.abs(np.subtract(a, b, dtype=float))
    return (a == b) | (np.isfinite(distance) & (distance <= within))  # relative to infinity, all would be within


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
    typed = 0.01 <= abs(x) < 1e4 and abs(100 * x - round(100 * x)) < 1e-9  # two decimals, as one writes them by hand
    return re.sub(r"e([-+])0*", lambda sign: "e" + sign[1].strip("+"), f"{x:.6g}" if typed else f"{x:.3g}")
