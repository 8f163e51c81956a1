"""A checkpoint: a place in the chain up to which everything was verified, and what accounts had paid there.

It lies beside the high-water mark, or in the state directory where there is none, under a seal of the ledger's key.
It is never needed: where it is missing, or does not fit, the whole ledger is verified. Sessions have no place in it,
since they end with their process and no later one has their names.
"""

import hmac
import json
from fractions import Fraction
from pathlib import Path
from typing import Final

from msgspec import Struct

from dpproxy.accounting.book import StoreConnection
from dpproxy.accounting.canonical import digest, encode
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Cost, Key
from dpproxy.accounting.store import Store
from dpproxy.accounting.walk import ChainPlace, Sums
from dpproxy.system import disk

FILE: Final = "ledger.checkpoint"
SUFFIX: Final = ".checkpoint"
EVERY: Final = 10_000
"""Entries after which there is another."""
_FORMAT: Final = 1


class Checkpoint(Struct, frozen=True):
    """What was verified: the chain of a ledger up to a place, and the sums of its debits."""

    ledger: bytes
    place: ChainPlace
    sums: Sums

    def packed(self) -> bytes:
        """As bytes, which are then sealed."""
        rows = [(*key, cost.nano, str(cost.delta), str(cost.rho)) for key, cost in self.sums.items()]
        place = self.place
        fields = (_FORMAT, self.ledger.hex(), place.sequence, place.mac.hex(), place.at, rows)
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def unpacked(cls, body: bytes) -> "Checkpoint | None":
        """What ``packed`` gave; None where it is of another version. Errors: ValueError."""
        version, of, sequence, mac, at, rows = json.loads(body)
        if version != _FORMAT:
            return None
        return cls(bytes.fromhex(of), ChainPlace(sequence, bytes.fromhex(mac), at), dict(map(_sum, rows)))


class Checkpoints(Struct, frozen=True):
    """The file that the last checkpoint is in, and the key of its seal."""

    path: Path
    seals: Seals

    @classmethod
    def of(cls, directory: Path, mark: Mark | None, seals: Seals) -> "Checkpoints":
        """Where a ledger's checkpoint is kept."""
        if mark is None:
            return cls(directory / FILE, seals)
        return cls(mark.path.with_name(f"{mark.path.name}{SUFFIX}"), seals)

    def read(self) -> Checkpoint | None:
        """The last checkpoint; None where none can be read that this key sealed."""
        try:
            seal, body = self.path.read_bytes().split(b"\n", 1)
            is_ours = hmac.compare_digest(seal, self._seal(body))
            return Checkpoint.unpacked(body) if is_ours else None
        except (OSError, ValueError):
            return None

    def write(self, head: Head, sums: Sums) -> None:
        """Replace it. Errors: OSError; the one before is then still there."""
        body = Checkpoint(head.ledger, ChainPlace(head.sequence, head.mac, head.at), sums).packed()
        disk.replace(self.path, self._seal(body) + b"\n" + body)

    def forget(self) -> None:
        """Have the next start verify the whole ledger. Errors: OSError."""
        self.path.unlink(missing_ok=True)

    def _seal(self, body: bytes) -> bytes:
        return self.seals.mac(encode("checkpoint", digest(body))).hex().encode()


def beginning(store: Store, connection: StoreConnection, seals: Seals, head: Head) -> Checkpoint:
    """Where a ledger's entries begin, and what was paid before: see `archive`. Errors: Mismatch, ValueError."""
    record = store.archived(connection)
    if record is None:
        return Checkpoint(head.ledger, ChainPlace(0, seals.genesis(head.ledger, head.format).mac, 0), {})
    body, seal = record
    found = Checkpoint.unpacked(body) if hmac.compare_digest(archive_seal(seals, body), seal) else None
    if found is None or found.ledger != head.ledger:
        raise Mismatch("the record of what was archived is not sealed by this key")
    return found


def archive_seal(seals: Seals, body: bytes) -> bytes:
    """Of the record of what was archived; a checkpoint's is another, so that neither stands for the other."""
    return seals.mac(encode("archived", digest(body)))


def _sum(row: tuple[str, str, str, str, int, int, str, str]) -> tuple[Key, Cost]:
    kind, name, member, block, window, nano, delta, rho = row
    return (kind, name, member, block, window), Cost(nano, Fraction(delta), Fraction(rho))
