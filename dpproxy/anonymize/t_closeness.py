"""t-closeness: groups in which no bucket of confidential values is much rarer or more frequent than in all rows.

The distance of two distributions is the largest quotient of two probabilities, in either direction. To an intruder
who knows only the marginal distribution of the confidential attributes, seeing somebody's group changes the probability
of a bucket by a factor t at most: epsilon-differential privacy with t = exp(epsilon), but only towards such intruders.
Source: thesis ch.7.

Confidential values are released only as buckets, which have about equally many records. A bucket is a run of
consecutive values for an ordered attribute, a run of concepts in depth-first order for a taxonomy; a nominal value goes
to the bucket with the fewest records so far. Equal values share a bucket. Several attributes are microaggregated
together: a bucket is a cluster. Nominal and compound attributes are the thesis' future work.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize import boxes, clusters, options, shuffle
from dpproxy.anonymize.clusters import mdav
from dpproxy.anonymize.kanonymity import SCALE_HELP, enough, named
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    ConceptGraph,
    InvalidOption,
    Linked,
    Progress,
    Role,
    Table,
    Unachievable,
    ViewBuild,
    ViewRequest,
)
from dpproxy.anonymize.quotas import Quotas, quotas
from dpproxy.anonymize.space import SCALES, centroids, is_ordered, space
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]


def bucketed(rows: Table, attributes: Sequence[Attribute], count: int, scale: str = "range") -> Integers:
    """Return the bucket of each row, shape (rows,): numbers from 0 without a gap, at most ``count`` of them.

    Args:
        rows: shape (rows, attributes), at least one row.
        attributes: the confidential ones.
        count: the number of buckets; where there are fewer distinct values, there are fewer buckets.
        scale: one of ``SCALES``, for distances of several attributes.
    """
    if len(attributes) > 1:
        return mdav(space(rows, attributes, scale), -(-len(rows) // count))
    domain, values = attributes[0].domain, rows[:, 0]
    if is_ordered(domain):
        return _consecutive(values, count)
    if isinstance(domain, ConceptGraph):
        (line,) = boxes.lines(attributes, scaled=True)  # along which a subtree is a run
        return _consecutive(line.positions(values), count)
    return _balanced(values, count)


def _consecutive(values: Integers, count: int) -> Integers:
    """Buckets of consecutive values, cut between distinct values where the sizes come nearest to equal."""
    _, places, often = np.unique(values, return_inverse=True, return_counts=True)
    distinct = len(often)
    count = min(count, distinct)
    before = np.concatenate([[0], np.cumsum(often)])
    cuts = [0]
    for number in range(1, count):
        first, last = cuts[-1] + 1, distinct - (count - number)
        off = np.abs(before[first : last + 1] * count - number * len(values))
        cuts.append(first + int(np.argmin(off)))
    result: Integers = np.searchsorted(np.array(cuts), places, side="right") - 1
    return result


def _balanced(values: Integers, count: int) -> Integers:
    """Buckets of nominal values: the most frequent value first, each to the bucket with the fewest records."""
    _, places, often = np.unique(values, return_inverse=True, return_counts=True)
    held = np.zeros(min(count, len(often)), dtype=np.int64)
    bucket_of = np.empty(len(often), dtype=np.int64)
    for place in np.argsort(-often, kind="stable"):
        bucket_of[place] = np.argmin(held)
        held[bucket_of[place]] += often[place]
    return bucket_of[places]


def described(
    rows: Table, attributes: Sequence[Attribute], labels: Integers, middles: Table
) -> dict[str, Linked]:
    """Relations that describe the buckets.

    Args:
        rows: shape (rows, attributes).
        attributes: the confidential ones.
        labels: shape (rows,): the bucket of each row.
        middles: shape (buckets, attributes): centroids.

    Returns:
        ``buckets``, with the centroid and the number of rows of each bucket and the ends of its ordered attributes;
        and for each attribute NAME without an order ``NAME_values``, with the values of each bucket and their counts.
    """
    numbers = np.arange(len(middles))
    records = np.bincount(labels)
    columns, values, like = ["bucket_id"], [numbers], {}
    linked = {}
    for column, attribute in enumerate(attributes):
        columns.append(attribute.name)
        values.append(middles[:, column])
        if is_ordered(attribute.domain):
            inside = [rows[labels == number, column] for number in numbers]
            for end, found in (("from", np.min), ("to", np.max)):
                columns.append(f"{attribute.name}_{end}")
                like[columns[-1]] = attribute.name
                values.append(np.array([found(part) for part in inside]))
        else:
            pairs, often = np.unique(np.column_stack([labels, rows[:, column]]), axis=0, return_counts=True)
            linked[f"{attribute.name}_values"] = Linked(
                ("bucket_id", attribute.name, "records"), np.column_stack([pairs, often])
            )
    buckets = Linked((*columns, "records"), np.column_stack([*values, records]), like)
    return {"buckets": buckets, **linked}


MOST_T: Final = 100
RELEASES: Final = ("anatomy", "permuted")


class TCloseness(Struct, frozen=True):
    """Releases the buckets of confidential values: counts by group (anatomy), or shuffled inside groups (permuted)."""

    name: ClassVar[str] = "t_closeness"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "t": f"the largest factor between shares of a bucket in a group and in all rows, 1 to {MOST_T}",
        "epsilon": "instead of t, which is exp(epsilon)",
        "k": "the least number of rows in a group, or auto",
        "buckets": "how many buckets; one more than the whole part of t unless given",
        "release": "anatomy (groups and their buckets in two relations) or permuted (values shuffled, groups hidden)",
        "scale": SCALE_HELP,
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        asked = _asked(request)
        names = named(request.attributes, asked.confidential)
        known = named(request.attributes, asked.known)
        return ViewBuild(
            guarantee=(
                f"exp({math.log(asked.t):.6g})-closeness, t = {float(asked.t):.6g}, in groups of at least {asked.k} "
                f"rows: how likely {names} falls into a bucket changes by a factor t at most for whoever learns "
                f"{known}. This is epsilon-differential privacy with t = exp(epsilon) only towards intruders who know "
                f"no more of {names} than the marginal distribution; it is not differentially private otherwise, and "
                "does not compose with other releases of the same rows."
            ),
            loss=None,
            make=partial(_make, request, asked),
            columns=(
                (*(request.attributes[place].name for place in asked.known), "group_id")
                if asked.release == "anatomy"
                else (*(attribute.name for attribute in request.attributes), "bucket_id")
            ),
        )


class _Asked(Struct, frozen=True):
    t: Fraction
    k: int
    buckets: int
    release: str
    scale: str
    known: list[int]
    confidential: list[int]


def _asked(request: ViewRequest) -> _Asked:
    sensitive = [place for place, a in enumerate(request.attributes) if a.role is Role.SENSITIVE]
    known = [place for place, a in enumerate(request.attributes) if a.role is not Role.SENSITIVE]
    if not sensitive:
        raise InvalidOption(
            "sensitive", "t_closeness needs a sensitive column", "Name some: sensitive = (a, b)."
        )
    if not known:
        raise InvalidOption("quasi", "t_closeness needs a column that is not sensitive to group rows by")
    _names(request.attributes)
    t = _t(request)
    buckets = options.whole("buckets", request.options.get("buckets", floor(t) + 1), 2)
    if buckets > MOST_T + 1:
        raise InvalidOption("buckets", f"buckets are {MOST_T + 1} at most")
    return _Asked(
        t=t,
        k=automatic(t, buckets, request.expected_rows or 0)
        if request.options.get("k", "auto") == "auto"
        else options.cluster_size(request, 1),
        buckets=buckets,
        release=options.word(request, "release", RELEASES),
        scale=options.word(request, "scale", SCALES),
        known=known,
        confidential=sensitive,
    )


def _names(attributes: tuple[Attribute, ...]) -> None:
    """Refuse attributes that have the name of a column that the method adds. Errors: InvalidOption."""
    own = {attribute.name for attribute in attributes}
    added = {"group_id", "bucket_id", "records", *(f"{name}_{end}" for name in own for end in ("from", "to"))}
    for name in sorted(own & added):
        raise InvalidOption(
            "", f"t_closeness adds a column {name}", "Name the view's column otherwise with AS."
        )


def _t(request: ViewRequest) -> Fraction:
    """The factor t, from the option ``t`` or from ``epsilon``. Errors: InvalidOption."""
    if ("t" in request.options) == ("epsilon" in request.options):
        raise InvalidOption("t", "t_closeness takes either t or epsilon", "t = 1.5, or epsilon = 0.4.")
    if "t" in request.options:
        t = options.number("t", request.options["t"])
    else:
        epsilon = options.number("epsilon", request.options["epsilon"])
        # Rounded down: the factor is never larger than exp(epsilon).
        t = (
            Fraction(math.nextafter(math.exp(float(min(epsilon, Fraction(MOST_T)))), 0))
            if epsilon > 0
            else Fraction(0)
        )
    if not 1 <= t <= MOST_T:
        option = "t" if "t" in request.options else "epsilon"
        raise InvalidOption(option, f"t = exp(epsilon) is between 1 and {MOST_T}")
    return t


def automatic(t: Fraction, buckets: int, expected: int = 0) -> int:
    """Choose k from public facts: the group size at which the share of a group's emphasis (see ``quotas``) is largest.

    The least size is the number of buckets, or ``LEAST_AUTO`` (which limits linkage) if that is more. The largest is
    twice that or, if that is more, ``buckets`` * t rows, with which the quotas of a group just reach t; but at most so
    many that every bucket is the emphasis of two groups.
    """
    least = max(options.LEAST_AUTO, buckets)
    most = max(2 * least, min(floor(buckets * t), expected // (2 * buckets)))

    def lean(k: int) -> Fraction:
        share = Fraction(k, buckets)
        return Fraction(min(floor(share * t), k - (buckets - 1) * max(1, ceil(share / t))), k)

    return max(range(least, most + 1), key=lambda k: (lean(k), -k))


def _make(request: ViewRequest, asked: _Asked, rows: Table, words: Words, progress: Progress) -> Anonymized:
    enough(rows, asked.k)
    source = clusters.canonical(rows)
    rows = rows[source]
    secret = [request.attributes[place] for place in asked.confidential]
    values = rows[:, asked.confidential]
    buckets = bucketed(values, secret, asked.buckets, asked.scale)
    shared = quotas(np.bincount(buckets).tolist(), asked.t, asked.k)
    if shared is None:
        raise Unachievable(
            f"no groups of {asked.k} rows or a few more hold every bucket within a factor {float(asked.t):.6g}"
        )
    points = space(rows[:, asked.known], [request.attributes[place] for place in asked.known], asked.scale)
    groups = clusters.with_quotas(points, buckets, shared.counts, shared.emphasis, progress)
    middles = centroids(values, secret, buckets, int(buckets.max()) + 1)
    linked = described(values, secret, buckets, middles)
    order = shuffle.order(len(rows), words)
    if asked.release == "anatomy":
        linked["groups"] = _groups(shared, secret, middles)
        released = np.column_stack([rows[:, asked.known], groups])
    else:
        moved = buckets[shuffle.within(groups, words)]
        released = np.column_stack([rows, moved])
        released[:, asked.confidential] = middles[moved]
    smallest = int(shared.counts.sum(axis=1).min())
    return Anonymized(
        released[order],
        linked=linked,
        source=source[order],
        achieved={"t": shared.t, "epsilon": math.log(shared.t), "smallest_group": smallest},
    )


def _groups(shared: Quotas, secret: list[Attribute], middles: Table) -> Linked:
    """The relation of groups and buckets: how many records of each group are in each bucket."""
    groups, buckets = shared.counts.shape
    bucket: Integers = np.tile(np.arange(buckets), groups)
    return Linked(
        ("group_id", "bucket_id", *(attribute.name for attribute in secret), "records"),
        np.column_stack(
            [np.repeat(np.arange(groups), buckets), bucket, middles[bucket], shared.counts.ravel()]
        ),
    )
