# %% [markdown]
# # Lab 1 · One head, four tokens
#
# **About 50 minutes. Do lab 0 first.**
#
# By the end you have taken four tokens through one attention head by hand, with numbers of your own, and written
# `softmax`, `attention_scores` and `attention` in NumPy so that they agree with your hand.
#
# Reminder: the text counts from 1 ("query 3"), Python from 0 (`Q[2]`). Two decimals are enough in every table.
# `hint()` names the step to look at, a second `hint()` the place in the notes. Guesses are free, as in lab 0.

# %%
import matplotlib.pyplot as plt
import numpy as np

from labkit import check, explore, fresh_numbers, heatmap, hint, progress, student

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
#
# **Guess:** which of these products exist, going by the shapes above? $A$ is the 4 × 4 table of weights.

# %%
candidates = ["Q K", "Q Kᵀ", "K Qᵀ", "Q Vᵀ", "A V", "A K", "V A"]
# BEGIN SOLUTION
# STUB: my_products = [...]  # copy those that exist from the list above
my_products = ["Q Kᵀ", "A V"]
# END SOLUTION

check(my_products=my_products)

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
#
# From here on, do one row of each table yourself, leave the dots in the others, and run the check: it tells whether
# what is there fits. Then you may let Python work out the other rows, too (`np.array(hand_raw_scores)` can be divided
# as a whole).

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
# For each query: $e$ to each of its scores, then divide by the total of the row. **Guess** first, looking along each
# row of your scores: which key will get the most weight?

# %%
# BEGIN SOLUTION
# STUB: my_top_keys = [..., ..., ..., ...]  # for query 1, 2, 3 and 4: the number of a key
my_top_keys = [1 + int(np.argmax(row)) for row in hand_scores]
# END SOLUTION

check(my_top_keys=my_top_keys)

# %% [markdown]
# Now the weights. Use `np.exp` on a whole row of scores if you like, and don't round before the division.

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
# Each row is a distribution over the keys, and the margin shows that it adds to 1, give or take rounding. In a real
# sentence a heavy cell might say: the pronoun of this row has just looked up the name of that column.

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
# STUB: my_range = [..., ...]  # the lowest and the highest possible
my_range = [float(me.V[:, 0].min()), float(me.V[:, 0].max())]
# END SOLUTION

check(my_range=my_range)

# %%
# BEGIN SOLUTION
# STUB: hand_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
hand_output = np.round(np.array(hand_weights) @ me.V, 2).tolist()
# END SOLUTION

check(hand_output=hand_output)

# %% [markdown]
# Your values have two coordinates, so they are points on a sheet of paper, and so are the outputs. Each output lies
# *among* the values, close to those that its query weighs most.

# %%
if check(hand_output=hand_output).passed:
    figure, axes = plt.subplots(figsize=(4.5, 4))
    axes.plot(*me.V.T, "s", markersize=10, label="values")
    axes.plot(*np.transpose(hand_output), "o", label="outputs")
    for number, (x, y) in enumerate(me.V, start=1):
        _ = axes.annotate(f"value {number}", (x, y), (8, 4), textcoords="offset points")
    axes.margins(0.2)
    _ = axes.legend()
else:
    print("The picture appears once the table is right.")

# %% [markdown]
# **Predict, then look.** With 3 `keys` the values form a triangle. Which of the controls can get the output out of it:
# `angle of q`, `length of q` or `mix keys instead`? Write your guess in place of the dots, then choose 3 `keys`, move
# each as far as it goes, and watch the output.

# %%
# BEGIN SOLUTION
# STUB: explore.mixing(predict=...)  # the name of a control in quotes, or several in brackets: ["...", "..."]
explore.mixing(predict="mix keys instead")
# END SOLUTION

# %% [markdown]
# That was one head, complete. From here on NumPy does the arithmetic and you do the thinking.
#
# ## 5. Code: softmax
#
# Two things to know first. **One:** large scores. Lab 0 had the row $[2, 1, 0]$. **Guess** the softmax of
# $[1000, 999, 998]$.

# %%
# BEGIN SOLUTION
# STUB: my_large_row = [..., ..., ...]
my_large_row = [1, 0, 0]
# END SOLUTION

check(my_large_row=my_large_row)

# %% [markdown]
# And what does NumPy make of it, if one just writes down the formula?

# %%
with np.errstate(over="ignore", invalid="ignore"):
    power = np.exp(1000.0)
    print("e to the 1000:                    ", power)
    print("one infinity divided by another:  ", power / power)

# %% [markdown]
# Add a constant $c$ to a whole row of scores, and every power gets the same factor $e^c$, above and below the
# fraction bar. It cancels: **shifting a row changes nothing**. Software uses this freedom: it subtracts the largest
# score of the row first. Then the largest exponent is 0, and nothing can overflow.
#
# **Two:** how a column of row totals keeps its place. `axis=-1` walks along each row, over the keys. **Guess:** of a
# table with 2 rows and 3 columns, which shape do the row totals `table.sum(axis=-1)` have?

# %%
# BEGIN SOLUTION
# STUB: my_totals_shape = [...]  # one number or several, as in [2, 3]
my_totals_shape = [2, 1]
# END SOLUTION

check(my_totals_shape=my_totals_shape)

# %%
table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

print("axis=-1:               ", table.sum(axis=-1).shape, table.sum(axis=-1))
print("axis=-1, keepdims=True:", table.sum(axis=-1, keepdims=True).shape)
print(table.sum(axis=-1, keepdims=True))

# %% [markdown]
# Without `keepdims` the totals lie down as a row, and NumPy lines them up under the *columns*. For a square table it
# does so without a word, and then each entry meets the wrong total.
#
# Your turn. Three steps: shift, exponentiate, normalise.


# %%
def softmax(scores):
    """Turn each row of scores into weights.

    Parameters
    ----------
    scores : array (n_q, n_k)
        A row for each query, a column for each key. Some may be large: think of the shift.

    Returns
    -------
    array (n_q, n_k)
        Entries between 0 and 1; each row adds to 1. ``scores`` itself is left as it was.
    """
    # BEGIN SOLUTION
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-1, keepdims=True)
    # END SOLUTION


check(softmax)

# %% [markdown]
# **Your function at work.** Move `add to row 1` to 1000, then to −1000. Do the weights of row 1 stay as they are, and
# which line of yours sees to that?

# %%
explore.softmax(softmax)

# %% [markdown]
# ## 6. What large $d_k$ does
#
# In lab 0 you worked out how far raw scores and scores spread, from the variance of a sum. Do you remember your numbers
# for $d_k = 4$, 64 and 1024? Here is the measurement: for each width 500 random queries, each with 8 random keys, all
# coordinates with mean 0 and variance 1.

# %%
rng = np.random.default_rng(3)
raw_by_width = {}
for width in (4, 64, 1024):
    queries = rng.normal(size=(500, 1, width))
    keys = rng.normal(size=(500, 8, width))
    raw_by_width[width] = (queries * keys).sum(axis=-1)  # (500, 8): 8 for each query
    raw, scaled = raw_by_width[width].std(), raw_by_width[width].std() / width**0.5
    print(f"d_k = {width:4}: standard deviation of raw scores {raw:4.1f}, of scores {scaled:.1f}")

# %% [markdown]
# Now let each query share out its weight among its 8 keys. Fair shares would be $1/8$, about 0.13 each. **Guess:** at
# $d_k = 1024$ and *without* scaling, how large is the largest weight of a query, on average?

# %%
# BEGIN SOLUTION
# STUB: my_largest_weight = ...  # between 0.13 and 1
my_largest_weight = 0.7
# END SOLUTION

# %%
if my_largest_weight is ...:
    print("Guess first, in the cell above.")
elif check(softmax).passed:
    print(f"Your guess, unscaled, at d_k = 1024: {my_largest_weight}")
    for width, raw in raw_by_width.items():
        unscaled = softmax(raw).max(axis=-1).mean()
        scaled = softmax(raw / width**0.5).max(axis=-1).mean()
        print(f"d_k = {width:4}: largest weight, unscaled {unscaled:.2f}, scaled {scaled:.2f}")
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
# ## 8. Code: attention, in four stages
#
# Before the whole thing, three special cases. In each of them one step does nothing, so you can say what comes out and
# write it in a line or two; don't let them call the `attention` of stage 4. All of them take oblong tables, too.
#
# **Stage 1: a single key.** Whatever a query's score for it, what is the softmax of *one* number? Which of the three
# matrices decides the output, then?


# %%
def attention_one_key(Q, K, V):
    """Attention where there is only one key.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (1, d_k)
    V : array (1, d_v)

    Returns
    -------
    array (n_q, d_v)
        One output for each query.
    """
    # BEGIN SOLUTION
    weights = np.ones((len(Q), 1))
    return weights @ V
    # END SOLUTION


check(attention_one_key)

# %% [markdown]
# **Stage 2: all keys are equal.** So are the scores in each row. How does a query share out its weight?


# %%
def attention_equal_keys(Q, K, V):
    """Attention where all rows of K are the same.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)

    Returns
    -------
    array (n_q, d_v)
    """
    # BEGIN SOLUTION
    weights = np.full((len(Q), len(K)), 1 / len(K))
    return weights @ V
    # END SOLUTION


check(attention_equal_keys)

# %% [markdown]
# **Stage 3: the values are the identity.** $V = I$, so the mix leaves the weights as they are, and it is all about your
# two functions.


# %%
def attention_identity_values(Q, K):
    """Attention where V is the identity, with a row for each key.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)

    Returns
    -------
    array (n_q, n_k)
    """
    # BEGIN SOLUTION
    return softmax(attention_scores(Q, K))
    # END SOLUTION


check(attention_identity_values)

# %% [markdown]
# **Stage 4: all of it.** Any keys, any values.


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
    weights = softmax(attention_scores(Q, K))
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
# ## 9. A question
#
# The most frequent mistake in this lab is to multiply the weights by $K$ instead of $V$. With your own numbers, how
# would you notice it? And in a model where $d_k = d_v$?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# With $K$ 4 × 3 and $V$ 4 × 2 the output would have three columns instead of two: the shape gives it away. With
# $d_k = d_v$ the shape is right and NumPy is content. The outputs then lie among the keys instead of among the
# values, which one sees only by checking: for instance, is each coordinate between the smallest and the largest
# *value*?
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
# **Another round?** Below the cell with your name, run `me = fresh_numbers()`: new
# numbers, same tables. (Take both out again before you hand in, or fill in the tables anew.)
#
# **Next:** `02_causal_mask`, where a token may no longer look ahead.
