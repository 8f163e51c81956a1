"""What one row can cost the engine at its worst: read off the finished exact stage, whatever the row holds.

The times are bounds, not means: at least three times what DuckDB 2.0 took of a processor for the value that takes
longest (texts of four bytes a character, numbers of 128 bits).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import LONGEST_DOCUMENT, TEXT_AT, VALUES
from dpproxy.algebra.nodes import Node
from dpproxy.analysis.patterns import MOST_STATES, states
from dpproxy.analysis.texts import LONGEST_TEXT
from dpproxy.analysis.unseen import Unseen

OPERATION = 50
"""Nanoseconds of one operation on one row, beside others; 3 to 20 were measured for most."""
CALL = 1_000
"""Of one operation on a row that stands alone: the engine computes on batches; 340 were measured."""
CHARACTER = 8
"""Of one character that is copied or counted; 0.3 to 2.4 were measured."""
_FILLED = 30
"""Of one character that a text is filled up with; 4 to 9 were measured."""
_REVERSED = 45
"""Of one character of a text that is turned round; 0.6 to 15 were measured, most where it is not ASCII."""
_MAPPED = 250
"""Of one character put into upper or lower case; 12 to 21 were measured of a processor, 118 beside other work."""
_REPLACED = 100
_TRIMMED = 40
_TRANSLATED = 40
"""Of one character that is looked up, or listed to be; 6 to 10 were measured."""
_SPLIT = 50
"""Of one character of a text that is cut into parts; 4 to 17 were measured."""
_SEARCHED = 20
"""Of one character that a pattern or a part of few characters is looked for at; 0.5 to 8 were measured."""
_FURTHER = 3
"""And for each character of what is compared there: of a part, a set to be trimmed, a pattern between two wildcards."""
_ANY = 60
"""Of one character that a pattern with an underscore is looked for at: tried at each byte; 10 to 17 were measured."""
_FURTHER_ANY = 45
"""And for each further character between two percent signs there; 4 to 14 were measured."""

_MATCHED = 200
"""Of one character that a regular expression is matched at; 2 to 55 were measured."""
_STATE = 600
"""And for each state of it; 42 were measured where the matcher keeps a list of them, 200 for four bytes a character."""
_CAPITALIZED = 1_000
"""Of one character by INITCAP; 24 to 215 were measured."""
_PARSED = 35
"""Of one byte of a document that a field is read of; 1 to 11 were measured."""
_LONGEST_VALUE = 50
"""Characters of a number that is read; of a longer text no more is looked at."""

_PATTERN = 100
"""Characters of a pattern that is no constant here."""

_READING = 5
"""Nanoseconds of what is only read; a list of values is searched."""
_FIXED: dict[type[Node], int] = {
    **dict.fromkeys((
        nodes.Table, nodes.Select, nodes.Combined, nodes.Subquery, nodes.Scalar, nodes.Join, nodes.Star, nodes.Ordered,
        nodes.Named, nodes.Paren, nodes.Null, nodes.Truth, nodes.Parameter, nodes.Values, nodes.Exists,
    ), 0),
    **dict.fromkeys((nodes.Number, nodes.Hole, nodes.Text, nodes.ColumnRef), _READING),
}  # fmt: skip
"""Of shapes and names nothing is counted here: what is done with them is counted elsewhere."""
_SLOW: dict[type[Node], int] = {nodes.Cast: 8, nodes.Window: 40, nodes.InList: 2, nodes.InQuery: 2}
"""Operations that one of these is worth: divisions of 128 bits took 300 ns, casts of DECIMAL 155."""
_SLOW_OPERATORS = {"/": 16, "//": 16, "%": 16, "||": 4}
_SLOW_CALLS = {
    "power": 4, "date_trunc": 4, "concat": 4, "replace": 4, "trim": 4, "ltrim": 4, "rtrim": 4, "lower": 4, "upper": 4,
}  # fmt: skip
_DISTINCT = 10


class RowWork(Struct, frozen=True):
    """Of one row: nanoseconds beside other rows, and how many operations there are.

    ``before`` are the nanoseconds of what is computed before the row meets those of other items.
    """

    nanoseconds: int
    operations: int
    before: int = 0


def row_work(query: nodes.Query, costs: "Costs") -> RowWork:
    """The work of a row that everything in a statement is computed on."""
    spent, before, operations = costs.of(query)
    return RowWork(spent, operations, before)


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


_Cost = tuple[int, int, int]
"""Nanoseconds of a row with others, and before it meets those of other items; operations."""


class Costs:
    """What nodes cost, and the sizes of their values: each is looked at once, wherever else it stands.

    ``longest`` are the most characters of columns of text. Lists of declared keys are no rows of anybody. Of nodes that
    are looked at, none may go before these costs do.
    """

    def __init__(self, longest: Mapping[str, int]) -> None:
        self._longest = longest
        self._sizes: dict[int, int] = {}
        self._known: dict[int, _Cost] = {}

    def of(self, node: Node) -> _Cost:
        """A node and all below it."""
        return self._known.get(id(node)) or self._made(node)

    def _made(self, node: Node) -> _Cost:
        parts = [] if type(node) is nodes.Values else node.parts()
        spent = before = operations = 0
        if isinstance(node, nodes.Select) and node.where is not None and (items := _joined(node)):
            del parts[len(node.items) + 1 + len(node.joins)]
            spent, before, operations = self._met(node.where, items)
        for part in parts:
            value = part.value if type(part) is nodes.Named else part
            if type(value) is nodes.Number:  # most nodes are: of lists of keys
                spent += _READING
            elif type(value) is nodes.ColumnRef:  # and these of lists of a table's columns
                spent += _READING
                if value.name in self._longest:
                    self._sizes[id(part)] = self._longest[value.name]
            else:
                more, early, several = self._known.get(id(part)) or self._made(part)
                spent, before, operations = spent + more, before + early, operations + several
        found = self._known[id(node)] = self._with_own(node, parts, (spent, before, operations))
        return found

    def _with_own(self, node: Node, parts: Sequence[Node], below: _Cost) -> _Cost:
        """What is below a node, with what it costs itself."""
        kind, (spent, before, operations) = type(node), below
        size, own = _SIZE.get(kind), _FIXED.get(kind)
        if size is not None:
            self._sizes[id(node)] = size(node, self._sizes, self._longest)
        if own is None:
            own = _worth(node) * OPERATION + _characters(node, parts, self._sizes)
        return spent + own, before, operations + (own >= OPERATION)

    def _met(self, node: Node, items: Items) -> _Cost:
        """A condition over items that are joined.

        Those over one item alone are computed before the join, and so are the sides of equalities of two: every engine
        tests the former where it reads the item, and hashes the latter once for each of its rows.
        """
        parts = node.parts()
        if type(node) is nodes.And:
            found = [self._met(part, items) for part in parts]
        elif _is_of_one(node, items):
            return self._early(node)
        elif type(node) is nodes.Paren:
            found = [self._met(node.value, items)]
        elif isinstance(node, nodes.Binary) and node.operator == "=":
            found = [self._early(part) if _is_of_one(part, items) else self.of(part) for part in parts]
        else:
            return self.of(node)
        spent, before, operations = map(sum, zip(*found, strict=True))
        return self._with_own(node, parts, (spent, before, operations))

    def _early(self, node: Node) -> _Cost:
        spent, before, operations = self.of(node)
        return 0, spent + before, operations


def _joined(select: nodes.Select) -> Items:
    if select.source is None or not select.joins or any(j.kind != "CROSS" for j in select.joins):
        return ()
    return [_names(item) for item in (select.source, *(j.item for j in select.joins))]


def _names(item: nodes.Item) -> frozenset[str]:
    """The columns that an item of FROM shows, as far as they are written."""
    select = item.query if isinstance(item, nodes.Subquery) else None
    if not isinstance(select, nodes.Select):
        return frozenset()
    named = {e.name for e in select.items if isinstance(e, nodes.Named | nodes.ColumnRef)}
    return frozenset(named) or (frozenset() if select.source is None else _names(select.source))


def _columns(node: Node) -> set[str]:
    """The columns that are read; none where a query reads some."""
    found, left = set(), [node]
    while left:
        part = left.pop()
        if type(part) is nodes.ColumnRef:
            found.add(part.name)
        elif type(part) in (nodes.Select, nodes.Combined):
            return set()
        elif type(part) is not nodes.Number:
            left += part.parts()
    return found


def _is_of_one(condition: Node, items: Items) -> bool:
    columns = _columns(condition)
    return bool(columns) and any(columns <= item for item in items)


def _sizes(several: Iterable[Node], sizes: Mapping[int, int]) -> list[int]:
    return [sizes.get(id(node), 0) for node in several]


def _largest(several: Iterable[Node], sizes: Mapping[int, int]) -> int:
    return max([sizes.get(id(node), 0) for node in several], default=0)


def _replaced(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    """As many parts as there can be, each in its new form."""
    text, part, new = node.arguments
    shortest = max(1, len(part.value)) if isinstance(part, nodes.Text) else 1
    parts, rest = divmod(sizes.get(id(text), 0), shortest)
    return max(sizes.get(id(text), 0), parts * sizes.get(id(new), 0) + rest)


def _first(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    """So many characters of a text; of a number that is no constant, all."""
    text, count = sizes.get(id(node.arguments[0]), 0), node.arguments[-1]
    is_constant = isinstance(count, nodes.Number) and count.text.isdigit()
    return min(text, int(count.text)) if isinstance(count, nodes.Number) and is_constant else text


def _substring(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    return _first(node, sizes) if len(node.arguments) == 3 else sizes.get(id(node.arguments[0]), 0)


def _number(node: Node) -> int:
    """A constant; that of no text that may be put together where it is none."""
    return int(node.text) if isinstance(node, nodes.Number) and node.text.isdigit() else LONGEST_TEXT


def _rewritten(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    """Every match in its new form, in which each escape is a match at most."""
    text, new = sizes.get(id(node.arguments[0]), 0), node.arguments[2]
    written = new.value if isinstance(new, nodes.Text) else "\\" * _PATTERN
    return max(1, written.count("\\")) * text + len(written) * (text + 1)


Size = Callable[[nodes.Call, Mapping[int, int]], int]

_SIZES: dict[str, Size] = {
    **dict.fromkeys((
        "lower", "upper", "trim", "ltrim", "rtrim", "min", "max", "coalesce", "nullif", "greatest", "least", "right",
        "lag", "lead", "first_value", "last_value", "nth_value",
    ), lambda node, sizes: _largest(node.arguments, sizes)),
    "left": _first,
    **dict.fromkeys((
        "translate", "split_part", "reverse", "regexp_extract",
    ), lambda node, sizes: sizes.get(id(node.arguments[0]), 0)),
    **dict.fromkeys(("lpad", "rpad"), lambda node, _: _number(node.arguments[1])),
    "repeat": lambda node, sizes: sizes.get(id(node.arguments[0]), 0) * _number(node.arguments[1]),
    "regexp_replace": _rewritten,
    "concat_ws": lambda node, sizes: (
        sum(_sizes(node.arguments[1:], sizes)) + sizes.get(id(node.arguments[0]), 0) * len(node.arguments)
    ),
    "substring": _substring,
    "replace": _replaced,
    "concat": lambda node, sizes: sum(_sizes(node.arguments, sizes)),
}  # fmt: skip
"""The most characters of what a call is, from those of its arguments; 0 for what is no text."""


def _length(hole: nodes.Hole) -> int:
    unseen: Any = Unseen(hole.place, hole.form)  # whoever needs the length of a text looks
    known = {"DATE": len("2024-01-31"), "TIMESTAMP": len("2024-01-31 12:00:00"), "TEXT": unseen}
    return known.get(hole.form, 0) if isinstance(hole.form, str) else 0


def _called_size(node: nodes.Call, sizes: Mapping[int, int], _: Mapping[str, int]) -> int:
    found = _SIZES.get(node.name)
    return 0 if found is None else found(node, sizes)


def _joined_size(node: nodes.Binary, sizes: Mapping[int, int], _: Mapping[str, int]) -> int:
    return sizes.get(id(node.left), 0) + sizes.get(id(node.right), 0) if node.operator == "||" else 0


def _chosen_size(node: nodes.Case, sizes: Mapping[int, int], _: Mapping[str, int]) -> int:
    return _largest([then for _, then in node.branches] + [node.default or nodes.Null()], sizes)


_SIZE: dict[type[Node], Callable[[Any, Mapping[int, int], Mapping[str, int]], int]] = {
    nodes.ColumnRef: lambda node, _, longest: longest.get(node.name, 0),
    nodes.Text: lambda node, *_: len(node.value),
    nodes.Hole: lambda node, *_: _length(node),
    nodes.Call: _called_size,
    nodes.Case: _chosen_size,
    **dict.fromkeys(
        (nodes.Formula, nodes.Window, nodes.Scalar, nodes.Subquery),
        lambda node, sizes, _: _largest(node.parts(), sizes),
    ),
    nodes.Binary: _joined_size,
    **dict.fromkeys((nodes.Paren, nodes.Named), lambda node, sizes, _: sizes.get(id(node.value), 0)),
    nodes.Select: lambda node, sizes, _: _largest(node.items, sizes),
}
"""The most characters of a value, from those of its parts and of columns; 0 for what is no text."""


def _looked_for(pattern: Node) -> int:
    """Nanoseconds at each character: what is longest between two percent signs is compared there in vain."""
    written = pattern.value if isinstance(pattern, nodes.Text) else "_" * _PATTERN
    further = max(0, max(map(len, written.split("%"))) - 2)
    return _ANY + _FURTHER_ANY * further if "_" in written else _SEARCHED + _FURTHER * further


def _characters(node: Node, parts: Sequence[Node], sizes: Mapping[int, int]) -> int:
    """Nanoseconds that the characters of the operands take."""
    if isinstance(node, nodes.Call):
        return _called(node, sizes)
    if isinstance(node, nodes.InList | nodes.InQuery):
        return _read(parts, sizes)  # of texts as they are, a word of the machine at a time
    if isinstance(node, nodes.Binary):
        return _between(node, parts, sizes)
    if isinstance(node, nodes.Formula):
        return _of_field(node) or _CAPITALIZED * sum(_sizes(parts, sizes))
    return CHARACTER * sum(_sizes(parts, sizes))


def _of_field(node: nodes.Formula) -> int:
    """Nanoseconds of a document that is looked through, or of its text that is read as a value; 0 of anything else."""
    if node.pieces == TEXT_AT:
        return _PARSED * LONGEST_DOCUMENT
    return _MATCHED * _LONGEST_VALUE if node.pieces in VALUES else 0


def _between(node: nodes.Binary, parts: Sequence[Node], sizes: Mapping[int, int]) -> int:
    if node.operator in nodes.COMPARISONS:
        return _read(parts, sizes)
    mapped = {"LIKE": 0, "ILIKE": 2 * _MAPPED}.get(node.operator.removeprefix("NOT "))
    if mapped is None:
        return CHARACTER * sum(_sizes(parts, sizes))
    return (mapped + _looked_for(node.right)) * sizes.get(id(node.left), 0)


def _read(parts: Sequence[Node], sizes: Mapping[int, int]) -> int:
    """The longest that is compared but constants: no more characters are than the other side has."""
    return max([sizes.get(id(part), 0) for part in parts if type(part) not in _CONSTANT], default=0)


_CONSTANT = (nodes.Number, nodes.Text, nodes.Hole)
_EACH = {"lower": _MAPPED, "upper": _MAPPED, "translate": _TRANSLATED, "reverse": _REVERSED}
_MADE = {
    "lpad": _FILLED, "rpad": _FILLED, "repeat": CHARACTER, "concat_ws": CHARACTER, "regexp_replace": CHARACTER,
}  # fmt: skip
"""Of one character of what is longer than what is given."""


def _called(node: nodes.Call, sizes: Mapping[int, int]) -> int:
    given = _sizes(node.arguments, sizes)
    match node.name, given:
        case "trim" | "ltrim" | "rtrim", [text, *rest]:
            return (_TRIMMED + _FURTHER * max([1, *rest])) * text
        case "strpos" | "starts_with", [text, part]:
            return (_SEARCHED + _FURTHER * part) * text
        case "split_part", [text, part, *_]:
            return (_SPLIT + _FURTHER * part) * text
        case "replace", [text, part, _]:
            return (_REPLACED + _FURTHER * part) * text + CHARACTER * _replaced(node, sizes)
        case name, _:
            made = _MADE[name] * _called_size(node, sizes, {}) if name in _MADE else 0
            return _EACH.get(name, CHARACTER) * sum(given) + made + _matched(node, given)


def _matched(node: nodes.Call, given: Sequence[int]) -> int:
    """Nanoseconds that a regular expression takes."""
    if not node.name.startswith("regexp_"):
        return 0
    pattern = node.arguments[1]
    steps = states(pattern.value) if isinstance(pattern, nodes.Text) else MOST_STATES
    return (_MATCHED + _STATE * steps) * given[0]
