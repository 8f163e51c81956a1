"""Attack: one person counted many times.

She has 500 visits, 100 of them the same, and 300 stays, none of which fits the declared domains well. MAX ROWS and
MAX GROUPS are enforced before rows meet others of hers, and what joins and unions copy is paid for; what would copy
her rows without a bound, or let them meet another's, is refused.
"""

import pytest

from tests.assurance.raw import Raw
from tests.assurance.twin import Twin, refusals
from tests.proxies import Proxy

COPIES = (
    ("SELECT count(*) FROM visits AS a JOIN visits AS b ON a.person = b.person", 9),
    ("SELECT count(*) FROM visits AS a LEFT JOIN visits AS b USING (person)", 9),
    ("SELECT count(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) AS v", 6),
    ("SELECT count(*) FROM (SELECT * FROM visits UNION SELECT * FROM visits) AS v", 6),
    ("SELECT count(*) FROM (SELECT * FROM visits EXCEPT SELECT * FROM visits WHERE cost > 5) AS v", 6),
    ("WITH v AS (SELECT * FROM visits) SELECT count(*) FROM v", 3),
    ("WITH v AS (SELECT * FROM visits) SELECT count(*) FROM v JOIN v AS w ON v.person = w.person", 9),
    ("SELECT count(*) FROM patients AS p FULL JOIN stays AS s ON p.person = s.person", 5),
    ("SELECT count(*) FROM patients WHERE person IN (SELECT person FROM stays)", 1),
    ("SELECT sum(n) FROM (SELECT person, count(*) AS n FROM visits GROUP BY person) AS v", 3),
)
"""Statements, and the most that she may count for."""
ANSWERED = (
    "SELECT count(*), sum(cost), avg(minutes) FROM visits",
    "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward",
    "SELECT count(*) FROM visits WHERE cost = 1000",
    "SELECT count(*) FROM visits WHERE ward = 'a' AND minutes = 1",
    "SELECT count(*) FROM stays",
    "SELECT ward, count(*), avg(days) FROM stays WHERE days >= 0 GROUP BY ward",
    "SELECT sex, count(*) FROM patients GROUP BY sex",
    "SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM visits",
    *(sql for sql, _ in COPIES),
)
REFUSED = (
    "SELECT count(*) FROM visits AS a, visits AS b",
    "SELECT count(*) FROM visits AS a JOIN visits AS b ON a.ward = b.ward",
    "SELECT count(*) FROM visits AS a LEFT JOIN visits AS b ON a.person < b.person",
    "SELECT count(*) FROM visits, LATERAL generate_series(1, 1000) AS g",
    "SELECT count(*) FROM (SELECT ward FROM visits UNION SELECT ward FROM visits) AS v",
    "SELECT count(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM stays) AS v",
    "SELECT count(*) FROM visits, LATERAL (SELECT 1) AS l",
    "SELECT count(unnest(ARRAY[1, 2, 3])) FROM visits",
    "SELECT count(*) FROM visits TABLESAMPLE BERNOULLI (1)",
    "WITH v AS (SELECT * FROM visits LIMIT 1) SELECT count(*) FROM v",
    "WITH RECURSIVE v AS (SELECT * FROM visits UNION ALL SELECT * FROM v) SELECT count(*) FROM v",
    "SELECT count(*) FROM range(10) WHERE (SELECT count(*) FROM visits WHERE cost = 1000) > 0",
    "SELECT count(*) FROM patients LEFT JOIN visits USING (person)",
    "SELECT count(*) FROM visits WHERE person IN (SELECT person FROM stays)",
    "SELECT count(*) FROM visits QUALIFY row_number() OVER () = 1",
    "SELECT count(*) FROM query('SELECT 1')",
    "SELECT count(*) FROM read_csv('/etc/passwd')",
)


@pytest.mark.parametrize("sql", ANSWERED)
def test_her_rows_are_cut_to_what_was_declared(twin: Twin, sql: str):
    assert refusals(twin.charged(sql)) == []


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_copy_her_rows(twin: Twin, sql: str):
    assert refusals(twin.charged(sql)) in (["0A000"], ["42883"], ["42P01"], ["PD002"])


def test_the_cut_itself(exact_counts: dict[str, int]):
    """Without noise to speak of: 500 visits move a count by at most MAX ROWS, 300 stays by at most theirs."""
    assert exact_counts["SELECT count(*) FROM visits"] <= 3
    assert exact_counts["SELECT count(*) FROM stays"] <= 4
    assert exact_counts["SELECT count(*) FROM people"] == 1


@pytest.mark.parametrize(("sql", "most"), COPIES)
def test_what_copies_her_rows_copies_those_that_are_kept(loud: tuple[Proxy, Proxy], sql: str, most: int):
    with Raw(loud[0]) as left, Raw(loud[1]) as right:
        assert 0 <= float(right.value(sql)) - float(left.value(sql)) <= most


@pytest.fixture(scope="module")
def exact_counts(loud: tuple[Proxy, Proxy]) -> dict[str, int]:
    found = {}
    with Raw(loud[0]) as left, Raw(loud[1]) as right:
        for table in ("visits", "stays", "people"):
            sql = f"SELECT count(*) FROM {table}"
            found[sql] = int(right.value(sql)) - int(left.value(sql))
    return found
