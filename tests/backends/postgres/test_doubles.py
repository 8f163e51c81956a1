"""On a real server: no pair of extremes raises, and every result has the same bits as IEEE says."""

import itertools
import math
from collections.abc import Callable, Iterator
from operator import add, mul, sub

import psycopg
import pytest
from msgspec.structs import replace

from dpproxy.backends.postgres import doubles
from dpproxy.backends.servers.dialect import ANYTHING, Reach, Value, ValueKind
from dpproxy.values.errors import Unsupported
from tests.postgres import Server

TINY = [5e-324, 1e-320, 2.2250738585072014e-308, 1e-200, 9.99e-151, 1e-150, 1.01e-150, 3e-162, 1.6e-162]
LARGE = [1e150, 9.9e149, 1.0, 0.5, 3.0, 1e-5, 7e77]
FINITE = [0.0, -0.0, *TINY, *LARGE, *(-v for v in (*TINY, *LARGE))]
SPECIAL = [math.nan, math.inf, -math.inf]
BOUNDED = Reach(-1e150, 1e150)


@pytest.fixture(scope="module")
def connection(postgres: Server) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(postgres.url(postgres.database(name="doubles")), autocommit=True) as connection:
        yield connection


def columns(reach: Reach) -> tuple[Value, Value]:
    return Value("p.a", ValueKind.DOUBLE, reach), Value("p.b", ValueKind.DOUBLE, reach)


def asked(
    connection: psycopg.Connection[tuple[object, ...]],
    sql: str,
    rows: list[tuple[float | None, float | None]],
) -> list[object]:
    shown = ", ".join(f"({doubles_of(a)}, {doubles_of(b)}, {n})" for n, (a, b) in enumerate(rows))
    text = f"SELECT {sql} FROM (VALUES {shown}) AS p(a, b, n) ORDER BY n"
    return [value for (value,) in connection.execute(text.encode()).fetchall()]


def doubles_of(value: float | None) -> str:
    return "NULL::float8" if value is None else doubles.number(value)


def quotient(a: float, b: float) -> float:
    return a / b


@pytest.mark.parametrize(
    ("rule", "exact"),
    [
        (doubles.multiplied, mul),
        (doubles.divided, quotient),
        (doubles.added("+"), add),
        (doubles.added("-"), sub),
    ],
    ids=["*", "/", "+", "-"],
)
def test_two_columns(
    connection: psycopg.Connection[tuple[object, ...]],
    rule: Callable[[Value, Value], Value],
    exact: Callable[[float, float], float],
):
    pairs = list(itertools.product([*FINITE, *SPECIAL, None], repeat=2))
    if exact is quotient:
        pairs = [(a, b) for a, b in pairs if b != 0]
    found = asked(connection, rule(*columns(BOUNDED)).sql, pairs)
    for (a, b), value in zip(pairs, found, strict=True):
        if a is None or b is None:
            assert value is None
        else:
            assert same(value, exact(a, b)), (a, b)


def same(found: object, wanted: float) -> bool:
    return isinstance(found, float) and (found == wanted or (math.isnan(found) and math.isnan(wanted)))


@pytest.mark.parametrize("by", [0.1, -0.1, 1e-300, 3.0, 5e-324, 1e-20, 1.0])
@pytest.mark.parametrize(
    ("rule", "exact"), [(doubles.multiplied, mul), (doubles.divided, quotient)], ids=["*", "/"]
)
def test_a_column_and_a_constant(
    connection: psycopg.Connection[tuple[object, ...]],
    by: float,
    rule: Callable[[Value, Value], Value],
    exact: Callable[[float, float], float],
):
    a, _ = columns(BOUNDED)
    if exact is quotient and abs(by) < 1e-150:
        with pytest.raises(Unsupported):
            rule(a, doubles.constant(by))
        return
    found = asked(connection, rule(a, doubles.constant(by)).sql, [(v, 0.0) for v in FINITE])
    assert all(same(f, exact(v, by)) for f, v in zip(found, FINITE, strict=True))


def test_halves_are_rounded_away_from_zero(connection: psycopg.Connection[tuple[object, ...]]):
    values = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -2.5,
        0.49999999999999994,
        4503599627370495.5,
        4503599627370497.0,
        1e300,
        -0.2,
    ]
    found = asked(
        connection, doubles.rounded(columns(ANYTHING)[0]).sql, [(v, 0.0) for v in [*values, *SPECIAL]]
    )
    wanted = [math.copysign(math.floor(abs(v) + 0.5) if abs(v) < 2**51 else abs(v), v) for v in values]
    wanted[5], wanted[6] = 0.0, 4503599627370496.0
    assert all(same(f, w) for f, w in zip(found, [*wanted, *SPECIAL], strict=True))


def test_halves_are_rounded_to_even(connection: psycopg.Connection[tuple[object, ...]]):
    values = [0.5, 1.5, 2.5, -0.5, -2.5, 0.49999999999999994, 4503599627370495.5, 1e300]
    even = doubles.whole("round")(columns(ANYTHING)[0]).sql
    found = asked(connection, even, [(v, 0.0) for v in [*values, *SPECIAL]])
    assert all(same(f, w) for f, w in zip(found, [*map(float, map(round, values)), *SPECIAL], strict=True))


@pytest.mark.parametrize("name", ["ln", "log"])
def test_logarithms_and_roots_have_a_value_everywhere(
    connection: psycopg.Connection[tuple[object, ...]], name: str
):
    a, _ = columns(ANYTHING)
    values = [0.0, -0.0, -1.0, 5e-324, 1.0, math.inf, -math.inf, math.nan]
    found = asked(connection, doubles.logarithm(name)(a).sql, [(v, 0.0) for v in values])
    assert found[:2] == [-math.inf, -math.inf]
    assert all(same(f, math.nan) for f in (found[2], found[6], found[7]))
    roots = asked(connection, doubles.root(a).sql, [(v, 0.0) for v in values])
    assert all(
        same(f, w)
        for f, w in zip(
            roots, [0.0, 0.0, math.nan, 5e-324**0.5, 1.0, math.inf, math.nan, math.nan], strict=True
        )
    )


def test_what_could_leave_the_range_is_refused():
    a, b = columns(ANYTHING)
    small = replace(a, reach=Reach(0.0, 800.0, top=False, bottom=False))
    for rule in (doubles.multiplied, doubles.divided, doubles.added("+"), doubles.added("-")):
        with pytest.raises(Unsupported) as refused:
            rule(a, b)
        assert "least(greatest(" in str(refused.value.hint)
    for refuse in (
        lambda: doubles.exponential(small),
        lambda: doubles.power(small, doubles.constant(200.0)),
        lambda: doubles.power(small, doubles.constant(-1.0)),
        lambda: doubles.rounded_to(a, 2),
    ):
        with pytest.raises(Unsupported):
            refuse()


def test_a_power_is_guarded_where_it_would_vanish(connection: psycopg.Connection[tuple[object, ...]]):
    a = replace(columns(BOUNDED)[0], reach=Reach(-1e100, 1e100, top=False, bottom=False))
    found = asked(
        connection,
        doubles.power(a, doubles.constant(3.0)).sql,
        [(v, 0.0) for v in (5e-324, 0.0, -2.0, 1e100)],
    )
    assert found == [0.0, 0.0, -8.0, pytest.approx(1e300)]


def test_bounds_follow_literals():
    a, _ = columns(ANYTHING)
    inside = doubles.bounded(a, 20.0, 200.0).reach
    assert (inside.low, inside.high, inside.least, inside.is_finite) == (20.0, 200.0, 20.0, True)
    below = doubles.bounded(a, None, 1.0).reach
    assert below.bottom
    assert not below.top
