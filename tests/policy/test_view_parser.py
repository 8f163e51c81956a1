"""Statements about protected views and cubes; their other tests are those of the whole parser."""

import pytest

from dpproxy.policy.model import CUBE, VIEW
from dpproxy.policy.parser import parse
from dpproxy.policy.statements import DropView, RefreshView, VerifyViews
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import SyntaxRefused


def test_views_and_cubes_are_told_apart():
    assert parse("DROP PRIVACY CUBE c") == DropView(Name("c"), CUBE)
    assert parse("REFRESH PRIVACY CUBE c") == RefreshView(Name("c"), CUBE)
    assert parse("VERIFY PRIVACY CUBE c, d") == VerifyViews((Name("c"), Name("d")), CUBE)
    assert parse("VERIFY PROTECTED VIEW v, w") == VerifyViews((Name("v"), Name("w")), VIEW)


@pytest.mark.parametrize(
    "sql",
    [
        "REFRESH PRIVACY VIEW c",
        "VERIFY CUBE c",
        "CREATE PRIVACY CUBE c ON t (a) MEASURES (count(*))",
        "CREATE PRIVACY CUBE c ON t (a) MEASURES (count(*)) WITH (method = x, epsilon = 1)",
        "CREATE PRIVACY CUBE c ON t (a) MEASURES (count(*)) WITH (epsilon = 1, epsilon = 2)",
    ],
)
def test_what_is_neither_is_refused(sql: str):
    with pytest.raises(SyntaxRefused):
        parse(sql)
