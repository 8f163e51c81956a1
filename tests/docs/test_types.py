"""Results of another type than PostgreSQL's, or written otherwise: docs/sql.md names them."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Server
from tests.proxies import serving, write_home

pytestmark = pytest.mark.external

DDL = ("CREATE TABLE z (i INTEGER, n NUMERIC(8,2), d DATE)", "INSERT INTO z VALUES (3, 7.50, '2024-05-06')")
DIFFERENT = (
    "sqrt(n)", "ln(n)", "exp(n)", "log(n)", "date_trunc('month', d)", "avg(i)", "avg(n)", "n / 3", "power(n, 2)",
    "extract(epoch FROM d)",
)  # fmt: skip
SAME = (
    "sqrt(i)", "ln(i)", "power(i, 2)", "i / 2", "n * 2", "n + 1", "sum(n)", "sum(i)", "min(n)", "count(*)", "ceil(i)",
    "ceil(n)", "floor(n)", "round(n)", "round(n, 1)", "trunc(n, 1)", "sign(n)", "abs(n)", "mod(n, 2)", "cbrt(i)",
    "date_part('year', d)", "extract(year FROM d)", "extract(epoch FROM d::timestamp)", "d + 1", "d::timestamp",
    "date_trunc('month', d::timestamp)", "stddev(i)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY n)",
)  # fmt: skip
Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def both(
    postgres: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Connection, Connection]]:
    file = write_home(tmp_path_factory.mktemp("types"), DDL, "ALTER TABLE z SET PRIVACY PUBLIC;")
    url = postgres.url(postgres.database(name="types"))
    with serving(file) as proxy, psycopg.connect(url, autocommit=True) as server:
        server.execute("SET timezone = 'UTC'")
        for statement in DDL:
            server.execute(statement.encode())
        with psycopg.connect(proxy.dsn(), autocommit=True) as client:
            yield client, server


def shown(connection: Connection, expression: str) -> tuple[int, object]:
    found = connection.execute(f"SELECT {expression}, ({expression})::text FROM z".encode())
    [(_, text)] = found.fetchall()
    return (found.description or ())[0].type_code, text


@pytest.mark.parametrize("expression", SAME)
def test_the_same_type_and_text(both: tuple[Connection, Connection], expression: str):
    client, server = both
    assert shown(client, expression) == shown(server, expression)


@pytest.mark.parametrize("expression", DIFFERENT)
def test_the_difference_that_is_told(both: tuple[Connection, Connection], expression: str):
    client, server = both
    assert shown(client, expression) != shown(server, expression)
    told = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    [entry] = re.findall(r"^\* \*\*Unlike PostgreSQL\.\*\*.*?(?=^\* |^$)", told, re.MULTILINE | re.DOTALL)
    assert re.split(r"\W", expression)[0] in entry or expression in entry
