"""The last check, and the proof by trial that what it lists neither fails nor is unknown to the engine."""

import itertools
import time

import duckdb
import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import TEXT_AT
from dpproxy.analysis.dates import FIELDS, UNITS
from dpproxy.analysis.open_functions import WORDS
from dpproxy.analysis.totality import (
    AGGREGATES,
    CASTS,
    FORMULAS,
    FUNCTIONS,
    NODES,
    OPERATORS,
    check_total,
    is_frame,
)
from dpproxy.system.confinement import LOCKED
from dpproxy.values.errors import Internal
from tests.analysis.overloads import PINNED, overloads
from tests.reading import read

DOUBLES = [
    "'nan'",
    "'inf'",
    "'-inf'",
    "0",
    "-0.0",
    "5e-324",
    "-5e-324",
    "1e308",
    "-1e308",
    "-0.5",
    "1.5",
    "NULL",
]
HUGES = [f"{n}::HUGEINT" for n in (0, 1, -1, 10**37, -(10**37), 2**63)] + ["NULL::HUGEINT"]
BIGS = [f"({n})::BIGINT" for n in (0, 1, -1, 2**63 - 1, -(2**63))] + ["NULL::BIGINT"]
TEXTS = ["''", "'ßŉﬃİ'", "' a '", "'\U0001f926\U0001f3fc'", "repeat('x', 10000)", "NULL::VARCHAR"]
FLOATS = [f"{d}::DOUBLE" for d in DOUBLES]
NUMBERS = [*HUGES, *FLOATS]
EVERY = [
    NUMBERS,
    BIGS,
    TEXTS,
    ["DATE 'infinity'", "NULL::DATE"],
    ["TIMESTAMP '-infinity'"],
    ["TRUE", "NULL::BOOL"],
]

DAYS = [f"DATE '{d}'" for d in ("0001-01-01", "1999-12-31", "2000-02-29", "9999-12-31")] + ["NULL::DATE"]
MOMENTS = [
    f"TIMESTAMP '{m}'" for m in ("0001-01-01", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999")
]
MOMENTS += ["NULL::TIMESTAMP"]
PATTERNS = ["'()'", "'^(.*)$'", "'(a?)[^ß]{2,9}'"]
LENGTHS = ["-1000000", "-1", "0", "1", "2147483647"]
FIELDS_OF_DAYS = sorted({f"'{f.part}'" for f in FIELDS.values() if not f.of_time} - {"'epoch_us'"})
FIELDS_OF_TIMES = sorted({f"'{f.part}'" for f in FIELDS.values()} - {"'epoch_us'"})
UNIT_NAMES = [f"'{unit.lower()}'" for unit in UNITS]

GRID: dict[str, list[list[list[str]]]] = {
    **{
        name: [[kind, kind] for kind in EVERY] for name in ("hash", "nullif", "coalesce", "greatest", "least")
    },
    "abs": [[NUMBERS]],
    "sign": [[NUMBERS], [BIGS]],
    **{key: [[FLOATS]] for key in ("floor", "ceil", "round", "trunc", "sqrt", "ln", "log", "exp")},
    "round_even": [[FLOATS, ["0"]]],
    "power": [[FLOATS, FLOATS]],
    **{key: [[TEXTS]] for key in ("lower", "upper", "trim", "length")},
    **{key: [[TEXTS, TEXTS]] for key in ("ltrim", "rtrim", "strpos", "starts_with", "concat")},
    "replace": [[TEXTS[:-1], TEXTS, TEXTS[:-2]]],
    "translate": [[TEXTS, TEXTS[:-2], TEXTS[:-2]]],
    "split_part": [[TEXTS, TEXTS, ["-1000000", "-1", "1", "1000000"]]],
    "concat_ws": [[TEXTS, TEXTS, TEXTS]],
    "repeat": [[TEXTS, ["-1", "0", "3"]]],
    **{key: [[TEXTS, ["-1", "0", "2000"], TEXTS[1:-2]]] for key in ("lpad", "rpad")},
    **{key: [[TEXTS]] for key in ("reverse", "ascii")},
    "regexp_matches": [[TEXTS, PATTERNS, ["'s'", "'is'"]]],
    "regexp_extract": [[TEXTS, PATTERNS, ["0", "1"], ["'s'"]]],
    "regexp_replace": [[TEXTS, PATTERNS, ["''", "'x\\1'"], ["'s'", "'gis'"]]],
    "substring": [[TEXTS, ["1", "3", "1000000"], ["0", "1", "2147483647"]]],
    **{key: [[TEXTS, LENGTHS[:-1]]] for key in ("left", "right")},
    "date_part": [[FIELDS_OF_DAYS, DAYS], [FIELDS_OF_TIMES, MOMENTS]],
    "date_trunc": [[UNIT_NAMES, DAYS], [UNIT_NAMES, MOMENTS]],
    "epoch_us": [[DAYS], [MOMENTS]],
    "make_timestamp": [[["-62135596800000000", "-1", "0", "253402300799999999", "NULL::BIGINT"]]],
    **{key: [[["-100000", "0", "100000", "NULL"]]] for key in ("to_months", "to_days")},
    "to_microseconds": [[["-300000000000000000", "0", "300000000000000000"]]],
}
"""For each function, lists of what each argument is tried with."""
SYNTAX = {"coalesce", "nullif", "split_part"}
"""The engine reads them as grammar, or as a macro: they are called below all the same."""


@pytest.fixture(scope="module")
def engine():
    connection = duckdb.connect()
    yield connection
    connection.close()


def calls(name: str) -> list[str]:
    lists = [itertools.product(*arguments) for arguments in GRID[name]]
    return [f"{name}({', '.join(parts)})" for parts in itertools.chain(*lists)]


def test_every_listed_function_is_tried():
    assert set(GRID) == set(FUNCTIONS)


def test_listed_functions_exist_and_are_not_volatile(engine: duckdb.DuckDBPyConnection):
    """Overloads for moments with a zone depend on a setting: the exact stage has its moments as TIMESTAMP in UTC."""
    rows = engine.execute(
        "SELECT function_name, array_to_string(parameter_types, ', '), stability FROM duckdb_functions() "
        "WHERE stability IS NOT NULL"
    ).fetchall()
    assert set(FUNCTIONS) - SYNTAX <= {name for name, _, _ in rows}
    for name, parameters, stability in rows:
        if name in FUNCTIONS and stability != "CONSISTENT":
            assert stability == "CONSISTENT_WITHIN_QUERY"
            assert "WITH TIME ZONE" in parameters or "TIMESTAMPTZ" in parameters, f"{name}({parameters})"


def test_no_version_of_the_engine_widens_a_function_unseen():
    """A new way to call what is listed: look at it, then run ``python -m tests.analysis.overloads``."""
    assert overloads() == PINNED.read_text()


def test_every_other_function_of_the_engine_is_not_run():
    connection = duckdb.connect()
    rows = connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    connection.close()
    others = {name for (name,) in rows if name.isidentifier()} - set(FUNCTIONS) - set(AGGREGATES)
    assert not [name for name in others if is_run(name)]


def is_run(name: str) -> bool:
    try:
        check_total(nodes.Select((nodes.Call(name, (nodes.ColumnRef("x"),)),), nodes.Table("t")))
    except Internal:
        return False
    return True


@pytest.mark.parametrize("name", sorted(GRID))
def test_a_listed_function_raises_on_no_extreme(engine: duckdb.DuckDBPyConnection, name: str):
    tried = calls(name)
    assert len(engine.execute(f"SELECT {', '.join(tried)}").fetchall()) == 1


DOCUMENTS = [
    f"'{d}'"
    for d in (
        '{"a":', '{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": 1e999}', '{"a": 9223372036854775808}', '{"a": NaN}',
        '{"a": {}}', "[" * 100_000, '{"a": 1, "a": "x"}', "null",
    )
]  # fmt: skip


@pytest.mark.parametrize("pieces", FORMULAS)
def test_a_listed_formula_raises_on_no_extreme(engine: duckdb.DuckDBPyConnection, pieces: tuple[str, ...]):
    if pieces == TEXT_AT:
        texts = [f"(SELECT j FROM (VALUES ({d}::VARCHAR)) AS v(j))" for d in (*DOCUMENTS, *TEXTS)]
        tried = ["".join(map("".join, zip(pieces, (t, t, t, "'$.\"a\"'", ""), strict=True))) for t in texts]
    else:
        texts = [*TEXTS, "'1e99'", "'-99999999999999999999e-99'", "'999999999999999999'", "'1\n'", "'--1'"]
        tried = [text.join(pieces) for text in texts]
    assert len(engine.execute(f"SELECT {', '.join(tried)}").fetchall()) == 1


def test_initcap_is_the_listed_formula():
    assert WORDS in FORMULAS


@pytest.mark.parametrize("pattern", ["[ab]*a[ab]{99}c", "(a*)(a*)(a*)(a*)c", "(.{1,22}){1,22}x"])
def test_a_regular_expression_costs_no_more_than_its_states(engine: duckdb.DuckDBPyConnection, pattern: str):
    """A matcher that goes back would take hours; on the list of its states it takes 20 ms."""
    engine.execute("CREATE OR REPLACE TEMP TABLE long AS SELECT repeat('ab', 1000) AS s")
    before = time.process_time()
    assert engine.execute(f"SELECT regexp_matches(s, '{pattern}') FROM long").fetchone() == (False,)
    assert time.process_time() - before < 2


def test_case_mapping_keeps_the_number_of_characters(engine: duckdb.DuckDBPyConnection):
    engine.execute(
        "CREATE OR REPLACE TEMP TABLE letters AS SELECT chr(i::INT) AS c FROM range(1, 1114112) AS r(i) "
        "WHERE i NOT BETWEEN 55296 AND 57343"
    )
    query = "SELECT max(length(upper(c))), max(length(lower(c))), min(length(upper(c))) FROM letters"
    assert engine.execute(query).fetchone() == (1, 1, 1)


@pytest.mark.parametrize(
    "pattern", ["%_a%_a%_a%_a%c", "%a%a%a%a%a%a%c%", "%a_%a_%_b_%", "%" + "a" * 50 + "b%"]
)
@pytest.mark.parametrize("word", ["LIKE", "ILIKE"])
def test_a_pattern_costs_little_on_the_longest_text(
    engine: duckdb.DuckDBPyConnection, pattern: str, word: str
):
    engine.execute("CREATE OR REPLACE TEMP TABLE long AS SELECT repeat('a', 10000) AS s")
    before = engine.execute("SELECT epoch_ms(now())").fetchone()
    assert engine.execute(f"SELECT s {word} '{pattern}' FROM long").fetchone() == (False,)
    after = engine.execute("SELECT epoch_ms(now())").fetchone()
    assert before is not None
    assert after is not None
    assert after[0] - before[0] < 2_000  # a matcher that goes back would take hours


X, T = nodes.ColumnRef("x"), nodes.Table("t")
ONE = nodes.Number("1")


@pytest.mark.parametrize(
    "query",
    [
        *(
            nodes.Select((nodes.Call(n, (X,)),), T)
            for n in ("random", "nextval", "list", "first", "pg_sleep", "md5")
        ),
        nodes.Select((nodes.Cast(X, "SMALLINT"),), T),
        nodes.Select((nodes.Cast(X, "TIME"),), T),
        nodes.Select((nodes.Cast(X, "BIGINT", tries=True),), T),
        nodes.Select((nodes.Binary("&", X, ONE),), T),
        nodes.Select((nodes.Formula(("", "[1]"), (X,)),), T),
        nodes.Select((nodes.Array((X,)),), T),
        nodes.Select((nodes.Call("sum", (X,), where=nodes.Null()),), T),
        nodes.Select((nodes.Call("sum", (X,), order=(nodes.Ordered(X),)),), T),
        nodes.Select((nodes.Window(nodes.Call("row_number"), frame="ROWS 1 PRECEDING"),), T),
        nodes.Select((nodes.Window(nodes.Call("ntile", (nodes.Number("2"),))),), T),
        nodes.Select((nodes.Call("first_value", (nodes.ColumnRef("x"),)),), T),
        nodes.Select((nodes.Call("row_number"),), T),
        nodes.Combined("INTERSECT", nodes.Select((X,), T), nodes.Select((X,), T)),
        nodes.Combined("UNION ALL", nodes.Select((X,), T), nodes.Select((X,), T), limit=ONE),
        nodes.Select((X,), T, limit=ONE),
        nodes.Select((X,), T, offset=ONE),
        nodes.Select((X,), T, order=(nodes.Ordered(X),)),
        nodes.Select((X,), T, group=(X,), having=nodes.Null()),
        nodes.Select((X,), T, distinct_on=(X,)),
        nodes.Select((X,), T, group=(nodes.Sets("CUBE", (X,)),)),
        nodes.Select((X,), nodes.TableFunction(nodes.Call("read_csv", (nodes.Text("f"),)), "t")),
    ],
)
def test_anything_unlisted_is_not_run(query: nodes.Query):
    with pytest.raises(Internal) as refused:
        check_total(query)
    assert "unlisted" in refused.value.message


def test_what_the_compiler_writes_passes():
    sql = 'SELECT "k" AS k0, SUM(CAST(CASE WHEN "x" > 5 THEN 5 ELSE "x" END AS BIGINT)) FROM "t" GROUP BY 1'
    check_total(read(sql))


def test_each_entry_gives_a_reason():
    assert all(
        reason.strip()
        for table in (FUNCTIONS, AGGREGATES, CASTS, NODES, OPERATORS)
        for reason in table.values()
    )
    assert len(NODES) > 20


def test_a_plan_does_not_follow_from_what_a_column_holds():
    """With column statistics the engine cannot bind this total expression where the table holds a NULL or nothing."""
    query = "SELECT ('a' >= name) AND ('a' <= CASE WHEN 'a' = coalesce('b', name) THEN 'a' END) FROM t"
    for rows in ("", "INSERT INTO t VALUES ('x')", "INSERT INTO t VALUES (NULL)"):
        connection = duckdb.connect(config=LOCKED)
        connection.execute(f"CREATE TABLE t (name VARCHAR); {rows}")
        assert all(value in (None, False) for (value,) in connection.execute(query).fetchall())
        connection.close()


@pytest.mark.parametrize(
    ("frame", "is_listed"),
    [
        ("", True),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", True),
        ("ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", True),
        ("RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", True),
        ("RANGE BETWEEN 1 PRECEDING AND CURRENT ROW", False),
        ("RANGE BETWEEN to_days(7) PRECEDING AND CURRENT ROW", False),
        ("GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", False),
        ("ROWS BETWEEN 99999999 PRECEDING AND CURRENT ROW", False),
        ("ROWS BETWEEN x PRECEDING AND CURRENT ROW", False),
        ("ROWS BETWEEN CURRENT ROW AND CURRENT ROW EXCLUDE TIES", False),
        ("ROWS", False),
    ],
)
def test_frames_compute_no_distance(frame: str, *, is_listed: bool):
    assert is_frame(frame) == is_listed
