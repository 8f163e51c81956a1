import pytest

from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.lists import ELEMENTS
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.values.errors import Refusal, Unsupported
from tests.analysis.rows import node_of

OPEN = Scope(ExpressionLevel.RELEASED, lambda _: None, Parameters())
ROWS = Scope(ExpressionLevel.ROW, lambda _: None, Parameters())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ARRAY[1, 2]", "integer[]"),
        ("ARRAY['a', NULL]", "text[]"),
        ("ARRAY[1::float8, 2]", "double precision[]"),
    ],
)
def test_a_list_has_the_type_of_its_elements(text: str, kind: str):
    assert compile_expression(node_of(text), OPEN).type.shown == kind


@pytest.mark.parametrize("text", ["ARRAY[]", "ARRAY[1.5, 2]", "ARRAY[1, 'a']", "ARRAY[ARRAY[1]]"])
def test_other_lists_are_refused(text: str):
    with pytest.raises(Refusal):
        compile_expression(node_of(text), OPEN)


def test_none_is_computed_of_rows():
    with pytest.raises(Unsupported, match="a list is not answered here"):
        compile_expression(node_of("ARRAY[1, 2]"), ROWS)


def test_the_types_of_elements_are_different():
    assert len({kind.oid for kind in ELEMENTS}) == len(ELEMENTS)
