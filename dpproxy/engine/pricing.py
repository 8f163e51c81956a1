"""EXPLAIN (PRIVACY): what statements would cost a caller now, and how to split a budget among them.

Stored releases are taken into account. Several statements are priced as if they ran in order: what can be derived from
an earlier one is free.
"""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, log10, nextafter

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting import sharing
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Drawn, Output, Part, Plan, PublicPlan, Settings
from dpproxy.algebra.request import ExplainOne, ExplainSeveral, Prepared, Request
from dpproxy.config import settings as session
from dpproxy.engine import payment
from dpproxy.engine.advice import Earlier, GroupSize, advice, group_size
from dpproxy.engine.answers import Answers
from dpproxy.engine.cubes import Cubes
from dpproxy.engine.output import convert
from dpproxy.engine.questions import derived_sum, noise_ratio
from dpproxy.engine.replays import MOST_NOISE, Execution
from dpproxy.planner.explain import cube_of, explain_json, explain_text, unpaid
from dpproxy.planner.reuse.descriptor import described
from dpproxy.policy.model import Policy
from dpproxy.values.errors import InvalidParameter, Refusal
from dpproxy.values.pgtypes import TEXT, Column

EXPLAIN_COLUMNS = (Column("QUERY PLAN", TEXT),)
"""The column of the answer."""
LEAST = Fraction(1, 1000)
"""The least epsilon of a statement."""
ROUNDS = 4
"""How often the shares of a split are corrected by the errors that they lead to."""
DIGITS = 3
"""Significant digits of proposed epsilons, rounded down."""
Planner = Callable[[Request, tuple[Drawn, ...] | None], Plan | PublicPlan]
"""Plans one query, for the stored releases that answer its parts; None for new draws."""


class Desk(Struct, frozen=True):
    """One EXPLAIN: the request, and everything that its price depends on."""

    answers: Answers
    ledger: Ledger
    policy: Policy
    request: Request
    plan: Planner
    prepare: Callable[[str], Prepared]
    """Prepares one query by its text."""
    shown: Callable[[nodes.Query], str]
    """Translates a statement over the data into the SQL of its data source."""
    cubes: Cubes
    """Plans privacy cubes."""
    columns: Callable[[str], tuple[Column, ...]]
    """The columns of a table."""

    @property
    def settings(self) -> Settings:
        """The session's."""
        return self.request.settings

    @property
    def confidence(self) -> Fraction:
        """dp.confidence."""
        return session.confidence(self.settings)

    def free_parts(self, plan: Plan) -> dict[int, Drawn]:
        """The parts that cost nothing, by index, with what answers them."""
        execution = Execution(self.request.caller, plan, lambda: False, *tolerance(self.settings))
        charged = (
            () if plan.empty else [(i, p) for i, p in enumerate(plan.parts) if not (p.vacuous or p.inputs)]
        )
        found = ((i, self.answers.replays.free_draw(execution, part)) for i, part in charged)
        return {i: drawn for i, drawn in found if drawn is not None}


class PricedStatement(Struct, frozen=True):
    """The price of one of several statements, and in words why it is not more.

    ``plan`` is for new draws of all parts, ``answered_plan`` for what would answer them.
    """

    request: Request
    plan: Plan | PublicPlan
    answered_plan: Plan | PublicPlan
    epsilon: Fraction
    delta: Fraction
    because: str
    fresh: tuple[Part, ...] = ()
    """The parts that are drawn and charged."""
    follows: tuple[int, ...] = ()
    """The numbers, from 1, of earlier statements that parts are derived from."""

    @property
    def sql(self) -> str:
        """The statement's text."""
        return self.request.prepared.sql.strip()

    @property
    def is_asked(self) -> bool:
        """Whether it takes a share of the budget."""
        return self.epsilon > 0


HALVED = nextafter(2.0, 0.0)
"""The largest ratio of a stored release's noise to that of a draw that would not halve it."""


def tolerance(settings: Settings) -> tuple[float, bool, bool]:
    """Which stored releases may answer: the largest ratio of noise, whether of the planned mechanism only, and if any.

    The ratio is 1 where dp.target_error is set, and less than 2 where dp.reuse is better: a new draw would not halve
    the error then. The mechanism matters where dp.mechanism names one.
    """
    reuse = session.reuse(settings)
    most = HALVED if reuse == "better" else MOST_NOISE
    worst = most if session.target_error(settings) is None else 1.0
    return worst, session.mechanism(settings) != "auto", reuse != "never"


def explain_lines(statement: ExplainOne | ExplainSeveral, desk: Desk) -> list[str]:
    """The rows of the answer, one line each; a JSON document is one row."""
    if isinstance(statement, ExplainSeveral):
        return _dashboard(statement, desk)
    request = replace(desk.request, prepared=statement.query)
    plan = desk.plan(request, None)
    known: dict[int, Drawn] = {}
    advised: list[str] = []
    if isinstance(plan, Plan):
        known = desk.free_parts(plan)
        if known:
            drawn = tuple(known.get(i, Drawn(part.loss)) for i, part in enumerate(plan.parts))
            plan = desk.plan(request, drawn)
        if isinstance(plan, Plan):
            worst, _, reuse = tolerance(desk.settings)
            advised = advice(plan, _size(plan, desk), _earlier_rows(plan, desk), worst if reuse else 0.0)
            plan = _numbered(plan, desk)
    if statement.as_json:
        return [explain_json(plan, desk.confidence, known, desk.shown, advised)]
    return explain_text(plan, desk.confidence, known, desk.shown, advice=advised, verbose=statement.verbose)


def _earlier_rows(plan: Plan, desk: Desk) -> Earlier | None:
    """What was released to the caller; None where not all was."""
    try:
        rows = desk.answers.earlier_rows(desk.request.caller, plan)
    except Refusal:  # what is computed of these values is none
        return None
    return None if rows is None else (rows, convert(plan.outputs, rows))


def _size(plan: Plan, desk: Desk) -> GroupSize | None:
    return group_size(plan, desk.answers.replays.smallest_group(desk.request.caller, plan))


def _numbered(plan: Plan | PublicPlan, desk: Desk) -> Plan | PublicPlan:
    """The plan with numbers for half-widths that depend on a count, where that is known."""
    size = None if isinstance(plan, PublicPlan) else _size(plan, desk)
    if isinstance(plan, PublicPlan) or size is None:
        return plan
    return replace(plan, outputs=tuple(_output(o, size) for o in plan.outputs))


def _output(output: Output, size: GroupSize) -> Output:
    error = output.error
    if error is None or error.over_count is None:
        return output
    half = error.half(size.rows)
    words = f"about {half:.6g} in {size.words} of {size.rows:.6g} rows ({error.formula})"
    return replace(output, error=replace(error, half_width=half, formula=words))


# --- several statements


def priced_in_order(texts: Sequence[str], desk: Desk) -> list[PricedStatement]:
    """Statements as they would be charged one after the other."""
    priced: list[PricedStatement] = []
    for text in texts:
        request = replace(desk.request, prepared=desk.prepare(text), values=())
        priced.append(_priced(request, desk.plan(request, None), priced, desk))
    return priced


def _dashboard(explain: ExplainSeveral, desk: Desk) -> list[str]:
    priced = priced_in_order(explain.texts, desk)
    shares = _split(priced, explain.budget, desk) if explain.budget is not None else []
    return (
        [_as_json(priced, shares, explain, desk)]
        if explain.as_json
        else _as_text(priced, shares, explain, desk)
    )


def _priced(
    request: Request, plan: Plan | PublicPlan, before: Sequence[PricedStatement], desk: Desk
) -> PricedStatement:
    if isinstance(plan, PublicPlan):
        return PricedStatement(request, plan, plan, Fraction(0), Fraction(0), "public")
    known = desk.free_parts(plan)
    earlier: dict[int, tuple[int, Drawn]] = {}
    for i, part in enumerate(plan.parts):
        found = None if i in known else _earlier(part, plan, before, tolerance(desk.settings))
        if found is not None:
            earlier[i] = found
    cubes = dict.fromkeys(map(cube_of, known.values()))
    words = [f"follows from {c}" if c else "answered from stored releases" for c in cubes]
    follows = tuple(sorted({n for n, _ in earlier.values()}))
    words += [f"follows from statement {n}" for n in follows]
    known |= {i: drawn for i, (_, drawn) in earlier.items()}
    drawn = tuple(known.get(i, Drawn(part.loss)) for i, part in enumerate(plan.parts))
    shown = _numbered(desk.plan(request, drawn) if known else plan, desk)
    because = "; ".join(words) or ("follows from the policy" if plan.free else "")
    fresh = tuple(p for i, p in enumerate(plan.parts) if i not in known and not p.vacuous)
    return PricedStatement(request, plan, shown, *unpaid(plan, known), because, fresh, follows)


def _earlier(
    part: Part, plan: Plan, before: Sequence[PricedStatement], tolerated: tuple[float, bool, bool]
) -> tuple[int, Drawn] | None:
    """The number of the first earlier statement that the part can be derived from, and the derivation."""
    worst, alike, reuse = tolerated
    for number, each in enumerate(before if reuse else (), 1):
        if isinstance(each.plan, PublicPlan) or each.plan.payer.budget != plan.payer.budget:
            continue
        for other in each.fresh:
            found = _following(part, plan, other, each.plan)
            if found is not None and _is_near(found, part, worst, alike):
                return number, found
    return None


def _following(part: Part, plan: Plan, other: Part, earlier: Plan) -> Drawn | None:
    if part.vacuous or part.inputs or other.inputs or other.loss.nano < part.loss.nano:
        return None
    asked, of = described(part, (), sharing.pool(plan)), described(other, (), sharing.pool(earlier))
    if asked is None or of is None:
        keys = [payment.release_key(p, (), sharing.pool(w)) for p, w in ((part, plan), (other, earlier))]
        return Drawn(other.loss) if keys[0] == keys[1] else None
    summed = derived_sum(of, other, asked, part)
    return None if summed is None else Drawn(part.loss, summed)


def _is_near(drawn: Drawn, part: Part, worst: float, alike: bool) -> bool:  # noqa: FBT001
    if drawn.summed is None or part.mechanism is None:
        return True
    return noise_ratio(drawn.summed, part.mechanism, alike=alike) <= worst


# --- a split


class Share(Struct, frozen=True):
    """A proposed epsilon, and the largest half-width that it leads to, relative to the sensitivity of its measure."""

    epsilon: Fraction
    error: float


def _split(priced: Sequence[PricedStatement], budget: Fraction, desk: Desk) -> list[Share]:
    """Epsilons that sum to at most the budget and, as far as limits allow, equalise the largest relative half-widths.

    A half-width falls about as 1 / epsilon, so shares are in proportion to the error at epsilon 1; the errors at these
    shares then correct the proportions, ``ROUNDS`` times.
    """
    asked = [p for p in priced if p.is_asked]
    if not asked:
        return []
    if budget < LEAST * len(asked):
        raise InvalidParameter(
            f"epsilon {float(budget):g} is too little for {len(asked)} statements",
            hint=f"Each takes {float(LEAST):g} at least.",
        )
    weights = [_error(p, p.epsilon, desk) * float(p.epsilon) for p in asked]
    caps = [_cap(p, desk) for p in asked]
    shares = _shared(weights, caps, budget)
    for _ in range(ROUNDS):
        weights = [_error(p, s, desk) * float(s) for p, s in zip(asked, shares, strict=True)]
        shares = _shared(weights, caps, budget)
    return [Share(s, _error(p, s, desk)) for p, s in zip(asked, shares, strict=True)]


def _cap(priced: PricedStatement, desk: Desk) -> Fraction | None:
    """MAX EPSILON of the budget that pays."""
    plan = priced.plan
    return desk.policy.budgets[plan.payer.budget].max_epsilon if isinstance(plan, Plan) else None


def _shared(weights: Sequence[float], caps: Sequence[Fraction | None], budget: Fraction) -> list[Fraction]:
    """Shares in proportion to the weights, at most the caps, rounded down; what a cap cuts off goes to the others."""
    shares: dict[int, Fraction] = {}
    left, open_ = budget, set(range(len(weights)))
    while open_:
        total = sum(Fraction(weights[i]) for i in open_)
        given = {i: left * Fraction(weights[i]) / total if total else left / len(open_) for i in open_}
        capped = {i for i in open_ if caps[i] is not None and given[i] >= caps[i]}  # type: ignore[operator]
        for i in capped or open_:
            shares[i] = min(given[i], caps[i] or given[i])
        if not capped:
            break
        left -= sum(shares[i] for i in capped)
        open_ -= capped
    return [max(LEAST, _down(shares[i])) for i in range(len(weights))]


def _down(value: Fraction) -> Fraction:
    if value <= 0:
        return LEAST
    step = Fraction(10) ** (floor(log10(value)) - DIGITS + 1)
    return floor(value / step) * step


def _error(priced: PricedStatement, epsilon: Fraction, desk: Desk) -> float:
    """The largest half-width at an epsilon, relative to its measure's sensitivity, times the number of groups."""
    given = {**desk.settings, "dp.epsilon": f"{float(epsilon):.9g}", "dp.target_error": ""}
    plan = desk.plan(replace(priced.request, settings=given), None)
    if isinstance(plan, PublicPlan):
        return 0.0
    errors = [o.error for o in plan.outputs if o.error is not None]
    found = []
    for error in errors:
        half = error.half_width if error.half_width is not None else error.over_count
        reach = _number(error.sensitivity)
        if half is not None and reach:
            found.append(half / reach)
    return max(found, default=1.0 / float(epsilon)) * plan.groups


def _number(sensitivity: str) -> float | None:
    first = sensitivity.strip("(").split(",")[0].split(" ")[0]
    try:
        return float(first)
    except ValueError:
        return None


# --- output


def _left(priced: Sequence[PricedStatement], desk: Desk) -> dict[str, str | None]:
    """The epsilon left in every budget that pays, by name; None where nothing limits it."""
    found: dict[str, str | None] = {}
    for each in priced:
        if isinstance(each.plan, Plan):
            left = desk.ledger.remaining(*payment.debits(each.plan.payer, desk.request.caller))
            found[each.plan.payer.budget] = None if left is None else format_epsilon(left)
    return found


def _as_text(
    priced: Sequence[PricedStatement], shares: Sequence[Share], explain: ExplainSeveral, desk: Desk
) -> list[str]:
    lines = []
    for number, each in enumerate(priced, 1):
        price = f"epsilon {float(each.epsilon):.9g}" if each.is_asked else "free"
        because = f" ({each.because})" if each.because else ""
        lines.append(f"Statement {number}: {price}{because}{_widths(each)}")
        lines.append(f"  {each.sql}")
    total = sum((p.epsilon for p in priced), Fraction(0))
    left = "; ".join(
        f"{left or 'no limit'} left in budget {name}" for name, left in _left(priced, desk).items()
    )
    lines.append(f"Total: epsilon {float(total):.9g}{f'; {left}' if left else ''}")
    if explain.budget is None:
        return lines
    lines.append(f"Split of epsilon {float(explain.budget):.9g} that makes the errors alike:")
    lines += [f"  {_hinted(each, e)}" for each, e in zip(priced, _proposed(priced, shares), strict=True)]
    unused = explain.budget - sum((s.epsilon for s in shares), Fraction(0))
    lines.append(f"Left of it: epsilon {float(unused):.9g}")
    return lines


def _proposed(priced: Sequence[PricedStatement], shares: Sequence[Share]) -> list[Fraction | None]:
    """The proposed epsilon of each statement: its share, or that of its sources, so that it stays free; else None."""
    given, found = iter(shares), list[Fraction | None]()
    for each in priced:
        sources = [epsilon for n in each.follows if (epsilon := found[n - 1]) is not None]
        share = next(given, None) if each.is_asked else None
        found.append(share.epsilon if share is not None else min(sources, default=None))
    return found


def _hinted(each: PricedStatement, epsilon: Fraction | None) -> str:
    return f"{each.sql};" if epsilon is None else f"/*+ dp(epsilon={float(epsilon):.9g}) */ {each.sql};"


def half_widths(plan: Plan | PublicPlan) -> dict[str, float | None]:
    """Of each noisy column by its name; None where a count decides."""
    return {o.column.name: o.error.half_width for o in plan.outputs if o.error is not None}


def _widths(each: PricedStatement) -> str:
    errors = {o.column.name: o.error for o in each.answered_plan.outputs if o.error is not None}
    known = [
        f"{name} {error.formula if error.half_width is None else f'{error.half_width:.6g}'}"
        for name, error in errors.items()
    ]
    return f", half-width {'; '.join(known)}" if known else ""


def _as_json(
    priced: Sequence[PricedStatement], shares: Sequence[Share], explain: ExplainSeveral, desk: Desk
) -> str:
    statements: list[dict[str, object]] = []
    for each, epsilon in zip(priced, _proposed(priced, shares), strict=True):
        statements.append({
            "sql": each.sql,
            "epsilon": float(each.epsilon),
            "delta": float(each.delta),
            "free": not each.is_asked,
            "because": each.because or None,
            "half_widths": half_widths(each.answered_plan),
            "proposed": None if epsilon is None else float(epsilon),
            "hinted": _hinted(each, epsilon) if explain.budget is not None else None,
        })  # fmt: skip
    document = {
        "statements": statements,
        "epsilon": float(sum((p.epsilon for p in priced), Fraction(0))),
        "left": {name: None if left is None else float(left) for name, left in _left(priced, desk).items()},
        "budget": None if explain.budget is None else float(explain.budget),
    }
    return json.dumps(document, indent=2)
