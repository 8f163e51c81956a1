"""Information loss and disclosure risk of a release, measured against the original rows.

The figures are exact, computed without noise: they are never for analysts. Source: thesis ch.2 and ch.6, whose Score
is printed as a quotient although its tables contain the product, which is what is meant here.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import shuffle
from dpproxy.anonymize.model import WORDS, Anonymized, Attribute, Role, Table
from dpproxy.anonymize.space import Space, centroids, is_ordered, space
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FIGURES: Final[Mapping[str, str]] = {
    "rows": "rows released",
    "sse": "sum of squared distances of released rows to their originals, attributes over their declared widths",
    "information_loss": "sse over that of releasing the middle of all rows: 0 changes nothing, 1 tells nothing",
    "matched_sse": "least sum of squared distances over all one-to-one matchings of original and released rows",
    "matched_information_loss": "matched_sse over that of releasing the middle of all rows",
    "linkage": "percentage of released rows linked correctly by the quasi-identifiers",
    "linkage_informed": "percentage of released rows linked correctly by all columns",
    "mean_change": "mean of |mean' - mean| / |mean| over ordered columns",
    "variance_change": "mean of |variance' - variance| / variance over ordered columns",
    "correlation_change": "mean of |correlation' - correlation| over pairs of ordered columns",
    "correlation_change_sd": "standard deviation of the same",
}
"""What each figure is, by name; a figure that cannot be computed for a release is left out."""

LOSSES: Final = {"sse": "information_loss", "matched_sse": "matched_information_loss"}
MOST_MATCHED: Final = 2000
"""The most rows to match: the assignment takes time cubic and memory quadratic in them. Half a second for 1000."""
MOST_DISTANCES: Final = 2 * 10**8
"""The most distances computed for linkage."""
EQUAL: Final = 1 + 1e-9
"""Squared distances within this factor of the least count as equal to it."""


def measured(
    original: Table,
    made: Anonymized,
    attributes: Sequence[Attribute],
    columns: Sequence[str],
    words: Words = WORDS,
) -> dict[str, float]:
    """Return the ``FIGURES`` of a release.

    Args:
        original: shape (rows, attributes), at least one row.
        made: the release.
        attributes: of the original.
        columns: the names of the released columns; those that are not attributes are not compared. Where an attribute
            is missing (Anatomy releases it by group, in another relation), no information loss is computed.
        words: the source of randomness, for samples where there are too many rows to match or link all.
    """
    names = [attribute.name for attribute in attributes]
    places = [names.index(name) for name in columns if name in names]
    released = made.rows[:, [place for place, name in enumerate(columns) if name in names]]
    kept, before = [attributes[place] for place in places], original[:, places]
    figures = {"rows": float(len(released))}
    if not len(released):
        return figures
    if len(kept) < len(attributes):
        return figures | _by_known(before, released, made.source, kept, words)
    matched = matched_error(before, released, kept, words=words)
    if made.source is not None:
        figures["sse"] = squared_error(before[made.source], released, kept)
        if len(released) == len(original):
            # The method's own correspondence of rows is a matching too, and may be better than one on a sample.
            matched = min(matched, figures["sse"])
        figures |= _linkages(before, released, made.source, kept, words)
    figures["matched_sse"] = matched
    most = spread(before, kept)
    if most:
        figures |= {over: figures[name] / most for name, over in LOSSES.items() if name in figures}
    ordered = [place for place, attribute in enumerate(kept) if is_ordered(attribute.domain)]
    return figures | changes(before[:, ordered], released[:, ordered])


def _linkages(
    before: Table, released: Table, source: Integers, attributes: Sequence[Attribute], words: Words
) -> dict[str, float]:
    """Percentages of correct links: by all columns, and by the quasi-identifiers where there are any."""
    informed = linkage(before, released, source, attributes, words=words)
    if all(attribute.role is not Role.SENSITIVE for attribute in attributes):
        return {"linkage": informed, "linkage_informed": informed}
    return {**_by_known(before, released, source, attributes, words), "linkage_informed": informed}


def _by_known(
    before: Table, released: Table, source: Integers | None, attributes: Sequence[Attribute], words: Words
) -> dict[str, float]:
    """Percentage of correct links by the quasi-identifiers; empty without any, or if ``source`` is unknown."""
    known = [place for place, attribute in enumerate(attributes) if attribute.role is not Role.SENSITIVE]
    if not known or source is None:
        return {}
    quasi = [attributes[place] for place in known]
    return {"linkage": linkage(before[:, known], released[:, known], source, quasi, words=words)}


def squared_error(
    original: Table, released: Table, attributes: Sequence[Attribute], scale: str = "range"
) -> float:
    """Return the sum of squared distances row by row; both tables have the same shape."""
    points = space(np.concatenate([original, released]), attributes, scale)
    rows = np.arange(len(original))
    return float(_squared(points, rows, rows + len(original)).sum())


def spread(rows: Table, attributes: Sequence[Attribute], scale: str = "range") -> float:
    """Return the sum of squared distances of ``rows`` to their centroid."""
    middle = centroids(rows, attributes, np.zeros(len(rows), dtype=np.int64), 1)
    return squared_error(rows, np.repeat(middle, len(rows), axis=0), attributes, scale)


def _squared(points: Space, first: Integers, second: Integers) -> Floats:
    """Squared distances between the rows numbered ``first`` and ``second``, whose shapes broadcast."""
    total: Floats = np.zeros(np.broadcast_shapes(first.shape, second.shape))
    for steps, weight in zip(points.steps, points.weights, strict=True):
        total += ((steps[first] - steps[second]) * weight) ** 2
    for codes, places, start, unit in zip(
        points.codes, points.sizes, points.starts, points.units, strict=True
    ):
        if start < 0:
            total += codes[first] != codes[second]
        else:
            total += (points.tables[start + codes[first] * places + codes[second]] * unit) ** 2
    return total


def matched_error(
    original: Table,
    released: Table,
    attributes: Sequence[Attribute],
    scale: str = "range",
    words: Words = WORDS,
) -> float:
    """Return the least sum of squared distances over all one-to-one matchings.

    A released table of another size is first resized at random. Above ``MOST_MATCHED`` rows, a random sample of
    both is matched and the sum scaled up; a sample is sparser, so this errs upwards.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - a fifth of a second

    count = min(len(original), MOST_MATCHED)
    first = original[shuffle.order(len(original), words)[:count]]
    second = resized(released, len(original), words)[:count]
    points = space(np.concatenate([first, second]), attributes, scale)
    rows = np.arange(count)
    costs = _squared(points, rows[:, None], rows[None, :] + count)
    return float(costs[linear_sum_assignment(costs)].sum()) * len(original) / count


def resized(rows: Table, count: int, words: Words) -> Table:
    """Return ``count`` rows in random order: a random subset, or all rows and copies of randomly chosen ones."""
    whole, rest = divmod(count, len(rows))
    some = shuffle.order(len(rows), words)[:rest]
    chosen = np.concatenate([np.tile(np.arange(len(rows)), whole), some])
    result: Table = rows[chosen[shuffle.order(count, words)]]
    return result


def linkage(
    original: Table,
    released: Table,
    source: Integers,
    attributes: Sequence[Attribute],
    scale: str = "range",
    words: Words = WORDS,
) -> float:
    """Return the mean probability, in percent, of linking a released row to its original.

    The intruder picks one of the nearest original rows, each with equal probability. Above ``MOST_DISTANCES``
    distances, a random sample of the released rows is linked.

    Args:
        original: shape (rows, attributes).
        released: shape (rows released, attributes).
        source: shape (rows released,): the original row of each.
        attributes: the attributes that are compared, one for each column.
        scale: one of ``SCALES``.
        words: the source of randomness for the sample.
    """
    from dpproxy.anonymize import grow  # noqa: PLC0415 - the compiler is imported when a view is built

    if len(released) * len(original) > MOST_DISTANCES:
        some = shuffle.order(len(released), words)[: MOST_DISTANCES // len(original) + 1]
        released, source = released[some], source[some]
    both = space(np.concatenate([original, released]), attributes, scale)
    rows = grow.rows_of(both)
    metric, middle = grow.metric_of(both), grow.middle_of(both)
    _, firsts, same = np.unique(released, axis=0, return_index=True, return_inverse=True)
    owners = np.split(source[np.argsort(same, kind="stable")], np.cumsum(np.bincount(same))[:-1])
    total = 0.0
    for first, owned in zip(firsts, owners, strict=True):
        grow.to_row(rows, middle, len(original) + int(first))
        grow.measure(rows, metric, middle, len(original))
        found = rows.distances[: len(original)]
        nearest = found <= found.min() * EQUAL
        total += np.count_nonzero(nearest[owned]) / np.count_nonzero(nearest)
    return float(100 * total / len(released))


def changes(original: Table, released: Table) -> dict[str, float]:
    """Return the changes of means, variances and correlations of ordered columns; undefined ones are left out."""
    if not original.shape[1]:
        return {}
    means, variances = (
        _relative(original.mean(axis=0), released.mean(axis=0)),
        _relative(original.var(axis=0), released.var(axis=0)),
    )
    figures = {}
    if len(means):
        figures["mean_change"] = float(means.mean())
    if len(variances):
        figures["variance_change"] = float(variances.mean())
    pairs = np.triu_indices(original.shape[1], 1)
    if len(pairs[0]):
        apart = np.abs(correlations(released) - correlations(original))[pairs]
        figures["correlation_change"] = float(apart.mean())
        figures["correlation_change_sd"] = float(apart.std())
    return figures


def _relative(before: Floats, after: Floats) -> Floats:
    some = before != 0
    result: Floats = np.abs(after[some] - before[some]) / np.abs(before[some])
    return result


def correlations(rows: Table) -> Floats:
    """Return all correlations, shape (columns, columns); those of a constant column are undefined and set to 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.atleast_2d(np.corrcoef(rows.T))
    return np.nan_to_num(found)
