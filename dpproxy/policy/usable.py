"""A stored policy compared with the present schema: declarations that no longer fit are left out."""

from collections.abc import Iterable

from msgspec.structs import replace

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump, foreign_key_text, references
from dpproxy.policy.model import ColumnPolicy, Composite, Policy, References, TablePolicy
from dpproxy.policy.store import change_of
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import ForeignKey, Schema


def usable(policy: Policy, schema: Schema) -> tuple[Policy, list[str]]:
    """The policy that statements are planned with, and a message for each declaration that does not fit.

    A table that was dropped or retyped since it was declared is left out; of a domain that refers to a table which is
    no longer public, only the domain is. Each column of a composite key set has the values of the
    column it refers to, unless it has a domain of its own. The stored policy keeps everything.
    """
    lines: list[str] = []
    bare: dict[str, TablePolicy] = {}
    for name, table in sorted(policy.tables.items()):
        without = _without_references(table)
        reason = _misfit(Policy(), dump(Policy(tables={name: without})), schema)
        if reason is None:
            bare[name] = without
        else:
            lines.append(f'table "{name}" stays hidden: {reason}')
    kept: dict[str, TablePolicy] = {}
    for name in bare:
        kept[name], left_out = _fitting(policy.tables[name], replace(policy, tables=bare), schema)
        lines += left_out
    return replace(policy, tables=kept), lines


def _fitting(table: TablePolicy, policy: Policy, schema: Schema) -> tuple[TablePolicy, list[str]]:
    """The table with only those references that fit, and a message for each of the others."""
    lines: list[str] = []
    others = Policy(tables=dict(policy.tables), taxonomies=policy.taxonomies)
    columns = dict(table.columns)
    for name, column in sorted(table.columns.items()):
        if not isinstance(column.domain, References):
            continue
        reason = _misfit(others, references(TablePolicy(table.name, columns={name: column})), schema)
        if reason is not None:
            columns[name] = replace(column, domain=None)
            lines.append(f'column "{name}" of table "{table.name}" stays hidden: {reason}')
    composites: list[Composite] = []
    derived: dict[str, ColumnPolicy] = {}
    for one in table.composites:
        alone = TablePolicy(table.name, composites=(one,))
        reason = _hidden(one, table) or _misfit(others, references(alone), schema)
        if reason is None:
            composites.append(one)
            derived |= {name: c for name, c in _derived(one, table).items() if name not in derived}
        else:
            listed = ", ".join(f'"{name}"' for name in one.columns)
            lines.append(f'the key set of {listed} of table "{table.name}" is not used: {reason}')
    foreign: list[ForeignKey] = []
    for key in table.foreign_keys:
        reason = _misfit(others, references(TablePolicy(table.name, foreign_keys=(key,))), schema)
        if reason is None:
            foreign.append(key)
        else:
            lines.append(f'table "{table.name}", {foreign_key_text(key)}: not used: {reason}')
    fitting = replace(table, columns=columns | derived, composites=tuple(composites))
    return replace(fitting, foreign_keys=tuple(foreign)), lines


def _without_references(table: TablePolicy) -> TablePolicy:
    """The table without what refers to other tables, but for its privacy key."""
    columns = {
        name: replace(column, domain=None) if isinstance(column.domain, References) else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, composites=(), foreign_keys=())


def _hidden(one: Composite, table: TablePolicy) -> str | None:
    """Why a key set has a column that is declared hidden."""
    hidden = next((name for name in one.columns if table.columns.get(name) == ColumnPolicy()), None)
    return None if hidden is None else f'column "{hidden}" is hidden'


def _derived(one: Composite, table: TablePolicy) -> dict[str, ColumnPolicy]:
    """The domains that a key set gives to its columns without a domain of their own."""
    found = {}
    for name, referenced in zip(one.columns, one.referenced, strict=True):
        own = table.columns.get(name, ColumnPolicy())
        if own.domain is None:
            found[name] = replace(own, domain=References(one.table, referenced))
    return found


def _misfit(policy: Policy, statements: Iterable[str], schema: Schema) -> str | None:
    """Why statements cannot be applied to a policy; None where they can."""
    try:
        for sql in statements:
            policy = apply(policy, change_of(sql), schema)
    except Refusal as refusal:
        return refusal.message
    return None
