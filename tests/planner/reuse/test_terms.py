"""Equal terms have equal values: random expressions that come out alike are computed, on NULL and NaN too."""

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpproxy.algebra import nodes
from dpproxy.planner.reuse.terms import FALSE, TRUE, Term, put, term
from tests.empty import empty
from tests.reading import expression

ROWS = [
    (x, y, d, k)
    for x in (None, 1, 2, 3)
    for y in (None, 2)
    for d in (None, 0.5, float("nan"))
    for k in (None, "a", "b")
]


def read(sql: str) -> Term:
    def leaf(node: nodes.Node) -> Term | None:
        return ("column", node.name) if isinstance(node, nodes.ColumnRef) else None

    return term(expression(sqlglot.parse_one(sql, read="duckdb")), leaf)


SAME = (
    ("x > 3", "3 < x", "NOT x <= 3", "(NOT (3 >= x))"),
    ("x >= 1 AND x <= 3", "x >= 1 AND 3 >= x", "NOT (x < 1 OR x > 3)"),
    ("k IN ('a', 'b')", "k = 'b' OR 'a' = k", "k IN ('b', 'a', 'a')", "NOT (k <> 'a' AND k <> 'b')"),
    ("k NOT IN ('a', 'b')", "k <> 'a' AND k <> 'b'", "NOT (k = 'a' OR k = 'b')"),
    ("x = 1 AND (y = 2 AND k = 'a')", "k = 'a' AND true AND y = 2 AND x = 1 AND 1 = x"),
    ("x + y > 2", "2 < y + x"),
    ("NOT NOT (x IS NULL)", "x IS NULL"),
    ("x = y", "y = x", "NOT x <> y"),
)
OTHER = (
    "x > 3", "x >= 3", "x > 4", "x < 3", "y > 3", "x > 3 AND y > 3", "x > 3 OR y > 3", "x - y > 3",
    "y - x > 3", "x + y > 3", "k = 'a'", "k = 'A'", "k <> 'a'", "k IN ('a', 'b')", "k IN ('a', 'c')",
    "k NOT IN ('a', 'b')", "k IS NULL", "NOT k IS NULL", "x = 1", "x = 1.0", "x = '1'", "x IN (1, 2)",
    "x IN (1, 2.5)", "x IN (1, 2.5e0)", "coalesce(x, 1) = 1", "coalesce(1, x) = 1",
    "CASE WHEN x > 1 THEN 1 ELSE 2 END = 1", "CASE WHEN x > 1 THEN 2 ELSE 1 END = 1",
    "CAST(x AS DOUBLE) = 1", "x = -1", "true", "false", "x IS NOT DISTINCT FROM y",
)  # fmt: skip


@pytest.mark.parametrize("wordings", SAME)
def test_one_meaning_is_one_term(wordings: tuple[str, ...]):
    assert len({read(sql) for sql in wordings}) == 1


def test_another_meaning_is_another_term():
    assert len({read(sql) for sql in OTHER}) == len(OTHER)


def test_constants_are_settled():
    assert (read("x > 1 AND false"), read("x > 1 OR true"), read("NOT false")) == (FALSE, TRUE, TRUE)
    assert read("true AND x > 1") == read("x > 1 OR false") == read("x > 1")


_LEAVES = st.sampled_from((
    "x < 2", "2 > x", "x = y", "y = x", "x IN (1, 2)", "x = 1", "x = 2", "x <= 1", "d < 0.5e0",
    "d >= 0.5e0", "x <> 1", "k = 'a'", "k IN ('a', 'b')", "k = 'b'", "k <> 'a'", "k IS NULL", "true",
    "false", "d <= x", "x >= d", "x NOT IN (1, 2)", "x + y > 3", "3 < y + x",
))  # fmt: skip
_CONDITIONS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda c: f"NOT ({c})"),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})"),
    ),
    max_leaves=4,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_CONDITIONS, min_size=40, max_size=60, unique=True))
def test_equal_terms_have_equal_values_on_every_row(conditions: list[str]):
    alike: dict[Term, list[str]] = {}
    for condition in conditions:
        alike.setdefault(read(condition), []).append(condition)
    pairs = [(group[0], other) for group in alike.values() for other in group[1:]]
    with empty() as connection:
        connection.execute("CREATE TABLE t (x INTEGER, y INTEGER, d DOUBLE, k VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
        for one, other in pairs:
            [(differ,)] = connection.execute(
                f"SELECT count(*) FROM t WHERE ({one}) IS DISTINCT FROM ({other})"
            ).fetchall()
            assert not differ, (one, other)


@pytest.mark.parametrize("numbers", [("5", "7"), ("7", "5"), ("5", "5")])
@pytest.mark.parametrize(
    "words", ["x <> {} AND {} <> x", "x = {} OR {} = x", "x > {} AND x > {}", "{} = x AND x > {}"]
)
def test_numbers_that_are_put_into_a_form_make_the_form_of_the_statement(
    words: str, numbers: tuple[str, str]
):
    marks = nodes.Number("990"), nodes.Number("991")
    tree = expression(sqlglot.parse_one(words.format(*(m.text for m in marks)), read="duckdb"))
    holes = [nodes.Hole(place, 0) for place in range(2)]
    opened = tree.replaced(lambda node: holes[marks.index(node)] if node in marks else None)
    form = term(opened, lambda node: ("column", node.name) if isinstance(node, nodes.ColumnRef) else None)
    filled = put(form, {("hole", n, 0): ("literal", False, text) for n, text in enumerate(numbers)})
    assert filled == read(words.format(*numbers))
