"""EXPLAIN (PRIVACY): what a statement would cost and how wrong its answer would be, from the policy alone."""

import json
import re
from dataclasses import dataclass
from fractions import Fraction

from dpproxy.errors import Unsupported
from dpproxy.plan import Output, Plan, PublicPlan

_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)
_PRIVACY = re.compile(
    r"\s*EXPLAIN\s*\(\s*PRIVACY\s*(?:,\s*FORMAT\s+(?P<format>TEXT|JSON)\s*)?\)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Explain:
    """The statement to explain, blank where EXPLAIN stood, so that positions stay."""

    sql: str
    as_json: bool


def split_explain(sql: str) -> Explain | None:
    """The statement behind EXPLAIN (PRIVACY ...), None where there is no EXPLAIN. Raises ``Unsupported``."""
    if not _EXPLAIN.match(sql):
        return None
    found = _PRIVACY.match(sql)
    if found is None:
        raise Unsupported(
            "EXPLAIN shows how the engine would read rows, which is not answered",
            hint="EXPLAIN (PRIVACY) <query>; or EXPLAIN (PRIVACY, FORMAT JSON) <query>;",
            position=0,
        )
    rest = " " * found.end() + sql[found.end() :]
    return Explain(rest, (found["format"] or "text").lower() == "json")


def explain_text(plan: Plan | PublicPlan, confidence: Fraction) -> list[str]:
    """The plan as lines, one per row of the answer."""
    if isinstance(plan, PublicPlan):
        return ["Price: epsilon 0 (public table, exact)", f"  {plan.sql}"]
    lines = [
        f"Price: epsilon {_epsilon(plan)}{' (free)' if plan.free else ''}",
        f"Privacy unit: {plan.unit}",
        f"Pays: budget {plan.payer.budget}, ceiling of {plan.payer.ceiling}",
        f"Mechanism: {_mechanism(plan)}",
        f"Keys: {plan.groups} declared, all answered",
    ]
    lines += [f"  {output.column.name}: {_error(output, confidence)}" for output in plan.outputs]
    lines += ["Exact stage (stays inside):", f"  {plan.exact}"]
    lines += ["Release stage:", f"  {plan.release}", "Answer stage:", f"  {plan.answer}"]
    return lines


def _epsilon(plan: Plan) -> str:
    return "0" if plan.free else f"{float(plan.loss.epsilon):.9g}"


def _mechanism(plan: Plan) -> str:
    if plan.mechanism is None:
        return "none, the answer follows from the policy"
    count = len(plan.mechanism.widths)
    words = f"joint staircase, {count} measures in one draw" if count > 1 else "staircase"
    if plan.factor > 1:
        words += (
            f", at epsilon {plan.mechanism.nano / 1e9:.9g} for each of {plan.factor} contributions of a unit"
        )
    return words


def _error(output: Output, confidence: Fraction) -> str:
    error = output.error
    if error is None:
        return "computed from released values and keys"
    percent = f"{float(confidence) * 100:g} %"
    if error.noise_sd is None or error.half_width is None:
        return f"{error.aggregate}, sensitivity {error.sensitivity}, {percent} half-width {error.formula}"
    return (
        f"{error.aggregate}, sensitivity {error.sensitivity}, noise sd {error.noise_sd:.6g}, "
        f"{percent} half-width {error.half_width:.6g}"
    )


def explain_json(plan: Plan | PublicPlan, confidence: Fraction) -> str:
    """The plan as one JSON document."""
    if isinstance(plan, PublicPlan):
        return json.dumps({"epsilon": 0.0, "free": True, "exact": plan.sql}, indent=2)
    document = {
        "epsilon": 0.0 if plan.free else float(plan.loss.epsilon),
        "free": plan.free,
        "unit": plan.unit,
        "budget": plan.payer.budget,
        "ceiling": plan.payer.ceiling,
        "mechanism": {
            "name": "none" if plan.mechanism is None else "staircase",
            "widths": [] if plan.mechanism is None else [str(w) for w in plan.mechanism.widths],
            "epsilon": 0.0 if plan.mechanism is None else plan.mechanism.nano / 1e9,
            "contributions": plan.factor,
        },
        "keys": plan.groups,
        "confidence": float(confidence),
        "columns": [_column(o) for o in plan.outputs],
        "stages": {"exact": plan.exact, "release": plan.release, "answer": plan.answer},
    }
    return json.dumps(document, indent=2)


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
