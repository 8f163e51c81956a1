from dpproxy.pgtypes import INT4, INTERVAL, TIMESTAMPTZ, Column, array_of
from dpproxy.settings import DEFAULTS
from dpproxy.wire.styles import styled, styled_types
from dpproxy.wire.values import encode_value

SETTINGS = {**DEFAULTS, "timezone": "Asia/Kolkata", "intervalstyle": "iso_8601"}


def test_types_as_a_session_writes_them():
    kinds = styled_types([INT4, TIMESTAMPTZ, INTERVAL, array_of(TIMESTAMPTZ)], SETTINGS)
    assert [kind.style for kind in kinds] == ["", "Asia/Kolkata", "iso_8601", "Asia/Kolkata"]


def test_columns():
    plain = (Column("a", INT4),)
    assert styled(plain, SETTINGS) == plain
    [column] = styled((Column("a", TIMESTAMPTZ, not_null=True),), SETTINGS)
    assert column.not_null
    assert column.type.is_same(TIMESTAMPTZ)
    assert encode_value(column.type, None, 0) is None
