"""Chapter 7 of the thesis, t-closeness towards differential privacy: its example, its quotas, and measures on Census.

    python -m examples.thesis.tcloseness [--out FOLDER]

The thesis is J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013. Figures go to
examples/thesis/out and need the extra: pip install 'dpproxy[plots]'.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import duckdb
import numpy as np

from dpproxy.anonymize import measures
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    Categories,
    LatticeDomain,
    OptionValue,
    Role,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.quotas import apportioned, quotas
from examples.thesis.census import Rows, census, declared
from examples.thesis.command import options, show
from examples.thesis.tables import Figure, compared, table

ADULT = Path(__file__).parents[1] / "data" / "adult.parquet"
FACTORS = tuple(Fraction(text) for text in ("1.1", "1.25", "1.5", "2", "3", "5", "10"))
KNOWN, SECRET = ("taxinc", "pothval"), ("fedtax",)


def released(rows: Rows, attributes: tuple[Attribute, ...], **options: OptionValue) -> Anonymized:
    """A release by the product's own method."""
    build = METHODS["t_closeness"].check(ViewRequest(attributes, options, len(rows)))
    return build.make(rows, os.urandom, silent)


def example() -> Iterator[Figure]:
    """12 records in groups of 4 over three buckets, t = 1.5: 2 of a group's own bucket, 1 of each other."""
    rows = np.column_stack([np.arange(12), np.arange(12)])
    attributes = (
        Attribute("known", LatticeDomain(0, 11), Role.QUASI),
        Attribute("s", LatticeDomain(0, 11), Role.SENSITIVE),
    )
    made = released(rows, attributes, t=Fraction(3, 2), k=4, buckets=3)
    counts = np.sort(made.linked["groups"].values[:, -1].reshape(-1, 3), axis=1)[:, ::-1]
    for group, found in enumerate(counts.tolist()):
        for what, printed, number in zip(("own", "second", "third"), "211", found, strict=True):
            yield Figure(f"group {group}, records of its {what} bucket", printed, number)
    yield Figure("t achieved", "1.5", made.achieved["t"])
    yield Figure(
        "records of a group by the formula as printed, k - t * ceil() of its own",
        "4",
        4 - 1.5 * 2 + 2,
        "the group is to have k = 4: its own share is k - sum of ceil(), what the others leave",
    )


def literal(total: int, buckets: int, times: int, t: Fraction) -> bool:
    """Whether ceil(k p / t) of every other bucket and the rest of the own add up to the buckets' sizes."""
    sizes = apportioned(total, [1] * buckets)
    members = apportioned(total, [1] * (buckets * times))
    taken = [0] * buckets
    for group, k in enumerate(members):
        own = group % buckets
        others = {b: ceil(Fraction(k * sizes[b], total) / t) for b in range(buckets) if b != own}
        for bucket, count in others.items():
            taken[bucket] += count
        taken[own] += k - sum(others.values())
    return taken == sizes


def adding_up() -> str:
    """Literal quotas, and those that solve the transport problem."""
    cases = [
        (total, times, t)
        for t in (Fraction(3, 2), Fraction(2), Fraction(3))
        for total in range(20, 61)
        for times in (1, 2, 3)
        if total // ((floor(t) + 1) * times) >= 3
    ]
    even = [case for case in cases if case[0] % ((floor(case[2]) + 1) * case[1]) == 0]
    rows = []
    for name, some in (("all", cases), ("groups and buckets divide the records", even)):
        adds = sum(literal(total, floor(t) + 1, times, t) for total, times, t in some)
        exist = sum(
            quotas(apportioned(total, [1] * (floor(t) + 1)), t, total // ((floor(t) + 1) * times)) is not None
            for total, times, t in some
        )
        rows.append([name, str(len(some)), f"{adds / len(some):.0%}", f"{exist / len(some):.0%}", ""])
    head = ["20 to 60 records, t = 1.5, 2, 3", "cases", "literal quotas add up", "solved for", ""]
    return table("Quotas that add up to what there is", head, rows)


@dataclass(frozen=True, slots=True)
class Measured:
    """One release of Census, permuted.

    Attributes:
        within: squared distances inside groups over all, in what is known: 1 for groups at random.
        loss: squared error of the released confidential values over that of releasing their mean.
        correlation: mean |change| of the correlations.
    """

    t: Fraction
    achieved: float
    k: int
    groups: int
    buckets: int
    own: float
    within: float
    loss: float
    correlation: float


def on_census(t: Fraction, secret: tuple[str, ...] = SECRET) -> Measured:
    """What is known: taxable income and other income; confidential: the federal tax, unless others are named."""
    names = (*KNOWN, *secret)
    rows = census(names)
    roles = [Role.QUASI] * len(KNOWN) + [Role.SENSITIVE] * len(secret)
    attributes = declared(rows, names, roles)
    apart = released(rows, attributes, t=t)
    counts = apart.linked["groups"].values[:, -1].reshape(-1, len(apart.linked["buckets"].values))
    moved = released(rows, attributes, t=t, release="permuted")
    assert moved.source is not None
    hidden = slice(len(KNOWN), len(names))
    error = measures.squared_error(rows[moved.source][:, hidden], moved.rows[:, hidden], attributes[hidden])
    most = measures.spread(rows[:, hidden], attributes[hidden])
    changed = measures.changes(rows, moved.rows[:, : len(names)])
    return Measured(
        t=t,
        achieved=apart.achieved["t"],
        k=int(counts.sum(axis=1).min()),
        groups=len(counts),
        buckets=counts.shape[1],
        own=float((counts.max(axis=1) / counts.sum(axis=1)).mean()),
        within=within(apart.rows[:, : len(KNOWN)], apart.rows[:, -1], attributes[: len(KNOWN)]),
        loss=error / most,
        correlation=changed["correlation_change"],
    )


def within(rows: Rows, groups: Rows, attributes: Sequence[Attribute]) -> float:
    """Squared distances to the middles of groups over those to the middle of all."""
    inside = sum(measures.spread(rows[groups == group], attributes) for group in np.unique(groups))
    return inside / measures.spread(rows, attributes)


def over_t() -> str:
    """The thesis prints no such table; more t is less privacy and more use."""
    head = ["", "t reached", "buckets", "groups", "least rows", "own share", "within", "loss", "correlations"]
    rows = []
    for t in FACTORS:
        found = on_census(t)
        shown = (found.own, found.within, found.loss, found.correlation)
        rows.append(
            [
                f"t = {float(t):g}, epsilon = {np.log(float(t)):.3f}",
                f"{found.achieved:.3f}",
                *(str(number) for number in (found.buckets, found.groups, found.k)),
                *(f"{number:.3f}" for number in shown),
            ]
        )
    title = (
        "Census, FEDTAX confidential, TAXINC and POTHVAL known, k = auto (no numbers printed in the thesis)"
    )
    return table(title, head, rows)


def adult(columns: Sequence[str]) -> tuple[Rows, list[Attribute]]:
    """Columns of Adult: numbers between their ends, texts as places in the sorted list of them."""
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT {', '.join(columns)} FROM '{ADULT}'").fetchnumpy()
    places, attributes = [], []
    for name in columns:
        values = np.asarray(found[name])
        if values.dtype.kind == "i":
            places.append(values.astype(np.int64))
            attributes.append(
                Attribute(name, LatticeDomain(int(values.min()), int(values.max())), Role.QUASI)
            )
        else:
            distinct, place = np.unique(values.astype(str), return_inverse=True)
            places.append(place.astype(np.int64))
            attributes.append(Attribute(name, Categories(len(distinct)), Role.QUASI))
    return np.column_stack(places), attributes


def kinds() -> str:
    """Nominal and several confidential attributes, the thesis' future work, at t = 2."""
    rows, attributes = adult(("age", "hours_per_week", "occupation", "education_num"))
    cases = [("Census, FEDTAX and FICA together", on_census(Fraction(2), ("fedtax", "fica")).achieved, 1080)]
    for secret in ("occupation", "education_num"):
        roles = [Role.SENSITIVE if a.name == secret else Role.QUASI for a in attributes]
        some = tuple(Attribute(a.name, a.domain, role) for a, role in zip(attributes, roles, strict=True))
        made = released(rows, some, t=2)
        cases.append((f"Adult, {secret}", made.achieved["t"], len(rows)))
    shown = [[name, str(count), "2", f"{reached:.3f}", ""] for name, reached, count in cases]
    return table("Other confidential attributes", ["", "rows", "t", "reached", ""], shown)


def tables() -> Iterator[str]:
    """Every table, as text."""
    yield compared("12 records, k = 4, t = 1.5, three buckets", list(example()))
    yield adding_up()
    yield over_t()
    yield kinds()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and draw the figures."""
    return show("tcloseness", tables(), options("tcloseness", __doc__).parse_args(arguments).out)


if __name__ == "__main__":
    sys.exit(main())
