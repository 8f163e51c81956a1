"""dp.with_prior over many people: the draw with noise as without a prior, then the mean of the prior weighed by it.

That second step reads nothing but the draw, so that it is free, and another prior over the same draw, too. Refinement
(``priors.statistical``) answers instead where it is predicted to be nearer, and where the values of a prior are no
numbers on a line. What is predicted follows from the policy, EXPECTED ROWS and the prior.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import hypot

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.model import Aggregate, Noise
from dpproxy.aggregates.posterior import Inner, Posterior
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Notice
from dpproxy.analysis import duck
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.priors import aggregate_of, prior_of
from dpproxy.planner.release.scope import AggregateCall
from dpproxy.planner.rows.relation import JoinedRows
from udfs.mechanisms.refinement import Refinement
from udfs.posterior import expected_distances
from udfs.priors import MOST_VALUES
from udfs.privacy import LEAST_NANO

MOST_CELLS = 1 << 24
"""Values of a prior times groups: a second or two of the answer stage."""
LEAST_VALUES = 50
SURPRISE = Fraction(1, 20)
"""So rarely a statement tells of a contradiction where its priors are right."""


def posteriors(
    calls: Sequence[exp.Expr],
    keys: Keys,
    rows: JoinedRows,
    planning: Planning,
    alone: Callable[[Inner], Noise],
) -> dict[exp.Expr, Posterior]:
    """The calls that are answered by noise and a posterior, their noise still open. Raises a ``Refusal``.

    ``alone`` gives the noise of an aggregate that is released by itself for the whole loss.
    """
    found = {}
    for node in calls:
        inner = aggregate_of(node, rows, planning)
        prior = prior_of(node, inner.type)
        if prior.distance != "absolute":
            continue
        scale = 0 if isinstance(inner, Count) else None
        scale = inner.argument.typed.scale if isinstance(inner, Sum) else scale
        most = max(LEAST_VALUES, min(MOST_VALUES, MOST_CELLS // max(1, keys.count)))
        made = Posterior(inner, prior, node.expressions[1].name, scale, alone(inner), most)
        if _is_nearer(made, keys, rows, planning):
            found[node] = made
    return found


def _is_nearer(made: Posterior, keys: Keys, rows: JoinedRows, planning: Planning) -> bool:
    """Whether noise and a posterior are predicted to be no farther off than refinement."""
    sd = _sd(made, rows, planning, keys.count)
    nano = planning.terms.loss.nano // (min(rows.groups, rows.most) if keys.sets else 1)
    if sd is None or keys.discovered or nano < LEAST_NANO:
        return True
    posterior, alone = expected_distances(made.prior, sd, bell=made.noise.bell)
    refined = Refinement.statistical(made.prior, nano).expected_distance
    if refined < posterior:
        way = "refinement, one draw moved towards the truth"
        planning.tell(
            _told(made, way, f"{refined:.4g} by refinement, {posterior:.4g} by noise and prior", alone)
        )
    return posterior <= refined


def _sd(made: Posterior, rows: JoinedRows, planning: Planning, groups: int) -> float | None:
    """The noise's standard deviation where the prior is right; None for an average of nobody knows how many rows."""
    inner, noise, prior = made.inner, made.noise, made.prior
    if not isinstance(inner, Average):
        return inner.error(noise, Fraction(1, 2)).noise_sd
    tables = planning.context.policy.tables
    sizes = [tables[s.table].expected_rows for s in rows.scans if s.table in tables]
    size = max((n for n in sizes if n is not None), default=None)
    if not size:
        return None
    weights = prior.weights
    total = sum(weights)
    far = sum(w * (float(v) - inner.middle) ** 2 for v, w in zip(prior.values, weights, strict=True)) / total
    fixed = noise.sd[0] * float(inner.argument.unit)
    return hypot(fixed, noise.sd[1] * far**0.5) / max(1.0, size / max(1, groups))


def _compared(made: Posterior, keys: Keys, rows: JoinedRows, planning: Planning) -> Notice:
    """How far off the answer is predicted to be, beside its noise alone."""
    way = "noise, then the mean of what is believed after it"
    sd = None if keys.discovered else _sd(made, rows, planning, keys.count)
    if sd is None:
        return Notice(
            f"with prior {_short(made.text)}: answered by {way}",
            detail="How far off noise alone is depends on how many rows there are.",
            hint="An administrator declares about how many there are with EXPECTED ROWS of the table.",
        )
    posterior, alone = expected_distances(made.prior, sd, bell=made.noise.bell)
    return _told(made, way, f"{posterior:.4g} by noise and prior", alone)


def _told(made: Posterior, way: str, words: str, alone: float) -> Notice:
    return Notice(
        f"with prior {_short(made.text)}: answered by {way}",
        detail=f"Predicted distance from the truth where the prior is right: {words}, {alone:.4g} by noise alone.",
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def under(noise: Noise, aggregate: Aggregate) -> Aggregate:
    """The same; a posterior, with the noise that was chosen."""
    return replace(aggregate, noise=noise) if isinstance(aggregate, Posterior) else aggregate


def watch(
    calls: Mapping[exp.Expr, AggregateCall], number: int, keys: Keys, rows: JoinedRows, planning: Planning
) -> None:
    """Have it told how posteriors compare with noise, and where a draw contradicts its prior.

    Contradictions are those that one statement in 20 has where its priors are right.
    """
    believed = [(c.aggregate, c.columns) for c in calls.values() if isinstance(c.aggregate, Posterior)]
    least = float(SURPRISE) / max(1, keys.count * len(believed))
    for aggregate, columns in believed:
        planning.tell(later(_told_of, aggregate, aggregate.noise, keys, rows, planning))
        rare = nodes.Binary("<", aggregate.surprise(columns), duck.double(least))
        count = duck.call("count", nodes.Star())
        query = nodes.Select((count,), nodes.Release(number), where=rare)
        planning.checks.append((query, _short(aggregate.text), keys.count))


def _told_of(made: Posterior, noise: Noise, keys: Keys, rows: JoinedRows, planning: Planning) -> Notice:
    return _compared(replace(made, noise=noise), keys, rows, planning)
