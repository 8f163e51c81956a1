"""Answers that are streams, and those that are small enough not to be."""

from collections.abc import Generator

import pyarrow as pa
import pytest

from dpproxy.algebra.plan import Output
from dpproxy.engine import output as module
from dpproxy.engine.output import RowStream, streamed_answer
from dpproxy.values.errors import PortalState, TooComplex
from dpproxy.values.pgtypes import INT8, Column

OUTPUTS = (Output(Column("n", INT8), None),)


def batches(log: list[str], *sizes: int) -> Generator[pa.Table]:
    at = 0
    try:
        for size in sizes:
            log.append(f"make {size}")
            yield pa.table({"c0": list(range(at, at + size))})
            at += size
    finally:
        log.append("end")


def taken(found: RowStream, *most: int) -> list[list[int]]:
    return [[n for (n,) in found.take(m) if isinstance(n, int)] for m in most]


def test_one_batch_is_an_answer_as_any_other():
    log: list[str] = []
    answer = streamed_answer(OUTPUTS, batches(log, 3))
    assert (answer.tag, list(answer.rows), answer.stream) == ("SELECT 3", [(0,), (1,), (2,)], None)
    assert log == ["make 3", "end"]
    none = streamed_answer(OUTPUTS, batches(log))
    assert (none.tag, list(none.rows)) == ("SELECT 0", [])


def test_rows_come_in_order_and_no_sooner_than_they_are_taken():
    log: list[str] = []
    found = streamed_answer(OUTPUTS, batches(log, 2, 3, 1)).stream
    assert isinstance(found, RowStream)
    assert log == ["make 2", "make 3"]
    assert taken(found, 1, 1, 2) == [[0], [1], [2, 3]]
    assert log == ["make 2", "make 3"]
    assert found.is_open
    assert taken(found, 9, 9, 9, 9) == [[4], [5], [], []]
    assert not found.is_open
    assert log[-1] == "end"


def test_what_is_closed_early_makes_no_more_and_says_so():
    log: list[str] = []
    found = streamed_answer(OUTPUTS, batches(log, 2, 3, 1)).stream
    assert isinstance(found, RowStream)
    found.close()
    assert log == ["make 2", "make 3", "end"]
    with pytest.raises(PortalState, match="not read for too long"):
        found.take(1)
    over = streamed_answer(OUTPUTS, batches(log, 2, 3)).stream
    assert isinstance(over, RowStream)
    assert taken(over, 9, 9, 9) == [[0, 1], [2, 3, 4], []]
    over.close()
    assert taken(over, 1) == [[]]


def test_a_fault_ends_it():
    def broken() -> Generator[pa.Table]:
        yield from batches([], 1, 1)
        raise TooComplex("the statement takes too much memory")

    found = streamed_answer(OUTPUTS, broken()).stream
    assert isinstance(found, RowStream)
    assert taken(found, 5, 5) == [[0], [1]]
    with pytest.raises(TooComplex):
        found.take(5)
    assert not found.is_open
    with pytest.raises(PortalState, match="reading its rows failed"):
        found.take(5)


def test_all_of_it_has_an_end(monkeypatch: pytest.MonkeyPatch):
    found = streamed_answer(OUTPUTS, batches([], 2, 3, 1)).stream
    assert isinstance(found, RowStream)
    found.take(1)
    assert list(found.whole()) == [(n,) for n in range(1, 6)]
    assert list(found.whole()) == []
    monkeypatch.setattr(module, "LARGEST_WHOLE", 100)
    log: list[str] = []
    large = streamed_answer(OUTPUTS, batches(log, *[10] * 10)).stream
    assert isinstance(large, RowStream)
    with pytest.raises(TooComplex, match="scrolls"):
        large.whole()
    assert log == ["make 10", "make 10", "make 10", "end"]
