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
STATEMENTS: Final = tuple(
    f"SELECT {aggregates} FROM t GROUP BY k ORDER BY k"  # noqa: S608 - constants
    for aggregates in (
        "count(*)",
        "sum(x)",
        "sum(y)",
        "sum(money)",
        "avg(x)",
        "avg(y)",
        "count(*), sum(x)",
        "count(*), sum(y), avg(x)",
    )
)
"""Every aggregate, alone and with others."""
MECHANISMS: Final = ("staircase",)
"""Every value of dp.mechanism but auto."""

_TABLE = "CREATE TABLE t (k INTEGER, x INTEGER, y DOUBLE, money DECIMAL(8,2))"
_EVERYBODY = (
    "INSERT INTO t SELECT 2 * (1 + i % ($groups // 2)), 50, 0.5, 5 FROM range($groups // 2 * $rows) AS r(i)"
)
_ONE_MORE = "INSERT INTO t SELECT 1 + i, 100, 1, 10 FROM range($groups) AS r(i)"
_POLICY = f"""\
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000000;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 1 AND {GROUPS};
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 1;
ALTER TABLE t ALTER COLUMN money SET PRIVACY DOMAIN BETWEEN 0 AND 10;
CREATE PRIVACY BUDGET audit LIMIT EPSILON 1000000 DEFAULT EPSILON 1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET audit;
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
        _one(Path(folder) / "left", (_EVERYBODY,)) as left,
        _one(Path(folder) / "right", (_EVERYBODY, _ONE_MORE)) as right,
    ):
        yield left, right


@contextmanager
def _one(folder: Path, data: tuple[str, ...]) -> Iterator[str]:
    folder.mkdir()
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(_TABLE)
        for statement in data:
            connection.execute(statement.replace("$groups", str(GROUPS)).replace("$rows", str(ROWS)))
    (folder / "policy.sql").write_text(_POLICY, encoding="utf-8")
    (folder / "dpproxy.toml").write_text(_CONFIG, encoding="utf-8")
    password = secrets.token_urlsafe(12)
    add_user(folder / "users.toml", "analyst", ["analyst"], password)
    with serving(folder / "dpproxy.toml") as (_, address):
        yield f"postgresql://analyst:{password}@{address}/main"
