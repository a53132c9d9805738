"""Submissions made from the labs as they stand, and servers to grade them with."""

import hashlib
import json
from pathlib import Path

import pytest

from labkit.grading.grader import grade
from labkit.grading.sandbox.host import Seconds, Server
from labkit.grading.submission import Cell, Submission

ROOT = Path(__file__).parents[2]
QUICK = Seconds(cell=1.0, call=0.5, submission=20.0)


def cells_of(path: str) -> tuple[Cell, ...]:
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    return tuple(
        Cell(cell["cell_type"], "".join(cell["source"]), tuple(cell["metadata"].get("tags", ()))) for cell in cells
    )


def submission(lab: str, cells, student: str = "ada") -> Submission:
    digest = hashlib.sha256(repr(cells).encode()).hexdigest()
    return Submission(student, "", f"{student}.ipynb", digest, lab=lab, cells=tuple(cells))


@pytest.fixture(scope="session")
def solved():
    return lambda lab: cells_of(f"solutions/{lab}.ipynb")


@pytest.fixture(scope="session")
def untouched():
    return lambda lab: cells_of(f"notebooks/{lab}.ipynb")


@pytest.fixture(scope="session", params=[True, False], ids=["layered", "basic"])
def server(request):
    """A fork server, with all layers and with none."""
    with Server(layered=request.param) as one:
        one.wait()
        yield one


@pytest.fixture(scope="session")
def layered():
    with Server() as one:
        one.wait()
        yield one


@pytest.fixture
def graded():
    """Grade cells as a submission to a lab."""

    def run(server, lab, cells, seconds=QUICK, secret=b"secret"):
        return grade(submission(lab, cells), server, secret, seconds)

    return run
