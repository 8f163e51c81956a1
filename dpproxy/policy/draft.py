"""A policy for a whole schema to begin with: SUGGEST PRIVACY for each table, those first that others refer to.

No row is read. What only a person knows is marked in a comment, and where a table's privacy unit does not follow, its
statement is one: no row becomes a unit unless the table is about people, or somebody says so.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from msgspec import Struct

from dpproxy.policy import guidance
from dpproxy.policy.apply import apply
from dpproxy.policy.dump import alter_table
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.names import is_person
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest import suggest
from dpproxy.policy.suggest_unit import COMMENT, CONFIRM, FILL_IN, Proposal, foreign_keys
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.pgtypes import Schema

WIDTH = 110
BUDGET = "research"
ROLE = "analyst"
_HEAD = """\
-- A draft, made of names, types and constraints; no row was read. Edit it, then:
--
--   dpproxy check dpproxy.toml                finds mistakes
--   dpproxy preview --config dpproxy.toml     prints the errors to expect
--
-- /* fill in */ marks a number that only you know: all who ask see it, so never read it off the data.
-- /* confirm */ marks what was guessed. What is a comment declares nothing, and what is not declared stays hidden.
-- A bound that is too wide makes answers less accurate; a value outside of it is moved to it."""


class Draft(Struct, frozen=True):
    """Statements with their reasons, as the text of a policy file, and what becomes of each table under it."""

    text: str
    policy: Policy

    @property
    def protected(self) -> list[str]:
        """The tables whose privacy unit is declared."""
        return [name for name, one in self.policy.tables.items() if one.exposure is Exposure.PROTECTED]

    @property
    def marks(self) -> int:
        """How many things are to be filled in or confirmed."""
        return marks(self.text)


def marks(text: str) -> int:
    r"""How many comments of a policy file ask for a number, or for confirmation, outside its remarks.

    >>> marks("-- /* fill in */ is a mark\nALTER TABLE t SET PRIVACY CEILING EPSILON 10 /* fill in */;")
    1
    """
    lines = [line for line in text.splitlines() if not line.startswith(COMMENT)]
    return sum(line.count(mark) for line in lines for mark in (FILL_IN, CONFIRM))


def draft(schema: Schema) -> Draft:
    """A policy for all tables of a schema, about which nothing is declared."""
    policy, parts = Policy(), [_HEAD]
    for table in in_order(schema):
        after, found = policy, suggest(policy, schema, Name(table))
        for one in found:
            if not one.is_comment:
                after = apply(after, change_of(one.statement), schema)
        is_protected = table in after.tables and after.tables[table].exposure is Exposure.PROTECTED
        policy = after if is_protected else policy
        section = [f"-- === {table}", *_left_out(schema, table)]
        section += _declared(found) if is_protected else _undecided(table, found)
        parts.append("\n".join(section))
    made = Draft("", policy)
    parts.append("\n".join(_access(made.protected)))
    return Draft("\n\n".join(parts) + "\n", policy)


def in_order(schema: Schema) -> list[str]:
    """The tables, those that others refer to before these; else those about people first, and then by name."""
    order: dict[str, None] = {}

    def add(table: str, waiting: tuple[str, ...]) -> None:
        for key in foreign_keys(schema, table):
            if key.target not in (*waiting, table):
                add(key.target, (*waiting, table))
        order.setdefault(table)

    for table in sorted(schema.tables, key=lambda name: (not is_person(name), name)):
        add(table, ())
    return list(order)


def _left_out(schema: Schema, table: str) -> list[str]:
    names = schema.left_out.get(table)
    return _remark(f"Not served, for their types: {', '.join(names)}.") if names else []


def _declared(found: Sequence[Proposal]) -> Iterator[str]:
    for one in found:
        yield from _remark(f"{one.reason}.")
        yield one.statement


def _undecided(table: str, found: Sequence[Proposal]) -> Iterator[str]:
    """A table whose unit does not follow: a comment as a whole."""
    yield from _remark("Hidden. Is it a list that everybody may see, and nobody is in it? Then uncomment:")
    yield f"{COMMENT}{alter_table(table, None, 'PUBLIC')};"
    for one in found:
        if one.is_comment:
            yield from _remark(f"Else: {one.reason}.")
            yield one.statement
    yield from _remark(f"Then SUGGEST PRIVACY FOR {table_text(table)}; proposes the rest.")


def _access(tables: Sequence[str]) -> Iterator[str]:
    yield "-- === who may ask, and how much"
    yield from _remark(
        "All users of the budget together, each user, and one statement. docs/epsilon.md says how to choose."
    )
    yield (
        f"CREATE PRIVACY BUDGET {BUDGET} LIMIT EPSILON {guidance.BUDGET} USER LIMIT EPSILON {guidance.USER} "
        f"MAX EPSILON {guidance.STATEMENT} DEFAULT EPSILON {guidance.DEFAULT};"
    )
    granted = ", ".join(map(identifier, tables))
    prefix = "" if tables else COMMENT
    yield f"{prefix}GRANT SELECT ON {granted or '...'} TO {ROLE} WITH PRIVACY BUDGET {BUDGET};"


def _remark(text: str) -> list[str]:
    return [f"{COMMENT}{line}" for line in wrap(text, WIDTH)]
