"""Who handed in what, by the names that learning platforms give to files and folders.

Names that a student chose must never pass for somebody else's. So which platform wrote the names is decided once for
all that was handed in, and then only that platform's form counts, where that platform writes it: at the top, or just
below folders that everything lies in.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import commonprefix
from pathlib import PurePosixPath

from .found import NOTEBOOK, is_handed_in, is_leftover
from .platform_files import METADATA, TIMESTAMP, Sender, Senders, iso, read_metadata

# Moodle writes a folder's whole name, so that what stands last is its own. To a file's name Canvas and Moodle add the
# student's after their own, so that what stands first is theirs.
FOLDER = re.compile(r"(?s)(?P<name>.+)_(?P<moodle>\d{1,18})_assignsubmission_[a-z]+_?")
FILE = re.compile(
    r"(?s)(?P<name>.+?)_(?:(?P<moodle>\d{1,18})_assignsubmission_[a-z]+_"
    r"|(?P<late>LATE_)?(?P<canvas>\d{1,18})_(?:(?P<number>\d{1,18})_|text\.|link\.)).+"
)
UNNAMED = re.compile(r"(?s)(?P<name>)(?P<late>LATE_)?anon_(?P<canvas>[A-Za-z0-9]{5})_(?P<number>\d{1,18})_.+")
CHECKPOINT = re.compile(r"\.ipynb_checkpoints/([^/]*)-checkpoint(?=\.ipynb\Z)")
COPY = re.compile(r" \(\d{1,9}\)$")  # what browsers write behind the name of a second download
TEACHERS_KINDS = {".csv", ".db", ".json", ".log", ".md", ".tsv", ".xlsx", ".yaml", ".yml"}
TEACHERS_FOLDERS = {"source", "release", "autograded", "feedback"}  # nbgrader's, beside ``submitted``

Parts = tuple[str, ...]
# What a platform says by a path's parts: None if nothing, and () for what is nobody's.
Form = Callable[[Parts], Senders | None]


def senders(
    paths: Iterable[str], where: Parts = (), text_of: Callable[[str], str] = lambda path: ""
) -> dict[str, Senders]:
    """Say for each path who handed it in: several for a group's, nobody for what isn't a student's.

    Parameters
    ----------
    paths : iterable of str
        With ``/`` between parts; may be hostile.
    where : tuple of str
        The parts of the folder's own path, or the archive's name.
    text_of : callable, optional
        Gives what stands in the file at a path: platforms write lists and times.
    """
    parts_of = {path: _parts(path) for path in paths}
    named = [path for path in parts_of if parts_of[path]]
    handed_in = [path for path in named if is_handed_in(path) and ".." not in path.split("/")]
    proper = [path for path in handed_in if not is_leftover(path)] or handed_in or named
    handed = [parts_of[path] for path in proper]
    around = tuple(commonprefix([parts[:-1] for parts in handed]))
    form = (
        _gradescope(parts_of, around, text_of)
        or _nbgrader(parts_of, handed, around, where, text_of)
        or _canvas_or_moodle(handed, around)
    )
    plain = _plain(handed, around, where)

    def sender(parts: Parts) -> Senders:
        found = form(parts) if form else None
        return plain(parts) if found is None else found

    return {path: sender(parts) if parts else () for path, parts in parts_of.items()}


def _parts(path: str) -> Parts:
    """The names in a path; a copy that Jupyter keeps stands for its original."""
    return tuple(part for part in CHECKPOINT.sub(r"\1", path).split("/") if part not in ("", ".", ".."))


def _gradescope(parts_of: Mapping[str, Parts], around: Parts, text_of: Callable[[str], str]) -> Form | None:
    """Folders that are named in a list; of several lists above everything the uppermost is Gradescope's."""
    lists = [path for path, parts in parts_of.items() if parts[-1:] == (METADATA,) and _is_above(parts[:-1], around)]
    if not lists:
        return None
    path = min(lists, key=lambda path: len(parts_of[path]))
    own, known = parts_of[path], read_metadata(text_of(path))

    def form(parts: Parts) -> Senders | None:
        if parts == own:
            return ()
        return next((known[part] for part in parts[len(own) - 1 : len(around) + 1] if part in known), None)

    return form if known else None


def _is_above(folder: Parts, around: Parts) -> bool:
    return around[: len(folder)] == folder


def _nbgrader(
    parts_of: Mapping[str, Parts], handed: Sequence[Parts], around: Parts, where: Parts, text_of: Callable[[str], str]
) -> Form | None:
    """``submitted/student/assignment/…``, if most students have it so; all beside that folder is the teacher's."""

    def below(parts: Parts) -> Parts:
        """What follows ``submitted``."""
        parts, head = where[-2:] + parts, where[-2:] + parts[: len(around) + 1]
        return parts[head.index("submitted") + 1 :] if "submitted" in head else ()

    fits: dict[Parts, bool] = {}
    for parts in handed:
        rest, beside = below(parts), parts[: len(around) + 1]
        if rest:
            student = ("submitted", rest[0])
            fits[student] = fits.get(student, False) or len(rest) > 2
        elif beside[-1] not in TEACHERS_FOLDERS:
            fits[beside] = False  # somebody's, if this is a plain folder
    if not _most(sum(fits.values()), len(fits)):
        return None
    stamps = (path for path, parts in parts_of.items() if parts[-1:] == (TIMESTAMP,) and len(below(parts)) == 3)
    times = {parts_of[path][:-1]: iso(text_of(path)) for path in stamps}

    def form(parts: Parts) -> Senders | None:
        rest = below(parts)
        if len(rest) < 2 or rest[2:] == (TIMESTAMP,):
            return ()
        folder = parts[: len(parts) - len(rest) + 2]
        return (Sender(rest[0], batch="".join(rest[1:-1][:1]), submitted_at=times.get(folder, "")),)

    return form


def _most(some: int, everything: int) -> bool:
    return 2 * some > everything


def _canvas_or_moodle(handed: Sequence[Parts], around: Parts) -> Form | None:
    """The platform in whose form most names are, at the same depth: ``ada_1_2.ipynb`` alone says nothing."""
    for depth in range(len(around) + 1):
        shapes = {(parts[: depth + 1], len(parts) > depth + 1): parts for parts in handed}
        votes = Counter(_written_by(parts, depth)[0] for parts in shapes.values())
        for platform in ("canvas", "moodle"):
            if _most(votes[platform], len(shapes)):

                def form(parts: Parts, platform: str = platform, depth: int = depth) -> Senders | None:
                    by, who = _written_by(parts, depth)
                    return who if by == platform else None

                return form
    return None


def _written_by(parts: Parts, depth: int) -> tuple[str, Senders]:
    """Which platform wrote the name at this depth, and whom it names."""
    name, is_folder = "".join(parts[depth : depth + 1]), len(parts) > depth + 1
    found = FOLDER.fullmatch(name) if is_folder else UNNAMED.fullmatch(name) or FILE.fullmatch(name)
    if not found:
        return "", ()
    said = {"late": "", "number": "", "moodle": "", **found.groupdict()}
    if said["moodle"]:
        return "moodle", (Sender(said["moodle"], said["name"]),)
    number, is_late = int(said["number"] or 0), bool(said["late"])
    return "canvas", (Sender(said["canvas"], said["name"], number=number, marked_late=is_late),)


def _plain(handed: Sequence[Parts], around: Parts, where: Parts) -> Callable[[Parts], Senders]:
    """A folder each, or a file each.

    What all of it lies in is nobody's if it mostly holds the folders of several, or has the archive's own name; else it
    is the folder of the only student.
    """
    folders = [parts[len(around)] for parts in handed if len(parts) > len(around) + 1]
    holds_folders = 2 * len(folders) > len(handed) and len(set(folders)) > 1
    nobodys: Parts = ()
    if holds_folders:
        nobodys = around
    elif where and around and around[0] == COPY.sub("", where[-1]):
        nobodys = around[:1]

    def sender(parts: Parts) -> Senders:
        if parts[:-1][: len(nobodys)] == nobodys:
            parts = parts[len(nobodys) :]
        if len(parts) > 1:
            return (Sender(parts[0]),)
        is_teachers = PurePosixPath(parts[0]).suffix.lower() in TEACHERS_KINDS and not is_handed_in(parts[0])
        return () if is_teachers else (Sender(stem(parts[0])),)

    return sender


def stem(name: str) -> str:
    """A file's name without its ending."""
    notebook = NOTEBOOK.fullmatch(name)
    return notebook[1] if notebook else PurePosixPath(name).stem
