import pytest

from dpproxy.backends.servers.dialect import Reach, Value, ValueKind, common, kind_of, stored
from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import INT2, JSONB, NUMERIC, TEXT


def test_columns_have_kinds():
    kinds = [kind_of(t) for t in (INT2, TEXT, NUMERIC.with_precision(9, 0), NUMERIC.with_precision(9, 2))]
    assert kinds == [ValueKind.WHOLE, ValueKind.TEXT, ValueKind.HUGE, ValueKind.DECIMAL]
    with pytest.raises(Unsupported):
        kind_of(JSONB)


def test_one_of_several_values_is_the_widest_of_them():
    small = Value("a", ValueKind.DOUBLE, Reach(0.0, 1.0, 0.5, top=False, bottom=False))
    large = Value("b", ValueKind.DOUBLE, Reach(-9.0, 0.5, 0.25, top=True, bottom=False))
    found = common([Value("NULL", ValueKind.NULL), small, large])
    assert found.reach == Reach(-9.0, 1.0, 0.25, top=True, bottom=False)
    assert common([Value("a", ValueKind.WHOLE), Value("b", ValueKind.DECIMAL, scale=2)]).scale == 2
    with pytest.raises(Unsupported):
        common([small, Value("t", ValueKind.TEXT)])


def test_a_column_is_read_in_its_own_way_once():
    held = stored(ValueKind.TEXT, "{}::text").under('"t"."c"')
    assert held.sql == '"t"."c"::text'
    assert held.as_column('"d"').under('"u"."d"').sql == '"u"."d"'
    assert stored(ValueKind.TEXT, "{}::text").wrap == "{}::text"
