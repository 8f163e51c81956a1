"""Charged statements of the proxy's own, that an administrator's statement asks for."""

from collections.abc import Callable

from dpproxy.administration import Ask
from dpproxy.analysis.scopes import Parameters
from dpproxy.answers import Answers
from dpproxy.plan import Caller, Drawn, Plan, Settings
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.planner.routing import settled
from dpproxy.policy.model import Policy
from dpproxy.replays import Asking

ContextOf = Callable[[Policy, Settings, tuple[Drawn, ...] | None], Context]
"""What a statement is planned in: under a policy and settings, for losses of stored releases."""


def asker(answers: Answers, caller: Caller, cancelled: Callable[[], bool], context_of: ContextOf) -> Ask:
    """Asks as the caller, and pays as planned."""

    def ask(policy: Policy, sql: str, given: Settings) -> tuple[list[tuple[object, ...]], int]:
        def planned(losses: tuple[Drawn, ...] | None) -> Plan:
            context = context_of(policy, given, losses)
            plan = settled(lambda: plan_query(accept(parse(sql)), context, Parameters()), context)
            if not isinstance(plan, Plan):
                raise TypeError("a probe reads protected rows")
            return plan

        rows, cost = answers.rows(Asking(caller, planned(None), cancelled), planned)
        return rows, cost.nano

    return ask
