"""Applies a statement to a policy, with all checks; pure functions."""

from msgspec.structs import replace

from dpproxy.policy.apply_budget import change_budget, change_grant
from dpproxy.policy.apply_column import change_column
from dpproxy.policy.apply_foreign_key import change_foreign_key
from dpproxy.policy.apply_reference import change_composite, change_taxonomy
from dpproxy.policy.apply_table import change_table
from dpproxy.policy.apply_view import change_view
from dpproxy.policy.blocks import with_checked_blocks
from dpproxy.policy.fitting import Clock, of_utc
from dpproxy.policy.model import Policy
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    BudgetChange,
    Change,
    ColumnChange,
    GrantChange,
    SetComposite,
    SetForeignKey,
    TableChange,
    TaxonomyChange,
    ViewDeclaration,
)
from dpproxy.policy.units import unit_table
from dpproxy.values.pgtypes import Schema

__all__ = ["apply", "unit_table"]


def apply(policy: Policy, change: Change, schema: Schema | None, clock: Clock = of_utc) -> Policy:
    """The policy after ``change``; its version is left to the store.

    Args:
        policy: as it is.
        change: a parsed statement other than SHOW.
        schema: what the data source has; None for the statements of a stored policy, checked when declared.
        clock: converts timestamps that are written without a zone to UTC.

    Raises:
        Refusal: the statement does not fit, at the position of the word in question.
    """
    if isinstance(change, TableChange):
        return with_checked_blocks(change_table(policy, change, schema), change.table)
    if isinstance(change, SetComposite):
        return change_composite(policy, change, schema)
    if isinstance(change, SetForeignKey):
        return change_foreign_key(policy, change, schema)
    if isinstance(change, ColumnChange):
        return with_checked_blocks(change_column(policy, change, schema, clock), change.table)
    if isinstance(change, BudgetChange):
        return change_budget(policy, change)
    if isinstance(change, GrantChange):
        return change_grant(policy, change, schema)
    if isinstance(change, AdvanceDataVersion):
        return replace(policy, data_version=policy.data_version + 1)
    return _of_views(policy, change, schema)


def _of_views(policy: Policy, change: TaxonomyChange | ViewDeclaration, schema: Schema | None) -> Policy:
    """Taxonomies and protected views."""
    if isinstance(change, TaxonomyChange):
        return change_taxonomy(policy, change, schema)
    return change_view(policy, change, schema)
