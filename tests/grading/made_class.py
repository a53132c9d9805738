"""A class of any size, made by chance from right, wrong and hostile cells; the same seed makes the same class."""

import json
import random
from pathlib import Path

BEGIN = "import numpy as np\nfrom labkit import check, student\n\nme = student({name!r})"

CELLS = {
    "causal_mask": (
        "def causal_mask(n):\n    return np.tri(n, dtype=bool)",
        "def causal_mask(n):\n    return np.arange(n)[:, None] >= np.arange(n)",
        "def causal_mask(n):\n    return ~np.tri(n, dtype=bool)",
        "def causal_mask(n):\n    return np.tri(n, k=-1, dtype=bool)",
        "def causal_mask(n):\n    ...",
    ),
    "padding_mask": (
        "def padding_mask(lengths, n_k):\n    return np.arange(n_k) < np.asarray(lengths)[:, None]",
        "def padding_mask(lengths, n_k):\n    return np.arange(n_k) <= np.asarray(lengths)[:, None]",
        "",
    ),
    "masked_softmax": (
        "def masked_softmax(scores, mask):\n    if not mask.any(axis=-1).all():\n        raise ValueError('no key')\n"
        "    s = np.where(mask, scores, -np.inf)\n    e = np.exp(s - s.max(axis=-1, keepdims=True))\n"
        "    return e / e.sum(axis=-1, keepdims=True)",
        "def masked_softmax(scores, mask):\n    s = np.where(mask, scores, 0)\n    e = np.exp(s)\n"
        "    return e / e.sum(axis=-1, keepdims=True)",
        "def masked_softmax(scores, mask):\n    e = np.exp(np.where(mask, scores, -np.inf))\n"
        "    return e / e.sum(axis=0, keepdims=True)",
    ),
    "zero_fill_weights": ("zero_fill_weights = [0.73, 0.27]", "zero_fill_weights = [1, 0]", "zero_fill_weights = ..."),
    "practice_weights": (
        "practice_weights = [[1, 0], [0.27, 0.73]]",
        "practice_weights = [[1, 0], [0.5, ...]]",
        "practice_weights = [[0.5, 0.5], [0.27, 0.73]]",
    ),
}
HOSTILE = (
    "while True: pass",
    "import os; os._exit(0)",
    "import ctypes; ctypes.string_at(0)",
    "open('/tmp/pwned', 'w').write('x')",
    "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(600)",
    "def causal_mask(n):\n    while True: pass",
    "def causal_mask(n):\n    import os; os._exit(0)",
    "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 99)\n    except OSError: pass",
    "from labkit.attention import attention",
    "x = [bytearray(10**8) for _ in range(100)]",
)


def make_class(folder: Path, size: int, hostile: float = 0.05, seed: int = 0) -> None:
    """Write one notebook for each of ``size`` students, of which a share is hostile."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    for number in range(size):
        name = f"student{number:04d}"
        cells = [BEGIN.format(name=name), *(chance.choice(variants) for variants in CELLS.values())]
        if chance.random() < hostile:
            cells.insert(chance.randrange(1, len(cells) + 1), chance.choice(HOSTILE))
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook(cells)), encoding="utf-8")


def notebook(sources: list[str]) -> dict:
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for source in sources
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
