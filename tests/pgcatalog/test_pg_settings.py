import dataclasses
from collections.abc import Callable

from sqlglot import parse_one

from dpproxy.pgcatalog import Catalogue, CatalogueView


def test_settings_are_the_sessions_own(
    ask: Callable[..., list[tuple[object, ...]]], catalogue: Catalogue, view: CatalogueView
):
    sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'jit'"
    assert ask(sql) == [("off",)]
    other = dataclasses.replace(view, settings={"jit": "on"})
    assert catalogue.run(other, parse_one(sql, read="postgres"), (), {}).rows == [("on",)]


def test_types_and_units_are_those_of_postgres(catalogue: Catalogue, view: CatalogueView):
    given = {
        "statement_timeout": "30s", "lock_timeout": "0", "server_version_num": "150000", "row_security": "on",
        "standard_conforming_strings": "on", "search_path": "public", "own.thing": "x",
    }  # fmt: skip
    asked = parse_one("SELECT name, setting, unit, vartype FROM pg_catalog.pg_settings", read="postgres")
    found = catalogue.run(dataclasses.replace(view, settings=given), asked, (), {}).rows
    assert {row[0]: row[1:] for row in found} == {
        "statement_timeout": ("30000", "ms", "integer"),
        "lock_timeout": ("0", "ms", "integer"),
        "server_version_num": ("150000", None, "integer"),
        "row_security": ("on", None, "bool"),
        "standard_conforming_strings": ("on", None, "bool"),
        "search_path": ("public", None, "string"),
        "own.thing": ("x", None, "string"),
    }
