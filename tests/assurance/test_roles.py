"""Attack: read the other role's tables out of anything that one role can ask.

Two roles, each with tables, a view, a budget and a user of its own. Every relation of the catalogue is read whole; what
is hidden from a role is not in any of them, and asking for it by name is answered as for a name nobody ever used.
"""

from collections.abc import Iterator

import psycopg
import pytest

from dpproxy.pgcatalog.relations import TABLES
from tests.assurance.raw import Raw
from tests.proxies import Proxy, serving, write_home

SIDES = {"user_alpha": "alpha", "user_omega": "omega"}
USERS = {user: [f"role_{side}"] for user, side in SIDES.items()}
DDL = [
    statement
    for side in SIDES.values()
    for statement in (
        f"CREATE TABLE {side}_rows ({side}_id INTEGER PRIMARY KEY, {side}_value INTEGER CHECK ({side}_value > 0))",
        f"INSERT INTO {side}_rows SELECT i, 1 + i % 10 FROM range(100) AS r(i)",
        f"CREATE VIEW {side}_view AS SELECT {side}_id, {side}_value FROM {side}_rows",
        f"CREATE TABLE {side}_more ({side}_id INTEGER REFERENCES {side}_rows ({side}_id), {side}_x INTEGER)",
    )
]
POLICY = "\n".join(
    f"""
ALTER TABLE {side}_rows SET PRIVACY KEY ({side}_id);
ALTER TABLE {side}_rows SET PRIVACY CEILING EPSILON 100;
ALTER TABLE {side}_rows ALTER COLUMN {side}_id SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE {side}_rows ALTER COLUMN {side}_value SET PRIVACY DOMAIN BETWEEN 0 AND 10;
ALTER TABLE {side}_more SET PRIVACY KEY ({side}_id) REFERENCES {side}_rows ({side}_id) MAX ROWS 2;
ALTER TABLE {side}_more ALTER COLUMN {side}_x SET PRIVACY DOMAIN BETWEEN 0 AND 10;
CREATE PRIVACY BUDGET {side}_budget LIMIT EPSILON 50 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON {side}_rows, {side}_more, {side}_view TO role_{side} WITH PRIVACY BUDGET {side}_budget;
"""
    for side in SIDES.values()
)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("roles"), DDL, POLICY, users=USERS)) as found:
        for user, side in SIDES.items():
            with psycopg.connect(found.dsn(user), autocommit=True) as client:
                client.execute(f"SELECT sum({side}_value) FROM {side}_rows")
                client.execute(f"SELECT count(*) FROM {side}_view")
        yield found


def told(proxy: Proxy, user: str, sql: str) -> str:
    with Raw(proxy, user) as connection:
        return "".join(f"{m.kind}{m.body!r}" for m in connection.query(sql))


@pytest.mark.parametrize("user", SIDES)
def test_nothing_of_the_other_role_is_in_any_relation(proxy: Proxy, user: str):
    [other] = [side for name, side in SIDES.items() if name != user]
    names = [f"{table.schema}.{table.name}" for table in TABLES.values()]
    assert len(names) > 20
    with psycopg.connect(proxy.dsn(user), autocommit=True) as client:
        names += [
            f"dp.{name}" for (name,) in client.execute("SELECT relname FROM pg_class WHERE relkind = 'v'")
        ]
    own = ""
    for name in dict.fromkeys(names):
        seen = told(proxy, user, f"SELECT * FROM {name}")
        assert other not in seen, name
        own += seen
    assert f"{SIDES[user]}_rows" in own
    assert f"{SIDES[user]}_value" in own


NAMED = (
    "SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^({0})$' COLLATE pg_catalog.default",
    "SELECT * FROM {0}",
    "SELECT count(*) FROM {0}",
    "SELECT count({1}_value) FROM {0}",
    "SELECT count(*) FROM own_rows JOIN {0} ON own_id = {1}_id",
    "SELECT '{0}'::regclass",
    "SELECT to_regclass('{0}')",
    "SELECT has_table_privilege('{0}', 'SELECT')",
    "SELECT has_column_privilege('{0}', '{1}_value', 'SELECT')",
    "SELECT obj_description('{0}'::regclass)",
    "SELECT column_name FROM information_schema.columns WHERE table_name = '{0}'",
    "SELECT * FROM information_schema.tables WHERE table_name = '{0}'",
    "SELECT conname FROM pg_constraint WHERE conrelid = '{0}'::regclass",
    "EXPLAIN (PRIVACY) SELECT count(*) FROM {0}",
    "SHOW PRIVACY POLICY FOR {0}",
    "SET dp.budget = '{1}_budget'; SELECT count(*) FROM own_rows",
    "COPY {0} TO STDOUT",
    "ALTER TABLE {0} SET PRIVACY HIDDEN",
)


@pytest.mark.parametrize("sql", NAMED)
@pytest.mark.parametrize("user", SIDES)
def test_hidden_and_missing_are_told_in_the_same_words(proxy: Proxy, user: str, sql: str):
    [other] = [side for name, side in SIDES.items() if name != user]
    asked = sql.replace("own_", f"{SIDES[user]}_")
    for kind in ("rows", "view", "more"):
        there = told(proxy, user, asked.format(f"{other}_{kind}", other))
        away = told(proxy, user, asked.format(f"xyzzy_{kind}", "xyzzy"))
        assert there == away.replace("xyzzy", other)


@pytest.mark.parametrize("user", SIDES)
def test_a_hidden_table_is_undefined(proxy: Proxy, user: str):
    [other] = [side for name, side in SIDES.items() if name != user]
    with psycopg.connect(proxy.dsn(user), autocommit=True) as client, pytest.raises(psycopg.Error) as caught:
        client.execute(f"SELECT count(*) FROM {other}_rows")
    assert caught.value.sqlstate == "42P01"
    assert caught.value.diag.message_primary == f'relation "{other}_rows" does not exist'
