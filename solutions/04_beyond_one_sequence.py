# %% [markdown]
# # Lab 4 · Beyond one sequence
#
# **About 70 minutes. Do lab 3 first, and bring your `attention` along once more.**
#
# By the end you can let one sequence attend to another, say what becomes of the outputs when tokens are reordered and
# what a longer text costs, show with numbers why weights are no explanation, and name a bug from the picture that it
# leaves.
#
# Reminder: rows are queries, columns are keys. The text counts from 1 ("key 3"), Python from 0 (`keys[2]`). Put your
# own name between the quotes below. Sections 2 to 5 need no more than section 1, so take a break where you like.

# %%
import numpy as np

from labkit import check, explore, heatmap, hint, progress, student

me = student("ada")

# %% [markdown]
# ## 1. Two sequences
#
# Everything so far was **self-attention**: one sequence $X$ asked, was asked, and handed over. In **cross-attention**
# two sequences meet. A model that writes a caption asks the picture; a model that translates asks the foreign sentence.
# The formula stays the same. All that changes is which sequence the three matrices are made from:
#
# - `X`, the one that *asks*: here three words of a caption, each a row of 6 numbers;
# - `X_kv`, the one that is *asked*: here five patches of a picture, each a row of 6 numbers, too.
#
# Practice question 6 of the notes: which matrices come from which sequence? Write 1 for `X` and 2 for `X_kv`.

# %%
# BEGIN SOLUTION
# STUB: cross_sources = [..., ..., ...]  # for Q, K and V: 1 or 2
cross_sources = [1, 2, 2]  # the words ask; the patches are found, and hand over what they hold
# END SOLUTION

check(cross_sources=cross_sources)

# %% [markdown]
# Now the sizes, which differ wherever they can: $X$ is 3 × 6, $X_{kv}$ is 5 × 6, $W_Q$ and $W_K$ are 6 × 4, and $W_V$
# is 6 × 2. Write down rows and columns of everything that comes up on the way.

# %%
# BEGIN SOLUTION
# STUB: cross_shapes = [
# STUB:     [..., ...],  # Q
# STUB:     [..., ...],  # K
# STUB:     [..., ...],  # V
# STUB:     [..., ...],  # weights
# STUB:     [..., ...],  # output
# STUB: ]
cross_shapes = [
    [3, 4],
    [5, 4],
    [5, 2],
    [3, 5],
    [3, 2],
]
# END SOLUTION

check(cross_shapes=cross_shapes)

# %% [markdown]
# One output row for each word, none for the patches: who asks gets an answer. Each is a mix of *patch* values; the
# words' own contents come in through the queries alone.
#
# ### Code: cross-attention
#
# First your `attention` from lab 2 or 3: the notebook has to stand alone, so take along what it calls.


# %%
def attention(Q, K, V, mask=None):
    """Scaled dot-product attention with an optional mask, as in lab 2.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)
    mask : bool array (n_q, n_k), optional
        True where a query may attend to a key. A query without any key is a ValueError.

    Returns
    -------
    array (n_q, d_v)
    """
    # BEGIN SOLUTION
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    if mask is not None:
        if not mask.any(axis=-1).all():
            raise ValueError("a query has no allowed key")
        scores = np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ V
    # END SOLUTION


check(attention)

# %% [markdown]
# Now project, then attend. One head and no mask. Two short lines will do.


# %%
def cross_attention(X, X_kv, W_Q, W_K, W_V):
    """Attention from one sequence to another, one head.

    Parameters
    ----------
    X : array (n_q, d_model)
        The sequence that asks.
    X_kv : array (n_k, d_model)
        The sequence that is asked.
    W_Q, W_K : array (d_model, d_k)
    W_V : array (d_model, d_v)

    Returns
    -------
    array (n_q, d_v)
        A row for each token of X, mixed from values of X_kv.
    """
    # BEGIN SOLUTION
    Q, K, V = X @ W_Q, X_kv @ W_K, X_kv @ W_V
    return attention(Q, K, V)
    # END SOLUTION


check(cross_attention)

# %% [markdown]
# **Tests whose answers one knows.** It pays to try a function where no calculation is needed to know what must come
# out. Three such inputs:
#
# 1. the picture has a single patch;
# 2. the picture is the same patch five times over;
# 3. $W_K$ holds nothing but zeros.
#
# **Guess:** in two of the three every output is the value of one patch. Which is the odd one, and what comes out there?

# %%
# BEGIN SOLUTION
# STUB: my_odd_test = ...  # 1, 2 or 3
my_odd_test = 3
# END SOLUTION

check(my_odd_test=my_odd_test)

# %%
words = np.array([[1, 0, 2, 0, 1, 0], [0, 2, 0, 1, 0, 1], [1, 1, 0, 0, 2, 0]])
patches = np.array(
    [
        [2, 0, 1, 0, 0, 1],
        [0, 1, 0, 2, 1, 0],
        [1, 2, 0, 0, 0, 1],
        [0, 0, 1, 1, 2, 0],
        [1, 0, 0, 1, 0, 2],
    ]
)
W_Q = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]])
W_K = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]])
W_V = np.array([[3, 0], [0, 3], [1, 1], [2, 0], [0, 2], [1, 0]])

if check(cross_attention).passed:
    one, five = patches[:1], np.repeat(patches[:1], 5, axis=0)
    print("value of patch 1  ", (one @ W_V).tolist())
    print("1. one patch      ", cross_attention(words, one, W_Q, W_K, W_V).round(2).tolist())
    print("2. five times that", cross_attention(words, five, W_Q, W_K, W_V).round(2).tolist())
    print("mean of all values", (patches @ W_V).mean(axis=0).round(2).tolist())
    print("3. zeros in W_K   ", cross_attention(words, patches, W_Q, 0 * W_K, W_V).round(2).tolist())
else:
    print("These tests need your cross_attention.")

# %% [markdown]
# And the table of weights, read off with the trick of lab 3: with the identity as values, the output *is* the weights.
# It isn't square any more, and its diagonal means nothing: word 2 and patch 2 have no more in common than any others.


# %%
def words_and_patches():
    """Draw which word looks at which patch."""
    table = attention(words @ W_Q, patches @ W_K, np.eye(5))
    return heatmap(table, queries=["a", "red", "bus"], keys=["road", "sign", "sky", "bus", "tree"])


words_and_patches() if check(attention).passed else print("The picture needs your attention.")

# %% [markdown]
# **Guess:** the caption is written word by word, so its *self*-attention is causal: word 1 must not look at word 2.
# May word 1 look at patch 5?

# %%
# BEGIN SOLUTION
# STUB: my_last_patch = ...  # "yes" or "no"
my_last_patch = "yes"
# END SOLUTION

check(my_last_patch=my_last_patch)

# %% [markdown]
# ## 2. Order
#
# Nothing in $\operatorname{softmax}(QK^\top/\sqrt{d_k})V$ says *where* a token stands. So what happens when tokens are
# reordered?
#
# **Predict, then look.** A B C D become B A C D, without a mask. Does B keep its output, get A's, or get a new one?
# Then try other orders, and finally tick `causal`.

# %%
# BEGIN SOLUTION
# STUB: explore.permuting(predict=...)  # "keeps its own", "gets A's" or "new"
explore.permuting(predict="keeps its own")
# END SOLUTION

# %% [markdown]
# There are two words for what a function does when its input is reordered:
#
# - it is **equivariant** when the output is reordered in the same way: each token takes its output along;
# - it is **invariant** when the output stays exactly what it was, row by row.
#
# *(Permutation-equivariant and permutation-invariant, in full.)* Which of them, or `"neither"`, is it in these three
# cases? First self-attention without a mask, as you have just seen it.

# %%
# BEGIN SOLUTION
# STUB: order_of_tokens = ...  # "equivariant", "invariant" or "neither"
order_of_tokens = "equivariant"
# END SOLUTION

check(order_of_tokens=order_of_tokens)

# %% [markdown]
# Second, **cross-attention**: the words stay as they are, and only the five patches are reordered. Think of one word's
# output: what is it a sum of?

# %%
# BEGIN SOLUTION
# STUB: order_of_source = ...  # in quotes
order_of_source = "invariant"  # a sum over the patches doesn't care in which order they come
# END SOLUTION

check(order_of_source=order_of_source)

# %% [markdown]
# Third, self-attention under a **causal mask**, all tokens reordered.

# %%
# BEGIN SOLUTION
# STUB: order_under_mask = ...  # in quotes
order_under_mask = "neither"  # the mask goes by places: who comes first sees only itself, whoever it is
# END SOLUTION

check(order_under_mask=order_under_mask)

# %% [markdown]
# Your own functions can confirm it: once with your own tokens, once with the words and patches of section 1.

# %%
order = [2, 0, 3, 1]  # token 3 first, then 1, 4 and 2
places = [4, 2, 0, 3, 1]  # the same for five patches
earlier = np.tri(4, dtype=bool)


def effect(before, after, order):
    """Say what reordering did to the rows of an output."""
    followed, stayed = np.allclose(after, before[order]), np.allclose(after, before)
    return f"outputs follow their tokens: {followed!s:5}  stay as they were: {stayed}"


if check(attention).passed and check(cross_attention).passed:
    mine, moved = (me.Q, me.K, me.V), (me.Q[order], me.K[order], me.V[order])
    across = cross_attention(words, patches, W_Q, W_K, W_V)
    shuffled = cross_attention(words, patches[places], W_Q, W_K, W_V)
    print("tokens, no mask:    ", effect(attention(*mine), attention(*moved), order))
    print("patches:            ", effect(across, shuffled, [1, 2, 0]))
    print("tokens, causal mask:", effect(attention(*mine, earlier), attention(*moved, earlier), order))
else:
    print("This experiment needs your attention and your cross_attention.")

# %% [markdown]
# A word's output is a *sum* over the patches, each value with its own weight, and a sum doesn't care about order. A
# causal mask, on the other hand, goes by places: whoever comes first sees only itself.

# %% [markdown]
# **A question.** Take "dog bites man" and "man bites dog", each word always with the same row in $X$, and one layer of
# self-attention without a mask. What is the difference between what the layer gives for "bites" in the first sentence
# and in the second? What has to be added so that a model can tell the two apart?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# There is none. The second sentence is the first one reordered, so each word has the same output in both: to attention
# a sentence is a set of words. The position has to be put into the tokens themselves, so that "dog" in place 1 is
# another row of $X$ than "dog" in place 3. (Note 3.3 does that. A causal mask brings in some order, too, since the
# first word sees less than the last one.)
# <!-- END SOLUTION -->

# %% [markdown]
# ## 3. Cost
#
# Any two tokens meet in a single layer. The price: one score for each pair. Lesson 05's third task: how many entries
# has the table of weights for 100 tokens, and how many for 200? (One head, no mask.)

# %%
# BEGIN SOLUTION
# STUB: score_entries = [..., ...]  # for 100 and for 200 tokens
score_entries = [10_000, 40_000]
# END SOLUTION

check(score_entries=score_entries)

# %% [markdown]
# And when 100 words ask 200 patches?

# %%
# BEGIN SOLUTION
# STUB: cross_entries = ...
cross_entries = 20_000
# END SOLUTION

check(cross_entries=cross_entries)

# %% [markdown]
# **Predict, then look.** How many times as many entries do 2000 tokens take as 200? Write the number, then move `T`.

# %%
# BEGIN SOLUTION
# STUB: explore.cost(predict=...)  # a number
explore.cost(predict=100)
# END SOLUTION

# %% [markdown]
# Ten times the tokens, a hundred times the entries. And each head of each layer has a table of its own. **Guess:** how
# many entries are that for 100 tokens in a small model with 12 layers of 8 heads?

# %%
# BEGIN SOLUTION
# STUB: my_entries_in_all = ...
my_entries_in_all = 12 * 8 * 100**2
# END SOLUTION

check(my_entries_in_all=my_entries_in_all)

# %% [markdown]
# ## 4. Weights are not an explanation
#
# A heavy cell invites a story: "the model decided so *because of* this word". A weight says much less: how much one
# value counts in one sum, for one query, in one head of one layer. Three experiments, all small enough for paper.
#
# **One: other weights, same output.** A query has the weights $[0.3, 0.5, 0.2]$, and the values are
#
# $$\mathbf v_1 = (0, 6), \qquad \mathbf v_2 = (8, 2), \qquad \mathbf v_3 = (4, 4).$$
#
# What is the output?

# %%
# BEGIN SOLUTION
# STUB: halfway_output = [..., ...]
halfway_output = [4.8, 3.6]
# END SOLUTION

check(halfway_output=halfway_output)

# %% [markdown]
# "Token 2 above all, and token 3 hardly matters", the story would go. Now find other weights, in which token 1 has
# **none** and the output is the same. (Weights are never negative, and they add to 1.)

# %%
# BEGIN SOLUTION
# STUB: other_weights = [..., ..., ...]  # 0 for token 1
other_weights = [0, 0.2, 0.8]
# END SOLUTION

check(other_weights=other_weights)

# %% [markdown]
# Now "token 3 did it". Nothing that comes after this head can tell the difference, since it gets the same numbers.
# Value 3 lies halfway between the other two: that is what makes room for both stories.
#
# Is that a rare accident? Your own head has four values in the plane, no two alike. **Guess:** is there another table
# of weights that gives exactly the same four outputs?

# %%
# BEGIN SOLUTION
# STUB: my_other_table = ...  # "yes" or "no"
my_other_table = "yes"
# END SOLUTION

check(my_other_table=my_other_table)

# %% [markdown]
# Here it is. Some change of the weights, the same for each query up to a factor, adds up to nothing: neither the
# totals nor the outputs notice it. The cell adds as much of it as leaves no weight below 0.

# %%
unnoticed = np.linalg.svd(np.column_stack([me.V, np.ones(4)]).T)[2][-1]
unnoticed *= np.sign(unnoticed[np.abs(unnoticed).argmax()])  # mixes the values to 0, and adds up to 0


def other_table(weights):
    """Change each row as far as its weights can stand without a change of the output."""
    less = unnoticed < 0
    steps = (weights[:, less] / -unnoticed[less]).min(axis=1)
    return weights + np.outer(steps, unnoticed)


ready = check(attention).passed
if ready:
    my_weights = attention(me.Q, me.K, np.eye(4))
    others = other_table(my_weights)
    print(f"weights differ by up to {np.abs(others - my_weights).max():.2f}")
    print(f"outputs differ by up to {np.abs(others @ me.V - my_weights @ me.V).max():.2f}")
else:
    print("This experiment needs your attention.")

# %%
heatmap(my_weights, title="your weights") if ready else print("This needs your attention.")

# %%
heatmap(others, title="others, same outputs") if ready else print("This needs your attention.")

# %% [markdown]
# It works as soon as there are two keys more than a value has coordinates. With hundreds of tokens that is the rule.

# %% [markdown]
# **Two: the heaviest token may be the one that matters least.** A query has the weights $[0.6, 0.3, 0.1]$, and the
# values are single numbers: 5, 2 and 14. The output is $0.6 \cdot 5 + 0.3 \cdot 2 + 0.1 \cdot 14 = 5$.
#
# To see how much a token matters, leave it out: hide its key, and see what becomes of the output. **Guess:** leaving
# out which token changes the output least?

# %%
# BEGIN SOLUTION
# STUB: my_least = ...  # 1, 2 or 3
my_least = 3
# END SOLUTION

check(my_least=my_least)

# %% [markdown]
# Work out all three. (Hidden before the softmax: the two weights that are left grow until they add to 1 again, and keep
# their ratio.)

# %%
# BEGIN SOLUTION
# STUB: removal_outputs = [
# STUB:     [...],  # without token 1
# STUB:     [...],  # without token 2
# STUB:     [...],  # without token 3
# STUB: ]
removal_outputs = [
    [5.00],  # 0.75 * 2 + 0.25 * 14
    [6.29],  # 6/7 * 5 + 1/7 * 14
    [4.00],  # 2/3 * 5 + 1/3 * 2
]
# END SOLUTION

check(removal_outputs=removal_outputs)

# %% [markdown]
# The token with 0.6 can go without anybody noticing; the one with 0.1 can't. A large weight on a value that says what
# the others say anyway does nothing. A small weight on an unusual value does much.
#
# **Three: a position is not a token.** Two layers, one after the other, three tokens. To follow what goes where, let
# every value be a label: the first layer's output says how much of which *input* is in it. The first layer gave
#
# | position | of input 1 | of input 2 | of input 3 |
# |---|---|---|---|
# | 1 | 1.0 | 0 | 0 |
# | 2 | 0.9 | 0.1 | 0 |
# | 3 | 0.2 | 0.3 | 0.5 |
#
# and these rows are the values of the second layer, in which token 3 has the weights $[0, 0.8, 0.2]$. How much of each
# *input* does token 3 get?

# %%
# BEGIN SOLUTION
# STUB: traced_shares = [..., ..., ...]
traced_shares = [0.76, 0.14, 0.10]  # 0.8 times row 2 plus 0.2 times row 3
# END SOLUTION

check(traced_shares=traced_shares)

# %% [markdown]
# The second layer gives position 1 no weight at all, and yet three quarters of what arrives comes from token 1: it had
# moved to position 2 already. From the second layer on, a weight is about a mixture, not about a word.

# %% [markdown]
# **A question.** "Our model rejected the application. The heatmap of its last layer shows most weight on the word
# *student*, so that was the reason." Give three objections. What would you do instead to find out whether the word
# mattered?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# 1. That is one head of one layer; other heads have other weights, and what comes after them counts, too.
# 2. In the last layer, the position of "student" holds a mixture of all words, not the word.
# 3. A weight doesn't say what the value was or what difference it made: other weights can give the same output, and
#    the heaviest token may be the one that could be left out.
#
# To find out, change the input and look at the *decision*: leave the word out or put another in its place. That tests
# what the story only claims.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 5. Find the bug
#
# A heatmap doesn't explain a model, but it does find bugs. Eleven functions have been run, and all you get is a picture
# of their weights: rows ask, columns are asked, and the margin shows what each row adds to. No code. What did the
# programmer do?
#
# Write one word from the list. A wrong word costs nothing: you are told what one would have to see if it were that.
#
# ### Three queries, five keys, no mask ($d_k = 4$)
#
# | word | what was done |
# |---|---|
# | `swapped` | the keys ask, and the queries are asked |
# | `unscaled` | the raw scores were not divided at all |
# | `d_k` | the raw scores were divided by $d_k$, not by its root |
# | `columns` | the softmax ran down each column |
# | `total` | all powers were divided by one grand total |
# | `sigmoid` | each score was squashed by itself, whatever its neighbours are |
# | `sign` | $e$ was raised to *minus* the score |
# | `winner` | the best key of each row got everything |
# | `twice` | the softmax was taken of the weights once more |
#
# What it should be stands beside. Untick it if you want it harder.

# %%
explore.bug(1)

# %%
# BEGIN SOLUTION
# STUB: bug_1 = ...  # a word from the list, in quotes
bug_1 = "columns"
# END SOLUTION

check(bug_1=bug_1)

# %%
explore.bug(2)

# %%
# BEGIN SOLUTION
# STUB: bug_2 = ...  # in quotes
bug_2 = "swapped"
# END SOLUTION

check(bug_2=bug_2)

# %%
explore.bug(3)

# %%
# BEGIN SOLUTION
# STUB: bug_3 = ...  # in quotes
bug_3 = "d_k"
# END SOLUTION

check(bug_3=bug_3)

# %%
explore.bug(4)

# %%
# BEGIN SOLUTION
# STUB: bug_4 = ...  # in quotes
bug_4 = "sigmoid"
# END SOLUTION

check(bug_4=bug_4)

# %%
explore.bug(5)

# %%
# BEGIN SOLUTION
# STUB: bug_5 = ...  # in quotes
bug_5 = "sign"
# END SOLUTION

check(bug_5=bug_5)

# %% [markdown]
# ### Four tokens, causal mask
#
# Hatched cells are hidden and should hold nothing. No right picture stands beside these: hatching and margin are
# enough. One of the functions is innocent.
#
# | word | what was done |
# |---|---|
# | `ignored` | the mask never reached the softmax |
# | `zero` | hidden scores were set to 0 |
# | `after` | hidden *weights* were wiped out, after the softmax |
# | `transposed` | rows and columns of the mask were exchanged |
# | `inverted` | the mask was turned into its opposite: what may be seen was hidden, and the rest shown |
# | `diagonal` | each token's own key was hidden as well |
# | `ahead` | each token may see one key further |
# | `columns` | the mask is right, but the softmax ran down each column |
# | `nothing` | all is well |

# %%
explore.bug(6)

# %%
# BEGIN SOLUTION
# STUB: bug_6 = ...  # in quotes
bug_6 = "after"
# END SOLUTION

check(bug_6=bug_6)

# %%
explore.bug(7)

# %%
# BEGIN SOLUTION
# STUB: bug_7 = ...  # in quotes
bug_7 = "zero"
# END SOLUTION

check(bug_7=bug_7)

# %%
explore.bug(8)

# %%
# BEGIN SOLUTION
# STUB: bug_8 = ...  # in quotes
bug_8 = "transposed"
# END SOLUTION

check(bug_8=bug_8)

# %%
explore.bug(9)

# %%
# BEGIN SOLUTION
# STUB: bug_9 = ...  # in quotes
bug_9 = "nothing"
# END SOLUTION

check(bug_9=bug_9)

# %%
explore.bug(10)

# %%
# BEGIN SOLUTION
# STUB: bug_10 = ...  # in quotes
bug_10 = "diagonal"
# END SOLUTION

check(bug_10=bug_10)

# %%
explore.bug(11)

# %%
# BEGIN SOLUTION
# STUB: bug_11 = ...  # in quotes
bug_11 = "ahead"
# END SOLUTION

check(bug_11=bug_11)

# %% [markdown]
# What you have used, in the order in which it pays to look: the **shape** (who asks whom), the **margin** (does each
# row add to 1), the **hidden cells** (do they hold nothing), then **who leads** in each row and by how much.

# %%
progress()

# %% [markdown]
# ## To remember
#
# - Cross-attention is the same formula: queries from one sequence, keys *and* values from the other. The table is
#   $n_q \times n_k$, and who asks gets the output.
# - Without positions and without a causal mask, self-attention is permutation-**equivariant**: outputs follow their
#   tokens. It isn't invariant; for that, reorder only those who are asked.
# - $n$ tokens, $n^2$ entries, for each head of each layer: 10 000 at 100 tokens, 40 000 at 200.
# - A weight says how much a value counts in one sum. It is no explanation: other weights may give the same output, the
#   heaviest token may be the one that can be left out, and deeper down positions hold mixtures.
# - As a debugging tool a heatmap is hard to beat: shape, margin, hidden cells, then who leads.
#
# **Next:** `05_long_sequences`, if you like: how to get by with less than all $n^2$ entries in memory, with exactly the
# same result. In the course, note 3.3 gives tokens their positions.
