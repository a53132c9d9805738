"""From a folder, an archive or a notebook to submissions: no file stops the others, and none is lost silently."""

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...exercises import LABS
from ..submission import Cell, Submission
from ..wording import few
from . import naming, reading
from .found import (
    GRADES,
    LINK,
    NOISE,
    NOTEBOOK,
    OUTSIDE,
    PACKED,
    Found,
    IntakeError,
    Refused,
    in_students_zip,
    is_leftover,
    opened,
)
from .platform_files import METADATA, TIMESTAMP, Sender, Senders
from .remarks import named, remarks_on

__all__ = ["Intake", "IntakeError", "collect"]

MOST_NOTEBOOKS = 20  # in an archive that a student made
MOST_NAMES = 10  # of files beside a notebook


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
        students handed in.

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


Whose = tuple[str, str]  # a student and a batch


class _Desk:
    """Where files are sorted: each notebook is a submission; other files are one where a student has no notebook."""

    def __init__(self) -> None:
        self.submissions: list[Submission] = []
        self.notes: list[str] = []
        self.others: dict[Whose, list[tuple[Sender, Found]]] = defaultdict(list)
        self.leftovers: dict[Whose, list[tuple[Sender, Found]]] = defaultdict(list)

    def take_all(self, files: Sequence[Found], where: tuple[str, ...]) -> None:
        """Sort all that was handed in; ``where`` is the path of the folder, or the archive's name."""
        by_path = {file.path: file for file in files}
        senders = naming.senders(by_path, where, lambda path: _bytes(by_path[path]).decode(errors="replace"))
        for file in files:
            self.take(file, senders[file.path])
        self.use_leftovers()
        self.notes += self.taken_for_one()
        nobodys = [file for file in files if not senders[file.path] and not is_leftover(file.path)]
        if left := [file.path for file in nobodys if file.name not in (METADATA, TIMESTAMP)]:
            self.notes.append(f"Left out, since they are no student's: {few(left)}.")
        beside = {whose: _beside(found) for whose, found in self.others.items()}
        self.submissions = [_remarked(one, *beside.get((one.student, one.batch), ())) for one in self.submissions]
        for whose in self.others.keys() - self.handed_in():
            self.submissions.append(_without_notebook(*zip(*self.others[whose], strict=True)))

    def taken_for_one(self) -> list[str]:
        """A class in a folder within an archive looks like the folder of one student with many notebooks."""
        folders = {one.file.rpartition("/")[0] for one in self.submissions}
        students = {one.student for one in self.submissions if not one.name}
        if len(self.submissions) < 2 or students != folders or len(students) > 1:
            return []
        taken = f"All {len(self.submissions)} notebooks were taken for one student's, {students.pop()}"
        return [f"{taken}, whose folder they lie in. Are they several people's? Then unpack it, and grade that folder."]

    def handed_in(self) -> set[Whose]:
        """Those of whom there is a notebook by now."""
        return {(one.student, one.batch) for one in self.submissions}

    def take(self, file: Found, senders: Senders) -> None:
        """Sort one file, or the files in a student's archive, which ``senders`` handed in together."""
        read, more, refused = 0, [], []
        for one in _inside(file) if senders else ():
            kind = self.others
            if NOTEBOOK.fullmatch(one.path):
                if is_leftover(one.path):
                    kind = self.leftovers
                elif read < MOST_NOTEBOOKS:
                    read += 1
                    self.submissions += _submissions(one, senders)
                    continue
                else:
                    more.append(one.path)
            if one.problem:
                refused.append(f"{one.path} {one.problem}.")
            for sender in senders if one.problem not in (LINK, OUTSIDE, GRADES) else ():
                kind[sender.student, sender.batch].append((sender, one))
        self.notes += refused[:MOST_NAMES]
        if len(refused) > MOST_NAMES:
            self.notes.append(f"{len(refused) - MOST_NAMES:,} more files in {file.path} were refused.")
        if more:
            self.notes.append(f"Of an archive {MOST_NOTEBOOKS} notebooks are read. Left out: {few(more)}.")

    def use_leftovers(self) -> None:
        """Take the copies that an editor kept where a student has nothing else."""
        handed_in = self.handed_in()
        for whose, found in self.leftovers.items():
            files = [file for _, file in found]
            if whose in handed_in:
                self.others[whose] += [one for one in found if ".ipynb_checkpoints" not in one[1].path]
            elif NOISE.fullmatch(whose[0]):
                what = "Left out, since editors and systems give such names to what they leave behind"
                self.notes.append(f"{what}: {few([file.path for file in files])}.")
            else:
                what = f"Only {named([file.name for file in files])} was handed in, a copy that an editor keeps"
                for sender, file in found[:MOST_NOTEBOOKS]:
                    self.submissions += [
                        _remarked(one, f"{what}: is it the latest?") for one in _submissions(file, [sender])
                    ]
                self.others[whose] += found[MOST_NOTEBOOKS:]


def _beside(others: Iterable[tuple[Sender, Found]]) -> tuple[str, ...]:
    """A remark about what a student handed in beside a notebook, if anything."""
    names = list(dict.fromkeys(file.name for _, file in others))
    return (f"Handed in beside it, and not read: {named(names, MOST_NAMES)}.",) if names else ()


def _remarked(submission: Submission, *remarks: str) -> Submission:
    return replace(submission, remarks=submission.remarks + remarks)


def _inside(file: Found) -> list[Found]:
    """The file, or what a student's archive holds, beginning with what is named like a lab."""
    if not file.path.lower().endswith(".zip") or is_leftover(file.path):
        return [file]
    try:
        files = in_students_zip(file) or [file]
    except Refused as reason:
        return [replace(file, problem=str(reason))]
    topics = [lab.partition("_")[2] for lab in LABS]
    return sorted(files, key=lambda one: not any(topic in one.name.lower() for topic in topics))


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
    names = few([file.name[:80] + (f" (which {file.problem})" if file.problem else "") for file in files])
    is_packed = any(file.name.lower().endswith(PACKED) for file in files)
    is_packed_twice = any(re.search(r"(?i)\.zip/.*\.zip\Z", file.path) for file in files)
    why = ": of archives only a .zip is opened, and none inside it" if is_packed or is_packed_twice else ""
    problem = f"Only {names} was handed in, and no notebook{why}."
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
    asked = asked or _asked_for((one.student, guess[0]) for one, guess in zip(batch, guesses, strict=True) if guess)
    return [_judged_as(*pair, asked) for pair in zip(batch, guesses, strict=True)]


def _asked_for(handed_in: Iterable[tuple[str, str]]) -> str:
    """The lab of more than half of the students, if of several; a student's is what most of their notebooks are."""
    labs_of = defaultdict(list)
    for student, lab in handed_in:
        labs_of[student].append(lab)
    students_labs = [_of_most(labs) for labs in labs_of.values()]
    lab = _of_most([one for one in students_labs if one])
    return lab if students_labs.count(lab) > 1 else ""


def _of_most(labs: Sequence[str]) -> str:
    """What more than half of them are."""
    for lab, number in Counter(labs).most_common(1):
        return lab if 2 * number > len(labs) else ""
    return ""


def _judged_as(submission: Submission, guess: Sequence[str], asked: str) -> Submission:
    problem = submission.problem
    if guess and asked and asked not in guess:
        problem = f"The notebook looks like {guess[0]}; {asked} was asked for."
    elif not problem and not guess and not (asked and reading.is_of_the_course(submission.cells)):
        problem = f"The notebook holds none of the exercises of {asked or 'any lab'}."
    lab = asked or next(iter(guess), "")
    remarks = () if problem else remarks_on(submission.cells, lab)
    return _remarked(replace(submission, lab=lab, problem=problem), *remarks)
