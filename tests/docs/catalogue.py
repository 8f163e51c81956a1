"""``docs/catalogue.md``: what of PostgreSQL's catalogue there is. Written by ``python -m tests.docs.catalogue``."""

from collections.abc import Iterable

from dpproxy.pgcatalog.compiler.functions import ABSENT, FUNCTIONS, PRIVILEGES
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.table import no_rows
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "catalogue.md"
TEXT = """\
# The catalogue

<!-- Written by: python -m tests.docs.catalogue -->

Clients learn what there is from `pg_catalog` and `information_schema`. Both are made here from the policy: a caller
sees the tables they may ask, declared columns, and nothing about rows. Statements over these relations, joined with
each other and nested, cost nothing; they are answered by an engine of their own that never sees data. What is not
listed is refused.

## Relations with rows

{full}

## Relations that are there and always empty

{empty}

## Functions

`now()`, `version()`, `current_user` and the like of PostgreSQL's grammar, `current_setting` and
`parse_ident` of constants, and

{functions}.

Answered by what is asked for, SELECT, USAGE and CONNECT being held, and by the roles of the caller: {privileges}.

NULL for every object: {absent}.

## Operators

Operators may be written as `OPERATOR(pg_catalog.=)` too. `SIMILAR TO` takes a constant pattern; in it `%`, `_`, `|`,
`()`, `[]` and repetitions are those of PostgreSQL, while letters behind the escape character, as in `\\d`, are refused.
"""


def page() -> str:
    """The whole page."""
    empty = {key for key, table in TABLES.items() if table.rows is no_rows}
    return TEXT.format(
        full=_by_schema(key for key in TABLES if key not in empty),
        empty=_by_schema(empty),
        functions=_listed(FUNCTIONS),
        privileges=_listed(PRIVILEGES),
        absent=_listed(ABSENT),
    )


def _by_schema(keys: Iterable[tuple[str, str]]) -> str:
    found = sorted(keys)
    return "\n".join(
        f"* `{schema}`: {_listed(name for place, name in found if place == schema)}"
        for schema in sorted({schema for schema, _ in found}, reverse=True)
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
