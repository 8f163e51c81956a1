"""The loss of a whole unit, by brute force over what its rows can do, from the exact pmf."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

from dpproxy.aggregates.model import Measure
from dpproxy.planner.release.allocation import Allocation, allocate
from dpproxy.policy.model import Unit
from dpproxy.values.errors import InvalidParameter
from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.privacy import NANO, Loss

UNITS = [
    Unit("u"),
    Unit("u", max_rows=2),
    Unit("u", max_rows=3),
    Unit("u", max_rows=3, max_groups=1),
    Unit("u", max_rows=4, max_groups=2),
]


def allocated(widths: tuple[int, ...], unit: Unit, nano: int, *, grouped: bool) -> Allocation:
    measures = [Measure(f"m{i}", w) for i, w in enumerate(widths)]
    return allocate(measures, unit.max_rows, unit.groups if grouped else None, Loss(nano), wanted="staircase")


def distributions(rows: int, groups: int) -> Iterator[tuple[int, ...]]:
    """How many of a unit's rows stand in each group, at most ``groups`` of them."""
    for counts in product(range(rows + 1), repeat=groups):
        if sum(counts) <= rows:
            yield counts


def box(widths: tuple[int, ...], times: int) -> Iterator[tuple[int, ...]]:
    """Every shift that so many rows can make in one group."""
    yield from product(*(range(-times * w, times * w + 1) for w in widths))


@cache
def worst_ratio(mechanism: Staircase, widths: tuple[int, ...], rows: int) -> Fraction:
    """The worst pmf(z) / pmf(z + shift) over shifts of so many rows of one group, and over z."""
    pmf = lru_cache(maxsize=None)(mechanism.pmf)
    spans = [r + 2 * w for r, w in zip(mechanism.radii, mechanism.widths, strict=True)]
    points = list(product(*(range(-s, s + 1) for s in spans)))
    return max(
        pmf(z) / pmf(tuple(a + b for a, b in zip(z, shift, strict=True)))
        for shift in box(widths, rows)
        if all(s >= 0 for s in shift)  # the pmf is symmetric in every component
        for z in points
    )


@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "grouped"])
@pytest.mark.parametrize("widths", [(1,), (2,), (1, 2)], ids=str)
@pytest.mark.parametrize("nano", [300_000_000, 3_000_000_000])
@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.max_rows}-{u.groups}")
def test_a_unit_loses_no_more_than_the_statement_pays(
    unit: Unit,
    nano: int,
    widths: tuple[int, ...],
    grouped: bool,  # noqa: FBT001
):
    found = allocated(widths, unit, nano, grouped=grouped)
    assert found.factor * found.mechanism.nano <= nano
    reached = 1 if not grouped else unit.max_rows if found.groups is None else found.groups
    worst = max(
        math.prod((worst_ratio(found.mechanism, widths, rows) for rows in counts if rows), start=Fraction(1))
        for counts in distributions(unit.max_rows, reached)
    )
    assert worst <= Fraction(math.exp(nano / 1e9)) * (1 + Fraction(1, 10**12))
    assert worst >= Fraction(math.exp(nano / 1e9)) * Fraction(99, 100)  # and nothing is paid in vain


def relative_variance(mechanism: Staircase, widths: tuple[int, ...]) -> float:
    return sum((sd / w) ** 2 for sd, w in zip(mechanism.noise_sd(), widths, strict=True))


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.max_rows}-{u.groups}")
@pytest.mark.parametrize("nano", [50_000_000, 1_000_000_000, 20_000_000_000])
def test_the_form_of_less_error_wins(unit: Unit, nano: int):
    found = allocated((1, 50), unit, nano, grouped=True)
    rows, groups = unit.max_rows, unit.groups
    together = Staircase.best((rows, 50 * rows), nano // groups)
    apart = Staircase.best((1, 50), nano // rows)
    least = min(relative_variance(m, (1, 50)) for m in (together, apart))
    assert relative_variance(found.mechanism, (1, 50)) == pytest.approx(least)


def test_without_groups_rows_share_one_box():
    found = allocated((1,), Unit("u", max_rows=5), 10**8, grouped=False)
    assert (found.mechanism.widths, found.factor, found.groups) == ((5,), 1, None)


def test_what_all_rows_of_a_unit_can_do_together_may_be_less_than_each_by_itself():
    found = allocate([Measure("m", 1, unit_width=1)], 5, None, Loss(10**8))
    assert (found.mechanism.widths, found.factor) == ((1,), 1)
    wide = allocate([Measure("m", 1, unit_width=9)], 5, None, Loss(10**8))
    assert wide.mechanism.widths == (5,)  # never more than the rows allow


def test_max_groups_cuts_only_where_it_is_less_than_max_rows():
    assert allocated((1,), Unit("u", max_rows=9, max_groups=1), 10**8, grouped=True).groups == 1
    assert allocated((1,), Unit("u", max_rows=2, max_groups=9), 10**8, grouped=True).groups is None


LOSS, DELTA = Loss(10**9), Fraction(1, 10**6)


@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "grouped"])
@pytest.mark.parametrize("widths", [(1,), (2, 3)], ids=str)
@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.max_rows}-{u.groups}")
def test_a_unit_moves_laplace_no_farther_in_l1_than_it_pays_for(
    unit: Unit,
    widths: tuple[int, ...],
    grouped: bool,  # noqa: FBT001
):
    """The loss of independent geometric noise is the sum of the moves, each in its width, over the norm."""
    measures = [Measure(f"m{i}", w) for i, w in enumerate(widths)]
    found = allocate(measures, unit.max_rows, unit.groups if grouped else None, LOSS, wanted="laplace")
    mechanism = found.mechanism
    assert isinstance(mechanism, Laplace)
    reached = 1 if not grouped else unit.max_rows if found.groups is None else found.groups
    worst = max(
        sum(
            Fraction(rows * w, d * mechanism.norm)
            for rows in counts
            for w, d in zip(widths, mechanism.widths, strict=True)
        )
        for counts in distributions(unit.max_rows, reached)
    )
    assert worst * mechanism.nano <= LOSS.nano
    assert worst * mechanism.nano >= LOSS.nano * Fraction(99, 100)


@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "grouped"])
@pytest.mark.parametrize("widths", [(1,), (2, 3)], ids=str)
@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.max_rows}-{u.groups}")
def test_a_unit_moves_a_gaussian_no_farther_in_l2_than_it_pays_for(
    unit: Unit,
    widths: tuple[int, ...],
    grouped: bool,  # noqa: FBT001
):
    """The rho of Gaussian noise is the sum of the squared moves, each in its width, over the norm."""
    measures = [Measure(f"m{i}", w) for i, w in enumerate(widths)]
    groups = unit.groups if grouped else None
    found = allocate(measures, unit.max_rows, groups, LOSS, DELTA, wanted="gaussian")
    mechanism = found.mechanism
    assert isinstance(mechanism, Gaussian)
    reached = 1 if not grouped else unit.max_rows if found.groups is None else found.groups
    worst = max(
        sum(
            Fraction(rows * w, d) ** 2 / mechanism.norm
            for rows in counts
            for w, d in zip(widths, mechanism.widths, strict=True)
        )
        for counts in distributions(unit.max_rows, reached)
    )
    paid = worst * Fraction(mechanism.nano, NANO)
    spent = from_gaussian_mechanism(math.sqrt(1 / (2 * paid))).get_delta_for_epsilon(float(LOSS.epsilon))
    assert found.delta == DELTA
    assert float(DELTA) / 2 < spent <= DELTA


def test_a_gaussian_needs_a_delta():
    with pytest.raises(InvalidParameter, match="no gaussian mechanism fits"):
        allocate([Measure("m", 1)], 1, None, LOSS, wanted="gaussian")
    assert allocate([Measure("m", 1)], 1, None, LOSS, DELTA).delta == 0  # the pure one is better here


def test_auto_says_what_it_compared():
    found = allocate([Measure("m0", 1), Measure("m1", 9)], 1, None, LOSS, DELTA)
    assert found.name == "staircase"
    assert found.why.startswith("least predicted error: laplace 2.")
    assert "gaussian " in found.why
    assert allocate([Measure("m", 1)], 1, None, LOSS, wanted="laplace").why == "dp.mechanism = laplace"


def test_very_many_measures_are_best_with_a_gaussian():
    found = allocate([Measure(f"m{i}", 1) for i in range(150)], 1, None, Loss(10**8), DELTA)
    assert (found.name, found.delta) == ("gaussian", DELTA)
    assert found.function == "dp_gaussian"
    assert found.words.endswith(f"nano_rho={found.mechanism.nano} delta=1/1000000")


def test_a_loss_too_small_to_share_is_refused():
    unit = Unit("u", max_rows=3)
    with pytest.raises(InvalidParameter, match=r"0\.002 is too small to share among the 3 rows") as error:
        allocated((1,), unit, 2_000_000, grouped=True)
    assert error.value.hint == "Raise dp.epsilon, or ask without GROUP BY."
    assert allocated((1,), unit, 3_000_000, grouped=True)
    assert allocated((1,), unit, 2_000_000, grouped=False)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("nano", [10**7, LOSS.nano])
def test_where_losses_add_up_as_rho_a_gaussian_buys_the_square_of_epsilon_over_two(
    nano: int, *, grouped: bool
):
    """What a unit pays over all its contributions is at most what it is charged, and not much less."""
    measures = [Measure("m0", 1), Measure("m1", 7)]
    found = allocate(measures, 6, 3 if grouped else None, Loss(nano), wanted="gaussian", concentrated=True)
    charged = Fraction(nano, NANO) ** 2 / 2
    paid = found.factor * Fraction(found.mechanism.nano, NANO)
    assert charged - Fraction(found.factor, NANO) < paid <= charged
    assert found.delta == 0
    assert "delta=0" in found.words


def test_where_losses_add_up_as_rho_the_gaussian_wins_for_many_measures():
    many = [Measure(f"m{i}", 1) for i in range(20)]
    assert allocate(many, 1, None, LOSS, concentrated=True).name == "gaussian"
    assert allocate(many, 1, None, LOSS).name != "gaussian"
