"""Plans kept by the shape of their statements, for statements that differ from those before in numbers alone.

The numbers are written in the text, or are values of its parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dpproxy.algebra.plan import Plan, PublicPlan
from dpproxy.algebra.request import Prepared, Select
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.shapes import (
    Cut,
    Template,
    bound_template,
    class_of,
    cut,
    exact_values,
    open_parameters,
    open_places,
    template,
)
from dpproxy.values.pgtypes import SqlType
from dpproxy.values.recent import Recent

SHAPES = 512
"""Shapes that are kept."""
Planner = Callable[[exp.Expr, Parameters], Plan | PublicPlan]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of one: nothing until it is seen again, no template where its plan depends on the numbers."""

    is_tried: bool = False
    template: Template | None = None
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement with the values of its parameters, and everything else that a plan depends on."""

    sql: str
    kinds: tuple[SqlType, ...]
    values: tuple[object, ...]
    state: object


class Shaped:
    """The shapes seen lately; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._places = Recent[tuple[int, ...]](SHAPES)
        self._parameters = Recent[frozenset[int]](SHAPES)
        self._shapes = Recent[_Shape](SHAPES)

    def find(self, sql: str, state: object) -> tuple[Prepared, Plan] | None:
        """A statement as it would be prepared and planned, if one of its shape was; never waits."""
        found = cut(sql)
        places = None if found is None else self._places.get(found.shape)
        if found is None or not places:
            return None
        shape = self._shapes.get(_key(found, places, state))
        if shape is None or shape.template is None or shape.prepared is None:
            return None
        return replace(shape.prepared, sql=sql), shape.template.with_(found.values(places))

    def learn(self, prepared: Prepared, tree: exp.Expr, plan: Plan, state: object, planned: Planner) -> None:
        """Keep the shape of a statement without parameters that was planned so; a template is made the second time."""
        found = cut(prepared.sql)
        if found is None:
            return
        places = self._places.get(found.shape)
        if places is None:
            places = open_places(tree, found)
            self._places.put(found.shape, places)
        if places:
            known = replace(prepared, statement=Select())
            self._try(_key(found, places, state), lambda: template(tree, found, places, plan, planned), known)

    def bound(self, asked: Bound) -> Plan | None:
        """The plan of a statement with parameters, if one of its shape was planned; never waits."""
        numbers = self._parameters.get(asked.sql)
        if not numbers:
            return None
        places, key = _bound_key(asked, numbers)
        shape = self._shapes.get(key)
        if shape is None or shape.template is None:
            return None
        return shape.template.with_(exact_values([asked.values[place] for place in places]))

    def learn_bound(self, asked: Bound, tree: exp.Expr, plan: Plan, planned: Planner) -> None:
        """Keep the shape of a statement with parameters, as ``learn`` does of one without."""
        numbers = self._parameters.get(asked.sql)
        if numbers is None:
            numbers = open_parameters(tree)
            self._parameters.put(asked.sql, numbers)
        places, key = _bound_key(asked, numbers)
        if places:
            given = Parameters(dict(enumerate(asked.kinds, 1)), asked.values)
            self._try(key, lambda: bound_template(places, given, plan, lambda opened: planned(tree, opened)))

    def _try(
        self, key: object, make: Callable[[], Template | None], prepared: Prepared | None = None
    ) -> None:
        known = self._shapes.get(key)
        if known is None:
            self._shapes.put(key, _Shape())
        elif not known.is_tried:
            self._shapes.put(key, _Shape(is_tried=True, template=_made(make), prepared=prepared))


def _key(found: Cut, places: Sequence[int], state: object) -> object:
    return found.shape, found.fixed(places), state


def _bound_key(asked: Bound, numbers: frozenset[int]) -> tuple[list[int], object]:
    """The places of the open values, and what the shape is known by."""
    places: list[int] = []
    told: list[object] = []
    for place, (value, kind) in enumerate(zip(asked.values, asked.kinds, strict=True)):
        found = class_of(value, kind) if place + 1 in numbers else None
        told.append((type(value), value) if found is None else found)
        if found is not None:
            places.append(place)
    return places, (asked.sql, asked.kinds, tuple(told), asked.state)


def _made(make: Callable[[], Template | None]) -> Template | None:
    try:
        return make()
    except Exception:  # noqa: BLE001 - ``Looked``, and whatever else a number that is none leads to
        return None
