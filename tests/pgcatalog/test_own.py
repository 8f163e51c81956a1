import pytest

from dpproxy.pgcatalog.own import is_about_catalogue
from dpproxy.sql.grammar import parse


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM pg_class",
        "SELECT pg_backend_pid()",
        "SELECT pg_catalog.pg_typeof(1)",
        "SELECT current_user",
        "SELECT current_catalog",
        "SELECT 1 OPERATOR(pg_catalog.+) 1",
        "SELECT 'pg_class'::regclass",
        "SELECT ARRAY[1, 2]",
        "SELECT '{a}'::name[]",
        "SELECT 1::oid",
        "SELECT 'a'::\"char\"",
        "SELECT generate_series(1, 3)",
        "SELECT quote_ident('a')",
        "VALUES (current_setting('a'))",
    ],
)
def test_what_the_catalogue_alone_answers(sql: str):
    assert is_about_catalogue(parse(sql)[0])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT pg_catalog.now()",
        "SELECT lower('a')",
        "SELECT interval '1 day' * 2",
        "SELECT * FROM generate_series(1, 3)",
        "SELECT nobody_has_it()",
        'SELECT "user"',
        "SELECT 'a'::text",
        "VALUES (1), (2)",
    ],
)
def test_all_else_is_compiled_as_over_released_rows(sql: str):
    assert not is_about_catalogue(parse(sql)[0])
