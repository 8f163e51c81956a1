"""What engines compute alike: constructs by one text, that of the SQL standard, and letters by one table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

import duckdb
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Construct, Dialect, Rule, Unanswered, Value, ValueKind

EXACT = (ValueKind.WHOLE, ValueKind.HUGE, ValueKind.DECIMAL)
NUMBERS = (*EXACT, ValueKind.DOUBLE, ValueKind.NULL)
WHOLES = (ValueKind.WHOLE, ValueKind.HUGE, ValueKind.NULL)
DOUBLES = (ValueKind.DOUBLE, ValueKind.NULL)
TEXTS = (ValueKind.TEXT,)
MOMENTS = (ValueKind.DATE, ValueKind.TIMESTAMP)
Operation = Callable[[str, Value, Value], Value]
"""An operator over two values, by its sign."""
_SAME = "the same in all engines: total, NULL of NULL"
_LOGIC = "three-valued in all engines"


def constructs(grouped: Callable[[str], str] = "({})".format) -> Mapping[type[nodes.Expr], Construct]:
    """The rows of them in an engine's table; ``grouped`` makes an operand."""
    return {
        nodes.Truth: Construct(lambda node, _: _truth("TRUE" if node.value else "FALSE"), _SAME),
        nodes.Null: Construct(lambda *_: Value("NULL", ValueKind.NULL), _SAME),
        nodes.And: Construct(lambda _, parts: _truth(grouped(_joined(parts, " AND "))), _LOGIC),
        nodes.Or: Construct(lambda _, parts: _truth(grouped(_joined(parts, " OR "))), _LOGIC),
        nodes.Not: Construct(lambda _, parts: _truth(grouped(f"NOT {parts[0].sql}")), _LOGIC),
        nodes.IsNull: Construct(lambda _, parts: _truth(grouped(f"{parts[0].sql} IS NULL")), _LOGIC),
    }


def _truth(sql: str) -> Value:
    return Value(sql, ValueKind.TRUTH)


def _joined(parts: Sequence[Value], word: str) -> str:
    return word.join([part.sql for part in parts])


EVERY: Mapping[str, Construct] = {
    "bool_and": Construct(lambda _, parts: _truth(f"bool_and({parts[0].sql})"), _LOGIC),
    "bool_or": Construct(lambda _, parts: _truth(f"bool_or({parts[0].sql})"), _LOGIC),
}
"""The rows of aggregates."""


def of(rule: Callable[..., Value], *kinds: Sequence[ValueKind]) -> Rule:
    """A rule over operands of these kinds; where NULL is one of them, NULL of NULL."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        if len(parts) != len(kinds) or any(p.kind not in k for p, k in zip(parts, kinds, strict=True)):
            raise Unanswered("an operation of these types")
        return next((p for p in parts if p.kind is ValueKind.NULL), None) or rule(*parts)

    return apply


def arithmetic(
    of_doubles: Operation, of_exact: Operation, of_time: Operation, reason: str
) -> Mapping[str, Construct]:
    """The rows of ``+``, ``-`` and ``*``, by what the operands are: numbers, or a moment and a length of time."""

    def rule(sign: str) -> Rule:
        def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
            kinds = {part.kind for part in parts}
            if ValueKind.NULL in kinds:
                return Value("NULL", ValueKind.NULL)
            exactly = of_exact if kinds <= set(EXACT) else of_time
            return (of_doubles if ValueKind.DOUBLE in kinds else exactly)(sign, *parts)

        return apply

    return {sign: Construct(rule(sign), reason) for sign in "+-*"}


def as_double(value: Value, constant: Callable[[float], Value]) -> Value:
    """A DOUBLE, or a whole number that was written beside one."""
    if value.kind is ValueKind.WHOLE and value.constant is not None:
        return constant(float(int(value.constant)))
    if value.kind is not ValueKind.DOUBLE:
        raise Unanswered("arithmetic of two types")
    return value


_TRIMMED = "of each of the characters that are told, in both engines"
_CHARACTERS = "characters in both engines"
_OF_TEXTS: Mapping[str, tuple[ValueKind, int, str]] = {
    **dict.fromkeys(("trim", "ltrim", "rtrim"), (ValueKind.TEXT, 0, _TRIMMED)),
    "length": (ValueKind.WHOLE, 0, _CHARACTERS),
    "substring": (ValueKind.TEXT, 2, f"from the first on, {_CHARACTERS}"),
    **dict.fromkeys(("left", "right"), (ValueKind.TEXT, 1, _CHARACTERS)),
    "strpos": (ValueKind.WHOLE, 0, _CHARACTERS),
    "starts_with": (ValueKind.TRUTH, 0, _SAME),
    "replace": (ValueKind.TEXT, 0, "an empty part changes nothing in both engines"),
    "translate": (ValueKind.TEXT, 0, _CHARACTERS),
    "split_part": (ValueKind.TEXT, 1, f"no empty separator, {_CHARACTERS}"),
    "concat": (ValueKind.TEXT, 0, "NULLs are left out in both engines"),
}
"""By function what it gives, how many of its last arguments are constant places, and the reason."""


class Texts(Struct, frozen=True):
    """Functions of texts in one engine; ``place`` writes a constant whole number."""

    place: Callable[[Value], str] = lambda value: str(int(value.constant or 0))

    def rule(
        self, template: str, kind: ValueKind = ValueKind.TEXT, *, further: int = 0, from_first: bool = False
    ) -> Rule:
        """A function whose last ``further`` arguments are constant whole numbers, ``from_first`` none below zero."""

        def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
            split = len(parts) - further
            if any(p.kind is not ValueKind.TEXT for p in parts[:split]):
                raise Unanswered("a function of this type")
            if any(p.kind is not ValueKind.WHOLE or p.constant is None for p in parts[split:]):
                raise Unanswered("a function of texts without constant places")
            if from_first and any(int(p.constant or 0) < 0 for p in parts[split:]):
                raise Unanswered("a place before the first character")
            held = [*(p.sql for p in parts[:split]), *map(self.place, parts[split:])]
            return Value(template.format(*held, all=", ".join(held)), kind)

        return apply

    def functions(
        self, templates: Mapping[str, str], from_first: Collection[str] = ()
    ) -> Mapping[str, Construct]:
        """The rows of those that the engine has; in ``from_first`` no place stands before the first character."""
        rows = {}
        for name, template in templates.items():
            kind, further, reason = _OF_TEXTS[name]
            rule = self.rule(template, kind, further=further, from_first=name in from_first)
            rows[name] = Construct(rule, reason)
        return rows

    def likes(
        self,
        write: Callable[[str, str, str], str],
        small: Callable[[str], str],
        pattern: Callable[[Value], str] = lambda value: value.sql,
    ) -> Mapping[str, Construct]:
        """The rows of LIKE, and of ILIKE in small letters; ``write`` takes a text, LIKE or NOT LIKE, and a pattern."""

        def like(word: str) -> Callable[[Value, Value], Value]:
            def apply(value: Value, by: Value) -> Value:
                if by.constant is None:
                    raise Unanswered("LIKE of a pattern that is no constant")
                held, wanted = (small(s) if "ILIKE" in word else s for s in (value.sql, pattern(by)))
                return Value(write(held, word.replace("ILIKE", "LIKE"), wanted), ValueKind.TRUTH)

            return apply

        words = ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
        reason = "by characters, for ILIKE in small letters, without an escape"
        return {word: Construct(of(like(word), TEXTS, TEXTS), reason) for word in words}


_SPANS = {
    "to_months": "the last day of a shorter month in both engines",
    "to_days": "whole days in both engines",
    "to_microseconds": "exact in both engines",
}


def spans(*rules: Callable[[Value], Value]) -> Mapping[str, Construct]:
    """The rows of lengths of time: of so many months, days and microseconds."""
    rows = zip(_SPANS.items(), rules, strict=True)
    return {name: Construct(of(rule, (ValueKind.WHOLE,)), reason) for (name, reason), rule in rows}


class Clamp(Struct, frozen=True):
    """A value inside bounds, each None where it is no literal; NULL outside of them unless it is ``moved``."""

    value: Value
    low: float | None
    high: float | None
    moved: bool


def clamped(node: nodes.Case, parts: Sequence[Value]) -> Clamp | None:
    """What a CASE bounds, in the two forms that the planner writes; None for any other."""
    match node:
        case nodes.Case(
            ((nodes.Binary("<", a, one), low), (nodes.Binary(">", b, other), high)), nodes.Expr() as c
        ) if (a, one, other) == (c, low, high) and b == c:
            first, last = (None if v.constant is None else float(v.constant) for v in (parts[1], parts[3]))
            return Clamp(parts[-1], first, last, moved=True)
        case nodes.Case(
            ((nodes.And((nodes.Binary(">=", a, first), nodes.Binary("<=", b, last))), inside),), otherwise
        ) if a == b == inside and (otherwise is None or parts[-1].kind is ValueKind.NULL):
            return Clamp(parts[1], _number(first), _number(last), moved=False)
        case _:
            return None


def _number(node: nodes.Expr) -> float | None:
    match bare(node):
        case nodes.Number(text):
            return float(text)
        case nodes.Negative(value):
            number = _number(value)
            return None if number is None else -number
        case _:
            return None


def is_rounded(node: nodes.Expr) -> bool:
    """A whole number, if it is a number: DuckDB rounds where it casts, where other engines cut."""
    match bare(node):
        case nodes.Case(branches, default):
            values = [value for _, value in branches]
            return all(map(is_rounded, values if default is None else [*values, default]))
        case nodes.Negative(value):
            return is_rounded(value)
        case nodes.Number(text):
            return float(text).is_integer()
        case nodes.Call(name):
            return name in ("round_even", "round", "floor", "ceil", "trunc")
        case found:
            return isinstance(found, nodes.Null)


def rounded(rule: Callable[[Value, int], Value]) -> Rule:
    """A rule for rounding a DOUBLE to so many digits, none where they are not said."""

    def apply(_: nodes.Call, parts: Sequence[Value]) -> Value:
        value, *digits = parts
        if value.kind is ValueKind.NULL:
            return value
        if value.kind is not ValueKind.DOUBLE or (digits and digits[0].constant is None):
            raise Unanswered("round of this type")
        return rule(value, int(digits[0].constant or 0) if digits else 0)

    return apply


def whole_digits(rule: Rule) -> Rule:
    """A rule for rounding to whole numbers, where the digits behind the point may be said: none."""

    def apply(node: nodes.Call, parts: Sequence[Value]) -> Value:
        if len(parts) > 1 and parts[1].constant != "0":
            raise Unanswered("rounding to digits behind the point")
        return rule(node, parts[:1])

    return apply


def bare(node: nodes.Expr) -> nodes.Expr:
    """What is in parentheses."""
    while isinstance(node, nodes.Paren):
        node = node.value
    return node


def scale_of(node: nodes.Cast) -> int:
    """Digits behind the point of a cast to ``DECIMAL(digits, scale)``."""
    return int(node.type.rstrip(")").partition(",")[2])


def is_ours(node: nodes.Cast, value: Value) -> bool:
    """A text that no row has: a constant, or a parameter."""
    is_known = value.constant is not None or isinstance(bare(node.value), nodes.Parameter)
    return value.kind is ValueKind.TEXT and is_known


def utc_text(node: nodes.Cast, value: Value) -> str:
    """A literal of ours with its offset as the text of UTC, in quotes; NULL of NULL."""
    if value.kind is ValueKind.NULL:
        return "NULL"
    literal = bare(node.value)
    if not isinstance(literal, nodes.Text):
        raise Unanswered("this cast")
    moment = datetime.fromisoformat(literal.value)
    if moment.tzinfo is None:
        raise Unanswered("a moment without its offset")
    return f"'{moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'"


def _in_utc(zone: Value, value: Value) -> Value:
    if zone.constant != "UTC":
        raise Unanswered("this time zone")
    return Value(value.sql, _OTHER[value.kind])


_OTHER = {ValueKind.INSTANT: ValueKind.TIMESTAMP, ValueKind.TIMESTAMP: ValueKind.INSTANT}
IN_UTC = Construct(of(_in_utc, TEXTS, tuple(_OTHER)), "moments are held in UTC")
"""``timezone('UTC', x)``: a moment as the timestamp that it is held as, or back."""


def check_comparable(parts: Sequence[Value]) -> None:
    """Refuse values that an engine would convert before it compares them, or would not compare."""
    kinds = {p.kind for p in parts} - {ValueKind.NULL}
    if len(kinds) > 1 and not kinds <= set(EXACT):
        raise Unanswered("a comparison of two types")


def counted(same: Callable[[Value], str]) -> Rule:
    """COUNT of rows, of values, or of different values, in a text by which equal ones are the same."""

    def apply(node: nodes.Call, parts: Sequence[Value]) -> Value:
        if len(parts) > 1:
            raise Unanswered("count of several")
        return Value(f"count({_distinct(node)}{same(parts[0]) if parts else '*'})", ValueKind.WHOLE)

    return apply


def summed(wide: Callable[[Value], str], total: str) -> Rule:
    """SUM of whole numbers, each made ``wide`` before, as a number of the type ``total``."""

    def apply(node: nodes.Call, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind not in (ValueKind.WHOLE, ValueKind.HUGE, ValueKind.NULL):
            raise Unanswered("sum of this type")
        return Value(f"sum({_distinct(node)}{wide(a)})::{total}", ValueKind.HUGE)

    return apply


Window = Callable[[Sequence[Value], str, Dialect], Value]
"""A window function by its operands and the text of OVER."""


def _numbered(name: str) -> Window:
    return lambda _, over, __: Value(f"{name}(){over}", ValueKind.WHOLE)


def _picked(name: str) -> Window:
    """The value of one row, at a constant distance; beyond the others it is NULL."""

    def apply(parts: Sequence[Value], over: str, _: Dialect) -> Value:
        value, *distance = parts
        is_plain = all(d.constant is not None and d.constant.isdigit() for d in distance)
        if value.constant is not None or value.kind is ValueKind.NULL or len(distance) > 1 or not is_plain:
            raise Unanswered(f"this form of {name}")
        further = "".join(f", {d.constant}" for d in distance)
        return replace(value, sql=f"{name}({value.sql}{further}){over}", required=False)

    return apply


def _end(name: str) -> Window:
    def apply(parts: Sequence[Value], over: str, dialect: Dialect) -> Value:
        [value] = parts
        if value.kind in (ValueKind.TRUTH, ValueKind.NULL):
            raise Unanswered(f"{name} of this type")
        held = f"{name}({dialect.sorted(value)}){over}"
        return replace(value, sql=held, constant=None, required=False)

    return apply


def _total(parts: Sequence[Value], over: str, dialect: Dialect) -> Value:
    [value] = parts
    if dialect.total is None or value.kind is not ValueKind.WHOLE:
        raise Unanswered("sum of this type")
    return Value(dialect.total(value.sql, over), ValueKind.HUGE)


WINDOWS: Mapping[str, Window] = {
    **{name: _numbered(name) for name in ("row_number", "rank", "dense_rank")},
    **{name: _picked(name) for name in ("lag", "lead", "first_value", "last_value", "nth_value")},
    **{name: _end(name) for name in ("min", "max")},
    "count": lambda parts, over, _: Value(f"count({parts[0].sql}){over}", ValueKind.WHOLE),
    "sum": _total,
}
"""Over frames of counted rows, or of equal ones: what SQL defines of them is what all engines compute."""


def _distinct(node: nodes.Call) -> str:
    return "DISTINCT " if node.distinct else ""


@cache
def changed_letters(name: str, first: int) -> tuple[str, str]:
    """The letters from a number on that DuckDB's LOWER or UPPER changes, and what they become: each is one again."""
    letters = "".join(chr(i) for i in range(first, 0x110000) if not 0xD800 <= i < 0xE000)
    with duckdb.connect() as connection:
        [(changed,)] = connection.execute(f"SELECT {name}(?)", [letters]).fetchall()
    pairs = [(a, b) for a, b in zip(letters, changed, strict=True) if a != b]
    return "".join(a for a, _ in pairs), "".join(b for _, b in pairs)
