"""EXPLAIN (PRIVACY): what a statement would cost and how wrong its answer would be, from the policy alone."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from textwrap import wrap

from msgspec import Struct
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from dpproxy.accounting.model import format_delta
from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import Drawn, Output, Part, Plan, PublicPlan
from dpproxy.sql import grammar
from dpproxy.sql.cursor import Cursor
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import Refusal, SyntaxRefused, TooComplex, Unsupported
from udfs import conversion
from udfs.privacy import Concentrated

ANY = "any"
"""The sensitivity of what no sensitivity is needed for."""
_SWITCH = frozenset({"", "on", "off", "true", "false"})
_OPTIONS = {
    "privacy": frozenset({""}),
    "format": frozenset({"text", "json"}),
    "verbose": _SWITCH,
    "draft": _SWITCH,
    "cube": _SWITCH,
    "costs": _SWITCH,
    "settings": _SWITCH,
    "summary": _SWITCH,
    "analyze": frozenset({"off", "false"}),
}
"""The options and their values, but for BUDGET. Without PRIVACY it is the same: tools ask so for what a query costs."""
_DIGITS = 19
"""The most characters of a budget."""
WIDTH = 100
"""The longest line, but for words that are longer."""
NONE: Mapping[int, Drawn] = {}
"""No part has a stored release."""
MOST_STATEMENTS = 100
"""Statements priced at once."""


class Explain(Struct, frozen=True):
    """The statement to explain, blank where EXPLAIN stood, so that positions stay.

    ``several`` are the statements in parentheses with semicolons between them, each blank where the others stood;
    ``budget`` is the epsilon to split among them. ``verbose`` shows what is run as well. A ``draft`` is priced while
    it is being written, and is not recorded. It is priced for somebody who has the ``role`` alone, where one is named.
    """

    sql: str
    as_json: bool
    several: tuple[str, ...] = ()
    budget: Fraction | None = None
    verbose: bool = False
    draft: bool = False
    role: str | None = None
    cube: bool = False
    """A privacy cube is proposed for the statements."""


ONE = Explain("", as_json=False)
"""Where nothing else is said."""


def split_explain(sql: str) -> Explain | None:
    """The statement behind EXPLAIN, with the option PRIVACY or none; None for others. Raises ``Unsupported``."""
    if sql.lstrip()[: len("EXPLAIN")].upper() != "EXPLAIN":
        return None
    cursor = Cursor(sql)
    if not cursor.accept("explain"):
        return None
    options = _options(cursor)
    if options is None:
        raise Unsupported(
            "EXPLAIN shows how the engine would read rows, which is not answered",
            hint="Write EXPLAIN (PRIVACY) before a query, or (PRIVACY, BUDGET 2) before several in parentheses.",
            position=0,
        )
    end = cursor.before.end
    rest = " " * end + sql[end:]
    budget = Fraction(options["budget"]) if "budget" in options else None
    switches = ("verbose", "draft", "cube")
    is_verbose, is_draft, is_cube = (options.get(name, "off") not in ("off", "false") for name in switches)
    several = _several(rest, is_list=budget is not None or is_cube)
    as_json, role = options.get("format") == "json", options.get("role")
    return Explain(rest, as_json, several, budget, is_verbose, is_draft, role, is_cube)


def is_draft(sql: str) -> bool:
    """Whether the statement is EXPLAIN with the option DRAFT."""
    try:
        explain = split_explain(sql)
    except Refusal:
        return False
    return explain is not None and explain.draft


def _options(cursor: Cursor) -> dict[str, str] | None:
    """The options by name; None where one is not answered, or what follows is no query."""
    if not cursor.accept("("):
        found = {"verbose": ""} if cursor.accept("verbose") else {}
        return found if any(map(cursor.at, ("select", "with", "values"))) else None
    found = {}
    while True:
        name = cursor.take().text
        value = _value(cursor, name)
        if value is None:
            return None
        found[name] = value
        if cursor.accept(")"):
            break
        if not cursor.accept(","):
            return None
    needs_privacy = "budget" in found or "cube" in found or "role" in found or found.get("format") == "json"
    return found if "privacy" in found or not needs_privacy else None


def _value(cursor: Cursor, option: str) -> str | None:
    """The value of an option; None where it cannot have it."""
    if option == "role":
        return cursor.name("a role", "ROLE").text
    value = "" if cursor.at(",") or cursor.at(")") else cursor.take().text.lower()
    if option == "budget":
        is_known = len(value) <= _DIGITS and value.replace(".", "", 1).isdigit() and value[0] != "."
    else:
        is_known = value in _OPTIONS.get(option, ())
    return value if is_known else None


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
            "several statements stand in parentheses, with a semicolon between them", position=first.start
        )
    inside = [cut for cut in cuts if cut < last.start]
    ends = zip([first.start, *inside], [*inside, last.start], strict=True)
    found = [" " * (a + 1) + sql[a + 1 : b] for a, b in ends if sql[a + 1 : b].strip()]
    if len(found) > MOST_STATEMENTS:
        raise TooComplex(f"more than {MOST_STATEMENTS} statements to price")
    return tuple(found)


Shown = Callable[[nodes.Query], str]
"""A statement over the data as its source reads it."""


def explain_text(
    plan: Plan | PublicPlan,
    confidence: Fraction,
    stored: Mapping[int, Drawn] = NONE,
    shown: Shown = printing.text,
    *,
    advice: Sequence[str] = (),
    verbose: bool = False,
) -> list[str]:
    """The plan as lines of at most ``WIDTH``, one per row of the answer; ``verbose`` adds what is run, as ``shown``.

    The parts that are ``stored`` cost their caller nothing.
    """
    lines = [*_said(plan, confidence, stored), *advice]
    lines += _stages(plan, shown) if verbose else []
    return [short for line in lines for short in _short(line)]


def _short(line: str) -> list[str]:
    """A line as several, where it is longer than ``WIDTH``."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _said(plan: Plan | PublicPlan, confidence: Fraction, stored: Mapping[int, Drawn]) -> list[str]:
    """Price, mechanism, keys and errors."""
    if isinstance(plan, PublicPlan):
        why = f"exact answers of {', '.join(plan.exact)}, recorded" if plan.exact else "public table, exact"
        return [f"Price: epsilon 0 ({why})"]
    lines = [
        f"Price: {_price(plan, stored)}",
        *([f"Solved for {plan.solved}"] if plan.solved else []),
        f"Privacy unit: {plan.unit}" if plan.unit else "Follows from the policy: rows are not read",
        f"Pays: budget {plan.payer.budget}, ceiling of {plan.payer.ceiling}{_blocks(plan)}",
        *([f"Bounds: {'; '.join(plan.cuts)}"] if plan.cuts and not plan.free else []),
    ]
    for index, (title, part) in enumerate(_titled(plan)):
        if index in stored:
            lines.append(f"Answered{title}: {_stored(stored[index])}, whose error is told below")
        lines.append(f"Mechanism{title}: {_mechanism(part)}")
        lines.append(f"Keys{title}: {_keys(part)}")
    hidden = None if plan.accuracy is None else plan.accuracy.hidden
    if hidden is not None:
        lines.append(f"Hidden: groups of a released {hidden.what} up to {hidden.most:.9g} (dp.empty_groups)")
        if hidden.added:
            lines.append(
                "That count is released for it, and shares the epsilon: 'show' has the errors without"
            )
    lines += _columns(plan.outputs, confidence)
    return [*lines, *(f"Told: {notice.message}. {notice.detail or ''}".rstrip() for notice in plan.notices)]


def _stages(plan: Plan | PublicPlan, shown: Shown) -> list[str]:
    """What is run, as the engine is asked it."""
    if isinstance(plan, PublicPlan):
        return [f"  {shown(plan.query)}"]
    lines: list[str] = []
    for table in dict.fromkeys(t for p in plan.parts for t in p.prepares):
        lines += [
            f'Prepared once of "{table.table}", as {table.name} (stays inside):',
            f"  {shown(table.query)}",
        ]
    for title, part in _titled(plan):
        lines += [f"Exact stage{title} (stays inside):", f"  {shown(part.query)}"]
        lines += [f"Release stage{title}:", f"  {part.release}"]
    return [*lines, "Answer stage:", f"  {plan.answer}"] if plan.answer else lines


def _titled(plan: Plan) -> list[tuple[str, Part]]:
    """The parts, numbered where there are several, as their relations are in the answer stage."""
    if len(plan.parts) == 1:
        return [("", plan.parts[0])]
    return [(f" r{index}", part) for index, part in enumerate(plan.parts)]


def cube_of(drawn: Drawn) -> str:
    """What it follows from beside one release or several of the same, in words; empty where from nothing."""
    if drawn.together:
        return f"{drawn.together} stored releases together"
    if (of := drawn.fitted) is None:
        return ""
    return f"cube {identifier(of.cube)}{f' and {of.draws} stored releases' if of.draws else ''}"


def _stored(drawn: Drawn) -> str:
    if found := cube_of(drawn):
        return f"follows from {found}, free"
    if drawn.draws == 1:
        return "from a stored release"
    return (
        f"from the mean of {drawn.draws} stored releases (one for the price of all is at least as accurate)"
    )


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
        return "discovered, none shown" if part.discovered else f"{part.groups} declared, all released"
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
        words = f"exponential, {part.box}" if part.noise.startswith("exponential ") else part.noise
        return f"{words}, at epsilon {float(part.loss.epsilon):.9g}{f' ({part.why})' if part.why else ''}"
    name = type(part.mechanism).__name__.lower()
    words = f"joint {name}, {part.measures} measures in one draw" if part.measures > 1 else name
    if part.mechanism.CONCENTRATED:
        words += f", at rho {part.mechanism.nano / 1e9:.9g}"
        words += f" for each of {part.factor} shares of a unit" if part.factor > 1 else ""
    elif part.factor > 1:
        words += (
            f", at epsilon {part.mechanism.nano / 1e9:.9g} for each of {part.factor} contributions of a unit"
        )
    return f"{words} ({part.why})" if part.why else words


def _columns(outputs: Sequence[Output], confidence: Fraction) -> list[str]:
    """A line for each column; neighbours that have no error of their own share one."""
    lines: list[str] = []
    for noisy, each in groupby(outputs, lambda o: o.error is not None or o.accuracy is not None):
        if noisy:
            lines += [f"  {output.column.name}: {_error(output, confidence)}" for output in each]
            continue
        names = [output.column.name for output in each]
        kind = "a key, or" if len(names) == 1 else "keys, or"
        lines.append(f"  {', '.join(names)}: {kind} computed from keys and released values")
    return lines


def _error(output: Output, confidence: Fraction) -> str:
    error, accuracy = output.error, output.accuracy
    percent = f"{float(confidence) * 100:g} %"
    if error is None and accuracy is not None:
        half = "that differs by row" if accuracy.half is None else f"{accuracy.half:.6g}"
        return f"computed from released values, {accuracy.words or f'{percent} half-width {half}'}"
    if error is None:
        raise AssertionError("a column without noise")
    if error.formula is not None and error.sensitivity == ANY:
        return f"{error.aggregate}, {error.formula}"
    if error.noise_sd is None or error.half_width is None:
        most = "" if error.half_width is not None or not error.span else f", at most {error.span:.6g}"
        return (
            f"{error.aggregate}, sensitivity {error.sensitivity}, {percent} half-width {error.formula}{most}"
        )
    return (
        f"{error.aggregate}, sensitivity {error.sensitivity}, noise sd {error.noise_sd:.6g}, "
        f"{percent} half-width {error.half_width:.6g}"
    )


def explain_json(
    plan: Plan | PublicPlan,
    confidence: Fraction,
    stored: Mapping[int, Drawn] = NONE,
    shown: Shown = printing.text,
    advice: Sequence[str] = (),
) -> str:
    """The plan as one JSON document; the parts that are ``stored`` cost their caller nothing."""
    if isinstance(plan, PublicPlan):
        free = {"epsilon": 0.0, "free": True, "exact": shown(plan.query), "recorded": list(plan.exact)}
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
        "bounds": list(plan.cuts),
        "budget": plan.payer.budget,
        "ceiling": plan.payer.ceiling,
        "blocks": [block.partition(":")[2] for block in plan.blocks],
        "keys": None if plan.discovered else plan.groups,
        "confidence": float(confidence),
        "columns": [_column(o) for o in plan.outputs],
        "advice": [line.strip() for line in advice],
        "notices": [{"message": n.message, "detail": n.detail} for n in plan.notices],
        "parts": [_part(p, shown) for p in plan.parts],
        "answer": plan.answer,
    }
    return json.dumps(document, indent=2)


def _part(part: Part, shown: Shown) -> dict[str, object]:
    mechanism = part.mechanism
    rho = mechanism.nano / 1e9 if mechanism is not None and mechanism.CONCENTRATED else None
    return {
        "mechanism": "none" if part.vacuous else part.noise.split(" ")[0],
        "why": part.why,
        "rho": rho,
        "widths": [] if mechanism is None else [str(w) for w in mechanism.widths],
        "epsilon": 0.0 if part.vacuous else float(part.loss.epsilon) / (part.factor if rho is None else 1),
        "contributions": part.factor,
        "keys": None if part.discovered else part.groups,
        "selection": _selection(part),
        "prepared": {table.name: shown(table.query) for table in part.prepares},
        "exact": shown(part.query),
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
