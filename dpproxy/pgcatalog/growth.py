"""How long texts can become: the engine makes them whole before it looks at its memory, or at an interrupt."""

from math import prod

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import TooComplex

MOST_TEXT = 10_000_000
"""Characters that replacements may make of the longest text of a statement, all of them together."""
_UNKNOWN = 1000
"""Characters of what is no literal."""
_REPLACING = frozenset({"replace", "regexp_replace"})


def check(tree: exp.Expr) -> None:
    """Refuse replacements that can make a very long text, inside of each other or one after another.

    Raises:
        TooComplex: they can.
    """
    found = [(node, factor) for node in tree.walk() if (factor := _factor(node)) > 1]
    longest = max((len(node.name) for node in tree.find_all(exp.Literal) if node.is_string), default=0)
    if found and prod(factor for _, factor in found) * max(longest, _UNKNOWN) > MOST_TEXT:
        node, _ = max(found, key=lambda one: one[1])
        raise TooComplex("replacements make a text too long", position=position(node))


def _factor(node: exp.Expr) -> int:
    """So many times longer a text gets at most by one call."""
    match node:
        case exp.Replace(this=_, expression=exp.Literal(name=old)):
            return -(-_length(node.args.get("replacement")) // max(1, len(old)))
        case exp.Replace() | exp.RegexpReplace():
            return _length(node.args.get("replacement"))
        case exp.Anonymous(expressions=[_, _, new, *_]) if node.name.lower() in _REPLACING:
            return _length(new)
        case exp.ConcatWs(expressions=parts):
            return len(parts)
        case exp.Anonymous(expressions=parts) if node.name.lower() == "concat_ws":
            return len(parts)
        case _:
            return 1


def _length(node: exp.Expr | None) -> int:
    if node is None:
        return 0
    return len(node.name) if isinstance(node, exp.Literal) else _UNKNOWN
