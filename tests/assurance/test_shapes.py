"""Every shape of statement that analysts write, on live twins: told alike, and moved no further than is paid for.

She is a patient like others whose values are the ends of every domain, with as many visits as are kept.
"""

import json
from collections.abc import Iterator
from decimal import Decimal

import pytest

from dpproxy.assurance.observed import Ask, seen
from dpproxy.assurance.run import SLACK
from tests.assurance.raw import Raw
from tests.proxies import Proxy, serving, write_home
from tests.shapes.data import DDL, POLICY
from tests.shapes.shapes import ACCEPTED, Shape

HER = (
    "INSERT INTO patients VALUES (9999, 'f', 110, 'Rome', DATE '2023-12-31', 200, 'hers')",
    """INSERT INTO visits SELECT 9999, DATE '2024-12-31', 'D', 1000, 120, TRUE, 'hers alone' FROM range(8)""",
)
KEYS = {25, 1043, 1082, 1114}
"""Types of columns that are compared as they are: texts, dates and timestamps are keys here, not released."""
FOLLOWS = ("HAVING", "LIMIT", "QUALIFY", "rank(", "row_number(")
"""Which rows there are follows from released values."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    folder = tmp_path_factory.mktemp("shapes")
    with (
        serving(write_home(folder / "without", DDL, POLICY)) as left,
        serving(write_home(folder / "with", (*DDL, *HER), POLICY)) as right,
    ):
        yield left, right


def filtered(sql: str) -> bool:
    text = sql.replace("\n", " ")
    outer = " WHERE " in text.rpartition(")")[2]  # over what a subquery released
    return any(word in text for word in FOLLOWS) or (outer and "GROUP BY" in text.rpartition(")")[0])


@pytest.mark.parametrize("shape", ACCEPTED, ids=lambda shape: shape.name)
def test_both_sides_are_told_the_same(sides: tuple[Proxy, Proxy], shape: Shape):
    ask = Ask(shape.sql, filtered=filtered(shape.sql))
    told = []
    for side in sides:
        with Raw(side) as connection:
            kinds: list[int] = []
            found = []
            for message in connection.query(shape.sql) + connection.query("SHOW dp.last_cost"):
                kinds = [kind for _, kind, _ in message.columns()] if message.kind == "T" else kinds
                noisy = {n for n, kind in enumerate(kinds) if kind not in KEYS}
                one = seen(message, ask, noisy)
                found += [] if one is None else [one]
            told.append(found)
            assert "hers" not in repr(found)
    assert told[0] == told[1]
    assert not any(one[0] == "E" for one in told[0])


@pytest.mark.parametrize("shape", [s for s in ACCEPTED if not filtered(s.sql)], ids=lambda shape: shape.name)
def test_she_moves_an_answer_by_its_sensitivity_at_most(sides: tuple[Proxy, Proxy], shape: Shape):
    with Raw(sides[0]) as left, Raw(sides[1]) as right:
        described = [
            m.values()[0] for m in left.query(f"EXPLAIN (PRIVACY, FORMAT JSON) {shape.sql}") if m.kind == "D"
        ]
        plan = json.loads((described[0] or b"{}").decode())
        one, other = ([m.values() for m in side.query(shape.sql) if m.kind == "D"] for side in (left, right))
    assert len(one) == len(other)
    sets = len(plan["parts"]) if "ROLLUP" in shape.sql or "GROUPING SETS" in shape.sql else 1
    for n, column in enumerate(plan["columns"]):
        claim = column.get("sensitivity", "")
        if claim.replace(".", "").isdigit():
            pairs = zip(one, other, strict=True)
            moved = sum(
                abs(Decimal((a[n] or b"0").decode()) - Decimal((b[n] or b"0").decode())) for a, b in pairs
            )
            assert moved <= sets * Decimal(claim) * SLACK, (column["name"], claim, moved)
