"""``parse_ident`` of a constant: the parts of a qualified name."""

import re

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler.trees import cast
from dpproxy.values.errors import InvalidParameter, Unsupported

_PART = re.compile(
    r'"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^\x00-@\[-^`{-\x7f][^\x00-#%-/:-@\[-^`{-\x7f]*)', re.ASCII
)
_SPACES = " \t\n\r\f"
_FOLDED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def call(node: exp.Anonymous) -> exp.Expr:
    """parse_ident(text [, strict]), both constants.

    Raises:
        Unsupported: they are not.
        InvalidParameter: the text is no name.
    """
    given, *rest = (argument.unnest() for argument in node.expressions)
    strict = rest[0] if rest else exp.true()
    if isinstance(given, exp.Cast):
        given = given.this
    if isinstance(given, exp.Null) or isinstance(strict, exp.Null):
        return _texts(exp.Null())
    if not (isinstance(given, exp.Literal) and given.is_string and isinstance(strict, exp.Boolean)):
        raise Unsupported("parse_ident takes constants here")
    try:
        found = parts(given.name, strict=bool(strict.this))
    except InvalidParameter as refusal:
        refusal.position = position(node)
        raise
    return _texts(exp.Array(expressions=[exp.Literal.string(part) for part in found]))


def _texts(value: exp.Expr) -> exp.Expr:
    return cast(value, "VARCHAR[]")


def parts(name: str, *, strict: bool) -> list[str]:
    """The parts as they are stored: unquoted ones in lower case; unless ``strict``, text after the name is ignored.

    Raises:
        InvalidParameter: as PostgreSQL does.
    """
    found: list[str] = []
    rest = name.lstrip(_SPACES)
    while True:
        part = _PART.match(rest)
        if part is None or part["quoted"] == "":
            raise InvalidParameter(f'string is not a valid identifier: "{name}"')
        quoted = part["quoted"]
        found.append(part["bare"].translate(_FOLDED) if quoted is None else quoted.replace('""', '"'))
        rest = rest[part.end() :].lstrip(_SPACES)
        if not rest.startswith("."):
            break
        rest = rest[1:].lstrip(_SPACES)
    if rest and strict:
        raise InvalidParameter(f'string is not a valid identifier: "{name}"')
    return found
