"""Parameters without spaces between them are parameters, and dollars inside strings stay where they are."""

import pytest
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpproxy.sql import grammar
from dpproxy.values.errors import NumberOutOfRange, SyntaxRefused, TooComplex


@pytest.mark.parametrize(
    ("sql", "numbers", "strings"),
    [
        ("SELECT $1,$2", [1, 2], []),
        ("SELECT a FROM t WHERE b IN ($1,$2,$3)", [1, 2, 3], []),
        ("SELECT f($1,$2)+$10", [1, 2, 10], []),
        ("SELECT a FROM t WHERE b=$1AND c>$2::int", [1, 2], []),
        ("SELECT '$1,$2', $1", [1], ["$1,$2"]),
        ("SELECT $$ $1,$2 $$, $2", [2], [" $1,$2 "]),
        ("SELECT $a$ it's $5 $a$,$1", [1], [" it's $5 "]),
        ("SELECT E'\\'$1', $1", [1], ["'$1"]),
        ("SELECT U&'$3'", [], ["$3"]),
        ("SELECT 1 -- $1,$2\n+ $1 /* $2 */", [1], []),
    ],
)
def test_dollars(sql: str, numbers: list[int], strings: list[str]):
    (tree,) = grammar.parse(sql)
    assert sorted(int(p.name) for p in tree.find_all(exp.Parameter)) == numbers
    assert [node.name for node in tree.walk() if node.is_string] == strings
    assert not any("\ufdd0" in str(node.args.get("this")) for node in tree.walk())


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"E'a\nb\\c\'d''e\x41\u00e9\101\%'", "a\nb\\c'd'eA\u00e9A%"),
        ("$$a'b$$", "a'b"),
        ("$q$ x $1 $$ y$q$", " x $1 $$ y"),
        ("N'na''s'", "na's"),
        (r"U&'d\0061t'", "dat"),
    ],
)
def test_texts_of_every_form_are_texts(written: str, text: str):
    (tree,) = grammar.parse(f"SELECT {written}, DATE $$2024-01-02$$::text")
    found = tree.expressions[0]
    assert (found.is_string, found.name, found.meta["start"]) == (True, text, 7)
    assert isinstance(tree.expressions[1].unnest().this.unnest(), exp.Cast)


def test_names_may_hold_dollars():
    (tree,) = grammar.parse('SELECT x$1, "$1,$2" FROM t')
    assert [column.name for column in tree.find_all(exp.Column)][-1] == "$1,$2"


def test_tokens_stand_where_they_are_written():
    sql = "EXECUTE a($1,$2, '$3')"
    found = grammar.tokens(sql)
    assert [sql[token.start : token.end + 1] for token in found] == [
        "EXECUTE", "a", "(", "$", "1", ",", "$", "2", ",", "'$3'", ")"
    ]  # fmt: skip
    assert found[-2].text == "$3"


def test_what_is_no_character_is_refused():
    with pytest.raises(SyntaxRefused) as caught:
        grammar.parse("SELECT '\ufdd0'")
    assert caught.value.position == 8


def test_arrays_of_object_names():
    (tree,) = grammar.parse("SELECT x::regtype[], y::RegClass[] FROM t WHERE z = '::regtype[]'")
    assert [cast.to.sql("postgres") for cast in tree.find_all(exp.Cast)] == ["_regtype", "_RegClass"]
    assert tree.find(exp.Literal).name == "::regtype[]"


def test_arrays_of_numbers_of_objects():
    (tree,) = grammar.parse("SELECT 1 = ANY ((SELECT conkey FROM t)::oid[])")
    assert [cast.to.sql("postgres") for cast in tree.find_all(exp.Cast)] == ["_oid"]


@pytest.mark.parametrize(
    "before",
    [
        "ARRAY[",
        "f(ARRAY[",
        "date(",
        "float(",
        "timestamp(",
        "text[",
        "if[",
        "char(f(",
        "(SELECT 1 LIMIT ",
        "(SELECT 1 OFFSET f(",
    ],
)
def test_types_in_types_are_refused_before_the_parser_reads_them_for_ever(before: str):
    """Thirty of them would take the parser ten minutes."""
    close = {"(": ")", "[": "]"}
    after = "".join(close[c] for c in reversed(before) if c in close)
    with pytest.raises(TooComplex) as caught:
        grammar.parse("SELECT " + before * 30 + "1" + after * 30)
    assert caught.value.position is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "ARRAY[" * 6 + "1" + "]" * 6,
        "SELECT a = ANY(ARRAY[" + ", ".join("'x'" for _ in range(20_000)) + "])",
        "SELECT " + " + ".join("date('2020-01-01')" for _ in range(500)),
        "SELECT " + "f(" * 60 + "1" + ")" * 60,
        "SELECT " + "(SELECT 1 LIMIT (" * 3 + "1" + "))" * 3,
        "SELECT a FROM t LIMIT 10 OFFSET (1 + (2 * f(3)))",
    ],
)
def test_what_people_write_is_not(sql: str):
    assert len(grammar.parse(sql)) == 1


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("date '2024-01-02'::text", "CAST((CAST('2024-01-02' AS DATE)) AS TEXT)"),
        ("double precision '1.5'::int", "CAST((CAST('1.5' AS DOUBLE PRECISION)) AS INT)"),
        (
            "timestamp with time zone '2024-01-02'::date, '1'::int",
            "CAST((CAST('2024-01-02' AS TIMESTAMPTZ)) AS DATE), CAST('1' AS INT)",
        ),
        ("date '2024-01-02' + 1, 'a'::text", "CAST('2024-01-02' AS DATE) + 1, CAST('a' AS TEXT)"),
    ],
)
def test_a_typed_literal_is_read_before_what_it_is_cast_to(sql: str, same: str):
    assert grammar.parse(f"SELECT {sql}")[0].sql("postgres") == f"SELECT {same}"


def test_functions_keep_the_names_they_were_called_by():
    sql = "SELECT char_length(a), date_part('year', a), extract(year FROM a), pg_catalog.date_part('year', a)"
    length, part, extract, other = grammar.parse(sql)[0].selects
    assert [node.meta.get(grammar.NAME) for node in (length, part, extract)] == [
        "char_length",
        "date_part",
        None,
    ]
    assert part == extract
    assert other.expression.name == "date_part"
    assert grammar.parse("SELECT date_part($1, a)")[0].selects[0].name == "date_part"


@pytest.mark.parametrize(
    ("sql", "bare"),
    [
        ("SELECT pg_catalog.count(*) FILTER (WHERE x) FROM t", "SELECT count(*) FILTER (WHERE x) FROM t"),
        ('SELECT "pg_catalog".Rank() OVER (ORDER BY x) FROM t', "SELECT Rank() OVER (ORDER BY x) FROM t"),
        (
            "SELECT pg_catalog.percentile_cont(0.5) WITHIN GROUP (ORDER BY PG_CATALOG . round(x)) FROM t",
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY round(x)) FROM t",
        ),
        (
            "SELECT -pg_catalog.abs(x) || 'pg_catalog.abs(x)' FROM t",
            "SELECT -abs(x) || 'pg_catalog.abs(x)' FROM t",
        ),
        ("SELECT pg_catalog.date_part('year', x) FROM t", "SELECT date_part('year', x) FROM t"),
        ('SELECT pg_catalog."left"(x, 1) FROM t', 'SELECT "left"(x, 1) FROM t'),
    ],
)
def test_functions_behind_their_schema(sql: str, bare: str):
    assert grammar.is_qualified(sql)
    assert grammar.parse(sql, bare=True) == grammar.parse(bare)
    assert grammar.parse(sql) != grammar.parse(bare)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_catalog.position('a', x) FROM t",
        "SELECT public.count(*) FROM t",
        "SELECT db.pg_catalog.count(*) FROM t",
        'SELECT "PG_CATALOG".count(*) FROM t',
        'SELECT pg_catalog."COUNT"(x) FROM t',
        "SELECT pg_catalog.count FROM pg_catalog.pg_class",
        "SELECT x::pg_catalog.numeric(10, 2) FROM t",
    ],
)
def test_what_else_stands_behind_a_schema(sql: str):
    assert grammar.parse(sql, bare=True) == grammar.parse(sql)


def test_without_a_schema_functions_stand_where_they_were():
    sql = "SELECT 1, pg_catalog.count(*) FROM t"
    (tree,) = grammar.parse(sql, bare=True)
    assert tree.find(exp.Count).meta["start"] == sql.index("count")


@pytest.mark.parametrize(
    "number", ["1e999999999", "1e-99999999", "2.5E+131072", "9" * 1001, "1e" + "9" * 5000]
)
def test_numbers_are_bounded_before_they_are_written_out(number: str):
    with pytest.raises(NumberOutOfRange, match="overflows") as caught:
        grammar.parse(f"SELECT a FROM t WHERE b < {number} LIMIT 5")
    assert caught.value.position == len("SELECT a FROM t WHERE b < ")


@pytest.mark.parametrize("number", ["1", "1e300", "1.5e-16383", "9" * 1000, ".5e1", "1e131071", "5."])
def test_other_numbers_are_read(number: str):
    assert grammar.is_writable(number)
    assert grammar.parse(f"SELECT {number}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS select",
        "SELECT 1 AS NOT, 2 AS b FROM t",
        "SELECT a.x FROM (SELECT 1 AS select) a",
        "SELECT a.select FROM a",
    ],
)
def test_any_word_is_a_name_behind_as(sql: str):
    assert len(grammar.parse(sql)) == 1


def test_as_before_a_query_is_no_name():
    tree = grammar.parse("WITH a AS (SELECT 1), b AS NOT MATERIALIZED (SELECT 2) SELECT 3 FROM a, b")[0]
    assert [cte.alias for cte in tree.find_all(exp.CTE)] == ["a", "b"]


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("SELECT count(*), FROM t", "FROM"),
        ("SELECT 1,", None),
        ("SELECT 1, ;", ";"),
        ("SELECT 1,, 2", ","),
        ("SELECT , 1", ","),
        ("SELECT (1, 2,)", ")"),
        ("SELECT coalesce(, 1)", ","),
        ("SELECT ARRAY[1, ]", "]"),
        ("SELECT 1 FROM , t", ","),
        ("SELECT 1 FROM t, WHERE true", "WHERE"),
        ("SELECT 1 FROM t JOIN u USING (a, )", ")"),
        ("SELECT 1 FROM t WHERE a IN (1, )", ")"),
        ("SELECT 1 FROM t GROUP BY a, HAVING true", "HAVING"),
        ("SELECT 1 FROM t ORDER BY , a", ","),
        ("SELECT 1 FROM t ORDER BY a, LIMIT 3", "LIMIT"),
        ("VALUES (1), ", None),
        ("SELECT 1, UNION SELECT 2", "UNION"),
    ],
)
def test_a_comma_stands_between_two_items(sql: str, near: str | None):
    with pytest.raises(SyntaxRefused) as refusal:
        grammar.parse(sql)
    assert refusal.value.position == (len(sql.rstrip()) if near is None else sql.rindex(near))
    assert str(refusal.value).endswith(f'near "{near}"' if near else "end of input")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS select, 2 AS from, 3",
        'SELECT a, "from", t."where" FROM t',
        "SELECT t.values, t.from, 1 FROM t",
        "SELECT a, left(b, 1), right(b, 2) FROM t, LATERAL (SELECT 1) x",
        "SELECT ',', ', FROM t', $1, $2 /* , */ FROM t -- ,",
    ],
)
def test_commas_between_names_and_texts(sql: str):
    [tree] = grammar.parse(sql)
    assert len(tree.expressions) >= 3


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1 day", "1"),
        ("1 day 02:00", "0 mil 1 day 02:00"),
        ("1 day ago", "0 mil 1 day ago"),
        ("@ 1 day", "0 mil 1 day"),
        ("P5M", "P0Y5M"),
        ("P1Y2M", "P1Y2M"),
        ("02:00", "02:00"),
        ("soon", "soon"),
        ("", ""),
        ("1 year 2 mons ago", "1 year 2 mons ago"),
    ],
)
def test_the_text_of_an_interval_is_read_to_its_end(text: str, read: str):
    (tree,) = grammar.parse(f"SELECT interval '{text}'")
    assert tree.selects[0].this.name == read


@pytest.mark.parametrize(
    ("given", "step"),
    [("'1', '5', '2'", "('2')"), ("1, f(a, 'b'), c", "c"), ("a, b, INTERVAL '1 day'", "INTERVAL '1 DAY'")],
)
def test_the_step_of_a_series_is_what_it_is_written_as(given: str, step: str):
    (tree,) = grammar.parse(f"SELECT * FROM generate_series({given}) AS g WHERE x IN ('a', 'b')")
    assert tree.find(exp.GenerateSeries).args["step"].sql("postgres") == step
    assert tree.find(exp.In).expressions[1].is_string


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT j.k FROM a JOIN b USING (k) AS j", "SELECT k FROM a JOIN b USING (k)"),
        ('SELECT "J".k, J.x FROM a JOIN j USING (k, l) AS "J"', "SELECT k, J.x FROM a JOIN j USING (k, l)"),
        (
            "SELECT J.k, count(*) FROM a JOIN b USING (k) AS j JOIN c USING (l) AS m WHERE m.l > j.k",
            "SELECT k, count(*) FROM a JOIN b USING (k) JOIN c USING (l) WHERE l > k",
        ),
        (
            "SELECT (SELECT j.k FROM a JOIN b USING (k) AS j) FROM (c JOIN d USING (k) AS j) WHERE (j.k > 1)",
            "SELECT (SELECT k FROM a JOIN b USING (k)) FROM (c JOIN d USING (k)) WHERE (k > 1)",
        ),
    ],
)
def test_the_name_behind_using_is_that_of_the_merged_columns(sql: str, plain: str):
    assert grammar.parse(sql) == grammar.parse(plain)


@pytest.mark.parametrize("named", ["j.*", "j.x", "j", "x.j, j.k FROM t AS j, a"])
def test_a_name_behind_using_is_left_where_it_may_mean_more(named: str):
    with pytest.raises(SqlglotError):
        grammar.parse(f"SELECT {named} FROM a JOIN b USING (k) AS j")


@pytest.mark.parametrize(
    "more", ["WHERE EXISTS (SELECT 1 FROM c WHERE c.x = j.k)", "UNION ALL SELECT j.k FROM c"]
)
def test_a_name_behind_using_is_left_in_another_select(more: str):
    """There a bare name may be a column of its own."""
    with pytest.raises(SqlglotError):
        grammar.parse(f"SELECT 1 FROM a JOIN b USING (k) AS j {more}")


@pytest.mark.parametrize(
    ("sets", "read"),
    [
        ("ROLLUP (x IS NULL)", "ROLLUP ((x IS NULL))"),
        ("ROLLUP (x NOT IN (1, 2), y)", "ROLLUP ((NOT x IN (1, 2)), y)"),
        ("CUBE (a, b > 3 AND c, (d, e))", "CUBE (a, (b > 3 AND c), (d, e))"),
        (
            "GROUPING SETS ((a, b IS NULL), b IS NULL, ROLLUP (a = 1), ())",
            "GROUPING SETS ((a, b IS NULL), (b IS NULL), ROLLUP ((a = 1)), ())",
        ),
        ("ROLLUP ((x IS NULL))", "ROLLUP ((x IS NULL))"),
    ],
)
def test_conditions_are_elements_of_grouping_sets(sets: str, read: str):
    [tree] = grammar.parse(f"SELECT count(*) FROM t WHERE (a = 1) GROUP BY {sets}")
    assert tree.sql("postgres") == f"SELECT COUNT(*) FROM t WHERE (a = 1) GROUP BY {read}"
