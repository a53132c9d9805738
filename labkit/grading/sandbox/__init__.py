"""Run a student's notebook where it can do no harm, and ask its functions from outside.

Four processes stand in a row. The *host* (``host``) is the grader: it holds references, seeds and scores. It starts
the *server* (``server``) by exec, which therefore has never seen any of them. The server forks *keepers*, and a keeper
forks a *guest* (``guest``) for one submission after the other, and ends it. A guest is confined (``confine``,
``calls``), runs the notebook's cells once, and then answers what its functions are asked; where it dies of a question,
the next one goes on. Between host and guest go frames of JSON and raw numbers (``wire``), never a pickle.
"""
