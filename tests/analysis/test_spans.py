"""What they mean is compared with PostgreSQL in tests/planner/test_with_and_without_from.py."""

import pytest

from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.values.errors import DivisionByZero, Refusal, UndefinedFunction, Unsupported
from tests.analysis.rows import compiled, node_of

OPEN = Scope(ExpressionLevel.RELEASED, lambda _: None, Parameters())
AT = "TIMESTAMP '2024-01-01'"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{AT} - {AT}", "interval"),
        (f"{AT}::time", "time without time zone"),
        ("INTERVAL '1 day' * 2", "interval"),
        ("-INTERVAL '1 day'", "interval"),
        ("extract(hour FROM INTERVAL '1 hour')", "numeric"),
        ("DATE '2024-01-01' + TIME '03:00'", "timestamp without time zone"),
    ],
)
def test_they_are_answered_where_nothing_is_private(text: str, kind: str):
    assert compile_expression(node_of(text), OPEN).type.shown == kind


@pytest.mark.parametrize(
    "text",
    [
        "seen - seen",
        "seen - TIMESTAMP '2024-01-01'",
        "extract(hour FROM seen - seen)",
        "seen::time",
        "INTERVAL '1 day' * 2 > INTERVAL '1 day'",
        "seen + INTERVAL '1 day' * age",
    ],
)
def test_beside_rows_of_people_there_are_none(text: str):
    with pytest.raises(Refusal):
        compiled(text)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("INTERVAL '1 day' / 0", DivisionByZero),
        ("INTERVAL '1 day' * INTERVAL '1 day'", UndefinedFunction),
        ("INTERVAL '1 day' - TIME '01:00'", UndefinedFunction),
        (f"{AT} + {AT}", UndefinedFunction),
        ("extract(dow FROM INTERVAL '1 day')", Unsupported),
        ("extract(year FROM TIME '01:00')", Unsupported),
        ("greatest(INTERVAL '1 day', INTERVAL '25 hours')", Unsupported),
    ],
)
def test_what_is_none(text: str, refusal: type[Refusal]):
    with pytest.raises(refusal):
        compile_expression(node_of(text), OPEN)
