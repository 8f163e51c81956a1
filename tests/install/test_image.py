"""The image and the compose file, as far as they can be tried without an engine."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.cli.serve import options
from dpproxy.config.configuration import load_config
from dpproxy.config.users import UsersFile, add_user
from dpproxy.engine.databases import open_databases
from dpproxy.policy.files import apply_file, read_file
from dpproxy.policy.model import Policy
from dpproxy.server.listener import Server
from tests.install.image import Image, can_be_run, inside, lay_out, read
from tests.install.wheel import ROOT, environment
from tests.ports import free_port
from tests.postgres import Server as Postgres

pytestmark = pytest.mark.external

DOCKER = ROOT / "docker"
HERE = Path(sys.executable).parent
DATA = "SELECT CAST(i AS INTEGER) AS patient, 'north' AS ward, 1950 AS born FROM range(300) AS r(i)"
VISITS = """SELECT CAST(i AS INTEGER) AS visit, CAST(i % 300 AS INTEGER) AS patient, 'north' AS ward,
  DATE '2024-03-01' AS day, 'fever' AS reason,
  80 AS cost FROM range(900) AS r(i)"""


@pytest.fixture(scope="module")
def image() -> Image:
    return read(DOCKER / "Dockerfile")


@pytest.mark.parametrize(
    "path", sorted(DOCKER.rglob("Dockerfile")), ids=lambda path: str(path.relative_to(DOCKER))
)
def test_a_linter_finds_nothing(path: Path):
    done = subprocess.run([HERE / "hadolint", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_is_one():
    command = [HERE / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DOCKER / "compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_asks_for_no_privilege(image: Image):
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", image.user)
    assert image.health[:2] == ["dpproxy", "health"]
    assert image.health[2:] == image.command[1:]
    for _, source, _ in image.copies:
        assert source.startswith("/") or (ROOT / source).exists()


def test_all_that_is_copied_and_nothing_else_is_sent_to_the_engine():
    text = (DOCKER / "Dockerfile").read_text()
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied
    assert lines[1] == "*"


def test_what_it_is_configured_with_is_right():
    config = load_config(DOCKER / "dpproxy.toml", {})
    assert [file.name for file in config.policy_files] == ["10_clinic.sql"]
    policy = Policy()
    for file in config.policy_files:
        policy = apply_file(policy, read_file(file), None)
    assert set(policy.tables) == {"patients", "visits"}
    url = re.search(r"DPPROXY_DATA_CLINIC_URL: (.+)", (DOCKER / "compose.yaml").read_text())
    assert url is not None
    given = {"DPPROXY_DATA_CLINIC_URL": re.sub(r"\$\{\w+:\?[^}]*\}", "word", url[1])}
    assert (
        load_config(DOCKER / "dpproxy.toml", given).data.url
        == "postgresql://dpproxy_reader:word@postgres/clinic"
    )


@pytest.fixture
def root(image: Image, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of the image's, in which a table of people stands where the compose file has a server."""
    if not can_be_run():
        pytest.skip("mounts cannot be made here")
    root = tmp_path_factory.mktemp("root")
    root.chmod(0o755)
    lay_out(image, root, installed)
    data = root / "var/lib/dpproxy/data.duckdb"
    with duckdb.connect(data) as connection:
        connection.execute(f"CREATE TABLE patients AS {DATA}")
        connection.execute(f"CREATE TABLE visits AS {VISITS}")
    config = root / "etc/dpproxy/dpproxy.toml"
    kept = re.sub(r"^prepared_schema = .*\n", "", config.read_text(), flags=re.MULTILINE)
    config.write_text(
        re.sub(r"^url = .*$", 'path = "/var/lib/dpproxy/data.duckdb"', kept, flags=re.MULTILINE)
    )
    return root


def test_its_command_serves_from_a_read_only_root_and_is_healthy(image: Image, root: Path):
    port = free_port()
    more = {"DPPROXY_SERVER_LISTEN": f"127.0.0.1:{port}"}
    add = [
        "dpproxy",
        "user",
        "add",
        "dashboards",
        "--role",
        "analyst",
        "--password-stdin",
        *image.command[1:],
    ]
    subprocess.run(
        inside(image, root, add, **more),
        input="a-long-secret\n",
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    tried = "for place in /etc/x /opt/dpproxy/x /tmp/x /var/lib/dpproxy/x; do touch $place && echo $place; done; true"
    done = subprocess.run(
        inside(image, root, ["sh", "-c", tried]), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["/tmp/x", "/var/lib/dpproxy/x"]
    healthy = inside(image, root, image.health, **more)
    assert subprocess.run(healthy, capture_output=True, check=False).returncode == 1
    command = inside(image, root, [*image.entrypoint, *image.command], **more)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert "serving clinic" in server.stdout.readline()
            status = Path(f"/proc/{server.pid}/status").read_text()
            assert f"Uid:\t{image.user.partition(':')[0]}" in status
            assert re.search(r"CapEff:\t0+\n", status)
            until = time.monotonic() + 30
            while subprocess.run(healthy, capture_output=True, check=False).returncode:
                assert time.monotonic() < until
            url = f"postgresql://dashboards:a-long-secret@127.0.0.1:{port}/clinic"
            with psycopg.connect(url, autocommit=True) as connection:
                rows = connection.execute("SELECT ward, count(*) FROM patients GROUP BY ward").fetchall()
        finally:
            server.terminate()
            server.communicate(timeout=30)
    assert server.returncode == 0
    assert sorted(ward for ward, _ in rows) == ["east", "north", "south"]
    assert os.stat(root / "var/lib/dpproxy/state").st_mode & 0o077 == 0


def test_the_compose_file_s_database_is_served_with_its_policy(postgres: Postgres, tmp_path: Path):
    """Made by the scripts that the container of the database runs, and read by the role that they make."""
    name = postgres.database(name="clinic")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute((DOCKER / "postgres" / "10_clinic.sql").read_bytes())
    own = {
        "PGHOST": str(postgres.folder),
        "POSTGRES_USER": "postgres",
        "POSTGRES_DB": name,
        "READER_PASSWORD": "wo'rd",
    }
    subprocess.run([DOCKER / "postgres" / "20_password.sh"], env={**environment(), **own}, check=True)
    users = tmp_path / "users.toml"
    add_user(users, "dashboards", ["analyst"], "a-long-secret")
    url = postgres.url(name).replace("postgres@", "dpproxy_reader:wo%27rd@")
    given = {
        "DPPROXY_SERVER_LISTEN": "127.0.0.1:0",
        "DPPROXY_STATE_DIRECTORY": str(tmp_path / "state"),
        "DPPROXY_USERS_FILE": str(users),
        "DPPROXY_DATA_CLINIC_URL": url,
    }
    config = load_config(DOCKER / "dpproxy.toml", given)
    with (
        open_databases(config, lambda _line: None) as databases,
        Server(options(config), databases, UsersFile(users)).running() as port,
        psycopg.connect(
            f"postgresql://dashboards:a-long-secret@127.0.0.1:{port}/clinic", autocommit=True
        ) as connection,
    ):
        wards = connection.execute("SELECT ward, count(*), avg(born) FROM patients GROUP BY ward").fetchall()
        joined = connection.execute(
            """SELECT p.ward, v.reason, sum(v.cost) FROM patients p JOIN visits v ON v.patient = p.patient
               WHERE v.day < '2024-07-01' GROUP BY p.ward, v.reason"""
        ).fetchall()
        assert {row[0]: round(row[1], -3) for row in wards} == {"east": 1000, "north": 1000, "south": 1000}
        assert len(joined) == 12
        with pytest.raises(psycopg.Error, match="rows are not shown"):
            connection.execute("SELECT born FROM patients")
    assert "27rd" not in repr(config)


def test_every_image_is_named_by_a_digest_that_has_to_be_given():
    compose = (ROOT / "docker" / "compose.yaml").read_text()
    for file in ("Dockerfile", "superset/Dockerfile"):
        text = (ROOT / "docker" / file).read_text()
        bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
        assert bases
        assert all(base.endswith("@${PYTHON_DIGEST}") for base in bases)
        assert re.search(r"^ARG PYTHON_DIGEST$", text, re.MULTILINE)  # without a default: nothing is built
    assert compose.count("PYTHON_DIGEST: ${PYTHON_DIGEST:?in docker/.env}") == 2
    images = [image for image in re.findall(r"^ +image: (\S+)", compose, re.MULTILINE) if image != "dpproxy"]
    assert images == ["postgres:17@${POSTGRES_DIGEST:?in"]


def test_no_password_serves_two_services():
    compose = (ROOT / "docker" / "compose.yaml").read_text()
    needed = set(re.findall(r"\$\{(\w+):\?", compose))
    given = set(re.findall(r"^(\w+)=$", (ROOT / "docker" / "env.example").read_text(), re.MULTILINE))
    assert needed == given
    assert "ADMIN_PASSWORD: ${SUPERSET_PASSWORD" in compose
