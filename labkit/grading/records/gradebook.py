"""The gradebook: one SQLite file with every submission, every grading of it, and the marks given by hand."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...exercise import Outcome
from ..submission import NOT_GRADED_YET, SYSTEM_ERROR, Graded, Submission, Written
from .marks import Mark, answers_of, one_maximum

APPLICATION, VERSION = 0x4C41424B, 3  # "LABK", in the file's header

# `facts`, `judged` and `details` hold everything exactly, as JSON, sealed so that no byte changes unnoticed; the other
# columns are for people with SQLite tools.
SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, name TEXT NOT NULL, batch TEXT NOT NULL, file TEXT NOT NULL,
    submitted_at TEXT NOT NULL, digest TEXT NOT NULL, run INTEGER NOT NULL, key TEXT NOT NULL UNIQUE,
    facts TEXT NOT NULL);
CREATE TABLE gradings (
    id INTEGER PRIMARY KEY, submission INTEGER NOT NULL REFERENCES submissions, lab TEXT NOT NULL, status TEXT NOT NULL,
    points REAL, max_points REAL NOT NULL, reason TEXT NOT NULL, graded_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    judged TEXT NOT NULL, details TEXT NOT NULL);
CREATE INDEX gradings_of ON gradings (submission);
CREATE VIEW latest AS
    SELECT student, name, batch, lab, file, submitted_at, status, points, max_points, reason, graded_at
    FROM submissions JOIN gradings ON gradings.submission = submissions.id
    WHERE gradings.id = (SELECT max(id) FROM gradings WHERE submission = submissions.id);
CREATE TABLE marks (
    key TEXT PRIMARY KEY, student TEXT NOT NULL, batch TEXT NOT NULL, lab TEXT NOT NULL, question TEXT NOT NULL,
    points REAL, max_points REAL NOT NULL, comment TEXT NOT NULL);
CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL);
COMMIT;
"""

GRADINGS = "SELECT facts, judged, details, run FROM submissions JOIN gradings ON gradings.submission = submissions.id "


WAITING = Graded(NOT_GRADED_YET, "It was handed in, and it hasn't been graded yet.")


class GradebookError(ValueError):
    """A file that can't be used as a gradebook, or not now. What it held before this step, it still holds."""


@dataclass(frozen=True)
class Record:
    """A grading of a submission, which comes without its cells; ``run`` counts the runs until it was first found."""

    submission: Submission
    graded: Graded
    fingerprint: str
    run: int = field(default=0, compare=False)


class Gradebook(AbstractContextManager["Gradebook"]):
    """An open gradebook. It belongs to one process, and in it to the thread that opened it, until it is closed.

    Workers that are forked from that process while it is open do no harm as long as they don't use it.
    Each method that writes has written for good when it returns: the file is sound whenever the process is killed,
    and whoever dies lets go of it.
    """

    def __init__(self, path: Path, database: sqlite3.Connection):
        self.path, self._database = path, database
        [[self._run]] = self._rows("SELECT coalesce(max(run), 0) + 1 FROM submissions")

    @classmethod
    def open(cls, path: Path | str, *, create: bool = True, wait: float = 5.0) -> "Gradebook":
        """Open a gradebook, or begin one; wait so many seconds for another process to let go of it."""
        path = Path(path)
        if not create and not path.exists():
            raise GradebookError(f"{path}: a gradebook must be there; got nothing. Run `labkit grade` first.")
        with plainly(path):
            database = sqlite3.connect(path, timeout=wait, isolation_level="IMMEDIATE")
        try:
            with plainly(path):
                prepare(path, database, create)
        except BaseException:
            database.close()
            raise
        return cls(path, database)

    def close(self) -> None:
        self._database.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with plainly(self.path), self._database:
            yield self._database

    def _rows(self, sql: str, *values: Any) -> list[tuple]:
        with plainly(self.path):
            return self._database.execute(sql, values).fetchall()

    def refresh(self, submissions: Iterable[Submission]) -> None:
        """Note what is known by now about files that may have been graded long ago: names, times, late marks."""
        with self._writing() as database:
            for submission in submissions:
                note(database, submission, self._run)

    def needs_grading(self, submission: Submission, fingerprint: str) -> bool:
        """Whether this is not what these very bytes were judged as last, or the grader itself failed at it."""
        latest = self._rows(
            "SELECT judged, status FROM gradings JOIN submissions ON gradings.submission = submissions.id "
            "WHERE key >= ? AND key < ? ORDER BY gradings.id DESC LIMIT 1",
            *keys_of(submission),
        )
        return not latest or latest[0][1] == SYSTEM_ERROR or latest[0][0] != judged(submission, fingerprint)

    def record(self, submission: Submission, graded: Graded, fingerprint: str) -> None:
        """Store a grading, durably; a submission's earlier ones stay."""
        columns = "submission, lab, status, points, max_points, reason, judged, details"
        values = (submission.lab, graded.status, graded.points, graded.max_points, printable(graded.reason))
        as_what = judged(submission, fingerprint)
        exact = (as_what, sealed(asdict(graded), as_what))
        with self._writing() as database:
            id = note(database, submission, self._run)
            database.execute(f"INSERT INTO gradings ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (id, *values, *exact))

    def latest(self) -> list[Record]:
        """Every submission with its latest grading, in an order that doesn't depend on when each was graded.

        Students are called as the roster calls them, if one was held against what was handed in. That a file can't be
        graded as some lab, or as none, holds only until the same bytes are judged as another one.
        """
        newest = "WHERE gradings.id IN (SELECT max(id) FROM gradings GROUP BY submission) ORDER BY gradings.id"
        latest = [record_from(self.path, *row) for row in self._rows(GRADINGS + newest)]
        last = {file_of(one.submission): one for one in latest}
        return self._called(one for one in latest if not one.submission.problem or one is last[file_of(one.submission)])

    def waiting(self) -> list[Record]:
        """Every submission whose very bytes have no grading at all, since a run was stopped before it came to them."""
        graded = "(SELECT submission FROM gradings)"
        rows = self._rows(f"SELECT facts, run FROM submissions WHERE id NOT IN {graded}")
        keys = self._rows(f"SELECT key FROM submissions WHERE id IN {graded}") if rows else []
        known = {tuple(json.loads(key)[:-1]) for (key,) in keys}
        found = (Record(submission_from(self.path, facts), WAITING, "", run) for facts, run in rows)
        return self._called(one for one in found if file_of(one.submission) not in known)

    def _called(self, records: Iterable[Record]) -> list[Record]:
        """The records in order, with students called as the roster calls them."""
        known = self.recall("known", {})
        return sorted((called(one, known) for one in records), key=sort_key)

    def remember(self, name: str, value: Any) -> None:
        """Keep a JSON value, such as the roster or the rules of a lab, for later commands on this gradebook."""
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, json.dumps(value)))

    def recall(self, name: str, default: Any = None, made: Callable[[Any], Any] = lambda kept: kept) -> Any:
        """What was kept under a name, or what is ``made`` of it."""
        values = self._rows("SELECT value FROM kept WHERE name = ?", name)
        with intact(self.path, name):
            return made(json.loads(values[0][0]) if values else default)

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Store marks, and what each question can bring. Empty ones erase nothing; withdrawn ones do."""
        given = {key: one for key, one in marks.items() if one != Mark(None)}
        known = self._questions() if given or self.marks() else {}
        worth = one_maximum(marks, known)
        if strangers := sorted(given.keys() - known.keys()):
            raise GradebookError(
                f"{self.path}: marks must be for answers in this gradebook; got {len(strangers)} for others, "
                f"the first with key {strangers[0]!r}. Use the written.csv that lies beside it."
            )
        taken = [key.partition("-")[0] for key, one in given.items() if one.withdrawn]
        with self._writing() as database:
            database.executemany("DELETE FROM marks WHERE substr(key, 1, instr(key, '-') - 1) = ?", zip(taken))
            database.executemany(
                "INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "points = coalesce(excluded.points, points), "
                "comment = coalesce(nullif(excluded.comment, ''), comment)",
                [(key, *known[key], one.points, one.max_points, one.comment) for key, one in given.items()],
            )
            database.executemany(
                "UPDATE marks SET max_points = ? WHERE (batch, lab, question) = (?, ?, ?)",
                [(most, *question) for question, most in worth.items()],
            )

    def marks(self) -> dict[str, Mark]:
        """The marks by the key of the answer; under the question's part of the key, one given for an answer to it."""
        rows = self._rows("SELECT key, points, max_points, comment FROM marks ORDER BY rowid")
        marks = {key: Mark(*values) for key, *values in rows}
        return marks | {key.partition("-")[0]: mark for key, mark in marks.items() if mark.points is not None}

    def _questions(self) -> dict[str, tuple[str, ...]]:
        """By the key of every answer that was ever read: student, batch, lab and question, to be stored with marks."""
        known = self.recall("known", {})
        records = [called(record_from(self.path, *row), known) for row in self._rows(GRADINGS)]
        return {
            answer.key: tuple(map(printable, (one.student, one.batch, one.lab, answer.question)))
            for one, graded in ((record.submission, record.graded) for record in records)
            for answer in answers_of(one, graded)
        }


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # ours, not the file's
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise GradebookError(
                f"{path}: one program at a time can use a gradebook; another one has it open. "
                "Wait until it is done, or stop it, and run the same command again."
            ) from None
        raise GradebookError(
            f"{path}: a gradebook must be an intact SQLite file that can be written; got: {error}. "
            "What was kept before is kept. Make room, choose another folder, or put a sound copy in its place."
        ) from None


@contextmanager
def intact(path: Path, what: str) -> Iterator[None]:
    """Whatever damaged JSON leads to, in words that say what to do."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise GradebookError(
            f"{path}: a gradebook must hold what labkit wrote; got something else under {what}. "
            "It was left as it is. Put a sound copy in its place."
        ) from None


def prepare(path: Path, database: sqlite3.Connection, create: bool) -> None:
    """Take the file for this process alone, make sure that it is ours and intact, and begin it if it is new."""
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    application, version, tables = (
        database.execute(sql).fetchone()[0]
        for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    new = not (application or version or tables)
    if new and not create:
        raise GradebookError(
            f"{path}: a gradebook must be there; got an empty file. Put a sound copy in its place, or delete it "
            "and run `labkit grade`."
        )
    if not new and (application, version) != (APPLICATION, VERSION):
        got = f"version {version}" if application == APPLICATION else "some other program's file"
        raise GradebookError(
            f"{path}: must be a gradebook of version {VERSION}; got {got}. Nothing was changed. Choose another folder."
        )
    damage = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        damage = " ".join(damage.split())
        raise GradebookError(f"{path}: a gradebook must be intact; got: {damage}. Put a sound copy in its place.")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")  # each commit outlives a power cut, too
    if new:
        database.executescript(SCHEMA)
    database.executescript("BEGIN EXCLUSIVE; COMMIT;")  # from here on the lock is held


def note(database: sqlite3.Connection, submission: Submission, run: int) -> int:
    """Store a submission, or what is new about it, and give its row's number."""
    facts = asdict(replace(submission, cells=()))
    del facts["cells"]
    shown = [printable(facts[name]) for name in ("student", "name", "batch", "file", "submitted_at", "digest")]
    [(id,)] = database.execute(
        "INSERT INTO submissions (student, name, batch, file, submitted_at, digest, run, key, facts) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
        "SET name = excluded.name, submitted_at = excluded.submitted_at, facts = excluded.facts RETURNING id",
        (*shown, run, key_of(submission), sealed(facts)),
    ).fetchall()
    return id


def key_of(submission: Submission) -> str:
    """What makes it the same submission: the same bytes of the same student in the same place, for the same lab."""
    return json.dumps([*file_of(submission), submission.lab])


def keys_of(submission: Submission) -> tuple[str, str]:
    """Between which two texts the keys of the same bytes lie, whatever the lab."""
    key = key_of(replace(submission, lab=""))
    return key[: -len('"]')], key[: -len('""]')] + "#"  # which comes next to the quotation mark


def file_of(submission: Submission) -> tuple[str, ...]:
    """The same bytes of the same student in the same place."""
    return submission.student, submission.batch, submission.file, submission.digest


def judged(submission: Submission, fingerprint: str) -> str:
    """All that decides whether a grading still holds."""
    return json.dumps([fingerprint, submission.lab, submission.problem])


def sealed(facts: Mapping[str, Any], beside: str = "") -> str:
    """Facts as JSON, with a digest of them and of what stands beside them."""
    return json.dumps({**facts, "seal": seal(facts, beside)})


def unsealed(text: str, beside: str = "") -> dict[str, Any]:
    """The facts in what ``sealed`` made; raises ValueError, or what damaged JSON leads to, if a byte has changed."""
    facts = json.loads(text)
    if facts.pop("seal") != seal(facts, beside):
        raise ValueError("the facts are other ones than were sealed")
    return facts


def seal(facts: Mapping[str, Any], beside: str) -> str:
    return hashlib.sha256((json.dumps(facts) + beside).encode()).hexdigest()[:16]


def printable(text: str) -> str:
    """The text with ``\\udcff`` spelt out for half a character, which SQLite can't store as text."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sort_key(record: Record) -> tuple[str, ...]:
    """By what records are ordered."""
    one = record.submission
    return one.batch, one.lab, one.student, one.file, one.digest


def record_from(path: Path, facts: str, judged: str, details: str, run: int) -> Record:
    submission = submission_from(path, facts)
    with intact(path, f"a grading of {submission.file}"):
        fingerprint, lab, problem = json.loads(judged)
        graded = with_tuples(unsealed(details, judged))
        graded["outcomes"] = tuple(Outcome(**one) for one in graded["outcomes"])
        graded["written"] = tuple(Written(**one) for one in graded["written"])
        return Record(replace(submission, lab=lab, problem=problem), Graded(**graded), fingerprint, run)


def submission_from(path: Path, facts: str) -> Submission:
    with intact(path, "a submission"):
        return Submission(**with_tuples(unsealed(facts)))


def called(record: Record, known: Mapping[str, list[str]]) -> Record:
    """The record with the student's id and name as the roster has them."""
    one = record.submission
    if one.student not in known:
        return record
    id, name = known[one.student]
    return replace(record, submission=replace(one, student=id, name=name or one.name, sender=one.student))


def with_tuples(stored: Any) -> Any:
    """The value with JSON's lists as the tuples that they were."""
    if isinstance(stored, dict):
        return {name: with_tuples(value) for name, value in stored.items()}
    return tuple(map(with_tuples, stored)) if isinstance(stored, list) else stored
