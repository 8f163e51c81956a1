"""The notebooks run from top to bottom, and what they say of prices holds."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.notebooks import NOTEBOOKS, run
from tests.proxies import PASSWORD, ROOT, serving, write_home

DDL = tuple(
    f"CREATE TABLE {name} AS FROM '{ROOT}/examples/data/{name}.parquet'" for name in ("adult", "census")
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    files = sorted((ROOT / "examples" / "policy").glob("*.sql"))
    policy = "\n".join(file.read_text(encoding="utf-8") for file in files)
    with serving(write_home(tmp_path_factory.mktemp("notebooks"), DDL, policy)) as proxy:
        yield f"postgresql://ann:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{proxy.port}/main"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DP_URL", url)
    done = run(path)
    shown = [cell["outputs"] for cell in done["cells"] if cell["cell_type"] == "code"]
    pictures = sum("image/png" in output.get("data", {}) for outputs in shown for output in outputs)
    assert (
        pictures
        == {"first_questions": 1, "a_budget_well_spent": 0, "a_dashboard_from_one_release": 3}[path.stem]
    )
    if path.stem == "a_dashboard_from_one_release":
        assert "'sex': 0.0, 'income': 0.0, 'relationship': 0.0" in str(done)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_what_it_shows(path: Path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
    assert "postgresql://analyst:" not in path.read_text(encoding="utf-8")
