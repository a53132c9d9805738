"""The vocabulary of grading: what was handed in, and what came of it."""

from dataclasses import dataclass

from ..exercise import Outcome

GRADED, UNGRADABLE, SYSTEM_ERROR = "graded", "ungradable", "system_error"
NOT_GRADED_YET = "not_graded_yet"  # of what was handed in when a run is stopped before it comes to it


@dataclass(frozen=True)
class Cell:
    """A notebook's cell, without its outputs; ``kind`` is code, markdown or raw."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True)
class Submission:
    """One file that was handed in.

    Attributes
    ----------
    student : str
        Who handed it in, byte for byte as the learning platform writes it: ``007`` isn't ``7``.
    name : str
        The student's name for people to read; may be empty.
    file : str
        Its path in the folder or archive, with ``/`` between parts.
    digest : str
        SHA-256 of its bytes, in hexadecimal digits.
    batch : str
        The assignment's folder, where the folders name one.
    submitted_at : str
        ISO 8601 with an offset from UTC; empty if nobody knows.
    number : int
        Orders what one student handed in where times can't: the platform's own number, or 0.
    marked_late : bool
        The platform says that it came late.
    lab : str
        The lab that it is judged as, such as ``02_causal_mask``; empty if none was recognised.
    cells : tuple of Cell
    problem : str
        Why it can't be graded, in a sentence for student and instructor; else empty.
    remarks : tuple of str
        Sentences about the file that cost nothing.
    sender : str
        Who handed it in as the platform knows it, where ``student`` is what a roster calls them; else empty.
    """

    student: str
    name: str
    file: str
    digest: str
    batch: str = ""
    submitted_at: str = ""
    number: int = 0
    marked_late: bool = False
    lab: str = ""
    cells: tuple[Cell, ...] = ()
    problem: str = ""
    remarks: tuple[str, ...] = ()
    sender: str = ""


@dataclass(frozen=True)
class Written:
    """The answer to a question that is marked by hand."""

    question: str  # in the lab's words
    text: str


@dataclass(frozen=True)
class Graded:
    """What came of one submission.

    Attributes
    ----------
    status : str
        ``graded``, ``ungradable`` (the file) or ``system_error`` (ours: it has no score, and costs nobody points).
    reason : str
        Why it wasn't graded; else empty.
    outcomes : tuple of Outcome
        One for each exercise of the lab, in the lab's order.
    remarks : tuple of str
        Sentences about file and notebook that cost nothing.
    numbers_of : tuple of str
        The names whose own numbers the notebook asked for.
    written : tuple of Written
    isolation : str
        The layers that stood between the student's code and the machine, such as ``"basic"``.
    """

    status: str
    reason: str = ""
    outcomes: tuple[Outcome, ...] = ()
    remarks: tuple[str, ...] = ()
    numbers_of: tuple[str, ...] = ()
    written: tuple[Written, ...] = ()
    isolation: str = ""

    @property
    def points(self) -> float | None:
        """The sum of the outcomes' points; None where there is no score."""
        return sum(one.points for one in self.outcomes) if self.status == GRADED else None

    @property
    def max_points(self) -> float:
        """The sum of what the outcomes can earn."""
        return sum(one.max_points for one in self.outcomes)
