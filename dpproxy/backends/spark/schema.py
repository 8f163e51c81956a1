"""Where the tables of a Spark data source are, and what their files' metadata say of them: public facts."""

import posixpath
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from msgspec import Struct
from sqlglot import exp

from dpproxy.backends.servers.dialect import Value, ValueKind, kind_of, stored
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    SqlType,
)
from dpproxy.values.structs import PartlyShown

FORM = "sc://host:port/;folder=/path/of/the/tables;tables=people,visits"
_TYPES: dict[str, SqlType] = {
    "boolean": BOOL,
    "tinyint": INT2,
    "smallint": INT2,
    "int": INT4,
    "bigint": INT8,
    "unsigned tinyint": INT2,
    "unsigned smallint": INT4,
    "unsigned int": INT8,
    "unsigned bigint": NUMERIC.with_precision(20, 0),
    "float": FLOAT4,
    "double": FLOAT8,
    "string": TEXT,
    "date": DATE,
    "timestamp_ntz": TIMESTAMP,
    "timestamp": TIMESTAMPTZ,
}
_WRAPS = {
    ValueKind.WHOLE: "{}::BIGINT",
    ValueKind.HUGE: "{}::DECIMAL(38,0)",
    ValueKind.INSTANT: "{}::TIMESTAMP_NTZ",
}


class ParquetFolder(PartlyShown, Struct, frozen=True):
    """A server, the folder that it reads, and the tables there: ``folder/name.parquet`` or ``folder/name``."""

    HIDDEN = frozenset({"connection"})

    name: str
    """Of the data source."""
    connection: str
    """May hold a token."""
    folder: str
    tables: tuple[str, ...]
    prepared: str = ""
    """The folder of prepared tables, if there is one."""


def place(url: str, name: str) -> ParquetFolder:
    """Read the URL of a data source. Raises ``StartupError`` without a word of it."""
    address, *parameters = url.split(";")
    ours: dict[str, str] = {}
    others: list[str] = []
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key in ("folder", "tables", "prepared"):
            ours[key] = unquote(value)
        else:
            others.append(parameter)
    tables = tuple(t.strip() for t in ours.get("tables", "").split(","))
    folder = ours.get("folder", "").rstrip("/")
    if not folder or not all(tables) or any("/" in t or "\\" in t for t in tables):
        raise StartupError(f"data.{name}.url: expected {FORM}")
    if len({t.lower() for t in tables}) < len(tables):
        raise StartupError(f"data.{name}.url: expected each table once, whatever the case of its letters")
    address = address if address.endswith("/") else f"{address}/"
    prepared = ours.get("prepared", "").rstrip("/")
    if prepared and not _is_outside(prepared, folder):
        raise StartupError(
            f"data.{name}.url: expected a folder of prepared tables outside of that of the tables, and absolute "
            "paths without patterns of both"
        )
    return ParquetFolder(name, ";".join([address, *others]), folder, tables, prepared)


def _is_outside(inner: str, outer: str) -> bool:
    """Whether a folder is known to be outside of another one: a path says nothing of where the server is at home."""
    (host, path), (other, start) = _host_and_path(inner), _host_and_path(outer)
    are_known = all(p.startswith("/") and not set(p) & set("*?[]{}\\") for p in (path, start))
    is_elsewhere = bool(host and other) and host != other
    return are_known and (is_elsewhere or not f"{path}/".startswith(f"{start.rstrip('/')}/"))


def _host_and_path(folder: str) -> tuple[str, str]:
    """The host or bucket, without its port, and the path, of a path or a URL of Hadoop's; with ``..`` resolved."""
    scheme, colon, rest = folder.partition(":")
    has_scheme = bool(colon) and "/" not in scheme
    host, path = "", rest if has_scheme else folder
    if has_scheme and rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
        path = f"/{path}"
    path = posixpath.normpath(path)
    return host.partition(":")[0].lower(), f"/{path.lstrip('/')}" if path.startswith("/") else path


def types_asked(view: str, names: Sequence[str], place: ParquetFolder, table: str) -> str:
    """A statement whose one row says the type of each column, and reads no row of the view.

    ``typeof`` tells unsigned numbers from signed ones: the schema of a server that has both does not. Raises
    ``StartupError``.
    """
    if len({n.lower() for n in names}) < len(names):
        raise StartupError(
            f'data.{place.name}.url: table "{table}" has columns that differ by the case of letters only'
        )
    quoted = [exp.to_identifier(name, quoted=True).sql("spark") for name in names]
    asked = ", ".join(f"typeof({name}) AS {name}" for name in quoted)
    return f"SELECT {asked} FROM (SELECT 1) LEFT JOIN {view} ON FALSE"  # noqa: S608 - names, quoted


def columns_of(types: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns of a table, by the names of their types; those of types that are not answered do not exist."""
    known = [(column, column_type(kind)) for column, kind in types.items()]
    return tuple(Column(column, kind) for column, kind in known if kind is not None)


def column_type(name: str) -> SqlType | None:
    """The client's type of one of Spark's, by its name; a text with a collation is none."""
    if name.startswith("decimal("):
        digits, scale = name[len("decimal(") : -1].split(",")
        return NUMERIC.with_precision(int(digits), int(scale))
    return _TYPES.get(name)


def readers(columns: Sequence[Column]) -> Mapping[str, Value]:
    """How each column is read: whole numbers in one type of 64 or 128 bits, a FLOAT as the DOUBLE it is."""
    return {column.name: _reader(column.type) for column in columns}


def _reader(kind: SqlType) -> Value:
    held = kind_of(kind)
    if held is ValueKind.SINGLE:
        return stored(ValueKind.DOUBLE, "{}::DOUBLE")
    return stored(held, _WRAPS.get(held, "{}"), scale=(kind.scale or 0) if held is ValueKind.DECIMAL else 0)
