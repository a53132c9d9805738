"""The shell of an HTML page that stands alone: one file, no script, nothing loaded; light, dark, and in print."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

# Whatever stands in a page, this lets nothing run and nothing be fetched.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

# Control characters, halves of characters, and marks that turn the direction of what follows.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1b1f; --soft: #55555e; --line: #d5d5dc; --box: #f4f4f7;
  --link: #0b57a4; --good: #1d6b2c; --bad: #b3261e; --loud: #fdecea;
  --s0: #f9d3b8; --s1: #fbe5d4; --s2: #f1f1f1; --s3: #dce9f6; --s4: #bcd8f2; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #17181c; --ink: #e8e8ec; --soft: #b4b4bf; --line: #3c3d45;
  --box: #22232a; --link: #8fc1f5; --good: #85d492; --bad: #ff9d94; --loud: #3d1d1b;
  --s0: #6b3411; --s1: #4c2d1a; --s2: #2f3036; --s3: #22384e; --s4: #1c4a75; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
main.wide { max-width: 76rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.3rem; margin-top: 2.2rem; } h3 { font-size: 1.08rem; }
h1, h2, h3, p, ul { margin-bottom: .4rem; } p { margin-top: .4rem; } a { color: var(--link); }
ul { padding-left: 1.3rem; margin-top: .2rem; }
small, .soft, figcaption { color: var(--soft); } small { font-size: .85em; }
code, pre { font-family: ui-monospace, monospace; font-size: .92em; background: var(--box); border-radius: 3px; }
code { padding: 0 .2em; } pre { padding: .5em .7em; overflow-x: auto; white-space: pre; }
pre.text { white-space: pre-wrap; }
.big { font-size: 1.35rem; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.card { border: 1px solid var(--line); border-left: 5px solid var(--line); border-radius: 4px; margin: .9rem 0;
  padding: .1rem .9rem .6rem; }
.card h2, .card h3 { margin-top: .6rem; }
.card.failed, .card.crashed, .card.timed_out, .card.missing { border-left-color: var(--bad); }
.card.loud { background: var(--loud); border: 2px solid var(--bad); }
.sides { display: flex; flex-wrap: wrap; gap: 0 1.5rem; } figure { margin: .5rem 0; }
svg { max-width: 100%; height: auto; }
.scroll { overflow: auto; max-width: 100%; } .scroll:focus-visible { outline: 3px solid var(--link); }
.tall { max-height: 85vh; border: 1px solid var(--line); }
table { border-collapse: collapse; font-size: .92rem; overflow-wrap: normal; } caption { text-align: left; }
caption { color: var(--soft); padding: .2rem .5rem; }
th, td { padding: .25rem .55rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.words { min-width: 16rem; }
th[scope=row] { min-width: 8.5rem; }
.s0 { background: var(--s0); } .s1 { background: var(--s1); } .s2 { background: var(--s2); }
.s3 { background: var(--s3); } .s4 { background: var(--s4); }
.grid { border-collapse: separate; border-spacing: 0; } .grid th { background: var(--page); font-weight: 500; }
.grid td { white-space: nowrap; }
.grid td:last-child { white-space: normal; min-width: 9rem; }
.grid thead th { position: sticky; top: 0; z-index: 1; vertical-align: bottom; }
.grid tbody th { position: sticky; left: 0; max-width: 14rem; overflow-wrap: anywhere; }
.grid thead th:first-child { left: 0; z-index: 2; }
.grid thead span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14rem; }
.mark { fill: var(--link); } .bar { max-width: none; margin-left: .5rem; }
.chart text { fill: var(--ink); font: 12px system-ui, sans-serif; }
@media (max-width: 40rem) { .grid tbody th { max-width: 7.5rem; } th, td { padding: .25rem .35rem; }
  th[scope=row] { min-width: 7rem; overflow-wrap: anywhere; } .narrow th[scope=row] { min-width: 0; } }
@page wide { size: landscape; margin: 1cm; }
@media print { h2, h3 { break-after: avoid; }
  :root, svg { color-scheme: light !important; } main { max-width: none; } main.wide { page: wide; }
  .tall { max-height: none; } .scroll { overflow: visible; } .grid { font-size: .7rem; }
  .grid thead th, .grid tbody th { position: static; } .card, tr, figure { break-inside: avoid; }
  * { print-color-adjust: exact; } }
"""


class Html(str):
    """Text that is HTML already: `put` leaves it as it is."""


def plain(text: Any) -> str:
    """Text as a page can hold it, with a stand-in for each character that it can't."""
    return UNFIT.sub("\ufffd", str(text))


def put(template: str, *parts: Any) -> Html:
    """Fill the ``{}`` of a template; all that isn't `Html` is escaped."""
    return Html(template.format(*(part if isinstance(part, Html) else escape(plain(part)) for part in parts)))


def join(parts: Iterable[Any], between: str = "") -> Html:
    return Html(between.join(put("{}", part) for part in parts))


def each(template: str, items: Iterable[Any]) -> Html:
    """The template once for each item; an item that is a tuple fills several places."""
    return join(put(template, *(item if isinstance(item, tuple) else (item,))) for item in items)


def said(text: str) -> Html:
    """A sentence in which `code` stands between backticks; further lines keep their columns, for a caret below."""
    first, _, rest = text.partition("\n")
    words = Html(re.sub(r"`([^`]*)`", r"<code>\1</code>", put("{}", first)))
    block = put('<pre role="group" aria-label="the place" tabindex="0">{}</pre>', rest) if rest else ""
    return join([words, block])


def breakable(name: str) -> Html:
    """A name that may go on in the next line after each underscore."""
    return join(name.split("_"), "_<wbr>")


def listed(title: str, items: Iterable[Any], level: int = 3) -> Html:
    """A heading with a list, or nothing where there are no items."""
    rows = each("<li>{}</li>", items)
    return put("<h{}>{}</h{}><ul>{}</ul>", level, title, level, rows) if rows else Html()


def number(value: float) -> str:
    """At most two decimals, and none where there are none: 7, 6.5, 0.33."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def page(title: str, body: Html, kind: str = "") -> str:
    """The whole file; its bytes are those of its UTF-8."""
    head = put(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<title>{}</title>\n<style>{}</style>\n</head>\n',
        Html(POLICY),
        title,
        Html(STYLE),
    )
    return head + put('<body>\n<main class="{}">\n<h1>{}</h1>\n{}\n</main>\n</body>\n</html>\n', kind, title, body)
