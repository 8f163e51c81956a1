"""A statement near a refused one that is answered: each is planned before it is named.

What is tried follows from the statement alone: it without the part that the refusal points at, from the smallest part
on, then the number of rows that it reads, then that of one table. Nothing is read or charged for it, and whether one is
found depends on what the caller may ask, as the refusal itself does.
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.spoken import is_rewritten
from dpproxy.planner.refusals import MOST_OF_A_HINT
from dpproxy.values.errors import Cancelled, Refusal, TooComplex
from dpproxy.values.work import OFTEN, limited, step

TRIES = 20
"""How many statements are planned for one refusal."""
MOST_WORK = 500_000
"""Steps of planning all of them: a tenth of what one statement may take."""
LONGEST = 1.0
"""Seconds of planning all of them, where steps take longer than they should."""
LARGEST = 400
"""Nodes of a statement that is too long to be named without a part."""
BY_DESIGN = frozenset(
    {"0A000", "42501", "42703", "42803", "42804", "42883", "42P20", "54001", "PD002", "PD003"}
)
"""SQLSTATEs of what is understood and not answered; others say what to correct."""
NONE_NEAR = "Neither the statement without it nor a count of its rows is answered."
"""Said where nothing that was tried is answered."""


def with_statement(refusal: Refusal, tree: exp.Expr, check: Callable[[str], object]) -> None:
    """Add a statement that is answered to a refusal's hint, where the hint has none, or one that is not answered.

    Args:
        refusal: changed in place.
        tree: the statement as it was parsed, not changed.
        check: raises a ``Refusal`` for a statement that is not answered.
    """
    hint = refusal.hint or ""
    if refusal.sqlstate not in BY_DESIGN:
        return
    if hint.endswith(";"):
        is_query = hint.startswith(("SELECT ", "WITH ")) and hint.count(";") == 1
        if not is_query or _is_answered(hint[:-1], check):
            return
        hint = ""
    words = [hint] if hint else []
    found = _first(tree, refusal, check)
    if found is not None:
        words.append(f"This is answered: {found};")
    elif not words:
        words.append(NONE_NEAR)
    refusal.hint = " ".join(words)


def _is_answered(text: str, check: Callable[[str], object]) -> bool:
    try:
        with limited(MOST_WORK, LONGEST):
            check(text)
    except Cancelled:
        raise
    except Refusal:
        return False
    return True


def _first(tree: exp.Expr, refusal: Refusal, check: Callable[[str], object]) -> str | None:
    if not isinstance(tree, exp.Query):
        return None
    try:
        with limited(MOST_WORK, LONGEST):
            return next(_answered(tree, refusal, check), None)
    except TooComplex:
        return None


def _answered(tree: exp.Expr, refusal: Refusal, check: Callable[[str], object]) -> Iterator[str]:
    """Candidates that are answered. Raises ``TooComplex`` where the search has taken too long, ``Cancelled``."""
    tried = set() if _is_of_another_dialect(tree, refusal.position) else {_text(tree)}
    for candidate in _candidates(tree, refusal.position):
        step(OFTEN)  # asks whether to go on
        text = _text(candidate)
        if text in tried or len(text) > MOST_OF_A_HINT:
            continue
        if len(tried) > TRIES:
            return
        tried.add(text)
        try:
            check(text)
        except Cancelled:
            raise
        except Refusal:
            continue
        yield text


def _text(tree: exp.Expr) -> str:
    return tree.sql(dialect="postgres", comments=False, normalize_functions="lower")


def _is_of_another_dialect(tree: exp.Expr, place: int | None) -> bool:
    """Whether a call at a place is written otherwise in PostgreSQL's SQL, in which the statement is a candidate."""
    return any(is_rewritten(call) for call in tree.find_all(exp.Func) if position(call) == place)


def _candidates(tree: exp.Expr, place: int | None) -> Iterator[exp.Expr]:
    yield tree
    yield from (
        _most_frequent(call) for call in tree.find_all(exp.WithinGroup) if isinstance(call.this, exp.Mode)
    )
    if sum(1 for _ in tree.walk()) <= LARGEST:
        yield from _without(tree, place)
    queries = [node for node in tree.walk() if isinstance(node, exp.Select) and node.args.get("from_")]
    for query in queries:
        if query is not tree and isinstance(query.parent, exp.Subquery | exp.CTE | exp.SetOperation):
            yield query.copy()
    for query in queries:
        if group := query.args.get("group"):
            yield _counted(query, group)
        yield _counted(query)
    for table in tree.find_all(exp.Table):
        yield exp.select(exp.Count(this=exp.Star())).from_(
            exp.Table(this=table.this.copy(), db=table.args.get("db"))
        )


def _most_frequent(call: exp.WithinGroup) -> exp.Select:
    """The value that mode() asks for, with its count."""
    key, query = call.expression.expressions[0].this, call.parent_select or exp.Select()
    group = exp.Group(expressions=[*(query.args.get("group") or exp.Group()).expressions, key.copy()])
    return _counted(query, group).order_by("count(*) DESC", dialect="postgres").limit(1)


def _counted(query: exp.Select, group: exp.Group | None = None) -> exp.Select:
    """How many rows a SELECT reads, of each key where it groups."""
    kept = {
        key: query.args[key]
        for key in ("with_", "from_", "joins", "laterals", "where")
        if query.args.get(key)
    }
    keys = [] if group is None else [_named(key, query) for key in group.expressions]
    return exp.Select(expressions=[*keys, exp.Count(this=exp.Star())], group=group, **kept).copy()


def _named(key: exp.Expr, query: exp.Select) -> exp.Expr:
    """A key of GROUP BY, or the item of SELECT whose place it is."""
    place = int(key.name) if isinstance(key, exp.Literal) and key.is_int else 0
    return query.expressions[place - 1] if 0 < place <= len(query.expressions) else key


def _without(tree: exp.Expr, place: int | None) -> Iterator[exp.Expr]:
    """The statement without each part around a place, from the inside out."""
    nodes = list(tree.walk())
    around = [index for index, node in enumerate(nodes) if position(node) == place]
    node = nodes[around[-1]] if around and place is not None else None
    while node is not None:
        for drop in (_simpler(node), _DROPPED.get(node.arg_key)):
            if drop is not None:
                copy = tree.copy()
                drop(list(copy.walk())[next(i for i, n in enumerate(nodes) if n is node)])
                yield copy
        node = node.parent


def _simpler(node: exp.Expr) -> Callable[[exp.Expr], None] | None:
    """What stands for a call: a count for an aggregate, its argument for another function."""
    if isinstance(node, exp.AggFunc):
        return _counts
    is_call = isinstance(node, exp.Func) and not isinstance(node, exp.Connector)
    return _argument if is_call and isinstance(node.this, exp.Expr) else None


def _argument(node: exp.Expr) -> None:
    node.replace(node.this)


def _counts(node: exp.Expr) -> None:
    node.replace(exp.Count(this=exp.Star()))


def _item(node: exp.Expr) -> None:
    """One of several items of a list: of SELECT, where something must be left, of ORDER BY or of GROUP BY."""
    parent = node.parent
    if isinstance(parent, exp.Select) and len(parent.expressions) == 1:
        _counts(node)
    elif isinstance(parent, exp.Order | exp.Group) and len(parent.expressions) == 1:
        parent.pop()
    elif isinstance(parent, exp.Select | exp.Order | exp.Group):
        node.pop()


def _side(node: exp.Expr) -> None:
    """One side of AND, OR, UNION and the like; a whole condition."""
    parent = node.parent
    if isinstance(parent, exp.And | exp.Or | exp.SetOperation):
        other = parent.expression if node.arg_key == "this" else parent.this
        parent.replace(other)
    elif isinstance(parent, exp.Where | exp.Having):
        filtered = parent.parent
        if isinstance(filtered, exp.Filter):
            filtered.replace(filtered.this)
        else:
            parent.pop()


def _whole(node: exp.Expr) -> None:
    node.pop()


_DROPPED: dict[str | None, Callable[[exp.Expr], None]] = {
    "expressions": _item, "this": _side, "expression": _side, "joins": _whole, "order": _whole, "limit": _whole,
    "offset": _whole, "distinct": _whole,
}  # fmt: skip
"""How a part is left out, by what it is called where it stands."""
