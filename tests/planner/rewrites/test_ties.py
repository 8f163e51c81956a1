"""What stays as it was written, and what the rest becomes."""

import pytest

from dpproxy.planner.accept import parse
from dpproxy.values.errors import Unsupported


def test_it_is_a_condition_on_ranks():
    found = parse("SELECT a, max(b) AS n FROM t GROUP BY a ORDER BY 2 DESC, n FETCH FIRST 3 ROWS WITH TIES")
    assert found == parse(
        'SELECT "#0" AS "a", "#1" AS "n" FROM (SELECT a AS "#0", max(b) AS "#1", rank() OVER (ORDER BY max(b) DESC, '
        'max(b)) AS "#rank" FROM t GROUP BY a) AS ranked WHERE "#rank" <= 3 ORDER BY "#rank"'
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t {}",
        "SELECT * FROM t ORDER BY a {}",
        "SELECT DISTINCT a FROM t ORDER BY a {}",
        "SELECT a FROM t ORDER BY a OFFSET 1 {}",
        "SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a {}",
        "SELECT a FROM t ORDER BY a FETCH FIRST (1 + 1) ROWS WITH TIES",
    ],
)
def test_other_forms_are_refused(sql: str):
    with pytest.raises(Unsupported, match="WITH TIES"):
        parse(sql.format("FETCH FIRST 3 ROWS WITH TIES"))
