"""What a prepared statement says of itself follows from its kind."""

import pytest
from sqlglot import exp

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import (
    CatalogueQuery,
    EngineStatement,
    ExplainOne,
    ExplainSeveral,
    PolicyRead,
    Prepared,
    Request,
    SelectStatement,
    ViewRead,
    complete,
)
from dpproxy.policy.statements import Listing, Show
from dpproxy.values.pgtypes import INT4

ONE = exp.select("1")
NOW = Prepared("q", (), (), SelectStatement(ONE, is_of_present=True))


@pytest.mark.parametrize(
    ("statement", "flags"),
    [
        (SelectStatement(ONE), (False, False, False)),
        (NOW.statement, (False, False, True)),
        (CatalogueQuery(ONE), (True, False, False)),
        (CatalogueQuery(ONE, (), is_of_present=True), (True, False, True)),
        (ExplainOne(NOW, as_json=False), (False, False, True)),
        (ExplainSeveral(("q",), as_json=False, budget=None), (False, False, True)),
        (PolicyRead(Show(Listing.GRANTS)), (False, False, False)),
        (ViewRead(Show(Listing.VIEWS)), (False, True, False)),
    ],
)
def test_the_kind_says_what_a_session_has_to_know(statement: EngineStatement, flags: tuple[bool, bool, bool]):
    prepared = Prepared("q", (INT4,), (), statement)
    assert (prepared.is_catalogue, prepared.is_slow, prepared.is_of_present) == flags
    assert prepared.types == (INT4.oid,)


def test_values_of_other_types_are_other_texts():
    caller = Caller("ann", frozenset(), "s")
    texts = {Request(caller, NOW, (value,), {}).text for value in (1, True, 1.0, 1)}
    assert len(texts) == 3


def test_nothing_at_hand_is_no_answer():
    assert complete(0) == 0
    with pytest.raises(AssertionError):
        complete(None)
