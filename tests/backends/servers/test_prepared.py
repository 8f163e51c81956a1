"""Statements over prepared tables are the same text whether the tables are there or not; a check reads none of them."""

from collections.abc import Callable

import pytest

from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import ValueKind, stored
from dpproxy.backends.servers.prepared import NO_SECRET, Kept, TableBuild
from dpproxy.values.errors import Unsupported
from tests.backends.statements import transpiled
from tests.reading import read

COLUMNS = {"id": stored(ValueKind.WHOLE), "name": stored(ValueKind.TEXT, "{}::text")}
CUT = """SELECT id, name FROM (SELECT * FROM t QUALIFY row_number() OVER
  (PARTITION BY id ORDER BY hash($1, id, name) ASC NULLS LAST) <= 2) AS bounded"""
TABLE = PreparedTable("t1", "t", read(CUT), truncated=True)
READ = f'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "{PREPARED}"."main"."t1" WHERE "name" = \'$1\''


class Keeper:
    def __init__(self) -> None:
        self.there: dict[str, TableBuild] = {}

    def place(self, name: str) -> str:
        return f'"kept"."own_{name}"'

    def names(self) -> set[str]:
        return set(self.there)

    def build(self, name: str, build: TableBuild, session: str, cancelled: Callable[[], bool]) -> None:
        assert (session, cancelled()) == ("s", False)
        self.there[name] = build

    def drop(self, name: str, session: str) -> None:
        assert session == "s"
        del self.there[name]


@pytest.fixture
def kept() -> Kept:
    found = Kept(Keeper(), dialect("public"), lambda _, name: COLUMNS if name == "t" else None)
    found.know_all([TABLE])
    return found


def test_the_secret_is_a_parameter_of_the_build_and_of_nothing_else(kept: Kept):
    build = kept.know("t1", TABLE.query)
    assert (build.query.parameters, "$1" in build.query.sql, NO_SECRET in build.query.sql) == (
        ("1",),
        True,
        False,
    )
    assert "$1" not in build.draft
    assert NO_SECRET in build.draft


def test_a_statement_reads_the_table_and_is_checked_without_it(kept: Kept):
    found = transpiled(READ, kept.dialect, kept.tables)
    assert '"kept"."own_t1"' in found.sql
    assert "hash_record" not in found.sql
    assert found.parameters == ()
    assert found.tables == frozenset()
    checked = transpiled(READ, kept.drafts, kept.tables)
    assert "own_t1" not in checked.sql
    assert "hash_record" in checked.sql
    assert [c.value.kind for c in kept.know("t1", TABLE.query).query.columns] == [
        ValueKind.WHOLE,
        ValueKind.TEXT,
    ]


def test_they_are_built_and_dropped_by_name(kept: Kept):
    assert (kept.read(read(READ)), kept.read(read("SELECT 't1' AS t1"))) == (["t1"], [])
    kept.build("t1", "s", lambda: False)
    assert kept.names() == {"t1"}
    kept.drop("t1", "s")
    assert kept.names() == set()


def test_one_that_is_not_known_or_not_computed_alike_is_refused(kept: Kept):
    with pytest.raises(Unsupported):
        kept.know("t2", read("SELECT md5(name) AS m FROM t"))
    with pytest.raises(Unsupported):
        transpiled(READ.replace('"t1"', '"t2"'), kept.dialect, kept.tables)
