"""Every exercise, in the order of the labs."""

from ..exercise import Exercise
from . import fixed_tables, hand, heads, masks, one_head, softmax
from .hand import draw_numbers

__all__ = ["EXERCISES", "draw_numbers"]

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for exercise in (
        *fixed_tables.TABLES,
        *hand.TABLES,
        softmax.EXERCISE,
        one_head.ATTENTION_SCORES,
        masks.CAUSAL_MASK,
        masks.PADDING_MASK,
        masks.MASKED_SOFTMAX,
        one_head.ATTENTION_WEIGHTS,
        one_head.ATTENTION,
        *heads.COMPUTED,
        heads.SPLIT_HEADS,
        heads.MERGE_HEADS,
        heads.MULTI_HEAD_ATTENTION,
        one_head.CROSS_ATTENTION,
    )
}
