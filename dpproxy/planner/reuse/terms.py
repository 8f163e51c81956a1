"""Expressions of the exact stage in a normal form: equal terms have the same value on every row of every database.

A term is a tuple of a tag and its parts, told apart and ordered by what ``encoded`` writes of them. The rules are those
of three-valued logic, and of an engine that orders NaN like a number: AND and OR in any order and once each, NOT moved
inwards, comparisons turned to ``<`` and ``<=``, IN as what it stands for, sums and products of two in any order. All
else keeps its arguments and their order.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpproxy.algebra import nodes

Term = tuple[Any, ...]
"""A tag, and terms or names."""

TRUE: Term = ("true",)
FALSE: Term = ("false",)
NULL: Term = ("null",)

Leaf = Callable[[nodes.Node], Term | None]
"""A column or a subquery as a term; None for every other node."""

_TURNED: dict[str, tuple[str, bool]] = {
    "<": ("lt", False), "<=": ("le", False), ">": ("lt", True), ">=": ("le", True),
}  # fmt: skip
_EITHER_WAY: dict[str, str] = {
    "=": "eq", "<>": "ne", "IS NOT DISTINCT FROM": "same", "IS DISTINCT FROM": "differs", "+": "add", "*": "mul",
}  # fmt: skip


class NoRule(Exception):
    """No rule covers a part of the statement."""


def term(node: nodes.Node, leaf: Leaf) -> Term:
    """The normal form of an expression. Raises ``NoRule``."""
    found = leaf(node)
    if found is not None:
        return found
    rule = _RULES.get(type(node))
    if rule is None:
        raise NoRule
    return rule(node, leaf)


def _each(several: Iterable[nodes.Node], leaf: Leaf) -> Term:
    return tuple(term(node, leaf) for node in several)


def _binary(node: nodes.Binary, leaf: Leaf) -> Term:
    left, right = term(node.left, leaf), term(node.right, leaf)
    if node.operator in _TURNED:
        tag, is_turned = _TURNED[node.operator]
        return (tag, right, left) if is_turned else (tag, left, right)
    if node.operator in _EITHER_WAY:
        return (_EITHER_WAY[node.operator], *arranged([left, right]))
    if node.operator.startswith("NOT "):
        return negated((node.operator[4:], left, right))
    return (node.operator, left, right)


def _among(node: nodes.InList, leaf: Leaf) -> Term:
    value, listed = term(node.value, leaf), _each(node.among, leaf)
    kinds = {constant_kind(e) for e in listed}
    # The engine compares with a list in one type, which is that of each only where they are of one.
    if len(kinds) == 1 and None not in kinds:
        return any_of([("eq", *arranged([value, e])) for e in listed])
    return ("among", value, *listed)


def _call(node: nodes.Call, leaf: Leaf) -> Term:
    more = () if node.where is None else (term(node.where, leaf),)
    return ("call", node.name, node.distinct, _each(node.arguments, leaf), _each(node.order, leaf), *more)


def _case(node: nodes.Case, leaf: Leaf) -> Term:
    if node.idle and node.default is not None:
        held = term(node.default, leaf)
        return ("present", held) if node.present else held
    branches = tuple((term(when, leaf), term(then, leaf)) for when, then in node.branches)
    return ("case", branches, NULL if node.default is None else term(node.default, leaf))


def _window(node: nodes.Window, leaf: Leaf) -> Term:
    partition, order = _each(node.partition, leaf), _each(node.order, leaf)
    return ("window", term(node.call, leaf), partition, order, node.frame)


_RULES: dict[type[nodes.Node], Callable[[Any, Leaf], Term]] = {
    nodes.Paren: lambda node, leaf: term(node.value, leaf),
    nodes.Named: lambda node, leaf: term(node.value, leaf),
    nodes.And: lambda node, leaf: all_of(_each(node.conditions, leaf)),
    nodes.Or: lambda node, leaf: any_of(_each(node.conditions, leaf)),
    nodes.Not: lambda node, leaf: negated(term(node.value, leaf)),
    nodes.Number: lambda node, _: ("literal", False, node.text),
    nodes.Hole: lambda node, _: ("hole", node.place, node.form),
    nodes.Text: lambda node, _: ("literal", True, node.value),
    nodes.Truth: lambda node, _: TRUE if node.value else FALSE,
    nodes.Null: lambda _, __: NULL,
    nodes.Star: lambda _, __: ("star",),
    nodes.Parameter: lambda node, _: ("parameter", node.number),
    nodes.Negative: lambda node, leaf: ("neg", term(node.value, leaf)),
    nodes.IsNull: lambda node, leaf: ("is null", term(node.value, leaf)),
    nodes.Binary: _binary,
    nodes.InList: _among,
    nodes.Case: _case,
    nodes.Cast: lambda node, leaf: ("cast", node.type, node.tries, term(node.value, leaf)),
    nodes.Call: _call,
    nodes.Window: _window,
    nodes.Ordered: lambda node, leaf: ("ordered", term(node.value, leaf), node.descending, node.nulls_first),
    nodes.Tuple: lambda node, leaf: ("tuple", *_each(node.values, leaf)),
}
"""One line for each class; what has none has no normal form. The meaning of a tag never changes: stored releases are
found by them."""


encoded = json.JSONEncoder(separators=(",", ":")).encode
"""A term in writing, by which terms are told apart, ordered and hashed: tags, names, numbers and lists of them."""


def arranged(terms: Iterable[Term]) -> list[Term]:
    """In an order of our own."""
    return sorted(terms, key=encoded)


def constant_kind(value: Term) -> Term | None:
    """What tells the type of a literal, with or without a sign or a cast; None for what is no literal."""
    match value:
        case ("literal", True, _):
            return ("text",)
        case ("literal", False, str(text)):
            return ("double",) if "e" in text.lower() else ("number", len(text.partition(".")[2]))
        case ("hole", _, form):
            return ("double",) if form is None else ("number", 0) if isinstance(form, int) else ("text",)
        case ("true",) | ("false",):
            return ("bool",)
        case ("neg", inner):
            return constant_kind(inner)
        case ("cast", to, False, inner):
            return None if constant_kind(inner) is None else ("cast", to)
        case _:
            return None


def all_of(parts: Iterable[Term]) -> Term:
    """AND."""
    return _joined(parts, "and", TRUE, FALSE, "ne", "not in")


def any_of(parts: Iterable[Term]) -> Term:
    """OR."""
    return _joined(parts, "or", FALSE, TRUE, "eq", "in")


def _joined(parts: Iterable[Term], tag: str, neutral: Term, final: Term, single: str, listed: str) -> Term:
    """Flat, each part once; comparisons of one thing with constants as one list."""
    flat: dict[Term, None] = {}
    lists: dict[tuple[Term, Term | None], dict[Term, None]] = {}
    for part in parts:
        for each in part[1:] if part[0] == tag else (part,):
            found = _listed(each, single, listed)
            if found is None:
                flat[each] = None
            else:
                value, constants = found
                lists.setdefault((value, constant_kind(constants[0])), {}).update(dict.fromkeys(constants))
    for (value, _), several in lists.items():
        shown: Term = (listed, value, *arranged(several))
        flat[(single, *arranged([value, shown[2]])) if len(several) == 1 else shown] = None
    flat.pop(neutral, None)
    if final in flat:
        return final
    if len(flat) < 2:
        return next(iter(flat), neutral)
    return (tag, *arranged(flat))


def _listed(part: Term, single: str, listed: str) -> tuple[Term, tuple[Term, ...]] | None:
    """What is compared, and the constants it is compared with."""
    if part[0] == listed:
        return part[1], tuple(part[2:])
    if part[0] != single:
        return None
    left, right = (constant_kind(side) is not None for side in part[1:])
    if left == right:
        return None
    return (part[2], (part[1],)) if left else (part[1], (part[2],))


_OPPOSITE = {"eq": "ne", "ne": "eq", "in": "not in", "not in": "in"}


def negated(part: Term) -> Term:
    """NOT."""
    tag = part[0]
    if tag in _OPPOSITE:
        return (_OPPOSITE[tag], *part[1:])
    if tag in ("lt", "le"):
        return ("le" if tag == "lt" else "lt", part[2], part[1])
    if tag in ("and", "or"):
        return (any_of if tag == "and" else all_of)(negated(p) for p in part[1:])
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    return part[1] if tag == "not" else ("not", part)


def conjunction(conditions: Iterable[Term]) -> tuple[Term, ...]:
    """The parts of an AND, each once, in an order of our own."""
    joined = all_of(conditions)
    return tuple(joined[1:]) if joined[0] == "and" else () if joined == TRUE else (joined,)


_SINGLE: dict[str, str] = {"in": "eq", "not in": "ne"}
"""A list of one."""
_SIDES = frozenset(_EITHER_WAY.values())


def rearranged(parts: Term) -> Term:
    """A term whose parts have changed, in order again where order means nothing."""
    if parts and parts[0] in _SIDES and len(parts) == 3:
        return (parts[0], *arranged(parts[1:]))
    if parts and parts[0] in ("and", "or"):
        joined = arranged(dict.fromkeys(parts[1:]))
        return (parts[0], *joined) if len(joined) > 1 else joined[0]
    if parts and parts[0] in _SINGLE:
        listed = arranged(dict.fromkeys(parts[2:]))
        return (
            (*parts[:2], *listed)
            if len(listed) > 1
            else (_SINGLE[parts[0]], *arranged([parts[1], listed[0]]))
        )
    return parts


def put(found: Any, constants: Mapping[Term, Term]) -> Any:  # noqa: ANN401 - a term or a part of one
    """A term with other constants in the place of some."""
    if not isinstance(found, tuple):
        return found
    other = constants.get(found)
    return rearranged(tuple(put(part, constants) for part in found)) if other is None else other
