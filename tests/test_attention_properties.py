"""What must hold of attention for any numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from labkit.attention import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    mask_scores,
    merge_heads,
    multi_head_attention,
    softmax,
    split_heads,
)


def for_any(*strategies):
    """The same examples at every run, as many as a second allows."""
    return lambda test: settings(max_examples=60, deadline=None, derandomize=True)(given(*strategies)(test))


sizes = st.integers(1, 6)


def numbers(largest):
    return st.floats(-largest, largest, allow_subnormal=False)


@st.composite
def score_tables(draw, largest=1e6):
    return draw(arrays(np.float64, array_shapes(min_dims=2, max_dims=4, max_side=5), elements=numbers(largest)))


@st.composite
def heads(draw, largest=1e3, square=False, dtype=np.float64):
    """Q, K and V of sizes that have nothing to do with each other."""
    n_q, n_k, d_k, d_v = (draw(sizes) for _ in range(4))
    n_k = n_q if square else n_k
    width = 32 if dtype == np.float32 else 64
    elements = st.floats(-largest, largest, width=width, allow_subnormal=False)
    return tuple(draw(arrays(dtype, shape, elements=elements)) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))


@st.composite
def heads_with_mask(draw, **options):
    """The same with a mask that leaves every query a key."""
    Q, K, V = draw(heads(**options))
    mask = draw(arrays(bool, (len(Q), len(K))))
    mask[np.arange(len(Q)), [draw(st.integers(0, len(K) - 1)) for _ in Q]] = True
    return Q, K, V, mask


@for_any(score_tables())
def test_weights_are_never_negative_and_their_rows_add_to_1(scores):
    weights = softmax(scores)
    assert (weights >= 0).all()
    assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)


@for_any(heads_with_mask(largest=1e3), st.booleans())
def test_rows_add_to_1_and_hidden_keys_have_0_under_any_mask(table, is_causal):
    Q, K, _, mask = table
    weights = attention_weights(Q, K, mask, is_causal=is_causal, empty_rows="zeros")
    allowed = mask & causal_mask(len(Q), len(K)) if is_causal else mask
    assert_allclose(weights.sum(axis=-1), allowed.any(axis=-1), rtol=1e-12)
    assert (weights[~allowed] == 0).all()


@for_any(score_tables(largest=50), st.integers(-(10**6), 10**6))
def test_a_constant_added_to_a_row_changes_nothing(scores, constant):
    scores = scores.round(3)
    assert_allclose(softmax(scores + constant), softmax(scores), rtol=1e-8, atol=1e-12)


@for_any(score_tables(largest=1e6))
def test_the_order_of_the_scores_is_the_order_of_the_weights(scores):
    weights = softmax(scores)
    assert (np.diff(np.take_along_axis(weights, scores.argsort(axis=-1), axis=-1)) >= 0).all()


@for_any(heads_with_mask(), st.booleans())
def test_an_output_lies_among_the_values_that_its_query_may_see(table, is_causal):
    Q, K, V, mask = table
    if is_causal:
        mask |= np.arange(len(K)) == 0
    output = attention(Q, K, V, mask, is_causal=is_causal)
    allowed = mask & causal_mask(len(Q), len(K)) if is_causal else mask
    margin = 1e-12 * max(1, np.abs(V).max())
    for row, sees in zip(output, allowed, strict=True):
        assert (V[sees].min(axis=0) - margin <= row).all()
        assert (row <= V[sees].max(axis=0) + margin).all()


@for_any(heads(square=True), st.integers(1, 6))
def test_under_the_causal_mask_an_output_depends_on_what_came_before_only(table, length):
    Q, K, V = table
    output = attention(Q, K, V, is_causal=True)
    assert_allclose(
        output[:length], attention(Q[:length], K[:length], V[:length], is_causal=True), rtol=1e-9, atol=1e-9
    )
    K[length:], V[length:] = 7.0, 1e9
    assert_array_equal(attention(Q, K, V, is_causal=True)[:length], output[:length])


@for_any(heads(square=True), st.randoms(use_true_random=False))
def test_without_a_mask_reordering_the_tokens_reorders_the_outputs(table, random):
    order = random.sample(range(len(table[0])), len(table[0]))
    output = attention(*table)
    assert_allclose(attention(*(array[order] for array in table)), output[order], rtol=1e-9, atol=1e-9)


def test_with_a_causal_mask_reordering_the_tokens_does_more_than_reorder_the_outputs():
    X = np.arange(12.0).reshape(4, 3) % 5
    backwards = attention(X[::-1], X[::-1], X[::-1], is_causal=True)
    assert np.abs(backwards - attention(X, X, X, is_causal=True)[::-1]).max() > 0.1


@for_any(heads_with_mask(), st.randoms(use_true_random=False))
def test_permuting_keys_and_values_together_changes_nothing(table, random):
    Q, K, V, mask = table
    order = random.sample(range(len(K)), len(K))
    assert_allclose(attention(Q, K[order], V[order], mask[:, order]), attention(Q, K, V, mask), rtol=1e-9, atol=1e-9)


@for_any(heads(), st.data())
def test_equal_keys_share_equally(table, data):
    Q, K, _ = table
    i, j = (data.draw(st.integers(0, len(K) - 1)) for _ in range(2))
    K[j] = K[i]
    weights = attention_weights(Q, K)
    assert_allclose(weights[:, i], weights[:, j], rtol=1e-9)


@for_any(heads_with_mask())
def test_hiding_a_key_is_the_same_as_taking_it_away(table):
    Q, K, V, mask = table
    sees = mask[0]
    expected = attention(Q, K[sees], V[sees])
    assert_allclose(attention(Q, K, V, sees), expected, rtol=1e-9, atol=1e-9)


@for_any(heads_with_mask(largest=1e4), st.booleans())
def test_whatever_hidden_keys_and_values_hold_changes_nothing(table, is_nan):
    Q, K, V, mask = table
    expected = attention(Q, K, V, mask[0])
    K[~mask[0]] = V[~mask[0]] = np.nan if is_nan else 1e300
    assert_allclose(attention(Q, K, V, mask[0]), expected, rtol=1e-12)


@for_any(st.floats(-1e6, 1e6), heads(largest=1.0))
def test_scores_of_a_million_stay_finite_and_in_the_hull(size, table):
    Q, K, V = table
    output, weights = attention(Q * size, K, V, scale=1, return_weights=True)
    assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)
    assert (np.abs(output) <= np.abs(V).max() + 1e-12).all()


@for_any(heads(), st.integers(0, 5))
def test_a_query_gets_the_same_alone_and_among_others(table, i):
    Q, K, V = table
    i %= len(Q)
    assert_allclose(attention(Q[i : i + 1], K, V), attention(Q, K, V)[i : i + 1], rtol=1e-9, atol=1e-9)


@for_any(heads())
def test_a_single_key_gives_its_value_to_every_query(table):
    Q, K, V = table
    output, weights = attention(Q, K[:1], V[:1], return_weights=True)
    assert_array_equal(weights, np.ones((len(Q), 1)))
    assert_array_equal(output, np.repeat(V[:1], len(Q), axis=0))


@for_any(heads(dtype=np.float32, largest=100.0))
def test_float32_stays_float32_and_close_to_float64(table):
    output = attention(*table, is_causal=True)
    assert output.dtype == np.float32
    exact = attention(*(array.astype(np.float64) for array in table), is_causal=True)
    Q, K, V = table
    scores = np.abs(Q.astype(np.float64)) @ np.abs(K.T.astype(np.float64))  # the rounding of a score grows with these
    assert np.abs(output - exact).max() <= 1e-5 * (1 + scores.max()) * max(1, np.abs(V).max())


@for_any(heads_with_mask(), st.booleans())
def test_inputs_are_left_alone_even_where_they_are_read_only(table, is_causal):
    before = [array.copy() for array in table]
    for array in table:
        array.flags.writeable = False
    attention(*table, is_causal=is_causal, empty_rows="zeros", return_weights=True)
    mask_scores(attention_scores(*table[:2]), table[3])
    for array, copy in zip(table, before, strict=True):
        assert_array_equal(array, copy)


@for_any(arrays(np.float64, array_shapes(min_dims=2, max_dims=4, max_side=4), elements=numbers(10)), sizes)
def test_merging_undoes_splitting(heads, n_heads):
    Y = np.concatenate([heads] * n_heads, axis=-1)
    assert split_heads(Y, n_heads).shape == (*heads.shape[:-2], n_heads, *heads.shape[-2:])
    assert_array_equal(split_heads(Y, n_heads), np.stack([heads] * n_heads, axis=-3))
    assert_array_equal(merge_heads(split_heads(Y, n_heads)), Y)


@for_any(st.integers(1, 3), sizes, st.integers(1, 3), st.integers(0, 1000))
def test_multi_head_attention_is_the_sum_of_its_heads_through_their_rows_of_the_last_projection(
    n_heads, tokens, width, seed
):
    random = np.random.default_rng(seed)
    X, W_O = random.normal(size=(tokens, 4)), random.normal(size=(n_heads * width, 5))
    W_Q, W_K, W_V = random.normal(size=(3, 4, n_heads * width))
    total = np.zeros((tokens, 5))
    for r in range(n_heads):
        own = slice(r * width, (r + 1) * width)
        total += attention(X @ W_Q[:, own], X @ W_K[:, own], X @ W_V[:, own], is_causal=True) @ W_O[own]
    output = multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, is_causal=True)
    assert_allclose(output, total, rtol=1e-9, atol=1e-9)


@for_any(heads_with_mask(), st.integers(0, 5))
def test_an_empty_row_is_refused_by_its_number_and_zeros_if_asked_for(table, i):
    Q, K, V, mask = table
    i %= len(Q)
    mask[i] = False
    with pytest.raises(ValueError, match=f"got none for query {i + 1}\\."):
        attention(Q, K, V, mask)
    assert not attention(Q, K, V, mask, empty_rows="zeros")[i].any()
