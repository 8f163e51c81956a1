"""One list of methods, wherever the data are."""

import inspect

import pytest

from dpproxy.backends.duckdb import DuckDB
from dpproxy.backends.pushed import Pushed
from dpproxy.backends.remote import Remote
from dpproxy.backends.source import Source

METHODS = [name for name in vars(Source) if not name.startswith("_")]
FACTS = {"epoch", "prepares"}


@pytest.mark.parametrize("name", [name for name in METHODS if name not in FACTS])
@pytest.mark.parametrize("kind", [DuckDB, Remote, Pushed])
def test_both_have_it_with_the_same_arguments(kind: type, name: str):
    wanted = inspect.signature(getattr(Source, name)).parameters
    found = inspect.signature(getattr(kind, name)).parameters
    assert [(p.name, p.kind) for p in found.values()] == [(p.name, p.kind) for p in wanted.values()]


def test_neither_has_another():
    for kind in (DuckDB, Remote, Pushed):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public - FACTS == set(METHODS) - FACTS
