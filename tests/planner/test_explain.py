import json
from fractions import Fraction

import pytest

from dpproxy.planner.explain import explain_json, explain_text, split_explain
from dpproxy.values.errors import Unsupported
from tests.golden.world import World, plan_of

CONFIDENCE = Fraction(95, 100)


@pytest.mark.parametrize(
    ("sql", "as_json"),
    [
        ("EXPLAIN (PRIVACY) SELECT 1", False),
        ("explain ( privacy ,format JSON ) SELECT 1", True),
        ("  EXPLAIN (PRIVACY, FORMAT text)SELECT 1", False),
        ("EXPLAIN SELECT 1", False),
        ("explain\nSELECT 1", False),
        ("EXPLAIN VERBOSE SELECT 1", False),
        ("EXPLAIN (FORMAT text) SELECT 1", False),
        ("EXPLAIN (costs off) SELECT 1", False),
        ("EXPLAIN (VERBOSE)SELECT 1", False),
        ("EXPLAIN (ANALYZE FALSE, COSTS off) SELECT 1", False),
        ("EXPLAIN (FORMAT JSON, VERBOSE, PRIVACY) SELECT 1", True),
    ],
)
def test_positions_stay_where_they_were(sql: str, as_json: bool):  # noqa: FBT001
    found = split_explain(sql)
    assert found is not None
    assert found.as_json is as_json
    assert len(found.sql) == len(sql)
    assert found.sql.index("SELECT") == sql.index("SELECT")
    assert not found.sql[: sql.index("SELECT")].strip()


@pytest.mark.parametrize(
    ("sql", "several", "budget"),
    [
        ("EXPLAIN (PRIVACY) (SELECT 1; SELECT ';' ;)", ["SELECT 1", "SELECT ';'"], None),
        ("EXPLAIN (PRIVACY, FORMAT JSON, BUDGET 2.5) (SELECT 1);", ["SELECT 1"], Fraction(5, 2)),
        ("EXPLAIN (PRIVACY) (SELECT 1)", [], None),
        ("EXPLAIN (PRIVACY) (SELECT 1);", [], None),
        ("EXPLAIN (PRIVACY) (SELECT 1) UNION (SELECT 2)", [], None),
        (
            "EXPLAIN (PRIVACY) (SELECT (1); /* ; */ SELECT (2) -- ;\n)",
            ["SELECT (1)", "/* ; */ SELECT (2) -- ;"],
            None,
        ),
    ],
)
def test_several_statements_stand_in_parentheses(sql: str, several: list[str], budget: Fraction | None):
    found = split_explain(sql)
    assert found is not None
    assert [text.strip() for text in found.several] == several
    assert found.budget == budget
    assert all(sql.startswith(text.strip(), len(text) - len(text.lstrip())) for text in found.several)


def test_other_statements_are_left_alone():
    assert split_explain("SELECT 'EXPLAIN (PRIVACY)'") is None
    assert split_explain("EXPLAINER") is None


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE, PRIVACY) SELECT 1",
        "EXPLAIN (FORMAT JSON) SELECT 1",
        "EXPLAIN (COSTS off, ANALYZE) SELECT 1",
        "EXPLAIN (PRIVACY, ANALYZE true) SELECT 1",
        "EXPLAIN (PRIVACY, BUDGET x) (SELECT 1)",
        "EXPLAIN (PRIVACY, BUDGET 1.2.3) (SELECT 1)",
        "EXPLAIN (BUDGET 2) (SELECT 1)",
        "EXPLAIN (PRIVACY FORMAT JSON) SELECT 1",
        "EXPLAIN (PRIVACY",
        "EXPLAIN (",
        "EXPLAIN VERBOSED SELECT 1",
        "EXPLAIN DELETE FROM t",
        "EXPLAIN SELECTED",
        "EXPLAIN",
    ],
)
def test_other_explains_are_refused(sql: str):
    with pytest.raises(Unsupported) as error:
        split_explain(sql)
    assert "EXPLAIN (PRIVACY)" in str(error.value.hint)


@pytest.mark.parametrize(
    ("sql", "verbose"),
    [
        ("EXPLAIN (PRIVACY) SELECT 1", False),
        ("EXPLAIN (PRIVACY, VERBOSE) SELECT 1", True),
        ("EXPLAIN (VERBOSE on) SELECT 1", True),
        ("EXPLAIN (VERBOSE off) SELECT 1", False),
        ("EXPLAIN VERBOSE SELECT 1", True),
    ],
)
def test_what_is_run_is_shown_where_it_is_asked_for(sql: str, verbose: bool):  # noqa: FBT001
    found = split_explain(sql)
    assert found is not None
    assert found.verbose is verbose


def test_the_text_says_price_unit_noise_and_error(world: World):
    plan = plan_of(world, "SELECT ward, count(*) AS n, avg(hours) FROM visits GROUP BY ward")
    lines = explain_text(plan, CONFIDENCE)
    bounds = lines.index(next(line for line in lines if line.startswith("Bounds: ")))
    named = lines[bounds : bounds + 3]
    del lines[bounds : bounds + 3]
    assert " ".join(map(str.strip, named)) == (
        "Bounds: rows of visits beyond 6 of one patient are left out; groups beyond 2 of one patient are left out "
        "where rows are grouped; rows of visits without patient count for nobody; hours is moved into 0 to 24"
    )
    assert lines[:6] == [
        "Price: epsilon 0.1",
        "Privacy unit: one patient of visits, at most 6 rows",
        "Pays: budget lab, ceiling of people",
        "Mechanism: joint staircase, 3 measures in one draw, at epsilon 0.016666666 for each of 6",
        "  contributions of a unit (least predicted error: laplace 2.7 times the variance)",
        "Keys: 3 declared, all released",
    ]
    assert lines[6] == "  ward: a key, or computed from keys and released values"
    assert lines[7].startswith("  n: count(*), sensitivity 6, noise sd ")
    assert ", 95 % half-width " in lines[7]
    assert lines[8].startswith("  avg: avg(hours), sensitivity (72, 6), 95 % half-width about ")
    assert len(lines) == 9


def test_the_stages_are_those_that_are_run(world: World):
    plan = plan_of(world, "SELECT ward, count(*) AS n, avg(hours) FROM visits GROUP BY ward")
    [part] = plan.parts
    short, whole = explain_text(plan, CONFIDENCE), explain_text(plan, CONFIDENCE, verbose=True)
    assert whole[: len(short)] == short
    stages = " ".join(" ".join(whole[len(short) :]).split())
    listed = [
        "Exact stage (stays inside):",
        part.exact,
        "Release stage:",
        part.release,
        "Answer stage:",
        plan.answer,
    ]
    assert stages == " ".join(" ".join(listed).split())
    assert max(map(len, whole)) <= 100


def test_arithmetic_of_released_values_has_an_error(world: World):
    plan = plan_of(world, "SELECT 2 * count(*) AS a, avg(age) - 3 AS b, ln(count(*) + 1) AS c FROM people")
    half = plan.outputs[0].accuracy
    assert half is not None
    assert explain_text(plan, CONFIDENCE)[-3:] == [
        f"  a: computed from released values, 95 % half-width {half.half:.6g}",
        "  b: computed from released values, 95 % half-width that differs by row",
        "  c: computed from released values, no interval is proved for it",
    ]


def test_what_is_free_says_so(world: World):
    lines = explain_text(plan_of(world, "SELECT DISTINCT city FROM people"), CONFIDENCE)
    assert lines[0] == "Price: epsilon 0 (free)"
    assert lines[3] == "Mechanism: none, the answer follows from the policy"


@pytest.mark.parametrize("limit", [0, 1])
def test_no_unit_is_named_where_no_row_is_read(world: World, limit: int):
    plan = plan_of(world, f"SELECT 1 FROM people LIMIT {limit}")
    lines = explain_text(plan, CONFIDENCE)
    assert lines[:2] == ["Price: epsilon 0 (free)", "Follows from the policy: rows are not read"]
    assert all(line.strip() for line in lines)
    assert "Answer stage:" not in lines
    assert ("Answer stage:" in explain_text(plan, CONFIDENCE, verbose=True)) is bool(limit)
    assert json.loads(explain_json(plan, CONFIDENCE))["unit"] is None


def test_json_holds_the_same(world: World):
    plan = plan_of(world, "SELECT count(*) AS n, avg(age), count(*) * 2 FROM people", {"dp.epsilon": "0.5"})
    told = json.loads(explain_json(plan, CONFIDENCE))
    assert (told["epsilon"], told["free"], told["keys"], told["confidence"]) == (0.5, False, 1, 0.95)
    [part], [one] = plan.parts, told["parts"]
    assert part.mechanism is not None
    assert (one["mechanism"], one["widths"], one["epsilon"]) == ("staircase", ["50", "1", "1"], 0.5)
    assert (one["contributions"], one["keys"]) == (1, 1)
    assert (one["exact"], one["release"]) == (part.exact, part.release)
    n, mean, twice = told["columns"]
    assert n["name"] == "n"
    assert n["noise_sd"] == pytest.approx(part.mechanism.noise_sd()[1])
    assert n["half_width"] == part.mechanism.half_width(CONFIDENCE)[1]
    assert mean["half_width"] is None
    assert mean["half_width_formula"].startswith("about ")
    assert twice == {"name": "?column?", "type": "int8"}
    assert told["answer"] == plan.answer


def test_bounds_take_a_line_for_all_of_them(world: World):
    """A screen has some 24 lines: of five columns with their bounds each is told."""
    listed = ", ".join(f"percentile_cont(0.{n}) WITHIN GROUP (ORDER BY age) AS p{n}" for n in (1, 3, 5, 7, 9))
    lines = explain_text(
        plan_of(world, f"SELECT {listed} FROM people", {"dp.intervals": "columns"}), CONFIDENCE
    )
    assert lines[-2].startswith("  p1_ci_low, p1_ci_high, p3_ci_low")
    assert lines[-1].endswith("p9_ci_high: keys, or computed from keys and released values")
    assert len(lines) <= 24


def test_several_parts_are_told_one_by_one(world: World):
    plan = plan_of(world, "SELECT ward, max(hours), count(*) FROM visits GROUP BY ward", {"dp.epsilon": "2"})
    lines = explain_text(plan, CONFIDENCE)
    assert [line for line in lines if line.startswith(("Price", "Mechanism", "Keys"))] == [
        "Price: epsilon 2",
        "Mechanism r0: staircase, at epsilon 0.166666666 for each of 6 contributions of a unit (least",
        "Keys r0: 3 declared, all released",
        "Mechanism r1: exponential, quantile 1/1 of 0..24, at epsilon 1",
        "Keys r1: 3 declared, all released",
    ]
    assert [p["epsilon"] for p in json.loads(explain_json(plan, CONFIDENCE))["parts"]] == [1 / 6, 1 / 6]
