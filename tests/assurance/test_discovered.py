"""Attack: a key that exists because of her, where nobody declared the keys.

Which groups are shown is drawn from how many people each has. One person's group is shown with probability delta at
most (1e-9 here, so that no run of these tests sees one); groups of many are shown always, with and without her.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.stats import binom

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.values.errors import BudgetExceeded
from tests.assurance.people import write_twin
from tests.assurance.twin import Ask, Twin, refusals, rows, texts
from tests.proxies import Proxy, serving, started, write_home
from udfs.mechanisms.selection import Selection
from udfs.privacy import NANO

PLACES = (
    "CREATE TABLE places (person INTEGER, place VARCHAR, day DATE, kind VARCHAR, n BIGINT)",
    """INSERT INTO places SELECT 1000 + i // 2, ['Port', 'Station'][1 + i % 2], DATE '2024-01-01', 'x', 1
      FROM range(4000) AS r(i)""",
    """INSERT INTO places SELECT 9000 + i, 'home of ' || i, DATE '2024-01-01' + CAST(i AS INTEGER), 'x', 2
      FROM range(50) AS r(i)""",
)
HERS = (
    "INSERT INTO places SELECT 7, 'her house', DATE '1999-09-09', 'y', -9223372036854775808 FROM range(300)",
    "INSERT INTO places VALUES (7, 'Port', DATE 'infinity', NULL, 0), (7, repeat('z', 5000), NULL, 'y', 0)",
    "INSERT INTO places VALUES (7, NULL, NULL, 'x', NULL)",
)
POLICY = """
ALTER TABLE places SET PRIVACY KEY (person) MAX ROWS 4 MAX GROUPS 2;
ALTER TABLE places SET PRIVACY CEILING EPSILON 1000 DELTA 1e-5;
ALTER TABLE places ALTER COLUMN place SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE places ALTER COLUMN day SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE places ALTER COLUMN n SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE places ALTER COLUMN kind SET PRIVACY DOMAIN IN ('x', 'y');
CREATE PRIVACY BUDGET finders LIMIT EPSILON 1000 DELTA 1e-7 MAX EPSILON 1 DEFAULT EPSILON 1;
CREATE PRIVACY BUDGET pure LIMIT EPSILON 1000 DEFAULT EPSILON 1;
GRANT SELECT ON places TO analyst WITH PRIVACY BUDGET finders;
GRANT SELECT ON places TO stranger WITH PRIVACY BUDGET pure;
"""


@pytest.fixture(scope="module")
def finders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    folder = tmp_path_factory.mktemp("discovered")
    left = write_twin(folder / "without", with_her=False, ddl=PLACES, policy=POLICY)
    right = write_twin(folder / "with", with_her=True, ddl=(*PLACES, *HERS), policy=POLICY)
    with serving(left) as without, serving(right) as with_her:
        yield without, with_her


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT place, count(*) FROM places GROUP BY place", [b"Port", b"Station"]),
        ("SELECT DISTINCT place FROM places", [b"Port", b"Station"]),
        ("SELECT place, count(*) FROM places GROUP BY 1 ORDER BY 1 DESC", [b"Station", b"Port"]),
        ("SELECT lower(place), count(*) FROM places GROUP BY 1", [b"port", b"station"]),
        ("SELECT left(place, 1), count(DISTINCT person) FROM places GROUP BY 1", [b"P", b"S"]),
        ("SELECT place, kind, count(*) FROM places GROUP BY 1, 2", [b"Port", b"Station"]),
        ("SELECT day, count(*) FROM places GROUP BY day", [b"2024-01-01"]),
        ("SELECT place, count(*) FROM places WHERE place LIKE 'her%' GROUP BY place", []),
        (
            "SELECT place, count(*) FROM places WHERE place = 'her house' GROUP BY place",
            [b"her house"],
        ),  # she said it
        ("SELECT place, count(*) FROM places WHERE kind = 'y' GROUP BY place", []),
        ("SELECT place, count(*) FROM places GROUP BY ROLLUP (place)", [b"Port", b"Station", None]),
    ],
)
def test_her_own_value_never_shows(finders: tuple[Proxy, Proxy], sql: str, keys: list[bytes | None]):
    with Twin(*finders) as twin:
        found = twin.charged(sql)
    assert [row[0] for row in rows(found)][: len(keys)] == keys
    assert len(rows(found)) == len(keys) + 2  # cost, remaining
    assert refusals(found) == []


@pytest.mark.parametrize("key", ["-n", "abs(n)"])
def test_what_has_no_room_in_64_bits_is_no_key(finders: tuple[Proxy, Proxy], key: str):
    with Twin(*finders) as twin:
        found = twin.charged(f"SELECT {key}, count(*) FROM places GROUP BY 1")
    assert not refusals(found)
    assert len(rows(found)) == 3  # one key, and what the statement cost and left


def test_nothing_told_of_a_plan_or_of_an_account_depends_on_her(finders: tuple[Proxy, Proxy]):
    with Twin(*finders) as twin:
        found = twin.same(
            Ask("EXPLAIN (PRIVACY) SELECT place, count(*) FROM places GROUP BY place", exact=True),
            Ask("SELECT place FROM places GROUP BY place LIMIT 0", exact=True),
            Ask("SELECT kind, count(*) FROM places GROUP BY kind"),
            Ask("SELECT place, sum(length(kind)) FROM places GROUP BY place"),
            Ask("SELECT place, count(*) FROM places GROUP BY place HAVING count(*) > 1999", filtered=True),
            Ask("SELECT place, median(length(place)) FROM places GROUP BY place", exact=True),
            Ask("SELECT delta, epsilon FROM dp.ledger", exact=True),
        )
    assert refusals(found) == ["0A000"]
    assert "cost 1 epsilon and delta 1e-9" in texts(found)


def test_without_a_delta_it_is_refused_alike(finders: tuple[Proxy, Proxy]):
    with Twin(*finders, user="eve") as twin:
        found = twin.charged(
            "SELECT place, count(*) FROM places GROUP BY place",
            "SET dp.delta = '1e-9'",
            "SELECT place, count(*) FROM places GROUP BY place",
        )
    assert refusals(found) == ["PD003", "PD001"]
    assert 'privacy budget "pure" has delta 0 left, the statement asks for 1e-9' in texts(found)


ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
GROUPS = 2_000
SIZES = tuple(range(1, 7))
MANY = 40
SIZED = (
    "CREATE TABLE t (k VARCHAR)",
    f"""INSERT INTO t SELECT n || '-' || i
      FROM range({GROUPS}) AS g(i), range(1, {SIZES[-1] + 1}) AS s(n), range(n) AS r(j)""",
    f"INSERT INTO t SELECT 'many-' || i FROM range({GROUPS}) AS g(i), range({MANY}) AS r(j)",
)
ROWS = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100 DELTA 0.5;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN DISCOVERED;
CREATE PRIVACY BUDGET b LIMIT EPSILON 100 DELTA 0.25;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


def test_groups_are_shown_as_often_as_was_promised(tmp_path: Path):
    """Of 2,000 groups of each size, within 1e-10 of the law: 6 sizes raise 6e-10 false alarms a run."""
    settings = {**DEFAULTS, "dp.epsilon": "1", "dp.delta": "0.1"}
    rule = Selection(1, NANO, Fraction(1, 10))
    assert rule.certain <= MANY
    with started(write_home(tmp_path, SIZED, ROWS)) as engine:
        found = engine.run(
            Request(ANN, engine.prepare(ANN, "SELECT DISTINCT k FROM t", (), settings), (), settings)
        )
        shown = [str(row[0]).split("-")[0] for row in found.rows]
        assert shown.count("many") == GROUPS
        for size in SIZES:
            p = float(rule.keep_probability(size))
            low, high = binom.interval(1 - 1e-10, GROUPS, p)
            assert low <= shown.count(str(size)) <= high, size
        assert [str(row[0]) for row in found.rows] == sorted(str(row[0]) for row in found.rows)
        again = engine.run(
            Request(ANN, engine.prepare(ANN, "SELECT k FROM t GROUP BY k", (), settings), (), settings)
        )
        assert list(again.rows) == list(found.rows)
        for where in ("k <> ''", "k <> 'a'"):
            sql = f"SELECT DISTINCT k FROM t WHERE {where}"
            if where == "k <> 'a'":
                with pytest.raises(
                    BudgetExceeded, match=r"has delta 0\.05 left, the statement asks for 0\.1"
                ):
                    engine.run(Request(ANN, engine.prepare(ANN, sql, (), settings), (), settings))
            else:
                engine.run(Request(ANN, engine.prepare(ANN, sql, (), settings), (), settings))
        assert engine._ledger.verify() == 2
