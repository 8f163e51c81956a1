"""What one row can cost: it grows with everything that is computed on it, and with the characters of what it holds."""

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis.work import _FIXED, _MAPPED, CALL, OPERATION, Costs, row_work
from tests.reading import read

LONG = {"x": 1000, "y": 10}


def spent(expression: str) -> int:
    return row_work(read(f"SELECT {expression} AS c FROM t"), Costs(LONG)).nanoseconds


def test_names_and_shapes_cost_nothing():
    assert row_work(read('SELECT 1 AS c FROM (SELECT "x" AS "z" FROM t) AS s'), Costs(LONG)).operations == 0


@pytest.mark.parametrize("name", ["upper", "lower"])
def test_case_is_paid_by_the_character(name: str):
    once = spent(f"{name}(x)")
    assert once > _MAPPED * 1000
    assert spent(f"{name}(" * 60 + "x" + ")" * 60) > 60 * _MAPPED * 1000


@pytest.mark.parametrize(
    ("longer", "than"),
    [
        ("lower(x || x)", "lower(x)"),
        ("lower(concat(x, x, y))", "lower(concat(x, x))"),
        ("lower(left(x, 900))", "lower(left(x, 9))"),
        ("lower(left(x, $2))", "lower(left(x, 999))"),
        ("lower(substring(x, 3, 900))", "lower(substring(x, 3, 9))"),
        ("lower(right(x, 9))", "lower(y)"),
        ("lower(replace(y, 'a', 'bbb'))", "lower(replace(y, 'a', 'b'))"),
        ("lower(replace(y, 'a', 'bbb'))", "lower(replace(y, 'aa', 'bbb'))"),
        ("lower(CASE WHEN y = 'a' THEN x ELSE y END)", "lower(CASE WHEN y = 'a' THEN y ELSE y END)"),
        ("lower(coalesce(y, x))", "lower(coalesce(y, y))"),
        ("lower(nullif(x, y))", "lower(nullif(y, y))"),
        ("lower(greatest(y, x))", "lower(greatest(y, y))"),
        ("lower(min(x))", "lower(min(y))"),
        ("lower((SELECT max(x) FROM t))", "lower((SELECT max(y) FROM t))"),
        ("x LIKE '%abcdefgh%'", "x LIKE '%a%b%'"),
        ("x LIKE '%a'", "y LIKE '%a'"),
        ("x LIKE '%_'", "x LIKE '%a'"),
        ("x LIKE '%________%'", "x LIKE '%abcdefgh%'"),
        ("x ILIKE '%________%'", "x ILIKE '%abcdefgh%'"),
        ("x LIKE $2", "x LIKE '%abcdefgh%'"),
        ("x ILIKE '%a'", "x LIKE '%a'"),
        ("strpos(x, y)", "strpos(x, 'a')"),
        ("replace(x, y, 'a')", "replace(y, y, 'a')"),
        ("trim(x, 'abc')", "trim(x, 'a')"),
        ("length(x)", "length(y)"),
        ("x = y", "y = y"),
        ("hash($1, x)", "hash($1, y)"),
        ("y IN ('a', 'b', 'c')", "y IN ('a')"),
        ("n // 3", "n + 3"),
        ("CAST(n AS BIGINT)", "-n"),
        ("row_number() OVER (PARTITION BY n ORDER BY n)", "n // 3"),
    ],
)
def test_longer_texts_and_slower_operations_cost_more(longer: str, than: str):
    assert spent(longer) > spent(than)


@pytest.mark.parametrize(
    ("name", "longer", "than"),
    [
        ("regexp_matches", ("x", "'a{9}'", "'s'"), ("x", "'a{3}'", "'s'")),
        ("regexp_matches", ("x", "'a'", "'s'"), ("y", "'a'", "'s'")),
        ("regexp_replace", ("x", "'a'", "'xyz'", "'s'"), ("x", "'a'", "''", "'s'")),
        ("regexp_extract", ("x", "'a'", "0", "'s'"), ("y", "'a'", "0", "'s'")),
        ("lpad", ("y", "90", "'a'"), ("x", "9", "'a'")),
        ("repeat", ("y", "9"), ("y", "8")),
        ("concat_ws", ("x", "y", "y"), ("y", "y", "y")),
        ("reverse", ("x",), ("y",)),
    ],
)
def test_what_is_made_of_a_text_is_paid_by_its_length(
    name: str, longer: tuple[str, ...], than: tuple[str, ...]
):
    works = []
    for arguments in (longer, than):
        given = [read(f"SELECT {a} AS c FROM t").items[0].value for a in arguments]
        made = nodes.Call("lower", (nodes.Call(name, tuple(given)),))
        works.append(row_work(nodes.Select((made,), nodes.Table("t")), Costs(LONG)).nanoseconds)
    assert works[0] > works[1]


def test_every_operation_costs_something():
    """What is on no list is an operation all the same."""
    assert not {nodes.Call, nodes.Binary, nodes.Cast, nodes.Case, nodes.InList, nodes.Window} & {*_FIXED}
    assert spent("sqrt(n)") >= OPERATION
    assert row_work(read("SELECT n + n * n AS c FROM t"), Costs({})).operations == 2
    assert CALL > OPERATION


def test_lists_of_declared_keys_are_nobodys_rows():
    keys = ", ".join(f"({n})" for n in range(1000))
    listed = (
        f"SELECT g.k FROM (SELECT n AS k FROM t GROUP BY 1) AS g JOIN (VALUES {keys}) AS d(k) ON d.k = g.k"
    )
    assert row_work(read(listed), Costs({})).nanoseconds < 1000


JOIN = (
    'SELECT count(*) AS m0 FROM (SELECT "a" AS "x" FROM t) AS s {join} (SELECT "b" AS "y" FROM u) AS v{rest}'
)


@pytest.mark.parametrize(
    ("condition", "is_before"),
    [
        ("lower(lower(\"x\")) <> 'a'", True),
        ('lower(lower("x")) = "y"', True),
        ('lower(lower("x")) = "y" || \'a\'', True),
        ("(lower(lower(\"x\")) = 'a' AND \"y\" = 'b') = (\"y\" = 'c')", False),
        ('concat("x", "y") <> \'a\'', False),
        ("(lower(lower(\"x\")) <> 'a' OR \"y\" = 'a')", False),
        ('lower(lower("x")) < "y"', False),
    ],
)
def test_what_is_computed_before_a_join_is_told_apart(condition: str, *, is_before: bool):
    crossed = JOIN.format(join="CROSS JOIN", rest=f" WHERE \"x\" <> 'b' AND {condition}")
    found = row_work(read(crossed), Costs({"x": 1000, "y": 1000}))
    without = row_work(read(JOIN.format(join="CROSS JOIN", rest="")), Costs({"x": 1000, "y": 1000}))
    assert (found.nanoseconds - without.nanoseconds < 2500) == is_before


def test_what_stands_in_two_places_is_computed_in_both():
    """A node may be shared: what is before the join in one place is not in another."""
    crossed = read(JOIN.format(join="CROSS JOIN", rest=" WHERE lower(\"x\") <> 'b'"))
    assert isinstance(crossed, nodes.Select)
    assert crossed.where is not None
    both = replace(crossed, items=(*crossed.items, crossed.where))
    once, twice = (row_work(query, Costs({"x": 1000, "y": 1000})) for query in (crossed, both))
    assert once.before == twice.before
    assert twice.nanoseconds - once.nanoseconds == once.before > 2500


@pytest.mark.parametrize("hole", [nodes.Hole(0, 2), nodes.Hole(0, None)])
def test_a_number_that_nobody_may_look_at_is_as_much_work_as_another(hole: nodes.Expr):
    works = {
        row_work(nodes.Select((nodes.Binary("+", nodes.ColumnRef("x"), number),)), Costs({}))
        for number in (hole, nodes.Number("7"))
    }
    assert len(works) == 1


def test_after_an_outer_join_nothing_is_known_to_be_before_it():
    outer = JOIN.format(join="LEFT JOIN", rest=' ON "x" = "y" WHERE lower("y") <> \'a\'')
    assert row_work(read(outer), Costs({"x": 1000, "y": 1000})).before == 0
