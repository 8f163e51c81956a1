"""The pool: every draw once, nothing across a fork, refilled off the path."""

import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from udfs.mechanisms import Staircase
from udfs.pool import BLOCK, Pool
from udfs.privacy import LEAST_NANO, NANO

WIDE = Staircase.best((2**61,), LEAST_NANO)
"""Its draws are all different: two of a million are equal with probability below 1e-10."""


class Counter:
    """A mechanism that draws 0, 1, 2, ...: shows who got what."""

    def __init__(self) -> None:
        self.next, self.calls, self.lock = 0, [], threading.Lock()

    def draw(self, count: int, words: object = None) -> np.ndarray:
        del words
        with self.lock:
            self.calls.append(count)
            self.next += count
            return np.arange(self.next - count, self.next).reshape(-1, 1)


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def test_takes_in_order_and_never_twice(pool: Pool):
    counter = Counter()
    drawn = np.concatenate([pool.take(counter, n) for n in (1, 5, BLOCK, 0, 3 * BLOCK + 7)]).ravel()
    assert len(drawn) == 4 * BLOCK + 13
    assert len(set(drawn.tolist())) == len(drawn)


def test_draws_whole_blocks(pool: Pool):
    counter = Counter()
    pool.prepare(counter, 1)
    pool.prepare(counter)
    pool.take(counter, 1)
    assert counter.calls[0] == BLOCK
    assert all(count % BLOCK == 0 for count in counter.calls)


def test_what_is_prepared_is_not_drawn_again(pool: Pool):
    counter = Counter()
    pool.close()  # no refilling from here on
    pool.prepare(counter, 2500)
    calls = len(counter.calls)
    assert pool.take(counter, 2500).shape == (2500, 1)
    assert len(counter.calls) == calls


def test_taking_nothing_has_a_shape(pool: Pool):
    assert pool.take(Staircase.best((1, 2), NANO), 0).shape == (0, 2)


def test_a_thread_refills_what_runs_low(pool: Pool):
    counter = Counter()
    pool.prepare(counter)
    pool.take(counter, 900)
    deadline = time.monotonic() + 5
    while counter.next < 3 * BLOCK and time.monotonic() < deadline:
        time.sleep(0.005)
    assert counter.next >= 3 * BLOCK
    assert counter.next <= 4 * BLOCK  # and stops


def test_the_least_recently_used_is_forgotten():
    pool = Pool(mechanisms=2)
    first, second, third = Counter(), Counter(), Counter()
    for mechanism in (first, second, first, third):
        pool.prepare(mechanism)
    assert set(pool._shelves) == {first, third}
    pool.close()


def test_threads_share_no_draw(pool: Pool):
    taken: list[list[int]] = []

    def whole() -> None:
        taken.append(np.concatenate([pool.take(WIDE, n).ravel() for n in (1, 700, 3000) * 5]).tolist())

    threads = [threading.Thread(target=whole) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = [value for part in taken for value in part]
    assert len(drawn) == 8 * 5 * 3701
    assert len(set(drawn)) == len(drawn)


def test_a_forked_child_starts_empty(pool: Pool):
    pool.prepare(WIDE, 10)
    held = [block.copy() for block in pool._shelves[WIDE].blocks]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        empty = not pool._shelves
        drawn = pool.take(WIDE, 4).ravel().tolist()
        os.write(write, f"{int(empty)} {' '.join(map(str, drawn))}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        empty, *drawn = pipe.read().split()
    assert os.waitpid(child, 0)[1] == 0
    assert empty == "1"
    assert len(drawn) == 4
    assert not set(map(int, drawn)) & {int(value) for block in held for value in block.ravel()}
    assert pool.take(WIDE, 4).ravel().tolist() == held[0][:4].ravel().tolist()


def test_a_child_forked_while_a_lock_is_held_can_draw(pool: Pool):
    pool.prepare(WIDE)
    with pool._lock, pool._shelves[WIDE].lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if pool.take(WIDE, 1).shape == (1, 1) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_closed_pool_keeps_nothing_and_still_answers():
    pool, counter = Pool(), Counter()
    pool.take(counter, 900)
    pool.close()
    assert not pool._shelves
    assert pool.take(counter, 5).shape == (5, 1)
    assert pool._thread is None
    pool.close()
