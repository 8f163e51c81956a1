"""SHARE RELEASES: in which pool a plan's releases are kept, and whose payments count in it. Proof: ``sharing.md``."""

from dpproxy.accounting.model import Account
from dpproxy.algebra.plan import Plan

Pool = int | tuple[int, str]
"""The data version, and the budget where it shares its releases: a part of the keys of all releases of the pool."""


def pool(plan: Plan) -> Pool:
    """Where the plan's releases are kept and looked for: a budget that shares has a pool of its own."""
    return (plan.data_version, plan.payer.budget) if plan.payer.shares else plan.data_version


def own(plan: Plan, user: str) -> Account:
    """The account of a user in the budget that pays for the plan."""
    return Account.user(plan.payer.budget, user)


def reader(plan: Plan, user: str) -> Account:
    """The account whose releases answer a user for nothing: their own, or the whole budget's where it shares."""
    return Account.budget(plan.payer.budget) if plan.payer.shares else own(plan, user)
