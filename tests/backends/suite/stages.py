"""Plans of statements, and what their exact stages give: by an engine of the suite, and by DuckDB itself."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import duckdb

from dpproxy.algebra import printing
from dpproxy.algebra.plan import PREPARED, Part, Plan
from dpproxy.backends.source import Source
from dpproxy.sql.quoting import quoted
from dpproxy.system.confinement import LOCKED
from tests.golden.world import World, build, plan_any

SECRET = "00" * 32
SECRETS = tuple(f"{n * 37 % 256:02x}" * 32 for n in range(16))
"""Which of two rows is kept is not the same by all of them, but once in 32,000 choices."""
Rows = list[tuple[object, ...]]


def world_of(statements: Sequence[str], file: Path) -> World:
    """A golden world, with its tables in a file as well."""
    world = build(statements)
    with duckdb.connect(file) as connection:
        for statement in world.ddl:
            connection.execute(statement)
        write(connection, world)
    return world


def write(connection: duckdb.DuckDBPyConnection, world: World) -> None:
    """The rows of a world."""
    for name, rows in world.rows.items():
        for row in rows:
            connection.execute(f"INSERT INTO {quoted(name)} VALUES ({', '.join('?' * len(row))})", row)


def parts_of(world: World, sql: str, options: dict[str, str] | None = None) -> list[Part]:
    """The parts of a plan whose exact stage takes nothing of another part."""
    plan = plan_any(world, sql, options)
    if not isinstance(plan, Plan):
        return []
    return [part for part in plan.parts if not part.vacuous and not part.inputs]


def given(part: Part, secret: str = SECRET) -> dict[str, object]:
    """The parameters of a part."""
    return {"1": secret} if part.truncated else {}


def asked(source: Source, part: Part) -> Rows:
    """What an engine gives, in no order."""
    present = source.prepared_names()
    for kept in part.prepares:
        if kept.name not in present:
            secret: dict[str, object] = {"1": SECRET} if kept.truncated else {}
            source.build(kept.name, kept.query, secret, "suite", bool)
    table = source.run(part.query, given(part), "suite").value
    return plain(list(zip(*(c.to_pylist() for c in table.columns), strict=True)))


class Reference:
    """DuckDB itself over the rows of a file that nobody writes to: one connection for all parts of a test.

    What it gave over the same rows, when another engine was compared with it, is not computed again.
    """

    _known: ClassVar[dict[object, Rows | None]] = {}

    def __init__(self, file: Path) -> None:
        self._connection = duckdb.connect(config={"threads": "1"})
        self._connection.execute(
            f"ATTACH ':memory:' AS {PREPARED}; ATTACH '{file}' AS held (READ_ONLY); USE held"
        )
        for name, value in LOCKED.items():
            self._connection.execute(f"SET {name} = '{value}'")
        named = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'held' ORDER BY ALL"
        names = [name for (name,) in self._connection.execute(named).fetchall()]
        rows = [self._connection.execute(f"FROM {quoted(name)}").fetchall() for name in names]
        self._rows = repr((names, rows))

    def expected(self, part: Part) -> Rows | None:
        """None where what it gives depends on which rows of a unit are kept, which each engine chooses anew."""
        key = (
            self._rows,
            part.exact,
            tuple((table.name, printing.text(table.query)) for table in part.prepares),
        )
        if key not in self._known:
            self._known[key] = self._by_any_secret(part)
        return self._known[key]

    def _by_any_secret(self, part: Part) -> Rows | None:
        is_cut = part.truncated or any(table.truncated for table in part.prepares)
        first, *others = SECRETS if is_cut else (SECRET,)
        found = self._computed(part, first)
        return found if all(self._computed(part, secret) == found for secret in others) else None

    def _computed(self, part: Part, secret: str) -> Rows:
        for table in part.prepares:
            values: dict[str, object] = {"1": secret} if table.truncated else {}
            name = f"{PREPARED}.main.{table.name}"
            self._connection.execute(
                f"CREATE OR REPLACE TABLE {name} AS {printing.text(table.query)}", values
            )
        return plain(self._connection.execute(part.exact, given(part, secret)).fetchall())

    def close(self) -> None:
        self._connection.close()


def plain(rows: Rows) -> Rows:
    """Whole numbers as such, whatever they are held in."""
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(value: object) -> object:
    return int(value) if isinstance(value, Decimal | float) and value == int(value) else value
