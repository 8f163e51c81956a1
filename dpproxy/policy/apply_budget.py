"""Budgets and who may spend them.

CREATE PRIVACY BUDGET replaces the limits of an existing budget, so that policy files can be applied repeatedly; what
was spent is in the ledger. A role may have several budgets for a table, one by each GRANT: dp.budget chooses. REVOKE
removes all of them.
"""

from fractions import Fraction
from itertools import product

from msgspec.structs import replace

from dpproxy.policy import amounts
from dpproxy.policy.guidance import BUDGET
from dpproxy.policy.lookup import check_relation, is_protected, table_policy
from dpproxy.policy.model import Budget, ExactGrant, Exposure, Grant, Policy
from dpproxy.policy.statements import (
    Amount,
    BudgetChange,
    CreateBudget,
    DropBudget,
    GrantChange,
    GrantSelect,
    RevokeSelect,
    SetExact,
)
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import (
    BoundsMissing,
    DependentObjects,
    InvalidParameter,
    UndefinedObject,
    Unsupported,
)
from dpproxy.values.pgtypes import Schema

_NO_ROLES = {
    "admin": "The role admin manages the policy and reads nothing; grant to another role of the same person.",
    "public": "Name the roles that may ask: nobody gets a privilege unnamed.",
}


def change_budget(policy: Policy, change: BudgetChange) -> Policy:
    """The policy with a budget created, replaced or dropped."""
    match change:
        case CreateBudget():
            return replace(policy, budgets={**policy.budgets, change.name.text: _budget(change)})
        case DropBudget():
            _check_exists(policy, change.name, "SHOW PRIVACY BUDGETS; lists those there are.")
            _unused(policy, change.name)
            kept = {name: budget for name, budget in policy.budgets.items() if name != change.name.text}
            return replace(policy, budgets=kept)


def change_grant(policy: Policy, change: GrantChange, schema: Schema | None) -> Policy:
    """The policy with privileges granted or revoked; grants stay sorted by table, role and budget."""
    if isinstance(change, SetExact):
        return _change_exact(policy, change, schema)
    return _change_paid(policy, change, schema)


def _change_paid(policy: Policy, change: GrantSelect | RevokeSelect, schema: Schema | None) -> Policy:
    grants = {(grant.table, grant.role, grant.budget or ""): grant for grant in policy.grants}
    for name in change.tables:
        check_relation(name, policy, schema)
    match change:
        case GrantSelect():
            if change.budget is not None:
                first = (
                    f"First CREATE PRIVACY BUDGET {identifier(change.budget.text)} LIMIT EPSILON {BUDGET}; "
                )
                _check_exists(policy, change.budget, f"{first}SHOW PRIVACY BUDGETS; lists those there are.")
            for name, role in product(change.tables, change.roles):
                _grantable(role)
                _readable(name, schema)
                if change.budget is None and is_protected(policy, name.text, schema):
                    raise _unpaid(name, role, policy)
                _add(
                    grants, Grant(name.text, role.text, None if change.budget is None else change.budget.text)
                )
        case RevokeSelect():
            taken = {(name.text, role.text) for name, role in product(change.tables, change.roles)}
            grants = {key: grant for key, grant in grants.items() if key[:2] not in taken}
    return replace(policy, grants=tuple(grants[key] for key in sorted(grants)))


def _add(grants: dict[tuple[str, str, str], Grant], grant: Grant) -> None:
    """Add a budget of a role for a table; a grant that names no budget is dropped where others name one."""
    paid = [key for key in grants if key[:2] == (grant.table, grant.role) and key[2]]
    if grant.budget is not None:
        grants.pop((grant.table, grant.role, ""), None)
    if grant.budget is not None or not paid:
        grants[grant.table, grant.role, grant.budget or ""] = grant


def _change_exact(policy: Policy, change: SetExact, schema: Schema | None) -> Policy:
    """The policy with exact answers allowed or not; only for tables that are protected."""
    named = {(grant.table, grant.role) for grant in policy.exact}
    for name in change.tables:
        table = table_policy(policy, name, schema)
        if change.granted and table.exposure is not Exposure.PROTECTED:
            raise InvalidParameter(
                f'table "{name.text}" is not protected: EXACT SELECT is for tables whose answers have noise',
                hint="A public table is answered exactly anyway; an undeclared one is hidden.",
                position=name.position,
            )
    for role in change.roles:
        if change.granted:
            _grantable(role)
    asked = {(name.text, role.text) for name, role in product(change.tables, change.roles)}
    kept = named | asked if change.granted else named - asked
    return replace(policy, exact=tuple(ExactGrant(*pair) for pair in sorted(kept)))


def _budget(change: CreateBudget) -> Budget:
    """The budget, its limits each no larger than the wider ones."""
    narrowing = (
        change.limit,
        change.user_limit,
        change.session_limit,
        change.max_epsilon,
        change.default_epsilon,
    )
    wider: tuple[Amount, Fraction] | None = None
    for amount in narrowing:
        if amount is None:
            continue
        value = amounts.epsilon(amount)
        if wider is not None and value > wider[1]:
            message = f"{amount.clause} is larger than {wider[0].clause}"
            raise InvalidParameter(message, position=amount.position)
        wider = amount, value
    return Budget(
        name=change.name.text,
        limit=Fraction(change.limit.value),
        delta=amounts.delta(change.delta),
        user_limit=_optional(change.user_limit),
        session_limit=_optional(change.session_limit),
        max_epsilon=_optional(change.max_epsilon),
        default_epsilon=_optional(change.default_epsilon),
        refresh=change.refresh,
        shares=change.shares,
    )


def _optional(amount: Amount | None) -> Fraction | None:
    return None if amount is None else Fraction(amount.value)


def _check_exists(policy: Policy, budget: Name, hint: str) -> None:
    if budget.text not in policy.budgets:
        raise UndefinedObject(f'budget "{budget.text}" does not exist', hint=hint, position=budget.position)


def _unused(policy: Policy, budget: Name) -> None:
    charged = next((view for view in policy.views.values() if view.option("charge") == budget.text), None)
    if charged is not None:
        raise DependentObjects(
            f'budget "{budget.text}" pays for protected view "{charged.name}"',
            hint=f"First DROP PROTECTED VIEW {identifier(charged.name)}; SHOW PRIVACY VIEWS; lists what depends on it.",
            position=budget.position,
        )
    user = next((grant for grant in policy.grants if grant.budget == budget.text), None)
    if user is not None:
        raise DependentObjects(
            f'budget "{budget.text}" pays for role "{user.role}" on table "{user.table}"',
            hint=f"First {_revoke(user)}; SHOW PRIVACY GRANTS; lists what depends on it.",
            position=budget.position,
        )


def _revoke(grant: Grant) -> str:
    return f"REVOKE SELECT ON {table_text(grant.table)} FROM {identifier(grant.role)}"  # noqa: S608 - a hint


def _grantable(role: Name) -> None:
    if role.text in _NO_ROLES:
        message = f'nothing is granted to role "{role.text}"'
        raise InvalidParameter(message, hint=_NO_ROLES[role.text], position=role.position)


def _readable(relation: Name, schema: Schema | None) -> None:
    view = None if schema is None else schema.views.get(relation.text)
    if view is not None and view.flaw is not None:
        raise Unsupported(
            f'view "{relation.text}" cannot be used: {view.flaw}',
            hint="A view is read as a statement is: write it as one that is answered.",
            position=relation.position,
        )


def _unpaid(table: Name, role: Name, policy: Policy) -> BoundsMissing:
    budget = min(policy.budgets, default=None)
    granting = f"GRANT SELECT ON {table_text(table.text)} TO {identifier(role.text)} WITH PRIVACY BUDGET"
    return BoundsMissing(
        f'table "{table.text}" is protected: a grant on it names the budget that pays',
        hint=f"First CREATE PRIVACY BUDGET research LIMIT EPSILON {BUDGET}; then {granting} research;"
        if budget is None
        else f"{granting} {identifier(budget)};",
        position=table.position,
    )
