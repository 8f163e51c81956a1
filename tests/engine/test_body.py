"""What the engine found of a statement, and the present that it is run with."""

from datetime import UTC, datetime

from dpproxy.config.settings import DEFAULTS, PRESENT, moments
from dpproxy.engine.body import Body

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_a_statement_of_the_present_is_never_run_without_it():
    body = Body("ask", present=True)
    given = {**DEFAULTS, PRESENT: moments(NOON, NOON)}
    assert body.timed(given) is given
    first, second = (body.timed(DEFAULTS)[PRESENT] for _ in range(2))
    assert first < second


def test_others_are_run_as_they_are():
    assert Body("ask").timed(DEFAULTS) is DEFAULTS
