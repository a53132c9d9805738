"""The core against PyTorch's own, where PyTorch is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labkit import attention as core
from labkit import running_softmax
from labkit.attention import attention, multi_head_attention

torch = pytest.importorskip("torch")

SIZES = [(4, 4), (5, 7), (7, 5), (1, 6), (6, 1)]
LEADS = [(), (3,), (2, 3)]


def draw(*shape, dtype=np.float64):
    return np.random.default_rng([*shape]).normal(size=shape).astype(dtype)


def table(n_q, n_k, lead=(2, 3), dtype=np.float64):
    return draw(*lead, n_q, 4, dtype=dtype), draw(*lead, n_k, 4, dtype=dtype), draw(*lead, n_k, 6, dtype=dtype)


def by_torch(Q, K, V, mask=None, **options):
    mask = None if mask is None else torch.from_numpy(mask)
    tensors = [torch.from_numpy(array) for array in (Q, K, V)]
    return torch.nn.functional.scaled_dot_product_attention(*tensors, mask, **options).numpy()


def some_mask(*shape):
    mask = np.random.default_rng([*shape]).random(shape) < 0.6
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_without_a_mask(n_q, n_k, lead):
    inputs = table(n_q, n_k, lead)
    assert_allclose(attention(*inputs), by_torch(*inputs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_is_causal_aligns_top_left_where_sizes_differ(n_q, n_k, lead):
    inputs = table(n_q, n_k, lead)
    assert_allclose(attention(*inputs, is_causal=True), by_torch(*inputs, is_causal=True), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mask_lead", [(), (3,), (1,), (2, 1), (2, 3)])
@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_with_boolean_masks_of_2_3_and_4_axes(n_q, n_k, mask_lead):
    inputs, mask = table(n_q, n_k), some_mask(*mask_lead, n_q, n_k)
    assert_allclose(attention(*inputs, mask), by_torch(*inputs, mask), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 7), (5, 1), (2, 1, 1, 7)])
def test_with_masks_that_repeat(shape):
    inputs, mask = table(5, 7), some_mask(*shape)
    assert_allclose(attention(*inputs, mask), by_torch(*inputs, mask), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0.1, -2.0])
def test_with_a_scale_of_ones_own(scale):
    inputs = table(5, 7)
    assert_allclose(attention(*inputs, scale=scale), by_torch(*inputs, scale=scale), rtol=1e-10, atol=1e-12)


def test_in_float32():
    inputs = table(5, 7, dtype=np.float32)
    output = attention(*inputs, is_causal=True)
    assert output.dtype == np.float32
    assert_allclose(output, by_torch(*inputs, is_causal=True), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
def test_in_blocks(is_causal, monkeypatch):
    monkeypatch.setattr(core, "QUERIES_AT_ONCE", 7)
    monkeypatch.setattr(running_softmax, "KEYS_AT_ONCE", 9)
    inputs = table(100, 40)
    assert_allclose(attention(*inputs, is_causal=is_causal), by_torch(*inputs, is_causal=is_causal), rtol=1e-9)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_multi_head_attention_with_torch_s_own_projections(n_heads, is_causal):
    theirs = torch.nn.MultiheadAttention(8, n_heads, bias=False, batch_first=True, dtype=torch.float64)
    X, X_kv = draw(2, 5, 8), draw(2, 7, 8)
    W_Q, W_K, W_V = theirs.in_proj_weight.detach().numpy().T.reshape(8, 3, 8).swapaxes(0, 1)
    W_O = theirs.out_proj.weight.detach().numpy().T
    hidden = torch.from_numpy(~core.causal_mask(5, 7)) if is_causal else None
    with torch.no_grad():
        expected, their_weights = theirs(
            *(torch.from_numpy(array) for array in (X, X_kv, X_kv)), attn_mask=hidden, average_attn_weights=False
        )
    output, weights = multi_head_attention(
        X, W_Q, W_K, W_V, W_O, n_heads, is_causal=is_causal, X_kv=X_kv, return_weights=True
    )
    assert_allclose(weights, their_weights.numpy(), rtol=1e-9, atol=1e-12)
    assert_allclose(output, expected.numpy(), rtol=1e-9, atol=1e-12)


def test_tensors_go_in_as_they_are():
    inputs = table(5, 7)
    assert_allclose(attention(*(torch.from_numpy(array) for array in inputs)), attention(*inputs))
