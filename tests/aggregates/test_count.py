from fractions import Fraction

from sqlglot import exp

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.table import private
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.values.pgtypes import INT4, INT8
from tests.aggregates.conftest import Calls, filled, measured, rows_of

NOISE = Noise((2.5,), lambda confidence: (3 if confidence < 1 else 9,), rows=4)


def test_one_measure_of_width_1(calls: Calls):
    for text, sql in [
        ("count(*)", "COUNT(*)"),
        ("count(1)", "COUNT(*)"),
        ("count(small)", "COUNT(*)"),
        ("count(NULL)", "COUNT(NULL)"),
    ]:
        (found,) = calls(text)
        assert [(duck.text(m.sql), m.width) for m in found.measures] == [(sql, 1)]


def test_a_clamped_column_is_counted_raw_a_mapped_one_is_not(calls: Calls):
    clamped, mapped, member = calls("count(age), count(big), count(city)")
    assert duck.text(clamped.measures[0].sql) == 'COUNT("age")'
    assert "CASE" in duck.text(mapped.measures[0].sql)
    assert "CASE" in duck.text(member.measures[0].sql)


def test_distinct_values_move_by_1_with_a_row(calls: Calls):
    measures = [
        call.measures[0]
        for call in calls("count(DISTINCT age), count(DISTINCT city), count(DISTINCT smokes)")
    ]
    rows = rows_of(age=(None, 3, 200), city=(None, "a", "x"), smokes=(True, None))
    with filled([*rows, *rows]) as connection:
        before = measured(connection, measures)[0]
        assert before == (2, 1, 1)
        for row in range(len(rows)):
            assert measured(connection, measures, f"rowid <> {row}")[0] == before
    with filled(rows_of(age=(1, 2), city=("a",), smokes=(True,))) as connection:
        moved = zip(
            measured(connection, measures)[0], measured(connection, measures, "rowid = 0")[0], strict=True
        )
        assert [a - b for a, b in moved] == [1, 0, 0]


def test_only_the_key_itself_moves_by_1_with_a_unit():
    """What is computed from it may hold several values of one unit."""
    key = Typed(duck.column("id"), INT4, nullable=False, is_unit=True)
    other = Typed(duck.column("x"), INT4)

    def leaf(node: exp.Expr) -> Typed | None:
        return {"id": key, "x": other}.get(node.name) if type(node) is exp.Column else None

    def width(text: str) -> int | None:
        (node,) = parse(f"SELECT {text}").expressions
        scope = Scope(ExpressionLevel.ROW, leaf, Parameters())
        return private(node, scope).measures[0].unit_width

    assert width("count(DISTINCT id)") == width("count(DISTINCT (id))") == 1
    assert width("count(DISTINCT id) FILTER (WHERE x > 3)") == 1
    for text in ("count(DISTINCT x)", "count(DISTINCT coalesce(x, id))", "count(DISTINCT nullif(id, x))", "count(id)",
                 "count(DISTINCT CASE WHEN x > 1 THEN id ELSE x END)"):  # fmt: skip
        assert width(text) is None


def test_conditions_are_counted_where_they_are_true(calls: Calls):
    (found,) = calls("count_if(age > 3)")
    with filled(rows_of(age=(None, 3, 4, 5))) as connection:
        assert measured(connection, found.measures) == [(2,)]


def test_value_noise_and_interval(calls: Calls):
    (count,) = calls("count(*)")
    value = count.value([duck.column("m0")])
    assert (value.type, value.scale, value.nullable) == (INT8, 0, False)
    assert duck.text(count.noise_sd([], NOISE)) == "2.5e0"
    low, high = count.interval([duck.column("m0")], NOISE, Fraction(1, 2))
    assert duck.text(low) == 'GREATEST((CAST("m0" AS DOUBLE) - 3.0e0), 0.0e0)'
    assert duck.text(high) == 'GREATEST((CAST("m0" AS DOUBLE) + 3.0e0), 0.0e0)'
    error = count.error(NOISE, Fraction(1, 2))
    assert (error.sensitivity, error.noise_sd, error.half_width, error.formula) == ("4", 2.5, 3.0, None)


def test_a_key_passes_no_rule_as_a_key():
    key = Typed(duck.column("id"), INT4, nullable=False, is_unit=True)
    scope = Scope(ExpressionLevel.ROW, lambda node: key if type(node) is exp.Column else None, Parameters())

    def compiled(text: str) -> Typed:
        return compile_expression(parse(f"SELECT {text}").expressions[0], scope)

    assert compiled("id").is_unit
    assert compiled("((id))").is_unit
    for text in (
        "coalesce(id, 3)",
        "nullif(id, 3)",
        "-id",
        "abs(id)",
        "CASE WHEN id > 3 THEN id END",
        "greatest(id, 4)",
    ):
        assert not compiled(text).is_unit
