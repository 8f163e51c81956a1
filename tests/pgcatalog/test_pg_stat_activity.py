from dataclasses import replace

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.sql import grammar


def test_a_session_sees_itself_alone(catalogue: Catalogue, view: CatalogueView):
    asked = "SELECT pid, pid = pg_backend_pid(), usename, datname, state, query, client_addr FROM pg_stat_activity"
    for process in (7, 8):  # of one catalogue, which two sessions of the same roles share
        mine = replace(view, process=process)
        answer = catalogue.run(mine, grammar.parse(asked)[0], (), {})
        assert list(answer.rows) == [(process, True, "ana", "main", "active", None, None)]
        assert [column.type.name for column in answer.columns or ()][-1] == "inet"


def test_it_is_the_role_and_the_database_that_the_catalogue_has(catalogue: Catalogue, view: CatalogueView):
    joined = """SELECT count(*) FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid
      JOIN pg_database d ON d.oid = a.datid WHERE r.rolname = a.usename AND d.datname = a.datname"""
    assert list(catalogue.run(view, grammar.parse(joined)[0], (), {}).rows) == [(1,)]
