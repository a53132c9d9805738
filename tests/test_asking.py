"""A student's function is asked, and stopped if it computes for too long, or waits for much longer."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from labkit.asking import ask, stop_at_line

TIMERS = {signal.SIGALRM: signal.ITIMER_REAL, signal.SIGPROF: signal.ITIMER_PROF}


def compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return 1.0


def left_behind():
    """What is still armed, and who hears of it."""
    armed = [timer for timer in TIMERS.values() if signal.getitimer(timer) != (0, 0)]
    heard = [one for one in TIMERS if signal.getsignal(one) != signal.SIG_DFL]
    return armed, heard, sys.gettrace()


@pytest.mark.parametrize(
    ("does", "took_too_long"), [(compute, False), (time.sleep, False), (lambda s: compute(10 * s), True)]
)
def test_only_computing_counts_as_long_as_somebody_has_patience(does, took_too_long):
    assert ask(does, {"seconds": 0.2}, seconds=0.5, patience=20).timed_out == took_too_long


def test_waiting_for_the_whole_of_somebodys_patience_is_stopped():
    start = time.monotonic()
    assert ask(time.sleep, {"seconds": 60}, seconds=0.1, patience=3).timed_out
    assert 0.3 <= time.monotonic() - start < 2


def test_an_alarm_that_comes_while_the_clock_is_put_away_leaves_nothing_behind(monkeypatch):
    set_timer, earlier = signal.setitimer, left_behind()

    def set_timer_late(timer, seconds, *again):
        if not seconds:
            signal.raise_signal(signal.SIGALRM)
        return set_timer(timer, seconds, *again)

    monkeypatch.setattr(signal, "setitimer", set_timer_late)
    assert ask(lambda: 1.0, {}).value == 1
    assert ask(time.sleep, {"seconds": 9}, seconds=0.05).timed_out
    assert left_behind() == earlier


def test_a_handler_and_a_tracer_of_somebody_elses_are_there_again():
    def hears(*_):
        raise AssertionError("an alarm came late")

    def traces(*_):
        return None

    earlier, tracing = signal.signal(signal.SIGALRM, hears), sys.gettrace()
    sys.settrace(traces)
    try:
        assert ask(time.sleep, {"seconds": 9}, seconds=0.1).timed_out
        assert signal.getsignal(signal.SIGALRM) is hears and sys.gettrace() is traces
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGALRM, earlier)


IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
shell = InteractiveShell.instance()
publisher = shell.display_pub
from labkit import check
def softmax(scores):
    display("in a box")
print(check(softmax).mistakes, shell.display_pub is publisher)
display("afterwards")
"""


def test_to_display_is_to_print():
    ran = subprocess.run([sys.executable, "-c", IN_IPYTHON], check=True, capture_output=True, text=True)
    assert ran.stdout == "('prints_instead_of_returning',) True\n'afterwards'\n"


def test_in_another_thread_a_function_is_asked_without_a_limit():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(compute, {"seconds": 0.2}, seconds=0.01)))
    thread.start()
    thread.join()
    assert (answers[0].error_type, answers[0].timed_out) == ("", False)


def test_only_students_lines_are_stopped():
    """What else may run in between, such as the garbage collector's callbacks, goes on."""
    of_a_package = {"sys": sys}
    exec(compile("frame = sys._getframe()", "site-packages/callbacks.py", "exec"), of_a_package)
    assert stop_at_line(sys._getframe(), "call", None) is stop_at_line
    assert stop_at_line(of_a_package["frame"], "call", None) is None
