"""Whatever makes a notebook large is dropped before it is read, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import cell, notebook

from labkit.grading.handed_in import outputs, reading
from labkit.grading.handed_in.outputs import without_outputs
from labkit.grading.handed_in.reading import Ungradable, read

SPEAKS_OF_THEM = 'print("outputs", {"outputs": [1, 2]}, "\\\\", \'"attachments":{\')'
LARGE = {"output_type": "stream", "name": "stdout", "text": ["x" * 79 + "\n"] * 100 + ['"]}, {"', "\\"]}


@pytest.fixture
def small_files_only(monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "parts",
    [
        {"cells": [cell(SPEAKS_OF_THEM, outputs=[LARGE] * 3), cell("x = 1", outputs=[LARGE])]},
        {"cells": [cell("![](attachment:x.png)", "markdown", attachments={"x.png": {"image/png": "A" * 9000}})]},
        {"cells": [cell("x = 1")], "metadata": {"widgets": {"state": {"a": "A" * 9000}}}},
        {"worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1", "outputs": [LARGE]}]}]},
    ],
    ids="outputs attachments widgets old-format".split(),
)
def test_a_large_notebook_is_read_as_if_it_had_no_outputs(monkeypatch, parts, indent):
    data = json.dumps(parts, indent=indent).encode()
    as_it_is = read(data)
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    assert len(data) > 8000 and read(data) == as_it_is


def test_what_is_large_without_outputs_is_ungradable(small_files_only):
    with pytest.raises(Ungradable, match="too large: without outputs"):
        read(notebook(cell("x" * 2000, outputs=[LARGE])))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text.replace('"kept"', "kept"), "damaged at line {line}, column 14"),
        (lambda text: text[: text.index("kept") - 40], "cut off"),
        (lambda text: text[:3000], "cut off"),
    ],
    ids="behind-the-outputs cut-behind-them cut-within".split(),
)
def test_damage_is_told_with_its_line_all_the_same(small_files_only, damage, complaint):
    whole = json.dumps({"cells": [cell("x = 1", outputs=[LARGE]), {"source": "kept"}]}, indent=1)
    line = whole[: whole.index('"kept"')].count("\n") + 1
    with pytest.raises(Ungradable, match=complaint.format(line=line)):
        read(damage(whole).encode())


values = st.recursive(
    st.none() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.lists(st.tuples(st.text(), values)), st.sampled_from([None, 1]), st.booleans())
def test_nothing_else_is_dropped(cells, indent, ascii):
    made = [{"source": source, "outputs": [value]} for source, value in cells]
    data = json.dumps({"cells": made}, indent=indent, ensure_ascii=ascii).encode(errors="surrogatepass")
    left = json.loads(without_outputs(data).decode(errors="surrogatepass"))
    assert left == {"cells": [{"source": source, "outputs": []} for source, _ in cells]}


@given(st.text('"outputs: \\[]{},', max_size=60))
def test_any_bytes_come_to_an_end_and_never_to_more(text):
    assert len(without_outputs(text.encode())) <= len(text)


def test_of_very_many_places_the_last_stay(monkeypatch):
    monkeypatch.setattr(outputs, "MOST_PLACES", 2)
    assert without_outputs(b'"outputs":[1],' * 3) == b'"outputs":[],"outputs":[],"outputs":[1],'
