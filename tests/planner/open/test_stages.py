"""Released relations beside protected rows; their answers are in tests/golden/two_stages.test."""

import pytest

from dpproxy.algebra import nodes
from dpproxy.planner.open import stages
from dpproxy.planner.rows.relation import ReleasedStage
from dpproxy.values.errors import TooComplex, Unsupported
from tests.golden.world import World, plan_of

QUERY = nodes.Select((nodes.Star(),), nodes.Table("t"))


@pytest.mark.parametrize(
    ("rows", "unique", "equated", "met"),
    [
        (7, {"a"}, {"a"}, 1),
        (7, {"a"}, {"a", "b"}, 1),
        (7, {"a", "b"}, {"a"}, 7),
        (7, set(), {"a"}, 7),
        (0, set(), set(), 1),
    ],
)
def test_a_row_meets_one_where_all_that_is_unique_is_equated(
    rows: int, unique: set[str], equated: set[str], met: int
):
    assert ReleasedStage(QUERY, ("a", "b"), rows, frozenset(unique)).met(frozenset(equated)) == met


@pytest.mark.parametrize(
    ("joined", "factor"),
    [
        ("(SELECT ward, count(*) FROM visits GROUP BY ward) s ON s.ward = v.ward", 2),
        ("(SELECT hours, count(*) FROM visits GROUP BY hours) s ON s.hours = v.hours", 2),
        ("(SELECT ward, count(*) FROM visits GROUP BY ward) s ON s.ward <> v.ward", 4),
        ("(SELECT ward, hours, count(*) FROM visits GROUP BY ward, hours) s ON s.ward = v.ward", 24),
        ("(SELECT count(*) AS n FROM visits GROUP BY ward) s ON s.n = v.hours", 4),
        ("(SELECT hours * 0.5 AS h, count(*) FROM visits GROUP BY hours * 0.5) s ON s.h = v.hours", 12),
    ],
)
def test_what_a_person_pays_grows_with_the_released_rows_that_a_row_meets(
    clinic: World, joined: str, factor: int
):
    first, second = plan_of(
        clinic, f"SELECT v.ward, count(*) FROM visits v JOIN {joined} GROUP BY v.ward"
    ).parts
    assert second.factor == factor
    assert first.inputs == ()
    assert all(taken.query.has(nodes.Release) for taken in second.inputs)


def test_there_is_a_parameter_for_each_value_and_one_for_the_number_of_rows(clinic: World):
    top = "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1"
    _, second = plan_of(clinic, f"SELECT count(*) FROM visits v JOIN ({top}) s ON s.ward = v.ward").parts
    assert len(second.inputs) == 3
    assert {p.number for p in second.query.find_all(nodes.Parameter)} == {1, 2, 3, 4}
    assert [(taken.row, taken.place) for taken in second.inputs] == [(0, 0), (0, 1), (0, 0)]
    assert len({taken.query for taken in second.inputs}) == 2


@pytest.mark.parametrize(
    ("condition", "is_narrowed"),
    [
        ("JOIN ({}) s ON s.ward = v.ward", True),
        ("JOIN ({}) s ON s.ward = v.ward AND v.hours > 1", True),
        ("WHERE v.ward IN ({})", True),
        ("LEFT JOIN ({}) s ON s.ward = v.ward", False),
        ("WHERE v.ward NOT IN ({})", False),
        ("WHERE v.ward IN ({}) OR v.hours = 1", False),
    ],
)
def test_keys_that_an_earlier_stage_has_not_shown_are_not_answered(
    clinic: World, condition: str, *, is_narrowed: bool
):
    top = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 1"
    plan = plan_of(clinic, f"SELECT v.ward, count(*) FROM visits v {condition.format(top)} GROUP BY v.ward")
    assert ('"r1"."k0" IN (SELECT' in plan.answer) == is_narrowed


def test_a_released_text_is_as_long_as_is_known(clinic: World):
    """Else what is made of it for the one row that meets it could take any time."""
    sql = (
        "SELECT count(*) FROM visits v JOIN (SELECT ward, {} AS m, count(*) FROM visits GROUP BY ward) s "
        "ON s.ward = v.ward WHERE s.m ~ 'a'"
    )
    assert plan_of(clinic, sql.format("CAST(md5(ward) AS varchar(32))")).parts
    with pytest.raises(Unsupported, match="no known length"):
        plan_of(clinic, sql.format("md5(ward)"))


def test_all_stages_of_a_statement_have_as_many_values_as_engines_take_parameters(
    clinic: World, monkeypatch: pytest.MonkeyPatch
):
    stage = "(SELECT hours, count(*) AS n FROM visits WHERE no <> {} GROUP BY hours) AS s{} ON s{}.hours = v.hours"
    joined = [stage.replace("no <> {}", f"hours <> {n}").format(n, n) for n in range(2)]
    sql = "SELECT count(*) FROM visits v JOIN " + " JOIN ".join(joined)
    needed = sum(len(part.inputs) for part in plan_of(clinic, sql).parts)
    monkeypatch.setattr(stages, "MOST_TOGETHER", needed)
    plan_of(clinic, sql)
    monkeypatch.setattr(stages, "MOST_TOGETHER", needed // 2 + 1)
    with pytest.raises(TooComplex, match="hands on more than"):
        plan_of(clinic, sql)
