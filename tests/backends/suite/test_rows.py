"""Expressions over rows with every extreme: on no engine does one raise, and all give the same values."""

import math
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpproxy.analysis import duck
from dpproxy.analysis.totality import check_total
from dpproxy.backends.source import Source
from dpproxy.errors import Refusal, Unsupported
from tests.analysis.grammar import drawn
from tests.analysis.rows import compiled, connect
from tests.backends.suite.engines import ENGINES, Engine, serving

Reference = duckdb.DuckDBPyConnection
KINDS = "inmtdsb"
"""Of ``grammar.drawn``: all but floating-point numbers, which have a test of their own."""


@pytest.fixture(params=[e for e in ENGINES if not e.prepared], ids=lambda e: e.name, scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    """Nothing is cut here: where rows are cut makes no difference."""
    return request.param


@pytest.fixture(scope="module")
def both(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Source, Reference]]:
    folder = tmp_path_factory.mktemp("rows")
    connect(str(folder / "t.duckdb")).close()
    with serving(engine, folder / "t.duckdb", folder / "served", request) as source, connect() as reference:
        yield source, reference


def statement(text: str) -> str | None:
    """An expression on every row; None where the compiler refuses it."""
    try:
        sql = duck.text(compiled(text).sql)
    except Refusal:
        return None
    sql = f"SELECT {sql} AS v, i AS o FROM t"
    check_total(sql)
    return sql


def values(source: Source, sql: str) -> list[object] | None:
    """By row; None where the engine is not known to compute it alike, which is said before anything runs."""
    try:
        source.check(sql)
    except Unsupported:
        return None
    table = source.run(sql, {}, "rows").value.sort_by("o")
    return [plain(v) for v in table.column("v").to_pylist()]


def plain(value: object) -> object:
    """A value as it counts: nothing tells the two zeros apart, or a whole number from the same as a DOUBLE."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    is_number = not isinstance(value, bool | str) and hasattr(value, "__trunc__")
    if is_number and math.isfinite(value) and value == int(value):  # type: ignore[call-overload,arg-type]
        return int(value)  # type: ignore[call-overload]
    return value


def compare(both: tuple[Source, Reference], text: str) -> bool:
    """Whether it was answered, and then alike."""
    sql = statement(text)
    found = None if sql is None else values(both[0], sql)
    if found is None:
        return False
    wanted = [plain(v) for (v, _) in both[1].execute(f"{sql} ORDER BY i").fetchall()]
    assert found == wanted, sql
    return True


def check(both: tuple[Source, Reference], kinds: str, examples: int, least: float) -> None:
    answered: list[bool] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(kinds).flatmap(lambda kind: drawn(kind, depth=3)))
    def run(expression: object) -> None:
        answered.append(compare(both, repr(expression)))

    run()
    assert sum(answered) >= least * len(answered), f"{sum(answered)} of {len(answered)} are answered"


def test_expressions_raise_on_no_row_and_agree(engine: Engine, both: tuple[Source, Reference]):
    check(both, KINDS, engine.examples, engine.share)


def test_floating_point_expressions_raise_on_no_row_and_agree(engine: Engine, both: tuple[Source, Reference]):
    check(both, "f", engine.examples, engine.floats)


@pytest.mark.parametrize(
    "text",
    [
        "unit8 / nullif(real4, 0)",
        "real4 * unit8",
        "real4 * 1e-300::float8",
        "unit8 / 1e300::float8",
        "round(real4 * 0.1, 2)",
        "round(unit8)",
        "sqrt(real4)",
        "ln(abs(real4))",
        "power(unit8, 3)",
        "exp(unit8)",
        "real4 + unit8 - 0.5::float8",
        "CAST(real4 AS int)",
        "lower(name) || upper(name)",
        "name < 'b'",
        "greatest(name, 'B')",
        "name ILIKE '%Å%'",
        "date_trunc('week', seen)",
        "extract(epoch FROM seen)",
        "big / -7",
        "big % 5",
        "wide + huge",
        "price * rate",
    ],
)
def test_what_is_hard_in_one_engine_agrees(both: tuple[Source, Reference], text: str):
    assert compare(both, text)
