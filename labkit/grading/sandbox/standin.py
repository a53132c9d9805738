"""What a notebook finds in place of labkit and of widgets while it is graded: things to call that do nothing.

No reference is behind them. ``student`` asks the host for numbers; ``check`` keeps which function was meant for which
exercise, and nothing else.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

THERE = {"numpy", "matplotlib", "mpl_toolkits", "pylab", "PIL", "dateutil", "kiwisolver", "cycler", "pyparsing"}
THERE |= {"contourpy", "fontTools", "packaging", "six"}
IDLE = {"IPython", "ipywidgets", "traitlets", "google", "ipympl"}
READY_MADE = {"torch", "tensorflow", "jax", "scipy", "keras", "flax"}

Numbers = Callable[[str, int], Mapping[str, Any]]


class Idle:
    """May be called, looped over, entered and asked for any attribute, and does nothing."""

    passed = False
    status = "not checked"
    points = max_points = 0
    mistakes = remarks = ()
    message = ""

    def __getattr__(self, name: str) -> "Idle":
        if name.startswith("__"):
            raise AttributeError(name)
        return Idle()

    def __call__(self, *args: Any, **kwargs: Any) -> "Idle":
        return Idle()

    def __iter__(self) -> Iterator:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> "Idle":
        return Idle()

    def __enter__(self) -> "Idle":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return ""


class IdleModule(ModuleType):
    """A module that has whatever one imports from it."""

    version_info = (99, 0)  # matplotlib compares IPython's

    def __getattr__(self, name: str) -> Idle:
        if name.startswith("__"):
            raise AttributeError(name)
        return Idle()


class IdleLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return IdleModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class Guard(MetaPathFinder):
    """Says of each module that is imported whether it is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top in IDLE or name.startswith("labkit.explore"):
            return ModuleSpec(name, IdleLoader(), is_package=True)
        if top in THERE or top in sys.stdlib_module_names or top.startswith("_sysconfigdata"):
            return None
        raise ModuleNotFoundError(f"{name} isn't there while grading. {advice(top)}", name=top)


def advice(top: str) -> str:
    if top == "labkit" or top in READY_MADE:
        return "What it has ready-made is what the lab asks for: hand in a function of your own."
    return "There are NumPy, matplotlib and Python's own library."


class Student:
    """A student's own numbers, as the host gives them."""

    def __init__(self, name: str, attempt: int, numbers: Mapping[str, Any]):
        self.name, self.attempt, self.numbers = name, attempt, dict(numbers)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "numbers" or name not in self.numbers:
            raise AttributeError(f"the numbers are {', '.join(self.__dict__.get('numbers', ()))}; there is no {name!r}")
        value = self.numbers[name]
        return value.copy() if hasattr(value, "copy") else value


class Labkit(ModuleType):
    """The stand-in for labkit itself."""

    def __init__(self, numbers: Numbers):
        super().__init__("labkit")
        self.__path__ = []
        self.__spec__ = ModuleSpec("labkit", None, is_package=True)
        self.__version__ = "grading"
        self.__all__ = ["check", "explore", "fresh_numbers", "heatmap", "hint", "progress", "student"]
        self.aliases: dict[str, Callable] = {}
        self.heatmap = self.hint = self.progress = Idle()
        self.explore = sys.modules["labkit.explore"] = IdleModule("labkit.explore")
        last: list[Student] = []

        def student(name: str) -> Student:
            last[:] = [Student(name, 0, numbers(name, 0))]
            return last[0]

        def fresh_numbers() -> Student:
            if not last:
                raise ValueError("fresh_numbers: whose numbers? Run me = student('your name') first.")
            name, attempt = last[0].name, last[0].attempt + 1
            last[:] = [Student(name, attempt, numbers(name, attempt))]
            return last[0]

        self.student, self.fresh_numbers = student, fresh_numbers

    def check(self, answer: Any = None, *, exercise: str | None = None, part: str | None = None, **table: Any) -> Idle:
        if callable(answer) and isinstance(exercise, str):
            self.aliases[exercise] = answer
        return Idle()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"labkit has no {name!r} while grading. {advice('labkit')}")


def install(numbers: Numbers) -> Labkit:
    """Put the stand-ins where ``import`` finds them."""
    sys.meta_path.insert(0, Guard())
    sys.modules["labkit"] = labkit = Labkit(numbers)
    return labkit
