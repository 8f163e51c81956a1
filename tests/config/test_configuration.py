from collections.abc import Callable
from pathlib import Path

import pytest

from dpproxy.config.configuration import KEYS, Data, check_files, load_config
from dpproxy.config.text import ConfigError

Writer = Callable[[str], Path]
LEAST = """
[state]
directory = "state"
[data.main]
path = "adult.duckdb"
[users]
file = "users.toml"
"""


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def write(text: str) -> Path:
        file = tmp_path / "dpproxy.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def refused(file: Path, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(file, environment)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{file}:")
    return text.removeprefix(f"{file}:").strip()


def test_the_least_configuration_has_the_documented_defaults(write: Writer, tmp_path: Path):
    config = load_config(write(LEAST), {})
    assert (config.host, config.port, config.padding) == ("127.0.0.1", 6432, 0.01)
    assert (config.max_connections, config.login_timeout) == (64, 60.0)
    assert (config.tls_certificate, config.tls_key, config.threads, config.memory) == (None,) * 4
    assert config.state == tmp_path / "state" / "main"
    assert (config.database, config.data) == ("main", Data(tmp_path / "adult.duckdb"))
    assert config.policy_files == ()


def test_prepared_tables_are_kept_beside_postgresql_alone(write: Writer):
    of = LEAST.replace('path = "adult.duckdb"', 'url = "postgres://r@h/d"\nprepared_schema = "kept"')
    assert load_config(write(of), {}).data.prepared_schema == "kept"
    variable = {"DPPROXY_DATA_MAIN_PREPARED_SCHEMA": "x"}
    assert load_config(write(of), variable).data.prepared_schema == "x"
    expected = 'data.main.prepared_schema: expected beside url = "postgresql://..."'
    assert refused(write(LEAST), **variable) == expected
    assert refused(write(of.replace("postgres://r@h/d", "sc://h:1"))) == expected
    told = refused(write(of.replace('"kept"', '""')))
    assert told.endswith("data.main.prepared_schema: expected the name of a schema, as text")


def test_every_key_is_read(write: Writer, tmp_path: Path):
    for name in ("b.sql", "a.sql", "c.txt"):
        (tmp_path / name).touch()
    text = """
        [server]
        listen = "[::1]:0"
        padding = "0ms"
        tls_certificate = "/etc/proxy.crt"
        tls_key = "proxy.key"
        max_connections = 3
        login_timeout = "1.5s"
        [state]
        directory = "/var/lib/dpproxy"
        [data.census]
        path = "data"
        [policy]
        files = ["c.txt", "*.sql", "a.sql"]
        [users]
        file = "users.toml"
        [limits]
        threads = 2
        memory = "4GB"
    """
    config = load_config(write(text), {})
    assert (config.host, config.port, config.padding) == ("::1", 0, 0.0)
    assert (config.tls_certificate, config.tls_key) == (Path("/etc/proxy.crt"), tmp_path / "proxy.key")
    assert (config.max_connections, config.login_timeout) == (3, 1.5)
    assert (config.root, config.state) == (Path("/var/lib/dpproxy"), Path("/var/lib/dpproxy/census"))
    assert config.sources == {"census": Data(tmp_path / "data", policy_files=config.policy_files)}
    assert [file.name for file in config.policy_files] == ["c.txt", "a.sql", "b.sql"]
    assert (config.threads, config.memory) == (2, "4GB")


def test_every_key_can_come_from_the_environment(write: Writer, tmp_path: Path):
    (tmp_path / "a.sql").touch()
    samples = {
        "server.listen": "0.0.0.0:5432",
        "server.padding": "1s",
        "server.tls_certificate": "c",
        "server.tls_key": "k",
        "server.max_connections": "7",
        "server.login_timeout": "2m",
        "server.drain": "0s",
        "server.processes": "3",
        "state.directory": "s",
        "state.ledger": "postgresql://ann:secret@db/ledger",
        "state.high_water": "h",
        "data.NAME.path": "d",
        "data.NAME.url": "postgresql://reader:secret@db/people",
        "data.NAME.prepared_schema": "kept",
        "data.NAME.schemas": "clinic, lab",
        "data.NAME.fold_names": "true",
        "data.NAME.policy": "own.sql",
        "data.NAME.ledger": "postgresql://ann:secret@db/own",
        "data.NAME.high_water": "o",
        "data.NAME.load_mark": "l",
        "data.NAME.load_mark_table": "loads",
        "policy.files": "a.sql",
        "users.file": "u",
        "limits.threads": "1",
        "limits.memory": "512MB",
        "limits.statement_timeout": "90s",
        "audit.keep_days": "90",
        "log.format": "json",
        "metrics.port": "9187",
        "web.listen": "0.0.0.0:8080",
        "web.url": "https://ask.example.org",
        "web.report": "r",
    }
    assert samples.keys() == {key.dotted for key in KEYS}
    used = [key for key in KEYS if key.section != "data.NAME" or key.name == "path"]
    environment = {key.variable.replace("NAME", "MAIN"): samples[key.dotted] for key in used}
    config = load_config(write(""), environment | {"HOME": "/root"})
    assert (config.host, config.port, config.padding, config.login_timeout) == ("0.0.0.0", 5432, 1.0, 120.0)
    assert (config.drain, config.processes) == (0.0, 3)
    assert (config.max_connections, config.threads, config.memory) == (7, 1, "512MB")
    assert (config.audit_days, config.log_format, config.metrics_port) == (90, "json", 9187)
    assert (config.page, config.page_url) == (("0.0.0.0", 8080), "https://ask.example.org")
    assert config.page_report == tmp_path / "r"
    assert (config.root, config.users, config.data.path) == (tmp_path / "s", tmp_path / "u", tmp_path / "d")
    assert (config.tls_certificate, config.tls_key) == (tmp_path / "c", tmp_path / "k")
    assert config.policy_files == (tmp_path / "a.sql",)
    assert (config.data.ledger, config.data.high_water) == (
        "postgresql://ann:secret@db/ledger",
        tmp_path / "h",
    )
    assert "secret" not in repr(config)


SEVERAL = """
[state]
directory = "state"
[data.main]
path = "adult.duckdb"
[data.tax_2020]
url = "postgresql://reader@db/tax"
policy = ["tax.sql"]
ledger = "postgresql://db/ledger"
high_water = "tax.mark"
[policy]
files = ["main.sql"]
[users]
file = "users.toml"
"""


def test_several_sources_each_have_their_own(write: Writer, tmp_path: Path):
    for name in ("main.sql", "tax.sql", "other.sql"):
        (tmp_path / name).touch()
    environment = {"DPPROXY_DATA_TAX_2020_HIGH_WATER": "m", "DPPROXY_DATA_MAIN_POLICY": "other.sql"}
    config = load_config(write(SEVERAL), environment)
    assert config.databases == ("main", "tax_2020")
    main, tax = config.of("main"), config.of("tax_2020")
    assert (main.policy_files, tax.policy_files) == ((tmp_path / "other.sql",), (tmp_path / "tax.sql",))
    assert (main.state, tax.state) == (tmp_path / "state" / "main", tmp_path / "state" / "tax_2020")
    assert (main.data.ledger, main.data.high_water) == (None, None)
    assert (tax.data.ledger, tax.data.high_water) == ("postgresql://db/ledger", tmp_path / "m")
    assert (tax.databases, tax.of().database) == (config.databases, "tax_2020")
    assert load_config(write(SEVERAL), {}).of("main").policy_files == (tmp_path / "main.sql",)
    with pytest.raises(ConfigError, match="several data sources: expected --database main or --database tax"):
        config.of()
    with pytest.raises(ConfigError, match='no data source is called "x": expected --database main or'):
        config.of("x")


@pytest.mark.parametrize(
    ("found", "put", "problem"),
    [
        ('"state"\n', '"state"\nledger = "postgresql://h/d"\n', "state.ledger: expected data.main.ledger, data.tax_20"),
        ('"state"\n', '"state"\nhigh_water = "m"\n', "state.high_water: expected data.main.high_water, data.tax_20"),
        ('"adult.duckdb"', '"a"\nhigh_water = "tax.mark"', "data.tax_2020.high_water: expected another than that of"),
        ('url = "postgresql://reader@db/tax"', 'path = "adult.duckdb"', "data.tax_2020.path: expected another than"),
        ('url = "postgresql://reader@db/tax"', 'path = "./x/../adult.duckdb"', "data.tax_2020.path: expected another"),
        ("data.tax_2020", "data.Main", "data: expected names that differ by more than case"),
        ('url = "postgresql://reader@db/tax"', "", "data.tax_2020.path, data.tax_2020.url: expected one of the two"),
    ],
)  # fmt: skip
def test_sources_share_neither_data_nor_ledger(
    write: Writer, tmp_path: Path, found: str, put: str, problem: str
):
    for name in ("main.sql", "tax.sql"):
        (tmp_path / name).touch()
    assert problem in refused(write(SEVERAL.replace(found, put)))


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("postgresql://ann:secret@db/people", "postgresql"),
        ("postgres://ann:secret@db", "postgresql"),
        ("sc://h:15002/;token=secret", "sc"),
    ],
)
def test_a_source_may_be_a_url_which_nothing_prints(write: Writer, url: str, scheme: str):
    config = load_config(write(LEAST.replace('path = "adult.duckdb"', f'url = "{url}"')), {})
    assert (config.data.scheme, config.data.url, config.data.path) == (scheme, url, None)
    assert "secret" not in repr(config)
    variables = {"DPPROXY_DATA_MAIN_URL": url}
    config = load_config(write(LEAST.replace('[data.main]\npath = "adult.duckdb"', "")), variables)
    assert config.data.url == url
    both = refused(write(LEAST), **variables)
    assert both == "data.main.path, data.main.url: expected one of the two"


def test_what_is_no_url_is_not_quoted(write: Writer):
    text = LEAST.replace('path = "adult.duckdb"', 'url = "mysql://ann:secret@db"')
    assert refused(write(text)) == (
        '5:1: data.main.url: expected "postgresql://user@host/database" or "sc://host:15002"'
    )
    text = LEAST.replace("[data.main]", 'ledger = "mysql://ann:secret@db"\n[data.main]')
    assert refused(write(text)) == '4:1: state.ledger: expected "postgresql://user@host/database"'


def test_the_environment_wins_over_the_file(write: Writer):
    config = load_config(write(LEAST), {"DPPROXY_DATA_MAIN_PATH": "/data", "DPPROXY_STATE_DIRECTORY": "/s"})
    assert (config.sources, config.root) == ({"main": Data(Path("/data"))}, Path("/s"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[server]\nlisten = "6432"', '2:1: server.listen: expected "host:port"'),
        ('[server]\nlisten = "h:65536"', '2:1: server.listen: expected "host:port"'),
        ('[server]\n  padding = "10 parsecs"', "2:3: server.padding: expected a duration"),
        ("[server]\npadding = 10", "2:1: server.padding: expected a duration"),
        ('[server]\nlogin_timeout = "0s"', "2:1: server.login_timeout: expected a duration above zero"),
        ("[server]\nmax_connections = true", "2:1: server.max_connections: expected a whole number from 1"),
        ("[server]\nmax_connections = 0", "2:1: server.max_connections: expected a whole number from 1"),
        ('[server]\ntls_key = "k"', "server.tls_certificate, server.tls_key: expected both or none"),
        ("[server]\npaddding = 1", "2:1: server.paddding: unknown key; did you mean server.padding?"),
        ("[sever]\nlisten = 1", "2:1: sever.listen: unknown key; did you mean server.listen?"),
        ("[data.main2]\npth = 1", "2:1: data.main2.pth: unknown key; did you mean data.main2.path?"),
        ('[data."a b"]\npath = "x"', "data.a b.path: unknown key; did you mean data.main.path?"),
        ("[policy]\nfiles = 3", "2:1: policy.files: expected a list of paths"),
        ('[limits]\nmemory = "lots"', '2:1: limits.memory: expected a size such as "4GB"'),
        ('[data.other]\npath = "adult.duckdb"', "data.main.path: expected another than that of data.other"),
        ('[data.MAIN]\npath = "x"', "data: expected names that differ by more than case"),
        ("[server\n", "1:8: not TOML: Expected ']'"),
        ("a = ", "1:5: not TOML: Invalid value"),
    ],
)
def test_what_does_not_fit_names_its_key_and_place(write: Writer, text: str, problem: str):
    assert problem in refused(write(text + "\n" + LEAST))


@pytest.mark.parametrize("missing", ["state.directory", "data.main.path", "users.file"])
def test_a_missing_key_is_named(write: Writer, missing: str):
    name = missing.rsplit(".", 1)[1]
    text = "\n".join(line for line in LEAST.splitlines() if not line.startswith(name))
    either = ", or data.main.url," if name == "path" else ","
    assert refused(write(text)) == f"{missing}: expected{either} and missing"


def test_an_unknown_or_wrong_variable_is_named(write: Writer):
    file = write(LEAST)
    assert refused(file, DPPROXY_SERVER_LISTN="x") == (
        "DPPROXY_SERVER_LISTN: unknown environment variable; did you mean DPPROXY_SERVER_LISTEN?"
    )
    assert refused(file, DPPROXY_SERVER_PADDING="x").startswith("DPPROXY_SERVER_PADDING: expected a duration")


def test_a_file_that_cannot_be_read_is_named(write: Writer, tmp_path: Path):
    assert refused(tmp_path / "none.toml") == "no such configuration file"
    assert "Is a directory" in refused(tmp_path)
    file = write("")
    file.write_bytes(b"\xff")
    assert "UTF-8" in refused(file)


def test_files_that_are_not_there_are_named(write: Writer, tmp_path: Path):
    config = load_config(write(LEAST), {})
    with pytest.raises(
        ConfigError, match=r"data\.main\.path: expected a file, .*adult\.duckdb does not exist"
    ):
        check_files(config)
    (tmp_path / "adult.duckdb").touch()
    with pytest.raises(ConfigError, match=r"users\.file: .* dpproxy user add"):
        check_files(config)
    (tmp_path / "users.toml").touch()
    check_files(config)
    (tmp_path / "state").touch()
    with pytest.raises(ConfigError, match=r"state\.directory: expected a directory"):
        check_files(config)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ('listen = "0.0.0.0:8080"', "passwords are sent to it"),
        ('listen = "127.0.0.1:8080"\nurl = "http://ask.example.org"', 'web.url: expected "https://..."'),
        ('listen = "127.0.0.1:8080"\nurl = "https://ask.example.org/"', "web.url: expected"),
    ],
)
def test_passwords_reach_the_page_in_private(write: Writer, section: str, why: str):
    assert why in refused(write(f"{LEAST}[web]\n{section}\n"))


def test_a_page_for_other_machines_has_a_certificate_and_a_name(write: Writer):
    text = f"""{LEAST}[server]\ntls_certificate = "c"\ntls_key = "k"\n[web]\nlisten = "0.0.0.0:443"\n"""
    assert "web.url: expected, such as" in refused(write(text))
    config = load_config(write(text + 'url = "https://ask.example.org"\n'), {})
    assert (config.page, config.page_url) == (("0.0.0.0", 443), "https://ask.example.org")


def test_a_policy_file_that_is_not_there_yet_is_a_mistake_once_it_is_read(write: Writer, tmp_path: Path):
    config = load_config(write(f'{LEAST}[policy]\nfiles = ["nothing/*.sql"]\n'), {})
    assert config.users == tmp_path / "users.toml"
    told = r"policy\.files: expected files, nothing matches 'nothing/\*\.sql'"
    with pytest.raises(ConfigError, match=told):
        check_files(config)
    with pytest.raises(ConfigError, match=told):
        _ = config.policy_files
    assert config.at_rest().policy_files == ()
