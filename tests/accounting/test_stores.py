from pathlib import Path

from dpproxy.accounting.postgres import PostgresStore
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.stores import store_at, store_of


def test_a_store_is_opened_by_its_address(tmp_path: Path):
    file, server = store_of(tmp_path, None), store_of(tmp_path, "postgresql://ann:secret@host:99/base")
    assert isinstance(file, SQLite)
    assert isinstance(server, PostgresStore)
    for store in (file, server):
        again = store_at(store.address)
        assert (type(again), again.name, again.address) == (type(store), store.name, store.address)
    assert "secret" not in server.name
