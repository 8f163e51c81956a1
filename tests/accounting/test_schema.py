from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.accounting import schema, sqlite
from tests.accounting.conftest import Home


def test_the_tables_are_the_expected_ones(tmp_path: Path):
    home = Home(tmp_path)
    home.open().close()
    with closing(home.store.connect(writing=False)) as connection:
        assert schema.describe(connection) == schema.expected()


def test_a_table_more_or_less_shows(tmp_path: Path):
    home = Home(tmp_path)
    home.open().close()
    for statement in ("CREATE TABLE guest (x)", "DROP INDEX release_by_key"):
        with closing(home.store.connect(writing=True)) as connection:
            connection.execute(statement)
            assert schema.describe(connection) != schema.expected()


@pytest.mark.parametrize(
    "former", ["", "CREATE INDEX release_by_rows ON release (substr(key, 1, 12), origin, key, nano)"]
)
def test_a_ledger_from_before_an_index_is_whole_and_gets_it(tmp_path: Path, former: str):
    home = Home(tmp_path)
    home.open().close()
    with closing(home.store.connect(writing=True)) as connection:
        connection.execute("DROP INDEX debit_by_payer")
        connection.execute(former)
        connection.commit()
    with closing(home.store.connect(writing=False)) as connection:
        home.store.check(connection)
        assert schema.describe(connection) != schema.expected()
    home.open().close()
    with closing(home.store.connect(writing=False)) as connection:
        assert schema.describe(connection) == schema.expected()


def test_an_index_that_cannot_be_made_now_is_made_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = Home(tmp_path)
    home.open().close()
    monkeypatch.setattr(sqlite, "WAIT", 0.05)
    with closing(home.store.connect(writing=True)) as writer:
        writer.execute("DROP INDEX debit_by_payer")
        home.store.begin(writer)
        with closing(home.store.connect(writing=True)) as connection:
            assert schema.describe(connection) != schema.expected()
        writer.rollback()
    with closing(home.store.connect(writing=True)) as connection:
        assert schema.describe(connection) == schema.expected()
