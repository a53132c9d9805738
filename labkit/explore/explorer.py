"""What all explorers share: controls over pictures that are redrawn in place, and a picture for where widgets fail."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from ipywidgets import HTML, Checkbox, FloatSlider, HBox, IntSlider, Layout, SelectionSlider, ToggleButtons, VBox

from ..answer import Fault, read, without_leading_ones
from ..asking import ask
from .svg import LOUD, side_by_side, size_of, words_of

SECONDS = 2  # for a student's function under a slider
COVER = "Covered until you predict: write what you expect after predict= in this cell, and run it again."


class Shown(NamedTuple):
    """Pictures as SVG text, what to notice in them, and what must not be overlooked."""

    pictures: list[str]
    lines: list[str]
    loud: Sequence[str] = ()


class Explorer(VBox):
    """Controls, and below them what `show` makes of their values.

    Parameters
    ----------
    controls : dict of widgets
        By the names of `show`'s arguments.
    show : callable
        Gives a `Shown`.
    predict : object
        False, or what the student predicts: nothing is shown as long as that is empty or `...`.
    """

    def __init__(self, controls: Mapping[str, Any], show: Callable[..., Shown], predict: Any = False):
        self.controls, self.show = controls, show
        self.covered = predict is not False and is_empty(predict)
        self.prediction = None if predict is False or self.covered else predict
        self.picture = HTML()
        bar = HBox([] if self.covered else list(controls.values()), layout=Layout(flex_flow="row wrap"))
        super().__init__([bar, self.picture])
        for control in controls.values():
            control.observe(self.redraw, "value")
        self.redraw()

    def redraw(self, change=None):
        if self.covered:
            self.shown = Shown([], [COVER])
        else:
            self.shown = self.show(**{name: control.value for name, control in self.controls.items()})
        if self.prediction is not None:
            self.shown.lines.insert(0, f"You predicted: {self.prediction}")
        self.picture.value = as_html(self.shown)

    @property
    def words(self) -> str:
        """All that is shown, in words, with a line for each row of a table."""
        tables = "\n".join(map(words_of, self.shown.pictures)).replace(" Query ", "\n  Query ")
        said = [*self.shown.lines, *self.shown.loud, *tables.split("\n")]
        return "\n".join(fill(line, 100, subsequent_indent="    ") for line in said if line)

    def _repr_mimebundle_(self, **kwargs):
        """Return the widget, and for where it cannot show, the picture as it is now and the words."""
        twin = {"image/svg+xml": side_by_side(self.shown.pictures, [*self.shown.lines, *self.shown.loud])}
        return super()._repr_mimebundle_(**kwargs) | twin | {"text/plain": self.words}


def is_empty(predict: Any) -> bool:
    return predict is None or predict is True or "Ellipsis" in repr(predict) or not str(predict).strip(" .…")


def as_html(shown: Shown) -> str:
    """Return pictures that stand side by side where there is room, and the lines below."""
    lines = "".join(f"<div>{escape(line)}</div>" for line in shown.lines)
    loud = "<br>".join(map(escape, shown.loud))
    loud = f'<div style="border-left:4px solid {LOUD};padding-left:6px"><b>{loud}</b></div>' if loud else ""
    pictures = "".join(map(shrinking, shown.pictures))
    pictures = f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{pictures}</div>'
    style = "color:var(--jp-content-font-color1,inherit);line-height:1.5"
    return f'<div style="{style}">{pictures}{lines}{loud}</div>'


def shrinking(picture: str) -> str:
    """Let a picture become a third smaller before the next one has to go below it."""
    width, _ = size_of(picture)
    return f'<div style="flex:1 1 {0.67 * width:.0f}px;max-width:{width}px">{picture}</div>'


# ---- controls that the keyboard can work in JupyterLab, which takes the arrow keys from lists and radio buttons ------


def slider(name: str, value, least, most, step=1):
    kind = IntSlider if isinstance(step, int) else FloatSlider
    return kind(value, min=least, max=most, step=step, **_looks(name, "300px"))


def stops(name: str, value, options):
    """Return a slider that stops at these options alone."""
    return SelectionSlider(value=value, options=options, **_looks(name, "300px"))


def choice(name: str, value, options):
    """Return a row of buttons, of which one is chosen."""
    return ToggleButtons(value=value, options=options, **_looks(name, button_width="auto"))


def tick(name: str, value=False):
    return Checkbox(value, indent=False, **_looks(name))


def _looks(name: str, width="max-content", **style) -> dict:
    layout = Layout(width=width, margin="2px 16px 2px 2px")
    return {"description": name, "tooltip": name, "style": {"description_width": "initial", **style}, "layout": layout}


# ---- a student's own function ----------------------------------------------------------------------------------------


def asked(fn: Callable, args: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[np.ndarray | None, list[str]]:
    """Return what a function gives if that has the right shape, else None, and what to say about it."""
    name = getattr(fn, "__name__", "your function")
    answer = ask(fn, args, SECONDS)
    if answer.unattempted:
        return None, [f"{name} is not written yet: write it, and run this cell again."]
    if answer.timed_out:
        return None, [f"{name} was stopped after {SECONDS} seconds. Is there a loop that never ends?"]
    if answer.error_type:
        where = f" Your line: {answer.line}" if answer.line else ""
        shapes = f" Here: {answer.shapes}." if answer.shapes else ""
        return None, [f"{name} stopped with {answer.error_type}: {answer.error}.{where}{shapes}"]
    value = read(answer.value)
    if isinstance(value, Fault):
        return None, [f"{name} {value.text}."]
    value = without_leading_ones(value, shape).astype(float)
    if value.shape != shape:
        return None, [f"{name} gave back shape {value.shape}, where {shape} is needed."]
    return value, [f"{name} altered {', '.join(answer.altered)} in place."] if answer.altered else []


def arity(fn: Callable) -> int:
    """Return how many arguments a function takes by place; 3 if that cannot be told."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 3
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
