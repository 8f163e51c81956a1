"""The mark of a load: a file or a public table that a loader writes at every load; it advances the version of the data.

It is looked at on a fixed schedule, and only whether it says something else than before is used: neither when it was
written nor what the data holds. What it said is kept as a digest under the truncation secret.
"""

import fcntl
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpproxy.algebra.plan import Answer
from dpproxy.config.configuration import Data
from dpproxy.values.errors import Refusal, StartupError

FILE = "load-mark"
EVERY = 60.0
"""Seconds between two looks."""
SOON = 1.0
"""Seconds between two looks at whether another process has acted upon a mark: then it is looked at, too."""
LONGEST = 1_000_000
"""Bytes of a mark that count."""
MOST_ROWS = 1_000
"""Rows of a table with a mark that count: those of the greatest first column."""


def in_file(path: Path) -> Callable[[], bytes | None]:
    """What reads the mark in a file; None where there is none yet."""

    def say() -> bytes | None:
        try:
            with path.open("rb") as file:
                return file.read(LONGEST)
        except OSError:
            return None

    return say


def in_table(name: str, ask: Callable[[str], Answer]) -> Callable[[], bytes | None]:
    """What reads the mark in a public table, ``ask`` being nobody who may read another; None where it cannot be read.

    Errors: StartupError where it cannot be read now.
    """
    quoted = '"' + name.replace('"', '""') + '"'

    def rows() -> bytes:
        found = ask(f"SELECT * FROM {quoted} ORDER BY 1 DESC LIMIT {MOST_ROWS}").rows  # noqa: S608 - quoted
        return "\n".join(sorted(map(repr, found))).encode()

    def say() -> bytes | None:
        try:
            return rows()
        except Refusal:  # such as a server that is away
            return None

    try:
        rows()
    except Refusal as refusal:
        raise StartupError(f"the mark of a load: expected {name} to be a public table ({refusal})") from None
    return say


def declared(data: Data, ask: Callable[[str], Answer]) -> Callable[[], bytes | None] | None:
    """What reads the mark that a data source declares; None where it declares none. Errors: StartupError."""
    if data.load_mark_table is not None:
        return in_table(data.load_mark_table, ask)
    return None if data.load_mark is None else in_file(data.load_mark)


class LoadMark:
    """The mark of one data source, as far as this process has acted upon it."""

    def __init__(self, say: Callable[[], bytes | None], state: Path, secret: bytes) -> None:
        self._say, self._kept, self._secret = say, state / FILE, secret
        self._done = self._read()
        """What the data at hand was opened with."""

    def begin(self, advance: Callable[[], None]) -> None:
        """At a start, when the data has just been opened: advance where the mark is another than was last acted upon.

        The first mark of all begins the count and advances nothing.
        """
        if self._done is not None:
            self._act(self._done, advance)

    def look(self, renew: Callable[[Callable[[], None]], None], advance: Callable[[], None]) -> bool:
        """Have the data read anew where the mark has moved, and the version advance, once among all proxies.

        ``renew`` calls what it is given after the last statement over the old data and before the first over the new.
        Where it raises before, the data is still the old, and the next look tries again.
        """
        found = self._read()
        if found is None or found == self._done:
            return False

        def between() -> None:
            self._act(found, advance)
            self._done = found

        renew(between)
        return True

    def watch(
        self,
        renew: Callable[[Callable[[], None]], None],
        advance: Callable[[], None],
        wait: Callable[[float], bool],
        progress: Callable[[str], None],
    ) -> threading.Thread:
        """A thread that looks every ``EVERY`` seconds, and where another process has acted, until ``wait`` is True."""

        def looking() -> None:
            seen, due = self._done, time.monotonic() + EVERY
            while not wait(min(SOON, EVERY)):
                try:
                    acted = self._acted_upon()
                    if acted == seen and time.monotonic() < due:
                        continue
                    due = time.monotonic() + EVERY
                    if self.look(renew, advance):
                        progress("the data was loaded anew: its version has advanced")
                    seen = acted
                except (StartupError, Refusal, OSError, ValueError) as error:
                    progress(f"the mark of a load has moved: {error}")

        thread = threading.Thread(target=looking, name="load mark", daemon=True)
        thread.start()
        return thread

    def _act(self, found: str, advance: Callable[[], None]) -> None:
        with self._alone():
            before = self._acted_upon()
            if before == found:
                return
            if before is not None:
                advance()
            written = self._kept.with_suffix(".new")
            written.write_text(found, encoding="ascii")
            written.replace(self._kept)

    def _acted_upon(self) -> str | None:
        """What was last acted upon, by whichever process; None where nothing was."""
        return self._kept.read_text(encoding="ascii") if self._kept.exists() else None

    def _read(self) -> str | None:
        """A digest of what the mark says; None where there is none yet."""
        said = self._say()
        return (
            None if said is None else hmac.new(self._secret, b"load mark" + said, hashlib.sha256).hexdigest()
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._kept.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
