"""What a question costs and how wrong its answer will be, before it is asked."""

import json
import re

from msgspec import Struct

from dpproxy.web.wire import Refused, Rows

EXPLAIN = "EXPLAIN (PRIVACY, DRAFT, FORMAT JSON) "
_QUESTIONS = ("select", "with", "values", "table", "(")
_LARGE = re.compile(r"\b\d[\d.]*(?:e\+\d+)\b|\b\d{5,}(?:\.\d+)?\b")
_BEFORE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
"""Comments and blanks before a statement."""
_WORD = re.compile(r"\w+|\(|")


class Measure(Struct, frozen=True):
    """A noisy column and how far off it may be."""

    name: str
    aggregate: str
    error: str


class Price(Struct, frozen=True):
    """The price of a question; an epsilon of 0 where its answer is free, and ``why`` it is."""

    epsilon: float
    delta: float = 0.0
    why: str | None = None
    unit: str | None = None
    budget: str | None = None
    ceiling: str | None = None
    keys: int | None = None
    confidence: float = 0.95
    measures: tuple[Measure, ...] = ()
    notices: tuple[str, ...] = ()


def is_question(statement: str) -> bool:
    """Whether a statement has a price: SET, SHOW and privacy statements have none."""
    return first_word(statement) in _QUESTIONS


def first_word(statement: str) -> str:
    r"""What a statement begins with, in small letters; empty where it has nothing but comments.

    >>> first_word("-- people\n SELECT 1"), first_word("(SELECT 1)")
    ('select', '(')
    """
    before = _BEFORE.match(statement)
    found = _WORD.match(statement, before.end() if before else 0)
    return found[0].lower() if found else ""


def price(answer: Rows) -> Price:
    """The price in the answer to EXPLAIN (PRIVACY, FORMAT JSON)."""
    document = json.loads("\n".join(row[0] or "" for row in answer.rows))
    if "statements" in document:
        return Price(document["epsilon"], why=f"{len(document['statements'])} questions together")
    if "parts" not in document:
        named = ", ".join(document.get("recorded", ()))
        return Price(0.0, why=f"exact rows of {named}, on record" if named else "public tables, exact")
    if document["free"]:
        why = (
            "it follows from what was released before" if document["stored"] else "it follows from the policy"
        )
    elif document["stored"]:
        why = "a part of it was released before"
    else:
        why = None
    measures = [
        Measure(c["name"], c["aggregate"], _error(c)) for c in document["columns"] if "aggregate" in c
    ]
    own = {
        name: document[name]
        for name in ("epsilon", "delta", "unit", "budget", "ceiling", "keys", "confidence")
    }
    said = [f"{n['message']}. {n['detail'] or ''}".strip() for n in document["notices"]]
    return Price(**own, why=why, measures=tuple(measures), notices=tuple(said))


def _error(column: dict[str, object]) -> str:
    half, formula = column["half_width"], column["half_width_formula"]
    if isinstance(half, float) and not formula:
        return f"± {half:,.4g}" if half < 1000 else f"± {half:,.0f}"
    if not formula:
        return "unknown before it is asked"
    words = str(formula).removeprefix("about ")
    return "± " + _LARGE.sub(lambda found: f"{float(found[0]):,.0f}", words)


def placed(refused: Refused) -> Refused:
    """A refusal of EXPLAIN with its place in the question that stood behind it."""
    at = refused.position
    return Refused(
        refused.sqlstate,
        refused.message,
        refused.detail,
        refused.hint,
        None if at is None else max(0, at - len(EXPLAIN)),
        refused.notices,
    )
