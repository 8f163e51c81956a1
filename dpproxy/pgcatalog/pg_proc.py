"""pg_proc: the functions that statements here may call, and those that read and write values of the types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dpproxy.pgcatalog import oids, proc_rows, proc_type_rows
from dpproxy.pgcatalog.pg_type import BY_OID
from dpproxy.pgcatalog.table import Row, Table, columns, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import BOOL, FLOAT8, INT8, NUMERIC

LANGUAGES = {"i": 12, "s": 14}
"""pg_language.oid of what is compiled in, and of SQL."""
_ANY = 2276
_ORDERED = frozenset({"percentile_cont", "percentile_disc"})
"""Aggregates whose last argument stands behind WITHIN GROUP."""
_OVERLOAD = re.compile(r"(\d+):(\d+)\(([\d,]*)\)(?:v(\d+))?")


@dataclass(frozen=True, slots=True)
class Function:
    """One function; types are OIDs, and ``flags`` as in `proc_rows`."""

    oid: int
    name: str
    flags: str
    result: int
    arguments: tuple[int, ...]
    variadic: int = 0
    schema: str = "pg_catalog"

    @property
    def shown_arguments(self) -> str:
        """What pg_get_function_arguments answers: there are no names and no defaults."""
        shown = [BY_OID[oid].display for oid in self.arguments]
        if self.name in _ORDERED:
            return f"{', '.join(shown[:-1])} ORDER BY {shown[-1]}"
        return ", ".join([*shown[:-1], f"VARIADIC {shown[-1]}"] if self.variadic else shown)

    @property
    def shown_result(self) -> str:
        """What pg_get_function_result answers."""
        return ("SETOF " if self.flags[3] == "t" else "") + BY_OID[self.result].display


def _read(rows: str) -> Iterator[Function]:
    for line in rows.strip().splitlines():
        name, flags, *overloads = line.split()
        for overload in overloads:
            found = _OVERLOAD.fullmatch(overload)
            if found is None:
                raise AssertionError(overload)
            oid, result, arguments, variadic = found.groups()
            kinds = tuple(int(kind) for kind in arguments.split(",") if kind)
            yield Function(int(oid), name, flags, int(result), kinds, int(variadic or 0))


def _own(name: str, flags: str, result: int, argument: int, schema: str = "pg_catalog") -> Function:
    oid = oids.function_oid(schema, f"{name}({argument})")
    return Function(oid, name, flags, result, (argument,), schema=schema)


_BEYOND = (
    _own("median", "aiffsi", FLOAT8.oid, FLOAT8.oid),
    _own("median", "aiffsi", FLOAT8.oid, NUMERIC.oid),
    _own("count_if", "aiffsi", INT8.oid, BOOL.oid),
    *(_own(name, "fsffsi", FLOAT8.oid, _ANY, "dp") for name in ("ci_high", "ci_low", "noise_sd")),
)
"""What PostgreSQL has not."""

FUNCTIONS: tuple[Function, ...] = (*_read(proc_rows.ROWS), *_read(proc_type_rows.ROWS), *_BEYOND)


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for of in FUNCTIONS:
        kind, volatile, strict, many, parallel, language = tuple(of.flags)
        yield {
            "oid": of.oid,
            "proname": of.name,
            "pronamespace": oids.SCHEMAS[of.schema],
            "proowner": oids.OWNER,
            "prolang": LANGUAGES[language],
            "procost": 1,
            "prorows": 1000 if many == "t" else 0,
            "provariadic": of.variadic,
            "prosupport": "-",
            "prokind": kind,
            "prosecdef": False,
            "proleakproof": False,
            "proisstrict": strict == "t",
            "proretset": many == "t",
            "provolatile": volatile,
            "proparallel": parallel,
            "pronargs": len(of.arguments),
            "pronargdefaults": 0,
            "prorettype": of.result,
            "proargtypes": list(of.arguments),
            "proallargtypes": list(of.arguments) if of.variadic else None,
            "proargmodes": ["i"] * (len(of.arguments) - 1) + ["v"] if of.variadic else None,
            "prosrc": "aggregate_dummy" if kind == "a" else of.name,
        }


def _texts(_view: CatalogueView) -> Iterator[Row]:
    for of in FUNCTIONS:
        yield {
            "internal_oid": of.oid,
            "internal_arguments": of.shown_arguments,
            "internal_result": of.shown_result,
        }


TABLE = table(
    "pg_catalog",
    "pg_proc",
    1255,
    "oid:oid proname pronamespace:oid proowner:oid prolang:oid procost:float4 prorows:float4 "
    "provariadic:oid prosupport prokind prosecdef:bool proleakproof:bool proisstrict:bool "
    "proretset:bool provolatile proparallel pronargs:int2 pronargdefaults:int2 prorettype:oid "
    "proargtypes:oid[] proallargtypes:oid[] proargmodes:text[] proargnames:text[] "
    "proargdefaults protrftypes:oid[] prosrc probin prosqlbody proconfig:text[] proacl:text[]",
    _rows,
)
TEXTS = Table(
    "internal", "function_texts", 0, columns("internal_oid:oid internal_arguments internal_result"), _texts
)
"""pg_get_function_arguments and pg_get_function_result; no client can read it."""
