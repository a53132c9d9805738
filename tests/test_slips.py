"""Tables in which another one stands than was asked for, though no step of the calculation went wrong."""

import numpy as np
import pytest

from labkit import check, notebook, student
from labkit.calculation import softmax

NAMES = ("ada", "Mira", "Zoë", "x")


def raw(me):
    return me.Q @ me.K.T


def scores(me):
    return raw(me) / np.sqrt(3)


def weights(me):
    return softmax(scores(me))


def causal(me):
    return softmax(np.where(np.tri(4, dtype=bool), scores(me), -np.inf))


def rounded_powers(me):
    powers = np.exp(scores(me)).round(1)
    return powers / powers.sum(axis=1, keepdims=True)


BEFORE = {
    "hand_raw_scores": {},
    "hand_scores": {"hand_raw_scores": raw},
    "hand_weights": {"hand_scores": scores},
    "hand_output": {"hand_weights": weights},
    "hand_causal_weights": {"hand_scores": scores},
    "hand_causal_output": {"hand_causal_weights": causal},
}
SLIPS = {
    "hand_raw_scores": [
        (scores, "These are the scores."),
        (weights, "These are the weights."),
        (lambda me: np.abs(raw(me)), "But for signs, all numbers would fit."),
        (lambda me: np.abs(me.Q) @ np.abs(me.K).T, "These dot products come without any minus."),
        (lambda me: me.Q[:, :2] @ me.K[:, :2].T, "Coordinate 3 is missing from every dot product."),
        (lambda me: me.Q[:, 1:] @ me.K[:, 1:].T, "Coordinate 1 is missing from every dot product."),
    ],
    "hand_scores": [
        (weights, "These are the weights."),
        (lambda me: -scores(me), "But for signs, all numbers would fit."),
        (lambda me: raw(me) / 1.7, "These numbers fit a root of one decimal."),
        (lambda me: scores(me).round(), "All numbers stand here without decimals."),
    ],
    "hand_weights": [
        (scores, "These are the scores."),
        (lambda me: softmax(np.abs(scores(me))), "All powers are at least 1 here."),
        (lambda me: softmax(scores(me).round()), "These weights fit scores without decimals."),
        (lambda me: np.full((4, 4), 0.25), "All keys get the same here."),
        (lambda me: weights(me)[[0, 2, 1, 3]], "Rows 2 and 3 have changed places."),
        (rounded_powers, "These weights fit powers that were rounded"),
    ],
    "hand_output": [
        (lambda me: (weights(me) @ me.V)[:, ::-1], "Columns 1 and 2 have changed places."),
        (lambda me: weights(me) @ me.V[::-1], "The values were taken in the opposite order."),
        (lambda me: np.tile(me.V.sum(axis=0), (4, 1)), "The values were added up as they are."),
        (lambda me: weights(me) @ me.V / 4, "These numbers have been divided once more."),
        (lambda me: weights(me)[:, :3] @ me.V[:3], "Value 4 is missing from every mix."),
        (lambda me: (weights(me) @ me.V).round(), "All numbers stand here without decimals."),
    ],
    "hand_causal_weights": [
        (lambda me: np.tri(4) / [[1], [2], [3], [4]], "All keys get the same here."),
        (scores, "These are the scores."),
    ],
    "hand_causal_output": [(lambda me: causal(me) @ me.V[::-1], "The values were taken in the opposite order.")],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("table", "wrong", "said"), [(table, wrong, said) for table, some in SLIPS.items() for wrong, said in some]
)
def test_what_stands_there_is_said_and_asked_about(monkeypatch, table, wrong, said, name):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())
    me = student(name)
    for before, right in BEFORE[table].items():
        check(**{before: right(me).round(2).tolist()})
    one = check(**{table: wrong(me).round(2).tolist()})
    assert not one.mistakes
    *_, last = one.message.split("\n")
    assert last.startswith(said) and last.endswith("?")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mixed", ["K", "Q"])
def test_two_columns_of_another_matrix_are_named(monkeypatch, name, mixed):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())
    me = student(name)
    one = check(hand_output=(weights(me) @ getattr(me, mixed))[:, :2].round(2).tolist())
    assert one.mistakes[0] == {"K": "mixes_keys", "Q": "mixes_queries"}[mixed]


def test_a_few_cells_are_not_called_by_a_name(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())
    me = student("ada")
    first, second, *_ = scores(me).round(2).tolist()[0]
    one = check(hand_raw_scores=[[first, second, ..., ...], *[[...] * 4] * 3])
    assert "These are the scores" not in one.message
