"""A cube in the terms of statements: its dimensions, what the last cell of each holds, and its sums."""

from msgspec.structs import replace

from dpproxy.planner.reuse.cube_form import Inner
from dpproxy.planner.reuse.multiples import taken
from dpproxy.planner.reuse.normal_form import stage
from tests.golden.world import build, plan_of
from tests.planner.reuse.test_cells import DAYS, TABLE, cube_of


def test_dimensions_say_what_is_in_their_last_cell():
    form = cube_of(build(TABLE)).form
    assert form is not None
    k, month, age, ok = form.sides
    assert (k.term[2], k.values, k.rest) == ("k", ("a", "b", "c"), "any")
    assert (month.rest, len(month.values), month.cells) == (
        "null",
        22,
        23,
    )  # bounded: what has no month is NULL
    assert (age.values, age.rest) == ((0, 10, 20, 30, 40), "null")
    assert age.inner == Inner(("column", ("item", 0, 0), "age"), 10, 0, 47)
    assert (ok.values, ok.rest, ok.cells) == ((True, False), "none", 2)
    days = cube_of(build(TABLE), DAYS).form
    assert days is not None
    assert [side.rest for side in days.sides] == ["any", "any"]


def test_sums_are_known_with_and_without_an_average():
    world = replace(build(TABLE), prepared=True)
    cube = cube_of(world)
    assert cube.form is not None
    assert [figure.name for figure in cube.figures] == ["count", "sum_x", "sum_x_count"]
    total = next(f.weights for f in cube.figures if f.name == "sum_x")
    assert sorted(total) == [0, 1, 15]  # so many for each number: the middle of 0 and 30
    [asked] = plan_of(world, "SELECT sum(x) FROM t").parts
    [alone] = stage(asked.query).measures
    assert taken(alone, cube.form.rows.measures) == (total, ())
