"""The text of a view, which the engine keeps in its own SQL, as a query that the planner can take.

The engine prints what it has parsed: joins in parentheses, operators as functions. Each construct whose meaning differs
from what the planner makes of it is written anew, and functions are taken by the name the engine knows them by.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping

import sqlglot
from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpproxy.planner.accept import DEEPEST, LONGEST_STATEMENT, MOST_NODES, MOST_SUBSCRIPTS, accept
from dpproxy.planner.rewrites.parentheses import from_left
from dpproxy.planner.rewrites.qualifiers import without_schemas
from dpproxy.values.errors import SyntaxRefused, TooComplex, UndefinedFunction, Unsupported

logging.getLogger("sqlglot").disabled = True  # its messages quote statements

SAME = frozenset({
    "count", "count_star", "sum", "avg", "median", "stddev", "stddev_samp", "stddev_pop", "variance",
    "var_samp", "var_pop", "covar_samp", "covar_pop", "corr", "regr_slope", "regr_intercept", "regr_r2",
    "regr_count", "regr_avgx", "regr_avgy", "bool_and", "bool_or", "count_if", "countif", "grouping",
    "coalesce", "ifnull", "nullif", "greatest", "least", "left", "right", "upper", "lower", "length", "ltrim",
    "rtrim", "replace", "starts_with", "strpos", "instr", "concat", "abs", "sign", "ceiling", "round",
    "trunc", "sqrt", "ln", "exp", "log", "log10", "log2", "pow", "power", "degrees", "radians", "date_trunc",
    "datetrunc", "row_number", "rank", "dense_rank",
})  # fmt: skip
"""Functions that mean here what they mean in the engine."""
UNNAMED: tuple[type[exp.Expr], ...] = (
    exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.Exists, exp.Min, exp.Max, exp.Substring, exp.Trim, exp.Floor,
    exp.Ceil, exp.Pow,
)  # fmt: skip
"""The same for what the parser keeps no name of."""
PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "YEAR", exp.Quarter: "QUARTER", exp.Month: "MONTH", exp.Week: "WEEK", exp.Day: "DAY", exp.Hour: "HOUR",
    exp.Minute: "MINUTE", exp.Second: "SECOND", exp.DayOfWeek: "DOW", exp.DayOfYear: "DOY",
}  # fmt: skip
UNITS = {"to_years": "YEAR", "to_months": "MONTH", "to_weeks": "WEEK", "to_days": "DAY", "to_hours": "HOUR",
         "to_minutes": "MINUTE"}  # fmt: skip
_LISTS = (exp.Group, exp.Ordered, exp.Rollup, exp.Cube, exp.GroupingSets)


class AcceptedView(Struct, frozen=True):
    """A view's query, accepted, without places; ``reads`` are its tables and views, in order.

    ``bare`` are the names without a table, in lower case. ``starred`` where a star stands in the outermost list, and
    ``by_place`` where one stands beside names or columns that are told by their place.
    """

    tree: exp.Expr
    reads: tuple[str, ...]
    bare: frozenset[str]
    starred: bool
    by_place: bool


def read_text(sql: str, relations: Collection[str], spelling: Mapping[str, str]) -> AcceptedView:
    """Read CREATE VIEW in the engine's SQL.

    ``relations`` are the tables and views there are; ``spelling`` maps names in lower case to those of the schema.

    Errors: what ``parse`` and ``accept`` raise, without positions; ``Unsupported``.
    """
    create = _parsed(sql)
    query = create.expression
    if not isinstance(query, exp.Query):
        raise Unsupported("a view without a query is not supported")
    query.pop()
    _spell(query, spelling)
    _check_names(query, sql)
    query = _changed(query)
    for node in query.walk():
        node.meta.clear()  # a place in this text is none in the statement's
    query = from_left(without_schemas(query))
    _write_names(query)
    accept(query)
    _check_form(query, relations)
    starred = any(s.find_ancestor(exp.Select) in _outermost(query) for s in _stars(query))
    if starred and isinstance(create.this, exp.Schema):
        raise _placed()
    return AcceptedView(query, _reads(query), frozenset(_bare(query)), starred, _is_by_place(query))


def _changed(query: exp.Query) -> exp.Expr:
    """The query with what is not written as for the planner written anew, in place."""
    for node in list(query.walk()):
        change = CHANGES.get(type(node))
        if change is not None:
            change(node)
    return query


def _write_names(query: exp.Expr) -> None:
    for number, held in enumerate(list(query.find_all(exp.Subquery))):
        if isinstance(held.parent, exp.From | exp.Join) and not held.alias:
            held.set("alias", exp.TableAlias(this=exp.to_identifier(f"subquery {number}", quoted=True)))


def _parsed(sql: str) -> exp.Create:
    if len(sql) > LONGEST_STATEMENT or sql.count("[") > MOST_SUBSCRIPTS:
        raise TooComplex("its text is too long")
    try:
        trees = [t for t in sqlglot.parse(sql, read="duckdb") if t is not None]
    except SqlglotError:  # its text quotes the statement
        raise SyntaxRefused("its text does not parse") from None
    except RecursionError:
        raise TooComplex("its text is nested too deeply") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Create) or trees[0].args.get("kind") != "VIEW":
        raise SyntaxRefused("its text is not one CREATE VIEW")
    depths: dict[int, int] = {}
    for count, node in enumerate(trees[0].walk()):
        depth = depths[id(node)] = depths.get(id(node.parent), 0) + 1
        if count > MOST_NODES or depth > DEEPEST:
            raise TooComplex("its text has too many parts, or is nested too deeply")
    return trees[0]


def _spell(query: exp.Expr, spelling: Mapping[str, str]) -> None:
    """The engine takes names in any case; here each is written in one, that of the schema where it has the name."""
    for node in query.find_all(exp.Identifier):
        lower = str(node.this).lower()
        node.set("this", spelling.get(lower, lower))
        node.args["quoted"] = True


def _check_names(query: exp.Expr, sql: str) -> None:
    for node in query.find_all(exp.Func):
        if "start" in node.meta:
            name = sql[node.meta["start"] : node.meta["end"] + 1].strip('"').lower()
            is_known = name in SAME or name in UNITS or name == "date_part" or type(node) in PARTS
        else:
            name = type(node).__name__.lower()
            is_known = isinstance(node, UNNAMED) or type(node) is exp.StrPosition
        if not is_known:
            raise UndefinedFunction(f"function {name}() is not supported in views")


def _count(node: exp.Expr) -> exp.Expr:
    count: exp.Expr = exp.Count(this=exp.Star(), big_int=True)
    return node.replace(count)


def _extract(part: str, value: exp.Expr, node: exp.Expr) -> exp.Expr:
    return node.replace(exp.Extract(this=exp.Var(this=part), expression=value))


def _anonymous(node: exp.Expr) -> exp.Expr:
    """Functions the parser does not know."""
    name, arguments = str(node.this).lower(), node.expressions
    if name == "count_star" and not arguments:
        return _count(node)
    if name == "date_part" and len(arguments) == 2 and arguments[0].is_string:
        return _extract(arguments[0].name.upper(), arguments[1], node)
    if name in UNITS and len(arguments) == 1:
        return _interval(node, UNITS[name], arguments[0])
    return node


def _interval(node: exp.Expr, unit: str, amount: exp.Expr) -> exp.Expr:
    """``INTERVAL 3 DAY`` is kept as to_days(CAST(trunc(CAST(3 AS DOUBLE)) AS INTEGER))."""
    while isinstance(amount, exp.Cast | exp.Trunc | exp.Paren):
        amount = amount.this
    if not isinstance(amount, exp.Literal) or not amount.name.isdecimal():
        raise Unsupported("an interval of other than a constant number is not supported in views")
    return node.replace(exp.Interval(this=exp.Literal.string(amount.name), unit=exp.Var(this=unit)))


def _cast(node: exp.Expr) -> exp.Expr:
    """CAST('3 months' AS INTERVAL)."""
    if not node.args["to"].is_type("INTERVAL"):
        return node
    words = node.this.name.split() if node.this.is_string else []
    if len(words) != 2 or not words[0].isdecimal() or not words[1].isalpha():
        raise Unsupported("an interval of other than a constant number is not supported in views")
    return node.replace(exp.Interval(this=exp.Literal.string(words[0]), unit=exp.Var(this=words[1].upper())))


def _divide(node: exp.Expr) -> exp.Expr:
    """The engine's division is never whole."""
    node.set("this", exp.Cast(this=node.this, to=exp.DataType.build("DOUBLE")))
    return node


def _any(node: exp.Expr) -> exp.Expr:
    """IN (SELECT ...) is kept as = ANY(SELECT ...)."""
    right = node.expression
    if type(right) is exp.Any and isinstance(right.this, exp.Subquery):
        return node.replace(exp.In(this=node.this, query=right.this))
    return node


def _position(node: exp.Expr) -> exp.Expr:
    """The text comes before what is looked for, as nowhere else; the parser keeps no name of it."""
    if "start" not in node.meta:
        this, sought = node.this, node.args["substr"]
        node.set("this", sought)
        node.set("substr", this)
    return node


def _part(node: exp.Expr) -> exp.Expr:
    return _extract(PARTS[type(node)], node.this, node)


CHANGES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Anonymous: _anonymous,
    exp.ToDays: lambda node: _interval(node, "DAY", node.this),
    exp.Cast: _cast,
    exp.Div: _divide,
    exp.EQ: _any,
    exp.StrPosition: _position,
    **dict.fromkeys(PARTS, _part),
}
"""What is written anew, by what it is in the engine's text."""


def _check_form(query: exp.Expr, relations: Collection[str]) -> None:
    """Refuse what could read something else here than in the engine."""
    if query.find(exp.Parameter) is not None:
        raise Unsupported("a parameter is not supported in views")
    if any(j.args.get("method") for j in query.find_all(exp.Join)):
        raise Unsupported("NATURAL JOIN is not supported in views", hint="Write JOIN with USING.")
    if any(not isinstance(s.this, exp.Query) for s in query.find_all(exp.Subquery)):
        raise Unsupported("JOIN in parentheses is not supported in this place")
    for table in query.find_all(exp.Table):
        if table.db not in ("", "main"):
            raise Unsupported(f'schema "{table.db}" is not served')
    for cte in query.find_all(exp.CTE):
        if cte.alias in relations:
            raise Unsupported(f'WITH of the name of a relation is not supported in views: "{cte.alias}"')


def _placed() -> Unsupported:
    return Unsupported(
        "* beside names told by their place is not supported here", hint="Write the columns out."
    )


def _is_by_place(query: exp.Expr) -> bool:
    named = any(a.columns for a in query.find_all(exp.TableAlias))
    return any(_stars(query)) and (named or query.find(exp.SetOperation) is not None or any(_ordinals(query)))


def check_stars(text: AcceptedView, hidden: Collection[str]) -> None:
    """Columns told by their place stand elsewhere where some are hidden, and where USING moves some to the front."""
    if text.by_place and (hidden or any(j.args.get("using") for j in text.tree.find_all(exp.Join))):
        raise _placed()


def _ordinals(query: exp.Expr) -> Iterator[exp.Expr]:
    for node in query.find_all(exp.Literal):
        if not node.is_string and isinstance(node.parent, _LISTS):
            yield node


def _stars(query: exp.Expr) -> Iterator[exp.Expr]:
    """Those that stand for columns."""
    for star in query.find_all(exp.Star):
        select = star.find_ancestor(exp.Select, exp.Count)
        if isinstance(select, exp.Select) and not isinstance(select.parent, exp.Exists):
            yield star


def _outermost(query: exp.Expr) -> list[exp.Expr]:
    """The SELECT whose list is the view's; both of a set operation."""
    query = query.unnest()
    if isinstance(query, exp.SetOperation):
        return [*_outermost(query.this), *_outermost(query.expression)]
    return [query]


def _reads(query: exp.Expr) -> tuple[str, ...]:
    hidden = {c.alias for c in query.find_all(exp.CTE)}
    return tuple(dict.fromkeys(t.name for t in query.find_all(exp.Table) if t.db or t.name not in hidden))


def _bare(query: exp.Expr) -> Iterator[str]:
    for column in query.find_all(exp.Column):
        if not column.table:
            yield column.name.lower()
    for join in query.find_all(exp.Join):
        yield from (name.name.lower() for name in join.args.get("using") or ())
