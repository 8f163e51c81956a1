"""Fields of documents in statements."""

import pytest

from dpproxy.analysis.titles import title
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.documents import with_casts
from dpproxy.policy.model import ColumnPolicy, Members, Policy, TablePolicy
from dpproxy.values.errors import Refusal

POLICY = Policy(
    tables={
        "t": TablePolicy(
            "t",
            columns=dict.fromkeys(
                ("j ->> 'a'", "(j ->> 'n')::integer", "(j #>> '{n,m}')::numeric"), ColumnPolicy(Members(()))
            ),
        )
    }
)


@pytest.mark.parametrize(
    ("written", "made", "name"),
    [
        ("j ->> 'a'", "\"j ->> 'a'\"", "?column?"),
        ("t.j ->> 'a'", "t.\"j ->> 'a'\"", "?column?"),
        ("(j)->>'a'", "\"j ->> 'a'\"", "?column?"),
        ("(j -> 'n') ->> 'm'", "\"j #>> '{n,m}'\"", "?column?"),
        ("(j ->> 'n')::int", "\"(j ->> 'n')::integer\"", "int4"),
        ("CAST(j ->> 'n' AS bigint)", "CAST(\"(j ->> 'n')::integer\" AS BIGINT)", "int8"),
        ("(j #>> '{n,m}')::numeric", "\"(j #>> '{n,m}')::numeric\"", "numeric"),
        ("(j ->> 'a')::int", "CAST((\"j ->> 'a'\") AS INT)", "int4"),
        ("(j ->> 'a')::date", "CAST((\"j ->> 'a'\") AS DATE)", "date"),
        ("(j ->> 'a')::varchar(2)", "CAST((\"j ->> 'a'\") AS VARCHAR(2))", "varchar"),
        ("(j ->> 'other')::int", "CAST((\"j ->> 'other'\") AS INT)", "int4"),
        ("jsonb_extract_path_text(j, 'n', 'm')", "\"j #>> '{n,m}'\"", "jsonb_extract_path_text"),
        (
            "CAST(jsonb_extract_path_text(j, 'n', 'm') AS float)",
            "CAST(\"(j #>> '{n,m}')::numeric\" AS DOUBLE PRECISION)",
            "float8",
        ),
        ("x", "x", "x"),
    ],
)
def test_a_field_is_the_column_that_is_declared(written: str, made: str, name: str):
    tree = with_casts(accept(parse(f"SELECT {written} FROM t")), POLICY)
    [found] = tree.selects
    assert (found.sql("postgres"), title(found)) == (made, name)


@pytest.mark.parametrize("over", ["OVER ()", "IGNORE NULLS OVER ()"])
def test_there_is_no_such_window_function(over: str):
    with pytest.raises(Refusal):
        accept(parse(f"SELECT jsonb_extract_path_text(j, 'a') {over} FROM t"))


def test_the_statement_stays_as_it_was_written():
    tree = parse("SELECT j ->> 'a' FROM t")
    before = tree.sql()
    accept(tree)
    assert tree.sql() == before


def test_a_cast_is_of_the_field_of_its_own_table():
    columns = dict.fromkeys(("(j ->> 'n')::numeric",), ColumnPolicy(Members(())))
    policy = Policy(tables={**POLICY.tables, "s": TablePolicy("s", columns=columns)})
    for sql, made in (
        ("SELECT CAST(j ->> 'n' AS INT) FROM s", "CAST(\"(j ->> 'n')::numeric\" AS INT)"),
        (
            "SELECT CAST(a.j ->> 'n' AS INT) FROM t CROSS JOIN s AS a",
            "CAST(a.\"(j ->> 'n')::numeric\" AS INT)",
        ),
        ("SELECT CAST(t.j ->> 'n' AS INT) FROM t CROSS JOIN s AS a", "t.\"(j ->> 'n')::integer\""),
        ("SELECT CAST(q.j ->> 'n' AS INT) FROM (SELECT * FROM t) AS q", "q.\"(j ->> 'n')::integer\""),
    ):
        [found] = with_casts(accept(parse(sql)), policy).selects
        assert found.sql("postgres") == made
