"""EXPLAIN (PRIVACY, CUBE): the privacy cube from which the statements of a dashboard follow, and what it costs.

Dimensions are the columns that the statements group by or have conditions about. Each is made as coarse as all
statements still follow that follow from the finest ones: whether they do is decided as it is for a cube that is built.
"""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Drawn, Plan
from dpproxy.algebra.request import ExplainSeveral
from dpproxy.engine.cubes import PlannedCube, fitted
from dpproxy.engine.pricing import Desk, PricedStatement, half_widths, priced_in_order
from dpproxy.planner.accept import parse
from dpproxy.planner.access import table_name
from dpproxy.planner.rewrites.filters import with_filters
from dpproxy.policy.model import Between
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import InvalidParameter, Refusal
from dpproxy.values.pgtypes import DATE, INTEGERS, TIMESTAMP, Column
from udfs.privacy import NANO

WIDTHS = (1000, 500, 250, 200, 100, 50, 25, 20, 10, 5, 2)
"""Of cells of whole numbers."""
UNITS = ("year", "quarter", "month")
MOST_NUMBERS = 2000
"""Whole numbers that are cells by themselves."""


class _Proposal(Struct, frozen=True):
    """A cube of some dimensions, and which statements follow from it."""

    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    cube: PlannedCube
    following: frozenset[int]


def proposed_lines(statement: ExplainSeveral, desk: Desk) -> list[str]:
    """The rows of the answer, one line each; a JSON document is one row. Raises a ``Refusal``."""
    priced = priced_in_order(statement.texts, desk)
    alone = sum((p.epsilon for p in priced), Fraction(0))
    epsilon = statement.budget or alone or Fraction(1)
    table, found = _proposed(priced, desk, epsilon)
    text = (
        f"CREATE PRIVACY CUBE {identifier(found.cube.name)} ON {table_text(table)} ({', '.join(found.dimensions)}) "
        f"MEASURES ({', '.join(found.measures)}) WITH (epsilon = {format_epsilon(int(epsilon * NANO))});"
    )
    left = sum((p.epsilon for n, p in enumerate(priced) if n not in found.following), Fraction(0))
    errors = [_errors(p, found, desk) if n in found.following else None for n, p in enumerate(priced)]
    if statement.as_json:
        listed = [
            {
                "sql": p.sql,
                "follows": e is not None,
                "epsilon": float(p.epsilon),
                "half_widths": e,
                "alone": half_widths(p.answered_plan),
            }
            for p, e in zip(priced, errors, strict=True)
        ]
        document = {
            "cube": text,
            "epsilon": float(epsilon),
            "alone": float(alone),
            "left": float(left),
            "statements": listed,
        }
        return [json.dumps(document, indent=2)]
    cells = found.cube.strategy.shape.cells
    lines = [
        text,
        (
            f"Price: epsilon {float(epsilon):.9g} once, for {cells} cells; "
            f"the statements one by one: epsilon {float(alone):.9g}"
        ),
    ]
    for number, (each, error) in enumerate(zip(priced, errors, strict=True), 1):
        price = f"epsilon {float(each.epsilon):.9g}" if each.is_asked else "free"
        told = f"follows{_told(error)}; asked by itself: {price}{_told(half_widths(each.answered_plan))}"
        lines += [
            f"Statement {number}: {told if error is not None else f'does not follow: {price}'}",
            f"  {each.sql}",
        ]
    return [*lines, f"Left to pay: epsilon {float(left):.9g}"]


def _told(widths: dict[str, float | None] | None) -> str:
    known = [f"{name} {half:.6g}" for name, half in (widths or {}).items() if half is not None]
    return f", half-width {', '.join(known)}" if known else ""


def _errors(priced: PricedStatement, found: _Proposal, desk: Desk) -> dict[str, float | None]:
    """The half-widths of a statement as the cube would answer it."""
    plan = priced.plan
    if not isinstance(plan, Plan):
        return {}
    version = desk.policy.data_version
    made = [found.cube.sums(part, version) for part in plan.parts]
    drawn = tuple(
        Drawn(part.loss, None if sums is None else fitted(found.cube, *sums)[0])
        for part, sums in zip(plan.parts, made, strict=True)
    )
    return half_widths(desk.plan(priced.request, drawn))


def _proposed(priced: Sequence[PricedStatement], desk: Desk, epsilon: Fraction) -> tuple[str, _Proposal]:
    """The table that most statements are about, and the cube for it."""
    trees = {
        n: _filtered(parse(p.sql)) for n, p in enumerate(priced) if isinstance(p.plan, Plan) and p.plan.parts
    }
    read = [table_name(t) for tree in trees.values() for t in tree.find_all(exp.Table)]
    tables = [
        name for name in dict.fromkeys(read) if (policy := desk.policy.tables.get(name)) and policy.unit
    ]
    if not tables:
        raise _none()
    table = max(tables, key=read.count)
    columns = {c.name: c for c in desk.columns(table)}
    about = {n: tree for n, tree in trees.items() if table in map(table_name, tree.find_all(exp.Table))}
    measures = tuple(dict.fromkeys(m for tree in about.values() for m in _measures(tree, columns)))
    named = dict.fromkeys(c for tree in about.values() for c in _keys(tree) if c in columns)
    choices = {name: list(_choices(columns[name], desk, table)) for name in named}
    make = _Maker(table, measures or ("count(*)",), priced, desk, epsilon)
    return table, _coarsest(choices, make)


class _Maker(Struct, frozen=True):
    """Makes cubes of one table for the same statements."""

    table: str
    measures: tuple[str, ...]
    priced: Sequence[PricedStatement]
    desk: Desk
    epsilon: Fraction

    def made(self, dimensions: Sequence[str]) -> _Proposal | None:
        """A cube of some dimensions; None where it cannot be built."""
        if not dimensions:
            return None
        text = f"{table_text(self.table)} ({', '.join(dimensions)}) MEASURES ({', '.join(self.measures)})"
        name = self._name()
        try:
            cube = self.desk.cubes.planned(name, text, {"epsilon": self.epsilon})
        except Refusal:
            return None
        if cube is None:
            return None
        return _Proposal(tuple(dimensions), self.measures, cube, frozenset(self._following(cube)))

    def _name(self) -> str:
        taken = self.desk.policy.views.keys() | self.desk.policy.tables.keys()
        names = (f"{self.table}_cube{n or ''}" for n in range(len(taken) + 1))
        return next(name for name in names if name not in taken)

    def _following(self, cube: PlannedCube) -> Iterator[int]:
        version = self.desk.policy.data_version
        for number, each in enumerate(self.priced):
            plan = each.plan
            if isinstance(plan, Plan) and plan.parts and all(cube.sums(p, version) for p in plan.charged):
                yield number


def _coarsest(choices: dict[str, list[str]], make: _Maker) -> _Proposal:
    """Each dimension as coarse as it can be, or left out, without a statement less; the first choice is the finest."""
    possible = {n: own for n, several in choices.items() if (own := [c for c in several if make.made([c])])}
    chosen = {name: several[0] for name, several in possible.items()}
    best = make.made(list(chosen.values()))
    if best is None or not best.following:
        raise _none()
    for name, several in possible.items():
        for choice in (None, *reversed(several[1:])):
            tried = {**chosen, name: choice} if choice else {n: c for n, c in chosen.items() if n != name}
            other = make.made(list(tried.values()))
            if other is not None and other.following >= best.following:
                chosen, best = tried, other
                break
    return best


def _choices(column: Column, desk: Desk, table: str) -> Iterator[str]:
    """A column as a dimension, from the finest on."""
    name = identifier(column.name)
    units = [f"date_trunc('{u}', {name}) AS {identifier(f'{column.name}_{u}')}" for u in reversed(UNITS)]
    if column.type.oid == DATE.oid:
        yield from (name, *units)
    elif column.type.oid == TIMESTAMP.oid:
        yield from (f"{name}::date AS {identifier(f'{column.name}_day')}", *units)
    elif column.type.oid in INTEGERS:
        declared = desk.policy.tables[table].columns.get(column.name)
        domain = None if declared is None else declared.domain
        is_wide = isinstance(domain, Between) and int(str(domain.high)) - int(str(domain.low)) > MOST_NUMBERS
        yield from (() if is_wide else (name,))
        yield from (f"{name} WIDTH {width}" for width in reversed(WIDTHS))
    else:
        yield name


def _filtered(tree: exp.Expr) -> exp.Expr:
    """With FILTER for CASE in aggregates."""
    for select in list(tree.find_all(exp.Select)):
        with_filters(select)
    return tree


def _keys(tree: exp.Expr) -> Iterator[str]:
    """The columns outside of what is counted and summed, and those of FILTER."""
    for column in tree.find_all(exp.Column):
        call = column.find_ancestor(exp.AggFunc)
        if call is None:
            yield column.name
    for condition in tree.find_all(exp.Filter):
        yield from (column.name for column in condition.expression.find_all(exp.Column))


def _measures(tree: exp.Expr, columns: dict[str, Column]) -> Iterator[str]:
    """What is counted and summed; an average is a sum, which has its number beside it."""
    for call in tree.find_all(exp.Count, exp.Sum, exp.Avg):
        found = [node.name for node in call.this.find_all(exp.Column)]
        if not found or len(found) > 1:
            yield "count(*)"
        if all(type(node) in _LINEAR for node in call.this.walk()):
            kind = "count" if type(call) is exp.Count else "sum"
            yield from (f"{kind}({identifier(name)})" for name in found if name in columns)


_LINEAR = frozenset({exp.Column, exp.Identifier, exp.Literal, exp.Neg, exp.Paren, exp.Add, exp.Sub, exp.Mul})
"""Of what sums of columns give, products of two columns aside, which no cube has."""


def _none() -> InvalidParameter:
    return InvalidParameter(
        "no cube answers these statements",
        hint="Counts, sums and averages of one protected table, by columns with declared keys, follow from a cube.",
    )
