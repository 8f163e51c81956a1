"""Whose rows they are: the privacy unit of a row, found through the declared references."""

from collections.abc import Mapping

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.fields import Link
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


def present(unit: Unit) -> tuple[exp.Expr, ...]:
    """What holds of the rows of somebody, where the key itself is the unit: others are dropped."""
    key = duck.column(unit.key or "")
    found: list[exp.Expr] = [exp.Not(this=exp.Is(this=key, expression=exp.Null()))]
    if unit.references is not None:
        name, column = unit.references
        keys = exp.Select(expressions=[duck.column(column)], from_=exp.From(this=_table(name)))
        found.append(exp.In(this=key, query=exp.Subquery(this=keys)))
    return tuple(found)


def owned(
    policy: Policy, table: TablePolicy, unit: Unit, names: Mapping[str, str], resolved: str
) -> exp.Select:
    """The rows of a table that belong to somebody, each once for every owner.

    Columns have the names given for them, the unit has the name ``resolved``.
    """
    if is_direct(policy, unit):
        columns = [duck.named(duck.column(c), name) for c, name in names.items()]
        return exp.Select(
            expressions=[*columns, duck.named(duck.column(unit.key or ""), resolved)],
            from_=exp.From(this=_table(table.name)),
            where=exp.Where(this=all_of(present(unit))),
        )
    name, column = unit.references or ("", "")
    owners = exp.Subquery(
        this=_pairs(policy, name, column), alias=exp.TableAlias(this=exp.to_identifier("o"))
    )
    mine = exp.Table(
        this=exp.to_identifier(table.name, quoted=True), alias=exp.TableAlias(this=exp.to_identifier("m"))
    )
    same = exp.EQ(this=duck.column(unit.key or "", "m"), expression=duck.column("r", "o"))
    columns = [duck.named(duck.column(c, "m"), name) for c, name in names.items()]
    return exp.Select(
        expressions=[*columns, duck.named(duck.column("u", "o"), resolved)],
        from_=exp.From(this=mine),
        joins=[exp.Join(this=owners, on=same)],
    )


def _pairs(policy: Policy, name: str, column: str) -> exp.Select:
    """What is referred to (``r``) and whose it is (``u``), each pair once."""
    table = policy.tables[name]
    if table.unit is None or table.unit.key is None:
        raise AssertionError("a reference ends at a privacy key")
    select = owned(policy, table, table.unit, {column: "r"}, "u")
    select.set("distinct", exp.Distinct())
    return select


def all_of(conditions: tuple[exp.Expr, ...] | list[exp.Expr]) -> exp.Expr:
    """Their conjunction."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = exp.And(this=result, expression=condition)
    return result


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
