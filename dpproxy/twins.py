"""Two proxies over made-up data that differ by one person in every group, and the questions an audit asks them.

Half of the groups are empty on the left, which is where floats give themselves away; the others hold ``ROWS`` people
in the middle of every domain. On the right each holds one more, at the upper end of every domain.
"""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from dpproxy.process import serving
from dpproxy.users import add_user

GROUPS: Final = 200
ROWS: Final = 40
_OF_ROWS: Final = (
    "count(*)",
    "sum(x)",
    "sum(y)",
    "sum(money)",
    "avg(x)",
    "avg(y)",
    "count(*), sum(x)",
    "count(*), sum(y), avg(x)",
    "count(*), count_if(x > 75), sum(y) FILTER (WHERE x > 75)",
    "bool_and(x < 75), bool_or(x > 75)",
    "count(DISTINCT x)",
    "stddev(x), stddev_samp(x), stddev_pop(x)",
    "variance(y), var_pop(y)",
    "covar_pop(x, y), covar_samp(x, y), corr(x, y)",
    "regr_slope(y, money), regr_intercept(y, money), regr_r2(y, money)",
    "regr_count(x, money), regr_avgx(x, money), regr_avgy(x, money)",
)
_ORDERED: Final = ("min(x)", "max(y)", "median(x)", "percentile_cont(0.9) WITHIN GROUP (ORDER BY y)")
_OF_PEOPLE: Final = ("count(*)", "count(*), sum(x)")


def _asked(table: str, aggregates: str) -> str:
    return f"SELECT {aggregates} FROM {table} GROUP BY k ORDER BY k"  # noqa: S608 - constants


ADDITIVE: Final = (*(_asked("t", a) for a in _OF_ROWS), *(_asked("visits", a) for a in _OF_PEOPLE))
"""What is answered by adding noise: every aggregate, alone and with others; and some of people who have more rows than
are kept of each."""
ORDERED: Final = (*(_asked("t", a) for a in _ORDERED), _asked("visits", "max(x)"))
"""What is chosen, whatever dp.mechanism says."""
STATEMENTS: Final = ADDITIVE + ORDERED
MECHANISMS: Final = ("staircase", "laplace", "gaussian")
"""Every value of dp.mechanism but auto."""
DELTA: Final = 1e-6
"""The delta of one statement with Gaussian noise."""

_TABLES = (
    "CREATE TABLE t (k INTEGER, x INTEGER, y DOUBLE, money DECIMAL(8,2))",
    "CREATE TABLE visits (person INTEGER, k INTEGER, x INTEGER)",
)
_EVERYBODY = (
    "INSERT INTO t SELECT 2 * (1 + i % ($groups // 2)), 50, 0.5, 5 FROM range($groups // 2 * $rows) AS r(i)",
    "INSERT INTO visits SELECT i, k, x FROM (SELECT row_number() OVER () AS i, k, x FROM t), range(2)",
)
_ONE_MORE = (
    "INSERT INTO t SELECT 1 + i, 100, 1, 10 FROM range($groups) AS r(i)",
    "INSERT INTO visits SELECT -1 - i, 1 + i, 100 FROM range($groups) AS r(i), range(5)",
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
CREATE PRIVACY BUDGET audit LIMIT EPSILON 1000000 DELTA 0.5 DEFAULT EPSILON 1;
GRANT SELECT ON t, visits TO analyst WITH PRIVACY BUDGET audit;
"""
_CONFIG = """\
[server]
listen = "127.0.0.1:0"
[state]
directory = "state"
[data.main]
path = "data.duckdb"
[policy]
files = ["policy.sql"]
[users]
file = "users.toml"
"""


@contextmanager
def twins() -> Iterator[tuple[str, str]]:
    """Start both; the URL of an analyst of each. They and their files are gone in the end."""
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
            connection.execute(statement.replace("$groups", str(GROUPS)).replace("$rows", str(ROWS)))
    (folder / "policy.sql").write_text(_POLICY, encoding="utf-8")
    (folder / "dpproxy.toml").write_text(_CONFIG, encoding="utf-8")
    password = secrets.token_urlsafe(12)
    add_user(folder / "users.toml", "analyst", ["analyst"], password)
    with serving(folder / "dpproxy.toml") as (_, address):
        yield f"postgresql://analyst:{password}@{address}/main"
