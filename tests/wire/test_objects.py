"""The bytes are compared with PostgreSQL's in test_against_postgres, and in tests/pgcatalog/test_expressions."""

import pytest

from dpproxy.values.errors import InvalidText, Unsupported
from dpproxy.values.pgtypes import INET, RECORD, REGCLASS, REGTYPE, ObjectName, array_of
from dpproxy.wire.values import decode, encode_value


def test_an_object_is_its_name_in_text_and_its_number_in_binary():
    assert encode_value(REGCLASS, ObjectName("pg_class", 1259), 0) == b"pg_class"
    assert encode_value(REGCLASS, ObjectName("pg_class", 1259), 1) == (1259).to_bytes(4, "big")
    assert encode_value(array_of(REGTYPE), [ObjectName("integer", 23), None], 0) == b"{integer,NULL}"


@pytest.mark.parametrize("text", ["192.168.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"])
def test_addresses(text: str):
    binary = encode_value(INET, text, 1)
    assert binary is not None
    assert decode(INET, binary, 1) == decode(INET, text.encode(), 0) == text


@pytest.mark.parametrize("data", [b"", b"x", b"1.2.3.4/40"])
def test_what_is_no_address(data: bytes):
    with pytest.raises(InvalidText):
        decode(INET, data, 0)
    with pytest.raises(InvalidText):
        decode(INET, data, 1)


def test_a_row_has_no_binary_form():
    assert encode_value(RECORD, "(1,a)", 0) == b"(1,a)"
    with pytest.raises(Unsupported):
        encode_value(RECORD, "(1,a)", 1)
