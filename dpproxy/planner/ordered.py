"""Order statistics of one grouping set: each a part of its own, several quantiles of one argument one together.

Bounds that are asked for are parts too: a quantile aimed so many rows lower and one so many rows higher that they are
beyond it with the confidence that is asked. Of a minimum it is the higher one, of a maximum the lower one: the other
bound is the declared one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from sqlglot import exp

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.planner.allocate import too_small
from dpproxy.planner.discovered import refuse_order
from dpproxy.planner.empty import never_holds
from dpproxy.planner.exact import exact_sql, measured
from dpproxy.planner.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Rows, own_nodes
from dpproxy.planner.release import quantile_sql
from dpproxy.planner.released import Call
from udfs.mechanisms.quantile import LARGEST_DENOMINATOR as FINEST
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import LARGEST_DENOMINATOR, Quantiles
from udfs.privacy import LEAST_NANO

LEAST_TOGETHER = 3
"""So many quantiles of one argument are more accurate in one draw than each in its own."""
_BOUNDS = frozenset({"ci_low", "ci_high"})

Ranked = Quantile | Quantiles


@dataclass(frozen=True, slots=True)
class Family:
    """Statistics of one release: the calls of each fraction, in rising order."""

    calls: Mapping[Fraction, Mapping[exp.Expr, OrderStatistic]]

    @property
    def first(self) -> OrderStatistic:
        """Any of them: all have the same argument."""
        return next(s for calls in self.calls.values() for s in calls.values())

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


def beside(statistic: OrderStatistic, nano: int, confidence: Fraction, *, above: bool) -> Quantile | None:
    """The draw of a bound on a statistic; None where it is the declared one."""
    if statistic.is_extreme and above is bool(statistic.numerator):
        return None
    if statistic.is_extreme:  # a quantile that is no farther out
        numerator = 1 if above else FINEST - 1
        return Quantile(0, statistic.last, numerator, FINEST, 1, nano).beside(confidence, above=above)
    return statistic.mechanism(nano).beside(1 - (1 - confidence) / 2, above=above)


def families(asked: Mapping[exp.Expr, OrderStatistic], within: Set[exp.Expr]) -> list[Family]:
    """Which order statistics are released together; those ``within`` bounds alone, as these are."""
    found: dict[object, dict[Fraction, dict[exp.Expr, OrderStatistic]]] = {}
    for node, statistic in asked.items():
        key = node if statistic.is_extreme or node in within else (duck.text(statistic.cell), statistic.last)
        of = found.setdefault(key, {})
        of.setdefault(Fraction(statistic.numerator, statistic.denominator), {})[node] = statistic
    result: list[Family] = []
    for calls in found.values():
        ordered = dict(sorted(calls.items()))
        if len(ordered) >= LEAST_TOGETHER and lcm(*(f.denominator for f in ordered)) <= LARGEST_DENOMINATOR:
            result.append(Family(ordered))
        else:
            result += [Family({fraction: nodes_}) for fraction, nodes_ in ordered.items()]
    return result


def bounded(
    select: exp.Select, asked: Mapping[exp.Expr, OrderStatistic], *, intervals: bool
) -> Set[exp.Expr]:
    """The statistics of which bounds are asked: of those that are shown with ``intervals``, and in dp.ci_low."""
    found = {
        node for node in asked if intervals and any(e.unalias().unnest() == node for e in select.expressions)
    }
    for node in own_nodes(select):
        if type(node) is exp.Dot and str(getattr(node.expression, "this", "")).lower() in _BOUNDS:
            found |= {e for e in node.expression.expressions if e in asked}
    return found


@dataclass(frozen=True, slots=True)
class Draws:
    """What makes parts of order statistics: ``add`` numbers them; ``confidence`` is that of each one's bounds."""

    keys: Keys
    rows: Rows
    planning: Planning
    select: exp.Select
    confidence: Fraction
    add: Callable[[Part], int]

    def calls(
        self, asked: Mapping[exp.Expr, OrderStatistic], within: Set[exp.Expr]
    ) -> Iterator[tuple[exp.Expr, Call, Sequence[int]]]:
        """Each call, with the numbers of the parts that its columns are of."""
        for family in families(asked, within):
            if self.keys.discovered:
                raise refuse_order(family.first.name, position(self.select))
            mechanism = family.mechanism(self._nano(family.levels))
            number = self._part(family.first, mechanism)
            for place, calls in enumerate(family.calls.values()):
                statistic = next(iter(calls.values()))
                ends, numbers = self._ends(statistic) if within & calls.keys() else ((), [])
                columns = (duck.column(f"m{place}", f"r{number}"), *ends)
                noise = _noise(mechanism, place, self.rows.most)
                for node, each in calls.items():
                    yield node, Call(each, columns, noise), [number, *numbers]

    def _ends(self, statistic: OrderStatistic) -> tuple[tuple[nodes.Expr, ...], list[int]]:
        """Columns of the lower and the upper bound, and the parts that they are of: one of its own for each."""
        columns: list[nodes.Expr] = []
        numbers: list[int] = []
        for above, declared in ((False, 0), (True, statistic.last)):
            mechanism = beside(statistic, self._nano(), self.confidence, above=above)
            if mechanism is None:
                columns.append(duck.integer(declared))
            else:
                numbers.append(self._part(statistic, mechanism))
                columns.append(duck.column("m0", f"r{numbers[-1]}"))
        return tuple(columns), numbers

    def _nano(self, levels: int = 1) -> int:
        """One row moves a rank by one, so the rows of a unit pay one by one, in whatever groups they are."""
        loss, most = self.planning.share(), self.rows.most
        if loss.nano // most // levels < LEAST_NANO:
            raise too_small(loss, most, most * levels)
        return loss.nano // most

    def _part(self, statistic: OrderStatistic, mechanism: Ranked) -> int:
        cells = measured([statistic.cell, duck.call("count", nodes.Star())])
        exact = exact_sql(self.rows, self.keys.listed, cells, None, statistic.cell)
        vacuous = never_holds(self.select) or not self.keys.count
        words = _words(mechanism)
        return self.add(
            Part(
                query=exact.query,
                truncated=1 in exact.parameters,
                release=quantile_sql(len(self.keys.by_node), mechanism, vacuous=vacuous),
                keys=self.keys.sets,
                measures=len(mechanism.numerators) if isinstance(mechanism, Quantiles) else 1,
                box=f"{words} of 0..{mechanism.high}",
                noise=f"exponential {words.replace(' ', '=', 1)} cells={mechanism.high + 1} nano={mechanism.nano}",
                loss=self.planning.share(),
                factor=self.rows.most,
                inputs=self.planning.inputs_of(exact.parameters),
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
