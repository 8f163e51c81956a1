"""Random schemas, rows and statements over several tables.

No unit moves any part of a plan further than its loss pays for, whatever the rows, and nothing fails; and where no
bound of the policy cuts anything, the answer without noise is the one the engine gives for the statement itself.
"""

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from dpproxy.algebra import printing
from dpproxy.algebra.plan import Plan
from dpproxy.engine import output
from dpproxy.values.errors import Refusal
from tests.golden.neighbours import furthest
from tests.golden.queries import GLOBAL, Statement, statements
from tests.golden.schemas import clean_worlds, worlds
from tests.golden.world import Row, Tables, World, plan_any, release


def planned(world: World, sql: str, epsilon: str) -> Plan | None:
    """The plan over protected rows, None where the statement is refused or public."""
    try:
        plan = plan_any(world, sql, {"dp.epsilon": epsilon})
    except Refusal as refusal:
        assert refusal.sqlstate != "XX000", refusal.message  # noqa: PT017 - all others are fine
        return None
    return plan if isinstance(plan, Plan) else None


def answered(plan: Plan, tables: Tables) -> list[Row]:
    """The answer as if the noise were zero."""
    publics = [tables.table(printing.text(query)) for query in plan.publics]
    return output.convert(plan.outputs, release().answer(plan, tables.relations(plan), publics))


@given(world=worlds(), statement=statements(), epsilon=st.sampled_from(["0.1", "3", "50"]))
def test_no_unit_moves_an_answer_further_than_it_pays(world: World, statement: Statement, epsilon: str):
    plan = planned(world, statement.sql, epsilon)
    if plan is None:
        return
    tables = Tables(world)
    try:
        furthest(world, plan, tables)
        tables.fill(world.rows)
        answered(plan, tables)
    finally:
        tables.close()


def is_same(call: str, ours: object, theirs: object) -> bool:
    """Where no row counts, sums are 0 instead of NULL, and means are the middle of their bounds.

    A least or greatest value is aimed at a row further inside: it is within the rows, and may be of another of them.
    """
    if theirs is None:
        return ours == 0 or ours is None or not call.startswith("sum")
    if call.startswith(("min", "max")):
        least, greatest = (theirs, ours) if call.startswith("min") else (ours, theirs)
        return least <= greatest or is_same("", ours, theirs)  # type: ignore[operator]
    return ours is not None and math.isclose(float(ours), float(theirs), rel_tol=1e-6, abs_tol=1e-6)  # type: ignore[arg-type]


def assert_same(world: World, statement: Statement, ours: list[Row], theirs: list[Row]) -> None:
    """Undeclared keys, NULL where a row holds one or keys are discovered, are left out; groups of nobody are shown."""
    has_null = any(None in row for name, rows in world.rows.items() if name != "codes" for row in rows)
    has_null = has_null or any("DISCOVERED" in statement for statement in world.policy_ddl)
    size = statement.keys
    named = {row[:size]: row[size:] for row in theirs}
    if len(named) != len(theirs) or len({row[:size] for row in ours}) != len(ours):
        return  # NULL is the key of rows, and of a total too
    for row in ours:
        found = named.pop(row[:size], None)
        for call, value, other in zip(statement.calls, row[size:], found or row[size:], strict=True):
            assert is_same(call, value, other), (call, ours, theirs)
            assert found is not None or not call.startswith("count") or value == 0, (call, ours, theirs)
    assert all(None in key and (has_null or not any(row)) for key, row in named.items()), (named, ours)


def rows_of(tables: Tables, sql: str) -> list[Row]:
    """The engine's own answer."""
    table = tables.table(sql)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@given(world=clean_worlds(), statement=statements())
def test_an_answer_without_noise_is_that_of_the_rows(world: World, statement: Statement):
    assume(GLOBAL not in statement.sql)
    plan = planned(world, statement.sql, "50")
    if plan is None:
        return
    tables = Tables(world, least=1)
    try:
        tables.fill(world.rows)
        assert_same(world, statement, answered(plan, tables), rows_of(tables, statement.sql))
    finally:
        tables.close()
