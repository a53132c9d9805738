"""Mistakes that are made when a table is filled in by hand."""

import numpy as np

from ..calculation import softmax
from ..exercise import mistake


@mistake("hand", makes="weights")
def rounds_too_early(masked_scores):
    """Your numbers fit scores that had been rounded to one decimal before they went into the exponential: {entry}.
    How many decimals do the scores need if the weights are to have two?"""
    return softmax(np.round(masked_scores, 1))


@mistake("hand", spoils="answer")
def truncates_decimals(answer):
    """The third decimal was cut off and not rounded: {entry}.
    Which of the two neighbours with two decimals is nearer?"""
    return np.trunc(np.round(np.asarray(answer) * 100, 6)) / 100  # 4.32 * 100 is not quite 432


@mistake("hand", spoils="answer", coarser=100)
def gives_percent(answer):
    """This is a percentage: {entry}.
    What does a whole row of weights add to in this course?"""
    return 100 * np.asarray(answer)


@mistake("hand", spoils="answer")
def reads_rows_as_columns(answer):
    """The table is on its side: what you wrote at {where}, {entry}, belongs to another pair.
    Do the rows of this table belong to those who ask or to those who are asked?"""
    return np.swapaxes(answer, -1, -2)


@mistake("hand", spoils="answer")
def slips_in_one_cell(answer):
    """All is well but for one cell, {where}: {entry}.
    Which row and which column meet there?"""
    slipped = np.array(answer, dtype=float)
    slipped.flat[-1] += 0.3
    return slipped
