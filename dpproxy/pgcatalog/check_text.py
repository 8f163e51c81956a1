"""Declared domains as CHECK constraints, in the words of PostgreSQL's pg_get_constraintdef (ruleutils.c).

A domain without such a form in PostgreSQL, or with an uncertain one, has no constraint; the column's comment has it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import partial

from dpproxy.pgcatalog.names import quoted_name
from dpproxy.policy.dump import decimal
from dpproxy.policy.model import Between, Domain, Members, Scalar
from dpproxy.sql.quoting import literal
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Column,
)

Written = Callable[[Scalar, bool], str | None]
"""The text of a constant compared with a column, with True in the pretty form; None where it is uncertain."""

_INT4 = 2**31


def check(column: Column, domain: Domain | None) -> tuple[str, str] | None:
    """The definition, and the same with few brackets (pretty); None where there is none.

    Example:
        >>> check(Column("age", INT4), Between(0, 110))
        ('CHECK (((age >= 0) AND (age <= 110)))', 'CHECK (age >= 0 AND age <= 110)')
        >>> check(Column("town", TEXT), Members(("a", None)))
        ("CHECK ((town = 'a'::text))", "CHECK (town = 'a'::text)")
    """
    plain, pretty = _condition(column, domain, pretty=False), _condition(column, domain, pretty=True)
    return None if plain is None or pretty is None else (f"CHECK ({plain})", f"CHECK ({pretty})")


def _condition(column: Column, domain: Domain | None, *, pretty: bool) -> str | None:
    match domain:
        case Between(low, high):
            values = _all(column, (low, high), pretty=pretty)
            return None if values is None else _between(quoted_name(column.name), *values, pretty=pretty)
        case Members(members):
            return _members(column, [m for m in members if m is not None], pretty=pretty)
        case _:
            return None


def _between(name: str, low: str, high: str, *, pretty: bool) -> str:
    return (
        f"{name} >= {low} AND {name} <= {high}" if pretty else f"(({name} >= {low}) AND ({name} <= {high}))"
    )


def _members(column: Column, members: list[Scalar], *, pretty: bool) -> str | None:
    name = quoted_name(column.name)
    values = _all(column, members, pretty=pretty, alone=len(members) == 1)
    if not values:
        return None
    found = f"{name} = {values[0]}" if len(values) == 1 else f"{name} = ANY (ARRAY[{', '.join(values)}])"
    return found if pretty else f"({found})"


def _all(column: Column, values: Sequence[Scalar], *, pretty: bool, alone: bool = True) -> list[str] | None:
    """The text of each value, compared with the column or in an array."""
    oid = column.type.oid
    write = _IN_ARRAYS.get(oid, _BESIDE.get(oid)) if not alone else _BESIDE.get(oid)
    if write is None:
        return None
    written = [write(value, pretty) for value in values]
    return [text for text in written if text is not None] if None not in written else None


# --- constants


def _cast(text: str, kind: str, pretty: bool) -> str:  # noqa: FBT001
    return f"{text}::{kind}" if pretty else f"({text})::{kind}"


def _integer(value: Scalar, _pretty: bool) -> str | None:  # noqa: FBT001
    """A whole number as the parser reads it: an integer, or a bigint where it is too large for one."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        return None
    if abs(value) >= _INT4:
        return f"'{value}'::bigint"
    return str(value) if value >= 0 else f"'{value}'::integer"


def _bigint(value: Scalar, pretty: bool) -> str | None:  # noqa: FBT001
    text = _integer(value, pretty)
    return text if text is None or text.endswith("bigint") else _cast(text, "bigint", pretty)


def _numeric(value: Scalar, pretty: bool) -> str | None:  # noqa: FBT001
    if isinstance(value, Fraction):
        return decimal(value) if value >= 0 else f"'{decimal(value)}'::numeric"
    text = _integer(value, pretty)
    return None if text is None else _cast(text, "numeric", pretty)


def _float(value: Scalar, pretty: bool, kind: str = "double precision") -> str | None:  # noqa: FBT001
    text = _numeric(value, pretty) if isinstance(value, Fraction) else _integer(value, pretty)
    return None if text is None else _cast(text, kind, pretty)


def _text(value: Scalar, _pretty: bool) -> str | None:  # noqa: FBT001
    if not isinstance(value, str) or "\\" in value:
        return None
    return f"{literal(value)}::text"


def _bool(value: Scalar, _pretty: bool) -> str | None:  # noqa: FBT001
    return str(value).lower() if isinstance(value, bool) else None


def _date(value: Scalar, _pretty: bool) -> str | None:  # noqa: FBT001
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return f"'{value}'::date" if is_date else None


def _timestamp(value: Scalar, _pretty: bool) -> str | None:  # noqa: FBT001
    if not isinstance(value, datetime) or value.tzinfo is not None or value.microsecond:
        return None
    return f"'{value:%Y-%m-%d %H:%M:%S}'::timestamp without time zone"


_BESIDE: Mapping[int, Written] = {
    **dict.fromkeys((INT2.oid, INT4.oid, INT8.oid), _integer),
    NUMERIC.oid: _numeric,
    **dict.fromkeys((FLOAT4.oid, FLOAT8.oid), _float),
    TEXT.oid: _text,
    BOOL.oid: _bool,
    DATE.oid: _date,
    TIMESTAMP.oid: _timestamp,
}
_IN_ARRAYS: Mapping[int, Written] = {INT8.oid: _bigint, FLOAT4.oid: partial(_float, kind="real")}
"""By type, the text of constants in an array, where PostgreSQL casts each one to the column's type."""
