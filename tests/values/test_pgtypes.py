import pytest

from dpproxy.values.pgtypes import (
    ARRAYS,
    BY_OID,
    FLOAT8,
    INT4,
    NUMERIC,
    TEXT,
    TYPES,
    VECTORS,
    Column,
    Schema,
    array_of,
    element_of,
)


def test_oids_are_postgresqls_and_unique():
    assert len(BY_OID) == len(TYPES) + len(ARRAYS) + len(VECTORS)
    assert {t.name: t.oid for t in TYPES if t.name in {"int4", "float8", "numeric", "date"}} == {
        "int4": 23,
        "float8": 701,
        "numeric": 1700,
        "date": 1082,
    }


@pytest.mark.parametrize(("precision", "scale"), [(10, 2), (38, 0), (1, 1)])
def test_a_numeric_keeps_precision_and_scale_in_its_modifier(precision: int, scale: int):
    kind = NUMERIC.with_precision(precision, scale)
    assert (kind.precision, kind.scale) == (precision, scale)
    assert kind.modifier == ((precision << 16) | scale) + 4
    assert kind.is_same(NUMERIC)
    assert kind != NUMERIC


def test_a_type_without_a_modifier_has_no_scale():
    assert (NUMERIC.precision, NUMERIC.scale) == (None, None)
    assert not INT4.is_same(FLOAT8)


def test_a_schema_finds_a_column_by_its_exact_name():
    schema = Schema({"t": (Column("a", INT4), Column("A", FLOAT8))})
    assert schema.column("t", "A") == Column("A", FLOAT8)
    assert schema.column("t", "b") is None
    assert schema.column("u", "a") is None


def test_an_array_knows_its_elements():
    paid = NUMERIC.with_precision(10, 2)
    assert (array_of(paid).oid, array_of(paid).name) == (1231, "_numeric")
    assert element_of(array_of(paid)) == paid
    assert element_of(TEXT) is None
