from collections.abc import Callable
from decimal import Decimal

import pytest

from dpproxy.pgcatalog import results
from dpproxy.pgtypes import NUMERIC, TEXT, array_of
from dpproxy.plan import Answer


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("SMALLINT[]", "_int2"),
        ("VARCHAR[][]", "_text"),
        ("UUID", "uuid"),
        ("INTERVAL[]", "_interval"),
        ("STRUCT(a)", "text"),
    ],
)
def test_types(stored: str, name: str):
    assert results.column_type(stored).name == name


def test_values_inside_arrays():
    rows = results.rows(
        [array_of(NUMERIC), array_of(TEXT)], [([Decimal("0.50"), None], [["a"]]), (None, [1])]
    )
    assert rows == [([Decimal("0.5"), None], [["a"]]), (None, ["1"])]


def test_numbers_lose_the_zeros_of_the_common_scale():
    rows = results.rows([NUMERIC, TEXT], [(Decimal("0.500"), "a"), (Decimal(100), None), (None, "b")])
    assert [str(row[0]) for row in rows] == ["0.5", "100", "None"]


def test_a_declared_scale_is_kept(answer: Callable[..., Answer]):
    assert str(answer("SELECT 1::numeric(5,2)").rows[0][0]) == "1.00"
