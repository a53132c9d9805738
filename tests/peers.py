"""Other graders, each in an environment of its own, and work to hand in to them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from labkit import labs

ROOT = Path(__file__).resolve().parents[1]
LAB = "02_causal_mask"

# Wrong work for that lab: pieces of its solution, and what stands in their place.
WRONG = {
    "no_mask": {"return attention_weights(Q, K, mask) @ V": "return attention_weights(Q, K) @ V"},
    "two_cells": {"check(hand_causal_weights=": "hand_causal_weights[1][:2] = [0, 1]\ncheck(hand_causal_weights="},
    "empty_row": {"if not mask.any(axis=-1).all():": "if False:"},
    "strict_triangle": {
        "return np.tril(np.ones((n, n), dtype=bool))": "return np.tril(np.ones((n, n), dtype=bool), -1)"
    },
    "fills_with_zero": {"np.where(mask, scores, -np.inf)": "np.where(mask, scores, 0.0)"},
    "columns": {"powers.sum(axis=-1, keepdims=True)": "powers.sum(axis=0, keepdims=True)"},
    "no_scale": {"scores = Q @ K.T / np.sqrt(K.shape[-1])": "scores = Q @ K.T"},
    "counts_from_one": {"np.arange(n_k) < np.array": "np.arange(n_k) <= np.array"},
    "syntax_error": {"def causal_mask(n):": "def causal_mask(n)"},
}


def environment(peer: str) -> Path:
    """The programs of a grader, installed beside labkit in `.venv-NAME` when they are needed for the first time."""
    folder, wanted = ROOT / f".venv-{peer}", ROOT / f"tests/requirements-{peer}.txt"
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    installed = folder / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([sys.executable, "-m", "venv", "--clear", folder], ROOT)
        run([*pip, "-r", wanted], ROOT)
        run([*pip, "--no-deps", "-e", ROOT], ROOT)
        installed.write_text(wanted.read_text())
    return programs


def run(command, folder: Path, home: Path | None = None) -> str:
    """What a program prints; with a `home`, Jupyter reads and writes there and in the program's environment alone."""
    settings = {"JUPYTER_PREFER_ENV_PATH": "1", "PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        settings[name] = str(home / name.lower()) if home else os.environ.get(name, "")
    kept = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "PYTHONPATH")}
    environ = kept | {name: value for name, value in settings.items() if value}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def cells(lab: str) -> list[labs.Cell]:
    return labs.read_script(ROOT / "solutions" / f"{lab}.py")


def filled_in(notebook: dict, lab: str, answers: dict[str, str] | None = None, solved: bool = True) -> dict:
    """A student's notebook with the cells of the solution in it, and other texts in place of some pieces of them.

    Every piece has to be there, once.
    """
    notebook = json.loads(json.dumps(notebook))
    solutions = {cell.id: "\n".join(cell.solved).strip("\n") for cell in cells(lab) if cell.solved != cell.unsolved}
    left = dict(answers or {})
    for cell in notebook["cells"]:
        if solved and cell.get("id") in solutions:
            cell["source"] = solutions[cell["id"]]
        for old in [old for old in left if old in "".join(cell["source"])]:
            cell["source"] = "".join(cell["source"]).replace(old, left.pop(old))
    assert not left, f"{lab} has none of these: {list(left)}"
    return notebook
