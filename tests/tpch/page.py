"""What becomes of the 22 queries, as a table. Stored by ``python -m tests.tpch``; a test compares it."""

import re
from collections.abc import Mapping

from tests.bench.results import Result
from tests.tpch.questions import QUERIES, Outcome

NAME = "tpch"
"""Of the file in docs/measured/."""


def table(outcomes: Mapping[str, Outcome]) -> Result:
    """A line for each query."""
    answered = sum(1 for o in outcomes.values() if o.answer is not None)
    rows = [["query", "", "its hint, which is answered"]]
    rows += [[title(name), *_cells(outcome)] for name, outcome in outcomes.items()]
    return Result(f"{answered} of {len(outcomes)} are answered.", rows)


def title(name: str) -> str:
    """The query's own name: the comment on its first line."""
    found = re.match(r"-- Q(\d+), ([^.,]*)", QUERIES[name])
    assert found is not None
    return f"Q{found[1]} {found[2]}"


def _cells(outcome: Outcome) -> tuple[str, str]:
    if outcome.refusal is None:
        return "answered", ""
    said = f"{outcome.refusal.message} ({outcome.refusal.sqlstate})".replace("|", r"\|")
    has_answer = outcome.rewritten is not None and outcome.rewritten.answer is not None
    return f"refused: {said}", f"`{' '.join(str(outcome.rewrite).split())}`" if has_answer else ""
