import pytest

from dpproxy.aggregates.table import AGGREGATES, averaged_arguments
from dpproxy.errors import InvalidText, Refusal, UndefinedFunction, Unsupported
from dpproxy.planner.accept import NODES, parse
from tests.aggregates.conftest import Calls


def test_every_aggregate_is_accepted_by_the_planner():
    assert set(AGGREGATES) <= set(NODES)


def test_arguments_are_compared_as_they_are_written():
    nodes = parse("SELECT avg(a + 1), sum(a), count(*), avg(b)").expressions
    assert averaged_arguments(nodes) == {nodes[0].this, nodes[3].this}
    assert parse("SELECT A+1").expressions[0] in averaged_arguments(nodes)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("count(DISTINCT age)", Unsupported, "count(DISTINCT ...) is not supported yet"),
        ("sum(DISTINCT age)", Unsupported, "sum(DISTINCT ...) is not supported yet"),
        ("avg(DISTINCT age)", Unsupported, "avg(DISTINCT ...) is not supported yet"),
        ("count()", UndefinedFunction, "count() takes an argument"),
        ("sum(*)", UndefinedFunction, "sum(*) does not exist"),
        ("avg('x')", InvalidText, "invalid input syntax for type numeric"),
    ],
)
def test_refused(calls: Calls, text: str, error: type[Refusal], message: str):
    with pytest.raises(error) as refused:
        calls(text)
    assert refused.value.message == message
