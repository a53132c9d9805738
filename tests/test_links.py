"""Links: what the README and the labs point to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXTS = sorted([ROOT / "README.md", *(ROOT / "solutions").glob("*.py"), *(ROOT / "tests" / "submissions").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names that code-hosting pages give to headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def broken(path: Path) -> list[str]:
    text, found = path.read_text(encoding="utf-8"), []
    for link in LINK.findall(text):
        target, _, anchor = link.partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue  # nothing here is on the network
        if not (path.parent / target).exists() or (anchor and not target and anchor not in anchors(text)):
            found.append(link)
    return found


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path):
    assert broken(path) == []


def test_a_broken_link_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](page.md) [c](#two) [d](gone.md) [e](https://example.org)")
    assert broken(page) == ["#two", "gone.md"]


def test_every_file_that_the_readme_names_is_there():
    """Paths in code marks, such as `labkit/attention.py`, but for those that a command makes."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:labkit|tests|solutions|notebooks)/[\w./]+)`", text)) - {"solutions/NN_slug.py"}
    assert len(paths) > 5
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
