"""Parts of a plan as questions to the release store: which are independent, and which can be derived from others."""

from collections.abc import Callable, Sequence
from math import inf, sqrt

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Drawn, Fitted, Part, Plan, Summed
from dpproxy.engine import payloads
from dpproxy.engine.laws import kinds
from dpproxy.planner.reuse.descriptor import Descriptor
from dpproxy.planner.reuse.rollup import Derivation, derivation
from dpproxy.values.structs import PartlyShown
from udfs.mechanisms import Additive
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.combination import Several

Replan = Callable[[tuple[Drawn, ...]], Plan]
"""Plans the same statement again, with the error of what its parts were answered from."""


class Question(PartlyShown, Struct, frozen=True):
    """One part with its input values, the key under which its release is stored, and what else follows from that."""

    HIDDEN = frozenset({"values"})

    part: Part
    values: tuple[object, ...]
    key: bytes
    asked: Descriptor | None


def independent(parts: Sequence[Part], first: int) -> Sequence[Part]:
    """The longest run of parts, at least one, that take values only of parts with a number below ``first``."""
    for place, part in enumerate(parts):
        read = (r.number for query in {i.query for i in part.inputs} for r in query.find_all(nodes.Release))
        if place and any(n >= first for n in read):
            return parts[:place]
    return parts


def derived_sum(of: Descriptor, source: Part, descriptor: Descriptor, part: Part) -> Summed | Fitted | None:
    """How the values of ``part`` are made of those of ``source``; None where they are not."""
    found = derivation(of, payloads.wanted_of(source), descriptor, payloads.wanted_of(part))
    return None if found is None else summed(of.mechanism, found)[0]


def summed(mechanism: Additive, found: Derivation) -> tuple[Summed | Fitted, list[int]]:
    """Where the figures of a derivation come from, and the law of each row."""
    rows, worst = kinds(found.terms)
    terms = [tuple(map(round, most)) for most in worst]
    farthest = _law(mechanism, found, tuple(map(max, zip(*terms, strict=True))) or (1,) * len(found.columns))
    laws = [_law(mechanism, found, most) for most in terms] if len(terms) > 1 else []
    return replace(farthest, laws=tuple(laws)), rows


def _law(mechanism: Additive, found: Derivation, terms: tuple[int, ...]) -> Summed | Fitted:
    """The law of rows that add up so many groups for each column."""
    figures = list(zip(found.columns, terms, found.kinds, strict=True))
    if all(len(column) == 1 and column[0][1] == 1 for column in found.columns):
        return Summed(mechanism, tuple(column[0][0] for column, _, _ in figures), terms, found.kinds)
    noise = (
        Several(tuple(Draw(mechanism, c, n, kind) for c, _ in column), tuple(times for _, times in column))
        for column, n, kind in figures
    )
    return Fitted("", tuple(noise), (0.0,) * len(figures))


def noise_ratio(summed: Summed | Fitted, own: Additive, *, alike: bool = False) -> float:
    """The largest ratio, over the part's columns, of the sum's standard deviation to that of the part's own mechanism.

    Infinite for another mechanism where ``alike``, which a cube always is, and for a Gaussian that was drawn at less
    rho.
    """
    if isinstance(summed, Fitted):
        return inf if alike else _worst([noise.sd for noise in summed.noise], own.noise_sd())
    of = summed.mechanism
    if alike and type(of) is not type(own):
        return inf
    if of.CONCENTRATED and own.CONCENTRATED and of.nano < own.nano:
        return inf
    return _worst([sqrt(draw.variance) for draw in summed.draws], own.noise_sd())


def _worst(sds: Sequence[float], least: Sequence[float]) -> float:
    return max((sd / best if best else 1.0 for sd, best in zip(sds, least, strict=True)), default=1.0)


def as_planned(plan: Plan, drawn: Sequence[Drawn]) -> bool:
    """Whether each part was answered from its own draw, as planned, and none from a stored release."""
    return all(p.vacuous or d == Drawn(p.loss) for p, d in zip(plan.parts, drawn, strict=True))


def as_released(plan: Plan, drawn: Sequence[Drawn], replan: Replan) -> Plan:
    """The plan with the error of the releases that answered; unchanged where all parts were drawn as planned."""
    if as_planned(plan, drawn):
        return plan
    better = replan(tuple(drawn))
    same = [(p.query, p.box) for p in better.parts] == [(p.query, p.box) for p in plan.parts]
    return better if same else plan
