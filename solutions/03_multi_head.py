# %% [markdown]
# # Lab 3 · Several heads
#
# **About 40 minutes. Do lab 2 first, and bring your `attention` along.**
#
# By the end you can project a sequence, split it into heads, let each head attend, put the pieces together again and
# project them back, and you can count the parameters of it all.
#
# Reminder: the text counts from 1 ("head 2"), Python from 0 (`heads[1]`). In this lab NumPy calculates; your part is
# to know what goes where. The variables are the exercises: `...` marks them.

# %%
import numpy as np

from labkit import check, explore, fresh_numbers, heatmap, hint, progress, student

# %% [markdown]
# ## Why several?
#
# One head gives each token *one* way of looking around. A word has to look for several things at once, its verb, a
# name, the last comma. So $h$ heads work side by side, each with projections of its own.
#
# | name | what | shape here |
# |---|---|---|
# | `X` | four tokens, one a row, width $d_{model} = 4$ | 4 × 4 |
# | `W_Q`, `W_K`, `W_V` | the projections of *all* heads, next to each other | 4 × 4 |
# | `n_heads` | $h = 2$, so each head has the width $d_k = d_v = d_{model} / h = 2$ | |
# | `W_O` | from the joined heads back to the model | 4 × 4 |

# %%
me = student("ada")
print("X")
print(me.X)
print("W_Q")
print(me.W_Q)

# %% [markdown]
# ## 1. Project
#
# First all queries of all heads in one go: every token's row of $X$ through $W_Q$.

# %%
# BEGIN SOLUTION
# STUB: projected_queries = ...  # (4, 4): token, column
projected_queries = me.X @ me.W_Q
# END SOLUTION

check(projected_queries=projected_queries)

# %% [markdown]
# ## 2. Split
#
# The columns of the **projected** matrix belong to the heads: columns 1 and 2 to head 1, columns 3 and 4 to head 2.
# All four tokens are in every head, each with a part of its columns.
#
# The notes give each head its own small $W_Q^{(r)}$. It is the same thing: the small matrices stand side by side in
# the large one. Let's see, with numbers that are easy to follow:

# %%
tokens = np.array([[1, 2], [3, 4], [5, 6]])  # three tokens, width 2
one, two = np.array([[1], [0]]), np.array([[1], [1]])  # a small projection for each head
both = np.hstack([one, two])  # the same two, side by side

print("head 1 and head 2, each with its own projection:")
print((tokens @ one).T, (tokens @ two).T)
print("columns of the large projection:")
print((tokens @ both).T)

# %% [markdown]
# A classic mistake is to cut $X$ *first* and project the pieces. **Guess** for the numbers above: head 2 is cut off
# from all but the second feature of each token, so only $[2, 4, 6]$ reaches it. Can it still work out its queries,
# $[3, 7, 11]$?

# %%
# BEGIN SOLUTION
# STUB: my_slice = ...  # "yes" or "no", and why
my_slice = "no: it needs the sum of both features, and the first is gone"
# END SOLUTION

check(my_slice=my_slice)

# %% [markdown]
# So: project the whole token, then cut. Stack the heads on a new first axis: head, token, column. Slices like
# `table[:, 2:4]` and `np.stack` are enough here.

# %%
# BEGIN SOLUTION
# STUB: split_queries = ...  # (2, 4, 2): head, token, column
split_queries = np.stack([projected_queries[:, 0:2], projected_queries[:, 2:4]])
# END SOLUTION

check(split_queries=split_queries)

# %% [markdown]
# ## 3. Code: split and merge
#
# For any number of heads one usually reaches for `reshape`, and here a trap waits. The cells below carry their own
# address: t2c3 is token 2, column 3. Imagine one single `reshape(2, 2, 2)` to head, token, column. **Guess:** which
# four addresses will be in "head 1", the first block?

# %%
addresses = np.array([["t1c1", "t1c2", "t1c3", "t1c4"], ["t2c1", "t2c2", "t2c3", "t2c4"]])
# BEGIN SOLUTION
# STUB: my_first_block = [..., ..., ..., ...]  # such as "t2c3"
my_first_block = ["t1c1", "t1c2", "t2c1", "t2c2"]
# END SOLUTION

check(my_first_block=my_first_block)

# %%
addresses.reshape(2, 2, 2)

# %% [markdown]
# `reshape` never moves numbers, it only puts the brackets elsewhere. A row of $h \cdot d_k$ columns can safely become
# $h$ groups of $d_k$: token, head, column. Then something has to bring the head to the front. `np.transpose` or
# `np.swapaxes` can, and a loop with slices is just as right.


# %%
def split_heads(Y, n_heads):
    """Cut the columns of a projected matrix into heads.

    Parameters
    ----------
    Y : array (T, n_heads * width)
        A projected matrix, one row for each token.
    n_heads : int

    Returns
    -------
    array (n_heads, T, width)
        Head r holds columns r * width up to (r + 1) * width of every token.
    """
    # BEGIN SOLUTION
    T, columns = Y.shape
    return Y.reshape(T, n_heads, columns // n_heads).transpose(1, 0, 2)
    # END SOLUTION


check(split_heads)


# %% [markdown]
# And the way back. The heads' results are laid **side by side**, token by token: nothing is added, nothing averaged.
# Splitting and then merging must give the table you started from; the same trap waits here.


# %%
def merge_heads(Z):
    """Lay the heads side by side again: the inverse of split_heads.

    Parameters
    ----------
    Z : array (n_heads, T, width)

    Returns
    -------
    array (T, n_heads * width)
        Row t holds what head 1 says about token t, then what head 2 says, and so on.
    """
    # BEGIN SOLUTION
    n_heads, T, width = Z.shape
    return Z.transpose(1, 0, 2).reshape(T, n_heads * width)
    # END SOLUTION


check(merge_heads)

# %% [markdown]
# ## 4. Attend
#
# Paste your `attention` from lab 2 here. Take the body of your `masked_softmax` and `attention_weights` with it,
# inside this one function or above it: the notebook has to stand alone.


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
# Each head now runs your attention on *its* queries, *its* keys and *its* values, without knowing of the others. No
# mask for now.
#
# **Guess** first: by the root of which number does a head divide its raw scores here? (The model's width is 4.)

# %%
# BEGIN SOLUTION
# STUB: my_root = ...  # the number under the root
my_root = 4
# END SOLUTION

check(my_root=my_root)

# %%
# BEGIN SOLUTION
# STUB: # Keys and values are projected with me.W_K and me.W_V and split like the queries.
# STUB: head_outputs = ...  # (2, 4, 2): head, token, column
split_keys = split_heads(me.X @ me.W_K, me.n_heads)
split_values = split_heads(me.X @ me.W_V, me.n_heads)
head_outputs = np.stack(
    [attention(split_queries[r], split_keys[r], split_values[r]) for r in range(me.n_heads)],
)
# END SOLUTION

check(head_outputs=head_outputs)

# %% [markdown]
# ## 5. Two heads, two opinions
#
# Do the heads really look at different things? Their weights can be had from your `attention` by a trick: with
# $V = I$ the output *is* the table of weights, as in lab 0. Head 1 first, then head 2.

# %%
ready = check(attention).passed and check(split_heads).passed


def weights_of(head):
    """Read off one head's weights: its attention with the identity as values."""
    queries = split_heads(me.X @ me.W_Q, me.n_heads)[head]
    keys = split_heads(me.X @ me.W_K, me.n_heads)[head]
    return attention(queries, keys, np.eye(4))


later = "The picture needs your attention and your split_heads."
heatmap(weights_of(0), title="head 1") if ready else print(later)

# %%
heatmap(weights_of(1), title="head 2") if ready else print(later)

# %% [markdown]
# Same tokens, other weights: the projections differ, so the questions asked differ. A single head would have had to
# make one compromise of both, and averaging the two tables would throw away the very thing one wanted.

# %% [markdown]
# ## 6. Concatenate
#
# Head 1's columns, then head 2's, for each token. Which shape will that be?

# %%
# BEGIN SOLUTION
# STUB: concatenated_heads = ...  # from head_outputs; you have a function for it
concatenated_heads = merge_heads(head_outputs)
# END SOLUTION

check(concatenated_heads=concatenated_heads)

# %% [markdown]
# Don't take this for a *residual connection*. That one adds the layer's input to its output, number by number. Here
# nothing is added to anything, and $X$ doesn't come back: pieces are put next to each other.

# %% [markdown]
# ## 7. Project back
#
# So far the heads sit side by side and have never met. The output matrix $W_O$ mixes their columns, and it brings the
# width back to what the model expects. It has $h \cdot d_v$ rows, one for each joined column, and $d_{model}$
# columns.

# %%
# BEGIN SOLUTION
# STUB: multi_head_output = ...  # (4, 4)
multi_head_output = concatenated_heads @ me.W_O
# END SOLUTION

check(multi_head_output=multi_head_output)

# %% [markdown]
# **Predict, then look.** Here are your own numbers once more. First move `token` and watch how the shares of the two
# heads add up to its output; then choose 4 `heads`. Which will stay as they are: the projections, the weights or the
# output? Write it in place of the dots.

# %%
# BEGIN SOLUTION
# STUB: my_prediction = ...  # "projections", "weights" or "output"
my_prediction = "projections"
# END SOLUTION

layer = me.X, me.W_Q, me.W_K, me.W_V, me.W_O, me.n_heads
later = "The picture appears once your output is right."
finished = check(multi_head_output=multi_head_output).passed
explore.heads(*layer, predict=my_prediction) if finished else print(later)

# %% [markdown]
# The layer's output has the shape of its input, one row of width $d_{model}$ for each token, so the next layer can
# start from it.
#
# How many learned numbers does this layer have, all in all? Count its parameters.

# %%
# BEGIN SOLUTION
# STUB: layer_parameters = ...
layer_parameters = 64  # W_Q, W_K, W_V and W_O, 16 each
# END SOLUTION

check(layer_parameters=layer_parameters)

# %% [markdown]
# The number of heads didn't matter: with $d_k = d_{model} / h$, more heads are narrower heads.
#
# Practice question 7 of the notes: two heads emit vectors of width 2, and the model's width is 4. To which width does
# $W_O$ map?

# %%
# BEGIN SOLUTION
# STUB: output_width = ...
output_width = 4
# END SOLUTION

check(output_width=output_width)

# %% [markdown]
# In that question, width in and width out are both 4, so it can't tell who has understood. Now **three** heads emit
# vectors of width 2 each, and the model's width is **5**. Which shape must $W_O$ have, and how many parameters is
# that?

# %%
# BEGIN SOLUTION
# STUB: three_heads_W_O_shape = [..., ...]  # rows, columns
three_heads_W_O_shape = [6, 5]
# END SOLUTION

check(three_heads_W_O_shape=three_heads_W_O_shape)

# %%
# BEGIN SOLUTION
# STUB: three_heads_W_O_parameters = ...
three_heads_W_O_parameters = 30
# END SOLUTION

check(three_heads_W_O_parameters=three_heads_W_O_parameters)

# %% [markdown]
# ## 8. Code: the whole layer
#
# Project, split, attend, merge, project back. The mask, if there is one, is the same for **every** head. Use what you
# have written above. The check tries other sizes, too: three heads, for instance.


# %%
def multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    """Self-attention with several heads.

    Parameters
    ----------
    X : array (T, d_model)
    W_Q, W_K : array (d_model, n_heads * d_k)
    W_V : array (d_model, n_heads * d_v)
    W_O : array (n_heads * d_v, d_out)
    n_heads : int
    mask : bool array (T, T), optional
        True where a query may attend to a key; the same for all heads.

    Returns
    -------
    array (T, d_out)
    """
    # BEGIN SOLUTION
    queries, keys, values = (split_heads(X @ W, n_heads) for W in (W_Q, W_K, W_V))
    heads = [attention(queries[r], keys[r], values[r], mask) for r in range(n_heads)]
    return merge_heads(np.stack(heads)) @ W_O
    # END SOLUTION


check(multi_head_attention)

# %% [markdown]
# One more experiment with it: change token 4 under the causal mask. Lab 2 found that earlier outputs stay as they
# are. **Guess:** does that still hold with several heads and with $W_O$ behind them?

# %%
# BEGIN SOLUTION
# STUB: my_changed_outputs = [...]  # the numbers of the tokens whose output changes
my_changed_outputs = [4]
# END SOLUTION

# %%
may_attend = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
changed = me.X + np.array([[0], [0], [0], [1]])  # token 4 is another one

if my_changed_outputs == [...]:
    print("Guess first, in the cell above.")
elif check(multi_head_attention).passed:
    matrices = me.W_Q, me.W_K, me.W_V, me.W_O
    before = multi_head_attention(me.X, *matrices, me.n_heads, may_attend)
    after = multi_head_attention(changed, *matrices, me.n_heads, may_attend)
    changes = [t + 1 for t in range(4) if not np.allclose(before[t], after[t])]
    print("You guessed", my_changed_outputs, "and these outputs change:", changes)
else:
    print("This experiment needs your multi_head_attention.")

# %% [markdown]
# $W_O$ mixes columns, never tokens. Attention is the only place in the layer where tokens meet.

# %% [markdown]
# **A question.** A friend concatenates the heads, gets a table of the right width, and returns it without $W_O$. All
# shapes are right. What is missing?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# Each output column would come from one head alone, so the heads would never be combined: that is what $W_O$ learns
# to do. The shape is right only by chance as well, because $h \cdot d_v$ happens to equal $d_{model}$; with three
# heads of width 2 and a model of width 5 it would be wrong.
# <!-- END SOLUTION -->

# %%
progress()

# %% [markdown]
# ## To remember
#
# - Project the whole token, then cut columns. Slicing $X$ first takes features away from every head.
# - Each head divides by the root of its *own* width, has its own weights, and all of them share the mask.
# - Concatenating lays side by side. It isn't a sum, a mean or a residual.
# - $W_O$ has $h \cdot d_v$ rows and $d_{model}$ columns, and it counts as parameters.
#
# You have built the heart of a transformer.
#
# **Next:** `04_beyond_one_sequence`: two sequences instead of one, the order of tokens, what it all costs, and what
# weights do *not* tell.
