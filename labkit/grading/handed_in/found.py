"""The files in a folder or an archive, named and not yet read.

Nothing is unpacked to disk, so that no path in an archive leads anywhere, and no link is followed.
"""

import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path

NOTEBOOK = re.compile(r"(?is)(.+)\.ipynb(?:\.txt|\.json)?")  # browsers and mail programs like to add a suffix
NOISE = re.compile(r"(?is)\..*|__MACOSX|.*~|~\$.*|#.*#|thumbs\.db|desktop\.ini")
RESOURCES = re.compile(r"(?is)\._.*|__MACOSX")  # what macOS puts beside each file: never a notebook, whatever its name
PACKED = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")
OFFICE = {"[Content_Types].xml", "mimetype"}  # in the zip archives that are Word's, Excel's or LibreOffice's files
MOST_BYTES = 200 * 2**20  # of a notebook, unpacked: a lab has 0.1 MB, all else is outputs
MOST_ARCHIVED = 200 * 2**20  # of any other file
MOST_FILES, MOST_IN_ALL = 5_000, 200 * 2**20  # in an archive that a student made, and in all of its notebooks
MOST_CHARACTERS = 1_000  # of a path
OUTSIDE = "has a path that leads out of the archive"
LINK = "is a symbolic link, and links aren't followed"
SQLITE, LABKIT = b"SQLite format 3\0", b"LABK"  # how a gradebook begins, and the name it has in SQLite's header
GRADES = "is a folder in which labkit keeps grades, so it was left out"


class IntakeError(ValueError):
    """Why there is nothing to grade, in one line."""


class Refused(Exception):
    """What keeps a file from being read, as the end of a sentence that begins with its name."""


@dataclass(frozen=True)
class Found:
    """A file and what gives its bytes; ``problem`` says why it won't be read, if so."""

    path: str
    fetch: Callable[[], bytes]
    problem: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def read(self) -> bytes:
        """All of it; raises ``Refused``."""
        if self.problem:
            raise Refused(self.problem)
        try:
            return self.fetch()
        except Exception as error:  # a damaged entry of an archive fails in a dozen ways
            raise Refused(f"can't be read ({_one_line(error)})") from error


@contextmanager
def opened(path: Path) -> Iterator[list[Found]]:
    """What lies in a folder or a .zip, or the one notebook, ordered by path."""
    if not os.path.exists(path):
        raise IntakeError(f"{path}: there is no such file or folder. Look at the spelling.")
    if path.is_dir():
        yield _sorted(_in_folder(path))
    elif NOTEBOOK.fullmatch(path.name):
        yield [Found(path.name, path.read_bytes, _problem_in_folder(path.resolve()))]
    else:
        what = f"{path}: must be a folder, a .zip or an .ipynb file"
        if path.name.lower().endswith(PACKED):
            raise IntakeError(f"{what}; of archives only a .zip is opened. Unpack it, and give the folder.")
        if not path.is_file():
            raise IntakeError(f"{what}; it is no ordinary file. Give another path.")
        try:
            archive = zipfile.ZipFile(path)
        except Exception as error:  # as above
            raise IntakeError(f"{what}, and whole ({_one_line(error)}). Give another path.") from error
        with archive:
            names = archive.namelist()
            if OFFICE & set(names) and not any(map(is_handed_in, names)):
                raise IntakeError(f"{what}; it is an office document. Give another path.")
            yield _sorted(_in_zip(archive))


def in_students_zip(outer: Found) -> list[Found]:
    """What lies in an archive inside the archive; raises ``Refused``.

    It is opened anew for each file that is read, so that no archive is kept in memory.
    """
    with _opened_again(outer) as archive:
        infos = archive.infolist()
    sizes = (info.file_size for info in infos if NOTEBOOK.fullmatch(info.filename))
    if sum(size for size in sizes if size <= MOST_BYTES) > MOST_IN_ALL:
        raise Refused(f"unpacks to more than {megabytes(MOST_IN_ALL)}")

    def unpack(info: zipfile.ZipInfo) -> bytes:
        with _opened_again(outer) as archive:
            return _unpack(archive, info)

    return _sorted(replace(file, path=f"{outer.path}/{file.path}") for file in _listed(infos, unpack))


def _opened_again(outer: Found) -> zipfile.ZipFile:
    data = outer.read()
    if data.count(b"PK\x01\x02") > MOST_FILES:  # which stands before each file in the archive's table
        raise Refused(f"holds more than {MOST_FILES:,} files")
    try:
        return zipfile.ZipFile(BytesIO(data))
    except Exception as error:  # as above
        raise Refused(f"can't be opened ({_one_line(error)})") from error


def is_handed_in(path: str) -> bool:
    """Whether it is a notebook, or an archive that may hold one."""
    return bool(NOTEBOOK.fullmatch(path)) or path.lower().endswith(".zip")


def is_leftover(path: str) -> bool:
    """Whether a name in it is one that editors and operating systems give to what they leave behind."""
    return any(map(NOISE.fullmatch, _names(path)))


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name.strip(".")]


def _sorted(files: Iterable[Found]) -> list[Found]:
    """By path, which is the same on every machine; without leftovers that can't hold anybody's notebook."""
    return sorted((_with_short_path(one) for one in files if _is_missed(one.path)), key=lambda file: file.path)


def _is_missed(path: str) -> bool:
    """Whether somebody may miss it: whatever is no leftover, and of those what may hold a notebook."""
    if not is_leftover(path):
        return True
    return is_handed_in(path) and not any(map(RESOURCES.fullmatch, _names(path)))


def _with_short_path(file: Found) -> Found:
    """Cut what no honest path has, since each path stands in many a table."""
    if len(file.path) <= MOST_CHARACTERS:
        return file
    problem = f"has a path of more than {MOST_CHARACTERS:,} characters"
    return replace(file, path=file.path[:MOST_CHARACTERS] + "…", problem=problem)


def _in_folder(root: Path) -> Iterator[Found]:
    closed: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=closed.append):
        here = Path(folder)
        inside = here.relative_to(root).as_posix()
        is_gradebook = here != root and "gradebook.db" in names and _is_gradebook(here / "gradebook.db")
        if is_gradebook or len(inside) > MOST_CHARACTERS:  # which `_with_short_path` then says in its place
            folders.clear()
            yield Found(inside, bytes, GRADES)
            continue
        links = (name for name in folders if os.path.islink(here / name))
        for path in (here / name for name in [*names, *links]):
            name = path.relative_to(root).as_posix()
            if _is_missed(name):
                yield Found(name, path.read_bytes, _problem_in_folder(path))
    for error in closed:
        yield Found(Path(error.filename).relative_to(root).as_posix(), bytes, f"can't be read ({_one_line(error)})")


def _is_gradebook(path: Path) -> bool:
    """Whether a file is one of ours, by what SQLite keeps in its header."""
    if _problem_in_folder(path):
        return False
    try:
        with open(path, "rb") as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(SQLITE) and header.endswith(LABKIT)


def _problem_in_folder(path: Path) -> str:
    try:
        status = path.lstat()
    except OSError as error:
        return f"can't be read ({_one_line(error)})"
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return _too_large(path.name, status.st_size) if stat.S_ISREG(status.st_mode) else "is no ordinary file"


def _too_large(path: str, size: int) -> str:
    most = MOST_BYTES if NOTEBOOK.fullmatch(path) else MOST_ARCHIVED
    return f"is too large ({megabytes(size)}; the most is {megabytes(most)})" if size > most else ""


def _in_zip(archive: zipfile.ZipFile) -> Iterator[Found]:
    return _listed(archive.infolist(), partial(_unpack, archive))


def _listed(infos: Iterable[zipfile.ZipInfo], unpack: Callable[[zipfile.ZipInfo], bytes]) -> Iterator[Found]:
    """The files in an archive's table."""
    for info in infos:
        path = _name_of(info).replace("\\", "/")  # as some archivers on Windows write it
        if not path.endswith("/"):
            yield Found(path, partial(unpack, info), _problem_in_zip(info, path))


def _name_of(info: zipfile.ZipInfo) -> str:
    """Its name; one that isn't marked as UTF-8 often is UTF-8 all the same."""
    try:
        return info.filename if info.flag_bits & 0x800 else info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _problem_in_zip(info: zipfile.ZipInfo, path: str) -> str:
    if path.startswith("/") or re.match("[A-Za-z]:", path) or ".." in path.split("/"):
        return OUTSIDE
    if stat.S_ISLNK(info.external_attr >> 16):
        return LINK
    if info.flag_bits & 1:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others can't be unpacked bit by bit
        return "is packed in an unusual way"
    return _too_large(path, info.file_size)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # never more, however much is packed in it


def megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def _one_line(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split()) or type(error).__name__
