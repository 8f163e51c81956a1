"""What the engine prints of a view, read back: the same question, or none."""

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest

from dpproxy.planner.view_text import AcceptedView, check_stars, read_text
from dpproxy.values.errors import Refusal
from tests.empty import empty

TABLES = ("a", "b", "c")
ROWS = "(1, 7, 'oslo', '2020-01-05'), (2, NULL, 'Rome', '2021-12-31'), (2, 3, NULL, NULL), (-7, 4, '', '2020-03-01')"


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with empty() as found:
        for table in TABLES:
            found.execute(f"CREATE TABLE {table} (x INTEGER, y INTEGER, t VARCHAR, d DATE)")
            found.execute(f"INSERT INTO {table} VALUES {ROWS}")
        yield found


def read(connection: duckdb.DuckDBPyConnection, query: str, names: str = "") -> AcceptedView:
    connection.execute(f"CREATE OR REPLACE VIEW v {names} AS {query}")
    [[sql]] = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'v'").fetchall()
    return read_text(sql, TABLES, {})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*), count(DISTINCT x), sum(y) FILTER (WHERE x > 1), min(x), max(t), avg(y), stddev(x) FROM a",
        "SELECT x / 2, y / x, x % 3, -x, x * 1.5, x + 1e0 FROM a ORDER BY d DESC",
        "SELECT x, t LIKE 'o%', t NOT LIKE 'o%', t ILIKE 'r%', t IN ('oslo'), t NOT IN ('x'), t IS NULL FROM a",
        "SELECT x BETWEEN 1 AND 2, NOT (x = 1), x IS DISTINCT FROM y, CASE WHEN x > 1 THEN 'b' ELSE 's' END FROM a",
        "SELECT date_trunc('month', d), extract(year FROM d), date_part('dow', d), month(d), dayofyear(d) FROM a",
        "SELECT d + INTERVAL 3 DAY, d - INTERVAL '2 months', d + INTERVAL 1 YEAR, d > DATE '2020-02-01' FROM a",
        "SELECT position('s' IN t), strpos(t, 's'), instr(t, 'o'), substring(t, 2, 2), left(t, 1), trim(t, 'o') FROM a",
        "SELECT upper(t) || lower(t), length(t), replace(t, 'o', 'u'), ltrim(t, 'o'), concat(t, x), t || 'x' FROM a",
        "SELECT abs(x), sign(x), round(x / 3, 1), floor(x / 2), ceil(x / 2), pow(x, 2), x ^ 2, coalesce(y, 0) FROM a",
        "SELECT greatest(x, y), least(x, y), nullif(x, 2), log(abs(x)), log10(abs(x)), ln(abs(x)), sqrt(abs(x)) FROM a",
        "SELECT p.x, q.y FROM a p JOIN b q ON p.x = q.x LEFT JOIN c ON c.y = q.y",
        "SELECT p.x, c.y FROM a p, b q JOIN c ON q.x = c.x WHERE p.y = q.y",
        "SELECT p.x, c.y FROM a p CROSS JOIN (b q LEFT JOIN c ON q.x = c.y)",
        "SELECT x, b.y FROM a JOIN b USING (x)",
        "SELECT x FROM a WHERE x IN (SELECT y FROM b) OR x NOT IN (SELECT x FROM c WHERE y IS NOT NULL)",
        "SELECT x FROM a WHERE EXISTS (SELECT * FROM b WHERE b.x = a.x AND b.y > 3)",
        "SELECT (SELECT max(y) FROM b WHERE b.x = a.x) AS m FROM a",
        "WITH w AS (SELECT x, y FROM a) SELECT x FROM w UNION ALL SELECT y FROM main.b",
        "SELECT x FROM a UNION SELECT y FROM b",
        "SELECT t, count(*) FROM a GROUP BY ROLLUP (t) HAVING count(*) > 0",
        "SELECT u.x FROM (SELECT x FROM a) AS u, (SELECT y FROM b)",
        "SELECT x, row_number() OVER (PARTITION BY t ORDER BY x DESC) FROM a WHERE t IS NOT NULL",
    ],
)
def test_the_text_asks_what_the_view_asks(connection: duckdb.DuckDBPyConnection, query: str):
    """The engine answers the tree as it answers the view."""
    text = read(connection, query).tree.sql("duckdb")
    expected, found = ([*connection.execute(sql).fetchall()] for sql in ("SELECT * FROM v", text))
    assert sorted(map(plain, found)) == sorted(map(plain, expected))


def plain(row: tuple[object, ...]) -> str:
    """A date may come back as a timestamp, a decimal as a float."""
    return " ".join(
        f"{float(v):.9g}" if isinstance(v, int | float | Decimal) else str(v).removesuffix(" 00:00:00")
        for v in row
    )


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT x // 2 FROM a", "INT DIV"),
        ("SELECT try_cast(t AS INTEGER) FROM a", "TRY_CAST"),
        ("SELECT list(x) FROM a", "list"),
        ("SELECT any_value(x) FROM a", "anyvalue"),
        ("SELECT date_diff('day', d, d) FROM a", "date_diff"),
        ("SELECT d + to_days(x) FROM a", "constant"),
        ("SELECT random()", "random"),
        ("SELECT x FROM range(3) AS r(x)", "range"),
        ("SELECT * EXCLUDE (x) FROM a", "except"),
        ("SELECT x FROM a NATURAL JOIN b", "NATURAL JOIN"),
        ("SELECT a.x FROM a LEFT JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x", "JOIN"),
        ("SELECT x FROM a USING SAMPLE 10%", "sample"),
        ("SELECT x FROM a QUALIFY row_number() OVER () = 1", "QUALIFY"),
        ("SELECT x, count(*) FROM a GROUP BY ALL", "GROUP BY ALL"),
        ("WITH b AS (SELECT x FROM a) SELECT x FROM b", "WITH of the name"),
        ("SELECT table_name FROM information_schema.tables", "is not served"),
    ],
)
def test_what_is_not_listed_is_refused(connection: duckdb.DuckDBPyConnection, query: str, reason: str):
    with pytest.raises(Refusal) as error:
        read(connection, query)
    assert reason in error.value.message
    assert error.value.position is None


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "CREATE TABLE v AS SELECT 1", "CREATE VIEW v AS", "CREATE VIEW v AS SELECT 1; SELECT 2",
     "CREATE VIEW '", "CREATE VIEW v AS SELECT " + "(" * 300 + "1" + ")" * 300, "CREATE VIEW v AS SELECT $1"],
)  # fmt: skip
def test_only_one_view_is_read(sql: str):
    with pytest.raises(Refusal):
        read_text(sql, TABLES, {})


def test_names_are_spelled_as_in_the_schema():
    text = read_text(
        'CREATE VIEW v AS SELECT p."AGE", P.Town AS tOwN FROM PEOPLE AS p',
        (),
        {"age": "Age", "people": "People"},
    )
    assert text.tree.sql("duckdb") == 'SELECT "p"."Age", "p"."town" AS "town" FROM "People" AS "p"'
    assert (text.reads, text.bare) == (("People",), frozenset())


def test_bare_names_and_stars(connection: duckdb.DuckDBPyConnection):
    text = read(
        connection, "SELECT a.*, b.y FROM a JOIN b USING (x) WHERE EXISTS (SELECT * FROM c WHERE t = a.t)"
    )
    assert text.bare == {"x", "t"}
    assert (text.starred, text.by_place) == (True, False)
    inner = read(connection, "SELECT count(*) FROM (SELECT * FROM a)")
    assert (inner.starred, inner.by_place) == (False, False)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM a UNION ALL SELECT * FROM b",
        "SELECT x FROM (SELECT * FROM a) AS u (x, y)",
        "SELECT * FROM a ORDER BY 2",
    ],
)
def test_places_beside_stars_need_every_column(connection: duckdb.DuckDBPyConnection, query: str):
    text = read(connection, query)
    check_stars(text, ())
    with pytest.raises(Refusal, match="told by their place"):
        check_stars(text, ("y",))


def test_a_star_has_no_other_names(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(Refusal, match="told by their place"):
        read(connection, "SELECT * FROM a", "(q, r)")
