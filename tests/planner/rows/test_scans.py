"""Tables as items of FROM: which columns exist, whose the rows are, and what is known of public ones."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import MOST_KEYS
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Declared, Identifier
from dpproxy.planner.rows.relation import Scan
from dpproxy.planner.rows.scans import (
    is_public,
    prepared_names,
    protected_scan,
    public_scan,
    public_value,
)
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import Column
from tests.golden.world import Tables, World, build, plan_of
from tests.planner.passes import planning_of

TOWN = (
    "CREATE TABLE people (id INTEGER, city VARCHAR, age INTEGER, note VARCHAR)",
    "CREATE TABLE visits (person INTEGER, no INTEGER, hours INTEGER, note VARCHAR)",
    "CREATE TABLE bills (visit INTEGER, amount INTEGER)",
    "CREATE TABLE loose (x INTEGER, y INTEGER)",
    "CREATE TABLE wards (ward VARCHAR, beds INTEGER NOT NULL, fee DECIMAL(8,2), ratio DOUBLE, day DATE)",
    "CREATE TABLE bare (n INTEGER, t VARCHAR)",
    "CREATE TABLE odd (r DOUBLE)",
    "INSERT INTO people VALUES (1, 'Oslo', 30, 'a'), (1, 'Rome', 31, 'b'), (NULL, 'Oslo', 5, 'c')",
    "INSERT INTO visits VALUES (1, 7, 2, 'd'), (9, 8, 3, 'e'), (NULL, 9, 4, 'f')",
    "INSERT INTO bills VALUES (7, 1), (7, 2), (8, 3), (NULL, 4)",
    "INSERT INTO loose VALUES (1, 2), (NULL, NULL)",
    "INSERT INTO wards VALUES ('B', 3, 1.25, 0.5, '2024-01-31'), ('Aa', -2, -7.5, 2.5, NULL)",
    "INSERT INTO wards (beds) VALUES (3)",
    "INSERT INTO odd VALUES (1.0), ('nan')",
    "ALTER TABLE people SET PRIVACY KEY (id) MAX ROWS 2",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 4 MAX GROUPS 3",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE bills SET PRIVACY KEY (visit) REFERENCES visits (no)",
    "ALTER TABLE bills ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE loose SET PRIVACY KEY ROW",
    "ALTER TABLE loose ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE wards SET PRIVACY PUBLIC",
    "ALTER TABLE bare SET PRIVACY PUBLIC",
    "ALTER TABLE odd SET PRIVACY PUBLIC",
)


@pytest.fixture(scope="module")
def town() -> World:
    return build(TOWN)


@pytest.fixture
def planning(town: World) -> Planning:
    return planning_of(town)


@pytest.fixture(scope="module")
def tables(town: World) -> Iterator[Tables]:
    made = Tables(town)
    made.fill(town.rows)
    yield made
    made.close()


def protected(planning: Planning, table: str, *, lone: bool = False) -> Scan:
    return protected_scan(planning.context.policy.tables[table], "t", planning, lone=lone)


def rows_of(scan: Scan, tables: Tables) -> list[tuple[object, ...]]:
    """The content and the unit of every row."""
    held = [*scan.content, *([scan.unit] if scan.unit is not None else [])]
    where = " AND ".join(duck.text(p) for p in scan.present) or "true"
    query = f"SELECT {', '.join(map(duck.text, held))} FROM {duck.text(scan.item)} WHERE {where}"
    columns = [c.to_pylist() for c in tables.table(query).columns]
    return sorted(zip(*columns, strict=True), key=repr)


@pytest.mark.parametrize("lone", [True, False])
@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("people", [(1, "Oslo", 30, "a", 1), (1, "Rome", 31, "b", 1)]),
        ("visits", [(1, 7, 2, "d", 1)]),
        ("bills", [(7, 1, 1), (7, 2, 1)]),
        ("loose", [(1, 2), (None, None)]),
    ],
)
def test_rows_are_those_of_somebody(
    planning: Planning, tables: Tables, table: str, rows: list[tuple[object, ...]], *, lone: bool
):
    assert rows_of(protected(planning, table, lone=lone), tables) == rows


def test_bounds_are_the_declared_ones(planning: Planning):
    scan = protected(planning, "visits")
    assert (scan.most, scan.groups, scan.owner, scan.table) == (4, 3, "people", "visits")
    assert not scan.held
    assert protected(planning, "loose").held  # a row is the unit: nobody has two
    assert protected(planning, "loose").unit is None


def test_a_lone_table_is_read_bare_where_its_key_is_the_unit(planning: Planning):
    assert [type(protected(planning, t, lone=True).item) for t in ("people", "visits", "loose")] == [
        nodes.Table
    ] * 3
    assert type(protected(planning, "bills", lone=True).item) is nodes.Subquery


def test_two_items_have_no_physical_name_in_common(planning: Planning):
    scans = [protected(planning, "people"), protected(planning, "people"), protected(planning, "visits")]
    names = [c.name.lower() for s in scans for c in (*s.content, s.unit) if c is not None]
    assert len(names) == len(set(names))


def test_what_is_not_declared_does_not_exist(planning: Planning):
    assert [f.name for f in protected(planning, "people").fields] == ["id", "age"]
    assert [f.name for f in protected(planning, "visits").fields] == ["person", "no", "hours"]
    assert [f.name for f in protected(planning, "loose").fields] == ["x"]


def test_keys_and_what_is_referred_to_identify(planning: Planning):
    person, number, hours = protected(planning, "visits").fields
    assert isinstance(person, Identifier)
    assert (person.link, person.is_unit, person.column.not_null) == (("people", "id"), True, True)
    assert isinstance(number, Identifier)
    assert (number.link, number.is_unit, number.column.not_null) == (("visits", "no"), False, False)
    assert isinstance(hours, Declared)
    assert (hours.link, hours.is_unit) == (None, False)
    [visit, _] = protected(planning, "bills").fields
    assert isinstance(visit, Identifier)
    assert (visit.link, visit.is_unit) == (("visits", "no"), False)


def test_a_declared_key_is_a_value_and_still_a_key():
    header = [*TOWN, "ALTER TABLE people ALTER COLUMN id SET PRIVACY DOMAIN BETWEEN 0 AND 9"]
    planning = planning_of(build(header))
    field = protected(planning, "people").fields[0]
    assert isinstance(field, Declared)
    assert (field.link, field.is_unit) == (("people", "id"), True)


def public(planning: Planning, table: str = "wards") -> Scan:
    return public_scan(planning.context.policy.tables[table], "w", planning)


def test_public_rows_are_nobodys_and_all_there(planning: Planning, town: World, tables: Tables):
    scan = public(planning)
    assert (scan.unit, scan.owner, scan.held) == (None, None, True)
    assert rows_of(scan, tables) == sorted(town.rows["wards"], key=repr)
    names = {c.name for c in public(planning).content if isinstance(c, exp.Column)}
    assert not names & {c.name for c in scan.content if isinstance(c, exp.Column)}


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("beds", Fraction(-2), Fraction(3)),
        ("fee", Fraction(-15, 2), Fraction(5, 4)),
        ("ratio", Fraction(1, 2), Fraction(5, 2)),
        ("day", None, None),
    ],
)
def test_bounds_of_public_columns_are_facts(
    planning: Planning, column: str, low: Fraction | None, high: Fraction | None
):
    field = public(planning).find(column)
    assert field is not None
    typed = field.read(exp.column(column))
    assert (typed.low, typed.high) == (low, high)


def test_a_public_text_is_as_long_as_its_longest(planning: Planning):
    field = public(planning).find("ward")
    assert field is not None
    assert field.read(exp.column("ward")).longest == 2


def test_nothing_is_known_where_there_is_no_number(planning: Planning):
    for table, column in (("bare", "n"), ("odd", "r")):
        field = public(planning, table).find(column)
        assert field is not None
        typed = field.read(exp.column(column))
        assert (typed.low, typed.high) == (None, None)
    text = public(planning, "bare").find("t")
    assert text is not None
    assert text.read(exp.column("t")).longest == 0


@pytest.mark.parametrize(
    ("column", "values"), [("ward", ("Aa", "B", None)), ("beds", (-2, 3)), ("fee", (-750, 125, None))]
)
def test_public_keys_are_the_values_in_order(planning: Planning, column: str, values: tuple[object, ...]):
    field = public(planning).find(column)
    assert field is not None
    assert field.key(None).values == values


def test_public_keys_are_not_fractions(planning: Planning):
    ratio = public(planning).find("ratio")
    assert ratio is not None
    with pytest.raises(Refusal) as caught:
        ratio.key(3)
    assert (caught.value.sqlstate, caught.value.position) == ("PD003", 3)


def test_public_keys_are_not_too_many(planning: Planning):
    many = tuple((n,) for n in range(MOST_KEYS + 1))
    planning.context = replace(
        planning.context, facts=lambda query: many if query.distinct else ((0, MOST_KEYS + 1),)
    )
    beds = public(planning).find("beds")
    assert beds is not None
    with pytest.raises(Refusal) as caught:
        beds.key(3)
    assert (caught.value.sqlstate, caught.value.position) == ("54001", 3)


def test_a_public_value_is_a_whole_number_of_its_last_digit(town: World, tables: Tables):
    scales = {}
    for column in town.schema.tables["wards"]:
        typed = public_value(Column(column.name, column.type), column.name)
        scales[column.name] = typed.scale
        if column.name == "fee":
            found = tables.table(f"SELECT {duck.text(typed.sql)} AS v FROM wards").column("v").to_pylist()
            assert sorted(Decimal(v) for v in found if v is not None) == [-750, 125]
    assert scales == {"ward": 0, "beds": 0, "fee": 2, "ratio": None, "day": 0}


def test_which_tables_are_nobodys(town: World):
    assert {n for n, t in town.policy.tables.items() if is_public(t)} == {"wards", "bare", "odd"}


def test_prepared_tables_have_names_of_their_own(planning: Planning, town: World):
    assert prepared_names(planning.context) == frozenset()  # rows are cut by each statement
    prepared = replace(planning.context, prepared={})
    names = prepared_names(prepared)
    plan = plan_of(replace(town, prepared=True), "SELECT count(*) FROM visits")
    read = {t.name for p in plan.parts for t in p.prepares}
    assert read
    assert read <= names
    assert not {n.lower() for n in names} & {n.lower() for n in town.schema.tables}
