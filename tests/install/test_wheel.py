"""Installation from a wheel, into an environment that has no source beside it."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.install.wheel import ROOT, environment

pytestmark = pytest.mark.external

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONFIG = """\
[server]
listen = "127.0.0.1:0"
[state]
directory = "state"
[data.main]
path = "people.duckdb"
[policy]
files = ["policy.sql"]
[users]
file = "users.toml"
"""
POLICY = """\
ALTER TABLE people SET PRIVACY KEY ROW;
ALTER TABLE people SET PRIVACY CEILING EPSILON 1;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1 DEFAULT EPSILON 0.5;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET b;
"""


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}  # type: ignore[index]


def imported(path: Path) -> tuple[set[str], set[str]]:
    """Packages that a module imports when it is imported, and those it imports when it needs them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: tuple[set[str], set[str]] = (set(), set())
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found[id(node) not in top].update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found[id(node) not in top].add(node.module.split(".")[0])
    return found


def test_it_holds_all_of_the_product_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(ROOT))
        for package in ("dpproxy", "udfs")
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and path.suffix
        in {".css", ".html", ".js", ".md", ".py", ".sql", ".svg", ".toml", ".tsv", ".txt", ".typed"}
        and ".hypothesis" not in path.parts
    }
    examples = {
        f"dpproxy/{path.relative_to(ROOT)}"
        for folder in ("data", "policy")
        for path in (ROOT / "examples" / folder).iterdir()
    }
    pages = {
        f"dpproxy/{path.relative_to(ROOT)}"
        for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == wanted | examples | pages


def test_what_is_told_to_be_installed_is_what_is_built(wheel: Path):
    for page in (ROOT / "docs" / "operations.md", ROOT / "docs" / "tutorials" / "postgresql.md"):
        told = re.findall(r"pip install \S*?(dpproxy-[^\s'[]+)", page.read_text(encoding="utf-8"))
        assert set(told) == {wheel.name}, page


def test_whatever_is_imported_is_declared():
    """At the first import by the dependencies; later by them or by an extra, but not by one for development."""
    owners = packages_distributions()
    needed = names(PROJECT["dependencies"])
    extras = needed.union(
        *(
            names(listed)
            for extra, listed in PROJECT["optional-dependencies"].items()
            if extra not in {"dev", "clients"}
        )
    )
    for package in ("dpproxy", "udfs"):
        for path in (ROOT / package).rglob("*.py"):
            at_once, later = imported(path)
            own = extras if path.parent.name == "web" else needed  # it is not imported without its extra
            for modules, declared in ((at_once, own), (later, extras)):
                for module in modules - sys.stdlib_module_names - {"dpproxy", "udfs"}:
                    found = {owner.lower().replace("_", "-") for owner in owners.get(module, [module])}
                    assert found & declared, f"{path}: {module} is of {found}, which is not declared"


def test_it_serves_a_table_of_ones_own(installed: Path, tmp_path: Path):
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT CAST(i % 90 AS INTEGER) AS age FROM range(5000) AS r(i)"
        )
    (tmp_path / "policy.sql").write_text(POLICY)
    (tmp_path / "dpproxy.toml").write_text(CONFIG)
    program, config = str(installed / "bin" / "dpproxy"), ["--config", "dpproxy.toml"]
    given = {"cwd": tmp_path, "env": environment(), "text": True}
    shown = subprocess.run([program, "--version"], capture_output=True, check=True, **given)  # type: ignore[call-overload]
    assert shown.stdout == f"dpproxy {PROJECT['version']}\n"
    shown = subprocess.run([program, "--help"], capture_output=True, check=True, **given)  # type: ignore[call-overload]
    assert Path(shown.stdout.split()[-1]).is_relative_to(installed)
    assert Path(shown.stdout.split()[-1]).is_file()
    add = [program, "user", "add", "ann", "--role", "analyst", "--password-stdin", *config]
    subprocess.run(add, input="correct horse\n", stdout=subprocess.DEVNULL, check=True, **given)  # type: ignore[call-overload]
    subprocess.run([program, "check", "dpproxy.toml"], stdout=subprocess.DEVNULL, check=True, **given)  # type: ignore[call-overload]
    with subprocess.Popen([program, "serve", *config], stdout=subprocess.PIPE, **given) as server:  # type: ignore[call-overload]
        try:
            found = re.search(r"serving main on 127\.0\.0\.1:(\d+)", server.stdout.readline())
            assert found is not None
            url = f"postgresql://ann:correct%20horse@127.0.0.1:{found[1]}/main"
            with psycopg.connect(url, autocommit=True) as connection:
                row = connection.execute("SELECT count(*), avg(age) FROM people").fetchone()
        finally:
            server.terminate()
        assert server.wait(30) == 0
    assert row is not None
    # The noise of epsilon 0.25 on a count is beyond 200 less than once in e^50.
    assert abs(row[0] - 5000) < 200


def test_the_demo_needs_no_source(installed: Path, tmp_path: Path):
    done = subprocess.run(
        [installed / "bin" / "dpproxy", "demo"], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The server has stopped with status 0" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_it_is_not_the_source_that_was_tested(installed: Path, tmp_path: Path):
    program = "import dpproxy, udfs; print(dpproxy.__file__); print(udfs.__file__)"
    done = subprocess.run(
        [installed / "bin" / "python", "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert all(line.startswith(str(installed)) for line in done.stdout.splitlines())
