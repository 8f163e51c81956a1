"""Stored releases over the wire: free for who has paid, in any words, after a restart; dashboards through drivers."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

pytestmark = pytest.mark.external
Connection = psycopg.Connection[tuple[object, ...]]
DDL = (
    "CREATE TABLE t (k VARCHAR, y INTEGER NOT NULL, x INTEGER)",
    "INSERT INTO t SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 5, i % 100 FROM range(1000) r (i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 20;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 4;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET b LIMIT EPSILON 20 USER LIMIT EPSILON 9 DEFAULT EPSILON 1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
FINE = "SELECT k, y, count(*) FROM t GROUP BY k, y"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path, DDL, POLICY)


@pytest.fixture
def proxy(home: Path) -> Iterator[Proxy]:
    with serving(home) as found:
        yield found


def connected(proxy: Proxy, user: str = "ann") -> Connection:
    return psycopg.connect(proxy.dsn(user), autocommit=True)


def asked(connection: Connection, sql: str, *values: object) -> tuple[list[tuple[object, ...]], Decimal]:
    """The rows, and what they cost."""
    rows = connection.execute(sql.encode(), values or None).fetchall()
    [[cost]] = connection.execute("SHOW dp.last_cost").fetchall()
    return rows, Decimal(str(cost) or "0")


def test_the_same_question_is_free_in_any_session_and_any_words(proxy: Proxy):
    with connected(proxy) as first:
        rows, cost = asked(first, f"{FINE} ORDER BY k, y")
        assert cost == 1
    with connected(proxy) as second:
        view = "WITH v AS (SELECT p.y, p.k AS g FROM public.t AS p)"
        again = f"{view} SELECT g, v.y, count(*) FROM v GROUP BY 2, 1 ORDER BY 1, 2"
        assert asked(second, again) == (rows, 0)
        some, cost = asked(second, f"SELECT * FROM ({FINE}) AS s WHERE y > %s ORDER BY k, y", 2)
        assert (some, cost) == ([row for row in rows if int(str(row[1])) > 2], 0)


def test_a_parameter_is_the_constant_that_it_holds(proxy: Proxy):
    with connected(proxy) as ann:
        rows, cost = asked(ann, "SELECT count(*) FROM t WHERE x > 5 AND k = 'a'")
        assert cost == 1
        assert asked(ann, "SELECT count(*) FROM t WHERE k = %s AND %s < x", "a", 5) == (rows, 0)
        assert asked(ann, "SELECT count(*) FROM t WHERE k = %s AND %s < x", "a", 6)[1] == 1


def test_children_add_up_to_their_parents_for_whoever_paid(home: Path):
    with serving(home) as proxy, connected(proxy) as ann:
        rows, _ = asked(ann, FINE)
        parents, cost = asked(ann, "SELECT k, count(*) FROM t WHERE y <> 3 GROUP BY k")
        assert cost == 0
        assert dict(parents) == {
            key: sum(int(str(n)) for k, y, n in rows if k == key and y != 3) for key in ("a", "b")
        }
    with serving(home) as proxy:
        with connected(proxy) as ann:
            assert asked(ann, "SELECT k, count(*) FROM t WHERE NOT 3 = y GROUP BY 1") == (parents, 0)
        with connected(proxy, "bob") as bob, connected(proxy, "root") as root:
            before = root.execute("SHOW PRIVACY BUDGETS").fetchall()
            assert asked(bob, FINE) == (rows, 1)
            after = root.execute("SHOW PRIVACY BUDGETS").fetchall()
            ceilings = [[row for row in told if "ceiling" in str(row).lower()] for told in (before, after)]
            assert ceilings[0] == ceilings[1] != []


def test_an_error_is_asked_for_by_a_setting_or_a_hint(proxy: Proxy):
    with connected(proxy) as ann:
        ann.execute("SET dp.target_error = '20'")
        [[text]], cost = asked(ann, "EXPLAIN (PRIVACY, FORMAT JSON) SELECT count(*) FROM t WHERE x < 50")
        told = json.loads(str(text))
        assert told["columns"][0]["half_width"] <= 20
        assert told["solved"].startswith("dp.target_error = 20: worst half-width")
        _, cost = asked(ann, "SELECT count(*) FROM t WHERE x < 50")
        assert float(cost) == pytest.approx(told["epsilon"])
        ann.execute("SET dp.target_error = off")
        _, cost = asked(ann, "/*+ dp(target_error=200) */ SELECT count(*) FROM t WHERE x < 60")
        assert 0 < float(cost) < told["epsilon"]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            ann.execute("/*+ dp(target_error=0.001) */ SELECT sum(x) FROM t")


DASHBOARD = (
    f"EXPLAIN (PRIVACY, BUDGET 2) ({FINE}; SELECT k, count(*) FROM t GROUP BY k; SELECT sum(x) FROM t)"
)


def test_a_dashboard_is_priced_and_its_proposals_run(proxy: Proxy):
    with connected(proxy) as ann:
        lines = [str(line) for [line] in ann.execute(DASHBOARD.encode()).fetchall()]
        costs = [asked(ann, line.strip())[1] for line in lines if "/*+" in line]
        assert costs[1] == 0
        assert Decimal("1.9") < sum(costs) <= 2


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_does_not_cut_a_dashboard(proxy: Proxy):
    done = subprocess.run(
        ["psql", "-X", "-A", "-t"],
        input=f"{DASHBOARD};\n",
        env=proxy.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Statement 2: free (follows from statement 1)" in done.stdout
    assert not done.stderr
