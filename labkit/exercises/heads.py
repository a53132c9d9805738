"""Several heads (Note 3.2, section 3): split_heads, merge_heads, multi_head_attention, and its steps as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..calculation import chain
from ..exercise import Case, Exercise
from .inputs import DEPTHS, WITH, WITHOUT, causal, padded, with_holes, with_mask

LAB = ("03_multi_head",)


def split_cases(rng: np.random.Generator) -> list[Case]:
    def one(T: int, h: int, width: int) -> Case:
        label = f"{T} tokens, {h} heads of width {width}"
        return Case(label, {"Y": rng.normal(size=(T, h * width)), "n_heads": h})

    return [one(5, 3, 2), one(4, 2, 2), one(2, 4, 3), one(3, 1, 2), one(3, 6, 1)]


def merge_cases(rng: np.random.Generator) -> list[Case]:
    shapes = ((3, 5, 2), (2, 4, 2), (4, 2, 3), (1, 3, 2), (6, 3, 1))
    return [
        Case(f"{h} heads, {T} tokens, width {width}", {"Z": rng.normal(size=(h, T, width))}) for h, T, width in shapes
    ]


def layer(
    rng: np.random.Generator, T: int, d: int, h: int, mask: np.ndarray | None = None, d_out: int = 0, width: int = 0
) -> Case:
    """X (T, d), the four projections and a mask (T, T); every head has width d / h if nothing else is said."""
    joined = h * width or d
    shapes = {"X": (T, d), **dict.fromkeys(("W_Q", "W_K", "W_V"), (d, joined)), "W_O": (joined, d_out or d)}
    args: dict[str, Any] = {name: rng.normal(size=shape) * 0.8 for name, shape in shapes.items()}
    args["n_heads"] = h
    label = f"{T} tokens, d_model = {d}, {h} heads" + (f" of width {width}" if width else "")
    if mask is None:
        return Case(label, args, WITHOUT)
    return Case(label + " and a mask", {**args, "mask": mask}, WITH)


def layer_cases(rng: np.random.Generator) -> list[Case]:
    return [
        layer(rng, 5, 6, 3),
        layer(rng, 4, 4, 2),
        layer(rng, 3, 8, 2, d_out=5),
        layer(rng, 2, 4, 2),
        layer(rng, 3, 12, 4),
        layer(rng, 4, 6, 3, causal(4)),
        layer(rng, 4, 4, 2, causal(4)),
        layer(rng, 5, 6, 2, padded(5, 5, 2)),
        layer(rng, 3, 6, 2, causal(3)),
        layer(rng, 4, 6, 3, with_holes(rng, 4, 4)),
        layer(rng, 4, 5, 3, width=2),  # as in practice question 7 with three heads
        layer(rng, 4, 5, 2, causal(4), width=3),
        low(4, 2),
        low(8, 1),
    ]


def low(d: int, h: int) -> Case:
    """Every token asks with a depth of its own and finds tokens 1 and 2, which it sees; the others score 0, hidden."""
    depths = DEPTHS[::2]
    T, d_k = len(depths), d // h
    X, W_Q, W_K = np.zeros((T, d)), np.zeros((d, d)), np.zeros((d, d))
    X[:, 0], X[:2, 1], X[:, -1] = depths, 1.0, np.arange(T)
    W_Q[0, ::d_k], W_K[1, ::d_k] = np.sqrt(d_k), 1.0
    W_V = np.zeros((d, d))
    W_V[-1] = 1.0  # a token's value is its number
    mask = np.tile(np.arange(T) < 2, (T, 1))
    args = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": np.eye(d), "n_heads": h, "mask": mask}
    return Case(f"allowed scores from -10 to -3000000 (d_k = {d_k})", args, WITH, extreme=True)


def quantities(args: Mapping[str, Any]) -> dict[str, Any]:
    """In self-attention, the tokens that are asked are those who ask."""
    return with_mask({"X_kv": args["X"], **args})


SPLIT_HEADS = Exercise(
    name="split_heads",
    labs=LAB,
    quantities=("parts",),
    answer="parts",
    given=lambda args: {"projected": (args["Y"],), "n_heads": args["n_heads"]},
    points=2,
    cases=split_cases,
)
MERGE_HEADS = Exercise(
    name="merge_heads",
    labs=LAB,
    quantities=("merged",),
    answer="merged",
    given=lambda args: {"output": args["Z"], "n_heads": len(args["Z"])},
    points=2,
    cases=merge_cases,
)
MULTI_HEAD_ATTENTION = Exercise(
    name="multi_head_attention",
    labs=LAB,
    quantities=chain("projected", "final"),
    answer="final",
    given=quantities,
    points=6,
    cases=layer_cases,
)


def own_quantities(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return quantities({name: numbers[name] for name in ("X", "W_Q", "W_K", "W_V", "W_O", "n_heads")})


COMPUTED = tuple(
    Exercise(name, LAB, chain("projected", answer), answer, own_quantities, own=True, exact=True)
    for name, answer in (
        ("projected_queries", "projected"),
        ("split_queries", "parts"),
        ("head_outputs", "output"),
        ("concatenated_heads", "merged"),
        ("multi_head_output", "final"),
    )
)
