"""Mistakes with the mask: which keys a query may use, and how the others are kept out."""

import numpy as np

from ..exercise import AnyNumber, mistake

FILL = AnyNumber(-2e6, -0.05, usual=(-1, -10, -100, -2))
ADDED = AnyNumber(-2e6, -1.1, usual=(-10, -100))  # adding -1 comes to the same as adding the mask


def triangle(mask: np.ndarray, above: int = 0) -> np.ndarray:
    """A causal mask of the same size (n_q, n_k), with so many diagonals more."""
    n_q, n_k = mask.shape[-2:]
    return np.tri(n_q, n_k, above, dtype=bool)


def diagonal(mask: np.ndarray, above: int = 0) -> np.ndarray:
    """A mask of the same size (n_q, n_k) that allows one diagonal alone, the main one or one above it."""
    return triangle(mask, above) & ~triangle(mask, above - 1)


def seen_by_nobody(allowed: np.ndarray) -> np.ndarray:
    """Which keys every query's row hides; the mistakes take these places for queries, (..., n_k, 1)."""
    return np.expand_dims(~allowed.any(axis=-2), -1)


@mistake("mask", frequent=True)
def fills_with_zero(scores, allowed):
    """Query {leak_query} still gives {leak} of its weight to hidden key {leak_key}.
    What does the exponential make of the number that stands for a hidden score?"""
    return np.where(allowed, scores, 0)


fills_with_zero.also(lambda scores, allowed: np.tril(scores))
fills_with_zero.also(lambda scores, allowed: np.where(allowed.any(axis=-2, keepdims=True), scores, 0))


@mistake("mask")
def fills_with_a_modest_number(scores, allowed, *, fill=FILL):
    """Query {leak_query} gives {leak} of its weight to hidden key {leak_key}: the lower the other scores, the more.
    Is the number that stands for a hidden score out of reach for every score that an allowed key may have?"""
    return np.where(allowed, scores, fill)


fills_with_a_modest_number.also(lambda scores, allowed, *, fill=ADDED: np.where(allowed, scores, scores + fill))


@mistake("mask")
def fills_before_scaling(scores, raw_scores, allowed, *, fill=FILL):
    """Query {leak_query} gives {leak} of its weight to hidden key {leak_key}: the number filled in was scaled later.
    In which order do scaling and masking come, and would a fill that no scaling can shrink care (d_k = {d_k})?"""
    factor = np.abs(scores).sum() / np.abs(raw_scores).sum()  # whatever the step before made of the raw scores
    return np.where(allowed, scores, fill * factor)


@mistake("mask")
def fills_with_plus_infinity(scores, allowed):
    """Row {bad_row} of the answer is not a number, although its query has allowed keys: in the exponent stood plus
    infinity, or no number at all. What stands there for a hidden key, and what is taken off it before?"""
    return np.where(allowed, scores, np.inf)


fills_with_plus_infinity.also(lambda scores, allowed: np.where(allowed, scores, 1e9))


@mistake("mask")
def multiplies_by_minus_infinity(scores, allowed):
    """Row {bad_row} of the answer is not a number, although its query has allowed keys.
    What is zero times infinity, and for which keys does your line work that out?"""
    return scores * allowed + (1 - allowed) * -np.inf


multiplies_by_minus_infinity.also(lambda scores, allowed: np.where(allowed, scores, scores * -np.inf))


@mistake("mask")
def adds_the_mask(scores, allowed):
    """Query {leak_query} gives {leak} of its weight to hidden key {leak_key}; allowed keys got a little extra.
    What number would have to be added to a score for its exponential to vanish?"""
    return scores + allowed


@mistake("mask", spoils="weights", skips="masked_scores", frequent=True)
def masks_after_softmax(weights, allowed):
    """Row {row} of the weights adds to {row_total}: hidden keys took part in the total and were wiped out afterwards.
    When the softmax runs, does it know yet which keys are hidden?"""
    return np.where(allowed, weights, 0)


masks_after_softmax.also(lambda weights, V, allowed: (weights * allowed) @ V, "output", skips="masked_scores")


@mistake("mask", makes="allowed")
def inverts_the_mask(mask):
    """Query {leak_query} gives {leak} of its weight to key {leak_key}, which is hidden, and nothing to what it may see.
    Does a True in the mask mean that a key may be used, or that it may not?"""
    return ~mask


inverts_the_mask.also(lambda mask: ~triangle(mask), "allowed")


@mistake("mask", makes="allowed")
def transposes_the_mask(mask):
    """Query {leak_query} gives {leak} of its weight to hidden key {leak_key}, as if the mask's rows were keys.
    Which index of the mask is the query, the first or the second?"""
    return np.swapaxes(mask, -1, -2)


transposes_the_mask.also(lambda mask: ~triangle(mask, -1), "allowed")


@mistake("mask", makes="allowed")
def hides_the_diagonal(mask, *, joined=("and", "instead", "not")):
    """Query 1 has no key left here, out of {n_k}.
    Does a token know itself at the moment when its own row is worked out?"""
    strict = triangle(mask, -1)
    return {"and": mask & strict, "instead": strict, "not": mask & ~diagonal(mask)}[joined]


@mistake("mask", makes="allowed")
def leaks_one_step(mask, *, joined=("instead", "shifted", "and", "or")):
    """Query {leak_query} gives {leak} of its weight to key {leak_key}, one step too far.
    Which is the last position that a token may look at?"""
    wide = triangle(mask, 1)
    shifted = mask | np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(1, 0)])[..., :-1]
    return {"instead": wide, "shifted": shifted, "and": mask & wide, "or": mask | diagonal(mask, 1)}[joined]


@mistake("mask", makes="allowed")
def allows_one_key_too_many(lengths, n_k):
    """Each row lets one key more in than its sequence has, if there are so many ({n_k} keys).
    How many keys does row 1 allow, and how long is sequence 1?"""
    return np.arange(n_k) <= np.array(lengths)[:, None]


@mistake("mask", frequent=True)
def ignores_the_mask(scores, allowed):
    """Query {leak_query} gives {leak} of its weight to hidden key {leak_key}: this is the answer without any mask.
    Is the table that you masked the one that goes into the softmax?"""
    return scores


@mistake("mask", makes="output", skips="masked_scores")
def zeroes_hidden_values(weights, V, allowed):
    """The hidden keys kept their share of the weights, and only their values were wiped out.
    What do the weights of the allowed keys ({n_k} keys in all) add up to, then?"""
    return weights @ (V * allowed.any(axis=-2)[..., :, None])


zeroes_hidden_values.also(lambda weights, V, allowed: (weights * allowed) @ V, "output", skips="masked_scores")


@mistake("mask")
def masks_queries_instead_of_keys(scores, allowed):
    """Whole rows of the answer vanished, although their queries may use some of the {n_k} keys.
    Which axis of the table belongs to the keys?"""
    return np.where(seen_by_nobody(allowed), -np.inf, scores)


masks_queries_instead_of_keys.also(
    lambda output, allowed: np.where(seen_by_nobody(allowed), 0, output), spoils="output", skips="masked_scores"
)
masks_queries_instead_of_keys.also(
    lambda weights, allowed: np.where(seen_by_nobody(allowed), 0, weights), spoils="weights", skips="masked_scores"
)


masks_queries_instead_of_keys.also(
    lambda output, allowed: np.where(allowed.all(axis=-1, keepdims=True), output, 0),
    spoils="output",
    skips="masked_scores",
)
masks_queries_instead_of_keys.also(
    lambda weights, allowed: np.where(allowed.all(axis=-1, keepdims=True), weights, 0),
    spoils="weights",
    skips="masked_scores",
)


@mistake("mask", makes="allowed")
def hides_what_either_allows(mask):
    """Query {leak_query} gives {leak} of its weight to key {leak_key}, which one of the two masks hides.
    If a key must pass both masks, how are they joined?"""
    return mask | triangle(mask)


@mistake("mask")
def accepts_an_empty_row(scores, allowed):
    """A query without any allowed key was given an answer, too.
    Over which keys could its weights add to 1, and what does this course do with such a row?"""
    return np.where(allowed, scores, -np.inf)
