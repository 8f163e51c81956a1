"""Parameters as DuckDB hands them over, and the refusal of what is missing."""

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from udfs.functions import parameters
from udfs.privacy import InvalidMechanism


def epsilons(*values: str | None) -> pa.Array:
    return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(18, 9))


def whole(*values: int | None) -> pa.Array:
    return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(38, 0))


def test_epsilon_is_whole_nano():
    assert parameters.nano(epsilons("0.1", "1", "2.000000001")).tolist() == [10**8, 10**9, 2 * 10**9 + 1]


@pytest.mark.parametrize("wrong", [None, "-1"])
def test_epsilon_is_there_and_not_negative(wrong: str | None):
    with pytest.raises(InvalidMechanism, match="epsilon"):
        parameters.nano(epsilons("1", wrong))


def test_sensitivities_are_there():
    assert parameters.sensitivities(whole(3, 2**80)) == [3, 2**80]
    with pytest.raises(InvalidMechanism, match="sensitivity"):
        parameters.sensitivities(whole(3, None))


def test_confidences_are_decimals():
    assert parameters.confidences(pa.array([0.95, 0.5])) == [Fraction(19, 20), Fraction(1, 2)]


@pytest.mark.parametrize("wrong", [None, 0.0, 1.0, -1.0, 1.5, float("nan")])
def test_confidence_is_a_probability(wrong: float | None):
    with pytest.raises(InvalidMechanism, match="confidence"):
        parameters.confidences(pa.array([0.5, wrong]))
