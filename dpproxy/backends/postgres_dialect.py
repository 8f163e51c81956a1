"""The constructs of the exact stage that PostgreSQL computes alike, row by row: one line each, with the reason.

Whole numbers are bigint or numeric: PostgreSQL's overflow raises where DuckDB's does, which the planner has excluded.
Texts are compared by their bytes, as in DuckDB: equality is that in every deterministic collation, order is told.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import add, mul, sub

from sqlglot import exp

from dpproxy.backends import postgres_doubles as doubles
from dpproxy.backends.dialect import Construct, Dialect, Kind, Reach, Value, common, stored, unanswered
from dpproxy.backends.postgres_texts import folded, literal, quoted
from dpproxy.plan import PREPARED

Rule = Callable[[exp.Expr, Sequence[Value]], Value]
_EXACT = (Kind.WHOLE, Kind.HUGE, Kind.DECIMAL)
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_NUMBERS = {Kind.WHOLE: "bigint", Kind.HUGE: "numeric", Kind.DECIMAL: "numeric"}
SINGLE = Reach(-3.4028235e38, 3.4028235e38, 1.4e-45)
"""What a real can be."""
RELEASED = Reach(-1e100, 1e100, 1e-100, top=False, bottom=False)
"""What a released value can be: the source looks at it before it is run."""


def no(what: str) -> Exception:
    """The refusal of one use of a construct."""
    return unanswered(what, "PostgreSQL")


# --- values ---------------------------------------------------------------------------------------


def _literal(node: exp.Expr, _: Sequence[Value]) -> Value:
    text = str(node.this)
    if node.is_string:
        return Value(literal(text), Kind.TEXT, constant=text)
    if "e" in text.lower():
        return doubles.constant(float(text))
    if "." in text:
        reach = doubles.constant(float(text)).reach
        return Value(f"{text}::numeric", Kind.DECIMAL, reach, len(text.partition(".")[2]), constant=text)
    reach = doubles.constant(float(int(text))).reach
    return Value(text, Kind.WHOLE if int(text) < 2**63 else Kind.HUGE, reach, constant=text)


def _truth(node: exp.Expr, _: Sequence[Value]) -> Value:
    return Value("TRUE" if node.this else "FALSE", Kind.TRUTH)


def _null(_: exp.Expr, __: Sequence[Value]) -> Value:
    return Value("NULL", Kind.NULL)


def _parameter(node: exp.Expr, _: Sequence[Value]) -> Value:
    return Value(f"${int(str(node.this))}", Kind.TEXT)


# --- logic ----------------------------------------------------------------------------------------


def _sign(sign: str) -> Rule:
    """A comparison of two values of one kind."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        comparable(parts)
        if a.kind is Kind.TEXT and sign in ("<", "<=", ">", ">="):
            return Value(f'({a.sql} COLLATE "C" {sign} {b.sql})', Kind.TRUTH)
        return Value(f"({a.sql} {sign} {b.sql})", Kind.TRUTH)

    return apply


def comparable(parts: Sequence[Value]) -> None:
    """Refuse values that PostgreSQL would convert before it compares them, or would not compare."""
    kinds = {p.kind for p in parts} - {Kind.NULL}
    if len(kinds) > 1 and not kinds <= set(_EXACT):
        raise no("a comparison of two types")


def _joined(word: str) -> Rule:
    return lambda _, parts: Value(f"({parts[0].sql} {word} {parts[1].sql})", Kind.TRUTH)


def _not(_: exp.Expr, parts: Sequence[Value]) -> Value:
    return Value(f"(NOT {parts[0].sql})", Kind.TRUTH)


def _is(node: exp.Expr, parts: Sequence[Value]) -> Value:
    if type(node.expression) not in (exp.Null, exp.Boolean):
        raise no("IS")
    return Value(f"({parts[0].sql} IS {parts[1].sql})", Kind.TRUTH)


def _in(_: exp.Expr, parts: Sequence[Value]) -> Value:
    comparable(parts)
    listed = ", ".join(p.sql for p in parts[1:])
    return Value(f"({parts[0].sql} IN ({listed}))", Kind.TRUTH)


def _case(node: exp.Expr, parts: Sequence[Value]) -> Value:
    ifs = node.args["ifs"]
    pairs = [(parts[2 * i], parts[2 * i + 1]) for i in range(len(ifs))]
    otherwise = parts[-1] if len(parts) > 2 * len(ifs) else Value("NULL", Kind.NULL)
    found = common([v for _, v in pairs] + [otherwise])
    if found.kind is Kind.NULL:
        return found
    branches = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in pairs)
    made = replace(found, sql=f"(CASE {branches} ELSE {otherwise.sql} END)", constant=None)
    if found.kind not in (*_EXACT, Kind.DOUBLE):
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
            if is_clamp and last.expression == node.args["ifs"][1].args["true"]:
                return doubles.bounded(otherwise, low, high).reach
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


def _coalesce(_: exp.Expr, parts: Sequence[Value]) -> Value:
    found = common(parts)
    sql = f"coalesce({', '.join(p.sql for p in parts)})"
    return found if found.kind is Kind.NULL else replace(found, sql=sql, constant=None)


def _nullif(_: exp.Expr, parts: Sequence[Value]) -> Value:
    comparable(parts)
    a, b = parts
    if a.constant is not None and b.constant is not None and a.kind is Kind.DOUBLE:
        return a if float(a.constant) != float(b.constant) else Value("NULL::float8", Kind.DOUBLE)
    return replace(a, sql=f"nullif({a.sql}, {b.sql})", constant=None)


def _extreme(name: str) -> Rule:
    """GREATEST and LEAST: NULLs are passed over, NaN stands above all numbers."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        found = common(parts)
        if found.kind is Kind.NULL:
            return found
        collation = ' COLLATE "C"' if found.kind is Kind.TEXT else ""
        sql = f"{name}({', '.join(p.sql + collation for p in parts)})"
        if found.kind not in (*_EXACT, Kind.DOUBLE):
            return replace(found, sql=sql, constant=None)
        return replace(_between(name, parts, found), sql=sql, constant=None)

    return apply


def _between(name: str, parts: Sequence[Value], found: Value) -> Value:
    """Bounded by a literal, of which there is always one where it is not NULL."""
    known = [p for p in parts if p.constant is not None]
    others = [p for p in parts if p.constant is None]
    if len(known) != 1 or len(others) != 1:
        return found
    ends = (known[0], None) if name == "greatest" else (None, known[0])
    return replace(found, reach=doubles.bounded(others[0], *ends).reach)


# --- numbers --------------------------------------------------------------------------------------


def _arithmetic(sign: str) -> Rule:
    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        kinds = {a.kind, b.kind}
        if Kind.NULL in kinds:
            return Value("NULL", Kind.NULL)
        if Kind.DOUBLE in kinds:
            a, b = (_as_double(p) for p in parts)
            if a.constant is not None and b.constant is not None:
                return doubles.constant(_FOLDED[sign](float(a.constant), float(b.constant)))
            return doubles.multiplied(a, b) if sign == "*" else doubles.added(sign)(a, b)
        if kinds <= set(_EXACT):
            best = common(parts)
            scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
            width = _NUMBERS[best.kind]
            sql = f"({a.sql}::{width} {sign} {b.sql}::{width})"
            return Value(sql, Kind.DECIMAL if scale else best.kind, doubles.exact(sign, a, b), scale)
        return _of_time(sign, a, b)

    return apply


_FOLDED: Mapping[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul}


def _as_double(value: Value) -> Value:
    """A DOUBLE, or a whole number that was written beside one."""
    if value.kind is Kind.WHOLE and value.constant is not None:
        return doubles.constant(float(int(value.constant)))
    if value.kind is not Kind.DOUBLE:
        raise no("arithmetic of two types")
    return value


def _of_time(sign: str, a: Value, b: Value) -> Value:
    if sign == "-" and a.kind is b.kind is Kind.DATE:
        return Value(f"({a.sql} - {b.sql})::bigint", Kind.WHOLE)
    if sign in "+-" and a.kind in _MOMENTS and b.kind is Kind.SPAN:
        return Value(f"({a.sql}::timestamp {sign} {b.sql})", Kind.TIMESTAMP)
    raise no("arithmetic of two types")


def _negative(_: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind is Kind.NULL:
        return a
    if a.kind not in (*_EXACT, Kind.DOUBLE):
        raise no("a minus sign")
    if a.kind is Kind.DOUBLE and a.constant is not None:
        return doubles.constant(-float(a.constant))
    reach = replace(
        a.reach, low=-a.reach.high, high=-a.reach.low, top=a.reach.top or a.reach.bottom, bottom=a.reach.top
    )
    held = a.sql if a.kind is Kind.DOUBLE else f"{a.sql}::{_NUMBERS[a.kind]}"
    constant = None if a.constant is None else f"-{a.constant}"
    return replace(a, sql=f"(- {held})", reach=reach, constant=constant)


def _quotient(_: exp.Expr, parts: Sequence[Value]) -> Value:
    if any(p.kind is Kind.NULL for p in parts):
        return Value("NULL", Kind.NULL)
    if {p.kind for p in parts} != {Kind.DOUBLE}:
        raise no("a division of two types")
    return doubles.divided(*parts)


def _whole_quotient(sign: str, name: str) -> Rule:
    """``//`` and ``%``: towards zero in both engines; the divisor is NULL where it would be 0."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        if Kind.NULL in {a.kind, b.kind}:
            return Value("NULL", Kind.NULL)
        if not {a.kind, b.kind} <= {Kind.WHOLE, Kind.HUGE}:
            raise no("a division of two types")
        if {a.kind, b.kind} == {Kind.WHOLE}:
            return Value(f"({a.sql}::bigint {sign} {b.sql}::bigint)", Kind.WHOLE)
        return Value(f"{name}({a.sql}::numeric, {b.sql}::numeric)", Kind.HUGE)

    return apply


def _of_doubles(rule: Callable[[Value], Value]) -> Rule:
    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is Kind.NULL:
            return parts[0]
        if parts[0].kind is not Kind.DOUBLE:
            raise no("a function of this type")
        return rule(parts[0])

    return apply


def _round(_: exp.Expr, parts: Sequence[Value]) -> Value:
    value, *digits = parts
    if value.kind is Kind.NULL:
        return value
    if value.kind is not Kind.DOUBLE or (digits and digits[0].constant is None):
        raise no("round of this type")
    return doubles.rounded_to(value, int(digits[0].constant or 0) if digits else 0)


def _abs(_: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind is Kind.NULL:
        return a
    if a.kind is Kind.DOUBLE:
        return doubles.absolute(a)
    if a.kind not in _EXACT:
        raise no("abs of this type")
    return replace(a, sql=f"abs({a.sql}::{_NUMBERS[a.kind]})", constant=None)


def _signum(_: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind is Kind.NULL:
        return a
    if a.kind not in (*_EXACT, Kind.DOUBLE):
        raise no("sign of this type")
    held = a.sql if a.kind is Kind.DOUBLE else f"{a.sql}::numeric"
    return Value(f"sign({held})::bigint", Kind.WHOLE)


def _power(_: exp.Expr, parts: Sequence[Value]) -> Value:
    if {p.kind for p in parts} != {Kind.DOUBLE}:
        raise no("power of this type")
    return doubles.power(*parts)


# --- aggregates -----------------------------------------------------------------------------------


def _count(node: exp.Expr, parts: Sequence[Value]) -> Value:
    if not parts:
        return Value("count(*)", Kind.WHOLE)
    each = "DISTINCT " if isinstance(node.this, exp.Distinct) else ""
    if each and len(parts) > 1:
        raise no("count of several")
    return Value(f"count({each}{parts[0].sql})", Kind.WHOLE)


def _sum(node: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind not in (Kind.WHOLE, Kind.HUGE, Kind.NULL):
        raise no("sum of this type")
    each = "DISTINCT " if isinstance(node.this, exp.Distinct) else ""
    return Value(f"sum({each}{a.sql}::{_NUMBERS.get(a.kind, 'bigint')})::numeric", Kind.HUGE)


def _end(name: str) -> Rule:
    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind is Kind.TRUTH:
            return Value(f"bool_{'or' if name == 'max' else 'and'}({a.sql})", Kind.TRUTH)
        collation = ' COLLATE "C"' if a.kind is Kind.TEXT else ""
        return replace(a, sql=f"{name}({a.sql}{collation})", constant=None)

    return apply


def _all(name: str) -> Rule:
    return lambda _, parts: Value(f"{name}({parts[0].sql})", Kind.TRUTH)


# --- texts and dates ------------------------------------------------------------------------------


def _texts(template: str, kind: Kind = Kind.TEXT, *, further: int = 0) -> Rule:
    """A function of texts; the last ``further`` arguments are whole numbers."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        split = len(parts) - further
        if any(p.kind is not Kind.TEXT for p in parts[:split]):
            raise no("a function of this type")
        if any(p.kind is not Kind.WHOLE or p.constant is None for p in parts[split:]):
            raise no("a function of texts without constant places")
        held = [p.sql for p in parts[:split]] + [f"{p.sql}::int" for p in parts[split:]]
        return Value(template.format(*held, all=", ".join(held)), kind)

    return apply


_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(node: exp.Expr, parts: Sequence[Value]) -> Value:
    side = str(node.args.get("position") or "").upper()
    return _texts(f"{_SIDES.get(side, 'btrim')}({{all}})")(node, parts)


def _like(*, fold: bool) -> Rule:
    """LIKE without an escape character, which PostgreSQL has unless it is told none."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        value, pattern = parts
        if value.kind is not Kind.TEXT or pattern.constant is None:
            raise no("LIKE of a pattern that is no constant")
        held, of = (
            (folded(value.sql, "lower"), folded(pattern.sql, "lower")) if fold else (value.sql, pattern.sql)
        )
        return Value(f"({held} LIKE {of} ESCAPE '')", Kind.TRUTH)

    return apply


def _folded(name: str) -> Rule:
    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is not Kind.TEXT:
            raise no("a function of this type")
        return Value(folded(parts[0].sql, name), Kind.TEXT)

    return apply


_FIELDS = frozenset(
    [
        "millennium",
        "century",
        "decade",
        "year",
        "isoyear",
        "quarter",
        "month",
        "week",
        "day",
        "doy",
        "dow",
        "isodow",
        "hour",
        "minute",
        "microseconds",
    ]
)


def _date_part(_: exp.Expr, parts: Sequence[Value]) -> Value:
    field, value = parts
    if field.constant not in _FIELDS or value.kind not in _MOMENTS:
        raise no("this field of a date")
    return Value(f"extract({field.constant} FROM {value.sql})::bigint", Kind.WHOLE)


def _date_trunc(node: exp.Expr, parts: Sequence[Value]) -> Value:
    unit = str(node.args["unit"].name).lower()
    if unit not in ("decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        raise no("this unit of date_trunc")
    value = parts[-1]  # of a day the parser writes the unit first, as a text
    if value.kind not in _MOMENTS:
        raise no("date_trunc of this type")
    return Value(f"date_trunc('{unit}', {value.sql}::timestamp)", Kind.TIMESTAMP)


def _epoch(_: exp.Expr, parts: Sequence[Value]) -> Value:
    if parts[0].kind not in _MOMENTS:
        raise no("epoch_us of this type")
    return Value(f"(extract(epoch FROM {parts[0].sql}::timestamp) * 1000000)::bigint", Kind.WHOLE)


def _span(template: str) -> Rule:
    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is not Kind.WHOLE:
            raise no("a length of time of this type")
        return Value(template.format(parts[0].sql), Kind.SPAN)

    return apply


def _hash(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice.

    The first is the truncation secret, 32 bytes in hexadecimal: the first eight seed the hash, all are in it.
    """
    seed = f"('x' || left({parts[0].sql}::text, 16))::bit(64)::bigint"
    row = ", ".join([f"{parts[0].sql}::text", *(p.sql for p in parts[1:])])
    return Value(f"hash_record_extended(ROW({row}), {seed})", Kind.WHOLE)


# --- casts ----------------------------------------------------------------------------------------


def _to_bigint(_: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind is Kind.DOUBLE and not (a.reach.is_finite and a.reach.most < 2.0**63):
        raise doubles.unbounded()
    if a.kind not in (*_EXACT, Kind.DOUBLE, Kind.NULL):
        raise no("this cast")
    return Value(
        f"{a.sql}::bigint", Kind.WHOLE, a.reach, constant=a.constant if a.kind is Kind.WHOLE else None
    )


def _to_huge(node: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if a.kind is Kind.DOUBLE:  # a DOUBLE as numeric would have 15 digits
        return Value(f"{_to_bigint(node, parts).sql}::numeric", Kind.HUGE, a.reach)
    if a.kind is Kind.DECIMAL:
        return Value(f"round({a.sql}, 0)", Kind.HUGE)
    if a.kind not in (*_EXACT, Kind.NULL):
        raise no("this cast")
    return Value(f"{a.sql}::numeric", Kind.HUGE, a.reach, constant=a.constant)


def _to_double(node: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    if isinstance(node.this.unnest(), exp.Placeholder):
        return Value(f"{a.sql}::float8", Kind.DOUBLE, RELEASED)
    if a.kind is Kind.DOUBLE:
        return a
    if a.kind is Kind.NULL:
        return Value("NULL::float8", Kind.DOUBLE, replace(RELEASED, low=0.0, high=0.0))
    if a.kind not in (Kind.WHOLE, Kind.HUGE):
        raise no("this cast")
    if a.constant is not None:
        return doubles.constant(float(int(a.constant)))
    most = 2.0**63 if a.kind is Kind.WHOLE else 2.0**127
    low, high = max(a.reach.low, -most), min(a.reach.high, most)
    return Value(f"{a.sql}::float8", Kind.DOUBLE, Reach(low, high, 1.0, top=False, bottom=False))


def _to_decimal(node: exp.Expr, parts: Sequence[Value]) -> Value:
    [a] = parts
    scale = int(str(node.args["to"].expressions[1].this))
    if a.kind not in (*_EXACT, Kind.NULL) or a.scale > scale:
        raise no("this cast")
    return Value(f"{a.sql}::numeric", Kind.DECIMAL, a.reach, scale)


def _to_moment(name: str, kind: Kind) -> Rule:
    def apply(node: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        is_ours = a.constant is not None or isinstance(node.this.unnest(), exp.Placeholder)
        if a.kind not in (*_MOMENTS, Kind.NULL) and not (a.kind is Kind.TEXT and is_ours):
            raise no("this cast")
        return Value(f"{a.sql}::{name}", kind)

    return apply


def _to_null(name: str, kind: Kind) -> Rule:
    """Of NULL alone."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind not in (Kind.NULL, kind):
            raise no("this cast")
        return Value(f"{parts[0].sql}::{name}", kind)

    return apply


_SAME = "the same in both engines: total, NULL of NULL"
_LOGIC = "three-valued in both engines"
_ORDER = "values of one type; NaN stands above all numbers in both engines, texts are compared by their bytes"
_RANGE = "exact in both engines, in a type at least as wide"
_IEEE = "correctly rounded in both engines; where PostgreSQL would raise it is guarded or refused"
_LIBRARY = "the C library's in both engines; where PostgreSQL would raise it is guarded or refused"

EXPRESSIONS: Mapping[type[exp.Expr], Construct] = {
    exp.Literal: Construct(_literal, "DOUBLE by its shortest text, others by their digits"),
    exp.Boolean: Construct(_truth, _SAME),
    exp.Null: Construct(_null, _SAME),
    exp.Placeholder: Construct(_parameter, "the secret, or a released value inside a cast"),
    exp.EQ: Construct(_sign("="), _ORDER),
    exp.NEQ: Construct(_sign("<>"), _ORDER),
    exp.LT: Construct(_sign("<"), _ORDER),
    exp.LTE: Construct(_sign("<="), _ORDER),
    exp.GT: Construct(_sign(">"), _ORDER),
    exp.GTE: Construct(_sign(">="), _ORDER),
    exp.NullSafeEQ: Construct(_sign("IS NOT DISTINCT FROM"), _ORDER),
    exp.NullSafeNEQ: Construct(_sign("IS DISTINCT FROM"), _ORDER),
    exp.In: Construct(_in, _ORDER),
    exp.And: Construct(_joined("AND"), _LOGIC),
    exp.Or: Construct(_joined("OR"), _LOGIC),
    exp.Not: Construct(_not, _LOGIC),
    exp.Is: Construct(_is, _LOGIC),
    exp.Case: Construct(_case, "the first branch that is true; what it guards is not computed otherwise"),
    exp.Like: Construct(_like(fold=False), "by characters, without an escape"),
    exp.ILike: Construct(_like(fold=True), "by characters in small letters, without an escape"),
    exp.Add: Construct(_arithmetic("+"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Sub: Construct(_arithmetic("-"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Mul: Construct(_arithmetic("*"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Neg: Construct(_negative, "exact"),
    exp.Div: Construct(_quotient, _IEEE),
    exp.IntDiv: Construct(_whole_quotient("/", "div"), "towards zero in both engines"),
    exp.Mod: Construct(_whole_quotient("%", "mod"), "with the sign of the dividend in both engines"),
    exp.DPipe: Construct(_texts("({} || {})"), _SAME),
    exp.Count: Construct(_count, "64 bits in both engines"),
    exp.Sum: Construct(_sum, "of whole numbers, in any number of digits"),
    exp.Max: Construct(_end("max"), _ORDER),
    exp.Min: Construct(_end("min"), _ORDER),
    exp.LogicalAnd: Construct(_all("bool_and"), _LOGIC),
    exp.LogicalOr: Construct(_all("bool_or"), _LOGIC),
}

FUNCTIONS: Mapping[str, Construct] = {
    "hash": Construct(_hash, "another keyed hash: any will do that follows from the row's content"),
    "nullif": Construct(_nullif, _SAME),
    "coalesce": Construct(_coalesce, _SAME),
    "greatest": Construct(_extreme("greatest"), "NULLs are passed over in both engines"),
    "least": Construct(_extreme("least"), "NULLs are passed over in both engines"),
    "abs": Construct(_abs, "exact"),
    "sign": Construct(_signum, "0 of NaN in both engines"),
    "floor": Construct(_of_doubles(doubles.whole("floor")), "exact"),
    "ceil": Construct(_of_doubles(doubles.whole("ceil")), "exact"),
    "trunc": Construct(_of_doubles(doubles.whole("trunc")), "exact"),
    "round": Construct(_round, "by what is behind the point, which is exact"),
    "sqrt": Construct(_of_doubles(doubles.root), "correctly rounded; NaN below zero is guarded"),
    "ln": Construct(_of_doubles(doubles.logarithm("ln")), _LIBRARY),
    "log": Construct(_of_doubles(doubles.logarithm("log")), _LIBRARY),
    "exp": Construct(_of_doubles(doubles.exponential), _LIBRARY),
    "power": Construct(_power, f"{_LIBRARY}; what is nearer to zero than its power has digits for is zero"),
    "lower": Construct(_folded("lower"), "by DuckDB's own table of letters"),
    "upper": Construct(_folded("upper"), "by DuckDB's own table of letters"),
    "trim": Construct(_trim, "of each of the characters that are told, in both engines"),
    "length": Construct(_texts("length({})::bigint", Kind.WHOLE), "characters in both engines"),
    "substring": Construct(
        _texts("substr({all})", further=2), "from the first character on, in both engines"
    ),
    "left": Construct(_texts("left({all})", further=1), "all but so many below zero, in both engines"),
    "right": Construct(_texts("right({all})", further=1), "all but so many below zero, in both engines"),
    "strpos": Construct(_texts("strpos({all})::bigint", Kind.WHOLE), "characters in both engines"),
    "starts_with": Construct(_texts("starts_with({all})", Kind.TRUTH), _SAME),
    "replace": Construct(_texts("replace({all})"), "an empty part changes nothing in both engines"),
    "concat": Construct(_texts("concat({all})"), "NULLs are left out in both engines"),
    "date_part": Construct(_date_part, "of the proleptic Gregorian calendar in both engines"),
    "date_trunc": Construct(_date_trunc, "of the proleptic Gregorian calendar in both engines"),
    "epoch_us": Construct(_epoch, "exact: numeric seconds have six digits"),
    "to_months": Construct(
        _span("make_interval(months => ({})::int)"), "the last day of a shorter month in both"
    ),
    "to_days": Construct(_span("make_interval(days => ({})::int)"), "whole days in both engines"),
    "to_microseconds": Construct(_span("(({})::bigint * interval '1 microsecond')"), "exact in both engines"),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(_to_bigint, "of a whole number, or of a rounded DOUBLE known to be inside 63 bits"),
    "INT128": Construct(_to_huge, "numeric has room for 128 bits"),
    "DOUBLE": Construct(_to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(_to_decimal, "widened only"),
    "TIMESTAMPNTZ": Construct(_to_moment("timestamp", Kind.TIMESTAMP), "of a day, its midnight"),
    "TIMESTAMP": Construct(_to_moment("timestamp", Kind.TIMESTAMP), "of a day, its midnight"),
    "DATE": Construct(_to_moment("date", Kind.DATE), "the day of a moment"),
    "TEXT": Construct(_to_null("text", Kind.TEXT), "of NULL"),
    "VARCHAR": Construct(_to_null("text", Kind.TEXT), "of NULL"),
    "BOOLEAN": Construct(_to_null("boolean", Kind.TRUTH), "of NULL"),
}


def _table(schema: str, prepared: str | None) -> Callable[[str, str], str]:
    def table(database: str, name: str) -> str:
        if database == PREPARED and prepared is not None:
            return f"{quoted(prepared)}.{quoted(name)}"
        if database:
            raise no("this table")
        return f"{quoted(schema)}.{quoted(name)}"

    return table


def _sorted(value: Value) -> str:
    return f'{value.sql} COLLATE "C"' if value.kind is Kind.TEXT else value.sql


def dialect(schema: str, prepared: str | None = None) -> Dialect:
    """PostgreSQL with the data in one schema, and prepared tables in another or none."""
    return Dialect("PostgreSQL", quoted, _table(schema, prepared), _sorted, EXPRESSIONS, FUNCTIONS, CASTS)


__all__ = ["CASTS", "EXPRESSIONS", "FUNCTIONS", "RELEASED", "SINGLE", "dialect", "stored"]
