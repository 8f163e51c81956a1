"""When an outcome may be seen: at an instant that is computed before the work, or at twice, four times ... its time.

What leaves tells between which two of these instants the work ended, and no more.
"""


def instant(elapsed: float, deadline: float) -> float:
    """Seconds after its start at which an outcome is seen, that was there after ``elapsed`` seconds.

    A deadline of 0 hides nothing.

    >>> instant(0.003, 0.01), instant(0.03, 0.01), instant(0.03, 0)
    (0.01, 0.04, 0.03)
    """
    if deadline <= 0:
        return elapsed
    while deadline < elapsed:
        deadline *= 2
    return deadline
