from collections.abc import Callable

import pytest

from dpproxy.pgcatalog.names import quoted_name


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("'patients'::regclass", "patients"),
        ("'PATIENTS'::regclass", "patients"),
        ("'public.patients'::regclass", "patients"),
        ("'\"Odd visits\"'::regclass", '"Odd visits"'),
        ("'dp.ledger'::regclass", "dp.ledger"),
        ("0::regclass", "-"),
        ("23::regtype", "integer"),
        ("'int'::regtype", "integer"),
        ("1007::regtype", "integer[]"),
        ("2200::regnamespace", "public"),
        ("10::regrole", "admin"),
    ],
)
def test_a_cast_shows_a_name(ask: Callable[..., list[tuple[object, ...]]], sql: str, value: object):
    assert ask(f"SELECT {sql}::text") == [(value,)]


def test_an_unknown_name_is_null(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT to_regclass('nosuch'), to_regtype($1)", "nosuch") == [(None, None)]


def test_a_column_named_like_ours_is_not_caught(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT oid::regtype::text FROM pg_type WHERE typname = 'int8'") == [("bigint",)]


def test_quotes():
    assert quoted_name('a"b') == '"a""b"'
