"""Where refusals of a view's query stand; what is built is tested through statements."""

from dpproxy.errors import UnitLost
from dpproxy.protected import refused


def test_a_refusal_of_the_query_stands_where_the_query_does():
    assert refused(UnitLost("x", position=3), 40).position == 43
    assert refused(UnitLost("x"), 40).position is None
