"""The words of a refusal: what the construct is called in SQL, and what to write instead."""

import difflib
from collections.abc import Iterable

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.spoken import construct, spaced
from dpproxy.policy.documents import JsonField, field_of
from dpproxy.sql.grammar import BARE
from dpproxy.sql.quoting import identifier, literal, table_text
from dpproxy.values.errors import UndefinedColumn, UndefinedFunction, Unsupported

_READ_ONLY = (
    "Nothing near it is answered: the data is read-only here. Ask with SELECT; administrators declare policy with "
    "SET PRIVACY statements."
)
_LISTS = "Rows are not shown; their values are counted, with GROUP BY."
_SUMMARIES = "Ask count, sum or avg; a condition goes inside: sum(CASE WHEN condition THEN x END)."

HINTS: dict[type[exp.Expr], str] = {
    exp.Lateral: "Write it as a subquery with a name in FROM.",
    exp.Mode: "Group by it, ORDER BY count(*) DESC LIMIT 1.",
    **dict.fromkeys((exp.Any, exp.All), "Write IN: before a list, x IN (1, 2, 3), or before a subquery."),
    **dict.fromkeys((exp.ArrayAgg, exp.GroupConcat, exp.AnyValue, exp.First), _LISTS),
    **dict.fromkeys(
        (exp.CurrentTime, exp.Localtime), "Write the moment as a constant: timestamp '2024-01-31 12:00:00'."
    ),
    **dict.fromkeys((exp.Placeholder, exp.Var), "Write parameters as $1, $2 and so on."),
    **dict.fromkeys(
        (exp.JSONExtract, exp.JSONBExtract, exp.JSONExtractScalar, exp.JSONBExtractScalar),
        "A field that is declared is read by ->> with its key in quotes, or by #>> with its path.",
    ),
    exp.SimilarTo: "Compare with =, IN or LIKE.",
    exp.Operator: "Write the operator itself: a = b.",
    exp.DecodeCase: "Write CASE x WHEN value THEN result ELSE other END.",
    exp.ColumnDef: "Write the names alone: AS t (a, b).",
    exp.IntDiv: "Write a / b for whole numbers, trunc(a / b) for others.",
    exp.TryCast: "Write CAST(x AS type) between number types; other casts are not needed over declared domains.",
}

CLAUSES: dict[str, str] = {
    "joins": "JOIN", "laterals": "LATERAL", "with_": "WITH", "qualify": "QUALIFY", "sample": "a sample of rows",
    "windows": "WINDOW", "locks": "FOR UPDATE", "into": "INTO", "pivots": "PIVOT", "query": "a subquery in IN",
    "unnest": "UNNEST in IN", "all": "GROUP BY ALL", "rollup": "ROLLUP", "cube": "CUBE",
    "grouping_sets": "GROUPING SETS", "on": "DISTINCT ON", "only": "ONLY", "catalog": "a database before the schema",
    "columns": "a list of names after a table's alias", "symmetric": "BETWEEN SYMMETRIC", "kind": "this type",
}  # fmt: skip
"""A clause by the name its tree keeps it under."""
_NAMED: dict[type[exp.Expr], str] = {
    exp.GroupConcat: "string_agg()", exp.Explode: "unnest()", exp.Bracket: "an element of a list",
    exp.Var: "this parameter", exp.Placeholder: "this parameter", exp.TryCast: "TRY_CAST", exp.Exists: "EXISTS",
    exp.Any: "ANY", exp.All: "ALL", exp.Array: "a list", exp.Struct: "a record",
    exp.Dot: "a field of a record", exp.Collate: "COLLATE", exp.MatchAgainst: "the operator @@",
    exp.HexString: "a bit string in hexadecimal, X'...',", exp.BitString: "a bit string, B'...',",
    exp.DecodeCase: "decode() of values, as in Oracle,", exp.ColumnDef: "a list of columns with types after an alias",
}  # fmt: skip
_STATEMENTS = (exp.Query, exp.DDL, exp.DML, exp.Alter, exp.Drop, exp.TruncateTable, exp.Pivot, exp.Describe,
               exp.Show, exp.Use, exp.Pragma, exp.Copy, exp.Set, exp.Analyze, exp.Attach, exp.Detach)  # fmt: skip
FUNCTIONS = (
    "count", "sum", "avg", "abs", "ceil", "coalesce", "concat", "date_trunc", "degrees", "exp", "extract", "floor",
    "greatest", "least", "left", "length", "ln", "log", "lower", "ltrim", "mod", "nullif", "position", "power",
    "radians", "replace", "right", "round", "rtrim", "sign", "sqrt", "starts_with", "strpos", "substring", "trim",
    "trunc", "upper", "width_bucket",
)  # fmt: skip
"""What can be called, for a hint to a name that is not known."""
MOST_OF_A_HINT = 500
"""Characters of a statement that is written again in a hint."""


def asked_again(what: str, node: exp.Expr, table: str, group: str = "") -> str:
    """A statement that asks for something else of the rows that the SELECT around a node reads.

    Args:
        what: what it selects.
        node: in the SELECT, or the SELECT itself.
        table: what is asked where nothing but one table stands in FROM, without its alias.
        group: a key to group by.
    """
    select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
    source = table_text(table) if select is None or _is_plain(select, table) else _source(select)
    if len(source) > MOST_OF_A_HINT:
        return f"Ask for {what} of the same tables."
    return f"SELECT {what} FROM {source}{group and f' GROUP BY {group}'};"  # noqa: S608 - a hint


def is_of_one_table(node: exp.Expr, table: str) -> bool:
    """Whether the SELECT around a node reads one table as it is, so that its columns need no qualifier."""
    select = node.find_ancestor(exp.Select)
    return select is None or _is_plain(select, table)


def _is_plain(select: exp.Select, table: str) -> bool:
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    is_alone = not select.args.get("joins") and not select.args.get("laterals")
    return (
        is_alone
        and isinstance(item, exp.Table)
        and table.lower() in (item.name.lower(), f"{item.db}.{item.name}".lower())
    )


def _source(select: exp.Select) -> str:
    """What stands behind FROM, with its joins, but for those of a rewrite, and its WHERE."""
    kept = {key: select.args.get(key) for key in ("from_", "joins", "laterals", "where")}
    kept["joins"] = [j for j in kept["joins"] or () if not j.alias_or_name.startswith("#")]
    copy = exp.Select(**{key: value for key, value in kept.items() if value}).copy()
    return copy.sql(dialect="postgres", comments=False).split(" FROM ", 1)[-1].removeprefix("SELECT FROM ")


def similar(name: str, known: Iterable[str]) -> str | None:
    """The known name nearest to a misspelt one, None where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.65)
    return near[0] if near else None


def unknown_column(node: exp.Column, table: str, known: Iterable[str]) -> UndefinedColumn:
    """The same for a missing column and an undeclared one."""
    names = list(known)
    listed = ", ".join(identifier(n) for n in names) or "none are declared"
    near = similar(node.name, names)
    asked = f"Did you mean {identifier(near)}? " if near else ""
    if (field := field_of(node.name)) is not None:
        asked = _of_field(field, table, names)
    elif not near and node.this.args.get("quoted") and not node.table:
        asked = f"A text stands in single quotes: {literal(node.name)}. "
    hint = f"{asked}Columns of {table_text(table)}: {listed}."
    return UndefinedColumn(f'column "{node.name}" does not exist', hint=hint, position=position(node))


def _of_field(field: JsonField, table: str, names: Iterable[str]) -> str:
    """What to say of a field that is no column: how it is one, or which other type it has."""
    others = ((one, field_of(one)) for one in names)
    cast = next(
        (n for n, f in others if f is not None and (f.column, f.keys) == (field.column, field.keys)), None
    )
    if cast is not None:
        return f"It is declared as {cast}. "
    declared = f"ALTER TABLE {table_text(table)} ALTER COLUMN ({field.name}) SET PRIVACY DOMAIN"
    return (
        f"A field of {identifier(field.column)} is a column once an administrator declares it by {declared}. "
    )


_SHORT = 3
"""Letters of a name of which every other short one is near: age() is not meant as avg()."""


def unknown_function(node: exp.Anonymous) -> UndefinedFunction:
    """A function that no rule knows."""
    name, schema = str(node.this).lower(), _schema(node)
    near = similar(name, FUNCTIONS) if len(name) > _SHORT else None
    hint = f"Did you mean {near}()?" if near else f"Functions: {', '.join(FUNCTIONS)}."
    if schema is not None:
        hint = f"Write it without a schema: {name}." if name in BARE else hint
        name = f"{schema.sql()}.{name}"
    return UndefinedFunction(
        f"function {name}() does not exist or is not answered", hint=hint, position=position(schema or node)
    )


_BEHIND = (exp.Filter, exp.WithinGroup, exp.Window)


def _schema(node: exp.Expr) -> exp.Expr | None:
    """What stands before a call; with FILTER or the like behind it, the parser takes that for a column's table."""
    while isinstance(node.parent, _BEHIND) and node.arg_key == "this":
        node = node.parent
    if isinstance(node.parent, exp.Dot) and node.arg_key == "expression":
        found: exp.Expr = node.parent.this
        return found
    return node.parent.args.get("table") if isinstance(node.parent, exp.Column) else None


def refuse_statement(tree: exp.Expr) -> Unsupported:
    """Anything but a SELECT."""
    if isinstance(tree, exp.Command):
        name = str(tree.this).upper()
    elif isinstance(tree, _STATEMENTS):
        name = spaced(tree)
    else:
        return Unsupported("only SELECT statements are answered", hint=_READ_ONLY, position=0)
    return Unsupported(f"{name} statements are not answered", hint=_READ_ONLY, position=0)


def refuse_node(node: exp.Expr) -> Unsupported | UndefinedFunction:
    """A construct that is not listed."""
    if isinstance(node, exp.Anonymous):
        return unknown_function(node)
    hint = HINTS.get(type(node))
    if isinstance(node, exp.AggFunc):
        hint = hint or _SUMMARIES
    return Unsupported(f"{_named(node)} is not supported", hint=hint, position=position(node))


def _named(node: exp.Expr) -> str:
    return _NAMED.get(type(node)) or construct(node)


def refuse_clause(node: exp.Expr, name: str, value: object) -> Unsupported:
    """A clause of a listed construct that is not listed itself."""
    inner = value[0] if isinstance(value, list) else value
    inside = inner if isinstance(inner, exp.Expr) else None
    words = CLAUSES.get(name, f"{construct(node)} with {name.strip('_').replace('_', ' ')}")
    if isinstance(node, exp.Count):
        words = "count of several values"
    elif isinstance(node, exp.Order):
        words = "ORDER BY inside an aggregate"
    hint = HINTS.get(type(node)) if inside is None else HINTS.get(type(inside), HINTS.get(type(node)))
    return Unsupported(f"{words} is not supported", hint=hint, position=position(inside) or position(node))


GENERAL: dict[str, str] = {
    "0A000": "Leave it out.",
    "22023": "Give a value inside the range that the message names.",
    "22007": "Write a date as 2024-01-31, a time behind it, an interval as '3 months'.",
    "22P02": "Write a literal of that type, or CAST the other side.",
    "22003": "Use a smaller number, or CAST to numeric or double precision.",
    "42601": "Correct it at the place that is marked: nothing near it can be named for what does not parse.",
    "42803": "Aggregates stand in the SELECT list, HAVING and ORDER BY, and not inside each other.",
    "42804": "sum and avg take numbers; count(x) takes any column.",
    "22025": "Write the escape character before a wildcard or itself, or leave ESCAPE out.",
    "42P01": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'; lists the tables to ask.",
    "42P18": "Write parameters as $1, $2 and so on beside something that tells their type, or CAST them.",
    "54001": "Ask for less in one statement.",
    "PD001": "What was answered stays free: SHOW PRIVACY HISTORY lists it. More is for an administrator to declare.",
}
"""What to do instead, by SQLSTATE, where the place that refused knew nothing better."""
