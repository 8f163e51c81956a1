"""Attack: a text that PostgreSQL's texts cannot hold, as a key of many people and as one of a single person.

A client would read ``Port`` twice, or refuse the whole answer: then one person's row could make it unreadable. Such
keys are no keys; what is left of the answer is the same with and without them.
"""

from collections.abc import Iterator

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

DDL = [
    "CREATE TABLE people (id INTEGER PRIMARY KEY, place VARCHAR)",
    """INSERT INTO people SELECT i, ['Port', 'Port' || chr(0), 'Station'][1 + i % 3] FROM range(3000) AS r(i)""",
    "INSERT INTO people VALUES (3000, chr(0) || 'her house')",
]
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000 DELTA 1e-5;
ALTER TABLE people ALTER COLUMN place SET PRIVACY DOMAIN DISCOVERED;
CREATE PRIVACY BUDGET finders LIMIT EPSILON 1000 DELTA 1e-7 MAX EPSILON 50 DEFAULT EPSILON 50;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET finders;
"""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("nul"), DDL, POLICY)) as found:
        yield found


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT place, count(*) FROM people GROUP BY 1", {"Port", "Station"}),
        ("SELECT upper(place), count(*) FROM people GROUP BY 1", {"PORT", "STATION"}),
        ("SELECT DISTINCT place || '!' FROM people", {"Port!", "Station!"}),
        ("SELECT place FROM people GROUP BY place HAVING count(*) > 1", {"Port", "Station"}),
        ("SELECT place, lower(place), count(*) FROM people GROUP BY 1, 2", {"Port", "Station"}),
    ],
)
def test_what_no_client_can_hold_is_no_key(proxy: Proxy, sql: str, keys: set[object], *, binary: bool):
    with psycopg.connect(proxy.dsn(), autocommit=True) as client:
        rows = client.cursor(binary=binary).execute(sql.encode()).fetchall()
    assert len(rows) == len(keys)
    assert {row[0] for row in rows} == keys
