"""What analysts of retail and of clicks ask: answered as a real PostgreSQL answers it, or refused."""

from pathlib import Path

import pytest

from tests.bench.results import read
from tests.postgres import Server
from tests.workloads.questions import NAME, SCHEMAS, Outcome, is_near, outcomes, statements, table

Found = dict[str, dict[str, Outcome]]
OF_PRIVACY = {"42501", "PD002"}
"""They show rows, or people, or follow none: no other form of them is answered."""


@pytest.fixture(scope="module")
def found(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder: Path = tmp_path_factory.mktemp("workloads")
    return {schema: outcomes(schema, postgres, folder) for schema in SCHEMAS}


@pytest.mark.whole
@pytest.mark.external
@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_answered_is_postgres_answer(found: Found, schema: str):
    """Groups that nobody is in are shown besides: they are not looked at."""
    assert {title: o.missing for title, o in found[schema].items() if o.missing} == {}


@pytest.mark.whole
@pytest.mark.external
def test_the_stored_table_says_what_becomes_of_them(found: Found):
    """Otherwise: python -m tests.workloads."""
    assert read(NAME) == table(found)


@pytest.mark.whole
@pytest.mark.external
@pytest.mark.parametrize("schema", SCHEMAS)
def test_nine_of_ten_are_answered_or_show_rows_of_people_and_each_hint_is(found: Found, schema: str):
    refused = [o.refusal for o in found[schema].values() if o.refusal is not None]
    assert all(o.hint is not None for o in found[schema].values() if o.refusal is not None)
    others = [r for r in refused if r.sqlstate not in OF_PRIVACY]
    assert len(others) <= len(found[schema]) / 10


@pytest.mark.parametrize(("schema", "most"), [("retail", 104), ("clicks", 121)])
def test_each_is_asked_once(schema: str, most: int):
    found = statements(schema)
    assert len(found) == most
    assert len(set(found.values())) == most


def test_near_is_not_equal():
    assert is_near((1.0, "a", None), (1.0005, "a", None), 1e-3)
    assert not is_near((1.0,), (1.01,), 1e-3)
    assert not is_near(("a",), ("b",), 1e-3)
    assert not is_near((None,), (0.0,), 1e-3)
