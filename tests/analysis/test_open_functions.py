"""What they mean is compared with PostgreSQL in tests/planner/test_with_and_without_from.py."""

import pytest

from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.values.errors import InvalidParameter, UndefinedFunction, Unsupported
from tests.analysis.rows import node_of

OPEN = Scope(ExpressionLevel.RELEASED, lambda _: None, Parameters())
ROWS = Scope(ExpressionLevel.ROW, lambda _: None, Parameters())


@pytest.mark.parametrize(
    "text",
    [
        "chr(65)",
        "7 & 3",
        "7 # 3",
        "~7",
        "sin(1)",
        "pi()",
        "md5('a')",
        "bit_length('a')",
        "7 | 8",
    ],
)
def test_they_are_refused_beside_rows_of_people(text: str):
    compile_expression(node_of(text), OPEN)
    with pytest.raises(Unsupported, match="rows of people"):
        compile_expression(node_of(text), ROWS)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("split_part('a', ',', 0)", InvalidParameter),
        ("reverse(1)", UndefinedFunction),
        ("split_part('a', ',', 1.5)", UndefinedFunction),
        ("chr(0)", Unsupported),
        ("chr(65.5)", UndefinedFunction),
        ("7 & 1.5", UndefinedFunction),
        ("'a' || 'b' | 1", UndefinedFunction),
    ],
)
def test_what_is_refused(text: str, refusal: type[Exception]):
    with pytest.raises(refusal):
        compile_expression(node_of(text), OPEN)
