"""pyproject.toml, requirements.txt and environment.yml say the same, and what they say is what the code imports."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import labkit

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("linux", "darwin", "win32")
OURSELVES = "-e ."


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def by_name(lines):
    """Requirements under their names; a name may have several, each with its marker."""
    found = {}
    for line in lines:
        requirement = Requirement(line)
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def direct_dependencies(pyproject):
    project = tomllib.loads(pyproject)["project"]
    return by_name(project["dependencies"] + project["optional-dependencies"]["test"])


def pinned(requirements):
    lines = (line.strip() for line in requirements.splitlines())
    return by_name(line for line in lines if line and line != OURSELVES and not line.startswith(("#", "-")))


def conda_lines(environment):
    """What conda installs, and what it hands on to pip."""
    entries = yaml.safe_load(environment)["dependencies"]
    from_conda = [entry for entry in entries if isinstance(entry, str)]
    from_pip = [line for entry in entries if isinstance(entry, dict) for line in entry["pip"]]
    return from_conda, from_pip


def complaints_about_pins(direct, pins):
    """Every direct dependency has, for each Python and platform, one pin, and the pin lies in its range."""
    for name, (wanted,) in direct.items():
        for python in PYTHONS:
            for platform in PLATFORMS:
                where = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": platform}
                chosen = [pin for pin in pins.get(name, ()) if pin.marker is None or pin.marker.evaluate(where)]
                if len(chosen) != 1:
                    yield f"requirements.txt: {name} has {len(chosen)} pins on Python {python}, {platform}"
                for pin in chosen:
                    versions = [spec.version for spec in pin.specifier if spec.operator == "=="]
                    if len(versions) != 1 or versions[0] not in wanted.specifier:
                        yield f"requirements.txt: {pin} is not one version within {wanted}"


def complaints_about_conda(direct, python, environment):
    """environment.yml has the direct dependencies, python and pip, and nothing else, in the same ranges."""
    from_conda, from_pip = conda_lines(environment)
    conda = by_name(from_conda + [line for line in from_pip if line != OURSELVES])
    conda.pop("pip", None)
    wanted = direct | by_name([f"python {python}"])
    for name in sorted(wanted.keys() | conda.keys()):
        here = [str(requirement.specifier) for requirement in conda.get(name, ())]
        there = [str(requirement.specifier) for requirement in wanted.get(name, ())]
        if here != there:
            yield f"environment.yml: {name} is {here} there and {there} in pyproject.toml"
    if OURSELVES not in from_pip:
        yield "environment.yml: labkit itself is not installed"


def complaints(pyproject, requirements, environment):
    """All that keeps the three files from saying the same."""
    direct = direct_dependencies(pyproject)
    python = tomllib.loads(pyproject)["project"]["requires-python"]
    found = list(complaints_about_pins(direct, pinned(requirements)))
    found += complaints_about_conda(direct, python, environment)
    options = [line for line in requirements.splitlines() if line.startswith("-")]
    if options != [OURSELVES]:
        found.append(f"requirements.txt: labkit itself and no other option is expected, not {options}")
    if re.search(r"://|@ ", requirements):
        found.append("requirements.txt: there is an address in it")
    return found


def test_pyproject_requirements_and_environment_name_the_same_packages_in_the_same_ranges():
    assert complaints(read("pyproject.toml"), read("requirements.txt"), read("environment.yml")) == []


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "complaint"),
    [
        ("requirements.txt", r"^pytest==.*\n", "", "pytest has 0 pins on Python 3.11, linux"),
        ("requirements.txt", r"^nbval==.*", "nbval==9.9", "nbval==9.9 is not one version within nbval<1,>=0.11"),
        ("requirements.txt", r"^nbval==.*", "nbval>=0.11", "nbval>=0.11 is not one version within"),
        ("requirements.txt", r"^numpy==.*< .*\n", "", "numpy has 0 pins on Python 3.11, win32"),
        ("requirements.txt", r"^numpy==(.*) ;.*", r"numpy==\1", "numpy has 2 pins on Python 3.14, darwin"),
        ("requirements.txt", r"^-e \.", "", "labkit itself and no other option is expected, not []"),
        ("requirements.txt", r"^-e \.", "-e .\n--index-url x", "no other option is expected, not ['-e .', '--index"),
        ("requirements.txt", r"^ruff==.*", "ruff @ https://example.org/ruff.whl", "there is an address in it"),
        ("environment.yml", r"^ *- numpy .*\n", "", "numpy is [] there and ['<3,>="),
        ("environment.yml", r"numpy .*", "numpy >=2.1", "numpy is ['>=2.1'] there and ['<3,>=2.1']"),
        ("environment.yml", r"python >=3.11", "python >=3.10", "python is ['>=3.10'] there and ['>=3.11']"),
        ("environment.yml", r"- pip$", "- pip\n  - scipy >=1", "scipy is ['>=1'] there and []"),
        ("environment.yml", r"^ *- -e \.", "", "environment.yml: labkit itself is not installed"),
        ("pyproject.toml", r"^dependencies = \[", 'dependencies = [\n"scipy>=1",', "scipy has 0 pins on Python 3.12"),
    ],
)
def test_the_comparison_sees_a_file_that_differs(file, pattern, replacement, complaint):
    files = {name: read(name) for name in ("pyproject.toml", "requirements.txt", "environment.yml")}
    files[file], changes = re.subn(pattern, replacement, files[file], flags=re.MULTILINE)
    assert changes > 0
    assert complaint in "\n".join(complaints(*files.values()))


def imported_packages(folder):
    """Top-level names of everything imported anywhere in a folder's Python files, the standard library left out."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names


def undeclared(folder, declared):
    """Packages a folder imports that belong to none of the declared distributions, nor to the project itself."""
    owners = packages_distributions()
    own = {"labkit", *(name for path in folder.rglob("*.py") for name in (path.stem, path.parent.name))}
    foreign = imported_packages(folder) - own
    return {name for name in foreign if not {canonicalize_name(o) for o in owners.get(name, [name])} & set(declared)}


@pytest.mark.parametrize(
    ("folder", "extras"), [("labkit", ["torch", "dask"]), ("solutions", ["torch"]), ("tests", ["torch", "test"])]
)
def test_everything_imported_is_a_declared_dependency(folder, extras):
    project = tomllib.loads(read("pyproject.toml"))["project"]
    optional = [line for extra in extras for line in project["optional-dependencies"][extra]]
    assert undeclared(ROOT / folder, by_name(project["dependencies"] + optional)) == set()


def test_an_import_that_nothing_declares_is_seen(tmp_path):
    (tmp_path / "module.py").write_text("import numpy\ndef late():\n    from scipy.special import softmax\n")
    assert undeclared(tmp_path, by_name(["numpy"])) == {"scipy"}


def test_labkit_can_be_imported_where_the_notebooks_are():
    command = [sys.executable, "-c", "import labkit; print(labkit.__file__)"]
    answer = subprocess.run(command, cwd=ROOT / "notebooks", stdout=subprocess.PIPE, text=True, check=True)
    assert Path(answer.stdout.strip()) == ROOT / "labkit" / "__init__.py"


def test_the_installed_command_leads_to_a_function():
    module, _, function = tomllib.loads(read("pyproject.toml"))["project"]["scripts"]["labkit"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_version_and_licence_are_everywhere_the_same():
    project, citation = tomllib.loads(read("pyproject.toml"))["project"], yaml.safe_load(read("CITATION.cff"))
    changes = read("README.md").partition("\n## Changes\n")[2]
    newest = re.match(r"\s*- \*\*([\d.]+)\*\*", changes)[1]
    assert labkit.__version__ == project["version"] == citation["version"] == newest
    assert project["license"] == citation["license"] == "BSD-3-Clause"
    assert read("LICENSE").startswith("BSD 3-Clause License\n")
    assert citation["authors"][0]["name"].removeprefix("The ") in read("LICENSE")


def test_the_changes_are_listed_newest_first():
    changes = read("README.md").partition("\n## Changes\n")[2]
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"(?m)^- \*\*([\d.]+)\*\*", changes)]
    assert versions == sorted(versions, reverse=True)
    assert len(versions) > 1
