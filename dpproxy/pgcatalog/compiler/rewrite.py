"""A statement about the catalogue, checked and turned into one for DuckDB over the catalogue's own tables.

Nothing that is not on a list passes: node classes in `allowed`, functions in `functions`, types in `casts`,
relations in `relations`. Names of DuckDB's own catalogue, files and table functions therefore never reach it.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from sqlglot import ErrorLevel, exp

from dpproxy.analysis.position import position
from dpproxy.analysis.present import write_present
from dpproxy.analysis.titles import folded, title
from dpproxy.pgcatalog.compiler import (
    allowed,
    arrays,
    calls,
    conversions,
    macros,
    moments,
    numbers,
    objects,
    operators,
    parameters,
    scopes,
    similar,
    table_functions,
    texts,
    trees,
)
from dpproxy.pgcatalog.compiler import kinds as kinds_of
from dpproxy.pgcatalog.compiler.kind_rules import kind_of, note_kind
from dpproxy.pgcatalog.compiler.table_functions import Places
from dpproxy.pgcatalog.compiler.trees import text
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.errors import Refusal, TooComplex, UndefinedTable, Unsupported
from dpproxy.values.pgtypes import TIMESTAMPTZ, SqlType

SCHEMAS = {"pg_catalog": "pg_catalogue", "information_schema": "information", "internal": "internal"}
"""The schemas' names inside DuckDB, where pg_catalog and information_schema are its own."""
MOST_WORDS = 30_000
"""The most words of a statement after macros are expanded: the engine parses them before it can be interrupted."""
SESSION = frozenset({"pg_settings", "pg_stat_activity", "pg_timezone_names"})
"""Relations whose rows depend on the session or on the time."""


class Rewritten(Struct):
    """A statement for DuckDB.

    Attributes:
        tables: catalogue relations to fill before it runs.
        fresh: relations whose rows are computed for the statement: those of dp, and of `SESSION`.
        fields: names and types of the result columns; None where they are unknown.
        columns: the position of the first use of each column, by lower-case name.
    """

    view: CatalogueView
    sql: str = ""
    fields: kinds_of.Fields | None = None
    tables: set[tuple[str, str]] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    columns: dict[str, int | None] = field(default_factory=dict)


def rewrite(
    view: CatalogueView, tree: exp.Expr, kinds: Sequence[SqlType], values: Sequence[object] | None
) -> Rewritten:
    """Check and translate; without values each parameter is a NULL of its type.

    Raises:
        Refusal: for whatever is not on a list.
    """
    allowed.check(tree)
    tree = write_present(_selected(tree.copy()))
    _name_columns(tree)
    moments.put_in_present(tree, view.settings)
    allowed.check_growth(tree)
    operators.replace_operators(tree)
    table_functions.put_in(tree)
    similar.replace_patterns(tree)
    parameters.put_in(tree, kinds, values)
    fields = kinds_of.infer(tree, {relation.name: relation.columns for relation in view.own})
    state = Rewritten(view, fields=fields, columns=_places(tree))
    _check_zone(tree, view)
    nodes = list(tree.walk(bfs=True))
    for node in reversed(nodes):
        rule = _RULES.get(type(node))
        if rule is not None:
            try:
                changed = rule(node, state)
            except Refusal as refusal:
                if refusal.position is None:
                    refusal.position = position(node)
                raise
            if changed is not node:
                note_kind(changed, kind_of(node))
                node.replace(changed)
    numbers.means(tree)
    texts.check_bytes(tree, view.settings)
    if macros.expanded_words(tree) > MOST_WORDS:
        raise TooComplex("the statement is too complex", hint="Nest fewer functions in each other.")
    state.tables.update(macros.read_by(tree))
    state.sql = tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE, comments=False)
    return state


def _check_zone(tree: exp.Expr, view: CatalogueView) -> None:
    """Refuse to compute with moments in a time zone that the engine does not have."""
    if moments.engine_zone(view.settings) is None:
        for node in tree.walk():
            kind = kind_of(node)
            if kind is not None and kind.oid == TIMESTAMPTZ.oid:
                raise Unsupported(
                    "moments are not computed with in this time zone",
                    hint="SET TimeZone to one of the tz database, as Europe/Berlin.",
                    position=position(node),
                )


def _selected(tree: exp.Expr) -> exp.Expr:
    """A bare VALUES as a SELECT, with PostgreSQL's column names."""
    if not isinstance(tree, exp.Values):
        return tree
    first = tree.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    names = [exp.to_identifier(f"column{n}") for n in range(1, width + 1)]
    tree.set("alias", exp.TableAlias(this=exp.to_identifier("values_list"), columns=names))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=tree))


def _name_columns(tree: exp.Expr) -> None:
    for select in tree.find_all(exp.Select):
        named = [p if _has_name(p) else _aliased(p) for p in select.expressions]
        select.set("expressions", named)


def _places(tree: exp.Expr) -> dict[str, int | None]:
    return {column.name.lower(): position(column) for column in reversed(list(tree.find_all(exp.Column)))}


def _has_name(projection: exp.Expr) -> bool:
    if isinstance(projection, exp.Column):
        return projection.name.lower() not in calls.SPOKEN or bool(projection.table)
    return isinstance(projection, exp.Alias | exp.Star)


def _aliased(projection: exp.Expr) -> exp.Expr:
    return exp.Alias(this=projection, alias=exp.to_identifier(title(projection), quoted=True))


def _table(node: exp.Expr, state: Rewritten) -> exp.Expr:
    if not isinstance(node, exp.Table):
        return node
    if not isinstance(node.this, exp.Identifier):
        return _table_function(node)
    if not scopes.is_relation(node):
        return node
    schema, name = folded(node.args.get("db")) or "pg_catalog", folded(node.this)
    if node.catalog and node.catalog != state.view.database:
        raise Unsupported("cross-database references are not supported")
    if schema == "dp":
        return _fresh(node, state, name, any(r.name == name for r in state.view.own))
    if (schema, name) not in TABLES and not node.meta.get(table_functions.CALLED):
        shown = f"{schema}.{name}" if node.db else name
        raise UndefinedTable(f'relation "{shown}" does not exist')
    if name in SESSION:
        return _fresh(node, state, name, known=True)
    state.tables.add((schema, name))
    return _renamed(node, name, name, SCHEMAS[schema])


def _fresh(node: exp.Table, state: Rewritten, name: str, known: bool) -> exp.Expr:  # noqa: FBT001
    if not known:
        raise UndefinedTable(f'relation "dp.{name}" does not exist')
    state.fresh.add(name)
    return _renamed(node, name, fresh_name(name), None)


def fresh_name(name: str) -> str:
    """The DuckDB name of a relation whose rows are computed for the statement."""
    return f"fresh_{name}"


def _renamed(node: exp.Table, shown: str, stored: str, schema: str | None) -> exp.Expr:
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(shown, quoted=True)))
    node.set("this", exp.to_identifier(stored, quoted=True))
    node.set("db", exp.to_identifier(schema, quoted=True) if schema else None)
    node.set("catalog", None)
    return node


_ROW_SOURCES = (exp.Explode, exp.ExplodingGenerateSeries, exp.GenerateSeries)


def _table_function(node: exp.Table) -> exp.Expr:
    """A function in FROM: its one column has the alias's name, as in PostgreSQL."""
    if not isinstance(node.this, _ROW_SOURCES):
        raise Unsupported("this function may not stand in FROM here")
    node.set("db", None)
    node.set("catalog", None)
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(title(node.this)))
    if not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy()])
    node.set("alias", alias)
    return node


def _column(node: exp.Expr, state: Rewritten) -> exp.Expr:
    if not isinstance(node, exp.Column):
        return node
    name = node.name.lower()
    if not node.table and not node.this.args.get("quoted") and name in calls.SPOKEN:
        return trees.spoken(calls.SPOKEN[name](state.view))
    if name in _SYSTEM_COLUMNS and not node.this.args.get("quoted"):
        return trees.oid(_SYSTEM_COLUMNS[name])
    node.set("db", None)
    node.set("catalog", None)
    return node


_SYSTEM_COLUMNS = {"xmin": 1, "xmax": 0, "cmin": 0, "cmax": 0, "tableoid": 0}
"""System columns that every table has in PostgreSQL, with the constant that each has here."""


def _comparison(node: exp.Expr, _state: Rewritten) -> exp.Expr:
    objects.comparison(node)
    for key, other in (("this", "expression"), ("expression", "this")):
        side, beside = node.args.get(key), node.args.get(other)
        if not isinstance(side, exp.Literal):
            if objects.is_procedure(side) and not isinstance(beside, exp.Literal):
                node.set(key, objects.function_oid(node.args[key]))
            continue
        is_none = objects.is_procedure(beside) and side.name == "0"
        node.set(key, text("-") if is_none else arrays.literal_beside(side))
    return node


_FIELDS = frozenset({"n", "x", *table_functions.ACL_FIELDS})
"""The fields that ``_pg_expandarray`` (element and position) and ``aclexplode`` return."""


def _dot(node: exp.Expr, _state: Rewritten) -> exp.Expr:
    if not isinstance(node, exp.Dot):
        return node
    schema: exp.Expr = node.this
    inner: exp.Expr = node.expression
    if isinstance(node.parent, exp.DataType | exp.Dot):
        return node
    if isinstance(schema, exp.Identifier) and not isinstance(inner, exp.Identifier):
        if schema.name.lower() in ("pg_catalog", "information_schema"):
            return inner
    elif isinstance(schema, exp.Paren) and inner.name in _FIELDS:
        return node
    raise Unsupported("a name of this form is not supported here", position=position(node))


def _call(node: exp.Expr, state: Rewritten) -> exp.Expr:
    if not isinstance(node, exp.Anonymous):
        return node
    if node.name.lower() in texts.READ_AGAIN:
        typed = exp.func(node.name, *node.expressions, dialect="postgres")
        rule = _RULES.get(type(typed))
        return typed if rule is None else rule(typed, state)
    if (counted := arrays.of_vector(node)) is not None:
        return counted
    if node.name.lower() == "pg_typeof" and len(node.expressions) == 1:
        return objects.type_of(node)
    if node.name.lower() == "array_to_string" and len(node.expressions) in (2, 3):
        value, separator, *null = node.expressions
        return texts.join(exp.ArrayToString(this=value, expression=separator, null=null[0] if null else None))
    return objects.with_existence(node, calls.rewritten(node, state.view))


def _as_integer(node: exp.Expr, _state: Rewritten) -> exp.Expr:
    """A cast of what the engine counts in 64 bits to integer, which PostgreSQL returns."""
    return trees.cast(node.copy(), "INTEGER")


_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr, Rewritten], exp.Expr]] = {
    exp.Add: lambda node, _state: numbers.widen(node),
    exp.Anonymous: _call,
    exp.Any: lambda node, _state: arrays.of_any(node),
    exp.AtTimeZone: lambda node, _state: moments.in_zone(node),
    exp.ArraySize: lambda node, _state: arrays.size(node),
    exp.ArrayToString: lambda node, _state: texts.join(node),
    exp.ByteString: lambda node, _state: text(str(node.this)),
    exp.Cast: lambda node, state: conversions.cast(node, state.view.settings),
    exp.Concat: lambda node, _state: texts.concat(node),
    exp.ConcatWs: lambda node, _state: texts.concat(node),
    exp.DPipe: lambda node, _state: texts.concatenation(node),
    exp.Extract: lambda node, _state: numbers.part(node),
    exp.In: lambda node, _state: objects.comparison(node),
    exp.Literal: lambda node, _state: numbers.literal(node),
    exp.Pow: lambda node, _state: numbers.power(node),
    exp.RegexpExtract: lambda node, _state: texts.match(node),
    exp.Round: lambda node, _state: numbers.round_half_even(node),
    exp.TimestampTrunc: lambda node, _state: numbers.truncate(node),
    exp.StringToArray: lambda node, _state: texts.split(node),
    exp.Bracket: lambda node, _state: arrays.bracket(node),
    exp.Chr: lambda node, _state: texts.character(node),
    exp.Coalesce: lambda node, _state: arrays.of_coalesce(node),
    exp.Collate: lambda node, _state: node.this,
    exp.Column: _column,
    exp.Div: lambda node, _state: numbers.divide(node),
    exp.Dot: _dot,
    exp.Encode: lambda node, _state: texts.encode(node),
    exp.EQ: _comparison,
    exp.ExplodingGenerateSeries: lambda node, _state: calls.bounded_series(node),
    exp.Format: lambda node, _state: texts.format_of(node),
    exp.GenerateSeries: lambda node, _state: calls.bounded_series(node),
    exp.ILike: lambda node, _state: texts.like(node),
    exp.Length: lambda node, state: _as_integer(texts.length(node), state),
    exp.Like: lambda node, _state: texts.like(node),
    exp.Mul: lambda node, _state: numbers.widen(node),
    exp.NEQ: _comparison,
    exp.StrPosition: _as_integer,
    exp.Sub: lambda node, _state: numbers.widen(node),
    exp.Substring: lambda node, _state: texts.substring(node),
    Places: lambda node, _state: calls.places(node),
    exp.Table: _table,
    exp.TimeToStr: lambda node, state: texts.to_char(node, state.view.settings),
    **dict.fromkeys(calls.WORDS, lambda node, state: calls.word(node, state.view)),
    exp.CurrentSchemas: lambda node, state: calls.schemas(node, state.view),
}
