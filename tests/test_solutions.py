"""The solved notebooks earn full marks, as their stored outputs say."""

import json
import re
from pathlib import Path

import pytest

SOLVED = sorted((Path(__file__).parents[1] / "solutions").glob("*.ipynb"))
POINTS = re.compile(r"(\w+): (\w+), ([\d.]+) of ([\d.]+) points")


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_every_check_in_a_solved_notebook_passes_with_full_marks(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(o.get("data", {}).get("text/plain", [])) for cell in cells for o in cell.get("outputs", [])]
    checks = [match.groups() for match in map(POINTS.match, texts) if match]
    assert checks
    assert [check for check in checks if check[1] != "passed" or check[2] != check[3]] == []
