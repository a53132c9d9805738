"""The numbers behind the class page: pure functions of rows, each the attempt that counts for a student in a lab."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import StatisticsError, correlation, fmean
from typing import NamedTuple

from ...exercise import PRODUCT_OF_STEP, Outcome
from ...mistakes import MISTAKES
from ..records.policy import Row

EXAMPLE = "ada"  # whose numbers a notebook asks for as it is handed out
FEWEST = 5  # students: with fewer, how telling an exercise is would be chance
STEPS = tuple(PRODUCT_OF_STEP)


def place(row: Row) -> str:
    """The assignment's folder and the lab, as far as they are known."""
    return ", ".join(dict.fromkeys(filter(None, (row.batch, row.lab)))) or "no lab recognised"


@dataclass(frozen=True)
class ExerciseNumbers:
    """How an exercise went: the mean share of its points, and how well it tells strong students from weak ones."""

    name: str
    max_points: float
    share: float
    telling: float | None
    statuses: Counter


@dataclass(frozen=True)
class Seen:
    """A mistake: the students who made it, in how many answers, and one of these as an example."""

    id: str
    students: frozenset[str]
    answers: int
    example: Outcome


class StepPair(NamedTuple):
    """Two steps at which the same students went wrong: how many, and their commonest two mistakes."""

    steps: tuple[str, str]
    students: int
    commonest: tuple[str, str]
    most: int


def by_exercise(row: Row) -> dict[str, Outcome]:
    """What came of a row's exercises, by their names."""
    return {one.exercise: one for one in row.graded.outcomes}


def telling(points: Sequence[Sequence[float]], item: int) -> float | None:
    """Correlate one exercise with the sum of the others (its discrimination).

    Parameters
    ----------
    points : (n_students, n_exercises)
    item : int
        The column of the exercise.

    Returns
    -------
    float or None
        None where one of the two doesn't vary, or there are fewer than two students.
    """
    rest = [round(sum(line) - line[item], 9) for line in points]  # what differs by rounding alone doesn't vary
    try:
        return correlation([round(line[item], 9) for line in points], rest)
    except StatisticsError:
        return None


def exercise_numbers(rows: Iterable[Row]) -> list[ExerciseNumbers]:
    """The numbers of each exercise, over the rows that have a score, in the order of the lab."""
    by_name = [by_exercise(row) for row in rows if row.points is not None]
    names = list(dict.fromkeys(name for found in by_name for name in found))
    points = [[found[name].points if name in found else 0.0 for name in names] for found in by_name]

    def numbers(item: int, name: str) -> ExerciseNumbers:
        answers = [found[name] for found in by_name if name in found]
        full = max(one.max_points for one in answers)
        share = fmean(line[item] for line in points) / full if full else 0.0
        tells = telling(points, item) if len(points) >= FEWEST else None
        return ExerciseNumbers(name, full, share, tells, Counter(one.status for one in answers))

    return [numbers(item, name) for item, name in enumerate(names)]


def likeliest_mistakes(one: Outcome) -> tuple[str, ...]:
    """The likeliest mistake, or two that come together; the rest of an outcome's list are other names for it."""
    return one.mistakes[: 2 if one.together else 1]


def mistakes_seen(rows: Iterable[Row]) -> list[Seen]:
    """Mistakes, those of most students first; the example is the first answer with as little else as can be."""
    found: dict[str, list[tuple[str, Outcome]]] = defaultdict(list)
    for row in rows:
        for one in row.graded.outcomes:
            for id in likeliest_mistakes(one):
                found[id].append((row.student, one))
    seen = []
    for id, answers in found.items():
        example = min((one for _, one in answers), key=lambda one: len(likeliest_mistakes(one)))
        seen.append(Seen(id, frozenset(student for student, _ in answers), len(answers), example))
    return sorted(seen, key=lambda one: (-len(one.students), -one.answers, one.id))


def pairs_of_steps(seen: Iterable[Seen]) -> list[StepPair]:
    """Pairs of steps at which the same students made mistakes, those of most students first."""
    found: dict[tuple[str, str], list[tuple[int, tuple[str, str], frozenset[str]]]] = defaultdict(list)
    ordered = sorted((one for one in seen if one.id in MISTAKES), key=lambda one: STEPS.index(MISTAKES[one.id].step))
    for first, second in combinations(ordered, 2):
        steps, students = (MISTAKES[first.id].step, MISTAKES[second.id].step), first.students & second.students
        if steps[0] != steps[1] and students:
            found[steps].append((-len(students), (first.id, second.id), students))
    pairs = []
    for steps, of_ids in found.items():
        most, ids, _ = min(of_ids, key=lambda one: one[:2])
        pairs.append(StepPair(steps, len(frozenset().union(*(who for *_, who in of_ids))), ids, -most))
    return sorted(pairs, key=lambda pair: (-pair.students, [STEPS.index(step) for step in pair.steps]))


def shared_numbers(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Names whose own numbers concern more than one student: who asked for them, and whoever is called so."""
    concerned = {}
    for name, askers in sorted(who_asked(rows).items()):
        who = askers | {row.student for row in rows if is_called(name, row)}
        if len(who) > 1:
            concerned[name] = sorted(who)
    return concerned


def to_be_asked_for_a_name(rows: Sequence[Row]) -> set[str]:
    """The students who asked for numbers that may be another's: whoever used a name that isn't theirs.

    Where several used the same one, and it is everybody's name or nobody's, all of them.
    """
    found, asked = set(), who_asked(rows)
    for name in shared_numbers(rows):
        strangers = asked[name] - {row.student for row in rows if is_called(name, row)}
        found |= strangers or (asked[name] if len(asked[name]) > 1 else set())
    return found


def who_asked(rows: Iterable[Row]) -> dict[str, set[str]]:
    """The students whose notebooks asked for a name's own numbers, by the name."""
    asked = defaultdict(set)
    for row in rows:
        for name in row.graded.numbers_of:
            if name != EXAMPLE:
                asked[name].add(row.student)
    return asked


def is_called(name: str, row: Row) -> bool:
    """Whether a name is a student's id, or consists of words of the student's name."""
    words = set(name.casefold().split())
    return name.casefold() == row.student.casefold() or bool(words) and words <= set(row.name.casefold().split())


def histogram(shares: Iterable[float], bins: int = 10) -> list[int]:
    """How many shares of 0 to 1 fall into each bin; 1 belongs to the last."""
    counts = [0] * bins
    for share in shares:
        counts[min(int(round(share, 9) * bins), bins - 1)] += 1
    return counts
