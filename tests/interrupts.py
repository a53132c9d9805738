"""Ctrl-C, also where the tests themselves were started in the background, which leaves it ignored."""

import signal


def heed_interrupts() -> None:
    """For a process that is about to be started."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
