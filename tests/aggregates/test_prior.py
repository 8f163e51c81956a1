from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.prior import Refined, check_fits, in_units
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import BOOL, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, SqlType
from tests.empty import empty
from udfs.prior_notation import parse

NOISE = Noise((), lambda _: ())


def refined(text: str, kind: SqlType, scale: int | None) -> Refined:
    return Refined(parse(text), text, kind, scale)


def computed(sql: nodes.Expr) -> object:
    with empty() as connection:
        [[value]] = connection.sql(f"SELECT {duck.text(sql)}").fetchall()
        return value


@pytest.mark.parametrize(
    ("text", "kind", "scale"),
    [
        ("normal(44, 6)", FLOAT8, None),
        ("lognormal(6, 1)", NUMERIC, None),
        ("uniform(-1e-7, 1e-7)", FLOAT8, None),
        ("normal(-3e12, 1e9)", FLOAT8, None),
        ("table([1.25, 8, -3.5], [1, 2, 3])", NUMERIC, 2),
        ("nominal([3, 1, 2.5], [1, 1, 1])", FLOAT8, None),
        ('ordinal(["low", "it\'s", "\\u00e9\\\\\\""], [1, 1, 1])', TEXT, None),
    ],
)
def test_every_value_goes_to_its_place_and_comes_back(text: str, kind: SqlType, scale: int | None):
    found = refined(text, kind, scale)
    for value in found.prior.values[:: max(1, len(found.prior.values) // 50)]:
        drawn = nodes.Text(value) if isinstance(value, str) else duck.double(value)
        place = computed(found.place(drawn))
        assert isinstance(place, int)
        shown = found.value([duck.cast(duck.integer(place), "HUGEINT")])
        back = computed(shown.sql)
        assert back == (round(float(value) * 100) if scale else value)
        assert shown.type is kind


def test_a_whole_number_is_rounded():
    found = refined("table([1.4, 2.6], [1, 1])", INT8, 0)
    assert [computed(found.value([duck.integer(p)]).sql) for p in found.prior.places] == [1, 3]


def test_it_has_an_expected_distance_and_no_interval():
    found = refined("normal(44, 6)", NUMERIC, None)
    error = found.error(replace(NOISE, sd=(4.25,)), Fraction(95, 100))
    assert error.formula == "one draw, expected distance 4.25 where the prior is right"
    with pytest.raises(Unsupported, match=r"dp\.ci_low of dp\.with_prior"):
        found.interval([], NOISE, Fraction(1, 2))
    with pytest.raises(Unsupported, match=r"dp\.noise_sd of dp\.with_prior"):
        found.noise_sd([], NOISE)
    assert found.measures == ()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (f"table({list(range(2501))}, {[1] * 2501})", INT4, "2500 values at most"),
        ("normal(4, 1)", TEXT, "the prior is over numbers"),
        ('nominal(["a"], [1])', INT4, "the prior is over texts"),
        ("normal(4, 1)", BOOL, "a prior over values of type boolean"),
        ("normal(40000, 1)", INT2, "values that smallint does not hold"),
        ("point(3000000000)", INT4, "values that integer does not hold"),
        ("point(1e19)", NUMERIC, "values that numeric does not hold"),
        ("table([0.001, 1e12], [1, 1])", FLOAT8, "too many digits"),
        (f"ordinal({list(range(1001))}, {[1] * 1001})", FLOAT8, "1000 of them at most"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, kind: SqlType, message: str):
    with pytest.raises((InvalidParameter, Unsupported), match=message):
        check_fits(parse(text), kind, None)


def test_what_fits():
    for text in ("lognormal(6, 4)", "lognormal(6, 0.41)", "beta(2, 2)", "histogram([0, 1, 9], [1, 2])"):
        check_fits(parse(text), FLOAT8, None)
    check_fits(parse("point(3000000000)"), INT8, None)
    check_fits(parse('nominal(["a"], [1])'), TEXT, None)


def test_units():
    assert computed(in_units(duck.integer(3), Fraction(1, 20))) == 0.15
    assert computed(in_units(duck.integer(3), Fraction(500))) == 1500.0
