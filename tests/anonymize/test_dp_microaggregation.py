"""Insensitive microaggregation with noise: options, sensitivities by brute force, the promise sampled."""

import math
import os
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import dp_microaggregation as method
from dpproxy.anonymize import insensitive
from dpproxy.anonymize.dp_microaggregation import DpMicroaggregation
from dpproxy.anonymize.model import (
    Attribute,
    Categories,
    InvalidOption,
    LatticeDomain,
    OptionValue,
    Table,
    ViewRequest,
    silent,
)
from tests.anonymize.audited import least_epsilon
from tests.anonymize.worlds import TREE, worlds
from udfs.mechanisms import Staircase
from udfs.privacy import LEAST_NANO, Loss

PLANE = (Attribute("a", LatticeDomain(0, 100)), Attribute("b", LatticeDomain(0, 100)))
MIXED = (*PLANE, Attribute("c", TREE), Attribute("d", Categories(3)))
SMALL = Fraction(1, 10**6)
HUGE = 10**6


def request(attributes: tuple[Attribute, ...] = PLANE, **options: OptionValue) -> ViewRequest:
    return ViewRequest(attributes, {"epsilon": 1, **options}, expected_rows=400)


def test_what_is_promised_is_known_before_a_row_is_read() -> None:
    build = DpMicroaggregation().check(request(delta=SMALL))
    assert build.loss == Loss(10**9)
    assert build.delta == SMALL
    inside = DpMicroaggregation().check(request(release="query"))
    assert inside.loss == Loss(10**9)
    assert "width / 20" in inside.guarantee


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"k": 1},
        {"reference": "mean"},
        {"release": "rows"},
        {"delta": 1},
        {"swap": 1},
        {"delta": SMALL, "release": "query"},
    ],
)
def test_options_are_checked(options: dict[str, OptionValue]) -> None:
    with pytest.raises(InvalidOption) as caught:
        DpMicroaggregation().check(request(**options))
    assert caught.value.option in options


def test_questions_are_for_columns_with_an_order_and_corners_for_few() -> None:
    with pytest.raises(InvalidOption):
        DpMicroaggregation().check(request(MIXED, release="query"))
    with pytest.raises(InvalidOption):
        DpMicroaggregation().check(request(PLANE * 7, reference="corners"))


@pytest.mark.parametrize(
    "options", [{}, {"delta": SMALL}, {"reference": "corners"}, {"k": 5}, {"epsilon": HUGE}]
)
@pytest.mark.parametrize("count", [0, 1, 60])
def test_any_table_is_built(options: dict[str, OptionValue], count: int) -> None:
    rows = np.column_stack([np.arange(count), np.arange(count), np.arange(count) % 7, np.arange(count) % 3])
    found = DpMicroaggregation().check(request(MIXED, **options)).make(rows, os.urandom, silent)
    assert found.rows.shape[1] == 4
    assert len(found.rows) >= 2
    assert found.source is None


@pytest.mark.parametrize("options", [{}, {"delta": Fraction(1, 1000)}])
def test_wide_domains_and_little_epsilon_are_built(options: dict[str, OptionValue]) -> None:
    wide = (Attribute("a", LatticeDomain(-(2**60), 2**60)), Attribute("b", TREE))
    rows = np.array([[-(2**60), 3], [0, 4], [2**60, 5]] * 5)
    build = DpMicroaggregation().check(request(wide, epsilon=Fraction(1, 50), **options))
    found = build.make(rows, os.urandom, silent).rows
    assert (np.abs(found[:, 0]) <= 2**60).all()


def test_too_many_columns_for_epsilon_are_refused_before_anything_is_charged() -> None:
    with pytest.raises(InvalidOption) as caught:
        DpMicroaggregation().check(request(PLANE * 6, epsilon=Fraction(1, 100)))
    assert caught.value.option == "epsilon"


def test_without_noise_rows_are_middles() -> None:
    rows = np.array([[0, 0], [1, 0], [50, 50], [52, 50], [100, 100], [90, 100]])
    build = DpMicroaggregation().check(request(k=2, epsilon=HUGE))
    found = build.make(rows, os.urandom, silent).rows
    assert sorted(map(tuple, found.tolist())) == [(1, 0)] * 2 + [(51, 50)] * 2 + [(95, 100)] * 2


def sums(rows: Table, attributes: tuple[Attribute, ...], references: Table, k: int) -> Table:
    arranged = rows[insensitive.arranged(rows, attributes, references, k)]
    sizes = insensitive.sizes(len(rows), k)
    return np.add.reduceat(arranged, np.cumsum(sizes) - sizes)


def test_the_sensitivity_is_never_exceeded_and_is_reached() -> None:
    """All neighbours of all tables of 5 rows of two bits, k = 2: each sum moves by 1 at most, several at once."""
    attributes = (Attribute("a", LatticeDomain(0, 1)), Attribute("b", LatticeDomain(0, 1)))
    records = list(product((0, 1), repeat=2))
    for references in (insensitive.point(attributes), insensitive.corners(attributes)):
        worst = 0
        for rows in product(records, repeat=4):
            moved = [sums(np.array([first, *rows]), attributes, references, 2) for first in records]
            for one, other in product(moved, moved):
                assert np.abs(one - other).max() <= 1
                worst = max(worst, int(np.abs(one - other).sum()))
        assert worst <= 4  # (n / k) * (sum of widths): two clusters, two attributes
        assert worst >= 2


def test_the_whole_sensitivity_in_l1_and_l2_is_reached() -> None:
    """n / k clusters times m widths: three clusters, one attribute of interest, as in ``test_insensitive``."""
    cube = tuple(Attribute(name, LatticeDomain(0, 10)) for name in "abc")
    others = [[0, 0, 1], [10, 0, 0], [10, 0, 1], [0, 10, 10], [10, 5, 10]]
    found = [
        sums(np.array([first, *others]), cube, insensitive.point(cube), 2) for first in ([0] * 3, [10] * 3)
    ]
    moved = (found[0] - found[1])[:, 0]
    assert np.abs(moved).sum() == 3 * 10
    assert (moved**2).sum() == 3 * 10**2


@given(
    worlds(least=4, most=12, domains=(LatticeDomain(-3, 40), LatticeDomain(0, 1))),
    st.integers(2, 4),
    st.data(),
)
def test_order_statistics_of_the_table_inside_move_by_width_over_k(
    world: tuple[Table, tuple[Attribute, ...]], k: int, data: st.DataObject
) -> None:
    rows, attributes = world
    other = rows.copy()
    for column, attribute in enumerate(attributes):
        domain = attribute.domain
        assert isinstance(domain, LatticeDomain)
        other[0, column] = data.draw(st.integers(domain.low, domain.high))
    request = ViewRequest(attributes, {"epsilon": HUGE, "k": k, "release": "query"})
    build = DpMicroaggregation().check(request)
    kept = [build.make(table, os.urandom, silent) for table in (rows, other)]
    assert all(found.inside for found in kept)
    for column, attribute in enumerate(attributes):
        domain = attribute.domain
        assert isinstance(domain, LatticeDomain)
        moved = np.abs(np.sort(kept[0].rows[:, column]) - np.sort(kept[1].rows[:, column]))
        assert moved.max() <= -(-domain.width // k)


def plan(**options: OptionValue) -> method.MicroaggregationPlan:
    found = DpMicroaggregation().check(request(**options)).make.args[0]  # type: ignore[attr-defined]
    assert isinstance(found, method.MicroaggregationPlan)
    return found


@pytest.mark.parametrize("options", [{}, {"delta": SMALL}])
@pytest.mark.parametrize("count", [2, 50, 30_000])
def test_automatic_clusters_leave_every_part_enough(options: dict[str, OptionValue], count: int) -> None:
    found = plan(**options)
    k = method._size(found, count)
    assert 2 <= k <= count
    assert count == 2 or method._part(found, count // k) >= LEAST_NANO


def test_all_parts_together_are_no_more_than_the_whole() -> None:
    found = plan()
    assert found.counting.nano + found.pure.nano == 10**9
    for clusters in (1, 7, 300):
        assert clusters * len(PLANE) * method._part(found, clusters) <= found.pure.nano


@pytest.mark.statistical
@pytest.mark.parametrize("options", [{}, {"reference": "corners"}])
def test_the_promise_holds_on_neighbours(options: dict[str, OptionValue]) -> None:
    """A record that moves every cluster: at epsilon 1 a bound above 1 is one time in 1,000."""
    data = np.array([[0, 0], [1, 0], [100, 0], [100, 1], [100, 100]])
    build = DpMicroaggregation().check(request(k=2, **options))
    assert least_epsilon(build, data, data[:-1], 100) <= 1
    loose = DpMicroaggregation().check(request(k=2, epsilon=30, **options))
    assert least_epsilon(loose, data, data[:-1], 100) > 1  # the audit sees what there is to see


def test_noise_of_the_thesis_would_break_the_promise() -> None:
    """A full epsilon for every cluster, as the thesis has it, loses three: six records, k = 2, one of them replaced."""
    cube = tuple(Attribute(name, LatticeDomain(0, 10)) for name in "abc")
    others = [[0, 0, 1], [10, 0, 0], [10, 0, 1], [0, 10, 10], [10, 5, 10]]
    found = [
        sums(np.array([first, *others]), cube, insensitive.point(cube), 2) for first in ([0] * 3, [10] * 3)
    ]

    def loss(nano: int) -> float:
        """The largest log-ratio of exact probabilities, over noise along each cluster's own shift."""
        mechanism = Staircase.best((10, 10, 10), nano)
        ratios = [
            max(
                math.log(mechanism.pmf(z.tolist()) / mechanism.pmf((z - shift).tolist()))
                for z in np.outer(range(-30, 31), np.sign(shift))
            )
            for shift in (found[0] - found[1])
        ]
        return sum(ratios)

    assert loss(10**9) > 2.99
    assert 0.99 < loss(10**9 // 3) <= 1
