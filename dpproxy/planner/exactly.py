"""Statements of a role with EXACT SELECT: planned as over public tables, where all protected ones are granted so.

A statement is exact in all its protected tables or in none. What it reads exactly is no public table for anything else:
the policy that says so is made for this one statement, and only if no other protected table is named in it.
"""

from collections.abc import Callable

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra.plan import Plan, PublicPlan
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Parameters
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.planner.access import Context, table_name
from dpproxy.planner.query import plan_query
from dpproxy.policy.documents import columns_of, declared_fields
from dpproxy.policy.model import ColumnPolicy, Exposure, Policy, TablePolicy
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import NotGranted
from dpproxy.values.pgtypes import Column

Record = Callable[[AuditOutcome], None]
"""Puts on record what is about to be read; on the disk when it returns. Raises a ``Refusal``."""


def plan_for(tree: exp.Expr, context: Context, parameters: Parameters, record: Record) -> Plan | PublicPlan:
    """Plan one accepted statement, exactly where the caller's roles allow that for all its protected tables.

    Planning an exact answer reads sizes and bounds of its tables, so ``record`` is called before.

    Raises:
        NotGranted: some of its tables are granted for exact answers only, and others are not granted so.
        Refusal: as ``plan_query``.
    """
    tables = exact_tables(tree, context)
    if not tables:
        return plan_query(tree, context, parameters)
    record(AuditOutcome.EXACT_PLAN)
    plan = plan_query(tree, opened(context, tables), parameters)
    if not isinstance(plan, PublicPlan):
        raise AssertionError("an exact statement reads no protected table")  # noqa: TRY004 - our own fault
    return replace(plan, exact=tables)


def exact_tables(tree: exp.Expr, context: Context) -> tuple[str, ...]:
    """The protected tables of a statement, where all are granted to the caller exactly; else none.

    A name of WITH that is also a table's counts as that table: the statement then is exact less often, never more.
    """
    roles, policy = context.caller.roles, context.policy
    granted = policy.exact_to(roles)
    if not granted or any(table_name(node) in context.views for node in tree.find_all(exp.Table)):
        return ()
    paid = policy.granted_to(roles)
    named: dict[str, exp.Table] = {}
    for node in tree.find_all(exp.Table):
        for table in context.schema.bases(table_name(node)):
            # A table that the caller cannot see is told like a missing one; a view may read it all the same.
            is_seen = table in granted or table in paid or table_name(node) != table
            if is_seen and _is_protected(policy, table):
                named.setdefault(table, node)
    if named.keys() <= granted:
        return tuple(sorted(named))
    other = next(table_name(node) for table, node in named.items() if table not in granted)
    for table, node in named.items():
        if table in granted and table not in paid and table_name(node) not in paid:
            raise NotGranted(
                f'table "{table}" is granted to you for exact answers only, and "{other}" is not granted so',
                hint=f"Ask of {table_text(table)} alone: one statement is exact in all its tables or in none.",
                position=position(node),
            )
    return ()


def opened(context: Context, tables: tuple[str, ...]) -> Context:
    """The context in which these tables are read as they are: their declared columns and keys, without bounds."""
    policy, schema = context.policy, context.schema
    shown = {name: visible_columns(policy, name, columns_of(policy.tables[name], schema)) for name in tables}
    hidden = {
        name: (*schema.left_out.get(name, ()), *(c.name for c in schema.tables[name] if c not in shown[name]))
        for name in tables
    }
    public = {name: TablePolicy(name, Exposure.PUBLIC, columns=_fields(policy, name)) for name in tables}
    return replace(
        context,
        policy=replace(policy, tables={**policy.tables, **public}),
        schema=replace(schema, tables={**schema.tables, **shown}, left_out={**schema.left_out, **hidden}),
        prepared=None,
        facts=getattr(context.facts, "passing", context.facts),
    )


def _fields(policy: Policy, table: str) -> dict[str, ColumnPolicy]:
    """The fields of documents that are declared as columns: they are read in one way everywhere."""
    declared = policy.tables[table]
    return {field.name: declared.columns[field.name] for field in declared_fields(declared)}


def visible_columns(policy: Policy, table: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns that an exact answer may show: what has a domain, the table's key, and what other tables refer to."""
    declared = policy.tables[table]
    names = {name for name, column in declared.columns.items() if column.domain is not None}
    for one in policy.tables.values():
        unit = one.unit
        if unit is not None and one.name == table and unit.key is not None:
            names.add(unit.key)
        if unit is not None and unit.references is not None and unit.references[0] == table:
            names.add(unit.references[1])
        for key in one.foreign_keys:
            names |= {
                *(key.columns if key.table == table else ()),
                *(key.referenced if key.target == table else ()),
            }
    return tuple(column for column in columns if column.name in names)


def _is_protected(policy: Policy, table: str) -> bool:
    """Rows of somebody; a protected view's are nobody's table, and it is granted by itself."""
    if table in policy.views:
        return True
    found = policy.tables.get(table)
    return found is not None and found.exposure is Exposure.PROTECTED
