"""Keys that are computed: their values follow from what is declared, and rows give no others."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.derived import derived_key
from dpproxy.analysis.keys import MOST_KEYS, GroupKey, Values, group_key
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Between, Domain, Members, References
from dpproxy.values.errors import BoundsMissing, Internal, Refusal, TooComplex
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, NUMERIC, TEXT, Column
from tests.analysis import grammar
from tests.analysis.rows import COLUMNS, columns, connect, node_of, row_scope, values_of

CHECKS = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def declared(node: exp.Column) -> Values | None:
    return listed(columns()[node.name], COLUMNS[node.name].domain)


def listed(column: Column, domain: Domain, *values: int | None) -> Values | None:
    try:
        return group_key(column, domain, None, lambda *_: values).values
    except Refusal:
        return None


def key(text: str, parameters: Parameters | None = None) -> GroupKey:
    return derived_key(node_of(text), text, row_scope(parameters), declared)


@pytest.mark.parametrize(
    ("text", "values"),
    [("age / 10", tuple(range(12))), ("age / 10 * 10", tuple(range(0, 120, 10))), ("floor(age / 10)", tuple(range(12))),
     ("floor(age / 50.0) * 50", (0, 50, 100)), ("odd + 1", (-2, 4, None)), ("coalesce(odd, 0)", (-3, 0, 3)), ("odd % 2", (-1, 1, None)),
     ("age > 17", (False, True)), ("grade * 2", (-54, 30, 60)), ("lower(name)", ("ada", "ådå%_'", "", " x\t", None)),
     ("substring(name, 1, 1)", ("a", "Å", "", " ", None)), ("1 + 1", (2,)),
     ("CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END", ("child", "adult", "old")),
     ("CASE WHEN age < 200 THEN 'all' END", ("all",)), ("CASE WHEN name IS NULL THEN 'none' ELSE 'some' END", ("some", "none")),
     ("extract(year FROM born) - 1900", tuple(range(131))), ("extract(month FROM born)", tuple(range(1, 13)))],
)  # fmt: skip
def test_the_image_of_declared_values(text: str, values: tuple[object, ...]):
    assert key(text).values == values


@pytest.mark.parametrize(
    ("text", "values"),
    [("floor(real4 / 500)", (-2, -1, 0, 1, 2)), ("floor(real4 / 500) * 500", (-1000, -500, 0, 500, 1000)), ("round(unit8)", (0, 1)),
     ("big % 3", (-2, -1, 0, 1, 2)), ("width_bucket(real8, 0, 100, 3)", (0, 1, 2, 3, 4)), ("real8 > 3", (False, True)),
     ("CAST(unit8 AS int) + 5", (5, 6)), ("extract(dow FROM seen)", tuple(range(7))), ("extract(decade FROM seen)", (200, 201, 202, 203)),
     ("sign(real8)", (-1, 0, 1))],
)  # fmt: skip
def test_bounded_whole_numbers_enumerate(text: str, values: tuple[int, ...]):
    if text.startswith("sign"):  # a DOUBLE that the rule does not know to be whole
        with pytest.raises(BoundsMissing):
            key(text)
        return
    assert key(text).values == values


def test_a_double_is_held_in_its_last_digit():
    made = key("round(unit8, 1)")
    assert (made.type, made.typed.scale, made.values) == (NUMERIC, 1, tuple(range(1, 11)))
    assert key("floor(real4 / 0.5) * 0.5").values[:3] == (-10000, -9995, -9990)
    assert not made.is_held
    with pytest.raises(BoundsMissing):  # more digits than are held
        key("CASE WHEN age < 18 THEN 1.5::float8 ELSE degrees(2::float8) END")


def test_a_constant_double_has_all_its_digits():
    made = key("degrees(2::float8)")
    assert (made.values, made.is_held, made.constant is not None) == ((1,), False, True)


def test_truncated_moments():
    months = key("date_trunc('month', seen)").values
    assert (months[0], months[1], months[-1], len(months)) == (
        datetime(2000, 1, 1), datetime(2000, 2, 1), datetime(2030, 1, 1), 361,
    )  # fmt: skip
    assert len(key("date_trunc('year', born)").values) == 131
    days = key("seen::date").values
    assert (days[0], days[-1], len(days)) == (date(2000, 1, 1), date(2030, 1, 1), 10959)


@pytest.mark.parametrize(
    ("text", "values"),
    [("CASE WHEN real4 < 1 THEN 'low' ELSE 'high' END", ("low", "high")), ("CASE WHEN real4 < 1 THEN 'low' WHEN real4 < 2 THEN 'mid' END", ("low", "mid", None)),
     ("CASE WHEN real4 < 1 THEN 1.5 ELSE 2 END", (15, 20)), ("upper(CASE WHEN seen < '2010-01-01' THEN 'a' ELSE 'b' END)", ("A", "B")),
     (f"CASE {' '.join(f'WHEN real4 < {n} THEN {n}' for n in range(20))} ELSE 99 END", (*range(20), 99)),
     ("CASE WHEN born < '2000-01-01' THEN tiny ELSE odd END", (*range(-5, 301), None)),
     ("CASE WHEN real4 < 1 THEN seen ELSE timestamp '2000-01-01' END", None)],
)  # fmt: skip
def test_conditions_with_constants(text: str, values: tuple[object, ...] | None):
    if values is None:
        with pytest.raises(BoundsMissing):
            key(text)
        return
    assert key(text).values == values


@pytest.mark.parametrize(
    "text",
    ["real4 * 2", "price", "sqrt(age)", "date_trunc('second', seen)", "extract(epoch FROM seen)", "big + 0::numeric", "age * 1.0 / 7", "real8 || ''"],
)  # fmt: skip
def test_what_does_not_follow_is_refused(text: str):
    with pytest.raises(Refusal) as refused:
        key(text)
    assert isinstance(refused.value, BoundsMissing) is (text != "real8 || ''")


def one_column(column: Column, domain: Domain | None, typed: Typed) -> GroupKey:
    def leaf(node: exp.Expr) -> Typed | None:
        return typed if type(node) is exp.Column else None

    def known(_: exp.Column) -> Values | None:
        return None if domain is None else listed(column, domain, 7, None, 9)

    return derived_key(node_of("age + 1"), "age + 1", Scope(ExpressionLevel.ROW, leaf, Parameters()), known)


def test_a_column_without_a_domain_has_the_numbers_between_its_bounds():
    typed = Typed(nodes.ColumnRef("age"), INT4, 0, Fraction(0), Fraction(3), nullable=True)
    assert one_column(Column("age", INT4), None, typed).values == (1, 2, 3, 4)


def test_a_referenced_column_has_the_values_of_the_other_table():
    typed = Typed(nodes.ColumnRef("age"), INT4, 0, Fraction(7), Fraction(9), nullable=True)
    assert one_column(Column("age", INT4), References("u", "c"), typed).values == (8, 10)


def test_the_limit_is_that_of_keys():
    wide = Typed(nodes.ColumnRef("age"), INT4, 0, Fraction(0), Fraction(MOST_KEYS), nullable=True)
    with pytest.raises((BoundsMissing, TooComplex)):
        one_column(Column("age", INT4), Between(0, MOST_KEYS), wide)


def test_a_parameter_counts_with_its_value():
    assert key("age / $1", Parameters({1: INT4}, (100,))).values == (0, 1)
    assert key("age / $1", Parameters({1: INT4})).type == INT4


def test_the_name_and_types_are_the_expressions():
    assert key("lower(name)").name == "lower(name)"
    assert key("name::varchar").type == TEXT
    assert key("floor(real8 / 1e299)").type == FLOAT8
    assert key("born + 1").type == DATE


KINDS = st.sampled_from(["i", "n", "m", "t", "d", "s", "b", "f"])


@pytest.fixture(scope="module")
def rows():
    connection = connect()
    yield connection
    connection.close()


@CHECKS
@given(data=st.data())
def test_random_expressions_give_only_their_keys(rows: duckdb.DuckDBPyConnection, data: st.DataObject):
    """Rows whose columns hold declared values never leave the set."""
    text = data.draw(grammar.drawn(data.draw(KINDS), 3)).text
    try:
        made = key(text)
    except Internal:
        raise
    except Refusal:
        return
    assert len(set(made.values)) == len(made.values) <= MOST_KEYS
    columns_read = {node.name for node in node_of(text).find_all(exp.Column)}
    missing = [values_of(rows, row_scope().leaf(exp.column(name)).sql) for name in columns_read - NULL_LISTED]
    for row, value in enumerate(values_of(rows, made.raw)):
        assert not isinstance(value, float | Decimal)
        unlisted = any(held[row] is None for held in missing)
        assert value in made.values or unlisted


NULL_LISTED = {
    name for name, made in COLUMNS.items() if isinstance(made.domain, Members) and None in made.domain.values
}
