"""Who is in the course, and which of them handed in: ids byte for byte, names only where one person can be meant."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.records.csv_file import CsvError
from labkit.grading.records.roster import Entry, Roster, read, reconcile

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


@pytest.mark.parametrize(
    "header",
    [
        "Vorname;Nachname;ID-Nummer;E-Mail-Adresse;Gruppen",
        "Prénom;Nom de famille;Numéro d'identification;Adresse de courriel;Groupes",
        "Nombre;Apellido(s);Número de ID;Dirección de correo;Grupos",
    ],
)
def test_moodles_lists_in_other_languages_are_understood(roster, header):
    made = roster(f"{header}\nAda;Lovelace;007;a@b.c;x\n")
    assert (made.entries, made.notes) == ((Entry("007", "Ada Lovelace", "a@b.c"),), ())


def test_columns_that_may_hold_the_names_are_named_where_none_is_known(roster):
    assert roster("id,Jméno,Příjmení\n7,Ada,L\n").notes == (
        "The roster has no column for names that is known as one; not used are: Jméno, Příjmení.",
    )


def test_a_row_that_is_torn_by_a_quotation_mark_is_refused(roster):
    with pytest.raises(CsvError, match="roster.csv, row 3: a cell that begins with a quotation mark must end with one"):
        roster('id,name\nx,Xu\n"ada,Ada\nbob,Bob\n')


@pytest.mark.parametrize("text", ["id,name\n", "Student,ID,Section\n    Points Possible,,\n"])
def test_a_roster_without_students_is_refused(roster, text):
    with pytest.raises(CsvError, match="roster.csv: must have a row for each student; got none"):
        roster(text)


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


# Ada's student number is Bob's number on the platform.
CROSSED = (("202", "Ada Lovelace", "", ("101",)), ("303", "Bob Bob", "", ("202",)))


def test_of_two_who_share_an_id_the_one_with_the_name_is_meant():
    made = reconcile(entries(*CROSSED), {"101": "lovelaceada", "202": "bobbob"})
    assert (whose(made), made.unknown, made.notes) == ({"101": "202", "202": "303"}, (), ())


def test_of_two_who_share_an_id_nobody_is_meant_without_a_name():
    made = reconcile(entries(*CROSSED), {"202": "", "303": ""})
    assert (whose(made), made.unknown) == ({"202": "202 (unclear)", "303": "303"}, ("202 (unclear)",))
    assert made.notes == (
        "'202' handed in and may be Ada Lovelace (202) or Bob Bob (303) of the roster: taken for nobody there. "
        "Correct the roster.",
    )


def test_an_id_of_one_student_under_the_name_of_another_is_nobodys():
    known = entries(("101", "Carol"), ("7", "Ada Lovelace"))
    made = reconcile(known, {"101": "lovelaceada"})
    assert (whose(made), made.unknown) == ({"101": "101 (unclear)"}, ("101 (unclear)",))
    assert made.notes[0].startswith("'101' handed in and may be Carol (101) or Ada Lovelace (7) of the roster")
    assert whose(reconcile(known, {"101": "nobodyknows"})) == {"101": "101"}


def test_an_address_that_two_have_is_noted_and_tells_nobody(roster):
    made = roster("id,name,email\nu1,Ada,x@y.z\nu2,Bob,b@y.z\nu3,Cyd,x@y.z\n")
    assert made.notes == ("The roster has the address 'x@y.z' for 'u1' and 'u3': it tells nobody apart.",)
    assert reconcile(made, {"x@y.z": "", "b@y.z": ""}).unknown == ("x@y.z (unclear)",)
    assert whose(reconcile(made, {"x@y.z": "Cyd"})) == {"x@y.z": "u3"}


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
def test_any_table_is_read_and_everybody_in_it_is_found_by_id(tmp_path_factory, rows):
    text = io.StringIO(newline="")
    rows.append(["at least one", "", ""])
    for n, row in enumerate(rows):
        row[2] = row[2] and f"{row[0]}{row[2]} of {n}"  # nobody's id
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


@pytest.mark.parametrize("before", ["Participant ", "Teilnehmer/in", "Participante "])
def test_what_moodle_writes_before_its_number_is_no_part_of_the_id(tmp_path, before):
    path = tmp_path / "roster.csv"
    path.write_text(f"ID;Vollständiger Name\n{before}24001;Anna Kim\n", encoding="utf-8")
    assert [entry.id for entry in read(path).entries] == ["24001"]
