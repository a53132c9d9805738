"""What learning platforms write into files of their own: who handed in what, and when."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

METADATA = "submission_metadata.yml"  # Gradescope's, above the folders of an export
TIMESTAMP = "timestamp.txt"  # nbgrader's, in the folder of each student's assignment


@dataclass(frozen=True)
class Sender:
    """A student as a platform names one, and what it says of the attempt (see ``Submission``)."""

    student: str
    name: str = ""
    batch: str = ""
    submitted_at: str = ""
    number: int = 0
    marked_late: bool = False


Senders = tuple[Sender, ...]


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
    """A value of YAML, which may be quoted or nothing."""
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
