"""The Census table."""

from dpproxy.anonymize.model import LatticeDomain, Role
from examples.thesis.census import FOUR, NAMES, census, declared


def test_the_table_and_what_is_declared_of_it():
    assert census().shape == (1080, len(NAMES))
    rows = census(FOUR)
    fica = declared(rows, FOUR, [Role.QUASI] * 4)[0]
    assert fica.name == "fica"
    assert fica.domain == LatticeDomain(0, -(-3 * int(rows[:, 0].max()) // 2))
