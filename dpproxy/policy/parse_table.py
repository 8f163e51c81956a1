"""ALTER TABLE ... SET PRIVACY and ALTER TABLE ... ALTER COLUMN ... SET PRIVACY."""

from collections.abc import Callable
from typing import NoReturn

from dpproxy.policy.constants import amount, literal
from dpproxy.policy.model import Accountant, ColumnClass, Exposure, Outside
from dpproxy.policy.statements import (
    Amount,
    ColumnChange,
    CompositeChange,
    SetBetween,
    SetBlocks,
    SetCeiling,
    SetColumnClass,
    SetColumnHidden,
    SetComposite,
    SetCompositeHidden,
    SetDiscovered,
    SetExpectedRows,
    SetExposure,
    SetKey,
    SetMembers,
    SetReferences,
    SetTaxonomy,
    TableChange,
)
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.values.errors import SyntaxRefused


def alter_table(cursor: Cursor) -> TableChange | CompositeChange | ColumnChange:
    """What follows ALTER."""
    cursor.expect("table", after="ALTER")
    table = cursor.table("TABLE")
    if cursor.accept("set"):
        cursor.expect("privacy", after="SET")
        return cursor.choose(_TABLE, "SET PRIVACY", _UNLISTED)(cursor, table)
    if not cursor.accept("alter"):
        hint = "A declaration is taken back by SET PRIVACY HIDDEN." if cursor.at("drop") else None
        cursor.refuse([], "the table's name", hint)
    after = "COLUMN" if cursor.accept("column") else "ALTER"
    column = cursor.name("column", after)
    cursor.expect("set", "privacy", after="the column's name")
    return cursor.choose(_COLUMN, "SET PRIVACY")(cursor, table, column)


def clauses(cursor: Cursor, names: dict[tuple[str, ...], str]) -> dict[str, Amount]:
    """Clauses of words and a number, each at most once, in any order; by the names given."""
    found: dict[str, Amount] = {}
    while any(cursor.accept(first) for first in dict.fromkeys(words[0] for words in names)):
        start = cursor.before
        words: tuple[str, ...] = (start.text,)
        while words not in names:
            longer = {w[len(words)]: w[: len(words) + 1] for w in names if w[: len(words)] == words}
            words = cursor.choose(longer, words[-1].upper())
        title = " ".join(words).upper()
        if names[words] in found:
            raise SyntaxRefused(f"{title} is given twice", position=start.position)
        found[names[words]] = amount(cursor, title)
    return found


def _key(cursor: Cursor, table: Name) -> SetKey:
    if cursor.accept("row"):
        if not (cursor.at("max") or cursor.at("references")):
            return SetKey(table, None)
        title = "MAX ROWS" if cursor.at("max") else "REFERENCES"
        hint = "Where a person has several rows, declare their column: SET PRIVACY KEY (...) MAX ROWS ..."
        raise SyntaxRefused(
            f"KEY ROW takes no {title}: each row is a unit", hint=hint, position=cursor.token.position
        )
    if not cursor.accept("("):
        cursor.refuse([], "KEY")
    key = _single(cursor, _closed_columns(cursor))
    references = None
    if cursor.accept("references"):
        target, columns = _target(cursor)
        references = (target, _single(cursor, columns))
    limits = clauses(cursor, {("max", "rows"): "max_rows", ("max", "groups"): "max_groups"})
    return SetKey(table, key, references, **limits)


def _target(cursor: Cursor) -> tuple[Name, tuple[Name, ...]]:
    """What follows REFERENCES: a table and columns of it."""
    table = cursor.table("REFERENCES")
    cursor.expect("(", after="the referenced table's name")
    return table, _closed_columns(cursor)


def _single(cursor: Cursor, columns: tuple[Name, ...], several: str = "a key of several columns") -> Name:
    if len(columns) > 1:
        cursor.unsupported(several, position=columns[0].position)
    return columns[0]


def _closed_columns(cursor: Cursor) -> tuple[Name, ...]:
    """Columns and the closing parenthesis."""
    columns = cursor.listed(lambda after: cursor.name("column", after), '"("')
    cursor.expect(")", after="the column's name")
    return columns


def _ceiling(cursor: Cursor, table: Name) -> SetCeiling:
    cursor.expect("epsilon", after="CEILING")
    epsilon = amount(cursor, "CEILING EPSILON")
    delta = amount(cursor, "CEILING DELTA") if cursor.accept("delta") else None
    accountant = None
    if cursor.accept("accountant"):
        accountant = cursor.choose({one.value.lower(): one for one in Accountant}, "ACCOUNTANT")
    return SetCeiling(table, epsilon, delta, accountant)


def _expected(cursor: Cursor, table: Name) -> SetExpectedRows:
    cursor.expect("rows", after="EXPECTED")
    return SetExpectedRows(table, amount(cursor, "EXPECTED ROWS"))


def _composite(cursor: Cursor, table: Name) -> CompositeChange:
    """DOMAIN (a, b) REFERENCES t (c, d): of one column it would be ALTER COLUMN's."""
    if not cursor.accept("("):
        _of_a_column("DOMAIN", cursor.before.position)
    columns = _closed_columns(cursor)
    if len(columns) == 1:
        _of_a_column("DOMAIN", columns[0].position)
    if cursor.accept("hidden"):
        return SetCompositeHidden(table, columns)
    cursor.expect("references", after='")"')
    return SetComposite(table, columns, *_target(cursor))


def _of_a_column(word: str, position: int | None) -> NoReturn:
    hint = f"Write ALTER TABLE ... ALTER COLUMN ... SET PRIVACY {word} ..."
    message = f"{word} is declared of a column, not of a table"
    raise SyntaxRefused(message, hint=hint, position=position)


def _between(cursor: Cursor, table: Name, column: Name) -> SetBetween:
    low = literal(cursor, "BETWEEN")
    cursor.expect("and", after="the lower bound")
    high = literal(cursor, "AND")
    outside = Outside.CLAMP
    if cursor.accept("outside"):
        outside = cursor.choose({"clamp": Outside.CLAMP, "null": Outside.NULL}, "OUTSIDE")
    return SetBetween(table, column, low, high, outside)


def _members(cursor: Cursor, table: Name, column: Name) -> SetMembers:
    position = cursor.token.position
    cursor.expect("(", after="IN")
    if cursor.accept(")"):
        return SetMembers(table, column, (), position)
    values = cursor.listed(lambda after: literal(cursor, after), '"("')
    if not cursor.accept(")"):
        cursor.refuse([], "a constant")
    return SetMembers(table, column, values, position)


def _domain(cursor: Cursor, table: Name, column: Name) -> ColumnChange:
    return cursor.choose(_DOMAIN, "DOMAIN", _UNLISTED)(cursor, table, column)


def _references(cursor: Cursor, table: Name, column: Name) -> SetReferences:
    target, columns = _target(cursor)
    if len(columns) > 1:
        raise SyntaxRefused(
            "one column has the values of one column",
            hint="Of several together: ALTER TABLE ... SET PRIVACY DOMAIN (...) REFERENCES ... (...).",
            position=columns[1].position,
        )
    return SetReferences(table, column, (target, columns[0]))


def _class(cursor: Cursor, table: Name, column: Name) -> SetColumnClass:
    column_class = cursor.choose(_CLASSES, "CLASS")
    if column_class is ColumnClass.QUASI_IDENTIFIER:
        cursor.expect("identifier", after="QUASI")
    return SetColumnClass(table, column, column_class)


def _taxonomy(cursor: Cursor, table: Name, column: Name) -> SetTaxonomy:
    return SetTaxonomy(table, column, cursor.name("taxonomy", "TAXONOMY"))


def _blocks(cursor: Cursor, table: Name) -> SetBlocks:
    """BLOCKS BY (c), or BLOCKS HIDDEN."""
    if cursor.accept("hidden"):
        return SetBlocks(table, None)
    cursor.expect("by", after="BLOCKS")
    cursor.expect("(", after="BY")
    return SetBlocks(table, _single(cursor, _closed_columns(cursor), "blocks of several columns"))


_TABLE: dict[str, Callable[[Cursor, Name], TableChange | CompositeChange]] = {
    "key": _key,
    "public": lambda _, table: SetExposure(table, Exposure.PUBLIC),
    "hidden": lambda _, table: SetExposure(table, Exposure.HIDDEN),
    "ceiling": _ceiling,
    "expected": _expected,
    "domain": _composite,
    "class": lambda cursor, _: _of_a_column("CLASS", cursor.before.position),
    "blocks": _blocks,
}
_COLUMN: dict[str, Callable[[Cursor, Name, Name], ColumnChange]] = {
    "domain": _domain,
    "hidden": lambda _, table, column: SetColumnHidden(table, column),
    "class": _class,
}
_UNLISTED = frozenset({"class"})
"""Known, and refused with a hint: not among what a message offers."""

_CLASSES = {
    "identifier": ColumnClass.IDENTIFIER,
    "quasi": ColumnClass.QUASI_IDENTIFIER,
    "sensitive": ColumnClass.SENSITIVE,
}
_DOMAIN: dict[str, Callable[[Cursor, Name, Name], ColumnChange]] = {
    "between": _between,
    "in": _members,
    "references": _references,
    "discovered": lambda _, table, column: SetDiscovered(table, column),
    "taxonomy": _taxonomy,
}
