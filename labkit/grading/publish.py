"""From the gradebook to what people read: CSV files, a page for each student, a page about the class."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import sheets
from .class_page import class_page
from .feedback_page import feedback_name, feedback_page
from .gradebook import Gradebook
from .policy import Row, Rule, counted, marked
from .roster import Entry, Reconciled, Roster, reconcile
from .statistics import shared_numbers
from .written import read_marks

REPORT, FEEDBACK = "report.html", "feedback"


@dataclass(frozen=True)
class Published:
    """What people can read by now; ``unknown`` handed in and aren't on the roster."""

    rows: tuple[Row, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    rules: Mapping[str, Rule]


def publish(out: Path, book: Gradebook) -> Published:
    """Write all that follows from a gradebook; the same gradebook gives the same bytes.

    Raises
    ------
    MarksError, GradebookError
        If marks that were given by hand can't be read back; nothing has been written then.
    """
    found = reconciled(book)
    by_hand = out / "written.csv"
    if by_hand.exists():
        book.mark(read_marks(by_hand))
    rows = rows_of(book)
    sheets.publish(out, rows)
    rules = rules_of(book)
    notes = (*book.recall("notes", []), *found.notes, *lateness_unknown(rows, rules))
    write_feedback(out / FEEDBACK, rows)
    page = class_page(
        rows,
        unknown=found.unknown,
        notes=notes,
        link=lambda student: f"{FEEDBACK}/{feedback_name(student)}",
    )
    sheets.write(out / REPORT, encoded(page))
    return Published(tuple(rows), found.unknown, notes, rules)


def rows_of(book: Gradebook) -> list[Row]:
    """What counts, a row for each student and lab, under the rules of the gradebook."""
    names = {entry["id"]: entry["name"] for entry in book.recall("roster", [])}
    return counted(book.latest(), rules_of(book), roster=names, marks=book.marks())


def rules_of(book: Gradebook) -> dict[str, Rule]:
    return {lab: Rule(**rule) for lab, rule in book.recall("rules", {}).items()}


def reconciled(book: Gradebook) -> Reconciled:
    """Hold all that was ever handed in against the roster, if there is one, and keep who is who."""
    roster = Roster(tuple(map(entry_from, book.recall("roster", []))), tuple(book.recall("notes of roster", [])))
    submissions = [record.submission for record in book.latest()]
    senders = [replace(one, student=one.sender or one.student, sender="") for one in submissions]
    if not roster.entries:
        return Reconciled(tuple(senders), roster, (), (), ())
    found = reconcile(roster, senders)
    pairs = zip(senders, found.submissions, strict=True)
    book.remember("known", {sent.student: [one.student, one.name] for sent, one in pairs if sent != one})
    return found


def entry_from(stored: dict) -> Entry:
    return Entry(**stored | {"others": tuple(stored["others"])})


def report(out: Path) -> Published:
    """Write all anew from a gradebook that is there."""
    with Gradebook.open(out / "gradebook.db", create=False) as book:
        return publish(out, book)


def write_feedback(folder: Path, rows: Sequence[Row]) -> None:
    """A page for each student; only those that have changed are written."""
    folder.mkdir(exist_ok=True)
    shared = {student for students in shared_numbers(rows).values() for student in students}
    by_student = defaultdict(list)
    for row in rows:
        by_student[row.student].append(row)
    for student, own in by_student.items():
        path, data = folder / feedback_name(student), encoded(feedback_page(own, shared_numbers=student in shared))
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def encoded(page: str) -> bytes:
    return page.encode("utf-8", "replace")  # a name may hold half a character


def remember_rule(book: Gradebook, labs: Sequence[str], rule: Rule | None) -> None:
    """Keep the rule for these labs; without one, what was kept before holds."""
    kept = book.recall("rules", {})
    given = dict.fromkeys(labs, asdict(rule)) if rule else {lab: asdict(Rule()) for lab in labs if lab not in kept}
    book.remember("rules", kept | given)


def in_words(rule: Rule) -> str:
    due = f"due {rule.due}" if rule.due else "no due date"
    off = f"{rule.percent_a_day:g} % off each begun day late" if rule.percent_a_day else "nothing off for lateness"
    refused = "" if rule.refused_after is None else f", no points after {rule.refused_after} days"
    return f"the {rule.keep} attempt counts, {due}, {off}{refused}"


def marked_in_words(rows: Sequence[Row]) -> str:
    return "Written answers: {} of {} marked".format(*marked(rows))


def lateness_unknown(rows: Sequence[Row], rules: Mapping[str, Rule]) -> list[str]:
    """What nobody would notice: a rule about lateness that has nothing to go by."""
    notes = []
    for lab, rule in rules.items():
        sent = [attempt.record.submission for row in rows if row.lab == lab for attempt in row.tries]
        if rule.due and sent and not any(one.submitted_at for one in sent):
            notes.append(f"{lab}: these files don't say when they were handed in; only what is marked late is late.")
        if not rule.due and (rule.percent_a_day or rule.refused_after is not None):
            notes.append(f"{lab}: without --due only what the platform marked late is late.")
    return notes
