"""The instructor's page: what to see to, what the class misunderstands, how hard each exercise was, who did what."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from statistics import fmean, median

from ..exercise import Outcome
from ..feedback import REMARKS
from ..mistakes import MISTAKES
from .feedback_page import WORDS
from .page import Html, count, each, join, listed, number, page, put, said
from .policy import MISSING
from .statistics import (
    FEWEST,
    ExerciseNumbers,
    Row,
    Seen,
    exercise_numbers,
    histogram,
    mistakes_seen,
    pairs_of_steps,
    place,
    scored,
    shared_numbers,
)
from .submission import GRADED, SYSTEM_ERROR, UNGRADABLE

Link = Callable[[str], str] | None

MOST_REMARKS = 30  # of a lab that are listed
# How telling a correlation is, from which value on.
TELLING = ((0.4, "well"), (0.2, "somewhat"), (-0.1, "hardly"), (-1.0, "the wrong way round"))


def class_page(
    rows: Iterable[Row],
    *,
    title: str = "Class report",
    unknown: Collection[str] = (),
    notes: Sequence[str] = (),
    link: Link = None,
) -> str:
    """The page about a class, as a file of its own.

    Parameters
    ----------
    rows : iterable of Row
        What counts, a row for each student and lab, in any order; whoever handed in nothing may have one, too.
    unknown : collection of str
        The ids of those who handed in and are not on the roster.
    notes : sequence of str
        What there is to say about files that belong to no submission.
    link : callable(student) -> str, optional
        The address of a student's page, from where this one lies.
    """
    rows = sorted(rows, key=lambda row: (place(row), (row.name or row.student).casefold(), row.student, row.file))
    labs = {where: list(of_lab) for where, of_lab in groupby(rows, place)}
    missing = [f"{who(row)}, {place(row)}" for row in rows if row.graded.status == MISSING]
    late = [f"{who(row)}, {place(row)}: {row.late}" for row in rows if row.late]
    parts = [
        system_errors(rows),
        glance(rows),
        ungradable(rows),
        *(lab_section(where, of_lab, link) for where, of_lab in labs.items() if scored(of_lab)),
        listed("Came late", late, 2),
        listed("On the roster, and handed in nothing", missing, 2),
        listed(
            "Handed in, and not on the roster", dict.fromkeys(who(row) for row in rows if row.student in unknown), 2
        ),
        numbers_shared(rows),
        listed("Files that were left out", map(said, notes), 2),
        isolation(rows),
    ]
    return page(title, join(parts, "\n"), "wide")


def who(row: Row) -> str:
    return f"{row.name} ({row.student})" if row.name and row.name != row.student else row.student


# ---- what must be seen to --------------------------------------------------------------------------------------------


def system_errors(rows: Sequence[Row]) -> Html:
    failed = [row for row in rows if row.graded.status == SYSTEM_ERROR]
    lines = [put("{}, <code>{}</code>: {}", who(row), row.file, row.graded.reason) for row in failed]
    for row in rows:
        lines += [f"{who(row)}, {one.exercise}: {one.message}" for one in row.graded.outcomes if is_ours(one)]
    if not lines:
        return Html()
    title = f"‼ The grader itself failed {count(len(lines), 'time')}"
    advice = "These have no score, and cost nobody points. Run the same command again; if they stay, report them."
    frame = '<div class="card loud"><h2>{}</h2><p>{}</p><ul>{}</ul></div>'
    return put(frame, title, advice, each("<li>{}</li>", lines))


def is_ours(one: Outcome) -> bool:
    return one.status == "system_error"


def glance(rows: Sequence[Row]) -> Html:
    statuses = Counter(row.graded.status for row in rows)
    students = {row.student for row in rows if row.graded.status != MISSING}
    facts = [f"{count(len(students), 'student')} handed in", f"{count(statuses[GRADED], 'notebook')} graded"]
    untouched = sum(map(is_untouched, rows))
    facts += [f"{untouched} of them with nothing done yet"] * bool(untouched)
    facts += [f"{statuses[UNGRADABLE]} could not be graded"] * bool(statuses[UNGRADABLE])
    facts += [f"the grader failed on {statuses[SYSTEM_ERROR]}"] * bool(statuses[SYSTEM_ERROR])
    facts += [f"{sum(bool(row.late) for row in rows)} late", f"{statuses[MISSING]} not handed in"]
    return put('<p class="big">{}</p>', ", ".join(facts))


def ungradable(rows: Sequence[Row]) -> Html:
    bad = [row for row in rows if row.graded.status == UNGRADABLE]
    lines = [put("{}, <code>{}</code>: {}", who(row), row.file, said(row.graded.reason)) for row in bad]
    return listed("Files that could not be graded", lines, 2)


def numbers_shared(rows: Sequence[Row]) -> Html:
    lines = [f"Numbers of “{name}”: {', '.join(users)}" for name, users in shared_numbers(rows).items()]
    return listed("The same numbers in several students' notebooks", lines, 2)


def isolation(rows: Sequence[Row]) -> Html:
    layers = Counter(row.graded.isolation for row in rows if row.graded.isolation)
    lines = [f"{name} ({count(n, 'submission')})" for name, n in sorted(layers.items())]
    return listed("What stood between students' code and this machine", lines, 2)


# ---- a lab -----------------------------------------------------------------------------------------------------------


def lab_section(lab: str, rows: Sequence[Row], link: Link) -> Html:
    exercises, seen = exercise_numbers(rows), mistakes_seen(rows)
    parts = [totals(scored(rows)), mistakes(seen), pairs(seen), hardness(exercises)]
    parts += [students(lab, rows, exercises, link), remarks(rows)]
    return put("<h2>{}</h2>{}", lab, join(parts, "\n"))


def totals(rows: Sequence[Row]) -> Html:
    got, full = [row.points for row in rows], max(row.max_points for row in rows)
    middle = f"Mean {number(fmean(got))}, median {number(median(got))}"
    ends = f"from {number(min(got))} to {number(max(got))} of {number(full)} points."
    drawn = bars(histogram(row.points / row.max_points for row in rows if row.max_points))
    return put("<h3>Totals</h3><p>{}, {}</p>{}", middle, ends, drawn)


def bars(counts: Sequence[int]) -> Html:
    """Ten bars, one for each tenth of the points."""
    words = "; ".join(f"{10 * n} to {10 * n + 10} %: {size}" for n, size in enumerate(counts))
    marks = [put('<text x="434" y="126">100 %</text>')]
    for n, size in enumerate(counts):
        x, high = 10 + 44 * n, 90 * size / max(counts)
        place = x, number(110 - high), number(high)
        marks.append(put('<rect class="mark" x="{}" y="{}" width="40" height="{}"/>', *place))
        marks.append(put('<text x="{}" y="{}" text-anchor="middle">{}</text>', x + 20, number(105 - high), size))
        marks.append(put('<text x="{}" y="126" text-anchor="middle">{}</text>', x - 2, 10 * n))
    frame = '<svg class="chart" width="480" height="130" viewBox="0 0 480 130" role="img" aria-label="{}">{}</svg>'
    return put(frame, f"Students by share of all points: {words}.", join(marks))


def bar(share: float) -> Html:
    """A small bar beside its number, which says the same."""
    frame = '<svg class="bar" width="80" height="10" aria-hidden="true">{}</svg>'
    return put(frame, put('<rect class="mark" width="{}" height="10" rx="2"/>', number(80 * min(max(share, 0), 1))))


def table(caption: str, head: str, lines: Iterable[Html]) -> Html:
    """A table that scrolls sideways; in `head` a column of numbers begins with #."""
    columns = [(Html(' class="n"' * name.startswith("#")), name.lstrip("#")) for name in head.split("|")]
    frame = (
        '<div class="scroll" role="group" aria-label="{}" tabindex="0"><table><caption>{}</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    )
    return put(frame, caption, caption, each('<th scope="col"{}>{}</th>', columns), join(lines, "\n"))


# ---- mistakes --------------------------------------------------------------------------------------------------------


def mistakes(seen: Sequence[Seen]) -> Html:
    if not seen:
        return Html("<h3>Mistakes</h3><p>None was recognised.</p>")
    caption = "Each counts once a student, by its likeliest name; “…” stands for a number of the student's own."
    head = "#students|mistake and step|what it is, and the question that was asked|as seen once"
    return join([Html("<h3>Mistakes</h3>"), table(caption, head, (mistake_line(one, seen[0]) for one in seen))])


def mistake_line(one: Seen, first: Seen) -> Html:
    return put(
        '<tr><td class="n">{}{}</td><th scope="row">{}<br><small>{}</small></th><td class="words">{}</td>'
        '<td class="words"><small>{}: {}</small></td></tr>',
        len(one.students),
        bar(len(one.students) / len(first.students)),
        spaced(one.id),
        MISTAKES[one.id].step if one.id in MISTAKES else "",
        general(one.id),
        one.example.exercise,
        said(seen_once(one.example.message)),
    )


def spaced(id: str) -> str:
    return id.replace("_", " ")


def general(id: str) -> str:
    """A mistake's sentence without any student's numbers."""
    sentence = re.sub(r"\{\w+\}", "…", MISTAKES[id].sentence if id in MISTAKES else REMARKS.get(id, ""))
    return re.sub(r" \([^()]*…[^()]*\)", "", sentence).replace("….", "…")


def seen_once(message: str) -> str:
    """What was seen, without the question."""
    sentences = re.split(r"(?<=[.?]) ", " ".join(message.split("\n")[:2]))
    return " ".join(sentence for sentence in sentences if not sentence.endswith("?"))


def pairs(seen: Sequence[Seen]) -> Html:
    line = '<tr><th scope="row">{} and {}</th><td class="n">{}</td><td>{} and {} ({})</td></tr>'
    found = [(*one.steps, one.students, *map(spaced, one.commonest), one.most) for one in pairs_of_steps(seen)]
    caption = "Students who made mistakes at both of two steps of the calculation, and the commonest two mistakes"
    lines = table(caption, "steps|#students|most often", [each(line, found)])
    return join([Html("<h3>Mistakes that go together</h3>"), lines]) if found else Html()


# ---- exercises and students ------------------------------------------------------------------------------------------


def hardness(exercises: Sequence[ExerciseNumbers]) -> Html:
    caption = (
        "The mean share of an exercise's points (little: hard), its correlation with the rest of the score, and "
        "whether it thus tells strong students from weak ones"
    )
    head = "exercise|#mean share|#correlation|strong from weak|how it went"
    return join([Html("<h3>How hard, and how telling</h3>"), table(caption, head, map(exercise_line, exercises))])


def exercise_line(one: ExerciseNumbers) -> Html:
    line = '<tr><th scope="row">{}</th><td class="n">{} %{}</td><td class="n">{}</td><td>{}</td><td>{}</td></tr>'
    related = "–" if one.telling is None else f"{one.telling:.2f}".replace("-", "−")
    went = ", ".join(f"{n} {WORDS[status][1]}" for status, n in sorted(one.statuses.items()))
    return put(line, one.name, round(100 * one.share), bar(one.share), related, how_telling(one), went)


def how_telling(one: ExerciseNumbers) -> str:
    if one.telling is not None:
        return next(word for least, word in TELLING if one.telling >= least or least == -1)
    return f"fewer than {FEWEST} students" if sum(one.statuses.values()) < FEWEST else "all alike: nothing to compare"


def students(lab: str, rows: Sequence[Row], exercises: Sequence[ExerciseNumbers], link: Link) -> Html:
    names = [one.name for one in exercises]
    columns = each(
        '<th scope="col"><span>{} ({})</span></th>', ((one.name, number(one.max_points)) for one in exercises)
    )
    seen = [WORDS[status] for status in WORDS if any(status in one.statuses for one in exercises)]
    legend = ", ".join(f"{sign} {word}" for sign, word in (*seen, ("◐", "part of the points")))
    frame = (
        '<h3>Students and exercises</h3><p class="soft">{}. Colours go from none of the points (orange) to all of them '
        '(blue).</p><div class="scroll tall" role="group" aria-label="Students and exercises of {}" tabindex="0">'
        '<table class="grid"><thead><tr><th scope="col">student</th><th scope="col" class="n">points</th>{}'
        '<th scope="col">notes</th></tr></thead><tbody>{}</tbody></table></div>'
    )
    return put(frame, legend, lab, columns, join((student_line(row, names, link) for row in rows), "\n"))


def is_untouched(row: Row) -> bool:
    """Whether no exercise was begun; points it has all the same: none."""
    outcomes = row.graded.outcomes
    return bool(outcomes) and all(one.status == "unattempted" and not one.points for one in outcomes)


def student_line(row: Row, names: Sequence[str], link: Link) -> Html:
    found = {one.exercise: one for one in row.graded.outcomes}
    name = row.name or row.student
    shown = put('<a href="{}">{}</a>', link(row.student), name) if link else name
    below = put("<br><small>{}</small>", row.student) if name != row.student else ""
    points = "–" if row.points is None else number(row.points)
    notes = [spaced(row.graded.status)] * (row.points is None)
    notes += ["nothing done yet"] * is_untouched(row)
    notes += ["late"] * bool(row.late) + [f"{row.attempts} attempts"] * (row.attempts > 1)
    notes += [row.reason] * bool(row.reason and row.points is not None)
    line = '<tr><th scope="row">{}{}</th><td class="n">{}</td>{}<td>{}</td></tr>'
    return put(line, shown, below, points, join(cell(found.get(name)) for name in names), ", ".join(notes))


def cell(one: Outcome | None) -> Html:
    """An exercise of one student: sign, points and colour; what went wrong shows under the pointer."""
    if one is None:
        return Html("<td></td>")
    fifth = int(4 * min(max(one.points / one.max_points, 0), 1)) if one.max_points else 0
    sign = "◐" if one.status == "failed" and one.points > 0 else WORDS[one.status][0]
    words = ", ".join((WORDS[one.status][1], *map(spaced, one.mistakes)))
    return put('<td class="s{}" title="{}">{} {}</td>', fifth, words, sign, number(one.points))


def remarks(rows: Sequence[Row]) -> Html:
    """What was remarked on, by how many notebooks it was said of."""
    said_of = Counter()
    for row in rows:
        ids = {id for one in row.graded.outcomes for id in one.remarks}
        said_of.update(f"{spaced(id)}: {general(id)}" for id in ids)
        said_of.update({kind(remark) for remark in row.graded.remarks})
    found = sorted(said_of.items(), key=lambda one: (-one[1], one[0]))
    lines = [put("{} ({})", said(text), n) for text, n in found[:MOST_REMARKS]]
    lines += [f"and {len(found) - MOST_REMARKS} others"] * (len(found) > MOST_REMARKS)
    return listed("Remarks, and how many notebooks got them", lines)


def kind(remark: str) -> str:
    """A remark without what is one student's: the line that it shows, numbers, code, and an error's own words."""
    text = re.sub(r" Line \d+:$", "", remark.split("\n")[0])
    text = re.sub(r"(did not run to its end: \w+): .*", r"\1.", text)
    text = re.sub(r"`[^`]*`(?:, `[^`]*`)*(?: and \d+ more)?", "…", text)
    return re.sub(r"(?<![\w(-])\d[\d,]*(?: \d+,?)*(?: …)?", "…", text)
