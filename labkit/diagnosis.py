"""Which mistake, or which two, explain an answer: every suspect is tried on the same inputs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from .calculation import ORDER, SIZES, parameters, run
from .exercise import Exercise, Mistake, Way
from .mistakes import MISTAKES

MOST_BY_WORDS = 2  # an error alone, in the words of many mistakes, tells nothing
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
    wrong: bool = True
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


@cache
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
            about_heads = mistake.step == "heads" and way.makes != "projected"
            if way.makes in exercise.steps and wanted <= names and ("n_heads" in names or not about_heads):
                yield Suspect((mistake,), (way,))


@cache
def needs_mask(way: Way) -> bool:
    return not {"mask", "allowed"}.isdisjoint(parameters(way.function))


def replace_the_same(a: Way, b: Way) -> bool:
    return a.makes == b.makes and not (a.spoils or b.spoils)


def steps_left_out(exercise: Exercise, inputs: Sequence[Mapping]) -> set[str]:
    """Steps at which nothing can go wrong here."""
    tables, heads = exercise.is_table, not {"n_heads", "W_Q"}.isdisjoint(inputs[0])
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
        if self.inputs[index].get("mask", ...) is None:  # no mask, no mistake with the mask, unless one brings a mask
            if not any(way.makes == "allowed" and not needs_mask(way) for way in ways):
                ways = tuple(way for way in ways if not needs_mask(way))
        key = (*map(id, ways), index)
        if key not in self.worked:
            self.worked[key] = self.work_out(ways, index)
        return self.worked[key]

    def work_out(self, ways: tuple[Way, ...], index: int) -> dict:
        steps, known = self.exercise.steps, dict(self.inputs[index])
        if len(ways) == 2:  # all that comes before the second mistake is as with the first alone
            known = dict(self.with_ways(ways[:1], index))
            known.pop("raised", None)
            later = place(ways[1])
            steps = tuple(itertools.dropwhile(lambda s: ORDER[s] < later and s in known, steps))
        try:
            return run(steps, known, ways, self.exercise.skips)
        except Exception as error:  # a mistaken step may raise anything, as a student's would
            known["raised"] = Raised(type(error).__name__, str(error))
            return known

    def right(self, index: int) -> np.ndarray:
        return answer_of(self.exercise, self.with_ways((), index))

    def predicts(self, suspect: Suspect, index: int) -> np.ndarray | Raised:
        known = self.calculation(suspect, index)
        return known["raised"] if "raised" in known else answer_of(self.exercise, known)

    def telling_first(self, seen: Mapping[int, Seen]) -> list[int]:
        """Inputs in an order in which a contradiction shows soon: wrong answers first, and where few suspects raise."""

        def raising(i):
            return sum("raised" in self.calculation(suspect, i) for suspect in self.singles)

        return sorted(seen, key=lambda i: (not seen[i].wrong, raising(i) if seen[i].wrong else 0))

    def evidence_against(self, suspect: Suspect, seen: Mapping[int, Seen]) -> "Evidence | None":
        """What speaks for this suspect, or None if any answer speaks against it."""
        numbers = words = unlike = 0
        for index, one in seen.items():
            known = self.calculation(suspect, index)
            if "raised" in known or isinstance(one.answer, Raised):
                both = "raised" in known and isinstance(one.answer, Raised)
                alike = both and known["raised"] == one.answer
                words, unlike = words + alike, unlike + (0 if alike else 1 if both else 2)
                continue
            explained = self.explains(suspect, known, index, one)
            if explained is None:
                return None
            numbers += explained
        return Evidence(numbers, words, unlike)

    def explains(self, suspect: Suspect, known: Mapping, index: int, one: Seen) -> int | None:
        """How many wrong numbers of one answer the suspect explains; None if it would have given others."""
        guess = answer_of(self.exercise, known)
        within = one.within * max(mistake.coarser for mistake in suspect.mistakes)
        free = free_cells(known, one)
        if differ_at_a_glance(guess, one.answer, within, free):
            return None
        free = np.zeros(guess.shape, dtype=bool) if free is None else free
        if not (equal(guess, one.answer, within) | both_spoilt(guess, one.answer) | free).all():
            return None
        right = self.right(index)
        wrong = ~equal(right, one.answer, one.within) if right.shape == guess.shape else np.ones_like(free)
        return int((wrong & ~free).sum())


@dataclass(frozen=True)
class Evidence:
    """What speaks for a suspect: wrong numbers explained, errors in the same words, and errors in other words."""

    numbers: int
    words: int
    unlike: int  # twice as much where only one side raised

    @property
    def holds(self) -> bool:
        """One number is enough where all else agrees; a few are needed where errors differ; else the very words."""
        return self.numbers >= (3 if self.unlike else 1) or (self.words > 0 and not self.unlike)

    @property
    def strength(self) -> tuple[int, int]:
        return -self.unlike, self.numbers


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


def differ_at_a_glance(a: np.ndarray, b: np.ndarray, within, free) -> bool:
    """Shapes, and one number: that settles most comparisons."""
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return True
    if free is not None or a.size == 0:
        return False
    middle = a.size // 2
    x, y = a.item(middle), b.item(middle)
    return abs(x - y) > (within if np.ndim(within) == 0 else within.item(middle))


def equal(a: np.ndarray, b: np.ndarray, within) -> np.ndarray:
    return (np.abs(np.subtract(a, b, dtype=float)) <= within) | (a == b)


def both_spoilt(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rows that hold nan or infinity on both sides: which of their cells do is a matter of how it was computed."""
    if a.ndim == 0:
        return ~np.isfinite(a) & ~np.isfinite(b)
    return ~np.isfinite(a).all(axis=-1, keepdims=True) & ~np.isfinite(b).all(axis=-1, keepdims=True)


def diagnose(lineup: Lineup, seen: Mapping[int, Seen]) -> list[Suspect]:
    """The suspects that explain all that was seen, most likely first: single mistakes, or else pairs.

    Parameters
    ----------
    lineup : Lineup
    seen : dict
        Index of the input -> what came of it.

    Returns
    -------
    list of Suspect
        One for each set of mistakes; several where they come to the same on all these inputs.
    """
    with np.errstate(all="ignore"):
        for line in ("singles", "pairs"):
            ordered = seen if line == "singles" else {i: seen[i] for i in lineup.telling_first(seen)}
            evidence = [(suspect, lineup.evidence_against(suspect, ordered)) for suspect in getattr(lineup, line)]
            found = [(suspect, against) for suspect, against in evidence if against and against.holds]
            if found:
                best = max(against.strength for _, against in found)
                likely = one_each([suspect for suspect, against in found if against.strength == best])
                return likely if best[1] or len(likely) <= MOST_BY_WORDS else []
    return []


def one_each(suspects: list[Suspect]) -> list[Suspect]:
    return list({suspect.ids: suspect for suspect in reversed(suspects)}.values())[::-1]
