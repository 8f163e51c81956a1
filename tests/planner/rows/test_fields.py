"""How the columns of relations are read, as values and as keys."""

from fractions import Fraction

import pytest
import sqlglot
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.planner.rows.fields import Computed, Declared, Identifier, Public, no_keys
from dpproxy.policy.model import Between
from dpproxy.values.errors import BoundsMissing, NotGranted
from dpproxy.values.pgtypes import FLOAT8, INT4, NUMERIC, TEXT, Column

KEY = Identifier("id", Column("id", INT4, not_null=True), ("people", "id"), "people", is_unit=True)


@pytest.mark.parametrize(
    ("expression", "is_answered"),
    [
        ("count(id)", True), ("count(DISTINCT id)", True), ("id IS NULL", True), ("id IS NOT NULL", True),
        ("count((id))", True), ("count(DISTINCT (id))", True), ("count(DISTINCT ((id)))", True), ("(id) IS NULL", True),
        ("count(DISTINCT (id + 1))", False), ("(id)", False), ("array_agg(DISTINCT (id))", False),
        ("(id) IS TRUE", False),
        ("sum(id)", False), ("max(id)", False), ("id > 3", False), ("id + 1", False), ("id", False),
        ("count(id + 1)", False), ("id IN (1)", False), ("array_agg(DISTINCT id)", False), ("id IS TRUE", False),
    ],
)  # fmt: skip
def test_of_a_key_only_its_presence_is_answered(expression: str, is_answered: bool):  # noqa: FBT001
    node = next(iter(sqlglot.parse_one(f"SELECT {expression}", read="postgres").find_all(exp.Column)))
    if is_answered:
        assert KEY.read(node).is_unit
    else:
        with pytest.raises(NotGranted):
            KEY.read(node)
    with pytest.raises(NotGranted):
        KEY.key(None)


def test_a_declared_column_is_inside_its_domain_wherever_it_stands():
    field = Declared("age", Column("age", INT4), Between(0, 100)).moved("a", Column("x_1", INT4))
    typed = field.read(exp.column("a"))
    assert (field.name, typed.low, typed.high) == ("a", 0, 100)
    assert duck.text(typed.sql) == '(CASE WHEN "x_1" < 0 THEN 0 WHEN "x_1" > 100 THEN 100 ELSE "x_1" END)'
    assert field.key(None).values == tuple(range(101))


def test_a_computed_double_is_put_inside_its_bounds_again():
    shape = Typed(duck.column("x"), FLOAT8, None, Fraction(0), Fraction(2))
    double = Computed("x", Column("x", FLOAT8), shape, no_keys("x"))
    assert "> 2.0e0 THEN 2.0e0" in duck.text(double.read(exp.column("x")).sql)
    # A numeric may be a DOUBLE, too, and NaN: CAST(sqrt(x) AS numeric).
    shown = Computed("x", Column("x", NUMERIC), replace(shape, type=NUMERIC), no_keys("x"))
    assert "> 2.0e0 THEN 2.0e0" in duck.text(shown.read(exp.column("x")).sql)
    whole = Computed(
        "n", Column("n", INT4), Typed(duck.column("n"), INT4, 0, Fraction(0), Fraction(2)), no_keys("n")
    )
    assert duck.text(whole.read(exp.column("n")).sql) == '"n"'
    with pytest.raises(BoundsMissing, match='"n" has no declared set of keys'):
        whole.key(None)


def test_a_public_column_is_read_as_it_is_and_its_values_are_its_keys():
    field = Public(
        "ward", Column("ward_1", TEXT), lambda held: Typed(duck.column(held), TEXT),
        lambda _: ("A", 0.5, None),
    )  # fmt: skip
    assert duck.text(field.read(exp.column("ward")).sql) == '"ward_1"'
    assert field.key(None).values == ("A", None)
