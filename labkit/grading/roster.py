"""Who is in the course: a CSV as Canvas, Moodle or a spreadsheet writes it, held against what was handed in."""

import csv
import io
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .reading import decode
from .submission import Submission

# Headers without capitals, spaces and signs. Of several ids the first in this order is the student's.
IDS = (
    "id studentid student idnumber studentnumber matriculationnumber sid userid sisuserid username user login loginid "
    "sisloginid integrationid identifier participantid"
).split()
EMAILS = "email emailaddress mail".split()
NAMES = "name fullname studentname displayname".split()
FIRST, LAST = "firstname first givenname givennames".split(), "lastname last surname familyname".split()
NOBODY = ("Points Possible", "Student, Test")  # rows of a Canvas gradebook


class RosterError(ValueError):
    """Why a file can't serve as a roster, in one line."""


@dataclass(frozen=True)
class Entry:
    """A student of the course; ``others`` are all further ids by which a platform may know this one."""

    id: str
    name: str = ""
    email: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roster:
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reconciled:
    """What came of holding submissions against a roster.

    Attributes
    ----------
    submissions : tuple of Submission
        With the roster's id and name where a student is in it.
    roster : Roster
        Whoever handed in has the platform's id among ``others``.
    missing : tuple of Entry
        Who handed in nothing.
    unknown : tuple of str
        The platform's ids of those who aren't in the roster.
    notes : tuple of str
    """

    submissions: tuple[Submission, ...]
    roster: Roster
    missing: tuple[Entry, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]


def read(path: str | os.PathLike) -> Roster:
    """Read a CSV whose first row names the columns, with ``,``, ``;`` or tabs between them.

    Raises
    ------
    RosterError
        If the file can't be read, or has no column for ids, names or e-mail addresses.
    """
    try:
        text, _ = decode(Path(path).read_bytes())
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row)]
    except FileNotFoundError:
        raise RosterError(f"{path}: there is no such file. Look at the spelling.") from None
    except (OSError, csv.Error) as error:
        raise RosterError(f"{path}: must be a CSV file; got {error}. Export it again.") from error
    columns = _columns(rows[0]) if rows else {}
    if not columns:
        header = ", ".join(rows[0]) if rows else "nothing"
        raise RosterError(f"{path}: must have a column id, name or e-mail; got {header}. Name them in the first row.")
    entries = [_entry(columns, row) for row in rows[1:]]
    entries = [entry for entry in entries if entry.id and entry.name not in NOBODY]
    number = Counter(entry.id for entry in entries)
    notes = [f"The roster has {id!r} {times} times; its first row counts." for id, times in number.items() if times > 1]
    return Roster(
        tuple({entry.id: entry for entry in reversed(entries)}[id] for id in number), (*notes, *_alike(number))
    )


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


def reconcile(roster: Roster, submissions: Sequence[Submission]) -> Reconciled:
    """Find each submission's student in the roster: by any id, byte for byte; else by a name that only one has."""
    names = {one.student: one.name or one.student for one in submissions}
    known = {id: entry for entry in reversed(roster.entries) for id in (entry.email, *entry.others)}
    known |= {entry.id: entry for entry in roster.entries}
    matched = {student: known[student] for student in names if student in known}
    found = {entry.id for entry in matched.values()}
    left = [entry for entry in roster.entries if entry.id not in found]
    matched |= _by_name(left, {student: name for student, name in names.items() if student not in matched})
    aliases = defaultdict(list)
    for student, entry in matched.items():
        aliases[entry.id].append(student)
    unknown = tuple(student for student in names if student not in matched)
    alike = _alike([*(entry.id for entry in roster.entries), *unknown])
    return Reconciled(
        submissions=tuple(_filled(one, matched.get(one.student)) for one in submissions),
        roster=replace(roster, entries=tuple(_known_as(entry, aliases[entry.id]) for entry in roster.entries)),
        missing=tuple(entry for entry in left if not aliases[entry.id]),
        unknown=unknown,
        notes=tuple(dict.fromkeys([*roster.notes, *alike])),
    )


def _filled(submission: Submission, entry: Entry | None) -> Submission:
    return replace(submission, student=entry.id, name=entry.name or submission.name) if entry else submission


def _known_as(entry: Entry, aliases: Sequence[str]) -> Entry:
    return replace(entry, others=tuple(one for one in dict.fromkeys([*entry.others, *aliases]) if one != entry.id))


def _by_name(entries: Sequence[Entry], students: dict[str, str]) -> dict[str, Entry]:
    """Those pairs in which nobody else could be meant on either side."""
    called = defaultdict(set)
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
