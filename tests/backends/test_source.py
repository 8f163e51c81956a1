"""One list of methods, wherever the data are; the engine in the child has them with texts in the place of queries."""

import inspect

import pytest

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.process.remote import Remote
from dpproxy.backends.servers.source import Pushed
from dpproxy.backends.source import Reading, Source

METHODS = [name for name in vars(Source) if not name.startswith("_")]
FACTS = {"epoch", "prepares"}
HANDED_ON = {"load", "unload"}
"""What a server's source has of the engine here as it is."""
OF_QUERIES = {"check", "shown"}
"""What there is to say about a query before it is a text."""


def arguments(method: object) -> list[tuple[str, object]]:
    assert callable(method)
    found = [(p.name, p.kind) for p in inspect.signature(method).parameters.values()]
    if found[-1:] != [("how", inspect.Parameter.VAR_KEYWORD)]:
        return found
    return found[:-1] + [(name, inspect.Parameter.KEYWORD_ONLY) for name in Reading.__annotations__]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in FACTS])
@pytest.mark.parametrize("kind", [Remote, Pushed])
def test_both_have_it_with_the_same_arguments(kind: type, name: str):
    if kind is Pushed and name in HANDED_ON:
        assert not hasattr(kind, name)
        return
    assert arguments(getattr(kind, name)) == arguments(getattr(Source, name))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in FACTS | OF_QUERIES])
def test_the_engine_takes_texts_of_queries(name: str):
    wanted = [
        ("sql" if known == "query" else known, kind) for known, kind in arguments(getattr(Source, name))
    ]
    further = {"others", "grown"}  # schemas beside its own; how a table follows, which queries say
    found = [one for one in arguments(getattr(DuckDB, name)) if one[0] not in further]
    assert found == wanted


def test_none_has_another():
    """But what the parent asks of its child, and what opens files anew."""
    for kind, further, left_out in (
        (DuckDB, {"database", "enums", "run_groups"}, OF_QUERIES),
        (Remote, {"renew"}, set()),
        (Pushed, set(), HANDED_ON),
    ):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public - FACTS == (set(METHODS) | further) - FACTS - left_out
