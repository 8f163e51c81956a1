from dataclasses import replace

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.sql import grammar


def test_settings_of_roles(catalogue: Catalogue, view: CatalogueView):
    told = (
        ("", "", ("jit=on",)),
        ("ana", "", ("work_mem=1GB", "jit=off")),
        ("ana", "main", ("dp.epsilon=0.1",)),
    )
    seen = replace(view, role_defaults=told)

    def ask(sql: str) -> list[tuple[object, ...]]:
        return list(catalogue.run(seen, grammar.parse(sql)[0], (), {}).rows)

    listed = (
        "SELECT rolname, datname, array_to_string(setconfig, ', ') FROM pg_db_role_setting s LEFT JOIN pg_database d "
        "ON d.oid = setdatabase LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY 1, 2"
    )
    assert ask(listed) == [
        ("ana", "main", "dp.epsilon=0.1"), ("ana", None, "work_mem=1GB, jit=off"), (None, None, "jit=on"),
    ]  # fmt: skip
    assert ask("SELECT rolconfig FROM pg_roles WHERE rolname = 'ana'") == [(["work_mem=1GB", "jit=off"],)]
    assert ask("SELECT useconfig FROM pg_user") == [(["work_mem=1GB", "jit=off"],)]
