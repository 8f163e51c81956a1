"""Every node is written as DuckDB reads it, whatever names and texts hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.algebra import nodes, printing
from tests.empty import empty
from tests.reading import read

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
LEAVES = st.one_of(
    st.sampled_from([nodes.ColumnRef("x"), nodes.ColumnRef("y"), nodes.Null()]),
    st.integers(0, 9).map(lambda n: nodes.Number(str(n))),
)
NUMBERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*"), inner, inner).map(lambda p: nodes.Paren(nodes.Binary(*p))),
        inner.map(lambda v: nodes.Paren(nodes.Negative(v))),
        st.tuples(inner, inner).map(lambda p: nodes.Call("coalesce", p)),
        st.tuples(inner, inner, inner).map(lambda p: nodes.Case(((nodes.IsNull(p[0]), p[1]),), p[2])),
        st.tuples(inner, inner).map(lambda p: nodes.Case(((nodes.InList(p[0], (p[1],)), p[1]),))),
        inner.map(lambda v: nodes.Cast(v, "INT128")),
    ),
    max_leaves=12,
)


def test_every_class_has_a_line():
    classes = {c for c in vars(nodes).values() if isinstance(c, type) and issubclass(c, nodes.Node)}
    assert set(printing._PRINTERS) == classes - {nodes.Node, nodes.Expr, nodes.Whole}


@given(TEXTS)
def test_names_and_texts_are_read_as_they_are(value: str):
    name = value or "x"
    query = nodes.Select((nodes.Named(nodes.Text(value), name),))
    with empty() as connection:
        found = connection.execute(printing.text(query))
        assert (found.fetchall(), [c[0] for c in found.description or ()]) == ([(value,)], [name])


def computed(node: nodes.Node, x: int | None, y: int | None) -> int | None:  # noqa: C901, PLR0911 - a line each
    """What an expression is, by Python."""
    match node:
        case nodes.ColumnRef():
            return x if node.name == "x" else y
        case nodes.Null():
            return None
        case nodes.Number():
            return int(node.text)
        case nodes.Paren() | nodes.Cast():
            return computed(node.value, x, y)
        case nodes.Negative():
            value = computed(node.value, x, y)
            return None if value is None else -value
        case nodes.Binary():
            a, b = computed(node.left, x, y), computed(node.right, x, y)
            if a is None or b is None:
                return None
            return {"+": a + b, "-": a - b, "*": a * b}[node.operator]
        case nodes.Call():
            return next((v for v in (computed(a, x, y) for a in node.arguments) if v is not None), None)
        case nodes.Case(((nodes.IsNull(tested), then),), default):
            return computed(then if computed(tested, x, y) is None else default or nodes.Null(), x, y)
        case nodes.Case(((nodes.InList(tested, (other,)), then),), _):
            a, b = computed(tested, x, y), computed(other, x, y)
            return computed(then, x, y) if a is not None and a == b else None
    raise AssertionError


@given(NUMBERS)
def test_a_text_means_what_the_node_means(node: nodes.Expr):
    rows = [(3, 5), (None, 2), (0, None)]
    query = nodes.Select((node,), nodes.Values(
        tuple((nodes.Null() if x is None else nodes.Number(str(x)), nodes.Null() if y is None else nodes.Number(str(y)))
              for x, y in rows), "v", ("x", "y")))  # fmt: skip
    with empty() as connection:
        assert connection.execute(printing.text(query)).fetchall() == [
            (computed(node, x, y),) for x, y in rows
        ]


@given(NUMBERS)
def test_a_text_that_is_read_again_is_the_same(node: nodes.Expr):
    written = printing.text(nodes.Select((node,), nodes.Table("t")))
    assert printing.text(read(written)) == written


X, ONE = nodes.ColumnRef("x"), nodes.Number("1")


@pytest.mark.parametrize(
    ("node", "written"),
    [
        (nodes.Negative(nodes.Negative(ONE)), "- -1"),
        (nodes.ColumnRef("k0", nodes.Bare("g")), 'g."k0"'),
        (nodes.ColumnRef('a"b'), '"a""b"'),
        (nodes.Text("it's"), "'it''s'"),
        (nodes.Parameter(1), "$1"),
        (nodes.Cast(X, "BIGINT", tries=True), 'TRY_CAST("x" AS BIGINT)'),
        (nodes.Call("count", (X,), distinct=True), 'COUNT(DISTINCT "x")'),
        (nodes.Call("count", (nodes.Star(),), where=nodes.IsNull(X)), 'COUNT(*) FILTER(WHERE "x" IS NULL)'),
        (nodes.Call("list", (X,), order=(nodes.Ordered(X, descending=True, nulls_first=True),)),
         'LIST("x" ORDER BY "x" DESC NULLS FIRST)'),
        (nodes.Window(nodes.Call("rank"), (X,), (nodes.Ordered(X),), "ROWS 1 PRECEDING"),
         'RANK() OVER (PARTITION BY "x" ORDER BY "x" ASC ROWS 1 PRECEDING)'),
        (nodes.Formula(("sqrt(", ")"), (X,)), 'sqrt("x")'),
        (nodes.Array((X, ONE)), '["x", 1]'),
        (nodes.Tuple((X, ONE)), '("x", 1)'),
        (nodes.Table("t", "a", ("d", "main")), '"d"."main"."t" AS "a"'),
        (nodes.TableFunction(nodes.Call("unnest", (X,)), "u", ("c",), lateral=True), 'LATERAL UNNEST("x") AS "u"("c")'),
        (nodes.Select((X,), nodes.Table("t"), (nodes.Join(nodes.Table("u"), nodes.IsNull(X), "LEFT"),)),
         'SELECT "x" FROM "t" LEFT JOIN "u" ON "x" IS NULL'),
        (nodes.Select((X,), distinct_on=(X,), order=(nodes.Ordered(X),), limit=ONE, offset=ONE),
         'SELECT DISTINCT ON ("x") "x" ORDER BY "x" ASC LIMIT 1 OFFSET 1'),
        (nodes.Select((X,), group=(nodes.Sets("CUBE", (X,)),), having=nodes.Not(nodes.IsNull(X)), distinct=True),
         'SELECT DISTINCT "x" GROUP BY CUBE ("x") HAVING NOT "x" IS NULL'),
        (nodes.Combined("UNION ALL", nodes.Select((X,)), nodes.Select((ONE,)), limit=ONE),
         'SELECT "x" UNION ALL SELECT 1 LIMIT 1'),
        (nodes.InQuery(X, nodes.Select((X,))), '"x" IN (SELECT "x")'),
    ],
)  # fmt: skip
def test_forms(node: nodes.Node, written: str):
    assert printing.text(node) == written
