"""Bytes of a notebook become cells, whatever came; what is no notebook is said to be none."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import cell, lab, notebook

from labkit.exercises import LABS, exercises_of
from labkit.grading.handed_in.reading import Ungradable, likely_labs, read
from labkit.grading.handed_in.remarks import remarks_on
from labkit.grading.submission import Cell


def sources(data):
    return [cell.source for cell in read(data)[0]]


def remarks(data):
    return " ".join(read(data)[1])


def test_a_cell_keeps_its_kind_source_tags_and_id():
    data = notebook(cell("# Why?", "markdown", id="a-1", metadata={"tags": ["written", 3]}), cell("x", outputs=[1]))
    assert read(data) == ((Cell("markdown", "# Why?", ("written",), "a-1"), Cell("code", "x")), ())


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + notebook("x = 'é'"),
        notebook(cell(["x = ", "'é'"])),
        notebook("x = 'é'", metadata={"kernelspec": {"name": "ir"}, "colab": {}}),
        notebook("x = 'é'", metadata=None, nbformat="four"),
        notebook({"cell_type": "code", "source": "x = 'é'"}),
        notebook({"cell_type": "code", "source": "x = 'é'", "metadata": [], "id": 7, "outputs": "none"}),
        notebook("x = 'é'").replace(b"}]", b'}], "score": NaN'),
        notebook("x = 'é'").replace(b"}]", b'}], "count": ' + b"7" * 5000),
        b'{"cells": [], ' + notebook("x = 'é'")[1:],
        notebook("x = 'é'") + b"\n\0\0\0",
    ],
    ids="byte-order-mark list-of-lines kernel bad-metadata stripped odd-cell NaN huge-number twice zeros".split(),
)
def test_what_does_not_matter_is_read_without_a_remark(data):
    assert sources(data) == ["x = 'é'"] and not remarks(data)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-32"])
def test_another_encoding_is_read_with_a_remark(encoding):
    data = notebook("x = 'é'").decode().replace("\\u00e9", "é").encode(encoding)
    assert sources(data) == ["x = 'é'"] and encoding in remarks(data)


def test_bytes_that_cp1252_lacks_are_read_as_latin_1():
    data = notebook("x = '?'").replace(b"?", b"\x81")
    assert sources(data) == ["x = '\x81'"] and "latin-1" in remarks(data)


def test_format_3_is_upgraded_with_a_remark():
    cells = [{"cell_type": "code", "input": ["a = 1\n", "b"]}, {"cell_type": "heading", "level": 2, "source": "Part"}]
    data = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}, {"cells": [cell("c")]}, 5, {}]}).encode()
    assert read(data)[0] == (Cell("code", "a = 1\nb"), Cell("markdown", "# Part"), Cell("code", "c"))
    assert "upgraded" in remarks(data)


def test_single_bad_cells_are_left_out_with_a_remark():
    data = notebook(5, "x", cell(7), cell(["y", 1]), {"cell_type": ["code"], "source": "y"}, cell("z", "chart"), None)
    assert sources(data) == ["x"]
    assert remarks(data) == "Cells 1, 3, 4, 5, 6, 7 are without a kind or a text: left out."


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b'{"cells": [\n {"cell_type" "code"}]}', "line 2, column 15"),
        (notebook("x")[:-40], r"cut off or damaged at line 1, column .* sent\? Save it and hand it in again\.$"),
        (
            notebook("x").replace(b":", b"=", 1),
            r"file is damaged .* isn't valid JSON \(expecting ':' delimiter\)\. Save it and hand it in again\.$",
        ),
        (
            notebook("x").replace(b'"x"', b'"\n"'),
            r"column \d+, where it isn't valid JSON \(invalid control character\)\. Save it",
        ),
        (b"<!DOCTYPE html>", "looks like a web page"),
        (b"%PDF-1.7\n\x80\x00", "looks like a PDF"),
        (b"PK\x03\x04\x14\x00\x00\x80", "looks like a zip archive"),
        (gzip.compress(notebook("x"), mtime=0), r"looks like a packed file \(\.gz\)\.$"),
        (b"Rar!\x1a\x07", r"looks like a packed file \(\.rar\)\.$"),
        (b"7z\xbc\xaf\x27\x1c", r"looks like a packed file \(\.7z\)\.$"),
        (b"[InternetShortcut]\nURL=file:///x", r"looks like a link to the notebook\.$"),
        (notebook("x") + b" and more", r"file is damaged .* \(extra data\)\. Save it and hand it in again\.$"),
        (b"import numpy", r"file is damaged .* \(expecting value\)\. Save it and hand it in again\.$"),
        (b"\0" * 100, "is empty"),
        (b'{"cells":[' + b"{}," * 10**6 + b"{}]}", "is too large: there are more than 1,000,000 brackets in it"),
        (notebook(*["x"] * 10_001), "is too large: it has 10,001 cells; the most is 10,000"),
        (b"[1, 2]", "JSON, but no notebook: it has no list of cells"),
        (b"null", "JSON, but no notebook"),
        (b'{"a": 1}', "no list of cells"),
        (b'{"cells": {"a": 1}}', "no list of cells"),
        (b'{"cells": [1, 2]}', "none of its 2 cells"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_ungradable_for_a_reason(data, reason):
    with pytest.raises(Ungradable, match=reason):
        read(data)


def test_conflict_markers_are_named_with_their_line():
    data = b'{"cells": [\n<<<<<<< HEAD\n {},\n=======\n {"a": 1}\n>>>>>>> theirs\n]}'
    with pytest.raises(
        Ungradable, match="damaged at line 2, column 1: git left conflict markers in it, from line 2 on"
    ):
        read(data)


def test_conflict_markers_within_a_cell_are_the_cells_own_trouble():
    assert sources(notebook("<<<<<<< HEAD\nx = 1")) == ["<<<<<<< HEAD\nx = 1"]


def test_null_bytes_stay_and_half_characters_are_replaced():
    assert sources(notebook("a\0b", "x = '\ud800'")) == ["a\0b", "x = '\ufffd'"]


def test_a_character_cut_in_two_between_lines_is_whole_again():
    assert sources(notebook(cell(["x = '\ud83d", "\ude00'"]))) == ["x = '😀'"]


@given(st.binary())
def test_random_bytes_are_cells_or_ungradable(data):
    try:
        read(data)
    except Ungradable as reason:
        assert str(reason)


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["cell_type", "source", "metadata", "id"]), inner),
    max_leaves=8,
)
metadata = st.just({"tags": ["\ud800"]}) | anything
optional = {"source": anything, "input": anything, "metadata": metadata, "id": anything}
kinds = st.sampled_from(["code", "heading"])
cells = st.builds(dict, st.fixed_dictionaries({}, optional=optional), cell_type=kinds)


@given(st.sampled_from(["cells", "worksheets"]), st.lists(cells | anything) | anything)
def test_random_json_is_cells_that_can_be_encoded_or_ungradable(key, inside):
    inside = [{"cells": inside}] if key == "worksheets" else inside
    try:
        found, _ = read(json.dumps({key: inside}).encode())
    except Ungradable as reason:
        assert str(reason)
    else:
        assert all(isinstance(one, Cell) for one in found)
        repr((found, likely_labs(found), remarks_on(found, LABS[0]))).encode()
        [part.encode() for one in found for part in (one.source, one.id, *one.tags)]


# ---- which lab it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LABS)
def test_a_lab_as_students_get_it_is_recognised(name):
    found, remarks = read(lab(name))
    assert likely_labs(found) == (name,) and remarks == remarks_on(found, name) == ()


def functions_of(*labs):
    names = [exercise.name for lab in labs for exercise in exercises_of(lab) if not exercise.is_table]
    return [Cell("code", f"def {name}(x):\n    return x") for name in names]


@pytest.mark.parametrize(("earlier", "later"), [(LABS[1:2], LABS[2]), (LABS[1:3], LABS[3]), (LABS[1:4], LABS[4])])
def test_functions_taken_along_from_earlier_labs_do_not_deceive(earlier, later):
    assert likely_labs((*read(lab(later))[0], *functions_of(*earlier))) == (later,)
    assert likely_labs(functions_of(*earlier, later)) == (later,)


def test_a_function_of_a_later_lab_written_early_does_not_deceive():
    found = (*read(lab("02_causal_mask"))[0], Cell("code", "def merge_heads(Z):\n    ..."))
    assert likely_labs(found) == ("02_causal_mask",)


def test_what_two_labs_ask_for_fits_both():
    assert likely_labs([Cell("code", "def attention(Q, K, V): ...")]) == ("01_one_head", "02_causal_mask")


@pytest.mark.parametrize(
    "source",
    [
        "softmax = lambda scores: scores",
        "softmax: object = len",
        "%%time\nasync def softmax (scores):",
        "if :\ndef softmax(scores):\n  \0(",
    ],
)
def test_a_definition_is_seen_in_cells_that_python_would_not_read(source):
    assert likely_labs([Cell("code", source)]) == ("01_one_head",)


@pytest.mark.parametrize("source", ["# softmax = 1", "x = softmax(y)", "softmax == 1", "def f():\n    softmax = 1", ""])
def test_a_name_that_is_only_mentioned_is_no_definition(source):
    assert likely_labs([Cell("code", source)]) == ()


def test_code_turned_into_text_is_recognised_if_there_is_nothing_else():
    text = Cell("markdown", "def softmax(scores):\n    return scores")
    assert likely_labs([text]) == ("01_one_head",)
    assert likely_labs([text, Cell("code", "def merge_heads(Z): ...")]) == ("03_multi_head",)
