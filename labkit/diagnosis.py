"""Which mistake, or which two, explain an answer: evidence for and against every suspect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .answer import near
from .calculation import run
from .exercise import Way
from .lineup import Lineup, Raised, Suspect, answer_of

MOST_ALIKE = 4  # sets of mistakes that come to the same, of which a student may want to hear
MOST_FOR_A_TABLE = 4  # in a small table, many mistakes may come to the same by chance
MOST_BY_WORDS = 2  # an error in the words of many mistakes, or few numbers that many explain, tells nothing
COARSE_SIZE = 10  # numbers this large at the least may be off by more than the last decimal
MOST_HALVINGS = 60
MOST_SLACK = 100  # of a percentage
ENOUGH_NUMBERS = 3  # where errors differ, so many wrong numbers have to be explained


@dataclass(frozen=True)
class Numbers:
    """Numbers that came back, and how near others have to be to count as equal.

    Attributes
    ----------
    value : array (...)
    within : float or array (...)
        Largest absolute difference.
    open : bool array (...), optional
        True in cells that say nothing about a mistake.
    slack : float
        How many times ``within`` a mistaken step may be off, since numbers were rounded on the way.
    """

    value: np.ndarray
    within: np.ndarray | float
    open: np.ndarray | None = None
    slack: float = 1.0


@dataclass(frozen=True)
class Seen:
    """A student's answer to one input.

    Attributes
    ----------
    answer : Numbers or Raised
    wrong : bool
    extreme : bool
        Numbers came back for extreme ones; never so for an error, from which no number can be solved for.
    """

    answer: Numbers | Raised
    wrong: bool = True
    extreme: bool = False


@dataclass(frozen=True)
class Evidence:
    """What speaks for a suspect.

    Attributes
    ----------
    numbers : int
        Wrong numbers that it explains.
    words : int
        Inputs on which it raises the same error in the same words.
    unlike : int
        Inputs on which it raises another error; twice as much where only one side raised.
    compared : int
        Inputs on which both sides gave numbers.
    """

    numbers: int
    words: int
    unlike: int
    compared: int

    def is_whole(self) -> bool:
        """Whether nothing is left unexplained."""
        return not self.unlike and (self.numbers > 0 or self.words > 0)

    def is_enough(self) -> bool:
        """Whether enough is explained to overlook errors that aren't."""
        return self.numbers >= ENOUGH_NUMBERS

    def is_ample(self) -> bool:
        """Whether enough is explained, and on more inputs than errors are left: two mistakes explain much by chance."""
        return self.is_enough() and self.compared > self.unlike

    @property
    def strength(self) -> tuple[int, int]:
        return -self.unlike, self.numbers


Weighed = Sequence[tuple[Suspect, Evidence]]


def diagnose(lineup: Lineup, seen: Mapping[int, Seen], pairs: bool = True) -> list[Suspect]:
    """The suspects that explain all that was seen, most likely first.

    A single mistake that explains everything comes before a pair that does, and both before those
    that leave an error unexplained: a loop runs where a product of matrices raises.

    Parameters
    ----------
    lineup : Lineup
    seen : dict
        Index of the input -> what came of it.
    pairs : bool
        Whether to try two mistakes at once.

    Returns
    -------
    list of Suspect
        One for each set of mistakes; several where they come to the same on all these inputs.
    """
    with np.errstate(all="ignore"):
        seen = telling_first(lineup, seen)
        is_table = lineup.exercise.is_table
        single = weigh(lineup, lineup.singles, seen)
        found = best(single, Evidence.is_whole, MOST_FOR_A_TABLE if is_table else None)
        if found or not tells_more(seen):
            return found
        found = best(weigh(lineup, solved(lineup, seen), seen), Evidence.is_whole)
        if found or not pairs:
            return found
        double = weigh(lineup, plausible_pairs(lineup, seen), seen)
        found = best(double, Evidence.is_whole, 1 if is_table else None)
        return found or best(single, Evidence.is_enough) or best(double, Evidence.is_ample)


def solved(lineup: Lineup, seen: Mapping[int, Seen]) -> Iterable[Suspect]:
    """The suspects with a number to be solved for, where there is one that fits."""
    for suspect in lineup.unsolved:
        (way,) = suspect.ways
        number = solve(lineup, way, seen)
        if number is not None:
            yield Suspect(suspect.mistakes, (with_number(way, number),))


def with_number(way: Way, number: float) -> Way:
    return replace(way, options=dict.fromkeys(way.unknown, number), unknown={})


def solve(lineup: Lineup, way: Way, seen: Mapping[int, Seen]) -> float | None:
    """Find the number with which a way gives the wrong answers to extreme inputs, or else the first wrong one.

    The range is halved by the sum of those numbers that grow from its one end to the other.
    """
    indices = [i for i, one in seen.items() if one.extreme and one.wrong] or list(seen)[:1]

    def guess(number: float) -> np.ndarray:
        return run_alone(lineup, with_number(way, number), indices)

    (between,) = way.unknown.values()
    low, high = guess(between.low), guess(between.high)
    answers = [seen[i].answer for i in indices]
    came = all_numbers(answer.value for answer in answers if isinstance(answer, Numbers))
    if not low.shape == high.shape == came.shape:
        return None
    rising = np.isfinite(low) & (high > low) & np.isfinite(came)
    bottom, top, wanted = between.low, between.high, came[rising].sum()
    if not low[rising].sum() < wanted < high[rising].sum():
        return None
    for _ in range(MOST_HALVINGS):
        middle = float(np.sign(bottom) * np.sqrt(bottom * top))
        off = guess(middle)[rising].sum() - wanted
        if abs(off) <= 1e-9 * (1 + abs(wanted)):
            break
        bottom, top = (middle, top) if off < 0 else (bottom, middle)
    return middle


def run_alone(lineup: Lineup, way: Way, indices: list[int]) -> np.ndarray:
    """All numbers of a way's answers to several inputs, kept nowhere; none if one of them raises."""
    exercise = lineup.exercise
    try:
        all_known = [run(exercise.quantities, dict(lineup.inputs[i]), (way,), exercise.skips) for i in indices]
        return all_numbers(answer_of(exercise, known) for known in all_known)
    except Exception:  # a mistaken step may raise anything
        return all_numbers([])


def all_numbers(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *(array.ravel().astype(float) for array in arrays)])


def telling_first(lineup: Lineup, seen: Mapping[int, Seen]) -> dict[int, Seen]:
    """Answers in an order in which a contradiction shows soon: wrong ones first, numbers before errors.

    Where all sizes are alike, hardly any mistake raises, which would contradict nothing.
    """

    def rank(i: int) -> tuple:
        return not seen[i].wrong, isinstance(seen[i].answer, Raised), number_of_sizes(lineup, i), lineup.right(i).size

    return {i: seen[i] for i in sorted(seen, key=rank)}


def number_of_sizes(lineup: Lineup, index: int) -> int:
    return len({size for value in lineup.inputs[index].values() for size in np.shape(value)})


def tells_more(seen: Mapping[int, Seen]) -> bool:
    """Whether there are wrong numbers, and not just one all over, that two mistakes might explain."""
    arrays = [one.answer.value for one in seen.values() if one.wrong and isinstance(one.answer, Numbers)]
    numbers = [array[np.isfinite(array)] for array in arrays if array.dtype.kind in "biuf"]
    return any(array.size and np.ptp(array.astype(float)) > 0 for array in numbers)


def plausible_pairs(lineup: Lineup, seen: Mapping[int, Seen]) -> list[Suspect]:
    """The pairs that one look at one input, the first, does not rule out."""
    index, numbers = next((i, one.answer) for i, one in seen.items() if isinstance(one.answer, Numbers))
    guesses = lineup.pair_guesses(index)
    alone = {suspect.ways[0]: lineup.calculation(suspect.ways, index).get("allowed") for suspect in lineup.singles}
    rows = {way: row_with_a_key(allowed) for way, allowed in alone.items() if allowed is not None}
    may_raise = number_of_sizes(lineup, index) > 1  # a loop may run where shapes don't fit, but alike ones do

    def is_plausible(pair: Suspect, guess: np.ndarray | Raised | None) -> bool:
        if isinstance(guess, Raised):
            return may_raise
        row = rows.get(pair.ways[0], 0)
        return guess is None or row is None or not differ_at_a_glance(guess, numbers, row)

    return [pair for pair, guess in zip(lineup.pairs, guesses, strict=True) if is_plausible(pair, guess)]


def row_with_a_key(allowed: np.ndarray) -> int | None:
    """The last row of a mask (n_q, n_k) that has a key, if there is one: a look at another row proves nothing."""
    rows = np.flatnonzero(np.asarray(allowed).any(axis=-1))
    return int(rows[-1]) if rows.size else None


def weigh(lineup: Lineup, suspects: Iterable[Suspect], seen: Mapping[int, Seen]) -> Weighed:
    """Each suspect that nothing speaks against, with what speaks for it."""
    weighed = ((suspect, evidence_for(lineup, suspect, seen)) for suspect in suspects)
    return [(suspect, evidence) for suspect, evidence in weighed if evidence is not None]


def best(weighed: Weighed, enough: Callable[[Evidence], bool], most: int | None = None) -> list[Suspect]:
    """Of the suspects with enough evidence those with the strongest, usual ways of going wrong first.

    With ``most``, unusual ways are left out, and where still more sets of mistakes come to the same,
    there is no telling.
    """
    found = [(suspect, evidence) for suspect, evidence in weighed if enough(evidence)]
    if not found:
        return []
    top = max(evidence.strength for _, evidence in found)
    equals = (suspect for suspect, evidence in found if evidence.strength == top)
    likely = sorted(equals, key=lambda suspect: (suspect.rank, -suspect.frequent_ones))
    each: dict[tuple[str, ...], Suspect] = {}
    for suspect in likely:
        if most is None or suspect.rank == likely[0].rank:
            each.setdefault(suspect.ids, suspect)
    explains_numbers = enough is Evidence.is_whole and top[1] > 0
    if most is None and not explains_numbers:
        most = MOST_BY_WORDS
    if most is None or len(each) <= most:
        return list(each.values())[:MOST_ALIKE]
    return likely[:1] if likely[0].is_frequent else []


def evidence_for(lineup: Lineup, suspect: Suspect, seen: Mapping[int, Seen]) -> Evidence | None:
    """What speaks for a suspect, or None if any answer speaks against it."""
    numbers = words = unlike = compared = 0
    for done, (index, one) in enumerate(seen.items()):
        if len(suspect.mistakes) == 2 and unlike >= compared + len(seen) - done:  # it can't become ample any more
            return None
        known = lineup.calculation(suspect.ways, index)
        if "raised" in known or isinstance(one.answer, Raised):
            both = "raised" in known and isinstance(one.answer, Raised)
            alike = both and known["raised"] == one.answer
            words, unlike = words + alike, unlike + (0 if alike else 1 if both else 2)
            continue
        explained = explained_numbers(lineup, suspect, known, index, one.answer)
        if explained is None:
            return None
        numbers, compared = numbers + explained, compared + 1
    return Evidence(numbers, words, unlike, compared)


def explained_numbers(
    lineup: Lineup, suspect: Suspect, known: Mapping[str, Any], index: int, numbers: Numbers
) -> int | None:
    """How many wrong numbers of one answer the suspect explains; None if it would have given others."""
    guess, value = answer_of(lineup.exercise, known), numbers.value
    free = free_cells(known, numbers)
    if differ_at_a_glance(guess, numbers) and (free is None or guess.shape != value.shape):
        return None
    coarser = max(mistake.coarser for mistake in suspect.mistakes)
    if coarser > 1 and not (
        np.nanmax(np.abs(guess), initial=0) > COARSE_SIZE and np.nanmax(np.abs(value), initial=0) > 1
    ):
        return None  # against so coarse a measure, small numbers would all be equal
    by_hand = any(mistake.step == "hand" for mistake in suspect.mistakes)
    within = numbers.within * (coarser if by_hand else numbers.slack)
    free = np.zeros(guess.shape, dtype=bool) if free is None else free
    if not (near(guess, value, within) | both_spoilt(guess, value) | free).all():
        return None
    right = lineup.right(index)
    if right.shape != guess.shape:
        return guess.size
    return int((~near(right, value, numbers.within) & ~near(right, guess, within) & ~free).sum())


def free_cells(known: Mapping[str, Any], numbers: Numbers) -> np.ndarray | None:
    """Cells that say nothing about a mistake: those left open, and the rows of queries without any allowed key."""
    free = numbers.open
    if known.get("allowed") is not None and "masked_scores" in known:
        empty = ~np.asarray(known["allowed"]).any(axis=-1)
        shape = numbers.value.shape
        if empty.any() and len(shape) >= 2 and shape[-2] == empty.shape[-1]:
            rows = np.broadcast_to(empty.reshape(-1, shape[-2])[0][:, None], shape)
            free = rows if free is None else free | rows
    return free


def differ_at_a_glance(guess: np.ndarray, numbers: Numbers, row: int = 0) -> bool:
    """Shapes, and one number, with room for what rounding by hand may do: that settles most comparisons.

    The number is the first one of a row, or one in the middle.
    """
    a, b = guess, numbers.value
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return True
    place = row * a.shape[-1] if row else a.size // 2
    within = numbers.within.item(place) if isinstance(numbers.within, np.ndarray) else numbers.within
    return abs(a.item(place) - b.item(place)) > within * (MOST_SLACK if numbers.slack > 1 else 1)


def both_spoilt(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rows that hold nan or infinity on both sides: which of their cells do is a matter of how it was computed.

    Minus infinity spoils nothing: a masked score is rightly that.
    """
    bad_a, bad_b = np.isnan(a) | (a == np.inf), np.isnan(b) | (b == np.inf)
    return bad_a.any(axis=-1, keepdims=True) & bad_b.any(axis=-1, keepdims=True)
