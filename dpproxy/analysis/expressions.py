"""Expressions, by allow-list: one rule per node class, everything else is refused.

The rules build DuckDB trees themselves instead of transpiling, so that no cast or function enters that was
not chosen here, and so that no row can make one fail.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import arithmetic, dates, duck, instants, likes, lists, present, rows, spans
from dpproxy.analysis.casts import as_text, cast
from dpproxy.analysis.comparison import compare, unify
from dpproxy.analysis.functions import FUNCTIONS, as_postgres
from dpproxy.analysis.intervals import read_interval, seconds, times
from dpproxy.analysis.literals import as_written, from_value, literal, parameter, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.texts import LONGEST_TEXT, check_length, of_constants
from dpproxy.analysis.typed import Typed, boolean, null, number
from dpproxy.values.errors import (
    InvalidEscape,
    InvalidParameter,
    Refusal,
    TooComplex,
    TypeMismatch,
    UndefinedFunction,
    Unsupported,
)
from dpproxy.values.pgtypes import BOOL, INT8, INTERVAL, NUMERIC, PLAIN, TEXT, TEXTS, TIMESTAMP, UNKNOWN
from dpproxy.values.work import step

Rule = Callable[[Any, Scope], Typed]

NODE = 11
"""Work of one node, in characters matched."""
LONGEST_PATTERN = 100
MOST_WILDCARDS = 8
TOGETHER = "Put the values together into one: a || '/' || b."

LARGEST = 3_500
"""Nodes of one compiled expression at most."""


def compile_expression(node: exp.Expr, scope: Scope) -> Typed:
    """The DuckDB form of ``node``, typed and bounded. Raises a ``Refusal`` for what no rule covers."""
    value = _operand(node, scope)
    if value.opaque:
        raise Unsupported(
            "a column without listed values is compared with constants only, or grouped by",
            hint="Compare with =, IN or IS NULL.",
            position=position(node),
        )
    return value


def _operand(node: exp.Expr, scope: Scope) -> Typed:
    """What may be opaque, where it is compared with a constant. What is refused stands at ``node``, or in it."""
    try:
        return _leaf_or_compiled(node, scope)
    except Refusal as refusal:
        if refusal.position is None:
            refusal.position = position(node)
        raise


def _no_value(node: exp.Expr) -> Refusal:
    if isinstance(node, exp.Anonymous):
        name = f"function {str(node.this).lower()}()"
        return UndefinedFunction(f"{name} does not exist or is not answered", position=position(node))
    if isinstance(node, exp.Tuple):
        return Unsupported("a row is compared with rows, and is no value", hint=TOGETHER)
    return Unsupported(f"{type(node).__name__.lower()} is not supported here")


def _leaf_or_compiled(node: exp.Expr, scope: Scope) -> Typed:
    leaf = scope.leaf(node)
    if leaf is not None:
        if leaf.type.oid in TEXTS and scope.level is ExpressionLevel.ROW:
            scope.parameters.note(leaf)
        return leaf
    rule = RULES.get(type(node))
    if rule is None:
        raise _no_value(node)
    value = present.folded(node, rule(node, scope), scope)
    if scope.level is ExpressionLevel.ROW and value.type.oid in PLAIN and not instants.is_usable(value):
        raise Unsupported(
            f"values of type {value.type.shown} are not computed with beside protected rows",
            position=position(node),
        )
    # Some rules copy an operand: without a limit, nesting them would double the expression at each level.
    size = _size(value.sql, scope.parameters.sizes)
    if size >= LARGEST:
        raise TooComplex("the expression is too large")
    scope.parameters.spend(NODE * size)
    step(size)
    return replace(value, is_unit=False) if value.is_unit and not isinstance(node, exp.Paren) else value


_LEAVES = (nodes.Number, nodes.ColumnRef)


def _size(sql: nodes.Node, known: dict[int, tuple[nodes.Node, int]]) -> int:
    """How many nodes; ``known`` has the sizes of those seen before, and keeps them: no other takes their place."""
    found = known.get(id(sql))
    if found is None:
        size = 1
        for part in sql.parts():
            size += 1 if type(part) in _LEAVES else _size(part, known)
        found = known[id(sql)] = sql, size
    return found[1]


def compile_shown(node: exp.Expr, scope: Scope) -> Typed:
    """A value with a type of its own: a quoted literal that nothing else gives one is text."""
    return settle(compile_expression(node, scope), TEXT, scope, node)


def whole_constant(node: exp.Expr, scope: Scope, takes: str, negative: str) -> int:
    """A constant from 0 on, or else a refusal in these words; 0 while a parameter is still open."""
    value = settle(compile_expression(node, scope), INT8, scope, node)
    if value.parameter is not None:
        return 0
    if not value.is_constant or not isinstance(value.constant, int) or isinstance(value.constant, bool):
        raise Unsupported(takes, position=position(node))
    if not 0 <= value.constant < 2**63:
        raise InvalidParameter(negative, position=position(node))
    return value.constant


def compile_boolean(node: exp.Expr, scope: Scope) -> Typed:
    """An expression that must be a truth value. Raises ``TypeMismatch``."""
    value = settle(compile_expression(node, scope), BOOL, scope, node)
    if value.type.oid != BOOL.oid:
        raise TypeMismatch(
            f"argument must be type boolean, not type {value.type.shown}", position=position(node)
        )
    return value


def _arithmetic(rule: Callable[[Any, Typed, Typed, Scope], Typed]) -> Rule:
    def apply(node: exp.Binary, scope: Scope) -> Typed:
        a, b = compile_expression(node.this, scope), compile_expression(node.expression, scope)
        if spans.covers(node, a, b, scope):
            return spans.arithmetic(node, a, b, scope)
        a, b = _numbers(node, a, b, scope)
        return rule(node, a, b, scope)

    return apply


def _sum(node: exp.Binary, scope: Scope) -> Typed:
    """``+`` and ``-``: of numbers, or of dates, days and intervals."""
    left, right = _interval_of(_bare(node.this)), _interval_of(_bare(node.expression))
    for one, by in ((left, right), (right, left)):
        if isinstance(by, exp.Interval) and (by is right or isinstance(node, exp.Add)):
            value = compile_expression(one, scope)
            if not spans.is_span(value):
                return _later(node, value, by, scope)
    a, b = compile_expression(left, scope), compile_expression(right, scope)
    if spans.covers(node, a, b, scope):
        return spans.arithmetic(node, a, b, scope)
    if a.is_moment or b.is_moment:
        return dates.arithmetic(node, a, b, scope)
    a, b = _numbers(node, a, b, scope)
    return arithmetic.simple(node, a, b, scope)


def _later(node: exp.Binary, value: Typed, by: exp.Interval, scope: Scope) -> Typed:
    if instants.is_instant(value) and (scope.level is ExpressionLevel.ROW or value.is_constant):
        return instants.add_interval(node, value, dates.signed(node, by), scope)
    return dates.add_interval(node, value, by, scope)


def _interval_of(node: exp.Expr) -> exp.Expr:
    """``'7 days'::interval`` ``(7 || ' days')::interval`` and ``7 * INTERVAL '1 day'`` as ``INTERVAL '7 days'``."""
    if type(node) is exp.Mul:
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            by, count = _interval_of(_bare(one)), _bare(other)
            if isinstance(by, exp.Interval) and isinstance(count, exp.Literal) and count.name.isdecimal():
                return times(by, int(count.name[:18]))
        return node
    is_cast = type(node) is exp.Cast and node.to.this == exp.DType.INTERVAL and not node.to.expressions
    text = _bare(node.this) if is_cast else None
    written = _text_of(text) if isinstance(text, exp.DPipe) or (text and text.is_string) else None
    if written is None:
        return node
    made = exp.Interval(this=exp.Literal.string(written))
    made.meta.update(node.meta)
    return made


def _text_of(node: exp.Expr) -> str | None:
    """A constant text, also one that is put together: ``-7 || ' days'``. None for others."""
    bare = _bare(node)
    match bare:
        case exp.Literal():
            return bare.name
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return f"-{number.name}"
        case exp.DPipe():
            left, right = _text_of(bare.this), _text_of(bare.expression)
            return None if left is None or right is None else left + right
        case _:
            return None


def _bare(node: exp.Expr) -> exp.Expr:
    """Without parentheses; a subquery's own are part of it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _numbers(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> tuple[Typed, Typed]:
    fallback = NUMERIC
    a_kind = b.type if b.type is not UNKNOWN else fallback
    b_kind = a.type if a.type is not UNKNOWN else fallback
    return settle(a, a_kind, scope, node.this), settle(b, b_kind, scope, node.expression)


def _connector(node: exp.Connector, scope: Scope) -> Typed:
    a, b = compile_boolean(node.this, scope), compile_boolean(node.expression, scope)
    return boolean(
        (nodes.And if isinstance(node, exp.And) else nodes.Or)((a.sql, b.sql)),
        nullable=a.nullable or b.nullable,
    )


def _not(node: exp.Not, scope: Scope) -> Typed:
    a = compile_boolean(node.this, scope)
    return boolean(nodes.Not(a.sql), nullable=a.nullable)


def _comparison(node: exp.Binary, scope: Scope) -> Typed:
    if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
        return compile_boolean(rows.comparison(node, node.this, node.expression), scope)
    if scope.level is ExpressionLevel.ROW:
        node = _in_seconds(node, scope)
    a, b = _operand(node.this, scope), _operand(node.expression, scope)
    return compare(node, type(node), a, b, scope)


def _in_seconds(node: exp.Binary, scope: Scope) -> exp.Binary:
    """``later - earlier > INTERVAL '1 hour'`` of two moments as seconds, which are a number; others as they are."""
    for difference, span in (("this", "expression"), ("expression", "this")):
        by = _interval_of(_bare(node.args[span]))
        if not isinstance(by, exp.Interval):
            continue
        found = _seconds_between(node.args[difference], scope)
        if found is not None:
            copy = node.copy()
            copy.set(difference, found)
            copy.set(span, seconds(by))
            return copy
    return node


def _seconds_between(node: exp.Expr, scope: Scope) -> exp.Sub | None:
    """The difference of two moments in seconds; None of anything else."""
    apart = _bare(node)
    sides = (
        [_interval_of(_bare(side)) for side in (apart.this, apart.expression)]
        if type(apart) is exp.Sub
        else []
    )
    if not sides or any(isinstance(side, exp.Interval) for side in sides):
        return None
    values = [compile_expression(side, scope) for side in sides]
    if not all(v.is_moment for v in values) or all(v.type.oid != TIMESTAMP.oid for v in values):
        return None
    later, earlier = (exp.Extract(this=exp.Var(this="EPOCH"), expression=side.copy()) for side in sides)
    return exp.Sub(this=later, expression=earlier)


def _extract(node: exp.Extract, scope: Scope) -> Typed:
    """EXTRACT, also of what is between two moments of a row: seconds (epoch), or whole days of 24 hours (day)."""
    field = node.this.name.upper() if scope.level is ExpressionLevel.ROW else ""
    found = _seconds_between(node.expression, scope) if field in ("EPOCH", "DAY") else None
    if found is None:
        return _function(node, scope)
    days = exp.Div(this=exp.Paren(this=found), expression=exp.Literal.number(86_400), typed=True, safe=False)
    return compile_expression(found if field == "EPOCH" else exp.Trunc(this=days), scope)


def _between(node: exp.Between, scope: Scope) -> Typed:
    value, *ends = (_operand(node.args[k], scope) for k in ("this", "low", "high"))
    inside = _inside(node, value, ends, scope)
    if not node.args.get("symmetric"):
        return inside
    other = _inside(node, value, ends[::-1], scope)
    return boolean(nodes.Or((inside.sql, other.sql)), nullable=inside.nullable or other.nullable)


def _inside(node: exp.Between, value: Typed, ends: list[Typed], scope: Scope) -> Typed:
    above, below = (
        compare(node, kind, value, end, scope) for kind, end in zip((exp.GTE, exp.LTE), ends, strict=True)
    )
    return boolean(nodes.And((above.sql, below.sql)), nullable=above.nullable or below.nullable)


def _in(node: exp.In, scope: Scope) -> Typed:
    if not node.expressions or node.args.get("query") or node.args.get("unnest"):
        raise Unsupported("IN takes a list of values here")
    if isinstance(node.this, exp.Tuple):
        if len(node.this.expressions) * len(node.expressions) > LARGEST:
            raise TooComplex("the IN list is too long for its expression", position=position(node))
        tests = [compile_boolean(test, scope) for test in rows.membership(node)]
        return boolean(nodes.Or(tuple(t.sql for t in tests)), nullable=any(t.nullable for t in tests))
    value = _operand(node.this, scope)
    if _size(value.sql, scope.parameters.sizes) * len(node.expressions) > LARGEST:
        raise TooComplex("the IN list is too long for its expression")
    tests = [compare(node, exp.EQ, value, _operand(e, scope), scope) for e in node.expressions]
    pairs = [pair for t in tests if isinstance(pair := duck.bare(t.sql), nodes.Binary)]
    nullable = any(t.nullable for t in tests)
    if len(pairs) == len(tests) and all(
        pair.left == pairs[0].left for pair in pairs
    ):  # one form for all: one copy of the value
        return boolean(nodes.InList(pairs[0].left, tuple(p.right for p in pairs)), nullable=nullable)
    return boolean(nodes.Or(tuple(test.sql for test in tests)), nullable=nullable)


def _is(node: exp.Is, scope: Scope) -> Typed:
    target = node.expression
    negated = bool(node.args.get("negate"))
    if isinstance(target, exp.Null):
        value = _operand(node.this, scope)
        sql: nodes.Expr = nodes.IsNull(value.sql)
    elif isinstance(target, exp.Boolean):
        value = compile_boolean(node.this, scope)
        sql = nodes.Binary("IS NOT DISTINCT FROM", value.sql, nodes.TRUE if target.this else nodes.FALSE)
    else:
        raise Unsupported("IS takes NULL, TRUE or FALSE", position=position(node))
    sql = nodes.Paren(sql)
    return boolean(nodes.Not(sql) if negated else sql, nullable=False)


def _case(node: exp.Case, scope: Scope) -> Typed:
    whens = []
    for branch in node.args["ifs"]:
        if node.this is None:
            whens.append(compile_boolean(branch.this, scope))
        else:
            left = _operand(node.this, scope)
            whens.append(compare(branch, exp.EQ, left, _operand(branch.this, scope), scope))
    values = [compile_expression(b.args["true"], scope) for b in node.args["ifs"]]
    default = node.args.get("default")
    if default is not None:
        values.append(compile_expression(default, scope))
    forms, shape = unify(node, values, scope)
    last = forms.pop() if default is not None else None
    sql = duck.case(zip((w.sql for w in whens), forms, strict=True), last)
    return replace(shape, sql=sql, nullable=shape.nullable or default is None)


def _coalesce(node: exp.Coalesce, scope: Scope) -> Typed:
    values = [compile_expression(e, scope) for e in (node.this, *node.expressions)]
    forms, shape = unify(node, values, scope)
    return replace(shape, sql=duck.call("coalesce", *forms), nullable=all(v.nullable for v in values))


def _nullif(node: exp.Nullif, scope: Scope) -> Typed:
    a, b = compile_expression(node.this, scope), compile_expression(node.expression, scope)
    a = settle(a, TEXT if b.type is UNKNOWN else b.type, scope, node.this)
    equal = compare(node, exp.EQ, a, b, scope)
    sql = duck.case([(equal.sql, nodes.Null())], a.sql)
    return replace(a, sql=sql, nullable=True, is_constant=False, constant=None, presence=None)


def _extreme(name: str, pick: Callable[..., Any]) -> Rule:
    def apply(node: exp.Expr, scope: Scope) -> Typed:
        written = (node.this, *node.expressions)
        values = [compile_expression(e, scope) for e in written]
        if any(value.type.oid == INTERVAL.oid for value in values):  # of which the engine's are wrong
            raise Unsupported(f"{name} of intervals is not answered")
        if pick is min:
            values = [_not_passed_over(e, v, values) for e, v in zip(written, values, strict=True)]
        forms, shape = unify(node, values, scope)
        lows, highs = _extreme_bounds(values, pick)
        nullable = all(v.nullable for v in values)
        return replace(shape, sql=duck.call(name, *forms), low=lows, high=highs, nullable=nullable)

    return apply


def _not_passed_over(node: exp.Expr, value: Typed, values: list[Typed]) -> Typed:
    """An operand of LEAST that is its upper bound where it is NaN: what is larger than that would be taken instead.

    A column is none.
    """
    if not value.is_number or value.scale is not None or value.high is None or value.is_constant:
        return value
    is_largest = all(v.high is not None and v.high <= value.high for v in values)
    if is_largest or isinstance(node.unnest(), exp.Column):
        return value
    high = duck.double(float(value.high))
    sql = nodes.Paren(duck.case([(nodes.Binary(">", value.sql, high), high)], value.sql))
    return replace(value, sql=sql)


def _extreme_bounds(values: list[Typed], pick: Callable[..., Any]) -> tuple[Any, Any]:
    """LEAST is at most every upper bound that is not NULL-able away; GREATEST likewise from below."""
    values = [v for v in values if not v.is_null] or values
    certain = [v for v in values if not v.nullable] or values
    lows, highs = [v.low for v in values], [v.high for v in values]
    if pick is min:
        known = [v.high for v in certain if v.high is not None] if certain is not values else []
        high = min(known) if known else (None if None in highs else max(highs))  # type: ignore[type-var]
        return (None if None in lows else min(lows)), high  # type: ignore[type-var]
    known = [v.low for v in certain if v.low is not None] if certain is not values else []
    low = max(known) if known else (None if None in lows else min(lows))  # type: ignore[type-var]
    return low, (None if None in highs else max(highs))  # type: ignore[type-var]


def _concatenate(node: exp.Expr, scope: Scope) -> Typed:
    a, b = (settle(compile_expression(n, scope), TEXT, scope, n) for n in (node.this, node.expression))
    if a.type.oid in TEXTS or b.type.oid in TEXTS:  # beside a text, what is none is written as one
        a, b = as_text(a, scope) or a, as_text(b, scope) or b
    if a.type.oid not in TEXTS or b.type.oid not in TEXTS:
        raise UndefinedFunction(f"operator does not exist: {a.type.shown} || {b.type.shown}")
    if a.is_constant and b.is_constant and (a.is_null or b.is_null):
        return null(TEXT)
    if (constant := of_constants([a, b])) is not None:
        return constant
    longest = None if a.longest is None or b.longest is None else a.longest + b.longest
    check_length(longest)
    nullable = a.nullable or b.nullable
    return Typed(duck.binary("||", a.sql, b.sql), TEXT, nullable=nullable, longest=longest)


def _escaped(node: exp.Escape, scope: Scope) -> Typed:
    """LIKE with an escape of its own; an empty one escapes nothing."""
    escape = node.expression
    if not isinstance(node.this, exp.Like) or not escape.is_string or len(escape.name) > 1:
        raise InvalidEscape("invalid escape string", hint="Escape string must be empty or one character.")
    return _like(node.this, scope, escape.name)


def _like(node: exp.Like, scope: Scope, escape: str = likes.ESCAPE) -> Typed:
    value = settle(compile_expression(node.this, scope), TEXT, scope, node)
    pattern = settle(compile_expression(node.expression, scope), TEXT, scope, node)
    if value.type.oid not in TEXTS or pattern.type.oid not in TEXTS:
        raise UndefinedFunction("LIKE compares text with text")
    is_open = pattern.parameter is not None and not pattern.is_constant
    if not pattern.is_constant and not is_open:
        raise Unsupported(
            "LIKE takes a constant pattern", hint="Write the pattern as a text or a parameter: x LIKE 'a%'."
        )
    if isinstance(pattern.constant, str) and escape in pattern.constant:
        found = likes.characters(pattern.constant, escape)
        plain = likes.unescaped(found)
        if plain is None:
            return _text_search(node, found, scope)
        pattern = replace(pattern, sql=nodes.Text(plain), constant=plain)
    _bound_match(node, value, pattern, scope)
    match = nodes.Binary(duck.OPERATORS[type(node)], value.sql, pattern.sql)
    sql: nodes.Expr = nodes.Not(nodes.Paren(match)) if node.args.get("negate") else match
    return boolean(sql, nullable=value.nullable or pattern.nullable)


def _text_search(node: exp.Like, found: list[tuple[str, bool]], scope: Scope) -> Typed:
    search = likes.as_text_search(node, found)
    if search is None:
        raise Unsupported(
            "a pattern that looks for % or _ itself has no other wildcards than % at its ends",
            hint="A percent sign or an underscore itself is found by strpos(x, '_') > 0.",
        )
    return compile_expression(exp.Not(this=search) if node.args.get("negate") else search, scope)


def _bound_match(node: exp.Like, value: Typed, pattern: Typed, scope: Scope) -> None:
    """Matching takes up to text times pattern steps: on one row it must not take time that shows."""
    text = str(pattern.constant or "")
    if len(text) > LONGEST_PATTERN or text.count("%") > MOST_WILDCARDS:
        raise TooComplex(
            f"a LIKE pattern has at most {LONGEST_PATTERN} characters and {MOST_WILDCARDS} percent signs",
            position=position(node),
        )
    longest = LONGEST_TEXT if value.longest is None else value.longest
    scope.parameters.spend(longest * len(text), node)


def _negative(node: exp.Neg, scope: Scope) -> Typed:
    value = compile_expression(node.this, scope)
    whole = node.this.unnest()
    if isinstance(whole, exp.Literal) and whole.name.isdigit() and isinstance(value.constant, int):
        return number(Fraction(-value.constant))  # its type is that of the number below zero
    if value.type.oid == INTERVAL.oid:
        return spans.negated(value)
    return arithmetic.negate(node, settle(value, NUMERIC, scope, node))


def _function(node: exp.Expr, scope: Scope) -> Typed:
    function = FUNCTIONS[type(node)]
    arguments = [compile_expression(a, scope) for a in function.arguments(node)]
    value = function(node, arguments, scope)
    return as_postgres(node, function, arguments, value) if scope.level is ExpressionLevel.RELEASED else value


def _cast(node: exp.Cast, scope: Scope) -> Typed:
    return cast(node, compile_expression(node.this, scope), scope)


def _list(node: exp.Array, scope: Scope) -> Typed:
    """ARRAY[x, y], over what is released or public."""
    if scope.level is ExpressionLevel.ROW or not node.expressions:
        raise Unsupported("a list is not answered here")
    return list_of(node, [compile_expression(e, scope) for e in node.expressions], scope)


def list_of(node: exp.Array, elements: Sequence[Typed], scope: Scope) -> Typed:
    """The list of values that stand for the elements of one."""
    forms, shape = unify(node, list(elements), scope)
    values = [lists.element(replace(shape, sql=form)) for form in forms]
    return lists.listed(values, shape.type, is_of_nothing_null="name" in node.meta)


RULES: dict[type[exp.Expr], Rule] = {
    exp.Array: _list,
    exp.Literal: lambda node, scope: as_written(literal(node), str(node.this), scope),
    exp.Parameter: parameter,
    exp.Null: lambda _, __: Typed(nodes.Null(), UNKNOWN, nullable=True, is_constant=True),
    exp.Boolean: lambda node, _: replace(
        boolean(nodes.TRUE if node.this else nodes.FALSE, nullable=False),
        is_constant=True,
        constant=node.this,
    ),
    exp.Paren: lambda node, scope: _operand(node.this, scope),
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Mul: _arithmetic(arithmetic.simple),
    exp.Div: _arithmetic(arithmetic.divide),
    exp.Mod: _arithmetic(arithmetic.modulo),
    exp.Neg: _negative,
    exp.And: _connector,
    exp.Or: _connector,
    exp.Not: _not,
    exp.EQ: _comparison,
    exp.NEQ: _comparison,
    exp.LT: _comparison,
    exp.LTE: _comparison,
    exp.GT: _comparison,
    exp.GTE: _comparison,
    exp.NullSafeEQ: _comparison,
    exp.NullSafeNEQ: _comparison,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Greatest: _extreme("greatest", max),
    exp.Least: _extreme("least", min),
    exp.DPipe: _concatenate,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escaped,
    exp.Cast: _cast,
    exp.AtTimeZone: lambda node, scope: instants.at_zone(node, compile_expression(node.this, scope), scope),
    **present.RULES,
    exp.Interval: lambda node, _: from_value(read_interval(node), INTERVAL),
    **dict.fromkeys(FUNCTIONS, _function),
    exp.Extract: _extract,
}


def key_as_postgres(node: exp.Expr, value: Typed, scope: Scope) -> Typed:
    """A key that is computed in a scope, as it is shown: in the type that PostgreSQL gives."""
    node = node.unnest()
    function = FUNCTIONS.get(type(node))
    if function is None or not (function.of_double or type(node) is exp.Extract):
        return value
    if type(node) is exp.Extract and _seconds_between(node.expression, scope) is not None:
        return value
    operands = [node.args[place] for place in function.places if node.args.get(place)]
    return as_postgres(node, function, [compile_expression(n, scope) for n in operands], value)
