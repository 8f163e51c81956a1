import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.limits import (
    LARGEST_ANSWER,
    LARGEST_PORTION,
    MOST_JOINED,
    check_answer,
    check_join,
    portion,
    streams,
    width,
)
from dpproxy.values.errors import TooComplex
from dpproxy.values.pgtypes import INT8, TEXT
from tests.reading import read

NUMBER = Typed(duck.column("n"), INT8)
WORD = Typed(duck.column("w"), TEXT, longest=92)


def test_a_text_counts_with_its_longest():
    assert width([NUMBER, WORD]) == 32 + 100


def test_an_answer_has_an_end():
    check_answer(LARGEST_ANSWER // 132, [NUMBER, WORD], exp.Star())
    with pytest.raises(TooComplex, match="more than 64000000 characters"):
        check_answer(LARGEST_ANSWER // 132 + 1, [NUMBER, WORD], exp.Star())


def test_a_join_is_no_larger_than_a_limit_or_its_largest_side():
    node = exp.Star()
    node.meta["start"] = 7
    check_join(MOST_JOINED, (5, 5), node)
    check_join(3 * MOST_JOINED, (5, 3 * MOST_JOINED), node)
    with pytest.raises(TooComplex) as error:
        check_join(MOST_JOINED + 1, (5, 5), node)
    assert error.value.position == 7


def test_what_is_large_is_read_in_portions_of_some_size():
    assert portion(100, [NUMBER, WORD]) == 0
    assert portion(10**9, [NUMBER, WORD]) == LARGEST_PORTION // 132
    assert portion(10**9, [Typed(duck.column("w"), TEXT, longest=10**9)]) == 1
    assert portion(10**9, []) > 0


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT a, b + 1 FROM t WHERE a > 3 LIMIT 7", True),
        ("SELECT * FROM t JOIN u ON t.a = u.a", True),
        ("SELECT a FROM t UNION ALL SELECT b FROM u", True),
        ("SELECT a FROM t UNION SELECT b FROM u", False),
        ("SELECT a FROM t EXCEPT ALL SELECT b FROM u", False),
        ("SELECT a FROM t ORDER BY a", False),
        ("SELECT * FROM (SELECT a FROM t ORDER BY a) AS s", False),
        ("SELECT a FROM t GROUP BY a", False),
        ("SELECT DISTINCT a FROM t", False),
        ("SELECT sum(a) OVER (PARTITION BY b) FROM t", False),
    ],
)
def test_the_engine_holds_what_it_sorts_groups_and_puts_together(sql: str, *, found: bool):
    assert streams(read(sql)) is found
