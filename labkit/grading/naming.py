"""Who handed in what, by the names that learning platforms give to files and folders.

Names that a student chose must never pass for somebody else's: a platform's form counts only where the platform
writes it, that is at the top, or just below folders that everything lies in.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os.path import commonprefix
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from .found import NOTEBOOK

METADATA = "submission_metadata.yml"
CANVAS = re.compile(r"(?s)(?P<name>.+?)_(?P<late>LATE_)?(?P<id>\d{1,18})_(?:(?P<number>\d{1,18})_|text\.|link\.).+")
CANVAS_UNNAMED = re.compile(r"(?s)(?P<name>)(?P<late>LATE_)?anon_(?P<id>[A-Za-z0-9]{5})_(?P<number>\d{1,18})_.+")
MOODLE = re.compile(r"(?s)(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_[a-z]+(?:_.*)?")
COPY = re.compile(r" \(\d{1,9}\)$")  # what browsers write behind the name of a second download
TEACHERS_KINDS = {".csv", ".db", ".json", ".log", ".md", ".tsv", ".xlsx", ".yaml", ".yml"}


@dataclass(frozen=True)
class Sender:
    """A student as a platform names one, and what it says of the attempt (see ``Submission``)."""

    student: str
    name: str = ""
    batch: str = ""
    submitted_at: str = ""
    number: int = 0
    marked_late: bool = False


Parts = tuple[str, ...]
Senders = tuple[Sender, ...]


def senders(paths: Iterable[str], where: Parts = (), metadata: str = "") -> dict[str, Senders]:
    """Say for each path who handed it in: several for a group's, nobody for what isn't a student's.

    Parameters
    ----------
    paths : iterable of str
        With ``/`` between parts; may be hostile.
    where : tuple of str
        The parts of the folder's own path, or the archive's name.
    metadata : str, optional
        What stands in Gradescope's ``submission_metadata.yml``.
    """
    split = {path: tuple(part for part in path.split("/") if part not in ("", ".", "..")) for path in paths}
    named = [path for path in split if split[path]]
    handed = [split[path] for path in named if is_handed_in(path) and ".." not in path.split("/")]
    handed = handed or [split[path] for path in named]
    around = tuple(commonprefix([parts[:-1] for parts in handed]))
    forms = (
        _gradescope(metadata, around),
        _nbgrader([split[path] for path in named], around, where),
        _moodle(around),
        _canvas(handed, around),
        _plain(handed, around, where),
    )
    found = {path: next(who for form in forms if (who := form(split[path])) is not None) for path in named}
    return {path: found.get(path, ()) for path in split}


def is_handed_in(path: str) -> bool:
    """Whether it is a notebook, or an archive that may hold one."""
    return bool(NOTEBOOK.fullmatch(path)) or path.lower().endswith(".zip")


# Each form takes a path's parts: it gives None where it has nothing to say and () for what is nobody's.
Form = Callable[[Parts], Senders | None]


def _gradescope(metadata: str, around: Parts) -> Form:
    known: dict[str, Senders] = {METADATA: (), **read_metadata(metadata)} if metadata else {}
    return lambda parts: next((known[part] for part in parts[: len(around) + 1] if part in known), None)


def _nbgrader(paths: Iterable[Parts], around: Parts, where: Parts) -> Form:
    """``submitted/student/assignment/…``; all beside that folder is the teacher's."""

    def below(parts: Parts) -> Parts:
        parts, head = where[-2:] + parts, where[-2:] + parts[: len(around) + 1]
        return parts[head.index("submitted") + 1 :] if "submitted" in head else ()

    is_course = any(len(below(parts)) > 2 for parts in paths)

    def form(parts: Parts) -> Senders | None:
        if not is_course:
            return None
        rest = below(parts)
        return (Sender(rest[0], batch="".join(rest[1:-1][:1])),) if len(rest) > 1 else ()

    return form


def _moodle(around: Parts) -> Form:
    def form(parts: Parts) -> Senders | None:
        found = next(filter(None, map(MOODLE.fullmatch, parts[: len(around) + 1])), None)
        return (Sender(found["id"], found["name"]),) if found else None

    return form


def _canvas(handed: Sequence[Parts], around: Parts) -> Form:
    """A file's own name has the form, and so have most of the others: ``ada_1_2.ipynb`` alone says nothing."""

    def match(parts: Parts) -> re.Match[str] | None:
        if len(parts) != len(around) + 1:
            return None
        return CANVAS_UNNAMED.fullmatch(parts[-1]) or CANVAS.fullmatch(parts[-1])

    is_canvas = 2 * sum(match(parts) is not None for parts in handed) > len(handed)

    def form(parts: Parts) -> Senders | None:
        if not is_canvas or not (found := match(parts)):
            return None
        number, is_late = int(found["number"] or 0), bool(found["late"])
        return (Sender(found["id"], found["name"], number=number, marked_late=is_late),)

    return form


def _plain(handed: Sequence[Parts], around: Parts, where: Parts) -> Form:
    """A folder each, or a file each, perhaps within a folder for all that is known by its name or by what it holds."""
    if any(len(parts) < len(around) + 2 for parts in handed) or len({parts[len(around)] for parts in handed}) == 1:
        around = around[:1] if around[:1] == tuple(COPY.sub("", name) for name in where[-1:]) else ()

    def form(parts: Parts) -> Senders | None:
        parts = parts[len(around) :] if parts[: len(around)] == around else parts
        if len(parts) == 1 and PurePosixPath(parts[0]).suffix.lower() in TEACHERS_KINDS and not is_handed_in(parts[0]):
            return ()
        return (Sender(parts[0] if len(parts) > 1 else stem(parts[0])),)

    return form


def stem(name: str) -> str:
    """A file's name without its ending."""
    notebook = NOTEBOOK.fullmatch(name)
    return notebook[1] if notebook else PurePosixPath(name).stem


# ---- what platforms write into files ---------------------------------------------------------------------------------


def read_metadata(text: str) -> dict[str, Senders]:
    """Gradescope's list of submissions: for each folder who handed it in.

    Only the lines that are needed are read, by their indentation: whatever students printed stands further in.
    """
    people: dict[str, list[dict[str, str]]] = {}
    times, section = {}, ""
    for line in text.split("\n"):
        if head := re.fullmatch(r"([^\s:#-][^:]*):\s*", line):
            folder, section = _scalar(head[1]), ""
            people[folder] = []
        elif people and (key := re.match(r"  :(\w+):(.*)", line)):
            section = key[1]
            if section == "created_at":
                times[folder] = iso(_scalar(key[2]))
        elif section == "submitters" and (field := re.match(r"\s+(- )?:(name|sid|email):(.*)", line)):
            if field[1] or not people[folder]:
                people[folder].append({})
            people[folder][-1][field[2]] = _scalar(field[3])
    return {one: tuple(_person(one, who, times.get(one, "")) for who in people[one]) for one in people}


def _person(folder: str, person: dict[str, str], time: str) -> Sender:
    number = re.search(r"\d{1,18}$", folder)
    student = person.get("sid") or person.get("email") or folder
    return Sender(student, person.get("name", ""), submitted_at=time, number=int(number[0]) if number else 0)


def _scalar(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return "" if text in ("~", "null") else text


def iso(text: str) -> str:
    """A moment as platforms write it, such as ``2026-12-01 10:00:00.5 UTC``, in ISO 8601; empty if it is none."""
    found = re.fullmatch(r"\s*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(\S*)\s*", text)
    if not found:
        return ""
    day, time, zone = found.groups()
    try:
        if zone in ("", "Z", "UTC", "UCT", "GMT"):
            return datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=UTC).isoformat()
        if zone[0] in "+-":
            return datetime.fromisoformat(f"{day}T{time}{zone}").isoformat()
        return datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=ZoneInfo(zone)).isoformat()
    except (ValueError, LookupError, OSError):
        return ""
