"""The core against the plain-loop oracle, the numbers of the course notes, and the exact words of its errors."""

import math
import subprocess
import sys
from itertools import product

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labkit import attention as core
from labkit.attention import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    mask_scores,
    merge_heads,
    multi_head_attention,
    padding_mask,
    softmax,
    split_heads,
)

INF, NAN = np.inf, np.nan
IDENTITY = [[1, 0], [0, 1]]
STEPS = [attention_scores, mask_scores, softmax, attention_weights, attention, causal_mask, padding_mask]
STEPS += [split_heads, merge_heads, multi_head_attention]


def draw(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def table(n_q=5, n_k=7, d_k=3, d_v=2, seed=0):
    """Q, K and V of sizes that all differ, so that no transposition goes unseen."""
    return draw(n_q, d_k, seed=seed), draw(n_k, d_k, seed=seed), draw(n_k, d_v, seed=seed)


def padding_with_a_hole(n_q=5, n_k=7):
    mask = np.ones((n_q, n_k), dtype=bool)
    mask[:, -2:] = mask[2, 0] = mask[3, 1:4] = False
    return mask


MASKS = {
    "no mask": None,
    "padding with a hole": padding_with_a_hole(),
    "one row for all queries": padding_with_a_hole()[:1],
    "one column for all keys": np.ones((5, 1), dtype=bool),
    "key by key": [True, False, True, True, False, True, True],
    "zeros and ones": padding_with_a_hole().astype(int).tolist(),
    "zeros and ones as floats": padding_with_a_hole().astype(np.float32),
}


# ---- against the oracle ----------------------------------------------------------------------------------------------


def allowed_table(mask, is_causal, n_q=5, n_k=7):
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask) == 1, (n_q, n_k)).tolist()
    causal = oracle.causal(n_q, n_k) if is_causal else [[True] * n_k] * n_q
    return [[a and c for a, c in zip(*rows, strict=True)] for rows in zip(allowed, causal, strict=True)]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_output_and_weights_are_those_of_the_definition(mask, is_causal):
    Q, K, V = table()
    output, weights = attention(Q, K, V, mask, is_causal=is_causal, empty_rows="zeros", return_weights=True)
    allowed = allowed_table(mask, is_causal)
    assert output.shape == (5, 2)
    assert_allclose(weights, oracle.weights(Q.tolist(), K.tolist(), allowed), rtol=1e-12, atol=1e-15)
    assert_allclose(output, oracle.attention(Q.tolist(), K.tolist(), V.tolist(), allowed), rtol=1e-12, atol=1e-15)


def test_hidden_keys_get_exactly_nothing():
    Q, K, _ = table()
    weights = attention_weights(Q, K, padding_with_a_hole())
    assert_array_equal(weights[~padding_with_a_hole()], 0)
    assert (weights[padding_with_a_hole()] > 0).all()


def test_scores_are_scaled_by_the_root_of_the_width():
    Q, K, _ = table()
    assert_allclose(attention_scores(Q, K), oracle.scores(Q.tolist(), K.tolist()), rtol=1e-12)


@pytest.mark.parametrize("scale", [1, 0.25, -2.0, 0, np.float32(0.5), np.array(3)])
def test_a_scale_of_ones_own_takes_the_place_of_the_root(scale):
    Q, K, V = table()
    expected = oracle.attention(Q.tolist(), K.tolist(), V.tolist(), scale=float(scale))
    assert_allclose(attention(Q, K, V, scale=scale), expected, rtol=1e-12)


def test_weights_are_the_composition_of_the_steps():
    Q, K, _ = table()
    mask = padding_with_a_hole()
    by_steps = softmax(mask_scores(mask_scores(attention_scores(Q, K), mask), causal_mask(5, 7)), empty_rows="zeros")
    assert_array_equal(attention_weights(Q, K, mask, is_causal=True, empty_rows="zeros"), by_steps)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_softmax_runs_along_the_axis_asked_for(axis):
    scores = draw(2, 3, 5)
    scores[1, 0, :2] = -INF
    rows = np.moveaxis(softmax(scores, axis=axis), axis, -1).reshape(-1, scores.shape[axis])
    expected = np.moveaxis(scores, axis, -1).reshape(rows.shape)
    assert_allclose(rows, [oracle.weights_of_row(row) for row in expected.tolist()], rtol=1e-12)


@pytest.mark.parametrize(("n_q", "n_k"), [(4, 4), (5, 3), (3, 5), (1, 4), (0, 3), (1, 1)])
def test_causal_mask_counts_queries_and_keys_from_their_first(n_q, n_k):
    mask = causal_mask(n_q, n_k)
    assert mask.dtype == bool
    assert mask.shape == (n_q, n_k)
    assert mask.tolist() == oracle.causal(n_q, n_k)


def test_causal_mask_is_square_unless_told_otherwise():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_padding_mask_shows_the_first_keys_of_each_sequence():
    mask = padding_mask([3, 0, 2], 3)
    assert mask.dtype == bool
    assert mask.tolist() == [[True, True, True], [False, False, False], [True, True, False]]
    assert padding_mask([], 3).shape == (0, 3)
    assert padding_mask([[1], [2]], 3).shape == (2, 1, 3)


def test_padding_mask_goes_into_a_batch_with_an_axis_for_the_queries():
    Q, K, V = draw(3, 5, 4), draw(3, 7, 4), draw(3, 7, 2)
    output = attention(Q, K, V, padding_mask([7, 2, 4], 7)[:, None, :])
    for b, length in enumerate([7, 2, 4]):
        assert_allclose(output[b], attention(Q[b], K[b, :length], V[b, :length]), rtol=1e-12)


def test_heads_are_cut_from_columns_and_put_back():
    Y = draw(2, 5, 6)
    heads = split_heads(Y, 3)
    assert heads.shape == (2, 3, 5, 2)
    for r in range(3):
        assert_array_equal(heads[:, r], Y[:, :, 2 * r : 2 * r + 2])
    assert_array_equal(merge_heads(heads), Y)


@pytest.mark.parametrize("mask", [None, causal_mask(5, 7), padding_with_a_hole()], ids=["none", "causal", "hole"])
def test_multi_head_attention_is_that_of_the_definition(mask):
    X, X_kv = draw(5, 4), draw(7, 4)
    W_Q, W_K, W_V, W_O = draw(4, 6), draw(4, 6, seed=1), draw(4, 9), draw(9, 5)
    output, weights = multi_head_attention(X, W_Q, W_K, W_V, W_O, 3, mask, X_kv=X_kv, return_weights=True)
    parts = [part.tolist() for part in (X, X_kv, W_Q, W_K, W_V, W_O)]
    assert weights.shape == (3, 5, 7)
    assert_allclose(output, oracle.multi_head_attention(*parts, 3, allowed_table(mask, False)), rtol=1e-10)


def test_multi_head_self_attention_takes_keys_and_values_from_its_own_sequence():
    X, weights = draw(5, 4), [draw(4, 4, seed=s) for s in range(4)]
    output = multi_head_attention(X, *weights, 2, is_causal=True)
    parts = [part.tolist() for part in (X, X, *weights)]
    assert_allclose(output, oracle.multi_head_attention(*parts, 2, oracle.causal(5, 5)), rtol=1e-10)
    assert_array_equal(output, multi_head_attention(X, *weights, 2, is_causal=True, X_kv=X))


def test_multi_head_attention_takes_a_batch_and_a_mask_for_each_sequence():
    X, weights = draw(3, 5, 4), [draw(4, 4, seed=s) for s in range(4)]
    mask = padding_mask([5, 2, 3], 5)
    output = multi_head_attention(X, *weights, 2, mask[:, None, None, :])
    for b in range(3):
        assert_allclose(output[b], multi_head_attention(X[b], *weights, 2, mask[b]), rtol=1e-10)


# ---- leading axes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lead_Q", "lead_K", "lead_V", "lead_mask"),
    [
        ((2,), (2,), (2,), ()),
        ((2, 3), (2, 3), (2, 3), (3,)),
        ((2, 3), (1, 3), (3,), (2, 1)),
        ((), (2,), (3, 1), ()),
        ((), (), (2,), ()),
        ((), (), (), (2, 3)),
        ((0,), (0,), (0,), ()),
    ],
)
def test_leading_axes_broadcast_as_one_table_at_a_time_would(lead_Q, lead_K, lead_V, lead_mask):
    Q, K, V = draw(*lead_Q, 5, 3), draw(*lead_K, 7, 3), draw(*lead_V, 7, 2)
    mask = np.arange(35).reshape(5, 7) % 3 < 2
    mask = np.broadcast_to(mask, (*lead_mask, 5, 7)) ^ (np.indices((*lead_mask, 5, 7)).sum(axis=0) % 5 == 0)
    lead = np.broadcast_shapes(lead_Q, lead_K, lead_V, lead_mask)
    output = attention(Q, K, V, mask)
    assert output.shape == (*lead, 5, 2)
    whole = [np.broadcast_to(array, lead + array.shape[-2:]) for array in (Q, K, V, mask)]
    for entry in np.ndindex(lead):
        expected = oracle.attention(*(array[entry].tolist() for array in whole))
        assert_allclose(output[entry], expected, rtol=1e-12, atol=1e-15)


# ---- the numbers of the course notes ---------------------------------------------------------------------------------


def test_note_worked_example_scales_2_to_1_41():
    assert_allclose(attention_scores([[2, 0], [0, 2]], IDENTITY), [[1.41, 0], [0, 1.41]], atol=0.005)


def test_note_worked_example_has_exponential_4_10_and_total_5_10():
    score = attention_scores([[2, 0], [0, 2]], IDENTITY)[0, 0].round(2)  # the note goes on from two decimals
    assert round(math.exp(score), 2) == 4.10
    assert round(math.exp(score) + math.exp(0), 2) == 5.10
    assert_allclose(softmax([score, 0]), [4.10 / 5.10, 1 / 5.10], atol=0.0005)


def test_note_worked_example_has_weights_80_and_20_and_output_the_same():
    output, weights = attention([[2, 0], [0, 2]], IDENTITY, IDENTITY, return_weights=True)
    assert weights.round(2).tolist() == [[0.80, 0.20], [0.20, 0.80]]
    assert_array_equal(output, weights)


def test_note_causal_mask_leaves_row_1_only_its_own_token():
    weights = attention_weights([[2, 0], [0, 2]], IDENTITY, is_causal=True)
    assert weights[0].tolist() == [1, 0]
    assert weights[1].round(2).tolist() == [0.20, 0.80]


def test_note_without_the_root_row_1_is_88_and_12():
    assert softmax([2, 0]).round(2).tolist() == [0.88, 0.12]
    assert attention_weights([[2, 0]], IDENTITY, scale=1).round(2).tolist() == [[0.88, 0.12]]


def test_note_zero_is_the_wrong_fill():
    assert softmax([1, 0]).round(2).tolist() == [0.73, 0.27]
    assert softmax(mask_scores([1, 0], [True, False])).tolist() == [1, 0]


def test_lesson_05_prints_its_weights_and_output():
    output, weights = attention([[1, 0]], IDENTITY, [[10, 0], [0, 10]], return_weights=True)
    assert weights.round(3).tolist() == [[0.67, 0.33]]
    assert output.round(3).tolist() == [[6.698, 3.302]]


def test_lesson_05_task_1_turns_the_query_and_the_output():
    assert attention([[0, 1]], IDENTITY, [[10, 0], [0, 10]]).round(3).tolist() == [[3.302, 6.698]]


def test_lesson_05_task_2_allows_the_first_key_only():
    output, weights = attention([[1, 0]], IDENTITY, [[10, 0], [0, 10]], [True, False], return_weights=True)
    assert weights.tolist() == [[1, 0]]
    assert output.tolist() == [[10, 0]]


@pytest.mark.parametrize(("tokens", "entries"), [(100, 10_000), (200, 40_000)])
def test_lesson_05_task_3_doubling_the_tokens_makes_four_times_the_entries(tokens, entries):
    X = draw(tokens, 2)
    assert attention_weights(X, X).size == entries


def test_practice_1_equal_keys_share_equally():
    weights = attention_weights([[1, 2]], [[1, 0], [1, 0], [0, 1]])
    assert weights[0, 0] == weights[0, 1]
    assert softmax([1, 1, 0]).round(2).tolist() == [0.42, 0.42, 0.16]


@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_practice_2_scaled_scores_keep_a_spread_of_1(d_k):
    scores = attention_scores(draw(300, d_k), draw(301, d_k))
    assert scores.std() == pytest.approx(1, abs=0.05)


def test_practice_3_identities_give_weights_67_and_33():
    output, weights = attention(IDENTITY, IDENTITY, IDENTITY, return_weights=True)
    assert weights.round(2).tolist() == [[0.67, 0.33], [0.33, 0.67]]
    assert_array_equal(output, weights)


def test_practice_4_the_larger_entry_loses_by_scaling():
    assert softmax([0, 2]).round(2).tolist() == [0.12, 0.88]
    assert softmax(np.array([0, 2]) / math.sqrt(2)).round(2).tolist() == [0.20, 0.80]


def test_practice_5_masks_the_upper_triangle():
    masked = mask_scores([[1, 3], [0, 1]], causal_mask(2))
    assert masked.tolist() == [[1, -INF], [0, 1]]
    assert softmax(masked).round(2).tolist() == [[1, 0], [0.27, 0.73]]


def test_practice_6_cross_attention_has_a_row_a_query_and_a_column_a_key():
    X, X_kv, W = draw(5, 4), draw(7, 4), draw(4, 4)
    output, weights = multi_head_attention(X, W, W, W, W, 2, X_kv=X_kv, return_weights=True)
    assert output.shape == (5, 4)
    assert weights.shape == (2, 5, 7)


def test_practice_7_two_heads_of_width_2_map_back_to_width_4():
    assert multi_head_attention(draw(5, 4), *[draw(4, 4)] * 4, n_heads=2).shape == (5, 4)


# ---- kinds of input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_keep_their_precision_in_every_step(dtype):
    Q, K, V = (array.astype(dtype) for array in table())
    scores = attention_scores(Q, K, scale=np.float64(0.5))
    W = draw(3, 6, dtype=dtype)
    results = [scores, mask_scores(scores, padding_with_a_hole()), softmax(scores), attention(Q, K, V)]
    results += [attention_weights(Q, K, is_causal=True), split_heads(W, 2), merge_heads(split_heads(W, 2))]
    results += [multi_head_attention(Q, W, W, W, draw(6, 3, dtype=dtype), 2)]
    assert {result.dtype for result in results} == {np.dtype(dtype)}
    assert_allclose(results[3], attention(*table()), atol={2: 1e-2, 4: 1e-5, 8: 1e-12}[np.dtype(dtype).itemsize])


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint8, bool])
def test_integers_and_booleans_become_float64(dtype):
    Q, K = np.array([[1, 0], [1, 1]]).astype(dtype), np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    expected = attention(Q.astype(float), K.astype(float), K.astype(float))
    assert_array_equal(attention(Q, K, K), expected)
    assert attention(Q, K, K).dtype == split_heads(Q, 2).dtype == softmax(Q).dtype == np.float64
    assert mask_scores(Q, [[1, 0], [1, 1]])[0, 1] == -INF


def test_small_integers_do_not_wrap_around():
    Q = np.full((1, 4), 100, dtype=np.int8)
    assert attention_scores(Q, Q).item() == 20_000


def test_lists_and_matrices_will_do():
    Q, K, V = table()
    expected = attention(Q, K, V, padding_with_a_hole())
    lists = [array.tolist() for array in (Q, K, V, padding_with_a_hole())]
    assert_array_equal(attention(*lists), expected)
    with pytest.warns(PendingDeprecationWarning):
        matrices = [np.matrix(array) for array in (Q, K, V)]
    assert_array_equal(attention(*matrices, padding_with_a_hole()), expected)
    assert type(attention(*matrices)) is np.ndarray


def test_a_masked_array_that_hides_nothing_is_an_array():
    Q, K, V = table()
    assert_array_equal(attention(np.ma.array(Q), K, V), attention(Q, K, V))


def test_read_only_and_strided_inputs_give_the_same_and_stay_the_same():
    Q, K, V = table(n_q=4)
    expected = attention(Q, K, V)
    Q, K, V = np.asfortranarray(Q), np.repeat(K, 2, axis=0)[::2], V[::-1][::-1]
    before = [array.copy() for array in (Q, K, V)]
    for array in (Q, K, V):
        array.flags.writeable = False
    assert_allclose(attention(Q, K, V), expected, rtol=1e-12)
    for array, copy in zip((Q, K, V), before, strict=True):
        assert_array_equal(array, copy)


def results_of_every_step(Q, mask):
    yield from (attention_scores(Q, Q), mask_scores(Q @ Q.T, mask), softmax(Q), attention_weights(Q, Q, mask))
    yield from (attention(Q, Q, Q, mask), split_heads(Q, 1), merge_heads(Q[None]))
    yield multi_head_attention(Q, np.eye(3), np.eye(3), np.eye(3), np.eye(3), 1, mask)


def test_no_result_shares_memory_with_an_input():
    Q, mask = draw(4, 3), np.ones((4, 4), dtype=bool)
    for result in results_of_every_step(Q, mask):
        assert not np.may_share_memory(result, Q)
        assert not np.may_share_memory(result, mask)


def test_no_queries_give_no_rows():
    output, weights = attention(np.empty((0, 3)), draw(7, 3), draw(7, 2), is_causal=True, return_weights=True)
    assert output.shape == (0, 2)
    assert weights.shape == (0, 7)


def test_values_of_no_width_give_outputs_of_no_width():
    assert attention(draw(5, 3), draw(7, 3), np.empty((7, 0))).shape == (5, 0)


def test_one_key_gets_everything():
    output, weights = attention(draw(5, 3), draw(1, 3), [[4, 2]], return_weights=True)
    assert weights.tolist() == [[1]] * 5
    assert output.tolist() == [[4, 2]] * 5


# ---- large scores, nan and infinity ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e3, 1e6, 1e12, 1e150])
def test_scores_of_any_size_are_exact(size):
    Q, K, V = [[size], [-size]], [[1.0], [-1.0], [1.0]], [[1.0], [2.0], [5.0]]
    assert attention(Q, K, V).tolist() == [[3], [2]]


def test_a_gap_too_wide_for_a_float_is_a_weight_of_0():
    assert softmax([1.7e308, -1.7e308]).tolist() == [1, 0]
    assert softmax(np.float32([3e38, -3e38])).tolist() == [1, 0]


def test_large_scores_differ_as_small_ones_do():
    assert_allclose(softmax([1e6, 1e6 - 1, -1e6]), [*oracle.weights_of_row([1.0, 0.0]), 0], rtol=1e-12)
    assert_allclose(softmax([-1e6, -1e6 - 1]), oracle.weights_of_row([1.0, 0.0]), rtol=1e-12)


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e300, -1e300])
@pytest.mark.parametrize("blocks", [False, True], ids=["whole", "blocks"])
def test_whatever_a_hidden_key_and_value_hold_changes_nothing(bad, blocks, monkeypatch):
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", 2 if blocks else 256)
    Q, K, V = table()
    for mask, is_causal, hidden in (
        (padding_with_a_hole(), False, 6),
        (None, True, 5),
        (padding_with_a_hole(), True, 6),
    ):
        expected = attention(Q, K, V, mask, is_causal=is_causal, empty_rows="zeros")
        spoilt_K, spoilt_V = K.copy(), V.copy()
        spoilt_K[hidden], spoilt_V[hidden] = bad, bad
        output = attention(Q, spoilt_K, spoilt_V, mask, is_causal=is_causal, empty_rows="zeros")
        assert_allclose(output, expected, rtol=1e-12)


def test_nan_in_a_value_reaches_those_who_may_see_it_and_no_other():
    Q, K, V = table()
    V[0, 1] = NAN
    output = attention(Q, K, V, padding_with_a_hole())
    assert np.isnan(output[[0, 1, 3, 4], 1]).all()
    assert np.isfinite(output[2]).all()
    assert np.isfinite(output[:, 0]).all()


def test_nan_in_a_value_reaches_those_whose_weight_for_it_is_too_small_for_a_float():
    output, weights = attention([[1.0]], [[1e4], [-1e4]], [[1.0], [NAN]], return_weights=True)
    assert weights.tolist() == [[1, 0]]
    assert np.isnan(output).all()


def test_infinite_values_make_infinite_outputs_and_two_of_them_nan():
    Q, K, V = [[1.0]], [[1.0], [2.0], [3.0]], [[INF, INF], [-INF, 1.0], [0.0, 2.0]]
    assert_array_equal(attention(Q, K, V), [[NAN, INF]])
    assert_array_equal(attention(Q, K, V, [True, False, True]), [[INF, INF]])


def test_nan_in_a_query_stays_in_its_own_row():
    Q, K, V = table()
    expected = attention(Q, K, V)
    Q[3, 0] = NAN
    output = attention(Q, K, V)
    assert np.isnan(output[3]).all()
    assert_allclose(np.delete(output, 3, axis=0), np.delete(expected, 3, axis=0), rtol=1e-12)


def test_nan_in_an_allowed_key_makes_the_rows_that_see_it_nan():
    Q, K, V = table()
    K[0, 0] = NAN
    weights = attention_weights(Q, K, padding_with_a_hole())
    assert np.isnan(weights[[0, 1, 3, 4]]).all()
    assert weights[2].sum() == pytest.approx(1)


@pytest.mark.parametrize("row", [[NAN, 1], [INF, 1], [INF, INF], [INF, -INF], [NAN, -INF]])
def test_softmax_of_a_row_with_nan_or_plus_infinity_is_nan(row):
    weights = softmax([row, [0, 0]])
    assert np.isnan(weights[0]).all()
    assert weights[1].tolist() == [0.5, 0.5]


def test_a_row_of_more_keys_than_float16_can_count_still_adds_to_1():
    weights = softmax(np.zeros(70_000, dtype=np.float16))
    assert weights.dtype == np.float16
    assert weights.sum(dtype=np.float64) == pytest.approx(1, abs=1e-2)


def test_softmax_takes_minus_infinity_as_hidden():
    assert softmax([[-INF, 2, -INF, 2]]).tolist() == [[0, 0.5, 0, 0.5]]


def test_tokens_hidden_by_padding_may_hold_anything_in_multi_head_attention():
    X, weights = draw(5, 4), [draw(4, 4, seed=s) for s in range(4)]
    mask = padding_mask([3], 5)
    expected = multi_head_attention(X, *weights, 2, mask)
    for bad in (NAN, INF, 1e300):
        X[3:] = bad
        assert_allclose(multi_head_attention(X, *weights, 2, mask)[:3], expected[:3], rtol=1e-12)


# ---- empty rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [False, True], ids=["whole", "blocks"])
def test_empty_rows_are_zeros_if_asked_for(blocks, monkeypatch):
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", 2 if blocks else 256)
    Q, K, V = table()
    mask = padding_with_a_hole()
    mask[3] = False
    output = attention(Q, K, V, mask, empty_rows="zeros")
    assert output[3].tolist() == [0, 0]
    rest = [0, 1, 2, 4]
    assert_allclose(output[rest], attention(Q[rest], K, V, mask[rest]), rtol=1e-12)


def test_mask_scores_leaves_an_empty_row_to_softmax():
    masked = mask_scores([[1, 2]], [[0, 0]])
    assert masked.tolist() == [[-INF, -INF]]
    assert softmax(masked, empty_rows="zeros").tolist() == [[0, 0]]


def test_the_empty_row_named_is_the_same_whole_and_in_blocks(monkeypatch):
    mask = np.ones((2, 3, 9, 7), dtype=bool)
    mask[0, 1, 6] = mask[1, 2, 4] = mask[1, 0, 8] = False
    Q, K, V = draw(2, 3, 9, 4), draw(2, 3, 7, 4), draw(2, 3, 7, 2)
    said = []
    for at_once in (256, 1, 2):
        monkeypatch.setattr(core, "QUERIES_AT_ONCE", at_once)
        with pytest.raises(ValueError, match=r"got none for query 5 of entry \(2, 3\)\.") as caught:
            attention(Q, K, V, mask)
        said.append(str(caught.value))
    assert len(set(said)) == 1


# ---- the words of the errors -----------------------------------------------------------------------------------------

ones = np.ones
EMPTY = causal_mask(4)[::-1] & causal_mask(4)[:, ::-1] & np.array([1, 1, 0, 1], bool)[:, None]

MESSAGES = [
    (
        lambda: attention_scores(ones((4, 3)), ones((4, 2))),
        "attention_scores: Q and K must have the same width d_k; got Q (4, 3) and K (4, 2). "
        "Check which projection made each.",
    ),
    (
        lambda: attention(ones((4, 3)), ones((4, 2)), ones((4, 2))),
        "attention_scores: Q and K must have the same width d_k; got Q (4, 3) and K (4, 2). "
        "Check which projection made each.",
    ),
    (
        lambda: attention_scores(ones((4, 3)), ones((0, 3))),
        "attention_scores: n_k and d_k must be at least 1; got Q (4, 3) and K (0, 3). Check what was cut away.",
    ),
    (
        lambda: attention_scores(ones((4, 0)), ones((5, 0)), scale=1),
        "attention_scores: n_k and d_k must be at least 1; got Q (4, 0) and K (5, 0). Check what was cut away.",
    ),
    (
        lambda: attention_scores(ones((2, 4, 3)), ones((5, 4, 3))),
        "attention_scores: leading axes of Q and K must be equal or 1; got Q (2, 4, 3) and K (5, 4, 3). "
        "Repeat or add an axis.",
    ),
    (
        lambda: attention_scores(ones(3), ones((4, 3))),
        "attention_scores: Q must be a table with a row for each position; got shape (3,). "
        "Write a single row as [[...]].",
    ),
    (
        lambda: attention_scores([["1", "2"]], ones((4, 2))),
        "attention_scores: Q must hold real numbers; got text. Give integers or floats only.",
    ),
    (
        lambda: attention_scores(ones((4, 2)), ones((4, 2)) * 1j),
        "attention_scores: K must hold real numbers; got complex numbers. Give integers or floats only.",
    ),
    (
        lambda: attention(ones((4, 2)), ones((4, 2)), [[1, None], [..., 2]]),
        "attention: V must hold real numbers; got objects (NoneType, ellipsis, int). Give integers or floats only.",
    ),
    (
        lambda: attention(np.zeros((4, 2), "M8[s]"), ones((4, 2)), ones((4, 2))),
        "attention: Q must hold real numbers; got dtype datetime64[s]. Give integers or floats only.",
    ),
    (
        lambda: attention([[1, 2], [3]], ones((4, 2)), ones((4, 2))),
        "attention: Q must have rows of one length; got a ragged list. Fill up the short ones.",
    ),
    (
        lambda: attention(np.ma.array(ones((4, 2)), mask=np.eye(4, 2)), ones((4, 2)), ones((4, 2))),
        "attention: Q must be a plain array; got a masked one. Fill it, and pass its mask by itself.",
    ),
    (
        lambda: attention(ones((4, 3)), ones((4, 3)), ones((5, 2))),
        "attention: K and V must have the same number of rows n_k; got K (4, 3) and V (5, 2). "
        "Take both from the same sequence.",
    ),
    (
        lambda: attention(ones((2, 4, 3)), ones((4, 3)), ones((3, 4, 2))),
        "attention: leading axes of V and the weights must be equal or 1; got V (3, 4, 2) and weights (2, 4, 4). "
        "Repeat or add an axis.",
    ),
    (
        lambda: attention_scores(ones((4, 3)), ones((4, 3)), scale=NAN),
        "attention_scores: scale must be one finite number; got nan. Leave it out for 1 / sqrt(d_k).",
    ),
    (
        lambda: attention_scores(ones((4, 3)), ones((4, 3)), scale=True),
        "attention_scores: scale must be one finite number; got bool. Leave it out for 1 / sqrt(d_k).",
    ),
    (
        lambda: attention_scores(ones((4, 3)), ones((4, 3)), scale=[0.5, 0.5]),
        "attention_scores: scale must be one finite number; got list. Leave it out for 1 / sqrt(d_k).",
    ),
    (
        lambda: attention_weights(ones((4, 3)), ones((5, 3)), ones((5, 4))),
        "mask_scores: mask must fit the scores (..., n_q, n_k); got mask (5, 4) and scores (4, 5). "
        "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :].",
    ),
    (
        lambda: mask_scores(ones((1, 5)), ones((4, 5))),
        "mask_scores: mask must fit the scores (..., n_q, n_k); got mask (4, 5) and scores (1, 5). "
        "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :].",
    ),
    (
        lambda: attention(ones((2, 4, 3)), ones((2, 5, 3)), ones((2, 5, 3)), ones((3, 4, 5))),
        "mask_scores: mask must fit the scores (..., n_q, n_k); got mask (3, 4, 5) and scores (2, 4, 5). "
        "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :].",
    ),
    (
        lambda: mask_scores(ones((4, 5)), True),
        "mask_scores: mask must fit the scores (..., n_q, n_k); got mask () and scores (4, 5). "
        "Rows are queries; a mask (batch, n_k) goes in as mask[:, None, :].",
    ),
    (
        lambda: mask_scores([[1, 2]], [[0, -INF]]),
        "mask_scores: mask must hold True (may attend) and False, or 1 and 0; got -inf. "
        "It looks additive: add it to the scores, or pass mask == 0.",
    ),
    (
        lambda: mask_scores([[1, 2]], [[0, -10000]]),
        "mask_scores: mask must hold True (may attend) and False, or 1 and 0; got -10000. "
        "It looks additive: add it to the scores, or pass mask == 0.",
    ),
    (
        lambda: mask_scores([[1, 2]], [[1, NAN]]),
        "mask_scores: mask must hold True (may attend) and False, or 1 and 0; got nan. "
        "It looks additive: add it to the scores, or pass mask == 0.",
    ),
    (
        lambda: mask_scores([[1, 2]], [["yes", "no"]]),
        "mask_scores: mask must hold True (may attend) and False, or 1 and 0; got text. "
        "Compare something to get booleans.",
    ),
    (
        lambda: mask_scores(3.0, [True]),
        "mask_scores: scores must be at least one row of numbers; got shape (). Put brackets around it.",
    ),
    (
        lambda: attention(ones((4, 3)), ones((4, 3)), ones((4, 2)), EMPTY),
        "softmax: each query must have a key with a score above -inf; got none for query 3. "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: attention(
            ones((2, 6, 4, 3)), ones((4, 3)), ones((4, 2)), EMPTY | (np.arange(2) == 0)[:, None, None, None]
        ),
        "softmax: each query must have a key with a score above -inf; got none for query 3 of entry (2, 1). "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: softmax([-INF, -INF]),
        "softmax: each query must have a key with a score above -inf; got none for query 1. "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: softmax([[[1, 1]], [[-INF, -INF]]]),
        "softmax: each query must have a key with a score above -inf; got none for query 1 of entry 2. "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: attention_weights([[1.0], [-1e200]], [[1e200], [2e200]]),
        "softmax: each query must have a key with a score above -inf; got none for query 2. "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: softmax([[1, -INF], [1, -INF]], axis=0),
        "softmax: each slice must have a key with a score above -inf; got none for slice 2. "
        'Allow one, or ask for empty_rows="zeros".',
    ),
    (
        lambda: softmax([[1, 2]], empty_rows="zero"),
        'softmax: empty_rows must be "error" or "zeros"; got \'zero\'. Choose one.',
    ),
    (
        lambda: softmax([[1, 2]], axis=2),
        "softmax: axis must be from -2 to 1; got 2. Keys are along axis -1.",
    ),
    (
        lambda: softmax([[1, 2]], axis=None),
        "softmax: axis must be an integer; got NoneType. Count with an int.",
    ),
    (
        lambda: softmax(ones((3, 0))),
        "softmax: a row must have at least one score; got shape (3, 0). Check what was cut away.",
    ),
    (
        lambda: softmax(1.0),
        "softmax: scores must be at least one row of numbers; got shape (). Put brackets around it.",
    ),
    (lambda: causal_mask(-1), "causal_mask: n_q must be at least 0; got -1. Check its sign."),
    (lambda: causal_mask(4, 2.0), "causal_mask: n_k must be an integer; got float. Count with an int."),
    (lambda: causal_mask(ones((4, 4))), "causal_mask: n_q must be an integer; got ndarray. Count with an int."),
    (lambda: causal_mask(True), "causal_mask: n_q must be an integer; got bool. Count with an int."),
    (
        lambda: split_heads(ones((4, 6)), np.array(2.0)),
        "split_heads: n_heads must be an integer; got ndarray. Count with an int.",
    ),
    (
        lambda: padding_mask([2, 5], 4),
        "padding_mask: lengths must be from 0 to n_k = 4; got 5. Count the tokens of each sequence.",
    ),
    (
        lambda: padding_mask([2, -1], 4),
        "padding_mask: lengths must be from 0 to n_k = 4; got -1. Count the tokens of each sequence.",
    ),
    (
        lambda: padding_mask([2.0, 3.0], 4),
        "padding_mask: lengths must be integers; got dtype float64. Count the tokens of each sequence.",
    ),
    (
        lambda: padding_mask([True, False], 4),
        "padding_mask: lengths must be integers; got dtype bool. Count the tokens of each sequence.",
    ),
    (
        lambda: split_heads(ones((4, 6)), 4),
        "split_heads: n_heads must divide the width of Y; got Y (4, 6) and n_heads 4. "
        "Give every head the same number of columns.",
    ),
    (lambda: split_heads(ones((4, 6)), 0), "split_heads: n_heads must be at least 1; got 0. Check its sign."),
    (lambda: split_heads(ones((4, 6)), 2.0), "split_heads: n_heads must be an integer; got float. Count with an int."),
    (
        lambda: split_heads(ones(6), 2),
        "split_heads: Y must be a table with a row for each position; got shape (6,). Write a single row as [[...]].",
    ),
    (
        lambda: merge_heads(ones((4, 6))),
        "merge_heads: Z must be (..., n_heads, T, width); got shape (4, 6). Give the heads an axis of their own.",
    ),
    (
        lambda: multi_head_attention(ones((4, 5)), ones((6, 6)), ones((5, 6)), ones((5, 6)), ones((6, 5)), 2),
        "multi_head_attention: W_Q must be a matrix with a row for each column of X; got W_Q (6, 6) and X (4, 5). "
        "Tokens are the rows of X, so X is on the left.",
    ),
    (
        lambda: multi_head_attention(ones((4, 5)), ones((2, 5, 3)), ones((5, 6)), ones((5, 6)), ones((6, 5)), 2),
        "multi_head_attention: W_Q must be a matrix with a row for each column of X; got W_Q (2, 5, 3) and X (4, 5). "
        "Tokens are the rows of X, so X is on the left.",
    ),
    (
        lambda: multi_head_attention(
            ones((4, 5)), ones((5, 6)), ones((5, 6)), ones((5, 6)), ones((6, 5)), 2, X_kv=ones((3, 4))
        ),
        "multi_head_attention: W_K must be a matrix with a row for each column of X_kv; "
        "got W_K (5, 6) and X_kv (3, 4). Tokens are the rows of X, so X is on the left.",
    ),
    (
        lambda: multi_head_attention(ones((4, 5)), ones((5, 6)), ones((5, 6)), ones((5, 4)), ones((6, 5)), 2),
        "multi_head_attention: W_O must be a matrix with a row for each column of the merged heads; "
        "got W_O (6, 5) and the merged heads (4, 4). Tokens are the rows of X, so X is on the left.",
    ),
    (
        lambda: multi_head_attention(ones((4, 5)), ones((5, 6)), ones((5, 4)), ones((5, 6)), ones((6, 5)), 2),
        "attention_scores: Q and K must have the same width d_k; got Q (2, 4, 3) and K (2, 4, 2). "
        "Check which projection made each.",
    ),
    (
        lambda: multi_head_attention(ones((4, 6)), ones((6, 6)), ones((6, 6)), ones((6, 6)), ones((6, 6)), 4),
        "split_heads: n_heads must divide the width of Y; got Y (4, 6) and n_heads 4. "
        "Give every head the same number of columns.",
    ),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_each_error_says_what_must_hold_what_came_and_what_to_do(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == message


def test_only_a_thing_of_the_wrong_kind_is_a_type_error():
    kinds = (
        "real numbers",
        "must be an integer",
        "must be integers",
        "a plain array",
        "got text",
        "got bool",
        "got list",
    )
    for call, message in MESSAGES:
        with pytest.raises(TypeError if any(kind in message for kind in kinds) else ValueError):
            call()


@pytest.mark.parametrize("at_once", [256, 2])
def test_errors_read_the_same_whole_and_in_blocks(at_once, monkeypatch):
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", at_once)
    for call, message in MESSAGES:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert str(caught.value) == message


# ---- the module itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_every_step_says_its_shapes_and_its_section_of_the_notes(step):
    assert "Parameters\n" in step.__doc__
    assert "Returns\n" in step.__doc__
    assert "array (" in step.__doc__ or "array of" in step.__doc__
    assert any(source in step.__doc__ for source in ("Note 3.2", "AQKV", "lesson 05"))


def loaded_by(statements):
    code = f"import sys, importlib.util\n{statements}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_core_loads_nothing_that_numpy_does_not():
    ours = {"labkit", *(f"labkit.{part}" for part in ("attention", "arguments", "running_softmax"))}
    alone = "from labkit import attention as core"
    assert loaded_by(alone) - loaded_by("import numpy.typing") == ours
    at_work = f"{alone}\nx = [[1, 2]]\ncore.multi_head_attention(x, *[[[1, 0], [0, 1]]] * 4, 2, is_causal=True)"
    assert loaded_by(at_work) - loaded_by("import numpy.typing") == ours


@pytest.mark.parametrize(("n_q", "n_k", "d_k", "d_v"), list(product([1, 2], [1, 3], [1, 4], [1, 5])))
def test_the_smallest_sizes_hold_no_surprise(n_q, n_k, d_k, d_v):
    Q, K, V = table(n_q, n_k, d_k, d_v)
    assert_allclose(attention(Q, K, V), oracle.attention(Q.tolist(), K.tolist(), V.tolist()), rtol=1e-12)


def test_what_cannot_be_made_an_array_is_told_by_name():
    class Tracked:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Detach it.")

    with pytest.raises(TypeError, match=r"^attention: V must be an array; got a Tracked that says: Can't call numpy"):
        attention(np.eye(2), np.eye(2), Tracked())


def test_an_array_for_empty_rows_is_refused_in_words():
    with pytest.raises(ValueError, match=r'empty_rows must be "error" or "zeros"; got array'):
        softmax([1.0], empty_rows=np.array([1, 2]))
