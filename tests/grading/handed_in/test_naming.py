"""Who handed in what, by the names that each platform gives; nobody passes for somebody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.handed_in import naming
from labkit.grading.handed_in.platform_files import Sender, iso, read_metadata


def senders(paths, where=(), texts=None):
    """Who handed in what lies at these paths, among which are files of a platform's own with their texts."""
    texts = texts or {}
    found = naming.senders([*paths, *texts], where, lambda path: texts.get(path, ""))
    assert not any(found[path] for path in texts if path not in paths)
    return {path: found[path] for path in paths}


def who(*paths, **more):
    """The one sender of each path, in the order of the paths."""
    found = senders(paths, **more)
    return [one for path in paths for one in found[path]]


def students(*paths, **more):
    return [one.student for one in who(*paths, **more)]


def test_canvas_names_the_user_the_order_and_whether_it_is_late():
    assert who("lovelaceada_101_5001_lab.ipynb", "hoppergrace_LATE_102_5002_02_causal_mask-1.ipynb") == [
        Sender("101", "lovelaceada", number=5001),
        Sender("102", "hoppergrace", number=5002, marked_late=True),
    ]


@pytest.mark.parametrize(
    ("file", "student", "name"),
    [
        ("van_der_berg_007_5001_3_4_lab.ipynb", "007", "van_der_berg"),
        ("müllerjörg_7_5001_= #%, \"x\" 😀.ipynb", "7", "müllerjörg"),
        ("turingalan_8_5001_work.zip", "8", "turingalan"),
        ("noetheremmy_9_text.html", "9", "noetheremmy"),
        ("anon_a1B2c_5001_02_causal_mask.ipynb", "a1B2c", ""),
        ("LATE_anon_12345_5001_02_causal_mask.ipynb", "12345", ""),
    ],
)  # fmt: skip
def test_canvas_in_all_its_forms(file, student, name):
    other = "lovelaceada_101_5001_lab.ipynb"
    found = senders([other, file])[file]
    assert [(one.student, one.name) for one in found] == [(student, name)]


def test_a_file_name_with_numbers_is_not_canvas_where_most_others_are_not():
    assert students("ada_1_2_final.ipynb", "grace.ipynb") == ["ada_1_2_final", "grace"]


def test_canvas_files_in_a_folder_around_them_all():
    assert students("lab 2/a_101_5001_x.ipynb", "lab 2/b_102_5002_y.ipynb") == ["101", "102"]


@pytest.mark.parametrize(
    "path",
    [
        "Ada Lovelace_1234_assignsubmission_file_/lab.ipynb",
        "Ada Lovelace_1234_assignsubmission_file/lab.ipynb",
        "Ada Lovelace_1234_assignsubmission_file_lab.ipynb",
        "Ada Lovelace_1234_assignsubmission_file_/deep/down/lab.ipynb",
        "Ada Lovelace_1234_assignsubmission_onlinetext_/onlinetext.html",
        "course-lab 2-99/Ada Lovelace_1234_assignsubmission_file_/lab.ipynb",
    ],
)
def test_moodle_names_the_student_and_the_participant(path):
    assert who(path) == [Sender("1234", "Ada Lovelace")]
    folder = path.partition("Ada")[0]
    assert who(path, folder + "Grace Hopper_5_assignsubmission_file_/lab.ipynb")[0] == Sender("1234", "Ada Lovelace")


@pytest.mark.parametrize("others", [["lovelaceada_7_900_lab.ipynb", "bobbob_8_901_lab.ipynb"], []])
def test_in_canvas_a_file_that_a_student_named_in_moodles_form_stays_the_students(others):
    eves = ["evil_66_902_Ada_7_assignsubmission_file_.ipynb", "evil_66_904_lovelaceada_7_900_lab.ipynb"]
    assert students(*others, *eves) == ["7", "8"][: len(others)] + ["66", "66"]


def test_in_canvas_a_late_mark_outlasts_any_file_name():
    late = "evil_LATE_66_902_E_66_assignsubmission_file_.ipynb"
    assert who("bobbob_8_901_lab.ipynb", late)[1] == Sender("66", "evil", number=902, marked_late=True)


def test_in_moodle_a_file_that_a_student_named_in_canvas_form_stays_the_students():
    flat = "Eve_66_assignsubmission_file_ada_7_900_lab.ipynb"
    assert students("Ada_7_assignsubmission_file_lab.ipynb", flat) == ["7", "66"] and students(flat) == ["66"]
    folders = ["Ada_7_assignsubmission_file_/lab.ipynb", "Eve_66_assignsubmission_file_/ada_7_900_lab.ipynb"]
    assert students(*folders) == ["7", "66"] and students(folders[1]) == ["66"]


def test_in_moodle_a_display_name_in_its_form_stays_a_name():
    eve = "X_7_assignsubmission_file_66_assignsubmission_file"
    paths = [f"Ada_7_assignsubmission_file{end}/lab.ipynb" for end in ("", "_")] + [
        f"{eve}/lab.ipynb",
        f"{eve}_/x.ipynb",
    ]
    assert who(*paths)[2:] == [Sender("66", "X_7_assignsubmission_file")] * 2
    assert students(*paths[2:]) == ["66", "66"]


def test_one_students_many_files_do_not_decide_the_layout_of_all():
    planted = [f"eve/{name}_{n}_assignsubmission_file_/x.ipynb" for n, name in enumerate("abcdefghij")]
    planted += [f"eve/a_{n}_9_x.ipynb" for n in range(10)] + [f"eve/submitted/s{n}/lab/x.ipynb" for n in range(10)]
    assert students("ada/x.ipynb", "bob/x.ipynb", *planted) == ["ada", "bob", *["eve"] * 30]


METADATA = """---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0101'
    :email: ada@example.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :score: 2.0
  :results:
    output: |-
      submission_12:
      :submitters:
      - :name: Mallory
        :sid: '666'
      \u2028submission_12:
  :history:
  - :id: 5
    :created_at: 2026-04-20 10:00:00 Z
submission_12:
  :submitters:
  - :name: Grace O'Hopper
    :email: grace@example.org
  - :name: "Conway: \\"Lynn\\""
    :sid: 'O''7'
  :created_at: 2026-04-26 17:34:00.5 -07:00
submission_13:
  :submitters: []
"""


def test_gradescope_names_the_students_of_a_group_and_the_time():
    assert read_metadata(METADATA) == {
        "submission_11": (
            Sender("0101", "Ada Lovelace", submitted_at="2026-04-26T17:34:00.861687+00:00", number=11),
        ),
        "submission_12": (
            Sender("grace@example.org", "Grace O'Hopper", "", "2026-04-26T17:34:00.500000-07:00", 12),
            Sender("O'7", 'Conway: "Lynn"', "", "2026-04-26T17:34:00.500000-07:00", 12),
        ),
        "submission_13": (),
    }  # fmt: skip


def test_a_quoted_name_with_escapes_that_only_yaml_has_is_kept_as_it_stands():
    text = 'submission_1:\n  :submitters:\n  - :name: "Zo\\xEB"\n    :sid: "7"\n'
    assert read_metadata(text) == {"submission_1": (Sender("7", r"Zo\xEB", number=1),)}


def test_gradescope_files_belong_to_whoever_the_list_names():
    paths = ["assignment_9_export/submission_11/lab.ipynb", "assignment_9_export/submission_12/a/b.ipynb"]
    texts = {"assignment_9_export/submission_metadata.yml": METADATA}
    assert students(*paths, texts=texts) == ["0101", "grace@example.org", "O'7"]
    paths, texts = ["x/submission_11/l.ipynb", "x/submission_77/l.ipynb"], {"x/submission_metadata.yml": METADATA}
    assert students(*paths, texts=texts) == ["0101", "submission_77"]


def test_of_two_lists_the_uppermost_is_gradescopes():
    own = "submission_1:\n  :submitters:\n  - :name: Eve\n    :sid: eve\n"
    texts = {"submission_metadata.yml": own}
    planted = {"submission_1/submission_metadata.yml": own.replace("eve", "ada")}
    found = naming.senders(["submission_1/x.ipynb", *planted, *texts], (), lambda path: (planted | texts)[path])
    assert [[one.student for one in found[path]] for path in found] == [["eve"], ["eve"], []]


NBGRADER = ("ada/lab2/x.ipynb", "grace/lab2/x.ipynb", "ada/lab3/deep/y.ipynb")
AS_STUDENTS = [Sender("ada", batch="lab2"), Sender("grace", batch="lab2"), Sender("ada", batch="lab3")]


@pytest.mark.parametrize("folder", ["submitted/", "course/submitted/"])
def test_nbgrader_names_student_and_assignment_and_the_rest_is_nobodys(folder):
    aside = [folder.replace("submitted", "source").replace("/s", "/s") + "lab2/x.ipynb"]
    found = senders([folder + path for path in NBGRADER] + aside)
    assert [found[folder + path][0] for path in NBGRADER] == AS_STUDENTS
    assert found[aside[0]] == ()


def test_nbgrader_from_within_its_folders():
    assert who(*NBGRADER, where=("course", "submitted")) == AS_STUDENTS
    assert who("lab2/x.ipynb", "lab3/x.ipynb", where=("submitted", "ada")) == [
        Sender("ada", batch="lab2"),
        Sender("ada", batch="lab3"),
    ]
    assert students("ada.ipynb", "grace.ipynb", where=("submitted", "lab2")) == ["ada", "grace"]


def test_nbgraders_own_time_counts_for_all_of_an_assignment_and_no_other():
    texts = {
        "submitted/eve/ps1/timestamp.txt": "2026-12-05 10:00:00 UTC",
        "submitted/eve/ps1/sub/timestamp.txt": "2026-11-01 10:00:00 UTC",
        "submitted/ada/ps1/sub/timestamp.txt": "2026-11-01 10:00:00 UTC",
    }
    paths = ["submitted/eve/ps1/sub/x.ipynb", "submitted/eve/ps1/x.ipynb", "submitted/ada/ps1/sub/x.ipynb"]
    found = naming.senders([*paths, *texts], (), texts.get)
    assert [one.submitted_at[:10] for path in paths for one in found[path]] == ["2026-12-05", "2026-12-05", ""]
    assert found["submitted/eve/ps1/timestamp.txt"] == ()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["submitted/ada/x.ipynb", "submitted/bob/lab/x.ipynb"], ["ada", "bob"]),
        (["ada/x.ipynb", "submitted/my/own/x.ipynb"], ["ada", "submitted"]),
        (["ada/x.ipynb", "bob/my/own/x.ipynb", "submitted/my/own/x.ipynb"], ["ada", "bob", "submitted"]),
    ],
)
def test_a_folder_called_submitted_makes_no_nbgrader(paths, expected):
    found = who(*paths)
    assert [one.student for one in found] == expected and not any(one.batch for one in found)


def test_what_an_editor_keeps_is_whose_the_original_is_and_decides_nothing():
    copies = [f".ipynb_checkpoints/Ada_{n}_assignsubmission_file_x-checkpoint.ipynb" for n in range(9)]
    assert students("ada/x.ipynb", "bob.ipynb", "ada/.ipynb_checkpoints/y-checkpoint.ipynb") == ["ada", "bob", "ada"]
    assert students("bob.ipynb", ".ipynb_checkpoints/bob-checkpoint.ipynb") == ["bob", "bob"]
    assert students("ada.ipynb", "bob.ipynb", *copies)[:3] == ["ada", "bob", "Ada_0_assignsubmission_file_x"]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["ada/lab.ipynb", "grace/lab.ipynb"], ["ada", "grace"]),
        (["ada.ipynb", "grace.IPYNB", "alan.ipynb.txt"], ["ada", "grace", "alan"]),
        (["ada/lab.ipynb", "grace.ipynb"], ["ada", "grace"]),
        (["class/ada/lab.ipynb", "class/grace/lab.ipynb"], ["ada", "grace"]),
        (["ada/inside/lab.ipynb", "grace/lab.ipynb"], ["ada", "grace"]),
        (["ada/lab.ipynb"], ["ada"]),
        (["ada/first.ipynb", "ada/second.ipynb"], ["ada", "ada"]),
        (["ada/inside/lab.ipynb"], ["ada"]),
        (["007.ipynb", "7.ipynb"], ["007", "7"]),
        (["=1+1.ipynb", "Zoë, \"x\" #%😀 .ipynb"], ["=1+1", "Zoë, \"x\" #%😀 "]),
        (["ada.zip", "ada.b.pdf"], ["ada", "ada.b"]),
        (["c/ada/x.ipynb", "c/bob/x.ipynb", "c"], ["ada", "bob", "c"]),
        (["../../ada.ipynb", "/abs/grace.ipynb", "c/alan.ipynb"], ["ada", "abs", "c"]),
    ],
)  # fmt: skip
def test_plain_files_and_folders_are_named_after_students(paths, expected):
    assert students(*paths) == expected


@pytest.mark.parametrize("name", ["class", "class (1)"])
def test_a_folder_of_the_archives_own_name_is_nobodys(name):
    assert students("class/ada.ipynb", "class/grace.ipynb", where=(name,)) == ["ada", "grace"]
    assert students("class/ada/1.ipynb", "class/ada/2.ipynb", where=(name,)) == ["ada", "ada"]


def test_a_teachers_files_at_the_top_are_nobodys():
    assert senders(["ada/lab.ipynb", "ada/data.csv", "roster.csv", "README.md"]) == {
        "ada/lab.ipynb": (Sender("ada"),),
        "ada/data.csv": (Sender("ada"),),
        "roster.csv": (),
        "README.md": (),
    }


@pytest.mark.parametrize(
    "planted",
    [
        "mallory/Ada Lovelace_1234_assignsubmission_file_/lab.ipynb",
        "mallory/lovelaceada_101_5001_lab.ipynb",
        "mallory/submitted/ada/lab2/x.ipynb",
        "mallory/submission_11/lab.ipynb",
    ],
)
def test_a_platforms_form_within_a_students_folder_says_nothing(planted):
    assert students(planted, "ada/lab.ipynb", texts={"submission_metadata.yml": METADATA}) == ["mallory", "ada"]


def test_moodles_form_within_a_file_name_says_nothing():
    path = "Mallory_6_assignsubmission_file_Ada_1_assignsubmission_file_x.ipynb"
    assert students(path, "Ada_1_assignsubmission_file_x.ipynb") == ["6", "1"]


parts = st.text(st.sampled_from("a1._ #(/\\é"), max_size=12) | st.sampled_from(
    ["submitted", "..", "x.ipynb", "a_1_2_x.ipynb", "A_1_assignsubmission_file_", ""]
)
paths = st.lists(parts, max_size=5).map("/".join)


@given(st.lists(paths, unique=True), st.lists(parts.filter(bool)).map(tuple), st.text())
def test_any_paths_have_senders_who_have_ids(paths, where, metadata):
    found = naming.senders(paths, where, lambda path: metadata)
    assert list(found) == paths and all(one.student for who in found.values() for one in who)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-02 15:58:23.948203 UTC", "2026-02-02T15:58:23.948203+00:00"),
        ("2026-01-30 15:30:10 UCT\n", "2026-01-30T15:30:10+00:00"),
        ("2026-07-01 10:00:00 +0200", "2026-07-01T10:00:00+02:00"),
        ("2026-07-01T10:00:00+02:00", "2026-07-01T10:00:00+02:00"),
        ("2026-07-01 10:00:00 Europe/Berlin", "2026-07-01T10:00:00+02:00"),
        ("2026-07-01 10:00", "2026-07-01T10:00:00+00:00"),
        ("2026-07-01 10:00:00 ../../etc/passwd", ""),
        ("2026-07-01 10:00:00 Mars/Base", ""),
        ("2026-13-01 10:00:00 Z", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_moments_are_read_as_platforms_write_them(text, moment):
    assert iso(text) == moment


def test_a_loose_file_beside_the_folders_of_many_makes_them_no_single_student():
    assert students("class/ada/lab.ipynb", "class/bob/lab.ipynb", "class/cyd.ipynb") == ["ada", "bob", "cyd"]
