"""Every column is mapped into its domain where it is read."""

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.domains import LONGEST_READ, MOST_LISTED, read_column
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Between, Discovered, Members, Outside, References, Scalar
from dpproxy.values.errors import BoundsMissing, Refusal, Unsupported
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, NUMERIC, TEXT, TIMESTAMP, Column, SqlType
from tests.analysis.rows import COLUMNS, SIZE, columns, connect, mapped, node_of, value_of, values_of
from tests.empty import empty


def test_each_type_of_column_is_read_inside_its_domain():
    connection = connect()
    for name, column in columns().items():
        typed = read_column(column, COLUMNS[name].domain)
        held = [value_of(v, typed) for v in values_of(connection, typed.sql)]
        expected = [mapped(name, row) for row in range(SIZE)]
        if typed.scale is not None:
            assert held == expected, name
        assert [v is None for v in held] == [v is None for v in expected], name
        if typed.presence is not None:
            present = values_of(connection, typed.presence)
            assert [v is None for v in present] == [v is None for v in held], name
    connection.close()


def test_nan_counts_as_above_the_upper_bound():
    connection = connect()
    typed = read_column(columns()["real4"], COLUMNS["real4"].domain)
    assert 1000.0 in values_of(connection, typed.sql)
    connection.close()


@pytest.mark.parametrize(
    ("column", "bound"),
    [
        (Column("x", NUMERIC.with_precision(38, 0)), 10**38 - 1),
        (Column("x", FLOAT8), 10**305),
        (Column("x", NUMERIC.with_precision(38, 18)), 100),
    ],
)
def test_bounds_that_no_exact_number_holds_are_refused(column: Column, bound: int):
    with pytest.raises(BoundsMissing) as refused:
        read_column(column, Between(0, bound))
    assert "SET PRIVACY DOMAIN" in str(refused.value.hint)


def test_a_domain_of_null_alone_is_null():
    typed = read_column(Column("x", INT4), Members((None,)))
    assert typed.is_null
    assert (typed.low, typed.high) == (0, 0)


def test_a_text_is_as_long_as_its_longest_member():
    assert read_column(Column("x", TEXT), Members(("a", "abc", None))).longest == 3


def test_not_null_holds_only_where_the_domain_makes_no_null():
    column = Column("x", INT4, not_null=True)
    assert not read_column(column, Between(0, 1)).nullable
    assert read_column(column, Between(0, 1, Outside.NULL)).nullable
    assert read_column(column, Members((1,))).nullable


def test_a_float_bound_is_the_nearest_double():
    assert read_column(Column("x", FLOAT8), Between(Fraction("0.1"), 1)).low == Fraction(0.1)


WORDS = ("a", "Bob's", None)


@dataclass(frozen=True)
class Fixed:
    """Values of one public column."""

    values: tuple[Scalar | None, ...]

    def __call__(self, table: str, column: str, most: int) -> tuple[Scalar | None, ...]:
        assert (table, column) == ("u", "c")
        return self.values[:most]

    def ends(self, table: str, column: str) -> tuple[Scalar, Scalar] | None:
        assert (table, column) == ("u", "c")
        return (0, MOST_LISTED) if isinstance(self.values[0], int) else None


def test_few_values_of_another_table_are_as_those_of_in():
    typed = read_column(Column("x", TEXT), References("u", "c"), Fixed(WORDS))
    assert typed == read_column(Column("x", TEXT), Members(("a", "Bob's")))
    with pytest.raises(Unsupported):
        read_column(Column("x", TEXT), References("u", "c"))


def test_many_values_of_another_table_are_anything():
    many = Fixed(tuple(str(n) for n in range(MOST_LISTED + 1)))
    typed = read_column(Column("x", TEXT), References("u", "c"), many, is_computed=True)
    assert (typed.opaque, typed.longest) == (False, LONGEST_READ)
    assert duck.text(typed.sql) == f'LEFT("x", {LONGEST_READ})'


def test_many_values_without_a_gap_bound_what_is_computed_with():
    many = Fixed(tuple(range(MOST_LISTED + 1)))
    column = Column("x", INT4, not_null=True)
    typed = read_column(column, References("u", "c"), many, is_computed=True)
    assert typed == read_column(column, Between(0, MOST_LISTED, Outside.NULL))
    assert read_column(column, References("u", "c"), many) == read_column(column, Discovered())


@pytest.mark.parametrize("name", COLUMNS)
def test_a_discovered_column_is_anything_its_type_holds(name: str):
    column = columns()[name]
    try:
        typed = read_column(column, Discovered())
    except BoundsMissing:
        assert name in ("huge", "wide", "rate", "unsigned")
        return
    assert typed.opaque is (name in ("born", "seen"))
    connection = connect()
    held = [value_of(v, typed) for v in values_of(connection, typed.sql)] if not typed.opaque else []
    connection.close()
    if typed.scale is not None and typed.is_number:
        assert all(v is None or typed.low <= v <= typed.high for v in held)


def discovered_scope() -> Scope:
    def leaf(node: exp.Expr) -> Typed | None:
        return read_column(columns()[node.name], Discovered()) if type(node) is exp.Column else None

    return Scope(ExpressionLevel.ROW, leaf, Parameters())


@pytest.mark.parametrize(
    "text",
    [
        "name = 'ada'",
        "(name) <> 'ada'",
        "name IN ('ada', 'x')",
        "name IS NULL",
        "name BETWEEN 'a' AND 'b'",
        "CASE name WHEN 'ada' THEN 1 END",
        "born < '2000-01-01'",
        "seen >= date '2000-01-01'",
        "born = date '2000-05-29' - interval '90' day",
        "name = name",
        "lower(name) = 'a'",
        "name LIKE 'a%'",
        "coalesce(name, 'x') = 'x'",
        "length(name) > 3",
        "CASE WHEN flag THEN name END IS NULL",
    ],
)
def test_what_nobody_listed_is_compared_with_constants(text: str):
    typed = compile_expression(node_of(text), discovered_scope())
    connection = connect()
    assert len(values_of(connection, typed.sql)) == SIZE
    connection.close()


@pytest.mark.parametrize(
    "text",
    [
        "born + 1",
        "extract(year FROM seen)",
        "seen::date",
        "born = timestamp '2000-01-01 12:00:00'",
    ],
)
def test_nothing_else_is_done_with_it(text: str):
    with pytest.raises(Refusal) as refused:
        compile_expression(node_of(text), discovered_scope())
    assert refused.value.hint


@pytest.mark.parametrize("outside", Outside)
@pytest.mark.parametrize(
    ("kind", "held", "low", "high", "middle"),
    [
        (INT4, "INTEGER", -2, 9, 3),
        (NUMERIC.with_precision(8, 2), "DECIMAL(8, 2)", Fraction(1, 100), 5, 250),
        (FLOAT8, "DOUBLE", 0, Fraction(33, 10), 1.65),
        (DATE, "DATE", date(2020, 1, 1), date(2020, 1, 4), date(2020, 1, 2)),
        (TIMESTAMP, "TIMESTAMP", datetime(2020, 1, 1), datetime(2020, 1, 2), datetime(2020, 1, 1, 12)),  # noqa: DTZ001
    ],
)
def test_of_a_domain_without_null_null_is_the_middle(
    outside: Outside, kind: SqlType, held: str, low: Scalar, high: Scalar, middle: object
):
    domain = Between(low, high, outside, not_null=True)
    typed = read_column(Column("x", kind, not_null=True), domain)
    other = read_column(Column("x", kind), replace(domain, not_null=False))
    form, without = (f"typeof({duck.text(one.sql)})" for one in (typed, other))
    sql = f"SELECT {duck.text(typed.sql)}, {form} = {without} FROM (SELECT CAST(NULL AS {held}) AS x)"
    with empty() as connection:
        assert connection.execute(sql).fetchall() == [(middle, True)]
    assert not typed.nullable


def test_on_the_inner_side_of_an_outer_join_null_stays():
    typed = read_column(Column("x", INT4, not_null=False), Between(0, 9, not_null=True))
    assert typed.nullable
    assert "COALESCE" not in duck.text(typed.sql)
