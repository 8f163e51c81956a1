"""Statements are values: equal whatever place they were read from, and silent about literals."""

from typing import get_args

from dpproxy.policy.parser import parse
from dpproxy.policy.statements import (
    Change,
    Literal,
    LiteralKind,
    RefreshView,
    ResetBudget,
    Show,
    Statement,
    Suggest,
    VerifyViews,
)
from dpproxy.sql.cursor import Name


def test_places_do_not_count():
    sql = "ALTER TABLE t ALTER COLUMN c SET PRIVACY DOMAIN IN (1, 'x')"
    assert parse(sql) == parse(sql.replace(" ", "\n  "))
    assert Name("a", 1) == Name("a", 2)


def test_a_literal_is_not_repeated_in_a_log():
    assert "Smith" not in repr(Literal(LiteralKind.TEXT, "Smith"))


def test_what_shows_builds_or_resets_is_no_change():
    others = {Show, Suggest, RefreshView, VerifyViews, ResetBudget}
    assert set(get_args(Statement)) - set(get_args(Change)) == others
