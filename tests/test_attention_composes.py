"""The public steps, put together in ways of other libraries: grouped heads, biases, caps, windows and cached keys."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose

from labkit.attention import attention_scores, causal_mask, mask_scores, merge_heads, padding_mask, softmax, split_heads

BATCH, HEADS, N_Q, N_K, D_K, D_V = 2, 6, 3, 5, 4, 7
MASK_SHAPES = [(N_Q, N_K), (HEADS, N_Q, N_K), (1, N_Q, N_K), (BATCH, 1, N_Q, N_K), (BATCH, HEADS, N_Q, N_K)]


def draw(*shape):
    return np.random.default_rng([*shape]).normal(size=shape)


def composed(Q, K, V, *, keep=None, bias=0.0, scale=None, softcap=0.0):
    """The steps in order, with room between them; K and V may have fewer heads than Q."""
    group = Q.shape[-3] // K.shape[-3]
    scores = attention_scores(Q, np.repeat(K, group, axis=-3), scale)
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    scores = scores + bias
    scores = scores if keep is None else mask_scores(scores, keep)
    return softmax(scores, empty_rows="zeros") @ np.repeat(V, group, axis=-3)


def inputs(heads=HEADS, kv_heads=HEADS, n_k=N_K):
    return draw(BATCH, heads, N_Q, D_K), draw(BATCH, kv_heads, n_k, D_K), draw(BATCH, kv_heads, n_k, D_V)


def defined(Q, K, V, **options):
    return oracle.attention_operator(Q.tolist(), K.tolist(), V.tolist(), **options)


def entry(array):
    """A rule or a bias of the oracle's that reads `array`, whatever leading axes it has."""
    whole = np.broadcast_to(array, (BATCH, HEADS, *array.shape[-2:])).tolist()
    return lambda b, h, i, j: whole[b][h][i][j]


def assert_same(output, expected):
    assert output.shape == np.shape(expected)
    assert_allclose(output, expected, rtol=1e-10, atol=1e-13)


def test_several_heads():
    assert_same(composed(*inputs()), defined(*inputs()))


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_heads_that_share_keys_and_values(kv_heads):
    tables = inputs(kv_heads=kv_heads)
    assert_same(composed(*tables), defined(*tables))


@pytest.mark.parametrize("shape", MASK_SHAPES, ids=str)
def test_boolean_masks_of_2_3_and_4_axes(shape):
    keep = draw(*shape) < 0.7
    keep[..., 1] = True
    assert_same(composed(*inputs(), keep=keep), defined(*inputs(), allowed=entry(keep)))


@pytest.mark.parametrize("shape", MASK_SHAPES, ids=str)
def test_a_bias_added_between_scores_and_softmax(shape):
    bias = draw(*shape)
    assert_same(composed(*inputs(), bias=bias), defined(*inputs(), bias=entry(bias)))


def test_a_bias_of_minus_infinity_hides_like_a_mask():
    keep = draw(N_Q, N_K) < 0.7
    keep[:, 1] = True
    assert_same(composed(*inputs(), bias=np.where(keep, 0.0, -np.inf)), defined(*inputs(), allowed=entry(keep)))


def test_rows_that_bias_and_mask_empty_together_are_zeros():
    keep, bias = causal_mask(N_Q, N_K), np.where(np.arange(N_K) == 0, -np.inf, 0.0)[None, :]
    output = composed(*inputs(), keep=keep, bias=bias)
    assert not output[:, :, 0].any()
    assert_same(output, defined(*inputs(), is_causal=True, bias=entry(bias.repeat(N_Q, axis=0))))


@pytest.mark.parametrize("scale", [None, 0.05, 3.0])
def test_a_cap_on_the_scores(scale):
    assert_same(
        composed(*inputs(), softcap=2.0, scale=scale, keep=causal_mask(N_Q, N_K)),
        defined(*inputs(), softcap=2.0, scale=scale, is_causal=True),
    )


@pytest.mark.parametrize("window", [(0, 0), (1, 0), (1, 2), (10, 10)])
def test_a_sliding_window(window):
    distance = np.arange(N_K) - np.arange(N_Q)[:, None]
    keep = (-window[0] <= distance) & (distance <= window[1])
    assert_same(composed(*inputs(), keep=keep), defined(*inputs(), window=window))


@pytest.mark.parametrize("kv_heads", [2, 6])
def test_cached_keys_come_first_and_queries_count_on_from_them(kv_heads):
    Q, K, V = inputs(kv_heads=kv_heads, n_k=N_Q)
    past_key, past_value = draw(BATCH, kv_heads, 4, D_K), draw(BATCH, kv_heads, 4, D_V)
    keep = causal_mask(4 + N_Q)[4:]
    output = composed(Q, np.concatenate([past_key, K], axis=-2), np.concatenate([past_value, V], axis=-2), keep=keep)
    past = {"past_key": past_key.tolist(), "past_value": past_value.tolist()}
    assert_same(output, defined(Q, K, V, **past, is_causal=True))


def test_one_token_at_a_time_with_cached_keys_is_the_whole_at_once():
    Q, K, V = inputs(n_k=N_Q)
    steps = [composed(Q[:, :, t : t + 1], K[:, :, : t + 1], V[:, :, : t + 1]) for t in range(N_Q)]
    assert_same(np.concatenate(steps, axis=-2), defined(Q, K, V, is_causal=True))


def test_lengths_of_padded_keys():
    keep = padding_mask([2, 4], N_K)[:, None, None, :]
    assert_same(composed(*inputs(), keep=keep), defined(*inputs(), lengths=[2, 4]))


def test_masks_join_by_and():
    keep = padding_mask([2, 4], N_K)[:, None, None, :]
    options = {"lengths": [2, 4], "is_causal": True, "window": (1, 0)}
    distance = np.arange(N_Q)[:, None] - np.arange(N_K)
    assert_same(composed(*inputs(), keep=keep & (distance >= 0) & (distance <= 1)), defined(*inputs(), **options))


@pytest.mark.parametrize("kv_heads", [2, 3, 6])
def test_tables_of_3_axes_are_split_into_heads_and_merged_again(kv_heads):
    Q, K, V = draw(BATCH, N_Q, HEADS * D_K), draw(BATCH, N_K, kv_heads * D_K), draw(BATCH, N_K, kv_heads * D_V)
    output = merge_heads(composed(split_heads(Q, HEADS), split_heads(K, kv_heads), split_heads(V, kv_heads)))

    def cut(Y, heads):
        width = Y.shape[-1] // heads
        return [[oracle.columns(rows, h * width, (h + 1) * width) for h in range(heads)] for rows in Y.tolist()]

    by_head = oracle.attention_operator(cut(Q, HEADS), cut(K, kv_heads), cut(V, kv_heads))
    expected = [[sum((head[i] for head in heads), []) for i in range(N_Q)] for heads in by_head]
    assert_same(output, expected)


def test_in_float32_every_step_stays_float32():
    output = composed(*(array.astype(np.float32) for array in inputs()), softcap=2.0, keep=causal_mask(N_Q, N_K))
    assert output.dtype == np.float32
    assert_allclose(output, defined(*inputs(), softcap=2.0, is_causal=True), atol=1e-5)
