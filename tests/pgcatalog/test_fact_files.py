import psycopg
import pytest

from dpproxy.pgcatalog.fact_files import facts
from tests.postgres_facts import FACTS, SOURCES, VERSION, text


@pytest.mark.parametrize("name", SOURCES)
def test_the_files_are_what_a_running_postgresql_says(real: psycopg.Connection, name: str):
    if real.info.server_version // 10000 != VERSION:
        pytest.skip(f"PostgreSQL {VERSION} is not installed")
    assert (FACTS / f"{name}.tsv").read_text(encoding="utf-8") == text(real, name)


def test_every_file_has_a_source():
    assert {path.name for path in FACTS.iterdir()} == {f"{name}.tsv" for name in SOURCES}


def test_cells_are_read_by_the_type_of_their_column():
    by_name = {row["collname"]: row for row in facts("pg_collation")}
    assert by_name["C"]["collcollate"] == "C"
    assert by_name["default"]["collcollate"] is None
    assert by_name["default"]["collisdeterministic"] is True
    viewdef = next(row for row in facts("pg_proc") if row["signature"] == "pg_get_viewdef(oid,boolean)")
    assert viewdef["proargtypes"] == (26, 16)
