"""Synthetic people for the tables of a policy: values from declared domains, and one person with extreme values.

No row of the user's data is read, except in public tables, which are about nobody and are copied unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from dpproxy.policy.documents import columns_of, field_of
from dpproxy.policy.dump import constant
from dpproxy.policy.model import (
    Between,
    ColumnPolicy,
    Domain,
    Exposure,
    Members,
    Policy,
    References,
    TablePolicy,
)
from dpproxy.sql.quoting import identifier, literal
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    JSON,
    NUMERIC,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    Schema,
)

PEOPLE = 300
MOST_EACH = 3
"""Rows of a synthetic person in one table, if MAX ROWS allows that many."""
HERS = 40
"""By how many rows the extreme person exceeds MAX ROWS."""
_TYPES = {
    BOOL.oid: "BOOLEAN", BYTEA.oid: "BLOB", INT2.oid: "SMALLINT", INT4.oid: "INTEGER", INT8.oid: "BIGINT",
    FLOAT4.oid: "REAL", FLOAT8.oid: "DOUBLE", DATE.oid: "DATE", TIMESTAMP.oid: "TIMESTAMP",
    TIMESTAMPTZ.oid: "TIMESTAMPTZ", JSON.oid: "JSON",
}  # fmt: skip
_FAR = {
    BOOL.oid: "TRUE", BYTEA.oid: "'hers'::BLOB", INT2.oid: "32767", INT4.oid: "2147483647",
    INT8.oid: "9223372036854775807", FLOAT4.oid: "'NaN'::REAL", FLOAT8.oid: "'NaN'::DOUBLE",
    DATE.oid: "DATE '9999-12-31'",
    TIMESTAMP.oid: "TIMESTAMP '9999-12-31 00:00:00'", TIMESTAMPTZ.oid: "TIMESTAMPTZ '9999-12-31 00:00:00+00'",
}  # fmt: skip
"""A value outside every domain, by type."""


Document = dict[str, "str | Document"]
"""The members of a JSON object: expressions, or those of objects inside."""


class Rows(Struct, frozen=True):
    """The rows of one table: their number, and for each column an SQL expression of its value in row ``i``."""

    table: str
    count: int
    values: Mapping[str, str]

    def insert(self, columns: tuple[Column, ...]) -> str:
        """The INSERT statement that adds the rows."""
        shown = ", ".join(self.values[column.name] for column in columns)
        return f"INSERT INTO {identifier(self.table)} SELECT {shown} FROM range({self.count}) AS r(i)"  # noqa: S608 - names quoted


def tables(policy: Policy, schema: Schema) -> Iterator[str]:
    """CREATE TABLE statements for every table that is not public; keys and constraints are not needed."""
    for name in sorted(schema.tables):
        columns = _stored(name, schema)
        if not _is_public(policy, name):
            listed = ", ".join(
                f"{identifier(c.name)} {_type(c)}{' NOT NULL' if c.not_null else ''}" for c in columns
            )
            yield f"CREATE TABLE {identifier(name)} ({listed})"


def everybody(policy: Policy, schema: Schema) -> Iterator[str]:
    """INSERT statements for the people that both twins have."""
    for name in _ordered(policy, schema):
        yield _rows(name, policy, schema).insert(_stored(name, schema))


def her(policy: Policy, schema: Schema) -> Iterator[str]:
    """INSERT statements for the person that only one twin has.

    She has more rows than MAX ROWS, and values at and beyond the ends of every type and domain.
    """
    for name in _ordered(policy, schema):
        yield _her_rows(name, policy, schema).insert(_stored(name, schema))


def her_keys(policy: Policy, schema: Schema) -> dict[str, str]:
    """Expressions of the engine for her key, by table."""
    units = {name: policy.tables[name].unit for name in _ordered(policy, schema)}
    return {
        name: _her_rows(name, policy, schema).values[unit.key]
        for name, unit in units.items()
        if unit is not None and unit.key is not None
    }


def _ordered(policy: Policy, schema: Schema) -> list[str]:
    return [
        name
        for name in sorted(policy.tables)
        if name in schema.tables and policy.tables[name].exposure is Exposure.PROTECTED
    ]


def _is_public(policy: Policy, name: str) -> bool:
    return name in policy.tables and policy.tables[name].exposure is Exposure.PUBLIC


def _stored(name: str, schema: Schema) -> tuple[Column, ...]:
    """The columns of a table, and those of documents that are left out of it."""
    return (*schema.tables[name], *(Column(held, JSON) for held in schema.documents.get(name, ())))


def _values(
    table: TablePolicy, schema: Schema, value: Callable[[Column, Domain | None], str]
) -> dict[str, str]:
    """Expressions for the columns; those of documents have the fields that are declared, as texts."""
    domains = {name: column.domain for name, column in table.columns.items()}
    documents: dict[str, Document] = {
        c.name: {} for c in _stored(table.name, schema) if c.type.oid == JSON.oid
    }
    for column in columns_of(table, schema):
        field = field_of(column.name)
        if field is not None and field.column in documents:
            inside = documents[field.column]
            for key in field.keys[:-1]:
                below = inside.get(key)
                inside[key] = inside = below if isinstance(below, dict) else {}
            inside.setdefault(field.keys[-1], f"CAST({value(column, domains[column.name])} AS VARCHAR)")
    plain = {
        c.name: value(c, domains.get(c.name)) for c in schema.tables[table.name] if c.name not in documents
    }
    return plain | {name: _object(document) for name, document in documents.items()}


def _object(document: Document) -> str:
    members = (
        f"{literal(key)}, {_object(held) if isinstance(held, dict) else held}"
        for key, held in document.items()
    )
    return f"json_object({', '.join(members)})"


def _type(column: Column) -> str:
    kind = column.type
    if kind.oid == NUMERIC.oid:
        return f"DECIMAL({kind.precision or 18}, {kind.scale or 0})"
    return _TYPES.get(kind.oid, "VARCHAR")


def _rows(name: str, policy: Policy, schema: Schema) -> Rows:
    table = policy.tables[name]
    each = 1 if table.unit is None or table.unit.key is None else min(table.unit.max_rows, MOST_EACH)
    count = PEOPLE * each
    values = _values(table, schema, _value)
    return Rows(name, count, values | _links(name, policy, schema, f"(i % {PEOPLE})", "i") | _together(table))


def _her_rows(name: str, policy: Policy, schema: Schema) -> Rows:
    table = policy.tables[name]
    unit = table.unit
    count = 1 if unit is None or unit.key is None else unit.max_rows + HERS
    values = _values(table, schema, _extreme)
    return Rows(name, count, values | _links(name, policy, schema, "20000", "(20000 + i)"))


def _links(name: str, policy: Policy, schema: Schema, person: str, row: str) -> dict[str, str]:
    """Expressions for keys and referenced columns: the person's number, or the row's where the column is no key."""
    table = policy.tables[name]
    unit = table.unit
    found: dict[str, str] = {}
    referred = {
        other.unit.references[1]
        for other in policy.tables.values()
        if other.unit is not None and other.unit.references is not None and other.unit.references[0] == name
    }
    for column in schema.tables[name]:
        domain = table.columns.get(column.name, ColumnPolicy()).domain
        if unit is not None and column.name == unit.key:
            found[column.name] = _numbered(column, domain, _linked(name, policy, person, row))
        elif column.name in referred:
            found[column.name] = _numbered(column, domain, row)
    return found


def _linked(name: str, policy: Policy, person: str, row: str) -> str:
    """The number in a key: the person's, or the row's if the table it refers to is not keyed by the person."""
    unit = policy.tables[name].unit
    if unit is None or unit.references is None:
        return person
    target, column = unit.references
    owner = policy.tables[target].unit
    if owner is not None and column == owner.key:
        return _linked(target, policy, person, row)
    return person if person.startswith("(i") else f"(20000 + i % {HERS})"


def _numbered(column: Column, domain: Domain | None, number: str) -> str:
    """An expression for a value of the column's type that differs for different numbers."""
    if isinstance(domain, Between) and isinstance(domain.low, int) and not isinstance(domain.low, bool):
        return f"{constant(domain.low)} + {number}"
    match _type(column):
        case "SMALLINT" | "INTEGER" | "BIGINT":
            return f"{number} + 1000"
        case "DATE":
            return f"DATE '2000-01-01' + CAST({number} AS INTEGER)"
        case "VARCHAR":
            return f"'u' || {number}"
        case kind:
            return f"CAST({number} AS {kind})"


def _value(column: Column, domain: Domain | None) -> str:
    """An expression for a value of the domain in row ``i``; without a domain, for one of the type."""
    kind = _type(column)
    match domain:
        case Members(values):
            listed = ", ".join(constant(value) for value in values)
            return f"CAST(([{listed}])[1 + (i * 7) % {len(values)}] AS {kind})"
        case References(table, name):
            source = f"(SELECT list({identifier(name)} ORDER BY {identifier(name)}) FROM {identifier(table)})"  # noqa: S608 - names quoted
            return f"{source}[1 + (i * 7) % greatest(1, len({source}))]"
        case Between(low, high):
            return _between(constant(low), constant(high), kind, isinstance(low, int | Fraction))
        case _:
            if kind in _COUNTED:
                return _numbered(column, None, "(i % 5)")
            return f"CAST({_ANY.get(kind, '0') if column.not_null else 'NULL'} AS {kind})"


_COUNTED = {"SMALLINT", "INTEGER", "BIGINT", "DATE", "VARCHAR", "DOUBLE", "REAL"}
_ANY = {
    "BOOLEAN": "TRUE",
    "BLOB": "''",
    "TIMESTAMP": "'2000-01-01'",
    "TIMESTAMPTZ": "'2000-01-01 00:00:00+00'",
}
"""A value for each type; other types take 0."""


def _between(low: str, high: str, kind: str, is_number: bool) -> str:  # noqa: FBT001 - of one caller
    """An expression for a value between two ends, one of a hundred by row."""
    if is_number:
        return f"CAST({low} + ({high} - ({low})) * (((i * 37) % 100) / 100.0) AS {kind})"
    if kind == "DATE":
        return f"{low} + CAST((i * 37) % (1 + least(1000, {high} - {low})) AS INTEGER)"
    return f"CAST({low} + to_seconds(i % 86400) AS {kind})"


def _extreme(column: Column, domain: Domain | None) -> str:
    """An expression that takes in turn the ends of the domain, a value far outside and NULL; mostly the largest."""
    kind = _type(column)
    far = _FAR.get(column.type.oid, "'hers alone'")
    if kind.startswith("DECIMAL"):
        far = f"CAST({'9' * max(1, (column.type.precision or 18) - (column.type.scale or 0))} AS {kind})"
    ends = [far]
    match domain:
        case Between(low, high):
            ends = [constant(high), far, constant(high), constant(low), constant(high)]
        case Members(values):
            ends = [constant(values[0]), constant(values[-1]), constant(values[0]), far]
        case References(table, name):
            ends = [f"(SELECT min({identifier(name)}) FROM {identifier(table)})", far]  # noqa: S608 - names quoted
        case _:
            pass
    if not column.not_null:
        ends.append("NULL")
    cases = " ".join(f"WHEN {n} THEN CAST({end} AS {kind})" for n, end in enumerate(ends[1:], 1))
    first = f"CAST({ends[0]} AS {kind})"
    return first if len(ends) == 1 else f"CASE i % {len(ends)} {cases} ELSE {first} END"


def _together(table: TablePolicy) -> dict[str, str]:
    """Expressions for columns that refer together to one row of a public table."""
    found: dict[str, str] = {}
    for key_set in table.composites:
        for name, referenced in zip(key_set.columns, key_set.referenced, strict=True):
            order = ", ".join(map(identifier, key_set.referenced))
            source = (
                f"(SELECT list({identifier(referenced)} ORDER BY {order}) FROM {identifier(key_set.table)})"  # noqa: S608 - names quoted
            )
            found[name] = f"{source}[1 + (i * 7) % greatest(1, len({source}))]"
    return found
