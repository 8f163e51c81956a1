"""Tables as items of FROM: protected ones with their unit resolved, public ones as they are."""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.analysis import duck
from dpproxy.analysis.keys import MOST_KEYS, Values, check_size
from dpproxy.analysis.scopes import Parameters
from dpproxy.analysis.typed import Typed
from dpproxy.planner.access import Context
from dpproxy.planner.planning import Planning
from dpproxy.planner.prepared import TableLayout, layout_of, prepared_scan
from dpproxy.planner.release.pricing import ANY_TERMS
from dpproxy.planner.rows.fields import Declared, Field, Identifier, KeyPart, PresenceField, Public
from dpproxy.planner.rows.owners import is_direct, owned, owner_link, present, unit_link
from dpproxy.planner.rows.relation import Scan
from dpproxy.policy.documents import columns_of, declared_fields
from dpproxy.policy.model import Between, Domain, Exposure, Members, Policy, References, Scalar, TablePolicy
from dpproxy.policy.units import are_of_one_unit, unit_table
from dpproxy.values.errors import BoundsMissing
from dpproxy.values.pgtypes import DATE, FLOATS, NUMERIC, PLAIN, TEXTS, TIMESTAMPTZ, Column


def protected_scan(table: TablePolicy, alias: str, planning: Planning, *, lone: bool) -> Scan:
    """A protected table.

    ``lone`` where nothing else stands in FROM and the table can be read bare.
    """
    unit = table.unit
    if unit is None:
        raise AssertionError("a protected table has a unit")
    policy = planning.context.policy
    owner = unit_table(policy, table.name)
    layout = prepared_layout(table, planning)
    if layout is not None:
        return prepared_scan(layout, table, owner.name, alias, planning, lone=lone)
    columns = columns_of(table, planning.context.schema)
    direct = unit.key is None or is_direct(policy, unit)
    groups = unit.groups
    if lone and direct:
        for column in columns:
            planning.reserve(column.name)
        return Scan(
            alias,
            stored_rows(table.name, declared_fields(table)),
            _fields(table, owner, columns, planning, {}),
            table.name,
            None if unit.key is None else duck.column(unit.key),
            owner.name,
            unit.max_rows,
            groups,
            present=() if unit.key is None else present(unit),
            content=tuple(duck.column(c.name) for c in columns),
            whole=True,
        )
    names = {c.name: planning.reserve(c.name) for c in columns}
    content = tuple(duck.column(name) for name in names.values())
    if unit.key is None:
        renamed = [duck.named(duck.column(c), name) for c, name in names.items()]
        base = stored_rows(table.name, declared_fields(table))
        select, resolved = nodes.Select(items=tuple(renamed), source=base), None
    else:
        resolved = duck.column(planning.reserve("unit"))
        select = owned(policy, table, unit, names, resolved.name)
    return Scan(
        alias,
        nodes.Subquery(select, planning.reserve("t")),
        _fields(table, owner, columns, planning, names),
        table.name,
        resolved,
        owner.name,
        unit.max_rows,
        groups,
        held=unit.key is None,
        content=content,
        whole=True,
    )


def column_names(table: TablePolicy, planning: Planning) -> frozenset[str]:
    """What a statement can name in a table: all of a public one; what else a protected one holds is as if not there."""
    context = planning.context
    columns = columns_of(table, context.schema)
    if is_public(table):
        return frozenset(c.name for c in columns)
    return frozenset(
        f.name for f in _fields(table, unit_table(context.policy, table.name), columns, planning, {})
    )


def prepared_layout(table: TablePolicy, planning: Planning) -> TableLayout | None:
    """How a protected table is prepared; None where it is read as it is."""
    context = planning.context
    if context.prepared is None:
        return None
    if table.name not in context.prepared:
        columns = columns_of(table, context.schema)
        fields = _fields(table, unit_table(context.policy, table.name), columns, planning, {})
        context.prepared[table.name] = layout_of(table, fields, context)
    found = context.prepared[table.name]
    return found if isinstance(found, TableLayout) else None


def prepared_names(context: Context) -> frozenset[str]:
    """The names of all prepared tables of a policy."""
    planning, policy = Planning(context, Parameters(), ANY_TERMS), context.policy
    protected = [t for t in policy.tables.values() if t.unit is not None and t.name in context.schema.tables]
    layouts = [prepared_layout(t, planning) for t in protected]
    return frozenset(found.table.name for found in layouts if found is not None)


def _fields(
    table: TablePolicy,
    owner: TablePolicy,
    columns: tuple[Column, ...],
    planning: Planning,
    names: dict[str, str],
) -> tuple[Field, ...]:
    """The declared columns, the key, and what other tables refer to; what else the table holds is as if not there."""
    policy = planning.context.policy
    targets = {t.unit.references for t in policy.tables.values() if t.unit is not None}
    found: list[Field] = []
    together = {
        c: References(k.table, r)
        for k in table.composites
        for c, r in zip(k.columns, k.referenced, strict=True)
    }
    for column in columns:
        own = table.unit is not None and table.unit.key == column.name  # where it is NULL, rows are not read
        refers = own and table.unit is not None and table.unit.references is not None
        referred = not own and (table.name, column.name) in targets
        link = unit_link(policy, table.name, column.name) if own or referred else None
        parts = tuple(_parts(policy, table, column.name))
        declared = table.columns.get(column.name)
        domain = declared.domain if declared is not None else None
        domain = domain or together.get(column.name)
        is_unit = link is not None and link == owner_link(owner)
        filled = (
            isinstance(domain, Between) and domain.not_null and link is None and not parts
        )  # keys are compared as they are
        held = Column(names.get(column.name, column.name), column.type, column.not_null or own or filled)
        if domain is not None and column.type.oid in PLAIN and not _is_bounded(column, domain):
            found.append(PresenceField(column.name, held))
        elif domain is not None:
            kind = None if declared is None else declared.column_class
            told = Declared(column.name, held, domain, link, _Lookup(planning), kind)
            found.append(replace(told, is_unit=is_unit, refers=refers, referred=referred, parts=parts))
        elif link is not None or parts:
            key = Identifier(column.name, held, link, table.name)
            found.append(replace(key, is_unit=is_unit, refers=refers, referred=referred, parts=parts))
    return tuple(found)


def _parts(policy: Policy, table: TablePolicy, column: str) -> Iterator[KeyPart]:
    """The places of a column in foreign keys: those of its own table, and those of others that refer to this one."""
    for other in policy.tables.values():
        for key in other.foreign_keys:
            own = key.table == table.name and column in key.columns
            like = key.target == table.name and column in key.referenced
            if (own or like) and are_of_one_unit(policy, key.table, key.target):
                if own:
                    yield KeyPart(key, key.columns.index(column), is_target=False)
                if like:
                    yield KeyPart(key, key.referenced.index(column), is_target=True)


def _is_bounded(column: Column, domain: Domain) -> bool:
    """A moment with a time zone inside declared ends: beside rows it is a timestamp of UTC."""
    return column.type.oid == TIMESTAMPTZ.oid and isinstance(domain, Between | Members)


class _Lookup(Struct, frozen=True):
    """What the facts say of public columns."""

    planning: Planning

    def __call__(self, table: str, column: str, most: int) -> tuple[Scalar | None, ...]:
        """The values of one."""
        return _distinct(self.planning, nodes.Table(table), column, most + 1)  # NULL may be one of them

    def ends(self, table: str, column: str) -> tuple[Scalar, Scalar] | None:
        """Its first and last whole number or day, None where one between them is missing."""
        own = duck.column(column)
        figures = duck.call("min", own), duck.call("max", own), nodes.Call("count", (own,), distinct=True)
        [[low, high, count]] = self.planning.context.facts(nodes.Select(figures, nodes.Table(table)))
        if type(low) is date and type(high) is date:
            return (low, high) if (high - low).days + 1 == count else None
        if type(low) is int and type(high) is int:
            return (low, high) if high - low + 1 == count else None
        return None


def public_scan(table: TablePolicy, alias: str, planning: Planning) -> Scan:
    """A public table under names of its own."""
    columns = planning.context.schema.tables[table.name]
    base = nodes.Table(table.name)
    names = {c.name: planning.reserve(c.name) for c in columns}
    select = nodes.Select(
        items=tuple(duck.named(duck.column(c.name), names[c.name]) for c in columns), source=base
    )
    fields = tuple(
        PresenceField(c.name, Column(names[c.name], c.type, c.not_null))
        if c.type.oid in PLAIN
        else Public(
            c.name,
            Column(names[c.name], c.type, c.not_null),
            partial(_shape, planning, base, c),
            partial(_keys, planning, base, c),
        )
        for c in columns
    )
    content = tuple(duck.column(names[c.name]) for c in columns)
    return Scan(
        alias, nodes.Subquery(select, planning.reserve("t")), fields, table.name, content=content, held=True
    )


def is_public(table: TablePolicy) -> bool:
    """Whether a table is nobody's."""
    return table.exposure is Exposure.PUBLIC


def public_value(column: Column, name: str) -> Typed:
    """A public column in the form expressions take."""
    raw: nodes.Expr = duck.column(name)
    kind = column.type
    if kind.oid in FLOATS:
        return Typed(duck.cast(raw, "DOUBLE"), kind, None)
    if kind.oid == NUMERIC.oid and kind.scale:
        wide = duck.binary("*", duck.cast(raw, f"DECIMAL(38, {kind.scale})"), duck.integer(10**kind.scale))
        return Typed(duck.cast(wide, "HUGEINT"), kind, kind.scale)
    return Typed(raw, kind, 0)


def _shape(planning: Planning, source: nodes.Item, column: Column, name: str) -> Typed:
    """The value with bounds that are facts of a column that is held under a name."""
    return with_facts(public_value(column, name), planning, source, column.name)


def with_facts(typed: Typed, planning: Planning, source: nodes.Item, column: str, step: int = 1) -> Typed:
    """A value with bounds that are facts of a public column: its least and greatest value or day, its longest text.

    The column counts numbers in steps of which ``step`` are 1.
    """
    own = duck.column(column)
    if typed.type.oid in TEXTS and typed.longest is None:
        length = duck.call("max", duck.call("length", own))
        [[longest]] = planning.context.facts(nodes.Select((length,), source))
        return replace(typed, longest=longest if isinstance(longest, int) else 0)
    ends = nodes.Select((duck.call("min", own), duck.call("max", own)), source)
    if typed.is_number and None in (typed.low, typed.high):
        [[low, high]] = planning.context.facts(ends)
        if isinstance(low, bool) or not _finite(low) or not _finite(high):
            return typed
        return replace(typed, low=Fraction(low) / step, high=Fraction(high) / step)  # type: ignore[arg-type]
    if typed.type.oid == DATE.oid and typed.first is None:
        [[first, last]] = planning.context.facts(ends)
        if type(first) is date and type(last) is date and date.min < first <= last < date.max:
            return replace(typed, first=first, last=last)
    return typed


def _finite(value: object) -> bool:
    if type(value) is int:
        return True
    try:
        Fraction(str(value))
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _keys(planning: Planning, source: nodes.Item, column: Column, at: int | None) -> Values:
    if column.type.oid in FLOATS:
        raise BoundsMissing(
            f'column "{column.name}" has no declared set of keys',
            hint="Group by a text or a whole number.",
            position=at,
        )
    values = _distinct(planning, source, column.name, MOST_KEYS + 1)
    check_size(len(values), at)
    scale = column.type.scale or 0
    if scale:
        return tuple(None if v is None else int(Fraction(v) * 10**scale) for v in values)  # type: ignore[arg-type]
    return values


def _distinct(planning: Planning, source: nodes.Item, column: str, most: int) -> tuple[Scalar | None, ...]:
    return tuple([row[0] for row in planning.context.facts(duck.distinct(source, [column], most))])
