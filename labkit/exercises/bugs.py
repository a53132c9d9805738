"""Broken functions, known only by the weights that they give, and the words for what went wrong in them."""

from dataclasses import dataclass, replace

import numpy as np

from ..calculation import chain, run
from ..exercise import Exercise
from ..mistakes import MISTAKES
from .inputs import causal
from .tables import asked_in, fact

D_K = 4  # not divided, or divided by all of it, scores are twice or half of what they should be


@dataclass(frozen=True)
class Choice:
    """A word to choose, the mistake that it stands for ("" if nothing is wrong), and what one would see then."""

    word: str
    mistake: str
    sign: str


@dataclass(frozen=True, eq=False)
class Round:
    """Functions at work on the same scores: the words for what is wrong in them, and all the words to choose from.

    Attributes
    ----------
    scores : array (n_q, n_k)
        Right ones, already scaled.
    mask : bool array (n_q, n_k), optional
    asked : tuple of str
        The words for the pictures that are shown, in their order.
    choices : tuple of Choice
    """

    scores: np.ndarray
    mask: np.ndarray | None
    asked: tuple[str, ...]
    choices: tuple[Choice, ...]

    def choice(self, word: str) -> Choice:
        return next(choice for choice in self.choices if choice.word == word)

    def weights(self, mistake: str = "") -> np.ndarray:
        """The weights (n_q, n_k), right or with a mistake, made in the first of its ways."""
        Q = np.eye(len(self.scores), D_K)
        K = np.sqrt(D_K) * np.pad(self.scores, ((0, D_K - len(Q)), (0, 0))).T  # so that Q Kᵀ are the raw scores
        ways = MISTAKES[mistake].ways[:1] if mistake else ()
        with np.errstate(all="ignore"):
            return run(chain("allowed", "weights"), {"Q": Q, "K": K, "mask": self.mask}, ways)["weights"]


TWO_SEQUENCES = Round(
    np.array([[2, 0, 1, -1, 0.5], [-1, 1.5, -0.5, 0.5, -2], [0.5, -1.5, 0, 1, 2]]),
    None,
    ("columns", "swapped", "d_k", "sigmoid", "sign"),
    (
        Choice("swapped", "scores_keys_against_queries", "there would be a row for each of the five keys"),
        Choice("unscaled", "forgets_to_scale", "each row would prefer what it should, but more strongly"),
        Choice("d_k", "scales_by_d_k", "each row would add to 1 and prefer what it should, but less strongly"),
        Choice("columns", "normalises_over_queries", "every column would add to 1"),
        Choice("total", "normalises_over_everything", "all cells together would add to 1"),
        Choice("sigmoid", "uses_the_sigmoid", "neither rows nor columns nor the whole table would add to 1"),
        Choice("sign", "negates_the_scores", "in each row the key that should get most would get least"),
        Choice("winner", "picks_the_winner", "each row would be a single 1 among zeros"),
        Choice("twice", "applies_softmax_twice", "no weight would be more than 2.72 times another in its row"),
    ),
)
CAUSAL = Round(
    np.array([[0.5, 1, -0.5, 1.5], [1, 0, 2, -1], [-0.5, 1.5, 0.5, -1.5], [0, 1, 1.5, -0.5]]),
    causal(4),
    ("after", "zero", "transposed", "nothing", "diagonal", "ahead"),
    (
        Choice("ignored", "ignores_the_mask", "every cell would hold weight, and hidden ones of a row would differ"),
        Choice("zero", "fills_with_zero", "the hidden cells of one row would all hold the same weight, and not 0"),
        Choice("after", "masks_after_softmax", "each row with hidden cells would add to less than 1"),
        Choice("transposed", "transposes_the_mask", "row 4 would hold a single 1, and row 1 would see everything"),
        Choice("inverted", "inverts_the_mask", "row 4, which may see everything, would have no numbers"),
        Choice("diagonal", "hides_the_diagonal", "the diagonal would be empty, and row 1 would have no numbers"),
        Choice("ahead", "leaks_one_step", "of the hidden cells only those next to the diagonal would hold weight"),
        Choice("columns", "normalises_over_queries", "every column would add to 1, and row 4 to more"),
        Choice("nothing", "", "hidden cells would hold 0, and each row would add to 1"),
    ),
)

# The pictures, counted from 1: what each belongs to, and what is wrong in it.
BUGS = dict(enumerate([(one, one.choice(word)) for one in (TWO_SEQUENCES, CAUSAL) for word in one.asked], start=1))


def exercise(one: Round, choice: Choice) -> Exercise:
    signs = [(other.word, f"if it were, {other.sign}") for other in one.choices if other is not choice]
    step = MISTAKES[choice.mistake].step if choice.mistake else "mask"
    return replace(fact(choice.word, *signs, step=step), points=0.5)


EXERCISES = asked_in("04_beyond_one_sequence", **{f"bug_{n}": exercise(*pair) for n, pair in BUGS.items()})
