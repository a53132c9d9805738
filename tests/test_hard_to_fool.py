"""What was tried to fool the checks, to hang them, to break them for later, or to get the answer out of them."""

import gc
import signal
import time
import tracemalloc

import numpy as np
import pytest

from labkit import check, fresh_numbers, notebook, student
from labkit.asking import MOST_PRINTED, ask
from labkit.judge import cases_and_lineup
from labkit.notebook import Session


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(notebook, "SESSION", Session())


def right(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def weights_of(me):
    return right(me.Q @ me.K.T / np.sqrt(3))


def test_a_check_inside_the_function_that_it_checks_is_an_error_of_the_students():
    def softmax(scores):
        check(softmax)
        return right(scores)

    outcome = check(softmax)
    assert outcome.status == "crashed" and "Move the call out of the function" in outcome.message
    assert check(right, exercise="softmax").passed


def test_numpy_patched_by_an_answer_does_not_spoil_later_checks(monkeypatch):
    cases_and_lineup.cache_clear()  # as in a kernel that has just started

    def softmax(scores):
        monkeypatch.setattr(np, "exp", lambda x: x)
        return scores

    assert not check(softmax).passed
    monkeypatch.undo()
    monkeypatch.setattr(notebook, "SESSION", Session())
    assert check(right, exercise="softmax").passed
    cases_and_lineup.cache_clear()  # suspects were worked out with the patched NumPy


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda s: np.nan_to_num(np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)), id="nan turned to 0"),
        pytest.param(lambda s: right(np.clip(s, -5, 5)), id="clipped"),
        pytest.param(lambda s: right(np.maximum(s, -50)), id="cut below"),
        pytest.param(lambda s: right(s)[:, :10], id="ten columns"),
        pytest.param(lambda s: (s == s.max(axis=1, keepdims=True)) * 1.0 if (s > 100).any() else right(s), id="winner"),
    ],
)
def test_a_softmax_that_is_only_nearly_right_is_refused(wrong):
    assert not check(wrong, exercise="softmax").passed


@pytest.mark.parametrize("bound", [5, 10, 20])
def test_scores_that_are_clipped_are_noticed(bound):
    def attention(Q, K, V, mask=None):
        scores = np.clip(Q @ K.T / np.sqrt(Q.shape[1]), -bound, bound)
        return right(scores if mask is None else np.where(mask, scores, -np.inf)) @ V

    assert not check(attention).passed


def test_holes_in_a_mask_count():
    def masked_softmax(scores, mask):
        mask = np.array(mask)
        for row in mask:
            if not row.any():
                raise ValueError("no key")
            allowed = np.flatnonzero(row)
            row[allowed[0] : allowed[-1] + 1] = True
        return right(np.where(mask, scores, -np.inf))

    assert not check(masked_softmax).passed


def test_a_function_that_always_raises_earns_nothing_for_the_row_that_it_should_refuse():
    def masked_softmax(scores, mask):
        raise ValueError("no")

    assert check(masked_softmax).points == 0


def test_a_bare_except_cannot_swallow_the_time_limit(monkeypatch):
    monkeypatch.setattr(notebook, "SECONDS", 0.3)

    def softmax(scores):
        while True:
            try:  # noqa: SIM105
                sum(i * i for i in range(1000))
            except:  # noqa: E722, SIM105
                pass

    start = time.perf_counter()
    assert check(softmax).status == "timed_out"
    assert time.perf_counter() - start < 10


def two_loops_by_turns(scores):
    while True:
        try:
            while True:
                try:  # noqa: SIM105
                    sum(range(10**6))
                except:  # noqa: E722
                    pass
        except:  # noqa: E722
            pass


def a_helper_by_turns(scores):
    def helper():
        while True:
            try:
                time.sleep(1)
            except BaseException:
                continue

    while True:
        try:
            helper()
        except BaseException:
            continue


@pytest.mark.parametrize("function", [two_loops_by_turns, a_helper_by_turns])
def test_loops_that_swallow_the_time_limit_by_turns_end_too(function, monkeypatch):
    monkeypatch.setattr(notebook, "SECONDS", 0.3)
    alarms = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)
    assert check(function, exercise="softmax").status == "timed_out"
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)) == alarms
    assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_PROF) == (0, 0)


@pytest.mark.parametrize(
    "answer",
    [
        lambda s: [right(s), s[:, :1]],
        lambda s: (right(s), s),
        lambda s: ...,
        lambda s: "0.5",
        lambda s: [["0.5"]],
        lambda s: {1: 2},
        lambda s: (row for row in right(s)),
        lambda s: right(s) * 1j,
        lambda s: np.full(s.shape, np.nan),
        lambda s: np.zeros((300, 300, 30)),
        lambda s: [1, [2, 3]],
        lambda s: object(),
    ],
)
def test_whatever_comes_back_is_told_in_words(answer):
    outcome = check(answer, exercise="softmax")
    assert outcome.status in ("failed", "unattempted") and outcome.points == 0
    assert 0 < len(outcome.message) < 1000


def never(*_, **__):
    while True:
        pass


def leave(*_, **__):
    raise SystemExit


def with_method(name, does):
    """An object one of whose methods never ends, or leaves Python."""
    kind = type("Odd", (Exception,), {name: does})
    return kind()


READERS = ["__array__", "__float__", "detach", "__len__", "__class__", "shape", "__str__"]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("does", [never, leave])
def test_a_value_that_misbehaves_when_it_is_read_is_one_more_wrong_answer(monkeypatch, name, does):
    monkeypatch.setattr(notebook, "SECONDS", 0.2)
    odd = with_method(name, property(does) if name in ("shape", "__class__") else does)

    def raises(scores):
        raise odd

    start = time.perf_counter()
    for function in (lambda scores: odd, lambda scores: [[odd]], lambda scores: (odd, odd), raises):
        assert check(function, exercise="softmax").status in ("failed", "crashed", "timed_out")
    assert check(notes_scores=[[odd, 1], [2, 3]]).status == check(notes_scores=odd).status == "failed"
    assert check(my_ratio=odd).status == "unattempted"
    assert time.perf_counter() - start < 6


@pytest.mark.parametrize(
    "value",
    [
        range(3 * 10**8),
        [[0.5] * 20_000] * 20_000,
        np.broadcast_to(0.5, (20_000, 20_000)),
        (np.broadcast_to(0.5, (20_000, 20_000)),) * 2,
    ],
)
def test_a_value_that_is_far_too_large_takes_neither_time_nor_memory(value):
    tracemalloc.start()
    start = time.perf_counter()
    assert check(lambda scores: value, exercise="softmax").status == "failed"
    assert check(notes_scores=value).status == "failed"
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.perf_counter() - start < 2 and most < 10_000_000


def test_a_table_that_holds_itself_does_not_spoil_the_next_one():
    loop = [1]
    loop.append(loop)
    assert check(notes_scores=loop).status == "failed"
    right_from_the_numbers = right(np.array([[2, 0], [0, 2]]) / np.sqrt(2))
    assert check(notes_weights=right_from_the_numbers.round(2)).passed


class Refuses:
    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


@pytest.mark.parametrize("other", [np.arange(3), Refuses(), None, "2"])
def test_an_argument_may_be_altered_into_anything(other):
    def padding_mask(lengths, n_k):
        mask = np.arange(n_k) < np.array(lengths)[:, None]
        lengths[0] = other
        return mask

    outcome = check(padding_mask)
    assert outcome.passed and outcome.remarks == ("changes_its_input",)


def test_arrays_may_be_written_into_a_list_of_lengths():
    def padding_mask(lengths, n_k):
        for i in range(len(lengths)):
            lengths[i] = np.arange(n_k) < lengths[i]
        return np.array(lengths)

    outcome = check(padding_mask)
    assert outcome.passed and outcome.remarks == ("changes_its_input",)


def test_a_function_that_somebody_waits_for_has_one_limit_for_all_questions(monkeypatch):
    monkeypatch.setattr(notebook, "SECONDS", 0.5)

    def softmax(scores):
        time.sleep(0.2)
        return right(scores)

    start = time.perf_counter()
    assert check(softmax).status == "timed_out"
    assert time.perf_counter() - start < 1


def test_an_object_that_can_be_called_may_have_odd_attributes():
    class Odd:
        __name__ = "softmax"
        __module__ = 5

        def __call__(self, scores):
            return right(scores)

    class Mute:
        def __getattr__(self, name):
            raise RuntimeError

        def __call__(self, scores):
            return right(scores)

    assert check(Odd()).passed and check(Mute(), exercise="softmax").passed


def test_a_function_that_nobody_waits_for_leaves_no_warning(recwarn):
    async def softmax(scores):
        return right(scores)

    assert "gave back a coroutine" in check(softmax).message
    gc.collect()
    assert not list(recwarn)


def test_an_error_that_cannot_say_what_it_is_is_told_all_the_same():
    class Mute(BaseException):
        def __str__(self):
            raise RuntimeError

    def softmax(scores):
        raise Mute

    assert "raised Mute" in check(softmax).message


def test_an_error_text_of_a_million_letters_is_cut():
    def softmax(scores):
        raise ValueError("x" * 1_000_000)

    assert len(check(softmax).message) < 1000


def test_a_hundred_million_printed_characters_take_no_memory():
    line = "x" * 1_000_000

    def softmax(scores):
        for _ in range(100):
            print(line)
        return right(scores)

    tracemalloc.start()
    answer = ask(softmax, {"scores": np.eye(2)})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.value is not None
    assert most < 1_000_000


def test_of_what_is_printed_the_beginning_is_kept_and_the_rest_is_counted():
    def softmax(scores):
        for number in range(10_000):
            print(number)

    kept = ask(softmax, {"scores": np.eye(2)}).printed
    assert kept.startswith("0\n1\n2\n")
    assert kept.endswith("… and 38890 more characters")
    assert len(kept) == MOST_PRINTED + len("… and 38890 more characters")


def test_a_wrong_output_does_not_bring_the_right_weights_in_a_picture():
    me = student("ada")
    weights = weights_of(me)
    outcome = check(hand_output=np.round(weights @ me.V / np.sqrt(3), 2))
    assert outcome.mistakes[0] in ("scales_the_output", "scales_the_weights")
    shown = outcome._repr_html_()
    assert not any(f"{w:.2f}" in shown for w in weights.ravel() if f"{w:.2f}" not in outcome.message)


def test_numbers_handed_out_cannot_be_changed_for_good():
    me = student("ada")
    with pytest.raises(ValueError, match="read-only"):
        me.numbers["Q"][:] = 0
    assert fresh_numbers().Q.any() and student("ada").Q.any()


@pytest.mark.parametrize("slip", [0.01, -0.01])
def test_a_hundredth_too_much_is_called_rounding_and_nothing_else(slip):
    weights = np.round(weights_of(student("ada")), 2)
    weights[0] += slip
    outcome = check(hand_weights=weights)
    assert outcome.mistakes == ()
    assert "rounding" in outcome.message


def test_a_row_that_does_not_add_to_one_is_said():
    weights = np.round(weights_of(student("ada")), 2)
    weights[2] += [0.1, 0.2, 0.05, 0.07]
    assert "row 3 of your weights adds to 1.4" in check(hand_weights=weights).message.lower()


def test_the_root_of_three_may_be_taken_as_1_73():
    me = student("ada")
    assert check(hand_scores=np.round(me.Q @ me.K.T / 1.73, 2)).passed


def test_a_part_checked_later_does_not_take_points_away():
    def attention(Q, K, V, mask=None):
        scores = Q @ K.T / np.sqrt(Q.shape[1])
        return right(scores if mask is None else np.where(mask, scores, -np.inf)) @ V

    assert check(attention).points == 4
    assert check(attention, part="without a mask").points == 2
    assert "4 of 4" in repr(notebook.progress())
