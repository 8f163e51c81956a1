"""A call of an aggregate, over rows of each kind, and what an aggregate is: a rule for each kind of rows."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.model import Aggregate
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import TOGETHER, compile_boolean, compile_shown
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.analysis.windows import Over
from dpproxy.values.errors import TypeMismatch, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import NUMERIC, SqlType

Averaged = frozenset[tuple[exp.Expr, exp.Expr | None]]
"""The arguments that an average of the same statement reads, each with the condition of its FILTER."""


def name_of(node: exp.Expr) -> str:
    """The function as SQL calls it."""
    return str(node.meta.get("name") or node.sql_names()[0]).lower()  # type: ignore[attr-defined]


def distinct_operand(node: exp.Expr) -> exp.Expr | None:
    """What stands after DISTINCT, None without. Raises ``Unsupported`` for a list."""
    if not isinstance(node.this, exp.Distinct):
        return None
    if len(node.this.expressions) != 1:
        raise Unsupported(
            "DISTINCT of several values is not supported", hint=TOGETHER, position=position(node)
        )
    operand: exp.Expr = node.this.expressions[0]
    if isinstance(operand, exp.Star):
        raise UndefinedFunction(
            "DISTINCT * is not a value", hint="Name a column or an expression.", position=position(node)
        )
    return operand


def without_filter(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, nodes.Expr | None]:
    """The call inside a FILTER, and its condition, compiled."""
    if type(node) is not exp.Filter:
        return node, None
    return node.this, compile_boolean(node.expression.this, scope).sql


class Call(Struct, frozen=True):
    """A call without its FILTER, whose ``condition`` is compiled; with OVER where that stands behind it."""

    node: Any
    scope: Scope
    condition: nodes.Expr | None = None
    over: Over | None = None

    @property
    def name(self) -> str:
        """The function as SQL calls it."""
        return name_of(self.node)


class PrivateCall(Call, frozen=True):
    """Over protected rows: what is measured there is released. ``filtered`` is the condition as it is written."""

    averaged: Averaged = frozenset()
    filtered: exp.Expr | None = None


class OpenCall(Call, frozen=True):
    """Over rows that nothing is private in any more: the engine's own call."""

    def finish(self, call: nodes.Call) -> nodes.Expr:
        """The engine's call with FILTER and OVER."""
        kept = call if self.condition is None else replace(call, where=self.condition)
        return kept if self.over is None else self.over(kept)

    def value(self) -> Typed:
        """The argument; DISTINCT is around its SQL."""
        distinct = distinct_operand(self.node)
        if distinct is not None and self.over is not None:
            raise Unsupported("DISTINCT is not implemented for window functions")
        value = self.operand(self.node.this if distinct is None else distinct)
        return value if distinct is None else replace(value, is_constant=False)

    def made(self, name: str, *arguments: nodes.Expr) -> nodes.Expr:
        """The engine's call, of different values where DISTINCT is written, with FILTER and OVER."""
        return self.finish(nodes.Call(name, arguments, isinstance(self.node.this, exp.Distinct)))

    def operand(self, node: exp.Expr) -> Typed:
        """A compiled argument; a quoted literal is text."""
        if isinstance(node, exp.Star):
            raise UndefinedFunction(f"{self.name}(*) does not exist", hint="Only count takes *.")
        return compile_shown(node, self.scope)

    def number(self) -> Typed:
        """The argument, which must be a number."""
        value = self.value()
        return value if value.is_number else self._refuse(value)

    def double(self, node: exp.Expr) -> nodes.Expr:
        """A number as a DOUBLE."""
        value = self.operand(node)
        return as_double(value if value.is_number else self._refuse(value))

    def _refuse(self, value: Typed) -> Typed:
        raise TypeMismatch(
            f"function {self.name}({value.type.shown}) does not exist", hint="It takes a number."
        )


class PersonCall(Call, frozen=True):
    """Over the rows of one person: all, or those of a window, which are ``most`` at most."""

    most: int = 1

    def value(self) -> Typed:
        """The compiled operand."""
        return compile_shown(self.node.this, self.scope)

    def steps(self) -> Argument:
        """The operand, a number."""
        if isinstance(self.node.this, exp.Distinct):
            raise Unsupported(
                "DISTINCT is answered in count() only, per person", position=position(self.node)
            )
        return argument(self.node.this, settle(self.value(), NUMERIC, self.scope, self.node.this))

    def made(self, name: str, value: nodes.Expr, *, distinct: bool = False) -> nodes.Expr:
        """The engine's call, of the rows that the condition leaves."""
        kept = value if self.condition is None else duck.case([(self.condition, value)], None)
        call = nodes.Call(name, (kept,), distinct)
        return call if self.over is None else self.over(call)

    def may_miss(self, value: Typed) -> bool:
        """Whether it can be NULL, for want of a value."""
        return value.nullable or self.condition is not None or self.over is not None


class AggregateFunction(Struct, frozen=True, kw_only=True):
    """What a call is over rows of each kind, by rules that raise ``Refusal``; without a rule it is refused there."""

    private: Callable[[PrivateCall], Aggregate] | None = None
    open: Callable[[OpenCall], Typed] | None = None
    person: Callable[[PersonCall], Typed] | None = None
    windowed: bool = False
    """Answered over the rows of one person before OVER, too."""
    ordered: bool = False
    """Called with WITHIN GROUP, which is around it."""
    averages: bool = False
    """Reads what an average reads."""
    added: tuple[tuple[SqlType, SqlType], ...] = ()
    """The results and arguments that PostgreSQL has no function of this name for."""
    instead: str | None = None
    """What to write over open rows where there is no rule for them."""


def one_of(value: Typed, sql: nodes.Expr, *, nullable: bool = True) -> Typed:
    """One of the values that an aggregate is of, by the call that picks it."""
    return replace(value, sql=sql, nullable=nullable, is_constant=False, constant=None, presence=None)
