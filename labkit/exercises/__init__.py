"""Every exercise, in the order of the labs."""

from ..exercise import Exercise
from . import beyond, bugs, fixed_tables, hand, heads, long, masks, one_head, softmax
from .hand import draw_numbers

__all__ = ["EXERCISES", "LABS", "draw_numbers", "exercises_of"]

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for exercise in (
        *fixed_tables.TABLES,
        *hand.TABLES,
        softmax.EXERCISE,
        one_head.ATTENTION_SCORES,
        one_head.ATTENTION_ONE_KEY,
        one_head.ATTENTION_EQUAL_KEYS,
        one_head.ATTENTION_IDENTITY_VALUES,
        masks.CAUSAL_MASK,
        masks.PADDING_MASK,
        masks.MASKED_SOFTMAX,
        one_head.ATTENTION_ONE_ALLOWED_KEY,
        one_head.ATTENTION_WEIGHTS,
        one_head.ATTENTION,
        *heads.COMPUTED,
        heads.SPLIT_HEADS,
        heads.MERGE_HEADS,
        heads.MULTI_HEAD_ATTENTION,
        *beyond.EXERCISES,
        *bugs.EXERCISES,
        *long.EXERCISES,
    )
}

LABS: tuple[str, ...] = tuple(sorted({lab for exercise in EXERCISES.values() for lab in exercise.labs}))


def exercises_of(lab: str) -> tuple[Exercise, ...]:
    """The exercises that a lab asks for, in its order."""
    return tuple(exercise for exercise in EXERCISES.values() if lab in exercise.labs)
