"""Mistakes of conduct: the numbers may be right, but the function doesn't behave."""

from ..exercise import mistake


@mistake("conduct", spoils="answer", remark=True)
def changes_its_input(answer):
    """Your function altered an array that it was given ({altered}), so that the caller's numbers are gone.
    Which line writes into an argument, and what could it write into?"""


@mistake("conduct", spoils="answer")
def prints_instead_of_returning(answer):
    """Your function gave back nothing, but it printed {printed} characters.
    What is the difference between showing a result and handing it over?"""
