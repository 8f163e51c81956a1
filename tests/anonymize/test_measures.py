"""Measures of loss and risk, beside their definitions on small tables."""

import os
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import measures
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    Categories,
    LatticeDomain,
    Role,
    Table,
    ViewRequest,
    silent,
)
from tests.anonymize.worlds import worlds

World = tuple[Table, tuple[Attribute, ...]]
PLANE = (Attribute("a", LatticeDomain(0, 10)), Attribute("b", LatticeDomain(0, 10)))


@given(worlds(most=6), st.data())
def test_the_matched_error_is_the_least_of_all_matchings(world: World, data: st.DataObject) -> None:
    rows, attributes = world
    order = data.draw(st.permutations(range(len(rows))))
    released = np.column_stack([np.roll(rows[order, place], place) for place in range(rows.shape[1])])
    least = min(
        measures.squared_error(rows, released[list(matching)], attributes)
        for matching in permutations(range(len(rows)))
    )
    assert measures.matched_error(rows, released, attributes) == pytest.approx(least)


@given(worlds())
def test_rows_in_another_order_are_matched_for_nothing(world: World) -> None:
    rows, attributes = world
    assert measures.matched_error(rows, rows[::-1], attributes) == 0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 40))
def test_resizing_takes_every_row_equally_often_but_for_one(values: list[int], count: int) -> None:
    rows = np.arange(len(values))[:, None]
    often = np.bincount(measures.resized(rows, count, os.urandom)[:, 0], minlength=len(values))
    assert often.sum() == count
    assert often.max() - often.min() <= 1


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[0, 0]] * 50)
    released = np.array([[10, 0]] * 50)
    exact = measures.matched_error(rows, released, PLANE)
    monkeypatch.setattr(measures, "MOST_MATCHED", 7)
    assert measures.matched_error(rows, released, PLANE) == pytest.approx(exact) == 50
    source = np.arange(50)
    linked = measures.linkage(rows, rows, source, PLANE)
    monkeypatch.setattr(measures, "MOST_DISTANCES", 200)
    assert measures.linkage(rows, rows, source, PLANE) == pytest.approx(linked) == 2


@given(worlds(most=12), st.data())
def test_linkage_is_the_mean_probability_of_the_right_link(world: World, data: st.DataObject) -> None:
    rows, attributes = world
    count = data.draw(st.integers(1, 15))
    source = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=count, max_size=count)))
    released = rows[
        np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=count, max_size=count)))
    ]
    total = 0.0
    for row, owner in zip(released, source, strict=True):
        apart = [measures.squared_error(row[None], other[None], attributes) for other in rows]
        nearest = [place for place, far in enumerate(apart) if far <= min(apart) * (1 + 1e-9)]
        total += (owner in nearest) / len(nearest)
    found = measures.linkage(rows, released, source, attributes)
    assert found == pytest.approx(100 * total / count)


def test_changes_of_statistics() -> None:
    before = np.array([[1, 4], [3, 0]])
    after = np.array([[1, 0], [5, 4]])
    found = measures.changes(before, after)
    assert found == pytest.approx(
        {"mean_change": 0.25, "variance_change": 1.5, "correlation_change": 2, "correlation_change_sd": 0}
    )


def test_what_has_no_figure_is_left_out() -> None:
    assert measures.changes(np.zeros((3, 0)), np.zeros((3, 0))) == {}
    assert measures.changes(np.zeros((3, 1)), np.ones((3, 1))) == {}
    constant = measures.changes(np.array([[1, 1], [1, 2]]), np.array([[1, 1], [1, 2]]))
    assert constant["correlation_change"] == 0
    assert measures.measured(np.zeros((3, 2)), Anonymized(np.zeros((0, 2))), PLANE, ("a", "b")) == {"rows": 0}


@given(worlds(least=4), st.sampled_from(("mdav", "mdav_swap")))
def test_a_release_is_measured(world: World, name: str) -> None:
    rows, attributes = world
    extra = Attribute("extra", Categories(3), Role.QUASI)
    table, attributes = np.column_stack([rows, np.arange(len(rows)) % 3]), (*attributes, extra)
    build = METHODS[name].check(ViewRequest(attributes, {"k": 2}))
    made = build.make(table, os.urandom, silent)
    assert not build.columns  # those of the attributes
    found = measures.measured(table, made, attributes, tuple(a.name for a in attributes))
    assert found.keys() <= measures.FIGURES.keys()
    assert found["rows"] == len(rows)
    assert 0 <= found["matched_sse"] <= found["sse"]
    assert found.get("matched_information_loss", 0) <= found.get("information_loss", 0)
    assert 0 <= found["linkage"] <= 100
    if name == "mdav_swap":
        assert found.get("mean_change", 0) == 0


def test_nothing_is_said_of_losses_where_a_column_is_not_released_with_the_rows() -> None:
    """Anatomy tells the sensitive column by group: that the others are as they were does not mean nothing is lost."""
    attributes = (Attribute("s", LatticeDomain(0, 10), Role.SENSITIVE), PLANE[0])
    rows = np.column_stack([np.arange(8), np.arange(8)])
    build = METHODS["t_closeness"].check(ViewRequest(attributes, {"t": 2, "k": 2}))
    found = measures.measured(rows, build.make(rows, os.urandom, silent), attributes, build.columns)
    assert found == {"rows": 8, "linkage": 100}
