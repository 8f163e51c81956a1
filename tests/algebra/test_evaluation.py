"""What is computed of released numbers beside an answer is what the engine computes of them."""

import numpy as np
import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.evaluation import evaluate
from dpproxy.analysis import duck
from tests.empty import empty
from tests.golden.world import World, build, plan_of

COLUMNS = {
    "a": np.array([1.0, -2.5, 0.0, 1e300, 7.0]),
    "b": np.array([3.0, -0.5, 0.0, 1e9, 0.25]),
}
A, B, ONE = nodes.ColumnRef("a"), nodes.ColumnRef("b"), duck.double(1.0)
EXPRESSIONS = (
    duck.call("least", A, nodes.Null(), B),
    duck.call("greatest", duck.binary("-", A, B), duck.double(-3.0)),
    duck.case([(nodes.Binary(">", B, ONE), duck.binary("/", A, B)), (nodes.Binary("=", A, B), ONE)], None),
    duck.case([(nodes.And((nodes.Binary(">=", A, ONE), nodes.Binary(">", B, A))), A)], B),
    duck.call("sqrt", duck.call("abs", nodes.Negative(A))),
    duck.call("exp", duck.call("least", A, ONE)),
    duck.call("pow", B, duck.double(2.0)),
    nodes.Let("l", (duck.binary("+", A, B), ONE), duck.binary("*", nodes.Local("l", 0), nodes.Local("l", 1))),
    duck.binary("-", duck.cast(A, "DOUBLE"), nodes.Case(((nodes.Binary(">", A, ONE), A),))),
)


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=duck.text)
def test_values_are_those_of_the_engine(expression: nodes.Expr):
    text = f"SELECT ({duck.text(expression)})::DOUBLE FROM (SELECT unnest($1) AS a, unnest($2) AS b)"
    with empty() as engine:
        found = engine.execute(text, [each.tolist() for each in COLUMNS.values()]).fetchall()
    expected = [np.nan if value is None else value for (value,) in found]
    np.testing.assert_allclose(evaluate(expression, COLUMNS), expected, rtol=1e-12)


WRITTEN = (
    "avg(x)",
    "var_samp(x)",
    "stddev_pop(x)",
    "covar_samp(y, x)",
    "corr(y, x)",
    "regr_r2(y, x)",
    "regr_intercept(y, x)",
    "geometric_mean(x + 1)",
)


@pytest.fixture(scope="module")
def world() -> World:
    bounds = [
        f"ALTER TABLE t ALTER COLUMN {name} SET PRIVACY DOMAIN BETWEEN 0 AND {most}"
        for name, most in (("x", 100), ("y", 9))
    ]
    table = "CREATE TABLE t (id INTEGER, x INTEGER, y INTEGER)"
    return build((table, "ALTER TABLE t SET PRIVACY KEY (id)", *bounds))


@pytest.mark.parametrize("count", [-5, 3, 300, 20_000])
@pytest.mark.parametrize("written", WRITTEN)
def test_the_half_width_of_a_row_holds_its_bounds_and_is_no_farther(world: World, written: str, count: int):
    plan = plan_of(world, f"SELECT {written} FROM t", {"dp.epsilon": "1", "dp.intervals": "columns"})
    accuracy, [part] = plan.outputs[0].accuracy, plan.parts
    assert accuracy is not None
    assert accuracy.far is not None
    drawn = ", ".join(f"{count if n == 0 else count * 3 + n}::HUGEINT AS m{n}" for n in range(part.measures))
    with empty() as engine:
        [row] = engine.execute(f"WITH r0 AS (SELECT {drawn}) {plan.answer}").fetchall()
    columns = {f"c{i}": np.array([float(value)]) for i, value in enumerate(row)}
    value, low, high = map(float, row[:3])
    assert evaluate(accuracy.far, columns)[0] == pytest.approx(max(high - value, value - low), rel=1e-9)
