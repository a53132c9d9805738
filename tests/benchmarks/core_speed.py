"""The core beside textbook NumPy and PyTorch: time, what a call costs that has nearly nothing to do, and memory."""

import math
import statistics
import time
import tracemalloc

import numpy as np
from rows import Row

from labkit.attention import attention

try:
    import torch
except ImportError:
    torch = None

HEADS, WIDTH = 8, 64
ROUNDS = {512: 31, 1024: 21, 2048: 9, 4096: 5}
REST = 0.05  # seconds in which the threads of whoever had the last turn stop waiting for more work
CALLS = 500


def textbook(Q, K, V):
    """As one writes it down."""
    scores = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ V


def two_products(Q, K, V):
    return (Q @ K.swapaxes(-1, -2)) @ V


def eager(Q, K, V):
    """The textbook in PyTorch."""
    return torch.softmax(Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1]), dim=-1) @ V


def medians(contestants, rounds, calls=1):
    """Milliseconds of a call of each, in turns."""
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            time.sleep(REST)
            call()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            times[name].append(1000 * (time.perf_counter() - start) / calls)
    return {name: statistics.median(taken) for name, taken in times.items()}


def draw(*shape, dtype=np.float32):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def long_sequences(tokens):
    inputs = draw(3, 1, HEADS, tokens, WIDTH)
    contestants = {
        "ours": lambda: attention(*inputs),
        "causal": lambda: attention(*inputs, is_causal=True),
        "textbook NumPy": lambda: textbook(*inputs),
        "its two matrix products alone": lambda: two_products(*inputs),
    }
    if torch:
        tensors = [torch.from_numpy(array) for array in inputs]
        contestants["PyTorch, fused"] = lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)
        contestants["PyTorch, eager"] = lambda: eager(*tensors)
    times = medians(contestants, ROUNDS[tokens])
    ours, causal = times.pop("ours"), times.pop("causal")
    goals = {"textbook NumPy": 0.5, "PyTorch, fused": 1.5}
    for name, theirs in times.items():
        yield Row(f"{HEADS} heads, {tokens} tokens; {name}", ours, "ms", theirs, most_ratio=goals.get(name))
    goal = 0.65 if tokens == 4096 else None
    yield Row(f"{HEADS} heads, {tokens} tokens, causal; ours without a mask", causal, "ms", ours, most_ratio=goal)


def one_call():
    inputs = draw(3, 4, WIDTH)
    contestants = {"ours": lambda: attention(*inputs), "textbook NumPy": lambda: textbook(*inputs)}
    if torch:
        tensors = [torch.from_numpy(array) for array in inputs]
        contestants["PyTorch"] = lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)
    times = {name: 1000 * taken for name, taken in medians(contestants, 15, CALLS).items()}
    ours = times.pop("ours")
    for name, theirs in times.items():
        yield Row(f"one head, 4 tokens; {name}", ours, "us", theirs, most_ratio=1 if name == "PyTorch" else None)


def memory(tokens=16_384):
    for is_causal in (False, True):
        inputs = draw(3, tokens, WIDTH, dtype=np.float64)
        tracemalloc.start()
        attention(*inputs, is_causal=is_causal)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        kind = ", causal" if is_causal else ""
        yield Row(f"one head, {tokens} tokens{kind}, memory; one table", peak, "MB", 8 * tokens**2 / 1e6, most=64)


def rows():
    if torch is None:
        print("PyTorch is not here to compare with; pip install torch brings it.")
    for tokens in ROUNDS:
        yield from long_sequences(tokens)
    yield from one_call()
    yield from memory()
