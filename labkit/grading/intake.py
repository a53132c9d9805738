"""From a folder, an archive or a notebook to submissions: no file stops the others, and none is lost silently."""

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..exercises import LABS
from . import naming, reading
from .found import LINK, NOTEBOOK, OUTSIDE, Found, IntakeError, Refused, in_students_zip, opened
from .naming import Sender
from .remarks import remarks_on
from .submission import Cell, Submission
from .wording import few

__all__ = ["Intake", "IntakeError", "collect"]


@dataclass(frozen=True)
class Intake:
    """All that was handed in, ordered by file name, and sentences about what isn't a submission."""

    submissions: tuple[Submission, ...]
    notes: tuple[str, ...] = ()

    @property
    def preload(self) -> tuple[str, ...]:
        """What the notebooks are going to import, and what takes long."""
        code = (cell.source for one in self.submissions for cell in one.cells if cell.kind == "code")
        return ("matplotlib.pyplot",) if any("matplotlib" in source for source in code) else ()


def collect(path: str | os.PathLike, lab: str | None = None) -> Intake:
    """Find every submission.

    Parameters
    ----------
    path : path
        A folder, a .zip or a notebook: as Canvas, Moodle, Gradescope or nbgrader lay them out, a folder a student, or
        a file a student. Students may have handed in archives.
    lab : str, optional
        The lab that was asked for, or how its name begins. Without it, it is what more than half of an assignment's
        notebooks are.

    Raises
    ------
    IntakeError
        If there is no such file, it is neither folder, archive nor notebook, or nothing was handed in.
    """
    asked = _lab_called(lab) if lab else ""
    where = Path(path).absolute().parts if os.path.isdir(path) else (Path(path).stem,)
    with opened(Path(path)) as files:
        desk = _Desk()
        desk.take_all(files, where)
    if not desk.submissions:
        raise IntakeError(f"{path}: must hold what students handed in; nothing was found. Give another path.")
    batches = defaultdict(list)
    for submission in desk.submissions:
        batches[submission.batch].append(submission)
    judged = (one for batch in batches.values() for one in _settle_lab(batch, asked))
    return Intake(tuple(sorted(judged, key=lambda one: (one.file, one.student, one.digest))), tuple(desk.notes))


class _Desk:
    """Where files are sorted: each notebook is a submission; other files are one where a student has no notebook."""

    def __init__(self) -> None:
        self.submissions: list[Submission] = []
        self.notes: list[str] = []
        self.others: dict[tuple[str, str], list[tuple[Sender, Found]]] = defaultdict(list)

    def take_all(self, files: Sequence[Found], where: tuple[str, ...]) -> None:
        senders = naming.senders([file.path for file in files], where, _metadata(files))
        stamps = {file.path.removesuffix("timestamp.txt"): file for file in files if file.name == "timestamp.txt"}
        for file in files:
            stamp = stamps.get(file.path.removesuffix(file.name))
            self.take(file, [_stamped(sender, stamp) for sender in senders[file.path]])
        if left := [path for path, who in senders.items() if not who]:
            self.notes.append(f"Left out, since they are no student's: {few(left)}.")
        handed_in = {(one.student, one.batch) for one in self.submissions}
        for whose in self.others.keys() - handed_in:
            self.submissions.append(_without_notebook(*zip(*self.others[whose], strict=True)))

    def take(self, file: Found, senders: Sequence[Sender]) -> None:
        inside = [file] if senders else []
        if senders and file.path.lower().endswith(".zip"):
            try:
                inside = in_students_zip(file) or inside
            except Refused as reason:
                inside = [replace(file, problem=str(reason))]
        for one in inside:
            if NOTEBOOK.fullmatch(one.path):
                self.submissions += _submissions(one, senders)
                continue
            if one.problem:
                self.notes.append(f"{one.path} {one.problem}.")
            for sender in senders if one.problem not in (LINK, OUTSIDE) else ():
                self.others[sender.student, sender.batch].append((sender, one))


def _metadata(files: Sequence[Found]) -> str:
    """Gradescope's list: only where it lies above everything, since a student may hand in a file of that name."""
    handed_in = [file.path for file in files if naming.is_handed_in(file.path) and not file.problem]
    for file in files:
        folder = file.path.removesuffix(naming.METADATA)
        if file.name == naming.METADATA and all(path.startswith(folder) for path in handed_in):
            return _text(file)
    return ""


def _stamped(sender: Sender, stamp: Found | None) -> Sender:
    """With the time that nbgrader wrote beside the file; elsewhere a student may have put it there."""
    return replace(sender, submitted_at=naming.iso(_text(stamp))) if stamp and sender.batch else sender


def _text(file: Found) -> str:
    return _bytes(file).decode(errors="replace")


def _bytes(file: Found) -> bytes:
    """All of it, or nothing if it can't be read."""
    try:
        return file.read()
    except Refused:
        return b""


def _submissions(file: Found, senders: Sequence[Sender]) -> list[Submission]:
    data, problem = b"", ""
    cells: tuple[Cell, ...] = ()
    remarks: tuple[str, ...] = ()
    try:
        data = file.read()
        cells, remarks = reading.read(data)
    except Refused as reason:
        problem = f"The file {reason}."
    except reading.Ungradable as reason:
        problem = str(reason)
    digest = hashlib.sha256(data).hexdigest()
    return [
        Submission(**vars(sender), file=file.path, digest=digest, cells=cells, remarks=remarks, problem=problem)
        for sender in senders
    ]


def _without_notebook(senders: Sequence[Sender], files: Sequence[Found]) -> Submission:
    """A row all the same: the student did hand in something."""
    names = few([file.name + (f" (which {file.problem})" if file.problem else "") for file in files])
    problem = f"Only {names} was handed in, and no notebook."
    digest = hashlib.sha256(_bytes(files[0])).hexdigest()
    return Submission(**vars(senders[0]), file=files[0].path, digest=digest, problem=problem)


# ---- which lab -------------------------------------------------------------------------------------------------------


def _lab_called(name: str) -> str:
    """The only lab whose name begins so."""
    meant = [lab for lab in LABS if lab.startswith(name)]
    if len(meant) != 1:
        raise IntakeError(f"lab: must be one of {', '.join(LABS)}; got {name!r}. Write one of these.")
    return meant[0]


def _settle_lab(batch: Sequence[Submission], asked: str) -> list[Submission]:
    """Say of each submission which lab it is judged as, or why it is none."""
    guesses = [() if one.problem else reading.likely_labs(one.cells) for one in batch]
    asked = asked or _majority([guess[0] for guess in guesses if guess])
    return [_judged_as(*pair, asked) for pair in zip(batch, guesses, strict=True)]


def _majority(labs: Sequence[str]) -> str:
    for lab, number in Counter(labs).most_common(1):
        return lab if number >= 2 and 2 * number > len(labs) else ""
    return ""


def _judged_as(submission: Submission, guess: Sequence[str], asked: str) -> Submission:
    problem = submission.problem
    if guess and asked and asked not in guess:
        problem = f"The notebook looks like {guess[0]}; {asked} was asked for."
    elif not problem and not guess and not (asked and reading.is_of_the_course(submission.cells)):
        problem = f"The notebook holds none of the exercises of {asked or 'any lab'}."
    lab = asked or next(iter(guess), "")
    remarks = () if problem else remarks_on(submission.cells, lab)
    return replace(submission, lab=lab, problem=problem, remarks=submission.remarks + remarks)
