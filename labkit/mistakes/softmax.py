"""Mistakes at the softmax: turning a row of scores into weights."""

import numpy as np

from ..calculation import softmax
from ..exercise import AnyNumber, mistake

Axis = int | tuple[int, ...]

FINITE = -1e9  # what many programs fill in for minus infinity


def from_the_top(scores: np.ndarray, axis: Axis = -1) -> np.ndarray:
    return scores - np.max(scores, axis=axis, keepdims=True)


def powers(scores: np.ndarray, axis: Axis = -1) -> np.ndarray:
    return np.exp(from_the_top(scores, axis))


def softmax_of_finite(scores: np.ndarray, axis: Axis) -> np.ndarray:
    """Softmax after a fill that is low but finite: where all of a slice is hidden, its hidden keys share 1 evenly."""
    return softmax(np.maximum(scores, FINITE), axis)


def shared(table: np.ndarray, axis: Axis = -1) -> np.ndarray:
    return table / np.sum(table, axis=axis, keepdims=True)


def powers_without_keepdims(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores - np.max(scores, axis=-1)[..., None, :])


def shared_without_keepdims(table: np.ndarray) -> np.ndarray:
    return table / np.sum(table, axis=-1)[..., None, :]


def truncated(result: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
    """Without its decimals, if it was put into an array of the inputs' type and all of them are whole numbers."""
    return result if any(array.dtype.kind == "f" for array in inputs) else np.trunc(result)


@mistake("softmax", frequent=True)
def normalises_over_queries(masked_scores):
    """Column {column} of the weights adds to 1, while row {row} adds to {row_total}.
    Which of the two, a row or a column, is one query's choice among the keys?"""
    return softmax(masked_scores, axis=-2)


normalises_over_queries.also(lambda masked_scores: shared(powers(masked_scores), axis=-2))
normalises_over_queries.also(lambda masked_scores: softmax_of_finite(masked_scores, axis=-2))


@mistake("softmax")
def normalises_over_everything(masked_scores):
    """Row {row} of the weights adds to {row_total}; all rows together add to 1.
    How many choices are made in this table, one for all queries or one for each?"""
    return softmax(masked_scores, axis=(-2, -1))


normalises_over_everything.also(lambda masked_scores: shared(powers(masked_scores), axis=(-2, -1)))
normalises_over_everything.also(lambda masked_scores: softmax(masked_scores, tuple(range(masked_scores.ndim))))


@mistake("softmax")
def totals_without_keepdims(masked_scores):
    """Row {row} adds to {row_total}: its entries were divided by totals of other rows.
    What is the shape of the row totals, and along which axis does NumPy line up such a shape with the table?"""
    return shared_without_keepdims(powers(masked_scores))


totals_without_keepdims.also(lambda masked_scores: shared_without_keepdims(np.exp(masked_scores)))


@mistake("softmax")
def maxima_without_keepdims(masked_scores):
    """Key 1 was shifted by one row's maximum and key 2 by another's; the largest weight is {top}.
    What is the shape of the row maxima, and along which axis does NumPy line it up with the table?"""
    return shared(powers_without_keepdims(masked_scores))


maxima_without_keepdims.also(lambda masked_scores: shared_without_keepdims(powers_without_keepdims(masked_scores)))


@mistake("softmax")
def forgets_the_exponential(masked_scores):
    """The smallest weight is {bottom}: the scores themselves were divided by their total.
    What makes every weight positive, even for a negative score?"""
    return shared(masked_scores)


forgets_the_exponential.also(lambda masked_scores: shared(from_the_top(masked_scores)))
forgets_the_exponential.also(lambda masked_scores: shared(np.abs(masked_scores)))


@mistake("softmax")
def exponentiates_the_ratio(masked_scores):
    """Row {row} adds to {row_total}, and the largest entry is {top}.
    Which comes first, raising to a power or dividing by the total?"""
    return np.exp(shared(masked_scores))


exponentiates_the_ratio.also(lambda masked_scores: np.exp(softmax(masked_scores)))
exponentiates_the_ratio.also(lambda masked_scores: np.exp(shared(from_the_top(masked_scores))))


@mistake("softmax")
def applies_softmax_twice(masked_scores):
    """The weights are nearly alike: the largest is {top}.
    How many times was a row turned into a distribution on the way from scores to weights?"""
    return softmax(softmax(masked_scores))


@applies_softmax_twice.also
def with_the_mask_in_between(scores, masked_scores, *, fill=(-np.inf, 0)):
    return softmax(np.where(np.isneginf(masked_scores), fill, softmax(scores)))


BASE = AnyNumber(1.1, 20, usual=(2, 10))


@mistake("softmax")
def uses_another_base(masked_scores, *, base=BASE):
    """Two scores one apart give weights in another ratio than the softmax gives; the largest weight is {top}.
    Which number is raised to the score?"""
    return softmax(masked_scores * np.log(base))


@mistake("softmax")
def uses_the_sigmoid(masked_scores):
    """Row {row} adds to {row_total}: each weight was made from its own score alone.
    Where do the keys of one row compete with each other?"""
    return 1 / (1 + np.exp(-masked_scores))


@mistake("softmax", frequent=True)
def picks_the_winner(masked_scores):
    """The best key of a row holds {top} and the others nothing.
    What happens to the runner-up when weights are in proportion to exponentials?"""
    return np.eye(masked_scores.shape[-1])[np.argmax(masked_scores, axis=-1)]


# All of them, if several tie.
picks_the_winner.also(lambda masked_scores: 1.0 * (masked_scores == masked_scores.max(axis=-1, keepdims=True)))


@mistake("softmax")
def negates_the_scores(masked_scores):
    """The better the score, the less it got: the largest weight, {top}, lies on the worst key of its row.
    What is the sign of the exponent?"""
    return softmax(-masked_scores)


negates_the_scores.also(lambda masked_scores: softmax(np.where(np.isneginf(masked_scores), -np.inf, -masked_scores)))


@mistake("softmax")
def normalises_by_length(masked_scores):
    """Row {row} adds to {row_total}, while its squares add to 1.
    What should the entries of a distribution add up to?"""
    e = powers(masked_scores)
    return e / np.linalg.norm(e, axis=-1, keepdims=True)


@mistake("softmax", spoils="weights", in_code=True)
def truncates_to_integers(weights):
    """Decimals were cut off on the way to {entry}.
    Of what type is the array that the results were put into, or the division that made them?"""
    return np.trunc(weights)


truncates_to_integers.also(lambda weights: np.round(weights), spoils="weights")
truncates_to_integers.also(lambda weights, masked_scores: truncated(weights, masked_scores), spoils="weights")
truncates_to_integers.also(lambda weights, scores: truncated(weights, scores), spoils="weights")
truncates_to_integers.also(lambda masked_scores: shared(truncated(powers(masked_scores), masked_scores)))
truncates_to_integers.also(lambda masked_scores: shared(np.trunc(np.exp(masked_scores))))
truncates_to_integers.also(
    lambda weights, masked_scores: (
        weights if masked_scores.dtype.kind == "f" else shared(np.trunc(np.exp(masked_scores)))
    ),
    spoils="weights",
)
truncates_to_integers.also(lambda scores: np.floor(scores), spoils="scores")
truncates_to_integers.also(lambda scores: np.trunc(scores), spoils="scores")
truncates_to_integers.also(lambda raw_scores: np.trunc(raw_scores), spoils="raw_scores")
truncates_to_integers.also(lambda scores, Q, K: truncated(scores, Q, K), spoils="scores")
truncates_to_integers.also(lambda output, V: truncated(output, V), spoils="output")


@mistake("softmax", remark=True)
def overflows_on_large_scores(masked_scores):
    """With scores of 1000 or more the answer is not finite: the exponential left the range of numbers.
    What may be added to a whole row of scores without changing its weights, so that no exponent is large?"""


@mistake("softmax", remark=True)
def shifts_by_the_overall_maximum(masked_scores):
    """A row about 2000 below the largest score of the table became 0 divided by 0.
    Whose maximum has to be taken off, the table's or the row's?"""
