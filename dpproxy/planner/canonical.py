"""The exact stage in a normal form: equal forms give the same groups and measures on every database.

Plain subqueries are dissolved into the query around them, inner joins are a set of items under one set of conditions,
and every column is named by the item that it comes from and its place there, never by an alias. What a rule does not
cover stays one item, or leaves the whole statement as it is written: then only the same text is the same question.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, permutations, product
from math import factorial, prod
from typing import Any

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.terms import Term, arranged, conjunction, put, rearranged, term
from dpproxy.values.recent import Recent

MOST_ORDERS = 24
"""Orders of items that look alike which are tried."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Which rows, by what they are grouped, and what is computed of each group.

    ``rows`` is what stands in FROM, ``conditions`` are those that all hold, ``keys`` and ``measures`` are in the order
    of their columns.
    """

    rows: Term
    conditions: tuple[Term, ...]
    keys: tuple[Term, ...]
    measures: tuple[Term, ...]

    @property
    def has_alike(self) -> bool:
        """Whether items of FROM look alike: which of them comes first then depends on all the rest."""
        items = self.rows[2:]
        return len(set(map(repr, items))) < len(items)


class _Unknown(Exception):
    """No rule covers a part of the statement."""


_STAGES = Recent[Stage](256)


def stage(sql: str) -> Stage:
    """The normal form of an exact stage."""
    found = _STAGES.get(sql)
    if found is None:
        found = _normal(sql)
        _STAGES.put(sql, found)
    return found


def known_as(sql: str, found: Stage) -> None:
    """Have ``stage`` know a normal form that was made in another way."""
    _STAGES.put(sql, found)


def filled(found: Stage, constants: Mapping[Term, Term]) -> Stage:
    """The normal form with other constants in its conditions."""
    return replace(found, conditions=conjunction(put(c, constants) for c in found.conditions))


def _normal(sql: str) -> Stage:
    tree = duck.parsed(sql)
    try:
        return _stage(_grouped(tree))
    except _Unknown:
        names = [str(name) for name in getattr(tree, "named_selects", ())]
        keys = tuple(("named", n) for n in names if n.startswith("k"))
        return Stage(("text", sql), (), keys, tuple(("named", n) for n in names if not n.startswith("k")))


def _grouped(tree: exp.Expr) -> exp.Select:
    """Without the joins that leave the declared keys, which are part of a question's key by themselves."""
    if not isinstance(tree, exp.Select):
        raise _Unknown
    inner = tree.args["from_"].this
    joins = tree.args.get("joins") or []
    if isinstance(inner, exp.Subquery) and inner.alias == "g" and isinstance(inner.this, exp.Select):
        shown = [f"{e.table}.{e.name}" for e in tree.selects if type(e) is exp.Column]
        own = [str(e.alias) for e in inner.this.selects]
        declared = [
            j for j in joins if isinstance(j.this, exp.Values | exp.Subquery) and j.this.alias[:1] == "d"
        ]
        if (
            [s.split(".")[1] for s in shown] == own
            and len(declared) == len(joins)
            and not tree.args.get("where")
        ):
            return inner.this
    return tree


Find = Callable[[str], Term]


@dataclass(slots=True)
class _Names:
    """The columns of one entry of FROM: known ones, and items of which any name may be one."""

    alias: str
    known: dict[str, Term]
    bases: list[Find]


@dataclass(slots=True)
class _Scope:
    """What the rows of one SELECT are made of, plain subqueries dissolved."""

    level: int
    numbers: "count[int]"
    items: dict[int, Term] = field(default_factory=dict)
    conditions: list[Term] = field(default_factory=list)
    names: list[_Names] = field(default_factory=list)
    outer: tuple["_Scope", ...] = ()


@dataclass(frozen=True, slots=True)
class _Body:
    """A SELECT without its list; ``moved`` turns the numbers of its items into places."""

    items: tuple[Term, ...]
    conditions: tuple[Term, ...]
    more: Term
    moved: dict[int, Term]

    @property
    def term(self) -> Term:
        return ("select", self.items, self.conditions, self.more)


def _stage(select: exp.Select) -> Stage:
    _, body, outputs = _read(select, (), 0, count(1))
    keys = tuple(found for name, found in outputs if name.startswith("k"))
    # Groups are told apart by their keys, and by the cells of an order statistic, which are among the measures.
    measures = tuple(found for name, found in outputs if not name.startswith("k"))
    more = () if body.more == (("group", *arranged(set(keys))), ()) else body.more
    return Stage(("rows", more, *body.items), body.conditions, keys, measures)


_PLAIN = frozenset({"expressions", "from_", "joins", "where"})
_KNOWN = _PLAIN | {"group", "qualify"}


def _read(
    select: exp.Select, outer: tuple[_Scope, ...], level: int, numbers: "count[int]"
) -> tuple[_Scope, _Body, list[tuple[str, Term]]]:
    """A SELECT that is not dissolved, with its list by names."""
    if not {n for n, v in select.args.items() if v not in (None, False, [])} <= _KNOWN:
        raise _Unknown
    scope = _Scope(level, numbers, outer=outer)
    _enter(select, scope)
    leaf = _leaf(scope)
    outputs = [(e.alias_or_name, term(e.unalias(), leaf)) for e in select.selects if not _is_star(e)]
    group = select.args.get("group")
    grouped: Term = ("rows",)
    if group is not None:
        if {n for n, v in group.args.items() if v} != {"expressions"}:
            raise _Unknown
        grouped = ("group", *arranged({_place(e, outputs, leaf) for e in group.expressions}))
    elif any(isinstance(n, exp.AggFunc) for e in select.selects for n in _own(e)):
        if any(isinstance(n, exp.Window) for e in select.selects for n in _own(e)):
            raise _Unknown
        grouped = ("group",)
    qualify = select.args.get("qualify")
    kept = ("qualify", term(qualify.this, leaf)) if qualify is not None else ()
    body = _ordered(scope, (grouped, kept), [t for _, t in outputs])
    return scope, body, [(name, _moved(t, body.moved)) for name, t in outputs]


def _place(
    node: exp.Expr, outputs: Sequence[tuple[str, Term]], leaf: Callable[[exp.Expr], Term | None]
) -> Term:
    if isinstance(node, exp.Literal) and not node.is_string:
        return outputs[int(node.this) - 1][1]
    return term(node, leaf)


def _own(node: exp.Expr) -> Any:  # noqa: ANN401 - the nodes outside subqueries
    return node.walk(prune=lambda n: isinstance(n, exp.Query))


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) and not any(v for v in node.args.values())


def _enter(select: exp.Select, scope: _Scope) -> None:
    """Add the entries of FROM and the conditions of a SELECT to a scope."""
    source = select.args.get("from_")
    if source is None:
        raise _Unknown
    _item(source.this, scope)
    for join in select.args.get("joins") or []:
        given = {n for n, v in join.args.items() if v not in (None, False, [])}
        if not given <= {"this", "kind", "on"} or str(join.args.get("kind") or "") not in (
            "",
            "CROSS",
            "INNER",
        ):
            raise _Unknown
        _item(join.this, scope)
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            scope.conditions.append(term(join.args["on"], _leaf(scope)))
    where = select.args.get("where")
    if where is not None:
        scope.conditions.append(term(where.this, _leaf(scope)))


def _item(node: exp.Expr, scope: _Scope) -> None:
    match node:
        case exp.Table():
            _table(node, scope)
        case exp.Subquery() if isinstance(node.this, exp.Select) and not _has_columns(node):
            if _is_plain(node.this):
                _dissolved(node, scope)
            else:
                _whole(node, scope)
        case exp.Values():
            number = next(scope.numbers)
            rows = arranged(term(row, _constants) for row in node.expressions)
            scope.items[number] = ("values", *rows)
            columns = [c.name.lower() for c in node.args["alias"].columns]
            known: dict[str, Term] = {c: ("of", number, ("place", i)) for i, c in enumerate(columns)}
            scope.names.append(_Names(node.alias.lower(), known, []))
        case _:
            raise _Unknown


def _constants(node: exp.Expr) -> None:
    if isinstance(node, exp.Column | exp.Query):
        raise _Unknown


def _has_columns(node: exp.Subquery) -> bool:
    alias = node.args.get("alias")
    more = {n for n, v in node.args.items() if v not in (None, False, [])} - {"this", "alias"}
    return bool(more) or bool(alias is not None and alias.columns)


def _is_plain(select: exp.Select) -> bool:
    """Selects and shows, one row for each."""
    if not {n for n, v in select.args.items() if v not in (None, False, [])} <= _PLAIN:
        return False
    return not any(isinstance(n, exp.AggFunc | exp.Window) for e in select.selects for n in _own(e))


def _table(node: exp.Table, scope: _Scope) -> None:
    if {n for n, v in node.args.items() if v not in (None, False, [])} - {"this", "db", "catalog", "alias"}:
        raise _Unknown
    if not isinstance(node.this, exp.Identifier):
        raise _Unknown
    number = next(scope.numbers)
    scope.items[number] = ("table", node.catalog.lower(), node.db.lower(), node.name.lower())
    alias = (node.alias or node.name).lower()
    scope.names.append(_Names(alias, {}, [lambda name: ("column", number, name)]))


def _dissolved(node: exp.Subquery, scope: _Scope) -> None:
    """The rows of a plain subquery become items and conditions of the query around it."""
    inner = _Scope(scope.level, scope.numbers, scope.items, scope.conditions, outer=scope.outer)
    _enter(node.this, inner)
    leaf = _leaf(inner)
    known = {e.alias_or_name.lower(): term(e.unalias(), leaf) for e in node.this.selects if not _is_star(e)}
    _shown(node, known, inner, scope, lambda found: found)


def _whole(node: exp.Subquery, scope: _Scope) -> None:
    """Any other subquery is an item; its columns are known by what they are made of inside."""
    inner, body, outputs = _read(node.this, scope.outer, scope.level + 1, scope.numbers)
    number = next(scope.numbers)
    scope.items[number] = body.term

    def outside(found: Term) -> Term:
        return ("of", number, _moved(found, body.moved))

    known: dict[str, Term] = {name.lower(): ("of", number, found) for name, found in outputs}
    _shown(node, known, inner, scope, outside)


def _shown(
    node: exp.Subquery, known: dict[str, Term], inner: _Scope, scope: _Scope, outside: Callable[[Term], Term]
) -> None:
    """Name the columns of a subquery in the query around it, those behind a star too."""
    bases: list[Find] = []
    if any(_is_star(e) for e in node.this.selects):
        for entry in inner.names:
            known |= {name: outside(found) for name, found in entry.known.items()}
            bases += [_through(base, outside) for base in entry.bases]
    scope.names.append(_Names(node.alias.lower(), known, bases))


def _through(base: Find, outside: Callable[[Term], Term]) -> Find:
    return lambda name: outside(base(name))


def _leaf(scope: _Scope) -> Callable[[exp.Expr], Term | None]:
    def leaf(node: exp.Expr) -> Term | None:
        match node:
            case exp.Column():
                return _column(node, (scope, *scope.outer))
            case exp.Exists():
                return ("exists", _subquery(node.this, scope)[0].term)
            case exp.Subquery():
                return ("value", *_valued(node.this, scope))
            case exp.In() if node.args.get("query") is not None:
                query = node.args["query"]
                inside = query.this if isinstance(query, exp.Subquery) else query
                return ("among", term(node.this, leaf), *_valued(inside, scope))
            case exp.Query():
                raise _Unknown
            case _:
                return None

    return leaf


def _subquery(node: exp.Expr, scope: _Scope) -> tuple[_Body, list[tuple[str, Term]]]:
    if not isinstance(node, exp.Select):
        raise _Unknown
    _, body, outputs = _read(node, (scope, *scope.outer), scope.level + 1, scope.numbers)
    return body, outputs


def _valued(node: exp.Expr, scope: _Scope) -> tuple[Term, Term]:
    body, outputs = _subquery(node, scope)
    if len(outputs) != 1:
        raise _Unknown
    return body.term, outputs[0][1]


def _column(node: exp.Column, scopes: Sequence[_Scope]) -> Term:
    """A name means what the innermost query that has it says; where that cannot be told, nothing is."""
    name, table = node.name.lower(), node.table.lower()
    for place, scope in enumerate(scopes):
        entries = [e for e in scope.names if not table or e.alias == table]
        if table and not entries:
            continue
        hits = [e.known[name] for e in entries if name in e.known]
        if len(hits) == 1:
            return hits[0]
        bases = [b for e in entries for b in e.bases]
        if hits or len(bases) > 1:
            raise _Unknown
        if bases:
            if not table and any(name in e.known for s in scopes[place + 1 :] for e in s.names):
                raise _Unknown
            return bases[0](name)
    raise _Unknown


def _ordered(scope: _Scope, more: Term, outputs: Sequence[Term]) -> _Body:
    """The items in an order of their own; of those that look alike, the one that makes the least of all the rest."""
    alike: dict[str, list[int]] = {}
    for number, item in scope.items.items():
        alike.setdefault(repr(item), []).append(number)
    groups = [alike[text] for text in sorted(alike)]
    orders = product(*(permutations(g) for g in groups))
    if prod(factorial(len(g)) for g in groups) > MOST_ORDERS:
        orders = product(*([tuple(g)] for g in groups))
    bodies = [_placed(scope, [n for group in order for n in group], more) for order in orders]
    if len(bodies) == 1:
        return bodies[0]
    return min(bodies, key=lambda body: repr((body.term, [_moved(t, body.moved) for t in outputs])))


def _placed(scope: _Scope, order: Sequence[int], more: Term) -> _Body:
    moved: dict[int, Term] = {number: ("item", scope.level, place) for place, number in enumerate(order)}
    conditions = conjunction(_moved(c, moved) for c in scope.conditions)
    return _Body(tuple(scope.items[n] for n in order), conditions, _moved(more, moved), moved)


def _moved(found: Any, moved: dict[int, Term]) -> Any:  # noqa: ANN401 - a term or a part of one
    """With items by their places, and arranged anew where order means nothing."""
    if not isinstance(found, tuple):
        return found
    if len(found) == 3 and found[0] in ("column", "of") and found[1] in moved:
        return (found[0], moved[found[1]], _moved(found[2], moved))
    parts = tuple(_moved(part, moved) for part in found)
    return rearranged(parts)
