"""Tables about fixed numbers: the worked examples of the notes, lesson 05's script, and the practice questions.

The notes' 2 x 2 example is Note 3.2, section 2, and its identity section 8; the lesson's is lesson 05.
"""

import numpy as np

from .inputs import causal
from .tables import after, asked_in, fact, table

NOTES = {"raw_scores": [[2.0, 0.0], [0.0, 2.0]], "d_k": 2}
TWIN = {"raw_scores": [[2.0, 0.0], [3.0, 2.0]], "d_k": 2}
TENS = [[10.0, 0.0], [0.0, 10.0]]
LESSON = {"Q": [[1.0, 0.0]], "K": np.eye(2), "V": TENS}
IDENTITY = {"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2)}
PRACTICE = {"scores": [[1.0, 3.0], [0.0, 1.0]], "mask": causal(2)}
EARLIER, REAL = causal(4), np.arange(4) < 2  # four tokens of which the last two are padding
FIRST_KEY = {**LESSON, "mask": [[True, False]]}

TURNED = (([[6.7, 3.3]], "this is the output for the query as it was. Which key does it point to once it is turned?"),)
IDENTITY_SLIPS = (
    ([[0.8, 0.2], [0.2, 0.8]], "this is the table of section 2. What is the dot product of [1, 0] with itself here?"),
    ([[1, 0], [0, 1]], "this is the identity itself. What does the softmax make of a 0 in a row of scores?"),
)
WELL_HIDDEN = (
    ([1, 0], "these are the weights of a key that is well hidden. What comes out if its score is 0 instead?"),
)
TWICE = "these scores have been scaled a second time. What does the question say of them?"
SCALED_AGAIN = (([[0.71, -np.inf], [0, 0.71]], TWICE), ([[1, 0], [0.33, 0.67]], TWICE))

UNASKED = "these are the weights of scores that have been scaled. What does the question say about scaling here?"

WARM_UP = asked_in(
    "00_warm_up",
    one_row_weights=table("weights", {"masked_scores": [2.0, 1.0, 0.0]}),
    notes_scores=table("scores", NOTES),
    notes_weights=table("weights", NOTES, after("scores", "notes_scores")),
    notes_output=table("output", {**NOTES, "V": np.eye(2)}, after("weights", "notes_weights")),
    notes_unscaled_row=table("weights", {"masked_scores": [2.0, 0.0]}, slips=(([0.8, 0.2], UNASKED),)),
    twin_scores=table("scores", TWIN),
    twin_weights=table("weights", TWIN, after("scores", "twin_scores")),
    twin_output=table("output", {**TWIN, "V": TENS}, after("weights", "twin_weights")),
    lesson_weights=table("weights", LESSON),
    lesson_output=table("output", LESSON, after("weights", "lesson_weights")),
    turned_query_output=table("output", {**LESSON, "Q": [[0.0, 1.0]]}, slips=TURNED),
    equal_keys_weights=table("weights", {"masked_scores": [1.0, 1.0, 0.0]}),
    raw_score_spread=fact(
        [2.0, 8.0, 32.0],
        (
            [4, 64, 1024],
            "these are the variances. In which unit would a spread have to be, to be compared with scores?",
        ),
        ([1, 1, 1], "this is the spread of a single product. How many of them does a dot product add up?"),
        step="scale",
    ),
    scaled_score_spread=fact(
        [1.0, 1.0, 1.0],
        ([2, 8, 32], "this is the spread before the division. By what is each raw score divided?"),
        (
            [0.5, 0.125, 0.03125],
            "this is what comes of a division by d_k itself. Which division does the formula ask for?",
        ),
        step="scale",
    ),
    identity_weights=table("weights", IDENTITY, slips=IDENTITY_SLIPS),
    identity_output=table("output", IDENTITY, after("weights", "identity_weights")),
    row_0_2_weights=table("weights", {"masked_scores": [0.0, 2.0]}, slips=(([0.2, 0.8], UNASKED),)),
    scaled_row_0_2_weights=table("weights", {"raw_scores": [0.0, 2.0], "d_k": 2}),
    larger_entry=fact("lost", ("gained", "which of your rows has the larger second weight?"), step="scale"),
)
CAUSAL = asked_in(
    "02_causal_mask",
    zero_fill_weights=table("weights", {"masked_scores": [1.0, 0.0]}, slips=WELL_HIDDEN),
    first_key_weights=table("weights", FIRST_KEY),
    first_key_output=table("output", FIRST_KEY, after("weights", "first_key_weights")),
    practice_masked_scores=table("masked_scores", PRACTICE, slips=SCALED_AGAIN[:1]),
    practice_weights=table("weights", PRACTICE, after("masked_scores", "practice_masked_scores"), SCALED_AGAIN[1:]),
    joined_mask=fact(
        EARLIER & REAL,
        (EARLIER, "this is the causal mask alone. Which of these keys are padding?"),
        (np.tile(REAL, (4, 1)), "this is the padding mask alone. Which of these keys lie in the future?"),
        (EARLIER | REAL, "a key is let in here as soon as one of the masks allows it. Is one enough?"),
        (~(EARLIER & REAL), "True and False have changed places. What does a True say of a key?"),
        (EARLIER & REAL & REAL[:, None], "queries 3 and 4 have no key left. Does padding concern those who ask, too?"),
        step="mask",
    ),
    padded_loss=fact(
        0.8,
        (2.4, "this is the mean over all four positions. What do the last two stand for?"),
        (0.4, "the sum is that of the real tokens. How many of them are there to share it?"),
        (1.6, "this is the sum over the real tokens. How many of them are there to share it?"),
        step="mask",
    ),
)
HEADS = asked_in(
    "03_multi_head",
    output_width=fact(4, (2, "that is what one head emits. What does the next layer expect?"), step="heads"),
    layer_parameters=fact(
        64,
        (48, "this is three matrices. Which one comes after the heads have been joined?"),
        (32, "this is half of it. Are the projections of head 2 counted, too?"),
        (128, "this is twice as much. Do the heads share these matrices, or has each a set of this size?"),
        (112, "too much. Is a head's own projection as wide as the whole model?"),
        step="heads",
    ),
    three_heads_W_O_shape=fact(
        [6, 5],
        ([5, 6], "rows and columns have changed places. Which side of the matrix do the joined heads meet?"),
        ([2, 5], "this would fit one head. How wide is a row once all three lie side by side?"),
        ([6, 6], "a row of this width comes in. How wide does the model want it to come out?"),
        step="heads",
    ),
    three_heads_W_O_parameters=fact(
        30,
        (11, "rows and columns were added up. How many numbers does a table of that shape hold?"),
        (10, "this would be enough for one head. How wide is a row once all three lie side by side?"),
        (36, "a row of six would come out. How wide does the model want it?"),
        step="heads",
    ),
)
TABLES = (*WARM_UP, *CAUSAL, *HEADS)
