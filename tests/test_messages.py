"""What a student reads: a number of their own, a question, and never the answer."""

import re
from string import Formatter

import numpy as np
import pytest
from students import who_does

from labkit.answer import number
from labkit.calculation import SIZES
from labkit.exercises import EXERCISES
from labkit.feedback import HELP, IN_ITS_PLACE, outcome
from labkit.judge import cases_and_lineup, judge_function
from labkit.lineup import answer_of
from labkit.mistakes import MISTAKES
from labkit.table import judge_table

# The right lines, or parts of them, in any usual spelling: no message may hold one.
GIVEAWAYS = re.compile(
    r"sqrt|\*\*\s*-?0\.5|np\.|\.T\b|swapaxes|keepdims|axis\s*=|-inf\b|−∞|tril|@|exp\(|softmax\(|reshape|where\(", re.I
)


def worst_of_each_mistake():
    seen = {}
    for exercise in EXERCISES.values():
        if exercise.is_table:
            continue
        for suspect in cases_and_lineup(exercise.name, 0)[1].singles:
            verdict = judge_function(exercise, who_does(exercise, suspect.ways))
            if verdict.mistakes and not verdict.shown.answer.error_type:
                seen.setdefault((exercise.name, suspect.ids[0]), verdict)
    return [pytest.param(verdict, id="-".join(key)) for key, verdict in seen.items()]


VERDICTS = worst_of_each_mistake()


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_message_has_a_number_of_the_students_own_and_asks_one_thing(verdict):
    message = outcome(verdict).message
    own = {number(x) for x in np.ravel(verdict.shown.value)} | {str(verdict.shown.value.shape)}
    assert any(one in message for one in own)
    assert message.endswith("?")
    assert "{" not in message and "  " not in message


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_message_gives_neither_the_line_nor_the_numbers_away(verdict):
    one = outcome(verdict)
    said = "\n".join([one.message, *one.hints])
    assert not GIVEAWAYS.search(said.replace("-infinity", "")), GIVEAWAYS.search(said)
    shown = verdict.shown
    own = {number(x) for x in np.ravel(shown.value)}
    secret = {number(x) for x in np.ravel(shown.right) if np.isfinite(x) and x % 1} - own
    assert not secret & set(re.findall(r"-?\d+\.\d+", one.message))


def test_the_same_answer_gets_the_same_words_twice():
    for exercise in (EXERCISES["attention"], EXERCISES["multi_head_attention"]):
        suspect = cases_and_lineup(exercise.name, 0)[1].pairs[10]
        first, second = (outcome(judge_function(exercise, who_does(exercise, suspect.ways))) for _ in range(2))
        cases_and_lineup.cache_clear()
        third = outcome(judge_function(exercise, who_does(exercise, suspect.ways)))
        assert first.message == second.message == third.message


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_says_what_was_seen_and_asks_one_question(mistake):
    assert mistake.sentence.endswith("?")
    assert mistake.sentence.count("?") == 1
    assert 10 <= len(mistake.sentence.split()) <= 60
    assert not GIVEAWAYS.search(mistake.sentence)


@pytest.mark.parametrize(("key", "sentence"), IN_ITS_PLACE.items(), ids=lambda value: "-".join(value))
def test_each_sentence_in_place_of_another_asks_one_question_too(key, sentence):
    id, kind = key
    assert id in MISTAKES and kind in {e.name for e in EXERCISES.values()} | {e.answer for e in EXERCISES.values()}
    assert sentence.endswith("?") and sentence.count("?") == 1
    assert not GIVEAWAYS.search(sentence)
    assert {name for _, name, _, _ in Formatter().parse(sentence) if name} <= {*FIELDS, "its_total"}


FIELDS = {*SIZES, "n_heads", "row", "row_total", "column", "first_column_total", "top", "bottom", "bad_row", "entry"}
FIELDS |= {"where", "leak", "leak_query", "leak_key", "altered", "printed"}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_each_number_that_a_mistake_speaks_of_is_one_that_can_be_filled_in(mistake):
    """A part with an unknown one would fall away without a word."""
    assert {name for _, name, _, _ in Formatter().parse(mistake.sentence) if name} <= FIELDS


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_has_a_hint_on_its_step_and_a_section_to_read(mistake):
    assert (mistake.look_at or mistake.step) in HELP
    assert "note" in HELP[mistake.step].read.lower() or mistake.step == "conduct"


SLIPS = [pytest.param(e, *slip, id=f"{e.name}-{n}") for e in EXERCISES.values() for n, slip in enumerate(e.slips)]


def sentence_of(said):
    return said[0].upper() + said[1:] + ("" if said.endswith("?") else ".")


@pytest.mark.parametrize(("exercise", "slip", "said"), SLIPS)
def test_a_frequent_wrong_answer_that_no_step_explains_is_told_in_words_of_its_own(exercise, slip, said):
    one = outcome(judge_table(exercise, np.asarray(slip).tolist(), {}, {}))
    assert one.status == "failed" and one.mistakes == ()
    last = one.message.split("\n")[-1]
    assert last == sentence_of(said) and last[-2] not in ".?"
    right = np.asarray(exercise.given({}).get("fact", ""))
    if right.ndim == 0 and right.dtype.kind in "if":
        assert number(right) not in re.findall(r"[\w.]*\w", last)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0,8", "Your table holds text, '0,8': numbers stand without quotation marks, and with a point: 0.8."),
        (" -.5 ", "Your table holds text, ' -.5 ': numbers stand without quotation marks."),
        (["0,5", "x"], "at entry 1, '0,5': numbers stand without quotation marks, and with a point: 0.5."),
        ("eighty", "Your table is text, 'eighty', and not numbers alone."),
    ],
)
def test_a_number_in_quotation_marks_is_told_how_numbers_are_written(value, said):
    assert said in outcome(judge_table(EXERCISES["padded_loss"], value, {}, {})).message


def test_a_secret_in_a_message_would_be_seen():
    assert GIVEAWAYS.search("Divide by np.sqrt(d_k).")
    assert GIVEAWAYS.search("Use axis=-1 here.")


def test_a_case_that_no_mistake_explains_is_shown_small_with_what_broke():
    exercise = EXERCISES["attention"]
    right = who_does(exercise, ())

    def ask(args):
        answer = right(args)
        object.__setattr__(answer, "value", answer.value + 0.25)
        return answer

    message = repr(outcome(judge_function(exercise, ask)))
    assert "lies outside the range of the values" in message
    assert "The smallest input that shows it: Q = [[0]], K = [[0]], V = [[0]]" in message


def test_the_smallest_input_shows_the_mistake_that_needs_its_size():
    """An answer that is only wrong with three keys or more is shown with three keys."""
    exercise = EXERCISES["softmax"]

    def ask(args):
        from labkit.exercise import Answer

        value = answer_of(exercise, {"weights": np.exp(args["scores"].astype(float))})
        value = value / value.sum(axis=-1, keepdims=True)
        if value.shape[1] >= 3:
            value[:, 0] += 0.125
        return Answer(value=value)

    message = repr(outcome(judge_function(exercise, ask)))
    assert "scores = [[0, 0, 0]]" in message
    assert "adds to 1.12" in message
