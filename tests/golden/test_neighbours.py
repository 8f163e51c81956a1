"""Random tables, random accepted statements: no unit moves the exact stage further than the loss pays for."""

import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.values.errors import Refusal
from tests.golden.neighbours import boxes, furthest, owners, without_each_unit
from tests.golden.world import Row, Tables, World, build, plan_of

COLUMNS = (
    "i INTEGER, n INTEGER NOT NULL, b BIGINT, d DECIMAL(6,2), w DECIMAL(20,2), f DOUBLE, r REAL, "
    "c VARCHAR, t BOOLEAN, y DATE"
)
DOMAINS = {
    "i": "BETWEEN -3 AND 4",
    "n": "BETWEEN 1000 AND 1010",
    "b": "BETWEEN 1000000 AND 1000003 OUTSIDE NULL",
    "d": "BETWEEN -0.55 AND 99.99",
    "w": "BETWEEN 0 AND 12345678901234567.89",
    "f": "BETWEEN -1.5 AND 1e3",
    "r": "BETWEEN 0.1 AND 7 OUTSIDE NULL",
    "c": "IN ('a', 'B', NULL, '')",
    "t": "IN (true, false)",
    "y": "BETWEEN DATE '2020-01-01' AND DATE '2020-01-03'",
}
KEYS = ("i", "c", "t", "y")
SPREADS = ("variance", "var_pop", "stddev", "stddev_pop")
PAIRS = (
    "covar_samp",
    "corr",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_count",
    "regr_avgx",
    "regr_avgy",
)
NUMBERS = ("i", "n", "b", "d", "w", "f", "r")
UNITS = (
    "ROW",
    "(u)",
    "(u) MAX ROWS 2",
    "(u) MAX ROWS 3 MAX GROUPS 1",
    "(u) MAX ROWS 4 MAX GROUPS 2",
    "(u) MAX ROWS 7",
    "(u) REFERENCES people (id) MAX ROWS 2",
    "(u) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 3",
)


@cache
def world_of(unit: str) -> World:
    owner = ("CREATE TABLE people (id INTEGER, c VARCHAR)", "ALTER TABLE people SET PRIVACY KEY (id)")
    domains = [f"ALTER TABLE t ALTER COLUMN {c} SET PRIVACY DOMAIN {d}" for c, d in DOMAINS.items()]
    table = (f"CREATE TABLE t (u INTEGER, {COLUMNS})", f"ALTER TABLE t SET PRIVACY KEY {unit}")
    return build([*owner, *table, *domains])


ids = st.sampled_from([None, 1, 2, 3])
values = st.tuples(
    ids,
    st.sampled_from([None, -(2**31), -3, 0, 1, 4, 5, 2**31 - 1]),
    st.sampled_from([-5, 1000, 1004, 1010, 2**31 - 1]),
    st.sampled_from([None, -(2**63), 0, 1000000, 1000001, 1000003, 2**63 - 1]),
    st.sampled_from(
        [None, Decimal("-9999.99"), Decimal("-0.55"), Decimal("0.10"), Decimal("99.99"), Decimal("9999.99")]
    ),
    st.sampled_from(
        [None, Decimal("0.00"), Decimal("12345678901234567.89"), Decimal("999999999999999999.99")]
    ),
    st.sampled_from([None, math.nan, math.inf, -math.inf, -0.0, 0.1, -1.5, 1e3, 1e308, 5e-324]),
    st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, 0.1, 3.25, 7.0]),
    st.sampled_from([None, "a", "B", "", "b", "a "]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, date(2020, 1, 1), date(2020, 1, 3), date(1, 1, 1), date(2021, 1, 1)]),
)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, list[Row]]:
    """A few rows, some of them several times."""
    found: list[Row] = []
    for row in draw(st.lists(values, max_size=6)):
        found += [row] * draw(st.sampled_from([1, 1, 1, 2, 3]))
    people = draw(st.lists(st.tuples(ids, st.sampled_from(["a", None])), max_size=4))
    return {"t": found, "people": people}


literals = {
    "i": st.sampled_from(["0", "3", "-3"]),
    "n": st.sampled_from(["1004", "0"]),
    "b": st.sampled_from(["1000001", "10"]),
    "d": st.sampled_from(["0.10", "50"]),
    "w": st.sampled_from(["0", "12345678901234567.89"]),
    "f": st.sampled_from(["0.1", "0"]),
    "r": st.sampled_from(["3.25", "1"]),
    "c": st.sampled_from(["'a'", "''"]),
    "t": st.sampled_from(["true"]),
    "y": st.sampled_from(["'2020-01-01'"]),
}


@st.composite
def conditions(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(literals)))
    literal = draw(literals[column])
    forms = ["{0} = {1}", "NOT ({0} = {1})", "{0} IS NULL", "{0} IS NOT NULL", "coalesce({0}, {1}) = {1}",
             "{0} IN ({1})", "{0} BETWEEN {1} AND {1}", "{0} IS DISTINCT FROM {1}",
             "nullif({0}, {1}) IS NULL"]  # fmt: skip
    if column in NUMBERS:
        forms += ["{0} > {1}", "{0} * 2 <= {1}", "abs({0}) < 5", "5 / {0} > 0", "f / {0} < 1", "ln({0}) > 0",
                  "{0} >= f", "sqrt({0}) = {1}", "CAST({0} AS float8) = f"]  # fmt: skip
    if column == "c":
        forms += ["{0} LIKE 'a%'", "lower({0}) = 'b'", "length(c) > 0"]
    return draw(st.sampled_from(forms)).format(column, literal)


@st.composite
def arguments(draw: st.DrawFn) -> str:
    """A number over the columns; some lose their bounds or could overflow, and are refused."""
    column, other = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(NUMBERS))
    forms = ["{0}", "{0}", "({0})", "-{0}", "{0} + 1", "{0} * 2", "{0} - {1}", "{0} + {1}", "{0} * {1}", "abs({0})",
             "CASE WHEN {2} THEN {0} END", "CASE WHEN {2} THEN {0} ELSE {1} END", "coalesce({0}, {1})",
             "least(greatest({0}, 1), 3)", "least(greatest({0} / {1}, -2), 2)", "greatest({0}, {1})",
             "nullif({0}, {1})", "round({0})", "floor({0})", "sign({0})", "CAST({0} AS float8)", "{0} % 3",
             "CAST({0} AS numeric) * 0.5", "least({0}, 2)", "exp(least({0}, 1))"]  # fmt: skip
    return draw(st.sampled_from(forms)).format(column, other, draw(conditions()))


@st.composite
def statements(draw: st.DrawFn, *, ranked: bool = True) -> str:
    """``ranked`` with those that are drawn among values: over no rows, or ties, any of them is answered."""
    calls = st.one_of(
        st.just("count(*)"),
        st.sampled_from([*NUMBERS, *KEYS]).map(lambda c: f"count({c})"),
        arguments().map(lambda a: f"sum({a})"),
        arguments().map(lambda a: f"avg({a})"),
        st.tuples(st.sampled_from(SPREADS), arguments()).map("{0[0]}({0[1]})".format),
        st.tuples(st.sampled_from(PAIRS), arguments(), arguments()).map("{0[0]}({0[1]}, {0[2]})".format),
        st.tuples(st.sampled_from(("bool_and", "bool_or", "every", "count_if")), conditions()).map(
            "{0[0]}({0[1]})".format
        ),
        st.tuples(st.sampled_from(("count", "sum", "avg", *SPREADS)), arguments()).map(
            "{0[0]}(DISTINCT {0[1]})".format
        ),
    )
    if ranked:
        orders = ("median({})", "max({})", "percentile_disc(0.3) WITHIN GROUP (ORDER BY {})")
        calls = st.one_of(
            calls,
            st.sampled_from((*KEYS, "length(c)", "i % 3")).map("mode() WITHIN GROUP (ORDER BY {})".format),
            st.tuples(st.sampled_from(orders), arguments()).map(lambda made: made[0].format(made[1])),
        )
    calls = st.one_of(calls, st.tuples(calls, conditions()).map("{0[0]} FILTER (WHERE {0[1]})".format))
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    listed = [*keys, *draw(st.lists(calls, min_size=1, max_size=4))]
    where = " AND ".join(draw(st.lists(conditions(), max_size=2)))
    parts = [f"SELECT {', '.join(listed)} FROM t", f"WHERE {where}" if where else ""]
    return " ".join([*parts, f"GROUP BY {', '.join(keys)}" if keys else ""])


@pytest.fixture(scope="module", params=UNITS)
def filled(request: pytest.FixtureRequest) -> Iterator[tuple[World, Tables]]:
    world = world_of(request.param)
    tables = Tables(world)
    yield world, tables
    tables.close()


@settings(max_examples=min(settings.default.max_examples, 100))  # of each kind of unit
@given(sql=statements(), data=rows(), epsilon=st.sampled_from(["0.1", "3", "50"]))
def test_no_unit_moves_the_answer_further_than_it_pays(
    filled: tuple[World, Tables], sql: str, data: dict[str, list[Row]], epsilon: str
):
    world, tables = filled
    try:
        plan = plan_of(world, sql, {"dp.epsilon": epsilon})
    except Refusal as refusal:
        assert refusal.sqlstate != "XX000", refusal.message  # noqa: PT017 - all others are fine
        return
    furthest(replace(world, rows=data), plan, tables)


CHAIN = (
    "CREATE TABLE people (id INTEGER)",
    "CREATE TABLE visits (no INTEGER, person INTEGER)",
    "CREATE TABLE items (visit BIGINT, what VARCHAR)",
    "CREATE TABLE towns (id INTEGER)",
    "INSERT INTO people VALUES (1), (2), (2), (3), (NULL)",
    "INSERT INTO visits VALUES (10, 1), (11, 2), (11, 1), (12, 9), (13, NULL), (NULL, 3), (11, 2)",
    "INSERT INTO items VALUES (10, 'a'), (11, 'b'), (12, 'c'), (13, 'd'), (NULL, 'e'), (14, 'f')",
    "INSERT INTO towns VALUES (1)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 9",
    "ALTER TABLE items SET PRIVACY KEY (visit) REFERENCES visits (no) MAX ROWS 9",
    "ALTER TABLE towns SET PRIVACY PUBLIC",
)


def test_units_are_found_through_references():
    found = {name: [set(u) for u in units] for name, units in owners(build(CHAIN), "people").items()}
    assert found == {
        "people": [{1}, {2}, {2}, {3}, set()],
        "visits": [{1}, {2}, {1}, set(), set(), {3}, {2}],
        "items": [{1}, {1, 2}, set(), set(), set(), set()],
    }


def test_a_row_of_several_owners_stays_with_the_others():
    nobody, first, second, third = [rows for _, rows in without_each_unit(build(CHAIN), "people")]
    assert [what for _, what in nobody["items"]] == ["a", "b"]
    assert len(nobody["people"]) == 4
    assert [what for _, what in first["items"]] == ["b", "c", "d", "e", "f"]
    assert first["visits"] == [(11, 2), (12, 9), (13, None), (None, 3), (11, 2)]
    assert [what for _, what in second["items"]] == ["a", "b", "c", "d", "e", "f"]
    assert second["people"] == [(1,), (3,), (None,)]
    assert (None, 3) not in third["visits"]
    assert all(rows["towns"] == [(1,)] for rows in (nobody, first, second, third))


def test_a_shift_is_measured_in_boxes():
    [part] = plan_of(world_of("(u) MAX ROWS 7"), "SELECT t, count(*), sum(i) FROM t GROUP BY t").parts
    assert part.mechanism is not None
    assert part.mechanism.widths == (1, 4)
    before = {(True,): (5, 0), (False,): (0, 0)}
    assert boxes(part, before, before) == 0
    assert boxes(part, before, {(True,): (4, 4), (False,): (0, 0)}) == 1
    assert boxes(part, before, {(True,): (4, 5), (False,): (0, 0)}) == 2
    assert boxes(part, before, {(True,): (4, 4), (False,): (2, 0)}) == 3
