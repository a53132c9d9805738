"""Pictures of attention: what they show, in all three forms, and what they refuse."""

import base64
import re
import subprocess
import sys
from io import BytesIO
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labkit import draw
from labkit.attention import attention_weights, causal_mask, mask_scores
from labkit.draw import Panel, describe, heatmap, heatmap_svg, panels, panels_svg

WEIGHTS = np.array([[0.8, 0.2], [0.25, 0.75]])
CAUSAL = causal_mask(2)
LEAKING = np.array([[0.63, 0.37], [0.25, 0.75]])
SVG = "{http://www.w3.org/2000/svg}"


def softmaxed(n_q, n_k, mask=None):
    Q, K = (np.random.default_rng(n).normal(size=(n, 3)) for n in (n_q, n_k))
    return attention_weights(Q, K, mask)


def texts(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def parts(svg, tag, **attributes):
    found = ElementTree.fromstring(svg).iter(f"{SVG}{tag}")
    return [part for part in found if attributes.items() <= part.attrib.items()]


def marks(*tables):
    return draw.picture(tables).marks


def fills(*tables):
    """The colours of the first table's cells, row by row."""
    count = tables[0].values.size
    return [mark.fill for mark in marks(*tables) if isinstance(mark, draw.Rect)][:count]


def rgb(colour):
    return np.array(list(bytes.fromhex(colour[1:])))


def luminance(colour):
    """Relative luminance as the accessibility guidelines define it."""
    share = rgb(colour) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


# ---- colours ---------------------------------------------------------------------------------------------------------


def test_the_embedded_cividis_is_matplotlibs_to_within_eight_of_255_steps():
    from matplotlib import colormaps

    ours = np.array([rgb(fill) for fill, _ in draw._palette(draw.CIVIDIS)])
    assert abs(ours - colormaps["cividis"](range(256))[:, :3] * 255).max() < 8


@pytest.mark.parametrize("scale", [draw.CIVIDIS, draw.AROUND_ZERO])
def test_numbers_can_be_read_on_every_colour_of_a_scale(scale):
    assert min(contrast(fill, ink) for fill, ink in draw._palette(scale)) >= 4.5


@pytest.mark.parametrize("look", [draw.BLANK, draw.NO_NUMBER])
def test_numbers_can_be_read_on_cells_without_a_colour_of_the_scale(look):
    assert contrast(*look) >= 4.5


@pytest.mark.parametrize("beside", [draw.BLANK[0], "#ffffff", "#111111"])
def test_the_ring_around_weight_on_a_hidden_key_stands_out_from_what_is_around_it(beside):
    assert contrast(draw.LOUD, beside) >= 3


def test_a_weight_has_the_same_colour_whatever_stands_beside_it():
    assert fills(Panel([[0.5, 0.5]]))[0] == fills(Panel([[0.5, 0.0], [0.0, 17.0]]))[0]


def test_scores_are_coloured_around_zero_as_far_as_the_largest_that_may_be_attended_to():
    table = Panel([[-4.0, 0.0], [2.0, -1e9]], [[1, 1], [1, 0]], scores=True)
    lowest, middle, _, beyond = fills(table)
    assert table.limit == 4
    assert lowest == beyond == "#2d004b"
    assert abs(rgb(middle) - rgb("#f7f7f7")).max() <= 1


# ---- SVG -------------------------------------------------------------------------------------------------------------


def test_small_tables_show_their_numbers():
    assert {"0.80", "0.20", "0.25", "0.75"} <= set(texts(heatmap_svg(WEIGHTS)))


def test_numbers_stand_in_the_cells_of_tables_up_to_eight_wide():
    assert texts(heatmap_svg(np.full((8, 8), 1 / 8))).count("0.12") == 64
    assert "0.11" not in texts(heatmap_svg(np.full((9, 9), 1 / 9)))


def test_exactly_zero_is_told_from_nearly_zero():
    assert {"0", "0.00", "1.00"} <= set(texts(heatmap_svg([[0, 1e-4, 0.9999]])))
    assert "1" in texts(heatmap_svg([[0.0, 1.0]], keys=["a", "b"], queries=["c"]))


def test_the_axes_say_who_asks_whom_and_count_from_one():
    axes = [text for text in texts(heatmap_svg(softmaxed(3, 2))) if "." not in text]
    assert axes == ["asks ↓", "is asked →", "1", "2", "1", "2", "3", "adds to", "0", "1"]  # at last the colour scale


def test_the_margin_says_what_each_row_adds_to_and_whether_that_is_one():
    shown = texts(heatmap_svg([[0.8, 0.2], [0.8, 0.51]]))
    assert {"adds to", "1.00", "1.31 ≠ 1"} <= set(shown)


def test_rounding_to_two_decimals_is_no_fault():
    assert "1.01" in texts(heatmap_svg([[0.33, 0.33, 0.34, 0.01]]))
    assert "1.01 ≠ 1" in texts(heatmap_svg([[0.333, 0.333, 0.334, 0.01]]))  # more than two, and still too much


def test_every_hidden_cell_is_hatched_and_no_other():
    mask = causal_mask(5, 7)
    assert len(parts(heatmap_svg(softmaxed(5, 7, mask), mask), "path")) == (~mask).sum()
    assert not parts(heatmap_svg(softmaxed(5, 7)), "path")


def test_weight_on_a_hidden_key_is_ringed_and_its_number_bold():
    svg = heatmap_svg(LEAKING, CAUSAL)
    bold = [text.text for text in parts(svg, "text", **{"font-weight": "bold"})]
    assert bold == ["0.37", "Weight on hidden keys: 0.37 in all."]
    assert len(parts(svg, "rect", stroke=draw.LOUD)) == 1


def test_without_weight_on_hidden_keys_nothing_is_loud():
    assert draw.LOUD not in heatmap_svg([[1, 0], [0.25, 0.75]], CAUSAL)


def test_a_very_small_weight_on_a_hidden_key_is_loud_as_well():
    assert {"1e−6", "Weight on hidden keys: 1e−6 in all."} <= set(texts(heatmap_svg([[1, 1e-6], [0.5, 0.5]], CAUSAL)))


def test_weight_on_hidden_keys_shows_its_number_in_tables_too_large_for_all_numbers():
    weights, mask = np.eye(12), np.eye(12, dtype=bool)
    weights[3, 7] = 0.42
    assert [text for text in texts(heatmap_svg(weights, mask)) if text == "0.42"] == ["0.42"]


def test_not_a_number_is_shown_as_such():
    shown = texts(heatmap_svg([[np.nan, 0.5], [0.5, 0.5]]))
    assert {"nan", "nan ≠ 1"} <= set(shown)


def test_a_cell_still_open_is_shown_as_open():
    assert texts(heatmap_svg([[0.5, ...], [0.5, 0.5]])).count("…") == 2


def test_scores_show_minus_infinity_and_the_range_of_their_scale():
    shown = texts(panels_svg([Panel(mask_scores([[1.5, 2.0], [0.0, -3.25]], CAUSAL), scores=True)]))
    assert {"−∞", "−3.25", "3.25"} <= set(shown)
    assert "adds to" not in shown


def test_panels_stand_side_by_side_under_one_title():
    tables = [Panel(WEIGHTS, title=title, scores=True) for title in ("raw scores", "masked scores")]
    svg = panels_svg([*tables, Panel(WEIGHTS, CAUSAL, title="weights")], title="From scores to weights")
    shown = texts(svg)
    assert [text for text in shown if text in ("raw scores", "masked scores", "weights")] == [
        "raw scores",
        "masked scores",
        "weights",
    ]
    assert shown[0] == "From scores to weights"
    corners = [text for text in parts(svg, "text") if text.text == "asks ↓"]
    assert len({text.get("x") for text in corners}) == 3 and len({text.get("y") for text in corners}) == 1


def test_panels_do_not_overlap():
    left, right = (Panel(np.full((3, size), 0.1), scores=True) for size in (8, 20))
    first = [mark for mark in marks(left) if isinstance(mark, draw.Rect)]
    second = [mark for mark in marks(left, right) if isinstance(mark, draw.Rect)][len(first) :]
    assert max(mark.x + mark.width for mark in first) < min(mark.x for mark in second)


@pytest.mark.parametrize("size", [2, 12])
def test_a_column_is_as_wide_as_the_longest_name(size):
    names = ["short", *["much longer"] * (size - 1)]
    svg = heatmap_svg(np.eye(size), keys=names)
    assert texts(svg).count("much longer") == size - 1


def test_labels_are_text_and_never_markup():
    svg = heatmap_svg(WEIGHTS, title='"><script>', queries=["<b>", "&amp;"], keys=["'", '"'])
    assert {'"><script>', "<b>", "&amp;", "'", '"'} <= set(texts(svg))
    assert not parts(svg, "script")


def test_a_screen_reader_gets_the_same_in_words():
    root = ElementTree.fromstring(heatmap_svg(LEAKING, CAUSAL, title="One head"))
    words = " ".join(describe(LEAKING, CAUSAL).splitlines()).replace("Attention weights", "One head")
    assert root.get("role") == "img"
    assert root.get("aria-label") == words
    assert root.findtext(f"{SVG}title") == "One head"


def test_an_svg_stands_alone_and_disturbs_nothing_else_on_its_page():
    svg = panels_svg([Panel(LEAKING, CAUSAL), Panel(softmaxed(20, 20))])
    assert re.findall(r"https?:[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<style|<script|\bid=|\bclass=|url\(", svg)


def test_labels_take_the_colour_of_the_theme():
    svg = heatmap_svg(WEIGHTS)
    assert "color:var(--jp-content-font-color1,CanvasText)" in svg
    assert parts(svg, "text", fill="currentColor")


# ---- matplotlib ------------------------------------------------------------------------------------------------------


def shown_in(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_figure_and_the_svg_show_the_same_texts():
    options = {"title": "One head", "queries": ["a", "$x^"], "keys": ["<b>", "c"]}
    assert shown_in(heatmap(LEAKING, CAUSAL, **options)) == texts(heatmap_svg(LEAKING, CAUSAL, **options))


def test_a_figure_draws_the_same_cells_hatching_and_ring():
    from matplotlib.colors import to_hex

    cells, hatching = heatmap(LEAKING, CAUSAL).axes[0].collections
    colours = [to_hex(colour) for colour in cells.get_facecolor()]
    assert colours[:4] == fills(Panel(LEAKING, CAUSAL))
    assert draw.LOUD in [to_hex(colour) for colour in cells.get_edgecolor()]
    assert len(hatching.get_segments()) == len(draw._slanted(draw.Rect(0, 0, 44, 44, draw.LOUD)))


def test_nothing_is_drawn_outside_the_figure():
    figure = heatmap(LEAKING, CAUSAL, title="a rather long title for so small a table", keys=["a", "extraordinary"])
    drawn = figure.get_tightbbox()
    assert drawn.x0 >= 0 and drawn.y0 >= 0
    assert drawn.x1 <= figure.get_figwidth() and drawn.y1 <= figure.get_figheight()


@pytest.mark.parametrize("size", [1, 9, 100])
def test_a_figure_of_any_size_can_be_saved(size):
    heatmap(np.full((size, size), 1 / size), causal_mask(size)).savefig(BytesIO(), format="png")


def test_panels_are_drawn_into_one_figure():
    figure = panels([Panel([[-1.0, 2.0]], scores=True, title="scores"), Panel([[0.05, 0.95]], title="weights")])
    assert {"scores", "−1", "weights", "0.95"} <= set(shown_in(figure))


def displayed(figure, *formats):
    """What a notebook shows, before and after matplotlib's own integration has been switched on."""
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.pylabtools import select_figure_formats

    formatter = DisplayFormatter()
    if formats:
        select_figure_formats(SimpleNamespace(display_formatter=formatter), formats)
    return formatter.format(figure)


@pytest.mark.parametrize("formats", [(), ("png",)], ids=["without pyplot", "with pyplot"])
def test_a_figure_shows_itself_once_and_in_words(formats):
    data, looks = displayed(heatmap(WEIGHTS), *formats)
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == describe(WEIGHTS)
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") // 2 == looks["image/png"]["width"]  # sharp on fine screens


def test_matplotlib_is_imported_only_for_a_figure():
    code = (
        "import sys; from labkit.draw import *; heatmap_svg([[1]]); describe([[1]]); print('matplotlib' in sys.modules)"
    )
    for more, loaded in [("", "False"), ("; heatmap([[1]]); print('matplotlib' in sys.modules)", "False\nTrue")]:
        run = subprocess.run([sys.executable, "-c", code + more], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == loaded


# ---- words -----------------------------------------------------------------------------------------------------------


def test_a_small_table_is_read_out_row_by_row():
    assert describe([[1, 0], [0.25, 0.75]], CAUSAL) == (
        "Attention weights: 2 queries ask (rows), 2 keys are asked (columns).\n"
        "Query 1: 1, 0 (hidden); adds to 1.00.\n"
        "Query 2: 0.25, 0.75; adds to 1.00.\n"
        "Every row adds to 1, give or take rounding."
    )


def test_what_must_not_be_overlooked_is_said_last():
    assert describe([[0.5, 0.33, 0.34]], [1, 1, 0]).splitlines()[1:] == [
        "Query 1: 0.50, 0.33, 0.34 (hidden); adds to 1.17 ≠ 1.",
        "Weight on hidden keys: 0.34 in all.",
        "1 row does not add to 1.",
    ]


def test_names_are_read_out_once():
    said = describe(WEIGHTS, queries=["the", "cat"], keys=["le", "chat"])
    assert "Queries: the, cat. Keys: le, chat." in said.splitlines()


def test_a_large_table_is_summed_up():
    weights = np.full((100, 100), 1 / 100)
    weights[16:18, 2] = 0.5
    assert describe(weights) == (
        "Attention weights: 100 queries ask (rows), 100 keys are asked (columns).\n2 rows do not add to 1."
    )


def test_a_single_open_cell_is_worded_as_one():
    assert describe([[...]]).splitlines() == [
        "Attention weights: 1 query asks (row), 1 key is asked (column).",
        "Query 1: …; adds to ….",
    ]


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (0.0, {}, "0.00"),
        (0.0, {"exact": True}, "0"),
        (-0.001, {"exact": True}, "0.00"),
        (-0.25, {}, "−0.25"),
        (0.004, {"small": True}, "4e−3"),
        (12.0, {"exact": True}, "12"),
        (12345.6, {}, "12346"),
        (-1e9, {"exact": True}, "−1e9"),
        (2e-10, {"small": True}, "2e−10"),
        (np.inf, {}, "∞"),
        (-np.inf, {}, "−∞"),
        (np.nan, {}, "nan"),
    ],
)
def test_a_number_is_written_in_few_characters(value, options, text):
    assert draw.number(value, **options) == text


# ---- what is taken and what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [[[True, False], [True, True]], [[1, 0], [1, 1]], np.tril(np.ones((2, 2)))])
def test_lists_and_masks_of_zeros_and_ones_are_taken(mask):
    assert heatmap_svg(LEAKING.tolist(), mask) == heatmap_svg(LEAKING, CAUSAL)


def test_one_row_of_a_mask_serves_all_queries():
    assert heatmap_svg(WEIGHTS, [True, False]) == heatmap_svg(WEIGHTS, [[True, False], [True, False]])


def test_what_is_drawn_is_not_altered():
    weights, mask = LEAKING.copy(), CAUSAL.copy()
    heatmap(weights, mask)
    panels_svg([Panel(weights, mask, scores=True)])
    assert_allclose(weights, LEAKING, atol=0)
    assert_array_equal(mask, CAUSAL)


RULE = "heatmap: weights must be a table (n_q, n_k)"
ADVICE = "Give rows of one length; of several heads pick one: weights[0]."
REFUSED = [
    ((np.zeros((2, 3, 4)),), f"{RULE}; got shape (2, 3, 4). {ADVICE}"),
    (([0.5, 0.5],), f"{RULE}; got shape (2,). {ADVICE}"),
    ((np.zeros((0, 3)),), f"{RULE}; got shape (0, 3). {ADVICE}"),
    (([[1], [0.5, 0.5]],), f"{RULE}; got shape (2,). {ADVICE}"),
    ((...,), f"{RULE}; got Ellipsis. {ADVICE}"),
    (([[1, "0.2"]],), f"{RULE} of real numbers; got a cell that holds '0.2'."),
    (([[1, 2j]],), f"{RULE} of real numbers; got a cell that holds 2j."),
    (
        ([[1, 0]], np.ones((1, 1, 2))),
        "heatmap: mask must be a table like the one it hides, (1, 2), of True (may attend) and False; "
        "got shape (1, 1, 2).",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_bad_input_is_refused_in_one_line_with_its_sizes(arguments, message):
    with pytest.raises((TypeError, ValueError)) as error:
        heatmap(*arguments)
    assert str(error.value) == message


def test_names_must_be_as_many_as_there_are_rows():
    message = r"^heatmap: queries must be as many names as the table has queries, 2; got 3\.$"
    with pytest.raises(ValueError, match=message):
        heatmap_svg(WEIGHTS, queries=["a", "b", "c"])


@pytest.mark.parametrize(
    ("mask", "got"),
    [
        (causal_mask(3), r"shape \(3, 3\)"),
        (np.ones((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[0, -np.inf], [0, 0]], "-inf"),
        ([[1], [1, 0]], "a ragged list"),
        ("no", "text"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_in_the_heatmaps_own_words(mask, got):
    with pytest.raises((TypeError, ValueError), match=rf"^heatmap: mask must be a table .* \(2, 2\), .*; got {got}\.$"):
        describe(WEIGHTS, mask)


def test_a_table_that_will_not_be_an_array_is_refused_in_its_own_words():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(TypeError, match=r"^heatmap: .*; got a Tensor that says: Can't call numpy\(\) on Tensor"):
        heatmap_svg(Tensor())


def test_names_that_are_none_and_numbers_too_large_for_a_float_are_refused():
    with pytest.raises(TypeError, match=r"^heatmap: queries must be a list of 2 names; got 3\."):
        heatmap_svg(WEIGHTS, queries=3)
    with pytest.raises(ValueError, match=r"numbers that a float can hold"):
        heatmap_svg([[10**400]])


def test_a_title_may_be_a_number():
    assert ">5</text>" in heatmap_svg(WEIGHTS, title=5)
