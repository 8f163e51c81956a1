"""Domains and classes of columns."""

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

import pytest

from dpproxy.policy import apply_column
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Between, ColumnClass, ColumnPolicy, Members, Outside, Policy
from dpproxy.policy.store import change_of
from dpproxy.values.errors import (
    InvalidParameter,
    NumberOutOfRange,
    Refusal,
    TypeMismatch,
    UndefinedColumn,
    UndefinedTable,
)

Apply = Callable[..., Policy]
NOON = datetime.fromisoformat("2000-01-01 12:00:00")
WRONG = (
    "1 AND DATE '2000-01-01'",
    "'a' AND 'b'",
    "TIMESTAMP '2000-01-01 00:00:00' AND TIMESTAMPTZ '2001-01-01 00:00:00+00:00'",
    "'2001-01-01' AND '2000-01-01'",
)


def alter(table: str, column: str, text: str) -> str:
    return f"ALTER TABLE {table} ALTER COLUMN {column} SET PRIVACY {text}"


def test_bounds(applied: Apply):
    policy = applied(
        alter("patients", "age", "DOMAIN BETWEEN 0 AND 110"),
        alter("patients", "born", "DOMAIN BETWEEN '1900-01-01' AND DATE '2020-12-31' OUTSIDE NULL"),
        alter("visits", "cost", "DOMAIN BETWEEN -0.50 AND 5000"),
    )
    assert policy.tables["patients"].columns == {
        "age": ColumnPolicy(Between(0, 110)),
        "born": ColumnPolicy(Between(date(1900, 1, 1), date(2020, 12, 31), Outside.NULL)),
    }
    assert policy.tables["visits"].columns["cost"].domain == Between(Fraction(-1, 2), 5000)


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ("'1900-01-01' AND '2099-12-31'", (date(1900, 1, 1), date(2099, 12, 31))),
        ("'1900-01-01' AND DATE '2099-12-31'", (date(1900, 1, 1), date(2099, 12, 31))),
        ("'2000-01-01' AND '2000-01-01 12:00:00'", (NOON.replace(hour=0), NOON)),
        ("1 AND 2.5", (1, Fraction(5, 2))),
    ],
)
def test_bounds_are_read_where_no_table_says_their_type(bounds: str, found: tuple[object, object]):
    policy = apply(Policy(), change_of(alter("t", "c", f"DOMAIN BETWEEN {bounds}")), None)
    domain = policy.tables["t"].columns["c"].domain
    assert isinstance(domain, Between)
    assert ((domain.low, domain.high), type(domain.low)) == (found, type(found[0]))
    for wrong in WRONG:
        with pytest.raises(Refusal):
            apply(Policy(), change_of(alter("t", "c", f"DOMAIN BETWEEN {wrong}")), None)


def test_members_keep_their_order(applied: Apply):
    policy = applied(
        alter("patients", "sex", "DOMAIN IN ('m', 'f', NULL)"),
        alter("patients", "smokes", "DOMAIN IN (TRUE, FALSE)"),
    )
    columns = policy.tables["patients"].columns
    assert columns["sex"].domain == Members(("m", "f", None))
    assert columns["smokes"].domain == Members((True, False))


def test_domain_and_class_keep_each_other_and_hidden_forgets_both(applied: Apply):
    both = applied(
        alter("patients", '"Zip"', "CLASS QUASI IDENTIFIER"),
        alter("patients", '"Zip"', "DOMAIN IN ('1', '2')"),
    )
    found = both.tables["patients"].columns["Zip"]
    assert found == ColumnPolicy(Members(("1", "2")), ColumnClass.QUASI_IDENTIFIER)
    hidden = applied(alter("patients", '"Zip"', "HIDDEN"), to=both)
    assert hidden.tables["patients"].columns["Zip"] == ColumnPolicy()


@pytest.mark.parametrize(
    ("table", "column", "text", "error", "at"),
    [
        ("gone", "age", "HIDDEN", UndefinedTable, "gone"),
        ("patients", "gone", "HIDDEN", UndefinedColumn, "gone"),
        ("patients", "zip", "HIDDEN", UndefinedColumn, "zip"),
        ("patients", "age", "DOMAIN BETWEEN 5 AND 4", InvalidParameter, "4"),
        ("patients", "age", "DOMAIN BETWEEN 0 AND 'x'", TypeMismatch, "'x'"),
        ("patients", "age", "DOMAIN BETWEEN 0 AND 3000000000", NumberOutOfRange, "3000000000"),
        ("patients", "age", "DOMAIN BETWEEN NULL AND 4", TypeMismatch, "NULL"),
        ("patients", "sex", "DOMAIN BETWEEN 'a' AND 'b'", TypeMismatch, "'a'"),
        ("patients", "smokes", "DOMAIN BETWEEN FALSE AND TRUE", TypeMismatch, "FALSE"),
        ("patients", "photo", "DOMAIN IN ('x')", TypeMismatch, "'x'"),
        ("patients", "sex", "DOMAIN IN ()", InvalidParameter, "()"),
        ("patients", "sex", "DOMAIN IN ('m', 'f', 'm')", InvalidParameter, "'m')"),
        ("patients", "age", "DOMAIN IN (1, 1.0)", InvalidParameter, "1.0"),
        ("patients", "age", "DOMAIN IN (NULL, 1, NULL)", InvalidParameter, "NULL)"),
    ],
)
def test_refusals_point_at_the_word(
    applied: Apply, table: str, column: str, text: str, error: type[Refusal], at: str
):
    sql = alter(table, column, text)
    with pytest.raises(error) as caught:
        applied(sql)
    assert caught.value.position == sql.rindex(at)


def test_a_list_has_an_end(applied: Apply, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apply_column, "MOST_MEMBERS", 3)
    applied(alter("patients", "age", "DOMAIN IN (1, 2, 3)"))
    with pytest.raises(InvalidParameter, match="more than 3 values"):
        applied(alter("patients", "age", "DOMAIN IN (1, 2, 3, 4)"))


def test_without_a_schema_bounds_of_two_types_are_refused():
    change = change_of(alter("gone", "c", "DOMAIN BETWEEN 1 AND DATE '2020-01-01'"))
    with pytest.raises(TypeMismatch):
        apply(Policy(), change, None)
