"""Lists of values as arrays, as drivers write them: ``x = ANY (ARRAY[1, 2])`` is ``x IN (1, 2)``.

And ``x <> ALL ('{1,2}'::int[])`` is ``x NOT IN (1, 2)``. ``SOME`` is another word for ``ANY``.
``x IN (VALUES (1), (2))`` is a list, too.
"""

import re
from typing import Final

from sqlglot import exp

from dpproxy.analysis import plain
from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidText, TooComplex

MOST_VALUES: Final = 1000
"""In one list that is written as a text."""
_TEXTS: Final = frozenset({exp.DType.TEXT, exp.DType.VARCHAR})
_WHOLE_NUMBER: Final = re.compile(r"(-?)([0-9]{1,4})")
_WHOLE: Final = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})


def write_lists(tree: exp.Expr) -> None:
    """Write comparisons with each value of a list as IN, in place. Errors: ``InvalidText``, ``TooComplex``."""
    for test in tree.find_all(exp.In):
        only = test.expressions[0] if len(test.expressions) == 1 else None
        if type(only) is exp.Values and [n for n, given in only.args.items() if given] == ["expressions"]:
            rows = only.expressions
            alone = all(len(row.expressions) == 1 for row in rows)
            test.set("expressions", [row.expressions[0] for row in rows] if alone else rows)
    for node in list(tree.find_all(exp.EQ, exp.NEQ)):
        array = _array(node)
        values = None if array is None else listed_values(array)
        if values is None:
            continue
        listed: exp.Expr = exp.In(this=node.this, expressions=values or [exp.Null()])
        if not values:  # no value of none is equal, and that is known of NULL too
            listed = exp.Is(this=listed, expression=exp.Boolean(this=True))
        if isinstance(node, exp.NEQ):
            listed = exp.Paren(this=exp.Not(this=listed))
        listed.meta.update(node.meta)
        node.replace(listed)


def _array(node: exp.Expr) -> exp.Expr | None:
    """What stands in ``= ANY``, ``= SOME`` or ``<> ALL``; the parser reads the last two as functions."""
    right = node.expression
    if isinstance(right, exp.Any):
        found: exp.Expr | None = right.this if isinstance(node, exp.EQ) else None
        return found
    word = "some" if isinstance(node, exp.EQ) else "all"
    if type(right) is exp.Anonymous and right.name.lower() == word and len(right.expressions) == 1:
        only: exp.Expr = right.expressions[0]
        return only
    return None


def listed_values(array: exp.Expr) -> list[exp.Expr] | None:
    """The values of an array that is written out; None of any other."""
    array, kind = array.unnest(), None
    to = array.args.get("to") if isinstance(array, exp.Cast) else None
    if isinstance(to, exp.DataType) and to.is_type(exp.DType.ARRAY) and len(to.expressions) == 1:
        array, kind = array.this.unnest(), to.expressions[0]
    if isinstance(array, exp.Array):
        return [_typed(value, kind) for value in array.expressions]
    if isinstance(array, exp.Literal) and array.is_string and array.name.strip().startswith("{"):
        return [_typed(value, kind) for value in _read(array)]
    return None


def _read(array: exp.Literal) -> list[exp.Expr]:
    read = plain.texts_of(array)
    if len(read) > MOST_VALUES:
        raise TooComplex(f"a list of more than {MOST_VALUES} values", hint="write a range, or fewer values")
    if any(isinstance(value, list) for value in read):
        raise InvalidText("a list of values has one dimension", position=position(array))
    values: list[exp.Expr] = [
        exp.Null() if value is None else exp.Literal.string(str(value)) for value in read
    ]
    for value in values:
        value.meta.update(array.meta)
    return values


def _typed(value: exp.Expr, kind: exp.Expr | None) -> exp.Expr:
    """A value under the cast of its list, where that changes anything."""
    if not isinstance(kind, exp.DataType) or isinstance(value, exp.Null):
        return value
    if isinstance(value, exp.Literal) and not kind.expressions:
        if kind.this in _TEXTS and value.is_string:
            return value
        if kind.this in _WHOLE and (number := _WHOLE_NUMBER.fullmatch(value.name)):
            value.set("is_string", False)  # noqa: FBT003 - the argument of a node
            value.set("this", number[2])
            return exp.Neg(this=value) if number[1] else value
    return exp.Cast(this=value, to=kind.copy())
