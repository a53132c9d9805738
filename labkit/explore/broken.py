"""A broken function, of which nothing is shown but the picture of its weights."""

from ..draw import Panel, panels_svg
from ..exercises.bugs import BUGS
from .explorer import Explorer, Shown, tick


def explorer(n, predict):
    if n not in BUGS:
        raise ValueError(f"bug: n must be a picture's number, from 1 to {len(BUGS)}; got {n!r}. Choose one of them.")
    one, choice = BUGS[n]
    broken = Panel(one.weights(choice.mistake), one.mask, f"Function {n}")
    words = f"One of: {', '.join(choice.word for choice in one.choices)}."

    def show(beside=False):
        right = [Panel(one.weights(), one.mask, "As it should be")] if beside else []
        return Shown([panels_svg([panel]) for panel in (broken, *right)], [words])

    # Under a mask, hatching and margin are enough.
    return Explorer({"beside": tick("show what is right", True)} if one.mask is None else {}, show, predict)
