"""Two proxies over synthetic data that differ by one person in every group, and the statements of an audit.

Half of the groups are empty on the left, where a floating-point leak shows best; the others have ``ROWS`` people in
the middle of every domain. On the right each group has one more person, at the upper end of every domain.
"""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from dpproxy.config.users import add_user
from dpproxy.system.process import serving

GROUPS: Final = 200
ROWS: Final = 40
SHOWN: Final = 26
"""Rows of each undeclared key: at epsilon 1 and ``DELTA``, partition selection shows two thirds of such keys."""
_OF_ROWS: Final = (
    "count(*)", "sum(x)", "sum(y)", "sum(money)", "avg(x)", "avg(y)", "count(*), sum(x)", "count(*), sum(y), avg(x)",
    "count(*), count_if(x > 75), sum(y) FILTER (WHERE x > 75)", "bool_and(x < 75), bool_or(x > 75)",
    "geometric_mean(x + 1)", "count(DISTINCT x)", "stddev(x), stddev_samp(x), stddev_pop(x)",
    "variance(y), var_pop(y)", "covar_pop(x, y), covar_samp(x, y), corr(x, y)",
    "regr_slope(y, money), regr_intercept(y, money), regr_r2(y, money)",
    "regr_count(x, money), regr_avgx(x, money), regr_avgy(x, money)",
)  # fmt: skip
_ORDERED: Final = ("min(x)", "max(y)", "median(x)", "percentile_cont(0.9) WITHIN GROUP (ORDER BY y)")
_OF_PEOPLE: Final = ("count(*)", "count(*), sum(x)")


def _asked(table: str, aggregates: str) -> str:
    return f"SELECT {aggregates} FROM {table} GROUP BY k ORDER BY k"  # noqa: S608 - constants


ADDITIVE: Final = (*(_asked("t", a) for a in _OF_ROWS), *(_asked("visits", a) for a in _OF_PEOPLE))
"""Statements answered by adding noise: every aggregate, alone and with others; and aggregates over people who have
more rows than contribution bounding leaves them."""
ORDERED: Final = (*(_asked("t", a) for a in _ORDERED), _asked("visits", "max(x)"))
"""Statements answered by mechanisms that choose a value: dp.mechanism does not apply."""
KNOWN: Final = (
    "SELECT dp.with_prior(avg(x), family => 'uniform', low => 0, high => 100) FROM t GROUP BY k ORDER BY k",
    "SELECT dp.with_prior(sum(y), family => 'normal', mean => 20, sd => 10) FROM t GROUP BY k ORDER BY k",
    "SELECT dp.with_prior(x, family => 'uniform', low => 0, high => 100) FROM people WHERE id = 0",
)
"""Statements answered by draws from a prior: of each group's value, and of a person's who is only on the right."""
FOUND: Final = (
    (
        "SELECT d.n IS NOT NULL FROM keys LEFT JOIN (SELECT place, count(*) AS n FROM trips GROUP BY place) AS d "
        "ON d.place = keys.k ORDER BY keys.k"
    ),
)
"""Statements over undeclared keys, each of which partition selection shows with probability about 2/3."""
STATEMENTS: Final = ADDITIVE + ORDERED + KNOWN
DELTA: Final = 1e-6
"""The delta of one statement with Gaussian noise."""

_TABLES = (
    "CREATE TABLE t (k INTEGER, x INTEGER, y DOUBLE, money DECIMAL(8,2))",
    "CREATE TABLE visits (person INTEGER, k INTEGER, x INTEGER)",
    "CREATE TABLE people (id INTEGER, x INTEGER)",
    "CREATE TABLE trips (place INTEGER)",
    "CREATE TABLE keys AS SELECT 1 + i AS k FROM range($groups) AS r(i)",
)
_EVERYBODY = (
    "INSERT INTO t SELECT 2 * (1 + i % ($groups // 2)), 50, 0.5, 5 FROM range($groups // 2 * $rows) AS r(i)",
    "INSERT INTO visits SELECT i, k, x FROM (SELECT row_number() OVER () AS i, k, x FROM t), range(2)",
    "INSERT INTO people SELECT 1 + i, 50 FROM range($rows) AS r(i)",
    "INSERT INTO trips SELECT 1 + i FROM range($groups) AS r(i), range($shown)",
)
_ONE_MORE = (
    "INSERT INTO t SELECT 1 + i, 100, 1, 10 FROM range($groups) AS r(i)",
    "INSERT INTO visits SELECT -1 - i, 1 + i, 100 FROM range($groups) AS r(i), range(5)",
    "INSERT INTO people VALUES (0, 100)",
    "INSERT INTO trips SELECT 1 + i FROM range($groups) AS r(i)",
)
_POLICY = f"""\
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000000 DELTA 0.5;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 1 AND {GROUPS};
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 1;
ALTER TABLE t ALTER COLUMN money SET PRIVACY DOMAIN BETWEEN 0 AND 10;
ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS 3;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000000 DELTA 0.5;
ALTER TABLE visits ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 1 AND {GROUPS};
ALTER TABLE visits ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000000 DELTA 0.5;
ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE trips SET PRIVACY KEY ROW;
ALTER TABLE trips SET PRIVACY CEILING EPSILON 1000000 DELTA 0.5;
ALTER TABLE trips ALTER COLUMN place SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE keys SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET audit LIMIT EPSILON 1000000 DELTA 0.5 DEFAULT EPSILON 1;
GRANT SELECT ON t, visits, people, trips TO analyst WITH PRIVACY BUDGET audit;
GRANT SELECT ON keys TO analyst;
"""
CONFIG: Final = """\
[state]
directory = "state"
[data.main]
path = "data.duckdb"
[policy]
files = ["policy.sql"]
[users]
file = "users.toml"
[server]
listen = "127.0.0.1:0"
processes = 1
"""
"""Of a proxy in a directory of its own; settings of the server may follow."""


@contextmanager
def twins() -> Iterator[tuple[str, str]]:
    """Start both proxies; yields the URLs of an analyst. At the end they are stopped and their files removed."""
    with (
        tempfile.TemporaryDirectory(prefix="dpproxy-audit-") as folder,
        _one(Path(folder) / "left", _EVERYBODY) as left,
        _one(Path(folder) / "right", _EVERYBODY + _ONE_MORE) as right,
    ):
        yield left, right


@contextmanager
def _one(folder: Path, data: tuple[str, ...]) -> Iterator[str]:
    folder.mkdir()
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        for statement in _TABLES + data:
            connection.execute(
                statement.replace("$groups", str(GROUPS))
                .replace("$rows", str(ROWS))
                .replace("$shown", str(SHOWN))
            )
    (folder / "policy.sql").write_text(_POLICY, encoding="utf-8")
    (folder / "dpproxy.toml").write_text(CONFIG, encoding="utf-8")
    password = secrets.token_urlsafe(12)
    add_user(folder / "users.toml", "analyst", ["analyst"], password)
    with serving(folder / "dpproxy.toml") as (_, address):
        yield f"postgresql://analyst:{password}@{address}/main"
