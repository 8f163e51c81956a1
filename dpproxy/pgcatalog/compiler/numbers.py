"""Arithmetic that the engine does differently from PostgreSQL: quotients, means, parts of timestamps, literals."""

import re
from decimal import Decimal

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler import macros
from dpproxy.pgcatalog.compiler.kind_rules import kind_of, note_kind
from dpproxy.pgcatalog.compiler.trees import call, cast, text
from dpproxy.sql.grammar import NAME as CALLED
from dpproxy.sql.grammar import is_writable
from dpproxy.values.errors import NumberOutOfRange, Unsupported
from dpproxy.values.pgtypes import DATE, FLOAT8, FLOATS, INT8, INTEGERS, NUMERIC, SqlType

DIVIDE = "c_divide"
"""Our function in DuckDB that divides two numerics, as texts."""
QUOTIENT = "DECIMAL(38,20)"
MOST_DIGITS = 38
"""Of a numeric here."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII).fullmatch


def power(node: exp.Expr) -> exp.Expr:
    """``2 ^ 32``, of double precision.

    Raises:
        Unsupported: of numerics, whose number of digits would differ.
    """
    if kind_of(node) is None:
        raise Unsupported("the operator ^ takes integers and double precision here")
    return call(f"{macros.PREFIX}power", cast(node.this, "DOUBLE"), cast(node.expression, "DOUBLE"))


def truncate(node: exp.Expr) -> exp.Expr:
    """``date_trunc('day', x)`` of a timestamp; a date counts as its midnight."""
    kind = kind_of(node.this)
    if kind_of(node) is None or node.args.get("zone") is not None:
        raise Unsupported("date_trunc() takes a unit and a timestamp here", position=position(node))
    if kind == DATE:
        node.set("this", cast(node.this.copy(), "TIMESTAMPTZ"))
    return node


def _divided(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return cast(call(DIVIDE, cast(left, "VARCHAR"), cast(right, "VARCHAR")), QUOTIENT)


def divide(node: exp.Expr) -> exp.Expr:
    """``/``: the quotient of integers is an integer, that of numerics a numeric."""
    kind = kind_of(node)
    left, right = node.this, node.expression
    if kind is not None and kind.oid == NUMERIC.oid:
        return _divided(left, right)
    if kind is not None and kind.oid in FLOATS:
        name = "DOUBLE" if kind.oid == FLOAT8.oid else "FLOAT"
        zero = exp.EQ(this=cast(right.copy(), name), expression=exp.Literal.number(0))
        stop = exp.Case(
            ifs=[exp.If(this=zero, true=call("error", text("division by zero")))], default=cast(right, name)
        )
        return exp.Div(this=cast(left, name), expression=exp.Paren(this=stop), typed=False, safe=False)
    if kind is None or kind.oid in INTEGERS:
        pointed = any(isinstance(side, exp.Literal) and "." in side.name for side in (left, right))
        return node if pointed else exp.IntDiv(this=left, expression=right)
    return node


def widen(node: exp.Expr) -> exp.Expr:
    """``+ - *`` of integers of two sizes in the wider one; days that are added to a date in the engine's type."""
    kind = kind_of(node)
    if DATE in (kind_of(node.this), kind_of(node.expression)):
        for key in ("this", "expression"):
            other = kind_of(node.args[key])
            if other is not None and other.oid in INTEGERS:
                node.set(key, cast(node.args[key].copy(), "INTEGER"))
    is_subscript = (
        node.find_ancestor(exp.Bracket) is not None
    )  # which the parser counts by the types it knows of
    if kind is not None and kind.oid in INTEGERS and not is_subscript:
        for key in ("this", "expression"):
            side = node.args[key]
            other = kind_of(side)
            if other is not None and other.oid in INTEGERS and other.size < kind.size:
                node.set(key, cast(side.copy(), _WHOLE[kind.size]))
    return node


_WHOLE = {2: "SMALLINT", 4: "INTEGER", 8: "BIGINT"}
"""By bytes."""


def means(tree: exp.Expr) -> None:
    """Replace each mean whose type is numeric by a sum over a count."""
    for node in list(tree.find_all(exp.Avg)):
        kind = kind_of(node)
        if kind is None or kind.oid != NUMERIC.oid:
            continue
        top: exp.Expr = node
        while isinstance(top.parent, exp.Filter | exp.Window) and top.arg_key == "this":
            top = top.parent
        total, count = _instead(top, exp.Sum, NUMERIC), _instead(top, exp.Count, INT8)
        empty = exp.EQ(this=count.copy(), expression=exp.Literal.number(0))
        divided = exp.Case(ifs=[exp.If(this=empty, true=exp.Null())], default=_divided(total, count))
        note_kind(divided, NUMERIC)
        top.replace(divided)


def _instead(top: exp.Expr, aggregate: type[exp.Expr], kind: SqlType) -> exp.Expr:
    """A copy with another aggregate instead of the mean."""
    made = top.copy()
    mean = made.find(exp.Avg)
    if mean is None:
        raise AssertionError("a copy has what it is a copy of")
    changed = aggregate(this=mean.this)
    note_kind(changed, kind)
    if mean is made:
        return changed
    mean.replace(changed)
    return made


_PARTS = frozenset({
    "CENTURY", "DAY", "DECADE", "DOW", "DOY", "HOUR", "ISODOW", "ISOYEAR", "MILLENNIUM", "MINUTE", "MONTH", "QUARTER",
    "WEEK", "YEAR",
})  # fmt: skip
_OF_SECONDS = {"SECOND": 6, "MILLISECONDS": 3, "MICROSECONDS": 0}
_SPELLED = {
    "MILLISECOND": "MILLISECONDS",
    "MICROSECOND": "MICROSECONDS",
    "SECONDS": "SECOND",
    **{f"{part}S": part for part in ("DAY", "DECADE", "HOUR", "MINUTE", "MONTH", "WEEK", "YEAR")},
}


def part(node: exp.Expr) -> exp.Expr:
    """EXTRACT, a numeric, and date_part, a double precision.

    Raises:
        Unsupported: another part.
    """
    asked = node.this.name.upper()
    name, moment = _SPELLED.get(asked, asked), node.expression
    kind = kind_of(moment)
    if kind is not None and kind.oid == DATE.oid and name in (*_OF_SECONDS, "HOUR", "MINUTE"):
        raise Unsupported(f'unit "{asked.lower()}" not supported for type date', position=position(node))
    if name == "EPOCH":
        scale = 0 if kind is not None and kind.oid == DATE.oid else 6
        found = cast(call("date_part", text("epoch"), moment), f"DECIMAL(24,{scale})")
    elif name in _OF_SECONDS:
        whole = cast(call("date_part", text("microseconds"), moment), "DECIMAL(18,0)")
        scale = _OF_SECONDS[name]
        found = exp.Mul(this=whole, expression=exp.Literal.number(format(Decimal(1).scaleb(-scale), "f")))
        found = cast(exp.Paren(this=found), f"DECIMAL(24,{scale})")
    elif name in _PARTS:
        found = cast(call("date_part", text(name.lower()), moment), "DECIMAL(18,0)")
    else:
        raise Unsupported(f"EXTRACT of {asked} is not supported here", position=position(node))
    return cast(found, "DOUBLE") if node.meta.get(CALLED) == "date_part" else found


def round_half_even(node: exp.Expr) -> exp.Expr:
    """``round(x)``: halves of double precision are rounded to even."""
    kind = kind_of(node.this)
    is_float = kind is not None and kind.oid in FLOATS and node.args.get("decimals") is None
    return call("round_even", node.this, exp.Literal.number(0)) if is_float else node


def literal(node: exp.Expr) -> exp.Expr:
    """A number with an exponent, which is a numeric, in full.

    Raises:
        NumberOutOfRange: it has more digits than a numeric here.
    """
    if node.args.get("is_string") or "e" not in str(node.this).lower():
        return node
    if isinstance(node.parent, exp.Cast) and node.parent.to.is_type("double", "float"):
        return node
    full = _in_full(str(node.this))
    if full is None:
        raise NumberOutOfRange(f"a numeric of more than {MOST_DIGITS} digits")
    return exp.Literal.number(full)


def _in_full(text: str) -> str | None:
    """A number without its exponent; None where it has too many digits for a numeric."""
    try:
        number = Decimal(text)
    except ArithmeticError:  # its exponent alone is too long
        return None
    full = "" if abs(number.adjusted()) > MOST_DIGITS else format(number, "f")
    return full if full and len(full.lstrip("-").replace(".", "")) <= MOST_DIGITS else None


def decimal_of(value: exp.Expr, kind: SqlType | None) -> str | None:
    """The engine's type for a cast to numeric without precision; None where nothing is known of the value.

    Raises:
        NumberOutOfRange: a constant has more digits than a numeric here.
    """
    if isinstance(value, exp.Neg | exp.Paren):
        return decimal_of(value.this, kind)
    if isinstance(value, exp.Literal):
        written = str(value.this).strip()
        if not _NUMBER(written):
            return None
        if not is_writable(written):
            raise NumberOutOfRange("value overflows numeric format")
        if (full := _in_full(written)) is None:
            raise NumberOutOfRange(f"a numeric of more than {MOST_DIGITS} digits")
        whole, _, after = full.lstrip("-").partition(".")
        return f"DECIMAL({min(MOST_DIGITS, max(len(whole + after), 1))},{len(after)})"
    return "DECIMAL(38,0)" if kind is not None and kind.oid in INTEGERS else None
