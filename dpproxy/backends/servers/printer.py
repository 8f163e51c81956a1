"""Our nodes as the text of another engine, by allow-list: what a dialect has no row for is refused.

The nodes are what the planner made and ``analysis.totality`` checked; nothing else is written here. A dialect says for
each construct how its engine computes the same value for every row, and why no row can make that raise. Queries are
rebuilt: each ``*`` is written out and QUALIFY becomes a condition around a subquery, so that names have one
meaning in every engine; what a column holds is known everywhere, since the same sign can mean two operations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis.totality import is_frame
from dpproxy.backends.servers.dialect import Dialect, Unanswered, Value, ValueKind
from dpproxy.backends.servers.implied import with_implied
from dpproxy.backends.servers.standard import WINDOWS

LONGEST_NAME = 63
"""Bytes of a name: some engines cut longer ones, and two could become one."""
LONGEST = 1_000_000
"""Characters of a statement in the other engine's text."""
_RANKS: Final = ("row_number", "dense_rank", "rank")
_JOINS: Final = ("", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "LEFT OUTER", "FULL OUTER")

Tables = Callable[[str, str], Mapping[str, Value] | None]
"""The columns of a table by (database, name), None where there is none; the database of the data is ``""``.

Each is made by ``dialect.stored``: its kind, and how it is read.
"""


class OutputColumn(Struct, frozen=True):
    """One column that a query shows: its own spelling, and how it is read from outside."""

    name: str
    value: Value


class PrintedQuery(Struct, frozen=True):
    """A query in the other engine's text, and its columns, which are read by their names from outside."""

    sql: str
    columns: tuple[OutputColumn, ...]
    parameters: tuple[str, ...] = ()
    """The parameters' numbers in our nodes, in the order of theirs: 1, 2, ... without a gap."""
    tables: frozenset[str] = frozenset()
    """The tables of the data source that it reads."""


class _Relation(Struct):
    """An item of FROM: its alias, as ours and as written, and its columns by their own spelling."""

    alias: str
    text: str
    columns: Mapping[str, Value]
    spellings: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.columns:
            self.spellings.setdefault(name.lower(), []).append(name)


class _Scope(Struct):
    relations: list[_Relation] = field(default_factory=list)
    outer: "_Scope | None" = None


def statement(query: nodes.Node, dialect: Dialect, tables: Tables) -> PrintedQuery:
    """One statement of ours for another engine.

    Errors: ``Unsupported`` (0A000) for a construct that the dialect does not list, and for a table it does not have.
    """
    printer = _Printer(dialect, tables)
    try:
        made = printer.query(query, None)
    except Unanswered as refusal:
        raise Unanswered(refusal.what, dialect.engine, refusal.hint or "") from None
    except RecursionError:
        raise Unanswered("a statement nested so deeply", dialect.engine) from None
    return replace(made, parameters=tuple(printer.parameters), tables=frozenset(printer.read))


class _Printer:
    def __init__(self, dialect: Dialect, tables: Tables) -> None:
        self._dialect = dialect
        self._tables = tables
        self._numbers = count()
        self.parameters: dict[str, int] = {}
        self.read: set[str] = set()
        self._items: Mapping[type[nodes.Item], Callable[[Any, _Scope], str]] = {
            nodes.Table: self._table,
            nodes.Subquery: self._subquery,
            nodes.Values: self._values,
        }
        self._special: Mapping[type[nodes.Expr], Callable[[Any, _Scope], Value]] = {
            nodes.Paren: lambda node, scope: self._value(node.value, scope),
            nodes.ColumnRef: self._column,
            nodes.Parameter: self._parameter,
            nodes.InQuery: self._in_query,
            nodes.Window: self._window,
            nodes.Exists: lambda node, scope: Value(
                f"EXISTS ({self.query(node.query, scope).sql})", ValueKind.TRUTH
            ),
        }

    # --- queries ----------------------------------------------------------------------------------

    def query(self, node: nodes.Node, outer: _Scope | None) -> PrintedQuery:
        match node:
            case nodes.Select():
                made = self._select(node, outer)
            case nodes.Combined():
                made = self._union(node, outer)
            case _:
                raise Unanswered("this form of a query")
        self._check_size(made.sql)
        return made

    def _union(self, node: nodes.Combined, outer: _Scope | None) -> PrintedQuery:
        if node.operator != "UNION ALL" or node.order or node.limit or node.offset:
            raise Unanswered("a union of this form")
        left, right = self.query(node.left, outer), self.query(node.right, outer)
        if len(left.columns) != len(right.columns):
            raise Unanswered("a union of different columns")
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(
            OutputColumn(a.name, self._dialect.merged([a.value, b.value], a.value.sql)) for a, b in pairs
        )
        sql = f"SELECT * FROM ({left.sql}) AS a UNION ALL SELECT * FROM ({right.sql}) AS b"  # noqa: S608 - our own
        return PrintedQuery(sql, columns)

    def _select(self, node: nodes.Select, outer: _Scope | None) -> PrintedQuery:
        if node.having is not None or node.offset is not None:
            raise Unanswered("this clause of a query")
        if node.distinct_on:
            raise Unanswered("DISTINCT ON")
        self._check_keys(node)
        scope = _Scope(outer=outer)
        source = self._from(node, scope)
        items = [item for e in node.items for item in self._shown(e, scope)]
        where = "" if node.where is None else f" WHERE {self._value(with_implied(node.where), scope).sql}"
        group = self._group(node.group, scope)
        shown = [f"{item.value.sql} AS {self._name(item.name)}" for item in items]
        word, limit = "SELECT DISTINCT" if node.distinct else "SELECT", _limit(node)
        if node.qualify is None:
            made = self._made(f"{word} {', '.join(shown)}{source}{where}{group}{_fence(node)}", items)
            return self._ended(made, node.order, limit)
        if group or node.distinct or node.order or limit:
            raise Unanswered("QUALIFY beside another clause")
        rank, most = self._rank(node.qualify, scope)
        place = self._name(f"rank_{next(self._numbers)}")
        inner = f"SELECT {', '.join([*shown, f'{rank} AS {place}'])}{source}{where}"
        names = ", ".join(self._name(item.name) for item in items)
        return self._made(f"SELECT {names} FROM ({inner}) AS qualified WHERE {place} <= {most}", items)  # noqa: S608 - our own

    def _made(self, sql: str, items: Sequence[OutputColumn]) -> PrintedQuery:
        if len({item.name.lower() for item in items}) < len(items):
            raise Unanswered("two columns of one name")
        return PrintedQuery(
            sql, tuple(OutputColumn(i.name, i.value.as_column(self._name(i.name))) for i in items)
        )

    def _shown(self, node: nodes.Expr, scope: _Scope) -> Iterator[OutputColumn]:
        if isinstance(node, nodes.Star):
            for relation in scope.relations:
                yield from (OutputColumn(name, self._read(relation, name)) for name in relation.columns)
        elif isinstance(node, nodes.Named):
            yield OutputColumn(node.name, self._value(node.value, scope))
        else:
            name = node.name if isinstance(node, nodes.ColumnRef) else f"column{next(self._numbers)}"
            yield OutputColumn(name, self._value(node, scope))

    def _from(self, node: nodes.Select, scope: _Scope) -> str:
        if node.source is None:
            return ""
        first = f" FROM {self._item(node.source, scope)}"
        return first + "".join([self._join(join, scope) for join in node.joins])

    def _join(self, node: nodes.Join, scope: _Scope) -> str:
        kind = node.kind or ("CROSS" if node.on is None else "")
        if kind not in _JOINS:
            raise Unanswered("a join of this kind")
        item = self._item(node.item, scope)
        condition = "" if node.on is None else f" ON {self._on(node.on, scope).sql}"
        return f" {kind} JOIN {item}{condition}" if kind else f" JOIN {item}{condition}"

    def _on(self, node: nodes.Expr, scope: _Scope) -> Value:
        """A condition of a join: beside a column without NULL an equality, by which engines can hash or sort."""
        if isinstance(node, nodes.Binary) and node.operator == "IS NOT DISTINCT FROM":
            parts = [self._value(part, scope) for part in (node.left, node.right)]
            if any(part.required for part in parts):
                return self._dialect.construct(replace(node, operator="=")).rule(node, parts)
        return self._value(node, scope)

    def _item(self, node: nodes.Item, scope: _Scope) -> str:
        """An item of FROM; its columns join the scope."""
        rule = self._items.get(type(node))
        if rule is None:
            raise Unanswered("this item of FROM")
        return rule(node, scope)

    def _table(self, node: nodes.Table, scope: _Scope) -> str:
        database = node.path[0] if len(node.path) > 1 else ""
        known = self._tables(database, node.name)
        if known is None:
            raise Unanswered("a protected view beside tables" if database else "a table that is not there")
        self.read |= set() if database else {str(node.name)}
        return self._enter(scope, self._dialect.table(database, node.name), node.alias or node.name, known)

    def _subquery(self, node: nodes.Subquery, scope: _Scope) -> str:
        if node.lateral or node.columns:
            raise Unanswered("this item of FROM")
        inner = self.query(node.query, scope.outer)
        columns = {item.name: item.value for item in inner.columns}
        return self._enter(scope, f"({inner.sql})", node.alias or "bounded", columns)

    def _values(self, node: nodes.Values, scope: _Scope) -> str:
        rows = [[self._value(v, scope) for v in row] for row in node.rows]
        if not rows or any(len(row) != len(node.columns) for row in rows):
            raise Unanswered("a list of values without names")
        columns = {
            name: replace(self._dialect.merged(held, self._name(name)), required=_has_no_null(held))
            for name, held in zip(node.columns, map(list, zip(*rows, strict=True)), strict=True)
        }
        listed = ", ".join(f"({', '.join(v.sql for v in row)})" for row in rows)
        shown = ", ".join(map(self._name, node.columns))
        return self._enter(scope, self._dialect.listed(listed, shown), node.alias, columns)

    def _enter(self, scope: _Scope, sql: str, alias: str, columns: Mapping[str, Value]) -> str:
        if any(r.alias.lower() == alias.lower() for r in scope.relations):
            raise Unanswered("two items of FROM of one name")
        scope.relations.append(_Relation(alias, self._name(alias), columns))
        return f"{sql} AS {scope.relations[-1].text}"

    def _group(self, group: Sequence[nodes.Expr | nodes.Sets], scope: _Scope) -> str:
        keys = [e.text if isinstance(e, nodes.Number) else self._key(e, scope) for e in group]
        return f" GROUP BY {', '.join(keys)}" if keys else ""

    def _check_keys(self, node: nodes.Select) -> None:
        """Some engines ask no subquery in a key. Raises ``Unsupported``."""
        if self._dialect.asks_in_keys:
            return
        keys = [node.items[int(e.text) - 1] if isinstance(e, nodes.Number) else e for e in node.group]
        if any(key.has(nodes.Exists) or key.has(nodes.InQuery) for key in keys):
            raise Unanswered("a subquery in what is grouped by")

    def _key(self, node: nodes.Expr | nodes.Sets, scope: _Scope) -> str:
        if isinstance(node, nodes.Sets):
            raise Unanswered("this clause of a query")
        return self._value(node, scope).sql

    def _ended(self, made: PrintedQuery, order: Sequence[nodes.Ordered], limit: str) -> PrintedQuery:
        """The rows in an order of the columns that are shown, which are told by their place, and the first of them."""
        if not order:
            return replace(made, sql=made.sql + limit)
        entries = [
            self._direction(entry, value)
            for entry in order
            for value in _places(entry.value, [c.value for c in made.columns])
        ]
        columns = ", ".join(c.value.sql for c in made.columns)
        sql = f"SELECT {columns} FROM ({made.sql}) AS listed ORDER BY {', '.join(entries)}{limit}"  # noqa: S608
        return replace(made, sql=sql)

    def _direction(self, node: nodes.Ordered, value: Value) -> str:
        direction = "DESC" if node.descending else "ASC"
        nulls = "FIRST" if node.nulls_first else "LAST"
        return f"{self._dialect.sorted(value)} {direction} NULLS {nulls}"

    def _rank(self, node: nodes.Expr, scope: _Scope) -> tuple[str, str]:
        """The rank of a window, and the most it may be."""
        match node:
            case nodes.Binary(
                "<=", nodes.Window(nodes.Call() as call, partition, order, ""), nodes.Number(most)
            ):
                if call not in map(nodes.Call, _RANKS) or not partition or not order or not most.isdigit():
                    raise Unanswered("this window function")
                return f"{call.name}(){self._over(partition, order, scope)}", most
            case nodes.Binary("<=", nodes.Case([(when, nodes.Number() as kept)], nodes.Window() as window)):
                rank, most = self._rank(replace(node, left=window), scope)
                return f"CASE WHEN {self._value(when, scope).sql} THEN {kept.text} ELSE {rank} END", most
            case _:
                raise Unanswered("this condition of QUALIFY")

    def _over(
        self, partition: Sequence[nodes.Expr], order: Sequence[nodes.Ordered], scope: _Scope, frame: str = ""
    ) -> str:
        if any(isinstance(entry.value, nodes.Number) for entry in order):
            raise Unanswered("an order of this form")
        units = ", ".join(self._value(p, scope).sql for p in partition)
        entries = ", ".join(self._direction(o, self._value(o.value, scope)) for o in order)
        parts = [
            f"PARTITION BY {units}",
            *([f"ORDER BY {entries}"] if entries else []),
            *([frame] if frame else []),
        ]
        return f" OVER ({' '.join(parts)})"

    # --- expressions ------------------------------------------------------------------------------

    def _value(self, node: nodes.Expr, scope: _Scope) -> Value:
        special = self._special.get(type(node))
        if special is not None:
            value = special(node, scope)
        else:
            construct = self._dialect.construct(node)
            value = construct.rule(node, [self._value(part, scope) for part in _operands(node)])
        self._check_size(value.sql)
        return value

    def _check_size(self, sql: str) -> None:
        """Operands that are written twice double at each level."""
        most = self._dialect.most_calls
        if len(sql) > LONGEST or (len(sql) > most and sql.count("(") > most):
            raise Unanswered("a statement this long")

    def _window(self, node: nodes.Window, scope: _Scope) -> Value:
        call, rule = node.call, WINDOWS.get(node.call.name)
        is_plain = not (call.distinct or call.order or call.where) and node.partition and is_frame(node.frame)
        if self._dialect.total is None or rule is None or not is_plain:
            raise Unanswered("this window function")
        over = self._over(node.partition, node.order, scope, node.frame)
        return rule([self._value(part, scope) for part in call.arguments], over, self._dialect)

    def _in_query(self, node: nodes.InQuery, scope: _Scope) -> Value:
        inner = self.query(node.query, scope)
        held = f"{self._value(node.value, scope).sql} IN ({inner.sql})"
        return Value(self._dialect.grouped(held), ValueKind.TRUTH)

    def _parameter(self, node: nodes.Parameter, _: _Scope) -> Value:
        """The secret, or a released value inside a cast."""
        number = str(node.number)
        place = self.parameters.setdefault(number, len(self.parameters) + 1)
        return Value(f"${place}", ValueKind.TEXT)

    def _column(self, node: nodes.ColumnRef, scope: _Scope | None) -> Value:
        """The nearest meaning of a name, as the engine of ours finds it: without regard to case."""
        wanted, table = node.name.lower(), node.table.lower() if node.table else None
        while scope is not None:
            found = [
                (relation, name)
                for relation in scope.relations
                if table is None or relation.alias.lower() == table
                for name in relation.spellings.get(wanted, ())
            ]
            if len(found) > 1:
                raise Unanswered("a name of two columns")
            if found:
                return self._read(*found[0])
            scope = scope.outer
        raise Unanswered("a column that is not in the data source")

    def _read(self, relation: _Relation, name: str) -> Value:
        return relation.columns[name].under(f"{relation.text}.{self._name(name)}")

    def _name(self, name: str) -> str:
        if len(name.encode()) > LONGEST_NAME or "\0" in name:
            raise Unanswered(f"a name of more than {LONGEST_NAME} bytes")
        return self._dialect.name(name)


def _operands(node: nodes.Expr) -> Iterable[Any]:
    """The operands of an expression, in the order they are written; ``count(*)`` has none."""
    return () if node == nodes.Call("count", (nodes.Star(),)) else node.parts()


def _places(place: nodes.Expr, columns: Sequence[Value]) -> Sequence[Value]:
    """What an entry of ORDER BY names: a column's place, or ALL of them."""
    match place:
        case nodes.Number(text) if text.isdigit() and 0 < int(text) <= len(columns):
            return [columns[int(text) - 1]]
        case nodes.ColumnRef(nodes.Bare("ALL"), None):
            return columns
        case _:
            raise Unanswered("an order by anything but a column's place")


def _has_no_null(values: Sequence[Value]) -> bool:
    return all(value.kind is not ValueKind.NULL for value in values)


def _fence(node: nodes.Select) -> str:
    """Of fields of documents: it keeps the planner from reading them again wherever they are named."""
    are_fields = any(isinstance(e, nodes.Named) and isinstance(e.value, nodes.Formula) for e in node.items)
    return " OFFSET 0" if are_fields else ""


def _limit(node: nodes.Select) -> str:
    match node.limit:
        case None:
            return ""
        case nodes.Number(text) if text.isdigit():
            return f" LIMIT {text}"
        case _:
            raise Unanswered("a limit that is no number")
