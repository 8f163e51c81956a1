import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.analysis.windows import WINDOWS, inline_windows, over, refuse_windows
from dpproxy.planner.accept import parse
from dpproxy.values.errors import (
    InvalidParameter,
    Refusal,
    SyntaxRefused,
    TypeMismatch,
    UndefinedObject,
    Unsupported,
    WindowMisplaced,
)
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT

COLUMNS = {
    "n": Typed(duck.column("n"), INT8),
    "p": Typed(duck.column("p"), NUMERIC, 2),
    "h": Typed(duck.column("h"), FLOAT8, None),
    "d": Typed(duck.column("d"), DATE),
    "k": Typed(duck.column("k"), TEXT),
}


def leaf(node: exp.Expr) -> Typed | None:
    return COLUMNS[node.name] if type(node) is exp.Column else None


SCOPE = Scope(ExpressionLevel.RELEASED, leaf, Parameters())


def window(sql: str) -> exp.Window:
    found = parse(f"SELECT {sql} FROM t").expressions[0]
    assert isinstance(found, exp.Window)
    return found


def compiled(sql: str) -> Typed:
    node = window(sql)
    behind = over(node, SCOPE)
    value = WINDOWS[type(node.this)](node.this, SCOPE)
    return Typed(behind(value.sql), value.type, value.scale)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("rank() OVER (ORDER BY n DESC)", 'RANK() OVER (ORDER BY "n" DESC NULLS FIRST)'),
        ("row_number() OVER ()", "ROW_NUMBER() OVER ()"),
        ("ntile(4) OVER (PARTITION BY k ORDER BY n)", 'NTILE(4) OVER (PARTITION BY "k" ORDER BY "n" ASC)'),
        ("lag(n) OVER (ORDER BY k)", 'LAG("n", 1) OVER (ORDER BY "k" ASC)'),
        ("lead(n, -2) OVER (ORDER BY k)", 'LEAD("n", (-2)) OVER (ORDER BY "k" ASC)'),
        ("lag(n, 1, 0.5) OVER (ORDER BY k)", 'LAG((CAST("n" AS INT128) * 10), 1, 5) OVER (ORDER BY "k" ASC)'),
        ("first_value(k) OVER (PARTITION BY 1)", 'FIRST_VALUE("k") OVER ()'),
        (
            "last_value(n) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)",
            'LAST_VALUE("n") OVER (ORDER BY "k" ASC ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)',
        ),
        (
            "nth_value(n, 2) OVER (ORDER BY n RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW)",
            (
                'NTH_VALUE("n", 2) OVER (ORDER BY (CAST(CAST("n" AS INT128) AS INT128) * 10) ASC '
                "RANGE BETWEEN 15 PRECEDING AND CURRENT ROW)"
            ),
        ),
    ],
)
def test_what_the_engine_runs(sql: str, text: str):
    assert duck.text(compiled(sql).sql) == text


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("row_number() OVER ()", INT8),
        ("dense_rank() OVER (ORDER BY n)", INT8),
        ("percent_rank() OVER (ORDER BY n)", FLOAT8),
        ("cume_dist() OVER (ORDER BY n)", FLOAT8),
        ("ntile(2) OVER (ORDER BY n)", INT4),
        ("lag(p) OVER (ORDER BY n)", NUMERIC),
        ("lag(n, 1, h) OVER (ORDER BY n)", FLOAT8),
        ("first_value(d) OVER (ORDER BY n)", DATE),
    ],
)
def test_types_are_postgresql_s(sql: str, kind: object):
    assert compiled(sql).type == kind


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("rank() OVER (ORDER BY rank() OVER (ORDER BY n))", WindowMisplaced),
        ("ntile(0) OVER (ORDER BY n)", InvalidParameter),
        ("nth_value(n, 0) OVER (ORDER BY n)", InvalidParameter),
        ("ntile(n) OVER (ORDER BY n)", Unsupported),
        ("rank() OVER (ORDER BY n, k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", WindowMisplaced),
        ("rank() OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", Refusal),
        ("rank() OVER (ORDER BY n RANGE BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW)", TypeMismatch),
        ("rank() OVER (ORDER BY n ROWS BETWEEN k PRECEDING AND CURRENT ROW)", Unsupported),
        ("rank() OVER (ORDER BY n ROWS BETWEEN (-1) PRECEDING AND CURRENT ROW)", Refusal),
    ],
)
def test_refused(sql: str, error: type[Refusal]):
    with pytest.raises(error):
        compiled(sql)


def test_a_frame_of_days():
    frame = "RANGE BETWEEN INTERVAL '1 month' PRECEDING AND CURRENT ROW"
    made = duck.text(compiled(f"first_value(n) OVER (ORDER BY d {frame})").sql)
    assert 'ORDER BY "d" ASC RANGE BETWEEN (TO_DAYS(0) + TO_MONTHS(1)) PRECEDING' in made


def test_windows_that_have_a_name_are_written_out():
    tree = parse(
        "SELECT sum(x) OVER w, sum(x) OVER (w ROWS UNBOUNDED PRECEDING) FROM t "
        "WINDOW v AS (PARTITION BY a), w AS (v ORDER BY b)"
    )
    assert tree.args.get("windows") is None
    parts = "PARTITION BY a ORDER BY b"
    assert [e.sql("postgres") for e in tree.expressions] == [
        f"SUM(x) OVER ({parts})",
        f"SUM(x) OVER ({parts} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    ]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT sum(x) OVER w FROM t", UndefinedObject),
        ("SELECT sum(x) OVER (w PARTITION BY a) FROM t WINDOW w AS (PARTITION BY b)", SyntaxRefused),
        ("SELECT sum(x) OVER (w ORDER BY a) FROM t WINDOW w AS (ORDER BY b)", SyntaxRefused),
    ],
)
def test_names_that_do_not_fit(sql: str, error: type[Refusal]):
    with pytest.raises(error):
        parse(sql)


def test_a_window_of_a_subquery_is_its_own():
    tree = parse(
        "SELECT (SELECT max(x) OVER w FROM u WINDOW w AS (ORDER BY c)) FROM t WINDOW w AS (ORDER BY b)"
    )
    inline_windows(tree)
    assert "ORDER BY c" in tree.sql("postgres")
    assert "ORDER BY b" not in tree.sql("postgres")


def test_windows_stand_in_no_condition():
    tree = parse("SELECT x FROM t WHERE rank() OVER (ORDER BY x) = 1")
    with pytest.raises(WindowMisplaced, match="not allowed in WHERE"):
        refuse_windows(tree.args["where"], "WHERE")
    inner = parse("SELECT x FROM t WHERE x IN (SELECT rank() OVER (ORDER BY x) FROM t)")
    refuse_windows(inner.args["where"], "WHERE")
    refuse_windows(None, "WHERE")
