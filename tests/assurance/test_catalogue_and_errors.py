"""Attack: read the data's size, columns or values out of the catalogue, or out of an error text.

The catalogue is built from the policy. What is hidden, undeclared, not granted or missing is told apart by nobody,
and no text quotes a value.
"""

import re

import pytest

from tests.assurance.raw import Raw
from tests.assurance.twin import Ask, Twin, refusals, texts
from tests.proxies import Proxy

CATALOGUE = (
    "SELECT relname, relkind, reltuples, relpages FROM pg_class ORDER BY 1",
    "SELECT * FROM pg_stats",
    "SELECT * FROM pg_stat_user_tables",
    "SELECT * FROM pg_statistic",
    "SELECT attname, atttypid, attnum FROM pg_attribute WHERE attrelid = 'people'::regclass ORDER BY attnum",
    "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, 2",
    "SELECT table_name FROM information_schema.tables ORDER BY 1",
    "SELECT pg_relation_size('people'), pg_total_relation_size('people'), pg_table_size('visits')",
    "SELECT pg_database_size('main')",
    "SELECT to_regclass('salaries'), to_regclass('undeclared'), to_regclass('nothing')",
    "SELECT 'salaries'::regclass",
    "SELECT 'nothing'::regclass",
    "SELECT pg_get_viewdef('people'::regclass)",
    "SELECT has_table_privilege('salaries', 'SELECT')",
    "SELECT * FROM pg_stat_activity",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_columns()",
    "SELECT * FROM pragma_storage_info('people')",
    "SELECT estimated_size FROM duckdb_tables",
    "SELECT * FROM pg_locks",
    "SELECT * FROM sqlite_master",
    "SHOW TABLES",
    "DESCRIBE people",
    "SUMMARIZE people",
    "PRAGMA table_info('people')",
    "CALL pragma_database_size()",
    "EXPLAIN ANALYZE SELECT count(*) FROM people",
    "EXPLAIN SELECT count(*) FROM people",
    "EXPLAIN (PRIVACY) SELECT town, count(*), sum(income) FROM people GROUP BY town",
    "EXPLAIN (PRIVACY, FORMAT JSON) SELECT ward, avg(cost) FROM visits GROUP BY ward",
    "EXPLAIN (PRIVACY) SELECT count(*) FROM salaries",
    "SELECT * FROM dp.budgets",
    "SHOW PRIVACY BUDGETS",
    "SHOW PRIVACY POLICY FOR people",
    "ANALYZE people",
    "VACUUM people",
    "COPY people TO STDOUT",
    "COPY (SELECT age FROM people) TO STDOUT",
    "DECLARE c CURSOR FOR SELECT * FROM people",
    "PREPARE p AS SELECT * FROM people",
    "INSERT INTO people SELECT * FROM people",
    "CREATE TABLE copy AS SELECT * FROM people",
    "CREATE VIEW copy AS SELECT * FROM people",
    "DELETE FROM people WHERE id = 7",
    "ATTACH 'other.duckdb'",
    "INSTALL httpfs",
    "SET threads = 8",
    "SET dp.seed = 1",
    "SET dp.noise = off",
    "SELECT setseed(0.5)",
    "SELECT current_setting('dp.budget_remaining')",
    "SELECT count(*) FROM people; SELECT count(*) FROM visits",
    'SELECT count(*) FROM "PEOPLE"',
    "SELECT count(*) FROM temp.people",
    "SELECT count(*) FROM pg_catalog.people",
    "SELECT rowid FROM people",
    "SELECT count(rowid) FROM people",
    "SELECT people FROM people",
    "SELECT count(people.*) FROM people",
    "SELECT $$unterminated",
    "SELECT 'unterminated",
    "SELEC count(*) FROM people",
)


@pytest.mark.parametrize("sql", CATALOGUE)
def test_the_catalogue_and_what_is_refused(proxies: tuple[Proxy, Proxy], sql: str):
    with Twin(
        *proxies, user="bob"
    ) as twin:  # who has paid for nothing: plans tell errors by what one has paid for
        found = twin.same(Ask(sql, exact=True), Ask("SHOW dp.budget_remaining", exact=True))
    told = repr(found)
    assert "hers" not in told.replace(sql, "")
    assert "2147483647" not in told
    if "salaries" not in sql:
        assert "salaries" not in told
    if "undeclared" not in sql:
        assert "undeclared" not in told


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM {}",
        "SELECT amount FROM {}",
        "SELECT avg(amount) FROM {} GROUP BY x",
        "EXPLAIN (PRIVACY) SELECT count(*) FROM {}",
        "SELECT count(*) FROM public.{}",
        "SELECT '{}'::regclass",
        "SELECT to_regclass('{}')",
        "DECLARE c CURSOR FOR SELECT count(*) FROM {}",
        "SELECT count(*) FROM pg_class WHERE relname = '{}'",
        "SELECT count(*) FROM information_schema.columns WHERE table_name = '{}'",
        "SELECT has_table_privilege('{}', 'SELECT')",
        "SHOW PRIVACY POLICY FOR {}",
    ],
)
@pytest.mark.parametrize("hidden", ["salaries", "undeclared", "visits"])
def test_hidden_undeclared_and_not_granted_are_told_like_missing(
    proxies: tuple[Proxy, Proxy], sql: str, hidden: str
):
    missing = "x" * len(hidden)
    with Raw(proxies[1], "eve") as eve:
        there = [(m.kind, m.body) for m in eve.query(sql.format(hidden))]
        away = [
            (m.kind, m.body.replace(missing.encode(), hidden.encode()))
            for m in eve.query(sql.format(missing))
        ]
    assert there == away


@pytest.mark.parametrize("column", ["secret", "huge"])
def test_an_undeclared_column_is_told_like_a_missing_one(twin: Twin, column: str):
    missing = "x" * len(column)
    for sql in ("SELECT count({}) FROM people", "SELECT {}, count(*) FROM people GROUP BY {}"):
        there = twin.same(sql.replace("{}", column))
        away = twin.same(sql.replace("{}", missing))
        assert refusals(there) == refusals(away) == ["42703"]
        told = re.sub(r"Did you mean \w+\? ", "", texts(there))  # a name that is shown, by its spelling
        assert told.replace(column, missing) == texts(away)


def test_a_wrong_statement_is_described_alike(twin: Twin):
    for sql in ("SELECT sum(income) FROM people WHERE id = $1", "SELECT nothing FROM people", "SELECT $1"):
        told = [[(m.kind, m.body) for m in side.extended(sql, run=False)] for side in twin.sides.values()]
        assert told[0] == told[1]
