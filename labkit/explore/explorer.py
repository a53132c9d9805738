"""What all explorers share: controls over pictures that are redrawn in place, and a picture for where widgets fail."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import Any

import numpy as np
from ipywidgets import HTML, Checkbox, FloatSlider, HBox, IntSlider, Layout, SelectionSlider, ToggleButtons, VBox

from ..answer import Fault, read, without_leading_ones
from ..asking import ask
from ..draw import LOUD, Picture, svg
from .picture import side_by_side

SECONDS = 2  # for a student's function under a slider
COVER = "Covered until you predict: write what you expect in place of the dots, and run this cell again."


@dataclass
class Shown:
    """Pictures, what to notice in them, and what must not be overlooked."""

    pictures: list[Picture] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    loud: list[str] = field(default_factory=list)

    def ask(self, fn: Callable, args: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray | None:
        """Return what a student's function gives if that has the right shape, else None and say what is wrong."""
        if not callable(fn):
            self.loud.append(
                f"fn must be a function of yours; got {type(fn).__name__}. Give its name alone, or leave it out."
            )
            return None
        name = getattr(fn, "__name__", "your function").replace("<lambda>", "your function")
        answer = ask(fn, args, SECONDS)
        value = read(answer.value)
        if answer.unwritten:
            said = f"can't be asked yet: {answer.unwritten}."
        elif answer.unattempted:
            said = "is not written yet: write it, and run this cell again."
        elif answer.timed_out:
            said = f"was stopped after {SECONDS} seconds. Is there a loop that never ends?"
        elif answer.error_type:
            where = f" Your line: `{answer.line}`." if answer.line else ""
            shapes = f" The shapes there: {answer.shapes}." if answer.shapes else ""
            said = f"stopped with {answer.error_type}: {answer.error.rstrip('. ')}.{where}{shapes}"
        elif isinstance(value, Fault):
            said = f"{value.text}."
        elif (value := without_leading_ones(value, shape)).shape != shape:
            said = f"gave back shape {value.shape}, where {shape} is needed."
        else:
            self.loud += [f"{name} altered {', '.join(answer.altered)} in place."] if answer.altered else []
            self.loud += [] if np.isfinite(value).all() else [f"{name} gave back nan or infinity."]
            return value.astype(float)
        self.loud.append(f"{name} {said}")
        return None


class Explorer(VBox):
    """Controls, and below them what `show` makes of their values.

    Parameters
    ----------
    controls : dict of widgets
        By the names of `show`'s arguments.
    show : callable
        Gets an empty `Shown` first, and fills it.
    predict : object
        False, or what the student predicts: nothing is shown as long as that is empty or `...`.
    """

    def __init__(self, controls: Mapping[str, Any], show: Callable[..., None], predict: Any = False) -> None:
        self.controls, self.show = controls, show
        self.covered = predict is not False and is_empty(predict)
        self.prediction = None if predict is False or self.covered else predict
        self.picture = HTML()
        bar = HBox([] if self.covered else list(controls.values()), layout=Layout(flex_flow="row wrap"))
        super().__init__([bar, self.picture])
        for control in controls.values():
            control.observe(self.redraw, "value")
        self.redraw()

    def redraw(self, change: object = None) -> None:
        self.shown = Shown(lines=[COVER] if self.covered else [])
        if self.prediction is not None:
            several = isinstance(self.prediction, list | tuple | set)
            said = ", ".join(map(str, self.prediction)) if several else self.prediction
            self.shown.lines.append(f"You predicted: {said}")
        if not self.covered:
            with np.errstate(all="ignore"):  # what a student's function gives may hold infinities and nan
                self.show(self.shown, **{name: control.value for name, control in self.controls.items()})
        self.picture.value = as_html(self.shown)

    @property
    def words(self) -> str:
        """All that is shown, in words, with a line for each row of a table."""
        tables = "\n".join(" ".join(picture.words) for picture in self.shown.pictures)
        said = [*self.shown.lines, *self.shown.loud, *tables.replace(" Query ", "\n  Query ").split("\n")]
        return "\n".join(fill(line, 100, subsequent_indent="    ") for line in said if line)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the widget, and for where it cannot show, the picture as it is now and the words."""
        twin = svg(side_by_side(self.shown.pictures, [*self.shown.lines, *self.shown.loud]))
        return super()._repr_mimebundle_(**kwargs) | {"image/svg+xml": twin, "text/plain": self.words}


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


def shrinking(picture: Picture) -> str:
    """Let a picture become a third smaller before the next one has to go below it."""
    width = picture.width
    return f'<div style="flex:1 1 {0.67 * width:.0f}px;max-width:{width}px">{svg(picture)}</div>'


# ---- controls that the keyboard can work in JupyterLab, which takes the arrow keys from lists and radio buttons ------


def slider(name: str, value: float, least: float, most: float, step: float = 1) -> IntSlider | FloatSlider:
    kind = IntSlider if isinstance(step, int) else FloatSlider
    return kind(value, min=least, max=most, step=step, **_looks(name, "300px"))


def stops(name: str, value: Any, options: Sequence) -> SelectionSlider:
    """Return a slider that stops at these options alone."""
    return SelectionSlider(value=value, options=options, **_looks(name, "300px"))


def choice(name: str, value: Any, options: Sequence) -> ToggleButtons:
    """Return a row of buttons, of which one is chosen."""
    return ToggleButtons(value=value, options=options, **_looks(name, button_width="auto"))


def tick(name: str, value: bool = False) -> Checkbox:
    return Checkbox(value, indent=False, **_looks(name))


def _looks(name: str, width: str = "max-content", **style: str) -> dict[str, Any]:
    layout = Layout(width=width, margin="2px 16px 2px 2px")
    return {"description": name, "tooltip": name, "style": {"description_width": "initial", **style}, "layout": layout}


def arity(fn: Callable) -> int:
    """Return how many arguments a function takes by place; 3 if that cannot be told."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 3
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
