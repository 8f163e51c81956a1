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
