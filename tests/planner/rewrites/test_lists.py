import pytest

from dpproxy.planner.accept import accept, parse
from dpproxy.values.errors import InvalidText, Refusal, TooComplex


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("x = ANY (ARRAY[1, 2])", "x IN (1, 2)"),
        ("NOT x = ANY ((ARRAY['a']))", "NOT x IN ('a')"),
        ("x = ANY (ARRAY[$1, $2])", "x IN ($1, $2)"),
        ("x = SOME (ARRAY[1])", "x IN (1)"),
        ("x = ANY (ARRAY['a', y]::text[])", "x IN ('a', CAST(y AS TEXT))"),
        ("x <> ALL (ARRAY[1, 2])", "(NOT x IN (1, 2))"),
        ("x != all ('{1,-2,30000}'::int[])", "(NOT x IN (1, -2, CAST('30000' AS INT)))"),
        ("""x = ANY ('{a,"b, c",NULL}')""", "x IN ('a', 'b, c', NULL)"),
        ("x = ANY (('{2020-01-01}')::date[])", "x IN (CAST('2020-01-01' AS DATE))"),
        ("NOT x = ANY ('{}')", "NOT x IN (NULL) IS TRUE"),
        ("x <> ALL (ARRAY[]::text[])", "(NOT x IN (NULL) IS TRUE)"),
        ("x NOT IN (VALUES (1), (NULL))", "NOT x IN (1, NULL)"),
        ("(x, y) IN (VALUES (1, 'a'), (2, 'b'))", "(x, y) IN ((1, 'a'), (2, 'b'))"),
    ],
)
def test_a_list_that_drivers_write_as_an_array(written: str, read: str):
    tree = parse(f"SELECT count(*) FROM t WHERE {written}")
    assert tree.sql("postgres") == f"SELECT COUNT(*) FROM t WHERE {read}"
    accept(tree)


@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        ("x = ANY ('{1,')", InvalidText), ("x = ANY ('{{1},{2}}')", InvalidText),
        (f"x = ANY ('{{{'1,' * 1000}1}}')", TooComplex),
    ],
)  # fmt: skip
def test_a_list_that_does_not_read(written: str, refusal: type[Refusal]):
    with pytest.raises(refusal):
        parse(f"SELECT count(*) FROM t WHERE {written}")


@pytest.mark.parametrize(
    "written", ["x = ANY ($1)", "x = ANY (SELECT y FROM u)", "x <> ANY (ARRAY[1, 2])", "x = ANY (y)"]
)
def test_another_any_stays(written: str):
    assert "ANY" in parse(f"SELECT count(*) FROM t WHERE {written}").sql("postgres")


def test_a_list_of_values_that_is_cut_is_no_list():
    with pytest.raises(Refusal):
        accept(parse("SELECT count(*) FROM t WHERE x IN (VALUES (1), (2) LIMIT 1)"))
