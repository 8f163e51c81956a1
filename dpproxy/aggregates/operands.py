"""What an aggregate call over protected rows reads, compiled, on the rows that its FILTER keeps."""

from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.calls import PrivateCall, distinct_operand, name_of
from dpproxy.aggregates.filter import kept
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import NUMERIC


def number(node: exp.Expr, scope: Scope) -> Typed:
    """A compiled argument; what has no type yet is taken as a number."""
    return settle(compile_expression(node, scope), NUMERIC, scope, node)


def plain_operand(node: exp.Expr, this: exp.Expr) -> exp.Expr:
    """An argument that is one value for each row. Raises ``Unsupported`` and ``UndefinedFunction``."""
    name = name_of(node)
    if isinstance(this, exp.Distinct):
        raise Unsupported(
            f"{name}(DISTINCT ...) is not supported", hint=f"Write {name}(x).", position=position(node)
        )
    if isinstance(this, exp.Star):
        raise UndefinedFunction(
            f"{name}(*) does not exist", hint="Only count takes *.", position=position(node)
        )
    return this


def operand(call: PrivateCall) -> Argument:
    """The argument of an aggregate of one number."""
    distinct = distinct_operand(call.node)
    this = plain_operand(call.node, call.node.this) if distinct is None else distinct
    found = argument(this, kept(number(this, call.scope), call.condition))
    return replace(found, distinct=distinct is not None)


def multiple(call: PrivateCall) -> Argument:
    """As ``operand``; of a column times a positive number in the column's steps, so that both are one measure."""
    whole, product = operand(call), call.node.this.unnest()
    if type(product) is not exp.Mul or whole.typed.scale is None:
        return whole
    sides = product.this.unnest(), product.expression.unnest()
    times = next((s for s in sides if isinstance(s, exp.Literal) and not s.is_string), None)
    of = next((s for s in sides if type(s) is exp.Column), None)
    factor = Fraction(times.this) if times is not None else Fraction(0)
    if of is None or factor <= 0:
        return whole
    found = argument(of, kept(number(of, call.scope), call.condition))
    typed = replace(whole.typed, sql=found.typed.sql, presence=found.typed.presence)
    return replace(found, unit=found.unit * factor, typed=typed)
