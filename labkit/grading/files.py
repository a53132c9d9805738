"""Files that people are given: written whole or not at all, and for nobody else on the machine to read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class WriteError(ValueError):
    """A file that can't be written, and what to do; what was there before is still there."""


@contextmanager
def for_owner_only() -> Iterator[None]:
    """Meanwhile, folders and files are made such that only their owner may look into them."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_file(path: Path, data: bytes, sync: bool = True) -> None:
    """Replace a file in one step: whoever looks finds the old one or the new one, whole.

    Parameters
    ----------
    path : Path
    data : bytes
    sync : bool
        Also after a power cut; it takes a few milliseconds, which is much for one of thousands of files.

    Raises
    ------
    WriteError
        If there is no room, or it isn't allowed.
    """
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise WriteError(
            f"{path}: this file must be written; got: {error.strerror}. All grades are kept in the gradebook: "
            f"make room there, or allow writing, and run `labkit report`."
        ) from None
