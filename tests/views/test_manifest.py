# ruff: noqa: FBT003, E501 - records written out
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.values.errors import CatalogueUnavailable
from dpproxy.values.pgtypes import DATE, INT8, NUMERIC, TEXT, TIMESTAMP
from dpproxy.views.columns import MomentColumn, NumberColumn, ShownColumn
from dpproxy.views.manifest import Built, Manifest, current, newest

BUILD = Built(
    "v", 0, "CREATE", "mdav", True, False, 5, "words", 10**9, Fraction(1, 10**6), 3, "people", ("people", "visits"),
    "lab", "", "digest", "", "root",
)  # fmt: skip
COLUMNS = (
    ShownColumn("a", INT8, Fraction(0), Fraction(9), steps=NumberColumn(0, 9, Fraction(1), 2)),
    ShownColumn("b", NUMERIC.with_precision(38, 2), Fraction(-1, 2), Fraction(9)),
    ShownColumn("c", TEXT, longest=4),
    ShownColumn("d", DATE, first=date(2000, 1, 1), last=date(2001, 1, 1), steps=MomentColumn(0, 9, Fraction(1), 1, date(2000, 1, 1))),
    ShownColumn("e", TIMESTAMP, first=datetime.fromisoformat("2000-01-01"), last=datetime.fromisoformat("2001-01-01")),
)  # fmt: skip


def test_builds_read_back_after_a_restart(tmp_path: Path):
    manifest = Manifest.open(tmp_path)
    begun = manifest.begin(BUILD)
    done = replace(begun, rows=7, relations={"": (7, COLUMNS), "groups": (2, COLUMNS[:1])})
    manifest.finish(done)
    manifest.close()
    again = Manifest.open(tmp_path)
    assert again.all() == [done]
    assert again.begin(BUILD).epoch == begun.epoch + 1
    again.close()


def test_the_view_is_its_newest_finished_build_of_one_definition(tmp_path: Path):
    manifest = Manifest.open(tmp_path)
    first, second, other = (manifest.begin(replace(BUILD, definition=d)) for d in ("A", "A", "B"))
    assert current(manifest.all(), "v", "A") is None
    for build in (first, other):
        manifest.finish(replace(build, rows=1, relations={}))
    found = current(manifest.all(), "v", "A")
    assert found is not None
    assert found.epoch == first.epoch < second.epoch
    assert newest(manifest.all(), "v", "A") == found
    fallback = newest(manifest.all(), "v", "C")
    assert fallback is not None
    assert fallback.definition == "B"
    manifest.close()


def test_a_record_that_cannot_be_written_refuses(tmp_path: Path):
    manifest = Manifest.open(tmp_path)
    manifest._connection.execute("DROP TABLE build")
    with pytest.raises(CatalogueUnavailable):
        manifest.finish(BUILD)
    with pytest.raises(CatalogueUnavailable):
        manifest.all()
    manifest.close()
