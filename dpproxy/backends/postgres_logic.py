"""Values and three-valued logic in PostgreSQL: comparisons, CASE, and what picks one of several values."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from dpproxy.backends import postgres_doubles as doubles
from dpproxy.backends.dialect import Kind, Reach, Rule, Value, common, unanswered
from dpproxy.backends.postgres_texts import constant
from dpproxy.backends.standard import EXACT, check_comparable

ENGINE = "PostgreSQL"
NUMBERS = {Kind.WHOLE: "bigint", Kind.HUGE: "numeric", Kind.DECIMAL: "numeric"}


def no(what: str) -> Exception:
    """The refusal of one use of a construct."""
    return unanswered(what, ENGINE)


def number_or_text(node: exp.Expr, _: Sequence[Value]) -> Value:
    """A literal."""
    text = str(node.this)
    if node.is_string:
        return Value(constant(text), Kind.TEXT, constant=text)
    if "e" in text.lower():
        return doubles.constant(float(text))
    if "." in text:
        reach = doubles.constant(float(text)).reach
        return Value(f"{text}::numeric", Kind.DECIMAL, reach, len(text.partition(".")[2]), constant=text)
    reach = doubles.constant(float(int(text))).reach
    return Value(text, Kind.WHOLE if int(text) < 2**63 else Kind.HUGE, reach, constant=text)


def comparison(sign: str) -> Rule:
    """A comparison of two values of one kind."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        check_comparable(parts, ENGINE)
        if a.kind is Kind.TEXT and sign in ("<", "<=", ">", ">="):
            return Value(f'({a.sql} COLLATE "C" {sign} {b.sql})', Kind.TRUTH)
        return Value(f"({a.sql} {sign} {b.sql})", Kind.TRUTH)

    return apply


def is_one_of(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """IN with a list."""
    check_comparable(parts, ENGINE)
    listed = ", ".join(p.sql for p in parts[1:])
    return Value(f"({parts[0].sql} IN ({listed}))", Kind.TRUTH)


def case(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """CASE WHEN: DOUBLEs and whole numbers that are clamped in it have bounds from there on."""
    ifs = node.args["ifs"]
    pairs = [(parts[2 * i], parts[2 * i + 1]) for i in range(len(ifs))]
    otherwise = parts[-1] if len(parts) > 2 * len(ifs) else Value("NULL", Kind.NULL)
    found = common([v for _, v in pairs] + [otherwise])
    if found.kind is Kind.NULL:
        return found
    branches = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in pairs)
    made = replace(found, sql=f"(CASE {branches} ELSE {otherwise.sql} END)", constant=None)
    if found.kind not in (*EXACT, Kind.DOUBLE):
        return made
    return replace(made, reach=_clamped(node, pairs, otherwise) or made.reach)


def _clamped(node: exp.Expr, pairs: Sequence[tuple[Value, Value]], otherwise: Value) -> Reach | None:
    """The reach of a value inside bounds, in the two forms that the planner writes."""
    first = node.args["ifs"][0].this
    if len(pairs) == 2 and isinstance(first, exp.LT) and first.this == node.args.get("default"):
        last = node.args["ifs"][1].this
        if isinstance(last, exp.GT) and last.this == first.this:
            low, high = pairs[0][1], pairs[1][1]
            is_clamp = first.expression == node.args["ifs"][0].args["true"]
            is_clamp = is_clamp and last.expression == node.args["ifs"][1].args["true"]
            if is_clamp and low.constant is not None and high.constant is not None:
                # Where the bounds are the wrong way round, what is below both becomes the larger one.
                return common([doubles.bounded(otherwise, low, high), low, high]).reach
    inside = node.args["ifs"][0].args["true"]
    if len(pairs) == 1 and otherwise.kind is Kind.NULL and isinstance(first, exp.And):
        ends = (first.this, first.expression)
        if type(ends[0]) is exp.GTE and type(ends[1]) is exp.LTE and ends[0].this == ends[1].this == inside:
            bounds = [_bound(end.expression) for end in ends]
            return doubles.bounded(pairs[0][1], *bounds).reach
    return None


def _bound(node: exp.Expr) -> Value | None:
    node, sign = node.unnest(), 1.0
    if isinstance(node, exp.Neg):
        node, sign = node.this, -1.0
    return doubles.constant(sign * float(node.name)) if isinstance(node, exp.Literal) else None


def coalesce(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """COALESCE."""
    found = common(parts)
    sql = f"coalesce({', '.join(p.sql for p in parts)})"
    return found if found.kind is Kind.NULL else replace(found, sql=sql, constant=None)


def nullif(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """NULLIF."""
    check_comparable(parts, ENGINE)
    a, b = parts
    if a.constant is not None and b.constant is not None and a.kind is Kind.DOUBLE:
        return a if float(a.constant) != float(b.constant) else Value("NULL::float8", Kind.DOUBLE)
    return replace(a, sql=f"nullif({a.sql}, {b.sql})", constant=None)


def extreme(name: str) -> Rule:
    """GREATEST and LEAST: NULLs are passed over, NaN stands above all numbers."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        found = common(parts)
        if found.kind is Kind.NULL:
            return found
        collation = ' COLLATE "C"' if found.kind is Kind.TEXT else ""
        sql = f"{name}({', '.join(p.sql + collation for p in parts)})"
        if found.kind not in (*EXACT, Kind.DOUBLE):
            return replace(found, sql=sql, constant=None)
        return replace(_between(name, parts, found), sql=sql, constant=None)

    return apply


def _between(name: str, parts: Sequence[Value], found: Value) -> Value:
    """Bounded by a literal, which it is itself where the other is NULL: that may lie outside what the other can be."""
    known = [p for p in parts if p.constant is not None]
    others = [p for p in parts if p.constant is None]
    if len(known) != 1 or len(others) != 1:
        return found
    ends = (known[0], None) if name == "greatest" else (None, known[0])
    return common([doubles.bounded(others[0], *ends), known[0]])
