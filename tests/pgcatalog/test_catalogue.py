import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlglot import parse_one

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog import Catalogue, CatalogueView, oids
from dpproxy.pgcatalog import catalogue as module
from dpproxy.values.errors import ShuttingDown

SECTIONS = dict(
    re.findall(
        r"\n-- (\\[^\n]+)\n((?:(?!\n-- \\).)+)", Path(__file__).with_name("psql15.sql").read_text(), re.DOTALL
    )
)
OID = oids.relation_oid("public", "patients")


def sent(command: str) -> list[str]:
    """The statements that psql sends for a command."""
    return [s for s in SECTIONS[command].replace("{oid}", str(OID)).split(";\n") if s.strip()]


@pytest.mark.parametrize("command", SECTIONS)
def test_every_statement_of_psql_is_answered(ask: Callable[..., list[tuple[object, ...]]], command: str):
    for sql in sent(command):
        ask(sql)


def test_psql_dt(answer: Callable[..., Answer]):
    got = answer(sent("\\dt")[0])
    assert [column.name for column in got.columns] == ["Schema", "Name", "Type", "Owner"]
    assert got.rows == [("public", "patients", "table", "admin")]


def test_psql_d(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(sent("\\d")[0]) == [
        ("public", "Odd visits", "view", "admin"),
        ("public", "patients", "table", "admin"),
    ]


def test_psql_dt_plus_shows_the_comment_and_no_size(ask: Callable[..., list[tuple[object, ...]]]):
    assert [(row[1], row[-2], row[-1]) for row in ask(sent("\\dt+")[0])] == [("patients", None, "people")]


def test_psql_d_table(ask: Callable[..., list[tuple[object, ...]]]):
    found, facts, columns, *rest = [ask(sql) for sql in sent("\\d patients")]
    assert found == [(OID, "public", "patients")]
    assert facts[0][:4] == (1, "r", False, False)
    assert [row[:4] for row in columns] == [
        ("id", "bigint", None, True),
        ("name", "text", None, False),
        ("paid", "numeric(12,2)", None, False),
        ("born", "date", None, False),
        ("score", "double precision", None, False),
    ]
    assert rest == [[]] * len(rest)


def test_psql_dn_l_du_dv_df(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(sent("\\dn")[0]) == [("dp", "admin"), ("public", "admin")]
    assert [row[:3] for row in ask(sent("\\l")[0])] == [("main", "admin", "UTF8")]
    assert [row[0] for row in ask(sent("\\du")[0])] == ["admin", "ana", "analyst"]
    assert ask(sent("\\dv")[0]) == [("public", "Odd visits", "view", "admin")]
    assert ask(sent("\\df")[0]) == []


@pytest.mark.parametrize(
    ("sql", "covered"),
    [
        ("SELECT 1", True),
        ("VALUES (1)", True),
        ("TABLE pg_class", True),
        ("SELECT * FROM pg_class c JOIN information_schema.tables t ON true", True),
        ("SELECT * FROM dp.ledger", True),
        ("SELECT * FROM pg_nosuch", True),
        ("SELECT * FROM patients", False),
        ("SELECT (SELECT count(*) FROM patients) FROM pg_class", False),
        ("SELECT * FROM pg_class, patients", False),
        ("WITH pg_x AS (SELECT * FROM patients) SELECT * FROM pg_x", False),
        ("SELECT 1 UNION SELECT id FROM patients", False),
        ("SELECT * FROM public.pg_class", False),
        ("SELECT * FROM 'file.csv'", False),
        ('SELECT * FROM "/etc/passwd"', False),
        ("SELECT * FROM duckdb_tables", False),
        ("SELECT * FROM main.sqlite_master", False),
        ("SELECT * FROM internal.class_names", False),
        ("SELECT 1 INTO x", False),
        ("INSERT INTO pg_class VALUES (1)", False),
        ("DROP TABLE pg_class", False),
    ],
)
def test_covers(catalogue: Catalogue, sql: str, *, covered: bool):
    assert catalogue.covers(parse_one(sql, read="postgres")) is covered


def test_own_relations_hold_the_rows_that_come_along(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT * FROM dp.ledger") == [
        (datetime.fromisoformat("2024-01-02"), Decimal("0.25"), "ana"),
        (None, None, None),
    ]
    assert ask("SELECT sum(l.loss) FROM dp.ledger l WHERE who = $1", "ana") == [(Decimal("0.25"),)]


def test_rows_of_one_statement_are_gone_with_it(catalogue: Catalogue, view: CatalogueView):
    tree = parse_one("SELECT count(*) FROM dp.ledger", read="postgres")
    rows = {"ledger": (view.own[0].columns, [(None, None, None)] * 3)}
    assert catalogue.run(view, tree, (), rows).rows == [(3,)]
    assert catalogue.run(view, tree, (), {}).rows == [(0,)]


def test_two_callers_see_their_own(catalogue: Catalogue, view: CatalogueView):
    tree = parse_one("SELECT relname FROM pg_class WHERE relnamespace = 2200", read="postgres")
    other = replace(view, user="bob", relations=view.relations[:1])
    assert sorted(catalogue.run(view, tree, (), {}).rows) == [("Odd visits",), ("patients",)]
    assert catalogue.run(other, tree, (), {}).rows == [("patients",)]


def test_psycopg_finds_a_type(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype
             FROM pg_type t WHERE t.oid = to_regtype($1)"""
    assert ask(sql, "int4") == [("int4", 23, 1007, "integer")]


def test_old_databases_go(view: CatalogueView, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_DATABASES", 1)
    made = Catalogue()
    for version in (1, 2, 1):
        tree = parse_one("SELECT 1", read="postgres")
        assert made.run(replace(view, version=version), tree, (), {}).tag == "SELECT 1"
    assert len(made._databases) == 1
    made.close()


def test_a_closed_catalogue_answers_nothing(view: CatalogueView):
    made = Catalogue()
    made.close()
    with pytest.raises(ShuttingDown):
        made.run(view, parse_one("SELECT 1", read="postgres"), (), {})


def test_names_of_columns(answer: Callable[..., Answer]):
    def names(sql: str) -> list[str]:
        return [column.name for column in answer(sql).columns]

    assert names('SELECT current_user, 1, 2, 3 AS a, 4 AS a, 5 AS "Odd"') == [
        "current_user", "?column?", "?column?", "a", "a", "Odd",
    ]  # fmt: skip
    assert names("VALUES (1, 'a')") == ["column1", "column2"]
