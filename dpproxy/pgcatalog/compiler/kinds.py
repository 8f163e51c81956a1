"""PostgreSQL's types of the expressions in a statement about the catalogue, scope by scope."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct, field
from sqlglot import exp

from dpproxy.analysis.titles import folded, title
from dpproxy.pgcatalog.compiler import scopes
from dpproxy.pgcatalog.compiler.kind_rules import (
    KnownType,
    common,
    kind_of,
    note_kind,
    plain,
    rule_of,
    unnested,
)
from dpproxy.pgcatalog.relations import INTERNAL, TABLES
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOATS,
    INT8,
    INTEGERS,
    INTERVAL,
    NAME,
    NUMERIC,
    OID,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    XID,
    Column,
)

Fields = Sequence[tuple[str, KnownType]]
"""The columns of a relation, in order."""
Own = Mapping[str, Sequence[Column]]
"""The columns of the relations of schema dp."""
_SYSTEM = {"tableoid": OID, "xmin": XID, "xmax": XID}
_CALLED = frozenset(
    {"current_user", "session_user", "user", "current_role", "current_schema", "current_catalog"}
)


class _Scope(Struct):
    """The names that expressions of one SELECT can use; a source is None where its columns are unknown."""

    own: Own
    outer: "_Scope | None" = None
    sources: dict[str, Fields | None] = field(default_factory=dict)
    queries: dict[str, Fields | None] = field(default_factory=dict)
    merged: dict[str, set[str]] = field(default_factory=dict)
    """By source, the columns that USING or NATURAL makes one with those of sources before it."""

    def named(self, name: str) -> Fields | None:
        """The columns of a WITH query."""
        if name in self.queries or self.outer is None:
            return self.queries.get(name)
        return self.outer.named(name)

    def column(self, table: str, name: str) -> KnownType:
        """A column's type."""
        places = [self.shown(alias, table) for alias in self.sources if table in ("", alias)]
        found = [kind for fields in places if fields is not None for shown, kind in fields if shown == name]
        if found or (None in places):
            return found[0] if len(found) == 1 and None not in places else None
        return None if self.outer is None else self.outer.column(table, name)

    def shown(self, alias: str, table: str) -> Fields | None:
        """The columns of a source that ``*`` or ``table.*`` shows."""
        fields = self.sources[alias]
        if table or fields is None:
            return fields
        return [one for one in fields if one[0] not in self.merged.get(alias, ())]


def infer(tree: exp.Expr, own: Own) -> Fields | None:
    """Note the type of each expression (`kind_of`); returns the result's columns, None where they are unknown."""
    return _query(tree, _Scope(own))


def _query(node: exp.Expr, outer: _Scope) -> Fields | None:
    scope = _Scope(outer.own, outer)
    with_ = node.args.get("with_")
    if isinstance(with_, exp.With):
        for query in with_.expressions:
            _with(query, scope, recursive=bool(with_.args.get("recursive")))
    match node:
        case exp.Select():
            return _select(node, scope)
        case exp.SetOperation():
            found = _together(_query(node.left, scope), _query(node.right, scope))
            for side in (node.left, node.right):
                _settle_literals(side, found or ())
            return found
        case exp.Values():
            return _values(node, scope)
        case exp.Subquery() | exp.Paren():
            found = _query(node.this, scope)
            _expressions(node, scope, skip={"this", "with_", "alias"})
            return found
        case _:
            return None


def _with(query: exp.Expr, scope: _Scope, *, recursive: bool) -> None:
    alias = query.args["alias"]
    name, body = folded(alias.this), query.this
    if recursive and isinstance(body, exp.SetOperation):
        scope.queries[name] = _renamed(_query(body.left, scope), alias)
    scope.queries[name] = _renamed(_query(body, scope), alias)


def _together(left: Fields | None, right: Fields | None) -> Fields | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return [(name, common([kind, other])) for (name, kind), (_, other) in zip(left, right, strict=True)]


def _settle_literals(node: exp.Expr, fields: Fields) -> None:
    """Give quoted literals in a set operation, or in VALUES, the types of their columns."""
    if isinstance(node, exp.SetOperation):
        _settle_literals(node.left, fields)
        _settle_literals(node.right, fields)
    rows = [node.expressions] if isinstance(node, exp.Select) else []
    if isinstance(node, exp.Values):
        rows = [row.expressions for row in node.expressions if isinstance(row, exp.Tuple)]
    for row in rows:
        for cell, (_, kind) in zip(row, fields, strict=False):
            literal = cell.unalias()
            if (
                isinstance(literal, exp.Literal)
                and literal.is_string
                and kind is not None
                and kind.oid in _READ
            ):
                made = exp.Cast(this=literal.copy(), to=exp.DataType.build(kind.shown, dialect="postgres"))
                note_kind(made, kind)
                literal.replace(made)


_READ = (
    INTEGERS
    | FLOATS
    | {kind.oid for kind in (BOOL, DATE, INTERVAL, NUMERIC, TIME, TIMESTAMP, TIMESTAMPTZ, UUID)}
)
"""Types that a quoted literal takes when it is compared with them."""


def _select(node: exp.Select, scope: _Scope) -> Fields | None:
    from_ = node.args.get("from_")
    joins = [*node.args.get("joins", ()), *node.args.get("laterals", ())]
    for source in [*([from_.this] if from_ is not None else []), *joins]:
        _source(source, scope)
    _expressions(node, scope, skip={"from_", "joins", "laterals", "with_"})
    return _projected(node.expressions, scope)


def _projected(projections: Sequence[exp.Expr], scope: _Scope) -> Fields | None:
    found: list[tuple[str, KnownType]] = []
    for projection in projections:
        if not projection.is_star:
            found.append((title(projection), kind_of(projection)))
            continue
        wanted = folded(projection.args.get("table"))
        for alias in scope.sources:
            if wanted in ("", alias):
                fields = scope.shown(alias, wanted)
                if fields is None:
                    return None
                found += fields
    return found


def _source(node: exp.Expr, scope: _Scope) -> None:
    """A source in FROM, and those joined to it."""
    if isinstance(node, exp.Join):
        before = {name for fields in scope.sources.values() for name, _ in fields or ()}
        known = len(scope.sources)
        _source(node.this, scope)
        is_natural = node.args.get("method") == "NATURAL"
        named = before if is_natural else {folded(name) for name in node.args.get("using") or ()}
        scope.merged |= dict.fromkeys(islice(scope.sources, known, None), named)
        _expressions(node, scope, skip={"this"})
        return
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
        for each in (node.this, *(node.args.get("joins") or ())):
            _source(each, scope)
        return
    alias = node.args.get("alias")
    inner = node.this if isinstance(node, exp.Lateral) else node
    fields, name = _fields(inner, scope)
    if alias is not None:
        name = folded(alias.this) or name
        is_single = fields is not None and len(fields) == 1 and not alias.args.get("columns")
        if is_single and fields is not None and _is_function(inner):
            fields = [(name, fields[0][1])]
        fields = _renamed(fields, alias)
    offset = node.args.get("offset")
    if offset and fields is not None:
        shown = folded(offset) if isinstance(offset, exp.Identifier) else "ordinality"
        fields = [*fields[: 1 if len(fields) == 1 else None], (shown, INT8)]
    scope.sources[name or f" {len(scope.sources)}"] = fields
    for join in node.args.get("joins") or ():
        _source(join, scope)


def _is_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Unnest | exp.Func) or (
        isinstance(node, exp.Table) and isinstance(node.this, exp.Func)
    )


def _fields(node: exp.Expr, scope: _Scope) -> tuple[Fields | None, str]:
    """A source's columns, None where they are unknown, and the name it has without an alias."""
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            return _relation(node, scope), folded(node.this)
        case exp.Table():
            _expression(node.this, scope)
            called = title(node.this)
            kind = kind_of(node.this)
            return (None if kind is None else [(called, plain(kind))]), called
        case exp.Unnest():
            for each in node.expressions:
                _expression(each, scope)
            kinds = [unnested(kind_of(each)) for each in node.expressions]
            return [("unnest", kind) for kind in kinds], "unnest"
        case exp.Values() | exp.Subquery():
            return _query(node, scope), ""
        case _:
            _expressions(node, scope, skip={"alias"})
            return None, ""


def _relation(node: exp.Table, scope: _Scope) -> Fields | None:
    schema, name = folded(node.args.get("db")), folded(node.this)
    if not scopes.is_relation(node):
        return scope.named(name)
    if schema == "dp":
        columns = scope.own.get(name)
        return None if columns is None else [(column.name, column.type) for column in columns]
    table = INTERNAL.get(name) if schema == "internal" else TABLES.get((schema or "pg_catalog", name))
    return None if table is None else [*table.types.items()]


def _renamed(fields: Fields | None, alias: exp.Expr) -> Fields | None:
    names = [folded(name) for name in alias.args.get("columns") or ()]
    if fields is None or len(names) > len(fields):
        return None
    return [(name, kind) for name, (_, kind) in zip(names, fields, strict=False)] + [*fields[len(names) :]]


def _values(node: exp.Values, scope: _Scope) -> Fields | None:
    rows: list[list[KnownType]] = []
    for row in node.expressions:
        _expression(row, scope)
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append([kind_of(cell) for cell in cells])
    if len({len(row) for row in rows}) != 1:
        return None
    found = [(f"column{n}", common(kinds)) for n, kinds in enumerate(zip(*rows, strict=True), 1)]
    _settle_literals(node, found)
    return found


def _expressions(node: exp.Expr, scope: _Scope, skip: set[str]) -> None:
    for child in _children(node, skip):
        _expression(child, scope)


def _children(node: exp.Expr, skip: set[str]) -> Iterator[exp.Expr]:
    for key, value in node.args.items():
        if key not in skip:
            yield from (
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, exp.Expr)
            )


def _expression(node: exp.Expr, scope: _Scope) -> None:
    match node:
        case exp.Column() if not node.is_star:
            note_kind(node, _column(node, scope))
        case exp.Select() | exp.SetOperation() | exp.Subquery():
            fields = _query(node, scope)
            if fields is not None and len(fields) == 1:
                note_kind(node, _text_if_unknown(fields[0][1]))
        case exp.DataType() | exp.Identifier() | exp.ObjectIdentifier():
            return
        case _:
            parts = [*node.iter_expressions()]
            for part in parts:
                _expression(part, scope)
            rule = rule_of(node)
            if rule is not None:
                note_kind(node, rule(node, [kind_of(part) for part in parts]))


def _text_if_unknown(kind: KnownType) -> KnownType:
    """The type of a subquery's column, where an unknown literal is text."""
    return common([kind])


def _column(node: exp.Column, scope: _Scope) -> KnownType:
    name, table = folded(node.this), folded(node.args.get("table"))
    found = scope.column(table, name)
    if found is not None:
        return found
    if not table and name in _CALLED and not node.this.args.get("quoted"):
        return NAME
    return _SYSTEM.get(name)
