"""Slips on paper that no mistaken step explains: tables that come up in place of one about Q, K and V.

Each is a table and what is said of it, to go on from "your table": in lower case and without a stop.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from .calculation import QUANTITIES, chain, run, softmax

Slip = tuple[np.ndarray, str]

SIGNS = "but for signs, all numbers would fit. Where does a minus come in, and what do two of them make?"


def slips(answer: str, known: Mapping[str, Any], right: np.ndarray) -> Iterator[Slip]:
    """The slips at one step, the likeliest first.

    Parameters
    ----------
    answer : str
        The quantity that is asked for.
    known : dict
        All that leads to the answer; among it Q (n_q, d_k), K (n_k, d_k), V (n_k, d_v) and the mask, if they are given.
    right : array (...)
        The answer that is right for the student's table before.
    """
    if {"Q", "K"} <= known.keys():
        yield from other_steps(answer, known)
    yield from rows_in_other_places(right)
    if answer in ("raw_scores", "scores"):
        yield np.abs(right), SIGNS
        yield -right, SIGNS
        yield from other_products(answer, known) if {"Q", "K"} <= known.keys() else ()
    if answer == "weights" and "masked_scores" in known:
        yield from other_powers(known["masked_scores"])
    if answer == "output":
        yield from mixed_otherwise(known["weights"], known["V"], right)
    if answer in ("scores", "output"):
        yield np.round(right), "all numbers stand here without decimals. How many decimals are asked for?"


def other_steps(answer: str, known: Mapping[str, Any]) -> Iterator[Slip]:
    """What comes of the steps before and after the one that is asked for."""
    quantities = run(chain("allowed", "weights"), {name: known[name] for name in ("Q", "K", "mask")})
    for other in ("raw_scores", "scores", "weights"):
        if other != answer:
            yield quantities[other], f"these are the {QUANTITIES[other].words}. Which step is asked for here?"


def rows_in_other_places(right: np.ndarray) -> Iterator[Slip]:
    """Two rows, or two columns, exchanged."""
    for axis, name in ((-2, "row"), (-1, "column")):
        for one, other in combinations(range(right.shape[axis] if right.ndim == 2 else 0), 2):
            order = list(range(right.shape[axis]))
            order[one], order[other] = other, one
            said = f"{name}s {one + 1} and {other + 1} have changed places. What does {name} {one + 1} stand for?"
            yield np.take(right, order, axis=axis), said


def other_products(answer: str, known: Mapping[str, Any]) -> Iterator[Slip]:
    """Dot products without signs or without one coordinate, and quotients by a root that was cut short."""
    Q, K = known["Q"], known["K"]
    root = 1 if answer == "raw_scores" else np.sqrt(Q.shape[-1])
    yield np.abs(Q) @ np.abs(K).T / root, "these dot products come without any minus. What do those in Q and K do?"
    for left_out in reversed(range(Q.shape[-1])):
        products = np.delete(Q, left_out, axis=-1) @ np.delete(K, left_out, axis=-1).T
        said = f"coordinate {left_out + 1} is missing from every dot product. How many terms does each of them add up?"
        yield products / root, said
    if answer == "scores":
        rounded = known["raw_scores"] / np.round(root, 1)
        yield rounded, "these numbers fit a root of one decimal. How many does it need, if the scores are to have two?"


def other_powers(scores: np.ndarray) -> Iterator[Slip]:
    """Weights (n_q, n_k) of other scores than stand there, or of none."""
    yield softmax(np.abs(scores)), "all powers are at least 1 here. What is e to a number below 0?"
    yield softmax(np.round(scores)), "these weights fit scores without decimals. How many do the scores need?"
    for decimals in (2, 1):
        powers = np.round(np.exp(scores), decimals)
        said = "these weights fit powers that were rounded before they were divided. How many decimals did those keep?"
        yield powers / powers.sum(axis=-1, keepdims=True), said
    hidden = np.isneginf(scores)
    yield ~hidden / (~hidden).sum(axis=-1, keepdims=True), "all keys get the same here. Do they score the same?"


def mixed_otherwise(weights: np.ndarray, V: np.ndarray, right: np.ndarray) -> Iterator[Slip]:
    """Mixes (n_q, d_v) of the values in another order, or of fewer of them."""
    yield weights @ V[::-1], "the values were taken in the opposite order. To which value does the first weight belong?"
    yield (
        weights @ V / len(V),
        "these numbers have been divided once more. What do the weights of a row add to already?",
    )
    yield np.broadcast_to(V.sum(axis=0), right.shape), "the values were added up as they are. How much does each count?"
    for left_out in reversed(range(len(V))):
        mixed = np.delete(weights, left_out, axis=-1) @ np.delete(V, left_out, axis=0)
        yield mixed, f"value {left_out + 1} is missing from every mix. How many rows of V take part in an output?"
