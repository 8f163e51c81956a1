"""dbt: it connects, documents what is there, and is told clearly that nothing can be built here."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proxies import PASSWORD, Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients]

PROFILE = """
shop:
  target: here
  outputs:
    here:
      type: postgres
      host: 127.0.0.1
      port: {port}
      user: ann
      password: {password}
      dbname: main
      schema: public
      threads: 1
"""
PROJECT = """
name: shop
version: "1.0"
config-version: 2
profile: shop
model-paths: [models]
flags:
  send_anonymous_usage_stats: false
"""
SOURCES = """
version: 2
sources:
  - name: main
    database: main
    schema: public
    tables:
      - name: people
      - name: towns
"""


@pytest.fixture
def dbt(world: Proxy, program: Callable[[str, str], str], tmp_path: Path) -> Callable[..., tuple[int, str]]:
    found = program("dbt", "make clients")
    (tmp_path / "models").mkdir()
    (tmp_path / "profiles.yml").write_text(PROFILE.format(port=world.port, password=PASSWORD))
    (tmp_path / "dbt_project.yml").write_text(PROJECT)
    (tmp_path / "models" / "sources.yml").write_text(SOURCES)
    (tmp_path / "models" / "ages.sql").write_text(
        "SELECT town, count(*) AS n FROM {{ source('main', 'people') }} GROUP BY town"
    )

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [found, "--no-use-colors", *words, "--profiles-dir", str(tmp_path), "--project-dir", str(tmp_path)],
            cwd=tmp_path, env={**world.environment(), "HOME": str(tmp_path)},
            capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def test_debug(dbt: Callable[..., tuple[int, str]]):
    status, told = dbt("debug")
    assert status == 0, told
    assert "All checks passed!" in told


def test_a_model_is_refused_clearly(dbt: Callable[..., tuple[int, str]]):
    status, told = dbt("run")
    assert status == 1
    assert "1 of 1 ERROR" in told
    assert "read-only" in told or "change data" in told, told


def test_a_model_is_shown(dbt: Callable[..., tuple[int, str]]):
    status, told = dbt(
        "show", "--inline", "SELECT n, town FROM {{ source('main', 'towns') }}", "--limit", "2"
    )
    assert status == 0, told
    assert "Bern" in told


def test_docs(dbt: Callable[..., tuple[int, str]], tmp_path: Path):
    status, told = dbt("docs", "generate")
    assert status == 0, told
    catalogue = json.loads((tmp_path / "target" / "catalog.json").read_text())
    people = catalogue["sources"]["source.shop.main.people"]
    assert people["metadata"]["type"] == "BASE TABLE"
    assert people["metadata"]["owner"] == "admin"
    assert people["columns"]["age"]["type"] == "integer"
    assert "privacy unit" in people["metadata"]["comment"]
