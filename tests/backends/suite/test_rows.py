"""Expressions over rows with every extreme: on no engine does one raise, and all give the same values."""

import math
from collections.abc import Callable, Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpproxy.algebra.nodes import Query, Select, Table
from dpproxy.analysis import duck
from dpproxy.analysis.totality import check_total
from dpproxy.backends.source import Source
from dpproxy.values.errors import Refusal, Unsupported
from tests.analysis.grammar import drawn
from tests.analysis.rows import compiled, connect
from tests.backends.suite.engines import ENGINES, Engine, serving

Reference = duckdb.DuckDBPyConnection
KINDS, FLOATS = "inmtdsb", "f"
"""Of ``grammar.drawn``."""
ASKED = 150
"""Expressions of which an engine answers its share."""


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
    served = serving(engine, folder / "t.duckdb", folder / "served", request)
    with served as source, connect(":memory:") as reference:  # its own: it is made to fit
        engine.fit(reference)
        yield source, reference


def statement(text: str) -> Query | None:
    """An expression on every row; None where the compiler refuses it."""
    try:
        value = compiled(text).sql
    except Refusal:
        return None
    query = Select((duck.named(value, "v"), duck.named(duck.column("i"), "o")), Table("t"))
    check_total(query)
    return query


def is_answered(source: Source, query: Query) -> bool:
    """Whether the engine is known to compute it alike, which is said before anything runs."""
    try:
        source.check(query, ())
    except Unsupported:
        return False
    return True


def values(source: Source, query: Query) -> list[object]:
    """By row."""
    table = source.run(query, {}, "rows").value.sort_by("o")
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
    query = statement(text)
    if query is None or not is_answered(both[0], query):
        return False
    sql = duck.text(query)
    wanted = [plain(v) for (v, _) in both[1].execute(f"{sql} ORDER BY i").fetchall()]
    found = values(both[0], query)
    assert all(same(*pair) for pair in zip(found, wanted, strict=True)), (sql, found, wanted)
    return True


def same(found: object, wanted: object) -> bool:
    """Equal. Of over 64 bits a whole number becomes a DOUBLE in two steps in DuckDB: it may miss the nearest by one."""
    if isinstance(found, int) and isinstance(wanted, int) and min(abs(found), abs(wanted)) > 2**64:
        return math.isclose(found, wanted, rel_tol=1e-15)
    return found == wanted


def over(kinds: str, examples: int, check: Callable[[str], object]) -> None:
    """The same expressions in every run of the same tests."""

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(kinds).flatmap(lambda kind: drawn(kind, depth=3)))
    def run(expression: object) -> None:
        check(repr(expression))

    run()


@pytest.mark.parametrize("kinds", [KINDS, FLOATS])
def test_expressions_raise_on_no_row_and_agree(engine: Engine, both: tuple[Source, Reference], kinds: str):
    over(kinds, engine.examples, lambda text: compare(both, text))


@pytest.mark.parametrize("kinds", [KINDS, FLOATS])
def test_most_expressions_are_answered(engine: Engine, both: tuple[Source, Reference], kinds: str):
    asked: list[bool] = []

    def check(text: str) -> None:
        query = statement(text)
        asked.append(query is not None and is_answered(both[0], query))

    over(kinds, ASKED, check)
    least = engine.share if kinds == KINDS else engine.floats
    assert sum(asked) >= least * len(asked), f"{sum(asked)} of {len(asked)} are answered"


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
        "concat(name, age, flag)",
        "CAST(big AS varchar(3))",
        "name LIKE upper('a%')",
        "name < 'b'",
        "greatest(name, 'B')",
        "name ILIKE '%Å%'",
        "date_trunc('week', seen)",
        "extract(epoch FROM seen)",
        "big / -7",
        "big % 5",
        "1 - price / nullif(age, 0) >= 0.1",
        "abs(-price / 0.7) IN (10, 20)",
        "width_bucket(price / 7.0, 0, 100, 30)",
        "width_bucket(real4, 0, 1, 7)",
        "round(age / 3.0, 2)",
        "floor(2 - price / 0.7)",
        "wide + huge",
        "coalesce(born, NULL) IN (nullif(born, (born + 30)), '2000-02-29'::date)",
        "born IN (nullif(born, (born + 30)))",
        "price * rate",
    ],
)
def test_what_is_hard_in_one_engine_agrees(both: tuple[Source, Reference], text: str):
    assert compare(both, text)
