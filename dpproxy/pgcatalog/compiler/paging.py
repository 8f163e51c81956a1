"""Statements over dp.ledger alone whose rows each depend on one of its rows: they are answered a page at a time."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.titles import folded

_PARTS: Final = frozenset({"kind", "expressions", "from_", "where", "order", "limit", "offset"})
_COMPARED: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
}  # fmt: skip
_MIRRORED: Final = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_NUMBERS: Final = frozenset({"sequence", "policy_version", "data_version"})
_TEXTS: Final = {"who": "who", "kind": "kind", "what": "label", "mechanism": "mechanism"}
_SECOND: Final = 1_000_000
_LARGEST: Final = 2**63


class Paged(Struct, frozen=True):
    """A statement that is answered a page at a time.

    Attributes:
        tree: the statement for one page, without LIMIT and OFFSET.
        conditions: what an entry must satisfy, as ``COLUMN OPERATOR ?`` over the ledger's own columns, and its value.
        limit: rows of the answer; None for all.
    """

    tree: exp.Expr
    conditions: tuple[tuple[str, object], ...]
    limit: int | None
    offset: int
    is_descending: bool


def paged(tree: exp.Expr, values: Sequence[object]) -> Paged | None:
    """How a statement is answered a page at a time; None where it is not of that form."""
    if not isinstance(tree, exp.Select) or not _is_plain(tree):
        return None
    order, limit, offset = _descending(tree), _number(tree, "limit", values), _number(tree, "offset", values)
    if order is None or _UNKNOWN in (limit, offset):
        return None
    page = tree.copy()
    page.set("limit", None)
    page.set("offset", None)
    where = tree.args.get("where")
    compared = () if where is None else tuple(_conditions(where.this, values))
    return Paged(page, compared, limit, offset or 0, order)


_UNKNOWN: Final = -1


def _is_plain(tree: exp.Select) -> bool:
    """Whether it shows columns of dp.ledger, under conditions that compare its columns with constants."""
    if any(value for name, value in tree.args.items() if name not in _PARTS) or tree.args.get("kind"):
        return False
    source = tree.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or table.args.get("joins") or table.args.get("sample"):
        return False
    if (folded(table.args.get("db")), folded(table.this)) != ("dp", "ledger"):
        return False
    if not all(isinstance(shown.unalias(), exp.Column | exp.Star) for shown in tree.expressions):
        return False
    where = tree.args.get("where")
    return where is None or all(isinstance(node, _ALLOWED) for node in where.this.walk())


_ALLOWED: Final = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In,
    exp.Like, exp.Is, exp.Null, exp.Column, exp.Identifier, exp.Literal, exp.Parameter, exp.Neg,
)  # fmt: skip


def _descending(tree: exp.Select) -> bool | None:
    """Whether the last entry comes first; None for another order. An alias of that name is another column."""
    order = tree.args.get("order")
    if order is None:
        return False
    if len(order.expressions) != 1 or any(shown.alias for shown in tree.expressions):
        return None
    by = order.expressions[0]
    if not isinstance(by.this, exp.Column) or folded(by.this.this) not in ("sequence", "at"):
        return None
    return bool(by.args.get("desc"))


def _number(tree: exp.Select, name: str, values: Sequence[object]) -> int | None:
    """LIMIT or OFFSET; None where there is none."""
    part = tree.args.get(name)
    if part is None:
        return None
    if not isinstance(part, exp.Limit | exp.Offset):
        return _UNKNOWN
    value = _constant(part.expression, values)
    return value if isinstance(value, int) and value >= 0 else _UNKNOWN


def _conditions(node: exp.Expr, values: Sequence[object]) -> Iterator[tuple[str, object]]:
    """The comparisons of a conjunction that the ledger can make by itself."""
    if isinstance(node, exp.Paren):
        yield from _conditions(node.this, values)
    elif isinstance(node, exp.And):
        yield from _conditions(node.this, values)
        yield from _conditions(node.expression, values)
    elif (operator := _COMPARED.get(type(node))) is not None:
        left, right = node.this, node.expression
        if isinstance(right, exp.Column):
            left, right, operator = right, left, _MIRRORED[operator]
        value = _constant(right, values)
        if isinstance(left, exp.Column) and value is not None:
            yield from _compared(folded(left.this), operator, value)


def _compared(column: str, operator: str, value: str | int) -> Iterator[tuple[str, object]]:
    if isinstance(value, int):
        if column in _NUMBERS and value < _LARGEST:
            yield f"{column} {operator} ?", value
    elif column in _TEXTS and operator == "=":
        yield f"{_TEXTS[column]} = ?", value
    elif column == "at" and (moment := _moment(value)) is not None:
        # Shown without its fraction: what it is compared with is a second away from it at most.
        if operator in ("=", ">", ">="):
            yield "at >= ?", moment - _SECOND
        if operator in ("=", "<", "<="):
            yield "at <= ?", moment + _SECOND


def _moment(text: str) -> int | None:
    """Microseconds since 1970 of a time without a zone; None where it is written in another way than ISO 8601."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo else int(found.replace(tzinfo=UTC).timestamp()) * _SECOND


def _constant(node: exp.Expr | None, values: Sequence[object]) -> str | int | None:
    """A text or a whole number, written or the value of a parameter."""
    if isinstance(node, exp.Literal):
        text = str(node.this)
        return text if node.is_string else int(text) if text.isascii() and text.isdigit() else None
    if isinstance(node, exp.Parameter) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        at = int(node.this.this) - 1
        value = values[at] if 0 <= at < len(values) else None
        return value if isinstance(value, int | str) and not isinstance(value, bool) else None
    return None
