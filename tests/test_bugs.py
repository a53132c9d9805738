"""Find the bug: what the pictures show tells the mistakes apart, and what is said to a wrong word is not to be seen."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from labkit import check, explore, hint
from labkit.calculation import chain, run
from labkit.draw import describe
from labkit.exercises import EXERCISES
from labkit.exercises.bugs import BUGS, CAUSAL, TWO_SEQUENCES
from labkit.mistakes import MISTAKES

LAB = Path(__file__).resolve().parents[1] / "solutions" / "04_beyond_one_sequence.py"
ROUNDS = (TWO_SEQUENCES, CAUSAL)
PICTURES = [pytest.param(*pair, id=f"{n}-{pair[1].word}") for n, pair in BUGS.items()]
VISIBLE = 0.02  # two decimals are shown, and a difference of one in the last looks like rounding


def look_alike(a, b):
    """Whether two tables of weights can't be told apart where two decimals are shown."""
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=VISIBLE, equal_nan=True)


def all_ways(one, mistake):
    """The weights by every way of making a mistake, less those that change nothing."""
    Q, K = np.eye(len(one.scores), 4), 2 * np.pad(one.scores, ((0, 4 - len(one.scores)), (0, 0))).T
    with np.errstate(all="ignore"):
        for way in MISTAKES[mistake].ways if mistake else ():
            weights = run(chain("allowed", "weights"), {"Q": Q, "K": K, "mask": one.mask}, [way])["weights"]
            if not look_alike(weights, one.weights()):
                yield weights


def test_there_are_ten_broken_functions_and_a_right_one():
    words = [choice.word for _, choice in BUGS.values()]
    assert (len(words), words.count("nothing")) == (11, 1)
    assert len(set(words)) == 11


@pytest.mark.parametrize("one", ROUNDS, ids=["two sequences", "causal"])
def test_the_right_weights_are_the_softmax_of_the_allowed_scores(one):
    allowed = np.ones(one.scores.shape) if one.mask is None else one.mask
    powers = np.exp(one.scores) * allowed
    assert np.allclose(one.weights(), powers / powers.sum(axis=1, keepdims=True))


def test_no_two_pictures_look_alike():
    tables = [one.weights(choice.mistake) for one, choice in BUGS.values()]
    assert not any(look_alike(a, b) for a, b in itertools.combinations(tables, 2))


@pytest.mark.parametrize(("one", "choice"), PICTURES)
def test_a_broken_function_does_not_look_like_the_right_one(one, choice):
    assert look_alike(one.weights(choice.mistake), one.weights()) == (choice.word == "nothing")


@pytest.mark.parametrize(("one", "choice"), PICTURES)
def test_no_other_word_of_the_list_fits_the_picture_in_whatever_way_that_mistake_is_made(one, choice):
    shown = one.weights(choice.mistake)
    for other in one.choices:
        if other is not choice:
            assert not any(look_alike(shown, weights) for weights in all_ways(one, other.mistake)), other.word


def test_a_picture_that_two_words_fit_would_be_seen():
    """Zeroing the scores of keys that nobody sees comes to no mask at all where each key is seen by somebody."""
    assert any(look_alike(CAUSAL.weights("ignores_the_mask"), w) for w in all_ways(CAUSAL, "fills_with_zero"))


# ---- what is said to a wrong word: the sign of each mistake is in its own picture and in no other --------------------


def adds_up(sums):
    return np.abs(sums - 1) < 0.03


def order(weights):
    return np.argsort(weights, axis=1)


def spread(weights):
    return weights.max(axis=1) - weights.min(axis=1)


def prefers_the_same(w, right):
    return w.shape == right.shape and np.array_equal(order(w), order(right)) and adds_up(w.sum(axis=1)).all()


SIGNS_WITHOUT_MASK = {
    "swapped": lambda w, right: len(w) == 5,
    "unscaled": lambda w, right: prefers_the_same(w, right) and (spread(w) > spread(right)).all(),
    "d_k": lambda w, right: prefers_the_same(w, right) and (spread(w) < spread(right)).all(),
    "columns": lambda w, right: adds_up(w.sum(axis=0)).all(),
    "total": lambda w, right: adds_up(w.sum()),
    "sigmoid": lambda w, right: not (adds_up(w.sum(axis=1)).any() or adds_up(w.sum(axis=0)).any() or adds_up(w.sum())),
    "sign": lambda w, right: w.shape == right.shape and np.array_equal(w.argmin(axis=1), right.argmax(axis=1)),
    "winner": lambda w, right: (np.sort(w, axis=1)[:, -2] < 0.005).all(),
    "twice": lambda w, right: (w.max(axis=1) < 2.72 * w.min(axis=1)).all(),
}
HIDDEN = ~CAUSAL.mask
NEXT = np.eye(4, k=1, dtype=bool)


def weight_on(w, cells):
    return np.abs(w[cells]) > 0.005


def alike(w):
    return all(np.ptp(row[hidden]) < 0.005 for row, hidden in zip(w[:3], HIDDEN, strict=False))


SIGNS_UNDER_MASK = {
    "ignored": lambda w: weight_on(w, w == w).all() and not alike(w),
    "zero": lambda w: weight_on(w, HIDDEN).all() and alike(w),
    "after": lambda w: (w.sum(axis=1)[:3] < 0.98).all(),
    "transposed": lambda w: w[3].tolist() == [0, 0, 0, 1] and weight_on(w[0], HIDDEN[0]).all(),
    "inverted": lambda w: np.isnan(w[3]).all(),
    "diagonal": lambda w: np.isnan(w[0]).all() and not np.diag(w)[1:].any(),
    "ahead": lambda w: weight_on(w, NEXT).all() and not weight_on(w, HIDDEN & ~NEXT).any(),
    "columns": lambda w: adds_up(w.sum(axis=0)).all() and w[3].sum() > 1.03,
    "nothing": lambda w: not weight_on(w, HIDDEN).any() and adds_up(w.sum(axis=1)).all(),
}


def has_sign(one, word, weights):
    if one is TWO_SEQUENCES:
        return bool(SIGNS_WITHOUT_MASK[word](weights, one.weights()))
    return bool(SIGNS_UNDER_MASK[word](weights))


@pytest.mark.parametrize(
    ("one", "choice"), [pytest.param(one, c, id=c.word) for one in ROUNDS for c in one.choices]
)  # fmt: skip
def test_what_one_would_see_is_what_that_mistake_makes(one, choice):
    assert has_sign(one, choice.word, one.weights(choice.mistake))


@pytest.mark.parametrize(("one", "choice"), PICTURES)
def test_the_sign_of_a_wrong_word_is_not_in_the_picture(one, choice):
    shown = one.weights(choice.mistake)
    assert [other.word for other in one.choices if has_sign(one, other.word, shown)] == [choice.word]


@pytest.mark.parametrize("n", BUGS)
def test_each_wrong_word_is_told_what_one_would_have_to_see(n):
    one, choice = BUGS[n]
    for other in one.choices:
        outcome = check(**{f"bug_{n}": other.word})
        assert outcome.passed == (other is choice)
        if other is not choice:
            assert outcome.message == f"“{other.word}” is not it.\nIf it were, {other.sign}."


def test_a_word_that_is_not_on_the_list_is_answered_with_the_list():
    message = check(bug_1="softmax").message
    assert message.endswith(f"The words to choose from are {', '.join(sorted(SIGNS_WITHOUT_MASK))}.")


@pytest.mark.parametrize(
    ("n", "step"), [(1, "softmax"), (3, "moderate"), (8, "keeps hidden keys out"), (2, "compares")]
)
def test_a_hint_names_the_step_at_which_the_bug_sits(n, step):
    check(**{f"bug_{n}": "no such word"})
    assert step in repr(hint(f"bug_{n}"))


# ---- the pictures and the lab ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", BUGS)
def test_a_picture_is_the_heatmap_of_the_broken_weights_and_names_nothing(n):
    one, choice = BUGS[n]
    shown = explore.bug(n)
    numbers = describe(one.weights(choice.mistake), one.mask).split("\n", 1)[1]
    assert " ".join(numbers.split()) in " ".join(shown.words.split())
    said = shown.words.replace(f"One of: {', '.join(other.word for other in one.choices)}.", "")
    assert not re.search(rf"\b({choice.word}|{choice.mistake or 'right'})\b", said.replace("(columns)", ""))


def test_the_right_weights_stand_beside_those_without_a_mask_until_they_are_unticked():
    shown = explore.bug(1)
    assert len(shown.shown.pictures) == 2 and "As it should be" in shown.words
    shown.controls["beside"].value = False
    assert len(shown.shown.pictures) == 1 and "As it should be" not in shown.words
    assert "As it should be" not in explore.bug(6).words


@pytest.mark.parametrize("n", [0, 12, "1", None])
def test_a_picture_that_there_is_not_is_refused_with_those_that_there_are(n):
    with pytest.raises(ValueError, match="n must be a picture's number, from 1 to 11; got .*Choose one"):
        explore.bug(n)


def test_the_lab_lists_the_words_of_each_round_and_shows_each_picture():
    script = LAB.read_text(encoding="utf-8")
    words = re.findall(r"^# \| `(\w+)` \|", script, flags=re.M)
    assert words == [choice.word for one in ROUNDS for choice in one.choices]
    assert re.findall(r"^explore\.bug\((\d+)\)", script, flags=re.M) == [str(n) for n in BUGS]
    assert [name for name in EXERCISES if name.startswith("bug_")] == [f"bug_{n}" for n in BUGS]
