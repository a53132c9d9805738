"""Explorers: controls over a picture that follows at once, for an idea of the course or a function of your own.

Each call gives a widget that shows itself as the last line of a cell. Where widgets cannot show (a rendered page),
its picture and its words stand in its place. Tab goes from control to control, arrow keys move a slider, Space presses
a button or a tick.

`fn` puts your own function under the controls: the picture shows what it does, or the words where it stopped.
`predict=...` keeps the picture covered until you write what you expect in place of the dots, as a text or a number, and
run the cell again. So the cell keeps it; `.prediction` has it, too.
"""

__all__ = ["bug", "cost", "heads", "masking", "mixing", "permuting", "running", "scaling", "softmax"]


def softmax(fn=None, *, predict=False):
    """Turn scores into weights: what differences, ties, temperature and the choice of axis do.

    Controls: "score 1" to "score 4" (of row 1), "add to row 1", "temperature"; without `fn` also "axis": rows,
    columns, all.

    Parameters
    ----------
    fn : callable, optional
        Your softmax(scores), with scores (3, 4). It decides by itself along which axis keys compete.
    """
    from .rows import explorer

    return explorer(fn, predict)


def scaling(*, predict=False):
    """Divide scores by nothing, by d_k and by √d_k: how far they spread, and how much the top key gets.

    Controls: "d_k" (1 to 1024, doubling), "draw" (1 to 20: other random numbers).
    """
    from .scale import explorer

    return explorer(predict)


def mixing(fn=None, *, predict=False):
    """Turn a query in the plane: weights, and the output as a point among the values.

    Controls: "angle of q", "length of q"; "keys": 2, 3, 5; "mix keys instead".

    Parameters
    ----------
    fn : callable, optional
        Your attention(Q, K, V), with Q (1, 2), K and V (n, 2).
    """
    from .plane import explorer

    return explorer(fn, predict)


def masking(fn=None, *, predict=False):
    """Hide keys: raw scores, masked scores and weights side by side, and the weight that hidden keys still get.

    Controls: "T" (4 to 8); "mask": causal, padding, first key only, paint; "fill": 0, −1, −10⁹, −∞ (without `fn`).
    When painting: a tick "2 sees 3" for query 2 and key 3, and so on.

    Parameters
    ----------
    fn : callable, optional
        Your masked_softmax(scores, mask), attention_weights(Q, K, mask) or attention(Q, K, V, mask): told by this name,
        else by whether it takes 2, 3 or more arguments. V is the identity, so that an output is a row of weights.
    """
    from .mask import explorer

    return explorer(fn, predict)


def heads(X=None, W_Q=None, W_K=None, W_V=None, W_O=None, n_heads=2, *, fn=None, predict=False):
    """Follow a token through several heads: columns of the projections, weights, heads joined, W_O.

    Controls: "token"; "heads" (how many); "causal".

    Parameters
    ----------
    X, W_Q, W_K, W_V, W_O : arrays, optional
        As for `multi_head_attention`, with up to 8 tokens and 16 columns; small numbers of ours if X is not given.
    n_heads : int
        Up to 4.
    fn : callable, optional
        Your split_heads(Y, n_heads), which then does the cutting, or
        multi_head_attention(X, W_Q, W_K, W_V, W_O, n_heads, mask), whose output stands below the right one.
        Told by whether it takes 2 arguments; without "causal" there is no mask among them.
    """
    from .blocks import explorer

    return explorer((X, W_Q, W_K, W_V, W_O), n_heads, fn, predict)


def permuting(fn=None, *, predict=False):
    """Reorder tokens: the outputs follow, and under a causal mask they no longer do.

    Controls: "order" (of the tokens A, B, C and D), "causal".

    Parameters
    ----------
    fn : callable, optional
        Your attention(Q, K, V, mask), with Q, K, V (4, 2); without "causal" it gets no mask.
    """
    from .order import explorer

    return explorer(fn, predict)


def cost(*, predict=False):
    """Count the entries of the weights for T tokens, drawn to scale.

    Controls: "T" (10 to 2000).
    """
    from .size import explorer

    return explorer(predict)


def bug(n=1, *, predict=False):
    """Show the weights that a broken function gives, and nothing of its code: what went wrong in it?

    Controls: "show what is right", for the pictures without a mask.

    Parameters
    ----------
    n : int
        The picture's number, from 1 to 11.
    """
    from .broken import explorer

    return explorer(n, predict)


def running(fn=None, *, predict=False):
    """Read a query's keys block by block: what is kept of them, and the output at any time.

    Controls: "block" (1, 2, 3, 4, 8 keys), "blocks read"; without `fn` also "forget to rescale".

    Parameters
    ----------
    fn : callable, optional
        Your blocked_attention(Q, K, V, block), with Q (1, 1), K and V (n, 1).
    """
    from .sums import explorer

    return explorer(fn, predict)
