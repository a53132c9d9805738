# %% [markdown]
# # Lab 5 · Long sequences
#
# **Optional. About an hour. Do labs 1 and 2 first; lab 4 tells what is to be saved.**
#
# By the end you can take a softmax over keys that come in block by block, with the same result as in one go and in
# far less memory, and you can say which causal mask is meant when there are fewer queries than keys.
#
# Reminder: rows are queries, columns are keys. The text counts from 1 ("block 2"), Python from 0. Two decimals are
# enough. `hint()` names the step to look at.

# %%
import tracemalloc

import numpy as np

from labkit import check, explore, heatmap, hint, progress

# %% [markdown]
# ## 1. A table that gets in the way
#
# $n$ tokens make $n^2$ scores for each head of each layer. A long article has about 10 000 tokens. In single
# precision a number takes 4 bytes. How many megabytes (millions of bytes) does *one* table of weights take?

# %%
# BEGIN SOLUTION
# STUB: table_megabytes = ...
table_megabytes = 10_000 * 10_000 * 4 / 1e6
# END SOLUTION

check(table_megabytes=table_megabytes)

# %% [markdown]
# The output of that head, 10 000 rows of perhaps 64 numbers, takes 2.56 MB. All the rest is there only on the way, to
# be multiplied by $V$ and thrown away.
#
# Rows don't need each other, so one can work on a few queries at a time. But what about the keys? To know a single
# weight one needs the total of the row, and the total needs *all* scores of the row. So it seems that the whole row
# has to be there before anything can be mixed. It hasn't.

# %% [markdown]
# ## 2. One row, in blocks
#
# A query reads its keys two at a time, and forgets them afterwards. The scores are logarithms, so that powers of $e$
# come out even: $e^{\log 8} = 8$.
#
# | | key 1 | key 2 | key 3 | key 4 |
# |---|---|---|---|---|
# | score | log 8 | log 4 | log 16 | log 4 |
# | value | 4 | 8 | 6 | 2 |
# | | block 1 | | block 2 | |
#
# With scores of 1000 one couldn't take these powers as they are, so one does as in lab 1 and counts from the maximum.
# Three numbers are to be kept of a block:
#
# - $m$, its largest score;
# - $s$, the sum of its powers $e^{\,\text{score} - m}$;
# - $o$, the mixed sum: the same powers, each times its value, added up.
#
# In **block 1** the maximum is log 8. The power of key 1 is $8/8 = 1$, that of key 2 is $4/8$. What are $s$ and $o$?
# Don't divide by anything yet.

# %%
# BEGIN SOLUTION
# STUB: first_block = [..., ...]  # s and o
first_block = [1.5, 8]  # 1 + 0.5, and 1 * 4 + 0.5 * 8
# END SOLUTION

check(first_block=first_block)

# %% [markdown]
# **Block 2**, as if it were alone: count from its own maximum, log 16.

# %%
# BEGIN SOLUTION
# STUB: second_block = [..., ...]  # s and o
second_block = [1.25, 6.5]  # 1 + 0.25, and 1 * 6 + 0.25 * 2
# END SOLUTION

check(second_block=second_block)

# %% [markdown]
# ## 3. Join them
#
# Of block 1 there are only three numbers left: log 8, and your $s$ and $o$. Now the maximum of all four scores is log
# 16, and everything has to be counted from there. **Guess:** by which number do you have to multiply the $s$ and $o$
# of block 1?

# %%
# BEGIN SOLUTION
# STUB: my_factor = ...
my_factor = 0.5
# END SOLUTION

check(my_factor=my_factor)

# %% [markdown]
# So what are $s$ and $o$ of both blocks together, counted from log 16?

# %%
# BEGIN SOLUTION
# STUB: two_blocks = [..., ...]  # s and o
two_blocks = [2, 10.5]  # 0.5 * 1.5 + 1.25, and 0.5 * 8 + 6.5
# END SOLUTION

check(two_blocks=two_blocks)

# %% [markdown]
# A third block comes in:
#
# | | key 5 | key 6 |
# |---|---|---|
# | score | log 4 | log 8 |
# | value | 10 | 6 |
#
# By itself it has $m = \log 8$, $s = 1.5$ and $o = 11$. **Guess:** which sums have to be multiplied by something
# before they may be added up, the kept ones, the new ones, or both?

# %%
# BEGIN SOLUTION
# STUB: my_rescaled = ...  # "kept", "new" or "both"
my_rescaled = "new"
# END SOLUTION

check(my_rescaled=my_rescaled)

# %%
# BEGIN SOLUTION
# STUB: three_blocks = [..., ...]  # s and o of all six keys
three_blocks = [2.75, 16]  # 2 + 0.5 * 1.5, and 10.5 + 0.5 * 11
# END SOLUTION

check(three_blocks=three_blocks)

# %% [markdown]
# No more keys. Only now comes the division of the softmax, once. What is the output?

# %%
# BEGIN SOLUTION
# STUB: three_blocks_output = ...
three_blocks_output = 5.82  # 16 / 2.75
# END SOLUTION

check(three_blocks_output=three_blocks_output)

# %%
if check(three_blocks_output=three_blocks_output).passed:
    powers = np.array([8, 4, 16, 4, 4, 8])
    weights = powers / powers.sum()  # softmax of the six scores in one go
    print("in one go:", round(float(weights @ [4, 8, 6, 2, 10, 6]), 2))
else:
    print("First by hand, then by NumPy.")

# %% [markdown]
# The same, to the last digit: nothing has been approximated. And at no time did more than two keys have to be there.
#
# **Guess:** here a value is a single number. If values have 64 coordinates, how many numbers does one have to keep
# for a query, whatever the number of keys it has read?

# %%
# BEGIN SOLUTION
# STUB: my_kept_numbers = ...
my_kept_numbers = 66
# END SOLUTION

check(my_kept_numbers=my_kept_numbers)

# %% [markdown]
# ## 4. See it run
#
# Eight keys this time. **Predict, then look.** With `forget to rescale`, all sums are added up as they stand. Which
# keys have too much of a say then, those that were read early or late? Write it in place of the dots, then move
# `blocks read` to the end, with and without the tick.

# %%
# BEGIN SOLUTION
# STUB: explore.running(predict=...)  # "early" or "late"
explore.running(predict="early")
# END SOLUTION

# %% [markdown]
# The output is drawn towards 9 and 8, the values that were read first: their powers were counted from lower maxima
# and are too large beside the others. Now untick it again and change `block`. What is kept after the last key is the
# same for any size: it doesn't matter where one cuts.

# %% [markdown]
# ## 5. Code
#
# The same for all queries at once: $m$ and $s$ have a row for each query and one column, $o$ has $d_v$ columns.
# Before the first block nothing has been read, so $s$ and $o$ are 0. **Guess:** what should $m$ be at the start, so
# that the first block can be joined like any other?

# %%
# BEGIN SOLUTION
# STUB: my_start = ...  # a number, or minus infinity: -np.inf
my_start = 0
# END SOLUTION

check(my_start=my_start)

# %% [markdown]
# For each block:
#
# 1. compare and scale, but only with the keys of the block;
# 2. the new maximum is the larger of the kept one and the block's own (`np.maximum` compares number by number);
# 3. bring the kept $s$ and $o$ to the new maximum;
# 4. add the block's share to each.
#
# Divide at the very end. The last block may be shorter than the others: `K[start : start + block]` doesn't mind.


# %%
def blocked_attention(Q, K, V, block):
    """Scaled dot-product attention that reads the keys block by block. One head, no mask.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)
    block : int
        How many keys are read at a time. The last block may have fewer.

    Returns
    -------
    array (n_q, d_v)
        The same as in one go, for scores of any size. No table of more than (n_q, block) scores is ever there.
    """
    # BEGIN SOLUTION
    # STUB: # Before the first block: m, s and o.
    # STUB: # For each block: its scores, the new maximum, what was kept brought to it, the block's share added.
    # STUB: # In the end: divide.
    # STUB: raise NotImplementedError("replace this line with your own")
    m = np.full((len(Q), 1), -np.inf)
    s = np.zeros((len(Q), 1))
    o = np.zeros((len(Q), V.shape[1]))
    for start in range(0, len(K), block):
        scores = Q @ K[start : start + block].T / np.sqrt(K.shape[1])  # (n_q, block)
        new_m = np.maximum(m, scores.max(axis=-1, keepdims=True))
        factor = np.exp(m - new_m)
        powers = np.exp(scores - new_m)
        s = factor * s + powers.sum(axis=-1, keepdims=True)
        o = factor * o + powers @ V[start : start + block]
        m = new_m
    return o / s
    # END SOLUTION


check(blocked_attention)

# %% [markdown]
# **Your function at work**, on the eight keys of section 4. Does it say "the same" for each size of `block`?

# %%
explore.running(blocked_attention)

# %% [markdown]
# ## 6. Same numbers, less memory
#
# Here is attention in one go, and a function that measures how much memory a call has in use at its peak.


# %%
def plain_attention(Q, K, V):
    """Attention with the whole table at once."""
    scores = Q @ K.T / np.sqrt(K.shape[1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ V


def peak(function, *args):
    """Return the most bytes that a call has in use at any moment."""
    tracemalloc.start()
    function(*args)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def random_tables(n, width=16):
    """Make Q, K and V for n tokens."""
    rng = np.random.default_rng(5)
    return [rng.normal(size=(n, width)) for _ in range(3)]


# %% [markdown]
# **Guess:** from 1000 tokens to 2000, in blocks of 100. By which factor does the peak grow, for the plain function
# and for yours?

# %%
# BEGIN SOLUTION
# STUB: my_growth = [..., ...]  # plain, blocked
my_growth = [4, 2]
# END SOLUTION

check(my_growth=my_growth)

# %%
if check(blocked_attention).passed:
    small, large = random_tables(1000), random_tables(2000)
    difference = np.abs(plain_attention(*large) - blocked_attention(*large, 100)).max()
    plain = [peak(plain_attention, *tables) for tables in (small, large)]
    blocked = [peak(blocked_attention, *tables, 100) for tables in (small, large)]
    print("largest difference less than 1e-12:", difference < 1e-12)
    print(f"plain:   twice the tokens take {plain[1] / plain[0]:.0f} times the memory")
    print(f"blocked: twice the tokens take {blocked[1] / blocked[0]:.0f} times the memory")
    print("at 2000 tokens, plain takes more than 10 times as much:", plain[1] > 10 * blocked[1])
    if blocked[1] > 3 * blocked[0]:
        print("Yours grows like the plain one. Where does it still hold the whole table?")
else:
    print("This measurement needs your blocked_attention.")

# %% [markdown]
# Back to the article of 10 000 tokens: how many megabytes do the scores of *one block* of 100 keys take, for all
# queries, with 4 bytes a number?

# %%
# BEGIN SOLUTION
# STUB: block_megabytes = ...
block_megabytes = 10_000 * 100 * 4 / 1e6
# END SOLUTION

check(block_megabytes=block_megabytes)

# %% [markdown]
# **Guess:** and the work? Does the blocked version compute fewer scores in all, the same number, or more?

# %%
# BEGIN SOLUTION
# STUB: my_work = ...  # "fewer", "the same" or "more"
my_work = "fewer"
# END SOLUTION

check(my_work=my_work)

# %% [markdown]
# On a graphics card it is faster all the same, often several times: there, carrying a large table to memory and back
# takes longer than computing it. The fused attention of today's libraries (*FlashAttention* is the best-known name)
# is built on this running softmax, with queries in blocks as well.

# %% [markdown]
# ## 7. A million
#
# Why bother with the maximum at all? Without it there would be nothing to rescale: one would just add up powers. Take
# three rows of three keys each:
#
# 1. scores near a million: 1 000 000, 1 000 001, 1 000 002
# 2. scores near zero: 0, 1, 2
# 3. scores near minus a million: −1 000 000, −999 999, −999 998
#
# Only one of them comes out right without a maximum. **Guess** which.

# %%
# BEGIN SOLUTION
# STUB: my_survivor = ...  # 1, 2 or 3
my_survivor = 3
# END SOLUTION

check(my_survivor=my_survivor)

# %%
values = np.array([[1.0], [2.0], [3.0]])

if check(blocked_attention).passed and check(my_survivor=my_survivor).status != "unattempted":
    for c in (1e6, 0, -1e6):
        keys = np.array([[c], [c + 1], [c + 2]])  # for the query [1]: its scores
        with np.errstate(all="ignore"):
            powers = np.exp(keys)
            without = (powers * values).sum() / powers.sum()
        yours = blocked_attention(np.ones((1, 1)), keys, values, 2)[0, 0]
        print(f"scores from {c:10,.0f}: without a maximum {without:.2f}, yours {yours:.2f}")
else:
    print("This needs your guess and your blocked_attention.")

# %% [markdown]
# Counted from the maximum the best key has the power 1, wherever its score lies, so $s$ is at least 1 and at most the
# number of keys. Nothing can overflow, and there is always something to divide by.

# %% [markdown]
# ## 8. The same from a library
#
# If PyTorch is installed where this notebook runs, its attention can be asked as well. If it isn't, go on: nothing
# here needs it.

# %% tags=["nbval-ignore-output"]
try:
    from torch import from_numpy
    from torch.nn.functional import scaled_dot_product_attention
except ImportError:
    print("PyTorch is not installed here, and that is fine: section 6 has compared already.")
else:
    if check(blocked_attention).passed:
        theirs = scaled_dot_product_attention(*map(from_numpy, random_tables(500))).numpy()
        yours = blocked_attention(*random_tables(500), 64)
        print(f"largest difference from PyTorch: {np.abs(theirs - yours).max():.0e}")
    else:
        print("This comparison needs your blocked_attention.")

# %% [markdown]
# ## 9. Causal, but with fewer queries than keys
#
# A model that writes keeps keys and values of all tokens so far. When three tokens are added to two old ones, there
# are **three queries and five keys**: $n_q = 3$, $n_k = 5$. "Each query sees the keys up to its own position" can now
# be read in two ways.
#
# **Top-left:** queries and keys are both counted from their first, so query $i$ sees keys 1 to $i$. How many keys
# does each of the three queries see?

# %%
# BEGIN SOLUTION
# STUB: top_left_keys = [..., ..., ...]
top_left_keys = [1, 2, 3]
# END SOLUTION

check(top_left_keys=top_left_keys)

# %% [markdown]
# **Bottom-right:** both are counted from their last, so the last query sees all keys, the one before it all but one,
# and so on.

# %%
# BEGIN SOLUTION
# STUB: bottom_right_keys = [..., ..., ...]
bottom_right_keys = [3, 4, 5]
# END SOLUTION

check(bottom_right_keys=bottom_right_keys)


# %% [markdown]
# As pictures, with equal scores, so that each query shares out its weight evenly:


# %%
def picture(mask, title, answer):
    """Draw what comes of a mask when all scores are equal, once it has been thought about."""
    if answer.status == "unattempted":
        return print("First answer, then look.")
    counts = mask.sum(axis=1, keepdims=True)
    return heatmap(mask / np.maximum(counts, 1), mask, title=title)


top_left = np.tri(3, 5, dtype=bool)
picture(top_left, "top-left", check(top_left_keys=top_left_keys))

# %%
bottom_right = np.tri(3, 5, k=5 - 3, dtype=bool)  # the diagonal moves right by n_k - n_q
picture(bottom_right, "bottom-right", check(bottom_right_keys=bottom_right_keys))

# %% [markdown]
# For the three new tokens only bottom-right is what one wants: they are tokens 3, 4 and 5, and each knows its whole
# past. With $n_q = n_k$ there is no difference, so a program may be wrong for years without anybody noticing.
#
# Which one do you get? `is_causal` of PyTorch's function means top-left, and so it does in these labs. FlashAttention
# (since its version 2.1) means bottom-right. So look it up, or pass a mask and leave nothing to be guessed.
#
# **Guess:** now the other way round, five queries and three keys, aligned bottom-right. Which queries see no key at
# all?

# %%
# BEGIN SOLUTION
# STUB: my_empty_queries = [...]  # their numbers, from 1
my_empty_queries = [1, 2]
# END SOLUTION

check(my_empty_queries=my_empty_queries)

# %%
few_keys = np.tri(5, 3, k=3 - 5, dtype=bool)
picture(few_keys, "bottom-right, few keys", check(my_empty_queries=my_empty_queries))

# %% [markdown]
# A causal mask of this kind *can* leave a row empty, and then lab 2's rule holds: an error, or zeros and a flag, but
# not in silence.

# %% [markdown]
# ## 10. Questions
#
# **A.** A friend saves herself the trouble: she takes the attention of each block by itself, complete with its
# division, and averages the blocks' outputs. When is that right? What would she have to keep of each block to put it
# right?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# It is right only if all blocks have the same sum of powers, counted from one and the same maximum. In general a
# block with good keys has to count for more than one with poor keys, and its output alone doesn't say which it is.
#
# With its maximum $m$ and its sum $s$ kept as well, the outputs can be mixed with weights in proportion to $s \cdot
# e^{m}$ (counted from the largest $m$), which is what the running softmax does.
# <!-- END SOLUTION -->

# %% [markdown]
# **B.** A chat program keeps keys and values of 1000 tokens. For the next one it asks with a single query, $n_q = 1$
# and $n_k = 1001$, and sets `is_causal` in a library that aligns top-left. No error comes. What does the output
# consist of?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# Of value 1 alone, whatever the query asks: top-left lets query 1 see key 1 only, and a single key gets all the
# weight. The newest token may see everything, so no mask is needed at all (or one that is aligned bottom-right).
# <!-- END SOLUTION -->

# %%
progress()

# %% [markdown]
# ## To remember
#
# - Of any number of keys it is enough to keep a maximum, a sum of powers and a mixed sum, the last two counted from
#   the maximum. When the maximum rises, **both** are multiplied by $e^{\,\text{old} - \text{new}}$; divide once, at
#   the end.
# - It is the same softmax, not an approximation. Memory grows with $n$, work still with $n^2$.
# - Counted from the maximum, no score is too large or too small.
# - With $n_q \ne n_k$ there are two causal masks, top-left and bottom-right. Ask which one you get.
#
# **Where to go next:** these were all the labs. What attention still lacks is a sense of place: positions come in
# note 3.3, and models that cover up words instead of the future in note 3.4. For another round by hand, lab 1 has
# fresh numbers for you as often as you like.
