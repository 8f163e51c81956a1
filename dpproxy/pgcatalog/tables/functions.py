"""Functions that statements may call, and their languages."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from dpproxy.aggregates.calls import name_of
from dpproxy.aggregates.table import AGGREGATES
from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.table import CatalogueTable, Row, columns, table
from dpproxy.pgcatalog.tables.types import built_in
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import FLOAT8

# pg_proc: the functions that statements here may call, and those that read and write values of the types.


_INTERNAL = 12
"""pg_language.oid of what is compiled in."""
_ANY = 2276
_ORDERED = frozenset(
    name_of(kind()) for kind, of in AGGREGATES.items() if of.ordered and not isinstance(kind, str)
)
"""Aggregates with an argument in WITHIN GROUP."""


class CatalogueFunction(Struct, frozen=True):
    """One function, by the columns of pg_proc."""

    oid: int
    proname: str
    prokind: str
    prorettype: int
    proargtypes: tuple[int, ...]
    pronamespace: int = oids.CATALOGUE
    prolang: int = _INTERNAL
    provariadic: int = 0
    proisstrict: bool = False
    proretset: bool = False
    provolatile: str = "i"
    proparallel: str = "s"

    @property
    def shown_arguments(self) -> str:
        """The result of pg_get_function_arguments: there are no names and no defaults."""
        shown = [str(built_in()[oid]["display"]) for oid in self.proargtypes]
        if self.proname in _ORDERED:
            return f"{', '.join(shown[:-1])} ORDER BY {shown[-1]}".lstrip()
        return ", ".join([*shown[:-1], f"VARIADIC {shown[-1]}"] if self.provariadic else shown)

    @property
    def shown_result(self) -> str:
        """The result of pg_get_function_result."""
        return ("SETOF " if self.proretset else "") + str(built_in()[self.prorettype]["display"])


_COLUMNS = CatalogueFunction.__struct_fields__


def _own(name: str, kind: str, result: int, argument: int, schema: str = "pg_catalog") -> CatalogueFunction:
    oid = oids.function_oid(schema, f"{name}({argument})")
    volatile = "s" if schema == "dp" else "i"
    return CatalogueFunction(oid, name, kind, result, (argument,), oids.SCHEMAS[schema], provolatile=volatile)


@cache
def functions() -> tuple[CatalogueFunction, ...]:
    """PostgreSQL's functions, and those of the proxy."""
    return (
        *(
            CatalogueFunction(**{name: row[name] for name in _COLUMNS if name in row})
            for row in facts("pg_proc")
        ),
        *(
            _own(kind if isinstance(kind, str) else name_of(kind()), "a", result.oid, argument.oid)
            for kind, of in AGGREGATES.items()
            for result, argument in of.added
        ),
        *(_own(name, "f", FLOAT8.oid, _ANY, "dp") for name in ("ci_high", "ci_low", "noise_sd")),
    )


def _pg_proc_rows(_view: CatalogueView) -> Iterator[Row]:
    for of in functions():
        kinds = list(of.proargtypes)
        yield {
            **{name: getattr(of, name) for name in _COLUMNS},
            "prorows": 1000 if of.proretset else 0,
            "pronargs": len(kinds),
            "proargtypes": kinds,
            "proallargtypes": kinds if of.provariadic else None,
            "proargmodes": ["i"] * (len(kinds) - 1) + ["v"] if of.provariadic else None,
            "prosrc": "aggregate_dummy" if of.prokind == "a" else of.proname,
        }


def _texts(_view: CatalogueView) -> Iterator[Row]:
    for of in functions():
        yield {
            "internal_oid": of.oid,
            "internal_arguments": of.shown_arguments,
            "internal_result": of.shown_result,
        }


PG_PROC_TEXTS = CatalogueTable(
    "internal", "function_texts", 0, columns("internal_oid:oid internal_arguments internal_result"), _texts
)
"""pg_get_function_arguments and pg_get_function_result; no client can read it."""


# pg_aggregate: the aggregates that statements here may call. ``aggfnoid`` is shown as a number, not as a
# name.


def _pg_aggregate_rows(_view: CatalogueView) -> Iterator[Row]:
    """PostgreSQL's rows; of the proxy's own aggregates, the kind."""
    known = {row["aggfnoid"]: {**row} for row in facts("pg_aggregate")}
    for row in known.values():
        del row["signature"]  # the key of the file
    for of in functions():
        if of.prokind == "a":
            yield known.get(of.oid, {"aggfnoid": of.oid})


PG_AGGREGATE = table("pg_catalog", "pg_aggregate", _pg_aggregate_rows)


# pg_language: SQL, and that of functions that are compiled in.


def _pg_language_rows(_view: CatalogueView) -> Iterator[Row]:
    for oid, name, trusted in ((12, "internal", False), (14, "sql", True)):
        yield {"oid": oid, "lanname": name, "lanpltrusted": trusted}


TABLES = (
    table("pg_catalog", "pg_proc", _pg_proc_rows),
    PG_AGGREGATE,
    table("pg_catalog", "pg_language", _pg_language_rows),
)
