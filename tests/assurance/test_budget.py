"""Attack: learn more than was paid for.

Exhaust the budget and see where it ends, roll back, describe instead of running, ask again: the two sides refuse at
the same statement with the same words, nothing is given back, and what costs nothing tells nothing new.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assurance.people import write_twin
from tests.assurance.raw import Raw
from tests.assurance.twin import Ask, Twin, refusals, rows, texts
from tests.proxies import Proxy, serving

LEFT = Ask("SHOW dp.budget_remaining", exact=True)
COST = Ask("SHOW dp.last_cost", exact=True)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[tuple[Proxy, Proxy]]:
    with (
        serving(write_twin(tmp_path / "without", with_her=False, limit=2, ceiling=3)) as left,
        serving(write_twin(tmp_path / "with", with_her=True, limit=2, ceiling=3)) as right,
    ):
        yield left, right


def value(found: list[tuple[object, ...]]) -> str:
    (last,) = rows(found)[-1]
    assert isinstance(last, bytes)
    return last.decode()


def test_both_refuse_at_the_same_statement(fresh: tuple[Proxy, Proxy]):
    with Twin(*fresh) as twin:
        script = [f"SELECT count(*) FROM people WHERE age > {n} AND id = 7" for n in range(25)]
        found = twin.charged(*script)
        assert refusals(found) == ["PD001"] * 5
        assert value(twin.same(LEFT)) == "0"
        assert "0 epsilon left" in texts(found)
        assert (
            refusals(twin.charged("SELECT count(*) FROM visits", "SELECT avg(age) FROM people"))
            == ["PD001"] * 2
        )
        assert (
            refusals(twin.charged(script[0], "SELECT count(*) AS n FROM people WHERE id = 7 AND age > 0"))
            == []
        )


def test_the_last_statement_does_not_half_pay(fresh: tuple[Proxy, Proxy]):
    with Twin(*fresh) as twin:
        twin.charged("SET dp.epsilon = 0.9", "SELECT count(*) FROM people", "SELECT count(*) FROM visits")
        found = twin.charged("SET dp.epsilon = 0.3", "SELECT avg(age) FROM people")
        assert refusals(found) == ["PD001"]
        assert value(twin.same(LEFT)) == "0.2"
        assert refusals(twin.charged("SET dp.epsilon = 0.2", "SELECT avg(age) FROM people")) == []
        assert value(twin.same(LEFT)) == "0"


def test_nothing_is_given_back(fresh: tuple[Proxy, Proxy]):
    ends = (
        ["ROLLBACK"],
        ["COMMIT"],
        ["SELECT nothing FROM people", "ROLLBACK"],
        ["SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK"],
    )
    with Twin(*fresh) as twin:
        for number, end in enumerate(ends):
            twin.charged("BEGIN", f"SELECT count(*) FROM people WHERE age > {number}", *end)
        assert value(twin.same(LEFT)) == "1.6"
        twin.charged(
            "BEGIN",
            "SAVEPOINT s",
            "SELECT count(*) FROM people WHERE age > 9",
            "ROLLBACK TO SAVEPOINT s",
            "COMMIT",
        )
        assert value(twin.same(LEFT)) == "1.5"


def test_what_is_described_or_refused_costs_nothing(fresh: tuple[Proxy, Proxy]):
    with Raw(fresh[1]) as connection:
        before = connection.value(LEFT.sql)
        for _ in range(1000):
            connection.extended("SELECT town, sum(income) FROM people WHERE id = $1 GROUP BY town", run=False)
        for sql in (
            "SELECT count(*) FROM people LIMIT 0",
            "SELECT DISTINCT town FROM people",
            "SELECT sum(big * big) FROM people",
            "EXPLAIN (PRIVACY) SELECT count(*) FROM people",
        ):
            connection.query(sql)
        assert connection.value(LEFT.sql) == before
        assert connection.value("SELECT count(*) FROM dp.ledger") == "0"


def test_a_replay_is_the_same_draw(fresh: tuple[Proxy, Proxy]):
    with Raw(fresh[1]) as first, Raw(fresh[1]) as second, Raw(fresh[1], "bob") as bob:
        told = first.value("SELECT count(*) FROM people WHERE id = 7")
        left = first.value(LEFT.sql)
        assert {first.value("SELECT count(*) FROM people WHERE id = 7") for _ in range(50)} == {told}
        assert second.value("SELECT count(*) FROM people p WHERE (p.id) = 7") == told
        assert first.value(LEFT.sql) == left
        assert bob.value("SELECT count(*) FROM people WHERE id = 7") == told


def test_epsilons_that_are_none(twin: Twin):
    for epsilon in (
        "0",
        "-1",
        "NaN",
        "Infinity",
        "1e308",
        "1e-300",
        "0.0000000001",
        "1.0000000001",
        "2",
        "''",
        "0x1",
    ):
        found = twin.charged(
            f"SET dp.epsilon = '{epsilon}'", "SELECT count(*) FROM people WHERE age = 1", "RESET dp.epsilon"
        )
        assert refusals(found)[0] == "22023", epsilon


def test_a_session_may_only_lower_its_own_limit(twin: Twin):
    found = twin.charged(
        "SET dp.session_epsilon = 0.1",
        "SELECT count(*) FROM people WHERE age = 2",
        "SELECT count(*) FROM people WHERE age = 3",
        "SET dp.session_epsilon = 100",
        "RESET dp.session_epsilon",
    )
    assert "PD001" in refusals(found)


def test_nobody_has_somebody_else_pay_more_than_they_asked_for(fresh: tuple[Proxy, Proxy]):
    """A question drawn at a large epsilon before somebody asks it at a small one, whose budget allows 0.4 at most."""
    sql = "SELECT count(*) FROM people WHERE age > 30"
    with Raw(fresh[1]) as ann, Raw(fresh[1], "eve") as eve:
        ann.query("SET dp.epsilon = 1")
        dearer = ann.value(sql)
        eve.query("SET dp.epsilon = 0.1")
        assert eve.value(sql)
        assert eve.value(COST.sql) == "0.1"
        assert eve.value(LEFT.sql) == "0.9"
        assert ann.value(sql) == dearer
        assert ann.value(COST.sql) == "0"
