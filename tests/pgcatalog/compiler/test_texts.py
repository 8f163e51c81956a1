"""Texts as PostgreSQL reads them; each line is what `test_against_postgres.py` would find there too."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.sql import grammar
from dpproxy.values.errors import NegativeLength, Refusal, Unsupported


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("substring('fillfactor=70' FROM 'fillfactor=([0-9]*)')", "70"),
        ("substring('fillfactor=70' FROM 'fill[a-z]+')", "fillfactor"),
        ("substring('a(b' FROM '\\(b')", "(b"),
        ("substring('abc' FROM 'x(.)')", None),
        ("pg_catalog.substring('abc', 'b.')", "bc"),
        ("(regexp_match('abc', '(b)(.)'))[2]", "c"),
        ("substring('abc' FROM 2)", "bc"),
        ("substring('abc', 1, 2)", "ab"),
        ("array_to_string(ARRAY['a', NULL, 'b'], ',')", "a,b"),
        ("array_to_string(ARRAY['a', NULL, 'b'], NULL)", None),
        ("array_to_string(ARRAY['a', NULL, 'b'], ',', NULL)", "a,b"),
        ("pg_size_pretty(-9223372036854775808)", "-8192 PB"),
        ("pg_size_pretty('-9223372036854775808'::bigint)", "-8192 PB"),
        ("pg_size_pretty(12345.678)", "12 kB"),
        ("pg_size_pretty(-10240::bigint)", "-10 kB"),
        ("'_x' LIKE E'\\\\_%'", True),
        ("'ax' LIKE E'\\\\_%'", False),
        ("'ax' NOT LIKE '\\_%'", True),
        ("'AX' ILIKE 'a_'", True),
        ("'_x' LIKE '!_%' ESCAPE '!'", True),
        ("to_char(TIMESTAMP '2024-01-31 05:06:07', 'YYYY-MM-DD HH24:MI:SS')", "2024-01-31 05:06:07"),
        ("pg_catalog.to_char(NULL::timestamp, 'YYYY TZ')", None),
        ("string_to_array('a,b', ',')::text", "{a,b}"),
        ("array_to_string(pg_catalog.string_to_array('a b', ' '), '-')", "a-b"),
        ("format('%I.%s %L 5%%', 'user', 'pg', 'x''y')", "\"user\".pg 'x''y' 5%"),
        ("pg_catalog.format('%s(%s)', 'a', NULL)", "a()"),
        ("array_to_string(pg_catalog.array_remove('{a,b}'::text[], 'a'), ',')", "b"),
        ("extract(epoch from TIMESTAMP '2024-01-02' - TIMESTAMP '2024-01-01')", 86400.0),
    ],
)
def test_answers(ask: Callable[..., list[tuple[object, ...]]], sql: str, value: object):
    assert ask(f"SELECT {sql} AS x") == [(value,)]


def test_a_part_of_less_than_no_characters_is_an_error(ask: Callable[..., list[tuple[object, ...]]]):
    for part in ("substring('abc', 1, -1)", "substr(relname, 0, -2)", "substring(relname FROM 2 FOR -1)"):
        with pytest.raises(NegativeLength):
            ask(f"SELECT {part} FROM pg_class")


def test_columns_of_bytes_are_empty(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT string_to_array(encode(tgargs, 'escape'), E'\\\\000') FROM pg_trigger") == []


@pytest.mark.parametrize(
    "sql",
    [
        "to_char(now(), 'Day')",
        "to_char(now(), relname)",
        "encode('a', 'hex')",
        "format(relname)",
        "format('%2$s', 'a', 'b')",
        "format('%s')",
        "(regexp_match(relname, 'A(b)', 'i'))[1]",
        "(regexp_match(relname, relname))[1]",
    ],
)
def test_what_is_not_read_is_refused(ask: Callable[..., list[tuple[object, ...]]], sql: str):
    with pytest.raises(Unsupported):
        ask(f"SELECT {sql} FROM pg_class")


def test_a_wrong_field_is_refused(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(Refusal):
        ask("SELECT extract(nothing from now())")


@pytest.mark.parametrize("value", ["'a'::bytea::text", "concat('a'::bytea)", "(ARRAY['a'::bytea])::text"])
def test_bytes_do_not_become_text_in_another_form_than_asked_for(
    catalogue: Catalogue, view: CatalogueView, value: str
):
    [tree] = grammar.parse(f"SELECT {value} AS x")
    assert list(catalogue.run(view, tree, (), {}).rows)
    escaped = replace(view, settings={**view.settings, "bytea_output": "escape"})
    with pytest.raises(Unsupported, match="bytea_output") as caught:
        catalogue.run(escaped, tree, (), {})
    assert "SET bytea_output TO hex" in (caught.value.hint or "")
