"""Casts in SQLite: of what is known to have a value in the other type."""

import pytest

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Reach, Value, ValueKind
from dpproxy.backends.sqlite import casts, values
from dpproxy.values.errors import Unsupported
from tests.backends.sqlite.test_values import computed, number


@pytest.mark.parametrize(("text", "wanted"), [("2.5", 3), ("2.49", 2), ("0.5", 1), (f"{'9' * 30}.5", 10**30)])
def test_a_decimal_is_rounded_away_from_zero(text: str, wanted: int):
    node = nodes.Cast(nodes.Number(text), "BIGINT")
    for value, whole in ((number(text), wanted), (values.negative(number(text)), -wanted)):
        assert computed(casts.to_bigint(node, [value])) == whole


def test_a_double_is_cast_where_it_is_known_to_fit():
    inside = Value("(2.5)", ValueKind.DOUBLE, Reach(0.0, 9.0, top=False, bottom=False))
    node = nodes.Cast(nodes.ColumnRef("x"), "BIGINT")
    assert computed(casts.to_bigint(node, [inside])) == 2, "to the nearest even number"
    for reach in (Reach(), Reach(0.0, 2.0**63, top=False, bottom=False)):
        with pytest.raises(Unsupported, match="without bounds"):
            casts.to_bigint(node, [Value("x", ValueKind.DOUBLE, reach)])


def test_a_decimal_is_widened_only():
    node = nodes.Cast(nodes.Number("1.5"), "DECIMAL(18, 3)")
    assert casts.to_decimal(node, [number("1.5")]).scale == 3
    assert computed(casts.to_decimal(node, [number("1.5")])) == number("1.5").reach.low
    with pytest.raises(Unsupported):
        casts.to_decimal(node, [number("1.2345")])
