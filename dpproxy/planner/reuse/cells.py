"""Which cells of a cube a statement about its table adds up, decided from public facts, along each dimension by itself.

All that a cell says of its rows is the value of its key, or that they have none of the declared ones. A condition is
decided where one dimension decides it for everything that may be in a cell; what no dimension decides does not follow.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from dpproxy.planner.reuse.cube_form import CubeForm, CubeSide
from dpproxy.planner.reuse.descriptor import Descriptor
from dpproxy.planner.reuse.known import NOT_TRUE, OTHER, Known, Unknown, argument_of, value_of
from dpproxy.planner.reuse.multiples import Weights, taken
from dpproxy.planner.reuse.ranges import either
from dpproxy.planner.reuse.rollup import Row, Typed, outside, typed
from dpproxy.planner.reuse.spans import Span, span_of
from dpproxy.planner.reuse.terms import Term

MOST_INSIDE = 20_000
"""Whole numbers in the cells of one dimension that are looked at one by one."""
_UNDECIDED = object()
Labels = dict[Typed, tuple[int, ...]]
"""The cells of each combination of asked keys that one dimension decides."""


class Box(Struct, frozen=True):
    """The cells of each group that are added, or taken away where ``sign`` is -1.

    ``sides`` are, for each dimension, the different sets of cells that are taken along it; ``groups`` says which of
    them each group takes, one for each dimension.
    """

    sign: int
    sides: tuple[tuple[tuple[int, ...], ...], ...]
    groups: tuple[tuple[int, ...], ...]


class Sums(Struct, frozen=True):
    """What some measures of a statement are made of: cells of each group, and so many of each measure of a cube.

    ``places`` are those of the measures in the statement. Of several ``boxes`` each cell counts once or not at all.
    """

    places: tuple[int, ...]
    weights: tuple[Weights, ...]
    boxes: tuple[Box, ...]


def following(form: CubeForm, asked: Descriptor, wanted: Sequence[Row]) -> tuple[Sums, ...] | None:
    """How a question follows from a cube of the same rows; None where it does not."""
    if not set(form.rows.conditions) <= set(asked.conditions):
        return None
    filtered: dict[tuple[Term, ...], list[tuple[int, Weights]]] = {}
    for place, measure in enumerate(asked.measures):
        found = taken(measure, form.rows.measures)
        if found is None:
            return None
        filtered.setdefault(found[1], []).append((place, found[0]))
    sums = []
    for more, several in filtered.items():
        further = [c for c in asked.conditions if c not in form.rows.conditions]
        boxes = _boxes(form, (*further, *more), asked.keys, wanted)
        if boxes is None:
            return None
        places, weights = zip(*several, strict=True)
        sums.append(Sums(places, weights, boxes))
    return tuple(sums)


def _boxes(
    form: CubeForm, conditions: Sequence[Term], keys: Sequence[Term], wanted: Sequence[Row]
) -> tuple[Box, ...] | None:
    """The cells under the conditions; of an OR of several dimensions, those of each side without those of both."""
    for parts in chain([((conditions, 1),)], either(conditions)):
        found = tuple(
            box for each, sign in parts if (box := _box(form, each, keys, wanted, sign)) is not None
        )
        if len(found) == len(parts):
            return found
    return None


def _box(
    form: CubeForm, conditions: Sequence[Term], keys: Sequence[Term], wanted: Sequence[Row], sign: int
) -> Box | None:
    """The sets of cells along each dimension, and those of each wanted group."""
    looked = [_look(side, conditions, keys) for side in form.sides]
    if any(all(c not in look.decided for look in looked) for c in conditions):
        return None
    left = set(range(len(keys)))
    sets: list[tuple[tuple[int, ...], ...]] = []
    chosen: list[list[int]] = [[] for _ in wanted]
    for look in looked:
        own = sorted(left & look.keys)
        left -= set(own)
        asked = [typed(row[k] for k in own) for row in wanted]
        labels = look.labels(own, dict.fromkeys(asked, ()))
        if labels is None:
            return None
        numbers = {label: number for number, label in enumerate(labels)}
        sets.append(tuple(labels.values()))
        for label, group in zip(asked, chosen, strict=True):
            group.append(numbers[label])
    return None if left else Box(sign, tuple(sets), tuple(map(tuple, chosen)))


class _Look(Struct, frozen=True):
    """A dimension under the conditions: which it decides, which asked keys it gives, and what these are in each cell.

    ``values`` has, for each cell, what its rows can be: whether they pass, and the keys, undecided ones too.
    """

    decided: frozenset[Term]
    keys: frozenset[int]
    values: tuple[tuple[tuple[bool, tuple[object, ...]], ...], ...]
    cells: int

    def labels(self, own: Sequence[int], wanted: Labels) -> Labels | None:
        """The cells of each wanted combination of some keys: no cell has one that no row has.

        None where a cell has rows of two, or rows of one are in no cell.
        """
        found = dict(wanted)
        for cell, several in enumerate(self.values):
            labels = [typed(values[k] for k in own) for _, values in several]
            passing = zip(labels, several, strict=True)
            taken = {label if passes and label in wanted else None for label, (passes, _) in passing}
            if len(taken) > 1 or (cell == self.cells and taken != {None}):
                return None
            [label] = taken
            if label is not None:
                found[label] = (*found[label], cell)
        return found


def _look(side: CubeSide, conditions: Sequence[Term], keys: Sequence[Term]) -> _Look:
    decided, given = set(conditions), set(range(len(keys)))
    cells = []
    for known in _known(side, (*conditions, *keys)):
        several = []
        for one in known:
            truths = {c: _tried(c, one) for c in conditions}
            passes = all(t in (True, _UNDECIDED) for t in truths.values())
            values = tuple(_key(key, side.term, one) for key in keys)
            if passes:
                decided -= {c for c, t in truths.items() if t is _UNDECIDED}
                given -= {k for k, value in enumerate(values) if value is _UNDECIDED}
            several.append((passes, values))
        cells.append(tuple(several))
    return _Look(frozenset(decided), frozenset(given), tuple(cells), side.cells)


def _key(key: Term, own: Term, known: Known) -> object:
    """An asked key; one that is the dimension's has no declared value where none is known."""
    value = _tried(key, known)
    is_known = not (value is _UNDECIDED or value is NOT_TRUE or isinstance(value, Span))
    return value if is_known else OTHER if key == own else _UNDECIDED


def _tried(found: Term, known: Known) -> object:
    try:
        return value_of(found, known)
    except Unknown:
        return _UNDECIDED


def _known(side: CubeSide, beside: Sequence[Term]) -> Iterator[list[Known]]:
    """For each cell everything that its rows can be; and behind the last cell, those of rows that are in none."""
    inner = side.inner
    is_listed = inner is not None and inner.width * len(side.values) <= MOST_INSIDE
    for value in side.values:
        known: Known = {side.term: value}
        if (span := span_of(side.term, value)) is not None:
            known.setdefault(*span)
        if inner is None or not is_listed or not isinstance(value, int):
            yield [known]
            continue
        numbers = range(max(value, inner.low), min(value + inner.width - 1, inner.high) + 1)
        yield [known | {inner.term: number} for number in numbers]
    if side.rest != "none":
        inner_term = argument_of(side.term) if inner is None else inner.term
        yield [*outside(side.term, inner_term, side.values, side.rest, beside)]
