"""In which order one student's files were handed in, as ``policy.Rule`` has it."""

import math
import re
from collections.abc import Iterable
from datetime import datetime

from ..records.gradebook import Record
from .found import is_handed_in
from .naming import stem

# What is written behind a copy's name: (1) by browsers, -1 by Canvas, _1 by others; there may be several, as in
# lab_02-1 (3). Read from the end, so that a long name takes no longer than it is long.
BACKWARDS = re.compile(r"(?:\)[0-9]{1,9}\( |[0-9]{1,9}[-_])*")


def in_order(attempts: Iterable[Record]) -> list[Record]:
    """One student's attempts as ``Rule`` has it: a copy counts as no earlier than what it is a copy of."""
    latest: dict[tuple[float, str], tuple[int, int]] = {}
    keyed = []
    for time, root, copies, found, one in sorted(map(kin, attempts), key=lambda facts: facts[:-1]):
        latest[time, root] = max(found, latest.get((time, root), found))
        name = natural(one.submission.file)
        keyed.append(((time, latest[time, root], copies, name, one.submission.lab, one.submission.digest), one))
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0])]


def kin(record: Record) -> tuple:
    """When it was handed in, what it is a copy of and how many times over, and what else orders attempts."""
    one = record.submission
    at = moment(one.submitted_at)
    return (at.timestamp() if at else -math.inf, *family(one.file, one.number), (one.number, record.run), record)


def moment(text: str) -> datetime | None:
    """A point in time, in local time without an offset; None for what is no date."""
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def family(path: str, number: int) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """What the file that was handed in shares with its copies, and the numbers behind it: ``lab-1`` follows ``lab``.

    Folders say nothing of it, nor does the platform's own ``number`` within the name. Of a file in a student's archive
    the archive's name is shared, and the numbers are those of both.
    """
    stems = [stem(part).replace(f"_{number}_", "_", 1) for part in path.split("/") if is_handed_in(part)]
    roots = [name[: len(name) - len_of_copies(name)] for name in stems]
    copies = (re.findall("[0-9]+", name.removeprefix(root)) for name, root in zip(stems, roots, strict=True))
    return "".join(roots[:1]), tuple(tuple(map(int, numbers)) for numbers in copies)


def len_of_copies(name: str) -> int:
    """How many characters at a name's end only number copies."""
    found = BACKWARDS.match(name[::-1])
    return found.end() if found else 0


def natural(text: str) -> list[tuple[int, str, str]]:
    """A key by which ``lab 9`` comes before ``lab 10``; numbers of any length, and no two texts the same."""
    parts = re.split("([0-9]+)", text)
    digits = [part.lstrip("0") if place % 2 else "" for place, part in enumerate(parts)]
    return [(len(own), own, part) for own, part in zip(digits, parts, strict=True)]
