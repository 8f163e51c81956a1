"""What one row can cost the engine at its worst: read off the finished exact stage, whatever the row holds.

The times are bounds, not means: at least three times what DuckDB 2.0 took of a processor for the value that takes
longest (texts of two bytes a character, numbers of 128 bits).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpproxy.algebra import nodes
from dpproxy.algebra.nodes import Node
from dpproxy.analysis.unseen import Unseen

OPERATION = 50
"""Nanoseconds of one operation on one row, beside others; 3 to 20 were measured for most."""
CALL = 1_000
"""Of one operation on a row that stands alone: the engine computes on batches; 340 were measured."""
CHARACTER = 5
"""Of one character that is copied or counted; 0.3 to 2 were measured."""
_MAPPED = 250
"""Of one character put into upper or lower case; 12 to 21 were measured of a processor, 118 beside other work."""
_REPLACED = 100
_TRIMMED = 40
_SEARCHED = 10
"""Of one character that a pattern or a part of few characters is looked for at; 0.5 to 3 were measured."""
_FURTHER = 3
"""And for each character of what is compared there: of a part, a set to be trimmed, a pattern between two wildcards."""

_PATTERN = 100
"""Characters of a pattern that is no constant here."""

_READING = 5
"""Nanoseconds of what is only read; a list of values is searched."""
_FIXED: dict[type[Node], int] = {
    **dict.fromkeys((
        nodes.Table, nodes.Select, nodes.Combined, nodes.Subquery, nodes.Scalar, nodes.Join, nodes.Star, nodes.Ordered,
        nodes.Named, nodes.Paren, nodes.Null, nodes.Truth, nodes.Parameter, nodes.Values, nodes.Exists,
    ), 0),
    **dict.fromkeys((nodes.Number, nodes.Hole, nodes.Text, nodes.Column), _READING),
}  # fmt: skip
"""Of shapes and names nothing is counted here: what is done with them is counted elsewhere."""
_SLOW: dict[type[Node], int] = {nodes.Cast: 8, nodes.Window: 40, nodes.InList: 2, nodes.InQuery: 2}
"""Operations that one of these is worth: divisions of 128 bits took 300 ns, casts of DECIMAL 155."""
_SLOW_OPERATORS = {"/": 16, "//": 16, "%": 16, "||": 4}
_SLOW_CALLS = {
    "power": 4, "date_trunc": 4, "concat": 4, "replace": 4, "trim": 4, "ltrim": 4, "rtrim": 4, "lower": 4, "upper": 4,
}  # fmt: skip
_DISTINCT = 10


@dataclass(frozen=True, slots=True)
class Work:
    """Of one row: nanoseconds beside other rows, and how many operations there are.

    ``before`` are the nanoseconds of what is computed before the row meets those of other items.
    """

    nanoseconds: int
    operations: int
    before: int = 0


def row_work(query: nodes.Query, longest: Mapping[str, int]) -> Work:
    """The work of a row that everything in a statement is computed on.

    ``longest`` are the most characters of its columns of text. Lists of declared keys are no rows of anybody.
    """
    sizes: dict[int, int] = {}
    spent, before, operations = 0, 0, 0
    placed: list[tuple[Node, bool]] = []
    _place(query, (), placed, is_early=False)
    for node, is_early in placed:
        sizes[id(node)] = _size(node, sizes, longest)
        cost = _cost(node, sizes)
        operations += cost >= OPERATION
        if is_early:
            before += cost
        else:
            spent += cost
    return Work(spent, operations, before)


def _cost(node: Node, sizes: Mapping[int, int]) -> int:
    fixed = _FIXED.get(type(node))
    return _worth(node) * OPERATION + _characters(node, sizes) if fixed is None else fixed


def _worth(node: Node) -> int:
    match node:
        case nodes.Binary():
            return _SLOW_OPERATORS.get(node.operator, 1)
        case nodes.Call():
            return _SLOW_CALLS.get(node.name, 1) + (_DISTINCT if node.distinct else 0)
        case nodes.And() | nodes.Or():
            return len(node.conditions) - 1
        case nodes.Case():
            return 1
        case _:
            return _SLOW.get(type(node), 1)


Items = Sequence[frozenset[str]]
"""The columns of items of FROM that are joined by the condition at hand, and by no other."""


def _place(node: Node, items: Items, placed: list[tuple[Node, bool]], *, is_early: bool) -> None:
    """Add the nodes at each of their places, operands before what is made of them, and whether that is before a join.

    Of inner joins, the conditions over one item alone are, and the sides of equalities of two: every engine tests the
    former where it reads the item, and hashes the latter once for each of its rows.
    """
    is_early = is_early or (bool(items) and not isinstance(node, nodes.And) and _is_of_one(node, items))
    for part, joined in _below(node, items):
        _place(part, joined, placed, is_early=is_early)
    placed.append((node, is_early))


def _below(node: Node, items: Items) -> list[tuple[Node, Items]]:
    match node:
        case nodes.Values():
            return []
        case nodes.Select():
            below: list[tuple[Node, Items]] = [(part, ()) for part in replace(node, where=None).parts()]
            return below if node.where is None else [*below, (node.where, _joined(node))]
        case nodes.And() | nodes.Paren():
            return [(part, items) for part in node.parts()]
        case nodes.Binary(operator="="):
            return [(part, items if _is_of_one(part, items) else ()) for part in node.parts()]
        case _:
            return [(part, ()) for part in node.parts()]


def _joined(select: nodes.Select) -> Items:
    if select.source is None or not select.joins or any(j.kind != "CROSS" for j in select.joins):
        return ()
    return [_names(item) for item in (select.source, *(j.item for j in select.joins))]


def _names(item: nodes.Item) -> frozenset[str]:
    """The columns that an item of FROM shows, as far as they are written."""
    select = item.query if isinstance(item, nodes.Subquery) else None
    if not isinstance(select, nodes.Select):
        return frozenset()
    named = {e.name for e in select.items if isinstance(e, nodes.Named | nodes.Column)}
    return frozenset(named) or (frozenset() if select.source is None else _names(select.source))


def _is_of_one(condition: Node, items: Sequence[frozenset[str]]) -> bool:
    names = {c.name for c in condition.find_all(nodes.Column)}
    is_alone = not condition.has(nodes.Select, nodes.Combined)
    return bool(names) and is_alone and any(names <= item for item in items)


def _sizes(several: Iterable[Node], sizes: Mapping[int, int]) -> list[int]:
    return [sizes.get(id(node), 0) for node in several]


def _largest(several: Iterable[Node], sizes: Mapping[int, int]) -> int:
    return max(_sizes(several, sizes), default=0)


def _replaced(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    """As many parts as there can be, each in its new form."""
    text, part, new = node.arguments
    shortest = max(1, len(part.value)) if isinstance(part, nodes.Text) else 1
    parts, rest = divmod(sizes[id(text)], shortest)
    return max(sizes[id(text)], parts * sizes[id(new)] + rest)


def _first(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    """So many characters of a text; of a number that is no constant, all."""
    text, count = sizes[id(node.arguments[0])], node.arguments[-1]
    is_constant = isinstance(count, nodes.Number) and count.text.isdigit()
    return min(text, int(count.text)) if isinstance(count, nodes.Number) and is_constant else text


def _substring(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    return _first(node, sizes) if len(node.arguments) == 3 else sizes[id(node.arguments[0])]


Size = Callable[[nodes.Call, Mapping[int, int]], int]

_SIZES: dict[str, Size] = {
    **dict.fromkeys(
        (
            "lower",
            "upper",
            "trim",
            "ltrim",
            "rtrim",
            "min",
            "max",
            "coalesce",
            "nullif",
            "greatest",
            "least",
            "right",
            "lag",
            "lead",
            "first_value",
            "last_value",
            "nth_value",
        ),
        lambda node, sizes: _largest(node.arguments, sizes),
    ),
    "left": _first,
    "substring": _substring,
    "replace": _replaced,
    "concat": lambda node, sizes: sum(_sizes(node.arguments, sizes)),
}
"""The most characters of what a call is, from those of its arguments; 0 for what is no text."""


def _length(node: nodes.Text | nodes.Hole) -> int:
    if isinstance(node, nodes.Text):
        return len(node.value)
    unseen: Any = Unseen(node.place, node.form)  # whoever needs the length of a text looks
    known = {"DATE": len("2024-01-31"), "TIMESTAMP": len("2024-01-31 12:00:00"), "TEXT": unseen}
    return known.get(node.form, 0) if isinstance(node.form, str) else 0


def _size(node: Node, sizes: Mapping[int, int], longest: Mapping[str, int]) -> int:
    match node:
        case nodes.Column():
            return longest.get(node.name, 0)
        case nodes.Text() | nodes.Hole():
            return _length(node)
        case nodes.Call():
            found = _SIZES.get(node.name)
            return 0 if found is None else found(node, sizes)
        case nodes.Case():
            values = [then for _, then in node.branches]
            return _largest([*values, *([] if node.default is None else [node.default])], sizes)
        case nodes.Binary(operator="||"):
            return sizes[id(node.left)] + sizes[id(node.right)]
        case nodes.Paren() | nodes.Named() | nodes.Window() | nodes.Scalar() | nodes.Subquery():
            return _largest(node.parts(), sizes)
        case nodes.Select():
            return _largest(node.items, sizes)
        case _:
            return 0


def _run(pattern: Node) -> int:
    """Characters beyond the second between two wildcards, at most: so many are compared at each place in vain."""
    written = pattern.value if isinstance(pattern, nodes.Text) else "x" * _PATTERN
    return max(0, max(len(run) for run in written.split("%")) - 2)


def _characters(node: Node, sizes: Mapping[int, int]) -> int:
    """Nanoseconds that the characters of the operands take."""
    match node:
        case nodes.Call():
            return _called(node, sizes)
        case nodes.Binary(operator="LIKE" | "NOT LIKE"):
            return (_SEARCHED + _FURTHER * _run(node.right)) * sizes[id(node.left)]
        case nodes.Binary(operator="ILIKE" | "NOT ILIKE"):
            return (2 * _MAPPED + _FURTHER * _run(node.right)) * sizes[id(node.left)]
        case nodes.InList() | nodes.InQuery():  # of texts as they are, a word of the machine at a time
            return _largest(_read(node), sizes)
        case nodes.Binary() if node.operator in nodes.COMPARISONS:
            return _largest(_read(node), sizes)
        case _:
            return CHARACTER * sum(_sizes(node.parts(), sizes))


def _read(node: Node) -> list[Node]:
    """What is compared but constants: no more characters are than the other side has."""
    return [part for part in node.parts() if not isinstance(part, nodes.Text | nodes.Hole)]


def _called(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    given = _sizes(node.arguments, sizes)
    match node.name, given:
        case "lower" | "upper", [text]:
            return _MAPPED * text
        case "trim" | "ltrim" | "rtrim", [text, *rest]:
            return (_TRIMMED + _FURTHER * max([1, *rest])) * text
        case "strpos" | "starts_with", [text, part]:
            return (_SEARCHED + _FURTHER * part) * text
        case "replace", [text, part, _]:
            return (_REPLACED + _FURTHER * part) * text + CHARACTER * _replaced(node, sizes)
        case _:
            return CHARACTER * sum(given)
