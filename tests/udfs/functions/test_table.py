"""The list of functions is what a connection has."""

import duckdb

import udfs
from udfs.functions.table import functions
from udfs.pool import Pool


def test_functions_are_listed():
    with duckdb.connect() as connection:
        udfs.register(connection)
        relation = connection.sql("FROM dp_functions()")
        assert relation.columns == ["function", "arguments", "returns", "description"]
        listed = relation.fetchall()
    shown = [f for f in functions(Pool())[:-1] if not f.name.startswith("_")]
    assert listed == [(f.name, f.arguments, f.returns, f.does) for f in shown]
    assert len({row[:2] for row in listed}) == len(listed)


def test_every_function_is_there_and_says_what_it_does():
    with duckdb.connect() as connection:
        udfs.register(connection)
        found = connection.execute(
            "SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'dp\\_%' ESCAPE '\\'"
        ).fetchall()
    shown = [f for f in functions(Pool()) if not f.name.startswith("_")]
    assert {row[0] for row in found} == {f.name for f in shown}
    assert all(f.does and (f.run is not None or f.body) for f in shown)
