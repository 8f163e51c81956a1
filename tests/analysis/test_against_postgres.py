"""What expressions over rows mean, beside a PostgreSQL server: the same value of each row, of the same type."""

from collections.abc import Iterator
from fractions import Fraction

import duckdb
import psycopg
import pytest
from sqlglot import exp

from dpproxy.algebra.nodes import Select, Table
from dpproxy.analysis import duck
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.totality import check_total
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Between, Domain, Members
from dpproxy.values.pgtypes import BOOL, FLOAT4, FLOAT8, INT4, INT8, NUMERIC, TEXT, Column
from tests.analysis.rows import node_of, value_of
from tests.postgres import Server

pytestmark = pytest.mark.external

HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, 4503599627370495.5, 3.0)
NAMES = ("Ada", "ada%", "Åsa_b", "", "VÅR", "aXa", "b", None, "ab")
COLUMNS: dict[str, tuple[Column, str, Domain, tuple[object, ...]]] = {
    "d": (Column("d", FLOAT8), "float8", Between(-(10**16), 10**16), HALVES),
    "r": (Column("r", FLOAT4), "float4", Between(-10, 10), (-2.5, 2.5, 0.5, 1.5, 0.25, -0.5, 3.5, 4.5, 5.5)),
    "n": (Column("n", INT4), "int4", Between(-5, 100), (-5, 0, 1, 7, 42, 100, None, 3, 10)),
    "b": (Column("b", INT8), "int8", Between(-(10**12), 10**12), (-5, 0, 10**12, 7, -(10**12), 1, None, 3, 10)),
    "p": (
        Column("p", NUMERIC.with_precision(6, 2)), "numeric(6,2)", Between(-100, 100),
        ("-2.50", "0.00", "0.05", "-0.05", "99.99", "2.50", None, "1.00", "0.50"),
    ),
    "f": (Column("f", BOOL), "bool", Members((True, False)), (True, False, None) * 3),
    "c": (Column("c", TEXT), "text", Members(NAMES), NAMES),
}  # fmt: skip
SIZE = len(HALVES)


@pytest.fixture(scope="module")
def both(
    postgres: Server,
) -> Iterator[tuple[psycopg.Connection, duckdb.DuckDBPyConnection]]:
    """The same rows in both."""
    with (
        psycopg.connect(postgres.url(postgres.database(name="rows")), autocommit=True) as server,
        duckdb.connect() as engine,
    ):
        shown = ", ".join(f"{n} {kind}" for n, (_, kind, _, _) in COLUMNS.items())
        server.execute(f"CREATE TABLE t (i int, {shown})".encode())
        engine.execute(f"CREATE TABLE t (i int, {shown})")
        for row in range(SIZE):
            values = [row, *(given[row] for _, _, _, given in COLUMNS.values())]
            marks = ", ".join(f"%s::{kind}" for _, kind, _, _ in COLUMNS.values())
            server.execute(f"INSERT INTO t VALUES (%s, {marks})".encode(), values)
            engine.execute(f"INSERT INTO t VALUES ({', '.join('?' for _ in values)})", values)
        yield server, engine


def compiled(text: str) -> Typed:
    def leaf(node: exp.Expr) -> Typed | None:
        if type(node) is not exp.Column:
            return None
        column, _, domain, _ = COLUMNS[node.name]
        return read_column(column, domain)

    return compile_expression(node_of(text), Scope(ExpressionLevel.ROW, leaf, Parameters()))


def plain(value: object) -> object:
    """Numbers by their value, whatever holds them."""
    is_number = not isinstance(value, bool | str) and value is not None
    return Fraction(str(value)) if is_number and not isinstance(value, float) else value


EXPRESSIONS = [
    *(f"{form}" for form in ("round(d)", "d::bigint", "round(r)", "r::int", "round(p)", "p::int", "round(p, 1)")),
    *("round(d / 2)", "CAST(n * 0.5 AS int)", "CAST(n / 2.0::float8 AS int)", "round(-d)", "(r + 1)::smallint"),
    *("floor(r)", "ceil(r)", "trunc(r)", "abs(r)", "sign(r)", "floor(p)", "trunc(p)", "floor(d)", "sqrt(abs(r))"),
    *("CAST(c AS varchar(10))", "CAST(c AS varchar(2))", "c::varchar(1)", "'ab'::varchar(1)", "CAST(n AS varchar(1))"),
    *("CAST(c AS varchar(2)) || c", "length(CAST(c AS varchar(2)))", "CAST(NULL AS varchar(3))"),
    *("CAST(f AS varchar(3))", "CAST(n AS text)", "CAST(n AS text) || 1", "concat(f)"),
    *("b::text", "f::text", "CAST(b AS varchar)", "concat(c, n)", "concat(n, '-', b, f)"),
    *("concat(1, 2)", "concat(c, NULL, 7)", "c || n", "n || c", "'x' || b || f", "concat(true, c)"),
    *("concat(c, f)", "UPPER(c) LIKE UPPER('%a%')", "c LIKE upper('aDA')", "upper(c) NOT LIKE upper('_a%')"),
    *("upper(c) LIKE concat('%', upper('a'), '%')", "upper('ab') || c", "upper(c::text) LIKE upper('%' || 'A' || '%')"),
    *("upper(c) = upper('ada')", "replace(upper('ada%'), 'A', c)", "upper(c) ILIKE lower('%A%')", "lower('AB')"),
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_and_types(both: tuple[psycopg.Connection, duckdb.DuckDBPyConnection], text: str):
    server, engine = both
    asked = f"SELECT {text}, pg_typeof({text})::text FROM t ORDER BY i"
    wanted = server.execute(asked.encode()).fetchall()
    typed = compiled(text)
    query = Select((typed.sql,), Table("t"))
    check_total(query)
    sql = duck.text(query)
    found = [plain(value_of(v, typed)) for (v,) in engine.execute(f"{sql} ORDER BY i").fetchall()]
    assert found == [plain(v) for v, _ in wanted]
    assert {typed.type.shown} == {kind for _, kind in wanted}
    if typed.longest is not None:
        assert max((len(v) for v in found if isinstance(v, str)), default=0) <= typed.longest
    if typed.is_number and typed.bounded:
        assert all(v is None or typed.low <= Fraction(v) <= typed.high for v in found)  # type: ignore[operator,arg-type]
    assert typed.nullable or None not in found
