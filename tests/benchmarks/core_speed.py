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
TURNS = {512: (15, 5), 1024: (11, 3), 2048: (7, 2), 4096: (5, 1)}  # by tokens: how many, of how many calls
REST = 0.05  # seconds in which the threads of whoever had the last turn stop waiting for more work
MANY = 500


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


def medians(contestants, turns, calls):
    """Milliseconds of a call of each, in turns that begin with a call that isn't counted."""
    times = {name: [] for name in contestants}
    for _ in range(turns):
        for name, call in contestants.items():
            time.sleep(REST)
            call()
            for _ in range(calls):
                start = time.perf_counter()
                call()
                times[name].append(1000 * (time.perf_counter() - start))
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
    times = medians(contestants, *TURNS[tokens])
    ours, causal = times.pop("ours"), times.pop("causal")
    goals = {"textbook NumPy": 0.5, "PyTorch, fused": 1.5}
    for name, theirs in times.items():
        yield Row(f"{HEADS} heads, {tokens} tokens; {name}", ours, "ms", theirs, most_ratio=goals.get(name))
    goal = 0.65 if tokens == 4096 else None
    yield Row(f"{HEADS} heads, {tokens} tokens, causal; ours without a mask", causal, "ms", ours, most_ratio=goal)


def call_overhead():
    inputs = draw(3, 4, WIDTH)
    contestants = {"ours": many(attention, inputs), "textbook NumPy": many(textbook, inputs)}
    if torch:
        tensors = [torch.from_numpy(array) for array in inputs]
        contestants["PyTorch"] = many(torch.nn.functional.scaled_dot_product_attention, tensors)
    times = {name: 1000 * taken / MANY for name, taken in medians(contestants, 15, 3).items()}
    ours = times.pop("ours")
    for name, theirs in times.items():
        yield Row(f"one head, 4 tokens; {name}", ours, "us", theirs, most_ratio=1 if name == "PyTorch" else None)


def many(call, inputs):
    def calls():
        for _ in range(MANY):
            call(*inputs)

    return calls


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
    for tokens in TURNS:
        yield from long_sequences(tokens)
    yield from call_overhead()
    yield from memory()
