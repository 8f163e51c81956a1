from fractions import Fraction

import pytest

from dpproxy.aggregates.model import Noise
from dpproxy.values.pgtypes import BOOL
from tests.aggregates.conftest import Calls, evaluate, filled, measured, names, rows_of

NOISE = Noise((2.5,), lambda _: (3,), rows=4)


@pytest.mark.parametrize(
    ("ages", "both"),
    [
        ([4, 5], (True, True)),
        ([4, 3], (False, True)),
        ([3], (False, False)),
        ([None, 4], (True, True)),
        ([None], (True, False)),
        ([], (True, False)),
    ],
)
def test_values(calls: Calls, ages: list[int | None], both: tuple[bool, bool]):
    every, some = calls("bool_and(age > 3), bool_or(age > 3)")
    with filled(rows_of(age=ages)) as connection:
        for call, value in zip((every, some), both, strict=True):
            (exact,) = measured(connection, call.measures)
            assert evaluate([call.value(names(call)).sql], {"m0": exact[0]}) == (value,)
            theirs = connection.execute(
                f"SELECT bool_{'and' if call is every else 'or'}(age > 3) FROM t"
            ).fetchone()
            assert theirs is not None
            assert theirs[0] in (value, None)


def test_one_row_decides(calls: Calls):
    for call in calls("bool_and(smokes), bool_or(smokes)"):
        assert [m.width for m in call.measures] == [1]
        with filled(rows_of(smokes=(True, False, None))) as connection:
            assert sorted(measured(connection, call.measures, by="rowid")) == [(0,), (0,), (1,)]
        assert call.type == BOOL
        assert not call.value(names(call)).nullable


@pytest.mark.parametrize(
    ("count", "some"),
    [(-9, (0, 0)), (-3, (0, 0)), (-2, (0, 1)), (0, (0, 1)), (3, (0, 1)), (4, (1, 1)), (9, (1, 1))],
)
def test_the_interval_says_whether_noise_may_have_decided(calls: Calls, count: int, some: tuple[int, int]):
    """The exact count is within 3 of the released one."""
    every, any_call = calls("bool_and(smokes), bool_or(smokes)")
    assert evaluate(any_call.interval(names(any_call), NOISE, Fraction(1, 2)), {"m0": count}) == some
    found = evaluate(every.interval(names(every), NOISE, Fraction(1, 2)), {"m0": count})
    assert found == (1 - some[1], 1 - some[0])
    held = {float(exact >= 1) for exact in range(count - 3, count + 4)}
    assert held == set(map(float, some))


def test_errors(calls: Calls):
    every, some = calls("every(smokes), bool_or(smokes)")
    assert evaluate([every.noise_sd(names(every), NOISE)], {"m0": 0}) == (2.5,)
    error = every.error(NOISE, Fraction(1, 2))
    assert (error.sensitivity, error.noise_sd, error.half_width) == ("4", None, None)
    assert error.formula == "3 of the false rows that decide it"
    assert some.error(NOISE, Fraction(1, 2)).formula == "3 of the true rows that decide it"
