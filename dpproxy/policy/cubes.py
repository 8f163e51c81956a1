"""What CREATE PRIVACY CUBE says behind ON: a table, its dimensions and measures.

A cube is a protected view whose rows are cells, made by the method ``dp_cube``; its query is this text.
"""

from msgspec import Struct

from dpproxy.policy.constants import number
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import InvalidParameter, SyntaxRefused
from dpproxy.values.structs import PartlyCompared


class Dimension(PartlyCompared, Struct, frozen=True):
    """An expression over the table's columns; ``width`` where so many whole numbers are one cell."""

    name: str
    expression: str
    width: int | None = None
    position: int | None = None

    def __str__(self) -> str:
        width = "" if self.width is None else f" WIDTH {self.width}"
        return f"{self.expression}{width}" + _named(self.name, self.expression)


class CubeMeasure(PartlyCompared, Struct, frozen=True):
    """A sum or a count."""

    name: str
    expression: str
    position: int | None = None

    def __str__(self) -> str:
        return self.expression + _named(self.name, _default(self.expression))


class Cube(Struct, frozen=True):
    """A declared cube; ``str`` is what stands behind ON."""

    table: Name
    dimensions: tuple[Dimension, ...]
    measures: tuple[CubeMeasure, ...]

    def __str__(self) -> str:
        dimensions, measures = (", ".join(map(str, each)) for each in (self.dimensions, self.measures))
        return f"{table_text(self.table.text)} ({dimensions}) MEASURES ({measures})"


def read(text: str) -> Cube:
    """The cube of a view's query.

    >>> str(read("visits (ward, age width 10) measures (count(*), sum(cost) AS paid)"))
    'visits (ward, age WIDTH 10) MEASURES (count(*), sum(cost) AS paid)'
    """
    cursor = Cursor(text)
    found = cube(cursor)
    cursor.end()
    return found


def cube(cursor: Cursor) -> Cube:
    """What follows ON, up to WITH. Raises ``SyntaxRefused``, ``InvalidParameter``."""
    table = cursor.table("ON")
    cursor.expect("(", after="the table's name")
    dimensions = cursor.comma_list(lambda after: _dimension(cursor, after), '"("')
    cursor.expect(")", after="a dimension")
    cursor.expect("measures", after='")"')
    cursor.expect("(", after="MEASURES")
    measures = cursor.comma_list(lambda after: _measure(cursor, after), '"("')
    cursor.expect(")", after="a measure")
    seen: set[str] = set()
    columns: tuple[Dimension | CubeMeasure, ...] = (*dimensions, *measures)
    for each in columns:
        if each.name in seen:
            raise InvalidParameter(
                f'two columns of the cube are named "{each.name}"',
                hint="Name each: expression AS name.",
                position=each.position,
            )
        seen.add(each.name)
    return Cube(table, dimensions, measures)


def _dimension(cursor: Cursor, after: str) -> Dimension:
    position = cursor.position
    text, width = cursor.expression(after, "width", "as"), None
    if cursor.accept("width"):
        at = cursor.position
        given = number(cursor, "WIDTH")
        if not isinstance(given, int) or given < 1:
            raise InvalidParameter("a width is a whole number, at least 1", position=at)
        width = given
    name = _alias(cursor, _column(text))
    if not name:
        raise SyntaxRefused(
            "a dimension that is no column needs a name",
            hint="date_trunc('month', at) AS month",
            position=position,
        )
    return Dimension(name, text, width, position)


def _measure(cursor: Cursor, after: str) -> CubeMeasure:
    position = cursor.position
    text = cursor.expression(after, "as")
    name = _alias(cursor, _default(text))
    if not name:
        raise SyntaxRefused(
            "a measure of an expression needs a name", hint="sum(x + y) AS total", position=position
        )
    return CubeMeasure(name, text, position)


def _alias(cursor: Cursor, otherwise: str) -> str:
    return cursor.name("column", "AS").text if cursor.accept("as") else otherwise


def _column(text: str) -> str:
    """The name of a column; empty where the text is more than that."""
    cursor = Cursor(text)
    is_name = cursor.is_last and cursor.token.kind in (TokenKind.WORD, TokenKind.NAME)
    return cursor.take().text if is_name else ""


def _default(text: str) -> str:
    """``count`` for count(*), ``sum_x`` for sum(x)."""
    cursor = Cursor(text)
    called = cursor.take().text
    if not cursor.at("("):
        return ""
    inside, _ = cursor.parenthesis()
    if inside.strip() == "*":
        return called
    column = _column(inside)
    return f"{called}_{column}" if column else ""


def _named(name: str, expression: str) -> str:
    return "" if name == (_column(expression) or expression) else f" AS {identifier(name)}"
