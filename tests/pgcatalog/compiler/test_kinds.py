import pytest

from dpproxy.pgcatalog.compiler import kinds
from dpproxy.sql import grammar
from dpproxy.values.pgtypes import NUMERIC, Column

OWN = {"ledger": (Column("loss", NUMERIC),)}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT relname, oid FROM pg_class", ["name", "oid"]),
        ("SELECT s.n FROM (SELECT relname AS n FROM pg_class) s", ["name"]),
        ("WITH c(k) AS (SELECT relkind FROM pg_class) SELECT k FROM c", ["char"]),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t", ["int4"]),
        ("SELECT t.* FROM (VALUES (1, 'a'), (2.5, 'b')) AS t(x, y)", ["numeric", "text"]),
        ("SELECT g FROM generate_series(1, 3) g", ["int4"]),
        ("SELECT * FROM unnest(ARRAY['a']) WITH ORDINALITY", ["text", "int8"]),
        ("SELECT (SELECT c.relname) FROM pg_class c", ["name"]),
        ("SELECT x.n FROM pg_class c, LATERAL (SELECT c.oid AS n) x", ["oid"]),
        ("SELECT loss FROM dp.ledger", ["numeric"]),
        ("SELECT relname FROM pg_class UNION SELECT 'a'", ["name"]),
        ("SELECT oid::regclass FROM pg_class", ["regclass"]),
        ("SELECT 1 WHERE false", ["int4"]),
        (
            "SELECT relname FROM ((pg_class c JOIN pg_type t ON t.typrelid = c.oid) JOIN pg_am a ON true)",
            ["name"],
        ),
        ("SELECT oid FROM pg_class JOIN pg_type USING (oid)", ["oid"]),
        ("SELECT * FROM (VALUES (1)) AS a(x) JOIN (VALUES (1, 'a')) AS b(x, y) USING (x)", ["int4", "text"]),
        ("SELECT * FROM (VALUES (1)) AS a(x) NATURAL JOIN (VALUES (2.5, 'a')) AS b(x, y)", ["int4", "text"]),
        ("SELECT b.* FROM (VALUES (1)) AS a(x) JOIN (VALUES (2.5)) AS b(x) USING (x)", ["numeric"]),
    ],
)
def test_types_of_columns(sql: str, names: list[str]):
    found = kinds.infer(grammar.parse(sql)[0], OWN)
    assert found is not None
    assert [kind and kind.name for _, kind in found] == names


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT oid FROM pg_class, pg_type",  # it is ambiguous
        "SELECT nosuch FROM pg_class",
        "SELECT x FROM nosuch",
    ],
)
def test_what_is_not_known_has_no_type(sql: str):
    found = kinds.infer(grammar.parse(sql)[0], OWN)
    assert found is not None
    assert found[0][1] is None


def test_all_columns_of_what_is_not_known_are_not_known():
    assert kinds.infer(grammar.parse("SELECT * FROM nosuch")[0], OWN) is None
