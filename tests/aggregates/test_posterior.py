"""The posterior of a released aggregate as SQL."""

from fractions import Fraction

import duckdb
import pytest

import udfs
from dpproxy.aggregates.count import Count, count_measure
from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.posterior import Posterior
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.values.pgtypes import INT8
from udfs.posterior import Draws
from udfs.prior_notation import parse

NOISE = Noise((5.0,), lambda _: (9,), bell=True)


def posterior(text: str, scale: int | None) -> Posterior:
    return Posterior(Count(count_measure(None)), parse(text), text, scale, NOISE, 2000)


def computed(sql: nodes.Expr) -> object:
    with duckdb.connect() as connection:
        udfs.register(connection)
        [[value]] = connection.sql(f"SELECT {duck.text(sql)}").fetchall()
        return value


def test_it_is_the_mean_of_what_is_believed_rounded_where_it_is_counted():
    import numpy as np  # noqa: PLC0415 - of one test

    column = duck.integer(70)
    found = computed(posterior("normal(60, 5)", None).value([column]).sql)
    none = np.zeros(1)
    [expected] = Draws(none + 70, none + 5, none, none, bell=True).mean(parse("normal(60, 5)"))
    assert found == pytest.approx(expected)
    assert found == pytest.approx(65, abs=0.01)
    whole = posterior("normal(60, 5)", 0).value([column])
    assert (computed(whole.sql), whole.type, whole.scale) == (65, INT8, 0)


def test_all_that_is_said_of_the_error_is_the_draw_s():
    own = posterior("normal(60, 5)", 0)
    column = duck.integer(70)
    assert own.measures == own.inner.measures
    assert computed(own.noise_sd([column], NOISE)) == 5.0
    low, high = own.interval([column], NOISE, Fraction(95, 100))
    assert (computed(low), computed(high)) == (61.0, 79.0)
    assert own.error(NOISE, Fraction(95, 100)) == own.inner.error(NOISE, Fraction(95, 100))


def test_a_draw_far_out_is_rare():
    assert float(str(computed(posterior("normal(60, 5)", 0).surprise([duck.integer(200)])))) < 1e-6
