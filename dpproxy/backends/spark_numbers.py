"""What Spark computes like DuckDB, second part: numbers, aggregates and casts."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from dpproxy.backends.dialect import Kind, Rule, Value, common
from dpproxy.backends.spark_texts import ENGINE
from dpproxy.backends.spark_values import (
    LARGEST_FRACTION,
    LARGEST_WHOLE,
    MOST_DIGITS,
    TYPES,
    cast,
    grouped,
    no,
    one_form,
)
from dpproxy.backends.standard import EXACT, MOMENTS, counted, summed, utc_text

# --- numbers --------------------------------------------------------------------------------------


def arithmetic(sign: str) -> Rule:
    """``+``, ``-`` and ``*``, of two numbers or of a moment and a length of time."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        kinds = {a.kind, b.kind}
        if Kind.NULL in kinds:
            return Value("NULL", Kind.NULL)
        if kinds == {Kind.DOUBLE}:
            return Value(grouped(f"{a.sql} {sign} {b.sql}"), Kind.DOUBLE)
        if not kinds <= set(EXACT):
            return of_time(sign, a, b)
        best = common(parts)
        scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
        if scale > MOST_DIGITS:
            raise no(f"DECIMAL arithmetic of more than {MOST_DIGITS} digits behind the point")
        operands = [p.sql if p.kind in (best.kind, Kind.DECIMAL) else cast(p.sql, whole(p)) for p in parts]
        return Value(
            grouped(f"{operands[0]} {sign} {operands[1]}"), Kind.DECIMAL if scale else best.kind, scale=scale
        )

    return apply


def whole(value: Value) -> Kind:
    """The type in which a whole number stands beside a longer one."""
    return Kind.HUGE if value.constant is None or value.kind is Kind.HUGE else Kind.WHOLE


def of_time(sign: str, a: Value, b: Value) -> Value:
    """A difference of days, or a moment moved."""
    if sign == "-" and a.kind is b.kind is Kind.DATE:
        return Value(cast(f"datediff({a.sql}, {b.sql})", Kind.WHOLE), Kind.WHOLE)
    if sign in "+-" and a.kind in MOMENTS and b.kind is Kind.SPAN:
        return Value(grouped(f"{cast(a.sql, Kind.TIMESTAMP)} {sign} {b.sql}"), Kind.TIMESTAMP)
    raise no("arithmetic of two types")


def negative(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """The minus sign."""
    [a] = parts
    if a.kind not in (*EXACT, Kind.DOUBLE, Kind.NULL):
        raise no("a minus sign")
    constant = None if a.constant is None else f"-{a.constant}"
    return a if a.kind is Kind.NULL else replace(a, sql=_negated(a), constant=constant)


def _negated(value: Value) -> str:
    """Spark keeps 34 of the digits of a DECIMAL where it changes the sign, and all of them in a difference."""
    is_long = value.kind is Kind.HUGE or (value.kind is Kind.DECIMAL and value.constant is None)
    if is_long and value.scale > MOST_DIGITS:
        raise no("the sign of a DECIMAL of many digits")
    return grouped(f"0BD - {value.sql}" if is_long else f"- {value.sql}")


def quotient(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """A divisor is a constant, or is NULL where it would be 0."""
    if any(p.kind is Kind.NULL for p in parts):
        return Value("NULL", Kind.NULL)
    if {p.kind for p in parts} != {Kind.DOUBLE} or not never_zero(node.expression):
        raise no("a division of this form")
    return Value(grouped(f"{parts[0].sql} / {parts[1].sql}"), Kind.DOUBLE)


def never_zero(node: exp.Expr) -> bool:
    """Whether a divisor is a constant, or is NULL where it would be 0."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return never_zero(node.this)
    if isinstance(node, exp.Literal):
        return not node.is_string and float(node.name) != 0
    if isinstance(node, exp.Cast):  # zero stays zero, and nothing else becomes it
        return never_zero(node.this)
    return isinstance(node, exp.Nullif) and is_zero(node.expression)


def is_zero(node: exp.Expr) -> bool:
    """The constant 0."""
    node = node.unnest()
    if isinstance(node, exp.Cast):
        return is_zero(node.this)
    return isinstance(node, exp.Literal) and not node.is_string and float(node.name) == 0


def whole_quotient(sign: str) -> Rule:
    """``//`` and ``%``: towards zero in both engines."""

    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        if Kind.NULL in {a.kind, b.kind}:
            return Value("NULL", Kind.NULL)
        if not never_zero(node.expression):
            raise no("a division of this form")
        if {a.kind, b.kind} == {Kind.WHOLE}:
            return Value(grouped(f"{a.sql} {sign} {b.sql}"), Kind.WHOLE)
        if sign == "div" or not {a.kind, b.kind} <= {
            Kind.WHOLE,
            Kind.HUGE,
        }:  # a quotient of decimals is a bigint
            raise no("a division of this form")
        return Value(grouped(f"{cast(a.sql, Kind.HUGE)} % {cast(b.sql, Kind.HUGE)}"), Kind.HUGE)

    return apply


def of_doubles(template: str) -> Rule:
    """A function of one DOUBLE."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind is Kind.NULL:
            return a
        if a.kind is not Kind.DOUBLE:
            raise no("a function of this type")
        return Value(template.format(a.sql), Kind.DOUBLE)

    return apply


_TO_WHOLE = f"`when`(abs({{0}}) < {LARGEST_FRACTION!r}D, {{1}}::DOUBLE, {{0}})"
"""FLOOR and CEIL are bigints there; what is larger, infinite or none is whole already."""
FLOOR, CEIL = (_TO_WHOLE.format("{0}", f"{name}({{0}})") for name in ("floor", "ceil"))
TRUNC = grouped("{0} - nanvl({0} % 1D, 0D)")
"""What is infinite has no remainder."""


EVEN = grouped("`when`(abs({0} % 1D) = 0.5D, round({0} / 2D) * 2D, round({0}))")
"""Twice the half of a half, which is no half, is even."""


def round_of(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """ROUND, to whole numbers."""
    if len(parts) > 1 and parts[1].constant != "0":
        raise no("round to digits behind the point")
    return of_doubles("round({0})")(node, parts[:1])


def abs_of(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """ABS."""
    [a] = parts
    if a.kind not in (*EXACT, Kind.DOUBLE, Kind.NULL):
        raise no("abs of this type")
    if a.kind in (Kind.HUGE, Kind.DECIMAL):
        return replace(a, sql=f"greatest({a.sql}, {_negated(replace(a, constant=None))})", constant=None)
    return a if a.kind is Kind.NULL else replace(a, sql=f"abs({a.sql})", constant=None)


def signum(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """SIGN; 0 of NaN."""
    [a] = parts
    if a.kind is Kind.NULL:
        return a
    if a.kind not in (*EXACT, Kind.DOUBLE):
        raise no("sign of this type")
    held, zero = (f"nanvl({a.sql} + 0D, 0D)", "0D") if a.kind is Kind.DOUBLE else (a.sql, "0L")
    signs = [cast(grouped(f"{held} {sign} {zero}"), Kind.WHOLE) for sign in "><"]
    return Value(grouped(" - ".join(signs)), Kind.WHOLE)


# --- aggregates -----------------------------------------------------------------------------------


count_of = counted(one_form, ENGINE)


def _wide(value: Value) -> str:
    # A sum has ten digits more than what is summed, and 38 at most: with 28 no number of rows fills them.
    return value.sql if value.kind is Kind.HUGE else f"{value.sql}::DECIMAL(28,0)"


sum_of = summed(_wide, TYPES[Kind.HUGE], ENGINE)


def end(name: str) -> Rule:
    """MIN and MAX."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        return replace(a, sql=f"{name}({one_form(a)})", constant=None)

    return apply


# --- casts ----------------------------------------------------------------------------------------


def to_bigint(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """A whole number of 64 bits."""
    [a] = parts
    if a.kind is Kind.DOUBLE:
        if not is_rounded(node.this):
            raise no("a DOUBLE that is not rounded as a whole number")
        inside = f"`when`(abs({a.sql}) <= {LARGEST_WHOLE!r}D, {a.sql})"
        return Value(cast(inside, Kind.WHOLE), Kind.WHOLE)
    if a.kind not in (*EXACT, Kind.NULL):
        raise no("this cast")
    held = f"round({a.sql}, 0)" if a.kind is Kind.DECIMAL else a.sql
    return Value(
        a.sql if a.kind is Kind.WHOLE else cast(held, Kind.WHOLE),
        Kind.WHOLE,
        constant=a.constant if a.kind is Kind.WHOLE else None,
    )


def is_rounded(node: exp.Expr) -> bool:
    """A whole number, if it is a number: DuckDB rounds where it casts, and Spark cuts."""
    node = node.unnest()
    if isinstance(node, exp.Case):
        values = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        return all(map(is_rounded, [*values, *([] if default is None else [default])]))
    if isinstance(node, exp.Neg):
        return is_rounded(node.this)
    if isinstance(node, exp.Literal):
        return not node.is_string and float(node.name).is_integer()
    if isinstance(node, exp.Anonymous):
        return node.name.lower() == "round_even"
    is_function = isinstance(node, exp.Round | exp.Floor | exp.Ceil | exp.Trunc)
    return is_function or isinstance(node, exp.Null)


def to_huge(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """A whole number of 38 digits."""
    [a] = parts
    if a.kind is Kind.DOUBLE:
        return Value(cast(to_bigint(node, parts).sql, Kind.HUGE), Kind.HUGE)
    if a.kind not in (*EXACT, Kind.NULL):
        raise no("this cast")
    held = f"round({a.sql}, 0)" if a.kind is Kind.DECIMAL else a.sql
    return Value(cast(held, Kind.HUGE), Kind.HUGE, constant=a.constant if not a.scale else None)


def to_double(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """A DOUBLE, of what is exactly one or the nearest to a bigint."""
    [a] = parts
    is_released = isinstance(node.this.unnest(), exp.Placeholder)
    if a.kind is Kind.DOUBLE:
        return a
    if not is_released and a.kind not in (Kind.WHOLE, Kind.NULL):
        raise no("this cast")
    return Value(cast(a.sql, Kind.DOUBLE), Kind.DOUBLE, constant=a.constant)


def to_decimal(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """A DECIMAL with as many digits behind the point, or more."""
    [a] = parts
    digits, scale = (int(str(e.this)) for e in node.args["to"].expressions)
    if a.kind not in (*EXACT, Kind.NULL) or a.scale > scale:
        raise no("this cast")
    return Value(f"{a.sql}::DECIMAL({digits},{scale})", Kind.DECIMAL, scale=scale)


def to(kind: Kind, *others: Kind) -> Rule:
    """Of a value of the kind or of ``others``, of NULL, and of a text of ours for a moment."""

    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        is_ours = a.constant is not None or isinstance(node.this.unnest(), exp.Placeholder)
        if a.kind not in (kind, *others, Kind.NULL) and not (a.kind is Kind.TEXT and others and is_ours):
            raise no("this cast")
        return Value(cast(a.sql, kind), kind)

    return apply


def to_instant(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """TIMESTAMPTZ: of a text of ours, or of NULL."""
    return Value(cast(utc_text(node, parts[0]), Kind.INSTANT), Kind.INSTANT)
