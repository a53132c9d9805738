"""The files in a folder or an archive, named and not yet read.

Nothing is unpacked to disk, so that no path in an archive leads anywhere, and no link is followed.
"""

import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path

NOTEBOOK = re.compile(r"(?is)(.+)\.ipynb(?:\.txt|\.json)?")  # browsers and mail programs like to add a suffix
NOISE = re.compile(r"(?is)\..*|__MACOSX|.*~|~\$.*|#.*#|thumbs\.db|desktop\.ini")
MOST_BYTES = 200 * 2**20  # of a file, unpacked
MOST_FILES, MOST_IN_ALL = 5_000, 2**30  # in an archive that a student made
OUTSIDE = "has a path that leads out of the archive"
LINK = "is a symbolic link, and links aren't followed"


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
        try:
            archive = zipfile.ZipFile(path)
        except Exception as error:  # as above
            what = "must be a folder, a .zip or an .ipynb file, and whole"
            raise IntakeError(f"{path}: {what} ({_one_line(error)}). Give another path.") from error
        with archive:
            yield _sorted(_in_zip(archive))


def in_students_zip(outer: Found) -> list[Found]:
    """What lies in an archive inside the archive; raises ``Refused``."""
    data = outer.read()
    if data.count(b"PK\x01\x02") > MOST_FILES:  # which stands before each file in the archive's table
        raise Refused(f"holds more than {MOST_FILES:,} files")
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except Exception as error:  # as above
        raise Refused(f"can't be opened ({_one_line(error)})") from error
    if sum(info.file_size for info in archive.infolist() if NOTEBOOK.fullmatch(info.filename)) > MOST_IN_ALL:
        raise Refused(f"unpacks to more than {_megabytes(MOST_IN_ALL)}")
    return _sorted(replace(file, path=f"{outer.path}/{file.path}") for file in _in_zip(archive))


def _sorted(files: Iterator[Found]) -> list[Found]:
    """By path, which is the same on every machine; without what editors and operating systems leave behind."""
    parts = ((file, (part for part in file.path.split("/") if part.strip("."))) for file in files)
    return sorted((file for file, names in parts if not any(map(NOISE.fullmatch, names))), key=lambda file: file.path)


def _in_folder(root: Path) -> Iterator[Found]:
    closed: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=closed.append):
        folders[:] = [name for name in folders if not NOISE.fullmatch(name)]
        for path in (Path(folder, name) for name in [*names, *folders]):
            if path.is_symlink() or not path.is_dir():
                yield Found(path.relative_to(root).as_posix(), path.read_bytes, _problem_in_folder(path))
    for error in closed:
        yield Found(Path(error.filename).relative_to(root).as_posix(), bytes, f"can't be read ({_one_line(error)})")


def _problem_in_folder(path: Path) -> str:
    try:
        status = path.lstat()
    except OSError as error:
        return f"can't be read ({_one_line(error)})"
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return _too_large(status.st_size) if stat.S_ISREG(status.st_mode) else "is no ordinary file"


def _too_large(size: int) -> str:
    return f"is too large ({_megabytes(size)}; the most is {_megabytes(MOST_BYTES)})" if size > MOST_BYTES else ""


def _in_zip(archive: zipfile.ZipFile) -> Iterator[Found]:
    for info in archive.infolist():
        path = _name_of(info).replace("\\", "/")  # as some archivers on Windows write it
        if not path.endswith("/"):
            yield Found(path, partial(_unpack, archive, info), _problem_in_zip(info, path))


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
    return _too_large(info.file_size)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # never more, however much is packed in it


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def _one_line(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split()) or type(error).__name__
