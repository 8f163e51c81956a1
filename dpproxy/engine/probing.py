"""Charged statements of the proxy's own, that an administrator's statement asks for."""

from collections.abc import Callable

from dpproxy.algebra.plan import Caller, Drawn, Plan, Settings
from dpproxy.analysis.scopes import Parameters
from dpproxy.engine import payment
from dpproxy.engine.administration import Ask, Asked
from dpproxy.engine.answers import Answers
from dpproxy.engine.replays import Asking
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.planner.routing import runnable, settled
from dpproxy.policy.model import Policy

ContextOf = Callable[[Policy, Settings, tuple[Drawn, ...] | None], Context]
"""What a statement is planned in: under a policy and settings, for losses of stored releases."""


def asker(answers: Answers, caller: Caller, cancelled: Callable[[], bool], context_of: ContextOf) -> Ask:
    """Plans as the caller, for a source that can run it; then asks, and pays as planned."""

    def ask(policy: Policy, sql: str, given: Settings) -> Asked:
        def planned(losses: tuple[Drawn, ...] | None) -> Plan:
            context = context_of(policy, given, losses)

            def made() -> Plan:
                plan = plan_query(accept(parse(sql)), context, Parameters())
                if not isinstance(plan, Plan):
                    raise TypeError("a probe reads protected rows")
                return runnable(plan, context)

            return settled(made, context)

        def run() -> tuple[list[tuple[object, ...]], int]:
            rows, cost = answers.rows(Asking(caller, plan, cancelled), planned)
            return rows, cost.nano

        plan = planned(None)
        return Asked(payment.accounts(plan, caller), run)

    return ask
