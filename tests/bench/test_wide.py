"""The comparison of methods runs on a small table; a table that is released as it is has no error."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.bench import results, wide


@pytest.mark.parametrize("make", [wide.taxes, wide.visits, *wide.WORLDS[:3]])
def test_a_view_that_is_the_table_has_no_error(make: Callable[[], wide.World]):
    world = make()
    assert wide.errors(world, world.rows, 0).tolist() == [0, 0, 0]
    assert wide.errors(world, world.rows[:0], 0).min() > 0


def test_tables_and_the_picture_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: wide: begin -->\n<!-- measured: wide: end -->", encoding="utf-8")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", page)
    monkeypatch.setattr(wide, "PICTURE", tmp_path / "wide.png")
    world = wide.visits()
    np.savez(tmp_path / f"{world.name}.mst.1.npz", rows=world.rows)
    assert wide.main(["--small", "--write", "--folder", str(tmp_path)]) == 0
    stored = results.read("wide")
    assert stored.cell((world.name, "1"), "MST, delta 1E-6") == "0.00 / 0.00 / 0.00"
    assert stored.cell((world.name, "1"), "dp_marginals").count("/") == 2
    assert results.read("auto").rows[1][-1] in {"dp_kdtree", "dp_marginals", "dp_microaggregation"}
    assert (tmp_path / "wide.png").exists()
    assert world.name in page.read_text(encoding="utf-8")
