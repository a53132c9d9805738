"""Explorers: controls over a picture that follows at once, for an idea of the course or a function of your own.

Each call gives a widget that shows itself as the last line of a cell. Where widgets cannot show (a rendered page),
its picture and its words stand in its place. Tab goes from control to control, arrow keys move a slider, Space presses
a button or a tick.

`fn` puts your own function under the controls: the picture shows what it does, or the words where it stopped.
`predict=...` keeps the picture covered until you write what you expect in place of the dots, as a text or a number, and
run the cell again. So the cell keeps it; `.prediction` has it, too.
"""

from importlib import import_module

# Each in a file of its own, which is imported when the explorer is first asked for: widgets are slow to load.
HOMES = {
    "bug": "broken",
    "cost": "size",
    "heads": "blocks",
    "masking": "mask",
    "mixing": "plane",
    "permuting": "order",
    "running": "sums",
    "scaling": "scale",
    "softmax": "rows",
}
__all__ = list(HOMES)


def __getattr__(name: str):
    if name not in HOMES:
        raise AttributeError(f"explore: there must be an explorer of this name; got {name}. Use {', '.join(HOMES)}.")
    try:
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "ipywidgets":
            raise
        return without_widgets


def without_widgets(*args, **choices) -> str:
    """Stands in for every explorer where there are no widgets: all else in a lab works without them."""
    return "An explorer stands here, which needs ipywidgets: pip install ipywidgets. The lab goes on without it."


def __dir__():
    return __all__
