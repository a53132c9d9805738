"""Mistakes of a running softmax, which reads the keys block by block.

What is kept of the keys read so far is their largest score, the sum of their powers, and their mixed sum of values,
both counted from that score: (n_q, 1), (n_q, 1), (n_q, d_v). A block by itself comes to the same three. In a table
filled in by hand, ``summaries`` has a row (largest, sum, mixed sum) for what was kept, if anything, and one for the
block that is read.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from ..exercise import mistake

Summary = tuple[np.ndarray, np.ndarray, np.ndarray]  # the largest score, the sum of powers, and the mixed sum


def each_block(masked_scores: np.ndarray, V: np.ndarray, block: int) -> Iterator[Summary]:
    """The largest score, the sum of powers and the mixed sum of each block by itself."""
    for first in range(0, len(V), block):
        scores = masked_scores[:, first : first + block]
        largest = scores.max(axis=-1, keepdims=True)
        powers = np.exp(scores - largest)
        yield largest, powers.sum(axis=-1, keepdims=True), powers @ V[first : first + block]


def join(
    kept: Summary, read: Summary, of_sum: int = 1, of_mix: int = 1, of_read: int = 1, largest: Callable = np.maximum
) -> Summary:
    """What was kept and the block that is read as one, counted from the larger maximum.

    ``of_sum`` and ``of_mix`` say what becomes of the two sums that were kept, ``of_read`` of those of the block:
    1 if they are rescaled as they should be, 0 if they stay as they are, -1 if they are rescaled upside down.
    """
    top = largest(kept[0], read[0])
    fall, fall_of_read = np.where(np.isinf(kept[0]), 0, kept[0] - top), read[0] - top  # of nothing there is no fall
    total = np.exp(of_sum * fall) * kept[1] + np.exp(of_read * fall_of_read) * read[1]
    mixed = np.exp(of_mix * fall) * kept[2] + np.exp(of_read * fall_of_read) * read[2]
    return top, total, mixed


NOTHING = np.array([-np.inf, 0, 0])


def sums(
    blocks: Iterable, start: np.ndarray = NOTHING, join: Callable = join, **how: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of powers and mixed sum after all blocks."""
    _, total, mixed = reduce(lambda kept, read: join(kept, read, **how), blocks, start)
    return total, mixed


def output(masked_scores: np.ndarray, V: np.ndarray, block: int, **how: Any) -> np.ndarray:
    """The mix of values (n_q, d_v) that a running softmax gives."""
    total, mixed = sums(each_block(masked_scores, V, block), **how)
    return mixed / total


def by_hand(summaries: np.ndarray, **how: Any) -> np.ndarray:
    """The two sums (2,), which is what the tables ask for."""
    return np.array(sums(summaries, **how))


def dividing(kept: Summary, read: Summary) -> Summary:
    top, total, mixed = join(kept, read)
    return top, total, mixed / total


def dividing_the_share(kept: Summary, read: Summary) -> Summary:
    top, total, mixed = join(kept, read)
    share = np.exp(read[0] - top) * read[2]
    return top, total, mixed - share + share / total


@mistake("softmax", makes="output", look_at="block sums")
def keeps_the_old_sum(masked_scores, V, block):
    """The sum of powers from before was carried over as it stood, and only the mixed sum was brought to the larger
    maximum. Which of the numbers that are kept were counted from the old one?"""
    return output(masked_scores, V, block, of_sum=0)


keeps_the_old_sum.also(lambda summaries: by_hand(summaries, of_sum=0), "output")


@mistake("softmax", makes="output", look_at="block sums")
def keeps_the_old_output(masked_scores, V, block):
    """The mixed sum from before was carried over as it stood, and only the sum of powers was brought to the larger
    maximum. Which of the numbers that are kept were counted from the old one?"""
    return output(masked_scores, V, block, of_mix=0)


keeps_the_old_output.also(lambda summaries: by_hand(summaries, of_mix=0), "output")


@mistake("softmax", makes="output", look_at="block sums")
def joins_without_rescaling(masked_scores, V, block):
    """What had been kept, both sums of it, was added to the new block's as it stood. Can powers be added up that were
    counted from different maxima?"""
    return output(masked_scores, V, block, of_sum=0, of_mix=0)


joins_without_rescaling.also(lambda summaries: by_hand(summaries, of_sum=0, of_mix=0), "output")


@mistake("softmax", makes="output", look_at="block sums")
def takes_the_blocks_own_maximum(masked_scores, V, block):
    """The new block's powers were counted from its own largest score, although a larger one had been met before.
    Which maximum do all powers have to be counted from, old and new alike?"""
    return output(masked_scores, V, block, of_read=0)


takes_the_blocks_own_maximum.also(
    lambda masked_scores, V, block: output(masked_scores, V, block, largest=lambda kept, own: own), "output"
)
takes_the_blocks_own_maximum.also(
    lambda masked_scores, V, block: output(masked_scores, V, block, of_sum=0, of_mix=0, of_read=0), "output"
)
takes_the_blocks_own_maximum.also(lambda summaries: by_hand(summaries, of_read=0), "output")


@mistake("softmax", makes="output", look_at="block sums")
def rescales_upside_down(masked_scores, V, block):
    """When a larger score came, what had been kept grew. Counted from a larger maximum, does the power of the same
    score become larger or smaller?"""
    return output(masked_scores, V, block, of_sum=-1, of_mix=-1)


rescales_upside_down.also(lambda summaries: by_hand(summaries, of_sum=-1, of_mix=-1, of_read=-1), "output")


@mistake("softmax", makes="output", look_at="block sums")
def averages_the_blocks(masked_scores, V, block):
    """Each block was given weights of its own that add to 1, and then each had an equal say. A block may hold the best
    of all {n_k} keys, or none worth looking at: what else would it have to hand on for that to count?"""
    return np.mean([mixed / total for _, total, mixed in each_block(masked_scores, V, block)], axis=0)


averages_the_blocks.also(
    lambda masked_scores, V, block: np.sum([o / s for _, s, o in each_block(masked_scores, V, block)], axis=0), "output"
)


@mistake("softmax", makes="output", look_at="block sums")
def drops_the_last_keys(masked_scores, V, block):
    """The last few keys were never read, since the {n_k} keys don't make a whole number of blocks. Who reads what is
    left over after the last full block?"""
    whole = len(V) // block * block
    return output(masked_scores[:, :whole], V[:whole], block) + np.zeros((len(masked_scores), V.shape[-1]))


@mistake("softmax", makes="output", look_at="block sums")
def forgets_to_divide(masked_scores, V, block):
    """This is no mix of the {n_k} values yet: the powers in front of them add to more than 1. What is left to be done
    when all blocks have been read?"""
    return sums(each_block(masked_scores, V, block))[1]


@mistake("softmax", makes="output", look_at="block sums")
def divides_in_every_block(masked_scores, V, block):
    """The mixed sum was divided by the sum of powers while there were still keys to be read. When is that sum complete,
    and how often does one have to divide by it?"""
    return sums(each_block(masked_scores, V, block), join=dividing)[1]


divides_in_every_block.also(lambda masked_scores, V, block: output(masked_scores, V, block, join=dividing), "output")
divides_in_every_block.also(
    lambda masked_scores, V, block: sums(each_block(masked_scores, V, block), join=dividing_the_share)[1], "output"
)
divides_in_every_block.also(lambda summaries: by_hand(summaries) / by_hand(summaries)[0], "output")


@mistake("softmax", makes="output", look_at="block sums")
def starts_the_maximum_at_zero(masked_scores, V, block):
    """Where all {n_k} scores lie far below 0, nothing is left to divide by: the running maximum began at a number that
    was too large for them. Which number is below every score that there can be?"""
    return output(masked_scores, V, block, start=np.zeros(3))


@mistake("softmax", makes="output", look_at="block sums")
def keeps_one_maximum_for_all(masked_scores, V, block):
    """The powers of all queries were counted from one and the same maximum. Where a query's own {n_k} scores lie far
    below it, nothing is left to divide by. Of which scores should a query's maximum be the largest?"""
    return output(masked_scores, V, block, largest=lambda kept, own: np.max(np.maximum(kept, own)))


@mistake("softmax", makes="output", look_at="block sums")
def counts_powers_from_zero(masked_scores, V, block):
    """The powers were counted from 0 and not from the largest score, which goes well until they leave the range of
    numbers. What may be taken off all scores of a row without changing a weight?"""
    powers = np.exp(masked_scores)
    return powers @ V / powers.sum(axis=-1, keepdims=True)


counts_powers_from_zero.also(lambda summaries: np.exp(summaries[:, 0]) @ summaries[:, 1:], "output")
