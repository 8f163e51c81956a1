"""Output of commands: results on stdout, all else on stderr, each flushed at once; colours at a terminal alone."""

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from msgspec import Struct

SOON: Final = 1.0
"""Seconds until a command that goes on says that it does."""
BOLD: Final = "1"
RED: Final = "31"
COLOURS: Final = {"warning:": "33", "[weaker]": "33", "[stronger]": "32"}
"""Words that stand out, with their colours."""
BAR: Final = 20
"""Characters of a bar."""
Reach = Callable[[float], None]
"""Is told which part of the work is done, from 0 to 1."""
_CLEAR: Final = "\r\x1b[K"
_PART: Final = re.compile(r"(.+): (\d{1,3}) ?%(?: built)?")
"""Progress of which the part is known."""
_lock = threading.RLock()
_is_shown = False
"""Whether the last line of the terminal says that a command goes on."""


class _Job(Struct):
    """What a command is doing, and which part of it is done."""

    words: str
    part: float = 0.0

    def reach(self, part: float) -> None:
        self.part = part

    def __str__(self) -> str:
        """``verifying [#####...............] 25 %``; the words alone where no part is known."""
        if not self.part:
            return self.words
        filled = min(int(self.part * BAR), BAR)
        return f"{self.words} [{'#' * filled}{'.' * (BAR - filled)}] {min(self.part, 1) * 100:.0f} %"


_job: _Job | None = None
"""Of the command that is waited for."""


def width() -> int | None:
    """The width of the terminal in characters; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def coloured(text: str, code: str, stream: TextIO) -> str:
    """The text in a colour, where the stream is a terminal that has some and NO_COLOR is not set."""
    has_colours = _is_clever(stream) and not os.environ.get("NO_COLOR")
    return f"\x1b[{code}m{text}\x1b[0m" if has_colours else text


def _painted(text: str, stream: TextIO) -> str:
    """The text with its words in colours, and the head of a table in bold."""
    head, newline, rest = text.partition("\n")
    rule = rest.partition("\n")[0]
    if rule and not set(rule) - {"-", "+"}:
        text = f"{coloured(head, BOLD, stream)}{newline}{rest}"
    for word, code in COLOURS.items():
        text = text.replace(word, coloured(word, code, stream))
    return text


def _is_clever(stream: TextIO) -> bool:
    """Whether it is a terminal that does more than print."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def print_result(text: str) -> None:
    """Print a result on stdout as it is."""
    with _lock:
        _clear()
        sys.stdout.write(f"{_painted(text, sys.stdout)}\n")
        sys.stdout.flush()


def say(line: str) -> None:
    """Print a sentence about the result on stdout."""
    print_result(f"dpproxy: {line}")


def tell(line: str, *, is_error: bool = False) -> None:
    """Print progress, a warning or an error on stderr; at a terminal, a part that is done is a bar until it is gone."""
    found = _PART.fullmatch(line) if _is_clever(sys.stderr) else None
    with _lock:
        if found is not None:
            job = _job or _Job("")
            job.words, job.part = found[1], int(found[2]) / 100
            _show(f"dpproxy: {job}")
            return
        _clear()
        name = coloured("dpproxy:", RED, sys.stderr) if is_error else "dpproxy:"
        sys.stderr.write(f"{name} {_painted(line, sys.stderr)}\n")
        sys.stderr.flush()


@contextmanager
def waiting(words: str) -> Iterator[Reach]:
    """Say at a terminal, from ``SOON`` on, what a command is doing and for how many seconds; gone at the end.

    Where the command says how far it is, with a bar.
    """
    global _job  # noqa: PLW0603 - there is one terminal
    if not _is_clever(sys.stderr):
        yield lambda _: None
        return
    job, done, begun = _Job(words), threading.Event(), time.monotonic()
    _job = job

    def work() -> None:
        while not done.wait(SOON):
            _show(f"dpproxy: {job}, {time.monotonic() - begun:.0f} s")

    thread = threading.Thread(target=work, name="waiting", daemon=True)
    thread.start()
    try:
        yield job.reach
    finally:
        _job = None
        done.set()
        thread.join()
        with _lock:
            _clear()


def _show(line: str) -> None:
    global _is_shown  # noqa: PLW0603 - there is one terminal
    with _lock:
        sys.stderr.write(f"{_CLEAR}{line}")
        sys.stderr.flush()
        _is_shown = True


def _clear() -> None:
    global _is_shown  # noqa: PLW0603 - too
    if _is_shown:
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()
        _is_shown = False
