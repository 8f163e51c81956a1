"""What an aggregate call reads, compiled: its argument or its pair of arguments, on the rows its FILTER keeps."""

from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.count import count_measure
from dpproxy.aggregates.filter import both, kept, present
from dpproxy.aggregates.model import Measure
from dpproxy.aggregates.side import Side, products
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import NUMERIC


class Condition(Struct, frozen=True):
    """Of a FILTER: as it is written, and compiled."""

    written: exp.Expr
    sql: nodes.Expr


def condition_of(where: exp.Where, scope: Scope) -> Condition:
    """Compile a FILTER's condition. Raises a ``Refusal``."""
    return Condition(where.this, compile_boolean(where.this, scope).sql)


def compiled(condition: Condition | None) -> nodes.Expr | None:
    """Its SQL, None where there is no FILTER."""
    return None if condition is None else condition.sql


def name_of(node: exp.Expr) -> str:
    """The function as SQL calls it."""
    return str(node.meta.get("name") or node.sql_names()[0]).lower()  # type: ignore[attr-defined]


def number(node: exp.Expr, scope: Scope) -> Typed:
    """A compiled argument; what has no type yet is taken as a number."""
    return settle(compile_expression(node, scope), NUMERIC, scope, node)


def distinct_operand(node: exp.Expr) -> exp.Expr | None:
    """What stands after DISTINCT, None without. Raises ``Unsupported`` for a list."""
    if not isinstance(node.this, exp.Distinct):
        return None
    if len(node.this.expressions) != 1:
        raise Unsupported(
            "DISTINCT of several values is not supported", hint="Name one value.", position=position(node)
        )
    operand: exp.Expr = node.this.expressions[0]
    if isinstance(operand, exp.Star):
        raise UndefinedFunction(
            "DISTINCT * is not a value", hint="Name a column or an expression.", position=position(node)
        )
    return operand


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


def operand(node: exp.Expr, scope: Scope, condition: Condition | None) -> Argument:
    """The argument of an aggregate of one number."""
    distinct = distinct_operand(node)
    this = plain_operand(node, node.this) if distinct is None else distinct
    found = argument(this, kept(number(this, scope), compiled(condition)))
    return replace(found, distinct=distinct is not None)


def multiple(node: exp.Expr, scope: Scope, condition: Condition | None) -> Argument:
    """As ``operand``; of a column times a positive number in the column's steps, so that both are one measure."""
    whole, product = operand(node, scope, condition), node.this.unnest()
    if type(product) is not exp.Mul or whole.typed.scale is None:
        return whole
    sides = product.this.unnest(), product.expression.unnest()
    times = next((s for s in sides if isinstance(s, exp.Literal) and not s.is_string), None)
    of = next((s for s in sides if type(s) is exp.Column), None)
    factor = Fraction(times.this) if times is not None else Fraction(0)
    if of is None or factor <= 0:
        return whole
    found = argument(of, kept(number(of, scope), compiled(condition)))
    typed = replace(whole.typed, sql=found.typed.sql, presence=found.typed.presence)
    return replace(found, unit=found.unit * factor, typed=typed)


class Pair(Struct, frozen=True):
    """Two arguments on the rows where neither is NULL, the number of these rows, and the sum of products."""

    x: Argument
    y: Argument
    count: Measure
    product: Measure


def pair(node: exp.Expr, scope: Scope, condition: Condition | None) -> Pair:
    """The arguments (y, x) of an aggregate of two numbers.

    Beside one that cannot be NULL an argument is left as it is, so that its sums are those of its own average. A
    product is NULL where a factor is: its factors need no condition. The order of the arguments changes no measure.
    """
    operands = {"y": plain_operand(node, node.this), "x": plain_operand(node, node.expression)}
    typed = {name: number(this, scope) for name, this in operands.items()}
    kept_by = compiled(condition)
    only = {
        name: kept(typed[name], both(kept_by, present(typed[other])))
        for name, other in (("x", "y"), ("y", "x"))
    }
    counts = [count_measure(only[n]) for n in [n for n in only if typed[n].nullable] or only]
    counted = min(counts, key=lambda m: duck.text(m.sql))
    first, second = sorted(typed, key=lambda n: duck.text(typed[n].sql))
    return Pair(
        argument(operands["x"], only["x"]), argument(operands["y"], only["y"]), counted,
        products(
            Side(argument(operands[first], kept(typed[first], kept_by))),
            Side(argument(operands[second], typed[second])),
        ),
    )  # fmt: skip
