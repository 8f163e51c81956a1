"""SUGGEST PRIVACY: a policy for one table, from the schema and the policy. No row is read."""

from collections.abc import Callable, Iterator
from functools import partial

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import alter_table, foreign_key_text, target_of
from dpproxy.policy.lookup import table_policy
from dpproxy.policy.model import Exposure, Policy, TablePolicy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest_column import column_proposals
from dpproxy.policy.suggest_unit import COMMENT, Proposal, ceiling_proposals, foreign_keys, unit_proposals
from dpproxy.policy.units import are_of_one_unit
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import Column, ForeignKey, Schema, typed_columns

SUGGEST_COLUMNS = typed_columns("statement reason")


Source = Callable[[Policy], Iterator[Proposal]]
"""Makes proposals for one declaration, the best first, given the policy with earlier proposals applied."""


def suggest(policy: Policy, schema: Schema, table: Name) -> list[Proposal]:
    """Statements for what is not declared yet, in an order in which all of them apply; none for a public table.

    Where only a person knows a number, the statement marks it with a comment. Where only a person knows whether it is
    right at all, the whole statement is a comment.

    Raises:
        UndefinedTable: not in the schema.
        DependentObjects: a grant stands against the table being protected.
    """
    declared = table_policy(policy, table, schema)
    found: list[Proposal] = []
    if declared.exposure is Exposure.PUBLIC:
        return found
    for source in _sources(schema, declared):
        refused: Refusal | None = None
        for proposal in source(policy):
            try:
                after = apply(policy, change_of(proposal.statement.removeprefix(COMMENT)), schema)
            except Refusal as refusal:
                refused = refusal
            else:
                policy = policy if proposal.is_comment else after
                found.append(proposal)
                refused = None
                break
        if refused is not None:
            refused.position = table.position
            raise refused
    return found


def _sources(schema: Schema, table: TablePolicy) -> Iterator[Source]:
    name = table.name
    if table.exposure is not Exposure.PROTECTED:
        yield lambda policy: unit_proposals(policy, schema, name)
    yield lambda policy: ceiling_proposals(policy, name)
    for key in foreign_keys(schema, name):
        yield partial(_composite, key)
        yield partial(_foreign_key, key)
    for column in schema.tables[name]:
        yield partial(_undeclared, schema, name, column)


def _undeclared(schema: Schema, table: str, column: Column, policy: Policy) -> Iterator[Proposal]:
    """Proposals for a column without a declaration, of its own or together with others."""
    found = policy.tables.get(table, TablePolicy(table))
    if column.name not in {*found.columns, *(name for one in found.composites for name in one.columns)}:
        yield from column_proposals(policy, schema, table, column)


def _foreign_key(key: ForeignKey, policy: Policy) -> Iterator[Proposal]:
    """A foreign key of several columns to a protected table of the same unit; one column may be the privacy key."""
    declared = policy.tables.get(key.table)
    is_new = declared is None or all(set(one.columns) != set(key.columns) for one in declared.foreign_keys)
    if is_new and len(key.columns) > 1 and are_of_one_unit(policy, key.table, key.target):
        reason = (
            f'a foreign key to "{key.target}", whose rows are of the same privacy unit: joins may follow it'
        )
        yield Proposal(f"{alter_table(key.table, None, foreign_key_text(key))};", reason)


def _composite(key: ForeignKey, policy: Policy) -> Iterator[Proposal]:
    """A foreign key of several columns to a public table."""
    target = policy.tables.get(key.target)
    if target is not None and target.exposure is Exposure.PUBLIC and len(key.columns) > 1:
        columns = ", ".join(map(identifier, key.columns))
        text = f"DOMAIN ({columns}) {target_of(key.target, key.referenced)};"
        reason = f'a foreign key to the public table "{key.target}"'
        yield Proposal(alter_table(key.table, None, text), reason)
