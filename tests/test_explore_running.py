"""The explorer of the running softmax: what it keeps is right at every moment, and what it says of a student's too."""

import numpy as np
import pytest

from labkit import attention as core
from labkit import explore
from labkit.explore.sums import SCORES, VALUES
from labkit.explore.svg import number, words_of


def turn(explorer, **values):
    for name, value in values.items():
        explorer.controls[name].value = value
    return explorer


def kept(explorer, name):
    """The numbers of a row of the table of sums, from its words."""
    said = words_of(explorer.shown.pictures[1]).split(f"{name}: ")[1].split(";")[0].rstrip(".")
    return [float(cell.replace("−", "-").replace("∞", "inf")) for cell in said.split(", ")]


@pytest.mark.parametrize("block", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("read", [1, 2, 4, 8])
def test_what_is_kept_is_counted_from_the_largest_score_and_gives_the_output_so_far(block, read):
    explorer = turn(explore.running(), block=block, read=read)
    end = min(block * read, 8)
    powers = np.exp(SCORES[:end] - SCORES[:end].max())
    assert np.allclose(
        kept(explorer, "kept now"), [SCORES[:end].max(), powers.sum(), powers @ VALUES[:end]], atol=0.006
    )
    assert (
        explorer.shown.lines[0] == f"{end} of 8 keys read. o / s = {number(core.softmax(SCORES[:end]) @ VALUES[:end])}."
    )
    assert explorer.shown.lines[1].endswith("the same.") and explorer.shown.loud == []


def test_before_and_after_go_together_from_block_to_block():
    one, next_one = (turn(explore.running(), block=2, read=read) for read in (2, 3))
    assert kept(one, "kept now") == kept(next_one, "kept before")


def test_before_anything_has_been_read_the_maximum_is_minus_infinity():
    explorer = turn(explore.running(), read=0)
    assert kept(explorer, "kept now") == [-np.inf, 0, 0]
    assert "Nothing has been read" in explorer.shown.lines[0]


def test_forgetting_to_rescale_is_said_and_draws_the_output_towards_early_values():
    explorer = turn(explore.running(), read=4, forgets=True)
    assert "not the same" in explorer.shown.loud[0]
    powers = np.concatenate([np.exp(SCORES[i : i + 2] - SCORES[: i + 2].max()) for i in (0, 2, 4, 6)])
    assert kept(explorer, "kept now")[1:] == pytest.approx([powers.sum(), powers @ VALUES], abs=0.006)
    weights = powers / powers.sum()
    assert (weights[:2] > core.softmax(SCORES)[:2]).all()
    assert explorer.shown.lines[0].endswith(f"o / s = {number(weights @ VALUES)}.")


def test_a_right_function_is_said_to_be_and_one_that_averages_blocks_is_not():
    def averages(Q, K, V, block):
        cuts = range(0, len(K), block)
        return np.mean([core.attention(Q, K[i : i + block], V[i : i + block]) for i in cuts], axis=0)

    right = turn(explore.running(lambda Q, K, V, block: core.attention(Q, K, V)), read=3)
    assert right.shown.lines[1].endswith("the same.") and right.shown.loud == []
    assert "not the same" in turn(explore.running(averages), read=3).shown.loud[0]


def test_a_function_that_raises_or_is_not_written_is_answered_in_words():
    def blocked_attention(Q, K, V, block):
        raise NotImplementedError

    assert "is not written yet" in explore.running(blocked_attention).shown.loud[0]
    assert "TypeError" in explore.running(lambda Q: Q).shown.loud[0]
