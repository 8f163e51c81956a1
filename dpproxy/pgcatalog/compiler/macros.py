"""Functions of PostgreSQL that DuckDB lacks or computes differently, as DuckDB macros over the catalogue's tables.

Those that need no name of ours are in ``macros.sql``.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from sqlglot import exp

from dpproxy.analysis import written
from dpproxy.pgcatalog import oids

PREFIX = "c_"
"""No function of DuckDB begins so."""
_MACRO = re.compile(rf"^CREATE MACRO {PREFIX}(\w+)\(([^)]*)\) AS\s+(.*?);$", re.MULTILINE | re.DOTALL)
_OURS, _THEIRS = (
    {name: (parameters, re.sub(r"\n *", " ", body)) for name, parameters, body in _MACRO.findall(part)}
    for part in (files("dpproxy.pgcatalog.compiler") / "macros.sql")
    .read_text(encoding="utf-8")
    .split("-- Functions of PostgreSQL")
)
FUNCTIONS = frozenset(_THEIRS)
"""The macros that are called as PostgreSQL's functions of their names are."""

_NAMES = {
    "class": "class_names",
    "type": "type_names",
    "role": "role_names",
    "schema": "schema_names",
    "proc": "function_names",
    "procedure": "function_signatures",
}


def _lookups(kind: str, table: str) -> dict[str, tuple[str, str]]:
    given = "CAST(x AS VARCHAR)"
    spelled = f"CASE WHEN contains({given}, '\"') THEN {given} ELSE lower({given}) END"
    rows = f"FROM internal.{table} WHERE"
    found = f"(SELECT min(internal_oid) {rows} internal_name = {spelled})"
    shown = f"(SELECT min(internal_name) {rows} internal_shown AND internal_oid = x)"
    return {
        f"to_{kind}": ("x", f"coalesce(TRY_CAST(x AS UINTEGER), {found})"),
        f"{kind}_name": ("x", f"coalesce({shown}, CASE x WHEN 0 THEN '-' ELSE CAST(x AS VARCHAR) END)"),
    }


MACROS: dict[str, tuple[str, str]] = {
    **_OURS,
    **_THEIRS,
    "float4_text": ("x", written.FLOAT4),
    "float8_text": ("x", written.FLOAT8),
    "interval_text": ("x", written.INTERVAL),
    "float4_texts": ("a", f"list_transform(a, lambda x: {written.FLOAT4})"),
    "float8_texts": ("a", f"list_transform(a, lambda x: {written.FLOAT8})"),
    "table_visible": ("x", oids.visible("x")),  # replaced where a schema of the data is not in the path
    **{name: macro for kind, table in _NAMES.items() for name, macro in _lookups(kind, table).items()},
}
"""Parameters and body by name; in DuckDB each name begins with `PREFIX`."""

_TABLE = re.compile(r"\b(internal|pg_catalogue)\.([a-z]\w+)")
READS: dict[str, tuple[tuple[str, str], ...]] = {
    name: tuple((schema.replace("pg_catalogue", "pg_catalog"), table) for schema, table in found)
    for name, (_, body) in MACROS.items()
    if (found := dict.fromkeys(_TABLE.findall(body)))
}
"""The tables that a macro reads, which are filled before it is used."""


def read_by(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """The tables that the macros of a statement read."""
    for node in tree.find_all(exp.Anonymous):
        yield from READS.get(node.name.removeprefix(PREFIX), ())


_WORD = re.compile(r"[^\W\d]\w*")


@cache
def _counts() -> Mapping[str, tuple[int, Sequence[int]]]:
    """By macro, the number of words of its body, and how often it uses each parameter."""
    found: dict[str, tuple[int, Sequence[int]]] = {}
    for name, (parameters, body) in MACROS.items():
        words = _WORD.findall(body)
        twice = 2 ** words.count("lambda")  # the engine binds what a lambda goes over twice
        named = [twice * words.count(p.partition(":=")[0].strip()) for p in parameters.split(",")]
        found[PREFIX + name] = len(words), named
    return found


def expanded_words(tree: exp.Expr) -> int:
    """The approximate number of words of a statement after its macros are expanded, which copies their arguments."""
    sizes: dict[int, int] = {}
    for node in reversed(list(tree.walk(bfs=True))):
        words, named = 1, (1,) * sum(1 for _ in node.iter_expressions())
        if isinstance(node, exp.Anonymous) and node.name in _counts():
            words, counted = _counts()[node.name]
            named = (*counted, *named)[: len(named)]
        parts = [sizes[id(child)] for child in node.iter_expressions()]
        sizes[id(node)] = words + sum(n * part for n, part in zip(named, parts, strict=True))
    return sizes[id(tree)]


def statements(hidden: Collection[int] = ()) -> str:
    """The CREATE MACRO statements; ``hidden`` are the OIDs of relations that names without a schema do not find."""
    listed = "".join(f" AND x <> {oid}" for oid in sorted(hidden))
    macros = {**MACROS, "table_visible": ("x", f"({oids.visible('x')}{listed})")}
    return ";".join(f"CREATE MACRO {PREFIX}{name}({args}) AS {body}" for name, (args, body) in macros.items())
