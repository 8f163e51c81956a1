"""What a caller may know of the data source: tables, declared columns, roles. All of it follows from the policy."""

from dpproxy import relations
from dpproxy.pgcatalog.view import CatalogueView, Relation
from dpproxy.pgtypes import Column, Schema
from dpproxy.plan import Caller, Settings
from dpproxy.policy.model import Exposure, Policy, TablePolicy


def visible(
    policy: Policy, schema: Schema, caller: Caller, settings: Settings, database: str
) -> CatalogueView:
    """The catalogue as this caller sees it."""
    tables = [t for t in policy.tables.values() if t.name in schema.tables and _is_visible(t, policy, caller)]
    found = [Relation(t.name, _columns(t, schema)) for t in sorted(tables, key=lambda t: t.name)]
    own = tuple(Relation(name, columns, "v") for name, columns in relations.OWN.items())
    roles = sorted({"admin", *caller.roles, *(g.role for g in policy.grants if caller.is_admin)})
    return CatalogueView(database, caller.user, tuple(roles), tuple(found), settings, policy.version, own)


def _is_visible(table: TablePolicy, policy: Policy, caller: Caller) -> bool:
    match table.exposure:
        case Exposure.HIDDEN:
            return False
        case Exposure.PUBLIC:
            return True
        case Exposure.PROTECTED:
            granted = any(g.table == table.name and g.role in caller.roles for g in policy.grants)
            return granted or caller.is_admin


def _columns(table: TablePolicy, schema: Schema) -> tuple[Column, ...]:
    declared = {name for name, column in table.columns.items() if column.domain is not None}
    everything = table.exposure is Exposure.PUBLIC
    return tuple(c for c in schema.tables[table.name] if everything or c.name in declared)
