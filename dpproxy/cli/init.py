"""The first command of an administrator: a configuration, a draft of a policy for the whole database, and a user."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from dpproxy.backends import schemas
from dpproxy.backends.opening import nothing_to_read
from dpproxy.cli.policy import schema_of
from dpproxy.cli.statements import ADMIN
from dpproxy.cli.user import password_of
from dpproxy.config.configuration import load_config
from dpproxy.config.users import add_user
from dpproxy.engine.databases import NEUTRAL
from dpproxy.policy.draft import ROLE, Draft, draft
from dpproxy.sql.quoting import identifier
from dpproxy.system import disk
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, waiting
from dpproxy.terminal.display import quantity
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema

CONFIG: Final = "dpproxy.toml"
DRAFT: Final = "policy/10_draft.sql"
USERS: Final = "users.toml"
KEPT: Final = "dpproxy_kept"
"""The schema for prepared tables that is proposed."""
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SOURCE = "a directory of Parquet and CSV files, a DuckDB or SQLite file, or postgresql://role:password@host:port/database"


class Place(Struct, frozen=True):
    """Where rows are: the lines of a data source's section, and what is said of what was looked at."""

    name: str
    lines: tuple[str, ...]
    said: tuple[str, ...] = ()


def init(arguments: Arguments) -> int:
    """``dpproxy init``: nothing is written before the data source was read, and no file is replaced."""
    folder: Path = arguments.directory.absolute()
    for name in (CONFIG, DRAFT):
        if (folder / name).exists():
            raise StartupError(f"{folder / name} is there already: move it away, or name another --directory")
    place = _place(arguments.source, arguments.schema)
    with waiting("reading names and types"):
        schema = _look(place)
    found = draft(schema)
    password = password_of(arguments.admin, from_stdin=arguments.password_stdin)
    add_user(folder / USERS, arguments.admin, ADMIN, password)
    (folder / DRAFT).parent.mkdir(parents=True, exist_ok=True)
    disk.write(folder / DRAFT, found.text.encode())
    disk.write(folder / CONFIG, _configuration(place, with_policy=True).encode())
    for line in (*place.said, *_made(found, schema)):
        say(line)
    print_result("\n".join(_next(arguments.directory)))
    return 0


def _place(source: str, schema: str | None) -> Place:
    """Raises ``StartupError`` without a word of a URL."""
    if source.startswith(("postgresql://", "postgres://")):
        return _server(source, schema)
    if schema is not None:
        raise StartupError("--schema: expected with a postgresql:// URL")
    if source.startswith("sc://"):
        return Place("lake", (f"url = {_toml(source)}",))
    path = Path(source).absolute()
    if "://" in source or not path.exists():
        raise StartupError(f"expected {_SOURCE}; " + ("" if "://" in source else f"{path} does not exist"))
    return Place(_database(path.stem), (f"path = {_toml(str(path))}",))


def _server(url: str, wanted: str | None) -> Place:
    try:
        name = _database(str(conninfo_to_dict(url).get("dbname") or ""))
    except ProgrammingError:
        raise StartupError(
            "the URL cannot be read: expected postgresql://role:password@host:port/database"
        ) from None
    role, served, found = schemas.in_postgres(url, name)
    if wanted is not None and wanted not in [one.name for one in found]:
        there = "; ".join(f"{one.name} has {schemas.listed(one)}" for one in found)
        raise StartupError(f'--schema: no schema "{wanted}" has tables; {there or "no schema has any"}')
    taken = wanted or _chosen(served, found)
    place = next((one for one in found if one.name == taken), None)
    if place is None or not place.readable:
        raise StartupError(f"data.{name}.url: {schemas.nothing_read(taken, role, found)}")
    if taken != served:
        url = _in_schema(url, taken)
    lines = [f"url = {_toml(url)}", *_prepared(place, role)]
    said = [f"schema {one.name}: {schemas.listed(one)}{_not_served(one.name, taken)}" for one in found]
    return Place(name, tuple(lines), tuple(said))


def _chosen(served: str | None, found: Sequence[schemas.Namespace]) -> str:
    """The schema of the role's search path where a table of it can be read, else the one with the most of these."""
    own = [one for one in found if one.name == served and one.readable]
    most = max(found, key=lambda one: (len(one.readable), len(one.unreadable)), default=None)
    return own[0].name if own else (most.name if most is not None else served or "public")


def _not_served(name: str, taken: str) -> str:
    return (
        "" if name == taken else f"; not served: dpproxy init --schema {name} --directory ... serves it apart"
    )


def _in_schema(url: str, schema: str) -> str:
    """The URL with a schema for its search path."""
    written = re.sub(r"([\\ ])", r"\\\1", identifier(schema))
    if "options=" in url:
        raise StartupError("expected a URL whose options name the schema to serve, or a URL without options")
    return f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={written}', safe='')}"


def _prepared(place: schemas.Namespace, role: str) -> Iterator[str]:
    if place.large:
        names = ", ".join(place.large)
        yield f"# Over a million rows: {names}. Statements that keep MAX ROWS of each person take some 20 s there,"
        yield "# unless the rows that are kept are prepared once, in a schema of their own (docs/sources.md):"
        yield f"#   CREATE SCHEMA {KEPT}; GRANT USAGE, CREATE ON SCHEMA {KEPT} TO {identifier(role)};"
        yield f'# prepared_schema = "{KEPT}"'


def _look(place: Place) -> Schema:
    """The tables, read as a start reads them. Raises ``StartupError`` where there are none."""
    with tempfile.TemporaryDirectory(prefix="dpproxy-") as folder:
        file = Path(folder) / CONFIG
        disk.write(file, _configuration(place, with_policy=False).encode())
        config = load_config(file, {}).of(place.name)
        schema = schema_of(config)
        if not schema.tables:
            raise StartupError(nothing_to_read(config))
    return schema


def _configuration(place: Place, *, with_policy: bool) -> str:
    policy = f'\n[policy]\nfiles = ["{Path(DRAFT).parent}/*.sql"]\n' if with_policy else ""
    return f"""\
[server]
listen = "127.0.0.1:6432"

[state]
directory = "state"              # policy, ledger, released answers: back it up

[data.{place.name}]
{chr(10).join(place.lines)}
{policy}
[users]
file = "{USERS}"
"""


def _made(found: Draft, schema: Schema) -> Iterator[str]:
    protected = found.protected
    yield f"{CONFIG}, {DRAFT} and {USERS} are written; no row was read"
    if protected:
        yield f"protected in the draft: {', '.join(protected)}"
    if left := sorted(set(schema.tables) - set(protected)):
        yield f"hidden until you decide: {', '.join(left)}"
    yield f"to fill in or to confirm: {quantity(found.marks, 'place', 'places')}"


def _next(directory: Path) -> Iterator[str]:
    config = directory / CONFIG
    yield ""
    yield "What to do next:"
    yield f"  edit {directory / DRAFT}"
    yield f"  dpproxy check {config}"
    yield f"  dpproxy preview --config {config}"
    yield f"  dpproxy user add ann --role {ROLE} --config {config}"
    yield f"  dpproxy serve --config {config}"


def _database(name: str) -> str:
    """The name that clients connect to: that of the data where it can be one."""
    return name if _NAME.fullmatch(name) and name != NEUTRAL else "main"


def _toml(text: str) -> str:
    r"""A basic string of TOML.

    >>> print(_toml('a"b\\c'))
    "a\"b\\c"
    """
    return (
        '"'
        + "".join(f"\\{c}" if c in '\\"' else c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
        + '"'
    )
