"""Proposals for the privacy key and the ceiling of a table, the best first."""

from collections.abc import Iterator

from msgspec import Struct

from dpproxy.policy import guidance
from dpproxy.policy.dump import alter_table, target_of
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.names import is_named_after, is_person
from dpproxy.sql.quoting import identifier
from dpproxy.values.pgtypes import INTEGERS, TEXTS, UUID, ForeignKey, Schema, UniqueKey

FILL_IN = " /* fill in */"
"""A comment in a statement with numbers that only a person knows."""
CONFIRM = " /* confirm */"
"""A comment in a statement that is derived from names alone."""
COMMENT = "-- "
"""The beginning of a proposal that is a comment as a whole."""
_ROWS = f"MAX ROWS 10{FILL_IN}"
_KEPT = "how many rows of one person are kept is a person's choice: fill it in"
_SEVERAL = (
    "where a person has several rows, name their column; where no row is about a person, declare it PUBLIC"
)
_HELD = (
    "that a row of it is one person does not follow, and there are people of {}: refer to the table that its rows "
    "belong to, by KEY (...) REFERENCES ... (...); uncomment this where each row is a person of its own"
)

_ANYWHERE = frozenset({"id", "key", "uuid", "guid"})


class Proposal(Struct, frozen=True):
    """A statement that may be sent as it is, and why; ``unbounded`` is the column whose bounds nothing declares.

    One that begins with ``COMMENT`` is a comment: only somebody who knows what the rows are should send it.
    """

    statement: str
    reason: str
    unbounded: str | None = None

    @property
    def is_comment(self) -> bool:
        """Whether it is a comment only, which declares nothing when it is sent."""
        return self.statement.startswith(COMMENT)


def unit_proposals(policy: Policy, schema: Schema, table: str) -> Iterator[Proposal]:
    """A reference to a table that has a unit, else to one of people, else a person's column, a key, a row."""
    yield from _references(policy, schema, table)
    for name in _people(schema, table):
        if not is_unique(schema, table, name):
            reason = f'"{name}" tells people apart by its name, and a person may have several rows; {_KEPT}'
            yield _key(table, f"KEY ({identifier(name)}) {_ROWS}", reason + _nobody(schema, table, name))
    people = _others(policy, schema, table)
    for key in _single_keys(schema, table):
        reason = f'"{key}" is a declared key: one row, one unit; {_SEVERAL}'
        yield _of_rows(table, f"KEY ({identifier(key)})", reason + _nobody(schema, table, key), people)
    yield _of_rows(table, "KEY ROW", f"no key is declared: one row, one unit; {_SEVERAL}", people)


def _of_rows(table: str, text: str, reason: str, others: str | None) -> Proposal:
    """Each row as a unit: proposed as such where no other table is about people, else as a comment."""
    if is_person(table):
        return _key(table, text, reason)
    if others is None:
        return _key(table, f"{text}{CONFIRM}", f"{reason}; confirm it")
    return Proposal(f"{COMMENT}{alter_table(table, None, text)};", _HELD.format(f'"{others}"'))


def _others(policy: Policy, schema: Schema, table: str) -> str | None:
    """Another table that is about people: a protected one, or one with their name or their keys; else None."""
    found = [name for name, one in policy.tables.items() if one.exposure is Exposure.PROTECTED]
    named = [
        name
        for name in schema.tables
        if (is_person(name) or _people(schema, name)) and not _is_declared(policy, name)
    ]
    return next((name for name in [*sorted(found), *sorted(named)] if name != table), None)


def _references(policy: Policy, schema: Schema, table: str) -> Iterator[Proposal]:
    foreign = [key for key in foreign_keys(schema, table) if len(key.columns) == 1]
    for key in foreign:
        if _has_key(policy, key.target):
            yield _reference(policy, schema, key, f'"{key.target}" has a privacy unit')
    for key in _named_as_keys(policy, schema, table):
        reason = (
            f'"{key.columns[0]}" is named as a key of "{key.target}", which has a privacy unit: confirm it'
        )
        yield _reference(policy, schema, key, reason, CONFIRM)
    for key in foreign:
        if (
            key.target != table
            and not _is_declared(policy, key.target)
            and _leads_to_people(schema, key.target)
        ):
            people = f'"{key.target}" is about people by its names, or leads to a table that is'
            yield _reference(policy, schema, key, f"{people}: declare its key, too")


def ceiling_proposals(policy: Policy, table: str) -> Iterator[Proposal]:
    """A ceiling for a table that owns its unit and has none."""
    declared = policy.tables.get(table)
    if declared is None or declared.unit is None or declared.unit.references or declared.ceiling:
        return
    yield Proposal(
        alter_table(table, None, f"CEILING EPSILON {guidance.CEILING}{FILL_IN};"),
        "without a ceiling nothing is answered; what all statements together may learn about one unit is a person's "
        "choice (docs/epsilon.md): fill it in",
    )


def foreign_keys(schema: Schema, table: str) -> list[ForeignKey]:
    """Those of a table whose columns exist here on both sides."""
    return [
        one
        for one in schema.constraints
        if isinstance(one, ForeignKey)
        and one.table == table
        and all(schema.column(table, name) for name in one.columns)
        and all(schema.column(one.target, name) for name in one.referenced)
    ]


def is_unique(schema: Schema, table: str, column: str) -> bool:
    """Whether no two rows have the same value."""
    return column in _single_keys(schema, table)


def _single_keys(schema: Schema, table: str) -> list[str]:
    """Columns that are keys by themselves, the primary one first."""
    keys = [
        one
        for one in schema.constraints
        if isinstance(one, UniqueKey) and one.table == table and len(one.columns) == 1
    ]
    return [one.columns[0] for one in sorted(keys, key=lambda one: not one.primary)]


def _named_as_keys(policy: Policy, schema: Schema, table: str) -> Iterator[ForeignKey]:
    """References by columns that have the name of a protected table's key, or are named after that table."""
    of_a_type = [c for c in schema.tables[table] if c.type.oid in INTEGERS | TEXTS | {UUID.oid}]
    for column in of_a_type:
        for name, declared in sorted(policy.tables.items()):
            unit = declared.unit
            if unit is None or unit.key is None or name == table or column.name.lower() in _ANYWHERE:
                continue
            referenced = _named_so(policy, schema, name, column.name)
            if referenced is not None:
                yield ForeignKey(table, (column.name,), name, (referenced,))


def _named_so(policy: Policy, schema: Schema, target: str, column: str) -> str | None:
    """The column of a table that another table's column refers to by its name; None where there is none."""
    names = [c.name for c in schema.tables.get(target, ())]
    same = next((name for name in names if name.lower() == column.lower()), None)
    if same is not None and (_owns(policy, target, same) or is_unique(schema, target, same)):
        return same
    if not is_named_after(column, target):
        return None
    own = [name for name in names if is_named_after(name, target)]
    anywhere = [name for name in names if name.lower() in _ANYWHERE]
    keys = [name for name in names if _owns(policy, target, name) or is_unique(schema, target, name)]
    return next(iter([*filter(None, [same]), *own, *anywhere, *keys]), None)


def _has_key(policy: Policy, table: str) -> bool:
    """Whether a table has a unit that can be referred to: a row cannot."""
    declared = policy.tables.get(table)
    return declared is not None and declared.unit is not None and declared.unit.key is not None


def _owns(policy: Policy, table: str, column: str) -> bool:
    """Whether a table owns its unit, by this key."""
    declared = policy.tables.get(table)
    unit = None if declared is None else declared.unit
    return unit is not None and unit.references is None and unit.key == column


def _is_declared(policy: Policy, table: str) -> bool:
    declared = policy.tables.get(table)
    return declared is not None and declared.exposure is not Exposure.HIDDEN


def _people(schema: Schema, table: str) -> list[str]:
    """Columns whose name and type identify a person."""
    return [c.name for c in schema.tables[table] if c.type.oid in INTEGERS | TEXTS and is_person(c.name)]


def _leads_to_people(schema: Schema, table: str) -> bool:
    """Whether a table, or one that it refers to, is named after people or has a column that is."""
    seen: set[str] = set()
    waiting = [table]
    while waiting:
        name = waiting.pop()
        if is_person(name) or _people(schema, name):
            return True
        if name not in seen:
            seen.add(name)
            waiting += [key.target for key in foreign_keys(schema, name)]
    return False


def _reference(policy: Policy, schema: Schema, key: ForeignKey, reason: str, mark: str = "") -> Proposal:
    """The reference, for one row of each person where both columns identify people, else for a number to fill in."""
    column, referenced = key.columns[0], key.referenced[0]
    nobody = _nobody(schema, key.table, column)
    text = f"KEY ({identifier(column)}) {target_of(key.target, [referenced])}"
    if is_unique(schema, key.table, column) and _owns(policy, key.target, referenced):
        return _key(
            key.table, f"{text}{mark}", f"{reason}; each has one row at most, by a declared key{nobody}"
        )
    return _key(key.table, f"{text} {_ROWS}{mark}", f"{reason}; {_KEPT}{nobody}")


def _nobody(schema: Schema, table: str, column: str) -> str:
    """What becomes of rows without a key, where there may be some."""
    found = schema.column(table, column)
    return "" if found is None or found.not_null else "; rows without it count for nobody"


def _key(table: str, text: str, reason: str) -> Proposal:
    return Proposal(alter_table(table, None, f"{text};"), reason)
