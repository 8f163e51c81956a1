"""Rows of a table with fields of their JSON documents beside their columns."""

from collections.abc import Sequence
from typing import Final

from dpproxy.algebra import nodes
from dpproxy.policy.documents import JsonField

LONGEST_DOCUMENT: Final = 10_000
"""Bytes of a document that is read, as the engine stores it: what one person's rows can take is bounded."""
TEXT_AT: Final = (
    "(CASE WHEN strlen(", ") > 10000 THEN NULL WHEN json_valid(", ") THEN json_extract_string(", ", ", ") END)",
)  # fmt: skip
"""The text at a path of a document, NULL of what is none."""
WHOLE: Final = ("TRY_CAST(regexp_extract(", ", '^-?[0-9]{1,18}$') AS BIGINT)")
SHORT: Final = ("TRY_CAST(regexp_extract(", ", '^-?[0-9]{1,9}$') AS BIGINT)")
DOUBLE: Final = (
    "TRY_CAST(regexp_extract(",
    ", '^-?[0-9]{1,20}([.][0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$') AS DOUBLE)",
)
TRUTH: Final = ("TRY_CAST(regexp_extract(", ", '^(true|false)$') AS BOOLEAN)")
"""A text as a value: of one of another form, or with more digits, NULL."""
VALUES: Final = frozenset((SHORT, WHOLE, DOUBLE, TRUTH))
_CASTS: Final = {"integer": SHORT, "bigint": WHOLE, "boolean": TRUTH}


def value_of(field: JsonField) -> nodes.Expr:
    """What a field is in a row; it has a value or NULL, whatever the row holds."""
    column = nodes.ColumnRef(field.column)
    path = nodes.Text("$" + "".join(f'."{key}"' for key in field.keys))
    text = nodes.Formula(TEXT_AT, (column, column, column, path))
    return text if field.type is None else nodes.Formula(_CASTS.get(field.type, DOUBLE), (text,))


def stored_rows(
    table: str, fields: Sequence[JsonField], alias: str | None = None
) -> nodes.Table | nodes.Subquery:
    """A table as an item of FROM, with each field as a column of its name."""
    if not fields:
        return nodes.Table(table, alias)
    items = (nodes.Star(), *(nodes.Named(value_of(field), field.name) for field in fields))
    return nodes.Subquery(nodes.Select(items, nodes.Table(table)), alias or nodes.Bare("d"))
