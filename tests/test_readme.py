"""What the first page shows is what happens."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.config import load_config
from dpproxy.engine import Engine
from dpproxy.errors import Refusal
from dpproxy.pgtypes import FLOAT8, INT4, TEXT, Column, Schema
from dpproxy.plan import Caller
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.tokens import split_statements
from dpproxy.settings import DEFAULTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANALYST = Caller("reader", frozenset({"analyst"}), "session of the reader")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    state = tmp_path_factory.mktemp("state")
    users = state / "users.toml"
    users.touch()
    config = load_config(
        ROOT / "examples" / "dpproxy.toml",
        {"DPPROXY_STATE_DIRECTORY": str(state), "DPPROXY_USERS_FILE": str(users)},
    )
    with Engine.start(config, lambda _: None) as running:
        running.open(ANALYST)
        yield running


def shown() -> list[str]:
    """The statements typed in the session."""
    return re.findall(r"^main=> (.*;)$", README, re.MULTILINE)


def test_the_session_shows_three_statements():
    assert len(shown()) == 3


@pytest.mark.parametrize("sql", [s for s in shown() if "SELECT age" not in s])
def test_what_is_shown_as_answered_is_answered(engine: Engine, sql: str):
    prepared = engine.prepare(ANALYST, sql, (), DEFAULTS)
    answer = engine.run(ANALYST, prepared, (), DEFAULTS)
    for row in answer.rows if "EXPLAIN" in sql else []:
        line = str(row[0])
        if line.startswith(("Price", "Privacy unit", "Mechanism")):
            assert line in README
    assert all(notice.message in README for notice in answer.notices)


def test_what_is_shown_as_refused_is_refused_in_these_words(engine: Engine):
    sql = next(s for s in shown() if "SELECT age" in s)
    with pytest.raises(Refusal) as caught:
        engine.prepare(ANALYST, sql, (), DEFAULTS)
    assert f"ERROR:  {caught.value.message}\n" in README
    assert f"HINT:  {caught.value.hint}\n" in README
    assert caught.value.position is not None
    assert f"LINE 1: {sql}\n{' ' * (8 + caught.value.position)}^\n" in README


def test_the_configuration_loads(tmp_path: Path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "a.sql").touch()
    (tmp_path / "dpproxy.toml").write_text(blocks("toml")[0])
    assert load_config(tmp_path / "dpproxy.toml", {}).port == 6432


def test_the_policy_applies():
    columns = (Column("patient_id", INT4), Column("ward", TEXT), Column("cost", FLOAT8))
    policy = Policy()
    for piece in split_statements(blocks("sql")[0]):
        policy = apply(policy, change_of(piece.text), Schema({"visits": columns}))
    assert policy.grants[0].budget == "research"


def test_the_extension_runs_as_shown(capsys: pytest.CaptureFixture[str]):
    scope: dict[str, object] = {}
    exec(blocks("python")[0], scope)  # our own page
    scope["connection"].close()
    assert "dp_release" in capsys.readouterr().out


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(target: str):
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^)make ([a-z]+)", README, re.MULTILINE))))
def test_make_targets_exist(target: str):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
