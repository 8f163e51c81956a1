"""The release engine: with and without keys, the same contract."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Input, KeySet, Output, Part, Payer, Plan
from dpproxy.backends.columns import FEW, WHOLE, key_type
from dpproxy.backends.duckdb.source import Select
from dpproxy.backends.release import Relations, ReleaseStage, key_table
from dpproxy.planner.release.allocation import Allocation
from dpproxy.planner.release.stage import discovered_sql, release_sql
from dpproxy.policy.model import Scalar
from dpproxy.values.errors import Cancelled, DivisionByZero, Internal, NumberOutOfRange
from dpproxy.values.pgtypes import BOOL, DATE, INT8, NUMERIC, TEXT, TIMESTAMP, Column, SqlType
from tests.reading import words
from udfs.mechanisms import Staircase
from udfs.mechanisms.selection import Selection
from udfs.privacy import Exact, Loss, Released

NANO = 5 * 10**9
"""An epsilon at which a draw is 0 in most cases."""


@pytest.fixture
def release() -> Iterator[ReleaseStage]:
    made = ReleaseStage()
    yield made
    made.close()


def part_of(keys: tuple[KeySet, ...] = (), widths: tuple[int, ...] = (1,)) -> Part:
    mechanism = Staircase.best(widths, NANO)
    count = sum(len(k.types) for k in keys)
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(count))
    sums = ", ".join(f"CAST(coalesce(e.m{i}, 0) AS HUGEINT)" for i in range(len(widths)))
    boxes = ", ".join(f"CAST({w} AS HUGEINT)" for w in widths)
    drawn = f"dp_release([{sums}], [{boxes}], CAST(5 AS DECIMAL(18,9))) AS v"
    names = "".join(f", k.k{i}" for i in range(count))
    source = f"SELECT k.o{names}, {drawn} FROM keys AS k LEFT JOIN exact AS e ON {match}"
    return Part(
        query=nodes.Select(), truncated=False, keys=keys,
        release=source if keys else f"SELECT 0 AS o, {drawn} FROM exact AS e",
        measures=len(widths), box="", noise="", loss=Loss(NANO), mechanism=mechanism,
    )  # fmt: skip


def plan(answer: str, *parts: Part) -> Plan:
    return Plan(
        parts=parts, answer=answer, unit="one row", outputs=(Output(Column("n", INT8), 0),),
        payer=Payer("t", Fraction(1), "b", Fraction(1), None, None), label="", policy_version=1, data_version=1,
    )  # fmt: skip


TRUTH = KeySet((BOOL,), ((True,), (False,)))


def one_set(kind: SqlType, *values: Scalar | None) -> KeySet:
    return KeySet((kind,), tuple((v,) for v in values))


def drawn_from(release: ReleaseStage, part: Part, **columns: list[object]) -> Relations:
    return [(part, release.draw(part, exact(**columns)))]


def exact(**columns: list[object]) -> Exact[pa.Table]:
    return Exact(
        pa.table(
            {
                name: pa.array(values, pa.decimal128(38, 0) if name[0] == "m" else None)
                for name, values in columns.items()
            }
        )
    )


def test_one_row_is_drawn_and_answered_without_keys(release: ReleaseStage):
    part = part_of(widths=(1, 0))
    release.prepare(part)
    drawn = release.draw(part, exact(m0=[1000], m1=[7]))
    assert drawn.loss == Loss(NANO)
    assert drawn.value.column_names == ["o", "v"]
    asked = plan("SELECT m0 - 1000 AS c0, m1 AS c1 FROM r0 ORDER BY o", part)
    [(noise, nothing)] = release.answer(asked, [(part, drawn)])
    assert abs(int(str(noise))) < 100
    assert nothing == 0  # what nobody can move is the sum of no rows


def test_what_was_drawn_is_not_drawn_again_by_reading_it(release: ReleaseStage):
    part = part_of()
    drawn = drawn_from(release, part, m0=[10**6])
    asked = plan("SELECT m0 AS c0, m0 AS c1 FROM r0", part)
    rows = {row for _ in range(20) for row in release.answer(asked, drawn)}
    assert len(rows) == 1
    assert all(a == b for a, b in rows)


def test_the_sum_of_no_rows_is_0(release: ReleaseStage):
    part = part_of()
    [(value,)] = release.answer(plan("SELECT m0 FROM r0", part), drawn_from(release, part, m0=[None]))
    assert abs(int(str(value))) < 100


def test_the_widest_values_pass(release: ReleaseStage):
    widest = 10**38 - 1
    part = part_of()
    [(value,)] = release.answer(plan("SELECT m0 FROM r0", part), drawn_from(release, part, m0=[widest]))
    assert widest - 100 < int(str(value)) <= widest


def test_every_declared_key_is_drawn_for_and_no_other(release: ReleaseStage):
    keys = (one_set(TEXT, "a", None), TRUTH)
    part = part_of(keys)
    asked = plan("SELECT k0, k1, m0 > 500 FROM r0 ORDER BY o", part)
    drawn = drawn_from(release, part, k0=["a", "z", None], k1=[False, True, True], m0=[1000, 1000, 1000])
    assert release.answer(asked, drawn) == [
        ("a", True, False),
        ("a", False, True),
        (None, True, True),
        (None, False, False),
    ]
    assert key_table(keys).num_rows == 4


def test_keys_that_vary_together_are_no_product(release: ReleaseStage):
    keys = (KeySet((TEXT, INT8), (("a", 1), ("b", 1))), TRUTH)
    assert key_table(keys).to_pydict() == {
        "o": [0, 1, 2, 3],
        "k0": ["a", "a", "b", "b"],
        "k1": [1, 1, 1, 1],
        "k2": [True, False, True, False],
    }
    part = part_of(keys)
    drawn = drawn_from(release, part, k0=["a", "a"], k1=[1, 2], k2=[True, True], m0=[1000, 1000])
    asked = plan("SELECT k0, k1, k2 FROM r0 WHERE m0 > 500", part)
    assert release.answer(asked, drawn) == [("a", 1, True)]


def test_parts_and_public_rows_are_relations_of_one_answer(release: ReleaseStage):
    whole, by_key = part_of(), part_of((one_set(TEXT, "a", "b"),))
    relations = [*drawn_from(release, whole, m0=[1000]), *drawn_from(release, by_key, k0=["a"], m0=[5000])]
    sql = "SELECT k0, x, r0.m0 > 500, r1.m0 > 4500 FROM r1, r0, p0 WHERE k0 = y ORDER BY k0"
    public = pa.table({"x": pa.array([7, 8]), "y": pa.array(["a", "b"])})
    assert release.answer(plan(sql, whole, by_key), relations, [public]) == [
        ("a", 7, True, True),
        ("b", 8, True, False),
    ]


def test_one_value_of_what_was_released_so_far(release: ReleaseStage):
    drawn = drawn_from(release, part_of(), m0=[1000])
    assert 900 < int(str(release.value("SELECT m0 FROM r0", drawn))) < 1100


def test_values_that_a_part_takes_are_read_by_one_statement_a_query(
    release: ReleaseStage, monkeypatch: pytest.MonkeyPatch
):
    whole, asked = part_of(), list[str]()
    rows, count = (
        words("SELECT a, b FROM (VALUES (1, 'x'), (2, NULL)) AS s(a, b)"),
        words("SELECT COUNT(*) FROM r0"),
    )
    taken = (
        Input(4, rows, 0, 1),
        Input(2, rows, 2, 0),
        Input(3, count),
        Input(5, rows, 1, 0),
        Input(6, rows, 1, 1),
    )
    answered = release._answer
    monkeypatch.setattr(
        release, "_answer", lambda sql, *a, **k: (asked.append(sql), answered(sql, *a, **k))[1]
    )
    drawn = drawn_from(release, whole, m0=[1000])
    assert release.inputs(replace(whole, inputs=taken), drawn) == ("x", None, 1, 2, None)
    assert len(asked) == 2
    assert release.inputs(whole, drawn) == ()


def test_a_value_of_one_row_has_no_other(release: ReleaseStage):
    whole = part_of()
    two = words("SELECT a FROM (VALUES (1), (2)) AS s(a)")
    with pytest.raises(AssertionError, match="no parameter"):
        release.inputs(replace(whole, inputs=(Input(2, two),)), drawn_from(release, whole, m0=[1000]))


@pytest.mark.parametrize("keys", [(), (one_set(TEXT, "a"),)], ids=["one row", "keys"])
@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("CAST(m0 AS TINYINT)", NumberOutOfRange),
        ("error('not defined')", DivisionByZero),
        ("nothing", Internal),
    ],
)
def test_what_the_analyst_computes_may_fail(
    release: ReleaseStage, keys: tuple[KeySet, ...], expression: str, error: type[Exception]
):
    part = part_of(keys)
    drawn = drawn_from(release, part, **({"k0": ["a"]} if keys else {}), m0=[100_000])
    with pytest.raises(error) as refusal:
        release.answer(plan(f"SELECT {expression} FROM r0", part), drawn)
    assert "100" not in str(refusal.value)


def test_a_draw_that_fails_says_nothing_of_the_value(release: ReleaseStage):
    keyed = replace(part_of((one_set(INT8, 3),)), release="SELECT 0 AS o, nothing FROM exact AS e")
    with pytest.raises(Internal) as refusal:
        release.draw(replace(keyed, mechanism=None), exact(k0=[3], m0=[123456]))
    assert "123456" not in str(refusal.value)
    with pytest.raises(Internal) as refusal:
        release.draw(part_of(), exact(k0=["123456 is no number"]))
    assert "123456" not in str(refusal.value)


def test_a_group_is_not_drawn_for_twice(release: ReleaseStage):
    with pytest.raises(Internal):
        release.draw(part_of((one_set(INT8, 3),)), exact(k0=[3, 3], m0=[1, 2]))


DAYS = [date(2020, 1, 1), date(1, 1, 1), None]
NUMBERS = [Decimal(7), Decimal(-(10**37)), None]
SUMS = st.sampled_from([None, 0, 1000, -7000, 10**37, -(10**37)])
GROUPS = st.dictionaries(st.tuples(st.sampled_from(DAYS), st.sampled_from(NUMBERS)), st.tuples(SUMS, SUMS))


@given(GROUPS)
def test_few_rows_are_those_of_the_engine(groups: dict[tuple[object, object], tuple[object, object]]):
    """A draw is far below 500 at this epsilon, and sums are whole thousands: rounded to them, both are the truth."""
    part = part_of((one_set(DATE, *DAYS[1:]), one_set(NUMERIC, *NUMBERS[1:])), (1, 1))
    types = {"k0": pa.date32(), "k1": WHOLE, "m0": WHOLE, "m1": WHOLE}
    given_rows = [dict(zip(types, (*keys, *sums), strict=True)) for keys, sums in groups.items()]
    there = Exact(pa.Table.from_pylist(given_rows, pa.schema(types)))
    asked = plan("SELECT o, k0, k1, m0, m1 FROM r0 ORDER BY o", part)
    found = []
    with closing(ReleaseStage()) as release, pytest.MonkeyPatch.context() as patch:
        for few in (FEW, 0):
            patch.setattr("dpproxy.backends.release.FEW", few)
            rows = release.answer(asked, [(part, release.draw(part, there))])
            found.append([(*row[:3], *(round(int(str(m)), -3) for m in row[3:])) for row in rows])
    assert found[0] == found[1]


def test_keys_alone_need_no_draw(release: ReleaseStage):
    part = replace(
        part_of((one_set(INT8, 3, 1),)),
        mechanism=None,
        measures=0,
        vacuous=True,
        release=release_sql(1, (), None),
    )
    asked = plan("SELECT k0 FROM r0 ORDER BY o", part)
    assert release.answer(asked, [(part, release.zeros(part))]) == [(3,), (1,)]


def test_nothing_is_written_to_a_disk(release: ReleaseStage):
    [(place,)] = release._connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert not place


def test_the_same_few_values_are_answered_once(release: ReleaseStage, monkeypatch: pytest.MonkeyPatch):
    part = part_of((one_set(INT8, 3, 1),))
    asked = plan("SELECT k0 AS c0, m0 AS c1 FROM r0 ORDER BY o", part)
    drawn = drawn_from(release, part, k0=[1], m0=[1000])
    first = release.answer(asked, drawn)
    others = [
        replace(asked, answer="SELECT m0 AS c0, k0 AS c1 FROM r0 ORDER BY o"),
        plan("SELECT k0 AS c0, m0 AS c1 FROM r0 ORDER BY o", replace(part, keys=(one_set(INT8, 3, 1),))),
    ]
    assert release.answer(others[0], drawn) == [row[::-1] for row in first]
    with monkeypatch.context() as patch:
        patch.setattr(release, "_answer", lambda *_, **__: pytest.fail("the engine was asked again"))
        assert release.answer(asked, drawn) == first
    again = drawn_from(release, part, k0=[1], m0=[5000])
    assert release.answer(asked, again) != first
    # Equal keys of another plan may be shown otherwise: true and 1 are equal, and so are 1.0 and 1.00.
    truth = part_of((KeySet((BOOL,), ((False,), (True,))),))
    numbers = replace(truth, keys=(one_set(INT8, 0, 1),))
    shown = plan("SELECT k0 AS c0 FROM r0 ORDER BY o", truth)
    table = release.zeros(replace(truth, release="SELECT k.o, k.k0, [0::HUGEINT] AS v FROM keys AS k"))
    assert [type(v) for [v] in release.answer(shown, [(truth, table)])] == [bool, bool]
    table = release.zeros(replace(numbers, release="SELECT k.o, k.k0, [0::HUGEINT] AS v FROM keys AS k"))
    assert [type(v) for [v] in release.answer(shown, [(numbers, table)])] == [int, int]


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
def test_selected_keys_that_no_client_can_hold_are_not_released(release: ReleaseStage, text: pa.DataType):
    keys = (KeySet((TEXT, TEXT), (), discovered=True),)
    part = replace(part_of(), keys=keys, selection=SURE, most=10)
    pairs = [("a", "b"), ("a\0", "b"), ("a", "\0"), (None, "b\0b"), (None, "b"), ("\0", None), ("", "")]
    first, second = (pa.array(list(values), text) for values in zip(*pairs, strict=True))
    table = pa.table({"k0": first, "k1": second, "m0": pa.array([7] * len(pairs), pa.decimal128(38))})
    drawn = discovered(release, part, table)
    assert drawn.column("k0").to_pylist() == ["", "a", None]
    assert drawn.column("k1").to_pylist() == ["", "b", "b"]
    assert drawn.column("o").to_pylist() == [0, 1, 2]


@pytest.mark.parametrize("measures", [0, 2])
def test_selected_groups_are_released_as_their_statement_says(release: ReleaseStage, measures: int):
    """At an epsilon at which noise is 0 but for a chance of exp(-1000)."""
    keys = (KeySet((TEXT, BOOL, INT8), (), discovered=True),)
    mechanism = Staircase.best((1, 3), 10**13)
    sql = discovered_sql(3, measures, Allocation(mechanism, 1) if measures else None)
    part = replace(
        part_of(),
        keys=keys,
        release=sql,
        measures=measures,
        mechanism=mechanism if measures else None,
        selection=SURE,
        most=10,
    )
    groups = [
        ("b", True, 3),
        ("é", None, 1),
        ("B", True, -3),
        (None, False, 1),
        ("b", None, 2),
        ("b", False, 9),
    ]
    columns = {f"k{i}": list(values) for i, values in enumerate(zip(*groups, strict=True))}
    table = exact(**columns, m0=[1, 2, None, 4, 5, -6], m1=[2**70, 0, 1, 2, 3, 4], units=[9] * 6).value
    with closing(release._connection.cursor()) as engine:
        engine.register("exact", table)
        expected = engine.sql(f"{sql} ORDER BY o").to_arrow_table()
    assert discovered(release, part, table).to_pylist() == expected.to_pylist()
    assert len(discovered(release, part, table.slice(0, 0))) == 0


def test_groups_of_several_portions_are_released_in_the_order_of_their_keys(release: ReleaseStage):
    part = replace(part_of(), keys=(KeySet((INT8,), (), discovered=True),), selection=SURE, most=10)
    wanted = [-(2**63), -7, 0, 3, 2**40, 2**63 - 1]
    for numbers in (wanted, wanted[1:5], wanted[2:4], wanted[1:2]):
        turned = numbers[::-1]
        table = exact(k0=turned, m0=[10**6 * turned.index(k) for k in turned]).value
        drawn = discovered(release, part, table)
        assert drawn["k0"].to_pylist() == numbers
        assert [round(int(v) / 10**6) for [v] in drawn["v"].to_pylist()] == [turned.index(k) for k in numbers]


def test_no_group_has_noise_of_another(release: ReleaseStage):
    part = replace(part_of(), keys=(KeySet((INT8,), (), discovered=True),), selection=SURE, most=10)

    def run(select: Select) -> Exact[pa.Table]:
        select(Exact(pa.array([10**6])))
        return exact(k0=[1, 2], m0=[1, 2])

    with pytest.raises(Internal, match="stays charged"):
        release.discover(part, run)


def test_what_was_not_drawn_when_a_statement_ends_is_drawn_for_nobody(
    release: ReleaseStage, monkeypatch: pytest.MonkeyPatch
):
    part = replace(part_of(), keys=(KeySet((INT8,), (), discovered=True),), selection=SURE, most=10)
    begun, ended, drawn = threading.Event(), threading.Event(), list[int]()

    def noise(_: object, count: int) -> None:
        drawn.append(count)
        begun.set()
        ended.wait(10)

    def run(select: Select) -> Exact[pa.Table]:
        for count in (1, 2, 3):
            select(Exact(pa.array([10**6] * count)))
        assert begun.wait(10)
        raise Cancelled("canceling statement due to user request")

    with monkeypatch.context() as patched:
        patched.setattr(release, "_noise", noise)
        with pytest.raises(Cancelled):
            release.discover(part, run)
        ended.set()
        release._drawing.submit(int).result(10)
    assert drawn == [1]


SURE = Selection(1, 10**9, Fraction(1, 10**6))
"""Keeps all groups of so many units as ``discovered`` says that they have."""


def discovered(release: ReleaseStage, part: Part, table: pa.Table) -> pa.Table:
    """The relation of groups that are selected in portions, as they are found."""

    def run(select: Select) -> Exact[pa.Table]:
        for start in range(0, len(table), 2):
            counts = pa.array([10**6] * len(table.slice(start, 2)), pa.int64())
            assert select(Exact(counts)).all()
        return Exact(table)

    return release.discover(part, run).value


def test_large_answers_stay_in_columns(release: ReleaseStage):
    part = replace(part_of(), keys=(KeySet((INT8,), (), discovered=True),), selection=SURE, most=10)
    drawn = [
        (part, Released(discovered(release, part, exact(k0=[0, 1, 2], m0=[1000, 2000, 3000]).value), Loss(1)))
    ]
    asked = replace(plan("SELECT k0 AS c0, m0 AS c1 FROM r0 ORDER BY o DESC", part))
    rows = release.answer(asked, drawn)
    assert isinstance(rows, pa.Table)
    assert rows.column("c0").to_pylist() == [2, 1, 0]


@pytest.mark.parametrize("measures", [0, 2])
def test_columns_that_are_shown_as_they_are_are_what_the_engine_makes_of_them(
    release: ReleaseStage, measures: int
):
    kinds = {
        "k0": TEXT,
        "k1": BOOL,
        "k2": INT8,
        "k3": DATE,
        "k4": TIMESTAMP,
        "k5": NUMERIC.with_precision(9, 2),
    }
    mechanism = Staircase.best((1, 3), 10**9) if measures else None
    part = replace(
        part_of(),
        keys=(KeySet(tuple(kinds.values()), (), discovered=True),),
        release=discovered_sql(len(kinds), measures, Allocation(mechanism, 1) if mechanism else None),
        measures=measures,
        mechanism=mechanism,
        selection=SURE,
        most=10,
    )
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - the type has no time zone
    rows: list[tuple[object, ...]] = [
        ("é", True, 2**63 - 1, date(1, 1, 1), moment, 10**9 - 1),
        (None, None, None, None, None, None),
        ("", False, -(2**63), date(9999, 12, 31), moment, -5),
    ]
    columns = {
        name: pa.array([row[place] for row in rows], key_type(kind))
        for place, (name, kind) in enumerate(kinds.items())
    }
    table = pa.table(columns | {f"m{i}": pa.array([7, -(2**80), 0], WHOLE) for i in range(measures)})
    relations = [(part, Released(discovered(release, part, table), Loss(1)))]
    names = [*kinds, *(f"m{i}" for i in range(measures))][::-1]
    listed = ", ".join(f"r0.{name} AS c{place}" for place, name in enumerate(names))
    asked = plan(f"SELECT {listed} FROM r0 ORDER BY r0.o", part)
    made = release.answer(asked, relations)
    copied = release.answer(replace(asked, copied=tuple(names)), relations)
    assert isinstance(made, pa.Table)
    assert isinstance(copied, pa.Table)
    assert copied.schema.types == made.schema.types
    assert copied.equals(made)
