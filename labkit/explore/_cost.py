"""How the table of weights grows: entries and bytes for T tokens."""

from typing import Any

from ..draw import Mark, Picture, Rect, Text
from .explorer import Explorer, Shown, slider
from .picture import BLUE, ORANGE, titled

MARKED = (100, 200)
SIDE = 280


def cost(*, predict: Any = False) -> Explorer:
    """Count the entries of the weights for T tokens, drawn to scale.

    Controls: "T" (10 to 2000).
    """
    return Explorer({"T": slider("T", 100, 10, 2000, 10)}, show, predict)


def show(shown: Shown, T: int) -> None:
    shown.pictures.append(picture(T))
    shown.lines.append(f"T = {T}: {entries(T)} entries for each head of each layer, {stored(T)} in float32.")
    marked = "; ".join(f"{n} tokens → {entries(n)} entries" for n in MARKED)
    shown.lines.append(f"{marked}: twice the tokens, four times the entries.")


def entries(T: int) -> str:
    return f"{T * T:,}".replace(",", " ")


def stored(T: int) -> str:
    size = 4 * T * T  # float32
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB" if size < 10**6 else f"{size / 10**6:.1f} MB"


def picture(T: int) -> Picture:
    """Draw the tables themselves, to scale, in one corner."""
    scale = SIDE / max(T, *MARKED)
    marks: list[Mark] = [Rect(8, 30, scale * T, scale * T, BLUE, outline=BLUE, thick=3, opacity=0.35)]
    for n, (tokens, ink) in enumerate(zip((*MARKED, T), (ORANGE, ORANGE, BLUE), strict=True)):
        side = scale * tokens
        marks.append(Rect(8, 30, side, side, "none", outline=ink, thick=2))
        marks += [Text(11 + side, 30 + side, str(tokens))] if n < 2 or T not in MARKED else []
        label = f"{'T = ' if n == 2 else ''}{tokens}: {entries(tokens)} entries, {stored(tokens)}"
        marks.append(Text(330, 55 + 26 * n, label, bold=n == 2))
    said = "; ".join(f"{n} tokens, {entries(n)} entries" for n in (*MARKED, T))
    return titled("T × T entries, to scale", 560, 324, marks, f"Square tables drawn to scale: {said}.")
