"""A small database with its policy: planned by the real planner, computed by a real engine, without noise."""

import re
import tempfile
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path

import duckdb
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PREPARED, Caller, Part, Plan, PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.columns import key_type
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.release import Relations, ReleaseStage, key_table
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.planner.views import read_views
from dpproxy.policy.apply import apply
from dpproxy.policy.lookup import is_protected
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.store import change_of
from dpproxy.values.pgtypes import TIMESTAMPTZ, TYPES, Column, Schema
from dpproxy.values.structs import PartlyShown
from tests.empty import database, opened
from tests.golden.engine_reading import unlisted
from udfs.privacy import Exact, Released

Row = tuple[object, ...]
Vector = dict[Row, tuple[int, ...]]
"""The exact measures of every declared key."""
ANALYST = Caller("ann", frozenset({"analyst"}), "ann")
SECRET = "00" * 32
_DECLARED = ("CEILING", "BUDGET", "GRANT")
_READERS = {
    "bool": lambda t: t == "true",
    "int2": int,
    "int4": int,
    "int8": int,
    "numeric": Decimal,
    "float8": float,
    "text": str,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


class World(PartlyShown, Struct, frozen=True, dict=True):
    """Tables, rows and policy; ``schema`` is what the product's own backend reads from them."""

    HIDDEN = frozenset({"rows"})

    ddl: tuple[str, ...]
    policy_ddl: tuple[str, ...]
    schema: Schema
    policy: Policy
    rows: dict[str, list[Row]]
    prepared: bool = False
    """Statements read prepared tables."""

    def facts(self, query: nodes.Query) -> tuple[Row, ...]:
        """What the planner may read."""
        return tuple(self._public.execute(printing.text(query)).fetchall())

    @cached_property
    def _public(self) -> duckdb.DuckDBPyConnection:
        """The tables, filled where they are public."""
        connection = opened()
        for statement in self.ddl:
            connection.execute(statement)
        for name, rows in self.rows.items():
            if name in self.policy.tables and self.policy.tables[name].exposure is Exposure.PUBLIC:
                for row in rows:
                    connection.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" for _ in row)})', row)
        return connection

    def place(self, table: str, column: str) -> int:
        """Where a column stands in a table's rows."""
        return [c.name for c in self.schema.tables[table]].index(column)


def build(statements: Sequence[str], delta: str = "") -> World:
    """Run CREATE and INSERT, apply the privacy statements.

    A header that declares neither ceilings nor budgets gets generous ones, of that ``delta``, granted to ``analyst``.
    """
    policy_ddl = [s for s in statements if is_privacy_statement(s)]
    ddl = [s for s in statements if not is_privacy_statement(s)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.duckdb"
        with database(path) as connection:
            for statement in ddl:
                connection.execute(statement)
        backend = DuckDB(path)
        schema = read_views(backend.schema())
        backend.close()
        with database(path) as connection:
            rows = {name: _rows(connection, name, columns) for name, columns in schema.tables.items()}
    policy = _applied(Policy(), policy_ddl, schema)
    if not any(word in s.upper() for s in policy_ddl for word in _DECLARED):
        more = _generous(policy, schema, delta)
        policy_ddl += more
        policy = _applied(policy, more, schema)
    creates = tuple(s for s in ddl if s.upper().startswith("CREATE"))
    return World(creates, tuple(policy_ddl), schema, policy, rows)


def _rows(connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[Column]) -> list[Row]:
    """The rows as Python holds them, moments with a time zone as texts: it has no infinite ones."""
    read = [
        f"{_quoted(c.name)}::VARCHAR" if c.type.oid == TIMESTAMPTZ.oid else _quoted(c.name) for c in columns
    ]
    return connection.execute(f"SELECT {', '.join(read)} FROM {_quoted(table)}").fetchall()


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _applied(policy: Policy, statements: Sequence[str], schema: Schema) -> Policy:
    for statement in statements:
        policy = apply(policy, change_of(statement), schema)
    return policy


def _generous(policy: Policy, schema: Schema, delta: str) -> list[str]:
    found = [f"CREATE PRIVACY BUDGET lab LIMIT EPSILON 1000 {delta}"]
    for name, table in policy.tables.items():
        if table.unit is not None and table.unit.references is None:
            found.append(f'ALTER TABLE "{name}" SET PRIVACY CEILING EPSILON 1000 {delta}')
        if table.exposure is Exposure.PROTECTED:
            found.append(f'GRANT SELECT ON "{name}" TO analyst WITH PRIVACY BUDGET lab')
        elif table.exposure is Exposure.PUBLIC:
            found.append(f'GRANT SELECT ON "{name}" TO analyst')
    for name in (n for n, v in schema.views.items() if v.flaw is None):
        paid = " WITH PRIVACY BUDGET lab" if is_protected(policy, name, schema) else ""
        found.append(f'GRANT SELECT ON "{name}" TO analyst{paid}')
    return found


def parameters(options: dict[str, str]) -> Parameters:
    """``$1=int4:5`` and the like, bound; nothing bound where there are none."""
    given = {int(k[1:]): v.split(":", 1) for k, v in options.items() if k.startswith("$")}
    kinds = {t.name: t for t in TYPES}
    values = tuple(
        None if text == "NULL" else _READERS[kind](text) for _, (kind, text) in sorted(given.items())
    )
    return Parameters({n: kinds[kind] for n, (kind, _) in given.items()}, values)


def plan_any(world: World, sql: str, options: dict[str, str] | None = None) -> Plan | PublicPlan:
    """Plan a statement as the analyst's session would. Raises a ``Refusal``."""
    options = options or {}
    return plan_tree(world, parse(sql), parameters(options), options)


def plan_tree(
    world: World, tree: exp.Expr, given: Parameters, options: dict[str, str] | None = None
) -> Plan | PublicPlan:
    """The same for a statement that was parsed. Raises a ``Refusal``."""
    options = options or {}
    settings = {
        **DEFAULTS,
        **{k: v for k, v in options.items() if k.startswith("dp.") or k in ("timezone", "present")},
    }
    caller = ANALYST
    if "as" in options:
        caller = replace(caller, roles=frozenset(options["as"].split(",")))
    context = Context(
        world.policy,
        world.schema,
        caller,
        settings,
        facts=world.facts,
        prepared={} if world.prepared else None,
        snapshot="world",
    )
    plan = plan_query(accept(tree), context, given)
    if isinstance(plan, Plan):  # whoever plans here has the engine's own parser look at what came of it
        texts = [part.exact for part in plan.parts if not part.query.has(nodes.Hole)]
        assert [unlisted(text) for text in texts] == [frozenset()] * len(texts)
    return plan


def plan_of(world: World, sql: str, options: dict[str, str] | None = None) -> Plan:
    """Plan a statement over a protected table."""
    plan = plan_any(world, sql, options)
    assert isinstance(plan, Plan)
    return plan


def _shown(part: Part, groups: Vector, least: int | None) -> pa.Table:
    """Without noise: the groups with ``least`` units, or so many that they are shown at least half of the time."""
    assert part.selection is not None
    least = part.selection.threshold if least is None else least
    kept = sorted(
        (k for k, (*_, units) in groups.items() if units >= least), key=lambda k: [(v is None, v) for v in k]
    )
    columns = {"o": pa.array(range(len(kept)), pa.int64())}
    for index, kind in enumerate(part.key_types):
        columns[f"k{index}"] = pa.array([key[index] for key in kept], key_type(kind))
    lists = [[Decimal(m) for m in groups[key][:-1]] for key in kept]
    return pa.table({**columns, "v": pa.array(lists, pa.list_(pa.decimal128(38, 0)))})


@cache
def release() -> ReleaseStage:
    """One engine over released values for all tests of a process: it has no data, and opening it takes 35 ms."""
    return ReleaseStage()


_IDLE: list[duckdb.DuckDBPyConnection] = []
"""Engines whose tables were closed: each serves one set of them at a time."""


class Tables:
    """An engine with the world's tables, refilled at will; ``least`` units make a key that nobody declared."""

    def __init__(self, world: World, least: int | None = None) -> None:
        self._least = least
        self._connection = _IDLE.pop() if _IDLE else duckdb.connect(":memory:", config={"threads": "2"})
        self._connection.execute(f"ATTACH ':memory:' AS {PREPARED}; ATTACH ':memory:' AS tables; USE tables")
        self._prepared: set[str] = set()
        self._rows: dict[str, str] = {}
        for statement in world.ddl:
            self._connection.execute(statement)

    def fill(self, rows: dict[str, list[Row]]) -> None:
        """Have these rows in every table, in this order; what was prepared of others is built anew."""
        self._prepared.clear()
        for name, listed in rows.items():
            text = repr(listed)  # which tells 0.0 and -0.0 apart
            if self._rows.get(name) == text:
                continue
            self._rows.pop(name, None)
            self._connection.execute(f'DELETE FROM "{name}"')
            if listed:
                places = ", ".join(f"({', '.join('?' for _ in row)})" for row in listed)
                values = [value for row in listed for value in row]
                self._connection.execute(f'INSERT INTO "{name}" VALUES {places}', values)
            self._rows[name] = text

    def exact(self, part: Part, values: Sequence[object] = (), secret: str = SECRET) -> Vector:
        """The exact stage of one part, completed to every declared key; ``values`` are those of its inputs."""
        declared = key_table(part.keys).drop_columns(["o"]).to_pylist()
        every = [tuple(row.values()) for row in declared] if part.keys else [()]
        if part.vacuous:
            return dict.fromkeys(every, (0,) * part.measures)
        given = {str(i.number): v for i, v in zip(part.inputs, values, strict=True)}
        self.prepare(part, secret)
        cursor = self._connection.execute(part.exact, {**given, **({"1": secret} if part.truncated else {})})
        size = len(part.key_types)
        if part.discovered:  # the last number of a group is that of its units
            return {row[:size]: tuple(int(m or 0) for m in row[size:]) for row in cursor.fetchall()}
        if part.mechanism is None and not part.refined:  # a histogram: its cells are keys too
            return {row[: size + 1]: (int(row[size + 1]),) for row in cursor.fetchall()}
        found = {row[:size]: tuple(int(m or 0) for m in row[size:]) for row in cursor.fetchall()}
        return {key: found.get(key, (0,) * part.measures) for key in every}

    def prepare(self, part: Part, secret: str) -> None:
        """Build the derived tables that a part reads."""
        for table in part.prepares:
            if table.name not in self._prepared:
                given = {"1": secret} if table.truncated else {}
                target = f"{PREPARED}.main.{table.name}"
                self._connection.execute(
                    f"CREATE OR REPLACE TABLE {target} AS {printing.text(table.query)}", given
                )
                self._prepared.add(table.name)

    def relations(self, plan: Plan) -> Relations:
        """Every part as it would be released without noise."""
        found: Relations = []
        publics = [self.table(printing.text(query)) for query in plan.publics]
        for part in plan.parts:
            values = release().inputs(part, found, publics)
            if part.selection is not None:
                found.append((part, Released(_shown(part, self.exact(part, values), self._least), part.loss)))
                continue
            if part.mechanism is None and not part.vacuous:
                found.append((part, self._sharpest(release(), part, values, found)))
                continue
            lists = [[Decimal(m) for m in measures] for measures in self.exact(part, values).values()]
            column = pa.array(lists, pa.list_(pa.decimal128(38, 0)))
            found.append((part, Released(key_table(part.keys).append_column("v", column), part.loss)))
        return found

    def _sharpest(
        self, release: ReleaseStage, part: Part, values: Sequence[object], earlier: Relations
    ) -> Released[pa.Table]:
        """An order statistic, or a draw from a prior, at an epsilon at which only what is nearest is drawn."""
        sharp = re.sub(
            r"CAST\([0-9.]+ AS DECIMAL\(18, ?9\)\)", "CAST(999999999 AS DECIMAL(18,9))", part.release
        )
        given = {str(i.number): v for i, v in zip(part.inputs, values, strict=True)}
        secret = {"1": SECRET} if part.truncated else {}
        self.prepare(part, SECRET)
        table = self._connection.sql(part.exact, params={**given, **secret}).to_arrow_table()
        points = None if part.points is None else earlier[part.points][1]
        return release.draw(replace(part, release=sharp), Exact(table), points)

    def table(self, sql: str) -> pa.Table:
        """A public query's rows."""
        return self._connection.sql(sql).to_arrow_table()

    def close(self) -> None:
        self._connection.execute(f"USE memory; DETACH tables; DETACH {PREPARED}")
        _IDLE.append(self._connection)
