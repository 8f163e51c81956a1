"""Random row-level expressions, each with what PostgreSQL says its value is: exact numbers, three-valued logic."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

import math
import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tests.analysis.rows import mapped

Value = Any
Truth = bool | None


@dataclass(frozen=True)
class Drawn:
    """An expression's text and its value on a row."""

    text: str
    on: Callable[[int], Value]

    def __repr__(self) -> str:
        return self.text


Build = Callable[..., Drawn]
Production = tuple[Build, str]
"""How an expression is built, and the kinds of its parts: one letter each."""


def column(name: str) -> Drawn:
    return Drawn(name, lambda row: mapped(name, row))


def constant(text: str, value: Value) -> Drawn:
    return Drawn(text, lambda _: value)


def strict(template: str, rule: Callable[..., Value]) -> Build:
    """An operation that is NULL where an operand is."""

    def build(*parts: Drawn) -> Drawn:
        def on(row: int) -> Value:
            values = [p.on(row) for p in parts]
            return None if None in values else rule(*values)

        return Drawn(template.format(*parts), on)

    return build


def loose(template: str, rule: Callable[..., Value]) -> Build:
    """An operation that sees NULLs."""
    return lambda *parts: Drawn(template.format(*parts), lambda row: rule(*(p.on(row) for p in parts)))


def towards_zero(a: Fraction, b: Fraction) -> int | None:
    return None if b == 0 else math.trunc(Fraction(a) / Fraction(b))


def remainder(a: Fraction, b: Fraction) -> Fraction | None:
    quotient = towards_zero(a, b)
    return None if quotient is None else a - b * quotient


def half_away(value: Fraction, digits: int) -> Fraction:
    step = Fraction(10) ** -digits
    whole = math.floor(abs(value) / step + Fraction(1, 2)) * step
    return -whole if value < 0 else whole


def both(a: Truth, b: Truth) -> Truth:
    return False if a is False or b is False else None if None in (a, b) else True


def either(a: Truth, b: Truth) -> Truth:
    return True if a is True or b is True else None if None in (a, b) else False


def one_of(value: Value, *members: Value) -> bool | None:
    if value is None:
        return None
    return True if value in [m for m in members if m is not None] else None if None in members else False


def known(pick: Callable[[list[Value]], Value]) -> Callable[..., Value]:
    return lambda *values: pick([v for v in values if v is not None]) if set(values) - {None} else None


def like(pattern: str, *, fold: bool) -> Callable[[str], bool]:
    def match(text: str, rest: str) -> bool:
        if not rest:
            return not text
        if rest[0] == "%":
            return any(match(text[i:], rest[1:]) for i in range(len(text) + 1))
        return bool(text) and rest[0] in ("_", text[0]) and match(text[1:], rest[1:])

    return lambda text: match(text.lower(), pattern.lower()) if fold else match(text, pattern)


def month_later(moment: datetime) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def month_start(moment: date) -> datetime:
    return datetime(moment.year, moment.month, 1)


def bucket(value: Fraction) -> Fraction:
    """WIDTH_BUCKET(value, -1, 50.5, 7)."""
    if value < -1:
        return Fraction(0)
    return Fraction(8 if value >= Fraction("50.5") else math.floor((value + 1) * 7 / Fraction("51.5")) + 1)


def part_of(text: str, start: int, size: int) -> str:
    return text[max(start - 1, 0) : max(start - 1 + size, 0)]


FIELDS: dict[str, Callable[[date], int]] = {
    "year": lambda d: d.year, "month": lambda d: d.month, "quarter": lambda d: (d.month + 2) // 3,
    "dow": lambda d: d.isoweekday() % 7, "doy": lambda d: d.timetuple().tm_yday, "week": lambda d: d.isocalendar().week,
    "century": lambda d: (d.year + 99) // 100, "isoyear": lambda d: d.isocalendar().year,
}  # fmt: skip
LITERALS = ["0", "1", "-2", "0.25", "1.5", "99999", "1e3", "NULL"]


def literal(text: str) -> Drawn:
    return constant(
        text if text != "NULL" else "CAST(NULL AS numeric)", None if text == "NULL" else Fraction(text)
    )


WHOLE_COLUMNS = ("tiny", "small", "age", "odd", "never", "big")
EXACT_COLUMNS = ("price", "rate", "grade", "huge", "wide", "unsigned")
FLOAT_COLUMNS = ("real4", "real8", "unit8")
PATTERNS = ["%", "a%", "%å%", "_d_", "%'%", "ADA", "%_%d%", ""]


def unknown(template: str) -> Build:
    """A floating-point expression: only its form and bounds are asked for."""
    return lambda *parts: Drawn(template.format(*parts), lambda _: None)


LEAVES: dict[str, list[Drawn]] = {
    "i": [*map(column, WHOLE_COLUMNS), *(constant(str(n), Fraction(n)) for n in (0, 1, 3, -7))],
    "n": [*map(column, EXACT_COLUMNS), *map(column, WHOLE_COLUMNS), *map(literal, LITERALS)],
    "m": [
        *(column(n) for n in (*WHOLE_COLUMNS, "price", "rate", "grade", "unsigned")),
        *map(literal, LITERALS),
    ],
    "t": [column("name"), constant("'ada'", "ada"), constant("'å\"''%'", "å\"'%")],
    "d": [column("born"), constant("'2000-02-29'::date", date(2000, 2, 29)), constant("NULL::date", None)],
    "s": [
        column("seen"),
        constant("timestamp '2000-02-29 12:30:00.5'", datetime(2000, 2, 29, 12, 30, 0, 500_000)),
    ],
    "b": [column("flag"), constant("TRUE", value=True), constant("NULL::bool", None)],
    "f": [Drawn(n, lambda _: None) for n in (*FLOAT_COLUMNS, "0.0::float8", "1e-300::float8")],
}


def _shared(kind: str) -> list[Production]:
    """What every type has: CASE, COALESCE, NULLIF, GREATEST, LEAST."""
    return [
        (loose("CASE WHEN {} THEN {} ELSE {} END", lambda c, a, b: a if c is True else b), f"b{kind}{kind}"),
        (loose("CASE WHEN {} THEN {} END", lambda c, a: a if c is True else None), f"b{kind}"),
        (
            loose(
                "CASE {} WHEN {} THEN {} END", lambda x, y, a: a if None not in (x, y) and x == y else None
            ),
            3 * kind,
        ),
        (loose("coalesce({}, {})", lambda a, b: b if a is None else a), 2 * kind),
        (loose("coalesce({}, NULL)", lambda a: a), kind),
        (loose("nullif({}, {})", lambda a, b: None if None not in (a, b) and a == b else a), 2 * kind),
        (loose("greatest({}, {}, {})", known(max)), 3 * kind),
        (loose("least({}, NULL, {})", known(min)), 2 * kind),
    ]


def _compared(kind: str) -> list[Production]:
    signs: dict[str, Callable[[Value, Value], bool]] = {
        "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
    }  # fmt: skip
    between = loose(
        "({} BETWEEN {} AND {})",
        lambda a, b, c: both(None if None in (a, b) else a >= b, None if None in (a, c) else a <= c),
    )
    return [
        *((strict(f"({{}} {sign} {{}})", rule), 2 * kind) for sign, rule in signs.items()),
        (loose("({} IS DISTINCT FROM {})", lambda a, b: a != b), 2 * kind),
        (loose("({} IS NOT DISTINCT FROM {})", lambda a, b: a == b), 2 * kind),
        (loose("({} IS NULL)", lambda a: a is None), kind),
        (loose("({} IN ({}, {}))", one_of), 3 * kind),
        (between, 3 * kind),
    ]


STEPS: dict[str, list[Production]] = {
    "i": [
        *_shared("i"),
        (strict("CAST({} AS bigint)", lambda a: a), "i"),
        (strict("({} / {})", towards_zero), "ii"),
        (strict("({} % {})", remainder), "ii"),
        (strict("length({})", lambda a: Fraction(len(a))), "t"),
        (strict("CAST({} AS bigint)", lambda a: half_away(a, 0)), "n"),
        (strict("(CAST({} AS bigint) + {})", lambda a, b: a + b), "ii"),
        (strict("mod({}, {})", remainder), "ii"),
        (strict("({} - {})", lambda a, b: Fraction((a - b).days)), "dd"),
        (strict("strpos({}, {})", lambda a, b: Fraction(a.find(b) + 1)), "tt"),
        (strict("width_bucket({}, -1, 50.5, 7)", bucket), "m"),
    ],
    "n": [
        *_shared("n"),
        (strict("({} + {})", lambda a, b: a + b), "nn"),
        (strict("({} - {})", lambda a, b: a - b), "nn"),
        (strict("({} * {})", lambda a, b: a * b), "nn"),
        (strict("(- {})", lambda a: -a), "n"),
        (strict("abs({})", abs), "n"),
        (strict("sign({})", lambda a: Fraction((a > 0) - (a < 0))), "n"),
        (strict("round({}, 1)", lambda a: half_away(a, 1)), "n"),
        (strict("round({}, -2)", lambda a: half_away(a, -2)), "n"),
        (strict("round({})", lambda a: half_away(a, 0)), "n"),
        (strict("floor({})", lambda a: Fraction(math.floor(a))), "n"),
        (strict("ceil({})", lambda a: Fraction(math.ceil(a))), "n"),
        (strict("CAST({} AS numeric(30, 3))", lambda a: half_away(a, 3)), "n"),
        (strict("({})", lambda a: a), "i"),
    ],
    "m": [
        *_shared("m"),
        (strict("(cast({} AS numeric) + {})", lambda a, b: a + b), "mm"),
        (strict("(cast({} AS numeric) - {})", lambda a, b: a - b), "mm"),
        (strict("(- {})", lambda a: -a), "m"),
        (strict("abs({})", abs), "m"),
        (strict("round({}, 1)", lambda a: half_away(a, 1)), "m"),
        (strict("trunc({})", lambda a: Fraction(math.trunc(a))), "m"),
        (strict("trunc({}, 1)", lambda a: Fraction(math.trunc(a * 10), 10)), "m"),
        (strict("({} % {})", remainder), "mm"),
        *(
            (strict(f"extract({name} FROM {{}})", lambda a, of=of: Fraction(of(a))), kind)
            for name, of in FIELDS.items() for kind in "ds"
        ),
        (strict("extract(second FROM {})", lambda a: a.second + Fraction(a.microsecond, 10**6)), "s"),
        (strict("extract(epoch FROM {})", lambda a: Fraction((a - datetime(1970, 1, 1)) // timedelta(microseconds=1), 10**6)), "s"),
        (strict("extract(day FROM {} - {})", lambda a, b: Fraction((1 if a >= b else -1) * (abs(a - b) // timedelta(days=1)))), "ss"),
        (strict("extract(epoch FROM ({} - {}))", lambda a, b: Fraction((a - b) // timedelta(microseconds=1), 10**6)), "ss"),
        (strict("floor({})", lambda a: Fraction(math.floor(a))), "m"),
    ],
    "t": [
        *_shared("t"),
        (strict("({} || {})", lambda a, b: a + b), "tt"),
        (strict("lower({})", str.lower), "t"),
        (strict("upper({})", str.upper), "t"),
        (strict("trim({})", lambda a: a.strip(" ")), "t"),
        (strict("ltrim({}, 'aÅ')", lambda a: a.lstrip("aÅ")), "t"),
        (strict("substring({} FROM 2 FOR 3)", lambda a: part_of(a, 2, 3)), "t"),
        (strict("substring({}, -1, 3)", lambda a: part_of(a, -1, 3)), "t"),
        (strict("left({}, 2)", lambda a: a[:2]), "t"),
        (strict("left({}, -1)", lambda a: a[:-1]), "t"),
        (strict("right({}, 2)", lambda a: a[-2:]), "t"),
        (strict("right({}, -1)", lambda a: a[1:]), "t"),
        (strict("replace({}, 'd', 'xy')", lambda a: a.replace("d", "xy")), "t"),
        (strict("replace({}, {}, '%')", lambda a, b: a.replace(b, "%") if b else a), "tt"),
        (strict("translate({}, 'adÅ', 'xy')", lambda a: a.translate(str.maketrans("ad", "xy", "Å"))), "t"),
        (strict("split_part({}, 'd', 2)", lambda a: [*a.split("d"), ""][1]), "t"),
        (strict("split_part({}, 'da', -1)", lambda a: a.split("da")[-1]), "t"),
        (strict("split_part({}, '', 1)", lambda a: a), "t"),
        (strict("lpad({}, 5, 'xå')", lambda a: ("xåxåx"[: max(0, 5 - len(a))] + a)[:5]), "t"),
        (strict("repeat({}, 2)", lambda a: a * 2), "t"),
        (strict("regexp_replace({}, '[a-d]', 'x', 'g')", lambda a: re.sub("[a-d]", "x", a)), "t"),
        (strict("substring({} FROM '(d)(.)')", lambda a: "d" if re.search("d.", a, re.DOTALL) else None), "t"),
        (loose("concat_ws('-', {}, {})", lambda a, b: "-".join(v for v in (a, b) if v is not None)), "tt"),
        (loose("concat({}, NULL, {})", lambda a, b: (a or "") + (b or "")), "tt"),
    ],
    "d": [
        *_shared("d"),
        (strict("({} + 30)", lambda a: a + timedelta(days=30)), "d"),
        (lambda a: strict("({} - {})", lambda x, y: x - timedelta(days=int(y)))(a, column("odd")), "d"),
        (strict("CAST({} AS date)", lambda a: a.date()), "s"),
    ],
    "s": [
        *_shared("s"),
        (strict("CAST({} AS timestamp)", lambda a: datetime(a.year, a.month, a.day)), "d"),
        (strict("({} + interval '1 month')", month_later), "s"),
        (strict("({} - interval '40 days 1 hour')", lambda a: a - timedelta(days=40, hours=1)), "s"),
        (strict("date_trunc('month', {})", month_start), "s"),
        (strict("date_trunc('month', {})", month_start), "d"),
        (strict("date_trunc('day', {})", lambda a: datetime(a.year, a.month, a.day)), "s"),
    ],
    "b": [
        *_shared("b"), *_compared("m"), *_compared("t"), *_compared("d"), *_compared("s"), *_compared("b"),
        (strict("({} - {} > interval '1 month 5 hours')", lambda a, b: a - b > timedelta(days=30, hours=5)), "ss"),
        (strict("(interval '-40 days' >= {} - {})", lambda a, b: timedelta(days=-40) >= a - datetime(b.year, b.month, b.day)), "sd"),
        (strict("starts_with({}, {})", str.startswith), "tt"),
        (strict("(NOT {})", lambda a: not a), "b"),
        (loose("({} AND {})", both), "bb"),
        (loose("({} OR {})", either), "bb"),
        (loose("({} IS TRUE)", lambda a: a is True), "b"),
        (loose("({} IS NOT FALSE)", lambda a: a is not False), "b"),
        *(
            (strict(f"({{}} {word} '{p.replace(chr(39), chr(39) * 2)}')", like(p, fold=word == "ILIKE")), "t")
            for p in PATTERNS for word in ("LIKE", "ILIKE")
        ),
    ],
    "f": [
        *((unknown(f"({{}} {s} {{}})"), parts) for s in "+-*/" for parts in ("ff", "fn", "nf")),
        *((unknown(f"{f}({{}})"), "f") for f in ("sqrt", "ln", "exp", "abs", "sign", "floor", "round", "trunc", "log", "degrees")),
        (unknown("round({}, 2)"), "f"),
        *((unknown(f"power({{}}, {n})"), "f") for n in ("2", "3", "0.5", "-1", "0")),
        (unknown("log(2, {})"), "f"),
        (unknown("(width_bucket({}, -1, 2.5, 4) * 0.5)"), "f"),
        (unknown("(- {})"), "f"),
        (unknown("CAST({} AS float8)"), "n"),
        (unknown("CAST(CAST(least(greatest({}, -99), 1e6) AS int) AS float8)"), "f"),
        (unknown("(CAST(sqrt(least({}, 1000)) AS int) * 1000000 * 0.5)"), "f"),
        (unknown("least(greatest({}, -5), 1e6)"), "f"),
        (unknown("({} / {})"), "nn"),
        (unknown("CASE WHEN {} > {} THEN {} ELSE {} END"), "ffff"),
        (unknown("coalesce(nullif({}, {}), {})"), "fff"),
    ],
}  # fmt: skip


@st.composite
def drawn(draw: st.DrawFn, kind: str, depth: int = 4) -> Drawn:
    """An expression of a kind: i(nteger), n(umber), m(oderate number), t(ext), d(ate), (time)s(tamp),
    b(oolean), f(loat)."""
    choices = st.integers(0, 10_000)

    def build(kind: str, depth: int) -> Drawn:
        pick = draw(choices)
        if depth == 0 or pick % 4 == 0:
            return LEAVES[kind][pick // 4 % len(LEAVES[kind])]
        make, parts = STEPS[kind][pick // 4 % len(STEPS[kind])]
        return make(*(build(part, depth - 1) for part in parts))

    return build(kind, depth)
