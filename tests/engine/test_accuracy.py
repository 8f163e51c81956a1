"""What is shown of released values, and what the notice says of them."""

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Accuracy, Answer, Notice, Plan
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.accuracy import accuracy_notice, figure, measured, presented
from dpproxy.engine.engine import Engine
from tests.engine.test_answers import ANN, DDL, POLICY, ask, ask_with
from tests.engine.test_payment import plan as planned
from tests.proxies import started, write_home

Rows = Sequence[tuple[object, ...]]
PERCENTILES = ", ".join(f"percentile_cont({q}) WITHIN GROUP (ORDER BY x)" for q in (0.25, 0.5, 0.75))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("accuracy"), DDL, POLICY)) as found:
        found.open(ANN)
        yield found


def of_error(answer: Answer) -> Notice:
    [found] = [n for n in answer.notices if "half-width" in n.message]
    return found


def test_a_half_width_is_said_for_each_noisy_column(engine: Engine):
    said = of_error(
        ask(engine, "SELECT k, count(*) AS n, avg(x) AS mean, 3 AS three FROM t GROUP BY k", epsilon="2")
    )
    assert said.message.startswith("95 % half-width: n ±")
    assert "; mean ±" in said.message
    assert "three" not in said.message


def test_the_same_is_said_beside_a_stored_answer(engine: Engine):
    sql = "SELECT k, count(*) AS n, sum(x) FROM t GROUP BY k"
    first, second = ask(engine, sql, epsilon="1"), ask(engine, sql, epsilon="1")
    assert second.nano == 0
    assert of_error(first) == of_error(second)


@pytest.mark.parametrize(("value", "bounds"), [("median(x)", 1), ("min(x)", 1), (PERCENTILES, 3)])
def test_bounds_of_what_was_released_are_charged_alone(engine: Engine, value: str, bounds: int):
    """What was released stays, and its share of the price is not asked again."""
    sql = f"SELECT {value} FROM t WHERE x > 2"
    first = ask(engine, sql, epsilon="0.06")
    assert first.nano == 60_000_000
    values, many = first.rows[0], len(first.rows[0])
    bounded = ask_with(engine, sql, epsilon="0.06", intervals="columns")
    assert bounded.nano == 60_000_000 * bounds // (many.bit_length() + bounds)
    assert bounded.rows[0][:many] == values
    ends = [float(str(end)) for end in bounded.rows[0][many:]]
    assert all(ends[2 * i] <= float(str(v)) <= ends[2 * i + 1] for i, v in enumerate(values))
    assert ask_with(engine, sql, epsilon="0.06", intervals="columns").nano == 0


def test_what_a_new_draw_costs_is_said_where_it_is_better(engine: Engine):
    """A total that follows from groups has the noise of all of them."""
    ask(engine, "SELECT b, y, count(*) AS n FROM t WHERE x > 7 GROUP BY b, y", epsilon="0.2")
    said = of_error(ask(engine, "SELECT count(*) AS n FROM t WHERE x > 7", epsilon="0.2"))
    assert said.detail is not None
    assert re.search(r"A new draw costs 0\.2 epsilon: n ±\d+ \(SET dp\.reuse = 'never';\)\.", said.detail)


@pytest.mark.parametrize("listed", ["count(*) AS n", "sum(x) AS n", "count(*) - 2 * count_if(b) AS n"])
def test_what_is_said_of_a_new_draw_is_what_it_costs_and_says(engine: Engine, listed: str):
    ask(
        engine, f"SELECT b, y, {listed.removesuffix(' AS n')} FROM t WHERE x > 6 GROUP BY b, y", epsilon="0.2"
    )
    total = f"SELECT {listed} FROM t WHERE x > 6"
    settings = {**DEFAULTS, "dp.epsilon": "0.2"}
    prepared = engine.prepare(ANN, total, (), settings)
    told = re.search(
        r"A new draw costs (\S+) epsilon: n ±(\S+) ",
        of_error(engine.run(Request(ANN, prepared, (), settings))).detail or "",
    )
    assert told is not None
    fresh = {**settings, "dp.reuse": "never"}
    drawn = engine.run(Request(ANN, engine.prepare(ANN, total, (), fresh), (), fresh))
    assert drawn.nano == float(told[1]) * 1e9
    assert of_error(drawn).message == f"95 % half-width: n ±{told[2]}"


def test_bounds_are_rounded_outwards_as_their_value_is(engine: Engine):
    """To the second digit of the half-width where values are; to whole numbers where these are whole."""
    listed = "sum(x) AS s, sum(x) / count(*) AS q, sum(count(*)) OVER (ORDER BY y) AS run"
    sql = f"SELECT y, {listed} FROM t WHERE x > 5 GROUP BY y"
    answers = [
        ask_with(engine, sql, epsilon="2", intervals="columns", round=digits)
        for digits in ("off", "significant")
    ]
    plain, rounded = (
        [[float(str(value)) for value in row if value is not None] for row in answer.rows]
        for answer in answers
    )
    for exact, shown in zip(plain, rounded, strict=True):
        assert all(number == int(number) for number in exact)
        low, high, half = exact[4], exact[5], (exact[5] - exact[4]) / 2
        step = 10 ** (math.floor(math.log10(half)) - 1)
        assert shown[4] <= low < shown[4] + step
        assert shown[5] - step < high <= shown[5]
        assert math.isclose(shown[4] / step, round(shown[4] / step))


def test_released_answers_are_used_as_set(engine: Engine):
    def cost(sql: str, reuse: str) -> float:
        settings = {**DEFAULTS, "dp.epsilon": "0.3", "dp.reuse": reuse}
        return engine.run(Request(ANN, engine.prepare(ANN, sql, (), settings), (), settings)).nano / 1e9

    groups, total = (
        "SELECT b, y, count(*) FROM t WHERE x > 8 GROUP BY b, y",
        "SELECT count(*) FROM t WHERE x > 8",
    )
    assert cost(groups, "always") == 0.3
    assert cost(groups, "always") == cost(groups, "better") == 0
    assert cost(total + " AND b", "better") == 0.3  # of 5 groups
    assert cost(total, "better") == 0.3  # of 10 groups it has sqrt(10) times the noise
    assert cost(total, "better") == 0
    assert cost(total, "never") == cost(total, "never") == 0.3
    assert cost(total, "always") == 0


def test_what_a_query_around_computes_has_no_stated_error(engine: Engine):
    said = of_error(
        ask(engine, "SELECT ln(n) AS more FROM (SELECT k, count(*) AS n FROM t GROUP BY k) s", epsilon="1")
    )
    assert said.message == "95 % half-width: more: no interval is proved for it"


def test_how_many_groups_noise_leaves_has_no_stated_error(engine: Engine):
    said = of_error(
        ask(
            engine,
            "SELECT count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) s WHERE n > 3",
            epsilon="1",
        )
    )
    assert said.message == "95 % half-width: count: no interval is proved for it"


@pytest.mark.parametrize(
    "around",
    [
        "SELECT n FROM ({}) s WHERE n > -9999",
        "SELECT max(n) AS n FROM ({}) s",
        "SELECT min(n) AS n FROM ({}) s WHERE k <> 'b'",
        "SELECT min(n) OVER () AS n FROM (SELECT k, n FROM ({}) s) q WHERE true",
        "SELECT 7 - n AS n FROM ({}) s WHERE true",
        "SELECT (n - lag(n) OVER (ORDER BY k)) / 2.0 AS n FROM ({}) s WHERE true",
    ],
)
def test_what_a_query_around_passes_on_is_as_far_off_as_all_rows_together(engine: Engine, around: str):
    inner = "SELECT k, count(*) AS n FROM t GROUP BY k"
    all_together = of_error(ask(engine, f"{inner} HAVING count(*) > -9999", epsilon="1"))
    said = of_error(ask(engine, around.format(inner), epsilon="1"))
    assert said.message == all_together.message
    assert said.message.startswith("95 % half-width of all rows that could be shown, together: n ±")


def test_what_a_query_around_only_computes_on_has_the_error_of_one_select(engine: Engine):
    inner = "SELECT k, count(*) AS n FROM t GROUP BY k"
    said = of_error(ask(engine, f"SELECT * FROM ({inner}) AS s ORDER BY k LIMIT 1000", epsilon="1"))
    assert said.message == of_error(ask(engine, inner, epsilon="1")).message
    assert said.message.startswith("95 % half-width: n ±")


@pytest.mark.parametrize(
    "around",
    [
        "SELECT max(n) AS n FROM ({}) s WHERE n > -9999",
        "SELECT avg(n) AS n FROM ({} HAVING count(*) > -9999) s",
        "SELECT min(n) AS n FROM (SELECT n FROM ({}) s ORDER BY n LIMIT 2) q",
        "SELECT avg(n) AS n FROM (SELECT DISTINCT n FROM ({}) s) q",
        "SELECT avg(n) AS n FROM ({0} UNION {0}) q",
        "SELECT max(s.n) AS n FROM ({0}) s JOIN ({0}) q ON s.n = q.n",
        "SELECT sum(n) AS n FROM ({}) s WHERE n > -9999",
        "SELECT sum(s.n) AS n FROM ({0}) s JOIN ({0}) q ON s.n <> q.n",
        "SELECT sum(n) AS n FROM (SELECT s.k, s.n FROM ({0}) s JOIN ({0}) q ON s.n <> q.n) s",
        "SELECT sum(n) AS n FROM ({0}) q WHERE k IN (SELECT k FROM ({0}) s WHERE n > 3)",
        (
            "SELECT max(n) AS n FROM ({0}) q WHERE k IN (SELECT s.k FROM (SELECT k, count(*) AS m FROM t GROUP BY k) s "
            "WHERE m > 3)"
        ),
        "SELECT sum(n) OVER (ORDER BY n) AS n FROM ({}) s",
        "SELECT n - lag(n) OVER (ORDER BY n) AS n FROM ({}) s",
        "SELECT sum(n) - max(n) AS n FROM ({}) s WHERE n > -9999",
        "SELECT sum(DISTINCT n) AS n FROM ({}) s",
        "SELECT sum(n) AS n FROM ({}) s GROUP BY n",
    ],
)
def test_of_rows_that_noise_chose_nothing_is_said(engine: Engine, around: str):
    said = of_error(ask(engine, around.format("SELECT k, count(*) AS n FROM t GROUP BY k"), epsilon="1"))
    assert said.message.endswith(": n: no interval is proved for it")


@pytest.mark.parametrize(
    "around",
    [
        "SELECT sum(s.n) AS n FROM ({0}) s JOIN ({0}) q ON s.k <> q.k",
        "SELECT sum(n) AS n FROM (SELECT s.k, s.n FROM ({0}) s JOIN ({0}) q ON s.k <> q.k) s",
    ],
)
def test_rows_that_keys_join_are_within_their_distances_together(engine: Engine, around: str):
    said = of_error(ask(engine, around.format("SELECT k, count(*) AS n FROM t GROUP BY k"), epsilon="1"))
    assert "together: n ±" in said.message


@pytest.mark.parametrize(
    ("rows", "many"),
    [("{0} UNION ALL {0}", 4), ("SELECT k, count(*) AS n FROM t GROUP BY ROLLUP (k)", 3)],
)
def test_a_total_of_rows_whose_errors_are_not_alike_is_off_by_all_of_them(
    engine: Engine, rows: str, many: int
):
    inner = rows.format("SELECT k, count(*) AS n FROM t GROUP BY k")
    far = []
    for query in (f"SELECT max(n) AS n FROM ({inner}) s", f"SELECT sum(n) AS n FROM ({inner}) s"):
        said = of_error(ask(engine, query, epsilon="1")).message
        assert said.startswith("95 % half-width of all rows that could be shown, together: n ±")
        far.append(int(said.rpartition("±")[2]))
    assert far[0] < far[1] <= many * far[0]


def notice(plan: Plan, rows: Rows) -> Notice:
    found = accuracy_notice(plan, rows, rows)
    assert found is not None
    return found


def with_halves(plan: Plan, *halves: float | None) -> Plan:
    outputs = [
        replace(o, accuracy=None if half is None else Accuracy(half=half))
        for o, half in zip(plan.outputs, halves, strict=True)
    ]
    return replace(plan, outputs=tuple(outputs))


def test_noise_that_dominates_is_said_with_the_epsilon_that_helps(engine: Engine):
    plan = with_halves(
        planned(engine, "SELECT k, sum(x) AS total FROM t GROUP BY k", epsilon="0.1"), None, 500.0
    )
    said = notice(plan, [("a", 1000), ("b", 400)])
    assert said.detail == f"1 of 2 values of total is smaller than its error. {BOUNDS}"
    assert said.hint == "SET dp.epsilon = 0.875; brings half-widths to about 10 % of the middle value."


def test_columns_may_have_the_same_name(engine: Engine):
    sql = "SELECT sum(x) AS total, sum(y) AS total FROM t"
    plan = with_halves(planned(engine, sql, epsilon="0.1"), 500.0, 250.0)
    said = notice(plan, [(1000, 0)])
    assert said.hint == "SET dp.epsilon = 0.5; brings half-widths to about 10 % of the value."


def test_beside_stored_answers_the_epsilon_is_that_of_a_new_draw(engine: Engine):
    """A stored release answers again up to its own epsilon: more is named."""
    sql = "SELECT k, sum(x) AS total FROM t GROUP BY k"
    fresh = with_halves(planned(engine, sql, epsilon="0.1"), None, 250.0)
    rows = [("a", 1000), ("b", 400)]
    for stored, named in (("0.1", "0.438"), ("1", "1.01")):
        plan = with_halves(planned(engine, sql, epsilon=stored), None, 500.0)
        said = accuracy_notice(plan, rows, rows, fresh)
        assert said is not None
        assert said.hint == f"SET dp.epsilon = {named}; brings half-widths to about 10 % of the middle value."


def test_a_new_draw_without_noise_needs_no_more_than_a_stored_one_with_some(engine: Engine):
    """Also around a value of zero, of which every error is more than a tenth."""
    sql = "SELECT k, sum(x) AS total FROM t GROUP BY k"
    fresh = with_halves(planned(engine, sql, epsilon="0.1"), None, 0.0)
    plan = with_halves(planned(engine, sql, epsilon="0.1"), None, 500.0)
    rows = [("a", 400), ("b", 0), ("c", 1000)]
    said = accuracy_notice(plan, rows, rows, fresh)
    assert said is not None
    assert said.hint == "SET dp.epsilon = 0.101; brings half-widths to about 10 % of the middle value."


def test_no_epsilon_is_named_that_the_budget_does_not_allow(engine: Engine):
    plan = with_halves(planned(engine, "SELECT sum(x) AS total FROM t", epsilon="0.1"), 60_000.0)
    said = notice(plan, [(1000,)])
    assert said.detail == f"total is smaller than its error. {BOUNDS}"
    assert (
        said.hint
        == "Ask about more rows: no epsilon that is allowed brings half-widths to 10 % of the value."
    )
    plan = with_halves(
        planned(engine, "SELECT k, sum(x) AS total FROM t GROUP BY k", epsilon="0.1"), None, 60_000.0
    )
    assert notice(plan, [("a", 1000), ("b", 400)]).hint == (
        "Group more coarsely: no epsilon that is allowed brings half-widths to 10 % of the middle value."
    )


BOUNDS = "Not in it, by the policy: x is moved into 0 to 99."


def test_errors_that_are_small_need_no_hint(engine: Engine):
    plan = with_halves(planned(engine, "SELECT sum(x) AS total FROM t", epsilon="0.1"), 99.0)
    assert notice(plan, [(1000,)]) == Notice("95 % half-width: total ±99", detail=BOUNDS)


def test_half_widths_that_differ_by_row_are_a_range_and_a_middle(engine: Engine):
    plan = planned(engine, "SELECT k, avg(x) AS mean FROM t GROUP BY k", epsilon="0.1")
    found = plan.outputs[1].accuracy
    assert found is not None
    assert found.far is not None
    plan = with_far(plan, 1, "60", "c3")
    rows = [("a", 50.0, 0, 60), ("b", 50.0, 0, 20), ("c", 50.0, 0, 30), ("d", 50.0, 0, 29)]
    assert notice(plan, rows).message == "95 % half-width: mean ±1 to ±3 (median ±2.04)"


def with_far(plan: Plan, place: int, above: str, below: str) -> Plan:
    """With the error of a column as a number over a value of the row."""
    far = nodes.Binary("/", nodes.Number(above), nodes.ColumnRef(below))
    outputs = list(plan.outputs)
    outputs[place] = replace(outputs[place], accuracy=Accuracy(far=far))
    return replace(plan, outputs=tuple(outputs))


def test_what_is_known_exactly_is_no_smaller_than_its_error(engine: Engine):
    plan = with_halves(planned(engine, "SELECT count(*) AS n FROM t", epsilon="0.1"), 0.0)
    assert notice(plan, [(0,)]) == Notice("95 % half-width: n ±0")


def test_a_row_may_have_no_proved_half_width(engine: Engine):
    plan = planned(engine, "SELECT k, sum(x) / count(y) AS mean FROM t GROUP BY k", epsilon="0.1")
    assert plan.outputs[1].accuracy == Accuracy(place=2)
    assert notice(plan, [("a", 50, 2.5), ("b", 50, None)]).message == "95 % half-width: mean ±2.5"
    assert notice(plan, [("a", 50, None)]).message == (
        "95 % half-width: mean: no interval is proved: a divisor may be zero"
    )


def test_of_many_columns_the_first_are_named(engine: Engine):
    listed = ", ".join(f"sum(x + {i}) AS s{i}" for i in range(10))
    plan = planned(engine, f"SELECT {listed} FROM t", epsilon="4")
    rows = [tuple(range(1, 11))]
    assert notice(plan, rows).message.endswith("; 2 more columns: EXPLAIN (PRIVACY) lists them")
    assert "s8" not in notice(plan, rows).message


def test_rows_that_released_values_choose_are_covered_together(engine: Engine):
    plan = planned(engine, "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 3", epsilon="1")
    assert notice(plan, [("a", 100)]).message.startswith(
        "95 % half-width of all rows that could be shown, together: n ±"
    )


def test_no_rows_no_notice(engine: Engine):
    plan = planned(engine, "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 3", epsilon="1")
    assert accuracy_notice(plan, [], []) is None


def test_hidden_groups_are_told(engine: Engine):
    plan = planned(engine, "SELECT k, count(*) AS n FROM t GROUP BY k", epsilon="1", empty_groups="hide")
    assert plan.accuracy is not None
    assert plan.accuracy.hidden is not None
    told = f"Groups of a released count up to {plan.accuracy.hidden.most} are hidden: they may have no rows."
    assert notice(plan, [("a", 500)]).detail == told
    assert notice(plan, []).message == told


# --- dp.impossible and dp.round


SUM = "SELECT k, sum(x) AS total, avg(x) AS mean FROM t GROUP BY k"


def rows_of(plan: Plan) -> list[tuple[object, ...]]:
    """A sum that is negative, though nothing is, and an average of nobody."""
    possible = plan.outputs[2].possible
    assert possible is not None
    assert possible.count == 4
    return [("a", -12, 49.5, 0, -3), ("b", 4200, 37.25, -1102, 90)]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("show", [("a", -12, 49.5), ("b", 4200, 37.25)]),
        ("clamp", [("a", 0, 49.5), ("b", 4200, 37.25)]),
        ("null", [("a", None, None), ("b", 4200, 37.25)]),
    ],
)
def test_values_that_cannot_be_are_shown_as_set(engine: Engine, setting: str, expected: Rows):
    plan = planned(engine, SUM, epsilon="1", impossible=setting)
    rows = rows_of(plan)
    assert presented(plan, rows, [row[:3] for row in rows]) == expected


@pytest.mark.parametrize(
    ("setting", "sums", "means"),
    [
        (
            "show",
            "SET dp.impossible shows 0 or NULL for such",
            "SET dp.impossible = 'null' shows NULL for such",
        ),
        ("clamp", "shown as 0", "SET dp.impossible = 'null' shows NULL for such"),
        ("null", "shown as NULL", "shown as NULL"),
    ],
)
def test_they_are_counted_in_the_notice(engine: Engine, setting: str, sums: str, means: str):
    plan = planned(engine, SUM, epsilon="1", impossible=setting)
    said = notice(plan, rows_of(plan))
    assert said.detail is not None
    assert f"Values of total with a sign that no value has: 1 ({sums})." in said.detail
    assert f"Values of mean that are of a released count of nobody: 1 ({means})." in said.detail


@pytest.mark.parametrize(
    "call", ["var_pop(x)", "stddev(x)", "corr(x, y)", "regr_slope(x, y)", "geometric_mean(greatest(y, 1))"]
)
def test_moments_of_nobody_are_marked_as_averages_are(engine: Engine, call: str):
    sql = f"SELECT k, {call} AS moment FROM t GROUP BY k"
    plan = planned(engine, sql, epsilon="1", impossible="null")
    possible = plan.outputs[1].possible
    assert possible is not None
    assert possible.count is not None
    rows = [(key, 37.25, *[count] * (possible.count - 1)) for key, count in (("a", -1), ("b", 90))]
    assert presented(plan, rows, [row[:2] for row in rows]) == [("a", None), ("b", 37.25)]


def test_sums_of_both_signs_can_be_anything(engine: Engine):
    assert planned(engine, "SELECT sum(x - 50) FROM t", epsilon="1").outputs[0].possible is None


def test_digits_that_say_nothing_are_dropped(engine: Engine):
    plan = planned(engine, "SELECT k, sum(x), avg(x) FROM t GROUP BY k", epsilon="1", round="significant")
    outputs = [replace(plan.outputs[0]), *(replace(o, accuracy=Accuracy(half=h)) for o, h in zip(
        plan.outputs[1:], (898_720.0, 0.0123), strict=True))]  # fmt: skip
    plan = replace(plan, outputs=tuple(outputs))
    rows = [("a", 4_804_714, 36.9112041884817), ("b", None, None)]
    assert presented(plan, rows, rows) == [("a", 4_800_000, 36.911), ("b", None, None)]
    decimals = [("a", Decimal("4804714.93"), 1.0)]
    assert str(presented(plan, decimals, decimals)[0][1]) == "4800000"


@pytest.mark.parametrize(
    ("asked", "half", "said"),
    [
        ("sum(x)", 1_000.0, "±1050"),
        ("sum(x)", 898_720.0, "±904000"),
        ("sum(x)", 12.0, "±12"),
        ("avg(x)", 0.5, "±0.505"),
    ],
)
def test_half_widths_hold_around_what_is_rounded(engine: Engine, asked: str, half: float, said: str):
    """The interval around what is shown holds that around the draw; it is a twentieth wider at most."""
    plan = planned(engine, f"SELECT k, {asked} AS s FROM t GROUP BY k", epsilon="1", round="significant")
    noisy = replace(plan.outputs[1], accuracy=Accuracy(half=half), possible=None)
    plan = replace(plan, outputs=(plan.outputs[0], noisy))
    drawn = [("a", value if asked == "sum(x)" else value / 1000) for value in range(4_000_000, 4_000_200, 7)]
    notice = accuracy_notice(plan, drawn, drawn)
    assert notice is not None
    assert said in notice.message
    [found] = measured(plan, drawn, drawn)
    wider = found.halves[2] + 1e-9
    for (_, value), (_, shown) in zip(drawn, presented(plan, drawn, drawn), strict=True):
        assert abs(float(str(shown)) - value) + half <= wider
    assert found.halves[2] <= 1.05 * half


def test_figures_are_rounded_up():
    assert [figure(v) for v in (0.0, 41, 58.21, 898_720.4, 0.012341, 1e-7)] == [
        "0", "41", "58.3", "899000", "0.0124", "0.0000001",
    ]  # fmt: skip
