"""Window functions over open relations: those of their own, and aggregates over a frame."""

from sqlglot import exp

from dpproxy.aggregates.table import opened
from dpproxy.algebra import nodes
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.analysis.windows import WINDOWS, over
from dpproxy.values.errors import Unsupported


def window(node: exp.Window, scope: Scope) -> Typed:
    """Compile one call with its OVER. Raises a ``Refusal``."""
    behind = over(node, scope)
    function = node.this
    if type(function) in WINDOWS:
        value = WINDOWS[type(function)](function, scope)
        if not isinstance(value.sql, nodes.Call):
            raise AssertionError("a window function is a call")
        return Typed(
            behind(value.sql),
            value.type,
            value.scale,
            value.low,
            value.high,
            value.nullable,
            longest=value.longest,
        )
    if type(function) is exp.Dot:
        raise Unsupported(
            "OVER is for aggregates and window functions",
            hint="The functions of schema dp are computed once for each row.",
        )
    if type(function) is exp.Filter and type(function.this) in WINDOWS:
        raise Unsupported("FILTER is for aggregates", hint="Write CASE inside.")
    return opened(function, scope, behind)
