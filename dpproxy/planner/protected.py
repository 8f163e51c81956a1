"""The query of a protected view: one row for each privacy unit, every column inside a declared domain.

It is planned as a subquery is, by the same proof of whose rows they are, and compiled to one statement that gives the
rows as numbers. That statement is the view's alone: nothing that analysts send ever becomes one.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import argument
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Parameters
from dpproxy.analysis.typed import Typed
from dpproxy.anonymize.model import Together
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context, find_owner
from dpproxy.planner.keys.keysets import MOST
from dpproxy.planner.open.protected_views import check_masked
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.exact import rows_sql
from dpproxy.planner.release.pricing import ANY_TERMS
from dpproxy.planner.rewrites.documents import with_casts
from dpproxy.planner.rows.fields import Declared, Field, Identifier
from dpproxy.planner.rows.owners import is_direct
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.planner.rows.sources import Env, Relation
from dpproxy.planner.select_list import is_star
from dpproxy.policy.model import (
    ColumnClass,
    Composite,
    Domain,
    Members,
    Policy,
    References,
    Scalar,
    TablePolicy,
    Taxonomic,
)
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.days import MICROSECOND, micros, midnight
from dpproxy.values.errors import BoundsMissing, InvalidParameter, NotGranted, UnitLost
from dpproxy.values.pgtypes import BOOL, DATE, FLOAT8, FLOATS, NUMERIC, TEXT, TIMESTAMP, SqlType
from dpproxy.views.columns import Listed, MomentColumn, NumberColumn, PlacesOf, ViewColumn

Plan = Callable[[exp.Expr, str, Planning, Env], Relation]
MOST_COLUMNS = 64


class RowsQuery(Struct, frozen=True, kw_only=True):
    """The statement of the rows that a view or a cube is made of.

    ``query`` takes the truncation secret as parameter 1 where ``truncated``. ``owner`` is the table that owns the unit,
    ``tables`` are the protected ones it reads, ``left_out`` names columns that ``*`` stands for and nobody is shown.
    """

    query: nodes.Select
    truncated: bool
    owner: TablePolicy
    tables: tuple[str, ...]
    expected_rows: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The query as DuckDB's SQL."""
        return duck.text(self.query)


class ViewQuery(RowsQuery, frozen=True, kw_only=True):
    """What a view is made of: its rows, and its columns in that order."""

    columns: tuple[ViewColumn, ...]
    together: tuple[Together, ...] = ()
    """The combinations of values that the policy declares, of columns under their own names."""

    @property
    def shown(self) -> tuple[ViewColumn, ...]:
        """The columns of what is released: those of the query."""
        return self.columns

    @property
    def digest(self) -> str:
        """Of what the rows of the view are, and whose."""
        return hashlib.sha256(repr((self.sql, self.columns, self.owner.name)).encode()).hexdigest()


def view_query(name: str, query: str, context: Context, plan: Plan) -> ViewQuery:
    """Compile the query of a view. Raises a ``Refusal``; nothing is read but public tables."""
    tree = with_casts(accept(parse(query)), context.policy)
    planning = Planning(context, Parameters(), ANY_TERMS)
    node = exp.Table(this=exp.to_identifier(name, quoted=True))
    found = plan(tree, name, planning, Env(plan=plan, view=node))
    if planning.drafts or planning.inputs or not isinstance(found, Scan):
        raise _released(planning, tree)
    check_masked(planning)
    owner = find_owner(planning.tables, context)
    tables = tuple(dict.fromkeys(use.table for use in planning.tables))
    _check_rows(found, context.policy, tree)
    columns, left_out = _columns(found, planning, starred=_is_starred(tree))
    rows = JoinedRows(
        (found,),
        found.unit,
        owner.name,
        found.most,
        found.groups,
        found.held,
        found.content,
        present=found.present,
    )
    exact = rows_sql(rows, [(sql, f"c{i}") for i, (_, sql) in enumerate(columns)])
    return ViewQuery(
        query=exact.query,
        truncated=1 in exact.parameters,
        columns=tuple(column for column, _ in columns),
        owner=owner,
        tables=tables,
        expected_rows=_expected(found, owner, tables, context.policy),
        left_out=left_out,
        together=tuple(_together([column for column, _ in columns], found, tables, planning)),
    )


def _released(planning: Planning, tree: exp.Expr) -> UnitLost | InvalidParameter:
    if not planning.tables:
        return InvalidParameter(
            "the view's query reads no protected table",
            hint="What is nobody's needs no protection: an administrator declares it PUBLIC.",
            position=position(tree),
        )
    return UnitLost(
        "the view's query releases values instead of rows",
        detail="A view is made of one row for each privacy unit.",
        hint="Select columns of the table; where a person has several rows, their average, grouped by the privacy key.",
        position=position(tree),
    )


def _check_rows(scan: Scan, policy: Policy, tree: exp.Expr) -> None:
    """One row for each unit, by what is declared."""
    if scan.is_empty:
        raise InvalidParameter("the view's query has no rows, whatever the data", position=position(tree))
    if scan.most <= 1:
        return
    unit = policy.tables[scan.table].unit if scan.table in policy.tables else None
    fix = "join on columns that are unique in the public table, or GROUP BY the key of each person"
    if unit is not None and unit.key is not None and is_direct(policy, unit):
        key = identifier(unit.key)
        fix = f"take averages FROM {table_text(scan.table)} GROUP BY {key}, which makes one of each"
    raise UnitLost(
        f"one privacy unit can have {scan.most} rows of the view's query, and a view takes one of each",
        hint=f"{fix[0].upper()}{fix[1:]}.",
        position=position(tree),
    )


def _is_starred(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Select) and any(is_star(e) for e in tree.expressions)


def _columns(
    scan: Scan, planning: Planning, *, starred: bool
) -> tuple[list[tuple[ViewColumn, nodes.Expr]], tuple[str, ...]]:
    """The columns with what gives them; identifiers that ``*`` stands for are left out, others refused."""
    found: list[tuple[ViewColumn, nodes.Expr]] = []
    left_out: list[str] = []
    for field in scan.fields:
        if _identifies(field):
            if not starred:
                raise NotGranted(
                    f'column "{field.name}" tells people apart and is part of no view',
                    hint="Leave it out of the view's SELECT.",
                )
            left_out.append(field.name)
            continue
        if any(field.name == column.name for column, _ in found) or field.name == "?column?":
            raise InvalidParameter(
                f'two columns of the view are named "{field.name}", or one has no name',
                hint="Name each of them with AS.",
            )
        found.append(_column(field, planning))
    if not found or len(found) > MOST_COLUMNS:
        raise InvalidParameter(f"a view has from 1 to {MOST_COLUMNS} columns, this one has {len(found)}")
    return found, tuple(left_out)


def _identifies(field: Field) -> bool:
    if isinstance(field, Identifier):
        return True
    return isinstance(field, Declared) and (field.is_unit or field.column_class is ColumnClass.IDENTIFIER)


def _column(field: Field, planning: Planning) -> tuple[ViewColumn, nodes.Expr]:
    node = exp.column(field.name)
    kind = field.column_class if isinstance(field, Declared) else None
    if isinstance(field, Declared) and isinstance(field.domain, Taxonomic):
        return _concepts(field, field.domain, planning)
    is_listed = isinstance(field, Declared) and isinstance(field.domain, Members)
    typed = field.read(node)
    made: tuple[PlacesOf, nodes.Expr]
    if typed.is_number and (not is_listed or typed.scale is None):
        built = argument(node, typed)
        made = NumberColumn.of(built.low, built.high, built.unit), built.sql
    elif typed.is_moment and not is_listed:
        made = _since(field, typed)
    else:
        made = _listed(field)
    places, sql = made
    shown = shown_type(typed)
    nullable = isinstance(places, NumberColumn) and typed.nullable
    return ViewColumn(field.name, shown, places, duck.text(sql), kind, nullable), sql


def shown_type(typed: Typed) -> SqlType:
    """Computed numbers without a last digit are shown as floats, decimals with theirs."""
    if typed.is_number and typed.scale is None:
        return FLOAT8
    if typed.type.oid == NUMERIC.oid:
        return NUMERIC.with_precision(38, typed.scale or 0)
    return typed.type if typed.is_number or typed.type.oid in _AS_THEY_ARE else TEXT


def _listed(field: Field) -> tuple[Listed, nodes.Expr]:
    key = field.key(None)
    is_ordered = key.type.oid in ORDERED or key.typed.is_number
    return Listed(key.values, is_ordered), key.raw


def _since(field: Field, typed: Typed) -> tuple[MomentColumn, nodes.Expr]:
    """Days, or microseconds in steps that make no more than a lattice has, from the first declared moment."""
    if typed.first is None or typed.last is None:
        raise BoundsMissing(
            f'column "{field.name}" has no declared bounds',
            hint="An administrator declares them with DOMAIN BETWEEN.",
        )
    first, last = midnight(typed.first), midnight(typed.last)
    if typed.type.oid == DATE.oid:
        high = (last - first).days
        sql = duck.cast(duck.binary("-", typed.sql, duck.constant(first.date())), "BIGINT")
    else:
        high = (last - first) // MICROSECOND
        start = duck.integer(micros(first))
        sql = duck.binary("-", duck.call("epoch_us", typed.sql), start)
    steps = NumberColumn.of(0, high, _ONE)
    return MomentColumn(0, high, _ONE, steps.step, first), sql


def _concepts(field: Declared, domain: Taxonomic, planning: Planning) -> tuple[ViewColumn, nodes.Expr]:
    """The codes of the taxonomy, and the places of each one's parents."""
    taxonomy = planning.context.policy.taxonomies[domain.taxonomy]
    code = duck.column(taxonomy.code)
    pairs = planning.context.facts(
        nodes.Select(
            (code, duck.column(taxonomy.parent)),
            nodes.Table(taxonomy.table),
            where=nodes.Not(nodes.IsNull(code)),
            order=duck.BY_ALL,
            distinct=True,
        )
    )
    values = tuple(dict.fromkeys(row[0] for row in pairs))
    place = {value: index for index, value in enumerate(values)}
    parents: list[list[int]] = [[] for _ in values]
    for concept, above in pairs:
        if above is None:
            continue
        if above not in place:
            raise InvalidParameter(
                f'taxonomy "{taxonomy.name}": a parent is no code of table "{taxonomy.table}"',
                hint="Each concept is a code of its own, the root too, with NULL for its parent.",
            )
        parents[place[concept]].append(place[above])
    key = replace(field, domain=domain).key(None)
    listed = Listed(values, parents=tuple(tuple(p) for p in parents))
    column = ViewColumn(field.name, shown_type(key.typed), listed, duck.text(key.raw), field.column_class)
    return column, key.raw


def _together(
    columns: Sequence[ViewColumn], scan: Scan, tables: Sequence[str], planning: Planning
) -> Iterator[Together]:
    """What DOMAIN (a, b) REFERENCES declares of a view of one table, in places of its columns."""
    names = [column.name for column in columns]
    table = planning.context.policy.tables[tables[0]]
    for composite in table.composites if len(tables) == 1 else ():
        fields = [scan.find(name) for name in composite.columns]
        declared = [_domain_of(table, composite, name) for name in composite.columns]
        if not all(isinstance(f, Declared) and f.domain == d for f, d in zip(fields, declared, strict=True)):
            continue
        rows = planning.context.facts(duck.distinct(nodes.Table(composite.table), composite.referenced, MOST))
        places = tuple(names.index(name) for name in composite.columns)
        of = [_place_of(columns[place]) for place in places]
        found = [tuple(f(value) for f, value in zip(of, row, strict=True)) for row in rows]
        values = tuple(row for row in found if None not in row)
        if values and len(rows) < MOST:
            yield Together(places, values)  # type: ignore[arg-type]


def _domain_of(table: TablePolicy, composite: Composite, name: str) -> Domain:
    own = table.columns.get(name)
    referenced = composite.referenced[composite.columns.index(name)]
    return (None if own is None else own.domain) or References(composite.table, referenced)


def _place_of(column: ViewColumn) -> Callable[[Scalar | None], int | None]:
    """The place of a value of the referenced column; None where it has none."""
    places = column.places
    if isinstance(places, Listed):
        return {value: place for place, value in enumerate(places.values)}.get
    if isinstance(places, MomentColumn) or places.step != 1:
        return lambda _: None

    def place(value: Scalar | None) -> int | None:
        number = (
            None if value is None or isinstance(value, bool | str | date) else Fraction(value) / places.unit
        )
        inside = number is not None and number.denominator == 1 and places.low <= number <= places.high
        return int(number) - places.low if inside and number is not None else None

    return place


def _expected(scan: Scan, owner: TablePolicy, tables: Sequence[str], policy: Policy) -> int | None:
    """How many rows the owner of the data expects: units, or rows where each is one."""
    if scan.unit is not None:
        return owner.expected_rows
    declared = policy.tables.get(tables[0])
    return None if declared is None else declared.expected_rows


_ANY = Fraction(1, 10**6)
_ONE = Fraction(1)
_AS_THEY_ARE = frozenset({BOOL.oid, DATE.oid, TIMESTAMP.oid, *FLOATS})
ORDERED = frozenset({BOOL.oid, DATE.oid, TIMESTAMP.oid})
"""Types whose order means something, beside those of numbers."""
