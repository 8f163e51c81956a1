"""Our own DuckDB text as the text of another engine, by allow-list: what a dialect has no line for is refused.

The text is what the planner wrote and ``analysis.totality`` checked; nothing else is read here. A dialect says for each
construct how its engine computes the same value for every row, and why no row can make that raise. Queries are
rebuilt: each ``*`` is written out and QUALIFY becomes a condition around a subquery, so that names have one
meaning in every engine; what a column holds is known everywhere, since the same sign can mean two operations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import sqlglot
from sqlglot import exp

from dpproxy.backends.dialect import Dialect, Kind, Value, unanswered
from dpproxy.backends.operands import parts

LONGEST_NAME = 63
"""Bytes of a name: some engines cut longer ones, and two could become one."""
LONGEST = 1_000_000
"""Characters of a statement in the other engine's text."""
_RANKS = (exp.RowNumber, exp.DenseRank, exp.Rank)

Tables = Callable[[str, str], Mapping[str, Value] | None]
"""The columns of a table by (database, name), None where there is none; the database of the data is ``""``.

Each is made by ``dialect.stored``: its kind, and how it is read.
"""


@dataclass(frozen=True, slots=True)
class Item:
    """One column that a query shows, or that stands in FROM: its own spelling, and how it is read there."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Query:
    """The text of a query and its columns, which are read by their names from outside."""

    sql: str
    columns: tuple[Item, ...]
    parameters: tuple[str, ...] = ()
    """The parameters' numbers in our text, in the order of theirs: 1, 2, ... without a gap."""
    tables: frozenset[str] = frozenset()
    """The tables of the data source that it reads."""


@dataclass(frozen=True, slots=True)
class _Relation:
    alias: str
    columns: tuple[Item, ...]


@dataclass(slots=True)
class _Scope:
    relations: list[_Relation] = field(default_factory=list)
    outer: "_Scope | None" = None


def transpiled(sql: str, dialect: Dialect, tables: Tables) -> Query:
    """One statement of ours for another engine.

    Errors: ``Unsupported`` (0A000) for a construct that the dialect does not list, and for a table it does not have.
    """
    driver = _Driver(dialect, tables)
    try:
        query = driver.query(sqlglot.parse_one(sql, read="duckdb"), None)
    except RecursionError:
        raise unanswered("a statement nested so deeply", dialect.engine) from None
    return replace(query, parameters=tuple(driver.parameters), tables=frozenset(driver.read))


class _Driver:
    def __init__(self, dialect: Dialect, tables: Tables) -> None:
        self._dialect = dialect
        self._tables = tables
        self._numbers = count()
        self.parameters: list[str] = []
        self.read: set[str] = set()

    # --- queries ----------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: _Scope | None) -> Query:
        query = self._query(node, outer)
        self._check_size(query.sql)
        return query

    def _query(self, node: exp.Expr, outer: _Scope | None) -> Query:
        match node:
            case exp.Subquery():
                return self.query(node.this, outer)
            case exp.Union():
                return self._union(node, outer)
            case exp.Select():
                return self._select(node, outer)
            case _:
                raise unanswered("this form of a query")

    def _union(self, node: exp.Union, outer: _Scope | None) -> Query:
        if node.args.get("distinct") or node.args.get("order") or node.args.get("limit"):
            raise unanswered("a union of this form")
        left, right = self.query(node.left, outer), self.query(node.right, outer)
        if len(left.columns) != len(right.columns):
            raise unanswered("a union of different columns")
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(Item(a.name, self._dialect.merged([a.value, b.value], a.value.sql)) for a, b in pairs)
        return Query(f"({left.sql}) UNION ALL ({right.sql})", columns)

    def _select(self, node: exp.Select, outer: _Scope | None) -> Query:
        _check_clauses(
            node, {"expressions", "from_", "joins", "where", "group", "qualify", "distinct", "order", "limit"}
        )
        scope = _Scope(outer=outer)
        source = self._from(node, scope)
        items = [item for e in node.expressions for item in self._items(e, scope)]
        where = node.args.get("where")
        condition = "" if where is None else f" WHERE {self._value(where.this, scope).sql}"
        grouped = self._group(node, scope)
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise unanswered("DISTINCT ON")
        word = "SELECT DISTINCT" if distinct is not None else "SELECT"
        qualify, order, limit = node.args.get("qualify"), node.args.get("order"), _limit(node)
        shown = [self._named(item) for item in items]
        if qualify is None:
            query = self._shown(f"{word} {', '.join(shown)}{source}{condition}{grouped}", items)
            return self._ended(query, order, limit)
        if grouped or distinct is not None or order is not None or limit:
            raise unanswered("QUALIFY beside another clause")
        rank, most = self._rank(qualify.this, scope)
        place = self._name(f"rank_{next(self._numbers)}")
        inner = f"SELECT {', '.join([*shown, f'{rank} AS {place}'])}{source}{condition}"
        names = ", ".join(self._name(item.name) for item in items)
        return self._shown(f"SELECT {names} FROM ({inner}) AS qualified WHERE {place} <= {most}", items)  # noqa: S608 - our own

    def _shown(self, sql: str, items: Sequence[Item]) -> Query:
        names = [item.name.lower() for item in items]
        if len(set(names)) < len(names):
            raise unanswered("two columns of one name")
        return Query(sql, tuple(Item(i.name, i.value.as_column(self._name(i.name))) for i in items))

    def _named(self, item: Item) -> str:
        return f"{item.value.sql} AS {self._name(item.name)}"

    def _items(self, node: exp.Expr, scope: _Scope) -> Iterable[Item]:
        if isinstance(node, exp.Star):
            for relation in scope.relations:
                yield from relation.columns
        else:
            is_named = isinstance(node, exp.Alias | exp.Column)
            name = node.alias_or_name if is_named else f"column{next(self._numbers)}"
            yield Item(name, self._value(node.unalias(), scope))

    def _from(self, node: exp.Select, scope: _Scope) -> str:
        item = node.args.get("from_")
        if item is None:
            return ""
        parts = [f" FROM {self._item(item.this, scope)}"]
        parts.extend(self._join(join, scope) for join in node.args.get("joins") or ())
        return "".join(parts)

    def _join(self, join: exp.Join, scope: _Scope) -> str:
        _check_clauses(join, {"this", "on", "kind", "side"})
        kind, side, on = join.args.get("kind") or "", join.args.get("side") or "", join.args.get("on")
        words = " ".join(w for w in (side, kind) if w) or ("CROSS" if on is None else "")
        if words.upper() not in ("", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "LEFT OUTER", "FULL OUTER"):
            raise unanswered("a join of this kind")
        item = self._item(join.this, scope)
        condition = "" if on is None else f" ON {self._on(on, scope).sql}"
        return f" {words} JOIN {item}{condition}".replace("  ", " ")

    def _on(self, node: exp.Expr, scope: _Scope) -> Value:
        """A condition of a join: beside a column without NULL an equality, by which engines can hash or sort."""
        if type(node) is exp.NullSafeEQ:
            parts = [self._value(part, scope) for part in (node.left, node.right)]
            if any(part.required for part in parts):
                return self._dialect.apply(exp.EQ(this=node.this, expression=node.expression), parts)
        return self._value(node, scope)

    def _item(self, node: exp.Expr, scope: _Scope) -> str:
        """An item of FROM; its columns join the scope."""
        match node:
            case exp.Table():
                return self._table(node, scope)
            case exp.Subquery():
                inner = self.query(node.this, scope.outer)
                return self._enter(scope, f"({inner.sql})", node.alias or "bounded", inner.columns)
            case exp.Values():
                return self._values(node, scope)
            case _:
                raise unanswered("this item of FROM")

    def _table(self, node: exp.Table, scope: _Scope) -> str:
        _check_clauses(node, {"this", "db", "catalog", "alias"})
        if not isinstance(node.this, exp.Identifier):
            raise unanswered("a table function")
        known = self._tables(node.catalog, node.name)
        if known is None:
            what = "a protected view beside tables" if node.catalog else "a table that is not there"
            raise unanswered(what)
        self.read |= {node.name} if not node.catalog else set()
        items = tuple(Item(name, replace(held, name=self._name(name))) for name, held in known.items())
        return self._enter(
            scope, self._dialect.table(node.catalog, node.name), node.alias or node.name, items
        )

    def _values(self, node: exp.Values, scope: _Scope) -> str:
        rows = [[self._value(v, scope) for v in row.expressions] for row in node.expressions]
        names = [c.name for c in node.args["alias"].args.get("columns") or ()]
        if not rows or any(len(row) != len(names) for row in rows):
            raise unanswered("a list of values without names")
        columns = [[row[i] for row in rows] for i in range(len(names))]
        items = tuple(
            Item(name, replace(self._dialect.merged(held, self._name(name)), required=_has_no_null(held)))
            for name, held in zip(names, columns, strict=True)
        )
        listed = ", ".join(f"({', '.join(v.sql for v in row)})" for row in rows)
        shown = ", ".join(map(self._name, names))
        inner = f"(SELECT * FROM (VALUES {listed}) AS listed({shown}))"  # noqa: S608 - our own
        return self._enter(scope, inner, node.alias, items)

    def _enter(self, scope: _Scope, sql: str, alias: str, columns: Sequence[Item]) -> str:
        if any(r.alias.lower() == alias.lower() for r in scope.relations):
            raise unanswered("two items of FROM of one name")
        held = self._name(alias)
        renamed = tuple(Item(c.name, c.value.under(held)) for c in columns)
        scope.relations.append(_Relation(alias, renamed))
        return f"{sql} AS {held}"

    def _group(self, node: exp.Select, scope: _Scope) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        _check_clauses(group, {"expressions"})
        keys = [
            e.name if isinstance(e, exp.Literal) else self._value(e, scope).sql for e in group.expressions
        ]
        return f" GROUP BY {', '.join(keys)}"

    def _ended(self, query: Query, order: exp.Order | None, limit: str) -> Query:
        """The rows in an order of the columns that are shown, which are told by their place, and the first of them."""
        if order is None:
            return replace(query, sql=query.sql + limit)
        entries = [
            self._direction(entry, value)
            for entry in order.expressions
            for value in _places(entry, [c.value for c in query.columns])
        ]
        columns = ", ".join(c.value.name for c in query.columns)
        sql = f"SELECT {columns} FROM ({query.sql}) AS listed ORDER BY {', '.join(entries)}{limit}"  # noqa: S608
        return replace(query, sql=sql)

    def _ordered(self, node: exp.Expr, scope: _Scope) -> str:
        if not isinstance(node, exp.Ordered) or isinstance(node.this, exp.Literal):
            raise unanswered("an order of this form")
        return self._direction(node, self._value(node.this, scope))

    def _direction(self, node: exp.Expr, value: Value) -> str:
        direction = "DESC" if node.args.get("desc") else "ASC"
        nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
        return f"{self._dialect.sorted(value)} {direction} NULLS {nulls}"

    def _rank(self, node: exp.Expr, scope: _Scope) -> tuple[str, str]:
        """The rank of a window, and the most it may be."""
        if type(node) is not exp.LTE or type(node.this) is not exp.Window or not node.expression.is_int:
            raise unanswered("this condition of QUALIFY")
        window = node.this
        _check_clauses(window, {"this", "partition_by", "order", "over"})
        if type(window.this) not in _RANKS:
            raise unanswered("this window function")
        parts = ", ".join(self._value(p, scope).sql for p in window.args.get("partition_by") or ())
        order = ", ".join(self._ordered(o, scope) for o in window.args["order"].expressions)
        name = str(window.this.sql_name()).lower()
        return f"{name}() OVER (PARTITION BY {parts} ORDER BY {order})", node.expression.name

    # --- expressions ------------------------------------------------------------------------------

    def _value(self, node: exp.Expr, scope: _Scope) -> Value:
        value = self._written(node, scope)
        self._check_size(value.sql)
        return value

    def _check_size(self, sql: str) -> None:
        """Operands that are written twice double at each level."""
        if len(sql) > LONGEST or sql.count("(") > self._dialect.most_calls:
            raise unanswered("a statement this long", self._dialect.engine)

    def _written(self, node: exp.Expr, scope: _Scope) -> Value:
        match node:
            case exp.Paren():
                return self._value(node.this, scope)
            case exp.Column():
                return self._column(node, scope)
            case exp.In() if node.args.get("query") is not None:
                inner = self.query(node.args["query"], scope)
                held = f"{self._value(node.this, scope).sql} IN ({inner.sql})"
                return Value(self._dialect.grouped(held), Kind.TRUTH)
            case exp.Placeholder():
                return self._dialect.apply(exp.Placeholder(this=self._parameter(str(node.this))), [])
            case exp.Exists():
                return Value(f"EXISTS ({self.query(node.this, scope).sql})", Kind.TRUTH)
            case _:
                return self._dialect.apply(node, [self._value(part, scope) for part in parts(node)])

    def _parameter(self, number: str) -> str:
        if number not in self.parameters:
            self.parameters.append(number)
        return str(self.parameters.index(number) + 1)

    def _column(self, node: exp.Column, scope: _Scope | None) -> Value:
        """The nearest meaning of a name, as the engine of ours finds it: without regard to case."""
        while scope is not None:
            found = [
                item.value
                for relation in scope.relations
                if not node.table or relation.alias.lower() == node.table.lower()
                for item in relation.columns
                if item.name.lower() == node.name.lower()
            ]
            if len(found) > 1:
                raise unanswered("a name of two columns")
            if found:
                return found[0]
            scope = scope.outer
        raise unanswered("a column that is not in the data source")

    def _name(self, name: str) -> str:
        if len(name.encode()) > LONGEST_NAME or "\0" in name:
            raise unanswered(f"a name of more than {LONGEST_NAME} bytes")
        return self._dialect.name(name)


def _places(entry: exp.Expr, columns: Sequence[Value]) -> Sequence[Value]:
    """What an entry of ORDER BY names: a column's place, or ALL of them."""
    place = entry.this if isinstance(entry, exp.Ordered) else entry
    if isinstance(place, exp.Literal) and place.is_int and 0 < int(place.name) <= len(columns):
        return [columns[int(place.name) - 1]]
    if isinstance(place, exp.Var) and place.name.upper() == "ALL":
        return columns
    raise unanswered("an order by anything but a column's place")


def _has_no_null(values: Sequence[Value]) -> bool:
    return all(value.kind is not Kind.NULL for value in values)


def _limit(node: exp.Select) -> str:
    limit = node.args.get("limit")
    if limit is None:
        return ""
    if not isinstance(limit.expression, exp.Literal) or not limit.expression.is_int:
        raise unanswered("a limit that is no number")
    return f" LIMIT {limit.expression.name}"


def _check_clauses(node: exp.Expr, known: set[str]) -> None:
    for name, value in node.args.items():
        if value and name not in known:
            raise unanswered("this clause of a query")
