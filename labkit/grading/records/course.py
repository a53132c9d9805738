"""The course as its gradebook knows it: who is in it, under which rules its labs stand, and so what counts."""

from collections.abc import Mapping
from dataclasses import asdict

from .gradebook import Gradebook, with_tuples
from .policy import Row, Rule, counted
from .roster import Entry, Reconciled, Roster, reconcile


def remember_roster(book: Gradebook, roster: Roster) -> None:
    """Keep who is in the course, in place of what was kept before."""
    book.remember("roster", [asdict(entry) for entry in roster.entries])
    book.remember("notes of roster", roster.notes)


def roster_of(book: Gradebook) -> Roster:
    """The roster that was kept; empty if there never was one."""
    entries = book.recall("roster", [], lambda kept: tuple(Entry(**one) for one in with_tuples(kept)))
    return Roster(entries, book.recall("notes of roster", [], tuple))


def remember_rules(book: Gradebook, rules: Mapping[str, Rule]) -> None:
    """Keep the rules of these labs; those of others hold as before."""
    book.remember("rules", book.recall("rules", {}) | {lab: asdict(rule) for lab, rule in rules.items()})


def rules_of(book: Gradebook) -> dict[str, Rule]:
    """The rule of each lab that was graded."""
    return book.recall("rules", {}, lambda kept: {lab: Rule(**rule) for lab, rule in kept.items()})


def match_roster(book: Gradebook) -> Reconciled:
    """Hold all who ever handed in against the roster, if there is one, and note in the gradebook who is who."""
    roster = roster_of(book)
    if not roster.entries:
        return Reconciled({})
    handed_in = (record.submission for record in (*book.latest(), *book.waiting()))
    found = reconcile(roster, {one.sender or one.student: one.name for one in handed_in})
    book.remember("known", {student: [entry.id, entry.name] for student, entry in found.known.items()})
    return found


def rows_of(book: Gradebook) -> list[Row]:
    """What counts, a row for each student and lab, as far as it is graded."""
    names = {entry.id: entry.name for entry in roster_of(book).entries}
    return counted((*book.latest(), *book.waiting()), rules_of(book), roster=names, marks=book.marks())
