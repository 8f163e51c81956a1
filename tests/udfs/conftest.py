"""Sources of words, the test of fit that sampled laws are held to, and a bound on work."""

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2


def script(*words: int):
    """A source that gives these 64-bit words and then fails."""
    stream = b"".join(word.to_bytes(8, "little") for word in words)

    def take(count: int) -> bytes:
        nonlocal stream
        assert count <= len(stream), "the script is over"
        taken, stream = stream[:count], stream[count:]
        return taken

    return take


def agree(counts: Sequence[int], probabilities: Iterable[Fraction]) -> bool:
    """Whether counts agree with probabilities by the chi-square test, false alarm 1e-6."""
    expected = np.array([float(p) for p in probabilities]) * sum(counts)
    statistic = float((((np.array(counts) - expected) ** 2) / expected).sum())
    return bool(expected.min() > 5) and statistic < chi2.isf(1e-6, len(counts) - 1)


@pytest.fixture
def scripted():
    return script


@pytest.fixture
def fits():
    return agree


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Hold the block to so many seconds of this thread's work: other threads and processes do not count.

    Nor does the collection of garbage, which in a long run of tests goes through what all of them left.
    """
    gc.disable()
    start = time.thread_time()
    try:
        yield
        took = time.thread_time() - start
    finally:
        gc.enable()
    assert took < seconds


@pytest.fixture
def work():
    return at_most
