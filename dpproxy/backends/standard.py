"""What engines compute alike: constructs by one text, that of the SQL standard, and letters by one table."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

import duckdb
from sqlglot import exp

from dpproxy.backends.dialect import Construct, Kind, Rule, Value, unanswered

EXACT = (Kind.WHOLE, Kind.HUGE, Kind.DECIMAL)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_SAME = "the same in all engines: total, NULL of NULL"
_LOGIC = "three-valued in all engines"


def constructs(
    engine: str, grouped: Callable[[str], str] = "({})".format
) -> Mapping[type[exp.Expr], Construct]:
    """The lines of them in an engine's table; ``engine`` is its name in refusals, ``grouped`` makes an operand."""
    return {
        exp.Boolean: Construct(_truth, _SAME),
        exp.Null: Construct(lambda _, __: Value("NULL", Kind.NULL), _SAME),
        exp.Placeholder: Construct(_parameter, "the secret, or a released value inside a cast"),
        exp.And: Construct(_joined("AND", grouped), _LOGIC),
        exp.Or: Construct(_joined("OR", grouped), _LOGIC),
        exp.Not: Construct(lambda _, parts: Value(grouped(f"NOT {parts[0].sql}"), Kind.TRUTH), _LOGIC),
        exp.Is: Construct(_is_value(engine, grouped), _LOGIC),
        exp.LogicalAnd: Construct(_every("bool_and"), _LOGIC),
        exp.LogicalOr: Construct(_every("bool_or"), _LOGIC),
    }


def _truth(node: exp.Expr, _: Sequence[Value]) -> Value:
    return Value("TRUE" if node.this else "FALSE", Kind.TRUTH)


def _parameter(node: exp.Expr, _: Sequence[Value]) -> Value:
    return Value(f"${int(str(node.this))}", Kind.TEXT)


def _joined(word: str, grouped: Callable[[str], str]) -> Rule:
    return lambda _, parts: Value(grouped(f"{parts[0].sql} {word} {parts[1].sql}"), Kind.TRUTH)


def _is_value(engine: str, grouped: Callable[[str], str]) -> Rule:
    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        if type(node.expression) not in (exp.Null, exp.Boolean):
            raise unanswered("IS", engine)
        return Value(grouped(f"{parts[0].sql} IS {parts[1].sql}"), Kind.TRUTH)

    return apply


def _every(name: str) -> Rule:
    return lambda _, parts: Value(f"{name}({parts[0].sql})", Kind.TRUTH)


def utc_text(node: exp.Expr, value: Value) -> str:
    """A literal of ours with its offset as the text of UTC, in quotes; NULL of NULL."""
    if value.kind is Kind.NULL:
        return "NULL"
    literal = node.this.unnest()
    if not isinstance(literal, exp.Literal) or not literal.is_string:
        raise unanswered("this cast")
    moment = datetime.fromisoformat(literal.name)
    if moment.tzinfo is None:
        raise unanswered("a moment without its offset")
    return f"'{moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'"


def in_utc(engine: str) -> Rule:
    """``timezone('UTC', x)``: a moment as the timestamp that it is held as, or back."""
    other = {Kind.INSTANT: Kind.TIMESTAMP, Kind.TIMESTAMP: Kind.INSTANT}

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        zone, value = parts
        if zone.constant != "UTC" or value.kind not in other:
            raise unanswered("this time zone", engine)
        return Value(value.sql, other[value.kind])

    return apply


def check_comparable(parts: Sequence[Value], engine: str) -> None:
    """Refuse values that an engine would convert before it compares them, or would not compare."""
    kinds = {p.kind for p in parts} - {Kind.NULL}
    if len(kinds) > 1 and not kinds <= set(EXACT):
        raise unanswered("a comparison of two types", engine)


def counted(same: Callable[[Value], str], engine: str) -> Rule:
    """COUNT of rows, of values, or of different values, in a text by which equal ones are the same."""

    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        if not parts:
            return Value("count(*)", Kind.WHOLE)
        if _distinct(node) and len(parts) > 1:
            raise unanswered("count of several", engine)
        return Value(f"count({_distinct(node)}{same(parts[0])})", Kind.WHOLE)

    return apply


def summed(wide: Callable[[Value], str], total: str, engine: str) -> Rule:
    """SUM of whole numbers, each made ``wide`` before, as a number of the type ``total``."""

    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind not in (Kind.WHOLE, Kind.HUGE, Kind.NULL):
            raise unanswered("sum of this type", engine)
        return Value(f"sum({_distinct(node)}{wide(a)})::{total}", Kind.HUGE)

    return apply


def _distinct(node: exp.Expr) -> str:
    return "DISTINCT " if isinstance(node.this, exp.Distinct) else ""


@cache
def changed_letters(name: str, first: int) -> tuple[str, str]:
    """The letters from a number on that DuckDB's LOWER or UPPER changes, and what they become: each is one again."""
    letters = "".join(chr(i) for i in range(first, 0x110000) if not 0xD800 <= i < 0xE000)
    with duckdb.connect() as connection:
        [(changed,)] = connection.execute(f"SELECT {name}(?)", [letters]).fetchall()
    pairs = [(a, b) for a, b in zip(letters, changed, strict=True) if a != b]
    return "".join(a for a, _ in pairs), "".join(b for _, b in pairs)
