"""How numbers and lists are said, wherever grading says them."""

from collections.abc import Sequence


def number(value: float) -> str:
    """At most two decimals, and none where there are none: 7, 6.5, 0.33."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def count(n: int, one: str, many: str = "") -> str:
    """Such as ``1 day`` and ``2 days``."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """The text as a terminal may show it: what would end the line, move the cursor or turn the direction, spelt out."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def few(texts: Sequence[str], most: int = 3) -> str:
    """The first texts, and how many more there are: ``a, b, c and 2 more``."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")
