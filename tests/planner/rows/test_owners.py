"""Whose rows they are, against following every reference in Python."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.rows.owners import all_of, is_direct, owned, owner_link, present, unit_link
from dpproxy.policy.model import Unit
from tests.golden.neighbours import owners
from tests.golden.world import Row, Tables, World, build

CHAIN = (
    "CREATE TABLE people (id INTEGER, name VARCHAR)",
    "CREATE TABLE visits (person INTEGER, no INTEGER)",
    "CREATE TABLE bills (visit INTEGER, amount INTEGER)",
    "CREATE TABLE lines (of_bill INTEGER, x INTEGER)",
    "CREATE TABLE calls (name VARCHAR, x INTEGER)",
    "CREATE TABLE loose (x INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id) MAX ROWS 3",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id)",
    "ALTER TABLE bills SET PRIVACY KEY (visit) REFERENCES visits (no)",
    "ALTER TABLE lines SET PRIVACY KEY (of_bill) REFERENCES bills (visit)",
    "ALTER TABLE calls SET PRIVACY KEY (name) REFERENCES people (name)",
    "ALTER TABLE loose SET PRIVACY KEY ROW",
)


@pytest.fixture(scope="module")
def chain() -> World:
    return build(CHAIN)


def unit_of(world: World, table: str) -> Unit:
    unit = world.policy.tables[table].unit
    assert unit is not None
    return unit


def filled(seed: int) -> dict[str, list[Row]]:
    """Few values, so that keys repeat, dangle and are NULL."""
    pick = random.Random(seed).choice
    numbers, names = [1, 2, 3, None], ["a", "b", None]
    return {
        "people": [(pick(numbers), pick(names)) for _ in range(4)],
        "visits": [(pick([*numbers, 9]), pick(numbers)) for _ in range(4)],
        "bills": [(pick([*numbers, 9]), i) for i in range(4)],
        "lines": [(pick([*numbers, 9]), i) for i in range(4)],
        "calls": [(pick([*names, "z"]), i) for i in range(4)],
    }


@pytest.fixture(scope="module")
def tables(chain: World) -> Iterator[Tables]:
    made = Tables(chain)
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(12))
def test_each_row_is_there_once_for_every_owner(chain: World, tables: Tables, seed: int):
    rows = filled(seed)
    tables.fill(rows)
    units = owners(replace(chain, rows={**rows, "loose": []}), "people")
    for name, listed in rows.items():
        columns = [c.name for c in chain.schema.tables[name]]
        names = {c: f"{c}_0" for c in columns}
        select = owned(chain.policy, chain.policy.tables[name], unit_of(chain, name), names, "whose")
        table = tables.table(duck.text(select))
        assert table.column_names == [*names.values(), "whose"]
        found = Counter(tuple(row.values()) for row in table.to_pylist())
        meant = Counter(
            (*row, owner) for row, whose in zip(listed, units[name], strict=True) for owner in whose
        )
        assert found == meant, name


@pytest.mark.parametrize(
    ("table", "link", "direct"),
    [
        ("people", ("people", "id"), True),
        ("visits", ("people", "id"), True),
        ("bills", ("visits", "no"), False),
        ("lines", ("visits", "no"), False),  # the key of bills is itself a reference
        ("calls", ("people", "name"), False),
    ],
)
def test_keys_lead_to_the_end_of_their_references(
    chain: World, table: str, link: tuple[str, str], *, direct: bool
):
    unit = unit_of(chain, table)
    assert unit_link(chain.policy, table, unit.key or "") == link
    assert is_direct(chain.policy, unit) is direct


def test_other_columns_lead_to_themselves(chain: World):
    assert unit_link(chain.policy, "visits", "no") == ("visits", "no")


def test_what_the_unit_identifies(chain: World):
    assert owner_link(chain.policy.tables["people"]) == ("people", "id")
    assert owner_link(chain.policy.tables["loose"]) is None
    assert owner_link(replace(chain.policy.tables["people"], unit=None)) is None


def test_rows_of_nobody_are_dropped(chain: World):
    own = [duck.text(c) for c in present(unit_of(chain, "people"))]
    assert own == ['NOT "id" IS NULL']
    referring = [duck.text(c) for c in present(unit_of(chain, "visits"))]
    assert referring == ['NOT "person" IS NULL', '"person" IN (SELECT "id" FROM "people")']


def test_a_conjunction_needs_all():
    a, b, c = (nodes.ColumnRef(nodes.Bare(n)) for n in "abc")
    assert all_of([a]) is a
    assert duck.text(all_of((a, b, c))) == "a AND b AND c"
