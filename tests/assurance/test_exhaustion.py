"""Statements that cost nothing but would stop the proxy for everybody, or take as long as a row says.

Each is refused while it is planned, from its text and the policy alone. No test here waits: what is refused is
refused before the work, so a missing limit shows as a failure, or as the suite's time limit.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.proxies import started, write_home

DDL = (
    "CREATE TABLE t AS SELECT i % 300 AS x, i % 300 AS y, ['a', 'b'][1 + i % 2] AS k FROM range(500) AS r(i)",
    "CREATE TABLE p AS SELECT CAST(i AS INTEGER) AS n, i % 10 AS tens FROM range(20000) AS r(i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 299;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 299;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
CREATE PRIVACY BUDGET b LIMIT EPSILON 2 DEFAULT EPSILON 0.1;
CREATE PRIVACY BUDGET small LIMIT EPSILON 2 USER LIMIT EPSILON 0.3 MAX EPSILON 0.2 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
ALTER TABLE p SET PRIVACY PUBLIC;
GRANT SELECT ON p TO analyst;
GRANT SELECT ON t TO student WITH PRIVACY BUDGET small;
"""
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
BOB = Caller("bob", frozenset({"student"}), "session of bob")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home: Path = tmp_path_factory.mktemp("home")
    with started(write_home(home, DDL, POLICY)) as found:
        for caller in (ANN, BOB):
            found.open(caller)
        yield found


def ask(engine: Engine, sql: str, caller: Caller = ANN, **settings: str) -> Answer:
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), given), (), given))


LONG = "a" * 2000
GROUPS = "WITH g AS (SELECT x, count(*) AS n FROM t GROUP BY x) "
DOUBLING = ", ".join(f"g{i} AS (SELECT a.n FROM g{i - 1} AS a, g{i - 1} AS b)" for i in range(1, 30))
NESTED = "k"
for _ in range(7):
    NESTED = f"nullif({NESTED}, 'q')"

STATEMENTS = {
    "a number of a billion digits": ("SELECT count(*) FROM t WHERE 1 = 1e999999999", "22003"),
    "a chain of subscripts": (f"SELECT count(*) FROM t WHERE x{'[1]' * 3000} = 1", "54001"),
    "a text to match that is long": (f"SELECT count(*) FROM t WHERE '{LONG}' LIKE '%b'", "54001"),
    "a pattern that is long": (f"SELECT count(*) FROM t WHERE k LIKE '%{'_' * 200}b'", "54001"),
    "a pattern with many wildcards": (f"SELECT count(*) FROM t WHERE k LIKE '{'%a' * 20}'", "54001"),
    "many matches of texts put together": (
        "SELECT count(*) FROM t WHERE "
        + " AND ".join(f"('{'a' * 900}' || '{'b' * 900}') LIKE '%{'_' * 90}{n}%'" for n in range(9)),
        "54001",
    ),
    "operands that double": (
        "SELECT count(*) FROM t WHERE " + " AND ".join([f"{NESTED} = 'a'"] * 60),
        "54001",
    ),
    "a free answer of any size": (
        "SELECT x, y" + "".join(f", '{'c' * 900}{n}'" for n in range(9)) + " FROM t GROUP BY x, y",
        "54001",
    ),
    "many draws": (
        "SELECT x, y" + "".join(f", sum(abs(x - {n}))" for n in range(12)) + " FROM t GROUP BY x, y",
        "54001",
    ),
    "many aggregates": ("SELECT " + ", ".join(f"sum(abs(x - {n}))" for n in range(60)) + " FROM t", "54001"),
    "a join that multiplies": (GROUPS + "SELECT count(*) FROM g a, g b, g c", "54001"),
    "a join that multiplies without being equal": (
        GROUPS + "SELECT count(*) FROM g a JOIN g b ON a.x < b.x JOIN g c ON b.x < c.x",
        "54001",
    ),
    "a join on a column with few values": (
        "SELECT count(*) FROM p a JOIN p b ON a.tens = b.tens JOIN p c ON b.tens = c.tens",
        "54001",
    ),
    "a public join of any size": ("SELECT count(*) FROM p a CROSS JOIN p b", "54001"),
    "a public answer of any size": (
        "SELECT a.n, b.n"
        + "".join(f", '{'c' * 900}{n}'" for n in range(9))
        + " FROM p a JOIN p b ON a.n = b.n ORDER BY 1",
        "54001",
    ),
    "a free join of any size": (
        GROUPS + "SELECT a.x FROM g a, (SELECT n FROM p LIMIT 50000) b, g c",
        "54001",
    ),
    "names of WITH that double": (
        f"WITH g0 AS (SELECT x, count(*) AS n FROM t GROUP BY x), {DOUBLING} SELECT count(*) FROM g29",
        "54001",
    ),
    "subqueries in subqueries": ("SELECT " + "(SELECT " * 140 + "1" + ")" * 140, "54001"),
    "a place with many digits": (f"SELECT x FROM t GROUP BY x ORDER BY {'9' * 5000}", "22003"),
    "a parameter with many digits": (f"SELECT count(*) FROM t WHERE x = ${'9' * 5000}", "22003"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_is_refused_before_it_costs_anything(engine: Engine, name: str):
    sql, sqlstate = STATEMENTS[name]
    with pytest.raises(Refusal) as caught:
        ask(engine, sql)
    assert caught.value.sqlstate == sqlstate
    assert len(caught.value.message) < 200


def test_a_public_answer_of_any_size_is_held_by_nobody(engine: Engine):
    wide = "".join(f", '{'c' * 900}{n}'" for n in range(9))
    stream = ask(engine, f"SELECT a.n, b.n {wide} FROM p a JOIN p b ON a.n = b.n").stream
    assert stream is not None
    first = stream.take(10**9)
    assert 0 < len(first) * 8_100 < 3_000_000
    stream.close()


def test_common_statements_are_far_from_every_limit(engine: Engine):
    long_list = ", ".join(str(n) for n in range(300))
    many = " AND ".join(f"x <> {n}" for n in range(60))
    assert ask(engine, f"SELECT k, count(*) FROM t WHERE x IN ({long_list}) AND {many} GROUP BY k").rows
    assert ask(engine, "SELECT count(*) FROM t WHERE k NOT LIKE '%a_c%' AND k ILIKE 'B%'").rows


def test_joins_on_keys_are_far_from_every_limit(engine: Engine):
    joins = " ".join(f"JOIN g AS g{i} ON g{i}.x = g0.x" for i in range(1, 20))
    assert ask(
        engine, f"{GROUPS} SELECT g0.x, sum(g1.n) OVER (ORDER BY g0.x) FROM g AS g0 {joins} LIMIT 3"
    ).rows
    assert ask(engine, "SELECT a.tens, count(*) FROM p a JOIN p b ON a.n = b.n GROUP BY a.tens").rows
    assert ask(engine, f"{GROUPS} SELECT count(*) FROM g JOIN p ON p.n = g.x").rows


def test_what_somebody_else_paid_dearly_does_not_keep_a_cheaper_question_from_being_asked(engine: Engine):
    sql = "SELECT count(*) FROM t WHERE x > 17"
    ask(engine, sql, epsilon="0.5")
    notice, *_ = ask(engine, sql, BOB, epsilon="0.1").notices
    assert notice.message.startswith("cost 0.1 epsilon")


def test_an_undeclared_column_is_no_key_under_another_name(engine: Engine):
    for hidden in ("secret", "missing"):
        with pytest.raises(Refusal) as caught:
            ask(engine, f"SELECT {hidden}, count(*) FROM t GROUP BY {hidden}")
        assert caught.value.sqlstate == "42703"


def test_the_ledger_shows_nobody_that_others_asked(engine: Engine):
    ask(engine, "SELECT count(*) FROM t WHERE x > 18")
    ask(engine, "SELECT count(*) FROM t WHERE x > 19", BOB)
    numbers = [row[0] for row in ask(engine, "SELECT sequence FROM dp.ledger ORDER BY 1", BOB).rows]
    assert numbers == list(range(1, len(numbers) + 1))
