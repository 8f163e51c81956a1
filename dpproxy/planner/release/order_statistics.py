"""Order statistics of one grouping set: each a part of its own, several quantiles of one argument one together.

Bounds that are asked for are drawn from the same histogram around what was released, and share the loss: of a minimum
the lower one is the declared one, of a maximum the upper one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from math import isqrt, lcm

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.planner.keys.discovery import refuse_order
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import too_small
from dpproxy.planner.release.exact import exact_sql, measured
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.scope import AggregateCall
from dpproxy.planner.release.stage import Ranked, bounds_sql, quantile_sql
from dpproxy.planner.rewrites.empty import never_holds
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.select_list import items
from udfs.mechanisms.bounds import QuantileBounds
from udfs.mechanisms.quantiles import LARGEST_DENOMINATOR, Quantiles
from udfs.privacy import LEAST_NANO, Loss

LEAST_TOGETHER = 3
"""So many quantiles of one argument are more accurate in one draw than each in its own."""
_BOUNDS = frozenset({"ci_low", "ci_high"})


_Made = tuple[Ranked | None, Mapping[int, QuantileBounds]]
"""What draws statistics, and what draws bounds of some."""


class Family(Struct, frozen=True):
    """Statistics of one release: the calls of each fraction, in rising order."""

    calls: Mapping[Fraction, Mapping[exp.Expr, OrderStatistic]]

    @property
    def first(self) -> OrderStatistic:
        """Any of them: all have the same argument."""
        return self.statistics[0]

    @property
    def statistics(self) -> list[OrderStatistic]:
        """One of each fraction."""
        return [next(iter(calls.values())) for calls in self.calls.values()]

    @property
    def levels(self) -> int:
        """How many draws a row is in."""
        return len(self.calls).bit_length()

    def mechanism(self, nano: int) -> Ranked:
        """The draw, for one row."""
        fractions = tuple(self.calls)
        if len(fractions) == 1:
            return self.first.mechanism(nano)
        denominator = lcm(*(f.denominator for f in fractions))
        return Quantiles(
            0, self.first.last, tuple(int(f * denominator) for f in fractions), denominator, 1, nano
        )

    def bounded(self, within: Set[exp.Expr]) -> list[int]:
        """The places of the fractions of which bounds are drawn."""
        return [place for place, calls in enumerate(self.calls.values()) if within & calls.keys()]


def families(asked: Mapping[exp.Expr, OrderStatistic], *, apart: bool = False) -> list[Family]:
    """Which order statistics are released together; none where they are to be ``apart``."""
    found: dict[object, dict[Fraction, dict[exp.Expr, OrderStatistic]]] = {}
    for node, statistic in asked.items():
        key = node if statistic.is_extreme else (duck.text(statistic.cell), statistic.last)
        of = found.setdefault(key, {})
        of.setdefault(Fraction(statistic.numerator, statistic.denominator), {})[node] = statistic
    result: list[Family] = []
    for calls in found.values():
        ordered = dict(sorted(calls.items()))
        if (
            len(ordered) >= LEAST_TOGETHER
            and not apart
            and lcm(*(f.denominator for f in ordered)) <= LARGEST_DENOMINATOR
        ):
            result.append(Family(ordered))
        else:
            result += [Family({fraction: nodes_}) for fraction, nodes_ in ordered.items()]
    return result


def bounded(
    select: exp.Select, asked: Mapping[exp.Expr, OrderStatistic], *, intervals: bool
) -> Set[exp.Expr]:
    """The statistics of which bounds are asked: of those that are shown with ``intervals``, and in dp.ci_low."""
    shown = [part for item in items(select) for part in item.parts] if intervals else []
    found = {node for node in asked if node in shown}
    for node in own_nodes(select) if asked else ():
        if type(node) is exp.Dot and str(getattr(node.expression, "this", "")).lower() in _BOUNDS:
            found |= {e for e in node.expression.expressions if e in asked}
    return found


class OrderStatisticDraws(Struct, frozen=True):
    """What makes parts of order statistics: ``add`` numbers them; ``confidence`` is that of each one's bounds."""

    keys: Keys
    rows: JoinedRows
    planning: Planning
    select: exp.Select
    confidence: Fraction
    add: Callable[[Draft], int]

    def calls(
        self, asked: Mapping[exp.Expr, OrderStatistic], within: Set[exp.Expr]
    ) -> Iterator[tuple[exp.Expr, AggregateCall, list[int]]]:
        """Each call, with the numbers of the parts that its columns are of; those ``within`` bounds have these."""
        for family in families(asked, apart=self.planning.context.apart):
            if self.keys.discovered:
                raise refuse_order(family.first.name, position(self.select))
            places = family.bounded(within)
            drawn = self._parts(family, places)
            source = self.planning.source(drawn[0][0])
            columns = [duck.column(f"m{n}", f"r{number}") for number, many in drawn for n in range(many)]
            ends = {place: columns[len(family.calls) + 2 * n :][:2] for n, place in enumerate(places)}
            for place, calls in enumerate(family.calls.values()):
                known = later(_noise, source, place, self.rows.most)
                for node, each in calls.items():
                    shown = (columns[place], *(ends[place] if within & calls.keys() else ()))
                    yield node, AggregateCall(each, shown, known), [number for number, _ in drawn]

    def _parts(self, family: Family, places: Sequence[int]) -> list[tuple[int, int]]:
        """The numbers of the parts and of what they draw: the statistics, and bounds of some; all pay as one part does.

        One row moves a rank by one, so the rows of a unit pay one by one, in whatever groups they are. Each draw that a
        row is in has an equal share: of the loss, or of its square where losses add up as rho. Where losses add up, the
        statistics are a part of their own, which answers whoever asks for them without bounds, or has done so.
        """
        many, levels, draws = len(family.calls), family.levels, family.levels + len(places)

        def both(loss: Loss) -> _Made:
            each = isqrt(self._each(loss, 1, draws) ** 2 // (levels**2 + len(places)))
            if each < LEAST_NANO:
                raise too_small(loss, self.rows.most, self.rows.most * draws)
            return family.mechanism(each * levels), self._bounds(family, places, each)

        def own(loss: Loss) -> _Made:
            self._each(loss, levels, draws)  # or it is refused
            return family.mechanism(loss.nano // self.rows.most), {}

        def around(loss: Loss) -> _Made:
            return None, self._bounds(family, places, self._each(loss, len(places), draws))

        if self.planning.terms.concentrated and places:
            return [(self._part(family, places, both), many + 2 * len(places))]
        portion = Fraction(levels, draws)
        parts = [(self._part(family, (), own, portion), many)]
        if places:
            points = parts[0][0]
            parts.append((self._part(family, places, around, 1 - portion, points), 2 * len(places)))
        return parts

    def _each(self, loss: Loss, many: int, draws: int) -> int:
        """What each of so many draws has of a loss. Raises a ``Refusal`` where that is too little."""
        each = loss.nano // self.rows.most // many
        if each < LEAST_NANO:
            raise too_small(loss, self.rows.most, self.rows.most * draws)
        return each

    def _bounds(self, family: Family, places: Sequence[int], each: int) -> dict[int, QuantileBounds]:
        statistics = family.statistics
        return {p: QuantileBounds.around(statistics[p].mechanism(each), self.confidence) for p in places}

    def _part(
        self,
        family: Family,
        places: Sequence[int],
        made: Callable[[Loss], _Made],
        portion: Fraction = Fraction(1),
        points: int | None = None,
    ) -> int:
        statistic, fractions = family.first, tuple(family.calls)
        counted = measured([statistic.cell, duck.call("count", nodes.Star())])
        exact = exact_sql(self.rows, self.keys.listed, counted, None, statistic.cell)
        vacuous = never_holds(self.select) or self.planning.never_any(self.keys.count)
        keys, cells = len(self.keys.by_node), f"cells={statistic.last + 1}"

        def price(part: Part, terms: Terms) -> Price:
            own, bounds = made(terms.loss)
            drawn = [(_words(m), m) for m in (() if own is None else (own,))]
            drawn_around = [(_bounds_words(m), m.of) for m in bounds.values()]
            every, is_rho = [*drawn, *drawn_around], terms.concentrated and bool(bounds)
            noise = ", ".join(f"{w.replace(' ', '=', 1)} {cells} nano={m.nano}" for w, m in every)
            whole = replace(
                part,
                release=bounds_sql(keys, list(bounds.items()), drawn=own, vacuous=vacuous)
                if bounds or own is None
                else quantile_sql(keys, own, vacuous=vacuous),
                box=f"{', '.join(w for w, _ in every)} of 0..{statistic.last}{' by rho' if is_rho else ''}",
                noise=f"exponential {noise}",
                loss=terms.loss,
                concentrated=is_rho,
            )
            return Price(whole, own)

        many, levels = (len(fractions), family.levels) if points is None else (0, 0)
        of = () if points is not None else fractions, tuple(fractions[p] for p in places), statistic.last
        drawn = "ranks", *of, self.confidence if places else None, self.rows.most
        part = replace(
            self.planning.part(exact, self.keys.sets, many + 2 * len(places), vacuous=vacuous),
            factor=self.rows.most,
            histogram=(statistic.last + 1, len(places) + levels),
            portion=portion,
            points=points,
        )
        return self.add(Draft(part, drawn, price, rest=points is not None))


def _words(mechanism: Ranked) -> str:
    """Which quantiles."""
    if isinstance(mechanism, Quantiles):
        return f"quantiles {','.join(map(str, mechanism.numerators))}/{mechanism.denominator}"
    return f"quantile {mechanism.numerator}/{mechanism.denominator}"


def _bounds_words(bounds: QuantileBounds) -> str:
    """What lies between them, and how sure that is."""
    return f"bounds {bounds.of.numerator}/{bounds.of.denominator} at {float(bounds.confidence)!r}"


def _noise(mechanism: Ranked, place: int, rows: int) -> Noise:
    if isinstance(mechanism, Quantiles):
        return Noise((), lambda confidence: (mechanism.rank_errors(confidence)[place],), rows)
    return Noise((), lambda confidence: (mechanism.rank_error(confidence),), rows)
