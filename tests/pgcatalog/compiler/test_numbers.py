from collections.abc import Callable

import pytest

from dpproxy.values.errors import DivisionByZero, NumberOutOfRange, Unsupported
from tests.pgcatalog.conftest import Ask


def test_nothing_is_divided_by_zero(ask: Ask):
    for sql in ("SELECT 1.0 / 0", "SELECT 1 / 0", "SELECT 1::float8 / 0", "SELECT avg(1.5) / 0"):
        with pytest.raises(DivisionByZero):
            ask(sql)


@pytest.mark.parametrize(
    ("sql", "refusal"),
    [
        ("SELECT 1e100", NumberOutOfRange),
        ("SELECT 1e999999999", NumberOutOfRange),
        ("SELECT 1e-999999999", NumberOutOfRange),
        ("SELECT 1e9999999999999999999999", NumberOutOfRange),
        ("SELECT '1e30000000'::numeric", NumberOutOfRange),
        ("SELECT '1e100'::numeric", NumberOutOfRange),
        ("SELECT '-1e-9999999999999999999999'::numeric", NumberOutOfRange),
        ("SELECT 99999999999::int", NumberOutOfRange),
        ("SELECT extract(timezone FROM now())", Unsupported),
    ],
)
def test_what_is_refused(ask: Callable[..., object], sql: str, refusal: type[Exception]):
    with pytest.raises(refusal):
        ask(sql)
