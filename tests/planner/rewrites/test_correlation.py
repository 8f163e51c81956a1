"""Subqueries that follow the row around them; what they answer is in tests/golden/two_stages.test."""

import pytest
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.typed import Typed
from dpproxy.planner.rewrites.correlation import Grouped
from dpproxy.values.errors import Refusal, TypeMismatch, Unsupported
from dpproxy.values.pgtypes import DATE
from tests.golden.world import World, plan_any, plan_of

BESIDE = "SELECT count(*) FROM visits v WHERE v.hours < ({})"


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward",
        "SELECT 2 * max(x.hours) FROM visits x WHERE v.ward = x.ward AND x.hours > 1",
        "SELECT coalesce(sum(x.hours), 0) FROM visits x WHERE x.ward = v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE upper(x.ward) = upper(v.ward)",
        "SELECT count(*) FROM visits x JOIN people p ON p.id = x.person WHERE x.ward = v.ward AND x.hours = v.hours",
    ],
)
def test_groups_are_released_first(clinic: World, inner: str):
    first, second = plan_of(clinic, BESIDE.format(inner)).parts
    assert first.groups > 1
    assert len(second.inputs) > first.groups


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(x.hours) FROM visits x WHERE x.ward < v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward AND x.hours < v.hours",
        "SELECT avg(x.hours + v.hours) FROM visits x WHERE x.ward = v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward GROUP BY x.hours",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward || v.ward = v.ward",
        "SELECT coalesce(sum(x.hours), 1) FROM visits x WHERE x.ward = v.ward",
        "SELECT greatest(sum(x.hours), 1) FROM visits x WHERE x.ward = v.ward",
        "SELECT CASE WHEN sum(x.hours) IS NULL THEN 1 ELSE 2 END FROM visits x WHERE x.ward = v.ward",
    ],
)
def test_others_are_refused(clinic: World, inner: str):
    with pytest.raises(Refusal) as caught:
        plan_any(clinic, BESIDE.format(inner))
    assert caught.value.sqlstate in ("PD002", "0A000")


LISTED = "SELECT count(*) FROM visits v WHERE v.hours IN ({})"


@pytest.mark.parametrize(
    ("inner", "parts"),
    [
        ("SELECT x.hours FROM visits x WHERE x.ward = v.ward GROUP BY x.hours HAVING count(*) > 3", 2),
        ("SELECT DISTINCT x.hours FROM visits x WHERE v.ward = x.ward AND x.hours > 1", 2),
        ("SELECT max(x.hours) FROM visits x WHERE x.person = v.person GROUP BY x.ward", 1),
    ],
)
def test_a_list_of_groups_is_that_of_all_by_what_they_follow(clinic: World, inner: str, parts: int):
    assert len(plan_of(clinic, LISTED.format(inner)).parts) == parts


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT x.hours FROM visits x WHERE x.ward < v.ward GROUP BY x.hours",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward GROUP BY x.hours HAVING count(*) > v.hours",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward GROUP BY ROLLUP (x.hours)",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward GROUP BY x.hours ORDER BY count(*) LIMIT 1",
        "SELECT DISTINCT ON (x.hours) x.hours FROM visits x WHERE x.person = v.person ORDER BY x.hours",
        "SELECT max(x.hours) FROM visits x WHERE x.ward = v.ward",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward LIMIT 1",
    ],
)
def test_other_lists_are_refused(clinic: World, inner: str):
    with pytest.raises(Refusal) as caught:
        plan_any(clinic, LISTED.format(inner))
    assert caught.value.sqlstate in ("PD002", "0A000")


def test_a_list_that_follows_the_row_is_not_negated(clinic: World):
    inner = "SELECT x.hours FROM visits x WHERE x.ward = v.ward GROUP BY x.hours"
    with pytest.raises(Unsupported, match="follows the row around it by equalities"):
        plan_any(clinic, LISTED.format(inner).replace(" IN ", " NOT IN "))


def test_what_is_no_number_is_not_filled_with_0():
    value = Typed(nodes.ColumnRef("c1"), DATE)
    with pytest.raises(TypeMismatch, match="types date and integer cannot be matched"):
        Grouped(exp.Select(), (), is_filled=True).found(value, nodes.Select((value.sql,), nodes.Table("q")))


AROUND = "x.hours > (SELECT avg(v.hours) FROM visits v WHERE v.ward = w.ward)"


@pytest.mark.parametrize(
    ("select", "released"),
    [
        ("FROM visits x JOIN wards w ON w.ward = x.ward WHERE w.beds > 15 AND {}", 1),
        (
            "FROM visits x, wards w WHERE w.ward = x.ward AND beds IN (SELECT beds FROM wards WHERE beds > 15) AND {}",
            1,
        ),
        ("FROM visits x JOIN wards w ON w.ward = x.ward WHERE (w.beds > 15 OR x.hours > 1) AND {}", 2),
        ("FROM visits x JOIN wards w ON w.ward = x.ward AND {} WHERE w.beds > 15", 2),
        ("FROM visits x LEFT JOIN wards w ON w.ward = x.ward WHERE (w.beds > 15) AND {}", 2),
        ("FROM visits x JOIN wards w ON w.ward = x.ward WHERE {}", 2),
    ],
)
def test_conditions_on_a_public_table_hold_of_the_groups_where_they_hold_of_every_row(
    clinic: World, select: str, released: int
):
    first, _ = plan_of(clinic, "SELECT count(*) " + select.format(AROUND)).parts
    assert first.groups == released


@pytest.mark.parametrize(
    ("inner", "released"),
    [
        ("SELECT count(*) FROM visits v WHERE v.ward = w.ward", 1),
        (
            "SELECT sum(v.hours) FROM visits v JOIN people p ON p.id = v.person WHERE v.ward = w.ward AND age > 30",
            1,
        ),
        ("SELECT max(b.amount) FROM bills b JOIN visits v ON v.no = b.visit WHERE w.ward = v.ward", 1),
    ],
)
def test_public_rows_may_be_around_them(clinic: World, inner: str, released: int):
    sql = f"SELECT ward, ({inner}) FROM wards w WHERE building = 'south'"
    [part] = plan_of(clinic, sql).parts
    assert part.groups == released


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT coalesce(sum(hours), 1) FROM visits v WHERE v.ward = w.ward",
        "SELECT sum(hours) IS NULL FROM visits v WHERE v.ward = w.ward",
        "SELECT count(*) FROM visits v JOIN shops s ON s.name = v.ward WHERE v.ward = ward",
    ],
)
def test_public_rows_are_around_no_others(clinic: World, inner: str):
    with pytest.raises(Refusal):
        plan_any(clinic, f"SELECT ward, ({inner}) FROM wards w")


@pytest.mark.parametrize("name", ["name", "other"])
def test_what_is_hidden_is_as_if_it_were_not_there(clinic: World, name: str):
    """Shops have a column ``name`` that nothing declares: around them it means what any other name would."""
    inner = f"SELECT count(*) FROM shops s WHERE s.ward = k AND upper(s.ward) = {name}"
    sql = f"SELECT k, ({{}}) FROM (SELECT ward AS k, building AS {name} FROM wards) w"
    [part] = plan_of(clinic, sql.format(inner)).parts
    assert part.groups == 4
    with pytest.raises(Refusal, match="does not see the row around it"):
        plan_any(clinic, sql.format(inner.replace("shops", "unknown")))
