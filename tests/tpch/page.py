"""``docs/tpch.md``: what becomes of the 22 queries. Written by ``python -m tests.tpch``, held against by a test."""

import re
from collections.abc import Mapping

from tests.tpch.questions import QUERIES, Outcome

HEAD = """\
# TPC-H

<!-- Written by: python -m tests.tpch -->

The 22 queries of TPC-H, sent as the specification writes them, with its default parameters; Q15 in its variant
without a view. One customer with all orders and all their lines is the privacy unit: `lineitem` refers to `orders`,
which refers to `customer`. Parts, suppliers and geography are public. Tables, policy and queries:
`examples/tpch` ([examples](../examples/README.md)).

{answered} of 22 are answered. A protected answer shows every declared key, also one that nobody is in.

| query | | |
|---|---|---|
{rows}
"""
TAIL = """
## What the hints offer
{rewrites}"""


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The whole page."""
    answered = sum(1 for o in outcomes.values() if o.answer is not None)
    rows = "\n".join(_row(name, outcome) for name, outcome in outcomes.items())
    text = HEAD.format(answered=answered, rows=rows)
    rewrites = "".join(_rewrite(name, outcome) for name, outcome in outcomes.items() if outcome.rewrite)
    return text + TAIL.format(rewrites=rewrites) if rewrites else text


def title(name: str) -> str:
    """The query's own name: the comment on its first line."""
    found = re.match(r"-- Q(\d+), ([^.,]*)", QUERIES[name])
    assert found is not None
    return f"Q{found[1]} {found[2]}"


def _row(name: str, outcome: Outcome) -> str:
    if outcome.refusal is None:
        return f"| {title(name)} | answered | |"
    said = f"{outcome.refusal.message} ({outcome.refusal.sqlstate})".replace("|", r"\|")
    rewrite = "its HINT is answered" if outcome.rewritten and outcome.rewritten.answer else "no rewrite"
    return f"| {title(name)} | refused: {said} | {rewrite} |"


def _rewrite(name: str, outcome: Outcome) -> str:
    return f"\n{title(name)}:\n\n```sql\n{outcome.rewrite};\n```\n"
