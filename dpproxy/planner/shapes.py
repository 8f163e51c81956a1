"""Statements that differ in constants alone are planned once: the plan of a shape, with the constants put in.

The text is cut at its constants without being parsed. Of those, a shape leaves open what stands in a WHERE or an ON
beside a column, in a comparison, a BETWEEN or an IN list, until planning looks at one: that and all others are part of
the shape. So is which of them are equal: two that are written alike are one. A plan of unseen constants holds for every
value they can have; it is used only where, with the constants of the statement at hand, it is what that was planned as.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Self

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Plan
from dpproxy.analysis.literals import LONGEST_LITERAL
from dpproxy.analysis.scopes import Parameters
from dpproxy.analysis.unseen import DAY, LARGEST, MOMENT, TEXT, Class, Unseen, Value, constant
from dpproxy.planner.reuse.normal_form import NormalStage, filled, known_as, normal, stage
from dpproxy.planner.reuse.terms import Term, term
from dpproxy.sql import lexer
from dpproxy.sql.grammar import is_plain
from dpproxy.values.pgtypes import DATE, FLOATS, INT4, INTEGERS, NUMERIC, TEXTS, TIMESTAMP, UNKNOWN, SqlType

LONGEST = 4000
"""Characters of a statement that is cut at its constants."""
MOST_PLACES = 100
"""Constants in it."""
MOST_DECIMALS = 9
"""Of a parameter that is open."""
_NUMBER = re.compile(r"\d{1,9}(?:\.(\d{1,9}))?", re.ASCII).fullmatch
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)?", re.ASCII).fullmatch
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Between, exp.In)
_WRITTEN = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TEXT)
"""Types that a text is cast to."""


class Cut(Struct, frozen=True):
    """A text cut at its constants: what is between them with the class of each, and the constants as written."""

    shape: str
    constants: tuple[str, ...]
    starts: tuple[int, ...]

    def place_of(self, node: exp.Expr, starts: Mapping[int, int]) -> int | None:
        """Of those that begin at ``starts``, the constant that a node was read of."""
        place = starts.get(node.meta.get("start", -1)) if type(node) is exp.Literal else None
        if place is None:
            return None
        raw = self.constants[place]
        return place if node.name == (_content(raw) if node.is_string else raw) else None

    def fixed(self, places: Sequence[int]) -> tuple[object, ...]:
        """The constants that are part of the shape as they are written; of the open ones, which are the same."""
        opened = self.opened(places)
        return tuple(opened.get(c, c) if p in places else c for p, c in enumerate(self.constants))

    def opened(self, places: Sequence[int]) -> dict[str, int]:
        """The open constants, each once, and their numbers."""
        return {c: n for n, c in enumerate(dict.fromkeys(self.constants[p] for p in places))}

    def values(self, places: Sequence[int]) -> list[Value]:
        """Of those that are open."""
        return [_content(c) if c[0] == "'" else Fraction(c) for c in self.opened(places)]


def cut(sql: str) -> Cut | None:
    """A text as its shape and constants; None where it is long, has none, or may not be what it looks like."""
    if len(sql) > LONGEST or not is_plain(sql):
        return None
    shape, constants, starts = list[str](), list[str](), list[int]()
    at = 0
    for start, end in lexer.constants(sql):
        raw = sql[start:end]
        kind = _class(raw)
        if kind is not None:
            shape += (sql[at:start], f"\x01{kind[0].oid}.{kind[1]}\x02")
            constants.append(raw)
            starts.append(start)
            at = end
    shape.append(sql[at:])
    return Cut("".join(shape), tuple(constants), tuple(starts)) if 0 < len(starts) <= MOST_PLACES else None


def _class(raw: str) -> tuple[SqlType, Class] | None:
    """The type of a constant as it is written, and its class; None for what is always part of a shape."""
    if raw[0] == "'":
        return (UNKNOWN, _class_of_text(_content(raw))) if len(raw) <= LONGEST_LITERAL else None
    found = _NUMBER(raw)
    if found is None:
        return None
    return (INT4, 0) if found[1] is None else (NUMERIC, len(found[1].rstrip("0")))


def _content(raw: str) -> str:
    return raw[1:-1].replace("''", "'")


def _class_of_text(text: str) -> Class:
    found = _MOMENT(text)
    if found is None:
        return TEXT
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return TEXT
    return DAY if found[1] == text else MOMENT


class ExactShape(Struct, frozen=True):
    """The exact stage of a part, with holes for the open numbers, and its normal form with these.

    None where they stand somewhere else than in its conditions, or could decide the order of its items: it is made anew
    each time then.
    """

    query: nodes.Select
    form: NormalStage | None
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

    def with_(self, values: Sequence[Value]) -> nodes.Select:
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


class Template(Struct, frozen=True):
    """The plan of a shape, the exact stages of its parts, and by place which constants it holds for alone."""

    plan: Plan
    exact: tuple[ExactShape, ...]
    within: tuple[tuple[int, Container[object]], ...] = ()

    def fits(self, values: Sequence[Value]) -> bool:
        """Whether it holds for constants of its classes."""
        return all(values[place] in allowed for place, allowed in self.within)

    def with_(self, values: Sequence[Value]) -> Plan:
        """The plan of a statement."""
        parts = zip(self.plan.parts, self.exact, strict=True)
        return replace(self.plan, parts=tuple(replace(p, query=e.with_(values)) for p, e in parts))


def open_places(tree: exp.Expr, cut: Cut) -> tuple[int, ...]:
    """The constants of a text that a plan need not see, by their places."""
    starts = {start: place for place, start in enumerate(cut.starts)}
    found = (cut.place_of(node, starts) for node in _compared(tree))
    return tuple(sorted(place for place in found if place is not None))


def open_parameters(tree: exp.Expr) -> frozenset[int]:
    """The parameters that a plan need not see, by their numbers."""
    found = {node.name for node in _compared(tree) if type(node) is exp.Parameter}
    return frozenset(int(name) for name in found if name.isdigit())


def _compared(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What columns are compared with in WHERE and ON."""
    for node in tree.find_all(*_COMPARISONS):
        values = [value if isinstance(value, list) else [value] for value in node.args.values()]
        sides = [side for value in values for side in value if isinstance(side, exp.Expr)]
        around = node.find_ancestor(exp.Select, exp.Where, exp.Join, exp.AggFunc)
        is_condition = type(around) is exp.Join or (
            type(around) is exp.Where and type(around.parent) is exp.Select
        )
        if is_condition and any(type(side) is exp.Column for side in sides):
            yield from (side.this if _is_cast(side) else side for side in sides)


def _is_cast(node: object) -> bool:
    return type(node) is exp.Cast and node.to.this in _WRITTEN


def template(
    tree: exp.Expr,
    cut: Cut,
    places: Sequence[int],
    plan: Plan,
    planned: Callable[[exp.Expr, Parameters], object],
) -> Template | None:
    """The template of a statement's shape; None where its plan depends on the constants.

    ``planned`` plans a tree; what it raises is passed on, ``Looked`` where it looks at them.
    """
    numbers, starts = cut.opened(places), {cut.starts[place]: place for place in places}
    classes = [_class(c) for c in numbers]
    kinds = {n: found[0] for n, found in enumerate(classes, 1) if found is not None}
    unseen = tuple(Unseen(n, found[1]) for n, found in enumerate(classes) if found is not None)

    def opened(node: exp.Expr) -> exp.Expr:
        place = cut.place_of(node, starts)
        return (
            node
            if place is None
            else exp.Parameter(this=exp.Literal.number(numbers[cut.constants[place]] + 1))
        )

    found, values = planned(tree.transform(opened), Parameters(kinds, unseen)), cut.values(places)
    return checked(found, plan, values, unseen)


def checked(
    found: object, plan: Plan, values: Sequence[Value], unseen: Sequence[Unseen] = ()
) -> Template | None:
    """The template out of a plan of unseen constants, if with these values it is this plan, its normal forms too.

    Raises ``Looked`` where it holds for others than a value.
    """
    if not isinstance(found, Plan):
        return None
    within = tuple((u.place, allowed) for u in unseen for allowed in u.within)
    for place in (place for place, allowed in within if values[place] not in allowed):
        raise nodes.Looked(place)
    made = Template(found, tuple(ExactShape.of(part.query) for part in found.parts), within)
    filled_in = made.with_(values)
    if filled_in != plan or _forms(filled_in) != _forms(plan):
        return None
    return replace(made, plan=plan)  # equal in all but its queries: what is large in it is kept once


def _forms(plan: Plan) -> list[NormalStage]:
    return [stage(part.query) for part in plan.parts]


def class_of(value: object, kind: SqlType) -> tuple[Class] | None:
    """The class of a parameter's value that a plan need not see; None for all others."""
    match value:
        case str() if kind.oid in TEXTS and len(value) <= LONGEST_LITERAL and value.isprintable():
            return (_class_of_text(value),)
        case datetime(tzinfo=None, microsecond=0) if kind.oid == TIMESTAMP.oid:
            return (MOMENT,)
        case date() if kind.oid == DATE.oid and not isinstance(value, datetime):
            return (DAY,)
        case float() if kind.oid in FLOATS and 0 <= value < LARGEST:
            return (None,)
        case int() if type(value) is int and kind.oid in INTEGERS and 0 <= value < LARGEST:
            return (0,)
        case Decimal() if kind.oid == NUMERIC.oid and value.is_finite() and 0 <= value < LARGEST:
            decimals = max(-int(value.normalize().as_tuple().exponent), 0)
            return (decimals,) if decimals <= MOST_DECIMALS else None
        case _:
            return None


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
        found = class_of(values[place], given.types[place + 1])
        values[place] = values[place] if found is None else Unseen(index, found[0])
    made = planned(Parameters(dict(given.types), tuple(values)))
    unseen = [value for value in values if isinstance(value, Unseen)]
    return checked(made, plan, exact_values([given.values[place] for place in places]), unseen)


def exact_values(values: Sequence[object]) -> list[Value]:
    """Parameters as they are put into a template."""
    return [Fraction(v) if isinstance(v, int | float | Decimal) else str(v) for v in values]
