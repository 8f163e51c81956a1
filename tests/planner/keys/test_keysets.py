"""Which group columns vary together."""

import pytest

from dpproxy.algebra.plan import KeySet
from tests.golden.world import World, build, plan_of

DDL = (
    "CREATE TABLE places (region VARCHAR, ward VARCHAR, code INTEGER)",
    "INSERT INTO places VALUES ('N', 'a', 1), ('N', 'b', 2), ('S', 'c', 3), ('S', 'c', 3), ('S', NULL, 4)",
    "CREATE TABLE visits (id INTEGER, region VARCHAR, ward VARCHAR, code INTEGER, kind BOOLEAN)",
    "INSERT INTO visits VALUES (1, 'N', 'a', 1, true), (2, 'N', 'c', 3, false), (3, 'S', 'c', 3, NULL)",
    "ALTER TABLE places SET PRIVACY PUBLIC",
    "ALTER TABLE visits SET PRIVACY KEY (id)",
    "ALTER TABLE visits SET PRIVACY DOMAIN (region, ward) REFERENCES places (region, ward)",
    "ALTER TABLE visits ALTER COLUMN region SET PRIVACY DOMAIN IN ('N', 'S')",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b', 'c', 'd')",
    "ALTER TABLE visits ALTER COLUMN code SET PRIVACY DOMAIN REFERENCES places (code)",
    "ALTER TABLE visits ALTER COLUMN kind SET PRIVACY DOMAIN IN (true, false)",
)


@pytest.fixture(scope="module")
def places() -> World:
    return build(DDL)


PLACES = "visits v JOIN places p ON v.region = p.region WHERE p.code"


def sets(world: World, sql: str) -> list[list[tuple[object, ...]]]:
    [part] = plan_of(world, sql).parts
    keys: tuple[KeySet, ...] = part.keys
    return [sorted(map(tuple, k.rows), key=repr) for k in keys]


PAIRS: list[tuple[object, ...]] = [("N", "a"), ("N", "b"), ("S", "c")]


def test_a_declared_pair_varies_together(places: World):
    assert sets(places, "SELECT region, ward, count(*) FROM visits GROUP BY 1, 2") == [PAIRS]
    assert sets(places, "SELECT count(*) FROM visits GROUP BY ward, kind, region") == [
        PAIRS, [(False,), (True,)],
    ]  # fmt: skip


def test_a_column_of_a_pair_alone_is_itself(places: World):
    assert sets(places, "SELECT ward, count(*) FROM visits GROUP BY 1") == [[("a",), ("b",), ("c",), ("d",)]]


def test_declared_columns_vary_by_themselves(places: World):
    found = sets(places, "SELECT count(*) FROM visits GROUP BY kind, code")
    assert found == [[(False,), (True,)], [(1,), (2,), (3,), (4,)]]


def test_columns_of_a_public_item_vary_together(places: World):
    join = "visits v JOIN places p ON p.code = v.code"
    found = sets(places, f"SELECT count(*) FROM {join} GROUP BY p.region, v.kind, p.ward")
    assert found == [[("N", "a"), ("N", "b"), ("S", "c"), ("S", None)], [(False,), (True,)]]


def test_two_items_of_one_public_table_vary_by_themselves(places: World):
    join = "visits v JOIN places p ON p.code = v.code JOIN places q ON q.code = v.code"
    assert sets(places, f"SELECT count(*) FROM {join} GROUP BY p.region, q.region") == [[("N",), ("S",)]] * 2


@pytest.mark.parametrize(
    ("where", "group", "expected"),
    [
        ("= 4", "v.region", [[("S",)]]),
        ("< 3", "v.region, p.ward", [[("N", "a"), ("N", "b")]]),
        ("< 3", "v.region, v.kind", [[("N",)], [(False,), (True,)]]),
        ("= 2", "v.region, v.ward", [[("N", "a"), ("N", "b"), ("S", "c")]]),
        ("> v.code", "v.region", [[("N",), ("S",)]]),
    ],
)
def test_a_column_that_is_equal_to_a_public_one_varies_with_it(
    places: World, where: str, group: str, expected: list[list[tuple[object, ...]]]
):
    assert sets(places, f"SELECT count(*) FROM {PLACES} {where} GROUP BY {group}") == expected


def test_only_declared_values_are_keys_whatever_a_public_column_has(places: World):
    sql = "SELECT count(*) FROM visits v JOIN places p ON v.kind = (p.code = 1) GROUP BY v.code, v.kind"
    assert [len(s) for s in sets(places, sql)] == [4, 2]
