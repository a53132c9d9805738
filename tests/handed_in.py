"""Submissions and gradings made up for the tests of records, and what hypothesis draws of them."""

from hypothesis import strategies as st

from labkit.exercise import STATUSES, Outcome
from labkit.grading.records.gradebook import Record
from labkit.grading.submission import GRADED, SYSTEM_ERROR, UNGRADABLE, Graded, Submission, Written

LAB = "02_causal_mask"


def submission(student="ada", file="ada.ipynb", digest="d1", **others):
    return Submission(**{"student": student, "name": "Ada", "file": file, "digest": digest, "lab": LAB, **others})


def graded(points=3, of=4, written=(), **others):
    """A grading with one exercise, ``attention``, and written answers by question."""
    outcome = Outcome("attention", "failed", points, of, **others)
    return Graded(GRADED, outcomes=(outcome,), written=tuple(Written(*one) for one in written))


def ungradable(reason="It isn't JSON."):
    return Graded(UNGRADABLE, reason)


def record(points=3, *, of=4, written=(), result=None, **facts):
    return Record(submission(**facts), result or graded(points, of, written), "f")


# Half characters, too, and what spreadsheets make something of.
any_text = st.text(st.characters() | st.sampled_from("=+-@;,'\"\t\r\n"), max_size=20)
words = st.lists(any_text, max_size=2).map(tuple)
points = st.floats(0, 10)
outcomes = st.builds(
    lambda share, most, **others: Outcome(points=share * most, max_points=most, **others),
    st.floats(0, 1),
    points,
    exercise=st.sampled_from(["softmax", "attention", "hand_weights"]),
    status=st.sampled_from(STATUSES),
    mistakes=words,
    remarks=words,
    message=any_text,
    hints=words,
    html=any_text,
)
gradings = st.builds(
    Graded,
    st.sampled_from([GRADED, UNGRADABLE, SYSTEM_ERROR]),
    any_text,
    st.lists(outcomes, max_size=3, unique_by=lambda one: one.exercise).map(tuple),
    words,
    words,
    st.lists(st.builds(Written, any_text, any_text), max_size=3).map(tuple),
    any_text,
)
moments = st.datetimes(timezones=st.timezones()).map(lambda at: at.isoformat()) | st.sampled_from(["", "yesterday"])
submissions = st.builds(
    Submission,
    any_text,
    any_text,
    any_text,
    any_text,
    batch=any_text,
    submitted_at=moments,
    number=st.integers(0, 3),
    marked_late=st.booleans(),
    lab=st.sampled_from(["", LAB, "01_one_head"]),
    problem=any_text,
    remarks=words,
)
