"""A relation of the catalogue: PostgreSQL's columns, with rows that are made from a view of the policy."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from importlib.resources import files

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.fact_files import READ, facts
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import OID, REGPROC, TEXT, TIMESTAMPTZ, SqlType, array_of

Row = Mapping[str, object]
"""One row by column name; missing columns are NULL."""
Rows = Callable[[CatalogueView], Iterable[Row]]

_HELD = {REGPROC.oid: "VARCHAR", TIMESTAMPTZ.oid: "TIMESTAMP"}
"""The engine's types of columns whose values are held otherwise than those of casts."""
_NUMBERED = frozenset({"aggfnoid"})
"""Columns that refer to functions by number: many have the same name."""
PROCEDURE = replace(REGPROC, style="by name")
"""The type of columns that refer to functions by name: a dash where there is none, whose OID is 0."""


class CatalogueTable(Struct, frozen=True, dict=True):
    """A catalogue relation; ``kinds`` maps column names to type names."""

    schema: str
    name: str
    oid: int
    kinds: Mapping[str, str]
    rows: Rows
    kind: str = "r"

    @cached_property
    def columns(self) -> dict[str, str]:
        """The types that DuckDB stores, by name."""
        return {name: _HELD.get(kind.oid) or casts.stored(kind) for name, kind in self.types.items()}

    @cached_property
    def types(self) -> dict[str, SqlType]:
        """The types that clients see, by name; one that is not supported here is seen as text."""
        return {name: OID if name in _NUMBERED else _type_of(kind) for name, kind in self.kinds.items()}


def _type_of(kind: str) -> SqlType:
    if kind.startswith("_"):
        return array_of(_type_of(kind[1:]))
    return PROCEDURE if kind == REGPROC.name else casts.TYPES.get(kind, TEXT)


def columns(spec: str) -> dict[str, str]:
    """Read a list of columns.

    Example:
        >>> columns("oid:oid polname:name polroles:_oid")
        {'oid': 'oid', 'polname': 'name', 'polroles': '_oid'}
    """
    pairs = (item.partition(":") for item in spec.split())
    return {name: kind for name, _, kind in pairs}


class Fact(Struct, frozen=True):
    """A relation of PostgreSQL's: the names of its columns' types by column."""

    oid: int
    kind: str
    columns: Mapping[str, str]


@cache
def relations() -> dict[tuple[str, str], Fact]:
    """Those that exist here, by schema and name."""
    found = {}
    for row in facts("relations"):
        schema, _, name = row["relation"].partition(".")
        found[schema, name] = Fact(row["oid"], row["kind"], columns(row["columns"]))
    return found


@cache
def defaults() -> dict[tuple[str, str], dict[str, object]]:
    """What columns hold in each row that does not say otherwise, by schema and name of their relation."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    text = files("dpproxy.pgcatalog").joinpath("defaults.tsv").read_text(encoding="utf-8")
    for relation, column, value in (line.split("\t") for line in text.splitlines()[1:]):
        schema, _, name = relation.partition(".")
        read = READ.get(relations()[schema, name].columns[column], str)
        found.setdefault((schema, name), {})[column] = read(value.strip("'"))
    return found


def no_rows(_view: CatalogueView) -> Iterable[Row]:
    """The rows of a relation of objects that do not exist here: none."""
    return ()


def table(schema: str, name: str, rows: Rows = no_rows) -> CatalogueTable:
    """A relation of PostgreSQL's; ``rows`` leave out what `defaults.tsv` says of all of them."""
    fact, same = relations()[schema, name], defaults().get((schema, name), {})

    def whole(view: CatalogueView) -> Iterable[Row]:
        return ({**same, **row} for row in rows(view))

    return CatalogueTable(schema, name, fact.oid, fact.columns, whole if same else rows, fact.kind)
