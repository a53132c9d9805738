"""labkit: the self-attention lab. Checks that name the mistake, heatmaps, and the NumPy core.

Only NumPy is loaded here; what a name needs comes in when it is first used.
"""

from importlib import import_module

TYPE_CHECKING = False  # as a type checker knows it, without loading typing
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.3.0"

HOMES = {
    "check": ".notebook",
    "hint": ".notebook",
    "progress": ".notebook",
    "student": ".notebook",
    "fresh_numbers": ".notebook",
    "heatmap": ".draw",
    "explore": "",  # a package of its own
}
__all__ = ["check", "explore", "fresh_numbers", "heatmap", "hint", "progress", "student"]


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'labkit' has no attribute {name!r}; it has {', '.join(__all__)}")
    home = HOMES[name]
    value = getattr(import_module(home, __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
