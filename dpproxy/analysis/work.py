"""What one row can cost the engine at its worst: read off the finished exact stage, whatever the row holds.

The times are bounds, not means: at least three times what DuckDB 2.0 took of a processor for the value that takes
longest (texts of two bytes a character, numbers of 128 bits).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.unseen import is_place

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

_FREE: tuple[type[exp.Expr], ...] = (
    exp.Identifier, exp.Table, exp.TableAlias, exp.From, exp.Where, exp.Group, exp.Qualify, exp.Select, exp.Subquery,
    exp.Join, exp.Tuple, exp.Star, exp.Order, exp.Ordered, exp.WindowSpec, exp.DataType, exp.DataTypeParam, exp.Var,
    exp.Alias, exp.Paren, exp.Null, exp.Boolean, exp.Placeholder, exp.If, exp.Values, exp.Union, exp.Exists,
)  # fmt: skip
"""Shapes and names: what is done with them is counted elsewhere."""
_PARTS: dict[type[exp.Expr], int] = {exp.Literal: 5, exp.Column: 5}
"""Nanoseconds of what is only read; a list of values is searched."""
_SLOW: dict[type[exp.Expr], int] = {
    exp.Div: 16, exp.IntDiv: 16, exp.Mod: 16, exp.Cast: 8, exp.Window: 40, exp.Distinct: 10, exp.In: 2, exp.Pow: 4,
    exp.TimestampTrunc: 4, exp.Concat: 4, exp.DPipe: 4, exp.Replace: 4, exp.Trim: 4, exp.Lower: 4, exp.Upper: 4,
}  # fmt: skip
"""Operations that one of these is worth: divisions of 128 bits took 300 ns, casts of DECIMAL 155."""


@dataclass(frozen=True, slots=True)
class Work:
    """Of one row: nanoseconds beside other rows, and how many operations there are.

    ``before`` are the nanoseconds of what is computed before the row meets those of other items.
    """

    nanoseconds: int
    operations: int
    before: int = 0


def row_work(sql: str, longest: Mapping[str, int]) -> Work:
    """The work of a row that everything in a statement is computed on.

    ``longest`` are the most characters of its columns of text. Lists of declared keys are no rows of anybody.
    """
    tree = duck.parsed(sql)
    nodes = list(tree.walk(prune=lambda n: isinstance(n, exp.Values)))
    early = {id(n) for part in _before_joins(nodes) for n in part.walk()}
    sizes: dict[int, int] = {}
    spent, before, operations = 0, 0, 0
    for node in reversed(nodes):  # operands before what is made of them
        sizes[id(node)] = _size(node, sizes, longest)
        cost = _cost(node, sizes)
        operations += cost >= OPERATION
        if id(node) in early:
            before += cost
        else:
            spent += cost
    return Work(spent, operations, before)


def _cost(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    if isinstance(node, _FREE):
        return 0
    if type(node) in _PARTS:
        return _PARTS[type(node)]
    return _SLOW.get(type(node), 1) * OPERATION + _characters(node, sizes)


def _before_joins(nodes: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Of inner joins, the conditions over one item alone, and the sides of equalities of two.

    Every engine tests the former where it reads the item, and hashes the latter once for each of its rows.
    """
    for select in nodes:
        where = select.args.get("where") if isinstance(select, exp.Select) else None
        joins = select.args.get("joins") or []
        if where is None or not joins or any(j.kind != "CROSS" for j in joins):
            continue
        items = [_names(item.this) for item in (select.args["from_"], *joins)]
        for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
            alone = condition.unnest()
            sides = [alone] if type(alone) is not exp.EQ else [alone, alone.this, alone.expression]
            yield from (s for s in sides if _is_of_one(s, items))


def _names(item: exp.Expr) -> frozenset[str]:
    """The columns that an item of FROM shows, as far as they are written."""
    select = item.this if isinstance(item, exp.Subquery) else None
    if not isinstance(select, exp.Select):
        return frozenset()
    named = {e.alias_or_name for e in select.expressions if not isinstance(e, exp.Star)}
    return frozenset(named) or _names(select.args["from_"].this)


def _is_of_one(condition: exp.Expr, items: Sequence[frozenset[str]]) -> bool:
    names = {c.name for c in condition.find_all(exp.Column) if not is_place(c.name)}
    return bool(names) and condition.find(exp.Query) is None and any(names <= item for item in items)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    yield from node.iter_expressions()


def _sizes(node: exp.Expr, sizes: Mapping[int, int]) -> list[int]:
    return [sizes.get(id(child), 0) for child in _operands(node)]


def _largest(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    return max(_sizes(node, sizes), default=0)


def _of(node: exp.Expr, place: str, sizes: Mapping[int, int]) -> int:
    return sizes.get(id(node.args.get(place)), 0)


def _replaced(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    """As many parts as there can be, each in its new form."""
    text, new, part = _of(node, "this", sizes), _of(node, "replacement", sizes), node.expression
    shortest = max(1, len(part.name)) if isinstance(part, exp.Literal) else 1
    parts, rest = divmod(text, shortest)
    return max(text, parts * new + rest)


def _first(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    """So many characters of a text; of a number that is no constant, all."""
    text, count = _of(node, "this", sizes), node.args.get("length") or node.args.get("expression")
    is_constant = isinstance(count, exp.Literal) and not count.is_string and count.name.isdigit()
    return min(text, int(count.name)) if is_constant and count is not None else text


def _shown(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    return max((sizes.get(id(e), 0) for e in node.expressions), default=0)


def _branch(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    return _of(node, "true", sizes)


Size = Callable[[Any, Mapping[int, int]], int]

_SIZES: dict[type[exp.Expr], Size] = {
    **dict.fromkeys(
        (
            exp.Paren, exp.Alias, exp.Subquery, exp.Lower, exp.Upper, exp.Trim, exp.Min, exp.Max, exp.Case,
            exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Distinct, exp.Right,
        ),
        _largest,
    ),
    exp.Select: _shown,
    exp.If: _branch,
    exp.Left: _first,
    exp.Substring: _first,
    exp.Replace: _replaced,
    exp.Concat: lambda node, sizes: sum(_sizes(node, sizes)),
    exp.DPipe: lambda node, sizes: sum(_sizes(node, sizes)),
}  # fmt: skip
"""The most characters of what a node is, from those of its operands; 0 for what is no text."""


def _size(node: exp.Expr, sizes: Mapping[int, int], longest: Mapping[str, int]) -> int:
    if isinstance(node, exp.Column):
        return longest.get(node.name, 0)
    if isinstance(node, exp.Literal):
        return len(node.name) if node.is_string else 0
    found = _SIZES.get(type(node))
    return 0 if found is None else found(node, sizes)


def _run(node: exp.Expr) -> int:
    """Characters beyond the second between two wildcards, at most: so many are compared at each place in vain."""
    pattern = node.expression
    written = pattern.name if isinstance(pattern, exp.Literal) else "x" * _PATTERN
    return max(0, max(len(run) for run in written.split("%")) - 2)


def _characters(node: exp.Expr, sizes: Mapping[int, int]) -> int:
    """Nanoseconds that the characters of the operands take."""
    text = _of(node, "this", sizes)
    match node:
        case exp.Lower() | exp.Upper():
            return _MAPPED * text
        case exp.Trim():
            return (_TRIMMED + _FURTHER * max(1, _of(node, "expression", sizes))) * text
        case exp.Like():
            return (_SEARCHED + _FURTHER * _run(node)) * text
        case exp.ILike():
            return (2 * _MAPPED + _FURTHER * _run(node)) * text
        case exp.StrPosition():
            return (_SEARCHED + _FURTHER * _of(node, "substr", sizes)) * text
        case exp.Replace():
            part = _of(node, "expression", sizes)
            return (_REPLACED + _FURTHER * part) * text + CHARACTER * _replaced(node, sizes)
        case exp.Predicate():  # of texts as they are, a word of the machine at a time
            return max(_sizes(node, sizes), default=0)
        case _:
            return CHARACTER * sum(_sizes(node, sizes))
