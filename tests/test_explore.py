"""Explorers, driven by their controls' values; what they show is read from the pictures' words and the lines below."""

import inspect
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html import escape
from pathlib import Path

import numpy as np
import pytest

from labkit import attention as core
from labkit import explore
from labkit.draw import number, svg
from labkit.explore import explorer as base
from labkit.explore._heads import numbers_of_ours, tops
from labkit.explore._masking import FILLS, K, Q
from labkit.explore._running import SCORES, VALUES
from labkit.explore.picture import numbers

EVERY = [getattr(explore, name) for name in explore.__all__]
NAMED = pytest.mark.parametrize("make", EVERY, ids=explore.__all__)


def turn(explorer, **values):
    """Set controls one after the other, as a hand would."""
    for name, value in values.items():
        explorer.controls[name].value = value
    return explorer


def words_of(picture):
    return " ".join(picture.words)


def picture_words(explorer, start):
    """The words of the first picture that begin so."""
    return next(words for words in map(words_of, explorer.shown.pictures) if words.startswith(start))


def rows_in(words):
    """The numbers of a table that stands in words as "Query 1: 0.50, 0.50 (hidden); adds to 1.00." and so on."""
    rows = [row.split(":")[1].split(";")[0].split(". ")[0].rstrip(".") for row in words.split("Query ")[1:]]
    plain = [row.replace(" (hidden)", "").replace("−", "-").replace("∞", "inf") for row in rows]
    return np.array([[float(cell) for cell in row.split(", ")] for row in plain])


# ---- every explorer --------------------------------------------------------------------------------------------------


def test_importing_the_explorers_loads_no_widgets():
    code = "import sys, labkit.explore; print(*{'ipywidgets', 'IPython', 'matplotlib'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[1]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
    heavy = subprocess.run(
        [sys.executable, "-c", code.replace("print", "labkit.explore.cost(); print")],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ipywidgets" in heavy.stdout


def test_what_there_is_to_explore_is_listed():
    assert dir(explore) == sorted(explore.__all__)


@NAMED
def test_an_explorer_carries_its_widget_a_picture_and_words(make):
    bundle = make()._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}
    assert ElementTree.fromstring(bundle["image/svg+xml"]).get("role") == "img"


@NAMED
def test_each_line_and_each_picture_is_in_the_words_and_in_the_static_picture(make):
    explorer = make()
    bundle = explorer._repr_mimebundle_()
    joined = " ".join(bundle["text/plain"].split())
    twin = ElementTree.fromstring(bundle["image/svg+xml"])
    for said in [*explorer.shown.lines, *explorer.shown.loud, *map(words_of, explorer.shown.pictures)]:
        assert said in joined
        assert said in twin.get("aria-label")


@NAMED
def test_the_same_call_says_and_draws_the_same(make):
    first, second = make()._repr_mimebundle_(), make()._repr_mimebundle_()
    assert first["text/plain"] == second["text/plain"]
    assert first["image/svg+xml"] == second["image/svg+xml"]


@NAMED
def test_each_picture_has_a_sentence_and_nothing_from_elsewhere(make):
    for picture in make().shown.pictures:
        root = ElementTree.fromstring(svg(picture))
        assert (root.get("role"), len(root.get("aria-label")) > 15) == ("img", True)
        assert not {"script", "image", "use", "a"} & {element.tag.split("}")[1] for element in root.iter()}
        assert "http" not in svg(picture).replace("http://www.w3.org/2000/svg", "")


@NAMED
def test_each_control_has_a_name_that_the_docstring_gives(make):
    said = " ".join(inspect.getdoc(make).split()).replace(
        '"score 1" to "score 4"', '"score 1" "score 2" "score 3" "score 4"'
    )
    named = [c.description for c in make().controls.values() if hasattr(c, "description")]
    assert named
    for name in named:
        assert f'"{name}"' in said


@NAMED
def test_every_value_of_every_control_can_be_shown(make):
    explorer = make()
    for control in [control for control in explorer.controls.values() if hasattr(control, "description")]:
        values = [control.min, control.max] if hasattr(control, "max") else getattr(control, "options", [True, False])
        for value in values:
            control.value = value[1] if isinstance(value, tuple) else value
            assert explorer.shown.pictures and explorer.shown.lines
            assert explorer.picture.value == base.as_html(explorer.shown)


@NAMED
@pytest.mark.parametrize("nothing", [..., None, "", "...", True, [..., ...]])
def test_an_explorer_stays_covered_until_something_is_predicted(make, nothing):
    explorer = make(predict=nothing)
    assert explorer.shown == base.Shown(lines=[base.COVER])
    assert (explorer.prediction, list(explorer.children[0].children)) == (None, [])
    explorer.redraw()
    assert base.COVER in explorer.picture.value and "<svg" not in explorer.picture.value
    assert explorer._repr_mimebundle_()["text/plain"] == base.COVER


@NAMED
@pytest.mark.parametrize(
    ("prediction", "said"), [("key 1 <wins>", "key 1 <wins>"), (0, "0"), (0.5, "0.5"), (["q", "mix"], "q, mix")]
)
def test_a_prediction_uncovers_the_picture_and_stays_beside_it(make, prediction, said):
    explorer = make(predict=prediction)
    assert explorer.prediction == prediction
    assert escape(f"You predicted: {said}") in explorer.picture.value and "<svg" in explorer.picture.value
    assert f"You predicted: {said}" in explorer._repr_mimebundle_()["text/plain"]


# ---- softmax ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.1, 1, 10])
@pytest.mark.parametrize(("axis", "over"), [("rows", (1,)), ("columns", (0,)), ("all", (0, 1))])
def test_softmax_shows_the_weights_along_the_axis_that_is_chosen(axis, over, temperature):
    explorer = turn(explore.softmax(), s1=3.0, s4=-2.5, temperature=temperature, axis=axis)
    exps = np.exp(np.array([[3, 1, 1, -2.5], [1, 0, 2, -1], [0, 0, 1, 1]]) / temperature)
    weights = exps / exps.sum(axis=over, keepdims=True)
    assert np.allclose(rows_in(picture_words(explorer, "Weights")), weights, atol=0.005)
    rows, columns = numbers(weights.sum(axis=1)), numbers(weights.sum(axis=0))
    assert f"Rows add to {rows}; columns to {columns}; all to {number(weights.sum())}." in explorer.shown.lines
    for total in [*weights.sum(axis=0), *weights.sum(axis=1)]:
        assert f">{number(total)}<" in svg(explorer.shown.pictures[1])


def test_adding_to_a_row_changes_nothing_along_rows_and_much_along_columns():
    explorer = turn(explore.softmax(), shift=-1000)
    assert "Adding −1000 to all of row 1 changes nothing: only differences count." in explorer.shown.lines
    assert "Adding −1000 to all of row 1 changes the weights." in turn(explorer, axis="columns").shown.lines


def test_equal_scores_are_said_to_have_equal_weights():
    explorer = turn(explore.softmax(), s1=1.0, s2=4.0, s3=0.0, s4=1.0)
    assert "Scores 1 and 4 of row 1 tie: weights 0.04, 0.04." in explorer.shown.lines
    assert not any("tie" in line for line in turn(explorer, s4=2.0).shown.lines)


def test_a_softmax_without_the_shift_by_the_maximum_overflows_before_ones_eyes():
    explorer = turn(
        explore.softmax(lambda scores: np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)), shift=1000
    )
    assert "Query 1: nan" in picture_words(explorer, "Weights")
    assert "Adding 1000 to all of row 1 changes the weights." in explorer.shown.lines


# ---- scaling ---------------------------------------------------------------------------------------------------------


def test_spread_grows_as_the_root_of_d_k_without_a_scale_and_stays_1_with_the_root():
    explorer = explore.scaling()
    for d_k in (1, 16, 1024):
        spread = [line for line in turn(explorer, d_k=d_k).shown.lines if line.startswith("Spread")][0]
        none, all_of_it, root = (float(part.split(" with")[0].split()[-1]) for part in spread.split(";"))
        assert np.allclose([none / d_k**0.5, all_of_it * d_k**0.5, root], 1, atol=0.15)


def test_without_a_scale_the_top_key_takes_all_and_with_d_k_none_stands_out():
    top = turn(explore.scaling(), d_k=1024).shown.lines[2]
    none, all_of_it, root = (float(part.split(" with")[0].split()[-1]) for part in top.split(";"))
    assert none > 0.9 > root > 0.25 > all_of_it > 0.125


# ---- mixing ----------------------------------------------------------------------------------------------------------


def test_mixing_begins_with_the_example_of_lesson_05():
    assert explore.mixing().shown.lines == [
        "q = (1.00, 0.00). Weights: 0.67, 0.33.",
        "Output: (6.70, 3.30), within the segment between the values.",
    ]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_wherever_the_query_turns_the_output_lies_among_the_values_and_mixed_keys_do_not(n):
    explorer = turn(explore.mixing(), n=n, length=4.0)
    for angle in range(-180, 181, 30):
        turn(explorer, mix_keys=False, angle=angle)
        assert "within the" in explorer.shown.lines[1] and not explorer.shown.loud
        assert "outside the" in turn(explorer, mix_keys=True).shown.lines[1]


def test_a_function_that_mixes_keys_is_seen_to_leave_the_values():
    explorer = explore.mixing(lambda Q, K, V: core.attention(Q, K, K))
    assert explorer.shown.loud == [
        "The output lies outside the segment between the values. Is it values that are mixed?"
    ]
    assert "Output (0.67, 0.33), outside" in picture_words(explorer, "Output")


def test_a_point_beyond_the_last_value_is_outside_though_it_is_on_the_line():
    assert "outside the segment" in explore.mixing(lambda Q, K, V: [[20.0, -10.0]]).shown.lines[1]
    assert "within the segment" in explore.mixing(lambda Q, K, V: [[10.0, 0.0]]).shown.lines[1]


# ---- masking ---------------------------------------------------------------------------------------------------------


def allowed(name, T):
    """The masks of the explorer, from loops."""
    sees = {"causal": lambda q, k: k <= q, "padding": lambda q, k: k < T - 2, "first key only": lambda q, k: k == 0}
    return np.array([[sees[name](q, k) for k in range(T)] for q in range(T)])


@pytest.mark.parametrize("T", [4, 8])
@pytest.mark.parametrize("fill", list(FILLS))
@pytest.mark.parametrize("mask", ["causal", "padding", "first key only"])
def test_masking_shows_raw_scores_masked_scores_and_weights(mask, fill, T):
    explorer = turn(explore.masking(), T=T, mask=mask, fill=fill)
    masked = np.where(allowed(mask, T), Q[:T] @ K[:T].T / 2, FILLS[fill])
    weights = core.softmax(masked)
    assert np.allclose(rows_in(picture_words(explorer, "Raw scores")), Q[:T] @ K[:T].T)
    assert np.allclose(rows_in(picture_words(explorer, "Masked scores")), masked, atol=0.005)
    assert np.allclose(rows_in(picture_words(explorer, "Weights")), weights, atol=0.005)
    leak = weights[~allowed(mask, T)].sum()
    assert (leak > 0.1) == (fill in ("0", "−1"))
    if leak > 0.1:
        assert explorer.shown.loud[0].startswith(f"Weight on hidden keys: {number(leak)} in all")
    else:
        assert not explorer.shown.loud and "No weight on hidden keys; every row adds to 1." in explorer.shown.lines


def test_painting_begins_with_the_causal_mask_and_each_tick_counts():
    explorer = turn(explore.masking(), mask="paint")
    grid = explorer.controls["painted"]
    assert (grid.layout.display, [tick.description for tick in grid.children[:2]]) == ("grid", ["1 sees 1", "1 sees 2"])
    assert np.array_equal(grid.value, core.causal_mask(4))
    grid.ticks[0, 3].value = True
    weights = core.attention_weights(Q[:4], K[:4], np.array(grid.value))
    assert np.allclose(rows_in(picture_words(explorer, "Weights")), weights, atol=0.005)
    turn(explorer, T=6)
    assert len(grid.children) == 36 and grid.value[0] == (True, False, False, True, False, False)
    assert turn(explorer, mask="padding").controls["painted"].layout.display == "none"


def test_an_empty_row_shows_the_error_in_words_and_minus_a_billion_its_weight_on_hidden_keys():
    explorer = turn(explore.masking(), mask="paint")
    explorer.controls["painted"].ticks[0, 0].value = False
    assert len(explorer.shown.pictures) == 2
    assert "Query 1 may see no key: an error in this course." in explorer.shown.lines
    assert "got none for query 1" in explorer.shown.loud[0]
    assert turn(explorer, fill="−10⁹").shown.loud[0].startswith("Weight on hidden keys: 1.00 in all")


def scores_of(Q, K):
    return Q @ K.T / np.sqrt(Q.shape[-1])


def fills_with_zero(Q, K, mask):
    return core.softmax(np.where(mask, scores_of(Q, K), 0))


def ignores_the_mask(Q, K, mask):
    return core.softmax(scores_of(Q, K))


def inverts_the_mask(Q, K, mask):
    return core.softmax(np.where(mask, -1e9, scores_of(Q, K)))


def masks_after_softmax(Q, K, mask):
    return core.softmax(scores_of(Q, K)) * mask


def softmax_over_columns(Q, K, mask):
    return core.softmax(np.where(mask, scores_of(Q, K), -np.inf), axis=0)


def skips_the_scale(Q, K, mask):
    return core.attention_weights(Q, K, mask, scale=1)


def multiplies_by_minus_infinity(Q, K, mask):
    scores = scores_of(Q, K) * mask + (1 - mask) * -np.inf
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("mistaken", "said"),
    [
        (fills_with_zero, "Weight on hidden keys: 2.03 in all, the largest, 0.48, from query 2 to key 3."),
        (ignores_the_mask, "Weight on hidden keys: 2.49 in all, the largest, 0.64, from query 1 to key 4."),
        (inverts_the_mask, "Weight on hidden keys: 3.00 in all, the largest, 1.00, from query 3 to key 4."),
        (masks_after_softmax, "Rows that do not add to 1: query 1 adds to 0.09; query 2 adds to 0.06; "),
        (softmax_over_columns, "Rows that do not add to 1: query 1 adds to 0.18; "),
        (multiplies_by_minus_infinity, "Rows that do not add to 1: query 1 adds to nan; "),
        (skips_the_scale, "Not the softmax of the masked scores beside it, most at query 4, key 3: 0.66."),
    ],
)  # fmt: skip
def test_a_mistaken_function_shows_its_mistake(mistaken, said):
    explorer = explore.masking(mistaken)
    assert any(line.startswith(said) for line in explorer.shown.loud)
    args = Q[:4], K[:4], core.causal_mask(4)
    with np.errstate(all="ignore"):
        own = mistaken(*args)
    assert np.allclose(rows_in(picture_words(explorer, "Weights")), own, atol=0.005, equal_nan=True)
    loud = np.where(args[2], 0, own) != 0
    assert svg(explorer.shown.pictures[-1]).count('stroke="#dc0032"') == loud.sum()


def masked_softmax(scores, mask):
    return core.softmax(core.mask_scores(scores, mask))


def attention_weights(Q, K, mask=None, scale=None):
    return core.attention_weights(Q, K, mask, scale=scale)


def attention(Q, K, V, mask=None):
    return core.attention(Q, K, V, mask)


@pytest.mark.parametrize(
    "fn",
    [
        masked_softmax,
        attention_weights,
        attention,
        lambda scores, mask: masked_softmax(scores, mask),
        lambda Q, K, mask: attention_weights(Q, K, mask),
        lambda Q, K, V, mask: attention(Q, K, V, mask),
        lambda *args: masked_softmax(*args),
    ],
)
def test_a_right_function_of_each_kind_shows_what_ours_does(fn):
    ours, own = explore.masking(), explore.masking(fn)
    for values in ({"T": 6}, {"mask": "padding"}, {"mask": "paint"}):
        assert turn(ours, **values).shown.pictures == turn(own, **values).shown.pictures
        assert own.shown.loud == []


# ---- a function that does not give weights ---------------------------------------------------------------------------


def crashes_in_its_own_line(Q, K, mask):
    wrong = Q.T @ K.T
    return wrong


def never_ends(Q, K, mask):
    while True:
        pass


def to_do(Q, K, mask):
    raise NotImplementedError


def dots(Q, K, mask): ...


def calls_to_do(Q, K, mask):
    return to_do(Q, K, mask)


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (crashes_in_its_own_line, "Your line: `wrong = Q.T @ K.T`. The shapes there: Q (5, 4), K (5, 4)."),
        (to_do, "to_do is not written yet: write it, and run this cell again."),
        (dots, "dots is not written yet: write it, and run this cell again."),
        (calls_to_do, "calls_to_do can't be asked yet: it calls to_do, which isn't written yet."),
        (lambda Q, K, mask: print(Q), "your function gave back nothing (None)."),
        (lambda Q, K, mask: Q, "your function gave back shape (5, 4), where (5, 5) is needed."),
        (lambda Q, K, mask: "<b>", "your function gave back a str, and not a table of numbers."),
        (lambda Q: Q, "your function stopped with TypeError: "),
    ],
)
def test_what_went_wrong_in_a_function_is_said_and_the_explorer_lives(fn, said):
    explorer = turn(explore.masking(fn), T=5)
    assert said in explorer.shown.loud[0]
    assert escape(said) in explorer.picture.value and said in explorer._repr_mimebundle_()["text/plain"].replace(
        "\n    ", " "
    )
    assert len(explorer.shown.pictures) == 2


def test_a_loop_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(base, "SECONDS", 0.1)
    assert explore.masking(never_ends).shown.loud == [
        "never_ends was stopped after 0.1 seconds. Is there a loop that never ends?"
    ]


def test_a_function_that_recovers_is_shown_again():
    explorer = explore.masking(lambda Q, K, mask: 1 / (len(Q) > 4) + masked_softmax(scores_of(Q, K), mask) - 1)
    assert "ZeroDivisionError" in explorer.shown.loud[0]
    assert turn(explorer, T=5).shown.loud == [] and len(explorer.shown.pictures) == 3


def test_altering_the_input_is_said_and_does_no_harm():
    def scales_in_place(Q, K, mask):
        Q /= 2
        return core.attention_weights(Q, K, mask, scale=1)

    explorer = turn(explore.masking(scales_in_place), T=5, mask="padding")
    assert explorer.shown.loud == ["scales_in_place altered Q in place."]


@pytest.mark.parametrize("make", [explore.softmax, explore.mixing, explore.permuting])
def test_the_others_live_on_after_an_error_and_after_a_wrong_shape(make):
    assert "AttributeError" in make(lambda first, *others: first.nothing).shown.loud[0]
    assert "gave back shape (1, 1)" in make(lambda first, *others: [[1.0]]).shown.loud[0]


# ---- heads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_heads", [1, 2, 3])
@pytest.mark.parametrize("causal", [False, True])
def test_heads_shows_each_heads_weights_and_what_becomes_of_the_token(n_heads, causal):
    explorer = turn(explore.heads(), n_heads=n_heads, causal=causal, token=3)
    X, W_Q, _, _, W_O = matrices = numbers_of_ours()
    output, weights = core.multi_head_attention(*matrices, n_heads, is_causal=causal, return_weights=True)
    for r in range(n_heads):
        assert np.allclose(rows_in(picture_words(explorer, f"Head {r + 1}")), weights[r], atol=0.005)
    words = picture_words(explorer, "Token 3")
    heads = core.attention(
        *(core.split_heads(X @ W, n_heads) for W in matrices[1:4]), core.causal_mask(4) if causal else None
    )
    for r, rows in enumerate(np.split(W_O, n_heads)):
        assert f"head {r + 1} · its rows of W_O: {numbers(heads[r, 2] @ rows)};" in words
    assert f"output: their sum: {numbers(output[2])}." in words
    for r, block in enumerate(np.split((X @ W_Q)[2], n_heads)):
        assert f"X W_Q, head {r + 1}: {numbers(block)};" in words
    assert svg(explorer.shown.pictures[-1]).count(f">head {n_heads}<") == 4


def test_heads_takes_the_students_matrices_and_says_what_does_not_fit():
    X, W = np.eye(3), np.eye(3, 4)
    explorer = explore.heads(X, W, W, W, np.eye(4), 2)
    assert explorer.controls["n_heads"].options == (1, 2, 4) and explorer.controls["token"].max == 3
    with pytest.raises(ValueError, match=r"n_heads must be among \[1, 2, 4\], for widths \[4, 4, 4\]; got 3"):
        explore.heads(X, W, W, W, np.eye(4), 3)
    with pytest.raises(ValueError, match=r"got no W_O\. Give all five"):
        explore.heads(X, W, W, W)
    with pytest.raises(ValueError, match=r"at most 16 columns; got .*W_Q \(3, 20\)"):
        explore.heads(X, np.eye(3, 20), W, W, np.eye(4))


def test_a_split_by_reshape_alone_is_shown_at_work_and_a_right_one_changes_nothing():
    wrong = explore.heads(fn=lambda Y, n_heads: Y.reshape(n_heads, len(Y), -1))
    assert "of your split holds" in wrong.shown.loud[0] and wrong.shown.pictures != explore.heads().shown.pictures
    right = explore.heads(fn=lambda Y, n_heads: core.split_heads(Y, n_heads))
    assert (right.shown.loud, right.shown.pictures) == ([], explore.heads().shown.pictures)
    assert "gave back shape" in explore.heads(fn=lambda Y, n_heads: Y).shown.loud[0]


def test_a_multi_head_function_stands_below_the_right_output():
    def forgets_W_O(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        return core.multi_head_attention(X, W_Q, W_K, W_V, np.eye(6), n_heads, mask)

    for causal in (False, True):
        wrong = turn(explore.heads(fn=forgets_W_O), causal=causal)
        assert "Your output is not the sum of the heads' shares" in wrong.shown.loud[0]
        assert "your output: " in picture_words(wrong, "Token 1")
        assert turn(explore.heads(fn=core.multi_head_attention), causal=causal).shown.loud == []


# ---- permuting and cost ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fn", [None, attention])
def test_outputs_follow_their_tokens_until_the_mask_is_causal(fn):
    explorer = turn(explore.permuting(fn), order="D C B A")
    assert "each token has the same output as in the order A B C D" in explorer.shown.lines[0]
    turn(explorer, causal=True)
    assert "causal mask: the output of D and of C and of B and of A is another one" in explorer.shown.lines[0]


def test_swapping_two_tokens_under_the_causal_mask_leaves_the_later_ones_alone():
    explorer = turn(explore.permuting(), order="B A C D", causal=True)
    assert "the output of B and of A is another one" in explorer.shown.lines[0]


def test_a_function_that_knows_places_is_seen_not_to_follow():
    explorer = explore.permuting(lambda Q, K, V: core.attention(Q + [[0, 0], [1, 0], [2, 0], [3, 0]], K, V))
    assert "is another one than in the order A B C D" in explorer.shown.lines[0]


@pytest.mark.parametrize(
    ("T", "said"),
    [
        (10, "T = 10: 100 entries for each head of each layer, 400 bytes in float32."),
        (100, "T = 100: 10 000 entries for each head of each layer, 40.0 kB in float32."),
        (200, "T = 200: 40 000 entries for each head of each layer, 160.0 kB in float32."),
        (2000, "T = 2000: 4 000 000 entries for each head of each layer, 16.0 MB in float32."),
    ],
)
def test_cost_counts_entries_and_bytes_and_marks_100_and_200(T, said):
    explorer = turn(explore.cost(), T=T)
    assert explorer.shown.lines[0] == said
    assert "100 tokens → 10 000 entries; 200 tokens → 40 000 entries" in explorer.shown.lines[1]


def test_the_squares_of_cost_are_drawn_to_scale():
    root = ElementTree.fromstring(svg(turn(explore.cost(), T=400).shown.pictures[0]))
    sides = sorted({float(e.get("width")) for e in root if e.tag.endswith("rect") and e.get("x") == "8"})
    assert sides == [70, 140, 280]


# ---- running: what it keeps is right at every moment, and what it says of a student's function, too ------------------


def kept(explorer, name):
    """The numbers of a row of the table of sums, from its words."""
    said = words_of(explorer.shown.pictures[1]).split(f"{name}: ")[1].split(";")[0].rstrip(".")
    return [float(cell.replace("−", "-").replace("∞", "inf")) for cell in said.split(", ")]


@pytest.mark.parametrize("block", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("read", [1, 2, 4, 8])
def test_what_is_kept_is_counted_from_the_largest_score_and_gives_the_output_so_far(block, read):
    explorer = turn(explore.running(), block=block, read=read)
    end = min(block * read, 8)
    powers = np.exp(SCORES[:end] - SCORES[:end].max())
    assert np.allclose(
        kept(explorer, "kept now"), [SCORES[:end].max(), powers.sum(), powers @ VALUES[:end]], atol=0.006
    )
    assert (
        explorer.shown.lines[0] == f"{end} of 8 keys read. o / s = {number(core.softmax(SCORES[:end]) @ VALUES[:end])}."
    )
    assert explorer.shown.lines[1].endswith("the same.") and explorer.shown.loud == []


def test_before_and_after_go_together_from_block_to_block():
    one, next_one = (turn(explore.running(), block=2, read=read) for read in (2, 3))
    assert kept(one, "kept now") == kept(next_one, "kept before")


def test_before_anything_has_been_read_the_maximum_is_minus_infinity():
    explorer = turn(explore.running(), read=0)
    assert kept(explorer, "kept now") == [-np.inf, 0, 0]
    assert "Nothing has been read" in explorer.shown.lines[0]


def test_forgetting_to_rescale_is_said_and_draws_the_output_towards_early_values():
    explorer = turn(explore.running(), read=4, forgets=True)
    assert "not the same" in explorer.shown.loud[0]
    powers = np.concatenate([np.exp(SCORES[i : i + 2] - SCORES[: i + 2].max()) for i in (0, 2, 4, 6)])
    assert kept(explorer, "kept now")[1:] == pytest.approx([powers.sum(), powers @ VALUES], abs=0.006)
    weights = powers / powers.sum()
    assert (weights[:2] > core.softmax(SCORES)[:2]).all()
    assert explorer.shown.lines[0].endswith(f"o / s = {number(weights @ VALUES)}.")


def test_a_right_function_is_said_to_be_and_one_that_averages_blocks_is_not():
    def averages(Q, K, V, block):
        cuts = range(0, len(K), block)
        return np.mean([core.attention(Q, K[i : i + block], V[i : i + block]) for i in cuts], axis=0)

    right = turn(explore.running(lambda Q, K, V, block: core.attention(Q, K, V)), read=3)
    assert right.shown.lines[1].endswith("the same.") and right.shown.loud == []
    assert "not the same" in turn(explore.running(averages), read=3).shown.loud[0]


def test_the_heads_explorer_names_all_keys_that_are_alike():
    assert tops(np.array([0.25] * 4)) == "tokens 1, 2, 3, 4 alike"
    assert tops(np.array([0.1, 0.6, 0.3])) == "token 2"


def test_there_is_no_more_to_be_read_than_there_are_blocks():
    explorer = explore.running()
    explorer.controls["block"].value = 4
    assert explorer.controls["read"].max == 2
    explorer.controls["block"].value = 3
    assert explorer.controls["read"].max == 3


def test_a_function_that_raises_or_is_not_written_is_answered_in_words():
    def blocked_attention(Q, K, V, block):
        raise NotImplementedError

    assert "is not written yet" in explore.running(blocked_attention).shown.loud[0]
    assert "TypeError" in explore.running(lambda Q: Q).shown.loud[0]


@pytest.mark.parametrize(
    ("matrices", "complaint"),
    [
        ((np.ones((3, 4)), *[np.ones((6, 6))] * 4), r"W_Q must be a matrix with a row for each column of X; got W_Q"),
        ((..., *[np.ones((4, 4))] * 4), r"heads: X must hold real numbers; got objects \(ellipsis\)"),
        ((np.full((3, 4), np.nan), *[np.ones((4, 4))] * 4), r"heads: X must hold finite numbers; got nan"),
    ],
)
def test_matrices_that_cannot_be_shown_are_refused_in_words(matrices, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        explore.heads(*matrices)


@pytest.mark.parametrize("n", [[1], True, 3.0, "1", 0, 99])
def test_only_a_pictures_number_is_one(n):
    with pytest.raises(ValueError, match=r"n must be a picture's number, from 1 to 11; got"):
        explore.bug(n)


@pytest.mark.parametrize("make", [explore.softmax, explore.mixing, explore.masking, explore.permuting, explore.running])
@pytest.mark.parametrize("fn", [5, ..., "attention"])
def test_what_is_no_function_is_told_so(make, fn):
    assert "fn must be a function of yours; got" in make(fn).shown.loud[0]


SPOILT = {
    explore.softmax: lambda scores: scores * np.nan,
    explore.mixing: lambda Q, K, V: V[:1] * np.inf,
    explore.masking: lambda scores, mask: np.where(mask, scores, np.inf),
    explore.permuting: lambda Q, K, V: V * np.nan,
    explore.running: lambda Q, K, V, block: np.array([[np.nan]]),
}


@pytest.mark.parametrize("make", SPOILT, ids=lambda make: make.__name__)
def test_nan_and_infinity_are_told_without_a_warning(make):
    assert make(SPOILT[make]).shown.loud[0] == "your function gave back nan or infinity."


def test_a_function_that_refuses_an_empty_row_is_told_that_it_should():
    def masked_softmax(scores, mask):
        if not mask.any(axis=-1).all():
            raise ValueError("a query has no key")
        powers = np.exp(np.where(mask, scores, -np.inf))
        return powers / powers.sum(axis=-1, keepdims=True)

    explorer = turn(explore.masking(masked_softmax), mask="paint")
    explorer.controls["painted"].ticks[0, 0].value = False
    assert explorer.shown.loud == []
    assert explorer.shown.lines[-1] == "It refuses such a query, as it should."
