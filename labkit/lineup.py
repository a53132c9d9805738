"""The suspects of an exercise: every mistake that it has room for, every two, and what each would have answered."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from .calculation import ORDER, SIZES, apply, parameters, run
from .exercise import PRODUCT_OF_STEP, Exercise, Mistake, Way
from .mistakes import MISTAKES

MOST_VARIANTS_IN_PAIRS = 4  # a fill can be any number: in pairs only the first few are tried


@dataclass(frozen=True)
class Raised:
    """Stands where an array would, when a calculation raised."""

    type: str
    text: str


@dataclass(frozen=True)
class Suspect:
    """One way of going wrong, or two, or none; of two, the ways stand in the order in which they take effect."""

    mistakes: tuple[Mistake, ...]
    ways: tuple[Way, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in the order of the calculation's steps."""
        both = sorted(zip(self.mistakes, self.ways, strict=True), key=lambda one: step_place(*one))
        return tuple(mistake.id for mistake, _ in both)

    @property
    def is_frequent(self) -> bool:
        return all(mistake.frequent for mistake in self.mistakes)

    @property
    def frequent_ones(self) -> int:
        return sum(mistake.frequent for mistake in self.mistakes)

    @property
    def rank(self) -> int:
        """How far down its mistake's list a way stands: the first is the one that the words are about."""
        both = zip(self.mistakes, self.ways, strict=True)
        return sum(list(dict.fromkeys(w.function for w in mistake.ways)).index(way.function) for mistake, way in both)


def answer_of(exercise: Exercise, known: Mapping[str, Any]) -> np.ndarray:
    """The quantity that the exercise asks for; of a tuple of projections or heads, the first."""
    value = known[exercise.answer]
    return np.asarray(value[0] if isinstance(value, tuple) else value)


@cache
def first_place(way: Way) -> int:
    """Where in the calculation a way of going wrong first shows."""
    return min(ORDER[name] for name in (way.makes, *way.skips))


@cache
def last_place(way: Way) -> int:
    """From where on the calculation is as it should be, but for what came before."""
    return max(ORDER[name] for name in (way.makes, *way.skips))


def step_place(mistake: Mistake, way: Way) -> int:
    """Where its step stands in the calculation, wherever it shows."""
    if mistake.step in ("heads", "cross"):
        return ORDER[way.makes]
    return ORDER.get(PRODUCT_OF_STEP[mistake.step], len(ORDER))


def singles(exercise: Exercise, inputs: Sequence[Mapping[str, Any]]) -> Iterator[Suspect]:
    """All single mistakes that an exercise has room for, way by way, the common ones first."""
    names = {*inputs[0], *exercise.quantities, "answer"}
    names |= {size for size, (quantity, _) in SIZES.items() if quantity in names}
    left_out = steps_left_out(exercise, inputs)
    for mistake in MISTAKES.values():
        on_paper = mistake.in_code and exercise.is_table and not exercise.exact
        if mistake.remark or on_paper or mistake.step in left_out or mistake.id in exercise.no_mistakes:
            continue
        for way in mistake.ways:
            way = replace(way, makes=exercise.answer) if way.makes == "answer" else way
            about_heads = mistake.step == "heads" and way.makes != "projected"
            wanted = {*parameters(way.function), *(["n_heads"] if about_heads else [])}
            if way.makes in set(exercise.quantities) - set(exercise.settled) and wanted <= names:
                yield Suspect((mistake,), (way,))


def steps_left_out(exercise: Exercise, inputs: Sequence[Mapping[str, Any]]) -> set[str]:
    """Steps at which nothing can go wrong here."""
    hides = any(known.get("mask") is not None and not np.all(known["mask"]) for known in inputs)
    projects = not {"n_heads", "W_Q"}.isdisjoint(inputs[0])
    room = {"conduct": False, "hand": exercise.is_table, "heads": projects, "mask": hides}
    return {step for step, there in room.items() if not there}


def can_meet(a: Suspect, b: Suspect) -> bool:
    """Whether two mistakes can be made at once: not the same one, and not two in place of one step."""
    (one,), (other,) = a.ways, b.ways
    if "ignores_the_mask" in (*a.ids, *b.ids) and a.mistakes[0].step == b.mistakes[0].step:
        return False  # where the mask is ignored, nothing else that is done with it shows
    return a.mistakes != b.mistakes and (one.makes != other.makes or one.spoils or other.spoils)


class Lineup:
    """The suspects of one exercise on one list of inputs; each is worked out once, and only when asked for.

    Attributes
    ----------
    exercise : Exercise
    inputs : list of dict
        The quantities that each calculation starts from, as ``exercise.given`` makes them.
    singles : list of Suspect
        Every mistake that the exercise has room for, way by way.
    unsolved : list of Suspect
        Those with a number that has to be solved for.
    """

    def __init__(self, exercise: Exercise, inputs: Sequence[Mapping[str, Any]]) -> None:
        self.exercise, self.inputs = exercise, inputs
        found = list(singles(exercise, inputs))
        self.singles = [suspect for suspect in found if not suspect.ways[0].unknown]
        # With two decimals, some number would fit nearly every table.
        self.unsolved = [] if exercise.is_table else [suspect for suspect in found if suspect.ways[0].unknown]
        self.kept = {suspect.ways[0] for suspect in self.singles}
        self.need_a_mask = {way for way in self.kept if not {"mask", "allowed"}.isdisjoint(parameters(way.function))}
        self.worked: dict[tuple, dict[str, Any]] = {}
        self.guesses: dict[int, list[np.ndarray | Raised | None]] = {}

    @cached_property
    def pairs(self) -> list[Suspect]:
        """Two mistakes at different steps first, then two at one step with different results."""
        groups = itertools.groupby(self.singles, lambda suspect: suspect.ids)
        few = [suspect for _, ways in groups for suspect in itertools.islice(ways, MOST_VARIANTS_IN_PAIRS)]
        ordered = sorted(few, key=lambda suspect: first_place(suspect.ways[0]))
        both = [
            Suspect(a.mistakes + b.mistakes, a.ways + b.ways)
            for a, b in itertools.combinations(ordered, 2)
            if can_meet(a, b)
        ]
        return sorted(both, key=lambda pair: pair.mistakes[0].step == pair.mistakes[1].step)

    def calculation(self, ways: tuple[Way, ...], index: int) -> dict[str, Any]:
        """All quantities of input ``index`` with these ways of going wrong; ``raised`` among them if it raised."""
        ways = self.coming_up(ways, index)
        if not self.kept.issuperset(ways):  # a number was solved for, for one answer only
            return self.work_out(ways, index)
        key = (*ways, index)
        if key not in self.worked:
            self.worked[key] = self.work_out(ways, index)
        return self.worked[key]

    def coming_up(self, ways: tuple[Way, ...], index: int) -> tuple[Way, ...]:
        """Those of the ways that make a difference: without a mask, nobody gets the mask wrong."""
        if self.need_a_mask.isdisjoint(ways) or self.inputs[index].get("mask", ...) is not None:
            return ways
        left = tuple(way for way in ways if way not in self.need_a_mask)
        return ways if any(way.makes == "allowed" for way in left) else left

    def work_out(self, ways: tuple[Way, ...], index: int) -> dict[str, Any]:
        """The same, anew."""
        steps, known = self.exercise.quantities, dict(self.inputs[index])
        if len(ways) == 2:  # all that comes before the second mistake is as with the first alone
            known = dict(self.calculation(ways[:1], index))
            known.pop("raised", None)
            later = first_place(ways[1])
            steps = tuple(itertools.dropwhile(lambda step: ORDER[step] < later and step in known, steps))
        try:
            return run(steps, known, ways, self.exercise.skips)
        except Exception as error:  # a mistaken step may raise anything, as a student's would
            known["raised"] = Raised(type(error).__name__, str(error))
            return known

    def right(self, index: int) -> np.ndarray:
        """The right answer to input ``index``."""
        return answer_of(self.exercise, self.calculation((), index))

    def predicts(self, suspect: Suspect, index: int) -> np.ndarray | Raised:
        """What a suspect would have answered to input ``index``."""
        known = self.calculation(suspect.ways, index)
        return known["raised"] if "raised" in known else answer_of(self.exercise, known)

    def pair_guesses(self, index: int) -> list[np.ndarray | Raised | None]:
        """What each pair would have answered to one input, as far as that is quickly said, or its error.

        Second mistakes at the same step after the same first one are stacked along a leading axis,
        and the rest of the calculation is done once for all of them. A mistake that doesn't come up
        leaves the other one's answer.
        """
        if index not in self.guesses:
            self.guesses[index] = self.guess_pairs(index)
        return self.guesses[index]

    def guess_pairs(self, index: int) -> list[np.ndarray | Raised | None]:
        """The same, anew."""
        guesses: list[np.ndarray | Raised | None] = [None] * len(self.pairs)
        alone = {suspect.ways: self.predicts(suspect, index) for suspect in (Suspect((), ()), *self.singles)}
        groups: dict[tuple[Way, str], list[int]] = {}
        for number, pair in enumerate(self.pairs):
            first, second = pair.ways
            ways = self.coming_up(pair.ways, index)
            if ways in alone:
                guesses[number] = alone[ways]
            elif makes_one_array(second) and last_place(first) < ORDER[second.makes]:  # the first is over by then
                groups.setdefault((first, second.makes), []).append(number)
        for numbers in groups.values():
            for number, guess in self.stacked(numbers, index):
                guesses[number] = guess
        for number, pair in enumerate(self.pairs):
            if guesses[number] is None:
                guesses[number] = self.calculation(pair.ways, index).get("raised")
        return guesses

    def stacked(self, numbers: list[int], index: int) -> Iterator[tuple[int, np.ndarray]]:
        """The numbers of pairs with one first mistake and one second step, and what each would have answered."""
        first, second = self.pairs[numbers[0]].ways
        known, made = self.calculation((first,), index), second.makes
        if made not in known:
            return
        done: list[int] = []
        products: list[np.ndarray] = []
        before = {**known, "answer": known[made]}
        for number in numbers:
            way = self.pairs[number].ways[1]
            try:
                product = apply(way.function, before, way.options)
            except Exception:
                continue
            if np.shape(product) == np.shape(known[made]):
                done.append(number)
                products.append(product)
        rest = [step for step in self.exercise.quantities if ORDER[step] > ORDER[made]]
        try:
            stack = run(rest, {**known, made: np.stack(products)}, (), self.exercise.skips)[self.exercise.answer]
        except Exception:
            return
        yield from zip(done, stack, strict=True)


@cache
def makes_one_array(way: Way) -> bool:
    """Whether a way is about one step alone, and what that makes is an array, so that several can be stacked."""
    return not way.skips and way.makes not in ("projected", "parts", "allowed")
