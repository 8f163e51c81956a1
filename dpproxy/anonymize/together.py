"""Attributes that have no other values together than those declared, such as a zip code and its city, as one attribute.

The combinations are ordered by the attribute of the fewest values, then by the next: neighbours are alike.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize.model import Attribute, Categories, Table, Together

Integers = npt.NDArray[np.int64]


class Group(Struct, frozen=True, eq=False):
    """Attributes by their places, with their combinations, shape (combinations, attributes), in lexical order."""

    places: tuple[int, ...]
    values: Integers

    @staticmethod
    def of(together: Together) -> "Group":
        values = np.unique(
            np.array(together.values, dtype=np.int64).reshape(-1, len(together.places)), axis=0
        )
        order = sorted(range(len(together.places)), key=lambda place: np.unique(values[:, place]).size)
        chosen = values[:, order]
        rows = chosen[np.lexsort(chosen.T[::-1])]
        return Group(tuple(together.places[place] for place in order), rows)

    def found(self, rows: Table) -> Integers:
        """The combination of each row, shape (rows,); -1 for one that is not declared."""
        known = {tuple(row): number for number, row in enumerate(self.values.tolist())}
        asked, back = np.unique(rows[:, self.places], axis=0, return_inverse=True)
        numbers = np.array([known.get(tuple(row), -1) for row in asked.tolist()], dtype=np.int64)
        result: Integers = numbers[back.ravel()]
        return result


class Merge(Struct, frozen=True, eq=False):
    """Each attribute by itself, or a group of them; ``parts`` are places or groups, in the order of merged columns."""

    parts: tuple[int | Group, ...]

    @staticmethod
    def of(together: Sequence[Together], attributes: int) -> "Merge":
        """Groups that share no attribute; of two that do, the first."""
        groups: list[Group] = []
        for one in together:
            if not any(set(one.places) & set(group.places) for group in groups):
                groups.append(Group.of(one))
        within = {place for group in groups for place in group.places}
        return Merge((*(place for place in range(attributes) if place not in within), *groups))

    def attributes(self, attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
        """The merged attributes."""
        return tuple(
            attributes[part]
            if isinstance(part, int)
            else Attribute(
                ", ".join(attributes[place].name for place in part.places),
                Categories(len(part.values), ordered=True),
            )
            for part in self.parts
        )

    def weights(self, weights: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
        """Of each pair of merged attributes, the greatest of the pairs in it."""
        places = [(part,) if isinstance(part, int) else part.places for part in self.parts]
        return {
            (a, b): max(weights[min(x, y), max(x, y)] for x in places[a] for y in places[b])
            for b in range(len(places))
            for a in range(b)
        }

    def merged(self, rows: Table) -> Table:
        """The rows with merged attributes; those that contradict a declaration are left out."""
        columns = [rows[:, p] if isinstance(p, int) else p.found(rows) for p in self.parts]
        result: Table = np.stack(columns, axis=1)
        groups = [number for number, part in enumerate(self.parts) if isinstance(part, Group)]
        return result[(result[:, groups] >= 0).all(axis=1)]

    def apart(self, rows: Table) -> Table:
        """Rows with merged attributes as rows of the attributes."""
        width = sum(1 if isinstance(part, int) else len(part.places) for part in self.parts)
        result = np.empty((len(rows), width), dtype=np.int64)
        for column, part in enumerate(self.parts):
            if isinstance(part, int):
                result[:, part] = rows[:, column]
            else:
                result[:, part.places] = part.values[rows[:, column]]
        return result
