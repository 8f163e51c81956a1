"""What a statement shows without noise."""

from dpproxy.algebra import printing
from dpproxy.algebra.plan import PublicPlan
from dpproxy.engine import output
from tests.golden.world import Row, Tables, World, plan_any, release


def answered(world: World, sql: str, **options: str) -> list[Row]:
    """The rows, over the world's own."""
    plan = plan_any(world, sql, options)
    tables = Tables(world)
    try:
        tables.fill(world.rows)
        if isinstance(plan, PublicPlan):
            columns = tables.table(printing.text(plan.query)).columns
            return output.convert(plan.outputs, list(zip(*(c.to_pylist() for c in columns), strict=True)))
        publics = [tables.table(printing.text(query)) for query in plan.publics]
        return output.convert(plan.outputs, release().answer(plan, tables.relations(plan), publics))
    finally:
        tables.close()


def shape(world: World, sql: str) -> list[tuple[str, str]]:
    """Names and types of the columns."""
    return [(o.column.name, o.column.type.name) for o in plan_any(world, sql).outputs]
