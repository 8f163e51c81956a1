"""Prepared tables: the rows of a protected table as they count, kept beside the data so that no statement cuts them.

Of each unit at most MAX ROWS rows, chosen by the keyed hash of their content; where other tables refer to one of its
columns, at most one row for each of a unit's values of it, and where they refer by a foreign key, a mark of the row
that stands for a unit's values of that. Columns with bounds are held inside them, and numbers as whole steps of their
lattice besides. What such a table holds follows from the policy alone, and so does its name:
plans are the same whether it was built yet or not.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Self, TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import argument
from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.analysis import duck
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.keys import GroupKey, group_key
from dpproxy.analysis.totality import check_total
from dpproxy.analysis.typed import Steps, Typed
from dpproxy.planner.access import Context
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Declared, Field, HeldField, Identifier, Link
from dpproxy.planner.rows.owners import is_direct, owned
from dpproxy.planner.rows.relation import Scan
from dpproxy.planner.rows.truncation import bounded, is_among, truncated
from dpproxy.policy.documents import columns_of, declared_fields
from dpproxy.policy.model import Between, Domain, TablePolicy, Unit
from dpproxy.values.errors import BoundsMissing
from dpproxy.values.pgtypes import NUMERIC, Column
from dpproxy.values.structs import PartlyCompared, PartlyShown

LAYOUT = 1
"""Goes up when the same policy shall give other tables."""
MOST_RENAMED = 16
"""Sets of names that the fields of one table are kept under."""


class Mapped(HeldField, frozen=True):
    """A declared column that holds its values inside their bounds already, numeric ones as whole steps."""

    domain: Domain
    link: Link | None = None
    steps: str | None = None
    """The column that holds the value in whole steps of its lattice."""

    def read(self, node: exp.Column) -> Typed:
        """The value as it is held."""
        del node
        return _value(self.column, self.domain, self.steps)

    def key(self, at: int | None) -> GroupKey:
        """Exactly the declared values; a row beside them is NULL, which is none of them."""
        key, typed = group_key(self.column, self.domain, at), self.read(exp.column(self.column.name))
        # In parentheses: a bare column would be looked up among the declared values again.
        return self.keyed(replace(key, name=self.name, typed=typed, raw=nodes.Paren(typed.sql)))

    def moved(self, name: str, column: Column) -> Self:
        """The same values in another column; steps that stood beside it stay behind."""
        if column.name == self.column.name:
            return replace(self, name=name, column=column)
        steps = column.name if self.steps == self.column.name else None
        return replace(self, name=name, column=column, steps=steps)


@lru_cache(maxsize=1024)
def _value(column: Column, domain: Domain, steps: str | None) -> Typed:
    """The value as it is held, with its steps in another column, if there is one."""
    typed, raw = read_column(column, domain), duck.column(column.name)
    value: nodes.Expr = raw
    if _is_decimal(column):
        held = typed.sql.type if isinstance(typed.sql, nodes.Cast) else "HUGEINT"
        value = duck.cast(raw, held)
    if steps is None:
        return replace(typed, sql=value, presence=raw, steps=None)
    found, whole = argument(exp.column(column.name), typed), duck.column(steps)
    beside = Steps(value, duck.cast(whole, "BIGINT"), found.unit, found.low, found.high)
    return replace(typed, sql=value, presence=whole, steps=beside)  # NULL alike, and read anyway


class TableLayout(PartlyShown, PartlyCompared, Struct, frozen=True):
    """A prepared table: how it is built, the fields of its columns, the column of the unit, and all columns."""

    HIDDEN = frozenset({"renamed"})
    UNCOMPARED = frozenset({"renamed"})

    table: PreparedTable
    fields: tuple[Field, ...]
    unit: str | None
    columns: tuple[str, ...]
    once: dict[tuple[str, ...], str | None]
    """What others refer to, with the column that marks one row of a unit for each value; None where there are no others
    in the table."""
    renamed: dict[tuple[str, ...], tuple[Field, ...]] = field(default_factory=dict)
    """The fields by the names that statements gave their columns."""

    def under(self, names: dict[str, str]) -> tuple[Field, ...]:
        """The fields with their columns under these names."""
        given = tuple(names.values())
        if given not in self.renamed:
            if len(self.renamed) >= MOST_RENAMED:
                self.renamed.clear()
            self.renamed[given] = tuple(_renamed(f, names) for f in self.fields)
        return self.renamed[given]


def prepared_scan(
    layout: TableLayout, table: TablePolicy, owner: str, alias: str, planning: Planning, *, lone: bool
) -> Scan:
    """The prepared table as an item of FROM, bare where nothing else stands there."""
    if table.unit is None:
        raise AssertionError("a protected table has a unit")
    planning.prepares[layout.table.name] = layout.table
    item: nodes.Item = nodes.Table(layout.table.name, path=(PREPARED, "main"))
    names = {name: planning.reserve(name) for name in layout.columns}
    if not lone or any(name != held for name, held in names.items()):
        renamed = [duck.named(duck.column(name), held) for name, held in names.items()]
        select = nodes.Select(items=tuple(renamed), source=item)
        item = nodes.Subquery(select, planning.reserve("t"))
    return Scan(
        alias,
        item,
        layout.under(names),
        table.name,
        None if layout.unit is None else duck.column(names[layout.unit]),
        owner,
        table.unit.max_rows,
        table.unit.groups,
        held=True,
        content=tuple(duck.column(name) for name in names.values()),
        once={tuple(map(names.__getitem__, of)): mark and names[mark] for of, mark in layout.once.items()},
        whole=True,
    )


def _renamed(field: Field, names: dict[str, str]) -> Field:
    column = replace(field.column, name=names[field.column.name])
    if isinstance(field, Mapped):
        return replace(field, column=column, steps=None if field.steps is None else names[field.steps])
    return field.moved(field.name, column)


def layout_of(table: TablePolicy, fields: Sequence[Field], context: Context) -> TableLayout | None:
    """How a protected table is prepared; ``fields`` are those of the table itself, under its own names.

    None where nothing would be gained: every row is a unit, and no column has bounds.
    """
    unit, policy = table.unit, context.policy
    if unit is None or (unit.key is None and not any(_is_mapped(f) for f in fields)):
        return None
    columns = tuple(c.name for c in columns_of(table, context.schema))
    keys = [f for f in fields if isinstance(f, Declared | Identifier)]
    used = set(columns)
    held: dict[str, nodes.Expr] = {}
    found = tuple(_held(f, held, used) for f in fields)
    referred = sorted(f.column.name for f in keys if f.referred)
    once: dict[tuple[str, ...], str | None] = {(name,): None for name in referred}
    source: nodes.Item = stored_rows(table.name, declared_fields(table))
    resolved = None
    if unit.key is not None:
        resolved = _free("unit", used)
        source = _cut(
            owned(policy, table, unit, {c: c for c in columns}, resolved), resolved, unit, columns, referred
        )
        if is_direct(policy, unit):  # the key itself is the unit
            resolved = unit.key
        held.setdefault(resolved, duck.column(resolved))
        for key in sorted({p.key.referenced for f in keys for p in f.parts if p.is_target} - once.keys()):
            once[key] = mark = _free("once", used)
            within, content = list(map(duck.column, key)), list(map(duck.column, columns))
            held[mark] = is_among(1, duck.column(resolved), content, within=within)
    select = nodes.Select(items=tuple(duck.named(e, n) for n, e in held.items()), source=source)
    parameters = check_total(select)
    digest = hashlib.sha256(f"{LAYOUT}/{policy.data_version}/{duck.text(select)}".encode()).hexdigest()
    kept = PreparedTable(f"t{digest[:24]}", table.name, select, truncated=1 in parameters)
    return TableLayout(kept, found, resolved, tuple(held), once)


def _cut(
    rows: nodes.Select, resolved: str, unit: Unit, columns: Sequence[str], referred: Sequence[str]
) -> nodes.Subquery:
    """At most MAX ROWS rows of each unit, of those with one value that others refer to one."""
    whose, content = duck.column(resolved), [duck.column(c) for c in columns]
    source = bounded(rows)
    for name in referred:
        source = bounded(truncated(source, whose, content, 1, within=[duck.column(name)]))
    return bounded(truncated(source, whose, content, unit.max_rows))


def _is_mapped(field: Field) -> TypeGuard[Declared]:
    """Held inside its bounds; keys stay as they are, for they are compared with each other."""
    return (
        isinstance(field, Declared) and isinstance(field.domain, Between) and not (field.link or field.parts)
    )


def _held(field: Field, held: dict[str, nodes.Expr], used: set[str]) -> Field:
    """The field as the prepared table has it; its columns are added to those that are held."""
    name = field.column.name
    if not _is_mapped(field):
        held[name] = duck.column(name)
        return field
    mapped = Mapped(field.name, field.column, field.domain)
    try:
        typed = read_column(field.column, field.domain)
    except BoundsMissing:  # too wide for exact arithmetic: refused where it is read
        held[name] = duck.column(name)
        return field
    try:
        steps = argument(exp.column(name), typed) if typed.is_number else None
    except BoundsMissing:  # too wide for exact sums: refused where it is summed
        steps = None
    if steps is None:
        held[name] = typed.sql
        return mapped
    if typed.scale is not None:
        held[name] = steps.sql if _is_decimal(field.column) else typed.sql
        return replace(mapped, steps=name)
    held[name] = typed.sql
    beside = _free(f"{name}_steps", used)
    held[beside] = steps.sql
    return replace(mapped, steps=beside)


def _is_decimal(column: Column) -> bool:
    """Held as a whole number of its last digit."""
    return column.type.oid == NUMERIC.oid


def _free(name: str, used: set[str]) -> str:
    """A name that no column has, whatever the case of its letters."""
    found, number, taken = name, 0, {u.lower() for u in used}
    while found.lower() in taken:
        number += 1
        found = f"{name}_{number}"
    used.add(found)
    return found
