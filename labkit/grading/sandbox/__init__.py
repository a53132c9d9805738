"""Run a student's notebook where it can do no harm, and ask its functions from outside.

Three processes stand in a row. The *host* (``host``) is the grader: it holds references, seeds and scores. It starts
the *server* (``server``) by exec, which therefore has never seen any of them, and which forks a *guest* (``guest``)
for each submission. A guest is confined (``confine``), runs the notebook's cells once, and forks again for each
exercise. Between them go frames of JSON and raw numbers (``wire``), never a pickle.
"""
