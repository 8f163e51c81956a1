from collections.abc import Callable
from decimal import Decimal

import pytest

from dpproxy.pgcatalog import results
from dpproxy.pgtypes import NUMERIC, TEXT
from dpproxy.plan import Answer


@pytest.mark.parametrize(
    ("value", "text"),
    [([], "{}"), (["a b", "", "null", None], '{"a b","","null",NULL}'), ([[1, 2], [3]], "{{1,2},{3}}")],
)
def test_arrays_read_as_postgresql_writes_them(value: object, text: str):
    assert results.array_text(value) == text


def test_numbers_lose_the_zeros_of_the_common_scale():
    rows = results.rows([NUMERIC, TEXT], [(Decimal("0.500"), "a"), (Decimal(100), None), (None, "b")])
    assert [str(row[0]) for row in rows] == ["0.5", "100", "None"]


def test_a_declared_scale_is_kept(answer: Callable[..., Answer]):
    assert str(answer("SELECT 1::numeric(5,2)").rows[0][0]) == "1.00"
