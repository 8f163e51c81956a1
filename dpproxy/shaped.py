"""Plans kept by the shape of their statements, for statements that differ from those before in numbers alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from dpproxy.analysis.scopes import Parameters
from dpproxy.body import Body
from dpproxy.plan import Plan, Prepared, PublicPlan
from dpproxy.planner.shapes import Cut, Template, cut, open_places, template
from dpproxy.recent import Recent

SHAPES = 512
"""Shapes that are kept."""
Planner = Callable[[exp.Expr, Parameters], Plan | PublicPlan]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of one: nothing until it is seen again, no template where its plan depends on the numbers."""

    template: Template | None = None
    prepared: Prepared | None = None


class Shaped:
    """The shapes seen lately; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._places = Recent[tuple[int, ...]](SHAPES)
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
        if not places:
            return
        key = _key(found, places, state)
        known = self._shapes.get(key)
        if known is None:
            self._shapes.put(key, _Shape())
        elif known.prepared is None:
            made = _made(tree, found, places, plan, planned)
            self._shapes.put(key, _Shape(made, replace(prepared, body=Body("ask"))))


def _key(found: Cut, places: tuple[int, ...], state: object) -> object:
    return found.shape, found.fixed(places), state


def _made(
    tree: exp.Expr, found: Cut, places: tuple[int, ...], plan: Plan, planned: Planner
) -> Template | None:
    try:
        return template(tree, found, places, plan, planned)
    except Exception:  # noqa: BLE001 - ``Looked``, and whatever else a number that is none leads to
        return None
