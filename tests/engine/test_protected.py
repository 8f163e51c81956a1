"""Where refusals of a query stand, and what is asked while a view is built; the rest is tested through statements."""

from pathlib import Path

import pytest

from dpproxy.engine.protected import ProtectedViews, at_offset
from dpproxy.values.errors import UnitLost
from tests.hospital import ANN, ROOT, ask, home
from tests.proxies import started

VIEW = """
CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 0.1) AS SELECT age FROM patients;
GRANT SELECT ON v TO analyst;
"""


def test_a_refusal_of_the_query_stands_where_the_query_does():
    assert at_offset(UnitLost("x", position=3), 40).position == 43
    assert at_offset(UnitLost("x"), 40).position is None


def test_what_is_planned_while_a_build_takes_the_place_of_another_reads_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its plan is kept: one that read rows about to be dropped would fail until it is forgotten."""
    asked = "SELECT count(*) FROM v"
    with started(home(tmp_path, VIEW)) as engine:
        views: ProtectedViews = engine._world.views
        drop = views._backend.unload

        def unload(name: str) -> None:
            ask(engine, asked, ANN)
            drop(name)

        monkeypatch.setattr(type(views._backend), "unload", lambda _, name: unload(name))
        ask(engine, "REFRESH PROTECTED VIEW v")
        assert len(ask(engine, asked, ANN).rows) == 1


@pytest.mark.parametrize(
    "options",
    [
        "method = dp_marginals, epsilon = 1, workload = (age, 'SELECT avg(age) FROM v')",
        "method = auto, epsilon = 1",
    ],
)
def test_wide_tables_are_built_through_statements(tmp_path: Path, options: str):
    ddl = (
        f"CREATE PROTECTED VIEW v WITH ({options}) AS SELECT age FROM patients; GRANT SELECT ON v TO analyst;"
    )
    with started(home(tmp_path, ddl)) as engine:
        assert len(ask(engine, "SELECT count(*), avg(age) FROM v", ANN).rows) == 1


def test_the_ledger_names_the_method_that_was_chosen(tmp_path: Path):
    view = "CREATE PROTECTED VIEW v WITH (method = auto, epsilon = 1) AS SELECT age FROM patients;"
    with started(home(tmp_path, view)) as engine:
        rows = ask(engine, "SELECT mechanism, what FROM dp.ledger", ROOT).rows
        assert {(row[0], row[1]) for row in rows} == {("dp_kdtree", "protected view v by dp_kdtree")}
