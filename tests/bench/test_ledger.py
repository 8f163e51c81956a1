"""The measurement itself, over an instant."""

import tempfile
from pathlib import Path

from dpproxy.accounting.ledger import Ledger
from tests.bench import ledger as bench


def test_every_charge_is_counted_once(tmp_path: Path):
    with Ledger.open(tmp_path / "one") as one, Ledger.open(tmp_path / "one") as other:
        measured = bench.measure([one, other], 4, 0.2)
        assert len(one.entries()) == len(measured.waits) > 4
        assert other.verify() == len(measured.waits)
    assert 0 < measured.milliseconds(0.5) <= measured.milliseconds(0.99)


def test_each_kind_has_a_line_with_and_without_a_mark():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as somebody else
        found = list(bench.rows(Path(folder), 0.1, (2,)))
    assert [row[:3] for row in found] == [
        (kind, mark, "2") for kind in ("SQLite", "PostgreSQL") for mark in ("no", "yes")
    ]


def test_an_fsync_takes_time(tmp_path: Path):
    assert 0 < bench.fsync(tmp_path, 5) < 10_000
