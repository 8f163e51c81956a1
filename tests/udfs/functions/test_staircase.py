"""The staircase's functions: what they answer is the mechanism's own."""

from decimal import Decimal

import pyarrow as pa
import pytest

from udfs import arrow
from udfs.functions.staircase import functions, half_width, noise_sd
from udfs.mechanisms import Staircase
from udfs.pool import Pool
from udfs.privacy import NANO


def test_figures_row_by_row():
    widths = arrow.numbers(arrow.from_integers([1, 10**20, 0]))
    epsilons = pa.array([Decimal("0.5"), Decimal(2), Decimal(1)], pa.decimal128(18, 9))
    mechanisms = [Staircase.best((w,), n) for w, n in [(1, NANO // 2), (10**20, 2 * NANO), (0, NANO)]]
    assert noise_sd(widths, epsilons).to_pylist() == pytest.approx([m.noise_sd()[0] for m in mechanisms])
    levels = pa.array([0.5, 0.95, 0.99])
    found = half_width(widths, epsilons, levels).to_pylist()
    assert found == [m.half_width(c)[0] for m, c in zip(mechanisms, levels.to_pylist(), strict=True)]


def test_names():
    listed = [f.name for f in functions(Pool()) if not f.name.startswith("_")]
    assert list(dict.fromkeys(listed)) == [
        "dp_release", "dp_count", "dp_sum", "dp_shortest", "dp_noise_sd", "dp_half_width", "dp_interval",
    ]  # fmt: skip
