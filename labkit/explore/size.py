"""How the table of weights grows: entries and bytes for T tokens."""

from .explorer import Explorer, Shown, slider
from .svg import BLUE, ORANGE, rect, svg, text

MARKED = (100, 200)
SIDE = 280


def explorer(predict):
    return Explorer({"T": slider("T", 100, 10, 2000, 10)}, show, predict)


def show(T):
    lines = [f"T = {T}: {entries(T)} entries for each head of each layer, {stored(T)} in float32."]
    marked = "; ".join(f"{n} tokens → {entries(n)} entries" for n in MARKED)
    lines.append(f"{marked}: twice the tokens, four times the entries.")
    return Shown([picture(T)], lines)


def entries(T: int) -> str:
    return f"{T * T:,}".replace(",", " ")


def stored(T: int) -> str:
    size = 4 * T * T  # float32
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB" if size < 10**6 else f"{size / 10**6:.1f} MB"


def picture(T):
    """Draw the tables themselves, to scale, in one corner."""
    most = max(T, *MARKED)
    marks = [text(8, 20, "T × T entries, to scale", size=14, bold=True)]
    marks.append(rect(8, 30, SIDE * T / most, SIDE * T / most, BLUE, opacity=0.35, line=BLUE, thick=3))
    for n, (tokens, ink) in enumerate(zip((*MARKED, T), (ORANGE, ORANGE, BLUE), strict=True)):
        side = SIDE * tokens / most
        marks += [rect(8, 30, side, side, line=ink, thick=2), text(11 + side, 30 + side, str(tokens))]
        label = f"{'T = ' if n == 2 else ''}{tokens}: {entries(tokens)} entries, {stored(tokens)}"
        marks.append(text(330, 55 + 26 * n, label, bold=n == 2))
    said = "; ".join(f"{n} tokens, {entries(n)} entries" for n in (*MARKED, T))
    return svg(marks, 560, 324, f"Square tables drawn to scale: {said}.")
