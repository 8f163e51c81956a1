"""Every function stands in the documentation with an example, and every example runs."""

import re
from pathlib import Path

import duckdb
import pytest

import udfs
from udfs.functions.table import functions
from udfs.pool import Pool

PAGE = (Path(__file__).parents[3] / "docs" / "functions.md").read_text(encoding="utf-8")
NAMES = sorted({f.name for f in functions(Pool()) if not f.name.startswith("_")})


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_has_an_example(name: str):
    assert any(re.search(rf"\b{name}\(", block) for block in blocks("sql"))


def test_no_example_calls_what_is_not_there():
    called = {name for block in blocks("sql") for name in re.findall(r"\b(dp_\w+)\(", block)}
    assert called == set(NAMES)


def test_the_examples_of_sql_run():
    statements = [s for block in blocks("sql") for s in block.split(";") if s.strip()]
    assert len(statements) > 20
    with duckdb.connect() as connection:
        udfs.register(connection)
        for statement in statements:
            rows = connection.execute(statement).fetchall()
            assert rows
            assert all(value is not None for row in rows for value in row)


def test_the_examples_of_python_run():
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/functions.md", "exec"), names)
    connection = names["connection"]
    assert isinstance(connection, duckdb.DuckDBPyConnection)
    connection.close()
