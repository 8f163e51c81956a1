"""Remove each privacy unit in turn and measure how far the exact stage moves, in boxes of the plan's noise."""

import random
from collections.abc import Iterator

from dpproxy.algebra import printing
from dpproxy.algebra.plan import Part, Plan
from dpproxy.policy.units import unit_table
from tests.golden.world import Row, Tables, Vector, World, release
from udfs.mechanisms.selection import Selection

SHUFFLES = 2
Owners = dict[str, list[frozenset[object]]]
"""For each row of each protected table the units it belongs to: none for a row of nobody."""


def boxes(part: Part, before: Vector, after: Vector) -> int:
    """How many boxes of half-widths ``widths`` the shift takes, over all groups; of refinements, how many groups move.

    A refinement is e-DP however far the truth moves, so what is checked is that no unit moves more truths than it pays
    for.

    The noise of one group is e-DP for a shift inside one box, so k*e for one inside k boxes, and the losses of
    groups add up: the statement keeps its promise if this is at most ``part.factor``.
    """
    if part.selection is not None:
        _check_units(part.selection, before, after)
        before, after = _measures(before), _measures(after)
        if part.mechanism is None:
            return 0
    if part.refined:
        return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())
    widths = (1,) if part.mechanism is None else part.mechanism.widths
    keys = before.keys() | after.keys()
    nothing = (0,) * len(widths)
    return sum(
        max(
            -(-abs(a - b) // w)
            for a, b, w in zip(before.get(key, nothing), after.get(key, nothing), widths, strict=True)
        )
        for key in keys
    )


def _measures(groups: Vector) -> Vector:
    return {key: numbers[:-1] for key, numbers in groups.items()}


def _check_units(selection: Selection, before: Vector, after: Vector) -> None:
    """One unit is one of a group's units at most, and in no more groups than the selection is made for."""
    units = [(before.get(key, (0,))[-1], after.get(key, (0,))[-1]) for key in before.keys() | after.keys()]
    moved = [abs(a - b) for a, b in units if a != b]
    assert max(moved, default=0) <= 1, f"a unit counts {max(moved)} times"
    assert len(moved) <= selection.groups, f"a unit is in {len(moved)} groups, {selection.groups} are paid"
    assert all(numbers[-1] > 0 for numbers in (*before.values(), *after.values())), "a group without units"


def owners(world: World, owner: str) -> Owners:
    """Whose each row is, of the tables that carry the unit that ``owner`` owns; references are followed by value.

    A reference that matches rows of several owners makes the row theirs, each of them; one that matches none, NULL
    among them, makes it nobody's.
    """
    found: Owners = {}
    for name, table in world.policy.tables.items():
        if table.unit is not None and unit_table(world.policy, name).name == owner:
            _resolve(world, name, found)
    return found


def _resolve(world: World, name: str, found: Owners) -> None:
    if name in found:
        return
    unit = world.policy.tables[name].unit
    assert unit is not None
    rows = world.rows[name]
    if unit.key is None:
        found[name] = [frozenset({index}) for index in range(len(rows))]
        return
    keys = [row[world.place(name, unit.key)] for row in rows]
    if unit.references is None:
        found[name] = [frozenset() if key is None else frozenset({key}) for key in keys]
        return
    target, column = unit.references
    _resolve(world, target, found)
    units: dict[object, frozenset[object]] = {}
    for row, owned in zip(world.rows[target], found[target], strict=True):
        value = row[world.place(target, column)]
        units[value] = units.get(value, frozenset()) | owned
    found[name] = [frozenset() if key is None else units.get(key, frozenset()) for key in keys]


def without_each_unit(world: World, owner: str) -> Iterator[tuple[bool, dict[str, list[Row]]]]:
    """The rows without one unit, for each; first without the rows of nobody, marked False.

    A row that others own too stays: with the rows that made it this unit's gone, it is theirs alone.
    """
    owned = owners(world, owner)
    yield False, _without(world, owned, frozenset())
    for unit in sorted({u for listed in owned.values() for units in listed for u in units}, key=repr):
        yield True, _without(world, owned, frozenset({unit}))


def _without(world: World, owned: Owners, units: frozenset[object]) -> dict[str, list[Row]]:
    """The rows that do not belong to exactly these units."""
    return {
        name: [row for row, whose in zip(rows, owned[name], strict=True) if whose != units]
        if name in owned
        else rows
        for name, rows in world.rows.items()
    }


def shuffled(rows: dict[str, list[Row]], seed: int) -> dict[str, list[Row]]:
    """The same rows stored in another order, which is each table's own: of one that has not changed it is the same."""
    return {
        name: random.Random(f"{seed} {name}").sample(listed, len(listed)) for name, listed in rows.items()
    }


def furthest(world: World, plan: Plan, tables: Tables) -> list[int]:
    """For each part the most boxes that removing one unit takes, over several orders of storage.

    The order itself moves nothing. What a part takes from earlier ones is held: it was released.
    """
    tables.fill(world.rows)
    relations = tables.relations(plan)
    publics = [tables.table(printing.text(query)) for query in plan.publics]
    held = [release().inputs(part, relations, publics) for part in plan.parts]
    whole = [tables.exact(p, v) for p, v in zip(plan.parts, held, strict=True)]
    most = [0] * len(plan.parts)
    for seed in range(SHUFFLES):
        tables.fill(shuffled(world.rows, seed))
        again = [tables.exact(p, v) for p, v in zip(plan.parts, held, strict=True)]
        assert again == whole, "the order of storage shows"
        for belongs, rows in without_each_unit(world, plan.payer.ceiling):
            tables.fill(shuffled(rows, seed + 100))
            for index, part in enumerate(plan.parts):
                if part.vacuous:
                    continue
                moved = boxes(part, whole[index], tables.exact(part, held[index]))
                assert belongs or moved == 0, "rows of nobody show"
                most[index] = max(most[index], moved)
    for part, moved in zip(plan.parts, most, strict=True):
        assert moved <= part.factor, (
            f"a unit moves the answer by {moved} boxes, {part.factor} are paid: {part.exact}"
        )
    return most
