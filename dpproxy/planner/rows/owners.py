"""Whose rows they are: the privacy unit of a row, found through the declared references."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.analysis import duck
from dpproxy.planner.rows.fields import Link
from dpproxy.policy.documents import declared_fields
from dpproxy.policy.model import Policy, TablePolicy, Unit


def unit_link(policy: Policy, table: str, column: str) -> Link:
    """What a key column identifies at the end of its references, as long as each of them is a privacy key."""
    while True:
        found = policy.tables[table]
        if found.unit is None or found.unit.key != column or found.unit.references is None:
            return table, column
        table, column = found.unit.references


def owner_link(owner: TablePolicy) -> Link | None:
    """What the resolved unit identifies; None where a row is the unit."""
    return None if owner.unit is None or owner.unit.key is None else (owner.name, owner.unit.key)


def is_direct(policy: Policy, unit: Unit) -> bool:
    """Whether the key itself is the unit: its own table's, or that of the table it refers to."""
    if unit.references is None:
        return True
    name, column = unit.references
    owner = policy.tables[name].unit
    return owner is not None and owner.key == column and owner.references is None


def present(unit: Unit) -> tuple[nodes.Expr, ...]:
    """What holds of the rows of somebody, where the key itself is the unit: others are dropped."""
    key = duck.column(unit.key or "")
    found: list[nodes.Expr] = [nodes.Not(nodes.IsNull(key))]
    if unit.references is not None:
        name, column = unit.references
        keys = nodes.Select(items=(duck.column(column),), source=nodes.Table(name))
        found.append(nodes.InQuery(key, keys))
    return tuple(found)


def owned(
    policy: Policy, table: TablePolicy, unit: Unit, names: Mapping[str, str], resolved: str
) -> nodes.Select:
    """The rows of a table that belong to somebody, each once for every owner.

    Columns have the names given for them, the unit has the name ``resolved``.
    """
    fields = [field for field in declared_fields(table) if field.name in names]
    if is_direct(policy, unit):
        columns = [duck.named(duck.column(c), name) for c, name in names.items()]
        return nodes.Select(
            items=(*columns, duck.named(duck.column(unit.key or ""), resolved)),
            source=stored_rows(table.name, fields),
            where=all_of(present(unit)),
        )
    name, column = unit.references or ("", "")
    owners = nodes.Subquery(_pairs(policy, name, column), nodes.Bare("o"))
    mine = stored_rows(table.name, fields, nodes.Bare("m"))
    same = nodes.Binary("=", duck.column(unit.key or "", "m"), duck.column("r", "o"))
    columns = [duck.named(duck.column(c, "m"), name) for c, name in names.items()]
    return nodes.Select(
        items=(*columns, duck.named(duck.column("u", "o"), resolved)),
        source=mine,
        joins=(nodes.Join(owners, on=same),),
    )


def _pairs(policy: Policy, name: str, column: str) -> nodes.Select:
    """What is referred to (``r``) and whose it is (``u``), each pair once."""
    table = policy.tables[name]
    if table.unit is None or table.unit.key is None:
        raise AssertionError("a reference ends at a privacy key")
    select = owned(policy, table, table.unit, {column: "r"}, "u")
    return replace(select, distinct=True)


def all_of(conditions: Sequence[nodes.Expr]) -> nodes.Expr:
    """Their conjunction; there is at least one."""
    return conditions[0] if len(conditions) == 1 else nodes.And(tuple(conditions))
