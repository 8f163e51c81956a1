"""The exact stage in a normal form: equal forms give the same groups and measures on every database.

Plain subqueries are dissolved into the query around them, inner joins are a set of items under one set of conditions,
and every column is named by the item that it comes from and its place there, never by an alias. What a rule does not
cover stays one item, or leaves the whole statement as it is written: then only the same text is the same question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, permutations, product
from math import factorial, prod
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.printing import text
from dpproxy.planner.reuse.terms import NoRule, Term, arranged, conjunction, encoded, put, rearranged, term
from dpproxy.values.recent import Recent

MOST_ORDERS = 24
"""Orders of items that look alike which are tried."""


class NormalStage(Struct, frozen=True):
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
        return len(set(map(encoded, items))) < len(items)


_STAGES = Recent[tuple[nodes.Query, NormalStage]](256)
"""By the identity of the query, which is kept with it: to hash one, or to compare two, takes its size."""


def stage(query: nodes.Query) -> NormalStage:
    """The normal form of an exact stage."""
    known = _STAGES.get(id(query))
    if known is not None and known[0] is query:
        return known[1]
    found = normal(query)
    known_as(query, found)
    return found


def known_as(query: nodes.Query, found: NormalStage) -> None:
    """Have ``stage`` know a normal form that was made in another way."""
    _STAGES.put(id(query), (query, found))


def filled(found: NormalStage, constants: Mapping[Term, Term]) -> NormalStage:
    """The normal form with other constants in its conditions."""
    return replace(found, conditions=conjunction(put(c, constants) for c in found.conditions))


def normal(query: nodes.Query) -> NormalStage:
    """The normal form of an exact stage; one that no rule covers is its own."""
    try:
        return _stage(_grouped(query))
    except NoRule:
        names = [str(name_of(item)) for item in getattr(query, "items", ())]
        keys = tuple(("named", n) for n in names if n.startswith("k"))
        others = tuple(("named", n) for n in names if not n.startswith("k"))
        return NormalStage(("text", text(query)), (), keys, others)


def name_of(item: nodes.Expr) -> str:
    """What a column of a SELECT list is called."""
    return item.name if isinstance(item, nodes.Named | nodes.ColumnRef) else ""


def _grouped(query: nodes.Query) -> nodes.Select:
    """Without the joins that leave the declared keys, which are part of a question's key by themselves."""
    if not isinstance(query, nodes.Select):
        raise NoRule
    inner = query.source
    if isinstance(inner, nodes.Subquery) and inner.alias == "g" and isinstance(inner.query, nodes.Select):
        shown = [item.name for item in query.items if isinstance(item, nodes.ColumnRef)]
        own = [name_of(item) for item in inner.query.items]
        declared = [
            j for j in query.joins
            if isinstance(j.item, nodes.Values | nodes.Subquery) and (j.item.alias or "").startswith("d")
        ]  # fmt: skip
        if shown == own and len(declared) == len(query.joins) and query.where is None:
            return inner.query
    return query


Find = Callable[[str], Term]


class _Names(Struct):
    """The columns of one entry of FROM: known ones, and items of which any name may be one."""

    alias: str
    known: dict[str, Term]
    bases: list[Find]


class _Scope(Struct):
    """What the rows of one SELECT are made of, plain subqueries dissolved."""

    level: int
    numbers: "count[int]"
    items: dict[int, Term] = field(default_factory=dict)
    conditions: list[Term] = field(default_factory=list)
    names: list[_Names] = field(default_factory=list)
    outer: tuple["_Scope", ...] = ()


class _Body(Struct, frozen=True):
    """A SELECT without its list; ``moved`` turns the numbers of its items into places."""

    items: tuple[Term, ...]
    conditions: tuple[Term, ...]
    more: Term
    moved: dict[int, Term]

    @property
    def term(self) -> Term:
        return ("select", self.items, self.conditions, self.more)


def _stage(select: nodes.Select) -> NormalStage:
    _, body, outputs = _read(select, (), 0, count(1))
    keys = tuple(found for name, found in outputs if name.startswith("k"))
    # Groups are told apart by their keys, and by the cells of an order statistic, which are among the measures.
    measures = tuple(found for name, found in outputs if not name.startswith("k"))
    more = () if body.more == (("group", *arranged(set(keys))), ()) else body.more
    return NormalStage(("rows", more, *body.items), body.conditions, keys, measures)


def _ends(select: nodes.Select) -> bool:
    """Whether it has a clause that no rule is about."""
    return bool(
        select.having
        or select.order
        or select.limit
        or select.offset
        or select.distinct
        or select.distinct_on
    )


def _read(
    select: nodes.Select, outer: tuple[_Scope, ...], level: int, numbers: "count[int]"
) -> tuple[_Scope, _Body, list[tuple[str, Term]]]:
    """A SELECT that is not dissolved, with its list by names."""
    if _ends(select):
        raise NoRule
    scope = _Scope(level, numbers, outer=outer)
    _enter(select, scope)
    leaf = _leaf(scope)
    outputs = [(name_of(e), term(e, leaf)) for e in select.items if not isinstance(e, nodes.Star)]
    grouped: Term = ("rows",)
    if select.group:
        grouped = ("group", *arranged({_place(e, outputs, leaf) for e in select.group}))
    elif _aggregates(select):
        if any(isinstance(n, nodes.Window) for e in select.items for n in _own(e)):
            raise NoRule
        grouped = ("group",)
    kept = ("qualify", term(select.qualify, leaf)) if select.qualify is not None else ()
    body = _ordered(scope, (grouped, kept), [t for _, t in outputs])
    return scope, body, [(name, _moved(t, body.moved)) for name, t in outputs]


def _place(
    node: nodes.Node, outputs: Sequence[tuple[str, Term]], leaf: Callable[[nodes.Node], Term | None]
) -> Term:
    return outputs[int(node.text) - 1][1] if isinstance(node, nodes.Number) else term(node, leaf)


def _own(node: nodes.Node) -> Iterator[nodes.Node]:
    """The nodes outside subqueries."""
    return node.walk(lambda n: not isinstance(n, nodes.Query))


def _aggregates(select: nodes.Select) -> bool:
    own = (n for e in select.items for n in _own(e))
    return any(isinstance(n, nodes.Call) and n.name in nodes.AGGREGATES for n in own)


def _enter(select: nodes.Select, scope: _Scope) -> None:
    """Add the entries of FROM and the conditions of a SELECT to a scope."""
    if select.source is None:
        raise NoRule
    _item(select.source, scope)
    for join in select.joins:
        if join.kind not in ("", "CROSS", "INNER"):
            raise NoRule
        _item(join.item, scope)
    conditions = [*(join.on for join in select.joins), select.where]
    scope.conditions += [term(c, _leaf(scope)) for c in conditions if c is not None]


def _item(node: nodes.Item, scope: _Scope) -> None:
    match node:
        case nodes.Table():
            number = next(scope.numbers)
            scope.items[number] = ("table", *(name.lower() for name in (*node.path, node.name)))
            alias = (node.alias or node.name).lower()
            scope.names.append(_Names(alias, {}, [lambda name: ("column", number, name)]))
        case nodes.Subquery() if isinstance(node.query, nodes.Select) and not (node.columns or node.lateral):
            if _is_plain(node.query):
                _dissolved(node, node.query, scope)
            else:
                _whole(node, node.query, scope)
        case nodes.Values():
            number = next(scope.numbers)
            rows = arranged(("tuple", *(term(v, _constants) for v in row)) for row in node.rows)
            scope.items[number] = ("values", *rows)
            known: dict[str, Term] = {
                c.lower(): ("of", number, ("place", i)) for i, c in enumerate(node.columns)
            }
            scope.names.append(_Names(node.alias.lower(), known, []))
        case _:
            raise NoRule


def _constants(node: nodes.Node) -> None:
    if isinstance(node, nodes.ColumnRef | nodes.Query):
        raise NoRule


def _is_plain(select: nodes.Select) -> bool:
    """Selects and shows, one row for each."""
    if select.group or select.qualify is not None or _ends(select) or _aggregates(select):
        return False
    return not any(isinstance(n, nodes.Window) for e in select.items for n in _own(e))


def _dissolved(node: nodes.Subquery, select: nodes.Select, scope: _Scope) -> None:
    """The rows of a plain subquery become items and conditions of the query around it."""
    inner = _Scope(scope.level, scope.numbers, scope.items, scope.conditions, outer=scope.outer)
    _enter(select, inner)
    leaf = _leaf(inner)
    known = {name_of(e).lower(): term(e, leaf) for e in select.items if not isinstance(e, nodes.Star)}
    _shown(node, select, known, inner, scope, lambda found: found)


def _whole(node: nodes.Subquery, select: nodes.Select, scope: _Scope) -> None:
    """Any other subquery is an item; its columns are known by what they are made of inside."""
    inner, body, outputs = _read(select, scope.outer, scope.level + 1, scope.numbers)
    number = next(scope.numbers)
    scope.items[number] = body.term

    def outside(found: Term) -> Term:
        return ("of", number, _moved(found, body.moved))

    known: dict[str, Term] = {name.lower(): ("of", number, found) for name, found in outputs}
    _shown(node, select, known, inner, scope, outside)


def _shown(
    node: nodes.Subquery,
    select: nodes.Select,
    known: dict[str, Term],
    inner: _Scope,
    scope: _Scope,
    outside: Callable[[Term], Term],
) -> None:
    """Name the columns of a subquery in the query around it, those behind a star too."""
    bases: list[Find] = []
    if any(isinstance(e, nodes.Star) for e in select.items):
        for entry in inner.names:
            known |= {name: outside(found) for name, found in entry.known.items()}
            bases += [_through(base, outside) for base in entry.bases]
    scope.names.append(_Names((node.alias or "").lower(), known, bases))


def _through(base: Find, outside: Callable[[Term], Term]) -> Find:
    return lambda name: outside(base(name))


def _leaf(scope: _Scope) -> Callable[[nodes.Node], Term | None]:
    def leaf(node: nodes.Node) -> Term | None:
        match node:
            case nodes.ColumnRef():
                return _column(node, (scope, *scope.outer))
            case nodes.Exists():
                return ("exists", _subquery(node.query, scope)[0].term)
            case nodes.Scalar():
                return ("value", *_valued(node.query, scope))
            case nodes.InQuery():
                return ("within", term(node.value, leaf), *_valued(node.query, scope))
            case _:
                return None

    return leaf


def _subquery(query: nodes.Query, scope: _Scope) -> tuple[_Body, list[tuple[str, Term]]]:
    if not isinstance(query, nodes.Select):
        raise NoRule
    _, body, outputs = _read(query, (scope, *scope.outer), scope.level + 1, scope.numbers)
    return body, outputs


def _valued(query: nodes.Query, scope: _Scope) -> tuple[Term, Term]:
    body, outputs = _subquery(query, scope)
    if len(outputs) != 1:
        raise NoRule
    return body.term, outputs[0][1]


def _column(node: nodes.ColumnRef, scopes: Sequence[_Scope]) -> Term:
    """A name means what the innermost query that has it says; where that cannot be told, nothing is."""
    name, table = node.name.lower(), (node.table or "").lower()
    for place, scope in enumerate(scopes):
        entries = [e for e in scope.names if not table or e.alias == table]
        if table and not entries:
            continue
        hits = [e.known[name] for e in entries if name in e.known]
        if len(hits) == 1:
            return hits[0]
        bases = [b for e in entries for b in e.bases]
        if hits or len(bases) > 1:
            raise NoRule
        if bases:
            if not table and any(name in e.known for s in scopes[place + 1 :] for e in s.names):
                raise NoRule
            return bases[0](name)
    raise NoRule


def _ordered(scope: _Scope, more: Term, outputs: Sequence[Term]) -> _Body:
    """The items in an order of their own; of those that look alike, the one that makes the least of all the rest."""
    alike: dict[str, list[int]] = {}
    for number, item in scope.items.items():
        alike.setdefault(encoded(item), []).append(number)
    groups = [alike[text] for text in sorted(alike)]
    orders = product(*(permutations(g) for g in groups))
    if prod(factorial(len(g)) for g in groups) > MOST_ORDERS:
        orders = product(*([tuple(g)] for g in groups))
    bodies = [_placed(scope, [n for group in order for n in group], more) for order in orders]
    if len(bodies) == 1:
        return bodies[0]
    return min(bodies, key=lambda body: encoded((body.term, [_moved(t, body.moved) for t in outputs])))


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
