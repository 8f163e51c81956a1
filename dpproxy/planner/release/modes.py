"""MODE: a part of its own, in which one of the declared values is chosen for each group."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.mode import SPREAD, Mode, fewer
from dpproxy.aggregates.model import Noise
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.derived import no_values
from dpproxy.analysis.keys import check_size
from dpproxy.analysis.position import position
from dpproxy.planner.keys.discovery import refuse_order
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import too_small
from dpproxy.planner.release.exact import exact_sql, measured
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.stage import choice_sql
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.values.errors import BoundsMissing
from udfs.mechanisms.exponential import Exponential
from udfs.privacy import LEAST_NANO


def modal(
    node: exp.Expr,
    mode: Mode,
    candidates: Keys,
    keys: Keys,
    rows: JoinedRows,
    planning: Planning,
    *,
    vacuous: bool,
) -> tuple[Draft, Mode]:
    """The release that chooses among ``candidates``, and its aggregate.

    Raises PD003 where the values are not declared.
    """
    if keys.discovered:
        raise refuse_order("mode", position(node))
    if candidates.discovered:
        raise BoundsMissing(
            "mode() is answered of declared values, and these are not listed",
            hint="Group by it, or an administrator declares its values with DOMAIN IN.",
            position=position(mode.written),
        )
    [key] = candidates.listed
    if key.constant is not None:
        raise no_values(mode.written)
    key = key.only(() if vacuous else tuple(v for v in key.values if v is not None))  # of no rows it is NULL
    vacuous = not key.values or planning.never_any(keys.count)
    check_size(keys.count * len(key.values), position(node))
    read = rows if mode.condition is None else rows.where([mode.condition])
    exact = exact_sql(read, [*keys.listed, key], measured([duck.call("count", nodes.Star())]), None)
    most, listed = rows.most, f"values={len(key.values)}"

    def price(part: Part, terms: Terms) -> Price:
        if terms.loss.nano // most < LEAST_NANO:
            raise too_small(terms.loss, most, most)
        mechanism = Exponential(SPREAD, terms.loss.nano // most)
        release = choice_sql(len(keys.by_node), key, mechanism.nano, vacuous=vacuous)
        noise = f"exponential mode {listed} nano={mechanism.nano}"
        return Price(replace(part, release=release, noise=noise, loss=terms.loss), mechanism)

    part = replace(
        planning.part(exact, keys.sets, vacuous=vacuous),
        box=f"mode of {len(key.values)} values",
        factor=most,
        histogram=None if vacuous else (len(key.values), 1),
    )
    return Draft(part, ("mode", listed, most), price), replace(mode, key=key)


def off_by(mechanism: Exponential, values: int, most: int) -> Noise:
    """By how many rows the value of so many may be off."""
    return Noise((), lambda confidence: (fewer(mechanism, max(1, values), confidence),), most)
