"""Mistakes of a running softmax, which reads the keys block by block.

What is kept of the blocks read so far is their largest score, the sum of their powers, and their mixed sum of values,
both counted from that score. In a table filled in by hand, ``summaries`` has a row (largest, sum, mixed sum) for what
was kept, if anything, and one for the block that is read.
"""

import numpy as np

from ..calculation import softmax
from ..exercise import mistake


def larger(kept, own):
    """The running maximum, from which the powers of the block that is read are counted, too."""
    running = np.maximum(kept, own)
    return running, running


def sums(masked_scores, V, block, add, maxima=larger, start=-np.inf):
    """Sum of powers (n_q, 1) and mixed sum (n_q, d_v) after all blocks.

    Parameters
    ----------
    add : callable(rise, kept sum, kept mixed sum, sum, mixed sum) -> the two new sums
        The rise is that of the maximum, infinite when nothing had been kept.
    maxima : callable(kept, the block's own) -> the maximum to keep, and the one to count the block's powers from
    start : float
        The maximum before anything has been read.
    """
    n_q, n_k = masked_scores.shape
    kept, total, mixed = np.full((n_q, 1), start), np.zeros((n_q, 1)), np.zeros((n_q, V.shape[-1]))
    for first in range(0, n_k, block):
        scores, values = masked_scores[:, first : first + block], V[first : first + block]
        new, counted_from = maxima(kept, scores.max(axis=-1, keepdims=True))
        powers = np.exp(scores - counted_from)
        total, mixed = add(new - kept, total, mixed, powers.sum(axis=-1, keepdims=True), powers @ values)
        kept = new
    return total, mixed


def output(*args, **kwargs):
    total, mixed = sums(*args, **kwargs)
    return mixed / total


def rightly(rise, total, mixed, more, more_mixed):
    return np.exp(-rise) * total + more, np.exp(-rise) * mixed + more_mixed


def upside_down(rise, total, mixed, more, more_mixed):
    return rightly(np.where(np.isinf(rise), 0, -rise), total, mixed, more, more_mixed)


def with_the_old_sum(rise, total, mixed, more, more_mixed):
    return total + more, np.exp(-rise) * mixed + more_mixed


def with_the_old_mix(rise, total, mixed, more, more_mixed):
    return np.exp(-rise) * total + more, mixed + more_mixed


def as_it_stands(rise, total, mixed, more, more_mixed):
    return total + more, mixed + more_mixed


def dividing_at_once(rise, total, mixed, more, more_mixed):
    total, mixed = rightly(rise, total, mixed, more, more_mixed)
    return total, mixed / total


def dividing_the_share(rise, total, mixed, more, more_mixed):
    total = np.exp(-rise) * total + more
    return total, np.exp(-rise) * mixed + more_mixed / total


def by_hand(summaries, factors_of_sum, factors_of_mix):
    """The two sums (2,) of all that is in ``summaries``, each row multiplied by its factors."""
    return np.array([factors_of_sum @ summaries[:, 1], factors_of_mix @ summaries[:, 2]])


def factors(summaries, kept=None, read=None):
    """What brings each row to the largest score, or another factor for what was kept, or for the block that is read."""
    right = np.exp(summaries[:, 0] - summaries[:, 0].max())
    right[:-1] = right[:-1] if kept is None else kept
    right[-1] = right[-1] if read is None else read
    return right


@mistake("softmax", makes="output")
def keeps_the_old_sum(masked_scores, V, block):
    """The sum of powers from before was carried over as it stood, and only the mixed sum was brought to the larger
    maximum. Which of the numbers that are kept were counted from the old one?"""
    return output(masked_scores, V, block, with_the_old_sum)


@keeps_the_old_sum.also("output")
def keeps_the_sums_by_hand(summaries):
    return by_hand(summaries, factors(summaries, kept=1), factors(summaries))


@mistake("softmax", makes="output")
def keeps_the_old_output(masked_scores, V, block):
    """The mixed sum from before was carried over as it stood, and only the sum of powers was brought to the larger
    maximum. Which of the numbers that are kept were counted from the old one?"""
    return output(masked_scores, V, block, with_the_old_mix)


@keeps_the_old_output.also("output")
def keeps_the_outputs_by_hand(summaries):
    return by_hand(summaries, factors(summaries), factors(summaries, kept=1))


@mistake("softmax", makes="output")
def joins_without_rescaling(masked_scores, V, block):
    """What had been kept, both sums of it, was added to the new block's as it stood. Can powers be added up that were
    counted from different maxima?"""
    return output(masked_scores, V, block, as_it_stands)


@joins_without_rescaling.also("output")
def joins_by_hand(summaries):
    return by_hand(summaries, factors(summaries, kept=1), factors(summaries, kept=1))


@mistake("softmax", makes="output")
def takes_the_blocks_own_maximum(masked_scores, V, block):
    """The new block's powers were counted from its own largest score, although a larger one had been met before.
    Which maximum do all powers have to be counted from, old and new alike?"""
    return output(masked_scores, V, block, rightly, lambda kept, own: (np.maximum(kept, own), own))


@takes_the_blocks_own_maximum.also("output")
def forgets_earlier_maxima(masked_scores, V, block):
    return output(masked_scores, V, block, rightly, lambda kept, own: (own, own))


@takes_the_blocks_own_maximum.also("output")
def never_looks_at_earlier_maxima(masked_scores, V, block):
    return output(masked_scores, V, block, as_it_stands, lambda kept, own: (own, own))


@takes_the_blocks_own_maximum.also("output")
def adds_the_block_by_hand(summaries):
    return by_hand(summaries, factors(summaries, read=1), factors(summaries, read=1))


@mistake("softmax", makes="output")
def rescales_upside_down(masked_scores, V, block):
    """When a larger score came, what had been kept grew. Counted from a larger maximum, does the power of the same
    score become larger or smaller?"""
    return output(masked_scores, V, block, upside_down)


@rescales_upside_down.also("output")
def turns_the_factors_by_hand(summaries):
    return by_hand(summaries, 1 / factors(summaries), 1 / factors(summaries))


@mistake("softmax", makes="output")
def averages_the_blocks(masked_scores, V, block):
    """Each block was given weights of its own that add to 1, and then each had an equal say. A block may hold the best
    of all {n_k} keys, or none worth looking at: what else would it have to hand on for that to count?"""
    return np.mean(softmaxes(masked_scores, V, block), axis=0)


@averages_the_blocks.also("output")
def adds_up_the_blocks(masked_scores, V, block):
    return np.sum(softmaxes(masked_scores, V, block), axis=0)


def softmaxes(masked_scores, V, block):
    """Each block's output by itself: a list of (n_q, d_v)."""
    parts = [slice(first, first + block) for first in range(0, len(V), block)]
    return [softmax(masked_scores[:, part]) @ V[part] for part in parts]


@mistake("softmax", makes="output")
def drops_the_last_keys(masked_scores, V, block):
    """The last few keys were never read, since the {n_k} keys don't make a whole number of blocks. Who reads what is
    left over after the last full block?"""
    whole = len(V) // block * block
    return output(masked_scores[:, :whole], V[:whole], block, rightly)


@mistake("softmax", makes="output")
def forgets_to_divide(masked_scores, V, block):
    """This is no mix of the {n_k} values yet: the powers in front of them add to more than 1. What is left to be done
    when all blocks have been read?"""
    return sums(masked_scores, V, block, rightly)[1]


@mistake("softmax", makes="output")
def divides_in_every_block(masked_scores, V, block):
    """The mixed sum was divided by the sum of powers while there were still keys to be read. When is that sum complete,
    and how often does one have to divide by it?"""
    return sums(masked_scores, V, block, dividing_at_once)[1]


@divides_in_every_block.also("output")
def divides_in_the_end_as_well(masked_scores, V, block):
    return output(masked_scores, V, block, dividing_at_once)


@divides_in_every_block.also("output")
def divides_each_share(masked_scores, V, block):
    return sums(masked_scores, V, block, dividing_the_share)[1]


@divides_in_every_block.also("output")
def divides_by_hand(summaries):
    right = by_hand(summaries, factors(summaries), factors(summaries))
    return right / right[0]


@mistake("softmax", makes="output")
def starts_the_maximum_at_zero(masked_scores, V, block):
    """Where all {n_k} scores lie far below 0, nothing is left to divide by: the running maximum began at a number that
    was too large for them. Which number is below every score that there can be?"""
    return output(masked_scores, V, block, rightly, start=0.0)


@mistake("softmax", makes="output")
def counts_powers_from_zero(masked_scores, V, block):
    """The powers were counted from 0 and not from the largest score, which goes well until they leave the range of
    numbers. What may be taken off all scores of a row without changing a weight?"""
    powers = np.exp(masked_scores)
    return powers @ V / powers.sum(axis=-1, keepdims=True)


@counts_powers_from_zero.also("output")
def counts_from_zero_by_hand(summaries):
    return by_hand(summaries, np.exp(summaries[:, 0]), np.exp(summaries[:, 0]))
