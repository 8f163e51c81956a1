"""What the engine's own parser finds in a statement that no exact stage may have."""

import pytest

from tests.golden.engine_reading import unlisted

LISTED = (
    'SELECT "k" AS k0, SUM(CAST(CASE WHEN "x" > 5 THEN 5 ELSE "x" END AS BIGINT)) '
    'FROM "t" WHERE NOT "k" IS NULL GROUP BY 1'
)


def test_an_exact_stage_holds_nothing_else():
    assert unlisted(LISTED) == frozenset()


@pytest.mark.parametrize(
    "more",
    [
        "random() > 0.5", "nextval('s') = 1", "CAST(x AS SMALLINT) = 1", "TRY_CAST(x AS BIGINT) = 1", "x[1] = 1",
        "x & 2 = 2", "list(x) = 1", "x IN (SELECT x FROM read_csv('f'))", "x IN (SELECT x FROM t LIMIT 1)",
        "sum(x) FILTER (x > 1) = 1",
        "ntile(2) OVER () = 1", "list(x) OVER () = [1]",
        "regexp_full_match(x, 'a')", "x IN (SELECT unnest(x))", "list_transform(x, lambda y: y) = 1",
    ],
)  # fmt: skip
def test_anything_else_is_found(more: str):
    assert unlisted(LISTED.replace("WHERE", f"WHERE {more} AND")) != frozenset()
