from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import Value, ValueKind, stored
from dpproxy.backends.servers.printer import PrintedQuery, statement
from dpproxy.backends.spark import dialect as spark_dialect
from dpproxy.values.errors import Unsupported
from tests.backends.statements import transpiled

TABLES = {
    "t": {
        "id": stored(ValueKind.WHOLE),
        "Name": stored(ValueKind.TEXT, "{}::text"),
        "x": stored(ValueKind.DOUBLE),
    },
    "u": {"id": stored(ValueKind.WHOLE), "day": stored(ValueKind.DATE)},
}


def tables(database: str, name: str) -> Mapping[str, Value] | None:
    return None if database else TABLES.get(name)


def rewritten(sql: str) -> PrintedQuery:
    return transpiled(sql, dialect("public"), tables)


def test_a_star_is_written_out_and_names_keep_their_spelling():
    found = rewritten("SELECT * FROM (SELECT * FROM t) AS s WHERE NAME = 'x'")
    assert [c.name for c in found.columns] == ["id", "Name", "x"]
    assert '"t"."Name"::text AS "Name"' in found.sql
    assert """WHERE ("s"."Name" = 'x')""" in found.sql
    assert found.tables == {"t"}


def test_qualify_is_a_condition_around_a_subquery():
    found = rewritten("SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY name ASC) <= 3")
    assert '("t"."id"' not in found.sql
    assert (
        'row_number() OVER (PARTITION BY "t"."id" ORDER BY "t"."Name"::text COLLATE "C" ASC NULLS LAST)'
        in found.sql
    )
    assert found.sql.endswith("<= 3")
    assert [c.name for c in found.columns] == ["id"]


def test_a_window_is_of_the_parts_of_one_person():
    found = rewritten("SELECT lag(x, 2) OVER (PARTITION BY id, x ORDER BY name DESC, x ASC) AS before FROM t")
    order = 'ORDER BY "t"."Name"::text COLLATE "C" DESC NULLS LAST, "t"."x" ASC NULLS LAST'
    assert f'lag("t"."x", 2) OVER (PARTITION BY "t"."id", "t"."x" {order})' in found.sql
    moving = rewritten(
        "SELECT sum(id) OVER (PARTITION BY id ORDER BY x ASC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM t"
    )
    assert 'sum("t"."id"::numeric) OVER (' in moving.sql
    assert moving.sql.count("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW") == 1
    assert moving.columns[0].value.kind is ValueKind.HUGE


@pytest.mark.parametrize(
    "call",
    [
        "sum(id) OVER (ORDER BY id ASC)",
        "sum(x) OVER (PARTITION BY id)",
        "sum(DISTINCT id) OVER (PARTITION BY id)",
        "avg(id) OVER (PARTITION BY id)",
        "min(id > 1) OVER (PARTITION BY id)",
        "lag(id, -1) OVER (PARTITION BY id ORDER BY x ASC)",
        "lag(id, id) OVER (PARTITION BY id ORDER BY x ASC)",
        "lag(id, 1, 0) OVER (PARTITION BY id ORDER BY x ASC)",
        "lag('a', 1) OVER (PARTITION BY id ORDER BY x ASC)",
        "rank() OVER (PARTITION BY id ORDER BY 1 ASC)",
        "sum(id) OVER (PARTITION BY id ORDER BY x ASC RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "sum(id) OVER (PARTITION BY id ORDER BY x ASC GROUPS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    ],
)
def test_another_window_is_refused(call: str):
    with pytest.raises(Unsupported):
        rewritten(f"SELECT {call} AS w FROM t")


def test_rows_with_a_null_in_a_key_of_several_columns_pass_the_cut():
    rank = "row_number() OVER (PARTITION BY id, x ORDER BY name ASC)"
    found = rewritten(
        f"SELECT id FROM t QUALIFY CASE WHEN id IS NULL OR x IS NULL THEN 1 ELSE {rank} END <= 1"
    )
    assert 'CASE WHEN (("t"."id" IS NULL) OR ("t"."x" IS NULL)) THEN 1 ELSE row_number() OVER (' in found.sql
    assert found.sql.endswith("<= 1")


def test_parameters_are_numbered_without_a_gap():
    found = rewritten(
        "SELECT CAST($3 AS DOUBLE) AS a, CAST($1 AS DOUBLE) AS b, CAST($3 AS DOUBLE) AS c FROM t"
    )
    assert found.parameters == ("3", "1")
    assert [f"${n}::float8" in found.sql for n in (1, 2, 3)] == [True, True, False]


def test_an_order_is_of_columns_and_in_bytes():
    found = rewritten("SELECT DISTINCT name FROM t ORDER BY 1 DESC NULLS FIRST LIMIT 5")
    assert found.sql.endswith('ORDER BY "name" COLLATE "C" DESC NULLS FIRST LIMIT 5')
    assert " ASC NULLS LAST, " in rewritten("SELECT id, x FROM t ORDER BY ALL").sql


def test_a_subquery_sees_what_is_around_it():
    found = rewritten("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND day IS NULL)")
    assert '("u"."id" = "t"."id")' in found.sql


def test_listed_keys_without_null_are_joined_by_equality():
    join = "SELECT d.k AS k FROM t JOIN (VALUES (1), ({})) AS d(k) ON t.id IS NOT DISTINCT FROM d.k"
    assert '("t"."id" = "d"."k")' in rewritten(join.format(2)).sql
    assert '("t"."id" IS NOT DISTINCT FROM "d"."k")' in rewritten(join.format("NULL")).sql


def nested(template: str, levels: int) -> str:
    sql = "x"
    for _ in range(levels):
        sql = template.format(sql)
    return f"SELECT {sql} AS v FROM t"


def test_what_doubles_at_each_level_is_refused_before_it_is_written():
    held = spark_dialect.dialect(lambda _, name: name)
    with pytest.raises(Unsupported, match="a statement this long"):
        transpiled(nested("FLOOR({} * 2e0)", 60), replace(held, most_calls=10**9), tables)
    with pytest.raises(Unsupported, match="a statement this long"):
        transpiled(nested("FLOOR({} * 2e0)", 9), held, tables)
    assert transpiled(nested("FLOOR({} * 2e0)", 3), held, tables)


def test_what_is_nested_too_deeply_is_refused():
    value: nodes.Expr = nodes.ColumnRef("id")
    for _ in range(3000):
        value = nodes.Call("abs", (value,))
    with pytest.raises(Unsupported, match="a statement nested so deeply"):
        statement(nodes.Select((nodes.Named(value, "a"),), nodes.Table("t")), dialect("public"), tables)


def test_conditions_of_any_number_stand_side_by_side():
    found = rewritten("SELECT id FROM t WHERE id > 1 AND id < 9 AND (x > 1e0 OR id = 5 OR name = 'a')").sql
    assert """(("t"."id" > 1) AND ("t"."id" < 9) AND (""" in found
    assert """ OR ("t"."id" = 5) OR """ in found


def test_what_is_not_like_is_written_so():
    found = rewritten("SELECT id FROM t WHERE name NOT LIKE 'a%' AND NOT name LIKE 'b%'").sql
    assert """::text NOT LIKE 'a%' ESCAPE '')""" in found
    assert """(NOT ("t"."Name"::text LIKE 'b%' ESCAPE ''))""" in found


@pytest.mark.parametrize(
    "node",
    [
        nodes.Formula(("now()",)),
        nodes.Scalar(nodes.Select((nodes.Number("1"),))),
        nodes.Star(),
        nodes.Binary("&", nodes.ColumnRef("id"), nodes.Number("1")),
    ],
)
def test_a_node_without_a_row_is_refused(node: nodes.Expr):
    query = nodes.Select((nodes.Named(nodes.Call("abs", (node,)), "a"),), nodes.Table("t"))
    with pytest.raises(Unsupported, match="is not answered over PostgreSQL"):
        statement(query, dialect("public"), tables)


def test_what_is_no_query_is_refused():
    for node in (nodes.Null(), nodes.Select((nodes.Null(),), nodes.TableFunction(nodes.Call("range"), "r"))):
        with pytest.raises(Unsupported):
            statement(node, dialect("public"), tables)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM nowhere",
        "SELECT nothing FROM t",
        "SELECT id FROM t, u",
        "SELECT id FROM dpproxy_prepared.main.t",
        "SELECT a.id FROM t AS a CROSS JOIN t AS A",
        "SELECT id AS x, id AS X FROM t",
        f'SELECT id AS "{"n" * 64}" FROM t',
        "SELECT id FROM t UNION SELECT id FROM u",
        "SELECT id FROM range(5) AS r(id)",
        "SELECT DISTINCT ON (id) id FROM t",
        "SELECT sum(id) OVER () AS s FROM t",
        "SELECT random() AS r FROM t",
        "SELECT CAST(id AS SMALLINT) AS r FROM t",
        "SELECT id FROM t ORDER BY id + 1",
        "SELECT (SELECT max(id) FROM u) AS m FROM t",
        "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY x ASC) = 1",
        "SELECT id FROM t GROUP BY ROLLUP (id)",
        "SELECT id FROM t GROUP BY id HAVING count(*) > 1",
        "SELECT id FROM t LIMIT 5 OFFSET 1",
        "SELECT s.id FROM (SELECT id FROM t) AS s(id)",
        "SELECT TRY_CAST(id AS BIGINT) AS r FROM t",
        "SELECT CAST(NULL AS BIGINT[]) AS r FROM t",
        "SELECT max(DISTINCT id) AS m FROM t",
        "SELECT sum(id) FILTER (WHERE id > 1) AS m FROM t",
        "SELECT count(id, x) AS m FROM t",
        "SELECT count(DISTINCT id, x) AS m FROM t",
        "SELECT hash(*) AS h FROM t",
        "SELECT [id] AS a FROM t",
        "SELECT floor(x, 1) AS a FROM t",
        "SELECT round_even(x, 1) AS a FROM t",
        "SELECT strpos(Name, 'a') AS a, (id, x) AS b FROM t",
    ],
)
def test_what_has_no_line_is_refused(sql: str):
    with pytest.raises(Unsupported) as refused:
        rewritten(sql)
    assert refused.value.hint
