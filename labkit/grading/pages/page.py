"""Pages that stand alone, made from the templates in ``pages/``: one file, no script, nothing loaded."""

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ...feedback import code
from ..wording import count, number

# Control characters, halves of characters, and marks that turn the direction of what follows.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")

# How an exercise went: a sign and a word for each status.
WORDS = {
    "passed": ("✓", "right"),
    "failed": ("✗", "not right yet"),
    "unattempted": ("○", "still open"),
    "crashed": ("!", "stopped by an error"),
    "timed_out": ("∞", "took too long"),
    "missing": ("–", "not found"),
    "system_error": ("‼", "our fault"),
    "guessed": ("→", "guessed"),
}


def page(template: str, **values: Any) -> str:
    """Fill a template; its bytes are those of its UTF-8. All that isn't `Markup` already is cleaned and escaped."""
    return PAGES.get_template(template).render(values)


def cleaned(value: Any) -> str:
    """A value as text, with a stand-in for each character that no page can hold; `Markup` as it is."""
    return value if isinstance(value, Markup) else UNFIT.sub("\ufffd", str(value))


def spaced(id: str) -> str:
    """An id as words."""
    return id.replace("_", " ")


def with_code(sentence: str) -> Markup:
    """A sentence whose `code` stands between backticks."""
    return Markup(code(str(escape(cleaned(sentence)))))


PAGES = Environment(
    loader=PackageLoader("labkit.grading", "pages"),
    autoescape=True,
    finalize=cleaned,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
PAGES.filters |= {"number": number, "spaced": spaced, "code": with_code}
PAGES.globals |= {"count": count, "WORDS": WORDS}
