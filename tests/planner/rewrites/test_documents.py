"""Fields of documents in statements."""

import pytest

from dpproxy.analysis.titles import title
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.documents import with_casts
from dpproxy.policy.model import ColumnPolicy, Members, Policy, TablePolicy

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


def test_the_statement_stays_as_it_was_written():
    tree = parse("SELECT j ->> 'a' FROM t")
    before = tree.sql()
    accept(tree)
    assert tree.sql() == before
