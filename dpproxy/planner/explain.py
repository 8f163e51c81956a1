"""EXPLAIN (PRIVACY): what a statement would cost and how wrong its answer would be, from the policy alone."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from dpproxy.accounting.model import format_delta
from dpproxy.algebra.plan import Output, Part, Plan, PublicPlan
from dpproxy.sql import grammar
from dpproxy.values.errors import SyntaxRefused, TooComplex, Unsupported
from udfs import conversion
from udfs.mechanisms import Gaussian
from udfs.privacy import Concentrated

ANY = "any"
"""The sensitivity of what no sensitivity is needed for."""
_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)
_PRIVACY = re.compile(
    r"\s*EXPLAIN\s*(?:\(\s*PRIVACY\s*(?:,\s*FORMAT\s+(?P<format>TEXT|JSON)\s*)?"
    r"(?:,\s*BUDGET\s+(?P<budget>[0-9]{1,9}(\.[0-9]{1,9})?)\s*)?\)"
    r"|\(\s*(?:FORMAT\s+TEXT|(?:COSTS|SETTINGS|SUMMARY|VERBOSE)(?:\s+(?:ON|OFF|TRUE|FALSE))?)\s*\)"
    r"|(?:VERBOSE\b\s*)?(?=(?:SELECT|WITH|VALUES)\b))",
    re.IGNORECASE | re.ASCII,
)
"""Without options, or with one that asks for no more, it is the same: tools ask so for what a query would cost."""
MOST_STATEMENTS = 100
"""Statements priced at once."""


@dataclass(frozen=True, slots=True)
class Explain:
    """The statement to explain, blank where EXPLAIN stood, so that positions stay.

    ``several`` are the statements in parentheses with semicolons between them, each blank where the others stood;
    ``budget`` is the epsilon to split among them.
    """

    sql: str
    as_json: bool
    several: tuple[str, ...] = ()
    budget: Fraction | None = None


ONE = Explain("", as_json=False)
"""Where nothing else is said."""


def split_explain(sql: str) -> Explain | None:
    """The statement behind EXPLAIN, with the option PRIVACY or none; None for others. Raises ``Unsupported``."""
    if not _EXPLAIN.match(sql):
        return None
    found = _PRIVACY.match(sql)
    if found is None:
        raise Unsupported(
            "EXPLAIN shows how the engine would read rows, which is not answered",
            hint="EXPLAIN (PRIVACY) <query>; or EXPLAIN (PRIVACY, FORMAT JSON, BUDGET 2) (<query>; <query>);",
            position=0,
        )
    rest = " " * found.end() + sql[found.end() :]
    as_json = (found["format"] or "text").lower() == "json"
    budget = None if found["budget"] is None else Fraction(found["budget"])
    return Explain(rest, as_json, _several(rest, is_list=budget is not None), budget)


def _several(sql: str, *, is_list: bool) -> tuple[str, ...]:
    """The statements inside the parentheses; none where there is one query and no budget for it."""
    try:
        tokens = grammar.tokens(sql)
    except TokenError:
        return ()  # said with its place by whoever reads the statement
    cuts = [t.start for t in tokens if t.token_type is TokenType.SEMICOLON]
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens or not (is_list or any(cut < tokens[-1].start for cut in cuts)):
        return ()
    first, last = tokens[0], tokens[-1]
    if (first.token_type, last.token_type) != (TokenType.L_PAREN, TokenType.R_PAREN):
        raise SyntaxRefused(
            "several statements stand in parentheses: (<query>; <query>)", position=first.start
        )
    inside = [cut for cut in cuts if cut < last.start]
    ends = zip([first.start, *inside], [*inside, last.start], strict=True)
    found = [" " * (a + 1) + sql[a + 1 : b] for a, b in ends if sql[a + 1 : b].strip()]
    if len(found) > MOST_STATEMENTS:
        raise TooComplex(f"more than {MOST_STATEMENTS} statements to price")
    return tuple(found)


def explain_text(plan: Plan | PublicPlan, confidence: Fraction, stored: Collection[int] = ()) -> list[str]:
    """The plan as lines, one per row of the answer; the parts that are ``stored`` cost their caller nothing."""
    if isinstance(plan, PublicPlan):
        why = f"exact answers of {', '.join(plan.exact)}, recorded" if plan.exact else "public table, exact"
        return [f"Price: epsilon 0 ({why})", f"  {plan.sql}"]
    lines = [
        f"Price: {_price(plan, stored)}",
        *([f"Solved for {plan.solved}"] if plan.solved else []),
        f"Privacy unit: {plan.unit}" if plan.unit else "Follows from the policy: rows are not read",
        f"Pays: budget {plan.payer.budget}, ceiling of {plan.payer.ceiling}{_blocks(plan)}",
    ]
    for index, (title, part) in enumerate(_titled(plan)):
        if index in stored:
            lines.append(f"Answered{title}: from a stored release, whose error is told below")
        lines.append(f"Mechanism{title}: {_mechanism(part)}")
        lines.append(f"Keys{title}: {_keys(part)}")
    lines += [f"  {output.column.name}: {_error(output, confidence)}" for output in plan.outputs]
    lines += [f"Told: {notice.message}. {notice.detail or ''}".rstrip() for notice in plan.notices]
    for table in dict.fromkeys(t for p in plan.parts for t in p.prepares):
        lines += [f'Prepared once of "{table.table}", as {table.name} (stays inside):', f"  {table.sql}"]
    for title, part in _titled(plan):
        lines += [f"Exact stage{title} (stays inside):", f"  {part.exact}"]
        lines += [f"Release stage{title}:", f"  {part.release}"]
    return [*lines, "Answer stage:", f"  {plan.answer}"] if plan.answer else lines


def _titled(plan: Plan) -> list[tuple[str, Part]]:
    """The parts, numbered where there are several, as their relations are in the answer stage."""
    if len(plan.parts) == 1:
        return [("", plan.parts[0])]
    return [(f" r{index}", part) for index, part in enumerate(plan.parts)]


def unpaid(plan: Plan, stored: Collection[int]) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of the parts that no stored release answers."""
    left = [p for i, p in enumerate(plan.parts) if not (p.vacuous or plan.empty or i in stored)]
    return sum((p.loss.epsilon for p in left), Fraction(0)), sum((p.delta for p in left), Fraction(0))


def _price(plan: Plan, stored: Collection[int]) -> str:
    epsilon, delta = unpaid(plan, stored)
    if not stored:
        return f"epsilon {float(epsilon):.9g}{_delta(delta)}{_rho(plan)}{' (free)' if plan.free else ''}"
    whole = f"epsilon {float(plan.loss.epsilon):.9g}{_delta(plan.delta)}{_rho(plan)}"
    return f"epsilon {float(epsilon):.9g}{_delta(delta)} ({whole} but for stored releases)"


def _blocks(plan: Plan) -> str:
    """The blocks of people that alone are debited."""
    names = [block.partition(":")[2] for block in plan.blocks]
    return f" in block {', '.join(names)}" if names else ""


def _rho(plan: Plan) -> str:
    """What losses add up as where the accountant is ZCDP, and what that is by itself."""
    if not plan.payer.concentrated or plan.free:
        return ""
    delta = plan.payer.budget_delta / 2
    alone = float(conversion.epsilon(Concentrated.of(plan.rho), delta).epsilon)
    return f", rho {format_delta(plan.rho)} under ZCDP: by itself epsilon {alone:.3g} with delta {format_delta(delta)}"


def _delta(delta: Fraction) -> str:
    return f", delta {format_delta(delta)}" if delta else ""


def _keys(part: Part) -> str:
    selection = part.selection
    if selection is None:
        return "discovered, none shown" if part.discovered else f"{part.groups} declared, all answered"
    most = f"{selection.groups} groups" if selection.groups > 1 else "one group"
    return (
        f"discovered, shown from about {selection.threshold} units on: selection for at most {most} of a unit, "
        f"at epsilon {selection.nano / 1e9:.9g}{_delta(selection.delta)}"
    )


def _mechanism(part: Part) -> str:
    if part.vacuous:
        return "none, the answer follows from the policy"
    if part.mechanism is None and part.discovered:
        return "selection of keys, nothing else"
    if part.mechanism is None:
        return (
            f"{part.noise}, at epsilon {float(part.loss.epsilon):.9g}{f' ({part.why})' if part.why else ''}"
        )
    name = type(part.mechanism).__name__.lower()
    words = f"joint {name}, {part.measures} measures in one draw" if part.measures > 1 else name
    if isinstance(part.mechanism, Gaussian):
        words += f", at rho {part.mechanism.nano / 1e9:.9g}"
        words += f" for each of {part.factor} shares of a unit" if part.factor > 1 else ""
    elif part.factor > 1:
        words += (
            f", at epsilon {part.mechanism.nano / 1e9:.9g} for each of {part.factor} contributions of a unit"
        )
    return f"{words} ({part.why})" if part.why else words


def _error(output: Output, confidence: Fraction) -> str:
    error = output.error
    if error is None:
        return "a key, or computed from keys and released values"
    if error.formula is not None and error.sensitivity == ANY:
        return f"{error.aggregate}, {error.formula}"
    percent = f"{float(confidence) * 100:g} %"
    if error.noise_sd is None or error.half_width is None:
        return f"{error.aggregate}, sensitivity {error.sensitivity}, {percent} half-width {error.formula}"
    return (
        f"{error.aggregate}, sensitivity {error.sensitivity}, noise sd {error.noise_sd:.6g}, "
        f"{percent} half-width {error.half_width:.6g}"
    )


def explain_json(plan: Plan | PublicPlan, confidence: Fraction, stored: Collection[int] = ()) -> str:
    """The plan as one JSON document; the parts that are ``stored`` cost their caller nothing."""
    if isinstance(plan, PublicPlan):
        free = {"epsilon": 0.0, "free": True, "exact": plan.sql, "recorded": list(plan.exact)}
        return json.dumps(free, indent=2)
    document = {
        "epsilon": float(unpaid(plan, stored)[0]),
        "delta": float(unpaid(plan, stored)[1]),
        "accountant": "ZCDP" if plan.payer.concentrated else "BASIC",
        "rho": float(plan.rho),
        "free": not unpaid(plan, stored)[0],
        "stored": sorted(stored),
        "solved": plan.solved or None,
        "unit": plan.unit or None,
        "budget": plan.payer.budget,
        "ceiling": plan.payer.ceiling,
        "blocks": [block.partition(":")[2] for block in plan.blocks],
        "keys": None if plan.discovered else plan.groups,
        "confidence": float(confidence),
        "columns": [_column(o) for o in plan.outputs],
        "notices": [{"message": n.message, "detail": n.detail} for n in plan.notices],
        "parts": [_part(p) for p in plan.parts],
        "answer": plan.answer,
    }
    return json.dumps(document, indent=2)


def _part(part: Part) -> dict[str, object]:
    mechanism = part.mechanism
    is_gaussian = isinstance(mechanism, Gaussian)
    return {
        "mechanism": "none" if part.vacuous else part.noise.split(" ")[0],
        "why": part.why,
        "rho": mechanism.nano / 1e9 if isinstance(mechanism, Gaussian) else None,
        "widths": [] if mechanism is None else [str(w) for w in mechanism.widths],
        "epsilon": 0.0 if part.vacuous else float(part.loss.epsilon) / (1 if is_gaussian else part.factor),
        "contributions": part.factor,
        "keys": None if part.discovered else part.groups,
        "selection": _selection(part),
        "prepared": {table.name: table.sql for table in part.prepares},
        "exact": part.exact,
        "release": part.release,
    }


def _selection(part: Part) -> dict[str, object] | None:
    """How keys are found, None where they are declared."""
    chosen = part.selection
    if chosen is None:
        return None
    return {
        "units": chosen.threshold,
        "groups": chosen.groups,
        "epsilon": chosen.nano / 1e9,
        "delta": float(chosen.delta),
    }


def _column(output: Output) -> dict[str, object]:
    error = output.error
    described: dict[str, object] = {"name": output.column.name, "type": output.column.type.name}
    if error is not None:
        described |= {
            "aggregate": error.aggregate,
            "sensitivity": error.sensitivity,
            "noise_sd": error.noise_sd,
            "half_width": error.half_width,
            "half_width_formula": error.formula,
        }
    return described
