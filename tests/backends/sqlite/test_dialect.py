"""What SQLite is not known to compute like DuckDB is refused before it is asked."""

import pytest

from dpproxy.analysis.totality import AGGREGATES, CASTS, FUNCTIONS, NODES, OPERATORS
from dpproxy.backends.servers.dialect import ValueKind, stored
from dpproxy.backends.sqlite import dialect as table
from dpproxy.values.errors import Unsupported
from tests.backends.postgres.test_dialect import RANKS, REBUILT
from tests.backends.statements import OF_DUCKDB_ALONE, transpiled

COLUMNS = {
    "n": stored(ValueKind.WHOLE),
    "x": stored(ValueKind.DOUBLE),
    "s": stored(ValueKind.TEXT),
    "d": stored(ValueKind.DATE),
}


def printed(sql: str) -> str:
    known = table.dialect({"t": COLUMNS})
    return transpiled(sql, known, lambda database, name: None if database or name != "t" else COLUMNS).sql


def test_everything_that_can_be_planned_has_a_line_but_moments_of_a_zone():
    assert set(NODES) - REBUILT == set(table.EXPRESSIONS)
    assert set(OPERATORS) == set(table.OPERATORS)
    assert (set(FUNCTIONS) - RANKS - OF_DUCKDB_ALONE) | set(AGGREGATES) == set(table.FUNCTIONS)
    assert set(CASTS) - {"TIMESTAMPTZ"} | {"BOOLEAN"} == set(table.CASTS)
    assert all(
        len(line.reason) > 4
        for rows in (table.EXPRESSIONS, table.OPERATORS, table.FUNCTIONS, table.CASTS)
        for line in rows.values()
    )


@pytest.mark.parametrize(
    "expression",
    [
        "x + 1.0e0", "sqrt(x)", "ln(x)", "CAST(x AS BIGINT)", "x / 0.0e0", "power(x, 2.0e0)", "s LIKE s",
        "CAST(d AS TIMESTAMPTZ)", "max(CAST(n AS INT128) * CAST(n AS INT128))",
    ],
)  # fmt: skip
def test_what_could_be_no_number_or_another_one_is_refused(expression: str):
    with pytest.raises(Unsupported, match="SQLite"):
        printed(f"SELECT {expression} AS v FROM t")


@pytest.mark.parametrize(
    "expression",
    [
        "(CASE WHEN x < 0.0e0 THEN 0.0e0 WHEN x > 9.0e0 THEN 9.0e0 ELSE x END) * 2.5e0", "n + n", "s ILIKE 'a%'",
        "CAST(n AS INT128) * CAST(n AS INT128)", "date_trunc('month', d)",
    ],
)  # fmt: skip
def test_what_is_known_is_printed(expression: str):
    assert printed(f"SELECT {expression} AS v FROM t")


def test_texts_stay_texts():
    assert "'it''s'" in printed("SELECT s = 'it''s' AS v FROM t")
    with pytest.raises(Unsupported):
        printed("SELECT s = chr(0) AS v FROM t")
