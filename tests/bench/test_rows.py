"""Every way fetches the same rows from both servers; no time is asserted."""

import os
from pathlib import Path

import psycopg
import pytest

from tests.bench import rows
from tests.postgres import Server


def test_each_way_has_a_line_for_each_source(capsys: pytest.CaptureFixture[str]):
    rows.main(["--rows", "2000", "--rounds", "1"])
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines()[4:]]
    assert [(line[1].strip(), line[2].strip()) for line in lines] == [
        (source, way) for source in rows.SOURCES for way in rows.WAYS
    ]


def test_both_servers_hold_the_same_rows(tmp_path: Path):
    with rows.proxied(tmp_path, 500) as proxy, rows.beside(proxy, tmp_path) as beside:
        for table in rows.SOURCES.values():
            found = []
            for place in (proxy, beside):
                with psycopg.connect(place.url) as connection:
                    found.append(connection.execute(f"SELECT * FROM {table}".encode()).fetchall())
            assert sorted(found[0]) == sorted(found[1])
            assert len(found[0]) > 100


@pytest.mark.parametrize("way", rows.WAYS)
def test_what_is_refused_is_said(way: str, postgres: Server):
    with pytest.raises(rows.Refused, match='relation "nothing" does not exist'):
        rows.WAYS[way](postgres.url(), "nothing")


def test_the_most_memory_of_a_fetch_is_seen():
    def fetch(_url: str, _table: str) -> None:
        bytearray(64 * 2**20)[:] = b"x" * 64 * 2**20

    run = rows.measured(rows.Place("", os.getpid()), fetch, "", (os.getpid(),))
    assert run.grew[0] > 60 * 2**20
    assert 0 < run.processor <= run.seconds + 0.1
