"""Tables of names for casts such as ``'patients'::regclass`` and ``23::regtype``; no client can read them."""

from collections import Counter
from collections.abc import Callable, Container, Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keywords import is_reserved
from dpproxy.pgcatalog.table import CatalogueTable, Row, columns
from dpproxy.pgcatalog.tables.functions import functions
from dpproxy.pgcatalog.tables.roles import role_oids
from dpproxy.pgcatalog.tables.types import built_in
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.sql.quoting import quoted

_COLUMNS = columns("internal_oid:oid internal_name internal_shown:bool")
"""Column names that no statement uses: macros' arguments are pasted beside them."""
_SCHEMA_NAMES = {oid: name for name, oid in oids.SCHEMAS.items()}


def quoted_name(name: str) -> str:
    """An identifier as PostgreSQL prints it (quote_ident).

    Example:
        >>> quoted_name("patients"), quoted_name("Odd name")
        ('patients', '"Odd name"')
    """
    plain = name.isascii() and name.isidentifier() and name == name.lower() and not is_reserved(name)
    return name if plain else quoted(name)


def _name_row(oid: int, name: str, *, shown: bool) -> Row:
    return {"internal_oid": oid, "internal_name": name, "internal_shown": shown}


def _forms(schema: str, name: str, oid: int, *, on_path: bool) -> Iterator[Row]:
    """All spellings of an object's name, and which of them is displayed; without its schema where that is found."""
    shown = quoted_name(name) if on_path else f"{quoted_name(schema)}.{quoted_name(name)}"
    spellings = dict.fromkeys((quoted_name(name), quoted(name)))
    full = [f"{of}.{form}" for of in {quoted_name(schema), quoted(schema)} for form in spellings]
    for form in (*spellings, *full) if on_path else full:
        yield _name_row(oid, form, shown=form == shown)


def class_names(
    listed: CatalogueTable, not_found: Callable[[CatalogueView], Container[int]]
) -> CatalogueTable:
    """``regclass``: the relations of pg_class; ``not_found`` are those that need their schema."""

    def rows(view: CatalogueView) -> Iterator[Row]:
        names = {oid: name for name, oid in view.schemas.items()}
        hidden = not_found(view)
        for row in listed.rows(view):
            oid, schema = int(str(row["oid"])), names[int(str(row["relnamespace"]))]
            on_path = oid not in hidden and schema not in ("dp", "information_schema")
            yield from _forms(schema, str(row["relname"]), oid, on_path=on_path)

    return CatalogueTable("internal", "class_names", 0, _COLUMNS, rows)


def _type_rows(view: CatalogueView) -> Iterator[Row]:
    for of in built_in().values():
        name, shown = of["typname"], of["display"]
        forms = dict.fromkeys((shown, name, f"pg_catalog.{name}", *_spoken(name), *_in_quotes(name)))
        for form in forms:
            yield _name_row(of["oid"], form, shown=form == shown)
    found = view.found
    for schema, relation in view.with_schemas():
        oid, on_path = oids.row_type_oid(schema, relation.name), found.get(relation.name) == schema
        yield from _forms(schema, relation.name, oid, on_path=on_path)


_SPOKEN = {"int4": ("int",), "numeric": ("decimal",), "float8": ("float",), "bpchar": ("char",)}
"""Further names of types in SQL's grammar."""


def _in_quotes(name: str) -> Iterator[str]:
    """The names in pg_type, quoted; for an array also those of its elements with brackets."""
    for word, brackets in ((name, ""), *([(name[1:], "[]")] if name.startswith("_") else ())):
        for schema in ("", "pg_catalog.", '"pg_catalog".'):
            yield f"{schema}{quoted(word)}{brackets}"


def _spoken(name: str) -> Iterator[str]:
    """Further names of a type; for an array, those of its elements with brackets."""
    if not name.startswith("_"):
        yield from _SPOKEN.get(name, ())
        return
    yield from (f"{form}[]" for form in (name[1:], f"pg_catalog.{name[1:]}", *_SPOKEN.get(name[1:], ())))


TYPE_NAMES = CatalogueTable("internal", "type_names", 0, _COLUMNS, _type_rows)
"""``regtype``."""


def _role_rows(view: CatalogueView) -> Iterator[Row]:
    for name, oid in role_oids(view).items():
        yield _name_row(oid, quoted_name(name), shown=True)


def _schema_rows(view: CatalogueView) -> Iterator[Row]:
    for name, oid in view.schemas.items():
        for form in dict.fromkeys((quoted_name(name), name)):
            yield _name_row(oid, form, shown=form == quoted_name(name))


def _function_rows(_view: CatalogueView) -> Iterator[Row]:
    """Functions by name where it is unambiguous; others are displayed with their schema."""
    counts = Counter(of.proname for of in functions())
    for of in functions():
        schema = _SCHEMA_NAMES[of.pronamespace]
        full = f"{schema}.{quoted_name(of.proname)}"
        is_short = counts[of.proname] == 1 and schema == "pg_catalog"
        forms = dict.fromkeys((quoted_name(of.proname), of.proname, full)) if is_short else {full: None}
        for at, form in enumerate(forms):
            yield _name_row(of.oid, form, shown=at == 0)
    yield _name_row(0, "-", shown=True)


def _signature_rows(_view: CatalogueView) -> Iterator[Row]:
    for of in functions():
        schema = _SCHEMA_NAMES[of.pronamespace]
        types = [built_in()[oid] for oid in of.proargtypes]
        lists = dict.fromkeys(
            comma.join(names)
            for names in ([t["display"] for t in types], [t["typname"] for t in types])
            for comma in (",", ", ")
        )
        bare = [
            f"{name}({listed})"
            for name in dict.fromkeys((quoted_name(of.proname), of.proname))
            for listed in lists
        ]
        full = [f"{schema}.{form}" for form in bare]
        for at, form in enumerate([*bare, *full] if schema == "pg_catalog" else full):
            yield _name_row(of.oid, form, shown=at == 0)
    yield _name_row(0, "-", shown=True)


FUNCTION_NAMES = CatalogueTable("internal", "function_names", 0, _COLUMNS, _function_rows)
"""``regproc``."""
FUNCTION_SIGNATURES = CatalogueTable("internal", "function_signatures", 0, _COLUMNS, _signature_rows)
"""``regprocedure``."""
ROLE_NAMES = CatalogueTable("internal", "role_names", 0, _COLUMNS, _role_rows)
"""``regrole``, pg_get_userbyid."""
SCHEMA_NAMES = CatalogueTable("internal", "schema_names", 0, _COLUMNS, _schema_rows)
"""``regnamespace``."""
