"""Right answers pass however they are written."""

import numpy as np
import pytest
import right_forms
from right_forms import RIGHT, TABLE_FORMS
from wrong_tables import TABLES, right_table, soft

from labkit import check, notebook, student


@pytest.fixture
def me(monkeypatch):
    """Somebody whose tables haven't been looked at."""
    monkeypatch.setattr(notebook, "SESSION", notebook.Session())
    return student("ada")


@pytest.mark.parametrize("answer", RIGHT, ids=lambda answer: answer.label)
def test_a_right_function_passes_with_all_its_points(answer):
    outcome = check(answer.function, exercise=answer.exercise)
    assert (outcome.status, outcome.points, outcome.mistakes) == ("passed", outcome.max_points, ()), outcome
    assert set(outcome.remarks) <= set(answer.remarks)


def test_right_functions_in_torch_pass():
    pytest.importorskip("torch")
    outcomes = {name: check(f, exercise=exercise) for name, (exercise, f) in right_forms.torch_forms().items()}
    assert not {name: str(one) for name, one in outcomes.items() if one.status != "passed" or one.mistakes}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("form", TABLE_FORMS)
def test_a_right_table_passes_in_any_form(form, me):
    for name in TABLES:
        table = np.round(right_table(name, me), 2)
        outcome = check(**{name: TABLE_FORMS[form](table)})
        assert (outcome.status, outcome.points) == ("passed", outcome.max_points), (name, outcome)


def test_a_right_table_passes_without_rounding(me):
    assert [name for name in TABLES if not check(**{name: right_table(name, me)}).passed] == []


def test_tables_that_were_each_worked_out_from_the_rounded_one_before_pass(me):
    raw = me.Q @ me.K.T
    scores = np.round(raw / 1.732, 2)
    weights = np.round(soft(scores), 2)
    causal = np.round(soft(np.where(np.tri(4), scores, -np.inf)), 2)
    chain = {
        "hand_raw_scores": raw,
        "hand_scores": scores,
        "hand_weights": weights,
        "hand_output": np.round(weights @ me.V, 2),
        "hand_causal_weights": causal,
        "hand_causal_output": np.round(causal @ me.V, 2),
    }
    assert [name for name, table in chain.items() if not check(**{name: table.tolist()}).passed] == []


@pytest.mark.parametrize("name", ["hand_weights", "hand_output", "hand_causal_weights", "hand_causal_output"])
def test_a_table_worked_out_from_rounded_ones_passes_by_itself(name, me):
    scores = np.round(me.Q @ me.K.T / 1.732, 2)
    if "causal" in name:
        scores = np.where(np.tri(4), scores, -np.inf)
    weights = np.round(soft(scores), 2)
    outcome = check(**{name: weights if "weights" in name else np.round(weights @ me.V, 2)})
    assert outcome.passed, outcome


@pytest.mark.parametrize("first", ["hand_raw_scores", "hand_scores", "hand_weights", "hand_causal_weights"])
def test_a_table_that_follows_from_a_wrong_one_passes(first, me):
    follows = {
        "hand_raw_scores": ("hand_scores", lambda table: table / 3**0.5),
        "hand_scores": ("hand_weights", soft),
        "hand_weights": ("hand_output", lambda table: table @ me.V),
        "hand_causal_weights": ("hand_causal_output", lambda table: table @ me.V),
    }
    wrong = np.round(right_table(first, me), 2)
    wrong[1, 0] += 1
    assert not check(**{first: wrong}).passed
    name, step = follows[first]
    assert check(**{name: np.round(step(wrong), 2).tolist()}).passed


# ---- conduct: right answers, with a remark


def in_place_shift(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def in_place_zeros(scores):
    answer = soft(np.asarray(scores))
    scores[:] = 0
    return answer


def in_place_fill(scores, mask):
    if not mask.any(axis=1).all():
        raise ValueError("an empty row")
    answer = soft(np.where(mask, scores, -np.inf))
    scores[~mask] = -1000
    return answer


def in_place_mask(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    if mask is not None:
        s[~mask] = -np.inf
        mask[:] = True
    return soft(s) @ V


def in_place_sort(Q, K, V, mask=None):
    s = Q @ K.T / np.sqrt(K.shape[1])
    answer = soft(s if mask is None else np.where(mask, s, -np.inf)) @ V
    V.sort(axis=0)
    return answer


def in_place_split(Y, n_heads):
    answer = np.array(np.split(Y, n_heads, axis=1))
    Y *= 2
    return answer


@pytest.mark.parametrize(
    ("exercise", "function"),
    [
        ("softmax", in_place_shift),
        ("softmax", in_place_zeros),
        ("masked_softmax", in_place_fill),
        ("attention", in_place_mask),
        ("attention", in_place_sort),
        ("split_heads", in_place_split),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_altering_an_input_is_a_remark(exercise, function):
    outcome = check(function, exercise=exercise)
    assert outcome.passed, outcome
    assert "changes_its_input" in outcome.remarks


def unshifted(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def shifted_by_the_whole(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum(axis=1, keepdims=True)


def halved(scores):
    return soft(scores).astype(np.float16)


@pytest.mark.parametrize(
    ("function", "remark"),
    [
        (unshifted, "overflows_on_large_scores"),
        (shifted_by_the_whole, "shifts_by_the_overall_maximum"),
        (halved, "uses_half_precision"),
    ],
    ids=["unshifted", "shifted by the whole", "float16"],
)
def test_what_is_right_at_ordinary_numbers_gets_a_remark(function, remark):
    outcome = check(function, exercise="softmax")
    assert outcome.passed
    assert remark in outcome.remarks, outcome
