from collections.abc import Callable
from decimal import Decimal

import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog.compiler import results
from dpproxy.values.pgtypes import NUMERIC, REGCLASS, TEXT, array_of


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("SMALLINT[]", "_int2"),
        ("VARCHAR[][]", "_text"),
        ("UUID", "uuid"),
        ("INTERVAL[]", "_interval"),
        ("STRUCT(a)", "record"),
    ],
)
def test_types(stored: str, name: str):
    assert results.column_type(stored).name == name


def test_values_inside_arrays():
    rows = results.rows(
        [array_of(NUMERIC), array_of(TEXT)],
        ["DECIMAL(38,2)[]", "VARCHAR[]"],
        [([Decimal("0.50"), None], [["a"]]), (None, [1])],
        lambda _: {},
    )
    assert rows == [([Decimal("0.5"), None], [["a"]]), (None, ["1"])]


def test_numbers_lose_the_zeros_of_the_common_scale():
    held = [(Decimal("0.500"), "a"), (Decimal(100), None), (None, "b")]
    rows = results.rows([NUMERIC, TEXT], ["DECIMAL(38,3)", "VARCHAR"], held, lambda _: {})
    assert [str(row[0]) for row in rows] == ["0.5", "100", "None"]


def test_a_declared_scale_is_kept(answer: Callable[..., Answer]):
    assert str(answer("SELECT 1::numeric(5,2)").rows[0][0]) == "1.00"


def test_objects_have_their_names_and_their_numbers():
    held = [(7, [7, 8, 0]), ("seven", None)]
    rows = results.rows(
        [REGCLASS, array_of(REGCLASS)], ["UINTEGER", "UINTEGER[]"], held, lambda _: {7: "seven"}
    )
    assert rows == [("seven", ["seven", "8", "-"]), ("seven", None)]
    assert [name.oid for name in (rows[0][0], *rows[0][1], rows[1][0])] == [7, 7, 8, 0, 7]
