"""Who is in the course: a CSV as Canvas, Moodle or a spreadsheet writes it, held against who handed in."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .csv_file import CsvError, CsvFile

# Headers without capitals, spaces and signs. Of several ids the first in this order is the student's.
IDS = (
    "id studentid student idnumber studentnumber matriculationnumber sid userid sisuserid username user login loginid "
    "sisloginid integrationid identifier participantid"
).split()
EMAILS = "email emailaddress mail".split()
NAMES = "name fullname studentname displayname".split()
FIRST, LAST = "firstname first givenname givennames".split(), "lastname last surname familyname".split()
NOBODY = ("Points Possible", "Student, Test")  # rows of a Canvas gradebook


@dataclass(frozen=True)
class Entry:
    """A student of the course; ``others`` are all further ids by which a platform may know this one."""

    id: str
    name: str = ""
    email: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roster:
    """The students of a course, each id once, and what is odd about the list."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reconciled:
    """What came of holding those who handed in against a roster.

    Attributes
    ----------
    known : dict
        The roster's entry by the platform's id.
    unknown : tuple of str
        The platform's ids of those who aren't in the roster.
    notes : tuple of str
    """

    known: Mapping[str, Entry]
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read(path: Path) -> Roster:
    """Read a CSV whose first row names the columns.

    Raises
    ------
    CsvError
        If there is no such file, it is no text, or it has no column for ids, names or e-mail addresses.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CsvError(f"{path}: there is no such file. Look at the spelling.") from None
    header, *rows = [row for row in CsvFile.read(data, str(path)).rows if any(row)] or [[]]
    columns = _columns(header)
    if not columns:
        got = ", ".join(header) or "nothing"
        raise CsvError(f"{path}: must have a column id, name or e-mail; got {got}. Name them in the first row.")
    entries = [_entry(columns, row) for row in rows]
    entries = [entry for entry in entries if entry.id and entry.name not in NOBODY]
    times = Counter(entry.id for entry in entries)
    notes = [f"The roster has {id!r} {n} times; its first row counts." for id, n in times.items() if n > 1]
    first = {entry.id: entry for entry in reversed(entries)}
    return Roster(tuple(first[id] for id in times), (*notes, *_alike(times)))


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Where each known column stands. ``student`` is an id or, where another column is one, the name."""
    columns = {re.sub(r"[\W_]", "", name.casefold()): place for place, name in reversed(list(enumerate(header)))}
    if "student" in columns and not columns.keys() & {*NAMES, *LAST} and columns.keys() & {*IDS} - {"student"}:
        columns["name"] = columns.pop("student")
    return {name: columns[name] for name in (*IDS, *EMAILS, *NAMES, *FIRST, *LAST) if name in columns}


def _entry(columns: dict[str, int], row: Sequence[str]) -> Entry:
    def values(names: Sequence[str]) -> list[str]:
        found = [row[columns[name]].strip() for name in names if name in columns and columns[name] < len(row)]
        return [value for value in found if value]

    name = " ".join(values(FIRST)[:1] + values(LAST)[:1]) or "".join(values(NAMES)[:1])
    email = "".join(values(EMAILS)[:1])
    # Moodle's grading worksheet writes "Participant 1234".
    id, *others = dict.fromkeys([one.removeprefix("Participant ") for one in values(IDS)] or [email or name])
    return Entry(id, name, email, tuple(others))


def reconcile(roster: Roster, names: Mapping[str, str]) -> Reconciled:
    """Find in the roster who handed in: by any id, byte for byte; else by a name that only one has.

    Parameters
    ----------
    roster : Roster
    names : dict
        By the id that a platform gave; where a name is empty, the id may be one.
    """
    entry_of = {id: entry for entry in reversed(roster.entries) for id in (entry.email, *entry.others)}
    entry_of |= {entry.id: entry for entry in roster.entries}
    known = {student: entry_of[student] for student in names if student in entry_of}
    found = {entry.id for entry in known.values()}
    left = [entry for entry in roster.entries if entry.id not in found]
    known |= _by_name(left, {student: name or student for student, name in names.items() if student not in known})
    unknown = tuple(student for student in names if student not in known)
    alike = _alike([*(entry.id for entry in roster.entries), *unknown])
    return Reconciled(known, unknown, tuple(dict.fromkeys([*roster.notes, *alike])))


def _by_name(entries: Sequence[Entry], students: dict[str, str]) -> dict[str, Entry]:
    """Those pairs in which nobody else could be meant on either side."""
    called: dict[str, set[int]] = defaultdict(set)
    for place, entry in enumerate(entries):
        for key in _orders(entry.name or entry.id):
            called[key].add(place)
    fits = {student: set().union(*(called[key] for key in _orders(name))) for student, name in students.items()}
    claims = Counter(place for fit in fits.values() for place in fit)
    return {
        student: entries[place] for student, fit in fits.items() if len(fit) == 1 for place in fit if claims[place] == 1
    }


def _orders(name: str) -> set[str]:
    """A name as platforms squeeze it together: "Lovelace, Ada" is ``lovelaceada`` in Canvas."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())
    turns = range(len(words) if len(words) < 10 else 1)
    return {"".join(words[turn:] + words[:turn]) for turn in turns}


def _alike(ids: Iterable[str]) -> Iterator[str]:
    """Say which ids differ only in what spreadsheets like to change."""
    groups = defaultdict(list)
    for id in ids:
        groups[re.sub(r"\s", "", id).casefold().lstrip("0")].append(id)
    for group in groups.values():
        if len(group) > 1:
            ids = " and ".join(map(repr, group))
            yield f"{ids} differ only in zeros, capitals or spaces: taken for different students."
