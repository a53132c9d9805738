"""From folders and archives to submissions: the good ones are all there, the bad ones have a row and a reason."""

import hashlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import cell, in_folder, in_zip, lab, notebook

from labkit.grading.handed_in import found
from labkit.grading.handed_in.intake import IntakeError, collect
from labkit.grading.records.gradebook import Gradebook

LAB = "02_causal_mask"
MASK = notebook("def causal_mask(n): ...")
SCORES = notebook("def attention_scores(Q, K): ...")
MOODLE = "{}_{}_assignsubmission_file_/lab.ipynb"


@pytest.fixture
def course(tmp_path):
    """Make a folder of these files and collect it."""

    def made(files, **more):
        return collect(in_folder(tmp_path / "course", files), **more)

    return made


@pytest.fixture
def archive(tmp_path):
    """Make an archive of these files and collect it."""

    def made(files, **more):
        return collect(in_zip(tmp_path / "archive.zip", files), **more)

    return made


def facts(intake):
    return [(one.student, one.file, one.lab, one.problem) for one in intake.submissions]


def problems(intake):
    return {one.student: one.problem for one in intake.submissions if one.problem}


def test_a_notebook_becomes_a_submission(course):
    data = lab(LAB)
    (one,) = course({"ada/02_causal_mask (1).ipynb": data}).submissions
    assert (one.student, one.file, one.lab, one.number) == ("ada", "ada/02_causal_mask (1).ipynb", LAB, 0)
    assert one.digest == hashlib.sha256(data).hexdigest() and len(one.cells) > 20 and not one.problem


def test_a_single_notebook_is_its_students(tmp_path):
    in_folder(tmp_path, {"ada.ipynb": MASK})
    assert facts(collect(tmp_path / "ada.ipynb")) == [("ada", "ada.ipynb", LAB, "")]
    assert facts(collect(str(tmp_path / "ada.ipynb"))) == [("ada", "ada.ipynb", LAB, "")]


def test_the_order_is_that_of_the_names_whatever_the_archives_order(archive):
    names = ["b.ipynb", "a/z.ipynb", "C.ipynb", "a/B.ipynb", "ä.ipynb"]
    there, back = archive(dict.fromkeys(names, MASK)), archive(dict.fromkeys(reversed(names), MASK))
    assert there == back
    assert [one.file for one in there.submissions] == sorted(names)


def test_what_editors_and_systems_leave_behind_is_skipped_in_silence(archive, course):
    files = dict.fromkeys(
        [
            "ada/.ipynb_checkpoints/lab-checkpoint.ipynb",
            "__MACOSX/ada/._lab.ipynb",
            "ada/._lab.ipynb",
            "ada/lab.ipynb~",
            "ada/#lab.ipynb#",
            "ada/Thumbs.db",
            ".DS_Store",
            "ada/.git/x.ipynb",
        ],
        MASK,
    )
    for collected in (archive({**files, "ada/lab.ipynb": MASK}), course({**files, "ada/lab.ipynb": MASK})):
        assert facts(collected) == [("ada", "ada/lab.ipynb", LAB, "")] and not collected.notes


CHECKPOINT = ".ipynb_checkpoints/lab-checkpoint.ipynb"
KEPT = "Only `{}` was handed in, a copy that an editor keeps: is it the latest?"


def test_a_copy_that_an_editor_keeps_is_taken_where_there_is_nothing_else_and_remarked_on(archive, course):
    inner = in_zip(io.BytesIO(), {f"x/{CHECKPOINT}": MASK}).getvalue()
    files = {f"ada/{CHECKPOINT}": MASK, "bob/.lab.ipynb": MASK, "cem/~$lab.ipynb": MASK, "dan/lab.zip": inner}
    names = ["lab-checkpoint.ipynb", ".lab.ipynb", "~$lab.ipynb", "lab-checkpoint.ipynb"]
    for collected in (archive(files), course(files)):
        assert [one.student for one in collected.submissions] == ["ada", "bob", "cem", "dan"]
        assert not problems(collected) and not collected.notes
        assert [one.remarks for one in collected.submissions] == [(KEPT.format(name),) for name in names]


def test_a_folder_that_is_called_like_a_leftover_is_not_lost_silently(archive, course):
    odd = {".eve/lab.ipynb": MASK, "zoe~/lab.ipynb": MASK, "#tag#/lab.ipynb": MASK, "~$fay.ipynb": MASK}
    for collected in (archive({"ada/lab.ipynb": MASK, **odd}), course({"ada/lab.ipynb": MASK, **odd})):
        assert [one.student for one in collected.submissions] == ["ada"]
        said = " ".join(collected.notes)
        assert all(path in said for path in odd) and said.count("editors and systems give such names") == 4


def test_what_lies_beside_a_notebook_is_named_in_a_remark(archive):
    inner = in_zip(io.BytesIO(), {"lab.ipynb": MASK, "antworten.pdf": b"x", ".old.ipynb": MASK}).getvalue()
    files = {
        MOODLE.format("Ada", 1): MASK,
        "Ada_1_assignsubmission_file_/Reflexion.docx": b"x",
        "Ada_1_assignsubmission_onlinetext_/onlinetext.html": b"x",
        "Bob_2_assignsubmission_file_/lab.zip": inner,
        MOODLE.format("Cem", 3): MASK,
        f"Cem_3_assignsubmission_file_/{CHECKPOINT}": MASK,
    }
    collected = archive(files)
    assert [one.remarks for one in collected.submissions] == [
        ("Handed in beside it, and not read: `Reflexion.docx`, `onlinetext.html`.",),
        ("Handed in beside it, and not read: `antworten.pdf`, `.old.ipynb`.",),
        (),
    ]
    assert not collected.notes


def test_of_very_many_notebooks_in_an_archive_those_named_like_the_lab_are_read_and_the_rest_is_named(archive):
    names = [f"{n:02}.ipynb" for n in range(30)] + ["zz_causal_mask.ipynb"]
    collected = archive({"ada.ipynb": MASK, "eve.zip": in_zip(io.BytesIO(), dict.fromkeys(names, MASK)).getvalue()})
    read = [one.file for one in collected.submissions if one.student == "eve"]
    assert len(read) == 20 and read[-1] == "eve.zip/zz_causal_mask.ipynb"
    left = "Left out: eve.zip/19.ipynb, eve.zip/20.ipynb, eve.zip/21.ipynb and 8 more."
    assert collected.notes == (f"Of an archive 20 notebooks are read. {left}",)
    assert "not read: `19.ipynb`, `20.ipynb`" in collected.submissions[-1].remarks[0]


def test_of_very_many_refused_files_and_kept_copies_in_an_archive_the_rest_is_counted(archive):
    files = {f"../{n}.pdf": b"x" for n in range(30)} | {f".{n:02}.ipynb": MASK for n in range(30)}
    collected = archive({"ada.ipynb": MASK, "eve.zip": in_zip(io.BytesIO(), files).getvalue()})
    assert len(collected.submissions) == 21 and len(collected.notes) == 11
    assert collected.notes[-1] == "20 more files in eve.zip were refused."
    assert collected.submissions[1].remarks == (
        "Only `.00.ipynb`, `.01.ipynb`, `.02.ipynb` and 27 more was handed in, a copy that an editor keeps: "
        "is it the latest?",
        "Handed in beside it, and not read: " + ", ".join(f"`.{n}.ipynb`" for n in range(20, 30)) + ".",
    )


def test_a_path_of_many_characters_is_refused_and_cut(archive):
    inner = in_zip(io.BytesIO(), {"a" + "_1" * 20_000 + ".ipynb": MASK, "lab.ipynb": MASK}).getvalue()
    long = "b" * 2_000 + ".ipynb"
    collected = archive({"ada.ipynb": MASK, long: MASK, "eve.zip": inner})
    assert [one.student for one in collected.submissions] == ["ada", "b" * 1000 + "…", "eve"]
    assert list(problems(collected)) == ["b" * 1000 + "…"]
    assert all(len(one.file) <= 1001 and len(repr(one.remarks)) < 200 for one in collected.submissions)
    assert all("has a path of more than 1,000 characters" in note for note in collected.notes)
    assert len(collected.notes) == 2


def test_a_folder_of_grades_is_left_out_with_a_note(course, tmp_path):
    in_folder(tmp_path / "course", {"ada.ipynb": MASK, "graded/feedback/ada.html": b"x", "graded/secret": b"x"})
    with Gradebook.open(tmp_path / "course" / "graded" / "gradebook.db"):
        pass
    collected = course({"nbgrader/gradebook.db": b"SQLite format 3\0"})
    assert [one.student for one in collected.submissions] == ["ada", "nbgrader"]
    assert collected.notes == ("graded is a folder in which labkit keeps grades, so it was left out.",)


def test_a_student_cannot_make_the_class_pass_for_an_office_document(archive):
    assert [one.student for one in archive({"ada.ipynb": MASK, "mimetype": b""}).submissions] == ["ada", "mimetype"]


def test_a_students_archive_is_opened_but_none_inside_it(archive):
    inner = io.BytesIO()
    deep = in_zip(io.BytesIO(), {"x.ipynb": MASK}).getvalue()
    in_zip(inner, {"inside/lab.ipynb": MASK, "inside/.x.ipynb": MASK, "more.zip": deep, "b_9_9_x.ipynb": MASK})
    collected = archive({"ada_1_2_lab.zip": inner.getvalue(), "bob_3_4_lab.ipynb": MASK})
    assert [(student, file) for student, file, *_ in facts(collected)] == [
        ("1", "ada_1_2_lab.zip/b_9_9_x.ipynb"),
        ("1", "ada_1_2_lab.zip/inside/lab.ipynb"),
        ("3", "bob_3_4_lab.ipynb"),
    ]


def test_gradescopes_group_has_a_submission_each(archive):
    people = "  :submitters:\n  - :name: Ada\n    :sid: '1'\n  - :name: Bob\n    :sid: '2'\n"
    metadata = f"submission_11:\n{people}  :created_at: 2026-04-26 17:34:00 Z\n"
    files = {"export/submission_metadata.yml": metadata, "export/submission_11/lab.ipynb": MASK}
    ada, bob = archive(files).submissions
    assert (ada.student, bob.student, ada.file, ada.digest) == ("1", "2", bob.file, bob.digest)
    assert bob.submitted_at == "2026-04-26T17:34:00+00:00"


def test_a_list_that_a_student_handed_in_is_no_list_of_gradescopes(archive):
    metadata = "submission_1:\n  :submitters:\n  - :name: Ada\n    :sid: '1'\n"
    files = {"mallory/submission_metadata.yml": metadata, "mallory/submission_1/x.ipynb": MASK, "bob/x.ipynb": MASK}
    assert {student for student, *_ in facts(archive(files))} == {"mallory", "bob"}


def test_nbgraders_time_stands_beside_the_notebook(course):
    files = {"submitted/ada/lab2/x.ipynb": MASK, "submitted/ada/lab2/timestamp.txt": "2026-02-02 15:58:23.9 UTC"}
    collected = course({**files, "source/lab2/x.ipynb": MASK, "gradebook.db": b""})
    (one,) = collected.submissions
    assert (one.student, one.batch, one.submitted_at) == ("ada", "lab2", "2026-02-02T15:58:23.900000+00:00")
    assert collected.notes == ("Left out, since they are no student's: gradebook.db, source/lab2/x.ipynb.",)


def test_a_time_that_a_student_handed_in_elsewhere_counts_for_nothing(course):
    files = {"ada/x.ipynb": MASK, "ada/timestamp.txt": "2026-02-02 15:58:23 UTC"}
    assert course(files).submissions[0].submitted_at == ""


def test_without_a_notebook_there_is_a_row_that_says_what_came(archive):
    files = {
        MOODLE.format("Ada", 1): MASK,
        "Ada_1_assignsubmission_file_/notes.pdf": b"x",
        "Bob_2_assignsubmission_file_/lab.py": "# %%",
        "Bob_2_assignsubmission_file_/lab.pdf": b"y",
        "Cem_3_assignsubmission_file_/lab.zip": in_zip(io.BytesIO(), {"lab.docx": b"z"}).getvalue(),
        "Dan_4_assignsubmission_file_/lab.zip": in_zip(io.BytesIO(), {}).getvalue(),
    }
    collected = archive(files)
    assert problems(collected) == {
        "2": "Only lab.pdf, lab.py was handed in, and no notebook.",
        "3": "Only lab.docx was handed in, and no notebook.",
        "4": "Only lab.zip was handed in, and no notebook.",
    }
    assert [one.name for one in collected.submissions] == ["Ada", "Bob", "Cem", "Dan"]


@pytest.mark.parametrize("name", ["lab.rar", "lab.7z", "lab.tar.gz", "lab.zip"])
def test_an_archive_that_is_not_opened_is_said_not_to_be(archive, name):
    inner = in_zip(io.BytesIO(), {name: in_zip(io.BytesIO(), {"x.ipynb": MASK}).getvalue()}).getvalue()
    why = "of archives only a .zip is opened, and none inside it"
    assert problems(archive({"ada.ipynb": MASK, "bob.zip": inner})) == {
        "bob": f"Only {name} was handed in, and no notebook: {why}."
    }


def link_in_zip(name):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def test_paths_that_lead_out_and_links_are_refused_and_the_rest_is_graded(archive):
    files = {
        "ada.ipynb": MASK,
        "../../bob.ipynb": MASK,
        "/etc/cem.ipynb": MASK,
        "C:\\dan.ipynb": MASK,
        "..\\eva.ipynb": MASK,
        "../notes.txt": b"x",
        link_in_zip("fay.ipynb"): "/etc/passwd",
        link_in_zip("all"): "/",
    }
    collected = archive(files)
    refused = [one.file for one in collected.submissions if "leads out" in one.problem]
    assert refused == ["../../bob.ipynb", "../eva.ipynb", "/etc/cem.ipynb", "C:/dan.ipynb"]
    assert problems(collected)["fay"] == "The file is a symbolic link, and links aren't followed."
    assert collected.submissions[-2].student == "ada" and not collected.submissions[-2].problem
    assert "all is a symbolic link, and links aren't followed." in collected.notes
    assert "../notes.txt has a path that leads out of the archive." in collected.notes


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_pipes_and_closed_folders_are_not_read(tmp_path, course):
    outside = in_folder(tmp_path / "outside", {"secret.ipynb": MASK})
    root = in_folder(tmp_path / "course", {"ada.ipynb": MASK})
    (root / "bob.ipynb").symlink_to(outside / "secret.ipynb")
    (root / "cem").symlink_to(outside)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "dan.ipynb")
    collected = collect(root)
    assert problems(collected) == {
        "bob": "The file is a symbolic link, and links aren't followed.",
        "dan": "The file is no ordinary file.",
    }
    assert [one.student for one in collected.submissions] == ["ada", "bob", "dan"]
    assert [note.split()[0] for note in collected.notes] == ["cem", "loop"]


@pytest.mark.parametrize(("depth", "name"), [(20, "d" * 250), (1200, "d")], ids=["long names", "short names"])
def test_folders_that_go_deeper_than_any_path_stop_nobody(tmp_path, monkeypatch, depth, name):
    root = in_folder(tmp_path / "course", {"ada.ipynb": MASK, "bob/notes.txt": b""})
    monkeypatch.chdir(root / "bob")
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    try:
        collected = collect(root)
    finally:
        for _ in range(depth):  # no deep folders are left for others to remove
            os.chdir("..")
            os.rmdir(name)
    assert [(one.student, bool(one.problem)) for one in collected.submissions] == [("ada", False), ("bob", True)]
    assert "has a path of more than 1,000 characters" in problems(collected)["bob"]


def test_what_is_closed_to_the_reader_is_said_to_be(course, tmp_path):
    in_folder(tmp_path / "course", {"ada.ipynb": MASK, "bob.ipynb": MASK, "cem/x.ipynb": MASK})
    for name in ("bob.ipynb", "cem"):
        (tmp_path / "course" / name).chmod(0)
    if os.access(tmp_path / "course" / "bob.ipynb", os.R_OK):
        pytest.skip("nothing is closed to this user")
    said = problems(course({}))
    (tmp_path / "course" / "cem").chmod(0o700)
    assert said == {
        "bob": "The file can't be read (Permission denied).",
        "cem": "Only cem (which can't be read (Permission denied)) was handed in, and no notebook.",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes there")
def test_a_pipe_is_no_archive_and_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(IntakeError, match="must be a folder, a .zip or an .ipynb file; it is no ordinary file"):
        collect(tmp_path / "a.zip")


def spoilt(path, old, new, times=1):
    """Change bytes of an archive behind its back."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, times))
    return path


def test_folders_that_an_archive_names_are_no_files_of_theirs(archive):
    collected = archive({"ada/": b"", "ada/more/": b"", "ada/lab.ipynb": MASK, "bob/": b""})
    assert facts(collected) == [("ada", "ada/lab.ipynb", LAB, "")]
    assert not collected.submissions[0].remarks and not collected.notes


def test_what_is_packed_in_an_unusual_way_is_ungradable_alone(archive):
    odd = zipfile.ZipInfo("bob.ipynb")
    odd.compress_type = zipfile.ZIP_LZMA
    collected = archive({"ada.ipynb": MASK, odd: MASK})
    assert problems(collected) == {"bob": "The file is packed in an unusual way."}


def test_damaged_and_encrypted_entries_are_ungradable_alone(tmp_path):
    path = in_zip(tmp_path / "a.zip", {"ada.ipynb": MASK, "bob.ipynb": MASK, "cem.ipynb": MASK, "dan.ipynb": MASK})
    with zipfile.ZipFile(path) as archive:
        offset = {info.filename: info.header_offset for info in archive.infolist()}
    data = bytearray(path.read_bytes())
    data[offset["bob.ipynb"] + 45] ^= 0xFF  # in the packed bytes
    data[offset["dan.ipynb"] + 32] ^= 0x01  # in the name, which the archive's table has too
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(b"cem.ipynb"))
    data[central + 8] |= 1
    path.write_bytes(data)
    found = problems(collect(path))
    assert found["cem"] == "The file is encrypted."
    assert found["bob"].startswith("The file can't be read (") and found["dan"].startswith("The file can't be read (")
    assert len(found) == 3


def test_a_students_damaged_archive_is_noted_and_has_a_row(archive):
    collected = archive({"ada.ipynb": MASK, "bob.zip": b"PK\x03\x04 no archive"})
    assert problems(collected) == {
        "bob": "Only bob.zip (which can't be opened (File is not a zip file)) was handed in, and no notebook."
    }
    assert collected.notes == ("bob.zip can't be opened (File is not a zip file).",)


def test_bombs_are_refused_by_their_size_and_number(tmp_path, archive, monkeypatch):
    monkeypatch.setattr(found, "MOST_BYTES", 100_000)
    monkeypatch.setattr(found, "MOST_ARCHIVED", 120_000)
    monkeypatch.setattr(found, "MOST_IN_ALL", 150_000)
    monkeypatch.setattr(found, "MOST_FILES", 50)
    many = in_zip(io.BytesIO(), dict.fromkeys(map(str, range(51)), b"")).getvalue()
    large = in_zip(io.BytesIO(), {"1.ipynb": b" " * 99_000, "2.ipynb": b" " * 99_000}).getvalue()
    too_large = in_zip(io.BytesIO(), {"1.ipynb": b" " * 999_000, "lab.ipynb": MASK}).getvalue()
    small = notebook("def causal_mask(n): ...", cell("x" * 90_000))
    files = {"a.ipynb": b" " * 100_001, "b.zip": many, "c.zip": large, "d.ipynb": small}
    graded = facts(archive({**files, "g.zip": too_large}))
    assert ("g", "g.zip/lab.ipynb", LAB, "") in graded and "is too large" in graded[-2][-1]
    said = problems(archive({**files, "e/x.pdf": b" " * 110_000, "f/x.pdf": b" " * 130_000}))
    assert said.keys() == {"a", "b", "c", "e", "f"} and "too large" in said["f"] and "too large" not in said["e"]
    assert "is too large" in said["a"] and "more than 50 files" in said["b"] and "unpacks to more than" in said["c"]
    (tmp_path / "e.ipynb").write_bytes(b" " * 100_001)
    assert "is too large" in problems(collect(tmp_path / "e.ipynb"))["e"]


def test_an_entry_that_lies_about_its_size_unpacks_to_no_more(tmp_path):
    path = in_zip(tmp_path / "a.zip", {"ada.ipynb": MASK, "bomb.ipynb": b" " * 50_000_000})
    size = (50_000_000).to_bytes(4, "little")
    spoilt(path, size, (9).to_bytes(4, "little"), times=2)
    code = (
        "import sys, tracemalloc; from labkit.grading.handed_in.intake import collect; tracemalloc.start();"
        "print(collect(sys.argv[1]).submissions[1].problem); print(tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    problem, peak = done.stdout.splitlines()
    assert problem.startswith("The file can't be read") and int(peak) < 10_000_000


def test_names_that_are_no_utf_8_and_names_without_its_mark_are_fine(tmp_path):
    path = in_zip(tmp_path / "a.zip", {"aaaa.ipynb": MASK, "zz.ipynb": MASK})
    spoilt(path, b"aaaa", "öö".encode(), times=2)
    spoilt(path, b"zz", b"\xff\x81", times=2)
    assert [student for student, *_ in facts(collect(path))] == ["\xa0ü", "öö"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_names_of_files_that_are_no_text_are_kept(tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff.ipynb", "wb") as file:
        file.write(MASK)
    assert facts(collect(tmp_path)) == [("\udcff", "\udcff.ipynb", LAB, "")]


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\\0:"), min_size=1, max_size=20)


@given(st.sets(names.filter(lambda name: name.strip(".") and not found.NOISE.fullmatch(name + "/")), min_size=1))
def test_any_names_survive_an_archive(names):
    names = [name for name in names if not found.NOISE.fullmatch(name)] or ["x"]
    with tempfile.TemporaryDirectory() as folder:
        collected = collect(in_zip(Path(folder, "top.zip"), {f"top/{name}.ipynb": MASK for name in [*names, "x1"]}))
    assert {student for student, *_ in facts(collected)} == {*names, "x1"} and not problems(collected)


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("nothing.zip", None, "there is no such file or folder"),
        ("a.txt", b"x", "must be a folder, a .zip or an .ipynb file"),
        ("a.zip", b"PK\x03\x04", "must be a folder, a .zip or an .ipynb file, and whole"),
        ("a.tar.gz", b"\x1f\x8b", "of archives only a .zip is opened. Unpack it"),
        ("a.zip", in_zip(io.BytesIO(), {}).getvalue(), "nothing was found"),
        ("folder/roster.csv", b"id", "nothing was found"),
        ("a.xlsx", in_zip(io.BytesIO(), {"[Content_Types].xml": b""}).getvalue(), "it is an office document"),
        ("a.zip", in_zip(io.BytesIO(), {"mimetype": b"", "content.xml": b""}).getvalue(), "it is an office document"),
    ],
)
def test_a_path_with_nothing_to_grade_is_one_line_of_complaint(tmp_path, name, data, complaint):
    if data is not None:
        in_folder(tmp_path, {name: data})
    with pytest.raises(IntakeError, match=complaint) as caught:
        collect(tmp_path / name.split("/")[0])
    assert "\n" not in str(caught.value) and name.split("/")[0] in str(caught.value)


# ---- which lab -------------------------------------------------------------------------------------------------------


def test_what_more_than_half_are_is_what_was_asked_for(course):
    files = {"a.ipynb": MASK, "b.ipynb": MASK, "c.ipynb": SCORES, "d.ipynb": b"", "e.ipynb": notebook()}
    collected = course({**files, "f.ipynb": notebook("import pandas"), "g.ipynb": notebook("import labkit")})
    assert {one.lab for one in collected.submissions} == {LAB}
    assert problems(collected) == {
        "c": "The notebook looks like 01_one_head; 02_causal_mask was asked for.",
        "d": "The file is empty.",
        "f": "The notebook holds none of the exercises of 02_causal_mask.",
    }


def test_each_student_has_one_vote_whatever_is_in_an_archive(course):
    five = in_zip(io.BytesIO(), {f"{n}.ipynb": SCORES + b" " * n for n in range(5)}).getvalue()
    collected = course({"a.ipynb": MASK, "b.ipynb": MASK, "c.ipynb": MASK, "eve.zip": five})
    assert {one.lab for one in collected.submissions} == {LAB} and problems(collected).keys() == {"eve"}


def test_a_student_who_handed_in_two_labs_equally_often_has_no_vote(course):
    files = {f"{name}/{lab}.ipynb": data for name in "abc" for lab, data in (("1", SCORES), ("2", MASK))}
    assert not problems(course(files))
    collected = course({**files, "d/2.ipynb": MASK, "e/2.ipynb": MASK})
    assert problems(collected).keys() == {"a", "b", "c"}


def test_without_a_majority_each_is_the_lab_it_looks_like(course):
    collected = course({"ada/1.ipynb": SCORES, "ada/2.ipynb": MASK, "ada/3.ipynb": notebook("# Notes")})
    assert [one.lab for one in collected.submissions] == ["01_one_head", LAB, ""]
    assert problems(collected) == {"ada": "The notebook holds none of the exercises of any lab."}


def test_the_lab_that_is_named_is_asked_for(course):
    collected = course({"ada.ipynb": SCORES, "bob.ipynb": SCORES, "cem.ipynb": MASK}, lab=LAB)
    assert list(problems(collected)) == ["ada", "bob"]


def test_what_two_labs_ask_for_is_right_for_either(course):
    data = notebook("def attention(Q, K, V, mask=None): ...")
    assert course({"ada.ipynb": data}, lab=LAB).submissions[0].problem == ""


def test_each_assignment_has_a_lab_of_its_own(course):
    files = {f"submitted/{name}/lab{i}/x.ipynb": data for name in "abc" for i, data in ((1, SCORES), (2, MASK))}
    collected = course({**files, "submitted/d/lab1/x.ipynb": MASK})
    assert [(one.student, one.batch) for one in collected.submissions if one.problem] == [("d", "lab1")]


def test_a_lab_that_does_not_exist_is_refused_with_those_that_do(course):
    with pytest.raises(IntakeError, match="lab: must be one of 00_warm_up, .*; got 'lab2'"):
        course({"ada.ipynb": MASK}, lab="lab2")


def test_remarks_are_about_the_lab_that_counts(course):
    data = notebook("def causal_mask(n): ...", "def causal_mask(n): ...", cell("def softmax(x):", "markdown"))
    (one,) = course({"ada.ipynb": data}).submissions
    assert one.remarks == ("causal_mask is defined 2 times; the last that compiles counts.",)


def test_notebooks_that_all_seem_to_be_one_students_are_told_of(tmp_path):
    path = in_zip(tmp_path / "hw.zip", {"class/ada.ipynb": MASK, "class/bob.ipynb": SCORES})
    (note,) = collect(path).notes
    assert note.startswith("All 2 notebooks were taken for one student's, class, whose folder they lie in.")
    assert collect(in_zip(tmp_path / "class.zip", {"class/ada.ipynb": MASK, "class/bob.ipynb": SCORES})).notes == ()
