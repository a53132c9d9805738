"""Who is in the course: a CSV as Canvas, Moodle or a spreadsheet writes it, held against who handed in."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..wording import few
from .csv_file import CsvError, CsvFile

# Headers without capitals, spaces and signs, as spreadsheets have them, and Moodle in English, German, French and
# Spanish. Of several ids the first in this order is the student's.
IDS = (
    "id studentid student idnumber studentnumber matriculationnumber idnummer matrikelnummer numérodidentification "
    "númerodeid sid userid sisuserid username user login loginid sisloginid anmeldename nomdutilisateur "
    "nombredeusuario integrationid identifier participantid"
).split()
EMAILS = "email emailaddress mail emailadresse adressedecourriel direccióndecorreo".split()
NAMES = "name fullname studentname displayname vollständigername nomcomplet nombrecompleto".split()
FIRST = "firstname first givenname givennames vorname prénom nombre".split()
LAST = "lastname last surname familyname nachname nomdefamille nom apellidos".split()
NOBODY = ("Points Possible", "Student, Test")  # rows of a Canvas gradebook
# What Moodle's grading worksheet writes before its number, in the languages above.
PARTICIPANT = re.compile(r"(?:Participant|Teilnehmer)\D*(?=\d+\Z)")


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
        The roster's entry by the platform's id; one that isn't in it for who may be several, or may be somebody else.
    unknown : tuple of str
        Those who handed in and aren't in the roster.
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
        If there is no such file, it is no text, it has no column for ids, names or e-mail addresses, or nobody is in
        it for sure.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CsvError(f"{path}: there is no such file. Look at the spelling.") from None
    file = CsvFile.read(data, str(path))
    if file.torn:
        what = "a cell that begins with a quotation mark must end with one; it doesn't. Correct that row"
        raise CsvError(f"{path}, row {min(file.torn) + 1}: {what}.")
    header, *rows = [row for row in file.rows if any(row)] or [[]]
    columns = _columns(header)
    if not columns:
        got = ", ".join(header) or "nothing"
        raise CsvError(f"{path}: must have a column id, name or e-mail; got {got}. Name them in the first row.")
    entries = [_entry(columns, row) for row in rows]
    entries = [entry for entry in entries if entry.id and entry.name not in NOBODY]
    if not entries:
        raise CsvError(f"{path}: must have a row for each student; got none. Export it again.")
    times = Counter(entry.id for entry in entries)
    notes = [f"The roster has {id!r} {n} times; its first row counts." for id, n in times.items() if n > 1]
    first = {entry.id: entry for entry in reversed(entries)}
    kept = tuple(first[id] for id in times)
    return Roster(kept, (*notes, *_alike(times), *_shared_addresses(kept), *_without_names(columns, header)))


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Where each known column stands. ``student`` is an id or, where another column is one, the name."""
    columns = {_bare(name): place for place, name in reversed(list(enumerate(header)))}
    if "student" in columns and not columns.keys() & {*NAMES, *LAST} and columns.keys() & {*IDS} - {"student"}:
        columns["name"] = columns.pop("student")
    return {name: columns[name] for name in (*IDS, *EMAILS, *NAMES, *FIRST, *LAST) if name in columns}


def _bare(header: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", header).casefold())


def _without_names(columns: Mapping[str, int], header: Sequence[str]) -> Iterator[str]:
    """Names serve where ids don't: say if none were recognised among columns of other kinds."""
    unused = [name for place, name in enumerate(header) if name and place not in columns.values()]
    if unused and not columns.keys() & {*NAMES, *FIRST, *LAST}:
        yield f"The roster has no column for names that is known as one; not used are: {few(unused, 10)}."


def _shared_addresses(entries: Sequence[Entry]) -> Iterator[str]:
    whose = defaultdict(list)
    for entry in entries:
        if entry.email:
            whose[entry.email].append(entry.id)
    for email, ids in whose.items():
        if len(ids) > 1:
            yield f"The roster has the address {email!r} for {' and '.join(map(repr, ids))}: it tells nobody apart."


def _entry(columns: dict[str, int], row: Sequence[str]) -> Entry:
    def values(names: Sequence[str]) -> list[str]:
        found = [row[columns[name]].strip() for name in names if name in columns and columns[name] < len(row)]
        return [value for value in found if value]

    name = " ".join(values(FIRST)[:1] + values(LAST)[:1]) or "".join(values(NAMES)[:1])
    email = "".join(values(EMAILS)[:1])
    id, *others = dict.fromkeys([PARTICIPANT.sub("", one) for one in values(IDS)] or [email or name])
    return Entry(id, name, email, tuple(others))


def reconcile(roster: Roster, names: Mapping[str, str]) -> Reconciled:
    """Find in the roster who handed in: by any id, byte for byte; else by a name that only one has.

    Nobody is found where an id, or an address, is more than one student's and the name doesn't decide between them, nor
    where the id is one student's and the name another's.

    Parameters
    ----------
    roster : Roster
    names : dict
        By the id that a platform gave; where a name is empty, the id may be one.
    """
    ids, doubts = _by_id(roster.entries, names)
    found = {entry for entry in ids.values() if entry}
    left = [entry for entry in roster.entries if entry not in found]
    known = {student: entry or Entry(f"{student} (unclear)", names[student]) for student, entry in ids.items()}
    known |= _by_name(left, {student: name or student for student, name in names.items() if student not in known})
    in_roster = dict.fromkeys(entry.id for entry in roster.entries)
    called_now = (known[student].id if student in known else student for student in names)
    unknown = tuple(student for student in called_now if student not in in_roster)
    notes = [*roster.notes, *doubts, *_alike([*in_roster, *unknown])]
    return Reconciled(known, unknown, tuple(dict.fromkeys(notes)))


def _by_id(entries: Sequence[Entry], names: Mapping[str, str]) -> tuple[dict[str, Entry | None], list[str]]:
    """Whose each id is, None where that isn't clear, and a note on each of these."""
    having: dict[str, set[Entry]] = defaultdict(set)
    for entry in entries:
        for id in {entry.id, entry.email, *entry.others} - {""}:
            having[id].add(entry)
    called, found, doubts = _called(entries), {}, []
    for student in names:
        by_id, by_name = having.get(student, set()), _fitting(called, names[student])
        meant = by_id & by_name if by_name else by_id
        if by_id:
            found[student] = next(iter(meant)) if len(meant) == 1 else None
        if by_id and len(meant) != 1:
            doubts.append(_doubt(student, [entry for entry in entries if entry in by_id | by_name]))
    return found, doubts


def _doubt(student: str, entries: Sequence[Entry]) -> str:
    those = " or ".join(f"{entry.name} ({entry.id})" if entry.name else repr(entry.id) for entry in entries)
    return f"{student!r} handed in and may be {those} of the roster: taken for nobody there. Correct the roster."


def _called(entries: Iterable[Entry]) -> dict[str, set[Entry]]:
    """The entries by each way in which a platform may squeeze the name."""
    called: dict[str, set[Entry]] = defaultdict(set)
    for entry in entries:
        for key in _orders(entry.name or entry.id):
            called[key].add(entry)
    return called


def _fitting(called: Mapping[str, set[Entry]], name: str) -> set[Entry]:
    return set().union(*(called.get(key, set()) for key in _orders(name)))


def _by_name(entries: Sequence[Entry], students: Mapping[str, str]) -> dict[str, Entry]:
    """Those pairs in which nobody else could be meant on either side."""
    called = _called(entries)
    fits = {student: _fitting(called, name) for student, name in students.items()}
    claims = Counter(entry for fit in fits.values() for entry in fit)
    return {student: entry for student, fit in fits.items() if len(fit) == 1 for entry in fit if claims[entry] == 1}


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
