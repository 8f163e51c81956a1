"""LIKE and ILIKE: patterns of % and _, with PostgreSQL's escapes.

No engine is told of an escape. A pattern loses those that mean nothing; where a percent sign or an underscore itself is
looked for, it is looked for as text: at the beginning, at the end, anywhere, or as the whole.
"""

from sqlglot import exp

from dpproxy.values.errors import InvalidEscape

ESCAPE = "\\"
"""PostgreSQL's escape character where no other is written."""
_WILD = frozenset("%_")


def characters(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """The characters of a pattern, and whether each stands for others.

    Raises:
        InvalidEscape: the last one is the escape character.

    >>> characters("a!%%", "!")
    [('a', False), ('%', False), ('%', True)]
    """
    found, is_escaped = list[tuple[str, bool]](), False
    for character in pattern:
        if character == escape and not is_escaped:
            is_escaped = True
            continue
        found.append((character, character in _WILD and not is_escaped))
        is_escaped = False
    if is_escaped:
        raise InvalidEscape("LIKE pattern must not end with escape character")
    return found


def unescaped(found: list[tuple[str, bool]]) -> str | None:
    """The same pattern without an escape character, None where a percent sign or an underscore is one itself."""
    if any(character in _WILD and not is_wild for character, is_wild in found):
        return None
    return "".join(character for character, _ in found)


def as_text_search(node: exp.Like, found: list[tuple[str, bool]]) -> exp.Expr | None:
    """What the pattern looks for, as a comparison of texts; None where it has wildcards but at its ends.

    >>> as_text_search(exp.Like(this=exp.column("x")), characters("%5!%%", "!")).sql("postgres")
    "POSITION('5%' IN x) > 0"
    """
    ends = [bool(found) and found[at] == ("%", True) for at in (0, -1)]
    inside = found[ends[0] : len(found) - ends[1]]
    if any(is_wild for _, is_wild in inside):
        return None
    text = "".join(character for character, _ in inside)
    value = node.this.copy()
    if isinstance(node, exp.ILike):
        value, text = exp.Lower(this=value), text.lower()
    literal = exp.Literal.string(text)
    match ends:
        case [True, True]:
            return exp.GT(this=exp.StrPosition(this=value, substr=literal), expression=exp.Literal.number(0))
        case [False, True]:
            return exp.StartsWith(this=value, expression=literal)
        case [True, False]:
            end = exp.Right(this=value, expression=exp.Literal.number(len(text)))
            return exp.EQ(this=end, expression=literal)
        case _:
            return exp.EQ(this=value, expression=literal)
