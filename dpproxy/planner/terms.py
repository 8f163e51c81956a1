"""Expressions of the exact stage in a normal form: equal terms have the same value on every row of every database.

A term is a tuple of a tag and its parts, told apart and ordered by ``repr``. The rules are those of three-valued logic,
and of an engine that orders NaN like a number: AND and OR in any order and once each, NOT moved inwards, comparisons
turned to ``<`` and ``<=``, BETWEEN and IN as what they stand for, sums and products of two in any order. Whatever no
rule knows keeps its node, its arguments and their order.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlglot import exp

Term = tuple[Any, ...]
"""A tag, and terms or names."""

TRUE: Term = ("true",)
FALSE: Term = ("false",)
NULL: Term = ("null",)

Leaf = Callable[[exp.Expr], Term | None]
"""A column or a subquery as a term; None for every other node."""

_TURNED: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.LT: ("lt", False), exp.LTE: ("le", False), exp.GT: ("lt", True), exp.GTE: ("le", True),
}  # fmt: skip
_EITHER_WAY: dict[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.NullSafeEQ: "same", exp.NullSafeNEQ: "differs", exp.Add: "add", exp.Mul: "mul",
}  # fmt: skip


def term(node: exp.Expr, leaf: Leaf) -> Term:
    """The normal form of an expression."""
    found = leaf(node)
    if found is not None:
        return found
    match node:
        case exp.Paren():
            return term(node.this, leaf)
        case exp.And() | exp.Or():
            parts = [term(part, leaf) for part in node.flatten()]
            return all_of(parts) if isinstance(node, exp.And) else any_of(parts)
        case exp.Not():
            return negated(term(node.this, leaf))
        case exp.Literal():
            return ("literal", bool(node.is_string), str(node.this))
        case exp.Boolean():
            return TRUE if node.this else FALSE
        case exp.Null():
            return NULL
        case _:
            return _compared(node, leaf) or _generic(node, leaf)


def _compared(node: exp.Expr, leaf: Leaf) -> Term | None:
    kind = type(node)
    if kind in _TURNED:
        tag, is_turned = _TURNED[kind]
        left, right = term(node.this, leaf), term(node.expression, leaf)
        return (tag, right, left) if is_turned else (tag, left, right)
    if kind in _EITHER_WAY:
        return (_EITHER_WAY[kind], *arranged([term(node.this, leaf), term(node.expression, leaf)]))
    if kind is exp.Between and not node.args.get("symmetric"):
        value = term(node.this, leaf)
        low, high = term(node.args["low"], leaf), term(node.args["high"], leaf)
        return all_of([("le", low, value), ("le", value, high)])
    if kind is exp.In and set(_given(node)) == {"this", "expressions"}:
        value, listed = term(node.this, leaf), [term(e, leaf) for e in node.expressions]
        # The engine compares with a list in one type, which is that of each only where they are of one.
        if len({constant_kind(e) for e in listed} - {None}) == 1 and not any(
            constant_kind(e) is None for e in listed
        ):
            return any_of([("eq", *arranged([value, e])) for e in listed])
    return None


def _generic(node: exp.Expr, leaf: Leaf) -> Term:
    return (type(node).__name__, *((name, _argument(value, leaf)) for name, value in _given(node).items()))


def _given(node: exp.Expr) -> dict[str, Any]:
    return {name: value for name, value in sorted(node.args.items()) if value not in (None, False, [])}


def _argument(value: object, leaf: Leaf) -> Any:  # noqa: ANN401 - a term, a list of them, or a plain value
    if isinstance(value, exp.Expr):
        return term(value, leaf)
    if isinstance(value, list):
        return tuple(_argument(v, leaf) for v in value)
    return (type(value).__name__, str(value))


def arranged(terms: Iterable[Term]) -> list[Term]:
    """In an order of our own."""
    return sorted(terms, key=repr)


def constant_kind(value: Term) -> Term | None:
    """What tells the type of a literal, with or without a sign or a cast; None for what is no literal."""
    match value:
        case ("literal", True, _):
            return ("text",)
        case ("literal", False, str(text)):
            return ("double",) if "e" in text.lower() else ("number", len(text.partition(".")[2]))
        case ("true",) | ("false",):
            return ("bool",)
        case ("Neg", ("this", inner)):
            return constant_kind(inner)
        case ("Cast", *_):
            parts = dict(value[1:])
            return None if constant_kind(parts["this"]) is None else ("cast", parts["to"])
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


_SIDES = frozenset(_EITHER_WAY.values())


def rearranged(parts: Term) -> Term:
    """A term whose parts have changed, in order again where order means nothing."""
    if parts and parts[0] in _SIDES and len(parts) == 3:
        return (parts[0], *arranged(parts[1:]))
    if parts and parts[0] in ("and", "or"):
        return (parts[0], *arranged(dict.fromkeys(parts[1:])))
    if parts and parts[0] in ("in", "not in"):
        return (*parts[:2], *arranged(parts[2:]))
    return parts


def put(found: Any, constants: Mapping[Term, Term]) -> Any:  # noqa: ANN401 - a term or a part of one
    """A term with other constants in the place of some."""
    if not isinstance(found, tuple):
        return found
    other = constants.get(found)
    return rearranged(tuple(put(part, constants) for part in found)) if other is None else other
