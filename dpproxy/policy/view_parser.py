"""The parser of statements about protected views, cubes and taxonomies."""

from fractions import Fraction

from dpproxy.policy import cubes
from dpproxy.policy.constants import number
from dpproxy.policy.model import CUBE, CUBE_METHOD, VIEW, OptionValue
from dpproxy.policy.statements import (
    CreateTaxonomy,
    CreateView,
    DropTaxonomy,
    DropView,
    Option,
    RefreshView,
    VerifyViews,
)
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import SyntaxRefused


def create_taxonomy(cursor: Cursor) -> CreateTaxonomy:
    """What follows CREATE PRIVACY TAXONOMY."""
    name = cursor.name("taxonomy", "TAXONOMY")
    cursor.expect("on", after="the taxonomy's name")
    table = cursor.table("ON")
    cursor.expect("(", after="the table's name")
    code = cursor.name("column", '"("')
    cursor.expect(",", after="the column of the codes")
    parent = cursor.name("column", '","')
    cursor.expect(")", after="the column of the parents")
    return CreateTaxonomy(name, table, code, parent)


def drop_taxonomy(cursor: Cursor) -> DropTaxonomy:
    """What follows DROP PRIVACY TAXONOMY."""
    return DropTaxonomy(cursor.name("taxonomy", "TAXONOMY"))


def create_view(cursor: Cursor) -> CreateView:
    """What follows CREATE PROTECTED."""
    name = _view(cursor, "PROTECTED")
    options = _options(cursor, "the view's name")
    cursor.expect("as", after='")"')
    if not (cursor.at("select") or cursor.at("with")):
        cursor.refuse(["SELECT"], "AS")
    query, offset = cursor.rest()
    return CreateView(name, options, query, offset)


def create_cube(cursor: Cursor) -> CreateView:
    """What follows CREATE PRIVACY CUBE."""
    name = cursor.view("CUBE")
    cursor.expect("on", after="the cube's name")
    offset = cursor.position
    shape = cubes.cube(cursor)
    options = _options(cursor, "the measures")
    method = next((option for option in options if option.name.text == "method"), None)
    if method is not None:
        raise SyntaxRefused("a cube has one method, and names none", position=method.name.position)
    return CreateView(name, (*options, Option(Name("method"), CUBE_METHOD)), str(shape), offset, CUBE)


def _options(cursor: Cursor, after: str) -> tuple[Option, ...]:
    """WITH (option = value, ...)."""
    cursor.expect("with", after=after)
    cursor.expect("(", after="WITH")
    options = cursor.comma_list(lambda after: _option(cursor, after), '"("')
    seen: set[str] = set()
    for option in options:
        if option.name.text in seen:
            raise SyntaxRefused(f"option {option.name.text} is given twice", position=option.name.position)
        seen.add(option.name.text)
    cursor.expect(")", after="an option")
    return options


def drop_view(cursor: Cursor) -> DropView:
    """What follows DROP PROTECTED."""
    return DropView(_view(cursor, "PROTECTED"))


def drop_cube(cursor: Cursor) -> DropView:
    """What follows DROP PRIVACY CUBE."""
    return DropView(cursor.view("CUBE"), CUBE)


def refresh_view(cursor: Cursor) -> RefreshView:
    """What follows REFRESH."""
    kind, name = _kind(cursor, "REFRESH")
    return RefreshView(name, kind)


def verify_views(cursor: Cursor) -> VerifyViews:
    """What follows VERIFY."""
    kind, first = _kind(cursor, "VERIFY")
    more = cursor.comma_list(cursor.view, '","') if cursor.accept(",") else ()
    return VerifyViews((first, *more), kind)


def _kind(cursor: Cursor, after: str) -> tuple[str, Name]:
    """PROTECTED VIEW or PRIVACY CUBE, and a name."""
    if cursor.accept("privacy"):
        cursor.expect("cube", after="PRIVACY")
        return CUBE, cursor.view("CUBE")
    cursor.expect("protected", after=after)
    return VIEW, _view(cursor, "PROTECTED")


def _view(cursor: Cursor, after: str) -> Name:
    cursor.expect("view", after=after)
    return cursor.view("VIEW")


def _option(cursor: Cursor, after: str) -> Option:
    token = cursor.token
    if token.kind is not TokenKind.WORD:
        cursor.refuse(["an option"], after)
    cursor.take()
    name = Name(token.text, token.position)
    cursor.expect("=", after="the option's name")
    position = cursor.token.position
    return Option(name, _value(cursor), position)


def _value(cursor: Cursor) -> OptionValue:
    """A number, a word, a text, or a list of one of them."""
    if not cursor.accept("("):
        return _item(cursor, '"="')
    items = cursor.comma_list(lambda after: _item(cursor, after), '"("')
    cursor.expect(")", after="a value")
    texts = tuple(item for item in items if isinstance(item, str))
    if len(texts) == len(items):
        return texts
    if texts:
        raise SyntaxRefused("a list holds names or numbers, not both", position=cursor.before.position)
    return tuple(Fraction(item) for item in items if not isinstance(item, str))


def _item(cursor: Cursor, after: str) -> int | Fraction | str:
    if cursor.token.kind in {TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT}:
        return cursor.take().text
    is_signed = cursor.token.kind is TokenKind.SYMBOL and cursor.token.text in "+-"
    if cursor.token.kind is TokenKind.NUMBER or is_signed:
        return number(cursor, after)
    return cursor.refuse(["a value"], after)
