"""When no mistake is recognised: a property that the answer breaks, and the smallest input that shows one.

That weights are positive and add to 1, and that an output is a mix of the values that it may use, is in the
definition of the attention weights; the other properties follow from Note 3.2, sections 1 to 4.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .answer import Fault, compare, near, number, read, where, without_leading_ones
from .calculation import chain, run
from .exercise import Answer, Exercise
from .exercises.inputs import with_mask
from .lineup import answer_of

Args = Mapping[str, Any]  # a function's arguments by name
Ask = Callable[[Args], Answer]  # puts a question to a student's function

MOST_ASKS = 120  # how often a function is asked while an input is made smaller

# Which axes grow and shrink together: q queries, k keys, d and v widths, t tokens, s tokens of the other sequence.
AXES = {"Q": "qd", "K": "kd", "V": "kv", "scores": "qk", "mask": "qk", "Y": "t-", "Z": "-tv", "X": "t-", "X_kv": "s-"}


class Probe:
    """Asks a student's function with inputs of one's own making and knows the right answer to each.

    It asks no more once ``MOST_ASKS`` questions have been put, or one took too long. A ``kind`` of fault is looked for.
    """

    def __init__(self, exercise: Exercise, ask: Ask, kind: str) -> None:
        self.exercise, self.ask, self.kind, self.left = exercise, ask, kind, MOST_ASKS

    def value(self, args: Args) -> np.ndarray | None:
        """What the function gives back, if that is numbers."""
        answer = self.ask(args)
        self.left = 0 if answer.timed_out else self.left - 1
        value = None if answer.error_type else read(answer.value)
        if not isinstance(value, np.ndarray):
            return None
        return without_leading_ones(value, self.right(args).shape)

    def known(self, args: Args) -> dict[str, Any]:
        """All quantities of the right calculation."""
        with np.errstate(all="ignore"):
            return run(self.exercise.quantities, self.exercise.given(args), (), self.exercise.skips)

    def right(self, args: Args) -> np.ndarray:
        return answer_of(self.exercise, self.known(args))

    def is_wrong(self, args: Args) -> bool:
        """Whether the function gives back numbers here, and wrong ones of the kind that is looked for."""
        right = self.right(args)
        if self.left <= 0 or not np.isfinite(right).all() or not self.keeps_the_rule(args):
            return False
        fault = self.fault(args)
        return fault is not None and fault.kind == self.kind

    def fault(self, args: Args) -> Fault | None:
        """What is wrong with the numbers that the function gives back."""
        value = self.value(args)
        return None if value is None else compare(value, self.right(args))

    def keeps_the_rule(self, args: Args) -> bool:
        """Whether an input to a special case still is one: its weights are those of the whole calculation."""
        given = self.exercise.given(args)
        if not {"Q", "K"} <= args.keys() or "weights" not in given:
            return True
        with np.errstate(all="ignore"):
            whole = run(chain("allowed", "weights"), with_mask(args))["weights"]
            return bool(near(given["weights"], whole, 1e-6).all())


def smallest(probe: Probe, args: Args) -> dict[str, Any]:
    """Make an input smaller as long as the answer stays wrong: sizes first, then values to small integers."""
    args = dict(args)
    for smaller in (fewer, rounder):
        while candidate := next(filter(probe.is_wrong, smaller(args)), None):
            args = candidate
    return args


def fewer(args: Args) -> Iterator[dict[str, Any]]:
    """The same input with one query, key, token or column less."""
    axes = {name: AXES[name] for name in args if name in AXES}
    if "X" in args and "mask" in args:
        axes["mask"] = "tt"
    for axis in sorted({axis for letters in axes.values() for axis in letters} - {"-"}):
        sizes = {np.shape(args[name])[letters.index(axis)] for name, letters in axes.items() if axis in letters}
        for i in reversed(range(max(sizes) if max(sizes) > 1 else 0)):
            yield {name: without(value, axes.get(name, ""), axis, i) for name, value in args.items()}


def without(value: Any, letters: str, axis: str, i: int) -> Any:
    """An array without place ``i`` of each of its axes of that letter."""
    for place, letter in enumerate(letters):
        value = np.delete(value, i, axis=place) if letter == axis else value
    return value


def rounder(args: Args) -> Iterator[dict[str, Any]]:
    """The same input with whole numbers, then with smaller ones."""
    floats = {name: value for name, value in args.items() if isinstance(value, np.ndarray) and value.dtype != bool}
    for change in (np.round, lambda v: np.clip(np.round(v), -2, 2), np.sign, lambda v: np.clip(np.round(v), 0, 1)):
        for name, value in floats.items():
            if (change(value) != value).any():
                yield {**args, name: change(value)}
        changed = {name: change(value) for name, value in floats.items()}
        if any((changed[name] != floats[name]).any() for name in floats):
            yield {**args, **changed}
    for name, value in floats.items():
        for i in np.flatnonzero(value) if value.size <= 12 else ():
            yield {**args, name: np.where(np.arange(value.size).reshape(value.shape) == i, 0, value)}


@dataclass(frozen=True)
class Shown:
    """What an answer that no mistake explains can be shown by.

    Attributes
    ----------
    said : str
        A property that the answer in question breaks, in lower case and without a stop; "" for none.
    smaller : dict
        The smallest input like the one in question that is answered as wrongly; the same one if there is none, and
        nothing if none is looked for.
    said_there : str
        A property that the answer to that one breaks.
    """

    said: str
    smaller: Mapping[str, Any]
    said_there: str


def broken(exercise: Exercise, ask: Ask, args: Args, kind: str, shrink: bool = True) -> Shown:
    """The first property that an answer breaks, and the smallest input like the one in question.

    Parameters
    ----------
    exercise : Exercise
    ask : callable(args) -> Answer
        Puts a question to the student's function.
    args : dict
        An input for which its answer is wrong.
    kind : str
        The kind of that fault.
    shrink : bool
        Whether to look for a smaller input; if not, none is shown.
    """
    probe = Probe(exercise, ask, kind)
    value = probe.value(args)
    said = said_of_rounding(value, probe.right(args))
    if said:  # by hand, one would round as well: a smaller input shows nothing
        return Shown(said, {}, "")
    said = broken_property(probe, args, value)
    if not shrink:
        return Shown(said, {}, "")
    smaller = smallest(probe, args)
    if all(smaller[name] is args[name] for name in args):
        return Shown(said, args, said)
    fault = probe.fault(smaller)
    said_there = broken_property(probe, smaller, probe.value(smaller))
    return Shown(said, smaller, said_there or (f"you get {fault.text}" if fault else ""))


def said_of_rounding(value: np.ndarray | None, right: np.ndarray) -> str:
    """What is to be said of numbers that are right but for having been rounded, or ""."""
    if value is None or value.dtype.kind != "f" or value.shape != right.shape:
        return ""
    for decimals, words in ((1, "one decimal"), (2, "two decimals"), (3, "three decimals")):
        if near(value, np.round(value, decimals), 1e-9).all() and near(value, right, 0.501 * 0.1**decimals).all():
            return f"no number of your answer has more than {words}. Where were they rounded?"
    return ""


def broken_property(probe: Probe, args: Args, value: np.ndarray | None) -> str:
    """The first property that the answer to one input, ``value``, breaks, or ""."""
    known, right = probe.known(args), probe.right(args)
    fault = None if value is None else compare(value, right)
    if value is None or fault is None or fault.kind != "values":
        return ""
    if value.size > 1 and np.ptp(value.astype(float)) == 0 and np.ptp(right.astype(float)) > 0:
        return f"all numbers of your answer are {number(value.flat[0])}"
    properties = PROPERTIES.get(probe.exercise.answer)
    return next(properties(probe, args, value, known), "") if properties else ""


def changed(before: np.ndarray, after: np.ndarray | None) -> str:
    """Where and how two answers differ that should be the same; "" if they don't, or can't be compared."""
    if after is None or after.shape != before.shape:
        return ""
    fault = compare(after, before)
    if fault is None:
        return ""
    was, then = apart(before[fault.place], after[fault.place])
    return f"{where(fault.place)} it was {was} and then {then}"


def apart(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell one from the other."""
    told = [(number(a), number(b)), *((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in range(4, 12))]
    return next((one for one in told if one[0] != one[1]), told[0])


def allowed_pairs(known: Mapping[str, Any], n_q: int, n_k: int) -> np.ndarray:
    """Which query may use which key, (n_q, n_k)."""
    return np.broadcast_to(True if known.get("allowed") is None else known["allowed"], (n_q, n_k))


OTHER_FACTOR = (
    "{} all too large, or all too small, by one and the same factor. "
    "By what were the dot products divided, and which size of which table is that?"
)


def one_factor(values: np.ndarray, right: np.ndarray) -> bool:
    """Whether all numbers are the right ones times one factor above 0; nan stands where there is nothing to compare."""
    told = np.isfinite(values) & np.isfinite(right)
    ratio = np.nansum(values[told] * right[told]) / np.nansum(right[told] ** 2) if right[told].any() else 0
    return told.sum() > 1 and ratio > 0 and bool(near(values[told], ratio * right[told], 1e-6).all())


def spread(scores: np.ndarray) -> np.ndarray:
    """Scores (n_q, n_k) counted from the mean of their row, which the softmax doesn't see."""
    return scores - np.nanmean(scores, axis=-1, keepdims=True)


# Each of the following is asked with the probe, an input, the student's answer to it, and the quantities of the right
# calculation. It yields a sentence for each property that is broken, the most telling first.


def weights_properties(probe: Probe, args: Args, weights: np.ndarray, known: Args) -> Iterator[str]:
    allowed = allowed_pairs(known, *weights.shape)
    for i, row in enumerate(weights):
        name = f"row {i + 1} of your weights"
        if (row < 0).any():
            yield f"{name} has a negative entry, {number(row.min())}"
        if row[~allowed[i]].any():
            j = int(np.argmax(np.where(allowed[i], 0, np.abs(row))))
            yield f"{name} gives {number(row[j])} to key {j + 1}, which is hidden"
        if abs(row.sum() - 1) > 1e-4:
            yield f"{name} adds to {apart(row.sum(), 1.0)[0]}"
        scores, top = known["masked_scores"][i], int(np.argmax(row))
        if scores[top] < scores.max() and row[top] > row[np.argmax(scores)]:
            yield f"{name} gives the most, {number(row[top])}, to key {top + 1}, whose score isn't the largest"
    usual = np.where(allowed, known["masked_scores"], np.nan)
    with np.errstate(all="ignore"):
        if one_factor(spread(np.where(allowed, np.log(weights), np.nan)), spread(usual)):
            yield OTHER_FACTOR.format("your weights are those of scores that are")


def output_properties(probe: Probe, args: Args, output: np.ndarray, known: Args) -> Iterator[str]:
    V = known["V"]
    for i, row in enumerate(output):
        values = V[allowed_pairs(known, len(output), len(V))[i]]
        outside = (row < values.min(axis=0) - 1e-3) | (row > values.max(axis=0) + 1e-3)
        if outside.any():
            c = int(np.argmax(outside))
            yield f"output {i + 1} lies outside the range of the values it may use: column {c + 1} is {number(row[c])}"
    yield from hidden_token_matters(probe, args, output, known)
    if "V" in args:
        backwards = {"K": args["K"][::-1], "V": args["V"][::-1]}
        backwards |= {"mask": args["mask"][:, ::-1]} if "mask" in args else {}
        differs = changed(output, probe.value({**args, **backwards}))
        if differs:
            yield f"listing the keys with their values in the opposite order changed your output: {differs}"


def hidden_token_matters(probe: Probe, args: Args, output: np.ndarray, known: Args) -> Iterator[str]:
    """A key that a query may not use must not change its output."""
    token = "V" if "V" in args else "X"
    for i, j in np.argwhere(~allowed_pairs(known, len(output), len(args[token]))):
        moved = args[token].copy()
        moved[j] += 1
        after = probe.value({**args, token: moved})
        differs = "" if after is None or after.shape != output.shape else changed(output[i], after[i])
        if differs and (token == "V" or i != j):
            yield f"changing token {j + 1} changed the output of token {i + 1}, which may not see it: {differs}"
            return


def final_properties(probe: Probe, args: Args, output: np.ndarray, known: Args) -> Iterator[str]:
    yield from hidden_token_matters(probe, args, output, known)
    if "mask" not in args:
        after = probe.value({**args, "X": args["X"][::-1]})
        differs = changed(output, None if after is None else after[::-1])
        if differs:
            yield f"listing the tokens in the opposite order changed what a token gets: {differs}"


def scores_properties(probe: Probe, args: Args, scores: np.ndarray, known: Args) -> Iterator[str]:
    totals = scores.sum(axis=-1)
    if len(totals) > 1 and totals.any() and near(totals, totals[0], 1e-6).all():
        yield f"each row of your scores adds to {number(totals[0])}"
    for i, j in np.argwhere((scores != 0) & ~args["Q"].any(axis=-1)[:, None]):
        yield f"query {i + 1} is all zeros, and yet it scores {number(scores[i, j])} with key {j + 1}"
    doubled = probe.value({**args, "Q": 2 * args["Q"]})
    fault = None if doubled is None else compare(doubled, 2 * scores)
    if doubled is not None and fault and fault.place:
        before, after = apart(scores[fault.place], doubled[fault.place])
        yield f"twice as long a query should score twice as much; {where(fault.place)} it went from {before} to {after}"
    if one_factor(scores, known["scores"]):
        yield OTHER_FACTOR.format("your scores are")


def moved_numbers(probe: Probe, args: Args, value: np.ndarray, known: Args) -> Iterator[str]:
    """Splitting and merging only move numbers."""
    given = np.asarray(args["Y"] if "Y" in args else args["Z"])
    strangers = value[~np.isin(np.round(value, 9), np.round(given, 9))]
    lost = given[~np.isin(np.round(given, 9), np.round(value, 9))]
    fault = compare(value, probe.right(args))
    if strangers.size:
        yield f"your answer holds {number(strangers.flat[0])}, which is not among the numbers that it was given"
    elif lost.size:
        yield "some numbers stand in your answer more than once, and others are lost"
    elif fault:
        yield f"all numbers are there, but not in their places: you have {fault.text}"


def mask_properties(probe: Probe, args: Args, mask: np.ndarray, known: Args) -> Iterator[str]:
    i, j = np.argwhere(mask != known["allowed"])[0]
    says = "may use" if mask[i, j] else "may not use"
    yield f"by your mask, row {i + 1} {says} key {j + 1}: the entry is {number(mask[i, j])}"


PROPERTIES: Mapping[str, Callable[[Probe, Args, np.ndarray, Args], Iterator[str]]] = {
    "weights": weights_properties,
    "output": output_properties,
    "final": final_properties,
    "scores": scores_properties,
    "parts": moved_numbers,
    "merged": moved_numbers,
    "allowed": mask_properties,
}
