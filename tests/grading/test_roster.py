"""Who is in the course, and which of them handed in: ids byte for byte, names only where one person can be meant."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.csv_file import CsvError
from labkit.grading.roster import Entry, Roster, read, reconcile

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Lab 2 (1234)
,,,,,Manual Posting
"    Points Possible",,,,,20
"Lovelace, Ada",101,s007,ada,A,EX
"van Gogh, Vincent",102,s7,vincent,A,
"Student, Test",999,,abcdef,A,
"""
MOODLE = """\
First name,Last name,ID number,Email address,Groups
Ada,Lovelace,007,Ada@example.org,
Grace,Hopper,,grace@example.org,x
"""
WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade\nParticipant 1234,Ada Lovelace,ada@example.org,Submitted,-\n"
)


@pytest.fixture
def roster(tmp_path):
    def made(text, encoding="utf-8"):
        path = tmp_path / "roster.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read(path)

    return made


def entries(*rows):
    return Roster(tuple(Entry(*row) for row in rows))


def whose(reconciled):
    """The roster's ids by the platform's."""
    return {student: entry.id for student, entry in reconciled.known.items()}


def test_a_canvas_gradebook_as_it_comes(roster):
    assert roster(CANVAS).entries == (
        Entry("101", "Lovelace, Ada", "", ("s007", "ada")),
        Entry("102", "van Gogh, Vincent", "", ("s7", "vincent")),
    )


def test_a_moodle_list_of_participants_as_it_comes(roster):
    ada, grace = roster("\ufeff" + MOODLE).entries
    assert ada == Entry("007", "Ada Lovelace", "Ada@example.org")
    assert grace == Entry("grace@example.org", "Grace Hopper", "grace@example.org")


def test_a_moodle_worksheet_as_it_comes(roster):
    assert roster(WORKSHEET).entries == (Entry("1234", "Ada Lovelace", "ada@example.org"),)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("id,name\n007,Ada\n", Entry("007", "Ada")),
        ("ID;Name;E-Mail\r\n007;Lovelace, Ada;a@b.c\r\n", Entry("007", "Lovelace, Ada", "a@b.c")),
        ("student_id\tname\n 007 \tAda\tmore\n\n\t\n", Entry("007", "Ada")),
        ("student,name\nada,Ada L\n", Entry("ada", "Ada L")),
        ("student\nada\n", Entry("ada")),
        ("Student,Login\nAda L,ada\n", Entry("ada", "Ada L")),
        ("name\nAda L\n", Entry("Ada L", "Ada L")),
        ("Section,Username,Student ID,Surname,First Name\nA,ada,007,L,Ada\n", Entry("007", "Ada L", "", ("ada",))),
        ("name,id\n=1+1,\"a\"\"b,c\nd\"\n", Entry("a\"b,c\nd", "=1+1")),
    ],
)  # fmt: skip
def test_the_usual_headers_are_understood(roster, text, entry):
    assert roster(text).entries == (entry,)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_the_encodings_of_spreadsheets_are_read(roster, encoding):
    assert roster("id,name\n1,Zoë\n", encoding).entries == (Entry("1", "Zoë"),)


@pytest.mark.parametrize("text", ["", "\n\n", "007,Ada\n", "a,b\n1,2\n"])
def test_a_file_without_the_columns_is_refused_in_one_line(roster, text):
    with pytest.raises(CsvError, match=r"roster.csv: must have a column id, name or e-mail; got") as caught:
        roster(text)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused_in_one_line(tmp_path):
    with pytest.raises(CsvError, match=r"none.csv: there is no such file\. Look at the spelling\.$"):
        read(tmp_path / "none.csv")


def test_ids_that_differ_in_zeros_or_capitals_are_two_and_noted(roster):
    made = roster("id\n007\n7\nAda\nada\n12\n")
    assert [entry.id for entry in made.entries] == ["007", "7", "Ada", "ada", "12"]
    assert made.notes == (
        "'007' and '7' differ only in zeros, capitals or spaces: taken for different students.",
        "'Ada' and 'ada' differ only in zeros, capitals or spaces: taken for different students.",
    )


def test_an_id_twice_is_noted_and_its_first_row_counts(roster):
    made = roster("id,name\n1,Ada\n1,Bob\n")
    assert made.entries == (Entry("1", "Ada"),)
    assert made.notes == ("The roster has '1' 2 times; its first row counts.",)


def test_a_student_is_found_by_any_id():
    known = entries(("1", "Ada", "a@b.c", ("s1", "ada")), ("2", "Bob"), ("3", "Cem"))
    made = reconcile(known, {"ada": "", "a@b.c": "", "2": "bobby"})
    assert (whose(made), made.unknown) == ({"ada": "1", "a@b.c": "1", "2": "2"}, ())


def test_an_id_that_looks_alike_is_not_the_same_and_noted():
    made = reconcile(entries(("007",)), {"7": ""})
    assert (whose(made), made.unknown) == ({}, ("7",))
    assert made.notes == ("'007' and '7' differ only in zeros, capitals or spaces: taken for different students.",)


def test_of_two_who_share_an_id_the_one_whose_own_it_is_is_meant():
    assert whose(reconcile(entries(("1", "Ada", "", ("2",)), ("2", "Bob")), {"2": ""})) == {"2": "2"}


@pytest.mark.parametrize(
    ("in_roster", "on_platform"),
    [
        ("Lovelace, Ada", "Ada Lovelace"),
        ("Ada Lovelace", "lovelaceada"),
        ("Vincent van Gogh", "vangoghvincent"),
        ("Pat O'Brien-Li", "obrienlipat"),
        ("Zo\u00eb M\u00fcller", "mu\u0308llerzoe\u0308"),
    ],
)
def test_a_student_is_found_by_name_however_the_platform_squeezes_it(in_roster, on_platform):
    assert whose(reconcile(entries(("1", in_roster), ("2", "Bob")), {"99": on_platform})) == {"99": "1"}


def test_a_folder_named_after_a_student_is_found_too():
    assert whose(reconcile(entries(("1", "Ada Lovelace")), {"Ada_Lovelace": ""})) == {"Ada_Lovelace": "1"}


@pytest.mark.parametrize(
    ("known", "came"),
    [
        ([("1", "Li Wei"), ("2", "Wei Li")], {"98": "Li Wei"}),
        ([("1", "Li Wei")], {"98": "Li Wei", "99": "Li Wei"}),
        ([("1", "Li Wei")], {"1": "Li Wei", "99": "Li Wei"}),
        ([("1", "")], {"99": ""}),
    ],
    ids=["two in the roster", "two on the platform", "one is found by id", "no names"],
)
def test_a_name_that_two_may_have_says_nothing(known, came):
    made = reconcile(entries(*known), came)
    assert made.unknown == tuple(id for id in came if id != "1")


any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.lists(any_text, min_size=3, max_size=3), min_size=1))
def test_any_table_is_read_and_everybody_is_in_it_or_unknown(tmp_path_factory, rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["id", "name", "email"], *rows])
    path = tmp_path_factory.mktemp("roster") / "roster.csv"
    path.write_bytes(text.getvalue().encode("utf-8-sig"))
    made = read(path)
    assert {entry.id for entry in made.entries} >= {row[0].strip() for row in rows if row[0].strip()} - {
        row[0].strip() for row in rows if row[1].strip() in ("Points Possible", "Student, Test")
    }
    students = [entry.id for entry in made.entries[::2]]
    reconciled = reconcile(made, dict.fromkeys(students, ""))
    assert whose(reconciled) == {student: student for student in students}
    assert not reconciled.unknown
