"""The values of anonymisation."""

import numpy as np

from dpproxy.anonymize.model import Anonymized, LatticeDomain


def test_an_interval_is_as_wide_as_its_ends_are_apart() -> None:
    assert LatticeDomain(-3, 7).width == 10


def test_rows_are_not_shown() -> None:
    assert "4242" not in repr(Anonymized(np.full((2, 1), 4242)))
