"""The configuration: one TOML file, each key also an environment variable, read into a frozen `Config`.

`KEYS` is the table of all keys; what is not in it is an error. Paths are relative to the configuration file.
"""

import difflib
import glob
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.config import values as read
from dpproxy.config.text import ConfigError, not_toml, place_of, read_text
from dpproxy.values.structs import PartlyShown

PREFIX = "DPPROXY_"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Data(PartlyShown, Struct, frozen=True):
    """One data source: where its rows are (a file, a directory or a server), and its own policy and ledger."""

    HIDDEN = frozenset({"url", "ledger"})

    path: Path | None = None
    url: str | None = None
    """May hold a password: messages name the data source instead."""
    prepared_schema: str | None = None
    """In a PostgreSQL database, the schema for prepared tables; None truncates rows in each statement instead."""
    schemas: tuple[str, ...] = ()
    """Of a PostgreSQL database or a DuckDB file, the schemas that are served under their own names."""
    fold_names: bool = False
    """Whether tables and columns are served in small letters, whatever they are in."""
    policy_files: tuple[Path, ...] = ()
    unmatched: str | None = None
    """What to say of a pattern of policy files that matches none: a mistake once they are to be read."""
    ledger: str | None = None
    """The URL of the PostgreSQL database with the ledger; None for a SQLite file in the state directory."""
    high_water: Path | None = None
    load_mark: Path | None = None
    """A file into which the loader writes something else at every load; None where an administrator says so."""
    load_mark_table: str | None = None
    """A public table in place of that file."""

    @property
    def scheme(self) -> str:
        """The URL's scheme, in one spelling; empty for a path."""
        scheme = "" if self.url is None else self.url.partition("://")[0]
        return "postgresql" if scheme == "postgres" else scheme


class Config(Struct, frozen=True):
    """Everything that `dpproxy serve` needs to know; durations in seconds, paths absolute."""

    file: Path
    host: str
    port: int
    padding: float
    tls_certificate: Path | None
    tls_key: Path | None
    max_connections: int
    login_timeout: float
    drain: float
    processes: int
    root: Path
    """The state directory of all data sources."""
    sources: Mapping[str, Data]
    """The data sources by database name; the properties below are those of the only one."""
    databases: tuple[str, ...]
    """The names of all data sources, also where this is the configuration of one of them."""
    users: Path
    threads: int | None = None
    memory: str | None = None
    statement_timeout: float = 300.0
    audit_days: int | None = None
    """Days that entries of the audit log are kept; None keeps all."""
    log_format: str = "text"
    metrics_port: int | None = None
    page: tuple[str, int] | None = None
    """Host and port of the page for browsers; None for no page."""
    page_url: str | None = None
    """The origin at which people open the page, where it is another than its address."""
    page_report: Path | None = None
    """The report that the page shows to everybody."""
    weakens: bool = False
    """Whether policy files may weaken the policy in force."""
    begins: bool = True
    """Whether opening a source applies its policy files and builds the views that are declared."""

    def of(self, database: str | None = None) -> "Config":
        """The configuration of one data source; without a name, of the only one.

        Raises:
            ConfigError: there is none of that name, or there are several and none is named.
        """
        named = " or ".join(f"--database {name}" for name in self.sources)
        if database is None and len(self.sources) > 1:
            raise ConfigError(self.file, f"several data sources: expected {named}")
        name = next(iter(self.sources)) if database is None else database
        if name not in self.sources:
            raise ConfigError(self.file, f'no data source is called "{name}": expected {named}')
        return replace(self, sources={name: self.sources[name]})

    def at_rest(self) -> "Config":
        """For commands that only read: opening the source applies no policy file and builds no view."""
        data = replace(self.data, policy_files=(), unmatched=None)
        return replace(self, sources={self.database: data}, begins=False)

    @property
    def database(self) -> str:
        """The name a client connects to."""
        (name,) = self.sources
        return name

    @property
    def data(self) -> Data:
        """The only data source."""
        return self.sources[self.database]

    @property
    def state(self) -> Path:
        """The state directory of this data source."""
        return self.root / self.database

    @property
    def policy_files(self) -> tuple[Path, ...]:
        """The policy files, applied in order at the start of this data source. Raises ``ConfigError``."""
        if self.data.unmatched is not None:
            raise ConfigError(self.file, self.data.unmatched)
        return self.data.policy_files

    def weakening(self) -> "Config":
        """This configuration with permission for the policy files to weaken the policy in force."""
        return replace(self, weakens=True)

    @property
    def applying(self) -> str | None:
        """The command that applies policy files even where they weaken the policy; None for that command itself."""
        if self.weakens:
            return None
        of_several = f" --database {self.database}" if len(self.databases) > 1 else ""
        return f"dpproxy policy apply --config {self.file}{of_several}"

    @property
    def limits(self) -> dict[str, Any]:
        """The resource limits of the engine."""
        return {"threads": self.threads, "memory": self.memory, "limit": self.statement_timeout}


class ConfigKey(Struct, frozen=True):
    """One key: how its value is read, and its default (`REQUIRED` where there is none)."""

    section: str
    name: str
    read: Callable[[object], object]
    default: object = None

    @property
    def dotted(self) -> str:
        """The key with its section, as in ``server.listen``; NAME stands for the name of a data source."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.dotted.upper().replace(".", "_")


REQUIRED = object()
MOST = 4
"""The processes that serve by default, at most: each has prepared tables and an engine of its own."""


def by_cores() -> int:
    """The processes that serve by default: one for each two cores."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return min(max(1, cores // 2), MOST)


LOCAL = ("127.0.0.1", "::1", "localhost")
"""Hosts that only programs of the same machine reach."""
KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("server", "listen", read.address, ("127.0.0.1", 6432)),
    ConfigKey("server", "padding", read.duration, 0.01),
    ConfigKey("server", "tls_certificate", read.path),
    ConfigKey("server", "tls_key", read.path),
    ConfigKey("server", "max_connections", read.whole(1, 10_000), 64),
    ConfigKey("server", "login_timeout", read.positive_duration, 60.0),
    ConfigKey("server", "drain", read.duration, 30.0),
    ConfigKey("server", "processes", read.whole(1, 64), by_cores()),
    ConfigKey("state", "directory", read.path, REQUIRED),
    ConfigKey("state", "ledger", read.postgres),
    ConfigKey("state", "high_water", read.path),
    ConfigKey("data.NAME", "path", read.path),
    ConfigKey("data.NAME", "url", read.source),
    ConfigKey("data.NAME", "prepared_schema", read.name),
    ConfigKey("data.NAME", "schemas", read.names),
    ConfigKey("data.NAME", "fold_names", read.truth),
    ConfigKey("data.NAME", "policy", read.patterns),
    ConfigKey("data.NAME", "ledger", read.postgres),
    ConfigKey("data.NAME", "high_water", read.path),
    ConfigKey("data.NAME", "load_mark", read.path),
    ConfigKey("data.NAME", "load_mark_table", read.name),
    ConfigKey("policy", "files", read.patterns, ()),
    ConfigKey("users", "file", read.path, REQUIRED),
    ConfigKey("limits", "threads", read.whole(1, 1024)),
    ConfigKey("limits", "memory", read.size),
    ConfigKey("limits", "statement_timeout", read.positive_duration, 300.0),
    ConfigKey("audit", "keep_days", read.whole(1, 36_500)),
    ConfigKey("log", "format", read.one_of("text", "json"), "text"),
    ConfigKey("metrics", "port", read.whole(0, 65_535)),
    ConfigKey("web", "listen", read.address),
    ConfigKey("web", "url", read.web_url),
    ConfigKey("web", "report", read.path),
)
_BY_DOTTED = {key.dotted: key for key in KEYS}
_OF_SOURCE = re.compile(
    PREFIX + rf"DATA_(\w+)_({'|'.join(k.name.upper() for k in KEYS if k.section == 'data.NAME')})"
)
_OF_ONE = ("ledger", "high_water")
"""Keys of section state for a configuration with one data source; several sources have their own."""


def load_config(file: Path, environment: Mapping[str, str] | None = None, text: str | None = None) -> Config:
    """Read, check and complete a configuration; `check_files` says whether what it names exists.

    With ``text`` the file is not read: it may say something else by now.

    Raises:
        ConfigError: not readable, not TOML, an unknown key, a value that does not fit, a key missing.
    """
    file = file.absolute()
    text = read_text(file) if text is None else text
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(file, text, str(error)) from None
    values = _from_file(file, text, tree)
    values |= _from_environment(file, values, os.environ if environment is None else environment)
    _require(file, values)
    return _build(file, values)


def check_files(config: Config) -> None:
    """Raise ``ConfigError`` for a file or directory that the configuration names and that does not exist."""
    for data in config.sources.values():
        if data.unmatched is not None:
            raise ConfigError(config.file, data.unmatched)
    named = {f"data.{name}.path": data.path for name, data in config.sources.items() if data.path is not None}
    named |= {"users.file": config.users}
    if config.tls_certificate is not None and config.tls_key is not None:
        named |= {"server.tls_certificate": config.tls_certificate, "server.tls_key": config.tls_key}
    for key, path in named.items():
        if not path.exists():
            hint = (
                "; make it with: dpproxy user add NAME --role ROLE --config FILE"
                if key == "users.file"
                else ""
            )
            raise ConfigError(config.file, f"{key}: expected a file, {path} does not exist{hint}")
    if config.root.exists() and not config.root.is_dir():
        raise ConfigError(config.file, f"state.directory: expected a directory, {config.root} is a file")


def _key(dotted: str) -> ConfigKey | None:
    """The table's row for a key as written."""
    parts = dotted.split(".")
    if parts[0] == "data" and len(parts) == 3 and _NAME.fullmatch(parts[1]):
        parts[1] = "NAME"
    return _BY_DOTTED.get(".".join(parts))


def _like(dotted: str) -> list[str]:
    """Every key, with the data source's name as in ``dotted`` where that name is one."""
    parts = dotted.split(".")
    name = parts[1] if len(parts) == 3 and _NAME.fullmatch(parts[1]) else "main"
    return [key.dotted.replace("NAME", name) for key in KEYS]


def _unknown(dotted: str, kind: str, known: list[str]) -> str:
    near = difflib.get_close_matches(dotted, known, n=1, cutoff=0.6)
    return f"{dotted}: unknown {kind}" + (f"; did you mean {near[0]}?" if near else "")


def _from_file(file: Path, text: str, tree: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for dotted, value in _flatten(tree):
        if (key := _key(dotted)) is None:
            raise ConfigError(file, _unknown(dotted, "key", _like(dotted)), place_of(text, dotted))
        try:
            values[dotted] = key.read(value)
        except read.Wrong as wrong:
            raise ConfigError(file, f"{dotted}: expected {wrong}", place_of(text, dotted)) from None
    return values


def _flatten(tree: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    """Leaves by dotted name, in the order written; an empty section is no leaf."""
    leaves: list[tuple[str, object]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            leaves += _flatten(value, f"{prefix}{name}.")
        else:
            leaves.append((prefix + name, value))
    return leaves


def _from_environment(file: Path, values: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = {name.upper(): name for name in _sources(values)}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(PREFIX):
            continue
        source = _OF_SOURCE.fullmatch(variable)
        dotted = (
            f"data.{names.get(source[1], source[1].lower())}.{source[2].lower()}"
            if source
            else next((k.dotted for k in KEYS if k.variable == variable), "")
        )
        if (key := _key(dotted)) is None:
            raise ConfigError(file, _unknown(variable, "environment variable", [k.variable for k in KEYS]))
        try:
            found[dotted] = key.read(text)
        except read.Wrong as wrong:
            raise ConfigError(file, f"{variable}: expected {wrong}") from None
    return found


def _require(file: Path, values: dict[str, Any]) -> None:
    """Check that required keys are there, and keys that belong together."""
    for key in KEYS:
        if key.default is REQUIRED and key.dotted not in values:
            raise ConfigError(file, f"{key.dotted}: expected, and missing")
    sources = _sources(values)
    if not sources:
        raise ConfigError(file, "data.main.path: expected, or data.main.url, and missing")
    for name in sources:
        if (f"data.{name}.path" in values) == (f"data.{name}.url" in values):
            raise ConfigError(file, f"data.{name}.path, data.{name}.url: expected one of the two")
        _require_schemas(file, values, name)
    _require_apart(file, values, sources)
    if ("server.tls_certificate" in values) != ("server.tls_key" in values):
        raise ConfigError(file, "server.tls_certificate, server.tls_key: expected both or none")
    _require_private(file, values)


def _require_schemas(file: Path, values: Mapping[str, Any], name: str) -> None:
    """Check that what has no schemas is not asked for some."""
    if f"data.{name}.prepared_schema" in values and not _is_postgresql(values, name):
        raise ConfigError(file, f'data.{name}.prepared_schema: expected beside url = "postgresql://..."')
    if f"data.{name}.schemas" in values and values.get(f"data.{name}.url", "").startswith("sc://"):
        raise ConfigError(file, f"data.{name}.schemas: expected beside a PostgreSQL url or a DuckDB file")


def _require_private(file: Path, values: Mapping[str, Any]) -> None:
    """Check that passwords reach the page over TLS, or from the same machine alone."""
    host, url = values.get("web.listen", (LOCAL[0], 0))[0], values.get("web.url")
    if host not in LOCAL and "server.tls_certificate" not in values:
        raise ConfigError(
            file,
            f'web.listen: expected "{LOCAL[0]}:port", or a server.tls_certificate: passwords are sent to it',
        )
    if host not in LOCAL and url is None:
        raise ConfigError(
            file, 'web.url: expected, such as "https://host:port": browsers open the page by that name'
        )
    if url is not None and url.startswith("http:"):
        raise ConfigError(file, 'web.url: expected "https://...": passwords are sent to it')


def _is_postgresql(values: Mapping[str, Any], name: str) -> bool:
    return Data(url=values.get(f"data.{name}.url")).scheme == "postgresql"


def _require_apart(file: Path, values: Mapping[str, Any], sources: list[str]) -> None:
    """Check that no two sources share data, which would give everybody two budgets, a ledger, or a directory."""
    if len({name.lower() for name in sources}) < len(sources):
        raise ConfigError(file, "data: expected names that differ by more than case")
    for key in _OF_ONE:
        if f"state.{key}" in values and len(sources) > 1:
            wanted = ", ".join(f"data.{name}.{key}" for name in sources)
            raise ConfigError(file, f"state.{key}: expected {wanted} instead, for there are several sources")
    for key in ("path", "url", *_OF_ONE):
        found: dict[object, str] = {}
        for name in sources:
            value = values.get(f"data.{name}.{key}")
            if value is not None and key in ("path", "high_water"):
                value = (file.parent / value).resolve()
            other = name if value is None else found.setdefault(value, name)
            if other != name:
                raise ConfigError(file, f"data.{name}.{key}: expected another than that of data.{other}")


def _sources(values: Mapping[str, Any]) -> list[str]:
    """The names of the data sources, each once, in the order written."""
    return list(dict.fromkeys(dotted.split(".")[1] for dotted in values if dotted.startswith("data.")))


def _build(file: Path, given: dict[str, Any]) -> Config:
    folder, names = file.parent, _sources(given)
    values: dict[str, Any] = {key.dotted: key.default for key in KEYS if key.section != "data.NAME"}
    for dotted, value in given.items():
        key = _key(dotted)
        values[dotted] = folder / value if key is not None and key.read is read.path else value
    host, port = values["server.listen"]
    return Config(
        file=file,
        host=host,
        port=port,
        padding=values["server.padding"],
        tls_certificate=values["server.tls_certificate"],
        tls_key=values["server.tls_key"],
        max_connections=values["server.max_connections"],
        login_timeout=values["server.login_timeout"],
        drain=values["server.drain"],
        processes=values["server.processes"],
        root=values["state.directory"],
        sources={name: _data(file, name, values) for name in names},
        databases=tuple(names),
        users=values["users.file"],
        threads=values["limits.threads"],
        memory=values["limits.memory"],
        statement_timeout=values["limits.statement_timeout"],
        audit_days=values["audit.keep_days"],
        log_format=values["log.format"],
        metrics_port=values["metrics.port"],
        page=values["web.listen"],
        page_url=values["web.url"],
        page_report=values["web.report"],
    )


def _data(file: Path, name: str, values: Mapping[str, Any]) -> Data:
    """One source: what it does not say by itself, the sections that all share say."""
    own = {key: values[f"state.{key}"] for key in _OF_ONE}
    for dotted, value in values.items():
        if dotted.startswith(f"data.{name}."):
            own[dotted.rpartition(".")[2]] = value
    of_policy = f"data.{name}.policy" if "policy" in own else "policy.files"
    files, unmatched = _expand(file, of_policy, own.pop("policy", values["policy.files"]))
    return Data(**own, policy_files=files, unmatched=unmatched)


def _expand(file: Path, dotted: str, patterns: tuple[str, ...]) -> tuple[tuple[Path, ...], str | None]:
    """The files of all patterns, each once, in the order of the patterns and then of their names.

    With it what to say of the first pattern that matches nothing, None where each matches a file.
    """
    found: dict[Path, None] = {}
    unmatched = None
    for pattern in patterns:
        matches = sorted(glob.glob(pattern, root_dir=file.parent, recursive=True))
        if not matches and unmatched is None:
            unmatched = f"{dotted}: expected files, nothing matches {pattern!r}"
        found |= dict.fromkeys(file.parent / match for match in matches)
    return tuple(found), unmatched
