"""A policy written out makes the same policy again."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import constant, decimal, declarations, dump
from dpproxy.policy.model import (
    Between,
    Budget,
    Ceiling,
    ColumnClass,
    ColumnPolicy,
    Composite,
    Discovered,
    Domain,
    ExactGrant,
    Exposure,
    Grant,
    Members,
    Outside,
    Policy,
    References,
    Scalar,
    TablePolicy,
    Unit,
)
from dpproxy.policy.store import change_of
from dpproxy.policy.units import are_of_one_unit
from dpproxy.sql.quoting import identifier
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    ForeignKey,
    Schema,
    SqlType,
)

TABLES = ["visits", "Patients", "odd name", 'quo"te', "select", "ärzte"]
PUBLIC = "Codes"
TYPES: dict[str, SqlType] = {
    "key": INT8, "Cost": NUMERIC, "weight": FLOAT8, "note's": TEXT, "born": DATE, "seen": TIMESTAMP,
    "paid": TIMESTAMPTZ, "smokes": BOOL,
}  # fmt: skip
SCHEMA = Schema(
    {table: tuple(Column(name, kind) for name, kind in TYPES.items()) for table in [*TABLES, PUBLIC]}
)

integers = st.integers(-(2**63), 2**63 - 1)
decimals = st.decimals(-(10**9), 10**9, places=6).map(lambda d: Fraction(str(d)))
numbers = decimals.map(lambda f: int(f) if f.denominator == 1 else f)
awkward = st.text(st.sampled_from("a'\"\\;-/*é\n $"), max_size=6)
texts = awkward | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
values: dict[str, st.SearchStrategy[Scalar]] = {
    "key": integers,
    "Cost": numbers,
    "weight": numbers,
    "note's": texts,
    "born": st.dates(),
    "seen": st.datetimes(),
    "smokes": st.booleans(),
}  # fmt: skip
epsilons = st.integers(10**6, 10**18).map(lambda nano: Fraction(nano, 10**9))
deltas = st.integers(0, 10**12 - 1).map(lambda n: Fraction(n, 10**12))


def domains(column: str) -> st.SearchStrategy[Domain]:
    if TYPES[column] == TIMESTAMPTZ:
        return st.just(Discovered())
    listed = st.lists(st.none() | values[column], min_size=1, max_size=4, unique=True)
    members: st.SearchStrategy[Domain] = listed.map(lambda v: Members(tuple(v)))
    if TYPES[column] != FLOAT8:
        members |= st.just(References(PUBLIC, column))
    if TYPES[column] in {TEXT, INT8, DATE, TIMESTAMP}:
        members |= st.just(Discovered())
    if TYPES[column] in {TEXT, BOOL}:
        return members
    bounds = st.tuples(values[column], values[column]).map(sorted)
    return members | st.builds(
        lambda b, outside: Between(b[0], b[1], outside), bounds, st.sampled_from(Outside)
    )


@st.composite
def columns(draw: st.DrawFn) -> dict[str, ColumnPolicy]:
    names = draw(st.lists(st.sampled_from(list(TYPES)), unique=True, max_size=3))
    classes = st.none() | st.sampled_from(ColumnClass)
    return {name: ColumnPolicy(draw(st.none() | domains(name)), draw(classes)) for name in names}


@st.composite
def composites(draw: st.DrawFn) -> tuple[Composite, ...]:
    keys = st.lists(
        st.sampled_from([n for n in TYPES if n not in ("weight", "paid")]),
        unique=True,
        min_size=2,
        max_size=3,
    )
    chosen = {frozenset(names): names for names in draw(st.lists(keys, max_size=2))}
    return tuple(
        sorted((Composite(tuple(n), PUBLIC, tuple(n)) for n in chosen.values()), key=lambda c: c.columns)
    )


@st.composite
def foreign_keys(draw: st.DrawFn, index: int) -> tuple[ForeignKey, ...]:
    names = st.lists(
        st.sampled_from([n for n in TYPES if n not in ("weight", "paid")]),
        unique=True,
        min_size=1,
        max_size=3,
    )
    chosen = {frozenset(own): tuple(own) for own in draw(st.lists(names, max_size=2))}
    target = draw(st.sampled_from(TABLES))
    return tuple(
        sorted((ForeignKey(TABLES[index], n, target, n) for n in chosen.values()), key=lambda k: k.columns)
    )


@st.composite
def tables(draw: st.DrawFn, index: int) -> TablePolicy:
    """A table; references lead to tables later in the list, so that there is no cycle."""
    exposure = draw(st.sampled_from(Exposure))
    unit = None
    if exposure is Exposure.PROTECTED:
        counts = st.integers(1, 1000)
        targets = st.sampled_from(TABLES[index + 1 :]) if index + 1 < len(TABLES) else st.nothing()
        reference = st.none() | st.tuples(targets, st.just("key"))
        keyed = st.builds(Unit, st.just("key"), reference, counts, st.none() | counts)
        unit = draw(st.just(Unit(None)) | keyed)
    owner = unit is not None and unit.references is None
    return TablePolicy(
        TABLES[index],
        exposure,
        unit,
        draw(columns()),
        draw(st.none() | st.builds(Ceiling, epsilons, deltas)) if owner else None,
        draw(st.none() | st.integers(1, 10**15)),
        draw(composites()),
        draw(foreign_keys(index)) if unit is not None else (),
    )


@st.composite
def budgets(draw: st.DrawFn, name: str) -> Budget:
    limits = iter(sorted(draw(st.lists(epsilons, min_size=5, max_size=5)), reverse=True))
    kept = [draw(st.booleans()) for _ in range(4)]
    limit = next(limits)
    return Budget(
        name,
        limit,
        draw(deltas),
        *(value if keep else None for keep, value in zip(kept, limits, strict=True)),
    )


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    chosen = sorted(draw(st.sets(st.sampled_from(range(len(TABLES))), max_size=4)))
    declared = {TABLES[index]: draw(tables(index)) for index in chosen}
    declared[PUBLIC] = TablePolicy(PUBLIC, Exposure.PUBLIC)
    names = draw(st.lists(st.sampled_from(["research", "Odd one", "limit"]), unique=True, max_size=3))
    paid = {name: draw(budgets(name)) for name in names}
    grants = []
    for table in sorted(draw(st.sets(st.sampled_from(TABLES), max_size=3))):
        protected = table in declared and declared[table].exposure is Exposure.PROTECTED
        choices = [*names] if protected else [None, *names]
        if choices:
            grants.append(
                Grant(table, draw(st.sampled_from(["analysts", "Interns"])), draw(st.sampled_from(choices)))
            )
    protected = sorted(name for name, table in declared.items() if table.exposure is Exposure.PROTECTED)
    exact = sorted(draw(st.sets(st.sampled_from(protected), max_size=2))) if protected else []
    exactly = tuple(ExactGrant(table, "dpo") for table in exact)
    policy = Policy(tables=declared, budgets=paid, grants=tuple(grants), exact=exactly)
    for name, table in declared.items():
        kept = tuple(k for k in table.foreign_keys if are_of_one_unit(policy, name, k.target))
        declared[name] = replace(table, foreign_keys=kept)
    return policy


@given(policies())
def test_the_statements_make_the_same_policy_with_a_schema_and_without(policy: Policy):
    for schema in (SCHEMA, None):
        again = Policy()
        for sql in dump(policy):
            again = apply(again, change_of(sql), schema)
        assert again == policy


def test_the_order_of_declaration_does_not_matter(applied: Callable[..., Policy]):
    statements = [
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1",
        "CREATE PRIVACY BUDGET a LIMIT EPSILON 1",
        "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN BETWEEN 1 AND 9",
        "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 1 AND 9",
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
    ]
    assert dump(applied(*statements)) == dump(applied(*reversed(statements)))


def test_what_it_looks_like(applied: Callable[..., Policy]):
    policy = applied(
        "GRANT SELECT ON visits TO analysts",
        "CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 1e-6 MAX EPSILON 0.50 SHARE RELEASES",
        "ALTER TABLE visits SET PRIVACY PUBLIC",
        "GRANT SELECT ON visits TO analysts WITH PRIVACY BUDGET research",
        'ALTER TABLE "Odd Name" SET PRIVACY KEY ("select") MAX GROUPS 2 MAX ROWS 3',
        'ALTER TABLE "Odd Name" SET PRIVACY CEILING EPSILON 20 DELTA 1e-5',
        'ALTER TABLE "Odd Name" ALTER COLUMN "select" SET PRIVACY DOMAIN BETWEEN 0 AND 1e2',
    )
    policy = applied(
        'ALTER TABLE "Odd Name" ALTER COLUMN "select" SET PRIVACY CLASS SENSITIVE',
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN REFERENCES visits (note)",
        "ALTER TABLE patients SET PRIVACY DOMAIN (sex, patient_id) REFERENCES visits (note, visit_id)",
        'ALTER TABLE patients ALTER COLUMN "Zip" SET PRIVACY DOMAIN DISCOVERED',
        to=policy,
    )
    assert dump(policy) == [
        "CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 0.000001 MAX EPSILON 0.5 REFRESH NEVER SHARE RELEASES",
        'ALTER TABLE "Odd Name" SET PRIVACY KEY ("select") MAX ROWS 3 MAX GROUPS 2',
        'ALTER TABLE "Odd Name" SET PRIVACY CEILING EPSILON 20 DELTA 0.00001 ACCOUNTANT BASIC',
        'ALTER TABLE "Odd Name" ALTER COLUMN "select" SET PRIVACY DOMAIN BETWEEN 0 AND 100 OUTSIDE CLAMP',
        'ALTER TABLE "Odd Name" ALTER COLUMN "select" SET PRIVACY CLASS SENSITIVE',
        "ALTER TABLE patients SET PRIVACY HIDDEN",
        'ALTER TABLE patients ALTER COLUMN "Zip" SET PRIVACY DOMAIN DISCOVERED',
        "ALTER TABLE visits SET PRIVACY PUBLIC",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN REFERENCES visits (note)",
        "ALTER TABLE patients SET PRIVACY DOMAIN (sex, patient_id) REFERENCES visits (note, visit_id)",
        "GRANT SELECT ON visits TO analysts WITH PRIVACY BUDGET research",
    ]


def test_counters_are_no_declarations(applied: Callable[..., Policy]):
    policy = applied("ALTER TABLE visits SET PRIVACY PUBLIC")
    assert dump(replace(policy, version=7, data_version=9)) == dump(policy)


def test_a_hidden_column_is_declared_so(applied: Callable[..., Policy]):
    policy = applied("ALTER TABLE visits ALTER COLUMN note SET PRIVACY HIDDEN")
    assert list(declarations(policy.tables["visits"])) == [(None, "HIDDEN"), ("note", "HIDDEN")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-3, "-3"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 10**9), "0.000000001"),
        ("it's \\n", "'it''s \\n'"),
        (date(800, 1, 2), "DATE '0800-01-02'"),
        (datetime.fromisoformat("2020-01-02T03:04:05.6"), "TIMESTAMP '2020-01-02 03:04:05.600000'"),
        (datetime(2020, 1, 2, tzinfo=UTC), "TIMESTAMPTZ '2020-01-02 00:00:00+00:00'"),
    ],
)
def test_constants(value: Scalar | None, text: str):
    assert constant(value) == text


def test_a_number_without_an_end_is_refused_rather_than_rounded():
    with pytest.raises(ValueError, match="decimal"):
        decimal(Fraction(1, 3))


def test_names_are_quoted_where_they_have_to_be():
    assert [identifier(name) for name in ("a_1", "A", "a b", 'a"b', "1a", "table", "é", "key")] == [
        "a_1", '"A"', '"a b"', '"a""b"', '"1a"', '"table"', '"é"', "key",
    ]  # fmt: skip
