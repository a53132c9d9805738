"""Notebooks and archives made up for the tests of what comes in."""

import json
import zipfile
from pathlib import Path

LABS = Path(__file__).resolve().parents[1] / "notebooks"


def lab(name):
    """The bytes of a lab as students get it."""
    return (LABS / f"{name}.ipynb").read_bytes()


def cell(source, kind="code", **more):
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(*cells, **more):
    """The bytes of a notebook; text stands for a code cell."""
    cells = [cell(one) if isinstance(one, str) else one for one in cells]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def in_zip(path, files):
    """Write an archive of these names and bytes (or text); a ``ZipInfo`` may be a name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def in_folder(root, files):
    """Write files of these names and bytes (or text) below a folder."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return root
