"""Verification in processes of their own: of a piece beside others, or of the whole while a proxy serves.

As a program, ``python -m dpproxy.accounting.verifier`` reads one order from its standard input and writes one outcome,
both as a line of JSON; it ends when its input does.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpproxy.accounting import book
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.checkpoint import Checkpoints
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Key
from dpproxy.accounting.store import Store, faults, first_line
from dpproxy.accounting.stores import store_at
from dpproxy.accounting.verify import Walking, verify
from dpproxy.accounting.walk import ChainPlace, Paid, Reach, Segment, check_releases, unheard, walk
from dpproxy.values.errors import StartupError

SMALL: Final = 30_000
"""Entries up to which one process is enough."""
LEAST: Final = 10_000
"""Entries of one piece, or more."""
NICE: Final = 19
_PAGES: Final = 0.2
"""What checking all pages takes, as a part of all else, less what starting another process takes."""
_ROOT: Final = Path(__file__).resolve().parents[2]
_BEYOND: Final = 2**63 - 1
Order = dict[str, Any]
Outcome = dict[str, Any]


def parallel(store: Store, seals: Seals, reach: Reach = unheard) -> Walking:
    """A walk along the whole chain by as many processes as there are processors.

    ``reach`` is told which part of its own piece this process has done, which is shorter: it checks the pages as well.
    """

    def walking(connection: book.StoreConnection, begin: ChainPlace, until: int) -> Segment:
        first = begin.sequence
        length = until - first
        count = min(len(os.sched_getaffinity(0)), length // LEAST) if length > SMALL else 1
        others = count - 1
        rest = min(length - 1, int(length * others * (1 + _PAGES) / count))
        ends = [*(until - rest * left // others for left in range(others, 0, -1)), until]
        places = [_place(connection, end) for end in ends[:-1]]
        with ExitStack() as stack:
            pieces = [
                stack.enter_context(running(_piece(store, seals, place, end)))[0]
                for place, end in zip(places, ends[1:], strict=True)
            ]
            store.check_pages(connection)
            for after, last in ((-_BEYOND - 1, ends[0]), (until, _BEYOND)):
                check_releases(connection, seals, after, last)
            walked = walk(connection, seals, begin, ends[0], reach)
            for piece in pieces:
                walked.follow(_walked(piece()))
        return walked

    return walking


def _place(connection: book.StoreConnection, sequence: int) -> ChainPlace:
    """Where a piece begins; that the entry is genuine is for the piece before to find."""
    row = connection.execute("SELECT mac, at FROM entry WHERE sequence = ?", (sequence,)).fetchone()
    if row is None:
        raise Mismatch("the chain is broken", sequence)
    return ChainPlace(sequence, bytes(row[0]), row[1])


def _piece(store: Store, seals: Seals, begin: ChainPlace, until: int) -> Order:
    return {
        "task": "piece",
        "key": seals.key.hex(),
        "store": store.address,
        "begin": (begin.sequence, begin.mac.hex(), begin.at),
        "until": until,
    }


@contextmanager
def running(order: Order) -> Iterator[tuple[Callable[[], Outcome], Callable[[], None]]]:
    """A process that carries an order out, killed in the end: what waits for its outcome, and what kills it before.

    Errors: OSError where it ended without an outcome.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "dpproxy.accounting.verifier"],
        cwd=_ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    stdin, stdout = process.stdin, process.stdout
    try:
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()

        def outcome() -> Outcome:
            line = stdout.readline()
            if not line:
                raise OSError("the process that verifies the ledger ended")
            found: Outcome = json.loads(line)
            return found

        yield outcome, process.kill
    finally:
        process.kill()
        process.wait()
        stdout.close()
        stdin.close()


def _walked(outcome: Outcome) -> Segment:
    """The piece that a process has checked. Errors: Mismatch, OSError."""
    if "altered" in outcome:
        raise Mismatch(outcome["altered"], outcome["at"])
    if "failed" in outcome:
        raise OSError(outcome["failed"])
    sequence, mac, at = outcome["end"]
    walked = Segment(
        outcome["begin"], ChainPlace(sequence, bytes.fromhex(mac), at), outcome["debits"], outcome["late"]
    )
    for *key, nano, delta, rho in outcome["paid"]:
        walked.account(_key(*key)).add(Paid(nano, _number(delta), _number(rho)))
    return walked


def _key(kind: str, name: str, member: str, block: str, window: int) -> Key:
    return kind, name, member, block, window


def _number(text: str) -> int | Fraction:
    return int(text) if text.isdecimal() else Fraction(text)


# --- the program --------------------------------------------------------------------------------------


def execute(order: Mapping[str, Any], store: Store) -> Outcome:
    """The outcome of an order; never raises for what is wrong with the ledger."""
    seals = Seals(bytes.fromhex(order["key"]))
    try:
        return _TASKS[order["task"]](order, store, seals)
    except Mismatch as error:
        return {"altered": str(error), "at": error.sequence}
    except (TypeError, ValueError):
        return {"altered": "a row holds what no ledger writes", "at": None}
    except faults(StartupError) as error:
        return {"failed": first_line(error)}


def _do_piece(order: Mapping[str, Any], store: Store, seals: Seals) -> Outcome:
    sequence, mac, at = order["begin"]
    begin, until = ChainPlace(sequence, bytes.fromhex(mac), at), order["until"]
    with closing(store.connect(writing=False)) as connection:
        store.look(connection, whole=True)
        check_releases(connection, seals, sequence, until)
        walked = walk(connection, seals, begin, until)
    return {
        "begin": walked.begin,
        "end": (walked.end.sequence, walked.end.mac.hex(), walked.end.at),
        "debits": walked.debits,
        "late": walked.late,
        "paid": [(*key, paid.nano, str(paid.delta), str(paid.rho)) for key, paid in walked.paid.items()],
    }


def _do_checkpoint(order: Mapping[str, Any], store: Store, seals: Seals) -> Outcome:
    """Verify, all of it where it says so, move the mark up to there, then write a checkpoint."""
    mark = None if order["mark"] is None else Mark(Path(order["mark"]), seals)
    checkpoints = Checkpoints(Path(order["checkpoint"]), seals)
    found = verify(store, seals, mark, None if order["whole"] else checkpoints.read())
    if mark is not None:
        mark.advance(found.head)
    checkpoints.write(found.head, found.sums)
    return {"verified": found.head.sequence, "begin": found.begin}


_TASKS: Final = {"piece": _do_piece, "checkpoint": _do_checkpoint}


def _main() -> None:
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if order["task"] == "checkpoint":
        os.nice(NICE)
    outcome = execute(order, store_at(tuple(order["store"])))
    sys.stdout.write(json.dumps(outcome) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    _main()
