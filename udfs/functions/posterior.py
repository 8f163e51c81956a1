"""Posterior means and surprise of numbers released with noise, under a prior: post-processing, which costs nothing."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from udfs import arrow
from udfs.arrow import Column
from udfs.functions.model import SqlFunction
from udfs.pool import Pool
from udfs.posterior import Draws, Floats
from udfs.prior_notation import parse
from udfs.priors import Prior
from udfs.privacy import InvalidMechanism

_LAW: Final = ("VARCHAR", "DOUBLE", "DOUBLE", "DOUBLE", "DOUBLE", "BOOLEAN")
_Asked = Callable[[Draws, Prior], Floats]


def mean(
    prior: Column, value: Column, fixed: Column, slope: Column, centre: Column, bell: Column, most: Column
) -> Column:
    """The posterior mean of each row; ``most`` of the first row is the number of values the prior is rounded to."""
    count = next(iter(arrow.single(most).to_pylist()), 1)
    return _each(lambda draws, found: draws.mean(found, count), prior, (value, fixed, slope, centre), bell)


def surprise(
    prior: Column, value: Column, fixed: Column, slope: Column, centre: Column, bell: Column
) -> Column:
    """For each row the probability, under the prior, of a draw at least as extreme."""
    return _each(Draws.surprise, prior, (value, fixed, slope, centre), bell)


def _each(asked: _Asked, prior: Column, numbers: tuple[Column, ...], bell: Column) -> Column:
    texts, bells = arrow.single(prior).to_pylist(), arrow.single(bell).to_pylist()
    columns = [arrow.single(c).to_numpy(zero_copy_only=False).astype(np.float64) for c in numbers]
    kinds = list(zip(texts, bells, strict=True))
    result = np.empty(len(kinds))
    for text, is_bell in dict.fromkeys(kinds):
        if text is None or is_bell is None:
            raise InvalidMechanism("a posterior needs a prior on every row")
        rows = np.array([kind == (text, is_bell) for kind in kinds])
        value, fixed, slope, centre = (c[rows] for c in columns)
        found = parse(text)
        if found.labelled:
            raise InvalidMechanism("this prior is over text")
        result[rows] = asked(Draws(value, fixed, slope, centre, bell=is_bell), found)
    return pa.array(result)


def functions(_: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family: for the proxy's statements, which pass the distribution of the noise."""
    return (
        SqlFunction("_dp_posterior", "", "DOUBLE", "the posterior mean", (*_LAW, "INTEGER"), mean),
        SqlFunction("_dp_surprise", "", "DOUBLE", "how likely a draw as far out is", _LAW, surprise),
    )
