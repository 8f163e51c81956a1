"""Order statistics of one grouping set: each a part of its own, several quantiles of one argument one together.

Bounds that are asked for are drawn from the same histogram, and share the loss: a quantile aimed so many rows
lower and one so many rows higher that they are beyond it with the confidence that is asked. Of a minimum it is the
higher one, of a maximum the lower one: the other bound is the declared one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from math import isqrt, lcm

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.planner.keys.discovery import refuse_order
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import too_small
from dpproxy.planner.release.exact import exact_sql, measured
from dpproxy.planner.release.scope import AggregateCall
from dpproxy.planner.release.stage import drawn_by, quantile_sql
from dpproxy.planner.rewrites.empty import never_holds
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.select_list import items
from udfs.mechanisms.quantile import LARGEST_DENOMINATOR as FINEST
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import LARGEST_DENOMINATOR, Quantiles
from udfs.privacy import LEAST_NANO, Loss

LEAST_TOGETHER = 3
"""So many quantiles of one argument are more accurate in one draw than each in its own."""
_BOUNDS = frozenset({"ci_low", "ci_high"})

Ranked = Quantile | Quantiles


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

    def bounds(self, within: Set[exp.Expr]) -> list[tuple[int, bool]]:
        """The bounds that are drawn: of which fraction, by its place, and whether it is the upper one."""
        places = [n for n, calls in enumerate(self.calls.values()) if within & calls.keys()]
        return [
            (n, above) for n in places for above in (False, True) if not self.statistics[n].ends_at(above)
        ]


def beside(statistic: OrderStatistic, nano: int, confidence: Fraction, *, above: bool) -> Quantile:
    """The draw of a bound on a statistic."""
    if statistic.is_extreme:  # a quantile that is no farther out
        numerator = 1 if above else FINEST - 1
        return Quantile(0, statistic.last, numerator, FINEST, 1, nano).beside(confidence, above=above)
    return statistic.mechanism(nano).beside(1 - (1 - confidence) / 2, above=above)


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
    for node in own_nodes(select):
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
    add: Callable[[Part], int]

    def calls(
        self, asked: Mapping[exp.Expr, OrderStatistic], within: Set[exp.Expr]
    ) -> Iterator[tuple[exp.Expr, AggregateCall, list[int]]]:
        """Each call, with the numbers of the parts that its columns are of; those ``within`` bounds have these."""
        for family in families(asked, apart=self.planning.context.apart):
            if self.keys.discovered:
                raise refuse_order(family.first.name, position(self.select))
            bounds = family.bounds(within)
            drawn = [*self._parts(family, bounds)]
            columns = [
                duck.column(f"m{n}", f"r{number}")
                for number, mechanisms in drawn
                for n in range(sum(map(drawn_by, mechanisms)))
            ]
            numbers, first = [number for number, _ in drawn], drawn[0][1][0]
            ends = dict(zip(bounds, columns[len(family.calls) :], strict=True))
            for place, calls in enumerate(family.calls.values()):
                statistic, noise = family.statistics[place], _noise(first, place, self.rows.most)
                shown: tuple[nodes.Expr, ...] = (columns[place],)
                if within & calls.keys():
                    declared = ((False, 0), (True, statistic.last))
                    shown += tuple(ends.get((place, above), duck.integer(end)) for above, end in declared)
                for node, each in calls.items():
                    yield node, AggregateCall(each, shown, noise), numbers

    def _parts(
        self, family: Family, bounds: Sequence[tuple[int, bool]]
    ) -> Iterator[tuple[int, list[Ranked]]]:
        """The draw of the statistics, and one of each bound: all pay as much as one part of the statement does.

        One row moves a rank by one, so the rows of a unit pay one by one, in whatever groups they are. Each draw that a
        row is in has an equal share: of the loss, or of its square where losses add up as rho. Where losses add up, the
        statistics are a part of their own, which answers whoever asks for them without bounds, or has done so.
        """
        levels, draws, planning = family.levels, family.levels + len(bounds), self.planning
        if planning.concentrated and bounds:
            loss = planning.share()
            each = isqrt(self._each(loss, 1, draws) ** 2 // (levels**2 + len(bounds)))
            if each < LEAST_NANO:
                raise too_small(loss, self.rows.most, self.rows.most * draws)
            mechanisms = [family.mechanism(each * levels), *self._sides(family, bounds, each)]
            yield self._part(family.first, mechanisms, loss), mechanisms
            return
        portion = Fraction(levels, draws)
        loss = planning.share(portion)
        self._each(loss, levels, draws)  # or it is refused
        own: list[Ranked] = [family.mechanism(loss.nano // self.rows.most)]
        yield self._part(family.first, own, loss, portion), own
        if bounds:
            loss = planning.share(1 - portion, rest=True)
            sides = self._sides(family, bounds, self._each(loss, len(bounds), draws))
            yield self._part(family.first, sides, loss, 1 - portion), sides

    def _each(self, loss: Loss, many: int, draws: int) -> int:
        """What each of so many draws has of a loss. Raises a ``Refusal`` where that is too little."""
        each = loss.nano // self.rows.most // many
        if each < LEAST_NANO:
            raise too_small(self.planning.share(), self.rows.most, self.rows.most * draws)
        return each

    def _sides(self, family: Family, bounds: Sequence[tuple[int, bool]], each: int) -> list[Ranked]:
        return [
            beside(family.statistics[place], each, self.confidence, above=above) for place, above in bounds
        ]

    def _part(
        self,
        statistic: OrderStatistic,
        mechanisms: Sequence[Ranked],
        loss: Loss,
        portion: Fraction = Fraction(1),
    ) -> int:
        counted = measured([statistic.cell, duck.call("count", nodes.Star())])
        exact = exact_sql(self.rows, self.keys.listed, counted, None, statistic.cell)
        vacuous = never_holds(self.select) or self.planning.never_any(self.keys.count)
        words, is_rho = [_words(m) for m in mechanisms], self.planning.concentrated and len(mechanisms) > 1
        draws = zip(words, mechanisms, strict=True)
        cells = f"cells={statistic.last + 1}"
        noise = ", ".join(f"{w.replace(' ', '=', 1)} {cells} nano={m.nano}" for w, m in draws)
        return self.add(
            Part(
                query=exact.query,
                truncated=1 in exact.parameters,
                release=quantile_sql(len(self.keys.by_node), mechanisms, vacuous=vacuous),
                keys=self.keys.sets,
                measures=sum(map(drawn_by, mechanisms)),
                box=f"{', '.join(words)} of 0..{statistic.last}{' by rho' if is_rho else ''}",
                noise=f"exponential {noise}",
                loss=loss,
                factor=self.rows.most,
                inputs=self.planning.inputs_of(exact.parameters),
                histogram=(
                    statistic.last + 1,
                    sum(m.levels if isinstance(m, Quantiles) else 1 for m in mechanisms),
                ),
                concentrated=is_rho,
                portion=portion,
                vacuous=vacuous,
            )
        )


def _words(mechanism: Ranked) -> str:
    """Which quantiles, and by how many rows they are moved."""
    if isinstance(mechanism, Quantiles):
        listed = ",".join(map(str, mechanism.numerators))
        found, moved = f"quantiles {listed}/{mechanism.denominator}", mechanism.off
    else:
        found, moved = f"quantile {mechanism.numerator}/{mechanism.denominator}", mechanism.moved
    return f"{found} moved {moved}" if moved else found


def _noise(mechanism: Ranked, place: int, rows: int) -> Noise:
    if isinstance(mechanism, Quantiles):
        return Noise((), lambda confidence: (mechanism.rank_errors(confidence)[place],), rows)
    return Noise((), lambda confidence: (mechanism.rank_error(confidence),), rows)
