"""t-closeness."""

import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    Categories,
    ConceptGraph,
    InvalidOption,
    LatticeDomain,
    OptionValue,
    Role,
    Table,
    Unachievable,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.space import centroids, is_ordered
from dpproxy.anonymize.t_closeness import TCloseness, automatic, bucketed, described
from tests.anonymize.worlds import TREE, worlds

World = tuple[Table, tuple[Attribute, ...]]


def asked(attributes: tuple[Attribute, ...], secret: int, **options: OptionValue) -> ViewRequest:
    """The first ``secret`` attributes are sensitive."""
    roles = [Role.SENSITIVE] * secret + [Role.QUASI] * (len(attributes) - secret)
    return ViewRequest(
        tuple(Attribute(a.name, a.domain, r) for a, r in zip(attributes, roles, strict=True)), options
    )


def numbers(secret: int = 1, count: int = 2, **options: OptionValue) -> ViewRequest:
    return asked(
        tuple(Attribute(f"c{place}", LatticeDomain(0, 99)) for place in range(count)), secret, **options
    )


def shares(groups: np.ndarray, buckets: np.ndarray) -> float:
    """The factor t of a release, from its rows."""
    whole = np.bincount(buckets) / len(buckets)
    worst = 1.0
    for group in set(groups):
        part = np.bincount(buckets[groups == group], minlength=len(whole)) / np.count_nonzero(groups == group)
        assert part.min() > 0
        worst = max(worst, (part / whole).max(), (whole / part).max())
    return worst


@given(
    worlds(least=4),
    st.data(),
    st.sampled_from(("anatomy", "permuted")),
    st.fractions(1, 6, max_denominator=5),
    st.integers(2, 8),
)
def test_t_is_achieved_or_refused(
    world: World, data: st.DataObject, release: str, t: Fraction, k: int
) -> None:
    rows, attributes = world
    assume(len(attributes) > 1)
    secret = data.draw(st.integers(1, len(attributes) - 1))
    build = TCloseness().check(asked(attributes, secret, t=t, k=k, release=release))
    try:
        made = build.make(rows, os.urandom, silent)
    except Unachievable:
        return
    assert made.source is not None
    assert made.rows.shape == (len(rows), len(build.columns))
    assert 1 <= made.achieved["t"] <= float(t)
    assert made.achieved["smallest_group"] >= k
    if release == "anatomy":
        anatomy(rows, attributes, secret, made, k)
    else:
        known = slice(secret, len(attributes))
        assert (made.rows[:, known] == rows[made.source][:, known]).all()
        assert np.bincount(made.rows[:, -1]).tolist() == made.linked["buckets"].values[:, -1].tolist()


def anatomy(rows: Table, attributes: tuple[Attribute, ...], secret: int, made: Anonymized, k: int) -> None:
    """The two relations, joined again, keep within t."""
    assert made.source is not None
    assert (made.rows[:, :-1] == rows[made.source][:, secret:]).all()
    groups = made.linked["groups"]
    assert groups.columns == ("group_id", "bucket_id", *(a.name for a in attributes[:secret]), "records")
    sizes = np.bincount(made.rows[:, -1])
    assert sizes.min() >= k
    again = groups.values.repeat(groups.values[:, -1], axis=0)
    assert np.bincount(again[:, 0]).tolist() == sizes.tolist()
    assert shares(again[:, 0], again[:, 1]) == pytest.approx(made.achieved["t"])
    totals = np.bincount(again[:, 1])
    assert totals.tolist() == made.linked["buckets"].values[:, -1].tolist()


def test_the_thesis_example() -> None:
    """N = 12, k = 4, t = 1.5 over three buckets: counts 2, 1, 1 in each group."""
    rows = np.column_stack([np.arange(12), np.arange(12)[::-1]])
    request = numbers(t=Fraction(3, 2), k=4, buckets=3)
    made = TCloseness().check(request).make(rows, os.urandom, silent)
    counts = made.linked["groups"].values[:, -1].reshape(3, 3)
    assert [sorted(row) for row in counts.tolist()] == [[1, 1, 2]] * 3
    assert made.achieved == {"t": 1.5, "epsilon": math.log(1.5), "smallest_group": 4}


def test_groups_are_alike_in_what_is_known() -> None:
    """Two clouds far apart, whose confidential values are the same: no group spans both."""
    rows = np.array([[value, base + value] for base in (0, 90) for value in range(8)])
    made = TCloseness().check(numbers(t=1, k=8, buckets=2)).make(rows, os.urandom, silent)
    for group in range(int(made.rows[:, -1].max()) + 1):
        assert np.ptp(made.rows[made.rows[:, -1] == group, 0]) < 50


@pytest.mark.statistical
def test_buckets_are_permuted_uniformly_inside_groups() -> None:
    """One group of two buckets, 2 rows each: 6 outcomes. False alarm: one run in a million."""
    rows = np.array([[0, 10], [1, 20], [8, 30], [9, 40]])
    build = TCloseness().check(numbers(t=1, k=4, release="permuted", buckets=2))
    outcomes: Counter[tuple[int, ...]] = Counter()
    for _ in range(300):
        made = build.make(rows, os.urandom, silent).rows
        outcomes[tuple(made[np.argsort(made[:, 1]), 2].tolist())] += 1
    assert len(outcomes) == 6
    assert chisquare(list(outcomes.values())).pvalue > 1e-6


def test_epsilon_stands_for_t() -> None:
    build = TCloseness().check(numbers(epsilon=Fraction(1, 2), k=5))
    assert "exp(0.5)-closeness, t = 1.64872, in groups of at least 5 rows" in build.guarantee
    assert "only towards intruders who know no more of c0 than the marginal distribution" in build.guarantee
    assert build.loss is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either t or epsilon"),
        ({"t": 2, "epsilon": 1}, "either t or epsilon"),
        ({"t": Fraction(1, 2)}, "between 1 and 100"),
        ({"t": 101}, "between 1 and 100"),
        ({"epsilon": -1}, "between 1 and 100"),
        ({"epsilon": 10**400}, "between 1 and 100"),
        ({"t": "two"}, "t is a number"),
        ({"t": 2, "buckets": 1}, "at least 2"),
        ({"t": 2, "buckets": 1000}, "101 at most"),
        ({"t": 2, "release": "table"}, "release is one of anatomy, permuted"),
    ],
)
def test_options_outside_their_range_are_refused(options: dict[str, OptionValue], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        TCloseness().check(numbers(**options))


def test_columns_need_their_roles_and_names() -> None:
    with pytest.raises(InvalidOption, match="needs a sensitive column"):
        TCloseness().check(numbers(0, t=2))
    with pytest.raises(InvalidOption, match="that is not sensitive"):
        TCloseness().check(numbers(2, t=2))
    taken = tuple(Attribute(name, LatticeDomain(0, 9)) for name in ("cost", "cost_from"))
    with pytest.raises(InvalidOption, match="adds a column cost_from") as caught:
        TCloseness().check(asked(taken, 1, t=2))
    assert "AS" in (caught.value.hint or "")


def test_k_leans_as_far_as_it_can() -> None:
    assert automatic(Fraction(3, 2), 2) == 12
    for t in (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(9, 2)):
        buckets = int(t) + 1
        assert max(11, buckets) <= automatic(t, buckets) <= 2 * max(11, buckets)
    assert automatic(Fraction(5), 6, 1080) == 30
    assert automatic(Fraction(10), 11, 1080) <= 1080 // 22


def test_what_nothing_achieves_is_refused() -> None:
    build = TCloseness().check(numbers(t=1, k=4))
    rows = np.column_stack([np.arange(97), np.arange(97)])
    with pytest.raises(Unachievable, match="no groups of 4 rows"):
        build.make(rows, os.urandom, silent)
    with pytest.raises(Unachievable, match="at least 4 rows"):
        build.make(rows[:3], os.urandom, silent)


@given(worlds(), st.integers(1, 6))
def test_buckets_have_no_gap_and_one_attribute_keeps_equal_values_together(
    world: tuple[Table, tuple[Attribute, ...]], count: int
) -> None:
    rows, attributes = world
    labels = bucketed(rows, attributes, count)
    assert sorted(set(labels)) == list(range(labels.max() + 1))
    assert labels.max() < count
    if len(attributes) == 1:
        assert len(set(zip(rows[:, 0], labels, strict=True))) == len(set(rows[:, 0]))
        assert labels.max() + 1 == min(count, len(set(rows[:, 0])))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(1, 6))
def test_ordered_values_are_cut_into_runs(values: list[int], count: int) -> None:
    labels = bucketed(np.array(values)[:, None], [Attribute("a", LatticeDomain(0, 20))], count)
    assert (np.diff(labels[np.argsort(values, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("domain", [LatticeDomain(0, 99), Categories(100, ordered=True), Categories(100)])
def test_distinct_values_have_equal_mass(domain: LatticeDomain | Categories) -> None:
    labels = bucketed(np.arange(100)[:, None], [Attribute("a", domain)], 4)
    assert np.bincount(labels).tolist() == [25] * 4


def test_a_heavy_value_has_its_own_bucket() -> None:
    values = np.array([0] * 10 + [1, 2, 3, 4])[:, None]
    for domain in (LatticeDomain(0, 4), Categories(5)):
        assert np.bincount(bucketed(values, [Attribute("a", domain)], 2)).tolist() == [10, 4]


def test_concepts_are_cut_along_their_tree() -> None:
    values = np.array([6, 3, 5, 4])[:, None]
    labels = bucketed(values, [Attribute("a", TREE)], 2)
    assert labels.tolist() == [1, 0, 1, 0]


def test_a_concept_with_two_parents_stands_once() -> None:
    diamond = ConceptGraph(((), (0,), (0,), (1, 2)))
    labels = bucketed(np.arange(4)[:, None], [Attribute("a", diamond)], 4)
    assert labels.tolist() == [0, 1, 3, 2]


@given(worlds())
def test_buckets_are_described(world: tuple[Table, tuple[Attribute, ...]]) -> None:
    rows, attributes = world
    labels = bucketed(rows, attributes, 3)
    middles = centroids(rows, attributes, labels, labels.max() + 1)
    linked = described(rows, attributes, labels, middles)
    buckets = linked.pop("buckets")
    assert buckets.values.shape[1] == len(buckets.columns)
    assert buckets.values[:, -1].tolist() == np.bincount(labels).tolist()
    for column, attribute in enumerate(attributes):
        if is_ordered(attribute.domain):
            low = buckets.values[:, buckets.columns.index(f"{attribute.name}_from")]
            high = buckets.values[:, buckets.columns.index(f"{attribute.name}_to")]
            assert (low[labels] <= rows[:, column]).all()
            assert (rows[:, column] <= high[labels]).all()
            assert buckets.like[f"{attribute.name}_from"] == attribute.name
        else:
            values = linked.pop(f"{attribute.name}_values")
            assert values.values[:, 2].sum() == len(rows)
            assert {(a, b) for a, b, _ in values.values.tolist()} == set(
                zip(labels.tolist(), rows[:, column].tolist(), strict=True)
            )
    assert not linked
