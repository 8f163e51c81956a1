"""Remove each privacy unit in turn and measure how far the exact stage moves, in boxes of the plan's noise."""

import random
from collections.abc import Iterator

from dpproxy.plan import Plan
from dpproxy.policy.units import unit_table
from tests.golden.world import Row, Tables, Vector, World

SHUFFLES = 2


def boxes(plan: Plan, before: Vector, after: Vector) -> int:
    """How many boxes of half-widths ``widths`` the shift takes, over all groups.

    The noise of one group is e-DP for a shift inside one box, so k*e for one inside k boxes, and the losses of
    groups add up: the statement keeps its promise if this is at most ``plan.factor``.
    """
    assert plan.mechanism is not None
    widths = plan.mechanism.widths
    return sum(
        max(-(-abs(a - b) // w) for a, b, w in zip(before[key], after[key], widths, strict=True))
        for key in before
    )


def without_each_unit(world: World, table: str) -> Iterator[tuple[bool, dict[str, list[Row]]]]:
    """The rows without one unit, for each; first without the rows of nobody, marked False."""
    unit = world.policy.tables[table].unit
    assert unit is not None
    if unit.key is None:
        for index in range(len(world.rows[table])):
            yield True, {**world.rows, table: [*world.rows[table][:index], *world.rows[table][index + 1 :]]}
        return
    keyed = _carriers(world, table)
    yield False, _without(world, keyed, None)
    for value in sorted({row[i] for t, i in keyed.items() for row in world.rows[t]} - {None}):
        yield True, _without(world, keyed, value)


def _carriers(world: World, table: str) -> dict[str, int]:
    """Every table that carries the unit of ``table``, and the place of its key."""
    owner = unit_table(world.policy, table).name
    found = {}
    for name, other in world.policy.tables.items():
        if (
            other.unit is not None
            and other.unit.key is not None
            and unit_table(world.policy, name).name == owner
        ):
            names = [c.name for c in world.schema.tables[name]]
            found[name] = names.index(other.unit.key)
    return found


def _without(world: World, keyed: dict[str, int], value: object) -> dict[str, list[Row]]:
    return {n: [r for r in rows if n not in keyed or r[keyed[n]] != value] for n, rows in world.rows.items()}


def shuffled(rows: dict[str, list[Row]], seed: int) -> dict[str, list[Row]]:
    """The same rows stored in another order."""
    source = random.Random(seed)
    return {name: source.sample(listed, len(listed)) for name, listed in rows.items()}


def furthest(world: World, plan: Plan, tables: Tables, table: str) -> int:
    """The most boxes that removing one unit takes, over several orders of storage; the order itself moves nothing."""
    tables.fill(world.rows)
    whole = tables.exact(plan)
    most = 0
    for seed in range(SHUFFLES):
        tables.fill(shuffled(world.rows, seed))
        assert tables.exact(plan) == whole, "the order of storage shows"
        for belongs, rows in without_each_unit(world, table):
            tables.fill(shuffled(rows, seed + 100))
            moved = boxes(plan, whole, tables.exact(plan))
            assert belongs or moved == 0, "rows of nobody show"
            most = max(most, moved)
    return most
