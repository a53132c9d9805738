# %% [markdown]
# # Lab 1 · One head, four tokens
#
# **About 55 minutes. Do lab 0 first.**
#
# By the end you have taken four tokens through one attention head by hand, with numbers of your own, and written
# `softmax`, `attention_scores` and `attention` in NumPy so that they agree with your hand.
#
# Reminder: the text counts from 1 ("query 3"), Python from 0 (`Q[2]`). Two decimals are enough in every table.
# `hint()` names the step to look at, a second `hint()` the place in the notes.

# %%
import matplotlib.pyplot as plt
import numpy as np

from labkit import check, explore, heatmap, hint, progress, student


def compare(guess, result):
    """Put your guess beside what the calculation says."""
    if "Ellipsis" in repr(guess):
        print("No guess yet. Write one above, then run this cell again.")
    else:
        print("You guessed:         ", guess)
        print("The calculation says:", result)


# %% [markdown]
# ## Your own numbers
#
# Put your own name between the quotes: everybody gets other numbers, and the same name always gets the same ones.

# %%
me = student("ada")
me

# %% [markdown]
# ## Who is who
#
# In a transformer all three matrices are made from the same tokens $X$ by three learned projections, $Q = XW_Q$,
# $K = XW_K$, $V = XW_V$. Here they are given; lab 3 starts from $X$.
#
# | | one row of it is | shape | yours |
# |---|---|---|---|
# | `Q` | a query: what this token is looking for | $n_q \times d_k$ | 4 × 3 |
# | `K` | a key: what a token can be found by | $n_k \times d_k$ | 4 × 3 |
# | `V` | a value: what a token hands over when found | $n_k \times d_v$ | 4 × 2 |
#
# - Queries and keys meet in dot products, so they need the same width $d_k$.
# - Key 3 and value 3 belong to the same token: as many keys as values, always.
# - The width of the values, $d_v$, is free.
# - Every token asks, is asked and hands over, so here $n_q = n_k = 4$. (It need not be so: queries may also come from
#   one sequence and keys from another.)
#
# It reads like a search engine, and that is a good picture to start with. But nobody programs what to look for: all
# of these numbers are learned.

# %% [markdown]
# **Guess:** which of these products exist, going by the shapes above? $A$ is the 4 × 4 table of weights.

# %%
candidates = ["Q K", "Q Kᵀ", "K Qᵀ", "Q Vᵀ", "A V", "A K", "V A"]
# BEGIN SOLUTION
# STUB: my_products = [...]  # copy those that exist from the list above
my_products = ["Q Kᵀ", "A V"]
# END SOLUTION

# %%
compare(my_products, ["Q Kᵀ", "K Qᵀ", "A V", "A K"])

# %% [markdown]
# Only two of the four are part of attention: $QK^\top$ and $AV$. NumPy doesn't know that. It accepts every product
# that fits, and with square matrices *everything* fits. So let the shapes catch what they can, and know what each
# table stands for.

# %% [markdown]
# ## 1. Compare
#
# Entry $(i, j)$ of the raw scores is the dot product of query $i$ and key $j$: how much token $i$ wants token $j$.
# Fill row 1 with query 1 against each of the four keys, then go on to row 2. Sixteen small dot products: pencil,
# please.

# %%
# BEGIN SOLUTION
# STUB: hand_raw_scores = [
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB: ]
# Everybody has other numbers, so this page lets NumPy work out Ada's. You typed yours in.
hand_raw_scores = (me.Q @ me.K.T).tolist()
# END SOLUTION

check(hand_raw_scores=hand_raw_scores)

# %% [markdown]
# ## 2. Scale
#
# Divide each raw score by $\sqrt{d_k}$. Mind which size is called $d_k$: your tables have a 2, a 3 and a 4 in their
# shapes.

# %%
# BEGIN SOLUTION
# STUB: hand_scores = [
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB: ]
hand_scores = np.round(np.array(hand_raw_scores) / np.sqrt(3), 2).tolist()
# END SOLUTION

check(hand_scores=hand_scores)

# %% [markdown]
# ## 3. Softmax
#
# For each query: $e$ to each of its scores, then divide by the total of the row. `np.exp([0.58, 1.15])` is allowed,
# and don't round before the division. Before you start, look along each row of scores: which key will get the most
# weight?

# %%
# BEGIN SOLUTION
# STUB: hand_weights = [
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB: ]
hand_weights = [np.round(np.exp(row) / np.exp(row).sum(), 2).tolist() for row in hand_scores]
# END SOLUTION

check(hand_weights=hand_weights)

# %%
heatmap(hand_weights)

# %% [markdown]
# The largest score of a row always takes the largest weight; you could have said so from the scores. What softmax
# adds is *how much* more. Each row is a distribution over the keys, and the margin shows that it adds to 1, give or
# take rounding. In a real sentence a heavy cell might say: the pronoun of this row has just looked up the name of
# that column.

# %% [markdown]
# ## 4. Mix
#
# Output $i$ adds up all four *values*, each times its weight from row $i$:
# $\;\mathbf o_i = \sum_j A_{ij}\,\mathbf v_j$.
#
# The weights are positive and add to 1: such a sum is called a **convex combination**. **Guess**, before you
# calculate: which two numbers can the first coordinate of your outputs not leave, whatever the weights are?

# %%
# BEGIN SOLUTION
# STUB: my_range = [..., ...]  # your guess first: the lowest and the highest possible
# STUB:
# STUB: hand_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
my_range = [float(me.V[:, 0].min()), float(me.V[:, 0].max())]
hand_output = np.round(np.array(hand_weights) @ me.V, 2).tolist()
# END SOLUTION

check(hand_output=hand_output)

# %% [markdown]
# Your values have two coordinates, so they are points on a sheet of paper. The four outputs are points too. Each one
# lies *among* the values, close to those that its query weighs most. Coordinate by coordinate, none can be smaller
# than the smallest value or larger than the largest.

# %%
compare(my_range, [float(me.V[:, 0].min()), float(me.V[:, 0].max())])

if check(hand_output=hand_output).passed:
    figure, axes = plt.subplots(figsize=(4.5, 4))
    axes.plot(*me.V.T, "s", markersize=10, label="values")
    axes.plot(*np.transpose(hand_output), "o", label="outputs")
    for number, (x, y) in enumerate(me.V, start=1):
        _ = axes.annotate(f"value {number}", (x, y), xytext=(8, 4), textcoords="offset points")
    axes.margins(0.2)
    _ = axes.legend()
else:
    print("The picture appears once the table is right.")

# %% [markdown]
# **Try it.** Choose 3 `keys`, move `angle of q` and `length of q` as far as they go, then tick `mix keys instead`,
# and watch the output all the time. Which of these gets it out of the triangle?

# %%
explore.mixing()

# %% [markdown]
# That was one head, complete. From here on NumPy does the arithmetic and you do the thinking.
#
# ## 5. Code: softmax
#
# Two things to know first. **One:** what does NumPy make of large scores? Lab 0 had the row $[2, 1, 0]$. **Guess**
# the softmax of $[1000, 999, 998]$.

# %%
# BEGIN SOLUTION
# STUB: my_large_row = [..., ..., ...]
my_large_row = [1, 0, 0]
# END SOLUTION

# %%
with np.errstate(over="ignore", invalid="ignore"):
    power = np.exp(1000.0)
    print("e to the 1000 is", power, "for NumPy, and one infinity divided by another is", power / power)
compare(my_large_row, "[0.67, 0.24, 0.09], exactly as for [2, 1, 0]")

# %% [markdown]
# Add a constant $c$ to a whole row of scores, and every power gets the same factor $e^c$, above and below the
# fraction bar. It cancels: **shifting a row changes nothing**. Software uses this freedom: it subtracts the largest
# score of the row first. Then the largest exponent is 0, and nothing can overflow.
#
# **Two:** how a column of row totals keeps its place. Run this and look at the shapes.

# %%
table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

print("axis=-1:               ", table.sum(axis=-1).shape, table.sum(axis=-1))
print("axis=-1, keepdims=True:", table.sum(axis=-1, keepdims=True).shape)
print(table.sum(axis=-1, keepdims=True))

# %% [markdown]
# `axis=-1` walks along each row, over the keys. Without `keepdims` the totals lie down as a row and NumPy lines them
# up under the *columns*. For a square table it does so without a word, and then each entry meets the wrong total.
#
# Your turn. Three steps: shift, exponentiate, normalise.


# %%
def softmax(scores):
    """Turn each row of scores into weights.

    Parameters
    ----------
    scores : array (n_q, n_k)
        One row for each query, one column for each key. Some may be large: think of the shift.

    Returns
    -------
    array (n_q, n_k)
        All entries are between 0 and 1, and each row adds to 1. ``scores`` itself is left as it was.
    """
    # BEGIN SOLUTION
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-1, keepdims=True)
    # END SOLUTION


check(softmax)

# %% [markdown]
# **Your function at work.** Move `add to row 1` to 1000, then to −1000, and watch row 1 of the weights. Do they stay
# as they are, and which line of yours sees to that?

# %%
explore.softmax(softmax)

# %% [markdown]
# ## 6. What large $d_k$ does
#
# Lab 0 claimed that raw scores spread like $\sqrt{d_k}$. Here is the measurement: for each width 500 random queries,
# each with 8 random keys, all coordinates with mean 0 and variance 1.

# %%
rng = np.random.default_rng(3)
raw_by_width = {}
for d_k in (4, 64, 1024):
    queries = rng.normal(size=(500, 1, d_k))
    keys = rng.normal(size=(500, 8, d_k))
    raw_by_width[d_k] = (queries * keys).sum(axis=-1)  # (500, 8): 8 dot products for each query
    spread = raw_by_width[d_k].std()
    print(f"d_k = {d_k:4}: standard deviation of raw scores {spread:4.1f}, of scores {spread / d_k**0.5:.1f}")

# %% [markdown]
# Now let each query share out its weight among its 8 keys. Fair shares would be $1/8$, about 0.13 each. **Guess**, or
# remember it from lab 0: at $d_k = 1024$ and *without* scaling, how large is the largest weight of a query, on average?

# %%
# BEGIN SOLUTION
# STUB: my_largest_weight = ...  # between 0.13 and 1
my_largest_weight = 0.7
# END SOLUTION

# %%
if check(softmax).passed:
    for d_k, raw in raw_by_width.items():
        unscaled, scaled = softmax(raw).max(axis=-1).mean(), softmax(raw / d_k**0.5).max(axis=-1).mean()
        print(f"d_k = {d_k:4}: largest of 8 weights, unscaled {unscaled:.2f}, scaled {scaled:.2f}")
    compare(my_largest_weight, round(float(softmax(raw_by_width[1024]).max(axis=-1).mean()), 2))
else:
    print("This measurement needs your softmax: finish it first.")

# %% [markdown]
# Unscaled, a wide head hardly mixes at all: nearly every row is one-hot, all on one key. Scaled, the width no longer
# matters. Dividing by $d_k$ instead of its root overshoots: at 1024 all scores would be squeezed to almost nothing,
# and the weights would all be alike.

# %% [markdown]
# ## 7. Code: scores
#
# Compare and scale, in one function. Before you run the check, ask yourself: where do I read $d_k$ from, so that it
# is right for any input? And which of the two matrices has to be turned?


# %%
def attention_scores(Q, K):
    """Compare every query with every key: the scaled scores.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)

    Returns
    -------
    array (n_q, n_k)
        Entry (i, j) is the dot product of query i and key j, divided by the root of d_k.
    """
    # BEGIN SOLUTION
    d_k = K.shape[-1]
    return Q @ K.T / np.sqrt(d_k)
    # END SOLUTION


check(attention_scores)

# %% [markdown]
# ## 8. Code: attention
#
# Now put your functions together: scores, weights, mix. Three short lines will do. The check tries numbers of queries
# and keys that differ, and widths that differ too.


# %%
def attention(Q, K, V):
    """Scaled dot-product attention, one head, no mask.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)

    Returns
    -------
    array (n_q, d_v)
        Row i is the mix of all values for query i.
    """
    # BEGIN SOLUTION
    scores = attention_scores(Q, K)
    weights = softmax(scores)
    return weights @ V
    # END SOLUTION


check(attention, part="without a mask")

# %% [markdown]
# Does your code agree with your hand? The largest difference should be a matter of rounding, about a tenth at the
# most: each of your weights may be off by half a hundredth, and the values go up to 9.

# %%
if check(attention, part="without a mask").passed and check(hand_output=hand_output).passed:
    difference = np.abs(attention(me.Q, me.K, me.V) - np.array(hand_output)).max()
    print(f"Largest difference between code and hand: {difference:.2f}")
else:
    print("This comparison needs your hand_output and your attention.")

# %% [markdown]
# ## 9. Questions
#
# **A.** The most frequent mistake in this lab is to multiply the weights by $K$ instead of $V$. With your own
# numbers, how would you notice it? And in a model where $d_k = d_v$?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# With $K$ 4 × 3 and $V$ 4 × 2 the output would have three columns instead of two: the shape gives it away. With
# $d_k = d_v$ the shape is right and NumPy is content. The outputs then lie among the keys instead of among the
# values, which one sees only by checking: for instance, is each coordinate between the smallest and the largest
# *value*?
# <!-- END SOLUTION -->

# %% [markdown]
# **B.** Two of the four keys are made equal. What happens to their two columns in the table of weights, and what to
# their rows?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# Their columns become equal: every query has the same score for both, so it gives both the same weight. Their rows
# need not be alike at all. A row belongs to a query, and nobody changed the queries.
# <!-- END SOLUTION -->

# %%
progress()

# %% [markdown]
# ## To remember
#
# - $\operatorname{softmax}(QK^\top / \sqrt{d_k})\,V$: softmax along each row, over the keys; the weights multiply the
#   **values**.
# - Shapes: $(n_q \times d_k)$ with $(n_k \times d_k)$ gives $(n_q \times n_k)$; times $(n_k \times d_v)$ gives
#   $(n_q \times d_v)$.
# - Every output lies among the values. A row may be shifted; that is why one subtracts its maximum.
# - A weight says how much a *value* counts for one query, in one head of one layer. It doesn't say how much a word
#   counts for the model's answer.
# - When in doubt, draw the weights and read the margin.
#
# **Another round?** `from labkit import fresh_numbers`, then `me = fresh_numbers()` in place of your name: new
# numbers, same tables.
#
# **Next:** `02_causal_mask`, where a token may no longer look ahead.
