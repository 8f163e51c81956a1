"""A model of the marginals: options, the promise sampled, and use."""

import os
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import boxes, dp_marginals, grids, options
from dpproxy.anonymize.dp_marginals import DpMarginals, MarginalsPlan
from dpproxy.anonymize.model import (
    Attribute,
    Categories,
    InvalidOption,
    LatticeDomain,
    OptionValue,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.price import Purse
from tests.anonymize.audited import least_epsilon
from tests.anonymize.worlds import TREE
from tests.bench.parity import contradicting, parity
from tests.words import same_words
from udfs.audit import audit
from udfs.mechanisms import Exponential
from udfs.privacy import Loss

PLANE = (Attribute("a", LatticeDomain(0, 100)), Attribute("b", LatticeDomain(0, 100)))


def request(attributes: tuple[Attribute, ...] = PLANE, **options: OptionValue) -> ViewRequest:
    return ViewRequest(attributes, {"epsilon": 1, **options})


def test_what_is_promised_is_known_before_a_row_is_read() -> None:
    build = DpMarginals().check(request(epsilon=Fraction(1, 2)))
    assert build.loss == Loss(500_000_000)
    assert build.delta == 0
    assert "0.5" in build.guarantee


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0}, {"delta": 1}, {"workload": "c"}, {"workload": ("a", "c")}, {"workload": 3}, {"k": 3}],
)
def test_options_are_checked(options: dict[str, OptionValue]) -> None:
    with pytest.raises(InvalidOption) as caught:
        DpMarginals().check(ViewRequest(PLANE, {"epsilon": 1, **options}))
    assert caught.value.option in options


def test_more_columns_than_epsilon_can_be_divided_among_are_refused() -> None:
    many = tuple(Attribute(f"c{place}", Categories(2)) for place in range(40))
    with pytest.raises(InvalidOption):
        DpMarginals().check(request(many, epsilon=Fraction(1, 20)))


@pytest.mark.parametrize("columns", [1, 3, 7, 20])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9), Fraction(1, 1000)])
def test_what_is_not_refused_can_be_built(columns: int, delta: Fraction) -> None:
    """A build that fails is charged all the same."""
    attributes = tuple(Attribute(f"c{place}", LatticeDomain(0, 5000)) for place in range(columns))
    rows = np.zeros((20, columns), dtype=np.int64)
    for epsilon in (Fraction(1, 10**n) for n in range(7)):
        try:
            build = DpMarginals().check(request(attributes, epsilon=epsilon, delta=delta))
        except InvalidOption:
            continue
        assert build.make(rows, os.urandom, silent).rows.shape[1] == columns


@pytest.mark.parametrize("columns", [2, 3, 14, 20])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_each_clique_has_a_part_that_is_possible(columns: int, delta: Fraction) -> None:
    attributes = tuple(Attribute(f"c{place}", Categories(2)) for place in range(columns))
    for epsilon in (Fraction(1, 50), Fraction(1, 10), Fraction(1), Fraction(10)):
        try:
            build = DpMarginals().check(request(attributes, epsilon=epsilon, delta=delta))
        except InvalidOption:
            continue
        assert isinstance(build.make, partial)
        plan: MarginalsPlan = build.make.args[0]
        for total in (0, 100, 30_000, 10**6, 10**9):
            own = dp_marginals.alone(plan, total)
            assert plan.purse.noise(1, own / columns)
            assert not dp_marginals.whole(plan, total) or plan.purse.noise(1, dp_marginals.TOGETHER)
            pairs, triples, every = dp_marginals.rounds(plan, total)
            moved = Fraction(9, 100) if every else Fraction(0)
            choices = triples if every else pairs + triples
            assert pairs == 0 or plan.purse.noise(1, (dp_marginals.PAIRS + moved) / pairs)
            assert triples == 0 or plan.purse.noise(1, dp_marginals.TRIPLES / triples)
            assert choices == 0 or plan.purse.choice(2, (dp_marginals.CHOOSING - moved) / choices)


def test_delta_is_charged_only_where_it_is_of_use() -> None:
    many = tuple(Attribute(f"c{place}", Categories(2)) for place in range(40))
    delta = Fraction(1, 10**6)
    assert DpMarginals().check(request(many, delta=delta)).delta == delta
    assert DpMarginals().check(request(PLANE[:1], delta=delta, epsilon=Fraction(1, 10))).delta == 0


def test_parts_of_the_whole_add_up() -> None:
    parts = (
        dp_marginals.COUNTING,
        dp_marginals.SINGLE,
        dp_marginals.OFFSETS,
        dp_marginals.CHOOSING,
        dp_marginals.PAIRS,
        dp_marginals.TRIPLES,
    )
    assert sum(parts) == 1
    assert sum(parts[3:]) == dp_marginals.TOGETHER


@pytest.mark.parametrize(
    ("columns", "epsilon", "pairs", "whole"),
    [(6, Fraction(1, 10), False, False), (6, 1, True, False), (4, 10, True, True), (6, 10, True, False)],
)
def test_what_is_counted_follows_from_how_many_rows_there_are(
    columns: int, epsilon: OptionValue, *, pairs: bool, whole: bool
) -> None:
    """Of 600 rows: no pair, pairs, all columns together."""
    attributes = tuple(Attribute(f"c{place}", LatticeDomain(0, 5000)) for place in range(columns))
    build = DpMarginals().check(request(attributes, epsilon=epsilon))
    assert isinstance(build.make, partial)
    plan: MarginalsPlan = build.make.args[0]
    assert (dp_marginals.rounds(plan, 600)[0] > 0) == pairs
    assert (dp_marginals.whole(plan, 600) > 0) == whole
    rest = dp_marginals.TOGETHER if pairs else 0
    assert dp_marginals.alone(plan, 600) + rest + dp_marginals.COUNTING + dp_marginals.OFFSETS == 1


def test_few_rows_are_not_divided_among_pairs() -> None:
    """The mean of 600 ages of 20 to 40 from 0 to 100, with five columns more, at epsilon 0.1.

    A build was off by 5.6 with a standard deviation of 2.1. The words are the same in each run.
    """
    values = np.random.default_rng(5).integers(20, 41, (600, 6))
    attributes = tuple(Attribute(name, LatticeDomain(0, 100)) for name in "abcdef")
    build = DpMarginals().check(request(attributes, epsilon=Fraction(1, 10)))
    made = [build.make(values, same_words(n), silent).rows for n in range(10)]
    assert np.mean([np.abs(one.mean(axis=0) - 30).mean() for one in made if one.size]) < 9


@pytest.mark.parametrize("part", [Fraction(1), Fraction(1, 7), Fraction(1, 130)])
def test_a_concentrated_choice_costs_no_more_than_its_part(part: Fraction) -> None:
    law = Purse(123_456_789, concentrated=True).choice(2, part)
    assert law.loss.epsilon**2 / 2 <= Fraction(123_456_789, 10**9) * part


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 50), 1, 1000])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_any_table_is_built(epsilon: Fraction, count: int, delta: Fraction) -> None:
    attributes = (*PLANE, Attribute("c", TREE), Attribute("d", Categories(3)))
    rows = np.column_stack([np.arange(count), np.arange(count), np.arange(count) % 7, np.arange(count) % 3])
    build = DpMarginals().check(request(attributes, epsilon=epsilon, delta=delta))
    found = build.make(rows, os.urandom, silent).rows
    assert found.shape[1] == 4
    assert ((found >= 0) & (found <= [100, 100, 6, 2])).all()


def test_wide_domains_and_single_values_are_built() -> None:
    wide = (Attribute("a", LatticeDomain(-(2**60), 2**60)), Attribute("b", LatticeDomain(5, 5)))
    rows = np.array([[-(2**60), 5], [0, 5], [2**60, 5]] * 50)
    found = DpMarginals().check(request(wide, epsilon=1000)).make(rows, same_words(), silent).rows
    assert (found[:, 1] == 5).all()
    assert len(found) == 150


def test_columns_that_belong_together_do_so_in_the_release() -> None:
    rows = np.column_stack([np.arange(5000) % 101, np.arange(5000) % 101])
    found = DpMarginals().check(request(epsilon=10)).make(rows, same_words(), silent).rows
    assert np.asarray(np.corrcoef(found.T))[0, 1] > 0.9
    assert abs(found.mean() - 50) < 2


def test_a_column_of_one_value_keeps_its_mean() -> None:
    rows = np.repeat([[0, 37]], 5000, axis=0)
    found = DpMarginals().check(request(epsilon=10)).make(rows, same_words(), silent).rows
    assert found.mean(axis=0) == pytest.approx([0, 37], abs=0.5)


def correlations(found: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = np.corrcoef(found.T)
    return result


def test_pairs_that_close_a_circle_are_kept() -> None:
    """Of three columns never all are equal: two pairs let the third be equal too often."""
    patterns = np.array([[number >> place & 1 for place in range(3)] for number in range(1, 7)])
    attributes = tuple(Attribute(name, Categories(2)) for name in "abc")
    build = DpMarginals().check(request(attributes, epsilon=10))
    near = correlations(build.make(np.repeat(patterns, 2000, axis=0), same_words(), silent).rows)
    assert near[np.triu_indices(3, 1)] == pytest.approx([-1 / 3] * 3, abs=0.05)


@pytest.mark.parametrize("workload", [("a, b", "c,d"), ("c", "d", "e", "f"), ("a, b", "e", "f")])
def test_a_workload_says_which_pairs_are_measured(workload: tuple[str, ...]) -> None:
    """Of three pairs of equal columns epsilon suffices to choose two."""
    values = [np.arange(50_000) * step % 50_000 // 500 for step in (1, 7919, 104_729)]
    rows = np.column_stack([values[place // 2] for place in range(6)])
    attributes = tuple(Attribute(name, LatticeDomain(0, 100)) for name in "abcdef")
    asked = request(attributes, epsilon=Fraction(1, 40), workload=workload)
    near = correlations(DpMarginals().check(asked).make(rows, same_words(), silent).rows)
    strong = {"abcdef"[place : place + 2] for place in (0, 2, 4) if near[place, place + 1] > 0.6}
    assert all(pair in ", ".join(workload).replace(", ", "").replace(",", "") for pair in strong)
    assert len(strong) == 2


def test_pairs_matter_by_the_columns_that_are_named() -> None:
    attributes = tuple(Attribute(name, LatticeDomain(0, 9)) for name in "abc")
    assert set(options.pair_weights(request(attributes)).values()) == {1}
    assert options.pair_weights(request(attributes, workload="b")) == {(0, 1): 2, (0, 2): 1, (1, 2): 2}
    assert options.pair_weights(request(attributes, workload=("c, a",))) == {(0, 1): 1, (0, 2): 4, (1, 2): 1}
    assert options.pair_weights(request(attributes, workload=("a", "c")))[0, 2] == 4


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_the_promise_holds_on_neighbours(delta: Fraction) -> None:
    """One row far from all others, there and not: at epsilon 1 a bound above 1 is one time in 1,000."""
    data = np.array([[3, 3], [5, 9], [4, 2], [9, 9], [99, 98]])
    build = DpMarginals().check(request(delta=delta))
    assert least_epsilon(build, data, data[:-1], 100) <= 1
    loose = DpMarginals().check(request(epsilon=40, delta=delta))
    assert least_epsilon(loose, data, data[:-1], 100) > 1  # the audit sees what there is to see


def test_numbers_that_are_null_stay_null() -> None:
    """As many as there are, with what belongs to them; and none where none are told apart from noise."""
    attributes = tuple(Attribute(name, LatticeDomain(0, 100), null=True) for name in "ab")
    values = np.arange(5000) % 101
    rows = np.column_stack([np.where(values < 30, 101, values), values])
    found = DpMarginals().check(request(attributes, epsilon=10)).make(rows, same_words(), silent).rows
    absent = found[:, 0] == 101
    assert absent.mean() == pytest.approx(0.3, abs=0.03)
    assert found[absent, 1].mean() == pytest.approx(14.5, abs=3)
    assert found[:, 1].max() <= 100


def test_the_most_that_a_pair_can_tell_is_counted_where_bins_are_too_many() -> None:
    """30 values on the diagonal: with few rows only wider bins pay."""
    values = np.arange(300) % 30
    attributes = tuple(Attribute(name, LatticeDomain(0, 29)) for name in "ab")
    build = DpMarginals().check(request(attributes, epsilon=4))
    found = build.make(np.column_stack([values, values]), same_words(), silent).rows
    assert correlations(found)[0, 1] > 0.5


@pytest.mark.parametrize("bins", ["a", "a 0", "a -1", "c 5", ("a 10", "b ten"), "a 1.5", 3, ("a 1", "c")])
def test_declared_bins_are_checked(bins: OptionValue) -> None:
    with pytest.raises(InvalidOption) as caught:
        DpMarginals().check(request(bins=bins))
    assert caught.value.option == "bins"
    wide = (Attribute("a", LatticeDomain(0, 10**6)),)
    with pytest.raises(InvalidOption, match="more than 4096 bins"):
        DpMarginals().check(request(wide, bins="a 1"))


def test_declared_bins_keep_their_counts() -> None:
    rows = np.column_stack([np.repeat([5, 15, 95], [1000, 3000, 2000]), np.zeros(6000, dtype=np.int64)])
    build = DpMarginals().check(request(epsilon=100, bins="a 10"))
    found = build.make(rows, same_words(), silent).rows[:, 0] // 10
    assert np.bincount(found, minlength=11)[[0, 1, 9]] == pytest.approx([1000, 3000, 2000], abs=20)


def test_what_three_columns_tell_together_is_chosen_and_kept() -> None:
    assert contradicting("dp_marginals", parity(3, 8000), 4, words=same_words()) < 0.05


def test_what_only_four_columns_tell_together_is_kept_where_all_columns_have_few_cells() -> None:
    rows = parity(4, 8000)
    assert contradicting("dp_marginals", rows, 4, words=same_words()) < 0.02
    assert contradicting("dp_marginals", rows, 4, 3, same_words()) == pytest.approx(0.5, abs=0.1)
    assert contradicting("dp_kdtree", rows, 4, 3, same_words()) < 0.1


def test_where_all_columns_are_counted_together_noise_makes_up_few_rows() -> None:
    """Each column is the first or one more; of 16,807 cells 112 have rows, and about 40 a row that noise made up."""
    attributes = tuple(Attribute(name, Categories(7)) for name in "abcde")
    random = np.random.default_rng(3)
    first, more = random.integers(0, 7, 700), random.integers(0, 2, (700, 5)) * [0, 1, 1, 1, 1]
    build = DpMarginals().check(request(attributes, epsilon=10))
    made = build.make((first[:, None] + more) % 7, same_words(), silent).rows
    assert float(np.mean(((made - made[:, :1]) % 7 > 1).any(axis=1))) < 0.025


def test_numbers_have_triples_too() -> None:
    """Whether the third is in its upper half follows from the halves of the others; among five that tell nothing."""
    random = np.random.default_rng(7).random((30_000, 8))
    random[:, 2] = (random[:, 2] + ((random[:, :2] > 0.5).sum(axis=1) % 2)) / 2
    attributes = tuple(Attribute(name, LatticeDomain(0, 9)) for name in "abcdefgh")
    build = DpMarginals().check(request(attributes, epsilon=4))
    made = build.make((10 * random).astype(np.int64), same_words(), silent).rows[:, :3] >= 5
    assert float(np.mean(made.sum(axis=1) % 2)) < 0.15


def clique_tables(rows: list[tuple[int, ...]]) -> dict[dp_marginals.Choice, npt.NDArray[np.int64]]:
    """A pair and a triple of three columns of nine values, in three bins and in two as well."""
    line = boxes.lines((Attribute("a", Categories(9, ordered=True)),), scaled=True)[0]
    steps = (np.arange(9) // 3, np.arange(3) // 2)
    one = dp_marginals.Single(
        grids.Grid.of(line, 9), np.ones(9), np.ones(9), np.arange(9), steps, empty=False
    )
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return dp_marginals.tables([one] * 3, dict(enumerate(columns)), [(0, 1), (0, 1, 2)])


@given(
    st.lists(st.tuples(*[st.integers(0, 8)] * 3), max_size=30),
    st.tuples(*[st.integers(0, 8)] * 3),
    st.integers(0, 5),
)
def test_one_row_more_moves_the_distance_of_a_clique_by_one(
    rows: list[tuple[int, ...]], more: tuple[int, ...], expected: int
) -> None:
    """In bins and in wider ones, whatever is expected."""
    exact = [clique_tables(side) for side in (rows, [*rows, more])]
    model = {choice: np.full(table.shape, expected / 3) for choice, table in exact[0].items()}
    near, far = (dp_marginals.distances(tables, model) for tables in exact)
    assert {choice[1] for choice in near} == {0, 1, 2}
    assert all(abs(near[choice][0] - far[choice][0]) == 1 for choice in near)


@pytest.mark.statistical
def test_the_choice_of_cliques_keeps_its_promise() -> None:
    """One row far from what is expected, there and not: at epsilon 1 a bound above 1 is one time in 1,000."""
    rows = [(place, place, place) for place in range(4)]
    exact = [clique_tables(side) for side in (rows, rows[:-1])]
    model = {choice: np.zeros(table.shape) for choice, table in exact[0].items()}

    def bound(epsilon: int) -> float:
        law = Exponential.of(1, epsilon * 10**9)
        sides = []
        for tables in exact:
            scores = [distance for distance, _ in dp_marginals.distances(tables, model).values()]
            found = [law.choose([*scores, 5]) for _ in range(4000)]
            sides.append([[choice == len(scores)] for choice in found])
        return max(found.bound for found in audit(*sides))

    assert bound(1) <= 1
    assert bound(8) > 1  # 1.8 to 2.3 of 3.9: the audit sees what there is to see


def test_as_many_columns_as_an_array_has_no_axes_for() -> None:
    attributes = (Attribute("a", Categories(2)), *(Attribute(f"c{n}", Categories(1)) for n in range(70)))
    rows = np.zeros((400, len(attributes)), dtype=np.int64)
    made = DpMarginals().check(request(attributes, epsilon=10)).make(rows, same_words(), silent)
    assert made.rows.shape[1] == len(attributes)
