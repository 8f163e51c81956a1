"""How a release is described, and the key it is found by."""

import json

import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Part
from dpproxy.engine.payloads import wanted_of
from dpproxy.planner.reuse.descriptor import (
    FORM,
    Descriptor,
    described,
    family,
    key_words,
    kin,
    origins,
    read,
    written,
)
from dpproxy.planner.reuse.rollup import derivation
from tests.golden.world import World, build, plan_of
from tests.planner.wordings import HEADER
from udfs.mechanisms import Gaussian, Laplace, Staircase


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def part_of(world: World, sql: str, **options: str) -> Part:
    [part] = plan_of(world, sql, options).parts
    return part


def descriptor(part: Part) -> Descriptor:
    found = described(part, (), 1)
    assert found is not None
    return found


def test_a_descriptor_is_read_as_it_was_written(world: World):
    found = descriptor(part_of(world, "SELECT k, y, count(*), sum(x) FROM t WHERE x > 3 GROUP BY k, y"))
    for mechanism in (
        Staircase.best((1, 9), 10**9),
        Laplace.best((1, 9), 10**9),
        Gaussian.best((1, 9), 10**9),
    ):
        each = replace(found, mechanism=mechanism)
        assert read(written(each)) == each


def test_another_form_is_not_read(world: World):
    fields = json.loads(written(descriptor(part_of(world, "SELECT count(*) FROM t"))))
    assert read(json.dumps({**fields, "form": FORM + 1}).encode()) is None


def test_keys_that_leave_no_row_out_are_told(world: World):
    found = descriptor(
        part_of(world, "SELECT k, x, y, b, y > 2, x > 2, count(*) FROM t GROUP BY 1, 2, 3, 4, 5, 6")
    )
    assert found.rests == ("any", "null", "none", "none", "none", "null")


def test_nothing_follows_from_what_is_no_sum(world: World):
    assert described(part_of(world, "SELECT k, median(x) FROM t GROUP BY k"), (), 1) is None
    assert described(part_of(world, "SELECT count(*) FROM t WHERE false"), (), 1) is None


def test_rows_are_told_apart_by_their_table_and_the_values_that_conditions_take(world: World):
    one, other = part_of(world, "SELECT count(*) FROM t"), part_of(world, "SELECT count(*) FROM w")
    named = part_of(world, "SELECT k, sum(y) FROM t GROUP BY k")
    assert len({family(one, (), 1), family(other, (), 1), family(one, (), 2), family(one, (1,), 1)}) == 4
    assert len({replace(named, keys=()).exact, named.exact}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT k, y, count(*), sum(x) FROM t GROUP BY k, y",
            "SELECT y, k, sum(x), count(*) FROM t GROUP BY y, k",
        ),
        ("SELECT sum(x + y) FROM t", "SELECT sum(y + x) FROM t"),
        ("SELECT k, median(x) FROM t GROUP BY k", "SELECT p.k, median(p.x) FROM public.t AS p GROUP BY 1"),
    ],
)
def test_order_is_no_part_of_a_question(world: World, one: str, other: str):
    assert key_words(part_of(world, one)) == key_words(part_of(world, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT k, count(*) FROM t GROUP BY k", "SELECT y, count(*) FROM t GROUP BY y"),
        ("SELECT k, count(*) FROM t GROUP BY k", "SELECT k, count(*) FROM t WHERE k = 'a' GROUP BY k"),
        ("SELECT sum(x) FROM t", "SELECT sum(y) FROM t"),
        ("SELECT sum(x), sum(y) FROM t", "SELECT sum(x) FROM t"),
        ("SELECT k, median(x) FROM t GROUP BY k", "SELECT k, median(y) FROM t GROUP BY k"),
        ("SELECT median(x) FROM t", "SELECT min(x) FROM t"),
    ],
)
def test_other_questions_have_other_words(world: World, one: str, other: str):
    assert key_words(part_of(world, one)) != key_words(part_of(world, other))


def test_another_mechanism_is_another_release(world: World):
    staircase, laplace = (
        part_of(world, "SELECT count(*), sum(x) FROM t", **{"dp.mechanism": name})
        for name in ("staircase", "laplace")
    )
    assert key_words(staircase) != key_words(laplace)


ROWS = (
    "CREATE TABLE r (x INTEGER NOT NULL, y INTEGER NOT NULL, k VARCHAR)",
    "ALTER TABLE r SET PRIVACY KEY ROW",
    "ALTER TABLE r ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE r ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 4",
    "ALTER TABLE r ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b', 'c')",
)
ASKED = (
    "SELECT count(*) FROM r",
    "SELECT count(*), sum(x) FROM r",
    "SELECT count(*) FROM r WHERE x > 3",
    "SELECT sum(x), count(*) FROM r WHERE x > 3",
    "SELECT count(*) FROM r WHERE y = 2 AND x > 3",
    "SELECT count(*) FROM r WHERE x > 3 AND y = 2",
    "SELECT y, count(*) FROM r GROUP BY y",
    "SELECT y, count(*) FROM r WHERE x > 3 GROUP BY y",
    "SELECT k, y, count(*), sum(x) FROM r WHERE x > 3 GROUP BY k, y",
    "SELECT count(*) FROM w",
)


def test_what_a_question_could_follow_from_is_where_it_is_looked_for():
    world = build((*HEADER, *ROWS))
    parts = [part_of(world, sql) for sql in ASKED]
    of = [descriptor(p) for p in parts]
    found = {
        (i, j)
        for i, stored in enumerate(of)
        for j, asked in enumerate(of)
        if kin(stored.rows, stored).startswith(origins(asked))
    }
    groups = [wanted_of(part) for part in parts]
    follow = {
        (i, j)
        for i, stored in enumerate(of)
        for j, asked in enumerate(of)
        if derivation(stored, groups[i], asked, groups[j]) is not None
    }
    assert follow <= found
    assert {(1, 0), (3, 2), (4, 5), (6, 0), (7, 2)} <= follow
    assert not {(0, 2), (2, 0), (2, 4), (2, 7), (0, 9), (9, 0)} & found
    median = part_of(world, "SELECT median(x) FROM r")
    assert not any(kin(family(median, (), 1), None).startswith(origins(asked)) for asked in of)
