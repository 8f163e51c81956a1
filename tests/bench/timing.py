"""Times in milliseconds, medians, runs taken in turns."""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def in_turns(rounds: int, *calls: Callable[[], object], warm: int = 1) -> list[float]:
    """The median of each call, one round of all after the other, so that a slow minute slows all of them."""
    for _ in range(warm):
        for call in calls:
            call()
    times = [[timed(call) for call in calls] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def fsync_time(folder: Path, rounds: int = 60) -> float:
    """Median milliseconds to write a page and have it on the disk."""
    path = folder / "fsync"
    with path.open("wb", buffering=0) as file:

        def write() -> None:
            file.write(b"\0" * 4096)
            os.fsync(file.fileno())

        median = in_turns(rounds, write, warm=3)[0]
    path.unlink()
    return median
