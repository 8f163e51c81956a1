"""What PostgreSQL's catalogue says of tables: public facts, read from the DDL alone, never from statistics.

A type of ours stands for several of PostgreSQL's: each column is read in a way that has no value ours has not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import psycopg
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.backends.places import together
from dpproxy.backends.postgres.casts import SINGLE
from dpproxy.backends.servers.dialect import Reach, Value, ValueKind, stored
from dpproxy.sql.quoting import identifier, literal
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    CheckConstraint,
    Column,
    Constraint,
    ForeignKey,
    Schema,
    SqlType,
    UniqueKey,
    View,
)

MOST_DIGITS = 38
"""Of a numeric that is exact here."""
_TABLES = """
WITH RECURSIVE family (parent, child) AS (
  SELECT oid, oid FROM pg_class WHERE relnamespace = quote_ident($1)::regnamespace
    AND ($2::text[] IS NULL OR relname = ANY($2))
  UNION SELECT f.parent, i.inhrelid FROM family AS f JOIN pg_inherits AS i ON i.inhparent = f.child),
strange AS (SELECT f.parent FROM family AS f JOIN pg_class AS d ON d.oid = f.child
  WHERE d.relkind NOT IN ('r', 'p', 'm')),
held AS (SELECT f.parent, b.attname, bool_and(b.attnotnull) AS required, bool_and(b.attgenerated <> 'v') AS stored
  FROM family AS f JOIN pg_attribute AS b ON b.attrelid = f.child WHERE b.attnum > 0 GROUP BY f.parent, b.attname)
SELECT c.relname, a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE t.typname END, a.atttypmod, h.required,
  t.typnamespace = 'pg_catalog'::regnamespace OR t.typtype = 'e',
  coalesce(o.collisdeterministic, true) AND h.stored
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS t ON t.oid = a.atttypid
JOIN held AS h ON h.parent = c.oid AND h.attname = a.attname LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
WHERE c.relnamespace = quote_ident($1)::regnamespace AND c.relkind IN ('r', 'p', 'm') AND c.relispopulated
  AND c.oid NOT IN (SELECT parent FROM strange)
  AND NOT c.relispartition AND NOT row_security_active(c.oid) AND a.attnum > 0
  AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY c.relname, a.attnum
"""
"""A table shows the rows of its partitions, and of what inherits from it: these are looked at, too. Of the tables that
are named, or of all."""
_CONSTRAINTS = """
SELECT c.relname, k.contype::text, ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS u(n, place)
    JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.place), f.relname,
  ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS u(n, place)
    JOIN pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.place),
  pg_get_expr(k.conbin, k.conrelid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid LEFT JOIN pg_class AS f ON f.oid = k.confrelid
WHERE c.relnamespace = quote_ident($1)::regnamespace AND k.contype IN ('p', 'u', 'f', 'c') AND k.convalidated
  AND (c.relkind <> 'r' OR NOT EXISTS (SELECT 1 FROM pg_inherits AS i WHERE i.inhparent = c.oid))
  AND (f.oid IS NULL OR f.relnamespace = c.relnamespace) ORDER BY c.relname, k.contype <> 'p', k.conname
"""
_ENUMS = """
SELECT c.relname, a.attname, ARRAY(SELECT e.enumlabel::text FROM pg_enum AS e WHERE e.enumtypid = a.atttypid
    ORDER BY e.enumsortorder)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS t ON t.oid = a.atttypid
WHERE c.relnamespace = quote_ident($1)::regnamespace AND t.typtype = 'e' AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum
"""
_VIEWS = """
SELECT c.relname, ARRAY(SELECT a.attname::text FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
    AND NOT a.attisdropped ORDER BY a.attnum)
FROM pg_class AS c WHERE c.relnamespace = quote_ident($1)::regnamespace AND c.relkind = 'v' ORDER BY c.relname
"""


class Described(Struct, frozen=True):
    """The tables of one schema, and how each of their columns is read."""

    schema: Schema
    columns: dict[str, dict[str, Value]]


Declared = Mapping[str, Mapping[str, tuple[object, ...]]]
"""What the catalogue says of each column of each table that may be read."""


def declared(
    connection: psycopg.Connection[Any], schema: str, tables: Sequence[str] | None = None
) -> Declared:
    """The declarations as they are now; of the tables that are named, or of all."""
    rows = connection.execute(_TABLES, [schema, None if tables is None else list(tables)]).fetchall()
    return {table: {name: tuple(rest) for name, *rest in columns} for table, columns in _grouped(rows)}


def altered(before: Declared, now: Declared, tables: Iterable[str]) -> str | None:
    """What is no longer as the proxy has read it, in words for operators; a column that was added is nothing of ours.

    A column that has lost NULL is none either.
    """
    for table in tables:
        held = now.get(table)
        if held is None:
            return f'table "{table}" is not there, or not for this role'
        for name, (kind, modifier, required, *rest) in before[table].items():
            found = held.get(name)
            if found is None:
                return f'table "{table}" has no column "{name}" any more'
            if found not in ((kind, modifier, required, *rest), (kind, modifier, True, *rest)):
                return f'column "{name}" of table "{table}" is declared otherwise'
    return None


def described(connection: psycopg.Connection[Any], schema: str) -> Described:
    """Tables, columns, constraints and views of a schema, in their spelling.

    What differs in the case of its letters alone does not exist here, nor do columns of a type that is not answered
    or of a collation in which different texts are equal. Nor does what runs an expression of somebody's for each row,
    which may raise: columns computed when they are read, tables whose rows a policy chooses for this role, and tables
    with rows of another server. What a table declares is not believed of the rows that others inherit from it. A view
    is listed, without its text: it is never run.
    """
    tables: dict[str, list[Column]] = {}
    reads: dict[str, dict[str, Value]] = {}
    left_out: dict[str, list[str]] = {}
    documents: dict[str, list[str]] = {}
    rows = connection.execute(_TABLES, [schema, None]).fetchall()
    alike = _alike({table for table, *_ in rows})
    for table, columns in _grouped(rows):
        if table.lower() in alike:
            continue
        doubled = _alike({name for name, *_ in columns})
        for name, kind, modifier, required, is_known, is_exact in columns:
            found = _TYPES[kind](modifier) if is_known and is_exact and kind in _TYPES else None
            if found is None or name.lower() in doubled:
                left_out.setdefault(table, []).append(name)
                if (
                    found is None
                    and kind == "jsonb"
                    and is_known
                    and is_exact
                    and name.lower() not in doubled
                ):
                    documents.setdefault(table, []).append(name)
                    reads.setdefault(table, {})[name] = stored(ValueKind.DOCUMENT)
            else:
                tables.setdefault(table, []).append(Column(name, found[0], required))
                reads.setdefault(table, {})[name] = found[1]
    views = {
        name: View("", tuple(columns)) for name, columns in connection.execute(_VIEWS, [schema]).fetchall()
    }
    constraints = connection.execute(_CONSTRAINTS, [schema]).fetchall()
    enums = connection.execute(_ENUMS, [schema]).fetchall()
    return Described(
        Schema(
            {table: tuple(columns) for table, columns in tables.items()},
            (
                *(_constraint(*row) for row in constraints if row[0] in tables),
                *(_labels(*row) for row in enums if row[0] in tables and row[2]),
            ),
            {name: view for name, view in views.items() if name not in tables},
            {table: tuple(names) for table, names in left_out.items() if table in tables},
            {table: tuple(names) for table, names in documents.items() if table in tables},
        ),
        {table: columns for table, columns in reads.items() if table in tables},
    )


def described_together(found: Mapping[str, Described], named: Sequence[str]) -> Described:
    """The tables of several schemas: of those that are named under that name, of another one as if of public."""
    public = next((one for schema, one in found.items() if schema not in named), Described(Schema({}), {}))
    schema = together(public.schema, {name: replace(found[name].schema, views={}) for name in named})
    columns = public.columns | {f"{n}.{t}": read for n in named for t, read in found[n].columns.items()}
    return Described(schema, {name: columns[name] for name in schema.tables})


def _grouped(rows: Iterable[Any]) -> Iterable[tuple[str, list[Any]]]:
    found: dict[str, list[Any]] = {}
    for table, *column in rows:
        found.setdefault(table, []).append(column)
    return found.items()


def _alike(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(n.lower() for n in names).items() if count > 1}


def _constraint(
    table: str, kind: str, columns: list[str], target: str | None, referenced: list[str], check: str | None
) -> Constraint:
    match kind:
        case "f":
            return ForeignKey(table, tuple(columns), target or "", tuple(referenced))
        case "c":
            return CheckConstraint(table, check or "")
        case _:
            return UniqueKey(table, tuple(columns), primary=kind == "p")


def _labels(table: str, column: str, labels: list[str]) -> CheckConstraint:
    """That a column of an enum has one of its labels, as if it were declared so."""
    return CheckConstraint(table, f"{identifier(column)} IN ({', '.join(map(literal, labels))})")


Reading = tuple[SqlType, Value]


def _numeric(modifier: int) -> Reading:
    """Exact with up to 38 digits, NaN as the largest value; a DOUBLE where no number of digits is declared."""
    kind = SqlType(NUMERIC.name, NUMERIC.oid, NUMERIC.size, modifier)
    precision, scale = kind.precision or 0, kind.scale or 0
    if (
        modifier < 0 or precision > MOST_DIGITS or scale > precision
    ):  # a scale below zero reads as a large one
        return FLOAT8, stored(
            ValueKind.DOUBLE, _AS_DOUBLE, Reach(-1e300, 1e300, 1e-300, top=False, bottom=False)
        )
    digits = "9" * precision
    largest = f"{digits[: precision - scale]}.{digits[precision - scale :]}" if scale else digits
    read = f"(CASE WHEN {{0}} > {largest}::numeric THEN {largest}::numeric ELSE {{0}} END)"
    return kind, stored(ValueKind.DECIMAL if scale else ValueKind.HUGE, read, scale=scale)


_AS_DOUBLE = (
    "(CASE WHEN {0} > -1e-300 AND {0} < 1e-300 THEN 0 WHEN {0} < -1e300 THEN -1e300 WHEN {0} > 1e300 THEN 1e300 "
    "ELSE {0} END)::float8"
)
"""A numeric without bounds: a cast of what no DOUBLE holds would raise."""


def _plain(kind: SqlType, read: Value) -> Callable[[int], Reading]:
    return lambda _: (kind, read)


_TYPES: dict[str, Callable[[int], Reading]] = {
    "bool": _plain(BOOL, stored(ValueKind.TRUTH)),
    "int2": _plain(INT2, stored(ValueKind.WHOLE)),
    "int4": _plain(INT4, stored(ValueKind.WHOLE)),
    "int8": _plain(INT8, stored(ValueKind.WHOLE)),
    "numeric": _numeric,
    "float4": _plain(FLOAT4, stored(ValueKind.DOUBLE, "{}::float8", SINGLE)),
    "float8": _plain(FLOAT8, stored(ValueKind.DOUBLE)),
    "text": _plain(TEXT, stored(ValueKind.TEXT)),
    "varchar": _plain(VARCHAR, stored(ValueKind.TEXT, "{}::text")),
    "bpchar": _plain(TEXT, stored(ValueKind.TEXT, "{}::text")),
    "enum": _plain(
        TEXT, stored(ValueKind.TEXT, "textin(enum_out({}))")
    ),  # who owns a type may make a cast of it
    "uuid": _plain(TEXT, stored(ValueKind.TEXT, "textin(uuid_out({}))")),
    "date": _plain(DATE, stored(ValueKind.DATE)),
    "timestamp": _plain(TIMESTAMP, stored(ValueKind.TIMESTAMP)),
    "timestamptz": _plain(TIMESTAMPTZ, stored(ValueKind.INSTANT, "({} AT TIME ZONE 'UTC')")),
}
"""By PostgreSQL's name, the type that is shown and how a column of it is read."""
