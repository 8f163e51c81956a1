"""Compiled loops."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from dpproxy.anonymize.compiled import compiled


def total(numbers: np.ndarray) -> float:
    result = 0.0
    for number in numbers:
        result += number
    return result


def test_a_compiled_loop_adds_in_the_order_written():
    numbers = np.array([1e16, 1.0, -1e16, 1.0])
    assert compiled(total)(numbers) == total(numbers)


def test_where_nothing_can_be_kept_it_is_compiled_anyway(monkeypatch: pytest.MonkeyPatch):
    real = numba.njit

    def nowhere(*, cache: bool = False, nogil: bool) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(nogil=nogil)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert compiled(total)(np.ones(3)) == 3


def test_serving_does_not_import_the_compiler():
    code = (
        "import sys, dpproxy.cli.main, dpproxy.server.listener, dpproxy.anonymize.methods; "
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
