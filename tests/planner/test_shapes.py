"""What is planned of a statement's shape is what would have been planned of the statement."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.algebra.nodes import Looked
from dpproxy.algebra.plan import Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.analysis.unseen import Class
from dpproxy.planner.accept import parse
from dpproxy.planner.reuse import normal_form as canonical
from dpproxy.planner.shapes import (
    LONGEST,
    MOST_PLACES,
    Template,
    bound_template,
    class_of,
    cut,
    exact_values,
    open_parameters,
    open_places,
    template,
)
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import BOOL, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMP, SqlType
from dpproxy.values.recent import Recent
from tests.golden.world import World, build, plan_of, plan_tree
from tests.planner.conftest import HEADER

WORDS = {
    "small": ["0", "3", "17", "240", "999"],
    "any": ["0", "1", "5", "50", "101", "4999", "123456", "999999999"],
    "decimal": ["0.5", "2.25", "100.75", "4999.5", "0.125", "2.50", "1.0", "123456789.123456789"],
}
COMPARED = {
    "age": ("any",), "pay": ("any", "decimal"), "height": ("any", "decimal"),
}  # fmt: skip
OPERATORS = ["<", "<=", ">", ">=", "=", "<>", "!="]
SELECTED = [
    ("count(*)", ""),
    ("city, count(*)", " GROUP BY city"),
    ("city, avg({other}), count(*)", " GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),
    ("sum({other}) AS s, count({other})", ""),
    ("{own}, count(*)", " GROUP BY {own}"),
    ("sum({own})", ""),
    ("avg({own}), median({own}), count(DISTINCT {own})", ""),
    ("city, max({own}) AS m, stddev({own})", " GROUP BY city ORDER BY m LIMIT 2"),
    ("floor({own} / 10) AS f, count(*)", " GROUP BY 1"),
    ("count(*)", " HAVING sum({own}) > 10"),
    ("sum(CASE WHEN {own} > 20 THEN {other} ELSE 0 END)", ""),
    ("count(*) FILTER (WHERE {own} > 2)", ""),
    ("median({other})", ""),
    ("count(*)", " HAVING count(*) > 10"),
    ("count(*) + 2", ""),
    ("count(*)", " AND city IN ('Oslo', 'Rome')"),
    ("count(*)", " AND city = '7'"),
    ("count(*)", " OR {other} < 4"),
    ("count(*)", " AND {own} + 1 < 90"),
]
CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=[False, True], ids=["cut by each statement", "prepared"])
def world(request: pytest.FixtureRequest) -> World:
    return replace(build(HEADER), prepared=request.param)


Shape = tuple[Template, tuple[int, ...]]
"""A template, and the places of the numbers that are open in it."""


def made(world: World, sql: str) -> Shape | None:
    """The template of a statement's shape, without the places that planning looks at; None where none is left."""
    found, tree = cut(sql), parse(sql)
    places = () if found is None else open_places(tree, found)
    while found is not None and places:
        try:
            shape = template(tree, found, places, plan_of(world, sql), partial(plan_tree, world))
        except Looked as look:
            seen = list(found.opened(places))[look.place]
            places = tuple(place for place in places if found.constants[place] != seen)
        except Refusal:
            return None
        else:
            return None if shape is None else (shape, places)
    return None


def put(shape: Shape, sql: str) -> Plan | None:
    """The plan of another statement of the shape; None where it does not hold for its texts."""
    found = cut(sql)
    assert found is not None
    made, places = shape
    values = found.values(places)
    return made.with_(values) if made.fits(values) else None


JOINED = [
    "SELECT count(*) FROM people p JOIN visits v ON p.id = v.patient WHERE p.age {} AND v.hours {}",
    "SELECT ward, avg(pay) FROM visits v LEFT JOIN people p ON id = v.patient WHERE p.pay {} AND hours {} GROUP BY 1",
    "SELECT c.city, count(*) FROM people p JOIN cities c ON p.city = c.city WHERE c.size {} AND p.age {} GROUP BY 1",
    "SELECT count(*) FROM people p JOIN cities c ON p.age = c.size WHERE c.size {} AND p.pay {}",
    "SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.patient WHERE a.hours {} AND b.hours {}",
    "SELECT p.age, sum(hours) FROM visits v JOIN people p ON p.id = v.patient WHERE v.hours {} AND p.age {} GROUP BY 1",
    "SELECT count(*) FROM people p RIGHT JOIN visits v ON p.id = v.patient AND p.age > 9 WHERE v.hours {} AND p.age {}",
]
SIMPLE = ("= {}", "< {}", "<= {}", "> {}", ">= {}", "<> {}", "BETWEEN {} AND 999")


@st.composite
def joined(draw: st.DrawFn) -> tuple[str, str]:
    """Two statements about several tables, of one shape."""
    shape = draw(st.sampled_from(JOINED)).format(*(draw(st.sampled_from(SIMPLE)) for _ in range(2)))
    first, second = (shape.format(*(draw(st.sampled_from(WORDS["any"])) for _ in range(2))) for _ in range(2))
    return first, second


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two statements of one shape."""
    names = draw(st.lists(st.sampled_from(sorted(COMPARED)), min_size=1, max_size=3))
    other = next((name for name in COMPARED if name not in names), "height")
    selected, behind = (part.format(own=names[0], other=other) for part in draw(st.sampled_from(SELECTED)))
    conditions = []
    for number, name in enumerate(names):
        kind = draw(st.sampled_from(COMPARED[name]))
        sides = draw(st.permutations([name, f"{{{number}}}"]))
        compared = f"{sides[0]} {draw(st.sampled_from(OPERATORS))} {sides[1]}"
        conditions.append((draw(st.sampled_from([compared, f"{name} BETWEEN {{{number}}} AND 999"])), kind))
    text = f"SELECT {selected} FROM people WHERE {' AND '.join(c for c, _ in conditions)}{behind}"

    def numbers() -> list[str]:
        return [draw(st.sampled_from(WORDS[kind])) for _, kind in conditions]

    return text.format(*numbers()), text.format(*numbers())


@CALM
@given(statements=st.one_of(pairs(), joined()))
def test_a_plan_with_numbers_put_in_is_the_plan_of_the_statement(world: World, statements: tuple[str, str]):
    first, second = statements
    a, b = cut(first), cut(second)
    assert a is not None
    assert b is not None
    shape = made(world, first)
    if shape is None or (a.shape, a.fixed(shape[1])) != (b.shape, b.fixed(shape[1])):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonical, "_STAGES", Recent(16))
        found = put(shape, second)
        if found is None:
            assert plan_of(world, second).notices  # it is planned anew, since something is told of a constant
            return
        forms = [canonical.stage(part.query) for part in found.parts]
        patch.setattr(canonical, "_STAGES", Recent(16))
        assert [canonical.stage(part.query) for part in found.parts] == forms
    assert found == plan_of(world, second)


SLOTS = {
    "T": ["'Oslo'", "'Rome'", "'it''s'", "''", "'2024-01-31'", "'x 7'"],
    "D": ["'2024-01-31'", "'1970-01-01'", "'2024-02-30'", "'2024-01-31 12:00:00'", "'soon'"],
    "M": ["'2024-01-31'", "'2024-01-31 12:30:00'", "'2024-01-31T23:59:59'", "'2024-01-31 24:00:00'"],
    "N": ["3", "17", "50", "2.5"],
}
CONDITIONS = [
    "job = {T}", "{T} <> job", "city = {T}", "city IN ({T}, {T})", "job NOT IN ({T}, {T}, 'x')", "age IN ({N}, {N}, 9)",
    "born >= {D}", "born = DATE {D}", "born < {M}::timestamp", "born BETWEEN {D} AND '2024-06-01'", "seen > {M}",
    "seen >= {D}::date", "seen < TIMESTAMP {M}", "moment > {M}", "NOT age > {N}", "pay > -{N}", "age + 1 > {N}",
    "(age = {N} OR job = {T})", "((age > {N} AND job = {T}) OR (age > {N} AND job = {T}))", "job LIKE {T}",
    "(city, age) = ({T}, {N})", "age > (SELECT {N})", "age IS DISTINCT FROM {N}", "job > {T} AND job <= {T}",
    "EXISTS (SELECT FROM visits v WHERE v.patient = p.id AND hours > {N})", "{N} = age", "job = {T}::text",
    "id IN (SELECT patient FROM visits WHERE hours > {N} AND ward = {T})", "CASE WHEN age > {N} THEN job = {T} END",
]  # fmt: skip
AROUND = [
    "SELECT count(*), avg(pay) FROM people p WHERE {}",
    "SELECT city, count(*) FROM people p WHERE {} GROUP BY city HAVING count(*) > 3 LIMIT 2",
    "SELECT job, sum(age) FROM people p WHERE {} GROUP BY job",
    "SELECT date_trunc('month', born), count(*) FROM people p WHERE {} GROUP BY 1",
    "SELECT city, n FROM (SELECT city, count(*) AS n FROM people p WHERE {} GROUP BY city) s WHERE n > 7",
    "WITH p AS (SELECT * FROM people WHERE age > 5) SELECT count(*), median(age) FROM p WHERE {}",
    "SELECT ward, count(*) FROM visits v JOIN people p ON p.id = v.patient AND {} WHERE hours < 9 GROUP BY ward",
]
PEOPLE = (
    "id INTEGER NOT NULL, age INTEGER, pay DECIMAL(8,2), city VARCHAR, job VARCHAR, born DATE, seen TIMESTAMP"
)
RICH = [
    f"CREATE TABLE people ({PEOPLE}, moment TIMESTAMPTZ)",
    "CREATE TABLE visits (patient INTEGER, ward VARCHAR, hours INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 5000",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome', NULL)",
    "ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '1990-01-01' AND '2024-12-31'",
    "ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN '1990-01-01' AND '2024-12-31'",
    "ALTER TABLE people ALTER COLUMN moment SET PRIVACY DOMAIN BETWEEN '1990-01-01 00:00Z' AND '2024-12-31 00:00Z'",
    "ALTER TABLE people ALTER COLUMN job SET PRIVACY DOMAIN DISCOVERED",
    *HEADER[-4:-1],
]


@pytest.fixture(scope="module", params=[False, True], ids=["cut by each statement", "prepared"])
def rich(request: pytest.FixtureRequest) -> World:
    """With columns of every type that a constant is compared with."""
    return replace(build(RICH), prepared=request.param)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, str]:
    """Two statements that differ in some constants alone, of all kinds."""
    one = st.sampled_from(CONDITIONS)
    text = draw(st.sampled_from(AROUND)).format(" AND ".join(draw(st.lists(one, min_size=1, max_size=3))))
    both = ["", ""]
    for piece in re.split(r"(\{[TDMN]\})", text):
        words = SLOTS.get(piece[1:-1]) if piece.startswith("{") else None
        word = "" if words is None else draw(st.sampled_from(words))
        for at in range(2):
            other = draw(st.sampled_from(words)) if words is not None and at and draw(st.booleans()) else word
            both[at] += piece if words is None else other
    return both[0], both[1]


@CALM
@given(statements=conditions())
def test_a_plan_with_constants_of_any_kind_put_in_is_the_plan_of_the_statement(
    rich: World, statements: tuple[str, str]
):
    first, second = statements
    a, b = cut(first), cut(second)
    shape = None if a is None else made(rich, first)
    if (
        shape is None
        or a is None
        or b is None
        or (a.shape, a.fixed(shape[1])) != (b.shape, b.fixed(shape[1]))
    ):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonical, "_STAGES", Recent(16))
        found = put(shape, second)
        if found is None:
            return
        forms = [canonical.stage(part.query) for part in found.parts]
        patch.setattr(canonical, "_STAGES", Recent(16))
        assert [canonical.stage(part.query) for part in plan_of(rich, second).parts] == forms
    assert found == plan_of(rich, second)


@pytest.mark.parametrize(
    ("sql", "opened"),
    [
        ("SELECT count(*) FROM people WHERE job = 'a' AND age > 3", ["'a'", "3"]),
        ("SELECT count(*) FROM people WHERE city = 'Oslo'", ["'Oslo'"]),
        (
            "SELECT count(*) FROM people WHERE age IN (3, 4, 5) OR job IN ('a', 'b')",
            ["3", "4", "5", "'a'", "'b'"],
        ),
        ("SELECT count(*) FROM people WHERE born >= '2024-01-01' AND seen < '2024-01-01 10:00:00'", None),
        ("SELECT count(*) FROM people WHERE born BETWEEN DATE '2024-01-01' AND date '2024-02-01'", None),
        ("SELECT count(*) FROM people WHERE seen >= '2024-01-01'::timestamp AND NOT age = 7", None),
        (
            "SELECT avg(pay) FROM (SELECT pay, age FROM people WHERE job <> 'a') AS s WHERE age < 9",
            ["'a'", "9"],
        ),
        ("SELECT count(*) FROM people WHERE id IN (SELECT patient FROM visits WHERE hours > 2)", ["2"]),
        ("SELECT count(*) FROM visits JOIN people ON id = patient AND age > 3", ["3"]),
        ("SELECT count(*) FROM people WHERE moment > '2024-01-01' AND age > 3", ["3"]),
        ("SELECT city, count(*) FROM people WHERE city = 'Oslo' AND job = 'a' GROUP BY city", ["'a'"]),
        ("SELECT count(*) FROM people WHERE born >= '2024-02-30' AND age > 3", None),
    ],
)
def test_constants_that_are_only_compared_are_open(rich: World, sql: str, opened: list[str] | None):
    found = cut(sql)
    assert found is not None
    shape = made(rich, sql)
    if "02-30" in sql:
        assert shape is None  # it is refused
        return
    assert shape is not None
    assert [found.constants[place] for place in shape[1]] == (
        list(found.constants) if opened is None else opened
    )


def test_a_text_that_is_none_of_the_declared_values_is_told_as_ever(rich: World):
    asked = "SELECT count(*) FROM people WHERE city = '{}' AND job = 'a'"
    shape = made(rich, asked.format("Oslo"))
    assert shape is not None
    assert put(shape, asked.format("Rome")) == plan_of(rich, asked.format("Rome"))
    assert put(shape, asked.format("Roma")) is None
    assert plan_of(rich, asked.format("Roma")).notices
    typo = made(rich, asked.format("Roma"))
    assert typo is not None
    assert len(typo[1]) == 1


def test_which_constants_are_equal_is_part_of_the_shape():
    """The parts that branches of an OR share are found by what is written."""
    sql = "SELECT count(*) FROM people WHERE (age > {} AND pay > 1) OR (age > {} AND pay > 2)"
    alike, other = (cut(sql.format(3, n)) for n in (3, 4))
    assert alike is not None
    assert other is not None
    assert alike.shape == other.shape
    assert alike.fixed((0, 2)) != other.fixed((0, 2))


NOON = datetime(2024, 1, 31, 12)  # noqa: DTZ001 - the type has no time zone
BOUND = {
    INT4: st.sampled_from([0, 3, 17, 240, 999_999_999]),
    INT8: st.sampled_from([0, 3, 17, 240, 999_999_999]),
    FLOAT8: st.sampled_from([0.0, 0.1, 2.5, 1e-7, 1 / 3, 123456789.125, 5.0]),
    NUMERIC: st.sampled_from(
        list(map(Decimal, ["0", "0.5", "2.50", "100.75", "3E+2", "17.25", "0.000000001"]))
    ),
}


@st.composite
def bound_pairs(draw: st.DrawFn) -> tuple[str, tuple[SqlType, ...], tuple[object, ...], tuple[object, ...]]:
    """A statement with parameters of some types, and two sets of values for them."""
    names = draw(st.lists(st.sampled_from(sorted(COMPARED)), min_size=1, max_size=2, unique=True))
    other = next(name for name in COMPARED if name not in names)
    selected, behind = (part.format(own=names[0], other=other) for part in draw(st.sampled_from(SELECTED)))
    kinds = tuple(draw(st.sampled_from(sorted(BOUND, key=lambda kind: kind.name))) for _ in names)
    conditions = [
        "{} {} {}".format(*draw(st.permutations([name, f"${n}"])), draw(st.sampled_from(OPERATORS))).split()
        for n, name in enumerate(names, 1)
    ]
    text = " AND ".join(f"{left} {operator} {right}" for left, right, operator in conditions)
    first, second = (tuple(draw(BOUND[kind]) for kind in kinds) for _ in range(2))
    return f"SELECT {selected} FROM people WHERE {text}{behind}", kinds, first, second


@CALM
@given(case=bound_pairs())
def test_a_plan_with_values_put_in_is_the_plan_of_the_statement(
    world: World, case: tuple[str, tuple[SqlType, ...], tuple[object, ...], tuple[object, ...]]
):
    sql, kinds, *both = case
    tree, types = parse(sql), dict(enumerate(kinds, 1))
    classes = [[class_of(v, k) for v, k in zip(values, kinds, strict=True)] for values in both]
    places = [p for p in range(len(kinds)) if p + 1 in open_parameters(tree)]
    if not places or classes[0] != classes[1] or None in classes[0]:
        return
    if any(both[0][p] != both[1][p] for p in range(len(kinds)) if p not in places):
        return
    try:
        plans = [plan_tree(world, tree, Parameters(dict(types), values)) for values in both]
    except Refusal:
        return
    assert isinstance(plans[0], Plan)
    given = Parameters(dict(types), both[0])
    try:
        shape = bound_template(places, given, plans[0], lambda opened: plan_tree(world, tree, opened))
    except Looked:
        return
    assert shape is not None
    put_in = exact_values([both[1][p] for p in places])
    assert isinstance(plans[1], Plan)
    is_told = not shape.fits(put_in) and bool(plans[1].notices)  # it is planned anew then
    assert is_told or shape.with_(put_in) == plans[1]


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (7, INT4, (0,)), (0, INT8, (0,)), (10**9, INT8, None), (-1, INT4, None), (True, BOOL, None), (True, INT4, None),
        (7, FLOAT8, None), (7.0, FLOAT8, (None,)), (0.1, FLOAT8, (None,)), (-0.1, FLOAT8, None), (1e9, FLOAT8, None),
        (float("nan"), FLOAT8, None), (float("inf"), FLOAT8, None), (Decimal("2.50"), NUMERIC, (1,)),
        (Decimal("3E+2"), NUMERIC, (0,)), (Decimal("1E-10"), NUMERIC, None), (Decimal("NaN"), NUMERIC, None),
        (Decimal("sNaN"), NUMERIC, None), (Decimal("Infinity"), NUMERIC, None), (Decimal(-1), NUMERIC, None),
        (Decimal("1E+9"), NUMERIC, None), (Decimal("1E-400000"), NUMERIC, None), (None, INT4, None), ("7", INT4, None),
        ("7", TEXT, ("text",)), ("a\0", TEXT, None), ("x" * 1001, TEXT, None), ("2024-01-31", TEXT, ("day",)),
        (NOON.date(), DATE, ("day",)), (NOON.date(), TIMESTAMP, None), (NOON, TIMESTAMP, ("moment",)),
        (NOON, DATE, None),
        (NOON.replace(microsecond=1), TIMESTAMP, None), (NOON.replace(tzinfo=UTC), TIMESTAMP, None),
    ],
)  # fmt: skip
def test_a_value_that_may_be_open_has_a_class(value: object, kind: SqlType, found: tuple[Class] | None):
    assert class_of(value, kind) == found


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT count(*) FROM people WHERE age > $1", {1}),
        ("SELECT count(*) FROM people WHERE $2 > age AND pay < $1", {1, 2}),
        ("SELECT count(*) FROM people WHERE age > $1 AND pay < $1", {1}),
        ("SELECT count(*) FROM people WHERE age > $1 LIMIT $2", {1}),
        ("SELECT count(*) FROM people WHERE age > $1 + 1", set()),
        ("SELECT sum(age) FROM people WHERE age > $1", {1}),
        ("SELECT count(*) FROM people WHERE age BETWEEN $2 AND $1", {1, 2}),
        ("SELECT count(*) FROM people WHERE age + 1 BETWEEN $2 AND $1", set()),
        ("SELECT count(*) FROM people WHERE age IN ($1, $2)", {1, 2}),
    ],
)
def test_a_parameter_that_something_else_could_look_at_is_part_of_the_shape(sql: str, found: set[int]):
    assert open_parameters(parse(sql)) == found


def test_numbers_that_tell_alike_items_apart_have_a_normal_form_of_their_own(monkeypatch: pytest.MonkeyPatch):
    """Of two visits of a person, the one under the lesser number comes first, in both ways."""
    pairs = "SELECT a.hours AS a, b.hours AS b FROM visits a JOIN visits b ON a.patient = b.patient"
    world = build((*HEADER, f"CREATE VIEW pairs AS {pairs}"))
    asked = "SELECT count(*) FROM pairs WHERE a > {} AND b > {}"
    shape = made(world, asked.format(3, 4))
    assert shape is not None
    for numbers in ((3, 4), (4, 3), (9, 10), (10, 9)):
        monkeypatch.setattr(canonical, "_STAGES", Recent(16))
        found = [canonical.stage(part.query) for part in put(shape, asked.format(*numbers)).parts]
        monkeypatch.setattr(canonical, "_STAGES", Recent(16))
        assert found == [canonical.stage(part.query) for part in plan_of(world, asked.format(*numbers)).parts]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM people WHERE age > 30",
        "SELECT count(*) FROM people WHERE 30 <= age",
        "SELECT count(*) FROM people WHERE pay > 30.25 AND age < 50",
        "SELECT city, count(*), avg(height) FROM people WHERE pay >= 100 GROUP BY city ORDER BY 2 DESC LIMIT 3",
        "SELECT count(*) FROM people WHERE height <> 1.5 AND city = 'Oslo'",
        "SELECT sum(hours) FROM visits WHERE ward = 'A' AND patient > 0",
        "SELECT sum(age) FROM people WHERE age > 30",
        "SELECT avg(pay), count(pay), median(pay) FROM people WHERE pay > 5 AND pay <= 100.5",
        "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 40",
        "SELECT count(*) FROM people WHERE pay > 3 HAVING count(*) > 2",
        "SELECT count(*) FROM people JOIN visits ON id = patient WHERE age > 30",
        "SELECT ward, avg(hours) FROM visits v JOIN people p ON id = patient WHERE p.age > 3 AND hours < 9 GROUP BY 1",
        "SELECT count(*) FROM people p, visits v, cities c WHERE p.id = v.patient AND p.city = c.city AND p.pay > 3",
        "SELECT count(DISTINCT age) FROM people WHERE age > 30 AND age < 40 AND age <> 35",
        "SELECT count(*) AS age FROM people WHERE age > 30 ORDER BY age",
        "SELECT city, sum(CASE WHEN pay > 7 THEN age END) FROM people WHERE pay > 3 AND age > 2 GROUP BY city",
    ],
)
def test_what_tools_ask_most_has_a_template(world: World, sql: str):
    if "patient" in sql:  # the unit itself is compared with nothing
        return
    assert made(world, sql) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM people WHERE 1 = 2",
        "SELECT count(*) FROM people WHERE age + 1 > 30",
        "SELECT count(*) FROM people WHERE pay > (SELECT 2)",
        "SELECT count(*) FILTER (WHERE age > 3) FROM people",
        "SELECT count(*) FROM people HAVING count(*) > 3",
        "SELECT count(*) FROM people WHERE city LIKE 'a'",
    ],
)
def test_a_number_that_something_else_could_look_at_is_part_of_the_shape(sql: str):
    found, tree = cut(sql), parse(sql)
    assert found is None or open_places(tree, found) == ()


LOOKS = {
    "keys": "SELECT age, count(*) FROM people WHERE age >= {} AND pay > 7 GROUP BY age",
    "keys of an expression": "SELECT age / 10, count(*) FROM people WHERE age >= {} AND pay > 7 GROUP BY 1",
    "keys that are listed": "SELECT age, count(*) FROM people WHERE age = {} AND pay > 7 GROUP BY age",
    "keys that are not public": "SELECT hours, count(*) FROM people WHERE hours = {} AND pay > 7 GROUP BY hours",
    "keys that are left out": "SELECT age, count(*) FROM people WHERE age <> {} AND pay > 7 GROUP BY age",
    "blocks": "SELECT count(*) FROM people WHERE region = {} AND pay > 7",
    "emptiness": "SELECT count(*) FROM people WHERE {} = 4 AND pay > 7",
    "arithmetic": "SELECT count(*) FROM people WHERE age + {} > 50 AND pay > 7",
    "bounds": "SELECT sum(age * {}) FROM people WHERE pay > 7",
    "order": "SELECT count(*) FROM people WHERE age > {} AND age > 20 AND pay > 7",
    "groups that are shown": "SELECT city, count(*) FROM people WHERE pay > 7 GROUP BY city HAVING count(*) > {}",
    "LIMIT": "SELECT city, count(*) FROM people WHERE pay > 7 GROUP BY city LIMIT {}",
}
"""Who needs the value of a number, and a statement with another number beside it that nobody does."""


@pytest.fixture(scope="module", params=[False, True], ids=["cut by each statement", "prepared"])
def in_blocks(request: pytest.FixtureRequest) -> World:
    """With a table whose units are in blocks that are told apart by a number."""
    columns = "id INTEGER NOT NULL, age INTEGER, pay INTEGER, city VARCHAR, hours SMALLINT, region INTEGER"
    domains = (
        "age BETWEEN 0 AND 100",
        "pay BETWEEN 0 AND 90",
        "city IN ('Oslo', 'Rome')",
        "region IN (3, 4, 5)",
        "hours DISCOVERED",
    )
    declared = [d.replace(" ", " SET PRIVACY DOMAIN ", 1) for d in domains]
    header = [f"CREATE TABLE people ({columns})", "ALTER TABLE people SET PRIVACY KEY (id)"]
    header += [f"ALTER TABLE people ALTER COLUMN {words}" for words in declared]
    header += ["ALTER TABLE people SET PRIVACY BLOCKS BY (region)"]
    return replace(build(header), prepared=request.param)


@pytest.mark.parametrize("who", LOOKS)
def test_a_number_that_somebody_needs_is_part_of_the_shape(in_blocks: World, who: str):
    for number in (0, 3, 4, 5, 40):
        sql = LOOKS[who].format(number)
        found, shape = cut(sql), made(in_blocks, sql)
        assert found is not None
        assert shape is not None
        # One row of each unit has to be fixed first; and a block that is none is told of.
        is_needed = who != "blocks" or in_blocks.prepared or number not in (3, 4, 5)
        assert [found.constants[place] for place in shape[1]] == [*([] if is_needed else [str(number)]), "7"]
        other = sql.replace("7", "12")
        assert put(shape, other) == plan_of(in_blocks, other)


def test_a_planner_that_looks_makes_no_template(world: World):
    sql = "SELECT count(*) FROM people WHERE age > 30"
    found, tree = cut(sql), parse(sql)
    assert found is not None

    def planned(_: object, given: object) -> Plan:
        [unseen] = given.values  # type: ignore[attr-defined]
        return plan_of(world, sql if unseen > 10 else "SELECT count(*) FROM people WHERE false")

    with pytest.raises(Looked):
        template(tree, found, open_places(tree, found), plan_of(world, sql), planned)


def test_a_template_holds_the_keys_of_its_statement_and_no_others(world: World):
    sql = "SELECT age, count(*) FROM people WHERE pay > 30 GROUP BY age"
    found, tree, plan = cut(sql), parse(sql), plan_of(world, sql)
    assert found is not None
    shape = template(tree, found, open_places(tree, found), plan, partial(plan_tree, world))
    assert shape is not None
    [keys] = put((shape, (0,)), sql.replace("30", "31")).parts[0].keys
    assert keys is plan.parts[0].keys[0]


def test_what_an_engine_tells_the_planner_of_a_number_is_a_look(world: World):
    """A refusal by the engine is caught where keys are narrowed: the plan would be made without."""
    sql = "SELECT age / 50 AS half, count(*) FROM people WHERE age >= 0 GROUP BY 1"
    found = cut(sql)
    assert found is not None
    assert found.constants == ("50", "0", "1")
    with pytest.raises(Looked):
        template(parse(sql), found, (1,), plan_of(world, sql), partial(plan_tree, world))


def test_a_plan_that_is_another_one_makes_no_template(world: World):
    sql, other = (f"SELECT count(*) FROM people WHERE age > {n}" for n in (30, 31))
    found, tree = cut(sql), parse(sql)
    assert found is not None
    planned = partial(plan_tree, world)
    assert template(tree, found, (0,), plan_of(world, other), planned) is None
    doubled = replace(plan_of(world, sql), answer="SELECT 1")
    assert template(tree, found, (0,), doubled, planned) is None


@pytest.mark.parametrize(
    ("sql", "numbers"),
    [
        ("SELECT count(*) FROM t WHERE x > 7.250", ("7.250",)),
        ("SELECT 'a 7 b', \"c 8\" FROM t2 WHERE x<9", ("'a 7 b'", "9")),
        ("SELECT x FROM t WHERE y IN (1,2, 3)", ("1", "2", "3")),
        ("SELECT 'it''s 5' FROM t WHERE x = 6", ("'it''s 5'", "6")),
        ("SELECT N'a', U&'b', E'c' || 'd'", ("'d'",)),
        ("select 12 + 1e5 + .5 + 5. + a.5 + x1 + 1x + 0x10", ("12",)),
    ],
)
def test_a_text_is_cut_at_plain_numbers(sql: str, numbers: tuple[str, ...]):
    found = cut(sql)
    assert found is not None
    assert found.constants == numbers
    assert tuple(sql[s : s + len(n)] for s, n in zip(found.starts, numbers, strict=True)) == numbers


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM t",
        "SELECT 1; SELECT 2",
        "SELECT 1 -- 2",
        "SELECT /*+ dp(epsilon=1) */ 1",
        "SELECT 1 ",
        " SELECT 1",
        "SELECT $1 + 1",
        "SELECT E'\\' 7'",
        "SELECT '\u00e9' || 1",
        "SELECT 1\t",
        "SHOW x1 2",
        "SELECT 1 + 'a",
        "SELECT " + "1," * MOST_PLACES + "2",
        "SELECT 1" + " " * LONGEST + "+ 2",
    ],
)
def test_other_texts_are_not_cut(sql: str):
    assert cut(sql) is None


def test_numbers_of_another_class_have_another_shape():
    shapes = {cut(f"SELECT 1 WHERE x > {n}").shape for n in ("7", "7.0", "7.5", "7.25")}  # type: ignore[union-attr]
    assert len(shapes) == 4
    assert cut("SELECT 1 WHERE x > 7.5").shape == cut("SELECT 1 WHERE x > 812.50").shape  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["\x01", "\x010d\x02", "\\x01", "\x01.0s0\x02"])
def test_a_text_that_looks_like_a_place_is_a_text(world: World, text: str):
    """Those who write one cannot know what a place looks like."""
    asked = "SELECT city, count(*) FROM people WHERE age > 1 AND age > 2 AND (city = $1 OR city IS NULL) GROUP BY city"
    plan = plan_tree(world, parse(asked), Parameters({1: TEXT}, (text,)))
    assert isinstance(plan, Plan)
    assert text in plan.parts[0].exact
