"""Fields of documents in PostgreSQL: of jsonb, which holds nothing that is malformed."""

from collections.abc import Callable, Sequence

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import DOUBLE, LONGEST_DOCUMENT, SHORT, TEXT_AT, TRUTH, WHOLE
from dpproxy.backends.servers.dialect import ANYTHING, Reach, Unanswered, Value, ValueKind
from dpproxy.sql.quoting import literal

_REACH = Reach(-1e120, 1e120, 1e-119, top=False, bottom=False)
"""Of 20 digits before the point, 20 behind it, and an exponent of two."""
_LONGEST_LZ4 = 3_400
"""Bytes as stored: LZ4 makes 255 of one, the server's own method 87, and all of them are read."""
_LONGEST_VALUE = 50
"""Characters that are looked at: no number has more than 46."""


def field(node: nodes.Formula, parts: Sequence[Value]) -> Value:
    """The text at a path, or a value of it."""
    if node.pieces == TEXT_AT:
        return _text(*parts)
    rule = _VALUES.get(node.pieces)
    if rule is None:
        raise Unanswered("this construct")
    return rule(parts[0].sql)


def _text(document: Value, _: Value, __: Value, path: Value) -> Value:
    if document.kind is not ValueKind.DOCUMENT or path.constant is None:
        raise Unanswered("a document of this type")
    keys = path.constant.removeprefix("$.").replace('"."', '","')
    longest = f"CASE pg_column_compression({document.sql}) WHEN 'lz4' THEN {_LONGEST_LZ4} ELSE {LONGEST_DOCUMENT} END"
    is_short = f"pg_column_size({document.sql}) <= {longest}"
    found = (
        f"left({document.sql} #>> {literal(f'{{{keys}}}')}, {LONGEST_DOCUMENT})"  # stored ones are compressed
    )
    return Value(f"(CASE WHEN {is_short} THEN {found} END)", ValueKind.TEXT)


def _guarded(
    pattern: str, type_name: str, kind: ValueKind, reach: Reach = ANYTHING
) -> Callable[[str], Value]:
    """The cast of a text of this form, which has a value there; NULL of any other. A longer text has none of them."""
    return lambda text: Value(
        f"substring(left({text}, {_LONGEST_VALUE}) FROM '^(?:{pattern})$')::{type_name}", kind, reach
    )


_NUMBER = "-?[0-9]{1,20}(?:[.][0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
_VALUES: dict[tuple[str, ...], Callable[[str], Value]] = {
    SHORT: _guarded("-?[0-9]{1,9}", "bigint", ValueKind.WHOLE),
    WHOLE: _guarded("-?[0-9]{1,18}", "bigint", ValueKind.WHOLE),
    DOUBLE: _guarded(_NUMBER, "float8", ValueKind.DOUBLE, _REACH),
    TRUTH: _guarded("true|false", "boolean", ValueKind.TRUTH),
}
