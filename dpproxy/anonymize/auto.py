"""The method of the least predicted error, chosen from public facts alone.

Facts are the declared domains, the number of columns, EXPECTED ROWS and epsilon: no row is read to choose, and no part
of epsilon is spent on it. The predictions are rules of thumb fitted to measured builds. Proof: ``auto.md``.
"""

from collections.abc import Mapping
from math import exp
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.anonymize import boxes, flat, options, price
from dpproxy.anonymize.dp_kdtree import DpKdtree
from dpproxy.anonymize.dp_marginals import DpMarginals
from dpproxy.anonymize.dp_microaggregation import DpMicroaggregation
from dpproxy.anonymize.model import LEAST_CLUSTER, Method, OptionValue, ViewBuild, ViewRequest
from udfs.privacy import Loss

_UNIT: Final = 30_000
"""Rows times epsilon at which errors were measured first."""
_UNKNOWN: Final = 1_000
"""How many rows are expected where no number is declared."""
_MEAN: Final = 70.0
"""The error of one noisy mean for all rows."""
_LONG: Final = 64
"""Numbers with more values than these are measured in cells that cannot follow long tails where there are few rows."""
_NARROW: Final = 9
"""Up to so many columns dp_kdtree was never measured to be worse than one noisy mean."""


class Auto(Struct, frozen=True):
    """The differentially private method of the least predicted error."""

    name: ClassVar[str] = "auto"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = DpMarginals.options

    def check(self, request: ViewRequest) -> ViewBuild:
        """Choose, validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        price.attributes(request)
        total = price.epsilon(request)
        # Whether an option is wrong must not depend on which method is chosen.
        price.delta(request)
        options.pair_weights(request)
        options.bin_widths(request, request.attributes)
        method, own = _chosen(request, total)
        shared = {name: value for name, value in request.options.items() if name in method.options}
        build = method.check(replace(request, options={**shared, **own}))
        return replace(build, guarantee=f"{build.guarantee}, by {method.name}", method=method.name)


def foretold(request: ViewRequest, build: ViewBuild, name: str) -> str:
    """The predicted error of a differentially private view in words; "" where none is predicted."""
    if build.loss is None or not (build.method or name in (DpKdtree.name, DpMarginals.name)):
        return ""
    error, rows = predicted(request, build.loss).get(build.method or name), _rows(request)
    if not error:
        return ""
    known = f"{rows} rows" if request.expected_rows is not None else f"{rows} rows (no EXPECTED ROWS)"
    return f"predicted error of the cells of two columns: about {float(f'{error:.1g}'):g} % at {known}"


def _chosen(request: ViewRequest, total: Loss) -> tuple[Method, dict[str, OptionValue]]:
    """The method of the least predicted error, and the options that only it takes."""
    errors = predicted(request, total)
    best = min(errors, key=lambda name: errors[name])
    if best == DpKdtree.name:
        return DpKdtree(), {}
    if best == DpMarginals.name:
        return DpMarginals(), {}
    return DpMicroaggregation(), {"k": max(_rows(request), LEAST_CLUSTER), "delta": 0}


def _rows(request: ViewRequest) -> int:
    return _UNKNOWN if request.expected_rows is None else request.expected_rows


def predicted(request: ViewRequest, total: Loss) -> dict[str, float]:
    """The predicted error of each method, in percent, about that of the cells of two columns.

    ``dp_kdtree`` loses by the number of columns, since boxes have as many sides, and by fewer rows slowly.
    ``dp_marginals`` loses what bins and pairs do not tell, and its noise is proportional to long columns / rows.
    """
    lines = boxes.lines(request.attributes, scaled=True)
    long = sum(isinstance(line, boxes.Ruler) and line.last >= _LONG for line in lines)
    columns, rows = len(request.attributes), max(_rows(request), 1)
    reach = max(float(rows * total.epsilon), 1e-9)
    if flat.suits(lines, total.nano, rows):
        return {DpKdtree.name: 0.0}
    tree = 5 * exp(0.15 * columns) * (_UNIT / reach) ** min(0.5, 2.8 / columns)
    pairs = 3.5 * (_UNIT / reach) ** 0.5 if columns > 1 else 0.0
    marginals = pairs + 8_000 * long / reach
    if columns <= _NARROW:
        return {DpKdtree.name: min(tree, _MEAN), DpMarginals.name: marginals}
    return {DpMicroaggregation.name: _MEAN, DpKdtree.name: tree, DpMarginals.name: marginals}
