"""Explorers: controls over a picture that follows at once, for an idea of the course or a function of your own.

Each call gives a widget that shows itself as the last line of a cell. Where widgets cannot show (a rendered page),
its picture and its words stand in its place. Tab goes from control to control, arrow keys move a slider, Space presses
a button or a tick.

`fn` puts your own function under the controls: the picture shows what it does, or the words where it stopped.
`predict=...` keeps the picture covered until you write what you expect in place of the dots, as a text or a number, and
run the cell again. So the cell keeps it; `.prediction` has it, too.
"""

from importlib import import_module
from typing import Any

__all__ = ["bug", "cost", "heads", "masking", "mixing", "permuting", "running", "scaling", "softmax"]


def __getattr__(name: str) -> Any:
    """Import an explorer from the file of its name when it is first asked for: widgets are slow to load."""
    if name not in __all__:
        raise AttributeError(f"explore: there must be an explorer of this name; got {name}. Use {', '.join(__all__)}.")
    try:
        return getattr(import_module(f"._{name}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "ipywidgets":
            raise
        return without_widgets


def without_widgets(*args: Any, **choices: Any) -> str:
    """Stands in for every explorer where there are no widgets: all else in a lab works without them."""
    return "An explorer stands here, which needs ipywidgets: pip install ipywidgets. The lab goes on without it."


def __dir__() -> list[str]:
    return __all__
