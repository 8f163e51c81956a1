"""Run every check against twins, and compare the results with the promises."""

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from msgspec import Struct

from dpproxy.assurance.audit import AuditFailed, Question, audited
from dpproxy.assurance.homes import ANALYST, AUDITOR, LOUD, ONLOOKER, POOR, Twins
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.observed import Ask, Seen, greeting, observe, refusals, rows
from dpproxy.assurance.suite import Trial, trials
from dpproxy.assurance.target import Target
from dpproxy.assurance.wire import Wire

COST = Ask("SHOW dp.last_cost", exact=True)
LEFT = Ask("SHOW dp.budget_remaining", exact=True)
OWN_FAULTS = frozenset({"XX000", "57014", "58030"})
"""SQLSTATEs that are not refusals: an internal error, a timeout, a ledger that fails."""
SLACK = Decimal("1.001")
"""At epsilon 1,000,000 noise is within 5e-5 of the sensitivity, except with a probability below 1e-13 a draw."""
SHAPES = (
    "SELECT count(*) FROM {t}",
    "SELECT count(*) FROM {t} WHERE {n} = {hi}",
    "SELECT sum({n}) FROM {t}",
    "SELECT sum(-{n}) FROM {t}",
    "SELECT sum(CASE WHEN {n} = {hi} THEN 1000000 ELSE 0 END) FROM {t}",
    "SELECT count(*), sum({n}), count({n}) FROM {t}",
    "SELECT {k}, count(*) FROM {t} GROUP BY {k}",
    "SELECT {k}, count(*), sum({n}) FROM {t} GROUP BY {k}",
    "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.{key} = b.{key}",
    "SELECT count(*) FROM (SELECT * FROM {t} UNION ALL SELECT * FROM {t}) AS v",
    "SELECT count(*) FROM {t} AS a JOIN {other} AS b ON {link}",
    "SELECT count(*) FROM {t} JOIN {pub} ON {t}.{k} = {pub}.{pubkey}",
    "SELECT count(DISTINCT {key}) FROM {t}",
    "SELECT sum(c) FROM (SELECT {key}, count(*) AS c FROM {t} GROUP BY {key}) AS v",
)
"""Statements that are run with an epsilon so large that there is hardly any noise."""
SAMPLED = (
    "SELECT count(*) FROM {t}",
    "SELECT sum({n}) FROM {t}",
    "SELECT count(*), sum({n}) FROM {t} WHERE {n} = {hi}",
)
"""Statements whose answers are sampled by the audit."""

Tell = Callable[[str], None]


class Finding(Struct, frozen=True):
    """One line of the report."""

    check: str
    name: str
    promised: str
    found: str
    kept: bool
    faults: tuple[str, ...] = ()


def run(twins: Twins, runs: int, tell: Tell) -> Iterator[Finding]:
    """Yield the line of every check as it ends. Errors: psycopg.Error, OSError if a proxy stops answering."""
    yield from attacked(twins, tell)
    yield budget(twins, twins.targets[0])
    for target in twins.targets:
        yield repeated(twins, target)
    for target in twins.targets:
        tell(f"epsilon 1,000,000 over {target.table}")
        yield from loud(twins, target)
    if runs:
        yield from sampled(twins, runs, tell)


def attacked(twins: Twins, tell: Tell) -> Iterator[Finding]:
    """TWIN: each attack, over every table."""
    for attack, found in groupby(trials(twins.targets), key=lambda trial: trial.attack):
        tell(attack.name)
        yield tried(twins, attack, list(found))


def tried(twins: Twins, attack: Attack, found: Sequence[Trial]) -> Finding:
    """TWIN: one attack."""
    with twins.connected(ONLOOKER if attack.outcome is Outcome.FREE else ANALYST) as sides:
        return _attack(attack, found, sides)


def _attack(attack: Attack, asked: Sequence[Trial], sides: tuple[Wire, Wire]) -> Finding:
    faults = [] if greeting(sides[0]) == greeting(sides[1]) else ["the twins greet differently"]
    answered, states = 0, dict[str, int]()
    for trial in asked:
        script = [LEFT, trial.ask, COST, LEFT] if attack.outcome is Outcome.FREE else [trial.ask, COST, LEFT]
        one, other = ([seen for ask in script for seen in observe(side, ask)] for side in sides)
        if one != other:
            faults.append(f"the twins differ: {trial.sql}")
        told = refusals(one)
        for state in told:
            states[state] = states.get(state, 0) + 1
        answered += not told
        faults += _judged(attack, trial.sql, told, one)
    listed = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    text = f"{len(asked)} tried, {answered} answered, {sum(states.values())} refused"
    return Finding(
        "twin",
        attack.name,
        attack.outcome.value,
        f"{text} ({listed})" if listed else text,
        not faults,
        tuple(faults),
    )


def _judged(attack: Attack, sql: str, told: Sequence[str], seen: Sequence[Seen]) -> Iterator[str]:
    """The faults in one side's answer to ``sql``: ``told`` are its SQLSTATEs, ``seen`` its observations."""
    if OWN_FAULTS & set(told):
        yield f"no refusal, but a fault: {sql}"
    if attack.outcome is Outcome.REFUSED and not told:
        yield f"answered: {sql}"
    if "hers alone" in repr(seen).replace("\\'", "'").replace(sql, ""):
        yield f"her value is told: {sql}"
    if attack.outcome is Outcome.FREE:
        left = rows(seen)
        if left[0] != left[-1]:
            yield f"it had a price: {sql}"


def _count(target: Target) -> str:
    return f"SELECT count(*) FROM {target.names['t']}"  # noqa: S608 - a quoted name


def budget(twins: Twins, target: Target) -> Finding:
    """A budget of epsilon 1 pays for exactly two statements of 0.4, on both sides."""
    counted = []
    with twins.connected(POOR) as sides:
        for side in sides:
            told = [refusals(observe(side, Ask(f"{_count(target)} WHERE {n} = {n}"))) for n in range(5)]
            left = side.value(LEFT.sql)
            counted.append((told, left))
    told, left = counted[0]
    answered = sum(not states for states in told)
    kept = counted[0] == counted[1] and Decimal(left) >= 0 and answered <= 2
    return Finding(
        "budget",
        target.table,
        "2 answers of 0.4 at most for a budget of 1",
        f"{answered} answered, {left} left",
        kept,
    )


def repeated(twins: Twins, target: Target) -> Finding:
    """A repeated statement gets the same draw at no price; describing a statement costs nothing."""
    sql = _count(target)
    with twins.connected(ANALYST) as sides:
        told = []
        for side in sides:
            first = side.value(sql)
            before = side.value(LEFT.sql)
            same = {side.value(sql) for _ in range(10)} == {first}
            for n in range(50):
                side.extended(f"{sql} WHERE {n} < 0 OR TRUE", run=False)
            told.append((same, side.value(LEFT.sql) == before))
    kept = told == [(True, True)] * 2
    return Finding(
        "replay",
        target.table,
        "one draw, at no further price",
        "10 times the same, 50 descriptions free" if kept else str(told),
        kept,
    )


def loud(twins: Twins, target: Target) -> Iterator[Finding]:
    """BIG-EPS: with hardly any noise, one person changes an answer by its declared sensitivity at most."""
    with twins.connected(LOUD) as (left, right):
        for sql in target.statements(_SHAPES):
            described = left.query(f"EXPLAIN (PRIVACY, FORMAT JSON) {sql}")
            lines = [m.values()[0] for m in described if m.kind == "D"]
            if not lines:
                continue  # refused under this policy
            columns = json.loads((lines[0] or b"").decode())["columns"]
            one, other = ([m.values() for m in side.query(sql) if m.kind == "D"] for side in (left, right))
            yield _moved(sql, columns, one, other)


_SHAPES = Attack("", "", Outcome.PROMISED, SHAPES)
_SAMPLED = Attack("", "", Outcome.PROMISED, SAMPLED)
Row = list[bytes | None]


def _moved(sql: str, columns: Sequence[dict[str, str]], one: Sequence[Row], other: Sequence[Row]) -> Finding:
    claims, moves, kept = [], [], len(one) == len(other) > 0
    for n, column in enumerate(columns):
        try:
            claim = Decimal(column.get("sensitivity", ""))
        except ArithmeticError:
            continue
        pairs = [(a[n] or b"0", b[n] or b"0") for a, b in zip(one, other, strict=False)]
        move = sum((abs(Decimal(a.decode()) - Decimal(b.decode())) for a, b in pairs), Decimal(0))
        claims.append(f"{claim:f}")
        moves.append(f"{move:.6g}")
        kept = kept and move <= claim * SLACK
    return Finding(
        "sensitivity", sql, f"moves by {' and '.join(claims)} at most", f"by {' and '.join(moves)}", kept
    )


def sampled(twins: Twins, runs: int, tell: Tell) -> Iterator[Finding]:
    """AUDIT: no lower bound on epsilon, from sampled answers and their times, exceeds the promised epsilon."""
    questions = [Question(sql) for target in twins.targets for sql in target.statements(_SAMPLED)]
    try:
        for line in audited(twins.urls(AUDITOR), questions, Fraction(1), runs, tell):
            worst = max(line.bounds, key=lambda feature: line.bounds[feature])
            shown = f"{line.bounds[worst]:.2f} at least, by {worst}; {runs} runs"
            yield Finding("audit", line.question.sql, "epsilon 1", shown, line.kept)
    except AuditFailed as failure:
        yield Finding("audit", "", "epsilon 1", str(failure), kept=False)
