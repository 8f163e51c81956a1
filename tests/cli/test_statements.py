"""Commands that look change nothing: policy files wait for a start, views for their build."""

from pathlib import Path

import pytest

from dpproxy.accounting.ledger import Ledger
from dpproxy.cli.main import main
from dpproxy.policy.store import PolicyStore
from tests.hospital import home

pytestmark = pytest.mark.usefixtures("in_process")

VIEW = "CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 1) AS SELECT age, cost FROM patients;\n"
LOOKS = (
    ("budget", "show"),
    ("explain", "SELECT count(*) FROM patients"),
    ("view", "list"),
)


def held(folder: Path) -> tuple[int, int]:
    """The version of the policy, and how many entries the ledger has."""
    state = folder / "state" / "main"
    store = PolicyStore.open(state)
    try:
        with Ledger.open(state) as ledger:
            return store.current.version, len(list(ledger.entries()))
    finally:
        store.close()


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_to_look_applies_no_policy_file_and_builds_no_view(words: tuple[str, ...], tmp_path: Path):
    file = str(home(tmp_path))
    assert main(["policy", "apply", "--config", file]) == 0
    before = held(tmp_path)
    with (tmp_path / "policy.sql").open("a") as policy:
        policy.write(VIEW)
    assert main([*words, "--config", file]) == 0
    assert held(tmp_path) == before
    assert main(["policy", "apply", "--config", file]) == 0
    assert held(tmp_path) == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_where_no_proxy_has_run_nothing_is_begun(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([*words, "--config", str(home(tmp_path, VIEW))]) == 2
    assert "dpproxy policy apply" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()
