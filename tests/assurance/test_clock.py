"""Times of two twins: alike where deadlines hide the work, and told apart where nothing does."""

from collections.abc import Iterator

import duckdb
import pytest

from dpproxy.assurance.clock import LEAST, PADDING, RUNS, Clock, timed, told_apart
from dpproxy.assurance.homes import AUDITOR, Twins, twins
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.suite import Trial
from tests.assurance.made_up import policy, schema, world


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    folder = tmp_path_factory.mktemp("timed")
    public = folder / "public.duckdb"
    with duckdb.connect(str(public)) as connection:
        connection.execute("CREATE TABLE wards (ward VARCHAR NOT NULL, beds INTEGER)")
        connection.executemany("INSERT INTO wards VALUES (?, ?)", world().rows["wards"])
    with twins(folder, policy(), schema(), public, padding=PADDING) as found:
        kept = tuple(t for t in found.targets if t.table == "stays")
        yield Twins(found.addresses, found.password, kept)


def test_every_timed_statement_is_asked_and_tells_nothing(pair: Twins):
    """False alarm: once in two million for each of eight statements; asked anew, below 1e-10."""
    several = (list(timed(pair, lambda _: None)) for _ in range(2))
    found = next((one for one in several if all(line.kept for line in one)), [])
    assert len(found) == 8
    assert sum("with" in one.found for one in found) >= 6  # answered, not refused


def test_no_answer_is_given_twice(pair: Twins):
    with pair.connected(AUDITOR) as sides:
        clock = Clock(sides)
        before = float(sides[0].value("SHOW dp.budget_remaining"))
        one, other = clock.seconds("SELECT count(*) FROM stays WHERE cost > 7", 4)
        assert (len(one), len(other)) == (4, 4)
        middle = float(sides[0].value("SHOW dp.budget_remaining"))
        assert before - middle >= 4 * 0.5
        planted = Attack("planted", "", Outcome.PROMISED, (), timed=True)
        clock.found(Trial(planted, pair.targets[0], "SELECT count(*) FROM stays WHERE cost > 8"))
        assert middle - float(sides[0].value("SHOW dp.budget_remaining")) >= (RUNS + 1) * 0.5


def test_a_refusal_has_to_be_the_same_on_both_sides(pair: Twins):
    planted = Attack("planted", "", Outcome.PROMISED, (), timed=True)
    with pair.connected(AUDITOR) as sides:
        found = Clock(sides).found(Trial(planted, pair.targets[0], "SELECT nothing FROM stays"))
    assert (found.kept, found.found) == (True, "refused (42703)")


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ([0.1] * RUNS, [0.1 + 2 * LEAST] * RUNS, True),
        ([0.1 + 2 * LEAST] * RUNS, [0.1] * RUNS, True),
        ([0.1] * RUNS, [0.1 + LEAST / 2] * RUNS, False),
        ([0.1, 0.1, 0.3], [0.2, 0.2, 0.2], False),
    ],
)
def test_sides_are_told_apart_by_all_of_their_times(one: list[float], other: list[float], *, apart: bool):
    assert told_apart(one, other) is apart
