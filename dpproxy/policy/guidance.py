"""The losses to begin with: proposals, which a person decides about. `docs/epsilon.md` has the reasons."""

from typing import Final

CEILING: Final = 4
"""Epsilon of a table's ceiling: all answers to everybody, for ever."""
BUDGET: Final = 3
USER: Final = 2
STATEMENT: Final = "0.5"
"""MAX EPSILON."""
DEFAULT: Final = "0.1"
