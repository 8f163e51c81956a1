"""Where refusals of a query stand, and what is asked while a view is built; the rest is tested through statements."""

from pathlib import Path

import pytest

from dpproxy.config.configuration import load_config
from dpproxy.engine.engine import Engine
from dpproxy.engine.protected import ProtectedViews, at_offset
from dpproxy.values.errors import Refusal, UnitLost
from tests.hospital import ANN, ROOT, ask, home
from tests.proxies import started, write_home

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


PEOPLE = (
    "CREATE TABLE places (city VARCHAR, zip INTEGER)",
    "INSERT INTO places SELECT 'city ' || i % 3, 10000 + i FROM range(12) r (i)",
    "CREATE TABLE people (id INTEGER PRIMARY KEY, city VARCHAR, zip INTEGER, cost DECIMAL(8, 2), born DATE NOT NULL)",
    """INSERT INTO people SELECT i, 'city ' || i % 3, 10000 + i % 12, CASE WHEN i % 3 = 0 THEN NULL ELSE i % 100 END,
       DATE '1950-01-01' + INTERVAL (i % 2000) DAY FROM range(6000) r (i)""",
    "INSERT INTO people SELECT 6000 + i, 'city 0', 10001, 5, DATE '1950-01-01' FROM range(50) r (i)",
)
DECLARED = """
ALTER TABLE places SET PRIVACY PUBLIC;
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 100;
ALTER TABLE people SET PRIVACY EXPECTED ROWS 6000;
ALTER TABLE people SET PRIVACY DOMAIN (city, zip) REFERENCES places (city, zip);
ALTER TABLE people ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '1950-01-01' AND '1959-12-31' NOT NULL;
CREATE PROTECTED VIEW v WITH (method = dp_marginals, epsilon = 10, bins = ('cost 10.5', 'born 100'))
  AS SELECT city, zip, cost, born FROM people;
GRANT SELECT ON v TO analyst;
"""


def test_null_bins_and_what_belongs_together_through_statements(tmp_path: Path):
    """A city has its own codes alone, a third of costs stay NULL, and the rows that contradict are left out."""
    with started(write_home(tmp_path, PEOPLE, DECLARED)) as engine:
        rows = ask(engine, "SELECT city, zip, cost, born FROM v", ANN).rows
        assert len(rows) == pytest.approx(6000, abs=60)
        assert {(str(city), int(str(code))) for city, code, *_ in rows} <= {
            (f"city {n % 3}", 10_000 + n) for n in range(12)
        }
        absent = sum(row[2] is None for row in rows)
        assert absent == pytest.approx(2000, abs=200)
        mine = sum(row[2] is None and row[0] == "city 0" for row in rows)
        assert mine > 0.8 * absent  # exactly those of the first city are NULL
        assert len(ask(engine, "VERIFY PROTECTED VIEW v", ROOT).rows) == 1


def test_a_view_whose_file_cannot_be_read_is_not_there_and_others_are_built(tmp_path: Path):
    """Else each build after it would be charged, and lost."""
    file = home(tmp_path, VIEW)
    with started(file):
        pass
    [built] = (tmp_path / "state").rglob("v-*.duckdb")
    built.write_bytes(b"no database")
    lines: list[str] = []
    with Engine.start(load_config(file), lines.append) as engine:
        assert any('view "v" is not there: its file cannot be read' in line for line in lines), lines
        ask(
            engine,
            "CREATE PROTECTED VIEW w WITH (method = dp_kdtree, epsilon = 0.1) AS SELECT age FROM patients",
        )
        ask(engine, "GRANT SELECT ON w TO analyst")
        assert len(ask(engine, "SELECT count(*) FROM w", ANN).rows) == 1
        with pytest.raises(Refusal):
            ask(engine, "SELECT count(*) FROM v", ANN)
