# %% [markdown]
# # Lab 2 · The causal mask
#
# **About 50 minutes. Do lab 1 first.**
#
# By the end you can keep a query from seeing certain keys, say why the fill is $-\infty$ and not 0, and you have
# coded attention with any mask, for future tokens as well as for padding.
#
# Reminder: rows are queries, columns are keys. The text counts from 1, Python from 0. Two decimals are enough. For
# minus infinity type `-np.inf`.

# %%
import numpy as np

from labkit import check, explore, fresh_numbers, heatmap, hint, progress, student

# %% [markdown]
# ## Why hide anything?
#
# A language model learns by predicting the next token, at every position of the text at once. If token 2 may look at
# token 3 while it is asked to predict token 3, it copies: the loss becomes wonderful and the model useless. So each
# query may use only the keys up to its own position. A model that reads a whole text before it says anything (an
# *encoder*) needs no such rule.
#
# In code, who may see what is a table of booleans, the **mask**: one row for each query, one column for each key, and
#
# > **True = may attend.**
#
# The course notes write 1 and 0. Some libraries use masks in which True means "hide", so look it up when you meet one.

# %% [markdown]
# ## 1. Zero doesn't hide
#
# Hidden scores are replaced *before* the softmax. By what? Many people's first idea is 0.
#
# A query has the scores $[1, \text{hidden}]$. Do it the **wrong way**, on purpose: put 0 in the hidden place and
# write down the weights.

# %%
# BEGIN SOLUTION
# STUB: zero_fill_weights = [..., ...]
zero_fill_weights = [0.73, 0.27]  # e and 1, in all 3.72
# END SOLUTION

check(zero_fill_weights=zero_fill_weights)

# %% [markdown]
# How much of the hidden value leaks into the output? Your second number tells. And it gets worse. **Guess:** the
# scores are $[-3, \text{hidden}]$, filled with 0. What is the weight of the *hidden* key?

# %%
# BEGIN SOLUTION
# STUB: my_leak = ...  # between 0 and 1
my_leak = 0.5
# END SOLUTION

check(my_leak=my_leak)

# %% [markdown]
# So another fill is needed. Four candidates will be tried against the allowed scores 1, 0, −3 and −20. **Guess:** which
# of them leave less than 0.005 of the weight on the hidden key, each time?

# %%
fills = ["0", "-1", "-1e9", "-inf"]
# BEGIN SOLUTION
# STUB: my_safe_fills = [...]  # copy those from the list above
my_safe_fills = ["-1", "-1e9", "-inf"]
# END SOLUTION

check(my_safe_fills=my_safe_fills)

# %% [markdown]
# Here they are side by side. Each pair is the weight of the allowed key, then of the hidden one.


# %%
def shares_side_by_side():
    """Print the weights of an allowed key and a hidden one, for each fill and each allowed score."""
    allowed_scores = (1, 0, -3, -20)
    print("allowed score", *(f"{score:13}" for score in allowed_scores))
    for fill in (0, -1, -1e9, -np.inf):
        shares = [np.exp(fill) / (np.exp(fill) + np.exp(score)) for score in allowed_scores]
        print(f"filled with {fill:<8g}", *(f"{1 - share:7.2f} {share:.2f}" for share in shares))


if check(my_safe_fills=my_safe_fills).status == "unattempted":
    print("Guess first, in the cell above.")
else:
    shares_side_by_side()

# %% [markdown]
# - **−10⁹** hides as long as no real score comes near it. Many programs use it; section 5 shows its weak spot.
# - **−∞** hides always, because $e^{-\infty}$ is 0 exactly. This is the definition.
#
# In the notes' 2 × 2, row 1 is $[1.41, \text{hidden}]$ and the right weights are $[1, 0]$. Filling with 0 would
# change nothing there at all: the hidden score is 0 anyway, and one gets the unmasked $[0.80, 0.20]$ back.

# %% [markdown]
# **Predict, then look.** Four queries under a causal mask have 4.00 of weight to share out in all, and six cells are
# hidden. How much goes to hidden cells when they are filled with 0? Put your number in place of the dots, then choose
# each `fill` in turn and watch the hatched cells.

# %%
# BEGIN SOLUTION
# STUB: explore.masking(predict=...)  # between 0 and 4
explore.masking(predict=1.5)
# END SOLUTION

# %% [markdown]
# ## 2. Minus infinity, by hand
#
# Practice question 5 of the notes: these scores are **already scaled**, and the mask is causal, so query 1 must not
# see key 2.
#
# $$\begin{bmatrix} 1 & 3 \\ 0 & 1 \end{bmatrix}$$
#
# Write down the masked scores, then the weights.

# %%
# BEGIN SOLUTION
# STUB: practice_masked_scores = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
practice_masked_scores = [
    [1, -np.inf],
    [0, 1],
]
# END SOLUTION

check(practice_masked_scores=practice_masked_scores)

# %%
# BEGIN SOLUTION
# STUB: practice_weights = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
practice_weights = [
    [1.00, 0.00],
    [0.27, 0.73],
]
# END SOLUTION

check(practice_weights=practice_weights)

# %% [markdown]
# The hidden score was 3, the largest of all, and it makes no difference any more: a mask amounts to taking the softmax
# over the allowed keys alone.
#
# A mask need not be causal. Back to lesson 05: query $[1, 0]$, keys $[1, 0]$ and $[0, 1]$, values $[10, 0]$ and
# $[0, 10]$. Suppose **only the first key** is allowed.

# %%
# BEGIN SOLUTION
# STUB: first_key_weights = [..., ...]
first_key_weights = [1, 0]
# END SOLUTION

check(first_key_weights=first_key_weights)

# %%
# BEGIN SOLUTION
# STUB: first_key_output = [..., ...]
first_key_output = [10, 0]
# END SOLUTION

check(first_key_output=first_key_output)

# %% [markdown]
# ## 3. Your own numbers
#
# The tokens of lab 1 again, now read from left to right. (The same name as there, please.) Here are your scores,
# scaled, and your values:

# %%
me = student("ada")
print("scores:")
print(np.round(me.Q @ me.K.T / np.sqrt(3), 2))
print("V:")
print(me.V)

# %% [markdown]
# The causal mask for four tokens, written out:

# %%
may_attend = np.array(
    [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]
)

# %% [markdown]
# The **diagonal is allowed**: token 3 has been read already when it helps to predict token 4, so key 3 is open to
# query 3. Only what lies to the right of the diagonal is the future.
#
# **Guess:** which row of the weights do you know without calculating, and which is the same as without a mask?

# %%
# BEGIN SOLUTION
# STUB: my_rows = [..., ...]  # the row known at once, the row that stays the same
my_rows = [1, 4]
# END SOLUTION

check(my_rows=my_rows)

# %% [markdown]
# Fill in the weights: in each row the softmax of the allowed scores, and 0 for the hidden keys. As in lab 1, Python may
# do the last row once those before it fit.

# %%
# BEGIN SOLUTION
# STUB: hand_causal_weights = [
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB: ]
# Ada's numbers again, worked out row by row: query i shares out its weight among keys 1 to i.
hand_causal_weights = []
for i, row in enumerate(np.round(me.Q @ me.K.T / np.sqrt(3), 2)):
    powers = np.exp(row[: i + 1])
    hand_causal_weights.append(np.round(powers / powers.sum(), 2).tolist() + [0] * (3 - i))
# END SOLUTION

check(hand_causal_weights=hand_causal_weights)

# %%
heatmap(hand_causal_weights, may_attend)

# %% [markdown]
# Hatched cells are hidden. Should a hidden key ever get weight, the picture says so loudly.
#
# Now mix your values. A line of NumPy is enough this time; say beforehand what output 1 will be.

# %%
# BEGIN SOLUTION
# STUB: hand_causal_output = [
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB:     [..., ...],
# STUB: ]
hand_causal_output = np.round(np.array(hand_causal_weights) @ me.V, 2).tolist()
# END SOLUTION

check(hand_causal_output=hand_causal_output)

# %% [markdown]
# Output $i$ is a mix of values 1 to $i$ alone, so it lies among *those*; output 1 is value 1.

# %% [markdown]
# ## 4. Code: the causal mask
#
# Key $j$ is allowed for query $i$ exactly when $j \le i$. NumPy has functions for triangles, and it can also compare
# a column of row numbers with a row of column numbers.


# %%
def causal_mask(n):
    """Say which keys each query may use when text is read from left to right.

    Parameters
    ----------
    n : int
        The number of tokens, at least 1.

    Returns
    -------
    bool array (n, n)
        True where a query (row) may attend to a key (column).
    """
    # BEGIN SOLUTION
    return np.tril(np.ones((n, n), dtype=bool))
    # END SOLUTION


check(causal_mask)

# %% [markdown]
# ## 5. Code: softmax under a mask
#
# What should happen to a query that may use **no key at all**? Its softmax would be 0 divided by 0: no such weights
# exist. There are two conventions, and a system has to say which one is in force:
#
# - refuse, with an error. **This is the rule of the course.**
# - return a row of zeros and flag it as invalid. Then whoever uses the output has to look at the flag.
#
# What must not happen is what programs do when nobody thought about it. A query has two keys, scores 5 and 1, and both
# are hidden. **Guess** which weights come out with the fill −10⁹, and which with −∞: "zeros", "halves", "nan", or
# "unmasked", as if nothing were hidden?

# %%
# BEGIN SOLUTION
# STUB: my_empty_rows = [..., ...]  # with -1e9, with -inf
my_empty_rows = ["unmasked", "nan"]
# END SOLUTION

check(my_empty_rows=my_empty_rows)

# %%
if check(my_empty_rows=my_empty_rows).status == "unattempted":
    print("Guess first, in the cell above.")
else:
    for fill in (-1e9, -np.inf):
        row = np.array([fill, fill])
        with np.errstate(invalid="ignore"):
            powers = np.exp(row - row.max())
        print(f"filled with {fill:<7g}", powers / powers.sum())

# %% [markdown]
# And the second convention, zeros and a flag? Four queries gave the outputs 6, 0, 4 and 5; the 0 of query 2 is such a
# row, flagged as invalid. **Guess:** what is the mean output?

# %%
# BEGIN SOLUTION
# STUB: my_mean = ...
my_mean = 3.75
# END SOLUTION

check(my_mean=my_mean)

# %% [markdown]
# Now your function. `np.where(condition, a, b)` takes from `a` where the condition holds and from `b` elsewhere;
# `.any(axis=-1)` asks of each row whether it contains a True. Fill, then shift, exponentiate and normalise as before.


# %%
def masked_softmax(scores, mask):
    """Turn each row of scores into weights on the allowed keys.

    Parameters
    ----------
    scores : array (n_q, n_k)
    mask : bool array (n_q, n_k)
        True where a query may attend to a key.

    Returns
    -------
    array (n_q, n_k)
        Weights: exactly 0 at hidden keys, and each row adds to 1.

    Raises
    ------
    ValueError
        If a query has no allowed key.
    """
    # BEGIN SOLUTION
    if not mask.any(axis=-1).all():
        raise ValueError("a query has no allowed key")
    masked_scores = np.where(mask, scores, -np.inf)
    powers = np.exp(masked_scores - masked_scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
    # END SOLUTION


check(masked_softmax)

# %% [markdown]
# **Your function at work.** Choose one `mask` after the other and watch the hatched cells of the weights. Finally
# choose `paint` and take all ticks away from one query. What will your function say to that?

# %%
explore.masking(masked_softmax)

# %% [markdown]
# ## 6. Code: attention with a mask
#
# In three stages. **Stage 1: each query has exactly one allowed key**, as in section 2. Its weights are known without
# any score. A line or two will do.


# %%
def attention_one_allowed_key(Q, K, V, mask):
    """Attention where the mask leaves each query a single key.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)
    mask : bool array (n_q, n_k)
        One True in each row.

    Returns
    -------
    array (n_q, d_v)
    """
    # BEGIN SOLUTION
    weights = mask.astype(float)
    return weights @ V
    # END SOLUTION


check(attention_one_allowed_key)

# %% [markdown]
# **Stage 2: the weights under any mask**, steps 1 to 4. `mask=None` means that every query may use every key: a mask
# full of True does the same.


# %%
def attention_weights(Q, K, mask=None):
    """Compare, scale, mask and take the softmax.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    mask : bool array (n_q, n_k), optional
        True where a query may attend to a key. Without a mask every key is allowed.

    Returns
    -------
    array (n_q, n_k)
        The weights.
    """
    # BEGIN SOLUTION
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    return masked_softmax(scores, mask)
    # END SOLUTION


check(attention_weights)

# %% [markdown]
# **Stage 3: all of it.**


# %%
def attention(Q, K, V, mask=None):
    """Scaled dot-product attention with an optional mask.

    Parameters
    ----------
    Q : array (n_q, d_k)
    K : array (n_k, d_k)
    V : array (n_k, d_v)
    mask : bool array (n_q, n_k), optional
        True where a query may attend to a key. Without a mask every key is allowed.

    Returns
    -------
    array (n_q, d_v)
        Row i is a mix of the values that query i may use.
    """
    # BEGIN SOLUTION
    return attention_weights(Q, K, mask) @ V
    # END SOLUTION


check(attention)

# %% [markdown]
# Lesson 05's second task: allow the first key only. Write the mask (one query, two keys) and let your function
# confirm what you predicted in section 2.

# %%
# BEGIN SOLUTION
# STUB: only_the_first = ...  # np.array([[..., ...]]), a bool array of shape (1, 2)
only_the_first = np.array([[True, False]])
# END SOLUTION

if check(attention).passed and only_the_first is not ...:
    print(attention(np.array([[1.0, 0.0]]), np.eye(2), 10 * np.eye(2), only_the_first))
else:
    print("This needs your attention and a mask.")

# %% [markdown]
# ## 7. The past doesn't know the future
#
# Here is the point of it all. Change query, key *and* value of token 4, and compare the four outputs before and
# after. **Guess:** which outputs change under a causal mask, and which do without one?

# %%
# BEGIN SOLUTION
# STUB: my_changed_outputs = [...]   # under the causal mask: a list of token numbers
# STUB: my_changed_without = [...]   # without a mask
my_changed_outputs = [4]
my_changed_without = [1, 2, 3, 4]
# END SOLUTION


# %%
def changed_tokens(mask):
    """Number the tokens whose output changes when token 4 does."""
    change = np.array([[0], [0], [0], [1]])  # 1 for token 4 only
    before = attention(me.Q, me.K, me.V, mask)
    after = attention(me.Q + change, me.K + change, me.V + change, mask)
    return [token + 1 for token in range(4) if not np.allclose(before[token], after[token])]


if "Ellipsis" in repr([my_changed_outputs, my_changed_without]):
    print("Guess first, in the cell above.")
elif check(attention).passed and check(causal_mask).passed:
    causal, without = changed_tokens(causal_mask(4)), changed_tokens(None)
    print("causal mask:", causal, "change; you guessed", my_changed_outputs)
    print("no mask:    ", without, "change; you guessed", my_changed_without)
else:
    print("This experiment needs your attention and your causal_mask.")

# %% [markdown]
# Output $i$ depends on tokens 1 to $i$ and on nothing later. That carries over to a whole model only if *every*
# attention layer is masked and everything between the layers works on each token separately. A single layer without
# the mask is enough for a leak.

# %% [markdown]
# ## 8. Code: the padding mask
#
# A batch is a rectangle, but sentences have different lengths. Short ones are filled up with padding tokens, which
# must not be attended to. Given the lengths, say which *keys* are real: one row for each **sequence** of the batch,
# which then serves all queries of that sequence.
#
# For the lengths 2 and 3 in a batch that is 4 wide:
#
# | | key 1 | key 2 | key 3 | key 4 |
# |---|---|---|---|---|
# | sequence 1 | True | True | False | False |
# | sequence 2 | True | True | True | False |


# %%
def padding_mask(lengths, n_k):
    """Say which keys of each sequence are real tokens.

    Parameters
    ----------
    lengths : list of int, one for each sequence
        How many real tokens each sequence has; padding comes after them.
    n_k : int
        The width of the batch, padding included.

    Returns
    -------
    bool array (len(lengths), n_k)
        True where a key is a real token, False where it is padding.
    """
    # BEGIN SOLUTION
    return np.arange(n_k) < np.array(lengths)[:, np.newaxis]
    # END SOLUTION


check(padding_mask)

# %% [markdown]
# **Two masks at once:** in a language model a batch has padding *and* a causal mask, and a key must be allowed by both.
# Fill in the joint mask for sequence 1 of the table above, with 1 for True and 0 for False. (In code, two masks are
# joined with `&` or with `|`. Which is it?)

# %%
# BEGIN SOLUTION
# STUB: joined_mask = [
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB:     [..., ..., ..., ...],
# STUB: ]
joined_mask = [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
    [1, 1, 0, 0],
    [1, 1, 0, 0],
]
# END SOLUTION

check(joined_mask=joined_mask)

# %% [markdown]
# The last two rows are *queries* at padding positions. They may use the real keys, so they get weights and an output,
# but it stands for nothing. The model is scored there, too, unless one sees to it: say the four positions of the
# sequence have the losses 0.4, 1.2, 5 and 3. Which loss should the **sequence** have, as a mean over its tokens?

# %%
# BEGIN SOLUTION
# STUB: padded_loss = ...
padded_loss = 0.8  # (0.4 + 1.2) / 2
# END SOLUTION

check(padded_loss=padded_loss)

# %% [markdown]
# The mask takes care of padding keys; padding queries are left out of the loss.

# %% [markdown]
# ## 9. Questions
#
# **A.** A causal mask alone never leaves a query without a key. Why? And what happens if the padding comes *before*
# the real tokens and both masks are used?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# The diagonal is allowed, so every query has at least its own key. With padding in front, the first query may use
# only key 1 (causal), and key 1 is padding (hidden): no key is left. The row has to be refused, or zeroed and marked
# as invalid.
# <!-- END SOLUTION -->

# %% [markdown]
# **B.** BERT is trained with "masked" tokens: some words of a sentence are covered up, and the model has to guess
# them while it sees everything before and after. In what way is that a different thing from the mask of this lab?

# %% [markdown] tags=["written"]
# <!-- BEGIN SOLUTION -->
# BERT's mask changes the *input*: a word is replaced by a placeholder, and each token may still attend to all
# positions, later ones too. The causal mask leaves the input alone and changes *who may look where*. Covering up
# words is another training task; it can't stand in for the causal mask where the next token is to be predicted.
# <!-- END SOLUTION -->

# %%
progress()

# %% [markdown]
# ## To remember
#
# - True = may attend. The causal mask is the lower triangle, **diagonal included**.
# - Fill with $-\infty$, before the softmax. $[1, 0]$ still leaves 0.27 on a "hidden" key, and against low scores 0
#   takes nearly all.
# - Hidden weights are exactly 0, allowed ones add to 1, outputs lie among the allowed values.
# - A query without any key is an error here. If you choose otherwise, say so.
# - Join masks with *and*. Leave padded queries out of the loss.
#
# **Next:** `03_multi_head`: several heads side by side. Keep your `attention` at hand, you will take it along.
