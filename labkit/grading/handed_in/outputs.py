"""What makes a notebook's file large, and is of no use to a grader: outputs, attached pictures, states of widgets."""

import re

BEGINS = re.compile(rb'"(?:outputs|attachments|widgets)"\s*:\s*[\[{]')  # within a text quotes have a backslash
TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
MOST_PLACES = 50_000  # where something is dropped; a notebook that is read has no more than 10,000 cells
DEEPER = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


def without_outputs(data: bytes) -> bytes:
    """The same JSON with nothing in them; what stood behind them stays in its line, for whoever is told of it.

    It works on bytes, so that as little as possible is kept in memory. In UTF-16 and UTF-32 nothing is found.
    """
    kept: list[bytes] = []
    at = 0
    while len(kept) < 2 * MOST_PLACES and (begins := BEGINS.search(data, at)):
        end = end_of(data, begins.end() - 1)
        kept += [data[at : begins.end()], b"\n" * data.count(b"\n", begins.end(), end)]
        at = end
    return b"".join([*kept, data[at:]])


def end_of(data: bytes, begin: int) -> int:
    """Where the bracket is that closes the one at ``begin``; the end of the data if there is none."""
    depth = 0
    for token in TOKENS.finditer(data, begin):
        depth += DEEPER.get(token[0], 0)
        if not depth:
            return token.start()
    return len(data)
