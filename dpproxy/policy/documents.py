"""Fields of JSON documents as columns: which there are, and what they are called.

A field is a column of a protected table once a domain is declared of it. Its name is the expression that reads it, in
one spelling: ``payload ->> 'ward'``, ``payload #>> '{bill,city}'``, ``(payload ->> 'cost')::numeric``.
"""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from dpproxy.policy.model import TablePolicy
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.sql.quoting import identifier, literal
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import BOOL, FLOAT8, INT4, INT8, JSON, TEXT, Column, Schema, SqlType

TYPES: Final[dict[str, SqlType]] = {
    "numeric": FLOAT8, "double precision": FLOAT8, "bigint": INT8, "integer": INT4, "boolean": BOOL,
}  # fmt: skip
"""What a field's text can be cast to, the widest first; a numeric without a number of digits is served as a DOUBLE."""
_SPELLINGS: Final = {
    "int": "integer",
    "int4": "integer",
    "int8": "bigint",
    "float8": "double precision",
    "bool": "boolean",
}
LONGEST_NAME: Final = 63
"""Bytes of a name in PostgreSQL, where it may be the name of a stored column."""
_KEY: Final = r"(?!-?\d+['},])[\w$@:/.-]+(?:[ ][\w$@:/.-]+)*"
_NAME: Final = re.compile(
    rf"""(?P<cast>\()? (?P<column>[a-z_][a-z0-9_]*|"(?:[^"]|"")+") \s
    (?: ->>\s'(?P<key>{_KEY})'
    | \#>>\s'\{{ (?P<keys>(?:{_KEY},)*{_KEY}) \}}' ) (?(cast)\)::(?P<type>{"|".join(TYPES).replace(" ", "[ ]")}))""",
    re.VERBOSE,
)


class JsonField(Struct, frozen=True):
    """The text at a path of keys in the documents of a column, as it is or cast to one of ``TYPES``."""

    column: str
    keys: tuple[str, ...]
    type: str | None = None

    @property
    def name(self) -> str:
        """The name of the column that it is."""
        path = f"->> {literal(self.keys[0])}" if len(self.keys) == 1 else f"#>> '{{{','.join(self.keys)}}}'"
        text = f"{identifier(self.column)} {path}"
        return text if self.type is None else f"({text})::{self.type}"

    @property
    def is_named(self) -> bool:
        """Whether its keys and its length are such that the name says what it is; other fields cannot be declared."""
        return field_of(self.name) == self and len(self.name.encode()) <= LONGEST_NAME


@lru_cache(maxsize=1024)
def field_of(name: str) -> JsonField | None:
    """The field that a column's name reads, None where it is no such name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    column = found["column"]
    if column[0] == '"':
        column = column[1:-1].replace('""', '"')
    keys = (found["key"],) if found["keys"] is None else tuple(found["keys"].split(","))
    return JsonField(column, keys, found["type"])


def declared_fields(table: TablePolicy) -> tuple[JsonField, ...]:
    """The fields that have a domain."""
    fields = ((field_of(name), one.domain) for name, one in sorted(table.columns.items()))
    return tuple(field for field, domain in fields if field is not None and domain is not None)


def columns_of(table: TablePolicy, schema: Schema) -> tuple[Column, ...]:
    """The columns of a table, and those that its fields are."""
    columns = schema.tables[table.name]
    fields = declared_fields(table)
    return (*columns, *map(_column, fields)) if fields else columns


def field_column(table: Name, column: Name, policy: TablePolicy, schema: Schema | None) -> Column | None:
    """The column that a field is; None where the name is no field's, or nothing is known of the table.

    Raises:
        InvalidParameter: there are no documents to read it of, or its name is a stored column's, or another's in all
            but the case of letters.
    """
    field = field_of(column.text)
    if field is None or schema is None:
        return None
    if schema.column(table.text, column.text) is not None:
        raise InvalidParameter(
            f'column "{column.text}" of table "{table.text}" has a name that reads a field of JSON documents',
            hint="Give it another name in the data source.",
            position=column.position,
        )
    held = schema.column(table.text, field.column)
    is_document = held is not None and held.type.oid == JSON.oid
    if not is_document and field.column not in schema.documents.get(table.text, ()):
        raise InvalidParameter(
            f'column "{field.column}" of table "{table.text}" holds no JSON documents that are read here',
            hint="Fields are read of columns of type JSON in DuckDB files, and of type jsonb in PostgreSQL.",
            position=column.position,
        )
    others = (*(c.name for c in schema.tables[table.text]), *policy.columns)
    if any(name.lower() == column.text.lower() and name != column.text for name in others):
        raise InvalidParameter(
            "two fields whose names differ only in the case of letters cannot both be columns",
            hint="Declare one of them, or show both in columns of their own in the data source.",
            position=column.position,
        )
    return _column(field)


def _column(field: JsonField) -> Column:
    return Column(field.name, TEXT if field.type is None else TYPES[field.type])


def type_of(words: str) -> str | None:
    """The type's name as it stands in names, None for one that no field is cast to."""
    name = _SPELLINGS.get(words, words)
    return name if name in TYPES else None


def read_field(cursor: Cursor) -> Name:
    """The field behind an opening parenthesis, up to the closing one, as the name of a column.

    Raises:
        SyntaxRefused: it does not read.
        Unsupported: keys or a type that no name has.
    """
    at = cursor.token.position
    column, keys, is_text = _path(cursor)
    kind = None
    if is_text and cursor.accept("::"):
        words = cursor.label()
        kind = type_of(f"{words} precision" if words == "double" and cursor.accept("precision") else words)
        if kind is None:
            cursor.unsupported("a cast of a field to this type", f"Types of fields: {', '.join(TYPES)}.", at)
    cursor.expect(")", after="the field")
    field = JsonField(column, keys, kind)
    if not is_text or not field.is_named:
        raise unnamed(at)
    return Name(field.name, at)


def unnamed(position: int | None) -> Unsupported:
    """The refusal of a field that no column can be called after."""
    return Unsupported(
        "this field of a JSON document cannot be declared",
        hint="A field ends with ->> or #>>; its keys are words of letters, digits and _ $ @ : / . -, none is a number, "
        f"and together they have less than {LONGEST_NAME} bytes.",
        position=position,
    )


def _path(cursor: Cursor) -> tuple[str, tuple[str, ...], bool]:
    """The column, the keys, and whether what was read last is a text."""
    if cursor.accept("("):
        column, keys, is_text = _path(cursor)
        cursor.expect(")", after="a key")
    else:
        column, keys, is_text = cursor.name("column", '"("').text, (), False
    while (not is_text and cursor.at("-", ">")) or cursor.at("#", ">"):
        is_one = cursor.take().raw == "-"
        cursor.take()
        is_text = cursor.accept(">")
        if cursor.token.kind is not TokenKind.TEXT:
            cursor.refuse(["a key in quotes"], "->" if is_one else "#>")
        text = cursor.take().text
        keys += (text,) if is_one else path_of(text)
    return column, keys, is_text


def path_of(text: str) -> tuple[str, ...]:
    """The keys of a path as PostgreSQL writes an array; one with quotes is no name's."""
    return tuple(key.strip() for key in text.removeprefix("{").removesuffix("}").split(","))
