"""A broken function, of which nothing is shown but the picture of its weights."""

from functools import partial
from typing import Any

from ..draw import Panel, picture
from ..exercises.bugs import BUGS
from .explorer import Explorer, Shown, tick


def bug(n: int = 1, *, predict: Any = False) -> Explorer:
    """Show the weights that a broken function gives, and nothing of its code: what went wrong in it?

    Controls: "show what is right", for the pictures without a mask.

    Parameters
    ----------
    n : int
        The picture's number, from 1 to 11.
    """
    if type(n) is not int or n not in BUGS:
        raise ValueError(f"bug: n must be a picture's number, from 1 to {len(BUGS)}; got {n!r}. Choose one of them.")
    # Under a mask, hatching and margin are enough.
    controls = {"beside": tick("show what is right", True)} if BUGS[n][0].mask is None else {}
    return Explorer(controls, partial(show, n=n), predict)


def show(shown: Shown, n: int, beside: bool = False) -> None:
    one, choice = BUGS[n]
    shown.pictures.append(picture([Panel(one.weights(choice.mistake), one.mask, f"Function {n}")]))
    if beside:
        shown.pictures.append(picture([Panel(one.weights(), one.mask, "As it should be")]))
    shown.lines.append(f"One of: {', '.join(choice.word for choice in one.choices)}.")
