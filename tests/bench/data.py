"""The tables of the benchmark, made in DuckDB: the same file is read by the proxy and by bare DuckDB."""

from dataclasses import dataclass
from pathlib import Path

import duckdb

REGIONS = tuple(f"region {n:02d}" for n in range(20))
CELLS = 1500
BUDGET = 90_000
"""Epsilon: more than any run spends."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of each table."""

    large: int = 10_000_000
    middle: int = 100_000
    small: int = 1_000
    visits: int = 10_000_000


FULL = Sizes()
QUICK = Sizes(large=50_000, middle=5_000, small=1_000, visits=20_000)

ROWS = "SELECT 'region ' || lpad(CAST(hash(i) % 20 AS VARCHAR), 2, '0') AS region, CAST(hash(i + 1) % 1000000 AS DOUBLE) / 7 AS income, CAST(hash(i + 2) % 1000 AS INTEGER) AS spend, CAST(hash(i + 3) % 1500 AS INTEGER) AS cell FROM range({rows}) AS t(i)"  # noqa: E501
HOLES = "SELECT CASE WHEN hash(rowid) % 50 = 0 THEN NULL ELSE region END AS region, CASE WHEN hash(rowid) % 51 = 0 THEN NULL ELSE income END AS income, CASE WHEN hash(rowid) % 52 = 0 THEN NULL ELSE spend END AS spend FROM large"  # noqa: E501
COLUMNS = "(region VARCHAR NOT NULL, income DOUBLE NOT NULL, spend INTEGER NOT NULL, cell INTEGER NOT NULL)"


def make(path: Path, sizes: Sizes) -> None:
    """Write the file."""
    with duckdb.connect(str(path)) as connection:
        for name in ("large", "middle", "small"):
            connection.execute(f"CREATE TABLE {name} {COLUMNS}")
            connection.execute(f"INSERT INTO {name} {ROWS.format(rows=getattr(sizes, name))}")
        connection.execute(f"CREATE TABLE large_nullable AS {HOLES}")
        connection.execute("CREATE TABLE large_open AS SELECT region, income, spend FROM large")
        connection.execute(
            f"CREATE TABLE visits AS SELECT CAST(hash(i + 4) % {sizes.visits // 10} AS BIGINT) AS person, "
            f"region, spend FROM ({ROWS.format(rows=sizes.visits).replace(' AS region,', ' AS region, i,', 1)})"
        )


def policy() -> str:
    """The statements that declare the tables and grant them to the role ``analyst``."""
    regions = ", ".join(f"'{region}'" for region in REGIONS)
    lines = [
        f"CREATE PRIVACY BUDGET bench LIMIT EPSILON {BUDGET} MAX EPSILON 1 DEFAULT EPSILON 0.1 REFRESH NEVER"
    ]
    keys = {"visits": "KEY (person) MAX ROWS 12"}
    columns = {
        "region": f"IN ({regions})",
        "income": "BETWEEN 0 AND 150000",
        "spend": "BETWEEN 0 AND 1000",
        "cell": f"BETWEEN 0 AND {CELLS - 1}",
    }
    present = dict.fromkeys(("large_nullable", "large_open"), ("region", "income", "spend")) | {
        "visits": ("region", "spend")
    }
    for table in ("large", "large_open", "large_nullable", "middle", "small", "visits"):
        lines.append(f"ALTER TABLE {table} SET PRIVACY {keys.get(table, 'KEY ROW')}")
        lines.append(f"ALTER TABLE {table} SET PRIVACY CEILING EPSILON {BUDGET}")
        lines += [
            f"ALTER TABLE {table} ALTER COLUMN {column} SET PRIVACY DOMAIN {columns[column]}"
            for column in present.get(table, tuple(columns))
        ]
        lines.append(f"GRANT SELECT ON {table} TO analyst WITH PRIVACY BUDGET bench")
    return ";\n".join(lines) + ";\n"
