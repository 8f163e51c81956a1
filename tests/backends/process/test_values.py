"""What passes between two processes is data, of the kinds that are listed."""

import json
import math
from datetime import date, datetime
from decimal import Decimal

import pytest

from dpproxy.backends.process.values import dumps, loads
from dpproxy.values.pgtypes import INT8, NUMERIC, CheckConstraint, Column, ForeignKey, Schema, UniqueKey, View


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**127),
        0.1,
        math.inf,
        "\udc80 ' \0 ü",
        Decimal("-1.50"),
        date(1, 1, 1),
        datetime.fromisoformat("2020-01-01 00:00:00.000001"),
        [1, [Decimal(0), None]],
        NUMERIC.with_precision(5, 2),
        Schema(
            {"t": (Column("a", INT8, not_null=True),)},
            (
                UniqueKey("t", ("a",), primary=True),
                ForeignKey("t", ("a",), "u", ("b",)),
                CheckConstraint("t", "a > 0"),
            ),
            {"v": View("CREATE VIEW v AS SELECT 1", ("a",))},
            {"t": ("hidden",)},
        ),
    ],
)
def test_it_comes_back_as_it_went(value: object):
    found = loads(dumps(value))
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_stays_one():
    assert math.isnan(loads(dumps(math.nan)))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [object(), {1}, b"bytes", int, [dumps]])
def test_nothing_else_is_written(value: object):
    with pytest.raises(TypeError):
        dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        json.dumps({"system": "id"}).encode(),
        json.dumps({"date": 1}).encode(),
        json.dumps({"date": "2020-01-01", "more": 1}).encode(),
        json.dumps({"decimal": "one"}).encode(),
        json.dumps({"Column": ["a"]}).encode(),
        json.dumps({"Path": ["/"]}).encode(),
        b"[" * 100_000,
    ],
)
def test_nothing_else_is_read(text: bytes):
    with pytest.raises(ValueError):  # noqa: PT011 - any of its kinds
        loads(text)
