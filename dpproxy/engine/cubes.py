"""Parts of plans that follow from privacy cubes: from which, by public facts alone, and their figures with the errors.

What a cube released is read as any public table, by whoever it is granted to; that a statement names the cube's table
instead changes nothing about that.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Caller, Fitted, Part, Plan
from dpproxy.analysis import duck
from dpproxy.anonymize import dp_cube, price
from dpproxy.anonymize.dp_cube import Strategy
from dpproxy.anonymize.model import InvalidOption
from dpproxy.anonymize.strategies import Floats, joint_variances, outer, variances
from dpproxy.backends.columns import WHOLE
from dpproxy.backends.release import key_table
from dpproxy.backends.source import Source
from dpproxy.engine import payloads
from dpproxy.engine.laws import kinds, with_laws
from dpproxy.engine.replays import Following
from dpproxy.engine.view_statements import ViewContext
from dpproxy.planner.open.protected_views import table_of
from dpproxy.planner.query import plan_cube
from dpproxy.planner.reuse.cells import Box, Sums, following
from dpproxy.planner.reuse.cube_form import CubeForm
from dpproxy.planner.reuse.cubes import CubeQuery
from dpproxy.planner.reuse.descriptor import described, rows_digest
from dpproxy.planner.reuse.multiples import Weights, coefficients
from dpproxy.policy.dump import protected_view
from dpproxy.policy.model import CUBE, OptionValue, Policy
from dpproxy.values.errors import InvalidParameter, Refusal
from dpproxy.values.recent import Recent
from dpproxy.values.structs import PartlyShown
from dpproxy.views.columns import encode
from dpproxy.views.make import own_options
from dpproxy.views.materialized import Materialized
from udfs.mechanisms.combination import Combination

MOST_HELD = 16
"""Cubes whose cells are held in memory."""
_MOST = 10**38 - 1
"""What released values saturate at."""
Integers = npt.NDArray[np.int64] | npt.NDArray[np.object_]


_Taken = tuple[tuple[Fraction, ...], ...]
"""For each measure, how often it takes each figure of a cube, in units of that one's last digit."""


class PlannedCube(Struct, frozen=True, dict=True):
    """A cube in the terms of statements, with the options that it is declared with."""

    name: str
    query: CubeQuery
    form: CubeForm
    options: dict[str, OptionValue]

    @cached_property
    def strategy(self) -> Strategy:
        """The noise that is drawn. Raises ``InvalidParameter`` where it cannot be built."""
        request = self.query.request(self.options)
        try:
            dp_cube.check(request, self.query.shape, self.query.figures)
        except InvalidOption as error:
            raise InvalidParameter(f"the cube cannot be built: {error}", hint=error.hint) from None
        return dp_cube.planned(self.query.shape, price.epsilon(request), price.delta(request))

    def sums(self, part: Part, data_version: int) -> tuple[Sequence[Sums], Sequence[_Taken]] | None:
        """How a part follows from a cube of that version of the data; None where it does not."""
        asked = described(part, (), data_version)
        if asked is None or part.inputs or rows_digest(self.form.rows, (), data_version) != asked.rows:
            return None
        sums = following(self.form, asked, payloads.wanted_of(part))
        taken = None if sums is None else self.taken(sums)
        return None if sums is None or taken is None else (sums, taken)

    @property
    def weights(self) -> list[Weights]:
        """Of each figure, how often it has each measure, in units of its last digit."""
        return [tuple(w * 10**f.digits for w in f.weights) for f in self.query.figures]

    def taken(self, sums: Sequence[Sums]) -> list[_Taken] | None:
        """What each measure takes of the figures; None where these do not give one."""
        found = []
        for one in sums:
            each = [coefficients(self.weights, wanted) for wanted in one.weights]
            if any(c is None for c in each):
                return None
            found.append(tuple(c for c in each if c is not None))
        return found


class _Built(PartlyShown, Struct):
    """A cube that is built, and its cells once these are read."""

    HIDDEN = frozenset({"cells"})

    view: Materialized
    cube: PlannedCube
    cells: Sequence[Integers] | None = None


class Cubes:
    """The cubes of one data source; its methods may be called from any thread."""

    def __init__(self, world: ViewContext, backend: Source) -> None:
        self._world = world
        self._backend = backend
        self._held = Recent[tuple[_Built | None]](MOST_HELD)
        self._lock = threading.Lock()

    def following(self, caller: Caller, plan: Plan, part: Part) -> Iterator[Following]:
        """Each way in which a part follows from a cube that is granted to the caller."""
        policy = self._world.store.current
        if policy.data_version != plan.data_version:
            return
        for view in self._world.views.relations.values():
            built = self._built(view, policy) if _is_granted(view, policy, caller) else None
            found = None if built is None else built.cube.sums(part, plan.data_version)
            if built is not None and found is not None:
                errors, laws = fitted(built.cube, *found)
                yield Following(errors, self._maker(built, *found, part, laws))

    def planned(self, name: str, text: str, options: Mapping[str, OptionValue]) -> PlannedCube | None:
        """A cube as it would be built now; None where each statement cuts its rows. Raises a ``Refusal``."""
        context = self._world.context(self._world.store.current)
        query = plan_cube(name, text, replace(context, prepared={}))
        return None if query.form is None else PlannedCube(name, query, query.form, dict(options))

    def _built(self, view: Materialized, policy: Policy) -> _Built | None:
        """A view that is a cube of the present rows under the present policy; None for others."""
        key = view.table, policy.version, policy.data_version
        found = self._held.get(key)
        if found is None:
            with self._lock:
                found = (self._compiled(view, policy),)
                self._held.put(key, found)
        return found[0]

    def _compiled(self, view: Materialized, policy: Policy) -> _Built | None:
        try:
            query = plan_cube(view.view, view.query, self._world.context(policy))
            if query.digest != view.digest:
                return None
            cube = self.planned(view.view, view.query, own_options(policy.views[view.view]))
        except Refusal:
            return None
        return None if cube is None else _Built(view, cube)

    def _maker(
        self, built: _Built, sums: Sequence[Sums], taken: Sequence[_Taken], part: Part, laws: Sequence[int]
    ) -> Callable[[], pa.Table]:
        return lambda: _relation(self._cells(built), sums, taken, part, laws)

    def _cells(self, built: _Built) -> Sequence[Integers]:
        """One array for each figure, in units of its last digit; it has the dimensions of the cube."""
        with self._lock:
            if built.cells is None:
                built.cells = self._read(built)
            return built.cells

    def _read(self, built: _Built) -> Sequence[Integers]:
        cube, names = built.cube, [column.name for column in built.view.columns]
        query = nodes.Select(tuple(duck.column(name) for name in names), table_of(built.view))
        table = self._backend.run_open(query, "")
        dimensions = cube.query.dimensions
        places = tuple(encode(d, table.column(i))[0] for i, d in enumerate(dimensions))
        shape = tuple(side.cells for side in cube.form.sides)
        found: list[Integers] = []
        for number in range(len(dimensions), len(names)):
            values = table.column(number).to_numpy().astype(np.int64)
            cells = np.zeros(shape, np.int64)
            cells[places] = values
            is_wide = int(np.abs(values).max(initial=0)) * cells.size >= 2**62
            found.append(cells.astype(np.object_) if is_wide else cells)
        return found


def _is_granted(view: Materialized, policy: Policy, caller: Caller) -> bool:
    """Whether it is the cube as it is declared now, of the present data, and the caller may read it."""
    declared = policy.views.get(view.view)
    return (
        declared is not None
        and declared.kind == CUBE
        and view.name == view.view
        and view.data_version == policy.data_version
        and view.definition == protected_view(declared)
        and view.view in policy.granted_to(caller.roles)
    )


def fitted(cube: PlannedCube, sums: Sequence[Sums], taken: Sequence[_Taken]) -> tuple[Fitted, list[int]]:
    """How far off each measure is, and the law of each row."""
    found: dict[int, tuple[Floats, float, Floats]] = {}
    for one, coefficients_of in zip(sums, taken, strict=True):
        of_weights, cells = _variances(cube, one.boxes)
        for place, weights, figures in zip(one.places, one.weights, coefficients_of, strict=True):
            variance = of_weights(weights)
            rounding = float(sum(map(abs, figures), Fraction(0))) / 2 * cells + 0.5 * (cells > 0)
            found[place] = np.sqrt(np.maximum(variance, 0.0)), cube.strategy.least(weights), rounding
    ordered = [found[place] for place in sorted(found)]
    least = [one for _, one, _ in ordered]
    rows, worst = kinds(np.column_stack([e for sd, _, rounding in ordered for e in (sd, rounding)]).tolist())
    laws = tuple(_law(cube.name, errors, least) for errors in worst)
    farthest = _law(cube.name, np.max(worst, axis=0).tolist(), least)
    return replace(farthest, laws=laws if len(laws) > 1 else ()), rows


def _variances(cube: PlannedCube, boxes: Sequence[Box]) -> tuple[Callable[[Weights], Floats], Floats]:
    """The variance of each group, by how often each measure is taken; and the number of its cells."""
    lattice, sides = cube.strategy.shape.lattice, []
    for box in boxes:
        each = zip(cube.form.sides, box.sides, strict=True)
        sides.append(
            [np.array([np.isin(np.arange(s.cells), c) for c in sets], np.float64) for s, sets in each]
        )
    groups = [tuple(np.array(box.groups).T) for box in boxes]
    counts = [outer([s.sum(axis=1) for s in own])[of] for own, of in zip(sides, groups, strict=True)]
    cells = sum(
        (b.sign * n for b, n in zip(boxes, counts, strict=True)), start=np.zeros(len(boxes[0].groups))
    )
    if len(boxes) == 1:
        return (
            lambda weights: variances(lattice, cube.strategy.spectrum(weights), sides[0])[groups[0]]
        ), cells
    several = [
        (box.sign, [s[place] for s, place in zip(own, of, strict=True)])
        for box, own, of in zip(boxes, sides, groups, strict=True)
    ]
    return (lambda weights: joint_variances(lattice, cube.strategy.spectrum(weights), several)), cells


def _law(cube: str, errors: Sequence[float], least: Sequence[float]) -> Fitted:
    """Of standard deviations and roundings in turn."""
    noise = (Combination(sd, one) for sd, one in zip(errors[::2], least, strict=True))
    return Fitted(cube, tuple(noise), tuple(errors[1::2]))


def _relation(
    cells: Sequence[Integers],
    sums: Sequence[Sums],
    taken: Sequence[_Taken],
    part: Part,
    laws: Sequence[int],
) -> pa.Table:
    """The relation of a part: each measure rounded once, from the sum of its cells."""
    found: dict[int, list[int]] = {}
    for one, coefficients_of in zip(sums, taken, strict=True):
        used = {f for figures in coefficients_of for f, times in enumerate(figures) if times}
        added = {f: _added(cells[f], one) for f in used}
        for place, figures in zip(one.places, coefficients_of, strict=True):
            found[place] = _rounded(figures, added, len(one.boxes[0].groups))
    lists = [list(row) for row in zip(*(found[place] for place in sorted(found)), strict=True)]
    return with_laws(key_table(part.keys), laws).append_column("v", pa.array(lists, pa.list_(WHOLE)))


def _added(cells: Integers, sums: Sums) -> list[int]:
    """The sum of the cells of each group."""
    found = [0] * len(sums.boxes[0].groups)
    for box in sums.boxes:
        table = cells
        for sets in box.sides:  # the first dimension goes, and the sets along it become the last
            parts = [table.take(list(one), axis=0).sum(axis=0) for one in sets]
            table = np.stack(parts, axis=-1)
        added = table[tuple(np.array(box.groups).T)]
        found = [total + box.sign * int(value) for total, value in zip(found, added, strict=True)]
    return found


def _rounded(figures: Sequence[Fraction], added: Mapping[int, Sequence[int]], groups: int) -> list[int]:
    """So many of each figure as a whole number, halves up."""
    below = lcm(*(times.denominator for times in figures))
    times = {f: int(figures[f] * below) for f in added}
    totals = (sum(times[f] * several[group] for f, several in added.items()) for group in range(groups))
    return [max(-_MOST, min(_MOST, (2 * total + below) // (2 * below))) for total in totals]
