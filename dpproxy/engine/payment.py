"""What a plan costs: the accounts it debits, its entries in the ledger, the keys of its releases, and its notices."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

from dpproxy.accounting.accounts import as_epsilon, limited
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import count, tightest
from dpproxy.accounting.model import (
    NANO,
    Account,
    AccountKind,
    Charge,
    Cost,
    Debit,
    Reservation,
    format_delta,
    format_epsilon,
)
from dpproxy.accounting.sharing import Pool
from dpproxy.accounting.windows import Standing
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Answer, Caller, Fitted, Notice, Part, Payer, Plan, PriorCheck, Settings
from dpproxy.algebra.request import Request
from dpproxy.config import settings as session_settings
from dpproxy.engine.sessions import EngineSession
from dpproxy.planner.reuse.descriptor import KIN, Descriptor, described, family, key_words, kin

_LEAST = NANO // 1000
"""The least epsilon of a statement."""


@lru_cache(maxsize=512)
def debits(payer: Payer, caller: Caller, blocks: tuple[str, ...] = ()) -> tuple[Debit, ...]:
    """The accounts that pay: session, user, budget, and the ceiling or its blocks, with the limits in force."""
    # No delta is declared for sessions and users: their concentrated losses are converted with the budget's.
    delta = payer.budget_delta if payer.concentrated else None
    own = (
        (Account.session(caller.session, payer.budget), payer.session_limit, delta),
        (Account.user(payer.budget, caller.user), payer.user_limit, delta),
        (Account.budget(payer.budget), payer.budget_limit, payer.budget_delta),
    )
    ceiling = payer.ceiling_limit, payer.ceiling_delta
    return (
        *(limited(*each, payer.refresh, concentrated=payer.concentrated) for each in own),
        *(
            limited(Account.ceiling(payer.ceiling, block), *ceiling, concentrated=payer.concentrated)
            for block in blocks or ("",)
        ),
    )


def price(plan: Plan) -> Cost:
    """What a plan costs at most: the sum over its parts."""
    return _together(plan.charged)


def check_together(parts: Sequence[Part], payer: Payer, caller: Caller, ledger: Ledger) -> None:
    """Raise ``BudgetExceeded`` where the limits do not allow all parts; a block pays only for parts that touch it."""
    ledger.check(debits(payer, caller)[:3], _together(parts))
    for blocks in dict.fromkeys(part.blocks for part in parts):
        theirs = [p for p in parts if not (p.blocks and blocks) or set(p.blocks) & set(blocks)]
        ledger.check(debits(payer, caller, blocks)[3:], _together(theirs))


def _together(parts: Sequence[Part]) -> Cost:
    return sum((Cost.of(part.loss.nano, part.delta) for part in parts), Cost())


def release_key(part: Part, values: Sequence[object], pool: Pool, asked: Descriptor | None = None) -> bytes:
    """The key of a part's release in the store: equal for parts whose released values can replace each other.

    It digests the exact stage in normal form with its input values, its keys, the boxes the noise was drawn for, the
    pool and the delta, but not the epsilon: a more accurate release answers a less accurate request. Keys of
    releases that the same parts can be derived from share a prefix. ``asked`` where the part is described already.
    """
    asked = asked or described(part, values, pool)
    rows = family(part, values, pool) if asked is None else asked.rows
    words = digest("release", 4, rows, *key_words(part), part.factor, part.delta)
    return kin(rows, asked) + words[KIN:]


def charge(caller: Caller, plan: Plan, part: Part, key: bytes) -> Charge:
    """The ledger's entry for one part of a plan."""
    return Charge(
        who=caller.user,
        statement=digest("statement", 1, key, plan.answer),
        policy_version=plan.policy_version,
        data_version=plan.data_version,
        mechanism=f"{part.noise} x{part.factor}",
        nano=part.loss.nano,
        debits=debits(plan.payer, caller, part.blocks),
        release=key,
        label=plan.label,
        delta=part.delta,
        concentrated=plan.payer.concentrated
        and (part.concentrated or (part.mechanism is not None and part.mechanism.CONCENTRATED)),
    )


def _more(count: int, left: int | None) -> str:
    if left is not None and left < _LEAST:
        return "Nothing more is answered but what follows from what was released."
    if count == 0:
        return "Nothing more at this price; a smaller dp.epsilon may fit."
    return f"About {count} more {'statement' if count == 1 else 'statements'} at this price."


def accounts(plan: Plan, caller: Caller) -> tuple[Debit, ...]:
    """All accounts that pay for a plan, with their limits."""
    return debits(plan.payer, caller, plan.blocks)


def notice(cost: Cost, plan: Plan, standings: Sequence[Standing]) -> Notice:
    """The notice after an answer: its cost, and what the tightest limit leaves."""
    left = tightest(standings)
    remaining = "no limit" if left is None else f"{format_epsilon(left)} left"
    if cost == Cost():
        return Notice(
            f"cost 0, {remaining} in budget {plan.payer.budget}",
            detail=_free(plan),
        )
    more = count(standings, price(plan))
    rho = f" (rho {format_delta(cost.rho)})" if plan.payer.concentrated else ""
    delta = f" and delta {format_delta(cost.delta)}" if cost.delta else ""
    keys = "keys that enough units share" if plan.discovered else _answered(plan.groups)
    return Notice(
        f"cost {format_epsilon(cost.nano)} epsilon{rho}{delta}, {remaining} in budget {plan.payer.budget}",
        detail=f"{plan.label}; {keys}; unit: {plan.unit}.{_converted(standings, plan)}",
        hint=None if more is None else _more(more, left),
    )


def _free(plan: Plan) -> str | None:
    if plan.empty:
        return None
    if not plan.parts:
        return "One row from the policy: whether the table has rows is not looked at."
    whose = f" to users of budget {plan.payer.budget}" if plan.payer.shares else ""
    return f"The answer follows from what was released{whose} before, or from the policy."


def contradiction_notice(check: PriorCheck, count: int) -> Notice:
    """The notice where ``count`` draws are too improbable under a prior."""
    of = "the draw contradicts" if check.groups == 1 else f"{count} of {check.groups} draws contradict"
    return Notice(
        f"{of} the prior {check.prior}",
        detail="Where the prior is wrong, the answer is drawn towards it. The draw itself is kept: without the prior, "
        "or with another one, it answers for nothing; dp.ci_low and dp.ci_high are about the draw alone.",
        sqlstate="01000",
    )


def average_notice(draws: int) -> Notice:
    """The notice beside the mean of several stored releases."""
    return Notice(
        f"mean of {draws} draws that you have paid for, weighed by their accuracy",
        detail="One draw for the price of all is at least as accurate.",
    )


def together_notice(draws: int) -> Notice:
    """The notice beside an answer that follows only from several releases together."""
    return Notice(
        f"follows from {draws} draws that you have paid for, added up or taken away",
        detail="A draw of its own, at the same epsilon, would have less noise.",
    )


def cube_notice(of: Fitted) -> Notice:
    """The notice beside an answer that follows from a cube."""
    if of.draws:
        return Notice(
            f'follows from cube "{of.cube}" and {of.draws} draws that you have paid for, free',
            detail="It is the mean of both, weighed by their accuracy.",
        )
    return Notice(
        f'follows from cube "{of.cube}", free',
        detail="Its cells are added up: whatever else follows from it agrees with this.",
    )


def _answered(groups: int) -> str:
    return f"{groups} key{'s' if groups > 1 else ''} answered"


def _converted(standings: Sequence[Standing], plan: Plan) -> str:
    """The budget's spending so far as epsilon and delta, for a budget that is accounted in rho."""
    if not plan.payer.concentrated:
        return ""
    budget = next(one for one in standings if one.debit.account.kind is AccountKind.BUDGET)
    total = format_epsilon(as_epsilon(budget.spent, budget.debit))
    return f" The budget so far: epsilon {total} with delta {format_delta(plan.payer.budget_delta)}, by ZCDP."


class Receipt:
    """The balances in a statement's notices, as they were when it was charged.

    Balances at the end of its work would include what others paid meanwhile, and so reveal how long the work took.
    """

    def __init__(self, plan: Plan, request: Request, ledger: Ledger) -> None:
        self._plan = plan
        self._request = request
        self._ledger = ledger
        self._taken: Sequence[Standing] | None = None

    def take(self, reservation: Reservation | None = None) -> Sequence[Standing]:
        """Note the balances of the paying accounts, as of now or right after a reservation."""
        stood = self._ledger.standings if reservation is None else partial(self._ledger.stood, reservation)
        self._taken = list(stood(*accounts(self._plan, self._request.caller)))
        return self._taken

    def answer(
        self,
        rows: Sequence[tuple[object, ...]],
        cost: Cost,
        session: EngineSession,
        more: Sequence[Notice] = (),
    ) -> Answer:
        """The answer with its notices; the session's last cost is updated.

        ``more`` are notices about the released values. Where nothing was charged, balances are those of now.
        """
        session.last_cost = cost.nano
        session.last_paid = cost if cost.nano else session.last_paid
        standings = self._taken or self.take()
        settings = self._request.settings
        notices = notice(cost, self._plan, standings), *self._plan.notices, *self._of_present(cost, settings)
        shown = (*notices, *more) if session_settings.notices(settings) else ()
        columns = tuple(o.column for o in self._plan.outputs)
        return Answer(f"SELECT {len(rows)}", columns, rows, shown, nano=cost.nano)

    def _of_present(self, cost: Cost, settings: Settings) -> tuple[Notice, ...]:
        """The notice for a charged statement that has the current time among its constants."""
        fleeting = session_settings.fleeting(settings) if cost.nano else ()
        if not fleeting or not any(piece in c for c in _constants(self._plan) for piece in fleeting):
            return ()
        told = "the present is part of this question to the second: it is another one each time, and charged each time"
        return (
            Notice(told, hint="Ask of whole days, which are free again: ts >= date_trunc('day', now())."),
        )


def _constants(plan: Plan) -> Iterator[str]:
    """What is written in the exact stages, as it is written."""
    for node in (n for part in plan.parts for n in part.query.walk()):
        if isinstance(node, nodes.Number):
            yield node.text
        elif isinstance(node, nodes.Text):
            yield node.value
