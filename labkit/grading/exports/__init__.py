"""Marks and labs for other platforms: Canvas, Moodle, nbgrader, Gradescope."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path


class ExportError(ValueError):
    """Why there is nothing to export, or nowhere to, in one line."""


def chosen(kind: str, asked: str | None, there: Sequence[str]) -> str:
    """The one that was asked for, of which the beginning is enough; the only one there is if none was."""
    meant = [one for one in there if one == asked] or [one for one in there if one.startswith(asked or "")]
    if len(meant) != 1:
        got = repr(asked) if asked else f"no --{kind}"
        among = ", ".join(map(repr, there)) or "none"
        raise ExportError(f"export: one {kind} must be chosen; got {got}. There are: {among}. Name one with --{kind}.")
    return meant[0]


def write(path: Path, data: bytes) -> None:
    """Write a file for its owner alone, in one step: whoever looks finds the old one or the new one, whole."""
    path, part = path.resolve(), ""
    if path.exists() and not path.is_file():
        raise ExportError(f"export: {path} must be a file; it is something else. Choose another place.")
    try:
        number, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        if os.path.exists(part):
            os.unlink(part)
