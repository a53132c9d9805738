"""What git or an editor would mend, or no file system holds: made here when the golden folder is graded.

Each function gives the files of a story, by name.
"""

import io
import json
import stat
import zipfile
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAME = "02_causal_mask.ipynb"
LINK = b"/etc/passwd"  # where a link leads


def entry(path: str, link: bool = False) -> zipfile.ZipInfo:
    """A file of an archive, or a symbolic link."""
    info = zipfile.ZipInfo(path, (2026, 12, 1, 12, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    if link:
        info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def notebook(**more) -> str:
    """A right causal mask, with an umlaut in its comment."""
    source = "import numpy as np\n\ndef causal_mask(n):\n    # schöne Grüße\n    return np.tri(n, dtype=bool)"
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source} | more
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, ensure_ascii=False)


def with_conflict_markers():
    return {NAME: '{"cells": [\n {},\n<<<<<<< HEAD\n {"a": 1}\n=======\n {"a": 2}\n>>>>>>> origin/main\n]}\n'}


def with_a_null_byte_in_the_file():
    return {NAME: notebook().replace("dtype", "d\0type")}


def with_a_byte_order_mark():
    return {NAME: notebook().encode("utf-8-sig")}


def in_cp1252():
    return {NAME: notebook().encode("cp1252")}


def in_utf_16():
    return {NAME: notebook().encode("utf-16")}


def renamed():
    return {"Abgabe 2 – Kopie.ipynb": notebook()}


def with_an_odd_name():
    return {"=1+2, “x” #1 100% 'ü'.ipynb": notebook()}


def untouched():
    return {NAME: (NOTEBOOKS / NAME).read_bytes()}


def leading_out():
    return {"../../../../etc/cron.d/lab.ipynb": notebook()}


def a_link():
    return {NAME: LINK}


def with_heavy_outputs():
    """40 MB in all: what was printed, and a picture."""
    printed = {"output_type": "stream", "name": "stdout", "text": ["all work and no play\n" * 900_000]}
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 1_900_000}}
    return {NAME: notebook(outputs=[printed, picture])}


def a_pdf():
    return {"02_causal_mask.pdf": b"%PDF-1.7\n\xe2\xe3\xcf\xd3"}


def zipped():
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(entry(f"Lab 2/{NAME}"), notebook())
        archive.writestr(entry(f"__MACOSX/Lab 2/._{NAME}"), b"\0\5\x16\7")
        archive.writestr(entry(f"Lab 2/.ipynb_checkpoints/{NAME}"), notebook())
    return {"Lab 2.zip": inner.getvalue()}
