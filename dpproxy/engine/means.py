"""What several releases say of the same part, weighed by their accuracy: draws that it follows from, and a cube.

Weights follow from the laws of the noise alone. Proofs: ``udfs/mechanisms/averaged.md`` of draws,
``udfs/mechanisms/combination.md`` with a cube.
"""

from collections.abc import Sequence
from math import hypot, sqrt

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.model import Cost
from dpproxy.algebra.plan import Drawn, Fitted, Summed
from dpproxy.engine import payloads
from dpproxy.engine.laws import MOST_LAWS, kinds, laws_of
from udfs.mechanisms.averaged import SCALE, USUAL, Draw
from udfs.mechanisms.combination import Combination, Several
from udfs.mechanisms.linear import Linear
from udfs.privacy import Released

FREE = Cost()
MOST_AVERAGED = 4
"""The most draws that are averaged: the most accurate ones."""


class PartAnswer(Struct, frozen=True):
    """The released relation of a part, its cost to this caller, and how its values were derived, if they were."""

    released: Released[pa.Table]
    cost: Cost = FREE
    summed: Summed | Fitted | None = None
    origins: tuple[int, ...] = ()
    """The charges whose stored releases it was made from."""

    @property
    def drawn(self) -> Drawn:
        """What the part was answered from, for planning the answer's error."""
        return Drawn(self.released.loss, self.summed)


def averaged(answers: Sequence[PartAnswer]) -> PartAnswer:
    """The first answer, averaged with those of other draws; as it is where none is of a sum."""
    first = answers[0]
    draws = [(a, a.summed) for a in answers[:MOST_AVERAGED] if isinstance(a.summed, Summed)]
    if not isinstance(first.summed, Summed) or len(draws) == 1:
        return first
    each = zip(*(_terms(a, of) for a, of in draws), strict=True)
    rows, worst = kinds([[n for terms in row for n in terms] for row in each])
    laws = [_mean([of for _, of in draws], terms) for terms in worst]
    farthest = _mean([of for _, of in draws], [max(terms) for terms in zip(*worst, strict=True)])
    means = [law.means for law in laws]
    best = taken_alone(farthest)
    if best is not None:
        return replace(draws[best][0], cost=first.cost)
    table = payloads.averaged([a.released.value for a, _ in draws], means, rows)
    return PartAnswer(
        Released(table, first.released.loss),
        first.cost,
        replace(farthest, laws=tuple(laws) if len(laws) > 1 else ()),
        tuple(o for a, _ in draws for o in a.origins),
    )


def taken_alone(summed: Summed) -> int | None:
    """The draw of several figures, by its place, that is nearer by itself; None where the mean is.

    The mean has less noise, but of what is computed of several figures the law of one draw tells more. That is looked
    at for two of them: other figures of the same draws are alike.
    """
    place = max(range(1 + len(summed.also)), key=lambda n: summed.means[0].weights[n])
    best = (summed, *summed.also)[place]
    mean = Linear.joint(summed.means[:2], USUAL)
    alone = Linear.joint(best.draws[:2], USUAL)
    if len(summed.columns) < 2 or alone is None or mean is None:
        return None
    is_farther = any(mean.reach(w) > alone.reach(w) for w in ((1.0, 0.0), (0.0, 1.0)))
    return place if is_farther else None


def _terms(answer: PartAnswer, of: Summed) -> list[tuple[int, ...]]:
    """How many draws each figure of each row adds up."""
    several = [law.terms for law in of.laws or (of,)]
    return [several[law] for law in laws_of(answer.released.value)]


def _mean(draws: Sequence[Summed], terms: Sequence[float]) -> Summed:
    """The mean of draws, of so many terms of each figure of each."""
    size, whole = len(draws[0].columns), tuple(map(round, terms))
    first, *also = (
        replace(of, terms=whole[n * size : (n + 1) * size], laws=()) for n, of in enumerate(draws)
    )
    return replace(first, also=tuple(also))


def with_cube(own: PartAnswer, cube: PartAnswer) -> PartAnswer | None:
    """The mean of what follows from own releases and from a cube; None where one of them alone is as near."""
    of, fitted = own.summed, cube.summed
    if not isinstance(of, Summed) or not isinstance(fitted, Fitted):
        return None
    sides = [_errors(own, [_of_draws(law) for law in of.laws or (of,)])]
    sides.append(_errors(cube, [_of_cells(law) for law in fitted.laws or (fitted,)]))
    rows, worst = kinds([[*one, *other] for one, other in zip(*sides, strict=True)])
    least = _least(of), [noise.least for noise in fitted.noise]
    laws = [_law(errors, least) for errors in worst]
    farthest, _ = _law(np.max(worst, axis=0).tolist(), least)
    draws = 1 + len(of.also)
    made = replace(farthest, cube=fitted.cube, draws=draws)
    apart = zip(made.half_width(USUAL), fitted.half_width(USUAL), of.means, strict=True)
    if any(both >= min(one, mean.half_width(USUAL)) for both, one, mean in apart):
        return None
    if len(laws) > 1:
        made = replace(made, laws=tuple(replace(law, cube=fitted.cube, draws=draws) for law, _ in laws))
    tables = own.released.value, cube.released.value
    table = payloads.weighed(tables, [weights for _, weights in laws], rows)
    return PartAnswer(Released(table, own.released.loss), summed=made, origins=own.origins)


def together(answers: Sequence[PartAnswer], signs: Sequence[int]) -> PartAnswer | None:
    """What follows only from several releases: the sum of what follows from each, some taken away.

    None where a figure takes several of one release.

    All noise is symmetric and independent, so that a sign makes no difference to the law.
    """
    draws = [(a, a.summed) for a in answers if isinstance(a.summed, Summed)]
    if len(draws) < len(answers):
        return None
    terms = list(zip(*(_terms(a, of) for a, of in draws), strict=True))
    alike = {(of.mechanism, of.columns, of.cells) for _, of in draws}
    rows, made = (
        _sum(draws[0][1], terms, len(draws)) if len(alike) == 1 else _apart([d for _, d in draws], terms)
    )
    first = answers[0].released
    table = payloads.together([a.released.value for a in answers], signs, rows)
    origins = tuple(o for a in answers for o in a.origins)
    return PartAnswer(Released(table, first.loss), summed=made, origins=origins)


def taken(answers: Sequence[PartAnswer], weights: Sequence[Sequence[int]]) -> PartAnswer | None:
    """Measures of which each takes so many of single figures, which follow from several releases."""
    places = {origin: n for n, origin in enumerate(dict.fromkeys(o for a in answers for o in a.origins))}
    summed = [(a.summed, places[a.origins[0]]) for a in answers if a.summed is not None]

    def law(numbers: Sequence[int | None]) -> Fitted:
        parts = [_drawn(of, number, place) for (of, place), number in zip(summed, numbers, strict=True)]
        noise = tuple(_several(parts, of) for of in weights)
        return Fitted("", noise, (0.0,) * len(noise), draws=len(places))

    each = list(zip(*(laws_of(a.released.value) for a in answers), strict=True))
    alike = {numbers: n for n, numbers in enumerate(dict.fromkeys(each))}
    made, rows = law([None] * len(answers)), [0] * len(each)
    if 1 < len(alike) <= MOST_LAWS:
        made, rows = replace(made, laws=tuple(map(law, alike))), [alike[numbers] for numbers in each]
    table = payloads.taken([a.released.value for a in answers], weights, rows)
    return PartAnswer(Released(table, answers[0].released.loss), summed=made, origins=tuple(places))


def _drawn(of: Summed | Fitted, law: int | None, place: int) -> Several:
    """The noise of a figure that follows from one release, which is told apart by its place."""
    of = of.laws[law] if law is not None and of.laws else of
    noise = of.noise[0] if isinstance(of, Fitted) else Several(of.draws[:1], (1,))
    if not isinstance(noise, Several):
        raise TypeError("the figure of one release is of its draws")
    return replace(noise, draws=tuple(replace(d, cells=place) for d in noise.draws))


def _several(parts: Sequence[Several], weights: Sequence[int]) -> Several:
    """The noise of so many of each figure."""
    found: dict[Draw, int] = {}
    for part, times in zip(parts, weights, strict=True):
        for draw, more in zip(part.draws, part.weights, strict=True):
            found[draw] = found.get(draw, 0) + times * more
    draws = tuple(draw for draw, times in found.items() if times)
    places = {draw.cells for draw in draws}
    return Several(draws, tuple(found[draw] for draw in draws), len(places) == len(draws))


Terms = Sequence[Sequence[tuple[int, ...]]]
"""Of each row, of each release, of each figure."""


def _sum(first: Summed, terms: Terms, releases: int) -> tuple[list[int], Summed]:
    """The law of each row, of draws of one mechanism."""
    rows, worst = kinds([[sum(figure) for figure in zip(*row, strict=True)] for row in terms])
    laws = [replace(first, terms=tuple(map(round, most)), laws=(), releases=releases) for most in worst]
    farthest = tuple(map(max, zip(*(law.terms for law in laws), strict=True)))
    return rows, replace(laws[0], terms=farthest, laws=tuple(laws) if len(laws) > 1 else ())


def _apart(draws: Sequence[Summed], terms: Terms) -> tuple[list[int], Fitted]:
    """The law of each row, of draws of several."""
    sds = [[d.mechanism.noise_sd()[c] for c in d.columns] for d in draws]
    errors = [
        [sqrt(sum(n[m] * sd[m] ** 2 for n, sd in zip(row, sds, strict=True))) for m in range(len(sds[0]))]
        for row in terms
    ]
    rows, worst = kinds(errors)
    least = [min(sd[m] for sd in sds) for m in range(len(sds[0]))]

    def law(of: Sequence[float]) -> Fitted:
        noise = tuple(Combination(sd, one) for sd, one in zip(of, least, strict=True))
        return Fitted("", noise, (0.0,) * len(noise), draws=len(draws))

    laws = tuple(map(law, worst)) if len(worst) > 1 else ()
    return rows, replace(law([max(of) for of in zip(*worst, strict=True)]), laws=laws)


Errors = list[tuple[float, float]]
"""Of each figure, the standard deviation, and what rounding moves it by besides."""


def _of_draws(law: Summed) -> Errors:
    return [(mean.noise_sd(), 0.0 if mean.is_single else 0.5) for mean in law.means]


def _of_cells(law: Fitted) -> Errors:
    return [(noise.sd, more) for noise, more in zip(law.noise, law.rounding, strict=True)]


def _errors(answer: PartAnswer, laws: Sequence[Errors]) -> list[list[float]]:
    """Of each row."""
    return [[e for pair in laws[law] for e in pair] for law in laws_of(answer.released.value)]


def _least(of: Summed) -> list[float]:
    """The smallest standard deviation of a draw that each figure is made of."""
    draws = [(d.mechanism.noise_sd(), d.columns) for d in (of, *of.also)]
    return [min(sds[columns[n]] for sds, columns in draws) for n in range(len(of.columns))]


def _law(errors: Sequence[float], least: tuple[Sequence[float], Sequence[float]]) -> tuple[Fitted, list[int]]:
    """The error of a mean of both, and the weight of the cube of each figure, in parts of ``SCALE``."""
    half = len(errors) // 2
    figures = zip(
        errors[:half:2], errors[1:half:2], errors[half::2], errors[half + 1 :: 2], *least, strict=True
    )
    noise, rounding, weights = [], [], []
    for own, own_rounding, cube, cube_rounding, own_least, cube_least in figures:
        total = own**2 + cube**2
        weight = round(SCALE * own**2 / total) if total else 0
        share = weight / SCALE
        noise.append(Combination(hypot((1 - share) * own, share * cube), min(own_least, cube_least)))
        rounding.append((1 - share) * own_rounding + share * cube_rounding + 0.5)
        weights.append(weight)
    return Fitted("", tuple(noise), tuple(rounding)), weights
