"""The columns a relation shows to what stands above it: how each is read as a value, and as a group key."""

from collections.abc import Callable
from typing import Protocol, Self

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.domains import Lookup, read_column
from dpproxy.analysis.keys import GroupKey, Values, group_key, not_enumerable, of_moments
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import ColumnClass, Domain, Scalar
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import NotGranted, Unsupported
from dpproxy.values.pgtypes import Column, ForeignKey

Link = tuple[str, str]
"""What a key column identifies: the table and the column that its values are the keys of."""


class Field(Protocol):
    """A column of a relation; ``column`` is the physical one that holds it."""

    @property
    def name(self) -> str:
        """What the statement calls it."""

    @property
    def column(self) -> Column:
        """Its name and type in the engine."""

    @property
    def may_miss(self) -> bool:
        """NULL where a join has no row for it."""

    @property
    def link(self) -> Link | None:
        """What its values identify, where it is a key column."""

    def read(self, node: exp.Column) -> Typed:
        """The column as a value. Raises a ``Refusal``."""

    def key(self, at: int | None) -> GroupKey:
        """The column as a group key. Raises a ``Refusal``."""

    def moved(self, name: str, column: Column) -> "Field":
        """The same column under another name, held by another physical column."""

    def missing(self) -> "Field":
        """The same column where a join may have no row for it: NULL is a key, too."""


class KeyPart(Struct, frozen=True):
    """A column's place in a declared foreign key, on the side that refers or on the other."""

    key: ForeignKey
    place: int
    is_target: bool
    is_once: bool = True
    """Each row of its table is here at most once."""


class _Optional(Struct, frozen=True, kw_only=True):
    may_miss: bool = False
    """NULL where a join has no row for it."""


class HeldField(_Optional, frozen=True):
    """What every column of a relation has: the name in the statement, and the physical column that holds it."""

    name: str
    column: Column

    def moved(self, name: str, column: Column) -> Self:
        """The same column under another name, held by another physical column."""
        return replace(self, name=name, column=column)

    def missing(self) -> Self:
        """The same column where a join may have no row for it: NULL is a key, too."""
        return replace(self.moved(self.name, replace(self.column, not_null=False)), may_miss=True)

    def keyed(self, key: GroupKey) -> GroupKey:
        """With NULL among the values, where the column may miss."""
        if not self.may_miss or None in key.values:
            return key
        return replace(key, values=(*key.values, None), rest="none" if key.rest == "null" else key.rest)


class Referring(HeldField, frozen=True, kw_only=True):
    """A column of a protected table, which keys can be about."""

    is_unit: bool = False
    """Equal values are one privacy unit."""
    refers: bool = False
    """Its table's privacy key is declared to refer to another table's column."""
    referred: bool = False
    """Another table's privacy key is declared to refer to it, and each row of its table is here at most once."""
    parts: tuple[KeyPart, ...] = ()
    """Its places in foreign keys."""


class Declared(Referring, frozen=True):
    """A column of a protected table, mapped into its declared domain wherever it is read."""

    domain: Domain
    link: Link | None = None
    lookup: Lookup | None = None
    """Finds the values of a public column that the domain names."""
    column_class: ColumnClass | None = None
    """What it is declared to be to an intruder; only protected views ask."""

    def read(self, node: exp.Column) -> Typed:
        """The value inside the domain."""
        is_computed = not isinstance(_reader(node), exp.EQ | exp.NEQ | exp.In | exp.Is)
        return read_column(self.column, self.domain, self.lookup, is_computed=is_computed)

    def key(self, at: int | None) -> GroupKey:
        """Exactly the declared values."""
        return self.keyed(replace(group_key(self.column, self.domain, at, self.lookup), name=self.name))


class Identifier(Referring, frozen=True):
    """A privacy key, a reference, or a column that is referred to: it tells people or rows apart and is no value.

    It may be counted and compared with its like; ``is_unit`` where equal values are one privacy unit.
    """

    link: Link | None
    table: str

    def read(self, node: exp.Column) -> Typed:
        """Presence, for COUNT and IS NULL; nothing else."""
        if _is_presence(node):
            kind, nullable = self.column.type, not self.column.not_null
            return Typed(duck.column(self.column.name), kind, nullable=nullable, is_unit=self.is_unit)
        raise self._refusal(position(node))

    def key(self, at: int | None) -> GroupKey:
        """Refused: people are no groups."""
        raise self._refusal(at)

    def _refusal(self, at: int | None) -> NotGranted:
        what = "foreign key" if self.link is None else "privacy key"
        apart = "rows" if self.link is None else "people"
        return NotGranted(
            f'the {what} "{self.name}" tells {apart} apart and is not answered',
            hint=f"SELECT count(*) FROM {table_text(self.table)};",  # noqa: S608 - a hint
            position=at,
        )


class PresenceField(HeldField, frozen=True):
    """A column of a type that nothing is computed with beside protected rows: only whether it is NULL is read."""

    link: Link | None = None

    def read(self, node: exp.Column) -> Typed:
        """Presence, for COUNT and IS NULL; nothing else."""
        if _is_presence(node) and not isinstance(_reader(node), exp.Distinct):
            held = duck.column(self.column.name)
            return Typed(held, self.column.type, nullable=not self.column.not_null, presence=held)
        raise self._refusal(position(node))

    def key(self, at: int | None) -> GroupKey:
        """Refused: its values have no declared set."""
        raise self._refusal(at)

    def _refusal(self, at: int | None) -> Unsupported:
        return Unsupported(
            f'column "{self.name}" of type {self.column.type.shown} is only counted, or tested for NULL, beside '
            "protected rows",
            hint=f"Write count({identifier(self.name)}) or {identifier(self.name)} IS NOT NULL.",
            position=at,
        )


def _is_presence(node: exp.Expr) -> bool:
    """COUNT(key), COUNT(DISTINCT key), key IS NULL."""
    match _reader(node):
        case exp.Count():
            return True
        case exp.Distinct() as distinct:
            return isinstance(distinct.parent, exp.Count)
        case exp.Is() as test:
            return isinstance(test.expression, exp.Null)
        case _:
            return False


def _reader(node: exp.Expr) -> exp.Expr | None:
    """What a column is an argument of, whatever parentheses stand around it."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return above


class Computed(HeldField, frozen=True):
    """A column that a subquery computed from protected rows, inside the bounds that follow from the domains."""

    shape: Typed
    keys: Callable[[int | None], Values]
    """The values it can take, or a refusal."""
    link: Link | None = None
    among: nodes.Select | None = None
    """Released values of which every row has one, or NULL."""
    numbers: bool = False
    """It numbers the rows that one unit has in the relation it stands in: 1, 2 and so on."""

    def read(self, node: exp.Column) -> Typed:
        """The computed value; a DOUBLE, whatever type it is shown as, is put inside its bounds again."""
        del node
        held: nodes.Expr = duck.column(self.column.name)
        shape = self.shape
        if shape.is_number and shape.scale is None and shape.low is not None and shape.high is not None:
            held = nodes.Paren(
                duck.clamp(held, duck.double(float(shape.low)), duck.double(float(shape.high)))
            )
        return replace(shape, sql=held, presence=duck.column(self.column.name), is_constant=False)

    def key(self, at: int | None) -> GroupKey:
        """The values that follow from the declared ones."""
        typed = replace(self.shape, sql=duck.column(self.column.name), presence=None, is_constant=False)
        return self.keyed(of_moments(GroupKey(self.name, typed, typed.sql, _exact(self.keys(at)))))

    def moved(self, name: str, column: Column) -> Self:
        """The same values in another column, NULL too where that may be."""
        shape = replace(self.shape, nullable=self.shape.nullable or not column.not_null)
        return replace(self, name=name, column=column, shape=shape)


class Public(HeldField, frozen=True):
    """A column of a public relation: its values are facts, and so are its bounds and its key set."""

    shape: Callable[[str], Typed]
    """The value of the column that is held under a name."""
    keys: Callable[[int | None], Values]
    link: Link | None = None

    def read(self, node: exp.Column) -> Typed:
        """The value as it is."""
        del node
        return self.shape(self.column.name)

    def key(self, at: int | None) -> GroupKey:
        """The values the column has."""
        key = self.unlisted()
        return self.keyed(replace(key, values=_exact(self.keys(at))))

    def unlisted(self) -> GroupKey:
        """The column as a group key whose values are not asked for yet."""
        typed = self.shape(self.column.name)
        return GroupKey(self.name, typed, typed.sql, ())


def repeated(field: Field) -> Field:
    """The column where one row of its table may be here several times."""
    if isinstance(field, Computed):
        return replace(field, numbers=False)
    if isinstance(field, Declared | Identifier):
        return replace(
            field, referred=False, parts=tuple(replace(part, is_once=False) for part in field.parts)
        )
    return field


def _exact(values: Values) -> tuple[Scalar | None, ...]:
    return tuple(v for v in values if not isinstance(v, float))


def no_keys(name: str) -> Callable[[int | None], Values]:
    """For a computed column whose values are not enumerated."""

    def refuse(at: int | None) -> Values:
        raise not_enumerable(name, at)

    return refuse
