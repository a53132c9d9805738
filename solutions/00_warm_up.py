# %% [markdown]
# # Lab 0 · Warm-up: two tokens on paper
#
# **About 40 minutes, with pencil and paper.**
#
# By the end you can turn a row of scores into weights and mix values with them, and you can say what the division by
# $\sqrt{d_k}$ is for. Lab 1 does the same with four tokens, so get it right here, while it is small.

# %% [markdown]
# **How these labs work.**
#
# - Replace the dots (`...`), then run the cell (Shift and Enter): its last line checks what you wrote, as often as you
#   like.
# - Two decimals are enough. Use Python as a pocket calculator if you want to: `np.exp(1.5)`, `np.sqrt(2)`.
# - A **guess** earns no points, and you are told what is the case as soon as you have guessed. It is how one notices
#   what one didn't know.
# - Stuck? Run `hint()` in a new cell. Run it again for the place in the notes to read.
# - Some pictures have controls. Move them with the mouse; or run their cell with Ctrl and Enter, and go on with Tab,
#   the arrow keys and Space.
# - The text counts from 1 ("query 2"), Python counts from 0 (`row[1]`).
# - Come back later, or restarted the kernel? What you wrote is still there, but Python has forgotten it: run all cells
#   from the top (Run, then Run All Cells). If that stops at a cell of yours that isn't finished, click on the next one
#   and choose Run Selected Cell and All Below.

# %%
from math import exp, sqrt

import numpy as np

from labkit import check, explore, heatmap, hint, progress

# %% [markdown]
# ## The whole recipe, once
#
# Every token of a sequence plays three parts. It asks (its **query**), it can be found (its **key**), and it has
# something to hand over (its **value**). The output for a token is a weighted sum of values, and the weights come
# from comparing its query with the keys. In steps:
#
# | step | you get | how |
# |---|---|---|
# | 1. compare | **raw scores** | the query's dot product with each key, $QK^\top$ |
# | 2. scale | **scores** | divide the raw scores by $\sqrt{d_k}$, where $d_k$ is the width of queries and keys |
# | 3. mask | **masked scores** | only where something must not be seen: lab 2 |
# | 4. softmax | **weights** | turn each row into positive numbers that add to 1 |
# | 5. mix | **output** | add up the values, each times its weight |
#
# In all tables **rows are queries and columns are keys**. One of the course notes writes $S$ for the raw scores, the
# other for the scaled ones. To keep the two apart, these labs use the words in the middle column.
#
# Why go to such lengths? A recurrent network hands information from token to token, and far-apart words lose touch.
# Here any two tokens meet in a single layer, and all rows can be calculated at the same time.

# %% [markdown]
# ## 1. Softmax of one row
#
# Raise $e$ to each score, then divide by the total of the row:
#
# $$w_j = \frac{e^{s_j}}{\sum_m e^{s_m}}$$
#
# Take the scores $[2, 1, 0]$. The first score is one more than the second. **Guess:** how many times as large will
# the first weight be?

# %%
# BEGIN SOLUTION
# STUB: my_ratio = ...  # a number
my_ratio = 2
# END SOLUTION

check(my_ratio=my_ratio)

# %% [markdown]
# Now calculate all three.

# %%
# BEGIN SOLUTION
# STUB: one_row_weights = [..., ..., ...]
one_row_weights = [0.67, 0.24, 0.09]  # e^2 = 7.39, e^1 = 2.72, e^0 = 1, in all 11.11
# END SOLUTION

check(one_row_weights=one_row_weights)

# %% [markdown]
# Each step up by 1 makes a weight about 2.72 times as large, and no weight, however low its score, is pushed all
# the way to 0.

# %% [markdown]
# ## 2. The 2 × 2 of the notes
#
# Two tokens, $d_k = 2$, and the raw scores are given:
#
# $$QK^\top = \begin{bmatrix} 2 & 0 \\ 0 & 2 \end{bmatrix}$$
#
# **Scale** them.

# %%
# BEGIN SOLUTION
# STUB: notes_scores = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
notes_scores = [
    [1.41, 0.00],
    [0.00, 1.41],
]
# END SOLUTION

check(notes_scores=notes_scores)

# %% [markdown]
# **Softmax**, one row at a time: each query shares out 1 among the keys.

# %%
# BEGIN SOLUTION
# STUB: notes_weights = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
notes_weights = [
    [0.80, 0.20],
    [0.20, 0.80],
]
# END SOLUTION

check(notes_weights=notes_weights)

# %% [markdown]
# Here is your table as a picture: the query of the row *asks*, the key of the column *is asked*, and the margin shows
# what each row adds to.

# %%
heatmap(notes_weights)

# %% [markdown]
# **Mix.** Let the values be the identity: $V = I$, so the value of token 1 is $[1, 0]$ and the value of token 2 is
# $[0, 1]$. Row $i$ of the output is the sum of all values, each times its weight in row $i$. Can you write the output
# down without calculating anything?

# %%
# BEGIN SOLUTION
# STUB: notes_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
notes_output = [
    [0.80, 0.20],  # times the identity: nothing changes
    [0.20, 0.80],
]
# END SOLUTION

check(notes_output=notes_output)

# %% [markdown]
# Read a row of it as percentages: so much is the token's own value, so much the other token's.

# %% [markdown]
# ## 3. What if nobody divides?
#
# Take row 1 again, but leave out the division by $\sqrt 2$: softmax of $[2, 0]$. **Guess:** is the larger weight now
# larger or smaller than before?

# %%
# BEGIN SOLUTION
# STUB: my_direction = ...  # "larger" or "smaller"
my_direction = "larger"
# END SOLUTION

check(my_direction=my_direction)

# %%
# BEGIN SOLUTION
# STUB: notes_unscaled_row = [..., ...]
notes_unscaled_row = [0.88, 0.12]  # e^2 = 7.39, e^0 = 1
# END SOLUTION

check(notes_unscaled_row=notes_unscaled_row)

# %% [markdown]
# ## 4. A twin that can tell rows from columns
#
# The 2 × 2 above has a weak spot: it is symmetric. Whoever takes the softmax down the columns, or mixes up rows and
# columns, gets the same numbers and never notices. So here is a twin, with $d_k = 2$ again:
#
# $$QK^\top = \begin{bmatrix} 2 & 0 \\ 3 & 2 \end{bmatrix}, \qquad V = \begin{bmatrix} 10 & 0 \\ 0 & 10 \end{bmatrix}$$
#
# All three steps are yours: scale, softmax, mix.

# %%
# BEGIN SOLUTION
# STUB: twin_scores = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
twin_scores = [
    [1.41, 0.00],
    [2.12, 1.41],
]
# END SOLUTION

check(twin_scores=twin_scores)

# %%
# BEGIN SOLUTION
# STUB: twin_weights = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
twin_weights = [
    [0.80, 0.20],
    [0.67, 0.33],  # e^2.12 = 8.33, e^1.41 = 4.10
]
# END SOLUTION

check(twin_weights=twin_weights)

# %%
# BEGIN SOLUTION
# STUB: twin_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
twin_output = [
    [8.04, 1.96],
    [6.70, 3.30],
]
# END SOLUTION

check(twin_output=twin_output)

# %% [markdown]
# Suppose someone shows you this table of weights for the same raw scores. Look at the margin. At which step did it go
# wrong?

# %%
heatmap([[0.33, 0.20], [0.67, 0.80]])

# %%
# BEGIN SOLUTION
# STUB: my_step = ...  # "scale", "softmax" or "mix"
my_step = "softmax"
# END SOLUTION

check(my_step=my_step)

# %% [markdown]
# The picture looks reasonable, nothing raises an error, and every output is wrong. **Softmax over the keys, along each
# row**, is the rule; adding up the rows is the test.

# %% [markdown]
# ## 5. One query, two keys, in Python
#
# Lesson 05 has one query $[1, 0]$, the keys $[1, 0]$ and $[0, 1]$, and the values $[10, 0]$ and $[0, 10]$. This time
# the raw scores aren't given: take the two dot products first. **Predict** weights and output on paper, and only then
# run the script further down.

# %%
# BEGIN SOLUTION
# STUB: lesson_weights = [..., ...]
lesson_weights = [0.67, 0.33]  # raw scores 1 and 0, scores 0.71 and 0
# END SOLUTION

check(lesson_weights=lesson_weights)

# %%
# BEGIN SOLUTION
# STUB: lesson_output = [..., ...]
lesson_output = [6.70, 3.30]
# END SOLUTION

check(lesson_output=lesson_output)

# %% [markdown]
# Lesson 05 ends with a task: turn the query to $[0, 1]$. What does it find now? Predict the **output**.

# %%
# BEGIN SOLUTION
# STUB: turned_query_output = [..., ...]
turned_query_output = [3.30, 6.70]  # now the second key is the one that fits
# END SOLUTION

check(turned_query_output=turned_query_output)

# %% [markdown]
# Here is the lesson's calculation in plain Python, one line for each step. Run it as it is, compare with your
# prediction, then change the first line to the turned query and run it again.

# %%
query = [1.0, 0.0]
keys = [[1.0, 0.0], [0.0, 1.0]]
values = [[10.0, 0.0], [0.0, 10.0]]

raw_scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
scores = [raw / sqrt(len(query)) for raw in raw_scores]
powers = [exp(score) for score in scores]
weights = [power / sum(powers) for power in powers]
output = [sum(w * value[c] for w, value in zip(weights, values, strict=True)) for c in (0, 1)]

# Nothing is printed before you have predicted: that would spoil it.
first = check(lesson_output=lesson_output)
turned = check(turned_query_output=turned_query_output)
if "unattempted" in (first.status, turned.status):
    print("Predict both outputs first.")
else:
    print("weights:", [round(w, 3) for w in weights])
    print("output: ", [round(o, 3) for o in output])

# %% [markdown]
# The key that points the way the query points gets the larger weight, but the other one is still heard: the output
# lies between the two values, nearer to one of them.

# %% [markdown]
# **Predict, then look.** Let the query turn all the way round, always of length 1. How large can the first coordinate
# of the output get? Put your number in place of the dots, then move `angle of q` and watch the output.

# %%
# BEGIN SOLUTION
# STUB: explore.mixing(predict=...)  # the largest first coordinate
explore.mixing(predict=10)
# END SOLUTION

# %% [markdown]
# When you have found it: at which angle is that, and why not at 0°, where the query points straight at key 1? Think of
# the *difference* of the two scores.

# %% [markdown]
# ## 6. Equal keys
#
# A query meets three keys; the first two are equal. So are their scores then: $[1, 1, 0]$, already scaled. What are
# the weights?

# %%
# BEGIN SOLUTION
# STUB: equal_keys_weights = [..., ..., ...]
equal_keys_weights = [0.42, 0.42, 0.16]  # e, e and 1, in all 6.44
# END SOLUTION

check(equal_keys_weights=equal_keys_weights)

# %% [markdown]
# Nothing has to be decided between the two: equal scores in a row mean equal weights, by definition. It holds within
# one row, that is, for one and the same query.

# %% [markdown]
# ## 7. Why the root?
#
# Suppose all coordinates of a query and a key are independent random numbers with mean 0 and variance 1.
#
# - One product $q_c k_c$ then has mean 0 and variance 1.
# - The dot product adds up $d_k$ such products: the mean stays 0, and variances of independent numbers add up.
#
# So which **standard deviation** does the raw score have when $d_k$ is 4, 64 and 1024? And which does the score have,
# after the division by $\sqrt{d_k}$? (The standard deviation is the root of the variance.)

# %%
# BEGIN SOLUTION
# STUB: raw_score_spread = [..., ..., ...]  # for d_k = 4, 64, 1024
raw_score_spread = [2, 8, 32]
# END SOLUTION

check(raw_score_spread=raw_score_spread)

# %%
# BEGIN SOLUTION
# STUB: scaled_score_spread = [..., ..., ...]  # for d_k = 4, 64, 1024
scaled_score_spread = [1, 1, 1]
# END SOLUTION

check(scaled_score_spread=scaled_score_spread)

# %% [markdown]
# Real, learned vectors need not be independent or have variance 1. The division keeps *typical* scores moderate; it
# promises no bounds. Lab 1 measures all this with random numbers.

# %% [markdown]
# **A question.** Two students change the formula. One leaves the division out, the other divides by $d_k$ itself
# instead of its root. At $d_k = 1024$, what happens to the standard deviation of the scores in each case, and what
# does that do to the weights?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# Without the division the scores have a standard deviation of 32. Differences of that size make softmax put
# practically everything on one key: nothing is mixed any more.
#
# Divided by 1024 the standard deviation is 32 / 1024, about 0.03. Now all scores are nearly equal, so all keys get
# nearly the same weight, and the output is close to a plain average, whatever the query asks.
# <!-- END SOLUTION -->

# %% [markdown]
# **Predict, then look.** Which will look much the same at every $d_k$: no scale, ÷ d_k or ÷ √d_k? Write it in place of
# the dots, then move `d_k` from 1 to 1024 and compare the three with your answer above.

# %%
# BEGIN SOLUTION
# STUB: explore.scaling(predict=...)  # the one that hardly changes, in quotes and in any words
explore.scaling(predict="÷ √d_k")
# END SOLUTION

# %% [markdown]
# ## 8. Start to finish
#
# Two tokens with $Q = K = V = I$, the 2 × 2 identity, and no mask. Write down the weights, then the output. (Mind the
# difference from section 2: which raw scores do you have here?)

# %%
# BEGIN SOLUTION
# STUB: identity_weights = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
identity_weights = [
    [0.67, 0.33],  # raw scores 1 and 0, scores 0.71 and 0
    [0.33, 0.67],
]
# END SOLUTION

check(identity_weights=identity_weights)

# %%
# BEGIN SOLUTION
# STUB: identity_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
identity_output = [
    [0.67, 0.33],
    [0.33, 0.67],
]
# END SOLUTION

check(identity_output=identity_output)

# %% [markdown]
# ## 9. Gained or lost?
#
# Softmax the row $[0, 2]$ as it stands. Then softmax $[0, 2] / \sqrt 2$. Did the larger entry gain weight through the
# scaling, or lose some?

# %%
# BEGIN SOLUTION
# STUB: row_0_2_weights = [..., ...]
row_0_2_weights = [0.12, 0.88]
# END SOLUTION

check(row_0_2_weights=row_0_2_weights)

# %%
# BEGIN SOLUTION
# STUB: scaled_row_0_2_weights = [..., ...]
scaled_row_0_2_weights = [0.20, 0.80]
# END SOLUTION

check(scaled_row_0_2_weights=scaled_row_0_2_weights)

# %%
# BEGIN SOLUTION
# STUB: larger_entry = ...  # "gained" or "lost"
larger_entry = "lost"
# END SOLUTION

check(larger_entry=larger_entry)

# %%
progress()

# %% [markdown]
# ## To remember
#
# - Compare, scale, (mask,) softmax, mix. Rows are queries, columns are keys, and every row of weights adds to 1.
# - The notes' row was $[0.80, 0.20]$ with the division by $\sqrt 2$ and $[0.88, 0.12]$ without: dividing keeps
#   softmax mixing.
# - Raw scores spread like $\sqrt{d_k}$. Where $d_k$ is large, not dividing makes rows one-hot, and dividing by $d_k$
#   makes them flat.
# - Equal scores share equally.
#
# If you would like to see it move: 3Blue1Brown, *Attention in transformers, visually explained*, about minutes 4
# to 16. Pause where queries and keys meet in a grid of dots. You will draw that grid yourself next.
#
# **Next:** `01_one_head`, the same steps for four tokens with numbers of your own, first by hand, then in NumPy.
