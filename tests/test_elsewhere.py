"""The students' notebooks elsewhere than in JupyterLab: other tools strip and add metadata, and may have no widgets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def stripped(lab: str) -> dict:
    """The notebook as an older tool leaves it: no ids, no metadata, format 4.0."""
    notebook = json.loads((ROOT / "notebooks" / f"{lab}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        del cell["id"]
        cell["metadata"] = {}
    return {"cells": notebook["cells"], "metadata": {}, "nbformat": 4, "nbformat_minor": 0}


def as_in_colab(lab: str) -> dict:
    notebook = stripped(lab)
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"id": f"Colab{number}", "colab": {"base_uri": ""}, "executionInfo": {"status": "ok"}}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    return notebook | {"metadata": {"colab": {"provenance": []}, "accelerator": "GPU"} | kernel}


def executed(notebook: dict, folder: Path, without: str = "") -> nbformat.NotebookNode:
    """Run all by `jupyter nbconvert`, in a folder that holds nothing else; a package may be made to be missing."""
    (folder / "lab.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    if without:
        startup = folder / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "missing.py").write_text(f"import sys\nsys.modules[{without!r}] = None\n")
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "lab.ipynb"]
    done = subprocess.run(
        [*command, "--output", "done.ipynb", "--ExecutePreprocessor.kernel_name=python3"],
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder / "ipython")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return nbformat.read(folder / "done.ipynb", as_version=4)


def texts(notebook: nbformat.NotebookNode) -> str:
    return json.dumps([cell.get("outputs", []) for cell in notebook.cells])


@pytest.mark.parametrize("lab", LABS[::2])  # nbval runs them all, as they are
def test_a_stripped_notebook_without_widgets_runs_from_top_to_bottom(lab, tmp_path):
    assert "Not attempted yet" in texts(executed(stripped(lab), tmp_path, without="ipywidgets"))


def test_without_widgets_an_explorer_says_what_is_missing(tmp_path):
    cell = {"cell_type": "code", "source": "from labkit import explore\nexplore.softmax()", "metadata": {}}
    notebook = stripped(LABS[0]) | {"cells": [cell | {"outputs": [], "execution_count": None}]}
    assert "pip install ipywidgets" in texts(executed(notebook, tmp_path, without="ipywidgets"))


def test_a_notebook_with_the_metadata_of_another_tool_runs(tmp_path):
    assert "Not attempted yet" in texts(executed(as_in_colab(LABS[0]), tmp_path))


def test_only_missing_widgets_are_excused(monkeypatch):
    from labkit import explore

    monkeypatch.setattr(explore, "__all__", ["without_a_file"])
    with pytest.raises(ModuleNotFoundError):
        _ = explore.without_a_file
