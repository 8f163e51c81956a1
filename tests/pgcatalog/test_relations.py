from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.relations import INTERNAL, TABLES


def test_every_row_fits_its_columns(view: CatalogueView):
    for table in (*TABLES.values(), *INTERNAL.values()):
        for row in table.rows(view):
            assert set(row) <= set(table.columns), table.name


def test_oids_are_those_of_postgresql_and_no_two_are_equal():
    found = [table.oid for table in TABLES.values()]
    assert len(set(found)) == len(found)
    assert max(found) < 16384
    assert TABLES["pg_catalog", "pg_class"].oid == 1259


def test_passwords_and_statistics_are_not_there():
    names = {name for _, name in TABLES}
    assert not names & {"pg_authid", "pg_shadow", "pg_statistic", "pg_largeobject", "pg_hba_file_rules"}
