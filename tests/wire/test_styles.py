from dpproxy.config.settings import DEFAULTS
from dpproxy.values.pgtypes import BYTEA, INT4, INTERVAL, TIMESTAMPTZ, Column, array_of
from dpproxy.wire.styles import styled_columns, styled_types
from dpproxy.wire.values import encode_value

SETTINGS = {**DEFAULTS, "timezone": "Asia/Kolkata", "intervalstyle": "iso_8601"}


def test_types_as_a_session_writes_them():
    kinds = styled_types([INT4, TIMESTAMPTZ, INTERVAL, array_of(TIMESTAMPTZ)], SETTINGS)
    assert [kind.style for kind in kinds] == ["", "Asia/Kolkata", "iso_8601", "Asia/Kolkata"]


def test_columns():
    plain = (Column("a", INT4),)
    assert styled_columns(plain, SETTINGS) == plain
    [column] = styled_columns((Column("a", TIMESTAMPTZ, not_null=True),), SETTINGS)
    assert column.not_null
    assert column.type.is_same(TIMESTAMPTZ)
    assert encode_value(column.type, None, 0) is None


def test_bytes_are_written_in_the_format_of_the_session():
    value = b"\x00a\\\xff"
    for setting, shown, listed in (
        ("hex", rb"\x00615cff", rb'{"\\x00615cff"}'),
        ("escape", rb"\000a\\\377", rb'{"\\000a\\\\\\377"}'),
    ):
        one, many = styled_types([BYTEA, array_of(BYTEA)], {**DEFAULTS, "bytea_output": setting})
        assert encode_value(one, value, 0) == shown
        assert encode_value(many, [value], 0) == listed
        assert encode_value(one, value, 1) == value
