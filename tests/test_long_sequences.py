"""Attention in blocks on several cores: the same numbers and the same words as from the whole table, in less memory."""

import threading
import time
import tracemalloc
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labkit import attention as core
from labkit import cores, running_softmax
from labkit.attention import attention, causal_mask, padding_mask


def draw(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def whole(*inputs, **options):
    """The output that comes with the weights, for which the whole table is held."""
    return attention(*inputs, **options, return_weights=True)[0]


def assert_same(output, expected):
    assert output.shape == expected.shape
    assert output.dtype == expected.dtype
    assert_allclose(output, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max(initial=0))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few queries and keys, and more threads than this machine may have cores."""
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", 4)
    monkeypatch.setattr(running_softmax, "KEYS_AT_ONCE", 3)
    monkeypatch.setattr(cores, "threads", lambda: 3)


# ---- the same numbers ------------------------------------------------------------------------------------------------

HOLE = draw(5, 7) < 0.5
MASKS = {
    "no mask": None,
    "a table": HOLE | (np.arange(7) == 1),
    "one row for all queries": HOLE[:1],
    "one column for all keys": np.ones((5, 1), dtype=bool),
    "key by key": [1, 0, 1, 1, 0, 1, 1],
    "an empty row": HOLE & (np.arange(5) != 2)[:, None],
    "nothing at all": np.zeros((5, 7), dtype=bool),
    "a mask for each head": np.arange(3 * 5 * 7).reshape(3, 5, 7) % 4 > 0,
    "padding for each head": padding_mask([7, 1, 4], 7)[:, None, :],
    "a batch of masks": np.arange(2 * 5 * 7).reshape(2, 1, 5, 7) % 3 > 0,
    "more axes than the scores": np.arange(4 * 5 * 7).reshape(4, 1, 1, 5, 7) % 3 > 0,
}


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 3), (2, 7), (100, 2)])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_blocks_give_what_the_whole_table_gives(mask, is_causal, queries, keys, small_blocks, monkeypatch):
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", queries)
    monkeypatch.setattr(running_softmax, "KEYS_AT_ONCE", keys)
    inputs = [draw(3, 5, 4), draw(3, 7, 4), draw(2, 1, 7, 2)]
    options = {"is_causal": is_causal, "scale": 0.7, "empty_rows": "zeros"}
    assert_same(attention(*inputs, mask, **options), whole(*inputs, mask, **options))


@pytest.mark.parametrize(("n_q", "n_k"), [(9, 4), (4, 9), (1, 9), (9, 1), (9, 9)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_queries_may_be_more_or_fewer_than_keys(n_q, n_k, is_causal, small_blocks):
    inputs = draw(2, n_q, 3), draw(2, n_k, 3), draw(2, n_k, 2)
    assert_same(attention(*inputs, is_causal=is_causal), whole(*inputs, is_causal=is_causal))


@pytest.mark.parametrize(
    ("lead_Q", "lead_K", "lead_V"),
    [((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (1, 3)), ((), (2,), (3, 1)), ((), (), (2,)), ((50,), (50,), ())],
)
def test_leading_axes_broadcast(lead_Q, lead_K, lead_V, small_blocks):
    inputs = draw(*lead_Q, 3, 4), draw(*lead_K, 7, 4), draw(*lead_V, 7, 2)
    assert_same(attention(*inputs, is_causal=True), whole(*inputs, is_causal=True))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_any_sizes_and_any_mask(data):
    heads, n_q, n_k, d_k, d_v = (data.draw(st.integers(1, most)) for most in (3, 20, 20, 5, 5))
    inputs = draw(heads, n_q, d_k), draw(heads, n_k, d_k), draw(n_k, d_v)
    mask = draw(heads, n_q, n_k, seed=data.draw(st.integers(0, 9))) < data.draw(st.sampled_from([-2, 0, 2]))
    options = {"is_causal": data.draw(st.booleans()), "empty_rows": "zeros"}
    expected = whole(*inputs, mask, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "QUERIES_AT_ONCE", data.draw(st.integers(1, 9)))
        patch.setattr(running_softmax, "KEYS_AT_ONCE", data.draw(st.integers(1, 9)))
        patch.setattr(cores, "threads", lambda: 2)
        assert_same(attention(*inputs, mask, **options), expected)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_table_that_is_long_as_it_comes(is_causal, masked):
    inputs = draw(2, 1300, 24), draw(2, 1200, 24), draw(2, 1200, 5)
    options = {"is_causal": is_causal, "empty_rows": "zeros", "mask": draw(1300, 1200) < 0 if masked else None}
    assert_same(attention(*inputs, **options), whole(*inputs, **options))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_floats_keep_their_precision(dtype, small_blocks):
    inputs = [draw(9, 4, dtype=dtype), draw(7, 4, dtype=dtype), draw(7, 2, dtype=dtype)]
    output = attention(*inputs, is_causal=True)
    assert output.dtype == dtype
    assert_allclose(output, whole(*inputs, is_causal=True), atol=4 * np.finfo(dtype).eps)


def test_a_float16_row_may_have_more_keys_than_float16_can_count():
    Q, K, V = np.zeros((1, 1), np.float16), np.zeros((70_000, 1), np.float16), np.ones((70_000, 1), np.float16)
    assert_allclose(attention(Q, K, V), 1, atol=1e-2)


@pytest.mark.parametrize("middle", [-1e5, -740, -700, -100, -90, -60, -40, 0, 40, 80, 88, 90, 700, 709, 1e5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("keys_at_once", [3, 100])
def test_a_number_added_to_all_scores_of_a_query_changes_nothing(middle, dtype, keys_at_once, monkeypatch):
    monkeypatch.setattr(running_softmax, "KEYS_AT_ONCE", keys_at_once)
    Q, K, V = draw(9, 4), draw(7, 4), draw(7, 2)
    Q[:, 0], K[:, 0] = 0, 1
    expected = attention(Q, K, V)
    Q[:, 0] = 2 * middle  # the root of d_k is 2
    output = attention(Q.astype(dtype), K.astype(dtype), (1e-3 * V).astype(dtype))
    assert_allclose(1e3 * output, expected, atol=20 * np.finfo(dtype).eps * (1 + abs(middle)))


@pytest.mark.parametrize(("dtype", "score"), [(np.float32, 88), (np.float64, 709)])
def test_powers_may_be_in_range_and_their_sum_not(dtype, score):
    Q, K, V = np.full((1, 1), score, dtype), np.ones((7, 1), dtype), 1e-3 * np.arange(7, dtype=dtype)[:, None]
    assert_allclose(attention(Q, K, V), 3e-3, rtol=1e-5)


def test_a_float16_row_of_very_low_scores_keeps_its_precision():
    Q, K = np.full((1, 1), -1, np.float16), np.repeat(np.array([[16.5], [15.9]], np.float16), 1000, axis=0)
    V = np.repeat(np.array([[0.0], [1.0]], np.float16), 1000, axis=0)
    expected = attention(Q.astype(float), K.astype(float), V.astype(float))
    assert_allclose(attention(Q, K, V), expected, atol=5e-3)


def test_scores_of_a_million_are_exact(small_blocks):
    Q, K, V = 1e6 * np.array([[1], [-1]] * 5), np.array([[1.0], [-1.0], [1.0]]), np.array([[1.0], [2.0], [5.0]])
    assert attention(Q, K, V).tolist() == [[3], [2]] * 5


def test_values_whose_sum_is_too_large_for_a_float_are_mixed_all_the_same(small_blocks):
    V = np.full((7, 2), 1.5e308)
    assert_allclose(attention(draw(9, 4), draw(7, 4), V), 1.5e308, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_hidden_changes_nothing(bad, small_blocks):
    Q, K, V = draw(9, 4), draw(9, 4), draw(9, 2)
    mask = np.arange(9) != 3
    expected = attention(Q, K, V, mask, is_causal=True)
    K[3], V[3] = bad, bad
    assert_allclose(attention(Q, K, V, mask, is_causal=True), expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["Q", "K", "V"])
def test_nan_and_infinity_reach_those_whom_they_reach_in_the_whole_table(which, bad, small_blocks):
    inputs = {"Q": draw(9, 4), "K": draw(9, 4), "V": draw(9, 2)}
    inputs[which][5, 1] = bad
    mask = draw(9, 9) < 0.5
    options = {"is_causal": True, "empty_rows": "zeros"}
    with np.errstate(all="ignore"):
        assert_allclose(
            attention(*inputs.values(), mask, **options), whole(*inputs.values(), mask, **options), rtol=1e-12
        )


def test_inputs_are_left_alone_even_where_they_are_read_only(small_blocks):
    inputs = [draw(9, 4), draw(7, 4), draw(7, 2), HOLE[:1]]
    before = [array.copy() for array in inputs]
    for array in inputs:
        array.flags.writeable = False
    attention(*inputs, is_causal=True, empty_rows="zeros")
    for array, copy in zip(inputs, before, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.parametrize("is_causal", [False, True])
def test_no_queries_give_no_rows_and_values_of_no_width_outputs_of_no_width(is_causal):
    assert attention(np.empty((0, 4)), draw(7, 4), draw(7, 2), is_causal=is_causal).shape == (0, 2)
    assert attention(draw(5, 4), draw(7, 4), np.empty((7, 0)), is_causal=is_causal).shape == (5, 0)


# ---- the same words --------------------------------------------------------------------------------------------------


def said(call, *inputs, **options):
    with pytest.raises(ValueError) as caught:
        call(*inputs, **options)
    return str(caught.value)


def table_with_empty_rows(lead, n_q, n_k, seed):
    mask = draw(*lead, n_q, n_k, seed=seed) < 1
    mask[draw(*lead, n_q, seed=seed) < -1] = False
    return mask


@pytest.mark.parametrize("lead_V", [(), (3,), (4, 1, 1)])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_the_empty_row_named_is_the_one_that_the_whole_table_names(lead, lead_V, small_blocks):
    for seed in range(5):
        mask = table_with_empty_rows(lead, 30, 7, seed)
        inputs = draw(30, 4), draw(7, 4), draw(*lead_V, 7, 2), mask
        assert "got none for query" in said(whole, *inputs)
        assert said(attention, *inputs) == said(whole, *inputs)


@pytest.mark.parametrize("options", [{"empty_rows": "nan"}, {"scale": np.inf}, {"mask": np.ones((2, 2))}], ids=str)
def test_other_errors_read_the_same_too(options, small_blocks):
    inputs = draw(30, 4), draw(7, 4), draw(7, 2)
    assert said(attention, *inputs, **options) == said(whole, *inputs, **options)


def test_a_row_without_a_key_is_an_error_even_where_the_values_have_no_width():
    assert "query 1." in said(attention, draw(5, 4), draw(7, 4), np.empty((7, 0)), np.zeros(7))


def test_a_score_of_minus_infinity_that_no_mask_made_empties_a_row_too(small_blocks):
    Q = np.ones((9, 1))
    Q[6] = np.inf
    inputs = Q, -np.ones((5, 1)), np.ones((5, 1))
    assert "query 7." in said(attention, *inputs)
    assert said(attention, *inputs) == said(whole, *inputs)


# ---- less memory, less work ------------------------------------------------------------------------------------------


def peak_megabytes(*inputs, **options):
    tracemalloc.start()
    attention(*inputs, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def test_sixteen_thousand_tokens_take_less_than_64_megabytes():
    inputs = draw(3, 16_384, 64)  # the whole table has 2 GB
    assert peak_megabytes(*inputs, is_causal=True) < 64


def test_what_is_not_finite_takes_little_memory_either():
    Q, K, V = draw(3, 8192, 4)
    V[5, 1] = np.nan
    assert peak_megabytes(Q, K, V, is_causal=True) < 64


def scores_computed(*inputs, monkeypatch, **options):
    counts = []
    block = core._block
    monkeypatch.setattr(core, "_block", lambda Q, K, *rest: counts.append(len(Q) * len(K)) or block(Q, K, *rest))
    attention(*inputs, **options)
    monkeypatch.undo()
    return sum(counts)


def test_blocks_above_the_diagonal_are_left_out(monkeypatch):
    inputs = draw(3, 2048, 4)
    everything = scores_computed(*inputs, monkeypatch=monkeypatch)
    assert everything == 2048**2
    assert scores_computed(*inputs, monkeypatch=monkeypatch, is_causal=True) < 0.6 * everything


@pytest.mark.parametrize("size", [1, 1e4])
def test_finite_numbers_never_take_the_slow_way_whatever_is_hidden(size, small_blocks, monkeypatch):
    monkeypatch.setattr(core, "attention_weights", None)
    Q, K, V = size * draw(9, 4), draw(9, 4), draw(9, 2)
    attention(Q, K, V)
    attention(Q, K, V, np.arange(9) > 5)
    attention(Q, K, V, np.arange(9)[:, None] // 3 == np.arange(9) // 3, is_causal=True)


def test_many_short_tables_share_a_block(small_blocks):
    assert len(core._blocks((2, 50), 2)) == 2 * 25
    assert len(core._blocks((2, 50), 5)) == 2 * 50 * 2


def test_a_small_table_starts_no_thread(monkeypatch):
    monkeypatch.setattr(cores, "share_out", None)
    Q, K, V = draw(3, 4, 4)
    attention(Q, K, V, causal_mask(4))


# ---- cores -----------------------------------------------------------------------------------------------------------


def test_every_piece_is_worked_on_once_and_by_several_threads(monkeypatch):
    monkeypatch.setattr(cores, "threads", lambda: 3)
    everyone_is_here = threading.Barrier(3)
    done = []

    def work(piece):
        if piece < 3:
            everyone_is_here.wait(timeout=10)
        done.append(piece)

    cores.share_out(work, range(100))
    assert sorted(done) == list(range(100))


def test_an_error_in_a_piece_is_raised_and_what_is_left_is_dropped(monkeypatch):
    monkeypatch.setattr(cores, "threads", lambda: 2)
    done = []

    def work(piece):
        done.append(piece)
        time.sleep(0.001)
        if piece == 5:
            raise ArithmeticError("piece 5")

    with pytest.raises(ArithmeticError, match="piece 5"):
        cores.share_out(work, range(10_000))
    assert len(done) < 5_000
    cores.share_out(done.append, ["the next call"])
    assert done[-1] == "the next call"


def test_of_two_calls_at_a_time_one_waits_for_the_other():
    order = []

    def call(name):
        cores.share_out(lambda _: (order.append(name), time.sleep(0.001)), range(50))

    callers = [threading.Thread(target=call, args=[name]) for name in "ab"]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(order) == 100
    assert len(list(groupby(order))) == 2


def blas_threads(threadpoolctl):
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("limit", [1, 2])
def test_there_are_as_many_threads_as_the_matrix_product_may_have_which_keeps_to_one_meanwhile(limit):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    everyone_is_here, meanwhile = threading.Barrier(limit), []

    def work(_):
        everyone_is_here.wait(timeout=10)
        meanwhile.append(blas_threads(threadpoolctl))

    with threadpoolctl.threadpool_limits(limit, "blas"):
        cores.share_out(work, range(limit))
        assert blas_threads(threadpoolctl) == [limit]
    assert meanwhile == [[1]] * limit


def test_without_threadpoolctl_one_thread_does_it_all(monkeypatch):
    monkeypatch.setattr(cores, "_blas", lambda: None)
    assert cores.threads() == 1
    inputs = draw(3, 300, 4)
    assert_same(attention(*inputs), whole(*inputs))
