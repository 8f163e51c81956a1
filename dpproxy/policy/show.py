"""The columns and rows of SHOW PRIVACY, for the whole policy; who may see them is checked elsewhere."""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dpproxy.policy.dump import declarations
from dpproxy.policy.model import Exposure, Policy, TablePolicy
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import UndefinedTable
from dpproxy.values.pgtypes import Column, Schema, typed_columns

Listed = tuple[tuple[Column, ...], list[tuple[object, ...]]]

_POLICY = typed_columns("table column declaration")
_GRANTS = typed_columns("table role privilege budget")
_TABLES = typed_columns("table exposure key columns:int4 undeclared not_served")
_DIGITS = Context(prec=40, rounding=ROUND_CEILING)
"""Every declared loss fits without rounding; anything else is rounded up."""


def show_policy(policy: Policy, table: Name | None = None) -> Listed:
    """One row for each declaration, by table; the column is NULL where the table itself is meant.

    Raises:
        UndefinedTable: ``table`` has no declaration.
    """
    if table is not None and table.text not in policy.tables:
        message = f'table "{table.text}" has no privacy declaration'
        hint = "What is not declared is hidden."
        raise UndefinedTable(message, hint=hint, position=table.position)
    names = sorted(policy.tables) if table is None else [table.text]
    return _POLICY, [
        (name, column, text) for name in names for column, text in declarations(policy.tables[name])
    ]


def show_tables(policy: Policy, schema: Schema | None) -> Listed:
    """One row for each table of the data source, declared or not; columns that are not served have no domain ever."""
    return _TABLES, [_table(policy, schema, name) for name in sorted(schema.tables)] if schema else []


def _table(policy: Policy, schema: Schema, name: str) -> tuple[object, ...]:
    declared = policy.tables.get(name, TablePolicy(name))
    known = {*declared.columns, *(column for one in declared.composites for column in one.columns)}
    undeclared = [column.name for column in schema.tables[name] if column.name not in known]
    key = next(
        (text for column, text in declarations(declared) if column is None and text.startswith("KEY")), None
    )
    return (
        name,
        declared.exposure.value.lower(),
        key,
        len(schema.tables[name]),
        None if declared.exposure is Exposure.PUBLIC else ", ".join(undeclared) or None,
        ", ".join(schema.left_out.get(name, ())) or None,
    )


def show_grants(policy: Policy) -> Listed:
    """One row for each table and role, and one more where answers are exact."""
    return _GRANTS, [
        *((grant.table, grant.role, "SELECT", grant.budget) for grant in policy.grants),
        *((grant.table, grant.role, "EXACT SELECT", None) for grant in policy.exact),
    ]


def number(value: Fraction | None) -> Decimal | None:
    """A number without an exponent; rounded up where it has no finite decimal form."""
    if value is None:
        return None
    quotient = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Decimal(f"{quotient:f}")
