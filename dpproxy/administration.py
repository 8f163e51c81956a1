"""Privacy statements over the wire: who may send them, and what they answer."""

from fractions import Fraction

from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import NANO, Account
from dpproxy.errors import NotGranted, Unsupported
from dpproxy.pgtypes import Column, Schema
from dpproxy.plan import Answer, Caller
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import parse
from dpproxy.policy.show import Listed, show_budgets, show_grants, show_policy
from dpproxy.policy.statements import Listing, Show, Statement, Suggest
from dpproxy.policy.store import PolicyStore
from dpproxy.policy.suggest import SUGGESTED, suggest


def read(sql: str, caller: Caller) -> Statement:
    """The statement. Raises ``NotGranted`` for anybody but an administrator, before it is even read."""
    if not caller.is_admin:
        raise NotGranted(
            "privacy statements are for administrators",
            hint="SELECT * FROM dp.budgets; shows what you may spend.",
            position=0,
        )
    return parse(sql)


def columns(statement: Statement, policy: Policy) -> tuple[Column, ...] | None:
    """The answer's columns; None for statements that change the policy."""
    match statement:
        case Show():
            return _list(statement, policy, {})[0]
        case Suggest():
            return SUGGESTED
        case _:
            return None


def run(sql: str, caller: Caller, store: PolicyStore, schema: Schema, ledger: Ledger) -> Answer:
    """List, propose or change the policy; a change is durable before it is answered."""
    statement = read(sql, caller)
    if isinstance(statement, Suggest):
        return _suggest(statement, store.current, schema)
    if isinstance(statement, Show):
        policy = store.current
        spent = {name: Fraction(ledger.spent(Account.budget(name)), NANO) for name in policy.budgets}
        listed, rows = _list(statement, policy, spent)
        return Answer("SHOW", listed, rows)
    store.change([sql], schema, by=caller.user)
    return Answer(_tag(sql))


def _suggest(statement: Suggest, policy: Policy, schema: Schema) -> Answer:
    if statement.epsilon is not None:
        raise Unsupported(
            "SUGGEST PRIVACY WITH EPSILON needs released quantiles, which are not there yet",
            hint="SUGGEST PRIVACY FOR ...; reads no row and costs nothing.",
            position=statement.epsilon.position,
        )
    proposed = suggest(policy, schema, statement.table)
    return Answer("SUGGEST", SUGGESTED, [(one.statement, one.reason) for one in proposed])


def _list(statement: Show, policy: Policy, spent: dict[str, Fraction]) -> Listed:
    match statement.listing:
        case Listing.BUDGETS:
            return show_budgets(policy, spent)
        case Listing.POLICY:
            return show_policy(policy, statement.table)
        case Listing.GRANTS:
            return show_grants(policy)


def _tag(sql: str) -> str:
    """PostgreSQL's command tag: the first word or two."""
    words = sql.upper().split(None, 3)
    lengths = {"GRANT": 1, "REVOKE": 1, "ALTER": 2}
    return " ".join(words[: lengths.get(words[0], 3)])
