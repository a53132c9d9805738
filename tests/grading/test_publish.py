"""What is written for people: whole files, for their owner only, a page for each who handed in, none stale."""

import os
import stat
import sys
from dataclasses import replace

import pytest
from handed_in import record, submission

from labkit.grading.files import WriteError, for_owner_only, write_file
from labkit.grading.publish import publish, report
from labkit.grading.records.course import remember_roster
from labkit.grading.records.gradebook import Gradebook
from labkit.grading.records.roster import Entry, Roster
from labkit.grading.records.sheets import gradebook_sheet


def filled(folder, *records, waiting=(), roster=()):
    """Publish what is in a gradebook with these."""
    with Gradebook.open(folder / "gradebook.db") as book:
        book.refresh([one.submission for one in records] + list(waiting))
        for one in records:
            book.record(one.submission, one.graded, "f")
        if roster:
            remember_roster(book, Roster(tuple(roster)))
        return publish(folder, book)


def pages(folder):
    return sorted(path.name for path in (folder / "feedback").iterdir())


def test_a_page_that_is_nobodys_any_more_goes_and_files_of_others_stay(tmp_path):
    filled(tmp_path, record(), record(student="bob"))
    (tmp_path / "feedback" / "notes.html").write_text("<title>My own</title>")
    assert pages(tmp_path) == ["ada.html", "bob.html", "notes.html"]
    filled(tmp_path, roster=[Entry("7", "Ada Lovelace", others=("ada",))])
    assert pages(tmp_path) == ["7.html", "bob.html", "notes.html"]


def test_who_handed_in_nothing_has_no_page_and_no_link(tmp_path):
    filled(tmp_path, record(), roster=[Entry("ada"), Entry("zoe", "Zoë")])
    assert pages(tmp_path) == ["ada.html"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Zoë (zoe)" in page and "feedback/ada.html" in page and "feedback/zoe.html" not in page


def test_what_a_stopped_run_did_not_come_to_is_not_said_to_be_missing(tmp_path):
    later = submission(file="ada-2.ipynb", digest="d2")
    zoe = submission("zoe", name="Zoë", file="zoe.ipynb")
    rows = filled(tmp_path, record(), waiting=[later, zoe], roster=[Entry("ada"), Entry("zoe"), Entry("max")]).rows
    assert {row.student: (row.graded.status, row.points) for row in rows} == {
        "ada": ("graded", 3),
        "max": ("missing", None),
        "zoe": ("not_graded_yet", None),
    }
    assert rows[0].reason == (
        "The last attempt, ada-2.ipynb, has no score: It was handed in, and it hasn't been graded yet."
    )
    assert b"not_graded_yet" in gradebook_sheet(rows)
    page = (tmp_path / "feedback" / "zoe.html").read_text(encoding="utf-8")
    assert "hasn&#39;t been graded yet" in page and "Nothing was handed in" not in page
    done = filled(tmp_path, replace(record(4), submission=later), replace(record(2), submission=zoe)).rows
    assert [(row.student, row.points) for row in done] == [("ada", 4), ("max", None), ("zoe", 2)]


def test_the_question_whose_name_it_is_stands_on_the_page_of_who_used_anothers(tmp_path):
    ada, eve = record(name="Ada L."), record(student="eve", name="Eve")
    used = [replace(one, graded=replace(one.graded, numbers_of=("Ada",))) for one in (ada, eve)]
    filled(tmp_path, *used)
    asked = [name for name in pages(tmp_path) if b"somebody else" in (tmp_path / "feedback" / name).read_bytes()]
    assert asked == ["eve.html"]


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_what_a_report_writes_is_for_its_owner_only(tmp_path):
    with for_owner_only():
        (tmp_path / "out").mkdir()
        filled(tmp_path / "out", record())
    report(tmp_path / "out")
    found = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert len(found) == 8 and not [path for path in found if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    mask = os.umask(0)
    os.umask(mask)
    assert mask != 0o077


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_without_room_the_file_is_named_and_the_old_one_stays(tmp_path):
    filled(tmp_path, record(3))
    before = (tmp_path / "report.html").read_bytes()
    (tmp_path / "report.html.part").symlink_to("/dev/full")
    words = "report.html: this file must be written; got: No space left on device. All grades are kept in the gradebook"
    with pytest.raises(WriteError, match=words):
        filled(tmp_path, record(4, digest="d2"))
    assert (tmp_path / "report.html").read_bytes() == before and not list(tmp_path.glob("*.part"))
    filled(tmp_path)
    assert (tmp_path / "report.html").read_bytes() != before


def test_a_file_is_replaced_whole(tmp_path):
    for data in (b"one", b"another"):
        write_file(tmp_path / "x.csv", data)
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x.csv", data)]
