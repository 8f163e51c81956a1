"""The table of all SQL functions, in the order of ``dp_functions()``; a new family is added here."""

from collections.abc import Callable
from typing import Final

from udfs.functions import (
    additive,
    exponential,
    posterior,
    quantile,
    refinement,
    selection,
    staircase,
)
from udfs.functions.model import SqlFunction
from udfs.pool import Pool

FAMILIES: Final[tuple[Callable[[Pool], tuple[SqlFunction, ...]], ...]] = (
    staircase.functions,
    additive.functions,
    refinement.functions,
    posterior.functions,
    exponential.functions,
    quantile.functions,
    selection.functions,
)


def functions(pool: Pool) -> tuple[SqlFunction, ...]:
    """Return every function; the last is ``dp_functions``, which lists them."""
    listed = tuple(function for family in FAMILIES for function in family(pool))
    return (*listed, _catalogue(listed))


def _catalogue(listed: tuple[SqlFunction, ...]) -> SqlFunction:
    rows = ", ".join(
        "(" + ", ".join(map(_literal, (f.name, f.arguments, f.returns, f.does))) + ")"
        for f in listed
        if not f.name.startswith("_")
    )
    body = f'TABLE SELECT * FROM (VALUES {rows}) AS t("function", arguments, returns, description)'  # noqa: S608
    return SqlFunction("dp_functions", "", "TABLE", "this list", body=body)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
