"""Which mistake, or which two, explain an answer: every suspect is tried on the same inputs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .calculation import ORDER, SIZES, parameters, run
from .exercise import Exercise, Mistake, Way
from .mistakes import MISTAKES

MOST_VARIANTS_IN_PAIRS = 2  # a fill can be any number: in pairs only the first few are tried


@dataclass(frozen=True)
class Raised:
    """Stands where an array would, when a calculation raised."""

    type: str
    text: str


@dataclass(frozen=True)
class Seen:
    """A student's answer to one input: the input's quantities and what came."""

    known: Mapping
    answer: np.ndarray | Raised
    within: np.ndarray | float = 0.0
    open: np.ndarray | None = None  # cells that were left open


@dataclass(frozen=True)
class Suspect:
    """One way of going wrong, or two at different steps, the earlier one first."""

    mistakes: tuple[Mistake, ...]
    ways: tuple[Way, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(mistake.id for mistake in self.mistakes)


def answer_of(exercise: Exercise, known: Mapping):
    """The quantity that the exercise asks for; of a tuple of projections or heads, the first."""
    value = known[exercise.answer]
    return np.asarray(value[0] if isinstance(value, tuple) else value)


def place(way: Way) -> int:
    """Where in the calculation a way of going wrong first shows."""
    return min(ORDER[name] for name in (way.makes, *way.skips) if name in ORDER)


def available(exercise: Exercise, known: Mapping) -> set[str]:
    names = {*known, *exercise.steps, "answer"}
    base = {"d_k": "Q", "d_v": "V", "n_q": "Q", "n_k": "K", "d_model": "X"}
    return names | {size for size in SIZES if base[size] in names}


def suspects(exercise: Exercise, inputs: Sequence[Mapping]) -> Iterator[Suspect]:
    """All single mistakes that an exercise has room for, way by way, the common ones first."""
    names = available(exercise, inputs[0])
    left_out = steps_left_out(exercise, inputs)
    for mistake in MISTAKES.values():
        if mistake.remark or mistake.step in left_out:
            continue
        for way in mistake.ways:
            way = replace(way, makes=exercise.answer) if way.makes == "answer" else way
            wanted = {exercise.answer if name == "answer" else name for name in parameters(way.function)}
            if way.makes in exercise.steps and wanted <= names:
                yield Suspect((mistake,), (way,))


def needs_mask(way: Way) -> bool:
    return not {"mask", "allowed"}.isdisjoint(parameters(way.function))


def replace_the_same(a: Way, b: Way) -> bool:
    return a.makes == b.makes and not (a.spoils or b.spoils)


def steps_left_out(exercise: Exercise, inputs: Sequence[Mapping]) -> set[str]:
    """Steps at which nothing can go wrong here."""
    tables, heads = exercise.is_table, "n_heads" in inputs[0]
    hides = any(known.get("mask") is not None and not np.all(known["mask"]) for known in inputs)
    room = {"conduct": False, "hand": tables, "heads": heads, "mask": hides}
    return {step for step, there in room.items() if not there}


class Lineup:
    """The suspects of one exercise on one list of inputs; each is worked out once, and only when asked for."""

    def __init__(self, exercise: Exercise, inputs: Sequence[Mapping]):
        self.exercise, self.inputs = exercise, inputs
        self.singles = list(suspects(exercise, inputs))
        self.worked: dict = {}

    @cached_property
    def pairs(self) -> list[Suspect]:
        """Two mistakes at different steps, or at least with different results, in the calculation's order."""
        groups = itertools.groupby(self.singles, lambda suspect: suspect.ids)
        few = [suspect for _, ways in groups for suspect in itertools.islice(ways, MOST_VARIANTS_IN_PAIRS)]
        ordered = sorted(few, key=lambda s: place(s.ways[0]))
        both = [
            Suspect(a.mistakes + b.mistakes, a.ways + b.ways)
            for a, b in itertools.combinations(ordered, 2)
            if a.ids != b.ids and not replace_the_same(a.ways[0], b.ways[0])
        ]
        return sorted(both, key=lambda s: s.mistakes[0].step == s.mistakes[1].step)

    def calculation(self, suspect: Suspect, index: int) -> dict:
        """All quantities that this suspect would have had for input ``index``; ``raised`` among them if it raised."""
        return self.with_ways(suspect.ways, index)

    def with_ways(self, ways: tuple[Way, ...], index: int) -> dict:
        if self.inputs[index].get("mask", ...) is None:  # without a mask, nobody gets the mask wrong
            ways = tuple(way for way in ways if not needs_mask(way))
        key = (*map(id, ways), index)
        if key not in self.worked:
            self.worked[key] = self.work_out(ways, index)
        return self.worked[key]

    def work_out(self, ways: tuple[Way, ...], index: int) -> dict:
        steps = self.exercise.steps
        known = dict(self.inputs[index])
        if len(ways) == 2:  # all that comes before the second mistake is as with the first alone
            known = {k: v for k, v in self.with_ways(ways[:1], index).items() if k != "raised"}
            later = place(ways[1])
            done = {s for s in steps if ORDER[s] < later and s in known}
            steps = tuple(itertools.dropwhile(lambda s: s in done, steps))
        try:
            return run(steps, known, ways, self.exercise.skips)
        except Exception as error:  # a mistaken step may raise anything, as a student's would
            known["raised"] = Raised(type(error).__name__, str(error))
            return known

    def right(self, index: int) -> np.ndarray:
        return answer_of(self.exercise, run(self.exercise.steps, dict(self.inputs[index]), (), self.exercise.skips))

    def predicts(self, suspect: Suspect, index: int) -> np.ndarray | Raised:
        known = self.calculation(suspect, index)
        return known["raised"] if "raised" in known else answer_of(self.exercise, known)

    def explains(self, suspect: Suspect, seen: Mapping[int, Seen]) -> bool:
        """Whether the suspect would have given all these answers (index of the input -> what came)."""
        return all(self.agrees(suspect, index, one) for index, one in seen.items())

    def agrees(self, suspect: Suspect, index: int, seen: Seen) -> bool:
        known = self.calculation(suspect, index)
        if "raised" in known:
            return isinstance(seen.answer, Raised)
        if isinstance(seen.answer, Raised):
            return False
        coarser = max(mistake.coarser for mistake in suspect.mistakes)
        free = free_cells(known, seen)
        return same(answer_of(self.exercise, known), seen.answer, seen.within * coarser, free)


def free_cells(known: Mapping, seen: Seen) -> np.ndarray | None:
    """Cells that say nothing about a mistake: those left open, and the rows of queries without any allowed key."""
    free = seen.open
    if known.get("allowed") is not None and "masked_scores" in known:
        empty = ~np.asarray(known["allowed"]).any(axis=-1)
        shape = seen.answer.shape
        if empty.any() and len(shape) >= 2 and shape[-2] == empty.shape[-1]:
            rows = np.broadcast_to(empty.reshape(-1, shape[-2])[0][:, None], shape)
            free = rows if free is None else free | rows
    return free


def same(a: np.ndarray, b: np.ndarray, within: np.ndarray | float, free: np.ndarray | None = None) -> bool:
    """Equal shapes and equal numbers (nan with nan), but for the free cells."""
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return False
    if a.size == 0:
        return True
    if free is None:  # one look at one number settles most comparisons
        middle = a.size // 2
        x, y = a.item(middle), b.item(middle)
        if abs(x - y) > (within if np.ndim(within) == 0 else within.item(middle)):
            return False
    close = np.abs(np.subtract(a, b, dtype=float)) <= within
    close |= (a == b) | (np.isnan(a) & np.isnan(b))
    return bool((close if free is None else close | free).all())


def diagnose(lineup: Lineup, seen: Mapping[int, Seen], extreme: Mapping[int, Seen] = {}) -> list[Suspect]:
    """The suspects that explain all that was seen, most likely first: single mistakes, or else pairs.

    Where none explains what came of the extreme inputs too, those that explain the rest are given.
    Only one suspect is kept for each set of mistakes.
    """
    everything = {**seen, **extreme}
    nearly: list[Suspect] = []
    with np.errstate(all="ignore"):
        for line in (lineup.singles, lineup.pairs):
            found = [suspect for suspect in line if lineup.explains(suspect, seen)]
            full = [s for s in found if lineup.explains(s, extreme) and convicted(lineup, s, everything)]
            if full:
                return one_each(full)
            nearly = nearly or [s for s in found if convicted(lineup, s, seen)]
    return one_each(nearly)


def one_each(suspects: list[Suspect]) -> list[Suspect]:
    return list({suspect.ids: suspect for suspect in reversed(suspects)}.values())[::-1]


def convicted(lineup: Lineup, suspect: Suspect, seen: Mapping[int, Seen]) -> bool:
    """Whether an agreement means anything: a number that is wrong, or the very words of an error."""
    for index, one in seen.items():
        if isinstance(one.answer, Raised):
            if lineup.predicts(suspect, index) == one.answer:
                return True
        else:
            free = free_cells(lineup.calculation(suspect, index), one)
            if not same(lineup.right(index), one.answer, one.within, free):
                return True
    return False
