"""The command line: exit status 0 good, 1 findings, 2 misuse; words for people, JSON for machines."""

import contextlib
import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from labkit.__main__ import main


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one lab, not yet built, as the current folder."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "01_first.py").write_text("# %% [markdown]\n# # A lab\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_stale_notebooks_are_findings_and_each_says_what_mends_it(course, capsys):
    assert main(["build", "--check"]) == 1
    assert capsys.readouterr().out == (
        "stale     solutions/01_first.ipynb: it is missing. To mend it: python -m labkit build\n"
        "stale     notebooks/01_first.ipynb: it is missing. To mend it: python -m labkit build\n"
    )


def test_the_command_that_a_stale_notebook_names_mends_it(course, capsys):
    assert main(["build"]) == 0
    assert capsys.readouterr().out == "executed  solutions/01_first.ipynb\nwritten   notebooks/01_first.ipynb\n"
    assert main(["build", "--check"]) == 0
    assert capsys.readouterr().out == "current   solutions/01_first.ipynb\ncurrent   notebooks/01_first.ipynb\n"


def test_the_course_may_stand_elsewhere(course, monkeypatch, capsys):
    monkeypatch.chdir("/")
    assert main(["build", "--check", "--root", str(course)]) == 1
    assert f"python -m labkit build --root {course}\n" in capsys.readouterr().out


def test_machines_get_json(course, capsys):
    assert main(["build", "--check", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert [(notebook["path"], notebook["status"]) for notebook in found["notebooks"]] == [
        ("solutions/01_first.ipynb", "stale"),
        ("notebooks/01_first.ipynb", "stale"),
    ]


def test_a_notebook_may_run_a_command_and_catch_what_it_prints(course):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["build", "--check"]) == 1
    assert said.getvalue().startswith("stale     solutions/01_first.ipynb")


def test_a_bad_script_is_a_finding_with_file_and_line(course, capsys):
    (course / "solutions" / "01_first.py").write_text("# %%\n# END SOLUTION\n", encoding="utf-8")
    assert main(["build"]) == 1
    assert capsys.readouterr().out == (
        "failed    solutions/01_first.py: line 2: END stands outside a block; no BEGIN SOLUTION comes before it.\n"
    )


def test_without_labs_it_is_misuse_and_nothing_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["build"]) == 2
    assert capsys.readouterr() == (
        "",
        f"build: there must be labs in solutions/*.py; found none in {tmp_path}. "
        "Run it where the folder solutions/ is, or name that place with --root.\n",
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["biuld"], ["build", "--chekc"]])
def test_what_it_does_not_understand_is_misuse(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: labkit")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grade", "in", "--lat", "10"], "there is no option --lat. Did you mean --late?"),
        (["grade", "in", "--ot=graded"], "there is no option --ot. Did you mean --out?"),
        (["build", "--xyz"], "there is no option --xyz."),
        (["export", "canvas", "--colum", "x"], "there is no option --colum. Did you mean --column?"),
    ],
)
def test_an_option_that_is_not_there_is_named_and_none_is_taken_by_its_beginning(capsys, arguments, words):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {words}\n")


def test_what_follows_two_hyphens_is_no_option(course, capsys):
    assert main(["grade", "--out", "out", "--", "--late"]) == 2
    assert "--late: there is no such file or folder" in capsys.readouterr().err


def test_it_says_its_version(capsys):
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert (stop.value.code, capsys.readouterr().out) == (0, f"labkit {project['version']}\n")


def test_the_exit_status_reaches_the_shell(course):
    command = [sys.executable, "-m", "labkit", "build", "--check", "--root", course]
    root = Path(__file__).parents[1]
    assert subprocess.run(command, cwd=root, capture_output=True).returncode == 1


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_reader_that_leaves_early_is_no_error(course, flags):
    command = [sys.executable, "-m", "labkit", "build", "--check", "--root", course, *flags]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], **pipes) as running:
        running.stdout.close()  # as `| head` does when it has seen enough
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "build" in capsys.readouterr().out
