"""The first rule: only what is listed here gets past the parser, node by node, argument by argument."""

import logging
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.analysis.expressions import RULES
from dpproxy.analysis.functions import FUNCTIONS
from dpproxy.analysis.position import position
from dpproxy.analysis.present import write_present
from dpproxy.analysis.windows import WINDOWS, inline_windows
from dpproxy.planner.open.series import write_series
from dpproxy.planner.refusals import refuse_clause, refuse_node, refuse_statement
from dpproxy.planner.rewrites.documents import with_fields
from dpproxy.planner.rewrites.fetch import write_limits
from dpproxy.planner.rewrites.lists import write_lists
from dpproxy.planner.rewrites.parentheses import check_joins, from_left
from dpproxy.planner.rewrites.priors import is_with_prior, write_priors
from dpproxy.planner.rewrites.qualifiers import without_schemas
from dpproxy.planner.rewrites.templates import write_buckets, write_matches, write_moments, write_percentiles
from dpproxy.planner.select_list import OF_INPUT
from dpproxy.sql import grammar, lexer
from dpproxy.values.errors import SyntaxRefused, TooComplex, Unsupported

LONGEST_STATEMENT = 100_000
MOST_NODES = 10_000
MOST_SUBSCRIPTS = 100
"""The parser takes time that is quadratic in a chain of them."""
DEEPEST = 150
"""Levels of nesting; what stands below reads the tree by recursion."""

logging.getLogger("sqlglot").disabled = True  # its messages quote statements


def parse(sql: str, database: str | None = None, *, bare: bool = True) -> exp.Expr:
    """One statement as a tree, names folded as PostgreSQL folds them, without the ``database`` before a schema.

    ``bare`` without ``pg_catalog.`` before functions, too, as in all statements but those about the catalogue.

    Errors: ``SyntaxRefused`` (42601) with the position, ``TooComplex`` (54001).
    """
    if len(sql) > LONGEST_STATEMENT:
        raise TooComplex(f"the statement is longer than {LONGEST_STATEMENT} characters")
    if sql.count("[") > MOST_SUBSCRIPTS and _subscripts(sql) > MOST_SUBSCRIPTS:
        raise TooComplex(f"the statement has more than {MOST_SUBSCRIPTS} subscripts")
    tree = _alone(sql, bare=bare)
    kinds = {base for kind in _fold(tree, sql) for base in kind.__mro__}
    if database is not None:
        _be_local(tree, database)
    for write, *rewritten in _REWRITES:
        if not kinds.isdisjoint(rewritten):
            write(tree)
    return tree


def _subscripts(sql: str) -> int:
    return sum(1 for token in lexer.tokens(sql) if token.raw == "[")


def _alone(sql: str, *, bare: bool) -> exp.Expr:
    """The tree of a text that is one statement; what the parser says of others quotes them, and is not passed on."""
    try:
        trees = grammar.parse(sql, bare=bare)
    except ParseError as error:
        raise _syntax_error(sql, error) from None
    except (TokenError, SqlglotError) as error:
        del error  # its text quotes the statement
        raise SyntaxRefused("syntax error: the statement does not split into tokens", position=0) from None
    except TypeError:  # the parser's compiled part says so where an operand is missing
        raise SyntaxRefused("syntax error: an operator has nothing to work on") from None
    except RecursionError:
        raise TooComplex("the statement is nested too deeply") from None
    if len(trees) != 1:
        raise SyntaxRefused("exactly one statement is expected here", position=0)
    return trees[0]


def _be_local(tree: exp.Expr, database: str) -> None:
    for named in tree.find_all(exp.Table, exp.Column):
        catalog = named.args.get("catalog")
        if catalog is not None and catalog.name == database:
            named.set("catalog", None)


def _syntax_error(sql: str, error: ParseError) -> SyntaxRefused:
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    offset = None
    if isinstance(line, int) and isinstance(column, int):
        lines = sql.split("\n")
        word = str(details.get("highlight") or "")
        end = sum(len(text) + 1 for text in lines[: line - 1]) + column
        offset = max(0, min(end - len(word), len(sql)))
    near = grammar.restored(str(details.get("highlight") or ""))[:40]
    return SyntaxRefused(f'syntax error at or near "{near}"' if near else "syntax error", position=offset)


def _fold(tree: exp.Expr, sql: str) -> set[type[exp.Expr]]:
    """Unquoted names to lower case, in place on our own fresh tree; aggregates keep the name they were called by.

    ORDER BY a qualified name is no column of the SELECT list, whatever that is called: the entry says so. Comments go.
    Returns the kinds of nodes that there are.
    """
    depths: dict[int, int] = {}
    kinds = set()
    for count, node in enumerate(tree.walk()):
        if count > MOST_NODES:
            raise TooComplex("the statement has too many parts")
        depth = depths[id(node)] = depths.get(id(node.parent), 0) + 1
        if depth > DEEPEST:
            raise TooComplex("the statement is nested too deeply", hint="Write long lists with IN.")
        kind = type(node)
        kinds.add(kind)
        node.comments = None
        if kind is exp.Identifier and not node.args.get("quoted"):
            node.set("this", str(node.this).lower())
        elif kind is exp.Ordered and type(node.this) is exp.Column and node.this.table:
            node.meta[OF_INPUT] = True
        elif isinstance(node, exp.Func | exp.Mod) and node.meta_get("start") is not None:
            node.meta["name"] = sql[node.meta["start"] : node.meta["end"] + 1].strip('"').lower()
        if node.meta_get("line") is not None:
            known = node.meta.items()
            node._meta = _Known((k, v) for k, v in known if k not in _UNREAD)  # noqa: SLF001 - no other way to set it
    return kinds


class _Known(dict[str, object]):
    """What is known of a node: its copies share it, and nobody writes to it."""

    def __deepcopy__(self, memo: object) -> "_Known":
        return self


_UNREAD = ("line", "col", "end")
"""What the parser knows of a node's place beside where it starts."""


def _spell(tree: exp.Expr) -> None:
    """Aggregates of one argument that the parser does not know; EVERY is the standard's word for BOOL_AND."""
    for node in list(tree.find_all(exp.Anonymous)):
        name = str(node.this).lower()
        if len(node.expressions) == 1 and (name == "every" or name in AGGREGATES):
            is_own, value = name in AGGREGATES, node.expressions[0]
            call = (
                exp.CombinedAggFunc(this=name, expressions=[value]) if is_own else exp.LogicalAnd(this=value)
            )
            call.meta.update(node.meta, name=name)
            node.replace(call)


_REWRITES: tuple[tuple[Any, ...], ...] = (
    (_spell, exp.Anonymous),
    (write_limits, exp.Fetch, exp.Limit, exp.Offset),
    (write_lists, exp.EQ, exp.NEQ, exp.Values),
    (write_moments, exp.StrToDate, exp.StrToTime, exp.Date, exp.Extract),
    (write_percentiles, exp.WithinGroup),
    (write_buckets, exp.WidthBucket),
    (write_matches, exp.Bracket, exp.Substring),
    (write_priors, exp.Dot),
    (inline_windows, exp.Window),
)
"""In their order, each with the nodes that it is for; none makes such nodes of another one."""

_ACCEPTED: tuple[tuple[Any, ...], ...] = (
    (write_series, exp.ExplodingGenerateSeries),
    (write_present, exp.Anonymous),
    (without_schemas, exp.Column),
    (with_fields, exp.JSONExtractScalar, exp.JSONBExtractScalar, exp.Anonymous),
    (from_left, exp.Join, exp.Subquery),
)
"""The same for what is not read as a statement about the catalogue."""


def _check_statement(tree: exp.Expr) -> None:
    if type(tree) not in QUERIES:
        raise refuse_statement(tree)
    if isinstance(tree, exp.Select) and not tree.expressions:
        raise Unsupported("SELECT without columns is not supported", hint="SELECT 1;")


def accept(tree: exp.Expr) -> exp.Expr:
    """The tree, its joins from the left, if it is a query and every node and argument in it is listed.

    Errors: ``Unsupported`` (0A000), ``UndefinedFunction`` (42883).
    """
    _check_statement(tree)
    every = [*tree.walk()]
    for holder in {id(n.parent): n.parent for n in every if type(n) is exp.Join and n.parent}.values():
        check_joins(holder)
    kinds = {*map(type, every)}
    for write, *rewritten in _ACCEPTED:
        if not kinds.isdisjoint(rewritten):
            tree = write(tree)
    for node in tree.walk():
        _check_listed(node)
    return tree


def _check_listed(node: exp.Expr) -> None:
    kind = type(node)
    allowed = NODES.get(kind)
    if allowed is None or (kind in _PLACED and _is_misplaced(node)):
        if isinstance(node.parent, exp.Table):
            raise Unsupported(
                "functions after FROM are not answered",
                hint="Ask over a table by its name.",
                position=position(node.parent),
            )
        raise refuse_node(node)
    if kind is exp.Join:
        _check_join(node)
    if kind is exp.Lateral and type(node.this) is not exp.Subquery:
        raise refuse_node(node)
    for name, value in node.args.items():
        is_listed = name in allowed and not (kind is exp.Order and _is_inner_order(node, name))
        if not is_listed and value not in (None, False, []):
            raise refuse_clause(node, name, value)


_PLACED = frozenset(
    (exp.AnonymousAggFunc, exp.ExplodingGenerateSeries, exp.Anonymous, exp.Dot, exp.Var, exp.If)
)
"""What is accepted in some places alone."""


def _is_misplaced(node: exp.Expr) -> bool:
    """Stands where it means something else than what is listed: a function of no schema, a word that is no unit."""
    if type(node) is exp.AnonymousAggFunc:
        return not is_with_prior(node)
    if type(node) is exp.Dot:
        return isinstance(node.expression, exp.Identifier) and not isinstance(node.parent, exp.Dot)
    if type(node) is exp.If:  # an arm of CASE, or a call that PostgreSQL does not have
        return type(node.parent) is not exp.Case
    if type(node) is exp.ExplodingGenerateSeries:
        return type(node.parent) is not exp.Subquery
    if type(node) is exp.Anonymous:
        above = node.parent
        return not isinstance(above, exp.Dot) or getattr(above.args.get("this"), "name", "") != "dp"
    return type(node) is exp.Var and not isinstance(
        node.parent, exp.Extract | exp.TimestampTrunc | exp.Interval | exp.DateBin
    )


def _check_join(node: exp.Expr) -> None:
    """The parser knows kinds of JOIN that PostgreSQL does not."""
    kind = str(node.args.get("kind") or "INNER")
    if kind not in ("INNER", "CROSS", "OUTER"):
        raise Unsupported(
            f"{kind} JOIN is not supported", hint="Write IN or EXISTS.", position=position(node)
        )


def _is_inner_order(node: exp.Expr, name: str) -> bool:
    """ORDER BY inside an aggregate: it decides about nothing but the order of what is put together."""
    return name == "this" and type(node.parent) not in _ORDERED


_ORDERED = (exp.GroupConcat, exp.ArrayAgg, exp.JSONArrayAgg)
_PAIR = frozenset({"this", "expression"})
_ONE = frozenset({"this"})

_READ = _PAIR | {"separator", "big_int"}
"""Of the arguments that the parser knows of an aggregate."""

_OPERATORS = (exp.Binary, exp.Unary)

QUERIES: frozenset[type[exp.Expr]] = frozenset(
    {exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.Values}
)
"""What a statement can be."""

_QUERY = frozenset({"with_", "order", "limit", "offset"})

NODES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: _QUERY | {"expressions", "from_", "joins", "where", "group", "having", "distinct"},
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _QUERY | {"this", "expression", "distinct"}),
    exp.Subquery: _QUERY | {"this", "alias"},
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Join: frozenset({"this", "side", "kind", "on", "using", "method"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Exists: _ONE,
    exp.ExplodingGenerateSeries: frozenset({"start", "end", "step"}),
    exp.Array: frozenset({"expressions", "value_constructor"}),
    exp.Tuple: frozenset({"expressions"}),
    exp.Rollup: frozenset({"expressions"}),
    exp.Cube: frozenset({"expressions"}),
    exp.GroupingSets: frozenset({"expressions"}),
    exp.Grouping: frozenset({"expressions"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.From: _ONE,
    exp.Table: frozenset({"this", "db", "alias"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Where: _ONE,
    exp.Group: frozenset({"expressions"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    **dict.fromkeys(WINDOWS, _ONE),
    exp.Lag: frozenset({"this", "offset", "default"}),
    exp.Lead: frozenset({"this", "offset", "default"}),
    exp.NthValue: frozenset({"this", "offset"}),
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset"}),
    exp.Having: _ONE,
    exp.Order: frozenset({"this", "expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Star: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _ONE,
    exp.Null: frozenset(),
    exp.Parameter: _ONE,
    **{kind: _PAIR if issubclass(kind, exp.Binary) else _ONE for kind in RULES if issubclass(kind, _OPERATORS)},
    exp.Nullif: _PAIR,
    exp.Like: _PAIR | {"negate"},
    exp.ILike: _PAIR | {"negate"},
    exp.Div: _PAIR | {"typed", "safe"},
    exp.DPipe: _PAIR | {"safe"},
    exp.Is: _PAIR | {"negate"},
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    **{kind: frozenset(kind.arg_types) & _READ for kind in AGGREGATES if not isinstance(kind, str)},
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), _ONE),
    exp.Mode: frozenset(),
    **dict.fromkeys((exp.Filter, exp.WithinGroup), _PAIR),
    **{kind: function.allowed for kind, function in FUNCTIONS.items()},
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.CurrentTimestamp: _ONE,
    exp.Localtimestamp: _ONE,
    exp.CurrentDate: frozenset(),
    exp.Interval: frozenset({"this", "unit", "fraction_in_string"}),
    exp.Var: _ONE,
    **dict.fromkeys((exp.AnonymousAggFunc, exp.CombinedAggFunc), frozenset({"this", "expressions"})),
    exp.Dot: _PAIR,
    exp.Anonymous: frozenset({"this", "expressions"}),
}  # fmt: skip
