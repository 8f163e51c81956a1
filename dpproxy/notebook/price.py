"""What a question costs, and how far off its answer will be, before it is asked."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from msgspec import Struct


class Price(Struct, frozen=True):
    """A price of EXPLAIN (PRIVACY, FORMAT JSON); an epsilon of 0 where the answer is free.

    ``half_width`` is how far off each noisy column may be, a number, or words where that depends on the answer.
    """

    epsilon: float
    delta: float
    budget: str | None
    ceiling: str | None
    unit: str | None
    confidence: float
    half_width: Mapping[str, float | str]
    document: Mapping[str, Any]
    """The whole document."""

    @property
    def is_free(self) -> bool:
        """Whether asking costs nothing."""
        return not self.epsilon

    def __str__(self) -> str:
        cost = "free" if self.is_free else f"{self.epsilon:.9g} epsilon"
        payer = f" of budget {self.budget}" if self.budget and not self.is_free else ""
        errors = "; ".join(f"{name} ±{shown(half)}" for name, half in self.half_width.items())
        return f"{cost}{payer}" + (f"; {self.confidence * 100:g} % half-width: {errors}" if errors else "")

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


def read_price(text: str) -> Price:
    """The price in the one document of EXPLAIN (PRIVACY, FORMAT JSON).

    >>> print(read_price('{"epsilon": 0.0, "free": true}'))
    free
    """
    document: dict[str, Any] = json.loads(text)
    halves: dict[str, float | str] = {}
    for column in document.get("columns", ()):
        half, formula = column.get("half_width"), column.get("half_width_formula")
        if half is not None or formula is not None:
            halves[column["name"]] = half if formula is None else formula
    return Price(
        document["epsilon"],
        document.get("delta", 0.0),
        document.get("budget"),
        document.get("ceiling"),
        document.get("unit"),
        document.get("confidence", 0.95),
        halves,
        document,
    )


def shown(half: float | str) -> str:
    """A half-width with the digits that mean something.

    >>> shown(30.0), shown(1234567.8), shown(0.01234), shown("145 rows of rank")
    ('30', '1,230,000', '0.0123', '145 rows of rank')
    """
    return half if isinstance(half, str) else f"{float(f'{half:.3g}'):,.12g}"
