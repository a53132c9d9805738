"""Each part of labkit imports only from the parts above it, and `import labkit` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import labkit

ROOT = Path(__file__).resolve().parents[1]

# Each may import only from those before it; inside a package, siblings are free.
ORDER = (
    "cores",
    "arguments",
    "running_softmax",
    "attention",
    "draw",
    "plain",
    "answer",
    "exercise",
    "calculation",
    "mistakes",
    "lineup",
    "diagnosis",
    "exercises",
    "properties",
    "judge",
    "slips",
    "table",
    "feedback",
    "asking",
    "notebook",
    "explore",
    "labs",
    "grading",
    "__main__",
)


def imported_modules(path, package):
    """Full dotted names that a file imports, at the top or inside functions; `from a import b` gives `a.b`.

    Parameters
    ----------
    path : Path
        A file somewhere below the folder `package`.
    package : Path
        The folder of the package itself, whose name is the first part of its modules' names.
    """
    parents = (package.name, *path.relative_to(package).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) - node.level + 1] if node.level else ()
            module = ".".join((*start, *filter(None, [node.module])))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def part_of(path, package):
    """The part of the package that a file belongs to: `attention` for attention.py, `mistakes` for mistakes/mask.py."""
    return path.relative_to(package).with_suffix("").parts[0]


def own_imports(package):
    """Triples of file, its part and the part that it imports; "" stands for what only `import labkit` itself gives."""
    for path in sorted(package.rglob("*.py")):
        if path == package / "__init__.py":  # the public face, which collects names from all parts
            continue
        for name in imported_modules(path, package):
            first, *rest = name.split(".")
            if first == package.name and rest != ["__version__"]:
                known = bool(rest) and ((package / f"{rest[0]}.py").exists() or (package / rest[0]).is_dir())
                yield path, part_of(path, package), rest[0] if known else ""


def misplaced(package, order=ORDER):
    """Every import that goes against the order, and every part that has no place in it."""
    parts = {part_of(path, package) for path in package.rglob("*.py")} - {"__init__"}
    found = [f"{part} has no place in the order" for part in sorted(parts - set(order))]
    for path, here, there in own_imports(package):
        if here in order and (there not in order or order.index(there) > order.index(here)):
            found.append(f"{path.relative_to(package).as_posix()} imports {there or package.name}")
    return found


def test_every_part_imports_only_from_the_parts_above_it():
    assert misplaced(ROOT / "labkit") == []


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("draw.py", "import pkg.judge", "draw.py imports judge"),
        ("draw.py", "from pkg.judge import verdict", "draw.py imports judge"),
        ("draw.py", "from pkg import judge", "draw.py imports judge"),
        ("draw.py", "from . import judge", "draw.py imports judge"),
        ("draw.py", "from .judge import verdict", "draw.py imports judge"),
        ("draw.py", "def late():\n    from .judge import verdict", "draw.py imports judge"),
        ("mistakes/mask.py", "from ..judge import verdict", "mistakes/mask.py imports judge"),
        ("mistakes/mask.py", "from .. import judge", "mistakes/mask.py imports judge"),
        ("mistakes/__init__.py", "from ..judge import verdict", "mistakes/__init__.py imports judge"),
        ("judge.py", "from pkg import check", "judge.py imports pkg"),
        ("judge.py", "import pkg", "judge.py imports pkg"),
        ("helpers.py", "import numpy", "helpers has no place in the order"),
    ],
)
def test_an_import_against_the_order_is_seen(tmp_path, file, line, complaint):
    package = tmp_path / "pkg"
    (package / "mistakes").mkdir(parents=True)
    for name in ("__init__.py", "draw.py", "judge.py", "mistakes/__init__.py"):
        (package / name).write_text("")
    (package / file).write_text(line)
    assert misplaced(package) == [complaint]


def test_imports_from_above_and_from_siblings_are_free(tmp_path):
    package = tmp_path / "pkg"
    (package / "mistakes").mkdir(parents=True)
    (package / "__init__.py").write_text("from .judge import verdict")
    (package / "draw.py").write_text("import numpy\nfrom matplotlib import judge")
    (package / "judge.py").write_text("from . import draw\nfrom .mistakes.mask import fill\nimport pkg.draw")
    (package / "mistakes" / "mask.py").write_text("from .softmax import rows\nfrom ..draw import heatmap")
    (package / "mistakes" / "softmax.py").write_text("")
    assert misplaced(package) == []
    assert len(list(own_imports(package))) == 5


def test_the_core_imports_numpy_and_the_standard_library_alone():
    files = ("attention", "arguments", "running_softmax")
    names = {name for file in files for name in imported_modules(ROOT / "labkit" / f"{file}.py", ROOT / "labkit")}
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == {"numpy", "labkit"}
    ours = {".".join(name.split(".")[:2]) for name in names if name.startswith("labkit")}
    assert ours <= {"labkit", "labkit.cores", *(f"labkit.{file}" for file in files)}


def printed_by(code):
    """The words that a fresh process prints; what it says on stderr is shown if the test fails."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def packages_loaded_by(statement):
    """Top-level packages that a statement loads in a fresh process, without the standard library's."""
    code = f"""
import sys
before = set(sys.modules)
{statement}
# Compiled modules also enter names that no file stands behind: they have no spec.
new = [name for name in set(sys.modules) - before if getattr(sys.modules[name], "__spec__", None)]
print(*{{name.partition(".")[0] for name in new}} - sys.stdlib_module_names)
"""
    return set(printed_by(code))


def test_importing_labkit_loads_nothing_heavier_than_numpy():
    assert packages_loaded_by("import labkit") <= {"labkit", "numpy"}


@pytest.mark.parametrize("module", ["attention", "exercises", "judge"])
def test_what_judges_loads_numpy_and_nothing_heavier(module):
    assert packages_loaded_by(f"import labkit.{module}") == {"labkit", "numpy"}


@pytest.mark.parametrize("package", ["matplotlib", "IPython", "ipywidgets", "nbformat", "jupytext"])
def test_a_heavier_package_would_be_seen(package):
    assert package in packages_loaded_by(f"import labkit, {package}")


def test_every_name_of_the_public_face_is_there_when_asked_for():
    found = printed_by("import labkit; print(*(name for name in labkit.__all__ if hasattr(labkit, name)))")
    assert found == list(labkit.__all__)
    assert {"check", "hint", "progress", "student", "fresh_numbers", "heatmap"} <= set(found)


def test_a_name_that_labkit_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        labkit.no_such_name  # noqa: B018
