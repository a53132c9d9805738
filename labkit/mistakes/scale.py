"""Mistakes at the second step: bringing the raw scores to a moderate size."""

import numpy as np

from ..exercise import AnyNumber, mistake


@mistake("scale", frequent=True)
def forgets_to_scale(raw_scores):
    """The dot products went on as they were.
    With d_k = {d_k} coordinates each, how does the typical size of a dot product change as d_k grows?"""
    return raw_scores


@mistake("scale", frequent=True)
def scales_by_d_k(raw_scores, d_k):
    """The dot products were made {d_k} times smaller, which is too much: the weights come out too even.
    If {d_k} independent terms of variance 1 are added, what is the variance of the sum, and what its typical size?"""
    return raw_scores / d_k


@mistake("scale")
def multiplies_by_root_d_k(raw_scores, d_k):
    """The scores came out larger than the dot products, not smaller (d_k = {d_k}).
    Should this step make the weights more one-sided or less?"""
    return raw_scores * np.sqrt(d_k)


@mistake("scale")
def halves_instead_of_rooting(raw_scores, d_k, *, brackets=(False, True)):
    """A half went in as a division by 2 and not as an exponent (d_k = {d_k}).
    In which order are a power and a division worked out?"""
    return raw_scores / (d_k / 2) if brackets else raw_scores / d_k / 2


halves_instead_of_rooting.also(lambda raw_scores, d_k: raw_scores / np.sqrt(d_k / 2))  # and takes the root


@mistake("scale")
def scales_by_number_of_keys(raw_scores, n_k):
    """The divisor follows the number of keys, {n_k} here.
    A score compares one query with one key: how many terms does that one dot product add up?"""
    return raw_scores / np.sqrt(n_k)


scales_by_number_of_keys.also(lambda raw_scores, n_k: raw_scores / n_k)


@mistake("scale")
def scales_by_number_of_queries(raw_scores, n_q):
    """The divisor follows the number of queries, {n_q} here.
    A score compares one query with one key: how many terms does that one dot product add up?"""
    return raw_scores / np.sqrt(n_q)


@mistake("scale")
def scales_by_value_width(raw_scores, d_v):
    """The divisor follows the width of the values, {d_v} here.
    Have the values taken part in anything yet when the scores are scaled?"""
    return raw_scores / np.sqrt(d_v)


@mistake("scale")
def scales_by_model_width(raw_scores, d_model):
    """The divisor follows the width of the whole, and not that of one head (d_model = {d_model}).
    How many terms does one dot product add up inside this head?"""
    return raw_scores / np.sqrt(d_model)


scales_by_model_width.also(lambda raw_scores, d_k, n_heads: raw_scores / np.sqrt(d_k * n_heads))  # of all heads


@mistake("scale")
def truncates_the_root(raw_scores, d_k):
    """The divisor lost its decimals (d_k = {d_k}).
    Is it a whole number here, and what became of the rest of it?"""
    return raw_scores / round(np.sqrt(d_k))


truncates_the_root.also(lambda raw_scores, d_k: raw_scores / int(np.sqrt(d_k)))  # as if unscaled, where d_k is 3
truncates_the_root.also(lambda raw_scores, d_k: raw_scores / np.ceil(np.sqrt(d_k)))


WIDTH = AnyNumber(1.1, 2000, usual=(2, 3, 64))


@mistake("scale")
def hard_codes_the_root(raw_scores, *, width=WIDTH):
    """The divisor stays the same whatever the width of the keys is; here that width is {d_k}.
    Which example did that divisor come from?"""
    return raw_scores / np.sqrt(width)


@mistake("scale", spoils="weights", skips="scores")
def scales_the_weights(weights, d_k):
    """The scaling came after the softmax: a row of the weights adds to {row_total}.
    What should a row of weights add to once the softmax is done?"""
    return weights / np.sqrt(d_k)


scales_the_weights.also(lambda weights, d_k: weights / np.sqrt(d_k), spoils="weights")  # and the scores


@mistake("scale", spoils="output")
def scales_the_output(output, d_k):
    """The weights behind this are fine, but the output shrank afterwards (d_k = {d_k}).
    How many times does the calculation divide, and before or after the softmax?"""
    return output / np.sqrt(d_k)


@mistake("scale")
def compares_directions_only(raw_scores, Q, K, *, and_scales=(False, True)):
    """Every query and key was brought to length 1 first, so that only directions count.
    Does a dot product of {d_k} coordinates care about length, and does the course's formula take that away?"""
    lengths = np.linalg.norm(Q, axis=-1)[..., :, None] * np.linalg.norm(K, axis=-1)[..., None, :]
    return raw_scores / lengths / (np.sqrt(Q.shape[-1]) if and_scales else 1)
