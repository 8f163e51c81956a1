"""The release engine: with and without keys, the same contract."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from dpproxy.backends.release import Release, key_table
from dpproxy.errors import DivisionByZero, Internal, NumberOutOfRange
from dpproxy.pgtypes import BOOL, INT8, TEXT, Column
from dpproxy.plan import KeyColumn, Output, Payer, Plan
from dpproxy.planner.release import release_sql
from udfs.mechanisms import Staircase
from udfs.privacy import Exact, Loss, Released

NANO = 5 * 10**9
"""An epsilon at which a draw is 0 in most cases."""


@pytest.fixture
def release() -> Iterator[Release]:
    made = Release()
    yield made
    made.close()


def plan(answer: str, *, keys: tuple[KeyColumn, ...] = (), widths: tuple[int, ...] = (1,)) -> Plan:
    mechanism = Staircase.best(widths, NANO)
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(len(keys)))
    sums = ", ".join(f"CAST(coalesce(e.m{i}, 0) AS HUGEINT)" for i in range(len(widths)))
    boxes = ", ".join(f"CAST({w} AS HUGEINT)" for w in widths)
    drawn = f"dp_release([{sums}], [{boxes}], CAST(5 AS DECIMAL(18,9))) AS v"
    names = "".join(f", k.k{i}" for i in range(len(keys)))
    source = f"SELECT k.o{names}, {drawn} FROM keys AS k LEFT JOIN exact AS e ON {match}"
    return Plan(
        exact="", truncated=False, release=source if keys else f"SELECT 0 AS o, {drawn} FROM exact AS e",
        answer=answer, keys=keys, mechanism=mechanism, loss=Loss(NANO), factor=1, unit="one row",
        outputs=(Output(Column("n", INT8), 0),),
        payer=Payer("t", Fraction(1), "b", Fraction(1), None, None), label="", policy_version=1, data_version=1,
    )  # fmt: skip


def exact(**columns: list[object]) -> Exact[pa.Table]:
    return Exact(
        pa.table(
            {
                name: pa.array(values, pa.decimal128(38, 0) if name[0] == "m" else None)
                for name, values in columns.items()
            }
        )
    )


def test_one_row_is_drawn_and_answered_without_keys(release: Release):
    asked = plan("SELECT m0 - 1000 AS c0, m1 AS c1 FROM released ORDER BY o", widths=(1, 0))
    release.prepare(asked)
    drawn = release.draw(asked, exact(m0=[1000], m1=[7]))
    assert drawn.loss == Loss(NANO)
    assert drawn.value.column_names == ["o", "v"]
    [(noise, nothing)] = release.answer(asked, drawn)
    assert abs(int(str(noise))) < 100
    assert nothing == 0  # what nobody can move is the sum of no rows


def test_what_was_drawn_is_not_drawn_again_by_reading_it(release: Release):
    asked = plan("SELECT m0 AS c0, m0 AS c1 FROM released")
    drawn = release.draw(asked, exact(m0=[10**6]))
    rows = {row for _ in range(20) for row in release.answer(asked, drawn)}
    assert len(rows) == 1
    assert all(a == b for a, b in rows)


def test_the_sum_of_no_rows_is_0(release: Release):
    asked = plan("SELECT m0 FROM released")
    [(value,)] = release.answer(asked, release.draw(asked, exact(m0=[None])))
    assert abs(int(str(value))) < 100


def test_the_widest_values_pass(release: Release):
    widest = 10**38 - 1
    asked = plan("SELECT m0 FROM released")
    stored = Released(release.draw(asked, exact(m0=[widest])).value, Loss(NANO))
    [(value,)] = release.answer(asked, stored)
    assert widest - 100 < int(str(value)) <= widest


def test_every_declared_key_is_drawn_for_and_no_other(release: Release):
    keys = (KeyColumn(TEXT, ("a", None)), KeyColumn(BOOL, (True, False)))
    asked = plan("SELECT k0, k1, m0 > 500 FROM released ORDER BY o", keys=keys)
    drawn = release.draw(asked, exact(k0=["a", "z", None], k1=[False, True, True], m0=[1000, 1000, 1000]))
    assert release.answer(asked, drawn) == [
        ("a", True, False),
        ("a", False, True),
        (None, True, True),
        (None, False, False),
    ]
    assert key_table(keys).num_rows == 4


@pytest.mark.parametrize("keys", [(), (KeyColumn(TEXT, ("a",)),)], ids=["one row", "keys"])
@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("CAST(m0 AS TINYINT)", NumberOutOfRange),
        ("error('not defined')", DivisionByZero),
        ("nothing", Internal),
    ],
)
def test_what_the_analyst_computes_may_fail(
    release: Release, keys: tuple[KeyColumn, ...], expression: str, error: type[Exception]
):
    asked = plan(f"SELECT {expression} FROM released", keys=keys)
    values = exact(k0=["a"], m0=[100_000]) if keys else exact(m0=[100_000])
    drawn = release.draw(asked, values)
    with pytest.raises(error) as refusal:
        release.answer(asked, drawn)
    assert "100" not in str(refusal.value)


def test_a_draw_that_fails_says_nothing_of_the_value(release: Release):
    asked = replace(plan("SELECT m0 FROM released"), release="SELECT 0 AS o, nothing FROM exact AS e")
    with pytest.raises(Internal) as refusal:
        release.draw(asked, exact(m0=[123456]))
    assert "123456" not in str(refusal.value)


def test_keys_alone_need_no_draw(release: Release):
    keys = (KeyColumn(INT8, (3, 1)),)
    asked = replace(
        plan("SELECT k0 FROM released ORDER BY o", keys=keys),
        mechanism=None,
        release=release_sql(1, (), None),
    )
    assert release.answer(asked, release.keys_only(asked)) == [(3,), (1,)]
