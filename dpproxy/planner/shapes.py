"""Statements that differ in numbers alone are planned once: the plan of a shape, with the numbers put in.

The text is cut at its numbers without being parsed. Of those, a shape leaves open what stands in the outermost WHERE of
a query of tables as ``column < number``, until planning looks at one: that and all others are part of the shape.
A plan of unseen constants holds for every value they can have; it is used only where, with the numbers of the statement
at hand, it is what that statement was planned as.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Self

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.analysis.unseen import LARGEST, Unseen, constant
from dpproxy.planner.canonical import Stage, filled, known_as, normal, stage
from dpproxy.planner.terms import Term, term
from dpproxy.sql.grammar import is_plain
from dpproxy.values.pgtypes import FLOATS, INT4, INTEGERS, NUMERIC, SqlType

LONGEST = 2000
"""Characters of a statement that is cut at its numbers."""
MOST_PLACES = 20
"""Numbers in it."""
MOST_DECIMALS = 9
"""Of a parameter that is open."""
_CUT = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.$])(\d{1,9})(?:\.(\d{1,9}))?(?![\w.$])", re.ASCII)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)
_ALONE = ("with_", "laterals", "windows", "qualify", "distinct", "hint")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut at its numbers: what is between them with the class of each, the numbers, and where they begin."""

    shape: str
    numbers: tuple[str, ...]
    starts: tuple[int, ...]

    def fixed(self, places: Sequence[int]) -> tuple[str, ...]:
        """The numbers that are part of the shape, as they are written."""
        return tuple(n for index, n in enumerate(self.numbers) if index not in places)

    def values(self, places: Sequence[int]) -> list[Fraction]:
        """Those that are open."""
        return [Fraction(self.numbers[index]) for index in places]


def cut(sql: str) -> Cut | None:
    """A text as its shape and numbers; None where it is long, has none, or may not be what it looks like."""
    if len(sql) > LONGEST or not is_plain(sql):
        return None
    numbers: list[str] = []
    starts: list[int] = []

    def kept(found: re.Match[str]) -> str:
        whole, decimals = found.groups()
        if whole is None:
            return found[0]
        numbers.append(found[0])
        starts.append(found.start())
        return "\x01" if decimals is None else f"\x01{len(decimals.rstrip('0'))}\x02"

    shape = _CUT.sub(kept, sql)
    return Cut(shape, tuple(numbers), tuple(starts)) if 0 < len(numbers) <= MOST_PLACES else None


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact stage of a part, with holes for the open numbers, and its normal form with these.

    None where they stand somewhere else than in its conditions, or could decide the order of its items: it is made anew
    each time then.
    """

    query: nodes.Select
    form: Stage | None
    holes: frozenset[nodes.Hole]

    @classmethod
    def of(cls, query: nodes.Select) -> Self:
        """Of a query that was made with unseen constants."""
        holes = frozenset(query.find_all(nodes.Hole))
        try:
            form = normal(query)
        except nodes.Looked:
            return cls(query, None, holes)
        is_known = not (form.has_alike or _has_hole((form.rows, form.keys, form.measures)))
        return cls(query, form if is_known else None, holes)

    def with_(self, values: Sequence[Fraction]) -> nodes.Select:
        """The query of a statement's; ``stage`` knows it from then on."""
        constants = {hole: constant(hole, values) for hole in self.holes}
        query = self.query.transform(lambda node: constants[node] if isinstance(node, nodes.Hole) else None)
        if not isinstance(query, nodes.Select):
            raise TypeError("a query stays one")
        if self.form is not None:
            terms = {term(hole, _none): term(number, _none) for hole, number in constants.items()}
            known_as(query, filled(self.form, terms))
        return query


def _none(_: nodes.Node) -> None:
    return None


def _has_hole(found: Term) -> bool:
    is_one = bool(found) and found[0] == "hole"
    return is_one or any(_has_hole(part) for part in found if isinstance(part, tuple))


@dataclass(frozen=True, slots=True)
class Template:
    """The plan of a shape, and the exact stages of its parts."""

    plan: Plan
    exact: tuple[Exact, ...]

    def with_(self, values: Sequence[Fraction]) -> Plan:
        """The plan of a statement."""
        parts = zip(self.plan.parts, self.exact, strict=True)
        return replace(self.plan, parts=tuple(replace(p, query=e.with_(values)) for p, e in parts))


def open_places(tree: exp.Expr, cut: Cut) -> tuple[int, ...]:
    """The numbers of a text that a plan need not see, by their places."""
    starts = {start: place for place, start in enumerate(cut.starts)}
    found = [node.meta.get("start") for node in _compared(tree) if _is_number(node)]
    return tuple(starts[start] for start in found if start in starts)


def open_parameters(tree: exp.Expr) -> frozenset[int]:
    """The parameters that a plan need not see, by their numbers."""
    every = [n.name for n in tree.find_all(exp.Parameter)]
    found = [node.name for node in _compared(tree) if type(node) is exp.Parameter]
    return frozenset(int(name) for name in found if every.count(name) == 1 and name.isdigit())


def _compared(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What the outermost WHERE of a query of tables compares columns with."""
    where = tree.args.get("where")
    if type(tree) is not exp.Select or where is None or any(tree.args.get(name) for name in _ALONE):
        return
    if tree.find(exp.Subquery, exp.Union) is not None or len(list(tree.find_all(exp.Select))) > 1:
        return
    for node in _conjuncts(where.this):
        if type(node) is exp.Between and type(node.this) is exp.Column:
            yield from (node.args["low"], node.args["high"])
        sides = (node.this, node.expression) if type(node) in _COMPARISONS else ()
        if any(type(side) is exp.Column for side in sides):
            yield from (side for side in sides if type(side) is not exp.Column)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _is_number(node: exp.Expr) -> bool:
    return type(node) is exp.Literal and not node.is_string


def template(
    tree: exp.Expr,
    cut: Cut,
    places: Sequence[int],
    plan: Plan,
    planned: Callable[[exp.Expr, Parameters], object],
) -> Template | None:
    """The template of a statement's shape; None where its plan depends on the numbers.

    ``planned`` plans a tree; what it raises is passed on, ``Looked`` where it looks at them.
    """
    kinds: dict[int, SqlType] = {}
    values: list[Unseen] = []
    by_start = {cut.starts[place]: place for place in places}

    def opened(node: exp.Expr) -> exp.Expr:
        place = by_start.get(node.meta.get("start", -1)) if type(node) is exp.Literal else None
        if place is None:
            return node
        decimals = cut.numbers[place].partition(".")[2].rstrip("0")
        kinds[len(values) + 1] = NUMERIC if "." in cut.numbers[place] else INT4
        values.append(Unseen(places.index(place), len(decimals)))
        return exp.Parameter(this=exp.Literal.number(len(values)))

    found = planned(tree.transform(opened), Parameters(kinds, tuple(values)))
    return checked(found, plan, cut.values(places)) if len(values) == len(places) else None


def checked(found: object, plan: Plan, values: Sequence[Fraction]) -> Template | None:
    """The template out of a plan of unseen constants, if with these values it is this plan, its normal forms too."""
    if not isinstance(found, Plan):
        return None
    made = Template(found, tuple(Exact.of(part.query) for part in found.parts))
    filled_in = made.with_(values)
    if filled_in != plan or _forms(filled_in) != _forms(plan):
        return None
    return replace(made, plan=plan)  # equal in all but its queries: what is large in it is kept once


def _forms(plan: Plan) -> list[Stage]:
    return [stage(part.query) for part in plan.parts]


def class_of(value: object, kind: SqlType) -> int | None:
    """The class of a parameter's value that a plan need not see: its decimals, -1 for a DOUBLE; None for all others."""
    if isinstance(value, float):
        is_open = kind.oid in FLOATS and 0 <= value < LARGEST
        return -1 if is_open else None
    if type(value) is int:
        return 0 if kind.oid in INTEGERS and 0 <= value < LARGEST else None
    if (
        not isinstance(value, Decimal)
        or kind.oid != NUMERIC.oid
        or not value.is_finite()
        or not 0 <= value < LARGEST
    ):
        return None
    decimals = -int(value.normalize().as_tuple().exponent)
    return max(decimals, 0) if decimals <= MOST_DECIMALS else None


def bound_template(
    places: Sequence[int],
    given: Parameters,
    plan: Plan,
    planned: Callable[[Parameters], object],
) -> Template | None:
    """The template of a statement with parameters of which those at ``places``, counted from 0, are open.

    Raises as ``template`` does.
    """
    if given.values is None:
        raise AssertionError("a statement whose parameters are bound")
    values: list[object] = list(given.values)
    for index, place in enumerate(places):
        decimals = class_of(values[place], given.types[place + 1])
        values[place] = Unseen(index, None if decimals == -1 else decimals)
    found = planned(Parameters(dict(given.types), tuple(values)))
    return checked(found, plan, exact_values([given.values[place] for place in places]))


def exact_values(values: Sequence[object]) -> list[Fraction]:
    """Numbers as they are put into a template."""
    return [Fraction(value) for value in values if isinstance(value, int | float | Decimal)]
