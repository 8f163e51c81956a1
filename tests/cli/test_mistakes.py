"""What people do wrong in their first hour: each is done here, and each message says what to do instead."""

import io
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import duckdb
import psycopg
import pytest

from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.config.users import add_user
from dpproxy.engine.engine import Engine
from tests.postgres import Server
from tests.proxies import PASSWORD, Proxy, serving, started, write_home

Captured = pytest.CaptureFixture[str]
DDL = ("CREATE TABLE visits AS SELECT i AS person, 'n' AS ward, 'x' AS name FROM range(100) t(i)",)
POLICY = dedent("""\
    ALTER TABLE visits SET PRIVACY KEY (person);
    ALTER TABLE visits SET PRIVACY CEILING EPSILON 4;
    ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('n', 's');
    CREATE PRIVACY BUDGET research LIMIT EPSILON 0.2 DEFAULT EPSILON 0.2;
    GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET research;
    """)


@dataclass(frozen=True, slots=True)
class Home:
    """A folder with a configuration, and what is typed there."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: Captured

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, line: str, typed: str = "correct horse\n") -> str:
        """What a command that does not do it says."""
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert main(line.split()) != 0
        return self.capsys.readouterr().err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Home:
    write_home(tmp_path, DDL, POLICY)
    return Home(tmp_path, monkeypatch, capsys)


def a_source_that_is_not_there(home: Home) -> str:
    return home.run("init clinic --directory new --password-stdin")


def a_source_of_another_kind(home: Home) -> str:
    return home.run("init mysql://root:hidden@host/shop --directory new --password-stdin")


def an_empty_folder(home: Home) -> str:
    (home.folder / "empty").mkdir()
    return home.run("init empty --directory new --password-stdin")


def init_a_second_time(home: Home) -> str:
    return home.run("init data.duckdb --password-stdin")


def init_without_a_password(home: Home) -> str:
    return home.run("init data.duckdb --directory new --password-stdin", "\n")


def tables_in_another_schema_of_a_file(home: Home) -> str:
    with duckdb.connect(home.folder / "other.duckdb") as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders (id INT)")
    return home.run("init other.duckdb --directory new --password-stdin")


def a_configuration_elsewhere(home: Home) -> str:
    return home.run("serve --config dpproxi.toml")


def a_key_with_a_typo(home: Home) -> str:
    home.edit("dpproxy.toml", "listen", "lissten")
    return home.run("check dpproxy.toml")


def nobody_may_log_in(home: Home) -> str:
    (home.folder / "users.toml").unlink()
    return home.run("serve --config dpproxy.toml")


def a_policy_that_is_not_written_yet(home: Home) -> str:
    home.edit("dpproxy.toml", "policy.sql", "policy/*.sql")
    return home.run("serve --config dpproxy.toml")


def a_statement_with_a_typo(home: Home) -> str:
    home.edit("policy.sql", "DOMAIN IN", "DOMAINS IN")
    return home.run("check policy.sql")


def a_table_in_another_spelling(home: Home) -> str:
    home.edit("policy.sql", "TABLE visits SET PRIVACY KEY", 'TABLE "Visits" SET PRIVACY KEY')
    return home.run("check dpproxy.toml")


def a_table_without_a_ceiling(home: Home) -> str:
    home.edit("policy.sql", "ALTER TABLE visits SET PRIVACY CEILING EPSILON 4;\n", "")
    return home.run("check dpproxy.toml")


def a_policy_that_grants_nothing(home: Home) -> str:
    home.write("policy.sql", POLICY.partition("GRANT")[0])
    return home.run("preview --config dpproxy.toml")


def a_role_in_capitals(home: Home) -> str:
    return home.run("user add ann --role Analyst --config dpproxy.toml --password-stdin")


def a_port_that_is_taken(home: Home) -> str:
    with socket.create_server(("127.0.0.1", 0)) as other:
        home.edit("dpproxy.toml", "127.0.0.1:0", f"127.0.0.1:{other.getsockname()[1]}")
        return home.run("serve --config dpproxy.toml")


def a_look_before_the_first_start(home: Home) -> str:
    return home.run("budget show --config dpproxy.toml")


def a_policy_file_that_weakens(home: Home) -> str:
    with started(home.folder / "dpproxy.toml"):
        pass
    home.edit("policy.sql", "EPSILON 4", "EPSILON 9")
    lines: list[str] = []
    with Engine.start(load_config(home.folder / "dpproxy.toml"), lines.append):
        return "\n".join(lines)


TYPED: tuple[tuple[Callable[[Home], str], str], ...] = (
    (
        a_source_that_is_not_there,
        "a DuckDB or SQLite file, or postgresql://role:password@host:port/database; .*clinic does not exist",
    ),
    (
        a_source_of_another_kind,
        "expected a directory of Parquet and CSV files, a DuckDB or SQLite file, or postgresql://",
    ),
    (an_empty_folder, "expected .*Parquet"),
    (init_a_second_time, "is there already: move it away, or name another --directory"),
    (init_without_a_password, "12 characters at least"),
    (tables_in_another_schema_of_a_file, "those of schema main are, and schema sales has 1 table .orders."),
    (a_configuration_elsewhere, "no such configuration file"),
    (a_key_with_a_typo, "unknown key; did you mean server.listen"),
    (nobody_may_log_in, "dpproxy user add NAME --role ROLE --config"),
    (a_policy_that_is_not_written_yet, "policy.files: expected files, nothing matches 'policy/"),
    (a_statement_with_a_typo, r"policy.sql:3:\d+: expected .*DOMAIN"),
    (a_table_in_another_spelling, 'table "Visits" does not exist.*visits'),
    (a_table_without_a_ceiling, "SET PRIVACY CEILING EPSILON ...; declares it"),
    (a_policy_that_grants_nothing, "GRANT SELECT ON ... TO ..."),
    (a_role_in_capitals, "expected lower-case letters"),
    (a_port_that_is_taken, "listen"),
    (a_look_before_the_first_start, "dpproxy serve"),
    (a_policy_file_that_weakens, "dpproxy policy apply --config"),
)


@pytest.mark.parametrize(("mistake", "told"), TYPED, ids=lambda value: getattr(value, "__name__", ""))
def test_at_a_shell(home: Home, mistake: Callable[[Home], str], told: str):
    said = mistake(home)
    assert re.search(told, said, re.DOTALL), said
    assert "hidden" not in said
    assert "Traceback" not in said


# --- with a PostgreSQL

URLS: tuple[tuple[str, str], ...] = (
    ("postgresql://reader:hidden@127.0.0.1:1/shop", "no server listens at its host and port"),
    ("postgresql://reader:hid@den@127.0.0.1/shop", "in a password, write %40 for @"),
    (
        "{}",
        "the role is a superuser; expected one that may only read: CREATE ROLE dpproxy .* GRANT USAGE ON SCHEMA sales",
    ),
    ("{writer}", "the role may write to table .*expected one that may only read"),
    (
        "{stranger}",
        'schema "sales".*GRANT USAGE ON SCHEMA sales TO stranger; GRANT SELECT ON ALL TABLES IN SCHEMA sales',
    ),
    ("{gone}", "the server has no such database"),
)


@pytest.fixture(scope="module")
def urls(postgres: Server) -> dict[str, str]:
    name = postgres.database(name="mistakes")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute(
            "CREATE SCHEMA sales; CREATE TABLE sales.orders (id int PRIMARY KEY); CREATE ROLE stranger LOGIN;"
            "CREATE ROLE writer LOGIN; GRANT USAGE ON SCHEMA sales TO writer;"
            "GRANT SELECT, UPDATE ON sales.orders TO writer"
        )
    url = postgres.url(name)
    named = {role: url.replace("postgres@", f"{role}@") for role in ("writer", "stranger")}
    return {**named, "": url, "gone": postgres.url("gone")}


@pytest.mark.parametrize(("url", "told"), URLS)
def test_a_url(home: Home, urls: dict[str, str], url: str, told: str):
    said = home.run(f"init {url.format(urls[''], **urls)} --directory new --password-stdin")
    assert re.search(told, said, re.DOTALL), said
    assert "hid" not in said.replace("hidden until", "")
    assert not (home.folder / "new").exists()


# --- at the proxy


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    file = write_home(tmp_path_factory.mktemp("served"), DDL, POLICY)
    add_user(file.with_name("users.toml"), "eve", ["analst"], PASSWORD)
    with serving(file) as running:
        yield running


LOGINS: tuple[tuple[dict[str, object], str], ...] = (
    ({"password": "wrong"}, "password authentication failed"),
    ({"dbname": "postgre"}, 'database "postgre" does not exist'),
)


@pytest.mark.parametrize(("more", "told"), LOGINS)
def test_a_login(proxy: Proxy, more: dict[str, object], told: str):
    with pytest.raises(psycopg.OperationalError, match=told):
        psycopg.connect(proxy.dsn("ann", **more))


STATEMENTS = (
    ("ann", "SELECT * FROM visits", "rows of a protected table are not shown", "count"),
    ("ann", "SELECT name, count(*) FROM visits GROUP BY name", '"name" does not exist', "visits"),
    ("ann", "SHOW PRIVACY TABLES", "privacy statements are for administrators", "dp.budgets"),
    ("root", "SELECT count(*) FROM visits", "granted to none of your roles", "GRANT SELECT ON visits"),
    ("root", "GRANT SELECT ON visits TO analyst", "BUDGET", "BUDGET"),
    ("root", "SUGGEST PRIVACY FOR visit", '"visit" does not exist', "Did you mean visits?"),
    ("root", "SUGGEST PRIVACY FOR people", '"people" does not exist', "SHOW PRIVACY TABLES"),
    (
        "ann",
        "SELECT count(*) FROM sales.visits",
        'relation "sales.visits" does not exist',
        "It is in the schema public here: FROM visits.",
    ),
    ("ann", "SELECT count(*) FROM vists", '"vists" does not exist', "Did you mean visits?"),
    ("ann", 'SELECT count(*) FROM visits WHERE ward = "n"', '"n" does not exist', "single quotes: 'n'."),
    (
        "eve",
        "SELECT count(*) FROM visits",
        '"visits" does not exist',
        "Nothing is granted to your roles (analst) yet",
    ),
)


@pytest.mark.parametrize(("user", "sql", "message", "hint"), STATEMENTS)
def test_a_statement(proxy: Proxy, user: str, sql: str, message: str, hint: str):
    with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
        with pytest.raises(psycopg.Error, match=message) as caught:
            connection.execute(sql.encode())
        assert hint in f"{caught.value} {caught.value.diag.message_hint} {caught.value.diag.message_detail}"


def test_a_budget_that_is_used_up(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as ann:
        ann.execute("SELECT count(*) FROM visits")
        with pytest.raises(psycopg.Error) as caught:
            ann.execute("SELECT ward, count(*) FROM visits GROUP BY ward")
        assert caught.value.sqlstate == "PD001"
        assert "Its limit is 0.2 epsilon" in f"{caught.value.diag.message_detail}"
        assert "SHOW PRIVACY HISTORY lists it" in f"{caught.value.diag.message_hint}"


def test_each_of_these_is_a_mistake_of_its_own():
    assert len({*TYPED, *URLS, *(told for _, told in LOGINS), *STATEMENTS}) >= 20
