"""Primary keys, unique constraints and foreign keys as in PostgreSQL: names, positions of columns, definitions.

Names are chosen as by CREATE TABLE (src/backend/commands/indexcmds.c: ChooseIndexName), since the data's schema has
none; they depend only on what the caller may see.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.names import quoted_name
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView
from dpproxy.values.pgtypes import ForeignKey, UniqueKey

LONGEST = 63
"""The most bytes of a name."""


class KeyConstraint(Struct, frozen=True):
    """One constraint; ``kind`` is pg_constraint.contype: p, u or f.

    ``target`` and ``referenced`` are the other table of a foreign key and the places of its columns; ``index`` is the
    name of the index below a key, for a foreign key that of its target.
    """

    table: CatalogueRelation
    name: str
    kind: str
    columns: tuple[int, ...]
    target: CatalogueRelation | None
    referenced: tuple[int, ...]
    index: str

    @property
    def schema(self) -> str:
        """Of the table and the constraint."""
        return self.table.schema

    @property
    def oid(self) -> int:
        """pg_constraint.oid."""
        return oids.constraint_oid(self.schema, self.table.name, self.name)

    @property
    def index_oid(self) -> int:
        """pg_class.oid of the index."""
        return oids.relation_oid((self.target or self.table).schema, self.index)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.table.columns[number - 1].name for number in self.columns)

    @property
    def definition(self) -> str:
        """The definition that pg_get_constraintdef returns."""
        own = _column_list(self.names)
        if self.target is None:
            return f"{'PRIMARY KEY' if self.kind == 'p' else 'UNIQUE'} ({own})"
        others = _column_list([self.target.columns[number - 1].name for number in self.referenced])
        return f"FOREIGN KEY ({own}) REFERENCES {_shown(self.target)}({others})"

    def index_definition(self, *, short: bool = False) -> str:
        """The definition that pg_get_indexdef returns; ``short`` omits the schema."""
        table = (
            quoted_name(self.table.name)
            if short
            else f"{quoted_name(self.schema)}.{quoted_name(self.table.name)}"
        )
        return f"CREATE UNIQUE INDEX {quoted_name(self.index)} ON {table} USING btree ({_column_list(self.names)})"


def _shown(relation: CatalogueRelation) -> str:
    """A relation of another schema than public behind its schema."""
    name = quoted_name(relation.name)
    return name if relation.schema == "public" else f"{quoted_name(relation.schema)}.{name}"


def _column_list(names: Sequence[str]) -> str:
    return ", ".join(quoted_name(name) for name in names)


def keys(view: CatalogueView) -> Iterator[KeyConstraint]:
    """The keys of all relations, those that others refer to first."""
    taken = {relation.name for relation in view.relations}
    unique: dict[tuple[str, frozenset[str]], str] = {}
    for relation in view.relations:
        for key in relation.keys:
            if isinstance(key, UniqueKey):
                made = _unique(relation, key, taken)
                unique.setdefault((relation.one_name, frozenset(key.columns)), made.name)
                yield made
    by_name = {relation.one_name: relation for relation in view.relations}
    for relation in view.relations:
        for key in relation.keys:
            if isinstance(key, ForeignKey):
                index = unique.get((key.target, frozenset(key.referenced)))
                if index is not None:
                    yield _foreign(relation, key, by_name, index, taken)


def with_triggers(view: CatalogueView) -> set[str]:
    """The tables at both ends of foreign keys: PostgreSQL checks these by triggers, and psql looks for them there."""
    ends = ((key.table, key.target) for key in keys(view))
    return {end.one_name for pair in ends if pair[1] is not None for end in pair if end is not None}


def of_tables(view: CatalogueView) -> Iterator[KeyConstraint]:
    """The keys with an index of their own."""
    return (key for key in keys(view) if key.kind != "f")


def not_found(view: CatalogueView) -> set[int]:
    """The OIDs of the data's relations, and of their indexes, that are not found by their names alone."""
    found = view.found
    hidden = {r.one_name for r in view.relations if found.get(r.name) != r.schema}
    indexes = (key.index_oid for key in of_tables(view) if key.table.one_name in hidden)
    return {*(oids.relation_oid(r.schema, r.name) for r in view.relations if r.one_name in hidden), *indexes}


def _unique(relation: CatalogueRelation, key: UniqueKey, taken: set[str]) -> KeyConstraint:
    columns = "" if key.primary else "_".join(key.columns)
    name = _free(relation.name, columns, "pkey" if key.primary else "key", taken)
    kind = "p" if key.primary else "u"
    return KeyConstraint(relation, name, kind, _places(relation, key.columns), None, (), name)


def _foreign(
    relation: CatalogueRelation,
    key: ForeignKey,
    others: Mapping[str, CatalogueRelation],
    index: str,
    taken: set[str],
) -> KeyConstraint:
    target = others[key.target]
    name = _free(relation.name, "_".join(key.columns), "fkey", taken)
    places = _places(relation, key.columns), target, _places(target, key.referenced)
    return KeyConstraint(relation, name, "f", *places, index)


def _places(relation: CatalogueRelation, columns: Sequence[str]) -> tuple[int, ...]:
    names = [column.name for column in relation.columns]
    return tuple(names.index(name) + 1 for name in columns)


def _free(table: str, columns: str, label: str, taken: set[str]) -> str:
    """A name that is not in ``taken``, which it is added to."""
    number = 0
    while (name := joined_name(table, columns, f"{label}{number or ''}")) in taken:
        number += 1
    taken.add(name)
    return name


def joined_name(first: str, second: str, label: str) -> str:
    """Two names and a label joined by ``_``; the longer name is truncated first (makeObjectName).

    Example:
        >>> joined_name("visits", "patient_id", "fkey"), joined_name("visits", "", "pkey")
        ('visits_patient_id_fkey', 'visits_pkey')
    """
    room = LONGEST - len(label) - 1 - (1 if second else 0)
    sizes = [len(first.encode()), len(second.encode())]
    while sum(sizes) > room:
        sizes[0 if sizes[0] > sizes[1] else 1] -= 1
    parts = [
        name.encode()[:size].decode(errors="ignore")
        for name, size in zip((first, second), sizes, strict=True)
    ]
    return "_".join([*(part for part in parts if part), label])
