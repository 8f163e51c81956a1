"""Foreign keys between protected tables of one privacy unit: which columns together say that two rows belong together.

A table's privacy key says whose its rows are; a foreign key besides says which rows of another table they refer to.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.policy.apply_table import check_same_type, check_tells_apart
from dpproxy.policy.dump import alter_table, target_of
from dpproxy.policy.lookup import check_distinct, table_column, table_policy
from dpproxy.policy.model import Exposure, Policy, TablePolicy
from dpproxy.policy.statements import SetComposite, SetForeignKey
from dpproxy.policy.units import are_of_one_unit
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import InvalidParameter
from dpproxy.values.pgtypes import ForeignKey, Schema


def change_foreign_key(policy: Policy, change: SetForeignKey, schema: Schema | None) -> Policy:
    """The policy with the foreign key of these columns replaced or removed; a set of columns has at most one."""
    table = table_policy(policy, change.table, schema)
    own = [table_column(change.table, name, schema) for name in change.columns]
    check_distinct(change.columns)
    of_these = {name.text for name in change.columns}
    kept = [one for one in table.foreign_keys if set(one.columns) != of_these]
    if change.target is not None:
        target, referenced = change.target
        table_policy(policy, target, schema)
        check_length(change, "FOREIGN KEY")
        for name, column, other in zip(change.columns, own, referenced, strict=True):
            check_tells_apart(name, column)
            check_same_type(name, column, table_column(target, other, schema))
        if schema is not None:  # of a stored policy, ``usable`` asks again
            check_one_unit(policy, change)
        kept.append(ForeignKey(table.name, texts(change.columns), target.text, texts(referenced)))
    changed = replace(table, foreign_keys=tuple(sorted(kept, key=lambda one: one.columns)))
    return replace(policy, tables={**policy.tables, table.name: changed})


def check_one_unit(policy: Policy, change: SetForeignKey) -> None:
    """Refuse a reference between rows that are not of one privacy unit."""
    if change.target is None:
        return
    name, referenced = change.target
    target = policy.tables.get(name.text, TablePolicy(name.text))
    if target.exposure is Exposure.PUBLIC:
        names = ", ".join(map(identifier, texts(change.columns)))
        columns = f"({names}) {target_of(target.name, texts(referenced))}"
        text = (
            alter_table(change.table.text, None, f"DOMAIN {columns}")
            if len(change.columns) > 1
            else alter_table(
                change.table.text, change.columns[0].text, f"DOMAIN {columns.partition(') ')[2]}"
            )
        )
        raise InvalidParameter(
            f'table "{target.name}" is public: what refers to it is a set of values',
            hint=f"{text};",
            position=name.position,
        )
    if not are_of_one_unit(policy, change.table.text, target.name):
        raise InvalidParameter(
            f'the rows of "{change.table.text}" and "{target.name}" are not of one privacy unit',
            hint="First declare the privacy key of both tables, with REFERENCES to one table of people: "
            f"SUGGEST PRIVACY FOR {table_text(change.table.text)}; proposes one.",
            position=name.position,
        )


def check_length(change: SetForeignKey | SetComposite, clause: str) -> None:
    """Refuse to refer to more columns than there are, to fewer, or to one twice."""
    target, referenced = change.target or (change.table, change.columns)
    check_distinct(referenced)
    if len(referenced) != len(change.columns):
        raise InvalidParameter(
            f"{len(change.columns)} columns refer to {len(referenced)}",
            hint=f"As many columns stand after REFERENCES as after {clause}, in the same order.",
            position=target.position,
        )


def texts(names: Sequence[Name]) -> tuple[str, ...]:
    """Names without their positions."""
    return tuple(name.text for name in names)
