"""Statements about the table of a privacy cube: for nothing where they follow from its cells, and only then."""

# ruff: noqa: E501 - statements written out

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO
from dpproxy.engine.engine import Engine
from tests.engine.test_cubes import CUBE, DDL, GRANT, POLICY, lines, rows
from tests.hospital import ANN, EVE, ask, home
from tests.proxies import started


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """With a cube that is built and granted."""
    with started(
        home(tmp_path_factory.mktemp("answers"), f"{CUBE};\n{GRANT};\n", ddl=DDL, policy=POLICY)
    ) as engine:
        yield engine


ASKED = (
    ("SELECT count(*) FROM visits", "SELECT sum(count) FROM c"),
    (
        "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward",
        "SELECT ward, sum(count), sum(sum_cost) FROM c WHERE ward IS NOT NULL GROUP BY ward",
    ),
    (
        "SELECT date_trunc('quarter', seen) AS q, count(*) FROM visits WHERE seen >= '2023-04-01' AND seen < '2024-07-01' GROUP BY q",
        "SELECT date_trunc('quarter', month) AS q, sum(count) FROM c WHERE month >= '2023-04-01' AND month < '2024-07-01' GROUP BY q",
    ),
    (
        "SELECT sex, avg(cost) FROM visits WHERE ward IN ('a', 'c') AND age BETWEEN 20 AND 59 GROUP BY sex",
        "SELECT sex, sum(sum_cost) / sum(sum_cost_count) FROM c WHERE ward IN ('a', 'c') AND age BETWEEN 20 AND 50 AND sex IS NOT NULL GROUP BY sex",
    ),
    (
        "SELECT ward, sex, count(*) AS n FROM visits GROUP BY ward, sex HAVING count(*) > 300 ORDER BY n DESC LIMIT 9",
        "SELECT ward, sex, sum(count) AS n FROM c WHERE ward IS NOT NULL AND sex IS NOT NULL GROUP BY ward, sex HAVING sum(count) > 300 ORDER BY n DESC LIMIT 9",
    ),
    (
        "SELECT extract(year FROM seen) AS y, count(*) FILTER (WHERE ward = 'a') AS n FROM visits GROUP BY y",
        "SELECT extract(year FROM month) AS y, sum(count) AS n FROM c WHERE ward = 'a' AND month IS NOT NULL GROUP BY y",
    ),
    (
        "SELECT ward, count(*) FILTER (WHERE sex = 'f' AND age < 20) AS girls, sum(CASE WHEN sex = 'f' THEN cost ELSE 0 END) AS cost FROM visits GROUP BY ward",
        "SELECT ward, sum(CASE WHEN sex = 'f' AND age < 20 THEN count ELSE 0 END) AS girls, sum(CASE WHEN sex = 'f' THEN sum_cost ELSE 0 END) AS cost FROM c WHERE ward IS NOT NULL GROUP BY ward",
    ),
    (
        "SELECT count(*), sum(cost), sum(-2 * cost) FROM visits WHERE ward = 'a' OR sex = 'f' OR age >= 60",
        "SELECT sum(count), sum(sum_cost), sum(-2 * sum_cost) FROM c WHERE ward = 'a' OR sex = 'f' OR age >= 60",
    ),
    (
        "SELECT ward, sum(cost + 1) FROM visits GROUP BY ward",
        "SELECT ward, sum(sum_cost + sum_cost_count) FROM c WHERE ward IS NOT NULL GROUP BY ward",
    ),
)


@pytest.mark.parametrize(("asked", "read"), ASKED)
def test_statements_about_the_table_follow_from_it(engine: Engine, asked: str, read: str):
    """For nothing, as the cells add up, rounded to the column's digits; and they say how far off they are."""
    answer = ask(engine, asked, ANN)
    assert answer.nano == 0
    said = [notice.message for notice in answer.notices]
    assert 'follows from cube "c", free' in said
    assert any("half-width" in one for one in said)
    cells = rows(engine, read)
    assert len(answer.rows) == len(cells) > 0
    for one, other in zip(sorted(answer.rows, key=str), sorted(cells, key=str), strict=True):
        for value, cell in zip(one, other, strict=True):
            if isinstance(cell, Decimal):
                assert float(str(value)) == pytest.approx(float(cell), abs=0.51)
            else:
                assert value == cell
    explained = lines(ask(engine, f"EXPLAIN (PRIVACY) {asked}", ANN))
    assert "follows from cube c, free" in explained
    assert explained.startswith("Price: epsilon 0 ")


def test_each_combination_has_its_own_error(engine: Engine):
    """As the table of errors says it of marginals; of others it is between that of one cell and all."""
    [[whole]] = rows(engine, "SELECT dp.noise_sd(count(*)) FROM visits")
    [[told]] = rows(
        engine,
        "SELECT count_sd FROM c_errors WHERE ward_cells = 4 AND month_cells = 25 AND sex_cells = 3 AND age_cells = 11",
    )
    assert whole == pytest.approx(float(str(told)), rel=0.2)  # those that fill blocks are in the table's
    [[month]] = rows(
        engine,
        "SELECT dp.noise_sd(count(*)) FROM visits WHERE seen >= '2023-04-01' AND seen < '2023-05-01' AND ward = 'a' AND sex = 'f' AND age < 10",
    )
    [[cell]] = rows(
        engine,
        "SELECT count_sd FROM c_errors WHERE ward_cells = 1 AND month_cells = 1 AND sex_cells = 1 AND age_cells = 1",
    )
    assert month == pytest.approx(float(str(cell)), rel=1e-5)
    [(low, n, high)] = rows(engine, "SELECT dp.ci_low(count(*)), count(*), dp.ci_high(count(*)) FROM visits")
    assert float(str(low)) < float(str(n)) < float(str(high))


QUARTERS = "SELECT date_trunc('quarter', seen) AS q, {} FROM visits WHERE seen >= '2023-02-01' GROUP BY q"


def test_each_row_has_the_error_of_the_cells_it_adds_up(engine: Engine):
    """Of two months or of three, as if each were asked alone; the notice has the range."""
    sd, half = "dp.noise_sd(count(*))", "(dp.ci_high(count(*)) - dp.ci_low(count(*))) / 2"
    found = rows(engine, QUARTERS.format(f"{sd}, {half}, dp.noise_sd(avg(cost)), count(*)"))
    first, *others = found
    for row, (begin, end) in ((first, ("02", "04")), (others[0], ("04", "07"))):
        alone = f"SELECT {sd}, {half} FROM visits WHERE seen >= '2023-{begin}-01' AND seen < '2023-{end}-01'"
        assert [row[1:3]] == [pytest.approx(one) for one in rows(engine, alone)]
    assert all(first[1] < float(str(row[1])) and first[2] < float(str(row[2])) for row in others)
    answer = ask(engine, QUARTERS.format("count(*), sum(cost), avg(cost)"), ANN, intervals="columns")
    ends = [(float(str(row[4])), float(str(row[5]))) for row in answer.rows]
    assert ends[0][1] - ends[0][0] == pytest.approx(2 * float(str(first[2])))
    assert len({round(high - low) for low, high in ends[1:4]}) == 1
    [said] = [n.message for n in answer.notices if "half-width" in n.message]
    assert said.count(" to ±") == 3


def test_a_value_of_another_row_has_the_error_of_that_row(engine: Engine):
    over = "lag(count(*)) OVER (ORDER BY date_trunc('quarter', seen))"
    answer = ask(engine, QUARTERS.format(f"count(*), {over} AS before"), ANN)
    [said] = [n.message for n in answer.notices if "half-width" in n.message]
    least, most = said.split("count ")[1].split(" (")[0].split(" to ")
    assert f"before {least} to {most} (median " in said


def test_what_does_not_follow_is_asked_anew(engine: Engine):
    for sql in (
        "SELECT count(*) FROM visits WHERE seen <= '2023-01-31'",
        "SELECT count(*) FROM visits WHERE age = 35",
        "SELECT count(*) FROM visits WHERE ward = 'a' OR age < 35",
        "SELECT count(*) FROM visits WHERE cost > 10",
    ):
        answer = ask(engine, sql, ANN, epsilon="0.01")
        assert answer.nano == NANO // 100
        assert not any("cube" in notice.message for notice in answer.notices)


@pytest.mark.parametrize("settings", [{"reuse": "never"}, {"mechanism": "laplace"}])
def test_a_new_draw_is_had_for_its_price(engine: Engine, settings: dict[str, str]):
    sql = "SELECT sex, count(*) FROM visits WHERE ward = 'b' GROUP BY sex"
    assert ask(engine, sql, ANN).nano == 0
    assert ask(engine, sql, ANN, **{"epsilon": "0.02", **settings}).nano == NANO // 50


def test_what_was_paid_for_and_a_cube_are_weighed_together(engine: Engine):
    """Where both say it about as well; the mean is nearer than either, and says so."""
    sql = "SELECT {}, dp.noise_sd(count(*)) FROM visits WHERE ward IN ('a', 'b') AND sex = 'f'"
    cells = "SELECT sum(count) FROM c WHERE ward IN ('a', 'b') AND sex = 'f'"
    [[cube, sd]] = rows(engine, sql.format("count(*)"))
    finer = "SELECT ward, sex, count(*) FROM visits GROUP BY ward, sex"
    draws = ask(engine, finer, ANN, epsilon="0.25", reuse="never").rows
    own = sum(int(str(n)) for ward, sex, n in draws if ward in ("a", "b") and sex == "f")
    answer = ask(engine, sql.format("count(*)"), ANN)
    [(mean, less)] = answer.rows
    assert answer.nano == 0
    assert float(str(less)) < 0.96 * float(str(sd))
    weight = 1 - (float(str(less)) / float(str(sd))) ** 2  # of the own one: 1 / var, over both
    assert int(str(mean)) == pytest.approx(weight * own + (1 - weight) * int(str(cube)), abs=1.5)
    assert [int(str(cube))] == [round(float(str(n))) for [n] in rows(engine, cells)]
    assert 'follows from cube "c" and 1 draws that you have paid for, free' in [
        n.message for n in answer.notices
    ]
    explained = lines(ask(engine, f"EXPLAIN (PRIVACY) {sql.format('count(*)')}", ANN))
    assert "follows from cube c and 1 stored releases, free" in explained


def test_better_draws_anew_where_that_halves_the_error(engine: Engine):
    sql = "SELECT count(*) FROM visits WHERE sex = 'f'"
    assert ask(engine, sql, ANN, epsilon="2", reuse="better").nano == 2 * NANO
    assert ask(engine, sql.replace("'f'", "'m'"), ANN, epsilon="0.01", reuse="better").nano == 0


def test_a_cube_answers_nothing_to_whom_it_is_not_granted(engine: Engine):
    """What they are told of it, and what they pay, is as if there were none."""
    ask(engine, "GRANT SELECT ON patients, visits TO stranger WITH PRIVACY BUDGET research")
    sql = "SELECT ward, count(*) FROM visits GROUP BY ward"
    assert "cube" not in lines(ask(engine, f"EXPLAIN (PRIVACY) {sql}", EVE))
    answer = ask(engine, sql, EVE, epsilon="0.01")
    assert answer.nano == NANO // 100
    assert not any("cube" in notice.message for notice in answer.notices)
    ask(engine, "REVOKE SELECT ON patients, visits FROM stranger")


def test_it_answers_about_the_rows_and_the_policy_it_was_built_under(tmp_path: Path):
    with started(home(tmp_path, CUBE + ";\n" + GRANT + ";\n", ddl=DDL, policy=POLICY)) as engine:
        sql, cheap = "SELECT sex, count(*) FROM visits GROUP BY sex", {"epsilon": "0.01"}
        assert ask(engine, sql, ANN, **cheap).nano == 0
        ask(engine, "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 98")
        assert ask(engine, sql, ANN, **cheap).nano == NANO // 100
        ask(engine, "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99")
        other = sql.replace("sex", "ward")
        assert ask(engine, other, ANN, **cheap).nano == 0
        ask(engine, "ADVANCE PRIVACY DATA VERSION")
        assert ask(engine, other, ANN, **cheap).nano == NANO // 100
        ask(engine, "REFRESH PRIVACY CUBE c")
        third = "SELECT count(*) FROM visits"
        assert ask(engine, third, ANN, **cheap).nano == 0
        ask(engine, "REVOKE SELECT ON c FROM analyst")
        assert (
            ask(engine, "SELECT sex, ward, count(*) FROM visits GROUP BY sex, ward", ANN, **cheap).nano
            == NANO // 100
        )
