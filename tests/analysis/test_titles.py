import pytest

from dpproxy.analysis.titles import folded, title, type_name, written_name
from dpproxy.planner.accept import parse


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("1", "?column?"),
        ("1 + 1", "?column?"),
        ("a AND b", "?column?"),
        ("count(*) + 1", "?column?"),
        ("x", "x"),
        ("(x)", "x"),
        ("x[1]", "x"),
        ("avg(x) AS mean", "mean"),
        ('x AS "Mean Value"', "Mean Value"),
        ("version()", "version"),
        ("pg_catalog.version()", "version"),
        ("now()", "now"),
        ("1::int", "int4"),
        ("CAST(1 AS bigint)", "int8"),
        ("CAST(count(*) AS float8)", "count"),
        ("'a'::text", "text"),
        ("'a'::char(3)", "bpchar"),
        ("'{1}'::int[]", "int4"),
        ("date(x)", "date"),
        ("CASE WHEN true THEN 1 END", "case"),
        ("CASE WHEN true THEN 1 ELSE x END", "x"),
        ("EXISTS (SELECT 1)", "exists"),
        ("ARRAY[1]", "array"),
        ("(SELECT 1 AS x)", "x"),
        ("(SELECT 1 AS x UNION ALL SELECT 2)", "x"),
        ("coalesce(1, 2)", "coalesce"),
        ("count(*)", "count"),
        ("ceil(x)", "ceil"),
        ("trim(x)", "btrim"),
        ("trim(LEADING FROM x)", "ltrim"),
        ("round(avg(x), 1)", "round"),
        ("dp.ci_low(count(*))", "ci_low"),
        ("string_agg('a', ',')", "string_agg"),
        ("json_agg(x)", "json_agg"),
        ("interval '1 day'", "interval"),
        ("x AT TIME ZONE 'UTC'", "timezone"),
        ('x COLLATE "C"', "x"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "percentile_cont"),
    ],
)
def test_names_of_columns(expression: str, name: str):
    assert title(parse(f"SELECT {expression}").selects[0]) == name


def test_types_by_their_names():
    kinds = [cast.to for cast in parse("SELECT 'a'::pg_catalog.name, 'a'::_oid").selects]
    assert [(written_name(kind), type_name(kind)) for kind in kinds] == [("name", "name"), ("_oid", "oid")]


def test_names_are_folded_unless_quoted():
    tree = parse('SELECT 1 AS "Odd"').selects[0]
    assert (folded(tree.args["alias"]), folded(None)) == ("Odd", "")
