"""Attack: read one person's presence off a clock.

Her one row is as heavy as one can be: a text of a million characters, a number far outside its domain, and hundreds of
rows more than are kept. Every statement is asked by turns of both sides, each time anew; the time to the answer is the
feature. Statements are chosen for the work they do on a row: patterns, texts put together, functions, joins.

False alarm: 1 in 1,000 for each statement, and it is asked again before it fails: 1 in 1,000,000.

Then the same with public tables of many rows, each of which hers may meet: everything that is computed on one of them
is done so often where she is, and not at all where she is not. False alarm: as in ``dpproxy.assurance.clock``.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest

from dpproxy.assurance.audit import Line, Question, audited
from dpproxy.assurance.clock import Clock
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.suite import Trial
from dpproxy.assurance.target import Target
from dpproxy.assurance.wire import Wire
from tests.proxies import PASSWORD, Proxy, spawned, write_home

PEOPLE = (
    "CREATE TABLE notes (person INTEGER, text VARCHAR, amount DOUBLE)",
    "INSERT INTO notes SELECT i // 2, 'note ' || (i % 7), i % 50 FROM range(4000) AS r(i)",
)
HER = (
    "INSERT INTO notes SELECT 999999, repeat('ab', 500000), 'NaN' FROM range(1)",
    "INSERT INTO notes SELECT 999999, repeat('z', 2000) || i, 1e300 FROM range(400) AS r(i)",
)
POLICY = """
ALTER TABLE notes SET PRIVACY KEY (person) MAX ROWS 2;
ALTER TABLE notes SET PRIVACY CEILING EPSILON 1000000 DELTA 0.5;
ALTER TABLE notes ALTER COLUMN text SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE notes ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN 0 AND 100;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000000 DELTA 0.25 MAX EPSILON 1 DEFAULT EPSILON 1;
GRANT SELECT ON notes TO analyst WITH PRIVACY BUDGET b;
"""
STATEMENTS = (
    "SELECT count(*) FROM notes WHERE text LIKE '%a%b%c%'",
    "SELECT sum(length(upper(text || text))) FROM notes",
    "SELECT count(*), sum(amount) FROM notes WHERE sqrt(exp(amount / 20)) > 2",
    "SELECT count(*) FROM notes AS a JOIN notes AS b USING (person) WHERE a.text <> b.text",
)
RUNS = 40


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """With the padding that a proxy has unless it is configured otherwise."""
    folder = tmp_path_factory.mktemp("time")
    with (
        spawned(home(folder / "without", with_her=False)) as left,
        spawned(home(folder / "with", with_her=True)) as right,
    ):
        yield [url(left), url(right)]


def home(folder: Path, *, with_her: bool) -> Path:
    return write_home(folder, [*PEOPLE, *(HER if with_her else ())], POLICY, padding="10ms")


def url(proxy: Proxy) -> str:
    return proxy.dsn("ann")


def timed(urls: list[str], sql: str, runs: int = RUNS) -> Line:
    [line] = audited(urls, [Question(sql)], Fraction(1), runs, lambda _: None)
    return line


@pytest.mark.statistical
@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_time_tells_less_than_was_promised(urls: list[str], sql: str):
    assert timed(urls, sql).bounds["seconds"] <= 1 or timed(urls, sql).bounds["seconds"] <= 1


TOWN = (
    "CREATE TABLE people (id INTEGER, cost INTEGER, age INTEGER, zip VARCHAR)",
    "INSERT INTO people SELECT i, i % 70, i % 100, 'z' || (i % 900) FROM range(1000) AS r(i)",
    "CREATE TABLE w (k INTEGER, f INTEGER)",
    "INSERT INTO w SELECT i, CASE WHEN i % 1000 = 5 THEN 5 ELSE 1000 + i END FROM range(400000) AS r(i)",
    "CREATE TABLE zips (zip VARCHAR, label VARCHAR)",
    "INSERT INTO zips SELECT if(i < 99999, 'rare', 'z' || (i % 900)), 'at ' || i || ' a b' FROM range(120000) AS r(i)",
)
NEIGHBOUR = ("INSERT INTO people VALUES (999999, 77, 50, 'rare')",)
TOWN_POLICY = """
ALTER TABLE w SET PRIVACY PUBLIC;
ALTER TABLE zips SET PRIVACY PUBLIC;
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000000;
ALTER TABLE people SET PRIVACY EXPECTED ROWS 1000;
ALTER TABLE people ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE people ALTER COLUMN zip SET PRIVACY DOMAIN REFERENCES zips (zip);
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000000 MAX EPSILON 1 DEFAULT EPSILON 1;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET b;
"""
TEXT = f"CASE WHEN p.cost = 77 AND w.k >= -1 THEN '{'é' * 997}0' ELSE '' END"
MATCHED = " AND ".join(
    f"concat(z.label, CASE WHEN p.age > 40 THEN 'x' ELSE 'y' END) NOT LIKE '%b%z{n}%'" for n in range(30)
)
ON_HER_ROWS = (
    f"SELECT count(*) FROM people p JOIN w ON w.f = 5 WHERE {'upper(lower(' * 10}{TEXT}{'))' * 10} <> 'x1'",
    f"SELECT count(*) FROM people p JOIN zips z ON z.zip = p.zip WHERE {MATCHED}",
)


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clock]:
    folder = tmp_path_factory.mktemp("town")
    homes = [
        write_home(folder / side, [*TOWN, *more], TOWN_POLICY, padding="10ms")
        for side, more in (("without", ()), ("with", NEIGHBOUR))
    ]
    with spawned(homes[0]) as left, spawned(homes[1]) as right, ExitStack() as stack:
        sides = [stack.enter_context(Wire(("127.0.0.1", p.port), "ann", PASSWORD)) for p in (left, right)]
        yield Clock((sides[0], sides[1]))


@pytest.mark.statistical
@pytest.mark.parametrize("sql", ON_HER_ROWS, ids=["texts", "patterns"])
def test_work_on_the_rows_she_meets_is_waited_for_by_everybody(clock: Clock, sql: str):
    attack = Attack("work", "", Outcome.PROMISED, (), timed=True)
    found = clock.found(Trial(attack, Target("people", {}), sql))
    assert found.kept, found.found
    assert "with" in found.found  # answered, not refused


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        with (
            spawned(home(here / "l", with_her=False)) as one,
            spawned(home(here / "r", with_her=True)) as other,
        ):
            for statement in STATEMENTS:
                found = timed([url(one), url(other)], statement, int(sys.argv[1])).bounds
                sys.stdout.write(f"{statement}: {found}\n")
