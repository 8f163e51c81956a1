"""The part of the data source that a caller may see in the catalogue. It follows from the policy alone."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Caller, Settings
from dpproxy.engine import relations
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView
from dpproxy.planner.access import Context, Facts
from dpproxy.planner.exactly import visible_columns
from dpproxy.planner.query import view_columns
from dpproxy.policy.documents import columns_of
from dpproxy.policy.model import Exposure, Policy, TablePolicy, Unit
from dpproxy.policy.units import unanswerable
from dpproxy.policy.usable import usable
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import CheckConstraint, Column, ForeignKey, Schema, UniqueKey
from dpproxy.views.materialized import Materialized

Views = Mapping[str, tuple[Column, ...]]
"""The columns of the views that can be used, by name."""


class Fitting(Struct, frozen=True):
    """The part of a stored policy that fits the data, the usable views, and a line for each thing left out."""

    policy: Policy
    views: Views
    lines: tuple[str, ...]


def fitting(stored: Policy, schema: Schema, settings: Settings, facts: Facts) -> Fitting:
    """Compare a stored policy with the schema. A granted view is hidden where planning it by itself is refused."""
    policy, lines = usable(stored, schema)
    context = Context(policy, schema, Caller("", frozenset(), ""), settings, None, facts)
    found: dict[str, tuple[Column, ...]] = {}
    known = schema.tables.keys() | stored.tables.keys() | stored.views.keys()
    for name in sorted({g.table for g in stored.grants} - known):
        view = schema.views.get(name)
        try:
            if view is not None and view.flaw is None:
                found[name] = view_columns(name, context)
                continue
            reason = "it does not exist" if view is None else view.flaw
        except Refusal as refusal:
            reason = refusal.message.removeprefix(f'view "{name}": ')
        lines.append(f'view "{name}" stays hidden: {reason}')
    lines += unanswerable(policy)
    grants = tuple(g for g in policy.grants if g.table in found or g.table not in schema.views)
    return Fitting(replace(policy, grants=grants), found, tuple(lines))


def catalogue_view(
    policy: Policy,
    schema: Schema,
    caller: Caller,
    settings: Settings,
    database: str,
    views: Views,
    built: Mapping[str, Materialized],
) -> CatalogueView:
    """The catalogue as this caller sees it."""
    tables = [t for t in policy.tables.values() if t.name in schema.tables and _is_visible(t, policy, caller)]
    exact = policy.exact_to(caller.roles)
    found = [
        CatalogueRelation(t.name, visible_columns(policy, t.name, schema.tables[t.name]))
        if t.name in exact
        else _of_table(t, schema, policy)
        for t in tables
    ]
    found += [
        CatalogueRelation(v, columns, "v") for v, columns in views.items() if _is_shown(v, policy, caller)
    ]
    found += [_built(v) for v in built.values() if _is_shown(v.view, policy, caller)]
    found = [_placed(relation, schema) for relation in _with_keys(found, policy, schema)]
    own = tuple(CatalogueRelation(name, columns, "v") for name, columns in relations.OWN.items())
    roles = sorted({"admin", *caller.roles, *(g.role for g in policy.grants if caller.is_admin)})
    known = tuple(roles), tuple(found), settings, policy.version, own
    held = tuple(sorted(caller.roles))
    return CatalogueView(database, caller.user, *known, process=caller.process, caller_roles=held)


def _placed(relation: CatalogueRelation, schema: Schema) -> CatalogueRelation:
    """The relation under its name in its own schema."""
    place = schema.places.get(relation.name)
    return relation if place is None else replace(relation, schema=place[0], name=place[1])


def _built(view: Materialized) -> CatalogueRelation:
    """A protected view, or a relation beside it, with its guarantee.

    The catalogue shows it as an ordinary view: most tools list views from information_schema, which has no materialized
    views.
    """
    columns = tuple(Column(c.name, c.type) for c in view.columns)
    return CatalogueRelation(view.name, columns, "v", view.guarantee)


def _of_table(table: TablePolicy, schema: Schema, policy: Policy) -> CatalogueRelation:
    columns = _columns(table, schema, policy)
    if table.unit is None:
        return CatalogueRelation(table.name, columns)
    domains = {name: column.domain for name, column in table.columns.items()}
    declared = tuple((c.name, d) for c in columns if (d := domains.get(c.name)) is not None)
    return CatalogueRelation(table.name, columns, comment=_comment(table.unit), declared=declared)


def _with_keys(found: list[CatalogueRelation], policy: Policy, schema: Schema) -> list[CatalogueRelation]:
    """The relations in order of their names, with the keys whose columns are all visible."""
    seen = {relation.name: {column.name for column in relation.columns} for relation in found}
    keys: dict[str, dict[UniqueKey | ForeignKey, None]] = {name: {} for name in seen}
    for key in (*_declared(schema), *_of_units(policy)):
        if key.table in seen and seen[key.table].issuperset(key.columns) and _refers(key, seen):
            keys[key.table].setdefault(key)
    ordered = sorted(found, key=lambda relation: relation.name)
    return [replace(relation, keys=_distinct(keys[relation.name])) for relation in ordered]


def _declared(schema: Schema) -> Iterator[UniqueKey | ForeignKey]:
    return (one for one in schema.constraints if not isinstance(one, CheckConstraint))


def _of_units(policy: Policy) -> Iterator[UniqueKey | ForeignKey]:
    """Keys that the policy implies: a unit with MAX ROWS 1 is unique, and REFERENCES is a foreign key."""
    for table in policy.tables.values():
        unit = table.unit
        if unit is None or unit.key is None:
            continue
        if unit.max_rows == 1:
            yield UniqueKey(table.name, (unit.key,))
        if unit.references is not None:
            target, column = unit.references
            yield ForeignKey(table.name, (unit.key,), target, (column,))
        yield from table.foreign_keys


def _refers(key: UniqueKey | ForeignKey, seen: Mapping[str, set[str]]) -> bool:
    """Whether the columns that a foreign key refers to are visible; True for other keys."""
    return isinstance(key, UniqueKey) or seen.get(key.target, set()).issuperset(key.referenced)


def _distinct(keys: Iterable[UniqueKey | ForeignKey]) -> tuple[UniqueKey | ForeignKey, ...]:
    """One key for each set of columns, preferably the primary one: policy and schema may declare the same key."""
    found: dict[tuple[object, ...], UniqueKey | ForeignKey] = {}
    for key in keys:
        same = (frozenset(key.columns), key.target if isinstance(key, ForeignKey) else None)
        if same not in found or (isinstance(key, UniqueKey) and key.primary):
            found[same] = key
    return tuple(found.values())


def _comment(unit: Unit) -> str:
    """The table's comment in the catalogue: its privacy unit."""
    rows = f", at most {unit.max_rows} row{'s' if unit.max_rows > 1 else ''} of this table"
    owner = f" of {unit.references[0]}" if unit.references else ""
    one = "one row" if unit.key is None else f"one {unit.key}{owner}{rows}"
    return f"Answered with noise; privacy unit: {one}."


def _is_visible(table: TablePolicy, policy: Policy, caller: Caller) -> bool:
    match table.exposure:
        case Exposure.HIDDEN:
            return False
        case Exposure.PUBLIC:
            return True
        case Exposure.PROTECTED:
            return _is_shown(table.name, policy, caller)


def _is_shown(name: str, policy: Policy, caller: Caller) -> bool:
    granted = {(g.table, g.role) for g in policy.grants} | {(g.table, g.role) for g in policy.exact}
    return caller.is_admin or any((name, role) in granted for role in caller.roles)


def _columns(table: TablePolicy, schema: Schema, policy: Policy) -> tuple[Column, ...]:
    columns = columns_of(table, schema)
    return columns if table.exposure is Exposure.PUBLIC else visible_columns(policy, table.name, columns)
